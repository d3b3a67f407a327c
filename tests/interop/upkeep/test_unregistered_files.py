"""Files of a table that another catalog took over are nobody's here to remove, until the table is registered again."""
import re

import pyarrow as pa
import pytest

import readers
from foreign_catalog import ForeignCatalog
from lake_clients import duck as duckdb_client
from lake_clients import iceberg as iceberg_client
from own_lake import compact, expire_and_clean, location_of, own_stack, rows_at
from stack.process import wait_until

SCHEMA = pa.schema([('a', pa.int64()), ('s', pa.string())])


@pytest.fixture(scope='module')
def own():
    with own_stack('unregistered', LAKEPROXY_FILE_GRACE='0', LAKEPROXY_DISABLE_NOTIFY='1') as own:
        own.duck.execute('CREATE SCHEMA lake.u')
        yield own


@pytest.fixture
def elsewhere(own):
    """The catalog that takes tables over."""
    storage = {key: value for key, value in iceberg_client.properties(own.lake).items() if key.startswith('s3.')}
    return ForeignCatalog(f'{own.lake.data_path}elsewhere', **storage)


@pytest.fixture
def duck(own):
    with duckdb_client.connect_lake(own.lake) as fresh:
        yield fresh


def rows(first, count=10):
    return pa.table({'a': list(range(first, first + count)), 's': ['py'] * count}, schema=SCHEMA)


def hand_over(own, duck, elsewhere, name):
    """A table with files, deletes and inlined rows of both access paths, unregistered here and registered there."""
    own.catalog.create_table(f'u.{name}', SCHEMA).append(rows(0))
    own.catalog.load_table(f'u.{name}').append(rows(10))
    duck.execute(f"INSERT INTO lake.u.{name} SELECT n, 'duck' FROM range(100, 120) r(n)")
    duck.execute(f"INSERT INTO lake.u.{name} VALUES (1000, 'inlined')")
    duck.execute(f'DELETE FROM lake.u.{name} WHERE a IN (3, 103)')
    answer = own.rest.post(f'namespaces/u/tables/{name}/unregister')
    assert answer.status_code == 200, answer.text
    table = elsewhere.register_table(f'ns.{name}', answer.json()['metadata-location'])
    assert len(everything(table)[None]) == 39
    return table


def everything(table):
    """What the new owner reads, at each of its snapshots."""
    seen = {}
    for snapshot in [None, *(one.snapshot_id for one in table.snapshots())]:
        found = table.scan(snapshot_id=snapshot).to_arrow()
        seen[snapshot] = sorted(zip(found['a'].to_pylist(), found['s'].to_pylist()))
    return seen


def settled(own, table):
    """What lies there once the manifests that a client sent are gone, which the server deletes behind its answer."""
    sent = re.compile(r'/metadata/.*[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-')
    assert wait_until(lambda: not any(sent.search(key) for key in own.objects.under(table.location())), 30)
    return own.objects.under(table.location())


def clean_up(own, duck):
    """All that anybody here can do to free space."""
    for _ in range(2):  # What is kept once must be kept again.
        removed = expire_and_clean(duck)
        duck.execute("CALL ducklake_delete_orphaned_files('lake', cleanup_all => true)")
        own.remove_orphans()
    return removed


def registered(own, name, location):
    answer = own.rest.post('namespaces/u/register', {'name': name, 'metadata-location': location})
    assert answer.status_code == 200, answer.text


def test_the_new_owner_keeps_every_file(own, duck, elsewhere):
    table = hand_over(own, duck, elsewhere, 't')
    before, objects = everything(table), settled(own, table)
    clean_up(own, duck)
    assert own.objects.under(table.location()) == objects
    assert everything(table) == before
    # Whatever the new owner writes there is as safe from gc.
    table.append(rows(500))
    more = everything(table)
    own.remove_orphans()
    expire_and_clean(duck)
    assert everything(table) == more and len(more[None]) == 49


def test_neither_purge_nor_compaction_of_another_table_takes_any(own, duck, elsewhere):
    table = hand_over(own, duck, elsewhere, 'inner')
    before = everything(table)
    inside = next(task.file.file_path for task in table.scan().plan_files())
    own.catalog.create_table('u.outer', SCHEMA)
    # The other table's folder is around the one that was handed over.
    own.ask(f"UPDATE ducklake_table SET path = '{own.lake.data_path}u/', path_is_relative = false "
            "WHERE table_name = 'outer' AND end_snapshot IS NULL")
    own.ask(f"""
        ALTER TABLE ducklake_files_scheduled_for_deletion DISABLE TRIGGER lakeproxy_guard_scheduled_file;
        INSERT INTO ducklake_files_scheduled_for_deletion VALUES (987654, '{inside}', false, now() - interval '1 hour');
        ALTER TABLE ducklake_files_scheduled_for_deletion ENABLE TRIGGER lakeproxy_guard_scheduled_file""")
    own.stack.stop(own.stack.catalog)
    own.stack.start(own.stack.catalog)
    compact(own.rest, 'u.outer')
    assert everything(table) == before
    own.ask('DELETE FROM ducklake_files_scheduled_for_deletion WHERE data_file_id = 987654')
    assert own.rest.send('DELETE', 'namespaces/u/tables/outer?purgeRequested=true').status_code == 204
    own.remove_orphans()
    assert everything(table) == before


def test_a_table_that_is_registered_again_is_cleaned_up_again(own, duck, elsewhere):
    table = hand_over(own, duck, elsewhere, 'back')
    clean_up(own, duck)
    table.append(rows(500))
    registered(own, 'back', table.metadata_location)
    assert own.catalog.load_table('u.back').scan().to_arrow().num_rows == 49
    assert own.ask('SELECT count(*) FROM lakeproxy_unregistered u JOIN ducklake_table t USING (table_id) '
                   "WHERE t.table_name = 'back'") == '0'
    expire_and_clean(duck)
    assert rows_at(readers.Direct(duck), 'u.back') == everything(table)[None]
    file = next(key for key in own.objects.under(table.location()) if key.endswith('.parquet') and '/ducklake-' in key
                and not key.endswith('-delete.parquet'))
    duck.execute('DELETE FROM lake.u.back')
    assert f's3://{own.objects.bucket}/{file}' in expire_and_clean(duck), 'what nothing shows goes'


@pytest.mark.parametrize('expired', [False, True])
def test_a_table_comes_back_by_the_file_that_unregistering_named(own, duck, elsewhere, expired):
    name = f'again_{expired}'.lower()
    table = hand_over(own, duck, elsewhere, name)
    before = everything(table)
    if expired:
        clean_up(own, duck)
    registered(own, name, table.metadata_location)
    shown = own.catalog.load_table(f'u.{name}')
    assert len(shown.snapshots()) == (1 if expired else len(before) - 1), 'what the lake expired is not shown again'
    for reader in (readers.Direct(duck), readers.PyIceberg(own.catalog)):
        assert rows_at(reader, f'u.{name}') == before[None]
    clean_up(own, duck)
    assert rows_at(readers.Direct(duck), f'u.{name}') == before[None]


def test_a_table_that_is_only_dropped_is_cleaned_up(own, duck):
    """The deny beside it: a drop promises nothing beyond the lake's snapshots."""
    own.catalog.create_table('u.dropped', SCHEMA).append(rows(0))
    location = location_of(own.rest, 'u', 'dropped')
    own.catalog.drop_table('u.dropped')
    assert own.objects.under(location)
    clean_up(own, duck)
    assert not any(key.endswith('.parquet') for key in own.objects.under(location))
