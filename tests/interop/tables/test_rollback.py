"""main goes back to a snapshot whose rows stand in files that DuckDB has merged, flushed or written again since."""
import dataclasses

import pytest

import readers as lake_readers
from agreement import assert_agree, checksum
from lake_clients import duck as duckdb_client
from lake_statements import FLUSH, MERGE, REWRITE, bigs, inserts, last_snapshot, run, shown
from rest import Rest
from row_ids import assert_same_lineage, make_table

FIELDS = [{'id': 1, 'name': 'a', 'type': 'int', 'required': False}, {'id': 2, 'name': 'b', 'type': 'int', 'required': False}]
# The snapshot after it is one to go back to.
MARK = '-- mark\n'


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    statements: str
    least: int  # How many snapshots there are before it goes back.
    version: str = '2'


CASES = [
    Case('merged', bigs(2) + MARK + bigs(3) + MERGE, 5),
    Case('merged_with_deletes', bigs(2) + MARK + bigs(2) + MERGE + 'DELETE FROM lake.{s}.t WHERE a IN (3, 27, 8)\n' +
         MARK + 'DELETE FROM lake.{s}.t WHERE a < 30\nUPDATE lake.{s}.t SET b = -1 WHERE a = 35\n', 4, '3'),
    Case('merged_then_gone', bigs(1) + MARK + bigs(2) + MERGE + 'DELETE FROM lake.{s}.t\n', 4),
    Case('flushed', inserts('t', 2) + '\n' + MARK + inserts('t', 3, 50) + '\n' + FLUSH, 5),
    Case('flushed_with_deletes', inserts('t', 3) + '\nDELETE FROM lake.{s}.t WHERE a = 2\n' + MARK +
         'UPDATE lake.{s}.t SET b = 70 WHERE a IN (4, 7)\nDELETE FROM lake.{s}.t WHERE a = 9\n' + MARK +
         inserts('t', 1, 60) + '\n' + FLUSH + 'DELETE FROM lake.{s}.t WHERE a IN (5, 61)\n', 8, '3'),
    Case('deletes_flushed', bigs(2) + 'DELETE FROM lake.{s}.t WHERE a = 3\n' + MARK +
         'DELETE FROM lake.{s}.t WHERE a IN (21, 5)\n' + MARK + 'DELETE FROM lake.{s}.t WHERE a = 6\n' + FLUSH, 5),
    Case('flushed_and_merged', inserts('t', 3) + '\n' + FLUSH + MARK + inserts('t', 3, 50) + '\n' + FLUSH + MERGE, 6, '3'),
    Case('rewritten', bigs(2) + MARK + bigs(2) + MERGE + 'DELETE FROM lake.{s}.t WHERE a % 2 = 0\n' + MARK + REWRITE, 5),
    Case('inlined', inserts('t', 2) + '\n' + MARK + 'UPDATE lake.{s}.t SET b = 70 WHERE a IN (4, 7)\n'
         'DELETE FROM lake.{s}.t WHERE a < 3\n', 4, '3'),
]


@pytest.fixture
def quick(catalog):
    return [lake_readers.PyIceberg(catalog)]


def play(duck, schema, catalog, statements):
    """The snapshots to go back to. All are seen before they are replaced."""
    marks = []
    for part in statements.split(MARK):
        run(duck, schema, part, lambda: catalog.load_table(f'{schema}.t'))
        marks.append(last_snapshot(duck))
    return marks[:-1]


def back_to(catalog, table, snapshot):
    with catalog.load_table(table).manage_snapshots() as change:
        change.set_current_snapshot(snapshot_id=snapshot)


def rows_at(truth, table, snapshot=None):
    return checksum(truth.read(table, snapshot), truth.columns(table, snapshot))


def rows_and_ids(duck, table, at=''):
    return sorted(duck.execute(f'SELECT rowid, a, b FROM lake.{table}{at}').fetchall())


def assert_agree_at_all(duck, truth, quick, catalog, table):
    ids = shown(catalog, table)
    for snapshot in ids:
        assert_agree(truth, quick, table, snapshot)
    return ids


@pytest.mark.parametrize('case', CASES, ids=lambda case: case.name)
def test_pyiceberg_goes_back_and_forth(lake, duck, truth, quick, catalog, schema, case):
    table = make_table(Rest.of(lake), schema, 't', case.version, FIELDS)
    marks = play(duck, schema, catalog, case.statements)
    newest = last_snapshot(duck)
    past = {snapshot: rows_at(truth, table, snapshot) for snapshot in shown(catalog, table)}
    assert len(past) >= case.least
    for mark in [*marks, newest, marks[0]]:
        wanted = rows_and_ids(duck, table, f' AT (VERSION => {mark})')
        back_to(catalog, table, max(snapshot for snapshot in past if snapshot <= mark))
        assert rows_and_ids(duck, table) == wanted, 'the rows of then, and their ids'
        assert_agree(truth, quick, table)
    run(duck, schema, 'DELETE FROM lake.{s}.t WHERE a IN (0, 4)\n' + inserts('t', 1, 500) + '\n' + FLUSH + MERGE + REWRITE)
    assert_agree(truth, quick, table)
    ids = assert_agree_at_all(duck, truth, quick, catalog, table)
    assert past.keys() <= set(ids)
    assert {snapshot: rows_at(truth, table, snapshot) for snapshot in past} == past, 'the past is as it was'


def test_spark_rolls_back_to_rows_that_were_merged(lake, duck, truth, spark, catalog, schema):
    """In format version 3 rows have the ids of then, for Spark as for DuckDB."""
    table = make_table(Rest.of(lake), schema, 't', '3', FIELDS)
    marks = play(duck, schema, catalog, CASES[1].statements)
    reader = [lake_readers.Spark(spark)]
    for mark in marks:
        wanted = rows_and_ids(duck, table, f' AT (VERSION => {mark})')
        spark.sql(f"CALL lake.system.rollback_to_snapshot('{table}', {mark})" if mark == marks[0] else
                  f"CALL lake.system.set_current_snapshot('{table}', {mark})").collect()
        assert rows_and_ids(duck, table) == wanted
        assert_agree(truth, reader, table)
        assert_same_lineage(duck, spark, table)
    spark.sql(f'DELETE FROM lake.{table} WHERE a = 2')
    assert_agree(truth, reader, table)
    for snapshot in shown(catalog, table):
        assert_agree(truth, reader, table, snapshot)


def test_duckdb_finds_rows_that_came_back_beyond_what_it_left(lake, duck, truth, readers, catalog, schema):
    """A rewrite of DuckDB's counts the values that are left: what comes back must not be passed over, nor counted, by that."""
    table = f'{schema}.t'
    duck.execute(f'CREATE TABLE lake.{table} (a INTEGER, c VARCHAR)')
    duck.execute(f"INSERT INTO lake.{table} SELECT n, CASE WHEN n > 4 THEN 'b' || n END FROM range(40) r(n)")
    first = catalog.load_table(table).metadata.current_snapshot_id
    duck.execute(f'DELETE FROM lake.{table} WHERE a < 40')
    duck.execute(f"INSERT INTO lake.{table} SELECT n, 'x' FROM range(1000, 1040) r(n)")
    duck.execute(f'DELETE FROM lake.{table} WHERE a = 1000')
    duck.execute(f"CALL ducklake_rewrite_data_files('lake', 't', schema => '{schema}', delete_threshold => 0)")
    with catalog.load_table(table).manage_snapshots() as change:
        change.rollback_to_snapshot(first)
    assert assert_agree(truth, readers, table) == 40
    with duckdb_client.connect_lake(lake) as fresh:
        for session in (duck, fresh):
            assert session.execute(f'SELECT count(c) FROM lake.{table}').fetchone() == (35,)
            assert session.execute(f'SELECT min(a), max(a), min(c), max(c) FROM lake.{table}').fetchone() == (0, 39, 'b10', 'b9')
            assert session.execute(f'SELECT max(a) FROM lake.{table}').fetchone() == (39,)
            assert session.execute(f"SELECT count(*) FROM lake.{table} WHERE a = 7 AND c = 'b7'").fetchone() == (1,)
            assert session.execute(f'SELECT count(*) FROM lake.{table} WHERE c IS NULL').fetchone() == (5,)
