"""A table whose paths say s3a:// keeps its files, whoever cleans up: s3a, s3n and s3 name the same objects."""
import uuid

import pyarrow as pa
import pytest

import readers
from faults.reaching import Reaching
from foreign_catalog import ForeignCatalog
from lake_clients import duck as duckdb_client
from lake_clients import iceberg as iceberg_client
from own_lake import compact, expire_and_clean, location_of, own_stack, rows_at
from rest import assert_error

SCHEMA = pa.schema([('a', pa.int64()), ('s', pa.string())])
REGISTERED = 'as it is registered'
OLD = 'as earlier releases registered it'


@pytest.fixture(scope='module')
def own():
    with own_stack('spelling', LAKEPROXY_FILE_GRACE='0', LAKEPROXY_DISABLE_NOTIFY='1') as own:
        own.duck.execute('CREATE SCHEMA lake.h')
        yield own


@pytest.fixture(scope='module', params=[REGISTERED, OLD])
def tables(own, request):
    """By test, the table that it takes: all of one spelling are there at once, since another spelling needs a restart."""
    tests = [item.name for item in request.session.items
             if item.module is request.module and item.name.endswith(f'[{request.param}]')]
    made = {test: registered(own) for test in tests}
    if request.param == OLD:
        respell(own, [table.name()[-1] for table in made.values()])
        own.stack.stop(own.stack.catalog)
        own.stack.start(own.stack.catalog)
    return made


def registered(own):
    """Made by PyIceberg at s3a://."""
    storage = {key: value for key, value in iceberg_client.properties(own.lake).items() if key.startswith('s3.')}
    foreign = ForeignCatalog(f's3a://{own.lake.s3_bucket}/data/hadoop', **storage)
    made = foreign.create_table(f'ns.t{uuid.uuid4().hex[:8]}', SCHEMA)
    assert made.location().startswith('s3a://')
    for first in (0, 5, 10):
        made.append(rows(first))
    made.delete('a = 7')
    name = made.name()[-1]
    answer = own.rest.post('namespaces/h/register', {'name': name, 'metadata-location': made.metadata_location})
    assert answer.status_code == 200, answer.text
    return made


@pytest.fixture
def table(own, tables, request):
    """Registered, and changed through both access paths."""
    made = tables[request.node.name]
    name = made.name()[-1]
    is_old = request.node.name.endswith(f'[{OLD}]')
    assert location_of(own.rest, 'h', name).startswith('s3a://' if is_old else 's3://')
    own.catalog.load_table(f'h.{name}').append(rows(15))
    fresh = duckdb_client.connect_lake(own.lake)
    fresh.execute(f"INSERT INTO lake.h.{name} SELECT n, 'duck' FROM range(100, 120) r(n)")
    fresh.execute(f'DELETE FROM lake.h.{name} WHERE a IN (1, 101)')
    yield Table(own, name, fresh, made)
    fresh.close()


def rows(first):
    return pa.table({'a': list(range(first, first + 5)), 's': ['py'] * 5}, schema=SCHEMA)


def respell(own, names):
    """The lake's rows as they were before they had one spelling."""
    quoted = ', '.join(f"'{name}'" for name in names)
    its = f"IN (SELECT table_id FROM ducklake_table WHERE table_name IN ({quoted}))"
    own.ask(f"""
        UPDATE ducklake_data_file SET path_is_relative = false, path = replace(lakeproxy_object(table_id, path,
            path_is_relative), 's3://', 's3a://') WHERE table_id {its};
        UPDATE ducklake_delete_file SET path_is_relative = false, path = replace(lakeproxy_object(table_id, path,
            path_is_relative), 's3://', 's3a://') WHERE table_id {its};
        UPDATE ducklake_table SET path_is_relative = false, path = replace(lakeproxy_object(table_id, '', true), 's3://',
            's3a://') WHERE table_id {its};
        DELETE FROM lakeproxy_snapshot WHERE table_id {its};
        DELETE FROM lakeproxy_superseded WHERE table_id {its};
        DELETE FROM lakeproxy_metadata_log WHERE table_id {its}""")


class Table:
    def __init__(self, own, name, duck, foreign):
        self.own = own
        self.name = f'h.{name}'
        self.duck = duck
        self.foreign = foreign
        self.before = self.read()
        assert len(self.before['PyIceberg']) == 37

    def read(self):
        both = (readers.Direct(self.duck), readers.PyIceberg(self.own.catalog))
        return {reader.name: rows_at(reader, self.name) for reader in both}

    def check(self):
        assert self.read() == self.before
        loaded = self.own.catalog.load_table(self.name)
        reached = Reaching(self.own.stack.store, self.own.lake).locations(loaded)
        assert [place for place in reached if not self.own.objects.exists(place.replace('s3a://', 's3://'))] == []

    def objects(self):
        return {path for path, in self.duck.execute(
            f"SELECT data_file FROM ducklake_list_files('lake', '{self.name[2:]}', schema => 'h')").fetchall()}


def other_spelling(path):
    return path.replace('s3a://', 's3://') if path.startswith('s3a') else path.replace('s3://', 's3a://')


def test_duckdb_keeps_an_object_that_a_row_of_another_spelling_shows(own, table):
    file = next(path for path in table.objects() if 'ducklake-' not in path)
    table.duck.execute('CREATE OR REPLACE TABLE lake.h.also (a BIGINT, s VARCHAR)')
    table.duck.execute("CALL ducklake_add_data_files('lake', 'also', ?, schema => 'h')", [other_spelling(file)])
    count = table.duck.execute('SELECT count(*), sum(a) FROM lake.h.also').fetchone()
    table.duck.execute(f'DROP TABLE lake.{table.name}')
    assert expire_and_clean(table.duck), 'the other files of the table go'
    assert own.objects.exists(file.replace('s3a://', 's3://'))
    assert table.duck.execute('SELECT count(*), sum(a) FROM lake.h.also').fetchone() == count


def test_duckdb_keeps_it_when_snapshots_expire(own, table):
    expire_and_clean(table.duck)
    table.check()


@pytest.mark.parametrize('tables', [REGISTERED], indirect=True)
def test_duckdb_takes_its_files_for_no_orphans_once_registered(table):
    """DuckDB compares texts: what an earlier release registered must be copied before (docs/operations.md)."""
    table.duck.execute("CALL ducklake_delete_orphaned_files('lake', cleanup_all => true)")
    table.check()


def test_compact_keeps_what_a_row_of_another_spelling_shows(own, table):
    """An object in the table's folder, another table's row, and an entry that was scheduled while texts were compared."""
    place = f'{location_of(own.rest, *table.name.split("."))}/shared-{uuid.uuid4().hex}.parquet'
    table.duck.execute(f"COPY (SELECT 1000 AS a, 'shared' AS s) TO '{place}' (FORMAT parquet)")
    table.duck.execute('CREATE OR REPLACE TABLE lake.h.also (a BIGINT, s VARCHAR)')
    table.duck.execute("CALL ducklake_add_data_files('lake', 'also', ?, schema => 'h')", [other_spelling(place)])
    own.ask(f"""
        ALTER TABLE ducklake_files_scheduled_for_deletion DISABLE TRIGGER lakeproxy_guard_scheduled_file;
        INSERT INTO ducklake_files_scheduled_for_deletion VALUES (987654, '{place}', false, now() - interval '1 hour');
        ALTER TABLE ducklake_files_scheduled_for_deletion ENABLE TRIGGER lakeproxy_guard_scheduled_file""")
    compact(own.rest, table.name)
    assert own.objects.exists(place.replace('s3a://', 's3://'))
    own.ask("DELETE FROM ducklake_files_scheduled_for_deletion WHERE data_file_id = 987654")
    table.check()


def test_a_purge_of_another_table_keeps_what_it_names(own, table):
    """A file in the other's folder, added under another spelling."""
    name = f'b{uuid.uuid4().hex[:8]}'
    own.catalog.create_table(f'h.{name}', SCHEMA)
    place = f'{location_of(own.rest, "h", name)}/shared.parquet'
    table.duck.execute(f"COPY (SELECT 1000 AS a, 'shared' AS s) TO '{place}' (FORMAT parquet)")
    table.duck.execute("CALL ducklake_add_data_files('lake', ?, ?, schema => 'h')",
                       [table.name[2:], place.replace('s3://', 's3a://')])
    table.before = table.read()
    assert own.rest.send('DELETE', f'namespaces/h/tables/{name}?purgeRequested=true').status_code == 204
    assert own.objects.exists(place)
    table.check()


def test_it_is_the_same_table_under_either_spelling(own, table):
    schema, name = table.name.split('.')
    shown = own.rest.get(f'namespaces/h/tables/{name}').json()
    newest = shown['metadata-location']
    for place in (newest, newest.replace('s3a://', 's3://'), newest.replace('s3://', 's3n://')):
        assert_error(own.rest.post('namespaces/h/register', {'name': 'twice', 'metadata-location': place}), 409)
    first = table.foreign.metadata_location
    assert_error(own.rest.post('namespaces/h/register', {'name': 'twice', 'metadata-location': first}), 409)
    assert own.rest.send('DELETE', f'namespaces/h/tables/{name}').status_code == 204
    body = {'name': name, 'metadata-location': newest.replace('s3a://', 's3n://').replace('s3://', 's3n://')}
    answer = own.rest.post('namespaces/h/register', body)
    assert answer.status_code == 200, answer.text
    assert answer.json()['metadata']['snapshots'] == shown['metadata']['snapshots'], 'it came back with its history'
    table.check()


def test_gc_passes_it_over(own, table):
    """The last of these: it also takes what the clients of all these tables left behind, which others look for."""
    table.check()
    own.objects.put('data/orphan')
    assert 'data/orphan' in own.remove_orphans()
    own.remove_orphans()
    table.check()
