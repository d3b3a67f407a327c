"""Views: made, changed and read by Iceberg's clients and by DuckDB, each seeing the other's."""
import concurrent.futures

import pytest
from pyiceberg.exceptions import NoSuchViewError, ViewAlreadyExistsError
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType
from pyiceberg.view.metadata import SQLViewRepresentation, ViewVersion

from rest import Rest, assert_error, keyed, table_body

COLUMNS = Schema(NestedField(1, 'n', LongType(), required=False),
                 NestedField(2, 'name', StringType(), required=False))


def version(schema, **queries):
    """One query for each dialect."""
    return ViewVersion(version_id=1, timestamp_ms=1_700_000_000_000, schema_id=0, summary={},
                       default_namespace=[schema],
                       representations=[SQLViewRepresentation(type='sql', sql=sql, dialect=dialect)
                                        for dialect, sql in queries.items()])


def body(name, sql='SELECT 1 AS a', dialect='duckdb', **changes):
    return {'name': name, 'schema': table_body(name)['schema'], 'properties': {},
            'view-version': {'version-id': 1, 'timestamp-ms': 1, 'schema-id': 0, 'summary': {},
                             'default-namespace': [],
                             'representations': [{'type': 'sql', 'sql': sql, 'dialect': dialect}]},
            **changes}


@pytest.fixture
def rest(lake):
    return Rest.of(lake)


@pytest.fixture
def table(duck, schema):
    duck.execute(f'CREATE TABLE lake.{schema}.t (id BIGINT, s VARCHAR)')
    duck.execute(f"INSERT INTO lake.{schema}.t SELECT i, 'k' || i % 3 FROM range(20) r(i)")
    return f'{schema}.t'


def names(duck, schema):
    found = duck.execute("SELECT view_name FROM duckdb_views() WHERE database_name = 'lake' "
                         'AND schema_name = ? ORDER BY 1', [schema]).fetchall()
    return [name for name, in found]


def test_duckdb_queries_the_view_of_a_client(catalog, duck, schema, table):
    made = catalog.create_view(f'{schema}.v', COLUMNS, version(
        schema, spark='SELECT no_such_function(id), s FROM t',
        duckdb='SELECT sum(id)::BIGINT, s FROM t GROUP BY s'), properties={'comment': 'sums'})
    assert catalog.view_exists(f'{schema}.v')
    assert catalog.list_views(schema) == [(schema, 'v')]
    assert (schema, 'v') not in catalog.list_tables(schema)
    loaded = catalog.load_view(f'{schema}.v')
    assert loaded.metadata == made.metadata
    assert loaded.sql_for('duckdb').sql.startswith('SELECT sum')
    # The columns have the names that the view's schema gives them.
    rows = duck.execute(f'SELECT n, name FROM lake.{schema}.v ORDER BY name').fetchall()
    assert rows == duck.execute(f'SELECT sum(id), s FROM lake.{table} GROUP BY s ORDER BY s').fetchall()
    assert names(duck, schema) == ['v']
    with pytest.raises(ViewAlreadyExistsError):
        catalog.create_view(f'{schema}.v', COLUMNS, version(schema, duckdb='SELECT 1, 2'))
    catalog.drop_view(f'{schema}.v')
    assert not catalog.view_exists(f'{schema}.v')
    assert names(duck, schema) == []
    with pytest.raises(NoSuchViewError):
        catalog.drop_view(f'{schema}.v')


def test_spark_makes_changes_and_reads_views(spark, catalog, duck, schema, table):
    spark.sql(f"CREATE VIEW lake.{schema}.v (key COMMENT 'of a row', total) COMMENT 'by Spark' "
              f'AS SELECT s, count(*) FROM lake.{table} GROUP BY s')
    select = f'SELECT key, total FROM lake.{schema}.v ORDER BY key'
    expected = duck.execute(f'SELECT s, count(*) FROM lake.{table} GROUP BY s ORDER BY s').fetchall()
    assert [tuple(row) for row in spark.sql(select).collect()] == expected
    assert duck.execute(select).fetchall() == expected
    assert [row.viewName for row in spark.sql(f'SHOW VIEWS IN lake.{schema}').collect()] == ['v']

    spark.sql(f"ALTER VIEW lake.{schema}.v SET TBLPROPERTIES ('team' = 'me')")
    assert catalog.load_view(f'{schema}.v').properties['team'] == 'me'
    assert duck.execute("SELECT comment FROM duckdb_views() WHERE database_name = 'lake' AND "
                        'schema_name = ?', [schema]).fetchall() == [('by Spark',)]

    spark.sql(f'CREATE OR REPLACE VIEW lake.{schema}.v AS '
              f'SELECT max(id) AS most FROM lake.{table}')
    assert spark.sql(f'SELECT most FROM lake.{schema}.v').collect()[0].most == 19
    assert duck.execute(f'SELECT most FROM lake.{schema}.v').fetchall() == [(19,)]
    assert len(catalog.load_view(f'{schema}.v').versions) == 2

    spark.sql(f'ALTER VIEW lake.{schema}.v RENAME TO lake.{schema}.w')
    assert names(duck, schema) == ['w']
    spark.sql(f'DROP VIEW lake.{schema}.w')
    assert spark.sql(f'SHOW VIEWS IN lake.{schema}').collect() == []
    assert names(duck, schema) == []


def test_clients_see_the_views_of_duckdb(rest, spark, catalog, duck, schema, table):
    duck.execute(f'CREATE VIEW lake.{schema}.plain AS SELECT id, s FROM lake.{table}')
    duck.execute(f'CREATE VIEW lake.{schema}.named (a, "b ""c") AS SELECT id, s FROM lake.{table}')
    duck.execute(f"COMMENT ON VIEW lake.{schema}.plain IS 'from the lake'")
    assert catalog.list_views(schema) == [(schema, 'named'), (schema, 'plain')]
    assert catalog.list_tables(schema) == [(schema, 't')]
    assert sorted(row.viewName for row in spark.sql(f'SHOW VIEWS IN lake.{schema}').collect()) == [
        'named', 'plain']

    plain = catalog.load_view(f'{schema}.plain')
    assert plain.sql_for('duckdb').sql == f'SELECT id, s FROM lake.{table}'
    assert plain.properties['comment'] == 'from the lake'
    assert [version.version_id for version in plain.versions] == [1]
    url = f'namespaces/{schema}/views/plain'
    assert rest.get(url).json() == rest.get(url).json()
    named = catalog.load_view(f'{schema}.named')
    assert [field.name for field in named.schema().fields] == ['a', 'b "c']

    duck.execute(f'ALTER VIEW lake.{schema}.plain RENAME TO moved')
    moved = catalog.load_view(f'{schema}.moved')
    assert moved.uuid() == plain.uuid() and moved.location() == plain.location()
    duck.execute(f'DROP VIEW lake.{schema}.moved')
    assert catalog.list_views(schema) == [(schema, 'named')]


def test_a_client_changes_a_view_of_duckdb_and_the_reverse(rest, catalog, duck, schema, table):
    duck.execute(f'CREATE VIEW lake.{schema}.v AS SELECT id FROM lake.{table}')
    url = f'namespaces/{schema}/views/v'
    answer = rest.post(url, {'updates': [{'action': 'set-properties', 'updates': {'a': '1'}}]})
    assert answer.status_code == 200
    assert duck.execute(f'SELECT count(*) FROM lake.{schema}.v').fetchall() == [(20,)]
    replaced = rest.post(url, {'updates': [
        {'action': 'add-schema', 'schema': table_body('x')['schema']},
        {'action': 'add-view-version', 'view-version': {
            **body('v', f'SELECT max(id) FROM {table}')['view-version'], 'schema-id': -1}},
        {'action': 'set-current-view-version', 'view-version-id': -1}]}).json()['metadata']
    assert replaced['current-version-id'] == 2 and replaced['properties'] == {'a': '1'}
    assert duck.execute(f'SELECT a FROM lake.{schema}.v').fetchall() == [(19,)]

    duck.execute(f'ALTER VIEW lake.{schema}.v RENAME TO w')
    assert rest.get(f'namespaces/{schema}/views/w').json()['metadata'] == replaced
    duck.execute(f'CREATE OR REPLACE VIEW lake.{schema}.w AS SELECT min(id) AS b FROM lake.{table}')
    now = rest.get(f'namespaces/{schema}/views/w').json()['metadata']
    assert now['view-uuid'] != replaced['view-uuid']
    assert [r['sql'] for v in now['versions'] for r in v['representations']] == [
        f'SELECT min(id) AS b FROM lake.{table}']
    assert rest.send('DELETE', f'namespaces/{schema}/views/w').status_code == 204
    assert names(duck, schema) == []


def test_a_view_that_duckdb_cannot_read_disturbs_nothing(catalog, duck, schema, table):
    catalog.create_view(f'{schema}.foreign', COLUMNS,
                        version(schema, trino='SELECT ((( this is no SQL of DuckDB'))
    duck.execute(f'CREATE VIEW lake.{schema}.good AS SELECT id FROM lake.{table}')
    assert names(duck, schema) == ['foreign', 'good']
    assert duck.execute(f'SELECT count(*) FROM lake.{schema}.good').fetchall() == [(20,)]
    with pytest.raises(Exception, match='Parser Error'):
        duck.execute(f'FROM lake.{schema}.foreign')


def test_a_view_comes_back_from_its_metadata_file(rest, schema):
    made = rest.post(f'namespaces/{schema}/views', body('v')).json()
    assert rest.send('DELETE', f'namespaces/{schema}/views/v').status_code == 204
    request = {'name': 'w', 'metadata-location': made['metadata-location']}
    assert rest.post(f'namespaces/{schema}/register-view', request).json() == made
    assert rest.get(f'namespaces/{schema}/views/w').json() == made
    assert_error(rest.post(f'namespaces/{schema}/register-view', request), 409)
    for location in ['s3://elsewhere/v.metadata.json', 'file:///etc/passwd', 'none',
                     made['metadata-location'] + 'x']:
        assert_error(rest.post(f'namespaces/{schema}/register-view',
                               {'name': 'x', 'metadata-location': location}), 400)


def test_views_are_listed_in_pages(rest, schema):
    for i in range(5):
        assert rest.post(f'namespaces/{schema}/views', body(f'v{i}')).status_code == 200
    listed, token = [], ''
    while token is not None:
        page = rest.get(f'namespaces/{schema}/views',
                        params={'pageSize': 2, 'pageToken': token}).json()
        assert len(page['identifiers']) <= 2
        listed += [one['name'] for one in page['identifiers']]
        token = page['next-page-token']
    assert listed == [f'v{i}' for i in range(5)]
    assert_error(rest.get('namespaces/no_such_namespace/views'), 404)


def test_one_name_stands_for_one_thing(rest, schema):
    views, tables = f'namespaces/{schema}/views', f'namespaces/{schema}/tables'
    assert rest.post(views, body('v')).status_code == 200
    assert rest.post(tables, table_body('t')).status_code == 200
    assert_error(rest.post(tables, table_body('v')), 409)
    assert_error(rest.post(tables, table_body('v', **{'stage-create': True})), 409)
    assert_error(rest.post(views, body('t')), 409)
    for kind, taken in (('views', 't'), ('tables', 'v')):
        rename = {'source': {'namespace': [schema], 'name': 'v' if kind == 'views' else 't'},
                  'destination': {'namespace': [schema], 'name': taken}}
        assert_error(rest.post(f'{kind}/rename', rename), 409)
    assert rest.get(f'{views}/t').json()['error']['type'] == 'NoSuchViewException'
    assert rest.get(f'{tables}/v').json()['error']['type'] == 'NoSuchTableException'
    assert rest.send('HEAD', f'{views}/v').status_code == 204
    assert_error(rest.send('HEAD', f'{views}/t'), 404)
    assert rest.send('DELETE', f'{tables}/t').status_code == 204
    assert_error(rest.send('DELETE', f'namespaces/{schema}'), 409)


def test_names_of_masks_are_reserved_and_hidden(rest, duck, schema):
    views = f'namespaces/{schema}/views'
    assert_error(rest.post(views, body('__mask_v')), 400)
    assert rest.post(views, body('v')).status_code == 200
    rename = {'source': {'namespace': [schema], 'name': 'v'},
              'destination': {'namespace': [schema], 'name': '__mask_v'}}
    assert_error(rest.post('views/rename', rename), 400)
    duck.execute(f'CREATE VIEW lake.{schema}.__mask_t AS SELECT 1 AS one')
    duck.execute(f'CREATE TABLE lake.{schema}.__mask_u (a INTEGER)')
    assert [one['name'] for one in rest.get(views).json()['identifiers']] == ['v']
    assert rest.get(f'namespaces/{schema}/tables').json()['identifiers'] == []
    assert rest.get(f'{views}/__mask_t').status_code == 200


def test_a_change_that_does_not_fit_changes_nothing(rest, schema):
    before = rest.post(f'namespaces/{schema}/views', body('v')).json()
    url = f'namespaces/{schema}/views/v'
    twice = body('v')
    twice['view-version']['representations'] *= 2
    assert_error(rest.post(f'namespaces/{schema}/views', {**twice, 'name': 'w'}), 400)
    other = '00000000-0000-4000-8000-000000000000'
    trino = body('v', dialect='trino')['view-version']
    for status, change in [
            (400, {}),
            (400, {'updates': [{'action': 'remove-schemas', 'schema-ids': [0]}]}),
            (400, {'updates': [{'action': 'set-current-view-version', 'view-version-id': 7}]}),
            (400, {'updates': [{'action': 'assign-uuid', 'uuid': other}]}),
            (400, {'updates': [{'action': 'upgrade-format-version', 'format-version': 2}]}),
            (400, {'updates': [{'action': 'add-view-version', 'view-version': trino},
                               {'action': 'set-current-view-version', 'view-version-id': -1}]}),
            (403, {'updates': [{'action': 'set-properties', 'updates': {'lakeproxy.a': '1'}}]}),
            (409, {'requirements': [{'type': 'assert-view-uuid', 'uuid': other}], 'updates': []}),
            (501, {'updates': [{'action': 'set-location', 'location': 's3://lake/other'}]})]:
        assert_error(rest.post(url, change), status)
    place = {'action': 'set-location', 'location': before['metadata']['location']}
    uuid = {'type': 'assert-view-uuid', 'uuid': before['metadata']['view-uuid']}
    assert rest.post(url, {'requirements': [uuid], 'updates': [place]}).json() == before
    assert rest.get(url).json() == before
    assert_error(rest.post(f'namespaces/{schema}/views/none', {'updates': []}), 404)


def test_changes_at_the_same_time_all_arrive(rest, schema):
    assert rest.post(f'namespaces/{schema}/views', body('v')).status_code == 200
    url = f'namespaces/{schema}/views/v'

    def change(i):
        return rest.post(url, {'updates': [{'action': 'set-properties',
                                            'updates': {f'k{i}': 'x'}}]}).status_code
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert set(pool.map(change, range(16))) == {200}
    assert set(rest.get(url).json()['metadata']['properties']) == {f'k{i}' for i in range(16)}


def test_each_change_tells_its_first_answer_again(rest, schema):
    views = f'namespaces/{schema}/views'
    uuid = '00000000-0000-4000-8000-000000000000'

    def change(method, path, given, status):
        """Its answer, which is the same a second time; without the key it is made again, and fails."""
        key = keyed()
        first = rest.send(method, path, json=given, **key)
        again = rest.send(method, path, json=given, **key)
        assert first.status_code == again.status_code == status, (path, first.text, again.text)
        assert first.text == again.text, path
        if given is None or 'updates' not in given:
            assert rest.send(method, path, json=given).status_code in (404, 409), path
        return first

    made = change('POST', views, body('v'), 200).json()
    change('POST', f'{views}/v', {'updates': [{'action': 'set-properties', 'updates': {'k': '1'}}]}, 200)
    change('POST', f'{views}/v', {'requirements': [{'type': 'assert-view-uuid', 'uuid': uuid}], 'updates': []}, 409)
    change('POST', 'views/rename', {'source': {'namespace': [schema], 'name': 'v'},
                                    'destination': {'namespace': [schema], 'name': 'w'}}, 204)
    change('DELETE', f'{views}/w', None, 204)
    change('POST', f'namespaces/{schema}/register-view',
           {'name': 'v', 'metadata-location': made['metadata-location']}, 200)


def test_a_change_that_comes_again_is_made_once(rest, schema):
    url = f'namespaces/{schema}/views/v'
    assert rest.post(f'namespaces/{schema}/views', body('v')).status_code == 200

    def put(value):
        return {'updates': [{'action': 'set-properties', 'updates': {'n': value}}]}
    key = keyed()
    assert rest.post(url, put('1'), **key).status_code == 200
    assert rest.post(url, put('2'), **keyed()).status_code == 200
    assert rest.post(url, put('1'), **key).json()['metadata']['properties'] == {'n': '2'}
    assert_error(rest.post(url, put('2'), **key), 422)
