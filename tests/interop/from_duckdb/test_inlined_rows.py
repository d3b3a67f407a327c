"""Rows and deletes that DuckDB keeps inside PostgreSQL are seen like any other."""
import pytest

from agreement import assert_agree
from duckdb_types import EVERY_TYPE, EVERY_VALUE
from pyiceberg.types import IntegerType
from rest import Rest


@pytest.fixture
def rest(lake):
    return Rest.of(lake)


@pytest.fixture
def table(duck, schema):
    name = f'{schema}.small'
    duck.execute(f'CREATE TABLE lake.{name} ({EVERY_TYPE})')
    return name


def insert(duck, table, first, rows):
    duck.execute(f'INSERT INTO lake.{table} SELECT {EVERY_VALUE} FROM range({first}, {first + rows}) t(n)')


def data_files(duck, table):
    schema, name = table.split('.')
    return duck.execute(f"SELECT count(*) FROM ducklake_list_files('lake', '{name}', schema => '{schema}')").fetchone()[0]


def test_inlined_inserts_of_every_type_agree(duck, truth, readers, table):
    for first in (0, 10, 20):
        insert(duck, table, first, 5)
    duck.execute(f'INSERT INTO lake.{table} (flag, f, d) VALUES (NULL, NULL, NULL), (true, \'nan\', \'-inf\')')
    assert data_files(duck, table) == 0, 'the rows are not inlined: this tests nothing'
    assert assert_agree(truth, readers, table) == 17


def test_inlined_deletes_and_updates_agree(duck, truth, readers, table):
    insert(duck, table, 0, 100)  # a file
    insert(duck, table, 100, 5)  # inlined
    for change in (f'DELETE FROM lake.{table} WHERE i IN (3000, 4000)',  # rows of the file
                   f'DELETE FROM lake.{table} WHERE i = 101000',  # an inlined row
                   f"UPDATE lake.{table} SET s = 'both' WHERE i IN (5000, 102000)"):
        duck.execute(change)
        assert_agree(truth, readers, table)


def test_inlined_rows_survive_schema_changes(duck, truth, readers, table):
    insert(duck, table, 0, 5)
    for change in ('ADD COLUMN later INTEGER', 'RENAME COLUMN s TO text', 'DROP COLUMN f'):
        duck.execute(f'ALTER TABLE lake.{table} {change}')
        assert_agree(truth, readers, table)
        duck.execute(f'INSERT INTO lake.{table} (flag, i) VALUES (true, 7), (NULL, NULL)')
        assert_agree(truth, readers, table)


# Of what Iceberg has no word for: an ALTER, and a row after it.
CHANGES = {
    'default': ("ADD COLUMN x INTEGER DEFAULT 7", "(9, 'n', {'k': 9}, 8)"),
    'number to double': ('ALTER i TYPE DOUBLE', "(2.5, 'n', {'k': 9})"),
    'number to 128 bits': ('ALTER i TYPE HUGEINT', "(9, 'n', {'k': 9})"),
    'inside of a struct': ('ALTER p TYPE STRUCT(k DOUBLE)', "(9, 'n', {'k': 2.5})"),
    'a default, then another name and type': ('ADD COLUMN x INTEGER DEFAULT 7; ALTER TABLE {t} RENAME x TO y; '
                                              'ALTER TABLE {t} ALTER y TYPE DOUBLE', "(9, 'n', {'k': 9}, 2.5)"),
}


@pytest.mark.parametrize('version', (2, 3))
@pytest.mark.parametrize('case', CHANGES)
def test_inlined_rows_from_before_a_change_are_shown_as_of_now(duck, duck_iceberg, truth, readers, catalog, rest, schema, case,
                                                                version):
    change, after = CHANGES[case]
    table = f'{schema}.t'
    duck.execute(f'CREATE TABLE lake.{table} (i INTEGER, s VARCHAR, p STRUCT(k INTEGER))')
    rest.post(f'namespaces/{schema}/tables/t', {'requirements': [], 'updates': [
        {'action': 'upgrade-format-version', 'format-version': version}]}).raise_for_status()
    for rows in ("(1, 'a', {'k': 1}), (2, 'b', NULL), (NULL, NULL, {'k': NULL})", "(4, 'd', {'k': 4}), (5, 'e', {'k': 5})"):
        duck.execute(f'INSERT INTO lake.{table} VALUES {rows}')
    duck.execute(f"DELETE FROM lake.{table} WHERE s = 'b'")
    assert assert_agree(truth, readers, table) == 4  # and they are published in the types of before
    before = catalog.load_table(table).current_snapshot().snapshot_id
    duck.execute(f"ALTER TABLE lake.{table} {change.replace('{t}', f'lake.{table}')}")
    assert data_files(duck, table) == 0, 'the rows are not inlined: this tests nothing'
    assert assert_agree(truth, readers, table) == 4
    duck.execute(f'INSERT INTO lake.{table} VALUES {after}')
    assert assert_agree(truth, readers, table) == 5
    # A delete by either side takes the row at its place among those of before.
    duck.execute(f"DELETE FROM lake.{table} WHERE s = 'a'")
    assert assert_agree(truth, readers, table) == 4
    duck_iceberg.execute(f"DELETE FROM ice.{table} WHERE s = 'd'")
    assert assert_agree(truth, readers, table) == 3
    assert {row[0] for row in duck.execute(f'SELECT s FROM lake.{table}').fetchall()} == {None, 'e', 'n'}
    assert_agree(truth, readers, table, before)
    duck.execute(f"CALL ducklake_flush_inlined_data('lake', schema_name => '{schema}', table_name => 't')")
    assert assert_agree(truth, readers, table) == 3


def test_flushed_rows_agree_at_every_snapshot(duck, truth, readers, catalog, table):
    marks = []
    for first in (0, 10, 20):
        insert(duck, table, first, 4)
        marks.append(duck.execute("SELECT max(snapshot_id) FROM ducklake_snapshots('lake')").fetchone()[0])
        assert_agree(truth, readers, table)
    duck.execute(f'DELETE FROM lake.{table} WHERE i = 11000')
    assert_agree(truth, readers, table)
    schema, name = table.split('.')
    duck.execute(f"CALL ducklake_flush_inlined_data('lake', schema_name => '{schema}', table_name => '{name}')")
    assert assert_agree(truth, readers, table) == 11
    # The flush put rows of all three snapshots into one file.
    shown = {snapshot.snapshot_id for snapshot in catalog.load_table(table).metadata.snapshots}
    assert shown >= set(marks)
    for mark in shown:
        assert_agree(truth, readers, table, mark)


# Of columns of a table in format version 2.
INLINED_TYPES = ('BOOLEAN', 'TINYINT', 'SMALLINT', 'INTEGER', 'BIGINT', 'HUGEINT', 'UTINYINT', 'USMALLINT', 'UINTEGER', 'UBIGINT', 'FLOAT', 'DOUBLE',
                 'DECIMAL(10, 2)', 'DATE', 'TIME', 'TIMETZ', 'TIMESTAMP', 'TIMESTAMP_S', 'TIMESTAMP_MS', 'TIMESTAMPTZ', 'INTERVAL', 'VARCHAR', 'JSON',
                 'BLOB', 'UUID', 'INTEGER[]', 'STRUCT(x INTEGER)')


def test_duckdb_keeps_small_inserts_after_a_clients_change_as_after_its_own(duck, catalog, schema):
    """In columns of the same types of PostgreSQL, which takes no value of another."""
    duck.execute(f'CREATE TABLE lake.{schema}.t ({", ".join(f"c{i} {one}" for i, one in enumerate(INLINED_TYPES))})')
    insert = f"INSERT INTO lake.{schema}.t BY NAME SELECT INTERVAL '1 month 3 days' AS c20, TIMETZ '12:00:00+02' AS c15, 7 AS c3"
    duck.execute(insert)
    with catalog.load_table(f'{schema}.t').update_schema() as change:
        change.add_column('added', IntegerType())
    duck.execute(insert)
    assert duck.execute(f'SELECT count(*), count(DISTINCT (c3, c15, c20)) FROM lake.{schema}.t').fetchone() == (2, 1)
    kept = duck.execute(f"""FROM postgres_query('__ducklake_metadata_lake', $$
        SELECT i.schema_version, string_agg(format_type(a.atttypid, a.atttypmod), '; ' ORDER BY a.attnum) FROM ducklake_inlined_data_tables i
          JOIN ducklake_table t USING (table_id) JOIN ducklake_schema s USING (schema_id)
          JOIN pg_attribute a ON a.attrelid = i.table_name::regclass AND a.attname ~ '^c[0-9]+$'
         WHERE s.schema_name = '{schema}' GROUP BY 1 ORDER BY 1$$)""").fetchall()
    by_duckdb, after_the_client = (types.split('; ') for _, types in kept)
    assert by_duckdb == after_the_client and len(by_duckdb) == len(INLINED_TYPES)
