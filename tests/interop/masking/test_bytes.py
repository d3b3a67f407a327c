"""A masked principal's keys are tried on every object of the bucket: none that opens tells a raw value. What clients read
is what the policies' own SQL gives an owner."""
import re

import pytest
from masked import NAMESPACE, VENDED, rows, told

# Column, type of DuckDB, a value of row {n} that is found nowhere else, what it looks like in an object, the mask.
COLUMNS = [
    ('name', 'VARCHAR', "'Secretperson-{n}'", 'Secretperson-{n}', "left(v, 1) || '***'"),
    ('amount', 'DECIMAL(18,2)', '7391{n}4.25', '7391{n}4.25', 'CAST(0 AS DECIMAL(18,2))'),
    ('born', 'DATE', "DATE '1917-03-1{n}'", '1917-03-1{n}', "date_trunc('year', v)::DATE"),
    ('seen', 'TIMESTAMP', "TIMESTAMP '1917-04-1{n} 01:02:03'", '1917-04-1{n}', 'NULL'),
    ('seen_tz', 'TIMESTAMPTZ', "TIMESTAMPTZ '1917-05-1{n} 01:02:03+00'", '1917-05-1{n}', 'NULL'),
    ('code', 'INTEGER', '83917{n}3', '83917{n}3', 'v % 10'),
    ('big', 'BIGINT', '773915511{n}', '773915511{n}', '-1'),
    ('ratio', 'DOUBLE', '3917.5{n}75', '3917.5{n}75', 'NULL'),
    ('flag_text', 'VARCHAR', "'flag-secret-{n}'", 'flag-secret-{n}', 'md5(v)'),
    ('token', 'UUID', "'5ec2e700-0000-4000-8000-00000000000{n}'", '5ec2e700-0000-4000-8000-00000000000{n}', 'NULL'),
    ('raw', 'BLOB', "'blob-secret-{n}'::BLOB", 'blob-secret-{n}', "'gone'::BLOB"),
    ('person', 'STRUCT(first VARCHAR, last VARCHAR)', "{{'first': 'structsecret-{n}', 'last': 'x'}}", 'structsecret-{n}',
     'NULL'),
    ('tags', 'VARCHAR[]', "['listsecret-{n}', 'b']", 'listsecret-{n}', 'list_slice(v, 2, 2)'),
    ('attrs', 'MAP(VARCHAR, VARCHAR)', "MAP {{'k': 'mapsecret-{n}'}}", 'mapsecret-{n}', 'NULL'),
]
ARGUMENT = r'\bv\b'


def row(n):
    return f"({n}, 'eu', {', '.join(value.format(n=n) for _, _, value, _, _ in COLUMNS)})"


def expected(duck):
    """What the policies leave of the table, by their own SQL."""
    masked = ', '.join(f'CAST(({re.sub(ARGUMENT, quoted(name), mask)}) AS {type_name}) AS {quoted(name)}'
                       for name, type_name, _, _, mask in COLUMNS)
    relation = duck.execute(f"SELECT id, region, {masked} FROM lake.{NAMESPACE}.people WHERE region <> 'hidden' ORDER BY id")
    return relation.to_arrow_table()


def quoted(name):
    return f'"{name}"'


@pytest.fixture(scope='module')
def people(duck, governance, server, lake):
    duck.execute(f'DROP TABLE IF EXISTS lake.{NAMESPACE}.people')
    types = ', '.join(f'"{name}" {type_name}' for name, type_name, _, _, _ in COLUMNS)
    duck.execute(f'CREATE TABLE lake.{NAMESPACE}.people (id BIGINT, region VARCHAR, {types})')
    duck.execute(f'ALTER TABLE lake.{NAMESPACE}.people SET PARTITIONED BY (region, name)')
    table = f'lake.{NAMESPACE}.people'
    duck.execute(f"CALL lake.set_option('data_inlining_row_limit', 0, table_name => 'people', schema => '{NAMESPACE}')")
    duck.execute(f'INSERT INTO {table} VALUES {row(1)}, {row(2)}, {row(3)}')
    # A column that was dropped stays in this file.
    duck.execute(f"ALTER TABLE {table} ADD COLUMN old VARCHAR")
    duck.execute(f"UPDATE {table} SET old = 'droppedsecret' WHERE id = 3")
    duck.execute(f'ALTER TABLE {table} DROP COLUMN old')
    # Inlined rows, and a row that was deleted.
    duck.execute(f"CALL lake.set_option('data_inlining_row_limit', 10, table_name => 'people', schema => '{NAMESPACE}')")
    duck.execute(f'INSERT INTO {table} VALUES {row(4)}, {row(5)}')
    duck.execute(f"INSERT INTO {table} (id, region, name) VALUES (8, 'hidden', 'hiddensecret')")
    duck.execute(f"INSERT INTO {table} (id, region, name) VALUES (9, 'eu', 'deletedsecret')")
    duck.execute(f'DELETE FROM {table} WHERE id IN (2, 9)')
    for name, type_name, _, _, mask in COLUMNS:
        governance.mask('people', name, type_name, mask)
    governance.filter('people', '(r VARCHAR)', "r <> 'hidden'", ['region'])
    return table


def secrets():
    planted = {look.format(n=n) for _, _, _, look, _ in COLUMNS for n in range(1, 6)}
    return planted | {'droppedsecret', 'hiddensecret', 'deletedsecret'}


def test_no_object_that_a_masked_principals_keys_open_tells_a_raw_value(people, analyst, store):
    keys = analyst.keys('people', store)
    opened = {}
    for key in sorted(store.under('')):
        content = keys.get(key)
        if content is not None:
            opened[key] = content
    folder = store.key(analyst.load('people').json()['metadata']['location'])
    assert '/metadata/lake/masked/' in folder
    assert opened and all(key.startswith(folder + '/') for key in opened), opened.keys()
    assert any('/data/' in key for key in opened), 'the copies are there'
    leaks = {key: found for key, content in opened.items() if (found := told(content, secrets()))}
    assert not leaks


def test_the_search_finds_each_secret_in_what_the_steward_opens(people, steward, store):
    """The search above could be blind: the same search sees all of it in the raw table."""
    keys = steward.keys('people', store)
    folder = store.key(steward.load('people').json()['metadata']['location'])
    found = set()
    for key in store.under(folder + '/'):
        if '/masked/' not in key and (content := keys.get(key)) is not None:
            found |= told(content, secrets())
    live = {look.format(n=n) for _, _, _, look, _ in COLUMNS for n in (1, 3, 4, 5)}
    assert live <= found, live - found


def test_the_answer_of_a_load_tells_no_raw_value(people, analyst):
    for path in (analyst.table('people'), analyst.table('people') + '?snapshots=refs'):
        answer = analyst.patient(lambda path=path: analyst.get(path))
        assert answer.status_code == 200, answer.text
        assert not told(answer.content, secrets())
    properties = analyst.load('people').json()['metadata']['properties']
    assert properties['lakeproxy.masked-columns'].split(',') == [name for name, *_ in COLUMNS]
    assert 'lakeproxy.mask.name' in properties


def test_pyiceberg_reads_what_the_policies_own_sql_gives(people, analyst, duck):
    analyst.load('people')
    read = analyst.pyiceberg().load_table(f'{NAMESPACE}.people').scan().to_arrow()
    wanted = expected(duck)
    assert [row['id'] for row in rows(read)] == [1, 3, 4, 5]
    assert rows(read.cast(wanted.schema)) == rows(wanted)


def test_the_steward_reads_raw_rows(people, steward, duck):
    read = steward.pyiceberg().load_table(f'{NAMESPACE}.people').scan().to_arrow()
    assert [row['id'] for row in rows(read)] == [1, 3, 4, 5, 8]
    assert {'Secretperson-1', 'hiddensecret'} <= set(read['name'].to_pylist())


def test_base_files_and_metadata_are_refused_by_the_store(people, analyst, steward, store):
    raw = steward.load('people').json()
    folder = store.key(raw['metadata']['location'])
    keys = analyst.keys('people', store)
    own = store.key(analyst.load('people').json()['metadata']['location'])
    for key in store.under(folder + '/'):
        if not key.startswith(own + '/'):
            assert keys.get(key) is None, key
    assert keys.get(store.key(raw['metadata-location'])) is None
    for prefix in ('', folder + '/', folder + '/metadata/'):
        assert not keys.lists(prefix), prefix
    for key in (own + '/data/x', own + '/metadata/x', folder + '/data/x', folder + '/metadata/x'):
        assert not keys.puts(key), key
    # The same keys of one who is not masked open it all.
    assert steward.keys('people', store).get(store.key(raw['metadata-location'])) is not None


def test_older_snapshots_are_501_for_the_masked_and_200_for_the_steward(people, analyst, steward):
    metadata = steward.load('people').json()['metadata']
    first = metadata['snapshots'][0]['snapshot-id']
    assert analyst.load('people').json()['metadata']['current-snapshot-id'] == metadata['current-snapshot-id']
    assert analyst.load('people', params={'snapshot-id': first}).status_code == 501
    assert steward.load('people', params={'snapshot-id': first}).status_code == 200
    assert analyst.load('people', params={'snapshot-id': metadata['current-snapshot-id']}).status_code == 200
    # So says a plan.
    newest, path = metadata['current-snapshot-id'], analyst.table('people') + '/plan'
    for scan, masked, raw in (({'snapshot-id': first}, 501, 200), ({'snapshot-id': newest}, 200, 200), ({'snapshot-id': 9_999_999}, 400, 400),
                              ({'start-snapshot-id': first, 'end-snapshot-id': newest}, 501, 200)):
        for caller, status in ((analyst, masked), (steward, raw)):
            assert caller.patient(lambda caller=caller, scan=scan: caller.post(path, scan)).status_code == status, scan


def test_a_tag_of_the_steward_is_no_304_for_the_masked(people, analyst, steward):
    raw = steward.load('people').headers['ETag']
    masked = analyst.load('people').headers['ETag']
    assert raw != masked
    assert analyst.load('people', headers={'If-None-Match': raw}).status_code == 200
    assert analyst.load('people', headers={'If-None-Match': masked}).status_code == 304
    assert steward.load('people', headers={'If-None-Match': raw}).status_code == 304


def test_a_scan_is_planned_over_masked_files(people, analyst, steward, store):
    path = analyst.table('people') + '/plan'
    masked = analyst.patient(lambda: analyst.post(path, {'stats-fields': ['name', 'code']}))
    assert masked.status_code == 200, masked.text
    assert not told(masked.content, secrets())
    assert all('/masked/' in task['data-file']['file-path'] for task in masked.json()['file-scan-tasks'])
    raw = steward.post(path, {'stats-fields': ['name', 'code']}).json()
    assert not any('/masked/' in task['data-file']['file-path'] for task in raw['file-scan-tasks'])
    # A plan of the one is not the other's.
    assert steward.get(f"{path}/{masked.json()['plan-id']}").status_code == 404
    assert analyst.get(f"{path}/{raw['plan-id']}").status_code == 404


def test_who_is_masked_does_not_write(people, analyst, steward):
    change = {'requirements': [], 'updates': [{'action': 'set-properties', 'updates': {'note': 'mine'}}]}
    refused = analyst.post(analyst.table('people'), change)
    assert refused.status_code == 403 and 'people_name' in refused.json()['error']['message'], refused.text
    assert steward.post(steward.table('people'), change).status_code == 200


def test_credentials_are_those_of_the_masked_folder(people, analyst, store):
    answer = analyst.patient(lambda: analyst.get(analyst.table('people') + '/credentials', headers=VENDED))
    assert answer.status_code == 200, answer.text
    prefixes = [entry['prefix'] for entry in answer.json()['storage-credentials']]
    assert prefixes and all('/metadata/lake/masked/' in prefix for prefix in prefixes)
