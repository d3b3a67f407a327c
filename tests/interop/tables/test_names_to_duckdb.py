"""DuckDB tells no upper from lower case: what it would take for one name, no client can make twice. Of two such tables it
shows one, and of two such columns it opens no table of the lake any more."""
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType
from rest import Rest, assert_error

from agreement import assert_agree

N = Schema(NestedField(1, 'n', LongType(), required=False), NestedField(2, 'other', LongType(), required=False))


@pytest.fixture
def rest(lake):
    return Rest.of(lake)


def columns(*fields):
    return {'type': 'struct', 'fields': [{'id': number, 'name': name, 'type': kind, 'required': False}
                                         for number, (name, kind) in enumerate(fields, 1)]}


def struct(*names):
    return {'type': 'struct', 'fields': [{'id': 100 + number, 'name': name, 'type': 'long', 'required': False}
                                         for number, name in enumerate(names)]}


@pytest.mark.parametrize('fields, named', [
    ([('a', 'long'), ('A', 'long')], 'column A'),
    ([('s', struct('x', 'y', 'X'))], 'column s.X'),
    ([('l', {'type': 'list', 'element-id': 50, 'element': struct('k', 'K'), 'element-required': False})], 'column l.element.K')])
def test_two_columns(rest, schema, duck, fields, named):
    answer = rest.post(f'namespaces/{schema}/tables', {'name': 't', 'schema': columns(*fields)})
    assert_error(answer, 400)
    assert answer.json()['error']['message'].startswith(f'schema: {named}: its name is that of column')
    duck.execute(f'CREATE TABLE lake.{schema}.still_open AS SELECT 1 AS a')


def test_columns_that_come_later(catalog, schema, duck):
    table = catalog.create_table(f'{schema}.t', N)
    for change in (lambda update: update.add_column('N', LongType()), lambda update: update.rename_column('other', 'N')):
        with pytest.raises(Exception, match='column N: its name is that of column n to DuckDB'):
            with table.refresh().update_schema() as update:
                change(update)
    with table.refresh().update_schema() as update:
        update.rename_column('n', 'N')
    with table.refresh().update_schema() as update:
        update.add_column('É', LongType())
        update.add_column('é', LongType())
    duck.execute(f'INSERT INTO lake.{schema}.t VALUES (1, 2, 3, 4)')
    assert catalog.load_table(f'{schema}.t').scan().to_arrow().to_pylist() == [{'N': 1, 'other': 2, 'É': 3, 'é': 4}]


def test_two_tables_or_views(catalog, rest, schema, duck):
    duck.execute(f'CREATE TABLE lake.{schema}.one AS SELECT 1 AS n; CREATE VIEW lake.{schema}.seen AS SELECT 1 AS n')
    catalog.create_table(f'{schema}.two', N)
    tables, views = f'namespaces/{schema}/tables', f'namespaces/{schema}/views'
    version = {'version-id': 1, 'timestamp-ms': 1, 'schema-id': 0, 'summary': {}, 'default-namespace': [schema],
               'representations': [{'type': 'sql', 'sql': 'SELECT 1 AS n', 'dialect': 'duckdb'}]}

    def rename(kind, name, to):
        return rest.post(f'{kind}/rename', {'source': {'namespace': [schema], 'name': name},
                                            'destination': {'namespace': [schema], 'name': to}})
    for name in ('ONE', 'Seen'):
        refused = [rest.post(tables, {'name': name, 'schema': columns(('n', 'long'))}),
                   rest.post(tables, {'name': name, 'schema': columns(('n', 'long')), 'stage-create': True}),
                   rest.post(views, {'name': name, 'schema': columns(('n', 'long')), 'view-version': version, 'properties': {}}),
                   rename('tables', 'two', name)]
        for answer in refused:
            assert_error(answer, 409)
            assert f'as {name.lower()}, which is the same name to DuckDB' in answer.json()['error']['message'], answer.text
    assert rest.get(f'{tables}/ONE').status_code == 404, 'what is there is found by its own name alone'
    assert rename('tables', 'one', 'One').status_code == 204
    assert rename('views', 'seen', 'SEEN').status_code == 204
    assert duck.execute(f'FROM lake.{schema}.one').fetchall() == [(1,)]
    assert sorted(entry['name'] for entry in rest.get(tables).json()['identifiers']) == ['One', 'two']


def test_a_table_that_comes_back(catalog, rest, schema):
    metadata = catalog.create_table(f'{schema}.gone', N).metadata_location
    assert rest.post(f'namespaces/{schema}/tables/gone/unregister').status_code == 200
    catalog.create_table(f'{schema}.GONE', N)
    for overwrite in (False, True):
        answer = rest.post(f'namespaces/{schema}/register', {'name': 'gone', 'metadata-location': metadata, 'overwrite': overwrite})
        assert_error(answer, 409)
    catalog.drop_table(f'{schema}.GONE')
    assert rest.post(f'namespaces/{schema}/register', {'name': 'gone', 'metadata-location': metadata}).status_code == 200


def test_two_namespaces(rest, schema, duck):
    for name in ([schema.upper()], [schema, 'Inner']):
        made = rest.post('namespaces', {'namespace': name})
        assert made.status_code == (409 if len(name) == 1 else 200), made.text
    assert_error(rest.post('namespaces', {'namespace': [schema, 'INNER']}), 409)
    assert rest.send('DELETE', f'namespaces/{schema}%1FInner').status_code == 204
    assert duck.execute(f"SELECT count(*) FROM duckdb_schemas() WHERE database_name = 'lake' AND lower(schema_name) = '{schema.lower()}'").fetchone() == (1,)


def test_a_column_of_duckdb_takes_the_name_of_a_partition_field(catalog, schema, duck, truth, readers):
    """Java's readers, Spark among them, open no table with the two."""
    duck.execute(f'CREATE TABLE lake.{schema}.t (ts TIMESTAMP, a INTEGER)')
    duck.execute(f'ALTER TABLE lake.{schema}.t SET PARTITIONED BY (month(ts), a)')
    duck.execute(f"INSERT INTO lake.{schema}.t VALUES ('2024-01-01', 1)")

    def fields():
        return [(field.name, field.field_id) for field in catalog.load_table(f'{schema}.t').spec().fields]
    assert fields() == [('ts_month', 1000), ('a', 1001)]
    duck.execute(f'ALTER TABLE lake.{schema}.t ADD COLUMN ts_month INTEGER')
    duck.execute(f'ALTER TABLE lake.{schema}.t RENAME a TO b; ALTER TABLE lake.{schema}.t ADD COLUMN a INTEGER')
    assert fields() == [('ts_month_2', 1000), ('a_2', 1001)]
    duck.execute(f"INSERT INTO lake.{schema}.t VALUES ('2024-02-01', 2, 3, 4)")
    rows = catalog.load_table(f'{schema}.t').scan(row_filter="ts >= '2024-02-01T00:00:00'").to_arrow().to_pylist()
    assert [(row['b'], row['ts_month'], row['a']) for row in rows] == [(2, 3, 4)]
    assert assert_agree(truth, readers, f'{schema}.t') == 2
    duck.execute(f'ALTER TABLE lake.{schema}.t DROP COLUMN ts_month')
    assert fields()[0] == ('ts_month', 1000)


def test_a_key_whose_type_duckdb_changes_is_none_any_more(catalog, schema, duck, truth, readers):
    key = Schema(NestedField(1, 'k', LongType(), required=True), NestedField(2, 's', StringType(), required=True),
                 identifier_field_ids=[1, 2])
    catalog.create_table(f'{schema}.t', key)
    duck.execute(f'ALTER TABLE lake.{schema}.t ALTER COLUMN k SET DATA TYPE DOUBLE')
    assert catalog.load_table(f'{schema}.t').schema().identifier_field_ids == [2]
    duck.execute(f"INSERT INTO lake.{schema}.t VALUES (1.5, 'x')")
    assert assert_agree(truth, readers, f'{schema}.t') == 1
