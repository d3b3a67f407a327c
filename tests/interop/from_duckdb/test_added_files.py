"""Parquet files that DuckDB adds to a table as they are. Without field ids their columns are found by name: by DuckDB as the lake says for
each file, by Iceberg's clients as the table's name mapping says for all of them. What both would not read alike is shown as a copy."""
import json

import duckdb
import pyarrow as pa
import pytest
from pyiceberg.exceptions import BadRequestError
from pyiceberg.types import IntegerType

from agreement import assert_agree
from copies import newest, opened
from rest import Rest


@pytest.fixture
def place(lake, schema):
    return f's3://{lake.s3_bucket}/beside/{schema}'


def write(duck, query, to, options=''):
    duck.execute(f"COPY ({query}) TO '{to}' (FORMAT parquet{options})")


def add(duck, schema, files, options=''):
    duck.execute(f"CALL ducklake_add_data_files('lake', 't', '{files}', schema => '{schema}'{options})")


def mapping(catalog, schema):
    return json.loads(catalog.load_table(f'{schema}.t').metadata.properties['schema.name-mapping.default'])


NESTED = 'id BIGINT, name VARCHAR, point STRUCT(x INTEGER, y DOUBLE), list INTEGER[], map MAP(VARCHAR, STRUCT(q DATE)), moment TIMESTAMP'
ROWS = ("SELECT n::{kind} AS id, 'n' || n AS name, {{'x': n::INTEGER, 'y': n / 2}} AS point, [n::INTEGER, NULL] AS list, "
        "MAP {{'k' || n: {{'q': DATE '2026-01-01' + n::INTEGER}}}} AS map, TIMESTAMP '2026-01-01' + to_hours(n) AS moment "
        'FROM range({first}, {last}) r(n)')


def test_files_without_field_ids_are_read_by_every_client(duck, truth, readers, catalog, schema, place):
    duck.execute(f'CREATE TABLE lake.{schema}.t ({NESTED})')
    duck.execute(f'INSERT INTO lake.{schema}.t {ROWS.format(kind="BIGINT", first=0, last=30)}')
    write(duck, ROWS.format(kind='INTEGER', first=30, last=60), f'{place}/narrow.parquet')
    # Another order of columns, and names in another case.
    write(duck, f'SELECT moment, map, list, {{\'y\': point.y, \'X\': point.x}} AS Point, name, id AS ID FROM '
                f'({ROWS.format(kind="BIGINT", first=60, last=90)})', f'{place}/turned.parquet')
    add(duck, schema, f'{place}/*.parquet')
    assert assert_agree(truth, readers, f'{schema}.t') == 90
    assert {name for field in mapping(catalog, schema) for name in field['names']} == {
        'id', 'ID', 'name', 'point', 'Point', 'list', 'map', 'moment'}
    # Rows of them go and change as all others do.
    duck.execute(f'DELETE FROM lake.{schema}.t WHERE id % 7 = 0')
    duck.execute(f"UPDATE lake.{schema}.t SET name = 'other' WHERE id % 5 = 0")
    assert assert_agree(truth, readers, f'{schema}.t') == 77
    catalog.load_table(f'{schema}.t').delete('id > 50')
    assert assert_agree(truth, readers, f'{schema}.t') == 43


def test_names_of_all_times_lead_to_their_columns(duck, truth, readers, catalog, schema, place):
    table = f'{schema}.t'
    duck.execute(f'CREATE TABLE lake.{table} (a INTEGER, b INTEGER)')
    write(duck, 'SELECT n::INTEGER AS a, -n::INTEGER AS b FROM range(20) r(n)', f'{place}/1.parquet')
    add(duck, schema, f'{place}/1.parquet')
    first = catalog.load_table(table).metadata.current_snapshot_id
    duck.execute(f'ALTER TABLE lake.{table} RENAME a TO c')
    duck.execute(f'ALTER TABLE lake.{table} ADD COLUMN d BIGINT')
    write(duck, 'SELECT n::INTEGER AS d, n::INTEGER AS c, -n::INTEGER AS b FROM range(20, 40) r(n)', f'{place}/2.parquet')
    add(duck, schema, f'{place}/2.parquet')
    assert assert_agree(truth, readers, table) == 40
    assert assert_agree(truth, readers, table, first) == 20
    assert [(each['field-id'], each['names']) for each in mapping(catalog, schema)] == [(1, ['a', 'c']), (2, ['b']), (3, ['d'])]
    # A file may lack a column.
    write(duck, 'SELECT n::INTEGER AS b FROM range(40, 60) r(n)', f'{place}/3.parquet')
    add(duck, schema, f'{place}/3.parquet', ', allow_missing => true')
    assert assert_agree(truth, readers, table) == 60


def paths(catalog, table, snapshot=None):
    return [task.file.file_path for task in catalog.load_table(table).scan(snapshot_id=snapshot).plan_files()]


def assert_shown_as_copies(lake, duck, truth, readers, catalog, table, copies=1):
    """Every reader reads what DuckDB does, from so many copies. Returns the rows."""
    opened(Rest.of(lake), table, newest(duck))
    assert sum('/metadata/lake/copy-' in path for path in paths(catalog, table)) == copies
    return assert_agree(truth, readers, table)


def test_a_name_that_means_two_columns(lake, duck, truth, readers, catalog, schema, place):
    """It goes on meaning that of the file that came first, which is shown as it is."""
    table = f'{schema}.t'
    duck.execute(f'CREATE TABLE lake.{table} (a INTEGER, b INTEGER)')
    write(duck, 'SELECT n::INTEGER AS a, -n::INTEGER AS b FROM range(20) r(n)', f'{place}/1.parquet')
    add(duck, schema, f'{place}/1.parquet')
    first = catalog.load_table(table).metadata.current_snapshot_id
    duck.execute(f'ALTER TABLE lake.{table} RENAME a TO c')
    duck.execute(f'ALTER TABLE lake.{table} ADD COLUMN a INTEGER')
    # As long as no file says the name of the new one, there is no doubt.
    assert assert_agree(truth, readers, table) == 20
    write(duck, 'SELECT 7 AS a, n::INTEGER AS b, 9 AS c FROM range(20, 40) r(n)', f'{place}/2.parquet')
    add(duck, schema, f'{place}/2.parquet')
    assert assert_shown_as_copies(lake, duck, truth, readers, catalog, table) == 40
    assert assert_agree(truth, readers, table, first) == 20
    assert [(each['field-id'], each['names']) for each in mapping(catalog, schema)] == [(1, ['a', 'c']), (2, ['b'])]
    assert sorted(catalog.load_table(table).scan('a = 7 AND c = 9').to_arrow().column('b').to_pylist()) == list(range(20, 40))
    duck.execute(f'DELETE FROM lake.{table} WHERE a = 7 AND b < 30')
    assert assert_agree(truth, readers, table) == 30
    catalog.load_table(table).delete('a = 7 AND b < 35')
    assert assert_agree(truth, readers, table) == 25
    # Once no snapshot needs the first file, the name is free for the other.
    duck.execute(f'DELETE FROM lake.{table} WHERE a IS NULL')
    duck.execute("CALL ducklake_expire_snapshots('lake', older_than => now())")
    assert assert_agree(truth, readers, table) == 5
    write(duck, 'SELECT 8 AS a, 1 AS b, 2 AS c FROM range(3)', f'{place}/3.parquet')
    add(duck, schema, f'{place}/3.parquet')
    assert assert_agree(truth, readers, table) == 8
    assert f'{place}/3.parquet' in paths(catalog, table)


def test_a_column_that_is_none_of_the_tables_is_left_out(lake, duck, truth, readers, catalog, schema, place):
    """PyIceberg gives up on such a file; and once the table gets a column of that name, others would find it there."""
    table = f'{schema}.t'
    duck.execute(f'CREATE TABLE lake.{table} (a INTEGER)')
    write(duck, 'SELECT n::INTEGER AS a, 5 AS more FROM range(20) r(n)', f'{place}/1.parquet')
    add(duck, schema, f'{place}/1.parquet', ', ignore_extra_columns => true')
    assert assert_shown_as_copies(lake, duck, truth, readers, catalog, table) == 20
    duck.execute(f'ALTER TABLE lake.{table} ADD COLUMN more INTEGER')
    assert assert_agree(truth, readers, table) == 20


@pytest.mark.parametrize('given', ('a: 2, b: 1', 'b: 2', 'a: 1, b: 9'))
def test_field_ids_that_are_others_than_the_tables_are_passed_over(lake, duck, truth, readers, catalog, schema, place, given):
    duck.execute(f'CREATE TABLE lake.{schema}.t (a INTEGER, b INTEGER)')
    write(duck, 'SELECT 1 AS a, 2 AS b', f'{place}/1.parquet', f', FIELD_IDS {{{given}}}')
    add(duck, schema, f'{place}/1.parquet')
    assert assert_shown_as_copies(lake, duck, truth, readers, catalog, f'{schema}.t') == 1


def test_field_ids_that_are_the_tables_are_taken(duck, truth, readers, schema, place):
    duck.execute(f'CREATE TABLE lake.{schema}.t (a INTEGER, b INTEGER)')
    write(duck, 'SELECT 1 AS b, 2 AS a FROM range(20)', f'{place}/1.parquet', ', FIELD_IDS {a: 1, b: 2}')
    add(duck, schema, f'{place}/1.parquet')
    assert assert_agree(truth, readers, f'{schema}.t') == 20


@pytest.mark.parametrize('kind, query', (
    ('BIGINT', '4000000000::UINTEGER'), ('DECIMAL(9, 3)', '1.25::DECIMAL(9, 2)'), ('TIMESTAMP', "TIMESTAMP_MS '2026-01-01'"),
    ('TIMESTAMP', "TIMESTAMP_NS '2026-01-01'"),
))
def test_types_that_readers_take_for_others_become_the_tables(lake, duck, truth, readers, catalog, schema, place, kind, query):
    duck.execute(f'CREATE TABLE lake.{schema}.t (a {kind})')
    write(duck, f'SELECT {query} AS a', f'{place}/1.parquet')
    add(duck, schema, f'{place}/1.parquet')
    assert assert_shown_as_copies(lake, duck, truth, readers, catalog, f'{schema}.t') == 1


def test_files_that_are_read_alike_stay_beside_those_that_are_copied(lake, duck, truth, readers, catalog, schema, place):
    """Deletes of both sides, an older snapshot, and files that come later."""
    table = f'{schema}.t'
    duck.execute(f'CREATE TABLE lake.{table} (id BIGINT, moment TIMESTAMP)')
    write(duck, "SELECT n AS id, TIMESTAMP '2026-01-01' + to_hours(n) AS moment FROM range(20) r(n)", f'{place}/alike.parquet')
    add(duck, schema, f'{place}/alike.parquet')
    assert assert_agree(truth, readers, table) == 20
    write(duck, "SELECT n::UINTEGER AS id, (TIMESTAMP '2026-01-01' + to_hours(n))::TIMESTAMP_NS AS moment FROM range(20, 40) r(n)",
          f'{place}/unlike.parquet')
    add(duck, schema, f'{place}/unlike.parquet')
    assert assert_shown_as_copies(lake, duck, truth, readers, catalog, table) == 40
    assert any(path.endswith('/alike.parquet') for path in paths(catalog, table))
    both = catalog.load_table(table).metadata.current_snapshot_id
    duck.execute(f'DELETE FROM lake.{table} WHERE id % 4 = 0')
    assert assert_shown_as_copies(lake, duck, truth, readers, catalog, table) == 30
    catalog.load_table(table).delete('id > 34')
    assert assert_agree(truth, readers, table) == 26
    assert assert_agree(truth, readers, table, both) == 40


def test_a_change_of_type_reaches_added_files(lake, duck, truth, readers, catalog, schema, place):
    """One that no client follows by itself: the snapshot before it keeps the file as it is."""
    table = f'{schema}.t'
    duck.execute(f'CREATE TABLE lake.{table} (a INTEGER, b INTEGER)')
    write(duck, 'SELECT n::INTEGER AS a, -n::INTEGER AS b FROM range(20) r(n)', f'{place}/1.parquet')
    add(duck, schema, f'{place}/1.parquet')
    assert assert_agree(truth, readers, table) == 20
    before = catalog.load_table(table).metadata.current_snapshot_id
    duck.execute(f'ALTER TABLE lake.{table} ALTER b SET DATA TYPE DOUBLE')
    assert assert_shown_as_copies(lake, duck, truth, readers, catalog, table) == 20
    assert paths(catalog, table, before) == [f'{place}/1.parquet']
    duck.execute(f"INSERT INTO lake.{table} SELECT n, n + 0.5 FROM range(20) r(n)")
    assert assert_shown_as_copies(lake, duck, truth, readers, catalog, table) == 40


@pytest.mark.parametrize('when', ('before', 'after'))
def test_a_default_fills_added_files_that_lack_its_column(lake, duck, truth, readers, catalog, schema, place, when):
    table = f'{schema}.t'
    duck.execute(f'CREATE TABLE lake.{table} (a INTEGER)')
    add_column = f'ALTER TABLE lake.{table} ADD COLUMN d INTEGER DEFAULT 7'
    if when == 'before':
        duck.execute(add_column)
    write(duck, 'SELECT n::INTEGER AS a FROM range(20) r(n)', f'{place}/1.parquet')
    add(duck, schema, f'{place}/1.parquet', ', allow_missing => true')
    if when == 'after':
        duck.execute(add_column)
    assert assert_shown_as_copies(lake, duck, truth, readers, catalog, table) == 20


def test_a_value_in_the_path_stays_beside_a_copy(lake, duck, truth, readers, catalog, schema, place):
    table = f'{schema}.t'
    duck.execute(f'CREATE TABLE lake.{table} (a BIGINT, p INTEGER)')
    write(duck, 'SELECT n::UINTEGER AS a, (n % 2)::INTEGER AS p FROM range(20) r(n)', place, ', PARTITION_BY (p)')
    add(duck, schema, f'{place}/*/*.parquet', ', hive_partitioning => true')
    assert assert_shown_as_copies(lake, duck, truth, readers, catalog, table, 2) == 20


# The type of the column, what the path says, and the later type, as which DuckDB reads the text of the path anew.
CHANGED_IN_PATH = (('INTEGER', '7', 'DOUBLE'), ('TINYINT', '7.6', 'DOUBLE'), ('FLOAT', '0.1', 'DOUBLE'), ('DECIMAL(5, 1)', '1.25', 'DECIMAL(9, 3)'),
                   ('DATE', '2024-01-05 11%3A00%3A00', 'TIMESTAMP'), ('TIMESTAMP_S', '2024-01-05 11%3A00%3A00.5', 'TIMESTAMP'),
                   ('INTEGER', '__HIVE_DEFAULT_PARTITION__', 'DOUBLE'))


@pytest.mark.parametrize('first, text, later', CHANGED_IN_PATH, ids=[f'{first} {text}'.split('(')[0] for first, text, _ in CHANGED_IN_PATH])
def test_a_column_in_the_path_whose_type_changed(lake, duck, truth, readers, schema, place, first, text, later):
    """With another column in the path, of which a partition would still tell the value."""
    table = f'{schema}.t'
    duck.execute(f'CREATE TABLE lake.{table} (a INTEGER, p {first}, q INTEGER)')
    write(duck, 'SELECT n::INTEGER AS a FROM range(20) r(n)', f'{place}/p={text}/q=3/1.parquet')
    add(duck, schema, f'{place}/*/*/*.parquet', ', hive_partitioning => true')
    opened(Rest.of(lake), table, newest(duck))
    assert assert_agree(truth, readers, table) == 20
    duck.execute(f'ALTER TABLE lake.{table} ALTER p SET DATA TYPE {later}')
    opened(Rest.of(lake), table, newest(duck))
    assert assert_agree(truth, readers, table) == 20
    duck.execute(f'INSERT INTO lake.{table} SELECT a + 100, p, q FROM lake.{table}')
    duck.execute(f'DELETE FROM lake.{table} WHERE a < 5')
    assert assert_agree(truth, readers, table) == 35


def required(catalog, table, snapshot=None):
    """By the schema of now or of a snapshot: which columns are required."""
    metadata = catalog.load_table(table).metadata
    wanted = metadata.current_schema_id if snapshot is None else next(each.schema_id for each in metadata.snapshots if each.snapshot_id == snapshot)
    return {field.name for each in metadata.schemas if each.schema_id == wanted for field in each.fields if field.required}


WITH_NULL = {'NULL': ('SELECT 2 AS a, NULL::INTEGER AS b', '1.parquet', ''), 'missing': ('SELECT 2 AS a', '1.parquet', ', allow_missing => true'),
             'path': ('SELECT 2 AS a', 'b=__HIVE_DEFAULT_PARTITION__/1.parquet', ', hive_partitioning => true'),
             'copy': ('SELECT 2::UINTEGER AS a, NULL::INTEGER AS b', '1.parquet', '')}


@pytest.fixture(params=WITH_NULL)
def with_null(request, duck, lake, catalog, schema, place):
    """A table whose column b is NOT NULL, and the snapshot before a file was added that holds NULL there."""
    table = f'{schema}.t'
    duck.execute(f'CREATE TABLE lake.{table} (a BIGINT, b INTEGER NOT NULL)')
    write(duck, 'SELECT 1::BIGINT AS a, 2 AS b', f'{place}/0.parquet')
    add(duck, schema, f'{place}/0.parquet')
    before = catalog.load_table(table).metadata.current_snapshot_id
    query, path, options = WITH_NULL[request.param]
    write(duck, query, f'{place}/{path}')
    add(duck, schema, f'{place}/{path}', options)
    opened(Rest.of(lake), table, newest(duck))
    return table, before


def test_a_column_that_is_not_null_is_optional_once_an_added_file_holds_null(duck, truth, readers, catalog, with_null):
    """DuckDB adds it; readers do not look for NULL in a required column."""
    table, before = with_null
    assert assert_agree(truth, readers, table) == 2
    assert assert_agree(truth, readers, table, before) == 1
    assert required(catalog, table) == set() and required(catalog, table, before) == {'b'}
    for condition, rows in (('b IS NULL', [2]), ('b IS NOT NULL', [1]), ('b = 2', [1]), ('b > 2', [])):
        scan = catalog.load_table(table).scan(condition)
        assert scan.to_arrow().column('a').to_pylist() == rows, condition
    # Whatever comes later: columns of DuckDB, and the end of the file.
    duck.execute(f'ALTER TABLE lake.{table} ADD COLUMN c INTEGER')
    assert assert_agree(truth, readers, table) == 2
    duck.execute(f'DELETE FROM lake.{table} WHERE a = 2')
    duck.execute(f'INSERT INTO lake.{table} VALUES (3, 4, 5)')
    duck.execute("CALL ducklake_expire_snapshots('lake', older_than => now())")
    duck.execute(f'ALTER TABLE lake.{table} RENAME b TO d')
    assert assert_agree(truth, readers, table) == 2
    assert required(catalog, table) == set()
    with pytest.raises(duckdb.Error, match='NOT NULL constraint failed'):
        duck.execute(f'INSERT INTO lake.{table} VALUES (6, NULL, 7)')


def test_clients_write_no_null_into_such_a_column(duck, truth, readers, catalog, lake, with_null):
    """What they change besides leaves the lake's NOT NULL alone, until DuckDB drops it."""
    table, _ = with_null
    loaded = catalog.load_table(table)

    def append(a, b):
        catalog.load_table(table).append(pa.table({'a': pa.array([a], pa.int64()), 'b': pa.array([b], pa.int32())}))

    append(3, 4)
    with pytest.raises(BadRequestError, match="column b: it is NOT NULL in the lake"):
        append(5, None)
    with loaded.update_schema() as update:
        update.add_column('c', IntegerType())
    assert duck.execute(f"SELECT is_nullable FROM information_schema.columns WHERE table_schema || '.' || table_name = '{table}' AND column_name = 'b'").fetchall() == [('NO',)]
    with pytest.raises(BadRequestError, match='cannot become required'):
        with catalog.load_table(table).update_schema(allow_incompatible_changes=True) as update:
            update.update_column('b', required=True)
    with pytest.raises(BadRequestError, match="column b: it is NOT NULL in the lake"):
        append(5, None)
    assert assert_agree(truth, readers, table) == 3
    duck.execute(f'ALTER TABLE lake.{table} ALTER b DROP NOT NULL')
    append(5, None)
    assert assert_agree(truth, readers, table) == 4


def test_a_required_column_of_which_added_files_hold_no_null_stays_so(duck, truth, readers, catalog, schema, place):
    """What a client commits is its own word."""
    table = f'{schema}.t'
    duck.execute(f'CREATE TABLE lake.{table} (a BIGINT, b INTEGER NOT NULL)')
    write(duck, 'SELECT 1::BIGINT AS a, 2 AS b', f'{place}/0.parquet')
    add(duck, schema, f'{place}/0.parquet')
    catalog.load_table(table).append(pa.table({'a': pa.array([1], pa.int64()), 'b': pa.array([2], pa.int32())},
                                              schema=pa.schema([pa.field('a', pa.int64()), pa.field('b', pa.int32(), nullable=False)])))
    assert assert_agree(truth, readers, table) == 2
    assert required(catalog, table) == {'b'}
    # PyIceberg looks for a required column in the file.
    write(duck, 'SELECT 1::BIGINT AS a', f'{place}/b=7/0.parquet')
    add(duck, schema, f'{place}/*/0.parquet', HIVE)
    assert assert_agree(truth, readers, table) == 3
    assert required(catalog, table) == set()


def test_values_of_paths_are_partition_values(duck, truth, readers, schema, place):
    duck.execute(f'CREATE TABLE lake.{schema}.t (a INTEGER, p INTEGER, q VARCHAR)')
    duck.execute(f'ALTER TABLE lake.{schema}.t SET PARTITIONED BY (p, q)')
    write(duck, "SELECT n::INTEGER AS a, (n % 3)::INTEGER AS p, CASE WHEN n < 9 THEN 'x y' END AS q FROM range(20) r(n)", place,
          ', PARTITION_BY (p, q)')
    add(duck, schema, f'{place}/*/*/*.parquet', ', hive_partitioning => true')
    assert assert_agree(truth, readers, f'{schema}.t') == 20


HIVE = ', hive_partitioning => true'


def specs(catalog, table):
    metadata = catalog.load_table(table).metadata
    return metadata.default_spec_id, {spec.spec_id: [field.name for field in spec.fields] for spec in metadata.partition_specs}


def write_paths(duck, place, first, columns='p, q'):
    """Rows of two folders, p=0 and p=1, each with one of q=x y and one of NULL."""
    write(duck, f"SELECT n::INTEGER AS a, (n % 2)::INTEGER AS p, CASE WHEN n % 4 < 2 THEN 'x y' END AS q FROM range({first}, {first + 20}) r(n)",
          place, f', PARTITION_BY ({columns})')


def test_values_of_paths_of_a_table_without_partitions(lake, duck, truth, readers, catalog, schema, place):
    """They stand in a spec that is never the default; its number stays, whatever comes and goes."""
    table = f'{schema}.t'
    duck.execute(f'CREATE TABLE lake.{table} (a INTEGER, p INTEGER, q VARCHAR)')
    duck.execute(f'INSERT INTO lake.{table} SELECT n, n % 3, NULL FROM range(30) r(n)')
    write_paths(duck, f'{place}/1', 100)
    add(duck, schema, f'{place}/1/*/*/*.parquet', HIVE)
    assert specs(catalog, table) == (0, {0: [], 1: ['p', 'q']})
    assert assert_agree(truth, readers, table) == 50
    first = catalog.load_table(table).metadata.current_snapshot_id
    # Another mapping: one column alone in the path.
    write_paths(duck, f'{place}/2', 200, 'p')
    add(duck, schema, f'{place}/2/*/*.parquet', HIVE)
    assert specs(catalog, table) == (0, {0: [], 1: ['p', 'q'], 2: ['p']})
    duck.execute(f'ALTER TABLE lake.{table} SET PARTITIONED BY (a)')
    duck.execute(f'INSERT INTO lake.{table} SELECT 7, n, NULL FROM range(20) r(n)')
    assert specs(catalog, table) == (3, {0: [], 1: ['p', 'q'], 2: ['p'], 3: ['a']})
    assert assert_agree(truth, readers, table) == 90
    # Rows of such files go by every access path, and DuckDB writes the files anew.
    duck.execute(f'DELETE FROM lake.{table} WHERE a IN (100, 101, 201)')
    catalog.load_table(table).delete("p = 1 and a > 110")
    assert assert_agree(truth, readers, table) == duck.execute(f'SELECT count(*) FROM lake.{table}').fetchone()[0] < 80
    assert assert_agree(truth, readers, table, first) == 50
    duck.execute(f"CALL ducklake_rewrite_data_files('lake', 't', schema => '{schema}', delete_threshold => 0)")
    duck.execute(f"CALL ducklake_merge_adjacent_files('lake', 't', schema => '{schema}')")
    duck.execute(f'ALTER TABLE lake.{table} SET PARTITIONED BY (q, p)')
    assert specs(catalog, table)[0] == 4
    assert assert_agree(truth, readers, table) > 60


def test_values_of_paths_and_clients_that_write(duck, truth, readers, catalog, spark, schema, place):
    """A client takes rows by position, by value, and makes the spec the default."""
    table = f'{schema}.t'
    duck.execute(f'CREATE TABLE lake.{table} (a INTEGER, p INTEGER, q VARCHAR)')
    write_paths(duck, place, 0)
    add(duck, schema, f'{place}/*/*/*.parquet', HIVE)
    spark.sql(f"ALTER TABLE lake.{table} SET TBLPROPERTIES ('write.delete.mode' = 'merge-on-read')")
    spark.sql(f'DELETE FROM lake.{table} WHERE a % 5 = 0 AND p = 1')
    assert assert_agree(truth, readers, table) == 18
    spark.sql(f"UPDATE lake.{table} SET q = 'new' WHERE p = 0 AND q IS NULL")
    assert assert_agree(truth, readers, table) == 18
    spark.sql(f'ALTER TABLE lake.{table} ADD PARTITION FIELD p')
    spark.sql(f'ALTER TABLE lake.{table} ADD PARTITION FIELD q')
    assert specs(catalog, table)[0] == 1
    spark.sql(f"INSERT INTO lake.{table} VALUES (1000, 0, 'x y'), (1001, 5, NULL)")
    duck.execute(f"INSERT INTO lake.{table} SELECT 2000 + n, 0, 'x y' FROM range(20) r(n)")
    assert assert_agree(truth, readers, table) == 40
    assert duck.execute(f"SELECT count(*) FROM lake.{table} WHERE p = 0 AND q = 'x y'").fetchone()[0] == 26


def test_a_column_of_paths_that_is_renamed_and_dropped(duck, truth, readers, catalog, schema, place):
    table = f'{schema}.t'
    duck.execute(f'CREATE TABLE lake.{table} (a INTEGER, p INTEGER, q VARCHAR)')
    write_paths(duck, place, 0)
    add(duck, schema, f'{place}/*/*/*.parquet', HIVE)
    duck.execute(f'ALTER TABLE lake.{table} RENAME p TO "new p"')
    assert assert_agree(truth, readers, table) == 20
    before = catalog.load_table(table).metadata.current_snapshot_id
    duck.execute(f'ALTER TABLE lake.{table} DROP COLUMN q')
    # DuckDB's iceberg extension ends the process at a spec of a column that is gone, Spark does not read it at older snapshots.
    pyiceberg, spark = readers[:2]
    assert assert_agree(truth, [pyiceberg, spark], table) == 20
    assert assert_agree(truth, [pyiceberg], table, before) == 20


@pytest.mark.parametrize('text', ['0', '-0.0', 'nan', 'inf'])
def test_a_floating_point_number_in_the_path_is_in_a_copy(lake, duck, truth, readers, catalog, schema, place, text):
    """A zero of either sign is one value of a partition, and two here."""
    duck.execute(f'CREATE TABLE lake.{schema}.t (a INTEGER, p DOUBLE)')
    write(duck, 'SELECT n::INTEGER AS a FROM range(20) r(n)', f'{place}/{text}/p={text}/1.parquet')
    write(duck, 'SELECT n::INTEGER AS a FROM range(20, 40) r(n)', f'{place}/{text}/p=2.5/1.parquet')
    add(duck, schema, f'{place}/{text}/*/*.parquet', HIVE)
    assert assert_shown_as_copies(lake, duck, truth, readers, catalog, f'{schema}.t', 2) == 40


def test_rolled_back_content_keeps_its_names(duck, truth, readers, catalog, schema, place):
    table = f'{schema}.t'
    duck.execute(f'CREATE TABLE lake.{table} (a INTEGER)')
    write(duck, 'SELECT n::INTEGER AS A FROM range(20) r(n)', f'{place}/1.parquet')
    add(duck, schema, f'{place}/1.parquet')
    before = catalog.load_table(table).metadata.current_snapshot_id
    duck.execute(f'DELETE FROM lake.{table} WHERE a < 15')
    loaded = catalog.load_table(table)
    with loaded.manage_snapshots() as change:
        change.rollback_to_snapshot(before)
    assert assert_agree(truth, readers, table) == 20
