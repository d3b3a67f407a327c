"""What DuckDB writes into the lake, every Iceberg client reads."""
import pytest

from agreement import assert_agree
from duckdb_types import EDGES, EVERY_TYPE, EVERY_VALUE
from lake_clients import duck as duckdb_client


def make_every_type(duck, table, extra_columns='', extra_values='', rows=200):
    duck.execute(f'CREATE TABLE lake.{table} ({EVERY_TYPE}{extra_columns})')
    duck.execute(f'INSERT INTO lake.{table} SELECT {EVERY_VALUE}{extra_values} FROM range({rows}) t(n)')
    nulls = ', '.join(['NULL'] * len(duck.execute(f'DESCRIBE lake.{table}').fetchall()))
    duck.execute(f'INSERT INTO lake.{table} SELECT {nulls} FROM range(20)')


def test_values_that_repeat_agree(duck, truth, readers, schema):
    """DuckDB writes them into dictionaries, which not every reader can decode in batches."""
    table = f'{schema}.repeated'
    duck.execute(f'CREATE TABLE lake.{table} ({EVERY_TYPE}, json JSON, ts_s TIMESTAMP_S)')
    duck.execute(f"""INSERT INTO lake.{table} SELECT {EVERY_VALUE}, '{{"n": ' || n || '}}', TIMESTAMP '2020-01-01' + to_days(n::INT)
                     FROM (SELECT i % 3 AS n FROM range(5000) r(i))""")
    assert assert_agree(truth, readers, table) == 5000


def test_a_million_rows_agree(duck, truth, readers, schema):
    table = f'{schema}.big'
    duck.execute('RESET threads')  # as many write as of a user's
    duck.execute(f'CREATE TABLE lake.{table} (id BIGINT, k VARCHAR, x DOUBLE, taken TIMESTAMP)')
    for part in range(3):
        duck.execute(f"""INSERT INTO lake.{table}
            SELECT i, CASE WHEN i % 11 > 0 THEN 'key ' || i % 1000 END,
                   CASE WHEN i % 13 = 0 THEN 'nan' ELSE i / 3.0 END,
                   TIMESTAMP '2020-01-01' + i * INTERVAL 1 SECOND
            FROM range({part} * 400000, {part + 1} * 400000) t(i)""")
    assert assert_agree(truth, readers, table) == 1_200_000
    duck.execute(f'DELETE FROM lake.{table} WHERE id % 17 = 0')
    duck.execute(f"UPDATE lake.{table} SET k = 'changed' WHERE id BETWEEN 399990 AND 400500")
    assert assert_agree(truth, readers, table) > 1_000_000
    duck.execute(f'SET threads = {duckdb_client.THREADS}')


def test_filters_on_a_large_table_skip_no_row(duck, catalog, spark, duck_iceberg, schema):
    table = f'{schema}.filtered'
    duck.execute(f'CREATE TABLE lake.{table} (id BIGINT, x DOUBLE, s VARCHAR)')
    for part in range(5):
        duck.execute(f"""INSERT INTO lake.{table} SELECT i, CASE WHEN i % 5 = 0 THEN 'nan'::DOUBLE ELSE -i END,
            'é' || lpad(i::VARCHAR, 6, '0') FROM range({part} * 1000, {part + 1} * 1000) t(i)""")
    for where in ('id >= 1999 and id < 2002', 'x < -4990', "s = 'é003333'", "s > 'é004997'", 'id = 5000'):
        wanted = duck.execute(f'SELECT count(*) FROM lake.{table} WHERE {where}').fetchone()[0]
        counts = {
            'PyIceberg': catalog.load_table(table).scan(row_filter=where).to_arrow().num_rows,
            'Spark': spark.sql(f'SELECT * FROM lake.{table} WHERE {where}').toArrow().num_rows,
            'DuckDB iceberg': duck_iceberg.execute(f'SELECT count(*) FROM ice.{table} WHERE {where}').fetchone()[0],
        }
        assert counts == dict.fromkeys(counts, wanted), where


def test_every_type_agrees(duck, truth, readers, schema):
    table = f'{schema}.kinds'
    make_every_type(duck, table)
    assert assert_agree(truth, readers, table) == 220


def test_edge_values_of_every_type_agree(duck, truth, readers, schema):
    table = f'{schema}.edges'
    duck.execute(f'CREATE TABLE lake.{table} ({EVERY_TYPE})')
    duck.execute(f'INSERT INTO lake.{table} SELECT v.* FROM (VALUES {EDGES}) v, range(20)')
    assert assert_agree(truth, readers, table) == 40


def test_time_agrees_where_the_client_knows_it(duck, truth, readers_with_time, schema):
    table = f'{schema}.times'
    make_every_type(duck, table, ', t TIME', ", TIME '00:00:00' + n * INTERVAL 7 MINUTE")
    assert assert_agree(truth, readers_with_time, table) == 220


def test_deletes_and_updates_agree(duck, truth, readers, schema):
    table = f'{schema}.changed'
    make_every_type(duck, table)
    for change in (f'DELETE FROM lake.{table} WHERE i % 3000 = 0',  # many rows: a delete file
                   f'DELETE FROM lake.{table} WHERE i = 1000',  # one row: inlined
                   f"UPDATE lake.{table} SET s = 'updated', d = 'nan' WHERE tiny > 50",
                   f'DELETE FROM lake.{table} WHERE i % 3000 = 1000',  # the same files again
                   f'DELETE FROM lake.{table} WHERE i IS NULL'):
        duck.execute(change)
        assert_agree(truth, readers, table)


def test_schema_changes_agree(duck, truth, readers, schema):
    table = f'{schema}.evolved'
    duck.execute(f'CREATE TABLE lake.{table} (a INTEGER, b VARCHAR, c DOUBLE)')
    insert = f'INSERT INTO lake.{table} SELECT {{}} FROM range(30) t(n)'
    duck.execute(insert.format("n, 'b' || n, n / 2"))
    for change, values in (('ADD COLUMN d DATE', "n, 'x', 'nan', DATE '2020-02-02'"),
                           ('RENAME COLUMN b TO named', "n, 'y', NULL, NULL"),
                           ('DROP COLUMN c', "n, 'z', DATE '1999-12-31'"),
                           ('ALTER COLUMN a TYPE BIGINT', "n + 10000000000, 'w', NULL"),
                           ('ADD COLUMN c VARCHAR', "n, 'v', NULL, 'a new column with an old name'")):
        duck.execute(f'ALTER TABLE lake.{table} {change}')
        assert_agree(truth, readers, table)
        duck.execute(insert.format(values))
        assert_agree(truth, readers, table)


@pytest.mark.parametrize('key', [
    'i', 's', 'day', 'bucket(4, big)', 'bucket(3, s)', 'bucket(5, day)', 'bucket(5, ts)', 'bucket(2, raw)',
    'bucket(7, f)', 'bucket(3, dec18)', 'bucket(3, id)', 'year(ts)', 'month(ts)', 'day(ts)', 'hour(ts)',
    'year(day)', 'month(tstz)', 'year(ts), month(ts)', 'flag, bucket(2, i), day(ts)'])
def test_partitions_agree(duck, truth, readers, schema, key):
    table = f'{schema}.parts'
    duck.execute(f'CREATE TABLE lake.{table} ({EVERY_TYPE})')
    # The first files precede the partitioning, the last ones follow its end.
    insert = f'INSERT INTO lake.{table} SELECT {EVERY_VALUE} FROM range(40) t(n)'
    duck.execute(insert)
    duck.execute(f'ALTER TABLE lake.{table} SET PARTITIONED BY ({key})')
    duck.execute(insert)
    duck.execute(f"INSERT INTO lake.{table} (flag) SELECT NULL FROM range(12)")
    duck.execute(f'DELETE FROM lake.{table} WHERE i % 7000 = 0')
    assert_agree(truth, readers, table)
    duck.execute(f'ALTER TABLE lake.{table} RESET PARTITIONED BY')
    duck.execute(insert)
    assert_agree(truth, readers, table)
