"""Commits of several tables: all of them or none."""
import json

import pyarrow as pa
import pytest

from lake_clients import duck as duckdb_client
from rest import Rest, assert_error, keyed, table_body

SCHEMA = pa.schema([('a', pa.int64())])


@pytest.fixture
def rest(lake):
    return Rest.of(lake)


@pytest.fixture
def tables(catalog, schema):
    return [catalog.create_table(f'{schema}.{name}', SCHEMA) for name in 'ab']


def change(table, *updates, requirements=()):
    *levels, name = table.name()
    return {'identifier': {'namespace': levels, 'name': name}, 'requirements': list(requirements),
            'updates': list(updates)}


def properties(**updates):
    return {'action': 'set-properties', 'updates': updates}


def append(table, *values):
    """What PyIceberg would commit to append the values."""
    transaction = table.transaction()
    transaction.append(pa.table({'a': list(values)}, schema=SCHEMA))
    def texts(parts):
        return [json.loads(part.model_dump_json(by_alias=True, exclude_none=True)) for part in parts]
    return change(table, *texts(transaction._updates), requirements=texts(transaction._requirements))


def commit(rest, *changes, **request):
    return rest.post('transactions/commit', {'table-changes': list(changes)}, **request)


def values(duck, catalog, table):
    name = '.'.join(table.name())
    found = sorted(n for n, in duck.execute(f'SELECT a FROM lake.{name}').fetchall())
    assert found == sorted(catalog.load_table(name).scan().to_arrow()['a'].to_pylist())
    return found


def newest(duck):
    return duck.execute("SELECT max(snapshot_id) FROM ducklake_snapshots('lake')").fetchone()[0]


def test_several_tables_change_at_once(rest, duck, catalog, tables):
    a, b = tables
    before = newest(duck)
    answer = commit(rest, append(a, 1, 2), append(b, 3))
    assert answer.status_code == 204 and not answer.content, answer.text
    assert newest(duck) == before + 2, 'each table has its own snapshot'
    assert values(duck, catalog, a) == [1, 2] and values(duck, catalog, b) == [3]
    assert catalog.load_table(a.name()).current_snapshot().snapshot_id == before + 1
    assert catalog.load_table(b.name()).current_snapshot().snapshot_id == before + 2
    a, b = (catalog.load_table(table.name()) for table in tables)
    assert commit(rest, append(b, 4), change(a, properties(k='v'))).status_code == 204
    assert catalog.load_table(a.name()).properties['k'] == 'v'
    assert values(duck, catalog, b) == [3, 4]


@pytest.mark.parametrize('wrong, status', [
    (lambda a, b: change(b, requirements=[{'type': 'assert-ref-snapshot-id', 'ref': 'main', 'snapshot-id': 1}]), 409),
    (lambda a, b: change(b, requirements=[{'type': 'assert-create'}]), 409),
    (lambda a, b: change(b, properties(**{'lakeproxy.x': '1'})), 403),
    (lambda a, b: change(b, {'action': 'set-location', 'location': 's3://elsewhere/'}), 501),
    (lambda a, b: change(b, {'action': 'explode'}), 400),
    (lambda a, b: {**change(b), 'identifier': {'namespace': ['nowhere'], 'name': 'b'}}, 404),
    (lambda a, b: {'requirements': [], 'updates': []}, 400),
    (lambda a, b: change(a, properties(k='twice')), 400),
])
def test_one_refusal_undoes_all(rest, duck, catalog, tables, wrong, status):
    a, b = tables
    before = newest(duck)
    assert_error(commit(rest, append(a, 1), wrong(a, b)), status)
    assert newest(duck) == before
    assert values(duck, catalog, a) == values(duck, catalog, b) == []
    assert not rest.get('namespaces/{}/tables/{}'.format(*a.name())).json()['metadata'].get('snapshots')


def test_an_append_that_was_made_on_an_older_table_is_whole_or_not_there(rest, duck, catalog, tables):
    a, b = tables
    late = append(a, 1), append(b, 2)
    duck.execute(f'INSERT INTO lake.{".".join(b.name())} VALUES (7)')
    answer = commit(rest, *late)
    assert answer.status_code in (204, 409), answer.text
    made = answer.status_code == 204
    assert values(duck, catalog, a) == ([1] if made else [])
    assert values(duck, catalog, b) == ([2, 7] if made else [7])


def test_a_key_makes_it_once(rest, duck, catalog, tables):
    changes = [append(table, 1) for table in tables]
    key = keyed()
    assert [commit(rest, *changes, **key).status_code for _ in range(3)] == [204] * 3
    assert [values(duck, catalog, table) for table in tables] == [[1], [1]]
    assert_error(commit(rest, changes[0], **key), 422)


def test_a_table_is_made_beside_a_change(rest, duck, catalog, tables, schema):
    staged = rest.post(f'namespaces/{schema}/tables', table_body('made', **{'stage-create': True})).json()['metadata']
    made = {'identifier': {'namespace': [schema], 'name': 'made'}, 'requirements': [{'type': 'assert-create'}],
            'updates': [
                {'action': 'assign-uuid', 'uuid': staged['table-uuid']},
                {'action': 'add-schema', 'schema': staged['schemas'][0]},
                {'action': 'set-current-schema', 'schema-id': -1},
                {'action': 'add-spec', 'spec': staged['partition-specs'][0]},
                {'action': 'set-default-spec', 'spec-id': -1},
                {'action': 'set-location', 'location': staged['location']}]}
    assert_error(commit(rest, made, change(tables[0], requirements=[{'type': 'assert-create'}])), 409)
    assert rest.send('HEAD', f'namespaces/{schema}/tables/made').status_code == 404
    answer = commit(rest, made, append(tables[0], 5))
    assert answer.status_code == 204, answer.text
    assert values(duck, catalog, tables[0]) == [5]
    assert duck.execute(f'SELECT count(*) FROM lake.{schema}.made').fetchone() == (0,)


def test_nothing_to_change_is_no_fault(rest, duck):
    before = newest(duck)
    assert commit(rest).status_code == 204
    assert newest(duck) == before
    assert_error(rest.post('transactions/commit', {}), 400)
    assert_error(rest.post('transactions/commit', {'table-changes': {}}), 400)


def test_duckdb_commits_two_tables_in_one_transaction(lake, duck, catalog, tables):
    a, b = ('.'.join(table.name()) for table in tables)
    client = duckdb_client.connect_catalog(lake)
    client.execute(f'BEGIN; INSERT INTO ice.{a} VALUES (1), (2); INSERT INTO ice.{b} VALUES (3); COMMIT')
    assert values(duck, catalog, tables[0]) == [1, 2] and values(duck, catalog, tables[1]) == [3]
    client.execute(f'BEGIN; INSERT INTO ice.{a} VALUES (4); INSERT INTO ice.{b} VALUES (5); ROLLBACK')
    assert values(duck, catalog, tables[0]) == [1, 2] and values(duck, catalog, tables[1]) == [3]
