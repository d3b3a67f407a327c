"""A lake that DuckDB made in 1.0 and that is migrated to 1.1 under a server: rows, time travel and writes of an Iceberg client.
DuckDB 1.5.5 reads what was written in a clone that is turned back to 1.0."""
import datetime

import duckdb
import pyarrow as pa
import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import DayTransform
from pyiceberg.types import DateType, LongType, NestedField

import format_1_1
import lake_invariants
import readers
from lake_clients import duck as duckdb_client
from lake_statements import FLUSH, run
from own_lake import location_of, own_stack, rows_at

MADE = """
CREATE TABLE lake.{s}.small(i INTEGER, s VARCHAR)
INSERT INTO lake.{s}.small VALUES (1, 'a'), (2, 'b'), (3, NULL)
DELETE FROM lake.{s}.small WHERE i = 2
UPDATE lake.{s}.small SET s = 'c' WHERE i = 3
ALTER TABLE lake.{s}.small ADD COLUMN later DOUBLE
INSERT INTO lake.{s}.small VALUES (4, 'd', 'inf')
CREATE TABLE lake.{s}.grown(i INTEGER, s VARCHAR)
INSERT INTO lake.{s}.grown SELECT n, 's' || n FROM range(100) r(n)
DELETE FROM lake.{s}.grown WHERE i < 3
DELETE FROM lake.{s}.grown WHERE i > 40
INSERT INTO lake.{s}.grown SELECT n, 't' FROM range(200, 220) r(n)
CREATE TABLE lake.{s}.parted(i INTEGER, d DATE)
ALTER TABLE lake.{s}.parted SET PARTITIONED BY (bucket(4, i), year(d))
INSERT INTO lake.{s}.parted SELECT n, DATE '2024-01-15' + INTERVAL (n * 40) DAY FROM range(20) r(n)
CREATE TABLE lake.{s}.nested(x STRUCT(a INTEGER, b VARCHAR), l INTEGER[])
INSERT INTO lake.{s}.nested SELECT {{'a': n, 'b': 'x'}}, [n, n + 1] FROM range(20) r(n)
ALTER TABLE lake.{s}.nested RENAME COLUMN x.a TO aa
CREATE TABLE lake.{s}.t(i INTEGER, n INTEGER)
INSERT INTO lake.{s}.t SELECT n, n FROM range(20) r(n)
INSERT INTO lake.{s}.t VALUES (100, 100)
INSERT INTO lake.{s}.t VALUES (101, 101)
"""
TABLES = ('small', 'grown', 'parted', 'nested', 't')


@pytest.fixture(scope='module')
def own():
    with own_stack('format11') as own:
        own.duck.execute('CREATE SCHEMA lake.s')
        run(own.duck, 's', MADE + FLUSH)
        own.before = shown(own)
        own.truth = {table: rows_at(readers.Direct(own.duck), f's.{table}') for table in TABLES}
        own.duck.close()
        assert lake_invariants.broken(own.ask) == {}, 'rules that DuckDB itself does not keep'
        own.refused = format_1_1.command(own, 'migrate', '--to', '1.1', '--there-is-no-way-back')
        format_1_1.migrate(own)
        yield own


def shown(own):
    """Each table at each of its snapshots, as the Iceberg client reads it."""
    reader = readers.PyIceberg(own.catalog)
    return {(table, one.snapshot_id): rows_at(reader, f's.{table}', one.snapshot_id)
            for table in TABLES for one in own.catalog.load_table(f's.{table}').snapshots()}


def now(own, table):
    return rows_at(readers.PyIceberg(own.catalog), table)


def arrow(own, table, rows):
    fields = own.catalog.load_table(table).schema().as_arrow()
    return pa.Table.from_pylist([dict(zip(fields.names, row)) for row in rows], schema=fields)


def test_rows_are_what_they_were_at_every_snapshot(own):
    assert len(own.before) > 12, 'a history that tests nothing'
    after = shown(own)
    assert {key: after[key] for key in own.before} == own.before
    for table in TABLES:
        assert now(own, f's.{table}') == own.truth[table], table


def test_the_command_line_tells_what_the_lake_is(own):
    assert own.refused.returncode == 1 and 'other sessions' in own.refused.stderr, 'the server was up'
    checked = format_1_1.command(own, 'check')
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert {'version: 1.1', 'attached by: DuckDB 2.0', 'no problems'} <= set(checked.stdout.splitlines())
    assert 'session: ' in checked.stdout, 'of the server'
    unsure = format_1_1.command(own, 'migrate', '--to', '1.1')
    assert unsure.returncode == 2 and 'no way back' in unsure.stderr
    assert format_1_1.command(own, 'migrate', '--to', '2.0').returncode == 2
    again = format_1_1.command(own, 'migrate', '--to', '1.1', '--there-is-no-way-back')
    assert again.returncode == 1 and '1.1 already' in again.stderr
    assert format_1_1.command(own, 'create', '--format', '1.1').returncode == 1


def test_compaction_is_refused_by_name(own):
    answer = own.rest.post('admin/namespaces/s/tables/grown/compact')
    assert answer.status_code == 501 and 'DuckDB 2.0' in answer.json()['error']['message'], answer.text


def test_duckdb_1_5_refuses_the_lake(own):
    with pytest.raises(duckdb.Error, match='1.1'):
        duckdb_client.connect_lake(own.lake)


def test_a_client_writes_what_duckdb_reads_in_1_0(own):
    catalog = own.catalog
    catalog.load_table('s.small').append(arrow(own, 's.small', [(5, 'e', 0.5), (6, None, None)]))
    catalog.load_table('s.small').delete('i = 1')  # an inlined row
    catalog.load_table('s.grown').delete('i = 10')
    catalog.load_table('s.grown').overwrite(arrow(own, 's.grown', [(300, 'new')]), overwrite_filter='i >= 200')
    with catalog.load_table('s.small').update_schema() as update:
        update.add_column('more', LongType())
    catalog.load_table('s.small').append(arrow(own, 's.small', [(7, 'g', 1.5, 70)]))
    catalog.load_table('s.parted').append(arrow(own, 's.parted', [(77, datetime.date(2030, 5, 5))]))
    catalog.rename_table('s.t', 's.renamed')
    catalog.create_namespace(('s', 'deep'))
    catalog.create_namespace(('s', 'deep', 'er'))
    made = catalog.create_table(('s', 'deep', 'er', 'leaf'), catalog.load_table('s.renamed').schema())
    made.append(pa.table({'i': pa.array([1, 2], pa.int32()), 'n': pa.array([3, None], pa.int32())}))
    assert own.ask("SELECT changes_made FROM ducklake_snapshot_changes WHERE changes_made LIKE 'created%' ORDER BY snapshot_id DESC "
                   'LIMIT 1') == 'created_table:"s"."deep"."er"."leaf"'
    with format_1_1.down_converted(own) as duck:
        for theirs, ours in (('s.small', 's.small'), ('s.grown', 's.grown'), ('s.parted', 's.parted'), ('s.renamed', 's.renamed'),
                             ('s.nested', 's.nested'), ('"s.deep.er".leaf', 's.deep.er.leaf')):
            seen = duck.execute(f'FROM lake.{theirs} ORDER BY ALL').fetchall()
            assert seen == now(own, ours), ours
            assert len(seen) == duck.execute(f'SELECT count(*) FROM lake.{theirs}').fetchone()[0], ours
        # It goes on from there: small rows go into the inlined table that the added column made.
        duck.execute("INSERT INTO lake.s.small VALUES (8, 'h', 2.5, 80)")
        assert (8, 'h', 2.5, 80) in duck.execute('FROM lake.s.small').fetchall()


def test_nested_namespaces_are_listed_level_by_level(own):
    own.catalog.create_namespace_if_not_exists(('s', 'deep'))
    format_1_1.snapshot(own, 'created_schema:"deep",created_schema:"s"."other"', """
        INSERT INTO ducklake_schema SELECT 9001, gen_random_uuid(), {at}, NULL, 'deep', 'top-deep/', true, NULL;
        INSERT INTO ducklake_schema SELECT 9002, gen_random_uuid(), {at}, NULL, 'other', 'other/', true, schema_id
          FROM ducklake_schema WHERE schema_name = 's' AND end_snapshot IS NULL""", schema_changes=True)
    assert ('deep',) in own.catalog.list_namespaces() and ('other',) not in own.catalog.list_namespaces()
    assert {('s', 'deep'), ('s', 'other')} <= set(own.catalog.list_namespaces('s'))
    assert own.catalog.list_tables('deep') == [], 'the schema of this name at the top has none'
    own.catalog.drop_namespace(('s', 'other'))
    assert ('s', 'other') not in own.catalog.list_namespaces('s')


def test_a_table_with_the_old_names_is_read_and_written_right(own):
    """DuckDB 2.0 inlines rows of a table that has columns row_id, begin_snapshot and end_snapshot."""
    at = format_1_1.snapshot(own, 'created_table:"s"."clash"', """
        INSERT INTO ducklake_table SELECT 8001, gen_random_uuid(), {at}, NULL, schema_id, 'clash', 'clash/', true
          FROM ducklake_schema WHERE schema_name = 's' AND end_snapshot IS NULL;
        INSERT INTO ducklake_schema_versions SELECT {at}, max(schema_version), 8001 FROM ducklake_snapshot;
        INSERT INTO ducklake_column SELECT n, {at}, NULL, 8001, n, name, 'int64', NULL, 'NULL', true, NULL, 'literal', 'duckdb'
          FROM unnest(ARRAY['begin_snapshot', 'row_id', 'end_snapshot']) WITH ORDINALITY AS c(name, n)""", schema_changes=True)
    version = own.ask('SELECT max(schema_version) FROM ducklake_snapshot')
    held = f'ducklake_inlined_data_8001_{version}'
    first = format_1_1.snapshot(own, 'inlined_insert:8001', f"""
        CREATE TABLE {held}(_ducklake_row_id bigint, _ducklake_begin_snapshot bigint, _ducklake_end_snapshot bigint,
                            begin_snapshot bigint, row_id bigint, end_snapshot bigint);
        INSERT INTO ducklake_inlined_data_tables VALUES (8001, '{held}', {version});
        INSERT INTO ducklake_table_stats VALUES (8001, 3, 3, 0);
        INSERT INTO {held} VALUES (0, {{at}}, NULL, 1, 2, 3), (1, {{at}}, NULL, 999999, 0, NULL), (2, {{at}}, NULL, NULL, 5, 0)""")
    second = format_1_1.snapshot(own, 'inlined_delete:8001', f"""
        UPDATE {held} SET _ducklake_end_snapshot = {{at}} WHERE _ducklake_row_id = 0""")
    assert at < first < second
    reader = readers.PyIceberg(own.catalog)
    assert rows_at(reader, 's.clash', first) == [(1, 2, 3), (999999, 0, None), (None, 5, 0)]
    assert rows_at(reader, 's.clash', second) == [(999999, 0, None), (None, 5, 0)]
    own.catalog.load_table('s.clash').delete('row_id = 5')
    own.catalog.load_table('s.clash').append(arrow(own, 's.clash', [(7, 8, 9)]))
    assert now(own, 's.clash') == [(7, 8, 9), (999999, 0, None)]
    own.ask(f"DELETE FROM ducklake_inlined_data_tables WHERE table_id = 8001; DROP TABLE {held}")


def test_days_of_a_client_are_counted_from_1970_in_the_lake(own):
    schema = Schema(NestedField(1, 'i', LongType(), required=False), NestedField(2, 'd', DateType(), required=False))
    made = own.catalog.create_table('s.days', schema, partition_spec=PartitionSpec(
        PartitionField(source_id=2, field_id=1000, transform=DayTransform(), name='d_day')))
    days = [datetime.date(1969, 12, 31), datetime.date(1970, 1, 1), datetime.date(2024, 1, 1), None]
    made.append(pa.table({'i': list(range(4)), 'd': pa.array(days, pa.date32())}))
    counted = own.ask("""SELECT string_agg(coalesce(v.partition_value, 'null'), ' ' ORDER BY v.partition_value::int)
        FROM ducklake_file_partition_value v JOIN ducklake_table t USING (table_id) WHERE t.table_name = 'days'""")
    assert counted == '-1 0 19723 null'
    assert own.ask("SELECT DISTINCT transform FROM ducklake_partition_column c JOIN ducklake_table t USING (table_id) "
                   "WHERE t.table_name = 'days'") == 'epoch_day'
    scan = own.catalog.load_table('s.days').scan(row_filter="d = '2024-01-01'")
    assert len(list(scan.plan_files())) == 1 and scan.to_arrow()['i'].to_pylist() == [2]
    with format_1_1.down_converted(own) as duck:
        assert duck.execute('FROM lake.s.days ORDER BY i').fetchall() == [(i, day) for i, day in enumerate(days)]


def test_each_snapshot_sees_its_vector_of_a_puffin_file(own):
    """One of cumulative vectors, as write_deletion_vectors of DuckDB 2.0 leaves it."""
    schema = pa.schema([pa.field('i', pa.int64())])
    made = own.catalog.create_table('s.vectors', schema)
    made.append(pa.table({'i': list(range(10))}, schema=schema))
    table_id, file_id, data_file = own.ask("SELECT f.table_id, f.data_file_id, f.path FROM ducklake_data_file f JOIN ducklake_table t "
                                           "USING (table_id) WHERE t.table_name = 'vectors'").split('|')
    begin = int(own.ask('SELECT max(snapshot_id) + 1 FROM ducklake_snapshot'))
    content = format_1_1.puffin({begin: [3], begin + 2: [1, 3], begin + 3: [1, 3, 7, 8]}, data_file)
    location = location_of(own.rest, 's', 'vectors')
    name = 'ducklake-deletes.puffin'
    own.objects.put(f'{location}/{name}'.removeprefix(f's3://{own.objects.bucket}/'), content)
    deletes = f'deleted_from_table:{table_id}'
    assert format_1_1.snapshot(own, deletes) == begin
    other = format_1_1.snapshot(own, 'created_schema:"beside"')
    format_1_1.snapshot(own, deletes)
    last = format_1_1.snapshot(own, deletes, f"""
        INSERT INTO ducklake_delete_file (delete_file_id, table_id, begin_snapshot, data_file_id, path, path_is_relative, format,
          delete_count, file_size_bytes, footer_size, partial_max)
        SELECT next_file_id - 1, {table_id}, {begin}, {file_id}, '{location}/{name}', false, 'puffin', 4, {len(content)}, 0, {{at}}
          FROM ducklake_snapshot WHERE snapshot_id = {{at}}""")
    assert other == begin + 1 and last == begin + 3
    loaded = own.catalog.load_table('s.vectors')
    reader = readers.PyIceberg(own.catalog)
    expected = {begin: {3}, begin + 2: {1, 3}, last: {1, 3, 7, 8}}
    assert set(expected) <= {one.snapshot_id for one in loaded.snapshots()}
    for at, gone in expected.items():
        assert rows_at(reader, 's.vectors', at) == [(i,) for i in range(10) if i not in gone], at
    totals = {one.snapshot_id: one.summary['total-position-deletes'] for one in loaded.snapshots()}
    assert [totals[at] for at in expected] == ['1', '2', '4']
    own.catalog.load_table('s.vectors').delete('i = 9')
    assert now(own, 's.vectors') == [(i,) for i in (0, 2, 4, 5, 6)]


def test_what_clients_wrote_keeps_the_rules_of_a_lake(own):
    assert lake_invariants.broken(own.ask) == {}
    # Each of these breaks one.
    for statement, rule in (
            ("UPDATE ducklake_table_stats SET file_size_bytes = 1 WHERE file_size_bytes > 1", 'totals are not below the live files'),
            ("INSERT INTO ducklake_snapshot_changes VALUES (99999, 'something_new:1')", 'names of objects are known to the log'),
            ("UPDATE ducklake_schema SET parent_schema_id = 12345 WHERE schema_name = 's'", 'a schema stands in one that is there')):
        found = lake_invariants.broken(lambda sql: own.ask(f'BEGIN; {statement}; {sql}; ROLLBACK'))
        assert rule in found, f'{statement}: {found}'
