"""Catalogs beside the default one: each a lake of its own, seen by nobody through another's name."""
import dataclasses
import uuid

import pyarrow as pa
import pytest
import requests
from pyiceberg.exceptions import NoSuchTableError

from lake_clients import duck as duckdb_client
from lake_clients import iceberg as iceberg_client
from rest import Rest, assert_error, table_body
from stack import ports, postgres
from stack.catalog import Lakeproxy


def body_of(name, **changes):
    return {'catalog_id': name, 'metadata_schema': f'meta_{name}', 'data_prefix': f'tenants/{name}/',
            **changes}


def register(lake, body):
    return requests.post(f'{lake.uri}/v1/catalogs', json=body, timeout=30)


@pytest.fixture
def names():
    return [f'c{uuid.uuid4().hex[:12]}' for _ in range(3)]


def registered(lake, name):
    answer = register(lake, body_of(name))
    assert answer.status_code == 201, answer.text
    return dataclasses.replace(lake, warehouse=name, pg_schema=f'meta_{name}',
                               prefix=f'tenants/{name}/')


def rows_of(catalog, table):
    return sorted(catalog.load_table(table).scan().to_arrow().to_pydict()['a'])


def test_a_catalog_is_a_lake_that_clients_and_duckdb_share(lake, names):
    own = registered(lake, names[0])
    catalog = iceberg_client.connect(own)
    catalog.create_namespace('s')
    table = catalog.create_table('s.t', pa.schema([('a', pa.int64())]))
    table.append(pa.table({'a': [1, 2, 3]}))
    assert table.location().startswith(own.data_path)
    duck = duckdb_client.connect_lake(own)
    duck.execute('INSERT INTO lake.s.t VALUES (4)')
    assert rows_of(catalog, 's.t') == [1, 2, 3, 4]
    assert duck.execute('SELECT sum(a) FROM lake.s.t').fetchone() == (10,)
    through = duckdb_client.connect_catalog(own)
    assert through.execute('SELECT count(*) FROM ice.s.t').fetchone() == (4,)


def test_tables_of_one_name_in_two_catalogs_are_two_tables(lake, names):
    catalogs = [iceberg_client.connect(registered(lake, name)) for name in names]
    for i, catalog in enumerate(catalogs):
        catalog.create_namespace('s')
        catalog.create_table('s.t', pa.schema([('a', pa.int64())])).append(pa.table({'a': [i]}))
    assert [rows_of(catalog, 's.t') for catalog in catalogs] == [[0], [1], [2]]
    catalogs[0].drop_table('s.t')
    with pytest.raises(NoSuchTableError):
        catalogs[0].load_table('s.t')
    assert rows_of(catalogs[1], 's.t') == [1]


def test_the_answer_is_what_was_registered(lake, names):
    body = body_of(names[0], account_id='acme')
    answer = register(lake, body)
    assert (answer.status_code, answer.json()) == (201, body)


def test_registered_catalogs_are_listed_by_pages(lake, names):
    for name in names:
        registered(lake, name)
    seen, token = [], ''
    while token is not None:
        answer = requests.get(f'{lake.uri}/v1/catalogs', params={'pageSize': 2, 'pageToken': token}, timeout=30)
        assert answer.status_code == 200, answer.text
        page = answer.json()
        assert len(page['catalogs']) <= 2
        seen, token = seen + page['catalogs'], page['next-page-token']
    assert seen == requests.get(f'{lake.uri}/v1/catalogs', timeout=30).json()['catalogs']
    ids = [one['catalog_id'] for one in seen]
    assert len(ids) == len(set(ids)) and set(names) <= set(ids) and 'lake' not in ids
    assert body_of(names[0]) in [{key: one[key] for key in body_of(names[0])} for one in seen]


def test_what_is_taken_is_409_and_names_the_member(lake, names):
    first, second, _ = names
    registered(lake, first)
    for changes in ({'catalog_id': first}, {'catalog_id': lake.warehouse},
                    {'metadata_schema': f'meta_{first}'}, {'metadata_schema': 'public'},
                    {'data_prefix': f'tenants/{first}/'}, {'data_prefix': f'tenants/{first}/deep/'},
                    {'data_prefix': 'tenants/'}, {'data_prefix': 'data/inside/'}):
        answer = register(lake, body_of(second, **changes))
        assert_error(answer, 409)
        assert answer.json()['error']['message'].startswith(next(iter(changes)))
        assert_error(Rest(lake.uri, second).get('namespaces'), 404)


@pytest.mark.parametrize('changes', [
    {'catalog_id': 'a/b'}, {'catalog_id': 'config'}, {'catalog_id': 7}, {'catalog_id': None},
    {'metadata_schema': 'A"; DROP SCHEMA public; --'}, {'metadata_schema': 'pg_catalog'},
    {'data_prefix': '../x/'}, {'data_prefix': 'x'}, {'data_prefix': 'a//b/'}, {'data_prefix': '/'},
    {'account_id': ''}, {'acount_id': 'misspelt'}])
def test_what_breaks_a_rule_is_400_and_names_the_member(lake, names, changes):
    answer = register(lake, body_of(names[0], **changes))
    assert_error(answer, 400)
    assert next(iter(changes)) in answer.json()['error']['message']


def test_config_by_warehouse_answers_that_catalogs_prefix(lake, names):
    own = registered(lake, names[0])
    config = requests.get(f'{lake.uri}/v1/config', params={'warehouse': own.warehouse}, timeout=30)
    assert config.json()['overrides']['prefix'] == own.warehouse
    assert config.json()['defaults']['warehouse'] == own.warehouse
    home = requests.get(f'{lake.uri}/v1/config', timeout=30).json()
    assert home['overrides']['prefix'] == lake.warehouse and config.json()['endpoints'] == home['endpoints']
    unknown = requests.get(f'{lake.uri}/v1/config', params={'warehouse': names[1]}, timeout=30)
    assert_error(unknown, 404)
    assert_error(Rest(lake.uri, names[1]).get('namespaces'), 404)


@pytest.fixture
def small(stack, lake, tmp_path):
    """A second server on the same database and store that keeps one registered catalog attached."""
    server = Lakeproxy(tmp_path, ports.choose(0, 8282, 'the catalog'), stack.postgres, stack.store,
                       stack.state['binary'], {'LAKEPROXY_MAX_ACTIVE_CATALOGS': '1'})
    process = server.start()
    try:
        yield dataclasses.replace(lake, uri=server.uri())
    finally:
        server.stop(process)


def test_catalogs_that_take_each_others_place_stay_right(lake, small, names):
    """More catalogs than may be attached, changed by another server meanwhile."""
    lakes = [registered(lake, name) for name in names]
    writers = [iceberg_client.connect(own) for own in lakes]
    readers = [iceberg_client.connect(dataclasses.replace(own, uri=small.uri)) for own in lakes]
    for writer in writers:
        writer.create_namespace('s')
        writer.create_table('s.t', pa.schema([('a', pa.int64())]))
    for turn in range(3):
        for i, (writer, reader) in enumerate(zip(writers, readers)):
            writer.load_table('s.t').append(pa.table({'a': [10 * i + turn]}))
            reader.load_table('s.t').append(pa.table({'a': [10 * i + turn]}))
            expected = sorted(2 * [10 * i + past for past in range(turn + 1)])
            assert rows_of(reader, 's.t') == rows_of(writer, 's.t') == expected


def test_compaction_stays_in_its_own_catalog(lake, names):
    """Two catalogs have a table of one name; that of one is compacted."""
    lakes = [registered(lake, name) for name in names[:2]]
    catalogs = [iceberg_client.connect(own) for own in lakes]
    ducks = [duckdb_client.connect_lake(own) for own in lakes]
    for catalog, duck in zip(catalogs, ducks):
        catalog.create_namespace('s')
        table = catalog.create_table('s.t', pa.schema([('a', pa.int64())]))
        for first in (0, 20, 40):
            table.append(pa.table({'a': list(range(first, first + 20))}))
        duck.execute('INSERT INTO lake.s.t VALUES (60)')
    before = [rows_of(catalog, 's.t') for catalog in catalogs]
    answer = Rest.of(lakes[0]).post('admin/namespaces/s/tables/t/compact')
    assert answer.status_code == 200, answer.text
    done = answer.json()
    assert done['complete'] and done['rows-flushed'] == 1 and done['after']['data-files'] == 1 < done['before']['data-files']
    assert [rows_of(catalog, 's.t') for catalog in catalogs] == before
    for duck, files in zip(ducks, (1, 3)):
        assert duck.execute('SELECT count(*), sum(a) FROM lake.s.t').fetchone() == (61, sum(range(61)))
        assert len(duck.execute("FROM ducklake_list_files('lake', 't', schema => 's')").fetchall()) == files


def test_a_lake_that_is_migrated_while_it_is_served_is_refused_until_it_is_understood(lake, stack, names):
    """A newer DuckDB may do that at any time: neither read nor written by old rules."""
    own = registered(lake, names[0])
    catalog = iceberg_client.connect(own)
    catalog.create_namespace('s')
    catalog.create_table('s.t', pa.schema([('a', pa.int64())])).append(pa.table({'a': [1]}))
    rest = Rest.of(own)
    change = {'requirements': [], 'updates': [{'action': 'set-properties', 'updates': {'n': '1'}}]}

    def migrate(version):
        stack.postgres.query(postgres.DATABASE, f"UPDATE {own.pg_schema}.ducklake_metadata SET value = '{version}' WHERE key = 'version'")

    migrate('7.0')
    for answer in (rest.get('namespaces/s/tables/t'), rest.post('namespaces/s/tables/t', change),
                   rest.post('namespaces', {'namespace': ['other']}), rest.post('namespaces/s/tables', table_body('u'))):
        assert_error(answer, 501)
        assert "'7.0'" in answer.json()['error']['message'], answer.text
    migrate('1.0')
    assert rest.post('namespaces/s/tables/t', change).status_code == 200
    assert rows_of(catalog, 's.t') == [1]
