"""What Iceberg clients write, DuckDB finds in the lake, and so do the other clients."""
import concurrent.futures
import datetime

import pyarrow as pa
import pytest
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.expressions import EqualTo
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.transforms import (BucketTransform, DayTransform, HourTransform, IdentityTransform,
                                  MonthTransform, TruncateTransform, YearTransform)
from pyiceberg.types import DoubleType

import iceberg_tables
from agreement import assert_agree
from iceberg_tables import every_value, rows
from lake_clients import duck as duckdb_client
from lake_clients import iceberg as iceberg_client
from readers import PyIceberg

TRANSFORMS = {
    'identity': ('s', IdentityTransform()),
    'bucket_long': ('big', BucketTransform(4)),
    'bucket_string': ('s', BucketTransform(3)),
    'bucket_uuid': ('id', BucketTransform(3)),
    'bucket_decimal': ('dec9', BucketTransform(3)),
    'truncate_string': ('s', TruncateTransform(2)),
    'truncate_long': ('big', TruncateTransform(10)),
    'truncate_decimal': ('dec9', TruncateTransform(50)),
    'year': ('ts', YearTransform()),
    'month': ('tstz', MonthTransform()),
    'day': ('ts', DayTransform()),
    'day_of_date': ('day', DayTransform()),
    'hour': ('tstz', HourTransform()),
}


def partitioned_by(schema, column, transform):
    field = PartitionField(schema.find_field(column).field_id, 1000, transform, f'{column}_part')
    return PartitionSpec(field)


def append_small(table, first, count=20):
    table.append(rows(table, every_value, first, count))


def test_pyiceberg_appends_agree(catalog, truth, readers, schema):
    table = catalog.create_table(f'{schema}.appended', iceberg_tables.every_type())
    assert assert_agree(truth, readers, f'{schema}.appended') == 0
    append_small(table, 0, 100)
    append_small(table, 100, 3)
    assert assert_agree(truth, readers, f'{schema}.appended') == 105


def test_time_and_fixed_agree_where_the_client_knows_them(catalog, truth, readers_with_time, schema):
    table = catalog.create_table(f'{schema}.rare', iceberg_tables.time_and_fixed())
    table.append(rows(table, iceberg_tables.time_and_fixed_value, 0, 50))
    assert assert_agree(truth, readers_with_time, f'{schema}.rare') == 51


STATISTICS = """
FROM postgres_query('__ducklake_metadata_lake', $$SELECT c.column_id, c.xmin::text, c.ctid::text, c.min_value, c.max_value
  FROM ducklake_table_column_stats c JOIN ducklake_table t USING (table_id) JOIN ducklake_schema s USING (schema_id)
 WHERE s.schema_name = '{schema}' AND t.end_snapshot IS NULL ORDER BY 1$$)"""


def test_the_ranges_of_columns_are_widened_once(duck, catalog, truth, schema):
    """Each append after the first leaves their rows as they are, and DuckDB passes over no row and answers no loose bound."""
    name = f'{schema}.ranges'
    table = catalog.create_table(name, iceberg_tables.every_type())

    def ranges():
        return duck.execute(STATISTICS.format(schema=schema)).fetchall()

    def lone():
        return duck.execute(f'SELECT count(*), min(big), max(big), count(big), min(d), max(s) FROM lake.{name}').fetchone()

    def scanned():
        """Of the same rows, where no statistics can answer."""
        return duck.execute(f'WITH r AS MATERIALIZED (FROM lake.{name}) '
                            'SELECT count(*), min(big), max(big), count(big), min(d), max(s) FROM r').fetchone()

    append_small(table, 0)
    before = ranges()
    append_small(table, 1000)
    append_small(table, 2000)
    assert before and ranges() == before
    assert lone() == scanned()
    shown = assert_agree(truth, [PyIceberg(catalog)], name)
    # DuckDB writes its own bounds beside them; a column that it adds, or makes wider, begins with narrow ones.
    duck.execute(f'ALTER TABLE lake.{name} ADD COLUMN added SMALLINT')
    duck.execute(f'INSERT INTO lake.{name} (big, added) SELECT n, 5 FROM range(30) r(n)')
    duck.execute(f'ALTER TABLE lake.{name} ALTER added TYPE BIGINT')
    table.refresh()
    table.append(pa.table([[2**40]], schema=pa.schema([pa.field('added', pa.int64())])))
    assert duck.execute(f'SELECT count(*) FROM lake.{name} WHERE added = {2**40}').fetchone() == (1,)
    assert lone() == scanned()
    widest = ranges()
    table.append(pa.table([[7]], schema=pa.schema([pa.field('added', pa.int64())])))
    assert ranges() == widest
    assert assert_agree(truth, [PyIceberg(catalog)], name) == shown + 32


def test_a_large_append_agrees(catalog, truth, readers, schema):
    made = pa.table({'id': pa.array(range(1_000_000), pa.int64()),
                     'x': pa.array((i / 7 for i in range(1_000_000)), pa.float64())})
    catalog.create_table(f'{schema}.large', made.schema).append(made)
    assert assert_agree(truth, readers, f'{schema}.large') == 1_000_000


@pytest.mark.parametrize('name', TRANSFORMS)
def test_partitioned_appends_agree(catalog, duck, truth, readers, schema, name):
    kinds = iceberg_tables.every_type()
    spec = partitioned_by(kinds, *TRANSFORMS[name])
    table = catalog.create_table(f'{schema}.parts', kinds, partition_spec=spec)
    append_small(table, 0)
    append_small(table, 15)
    duck.execute(f'INSERT INTO lake.{schema}.parts FROM lake.{schema}.parts WHERE i % 2 = 0')
    assert assert_agree(truth, readers, f'{schema}.parts') == 42 + 20


def test_spark_creates_appends_and_alters(spark, duck, truth, readers, schema):
    table = f'{schema}.from_spark'
    spark.sql(f"""CREATE TABLE lake.{table} (a BIGINT, s STRING, ts TIMESTAMP, p STRUCT<x: INT, y: ARRAY<STRING>>)
                  USING iceberg PARTITIONED BY (truncate(2, s), bucket(4, a), days(ts))""")
    insert = f"""INSERT INTO lake.{table} SELECT id, concat('s', id), timestamp_seconds(id * 40000),
                 named_struct('x', int(id), 'y', array('q', null)) {{}} FROM range(50)"""
    spark.sql(insert.format(''))
    assert assert_agree(truth, readers, table) == 50
    spark.sql(f'ALTER TABLE lake.{table} ADD COLUMN later INT')
    spark.sql(f'ALTER TABLE lake.{table} RENAME COLUMN s TO text')
    spark.sql(insert.format(', 7'))
    assert assert_agree(truth, readers, table) == 100
    spark.sql(f'ALTER TABLE lake.{table} DROP COLUMN p')
    duck.execute(f"INSERT INTO lake.{table} VALUES (999, 'small', TIMESTAMPTZ '2020-01-01 00:00:00+00', 1)")
    assert assert_agree(truth, readers, table) == 101


def test_duckdb_iceberg_appends_agree(duck_iceberg, duck, truth, readers, schema):
    duck.execute(f'CREATE TABLE lake.{schema}.through (a INTEGER, s VARCHAR)')
    duck_iceberg.execute(f"INSERT INTO ice.{schema}.through SELECT n, 'n' || n FROM range(100) t(n)")
    assert assert_agree(truth, readers, f'{schema}.through') == 100


def test_every_client_appends_to_one_table(catalog, spark, duck_iceberg, duck, truth, readers, schema):
    table = f'{schema}.shared'
    duck.execute(f'CREATE TABLE lake.{table} (a INTEGER, s VARCHAR)')
    for turn in range(3):
        duck.execute(f"INSERT INTO lake.{table} VALUES ({turn}, 'DuckDB, inlined')")
        duck.execute(f"INSERT INTO lake.{table} SELECT n, 'DuckDB' FROM range(50) t(n)")
        loaded = catalog.load_table(table)
        loaded.append(pa.table({'a': [turn], 's': ['PyIceberg']}, schema=loaded.schema().as_arrow()))
        spark.sql(f"INSERT INTO lake.{table} VALUES ({turn}, 'Spark')")
        duck_iceberg.execute(f"INSERT INTO ice.{table} VALUES ({turn}, 'DuckDB iceberg')")
    assert assert_agree(truth, readers, table) == 3 * 54


def test_statistics_of_appended_files_never_hide_rows(catalog, duck, schema):
    table = catalog.create_table(f'{schema}.bounds', iceberg_tables.every_type())
    for first in (0, 5000, 100):
        append_small(table, first, 50)
    name = f'lake.{schema}.bounds'
    assert duck.execute(f'SELECT s FROM {name} WHERE i = 5001').fetchall() == [('ü5001',)]
    assert duck.execute(f"SELECT i FROM {name} WHERE s = 'ü5049'").fetchall() == [(5049,)]
    # Asked alone, each is answered from the lake's statistics: they must be exact or absent.
    for aggregate, exact in (('min(i)', 0), ('max(i)', 5049), ('count(*)', 153), ('count(i)', 150),
                             ('max(big)', 5049 * 10**12), ('min(day)', None), ('max(d)', None)):
        alone = duck.execute(f'SELECT {aggregate} FROM {name}').fetchone()
        scanned = duck.execute(f'SELECT {aggregate} FROM (FROM {name} WHERE random() >= 0)').fetchone()
        assert repr(alone) == repr(scanned) and (exact is None or alone[0] == exact), aggregate


def test_rows_of_a_client_are_found_after_duckdb_wrote_next(catalog, duck, schema):
    """DuckDB merges what it knows of its own file into what it knows of the table."""
    table = catalog.create_table(f'{schema}.mixed', iceberg_tables.every_type())
    append_small(table, 0, 50)
    name = f'lake.{schema}.mixed'
    for first in (1000, 2000):
        duck.execute(f"INSERT INTO {name} (i, s, day) SELECT n, 'z' || n, DATE '2050-01-01' FROM range({first}, {first} + 20) t(n)")
        assert duck.execute(f'SELECT s FROM {name} WHERE i = 7').fetchall() == [('ü7',)]
        assert duck.execute(f"SELECT i FROM {name} WHERE day < DATE '2040-01-01' AND i = 30").fetchall() == [(30,)]
        assert duck.execute(f'SELECT min(i) FROM {name}').fetchone() == (0,)
        assert duck.execute(f'SELECT max(i) FROM {name}').fetchone() == (first + 19,)


def test_fields_that_duckdb_renames_keep_their_places(catalog, duck, truth, readers, schema):
    kinds = iceberg_tables.every_type()
    table = catalog.create_table(f'{schema}.fields', kinds)
    append_small(table, 0, 5)
    duck.execute(f'ALTER TABLE lake.{schema}.fields RENAME COLUMN pair.a TO first')
    assert [name for name, _ in truth.columns(f'{schema}.fields')] == [field.name for field in kinds.fields]
    fields = catalog.load_table(f'{schema}.fields').schema().find_field('pair').field_type.fields
    assert [field.name for field in fields] == ['first', 'b']
    assert dict(truth.columns(f'{schema}.fields'))['pair'].replace('"', '') == 'STRUCT(first INTEGER, b VARCHAR)'
    assert assert_agree(truth, readers, f'{schema}.fields') == 6


@pytest.mark.parametrize('change', ['ADD COLUMN later INTEGER', 'RENAME COLUMN a TO first', 'ALTER COLUMN b TYPE BIGINT',
                                    'DROP COLUMN a', 'ALTER COLUMN a SET DEFAULT 5'])
def test_small_inserts_find_the_columns_that_a_client_moved(catalog, duck, truth, readers, schema, change):
    """DuckDB lays out what it keeps in PostgreSQL as it holds the table, whatever order it finds later."""
    name = f'{schema}.moved'
    duck.execute(f'CREATE TABLE lake.{name} (a INTEGER, b INTEGER, s VARCHAR, day DATE)')
    duck.execute(f"INSERT INTO lake.{name} VALUES (1, 2, 'one', DATE '2020-01-01')")
    with catalog.load_table(name).update_schema() as update:
        update.move_first('day')
        update.move_after('a', 's')
    duck.execute(f'ALTER TABLE lake.{name} {change}')
    shown = [column for column, _ in truth.columns(name)]
    values = {'a': 11, 'first': 11, 'b': 22, 's': 'two', 'day': datetime.date(2020, 1, 2), 'later': 33}
    wanted = tuple(values[column] for column in shown)
    for count in (1, 2):
        duck.execute(f"INSERT INTO lake.{name} VALUES ({', '.join('?' for _ in shown)})", wanted)
        assert duck.execute(f"SELECT {', '.join(shown)} FROM lake.{name} WHERE b = 22").fetchall() == [wanted] * count
        assert assert_agree(truth, readers, name) == 1 + count


@pytest.mark.parametrize('change', ['add', 'drop', 'rename'])
def test_small_inserts_find_the_columns_that_a_client_changed(catalog, lake, duck, truth, readers, schema, change):
    """DuckDB keeps no rows of a client's table in PostgreSQL before its first small insert; a new connection must find them."""
    name = f'{schema}.changed'
    table = catalog.create_table(name, pa.schema([('a', pa.int64()), ('b', pa.string())]))
    with table.update_schema() as update:
        if change == 'add':
            update.add_column('c', DoubleType())
        elif change == 'drop':
            update.delete_column('b')
        else:
            update.rename_column('b', 'called')
    row = {'add': (1, 'x', 2.5), 'drop': (1,), 'rename': (1, 'x')}[change]
    duck.execute(f"INSERT INTO lake.{name} VALUES ({', '.join('?' for _ in row)})", row)
    duck.execute(f'CREATE TABLE lake.{schema}.other (a INTEGER)')
    with duckdb_client.connect_lake(lake) as fresh:
        assert fresh.execute(f'FROM lake.{name}').fetchall() == [row]
        fresh.execute(f"CALL ducklake_flush_inlined_data('lake', schema_name => '{schema}', table_name => 'changed')")
        assert fresh.execute(f'FROM lake.{name}').fetchall() == [row]
    assert assert_agree(truth, readers, name) == 1


def test_duckdb_writes_a_table_whose_bucket_it_hashes_otherwise(catalog, duck, truth, readers, schema):
    kinds = iceberg_tables.every_type()
    table = catalog.create_table(f'{schema}.otherwise', kinds, partition_spec=partitioned_by(kinds, 'id', BucketTransform(3)))
    append_small(table, 0)
    duck.execute(f"INSERT INTO lake.{schema}.otherwise (id) SELECT uuid() FROM range(30)")
    assert assert_agree(truth, readers, f'{schema}.otherwise') == 51
    for value in duck.execute(f'SELECT id::VARCHAR FROM lake.{schema}.otherwise WHERE i IS NULL AND id IS NOT NULL').fetchall():
        found = catalog.load_table(f'{schema}.otherwise').scan(row_filter=EqualTo('id', value[0])).to_arrow()
        assert found.num_rows == 1


def test_tables_come_go_and_change_names(catalog, duck, schema):
    table = catalog.create_table(f'{schema}.first', iceberg_tables.every_type())
    append_small(table, 0)
    catalog.rename_table(f'{schema}.first', f'{schema}.second')
    assert duck.execute(f'SELECT count(*) FROM lake.{schema}.second').fetchone() == (21,)
    assert catalog.list_tables(schema) == [(schema, 'second')]
    catalog.drop_table(f'{schema}.second')
    assert not catalog.table_exists(f'{schema}.second')
    with pytest.raises(NoSuchTableError):
        catalog.load_table(f'{schema}.second')
    assert tables_of(duck, schema) == []


def test_namespaces_are_schemas(catalog, duck):
    catalog.create_namespace('made_by_rest', {'owner': 'someone'})
    assert ('made_by_rest',) in duck.execute('SELECT schema_name FROM duckdb_schemas() '
                                             "WHERE database_name = 'lake'").fetchall()
    assert catalog.load_namespace_properties('made_by_rest')['owner'] == 'someone'
    catalog.drop_namespace('made_by_rest')
    assert not catalog.namespace_exists('made_by_rest')


def tables_of(duck, schema):
    return duck.execute('SELECT table_name FROM duckdb_tables() WHERE database_name = \'lake\' '
                        f"AND schema_name = '{schema}'").fetchall()


def test_appends_of_many_writers_all_arrive(lake, duck, truth, readers, schema):
    table = f'{schema}.contended'
    duck.execute(f'CREATE TABLE lake.{table} (writer INTEGER, n INTEGER)')
    with iceberg_client.connect(lake).load_table(table).transaction() as change:
        change.set_properties({'commit.retry.num-retries': '40', 'commit.retry.min-wait-ms': '20'})

    def append(writer):
        catalog = iceberg_client.connect(lake)
        for n in range(6):
            loaded = catalog.load_table(table)
            batch = pa.table({'writer': [writer] * 3, 'n': [n] * 3}, schema=loaded.schema().as_arrow())
            loaded.append(batch)

    def insert(writer):
        connection = duckdb_client.connect_lake(lake)
        for n in range(6):
            connection.execute(f'INSERT INTO lake.{table} SELECT {writer}, {n} FROM range(3)')

    with concurrent.futures.ThreadPoolExecutor(5) as pool:
        jobs = [pool.submit(append, 0), pool.submit(append, 1), pool.submit(append, 2), pool.submit(insert, 3)]
        for job in jobs:
            job.result()
    assert assert_agree(truth, readers, table) == 4 * 6 * 3
    counts = duck.execute(f'SELECT writer, n, count(*) FROM lake.{table} GROUP BY ALL').fetchall()
    assert len(counts) == 24 and all(count == 3 for _, _, count in counts)
