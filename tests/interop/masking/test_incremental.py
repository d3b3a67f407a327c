"""What a masked copy costs: one for a new file, one for a file whose deletes have changed, none for anything else."""
import json
import secrets
import subprocess

import pytest
from by_hand import Watched
from masked import NAMESPACE, SETTINGS, as_client, rows


@pytest.fixture
def table(duck, governance, request):
    name = f"{request.node.name.removeprefix('test_')[:40]}_{secrets.token_hex(3)}"
    duck.execute(f'DROP TABLE IF EXISTS lake.{NAMESPACE}.{name}')
    duck.execute(f'CREATE TABLE lake.{NAMESPACE}.{name} (id BIGINT, ssn VARCHAR)')
    duck.execute(f"CALL lake.set_option('data_inlining_row_limit', 0, table_name => '{name}', schema => '{NAMESPACE}')")
    insert(duck, name, 1, 2, 3)
    insert(duck, name, 4, 5)
    governance.mask(name, 'ssn', 'VARCHAR', "left(v, 2) || '***'")
    return name


def insert(duck, name, *ids):
    duck.execute(f"INSERT INTO lake.{NAMESPACE}.{name} VALUES " + ', '.join(f"({n}, '{n}{n}-secret')" for n in ids))


class Copies:
    """The masked copies of a table in the store."""

    def __init__(self, caller, name, store):
        self.caller = caller
        self.name = name
        self.store = store

    def now(self, ids):
        """Those that are there once the caller reads these rows."""
        def ask():
            answer = self.caller.load(self.name)
            assert answer.status_code == 200, answer.text
            return answer

        table = None
        for _ in range(600):
            ask()
            table = self.caller.pyiceberg().load_table(f'{NAMESPACE}.{self.name}')
            read = rows(table.scan().to_arrow())
            if [row['id'] for row in read] == list(ids):
                assert all(row['ssn'] == f"{row['id']}{row['id']}***" for row in read), read
                break
        else:
            raise AssertionError(f'the masked rows never became {ids}: {read}')
        folder = self.store.key(table.metadata.location)
        return {key for key in self.store.under(folder + '/data/')}


@pytest.fixture
def copies(table, analyst, store):
    return Copies(analyst, table, store)


def test_an_append_is_one_copy(table, copies, duck):
    before = copies.now([1, 2, 3, 4, 5])
    assert len(before) == 2
    insert(duck, table, 6)
    after = copies.now([1, 2, 3, 4, 5, 6])
    assert before < after and len(after - before) == 1


def test_a_delete_is_one_copy_of_the_file_that_it_touches(table, copies, duck):
    before = copies.now([1, 2, 3, 4, 5])
    duck.execute(f'DELETE FROM lake.{NAMESPACE}.{table} WHERE id = 2')
    after = copies.now([1, 3, 4, 5])
    assert before < after and len(after - before) == 1


def test_a_property_and_a_rename_are_none(table, copies, duck, steward):
    before = copies.now([1, 2, 3, 4, 5])
    change = {'requirements': [], 'updates': [{'action': 'set-properties', 'updates': {'note': 'other'}}]}
    assert steward.post(steward.table(table), change).status_code == 200
    duck.execute(f'ALTER TABLE lake.{NAMESPACE}.{table} RENAME COLUMN id TO id_')
    duck.execute(f'ALTER TABLE lake.{NAMESPACE}.{table} RENAME COLUMN id_ TO id')
    assert copies.now([1, 2, 3, 4, 5]) == before


def test_two_principals_with_the_same_masks_share_copies(table, copies, intern, store):
    before = copies.now([1, 2, 3, 4, 5])
    assert Copies(intern, table, store).now([1, 2, 3, 4, 5]) == before


def test_another_policy_is_another_folder_and_the_old_keys_open_nothing_of_it(table, copies, governance, analyst, store):
    before = copies.now([1, 2, 3, 4, 5])
    keys = analyst.keys(table, store)
    assert keys.get(min(before)) is not None
    governance.post('masking-policies', {'name': f'{table}_ssn', 'signature': '(v VARCHAR)', 'body': "'gone'",
                                         'unmasked-roles': ['steward'], 'file-layer-masking': True})
    assert analyst.load(table).status_code == 200
    now = analyst.pyiceberg().load_table(f'{NAMESPACE}.{table}')
    assert set(now.scan().to_arrow()['ssn'].to_pylist()) == {'gone'}
    new = store.under(store.key(now.metadata.location) + '/data/')
    assert new and not new & before
    assert all(keys.get(key) is None for key in new)


def test_a_server_that_starts_later_shows_copies_that_are_there_at_once(table, copies, duck, stack, store):
    """As after a restart: they are recorded for all servers, under names that all come to."""
    duck.execute(f'DELETE FROM lake.{NAMESPACE}.{table} WHERE id = 2')
    before = copies.now([1, 3, 4, 5])
    with Watched.beside(stack, **SETTINGS) as other:
        caller = as_client(other, 'analyst')
        answer = caller.get(caller.table(table))
        assert answer.status_code == 200, answer.text
        assert Copies(caller, table, store).now([1, 3, 4, 5]) == before


def test_a_policy_that_is_detached_gives_the_raw_rows_at_the_next_request(table, copies, governance, analyst):
    copies.now([1, 2, 3, 4, 5])
    governance.unmask(table, 'ssn')
    read = analyst.pyiceberg().load_table(f'{NAMESPACE}.{table}').scan().to_arrow()
    assert '11-secret' in read['ssn'].to_pylist()


def test_a_mask_that_fails_on_a_row_refuses_the_table_and_tells_no_value(duck, governance, analyst, steward):
    duck.execute(f'DROP TABLE IF EXISTS lake.{NAMESPACE}.failing')
    duck.execute(f'CREATE TABLE lake.{NAMESPACE}.failing (id BIGINT, ssn VARCHAR)')
    insert(duck, 'failing', 1)
    governance.mask('failing', 'ssn', 'VARCHAR', "CAST(CAST(v AS INTEGER) AS VARCHAR)")
    answer = analyst.load('failing')
    assert answer.status_code == 501 and 'secret' not in answer.text, answer.text
    assert steward.load('failing').status_code == 200


def test_deletion_vectors_of_version_3_count_in_the_copies(table, copies, duck, steward, analyst):
    copies.now([1, 2, 3, 4, 5])
    change = {'requirements': [], 'updates': [{'action': 'upgrade-format-version', 'format-version': 3}]}
    assert steward.post(steward.table(table), change).status_code == 200
    duck.execute(f'DELETE FROM lake.{NAMESPACE}.{table} WHERE id IN (1, 5)')
    copies.now([2, 3, 4])
    metadata = analyst.load(table).json()['metadata']
    assert metadata['format-version'] == 3 and len(metadata['snapshots']) == 1


def test_a_type_that_changes_under_a_mask_shows_no_raw_file(duck, governance, analyst, steward):
    name = f'lake.{NAMESPACE}.widened'
    duck.execute(f'DROP TABLE IF EXISTS {name}')
    duck.execute(f'CREATE TABLE {name} (id BIGINT, code INTEGER)')
    duck.execute(f'INSERT INTO {name} VALUES (1, 73915)')
    governance.mask('widened', 'code', 'INTEGER', 'v % 10')
    assert analyst.load('widened').status_code == 200
    duck.execute(f'ALTER TABLE {name} ALTER code TYPE BIGINT')
    duck.execute(f'INSERT INTO {name} VALUES (2, 73916)')
    answer = analyst.load('widened')
    assert answer.status_code == 200 and '/metadata/lake/masked/' in answer.json()['metadata']['location']
    read = analyst.pyiceberg().load_table(f'{NAMESPACE}.widened').scan().to_arrow()
    assert not {73915, 73916} & set(read['code'].to_pylist())
    assert 73915 in steward.pyiceberg().load_table(f'{NAMESPACE}.widened').scan().to_arrow()['code'].to_pylist()


def test_a_masked_column_that_is_dropped_is_in_no_new_copy(table, copies, duck, analyst, steward, store):
    copies.now([1, 2, 3, 4, 5])
    duck.execute(f'ALTER TABLE lake.{NAMESPACE}.{table} DROP COLUMN ssn')
    duck.execute(f'ALTER TABLE lake.{NAMESPACE}.{table} ADD COLUMN ssn VARCHAR')
    for caller in (analyst, steward):
        assert caller.load(table).status_code == 200
        read = caller.pyiceberg().load_table(f'{NAMESPACE}.{table}').scan().to_arrow()
        assert 'secret' not in str(read.to_pylist())


def test_the_removal_of_orphans_keeps_what_a_masked_reader_needs(table, copies, analyst, server, store):
    copies.now([1, 2, 3, 4, 5])
    folder = store.key(analyst.load(table).json()['metadata']['location'])
    stray = f'{folder}/data/nobody-noted-it'
    store.client.fput_object(store.bucket, stray, __file__)
    done = subprocess.run([server.binary, 'gc', '--json', '--older-than', '0s'], env=server.environment(), cwd=server.folder,
                          check=False, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    orphans = {item['key'] for item in json.loads(done.stdout)['orphans'] if item['key'].startswith(folder)}
    assert orphans == {stray}
    store.client.remove_object(store.bucket, stray)


def test_a_large_copy_has_several_parts(table, copies, duck, analyst, store):
    """Of one data file of several row groups: parts of the size that is set, with every row once, and none left behind."""
    many = 400_000
    before = copies.now([1, 2, 3, 4, 5])
    # Numbers that no encoding makes small.
    duck.execute(f"INSERT INTO lake.{NAMESPACE}.{table} SELECT 100 + hash(i) // 4, md5(i::VARCHAR) FROM range({many}) r(i)")
    duck.execute(f'DELETE FROM lake.{NAMESPACE}.{table} WHERE id = (SELECT max(id) FROM lake.{NAMESPACE}.{table})')
    for _ in range(600):
        assert analyst.load(table).status_code == 200
        loaded = analyst.pyiceberg().load_table(f'{NAMESPACE}.{table}')
        files = [task.file for task in loaded.scan().plan_files()]
        if sum(file.record_count for file in files) == many + 4:
            break
    parts = [file for file in files if file.record_count > 5]
    assert len(parts) > 1 and all(file.file_size_in_bytes > 1_000_000 for file in parts[:-1])
    read = loaded.scan().to_arrow()
    assert sorted(read['id'].to_pylist()) == [row[0] for row in duck.execute(f'SELECT id FROM lake.{NAMESPACE}.{table} ORDER BY id').fetchall()]
    assert all(value.endswith('***') and len(value) == 5 for value in read['ssn'].to_pylist()[:1000])
    there = store.under(store.key(loaded.metadata.location) + '/data/')
    assert before < there and {store.key(file.file_path) for file in files} <= there
