"""Where DuckDB itself fails, or would lose rows, a compaction leaves the step out, says so, and goes on."""
import json

import pyarrow as pa
import pytest

import readers
from lake_clients import duck as duckdb_client
from own_lake import as_shown, compact, rows_at
from rest import Rest


@pytest.fixture
def rest(lake):
    return Rest.of(lake)


def words_about(stack, name):
    """What the log says of the steps that were skipped for the table."""
    lines = (json.loads(line) for line in (stack.folder / 'lakeproxy.log').read_text().splitlines() if line.startswith('{'))
    return [line['detail'] for line in lines if line['msg'] == 'a step of a compaction was skipped' and line['table'] == name]


def test_a_step_at_which_duckdb_fails_is_skipped(rest, duck, catalog, schema, stack):
    """DuckDB 1.5.5 merges the files of a partition only where they lie under folders of the same name, and ends with an
    internal error, and its database with it, where a client's lie beside its own under data/."""
    name = f'{schema}.t'
    catalog.create_table(name, pa.schema([('a', pa.int64()), ('s', pa.string())]))
    duck.execute(f'ALTER TABLE lake.{name} SET PARTITIONED BY (s)')
    catalog.load_table(name).append(pa.table({'a': list(range(100)), 's': ['one'] * 100}))
    duck.execute(f"INSERT INTO lake.{name} SELECT n, 'one' FROM range(100, 200) r(n)")
    duck.execute(f"INSERT INTO lake.{name} VALUES (1, 'inlined')")
    seen = as_shown(rest, duck, catalog, name)
    done = compact(rest, name)
    assert [one['step'] for one in done['skipped']] == ['merge'] and not done['complete']
    assert done['rows-flushed'] == 1 and done['after']['rows'] == done['before']['rows'] == 201
    assert done['skipped'][0]['reason'] == 'DuckDB failed with an error of its own; the log has it'
    words = words_about(stack, name)
    assert any('different hive partition path' in one for one in words), words
    shown = as_shown(rest, duck.cursor(), catalog, name)
    assert {key: value for key, value in shown.items() if key in seen} == seen


def test_a_step_that_duckdb_refuses_is_skipped(rest, duck, catalog, schema, stack):
    """DuckDB 1.5.5 looks for the order of rows that it flushes among bytes, where a text is meant."""
    name = f'{schema}.t'
    duck.execute(f'CREATE TABLE lake.{name} (a INTEGER, c VARCHAR)')
    duck.execute(f'ALTER TABLE lake.{name} SET SORTED BY (lower(c))')
    duck.execute(f"INSERT INTO lake.{name} VALUES (1, 'b'), (2, 'A')")
    seen = rows_at(readers.PyIceberg(catalog), name)
    done = compact(rest, name)
    assert [one['step'] for one in done['skipped']] == ['flush'] and not done['complete']
    assert done['skipped'][0]['reason'] == 'DuckDB refuses it for this table; the log has its words'
    words = words_about(stack, name)
    assert any('lower(BLOB)' in one for one in words), words
    assert rows_at(readers.PyIceberg(catalog), name) == seen and len(seen) == 2


def test_files_with_null_in_a_column_that_is_not_null_are_not_merged(rest, lake, duck, catalog, schema, stack):
    """DuckDB adds a file with NULL, and does not write it anew."""
    name = f'{schema}.t'
    duck.execute(f'CREATE TABLE lake.{name} (a INTEGER, b INTEGER NOT NULL)')
    file = f'{lake.data_path}{schema}/added/1.parquet'
    duck.execute(f"COPY (SELECT 1 AS a, NULL::INTEGER AS b) TO '{file}' (FORMAT parquet)")
    duck.execute(f"CALL ducklake_add_data_files('lake', 't', '{file}', schema => '{schema}')")
    for first in (100, 200):
        duck.execute(f'INSERT INTO lake.{name} SELECT n, n FROM range({first}, {first} + 100) r(n)')
    seen = as_shown(rest, duck, catalog, name)
    done = compact(rest, name)
    assert [one['step'] for one in done['skipped']] == ['merge'] and not done['complete']
    assert done['skipped'][0]['reason'] == 'DuckDB refuses it for this table; the log has its words'
    assert any('NOT NULL constraint failed' in one for one in words_about(stack, name)), words_about(stack, name)
    assert as_shown(rest, duck, catalog, name) == seen


@pytest.mark.parametrize('key, skipped', [('s', True), ('bucket(3, s)', True), ('a', False)])
def test_rows_that_a_flush_would_lose_stay_where_they_are(rest, lake, duck, catalog, schema, key, skipped):
    """DuckDB 1.5.5 looks for deleted rows of a partition by its text among bytes, and takes others for deleted."""
    name = f'{schema}.t'
    duck.execute(f'CREATE TABLE lake.{name} (a INTEGER, s VARCHAR)')
    duck.execute(f'ALTER TABLE lake.{name} SET PARTITIONED BY ({key})')
    duck.execute(f"INSERT INTO lake.{name} SELECT n, ['ü', 'x', '\\', NULL][1 + n % 4] FROM range(9) r(n)")
    assert compact(rest, name)['rows-flushed'] == 9
    duck.execute(f"INSERT INTO lake.{name} SELECT n, ['ü', 'x', '\\', NULL][1 + n % 4] FROM range(9) r(n)")
    with duckdb_client.connect_lake(lake) as fresh:  # ADR 0044: a session from before the flush may fail
        fresh.execute(f'DELETE FROM lake.{name} WHERE a IN (0, 3, 4)')
        now = rows_at(readers.Direct(fresh), name)
    done = compact(rest, name)
    assert [one['step'] for one in done['skipped']] == (['flush'] if skipped else [])
    assert done['before']['rows'] == done['after']['rows'] == len(now) == 12
    with duckdb_client.connect_lake(lake) as fresh:
        for reader in (readers.Direct(fresh), readers.PyIceberg(catalog)):
            assert rows_at(reader, name) == now, reader.name
        # The rows are flushed under the partitions that the table had when they came.
        fresh.execute(f'ALTER TABLE lake.{name} RESET PARTITIONED BY')
    assert [one['step'] for one in compact(rest, name)['skipped']] == (['flush'] if skipped else [])
    assert rows_at(readers.PyIceberg(catalog), name) == now
