"""A table dropped with purgeRequested: its objects go, and nobody else's."""
import threading

import pyarrow as pa
import pytest
import requests

from own_lake import Objects, location_of, own_stack
from rest import Rest, assert_error, keyed
from stack.process import wait_until

ROWS = pa.table({'a': list(range(100))})
PURGE = '?purgeRequested=true'


@pytest.fixture
def rest(lake):
    return Rest.of(lake)


@pytest.fixture(scope='module')
def objects(stack):
    return Objects(stack)


def drop(rest, schema, table, purge=True, **request):
    return rest.send('DELETE', f'namespaces/{schema}/tables/{table}{PURGE if purge else ""}', **request)


def key_of(location, name):
    return location.split('/', 3)[3].rstrip('/') + '/' + name


def test_purge_removes_every_object_of_the_table(rest, duck, catalog, objects, schema):
    table = catalog.create_table(f'{schema}.t', ROWS.schema)
    table.append(ROWS)
    duck.execute(f'DELETE FROM lake.{schema}.t WHERE a < 50')
    assert len(rest.get(f'namespaces/{schema}/tables/t').json()['metadata']['snapshots']) == 2
    objects.put(key_of(table.location(), 'data/left-by-a-writer-that-died.parquet'))
    assert len(objects.under(table.location())) > 5
    assert drop(rest, schema, 't').status_code == 204
    assert objects.under(table.location()) == set()


def test_drop_without_purge_keeps_everything(rest, catalog, objects, schema):
    table = catalog.create_table(f'{schema}.t', ROWS.schema)
    table.append(ROWS)
    # The client's own manifests go once ours stand for them.
    before = {key for key in objects.under(table.location()) if key.endswith(('.parquet', '.json'))}
    assert len(before) >= 2
    assert drop(rest, schema, 't', purge=False).status_code == 204
    assert objects.under(table.location()) >= before


def test_more_than_a_page_of_objects_goes(rest, catalog, objects, schema):
    table = catalog.create_table(f'{schema}.t', ROWS.schema)
    for n in range(2105):
        objects.put(key_of(table.location(), f'data/{n:05}'))
    assert drop(rest, schema, 't').status_code == 204
    assert objects.under(table.location()) == set()


def test_a_neighbour_whose_name_begins_alike_keeps_its_files(rest, duck, catalog, objects, schema):
    """DuckDB's folders are named like the table: a/ and ab/."""
    for name in ('a', 'ab'):
        duck.execute(f'CREATE TABLE lake.{schema}.{name} AS SELECT n AS a FROM range(100) r(n)')
        catalog.load_table(f'{schema}.{name}')
    here, there = (location_of(rest, schema, name) for name in ('a', 'ab'))
    assert there == here + 'b'
    before = objects.under(there)
    assert drop(rest, schema, 'a').status_code == 204
    assert objects.under(here) == set() and objects.under(there) == before
    assert duck.execute(f'SELECT sum(a) FROM lake.{schema}.ab').fetchone() == (4950,)


def test_a_folder_that_another_table_shares_is_kept(rest, duck, catalog, objects, schema):
    """DuckDB gives a table that is dropped and made again the folder of the first one, which old snapshots show."""
    duck.execute(f'CREATE TABLE lake.{schema}.t AS SELECT n AS a FROM range(100) r(n)')
    there = duck.execute("SELECT max(snapshot_id) FROM ducklake_snapshots('lake')").fetchone()[0]
    duck.execute(f'DROP TABLE lake.{schema}.t')
    duck.execute(f'CREATE TABLE lake.{schema}.t AS SELECT n AS a FROM range(1000) r(n)')
    location = location_of(rest, schema, 't')
    before = objects.under(location)
    assert drop(rest, schema, 't').status_code == 204
    assert objects.under(location) >= before
    assert duck.execute(f'SELECT sum(a) FROM lake.{schema}.t AT (VERSION => {there})').fetchone() == (4950,)


def test_a_table_that_is_made_in_the_folder_of_a_purged_one_keeps_its_files(rest, duck, objects, schema):
    for count in (100, 10):
        duck.execute(f'CREATE TABLE lake.{schema}.t AS SELECT n AS a FROM range({count}) r(n)')
        if count == 100:
            location = location_of(rest, schema, 't')
            assert drop(rest, schema, 't').status_code == 204
            assert objects.under(location) == set()
    assert location_of(rest, schema, 't') == location
    assert_error(drop(rest, schema, 'not_there'), 404)
    assert duck.execute(f'SELECT sum(a) FROM lake.{schema}.t').fetchone() == (45,)


def test_files_of_a_table_inside_the_folder_are_kept(rest, duck, lake, objects, schema):
    """Outer's folder holds inner's, and a file of the neighbour that only a row names."""
    for name in ('outer_t', 'inner_t', 'neighbour'):
        duck.execute(f'CREATE TABLE lake.{schema}.{name} AS SELECT n AS a FROM range(100) r(n)')
    duck.execute(f"UPDATE __ducklake_metadata_lake.ducklake_table SET path = 'outer_t/inner_t/' "
                 f"WHERE table_name = 'inner_t' AND end_snapshot IS NULL AND schema_id = (SELECT schema_id FROM "
                 f"__ducklake_metadata_lake.ducklake_schema WHERE schema_name = '{schema}' AND end_snapshot IS NULL)")
    outer = location_of(rest, schema, 'outer_t')
    inside = key_of(outer, 'inner_t/data/one.parquet')
    shared = key_of(outer, 'shared.parquet')
    objects.put(inside)
    duck.execute(f"COPY (SELECT 1000 AS a) TO 's3://{lake.s3_bucket}/{shared}' (FORMAT parquet)")
    duck.execute(f"CALL ducklake_add_data_files('lake', 'neighbour', 's3://{lake.s3_bucket}/{shared}', "
                 f"schema => '{schema}')")
    assert drop(rest, schema, 'outer_t').status_code == 204
    assert objects.under(outer) == {inside, shared}
    assert duck.execute(f'SELECT sum(a) FROM lake.{schema}.neighbour').fetchone() == (5950,)


def test_a_purged_table_does_not_come_back(rest, catalog, schema):
    table = catalog.create_table(f'{schema}.t', ROWS.schema)
    table.append(ROWS)
    location = table.metadata_location
    assert drop(rest, schema, 't').status_code == 204
    answer = rest.post(f'namespaces/{schema}/register', {'name': 't', 'metadata-location': location})
    assert_error(answer, 400, 404)


@pytest.fixture(scope='module')
def own():
    with own_stack('purge') as own:
        own.duck.execute('CREATE SCHEMA lake.f')
        yield own


def fill(own, name):
    own.catalog.create_table(f'f.{name}', ROWS.schema).append(ROWS)
    # A load waits for the metadata file, which the answer to the append does not.
    return own.catalog.load_table(f'f.{name}')


@pytest.mark.parametrize('request_of', [dict, keyed])
def test_without_the_store_the_table_goes_and_the_files_with_the_next_call(own, request_of):
    table = fill(own, 'fault')
    request = request_of()
    own.stack.stop(own.stack.store)
    try:
        answer = drop(own.rest, 'f', 'fault', **request)
        assert_error(answer, 503)
        assert 'dropped' in answer.json()['error']['message']
        assert_error(own.rest.get('namespaces/f/tables/fault'), 404)
    finally:
        own.stack.start(own.stack.store)
    assert own.objects.under(table.location())
    register = own.rest.post('namespaces/f/register', {'name': 'again', 'metadata-location': table.metadata_location})
    assert_error(register, 409)
    assert drop(own.rest, 'f', 'fault', **request).status_code == 204
    assert own.objects.under(table.location()) == set()
    if not request:
        assert_error(drop(own.rest, 'f', 'fault'), 404)


def test_a_server_that_dies_in_the_middle_leaves_what_the_next_one_finishes(own):
    table = fill(own, 'killed')
    for n in range(3000):
        own.objects.put(key_of(table.location(), f'data/{n:05}'))
    whole = len(own.objects.under(table.location()))

    def ask():
        try:
            drop(own.rest, 'f', 'killed')
        except requests.RequestException:
            pass  # The server is killed meanwhile.

    caller = threading.Thread(target=ask)
    caller.start()
    assert wait_until(lambda: len(own.objects.under(table.location())) < whole, 20)
    own.stack.stop(own.stack.catalog, kill=True)
    caller.join()
    own.stack.start(own.stack.catalog)
    left = own.objects.under(table.location())
    assert drop(own.rest, 'f', 'killed').status_code == (204 if left else 404)
    assert own.objects.under(table.location()) == set()
