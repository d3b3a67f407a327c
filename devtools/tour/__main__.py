"""DuckDB writes, PyIceberg and Spark read and append, DuckDB sees it all; then two principals see different rows of one table."""
import sys

import pyarrow as pa

from lake_clients import duck, iceberg, spark
from lake_clients.lake import Lake
from stack.stack import Stack
from tour import connect_help, governance
from tour.show import say, show_statement, show_table

TABLE = 'tour.readings'


def write_with_duckdb(lake):
    say('DuckDB makes a table in the lake and fills it, with plain SQL')
    connection = duck.connect_lake(lake)
    for statement in (
            'CREATE SCHEMA IF NOT EXISTS lake.tour',
            f'DROP TABLE IF EXISTS lake.{TABLE}',
            f'CREATE TABLE lake.{TABLE} (id BIGINT, sensor VARCHAR, celsius DOUBLE, taken TIMESTAMP)',
            f"""INSERT INTO lake.{TABLE}
  SELECT i, 'roof', 20 + i % 7, TIMESTAMP '2026-01-01' + i * INTERVAL 1 HOUR FROM range(1000) t(i)""",
            f'DELETE FROM lake.{TABLE} WHERE id % 10 = 0',
            f"INSERT INTO lake.{TABLE} VALUES (1000, 'cellar', 11.5, TIMESTAMP '2026-02-12')"):
        show_statement('DuckDB', statement)
        connection.execute(statement)
    return connection


def use_pyiceberg(lake):
    say('PyIceberg reads it through our catalog, and appends')
    table = iceberg.connect(lake).load_table(TABLE)
    show_statement('PyIceberg', "load_table('tour.readings').scan(row_filter='id >= 997').to_arrow()")
    show_table(table.scan(row_filter='id >= 997').to_arrow().sort_by('id'))
    rows = pa.Table.from_pylist(
        [{'id': 2000, 'sensor': 'from PyIceberg', 'celsius': 4.25, 'taken': None}],
        schema=table.schema().as_arrow())
    show_statement('PyIceberg', 'table.append(rows)')
    table.append(rows)


def use_spark(lake):
    """Returns the session."""
    say('Spark reads both, and appends (its start takes some seconds)')
    session = spark.connect(lake)
    for statement in (
            f'SELECT sensor, count(*) AS n, avg(celsius) AS celsius FROM lake.{TABLE} GROUP BY sensor ORDER BY sensor',
            f"INSERT INTO lake.{TABLE} VALUES (3000, 'from Spark', -3.5, TIMESTAMP_NTZ '2026-03-01 12:00:00')",
            f'SELECT snapshot_id, operation FROM lake.{TABLE}.snapshots ORDER BY snapshot_id'):
        show_statement('Spark', statement)
        result = session.sql(statement).toArrow()
        if result.num_columns:
            show_table(result)
    return session


def use_duckdb_iceberg(lake):
    say("DuckDB's Iceberg extension reads the same through the catalog")
    statement = f'SELECT count(*) AS n, sum(id) AS ids FROM ice.{TABLE}'
    show_statement('DuckDB iceberg', statement)
    show_table(duck.connect_catalog(lake).execute(statement).to_arrow_table())


def read_with_duckdb(connection):
    say('and DuckDB, directly on the lake, sees the rows of all')
    for statement in (
            f'SELECT count(*) AS n, sum(id) AS ids FROM lake.{TABLE}',
            f'SELECT sensor, count(*) AS n FROM lake.{TABLE} GROUP BY sensor ORDER BY sensor'):
        show_statement('DuckDB', statement)
        show_table(connection.execute(statement).to_arrow_table())


def main():
    name = sys.argv[1]
    stack = Stack.load(name)
    lake = Lake.of(stack.variables())
    connection = write_with_duckdb(lake)
    use_pyiceberg(lake)
    session = use_spark(lake)
    use_duckdb_iceberg(lake)
    read_with_duckdb(connection)
    governance.show(stack, lake, session)
    session.stop()
    connect_help.show(lake, name)


main()
