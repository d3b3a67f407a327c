"""Rows that are written anew, or come back, with the numbers of snapshots that they began in before. DuckDB's merge must not show them there
a second time."""
import pytest

import readers
from lake_clients import duck as duckdb_client
from own_lake import compact, rows_at
from rest import Rest


@pytest.fixture
def rest(lake):
    return Rest.of(lake)


def at_all(lake, catalog, table):
    """The rows of both access paths at each snapshot that clients are shown."""
    snapshots = [each.snapshot_id for each in catalog.load_table(table).metadata.snapshots]
    with duckdb_client.connect_lake(lake) as fresh:  # ADR 0044: a session from before a merge may fail
        both = (readers.Direct(fresh), readers.PyIceberg(catalog))
        return {(reader.name, snapshot): rows_at(reader, table, snapshot) for snapshot in snapshots for reader in both}


def assert_kept(lake, catalog, rest, schema, merge):
    """Nothing of the past differs after the merge, and DuckDB still keeps small inserts."""
    table = f'{schema}.t'
    before = at_all(lake, catalog, table)
    snapshots = {snapshot for _, snapshot in before}
    assert all(before['DuckDB directly', one] == before['PyIceberg', one] for one in snapshots)
    with duckdb_client.connect_lake(lake) as fresh:
        merge(fresh)
    after = at_all(lake, catalog, table)
    assert {key: rows for key, rows in after.items() if key in before} == before
    with duckdb_client.connect_lake(lake) as fresh:
        fresh.execute(f'INSERT INTO lake.{table} VALUES (1000)')
    done = compact(rest, table)
    assert done['rows-flushed'] >= 1 and done['complete']
    after = at_all(lake, catalog, table)
    assert {key: rows for key, rows in after.items() if key in before} == before


MERGES = {
    'duckdb': lambda schema, rest: lambda duck: duck.execute(f"CALL ducklake_merge_adjacent_files('lake', 't', schema => '{schema}')"),
    'compact': lambda schema, rest: lambda duck: compact(rest, f'{schema}.t'),
}


@pytest.mark.parametrize('merge', MERGES)
@pytest.mark.parametrize('inlined', (False, True))
def test_rows_that_spark_writes_anew(lake, duck, spark, catalog, rest, schema, merge, inlined):
    """In format version 3 they keep their row ids and the number of the snapshot that changed them last."""
    table = f'{schema}.t'
    spark.sql(f"CREATE TABLE lake.{table} (a BIGINT) USING iceberg TBLPROPERTIES ('format-version' = '3', "
              "'write.delete.mode' = 'copy-on-write')")
    spark.sql(f'INSERT INTO lake.{table} SELECT id FROM range(10)')
    duck.execute(f'INSERT INTO lake.{table} SELECT n FROM range(100, 140) r(n)')
    if inlined:
        duck.execute(f'INSERT INTO lake.{table} VALUES (200)')
    spark.sql(f'DELETE FROM lake.{table} WHERE a = 3')
    spark.sql(f'INSERT INTO lake.{table} SELECT id FROM range(300, 310)')
    spark.sql(f'DELETE FROM lake.{table} WHERE a IN (4, 301)')
    duck.execute(f'INSERT INTO lake.{table} SELECT n FROM range(400, 440) r(n)')
    assert_kept(lake, catalog, rest, schema, MERGES[merge](schema, rest))


@pytest.mark.parametrize('merge', MERGES)
def test_content_that_comes_back(lake, duck, catalog, rest, schema, merge):
    """A file of rows of several snapshots, as a flush leaves it, begins anew when main is set back to it."""
    table = f'{schema}.t'
    duck.execute(f'CREATE TABLE lake.{table} (a BIGINT)')
    duck.execute(f'INSERT INTO lake.{table} SELECT n FROM range(100, 140) r(n)')
    for value in range(4):
        duck.execute(f'INSERT INTO lake.{table} VALUES ({value})')
    duck.execute(f"CALL ducklake_flush_inlined_data('lake', schema_name => '{schema}', table_name => 't')")
    kept = catalog.load_table(table).metadata.current_snapshot_id
    duck.execute(f'INSERT INTO lake.{table} SELECT n FROM range(200, 240) r(n)')
    duck.execute(f'DELETE FROM lake.{table} WHERE a < 10')
    duck.execute(f'INSERT INTO lake.{table} SELECT n FROM range(300, 340) r(n)')
    with catalog.load_table(table).manage_snapshots() as change:
        change.rollback_to_snapshot(kept)
    duck.execute(f'INSERT INTO lake.{table} SELECT n FROM range(400, 440) r(n)')
    assert_kept(lake, catalog, rest, schema, MERGES[merge](schema, rest))
