"""By what DuckDB partitions and sorts a table: it goes on to write, whatever clients do to these columns and orders."""
import pytest

from agreement import assert_agree
from lake_clients import duck as duckdb_client
from own_lake import compact
from readers import Direct
from rest import Rest, assert_error

UNSORTED = {'order-id': 0, 'fields': []}


@pytest.fixture
def rest(lake):
    return Rest.of(lake)


@pytest.fixture
def commit(rest, schema):
    """Sends updates to the table t; returns the answer."""
    return lambda *updates: rest.post(f'namespaces/{schema}/tables/t', {'requirements': [], 'updates': list(updates)})


@pytest.fixture
def make(duck, schema):
    """Makes the table t with rows in a file and one in PostgreSQL, arranged as DuckDB's `clause` says."""
    def made(clause):
        duck.execute(f'CREATE TABLE lake.{schema}.t (a INTEGER, b INTEGER, c VARCHAR, d DECIMAL(9, 2), s STRUCT(b INTEGER))')
        duck.execute(f'ALTER TABLE lake.{schema}.t SET {clause}')
        duck.execute(f"INSERT INTO lake.{schema}.t SELECT n, 30 - n, n, n, {{'b': n % 7}} FROM range(30) r(n)")
        duck.execute(f"INSERT INTO lake.{schema}.t VALUES (30, 0, '30', 30, {{'b': 1}})")
    return made


def sorted_by(duck, table):
    """The expressions by which DuckDB sorts the table now, each with its direction and place of nulls."""
    schema, name = table.split('.')
    return [tuple(row) for row in duck.execute(f"""
        FROM postgres_query('__ducklake_metadata_lake', $$SELECT e.expression, e.sort_direction, e.null_order
          FROM ducklake_sort_info i JOIN ducklake_sort_expression e USING (sort_id, table_id)
          JOIN ducklake_table t USING (table_id) JOIN ducklake_schema s USING (schema_id)
         WHERE i.end_snapshot IS NULL AND t.end_snapshot IS NULL AND t.table_name = '{name}'
           AND s.schema_name = '{schema}' AND s.end_snapshot IS NULL ORDER BY e.sort_key_index$$)""").fetchall()]


def assert_writable(lake, rest, duck, truth, readers, table):
    """By sessions that knew the table before and by new ones, in files and in PostgreSQL; and it can be compacted."""
    count = assert_agree(truth, readers, table)
    with duckdb_client.connect_lake(lake) as fresh:
        for session in (duck, fresh):
            session.execute(f'INSERT INTO lake.{table} FROM (FROM lake.{table} UNION ALL FROM lake.{table}) LIMIT 20')
            session.execute(f'INSERT INTO lake.{table} FROM lake.{table} LIMIT 1')
    done = compact(rest, table)
    assert done['skipped'] == [] and done['after']['rows'] == count + 42
    with duckdb_client.connect_lake(lake) as fresh:  # ADR 0044: a session from before the flush may fail
        assert assert_agree(Direct(fresh), readers, table) == count + 42


def change(catalog, table, how, column):
    with catalog.load_table(table).update_schema() as update:
        update.delete_column(column) if how == 'drop' else update.rename_column(column, 'new b')


@pytest.mark.parametrize('sort, how, then', (
    ('b', 'rename', [('"new b"', 'ASC', 'NULLS_LAST')]),
    ('a, "B" DESC NULLS FIRST', 'rename', [('a', 'ASC', 'NULLS_LAST'), ('"new b"', 'DESC', 'NULLS_FIRST')]),
    ('abs(a), b', 'rename', [('abs(a)', 'ASC', 'NULLS_LAST'), ('"new b"', 'ASC', 'NULLS_LAST')]),
    ('abs(a), b', 'drop', []),
    ('a + B', 'rename', []),
    ('a + b', 'drop', []),
    ('abs(a)', 'drop', [('abs(a)', 'ASC', 'NULLS_LAST')]),
))
def test_sorting_follows_the_columns(lake, rest, duck, truth, readers, catalog, schema, make, sort, how, then):
    table = f'{schema}.t'
    make(f'SORTED BY ({sort})')
    change(catalog, table, how, 'b')
    assert sorted_by(duck, table) == then
    assert_writable(lake, rest, duck, truth, readers, table)


def test_an_order_of_a_client_takes_the_place_of_duckdbs(lake, rest, duck, truth, readers, catalog, schema, make, commit):
    table = f'{schema}.t'
    make('SORTED BY (b)')
    fields = [{'source-id': 3, 'transform': 'identity', 'direction': 'desc', 'null-order': 'nulls-first'},
              {'source-id': 1, 'transform': 'identity', 'direction': 'asc', 'null-order': 'nulls-last'}]

    def set_order(order):
        answer = commit({'action': 'add-sort-order', 'sort-order': order}, {'action': 'set-default-sort-order', 'sort-order-id': -1})
        assert answer.status_code == 200, answer.text
        shown = rest.get(f'namespaces/{schema}/tables/t').json()['metadata']
        return next(one['fields'] for one in shown['sort-orders'] if one['order-id'] == shown['default-sort-order-id'])
    assert set_order({'order-id': 7, 'fields': fields}) == fields
    assert sorted_by(duck, table) == [('"c"', 'DESC', 'NULLS_FIRST'), ('"a"', 'ASC', 'NULLS_LAST')]
    assert_writable(lake, rest, duck, truth, readers, table)
    parts = [{**fields[0], 'transform': 'truncate[2]'}]
    assert set_order({'order-id': 8, 'fields': parts}) == parts
    assert sorted_by(duck, table) == []
    nested = [{**fields[0], 'source-id': 6}]
    assert set_order({'order-id': 9, 'fields': nested}) == nested
    assert sorted_by(duck, table) == []
    assert set_order({'order-id': 10, 'fields': fields}) == fields
    assert set_order(UNSORTED) == []
    assert sorted_by(duck, table) == []
    assert_writable(lake, rest, duck, truth, readers, table)


@pytest.mark.parametrize('key', ('bucket(3, d)', 'a, bucket(3, d)'))
def test_a_partitioning_that_clients_do_not_see_ends_with_its_column(lake, rest, duck, truth, readers, catalog, schema, make, key):
    """DuckDB hashes decimals as nobody else does, so no spec has such a bucket."""
    table = f'{schema}.t'
    make(f'PARTITIONED BY ({key})')
    before = catalog.load_table(table).metadata
    change(catalog, table, 'drop', 'd')
    after = catalog.load_table(table).metadata
    assert (after.default_spec_id, after.partition_specs) == (before.default_spec_id, before.partition_specs)
    assert_writable(lake, rest, duck, truth, readers, table)


@pytest.mark.parametrize('clause', ('SORTED BY (b)', 'SORTED BY (a, a + b)', 'PARTITIONED BY (bucket(3, d))'))
def test_a_table_that_a_client_replaces(lake, rest, duck, truth, readers, spark, schema, make, clause):
    table = f'{schema}.t'
    make(clause)
    spark.sql(f"CREATE OR REPLACE TABLE lake.{table} USING iceberg AS SELECT id AS a, 'x' AS x FROM range(10)")
    assert sorted_by(duck, table) == []
    assert_writable(lake, rest, duck, truth, readers, table)


@pytest.mark.parametrize('clause', ('PARTITIONED BY (b)', 'PARTITIONED BY (a, bucket(3, b))', 'SORTED BY (b)'))
def test_what_clients_see_keeps_its_columns(rest, schema, make, commit, clause):
    """Iceberg's own clients refuse to drop a column that the default spec or order has; so does the catalog."""
    make(clause)
    shown = rest.get(f'namespaces/{schema}/tables/t').json()['metadata']
    current = next(one for one in shown['schemas'] if one['schema-id'] == shown['current-schema-id'])
    without = {**current, 'schema-id': current['schema-id'] + 1, 'fields': [f for f in current['fields'] if f['name'] != 'b']}
    answer = commit({'action': 'add-schema', 'schema': without}, {'action': 'set-current-schema', 'schema-id': -1})
    assert_error(answer, 400)
    assert 'no column with id 2' in answer.text
