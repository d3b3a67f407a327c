"""What DuckDB does to a lake reads the same through the catalog, at every snapshot.

A case is what it does to a schema of its own. Afterwards each of its tables is
read `AT (VERSION => n)` by DuckDB and by PyIceberg at the snapshot n, for every
n that the catalog shows. Where a client loads the tables after each statement,
every snapshot that it saw is there at the end, with the manifest list that it had.
"""
import contextlib
import dataclasses

import pytest
from pyiceberg.exceptions import NoSuchTableError

import readers as lake_readers
from agreement import assert_agree, checksum
from lake_statements import FLUSH, MERGE, REWRITE, bigs, inserts, last_snapshot, run, shown


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    statements: str  # One a line; {s} is the schema, lake.{s} its full name.
    tables: tuple = ('t',)
    shown: int = 1  # How many snapshots a table shows at the least.


T = 'CREATE TABLE lake.{s}.t (a INTEGER, b INTEGER)\n'
BIG = 'INSERT INTO lake.{s}.t SELECT n, n % 7 FROM range(1000, 1040) r(n)\n'

CASES = [
    Case('inlined', T + inserts('t', 5) + '\nUPDATE lake.{s}.t SET b = 100 WHERE a = 3\n'
         'DELETE FROM lake.{s}.t WHERE a IN (1, 9)\n' + BIG + 'DELETE FROM lake.{s}.t WHERE a = 1003\n'
         'UPDATE lake.{s}.t SET b = -1 WHERE a = 1004', shown=9),
    Case('flushed', T + inserts('t', 5) + '\n' + FLUSH, shown=5),
    Case('flushed_twice', T + inserts('t', 3) + '\n' + FLUSH + inserts('t', 3, 100) + '\n' + FLUSH, shown=6),
    Case('flushed_with_updates', T + inserts('t', 4) + '\nUPDATE lake.{s}.t SET b = 5 WHERE a % 3 = 0\n'
         'DELETE FROM lake.{s}.t WHERE a = 7\n' + inserts('t', 2, 50) + '\nDELETE FROM lake.{s}.t WHERE a = 51\n'
         + FLUSH + 'DELETE FROM lake.{s}.t WHERE a = 8\n' + BIG, shown=10),
    Case('flushed_deletes_of_files', T + bigs(2) + 'DELETE FROM lake.{s}.t WHERE a = 3\n'
         'DELETE FROM lake.{s}.t WHERE a IN (21, 5)\n' + inserts('t', 1, 90) +
         '\nDELETE FROM lake.{s}.t WHERE a = 6\n' + FLUSH + 'DELETE FROM lake.{s}.t WHERE a = 9', shown=7),
    Case('merged', T + bigs(5) + MERGE, shown=5),
    Case('merged_then_changed', T + bigs(4) + MERGE + 'DELETE FROM lake.{s}.t WHERE a = 3\n'
         'DELETE FROM lake.{s}.t WHERE a % 2 = 0\nUPDATE lake.{s}.t SET b = 9 WHERE a > 70\n' + BIG, shown=8),
    Case('merged_twice', T + bigs(3) + MERGE + BIG + bigs(2) + MERGE, shown=6),
    Case('flushed_and_merged', T + inserts('t', 3) + '\n' + FLUSH + inserts('t', 3, 50) + '\n' + FLUSH + MERGE +
         'DELETE FROM lake.{s}.t WHERE a IN (2, 53)', shown=7),
    Case('merged_sorted', T + 'ALTER TABLE lake.{s}.t SET SORTED BY (b ASC)\n' + bigs(4) + MERGE, shown=4),
    Case('flushed_sorted', T + 'ALTER TABLE lake.{s}.t SET SORTED BY (b DESC)\n' + inserts('t', 4) +
         '\nDELETE FROM lake.{s}.t WHERE a = 5\n' + FLUSH, shown=5),
    Case('flushed_partitioned', T + 'ALTER TABLE lake.{s}.t SET PARTITIONED BY (b)\n' + inserts('t', 4) +
         '\nUPDATE lake.{s}.t SET b = 3 WHERE a = 5\nDELETE FROM lake.{s}.t WHERE a = 6\n' + FLUSH, shown=6),
    Case('merged_partitioned', T + 'ALTER TABLE lake.{s}.t SET PARTITIONED BY (bucket(3, a))\n' + bigs(4) + MERGE,
         shown=4),
    Case('rewritten', T + bigs(2) + 'DELETE FROM lake.{s}.t WHERE a % 2 = 0\nDELETE FROM lake.{s}.t WHERE a = 1\n' +
         REWRITE + 'DELETE FROM lake.{s}.t WHERE a = 3', shown=5),
    Case('merged_and_rewritten', T + bigs(3) + MERGE + 'DELETE FROM lake.{s}.t WHERE a % 2 = 0\n' + REWRITE + BIG,
         shown=5),
    Case('deleted_whole', T + bigs(2) + 'DELETE FROM lake.{s}.t\n' + BIG + 'TRUNCATE lake.{s}.t', shown=4),
    Case('empty', T, shown=0),
    Case('emptied_inlined', T + inserts('t', 2) + '\nDELETE FROM lake.{s}.t\n' + inserts('t', 1, 8) + '\n' + FLUSH,
         shown=3),
    Case('created_as', "CREATE TABLE lake.{s}.t AS SELECT n AS a, 'x' || n AS b FROM range(50) r(n)\n"
         "CREATE TABLE lake.{s}.u AS SELECT 1 AS a\nINSERT INTO lake.{s}.t VALUES (7, 'y')", ('t', 'u')),
    Case('one_transaction', T + 'CREATE TABLE lake.{s}.u (a INTEGER)\nBEGIN\nINSERT INTO lake.{s}.t VALUES (1, 1)\n'
         + BIG + 'INSERT INTO lake.{s}.u VALUES (1)\nUPDATE lake.{s}.t SET b = 8 WHERE a = 1\n'
         'DELETE FROM lake.{s}.t WHERE a = 1003\nCOMMIT\nBEGIN\nDELETE FROM lake.{s}.t WHERE a = 1004\n'
         'CREATE TABLE lake.{s}.v (a INTEGER)\nINSERT INTO lake.{s}.v SELECT n FROM range(30) r(n)\n'
         'ALTER TABLE lake.{s}.t ADD COLUMN c VARCHAR\n'
         "INSERT INTO lake.{s}.t VALUES (2, 2, 'two')\nCOMMIT", ('t', 'u', 'v'), shown=1),
    Case('merge_into', T + bigs(1) + 'MERGE INTO lake.{s}.t USING (SELECT n AS a, n * 2 AS b FROM range(15, 25) r(n)) '
         'AS x ON t.a = x.a WHEN MATCHED THEN UPDATE SET b = x.b WHEN NOT MATCHED THEN INSERT VALUES (x.a, x.b)\n'
         'MERGE INTO lake.{s}.t USING (SELECT 3 AS a) AS x ON t.a = x.a WHEN MATCHED THEN DELETE', shown=3),
    Case('columns', T + BIG + 'ALTER TABLE lake.{s}.t ADD COLUMN c VARCHAR\n'
         "INSERT INTO lake.{s}.t SELECT n, n, 'c' || n FROM range(30) r(n)\n"
         'ALTER TABLE lake.{s}.t RENAME COLUMN b TO d\nINSERT INTO lake.{s}.t VALUES (1, 2, NULL)\n'
         'ALTER TABLE lake.{s}.t ADD COLUMN b DOUBLE\nINSERT INTO lake.{s}.t VALUES (1, 2, NULL, 4.5)\n'
         'ALTER TABLE lake.{s}.t DROP COLUMN a\nINSERT INTO lake.{s}.t SELECT 9, NULL, 1 FROM range(30)\n'
         'ALTER TABLE lake.{s}.t ALTER COLUMN d TYPE BIGINT\n'
         "INSERT INTO lake.{s}.t VALUES (10000000000, 'z', 1)\n" + FLUSH + MERGE, shown=6),
    Case('not_null', T + BIG + 'ALTER TABLE lake.{s}.t ALTER COLUMN a SET NOT NULL\n' + BIG +
         'ALTER TABLE lake.{s}.t ALTER COLUMN a DROP NOT NULL\nINSERT INTO lake.{s}.t VALUES (NULL, 1)\n' + FLUSH,
         shown=3),
    Case('write_default', T + 'ALTER TABLE lake.{s}.t ALTER COLUMN b SET DEFAULT 5\n'
         'INSERT INTO lake.{s}.t (a) VALUES (1)\nALTER TABLE lake.{s}.t ALTER COLUMN b DROP DEFAULT\n'
         'INSERT INTO lake.{s}.t (a) VALUES (2)', shown=2),
    Case('nested', 'CREATE TABLE lake.{s}.t (p STRUCT(x INTEGER, y VARCHAR), l STRUCT(z INTEGER)[])\n'
         "INSERT INTO lake.{s}.t SELECT {{'x': n, 'y': 'y' || n}}, [{{'z': n}}] FROM range(30) r(n)\n"
         "INSERT INTO lake.{s}.t VALUES ({{'x': 1, 'y': NULL}}, NULL)\n"
         'ALTER TABLE lake.{s}.t ADD COLUMN p.w DOUBLE\n'
         "INSERT INTO lake.{s}.t SELECT {{'x': n, 'y': NULL, 'w': n / 2}}, [] FROM range(30) r(n)\n"
         "INSERT INTO lake.{s}.t VALUES ({{'x': 2, 'y': NULL, 'w': NULL}}, [{{'z': NULL}}])\n"
         'ALTER TABLE lake.{s}.t RENAME COLUMN p.y TO v\nALTER TABLE lake.{s}.t DROP COLUMN p.x\n'
         "INSERT INTO lake.{s}.t SELECT {{'v': 'v', 'w': n}}, [NULL] FROM range(30) r(n)", shown=5),
    Case('calendar', 'CREATE TABLE lake.{s}.t (a INTEGER, ts TIMESTAMP)\n'
         "INSERT INTO lake.{s}.t SELECT n, TIMESTAMP '2020-01-01' + n * INTERVAL 31 HOUR FROM range(60) r(n)\n"
         'ALTER TABLE lake.{s}.t SET PARTITIONED BY (year(ts), month(ts), day(ts), hour(ts))\n'
         "INSERT INTO lake.{s}.t SELECT n, TIMESTAMP '2019-12-31' + n * INTERVAL 131 HOUR FROM range(40) r(n)\n"
         "INSERT INTO lake.{s}.t SELECT n, TIMESTAMP '2021-05-01' + n * INTERVAL 1 MINUTE FROM range(5) r(n)\n"
         'ALTER TABLE lake.{s}.t SET PARTITIONED BY (year(ts))\n'
         "INSERT INTO lake.{s}.t SELECT n, TIMESTAMP '1969-12-31 23:00:00' + n * INTERVAL 131 HOUR FROM range(40) r(n)\n"
         'ALTER TABLE lake.{s}.t RESET PARTITIONED BY\nINSERT INTO lake.{s}.t VALUES (1, NULL)\n' + FLUSH + MERGE,
         shown=5),
    Case('not_ours', T + 'CREATE VIEW lake.{s}.w AS SELECT a FROM lake.{s}.t\n'
         'CREATE MACRO lake.{s}.m(x) AS x + 1\nCREATE MACRO lake.{s}.n(x) AS TABLE SELECT x AS y\n' + BIG +
         "COMMENT ON TABLE lake.{s}.t IS 'a table''s, \"words\"'\nCOMMENT ON COLUMN lake.{s}.t.a IS 'inserted_into_table:1'\n"
         "INSERT INTO lake.{s}.t VALUES (1, 1)\nDROP VIEW lake.{s}.w\nDROP MACRO lake.{s}.m", shown=2),
    Case('created_again', T + bigs(2) + 'DROP TABLE lake.{s}.t\nCREATE TABLE lake.{s}.t (b VARCHAR)\n'
         "INSERT INTO lake.{s}.t VALUES ('new')", shown=1),
    Case('renamed', T + bigs(2) + 'ALTER TABLE lake.{s}.t RENAME TO u\nINSERT INTO lake.{s}.u VALUES (5, 5)\n'
         'CREATE TABLE lake.{s}.t (z INTEGER)\nINSERT INTO lake.{s}.t VALUES (1)', ('t',), shown=1),
    Case('schema_again', T + bigs(1) + 'DROP SCHEMA lake.{s} CASCADE\nCREATE SCHEMA lake.{s}\n' + T + BIG, shown=1),
    Case('message', T + "BEGIN\n" + BIG + "CALL lake.set_commit_message('me', 'why, \"so\"', "
         "extra_info => '{{\"k\": \"v\", \"added-records\": \"9\"}}')\nCOMMIT\n"
         "BEGIN\nINSERT INTO lake.{s}.t VALUES (1, 1)\nCALL lake.set_commit_message('me', 'x', extra_info => 'no json')\nCOMMIT",
         shown=2),
]


@pytest.fixture(scope='module')
def quick(catalog):
    return [lake_readers.PyIceberg(catalog)]


def assert_history(duck, truth, quick, catalog, table, least):
    """Every snapshot that the catalog shows agrees, and no change of rows is missing."""
    ids = shown(catalog, table)
    assert len(ids) >= least, f'{table} shows {ids}'
    for snapshot in [*ids, None]:
        assert_agree(truth, quick, table, snapshot)
    assert_no_gap(duck, truth, table, ids)


def assert_no_gap(duck, truth, table, ids):
    """Between two that are shown, the lake's rows are those of the earlier one."""
    kept = [row[0] for row in duck.execute("SELECT snapshot_id FROM ducklake_snapshots('lake') ORDER BY 1").fetchall()]
    for snapshot in kept:
        before = max((i for i in ids if i < snapshot), default=None)
        if snapshot in ids or before is None:
            continue
        rows = [truth.read(table, at).select(names(truth, table, before, snapshot)) for at in (before, snapshot)]
        columns = [column for column in truth.columns(table, snapshot) if column[0] in rows[0].column_names]
        assert checksum(rows[0], columns) == checksum(rows[1], columns), f'{table} changed unseen at {snapshot}'


def names(truth, table, *snapshots):
    """Columns of both with one type: others follow the schema."""
    sets = [set(truth.columns(table, snapshot)) for snapshot in snapshots]
    return sorted(name for name, _ in set.intersection(*sets))


class Seen:
    """What a client was shown: the manifest list of each snapshot, by table."""

    def __init__(self, catalog, tables):
        self.catalog = catalog
        self.tables = tables
        self.lists = {}

    def look(self):
        for name in self.tables:
            with contextlib.suppress(NoSuchTableError):
                metadata = self.catalog.load_table(name).metadata
                lists = {snapshot.snapshot_id: snapshot.manifest_list for snapshot in metadata.snapshots}
                held = self.lists.setdefault(metadata.table_uuid, {})
                assert lists.items() >= held.items(), f'{name} showed {held}, and then {lists}'
                held |= lists


@pytest.mark.parametrize('case', CASES, ids=lambda case: case.name)
def test_each_snapshot_reads_as_in_the_lake(duck, truth, quick, catalog, schema, case):
    tables = [f'{schema}.{table}' for table in case.tables]
    seen = Seen(catalog, tables)
    run(duck, schema, case.statements, seen.look)
    for table in tables:
        assert_history(duck, truth, quick, catalog, table, case.shown)
    seen.look()


@pytest.mark.parametrize('case', CASES, ids=lambda case: case.name)
def test_what_nobody_saw_reads_as_in_the_lake_or_is_hidden(duck, truth, quick, catalog, schema, case):
    run(duck, schema, case.statements)
    for table in case.tables:
        for snapshot in [*shown(catalog, f'{schema}.{table}'), None]:
            assert_agree(truth, quick, f'{schema}.{table}', snapshot)


def insert(duck, table, first, rows):
    duck.execute(f'INSERT INTO lake.{table} SELECT n, n % 7 FROM range({first}, {first + rows}) r(n)')
    return last_snapshot(duck)


def flush(duck, schema, name):
    duck.execute(f"CALL ducklake_flush_inlined_data('lake', schema_name => '{schema}', table_name => '{name}')")


def test_a_flush_or_merge_changes_no_snapshot_that_was_seen(duck, truth, quick, catalog, schema):
    table = f'{schema}.t'
    duck.execute(f'CREATE TABLE lake.{table} (a INTEGER, b INTEGER)')
    for step in ('flush', 'merge', 'flush'):
        for first in range(0, 40, 8):
            insert(duck, table, first, 4 if first % 16 == 0 else 30)
        duck.execute(f'DELETE FROM lake.{table} WHERE a % 9 = 1')
        before = {i: quick[0].read(table, i).num_rows for i in shown(catalog, table)}
        if step == 'flush':
            flush(duck, schema, 't')
        else:
            duck.execute(f"CALL ducklake_merge_adjacent_files('lake', 't', schema => '{schema}')")
        after = {i: quick[0].read(table, i).num_rows for i in shown(catalog, table)}
        assert after.items() >= before.items(), step
    assert_history(duck, truth, quick, catalog, table, 18)


def test_expired_snapshots_go_and_the_others_stay_right(duck, truth, quick, catalog, schema):
    table = f'{schema}.t'
    duck.execute(f'CREATE TABLE lake.{table} (a INTEGER, b INTEGER)')
    marks = [insert(duck, table, first, rows) for first, rows in ((0, 4), (10, 4), (20, 4), (30, 40), (80, 40))]
    duck.execute(f'DELETE FROM lake.{table} WHERE a IN (11, 35)')
    marks.append(last_snapshot(duck))
    assert set(marks) <= set(shown(catalog, table))
    flush(duck, schema, 't')
    duck.execute(f"CALL ducklake_merge_adjacent_files('lake', 't', schema => '{schema}')")
    assert set(marks) <= set(shown(catalog, table))
    for gone in ([marks[1]], [marks[0], marks[2]]):
        versions = ', '.join(str(mark) for mark in gone)
        duck.execute(f"CALL ducklake_expire_snapshots('lake', versions => [{versions}])")
        duck.execute("CALL ducklake_cleanup_old_files('lake', older_than => now())")
        marks = [mark for mark in marks if mark not in gone]
        assert not set(gone) & set(shown(catalog, table))
        assert set(marks) <= set(shown(catalog, table))
        assert_history(duck, truth, quick, catalog, table, 3)


def test_tables_of_one_name_in_two_schemas_are_two(duck, truth, quick, catalog, schema):
    other = f'{schema}_2'
    duck.execute(f'DROP SCHEMA IF EXISTS lake.{other} CASCADE')
    duck.execute(f'CREATE SCHEMA lake.{other}')
    for name, rows in ((schema, 4), (other, 40)):
        duck.execute(f'CREATE TABLE lake.{name}.t (a INTEGER, b INTEGER)')
        insert(duck, f'{name}.t', 0, rows)
        insert(duck, f'{name}.t', 100, rows)
    flush(duck, schema, 't')
    for name in (schema, other):
        assert_history(duck, truth, quick, catalog, f'{name}.t', 2)


def test_a_tag_inside_a_span_resolves(duck, truth, catalog, quick, schema):
    table = f'{schema}.t'
    duck.execute(f'CREATE TABLE lake.{table} (a INTEGER, b INTEGER)')
    marks = [insert(duck, table, first, 4) for first in (0, 10, 20)]
    with catalog.load_table(table).manage_snapshots() as snapshots:
        snapshots.create_tag(marks[1], 'then')
    flush(duck, schema, 't')
    loaded = catalog.load_table(table)
    assert loaded.snapshot_by_name('then').snapshot_id == marks[1]
    assert assert_agree(truth, quick, table, marks[1]) == 8


def test_hundreds_of_snapshots_in_one_file(duck, truth, quick, catalog, schema):
    table = f'{schema}.t'
    duck.execute(f'CREATE TABLE lake.{table} (a INTEGER, b INTEGER)')
    marks = [insert(duck, table, 2 * n, 2) for n in range(150)]
    assert set(marks) <= set(shown(catalog, table)), 'they are published while they stand alone, however busy the server is'
    flush(duck, schema, 't')
    assert set(marks) <= set(shown(catalog, table))
    for mark in marks[::37]:
        assert_agree(truth, quick, table, mark)


def test_the_schema_of_each_snapshot_is_that_of_its_time(duck, catalog, schema):
    table = f'{schema}.t'
    duck.execute(f'CREATE TABLE lake.{table} (a INTEGER NOT NULL, p STRUCT(x INTEGER))')
    wanted = {}
    for change, values in (('', "1, {'x': 1}"), ('ADD COLUMN p.y VARCHAR', "1, {'x': 1, 'y': NULL}"),
                           ('RENAME COLUMN a TO c', "1, {'x': 1, 'y': NULL}"),
                           ('ALTER COLUMN c DROP NOT NULL', "2, {'x': 1, 'y': NULL}"),
                           ('ADD COLUMN a DATE', 'NULL, NULL, NULL'), ('DROP COLUMN c', 'NULL, NULL')):
        if change:
            duck.execute(f'ALTER TABLE lake.{table} {change}')
        duck.execute(f'INSERT INTO lake.{table} VALUES ({values})')
        wanted[last_snapshot(duck)] = duck.execute(f'DESCRIBE lake.{table}').fetchall()
    flush(duck, schema, 't')
    wanted[last_snapshot(duck)] = duck.execute(f'DESCRIBE lake.{table}').fetchall()
    metadata = catalog.load_table(table).metadata
    for snapshot in metadata.snapshots:
        fields = metadata.schema_by_id(snapshot.schema_id).fields
        described = wanted.pop(snapshot.snapshot_id)
        assert [(f.name, f.required) for f in fields] == [(row[0], row[2] == 'NO') for row in described]
        nested = [f for f in fields if f.name == 'p'][0]
        assert not any(f.required for f in nested.field_type.fields), 'DuckDB keeps NULLs there'
    assert not wanted


def test_a_commit_without_files_stays_a_snapshot(duck, truth, catalog, quick, schema):
    table = f'{schema}.t'
    duck.execute(f'CREATE TABLE lake.{table} (a INTEGER, b INTEGER)')
    insert(duck, table, 0, 4)
    loaded = catalog.load_table(table)
    loaded.append(loaded.scan().to_arrow().slice(0, 0))
    empty = catalog.load_table(table).metadata.current_snapshot_id
    assert shown(catalog, table)[1:] == [empty]
    insert(duck, table, 10, 4)
    flush(duck, schema, 't')
    assert empty in shown(catalog, table)
    assert_history(duck, truth, quick, catalog, table, 3)


def test_what_duckdb_says_of_a_commit_is_in_the_snapshots_summary(duck, catalog, schema):
    duck.execute(f'CREATE TABLE lake.{schema}.t (a INTEGER)')
    duck.execute(f"""BEGIN; INSERT INTO lake.{schema}.t VALUES (1);
        CALL lake.set_commit_message('ann', 'nightly "load"', extra_info => '{{"job": "n1"}}'); COMMIT""")
    duck.execute(f'INSERT INTO lake.{schema}.t VALUES (2)')
    first, second = catalog.load_table(f'{schema}.t').metadata.snapshots
    told = first.summary.additional_properties
    assert (told['author'], told['commit-message'], told['job']) == ('ann', 'nightly "load"', 'n1')
    assert not {'author', 'commit-message'} & second.summary.additional_properties.keys()
