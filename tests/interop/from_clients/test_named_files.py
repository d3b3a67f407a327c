"""Files without field ids that Iceberg's clients add: by what the table's name mapping says of them, for DuckDB too."""
import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import LongType, NestedField, StringType

from agreement import assert_agree
from by_hand import unread_file
from foreign_catalog import ForeignCatalog
from lake_clients import iceberg as iceberg_client
from oracle import commits
from rest import Rest, assert_error

COLUMNS = Schema(NestedField(1, 'a', LongType(), required=False), NestedField(2, 's', StringType(), required=False))
MAPPING = 'schema.name-mapping.default'


@pytest.fixture
def place(lake, schema):
    return f'{lake.data_path}beside/{schema}'


def write(duck, query, to):
    duck.execute(f"COPY ({query}) TO '{to}' (FORMAT parquet)")
    return to


def test_pyiceberg_adds_files_and_columns_follow(duck, catalog, truth, readers, schema, place):
    name = f'{schema}.t'
    table = catalog.create_table(name, COLUMNS)
    table.append(duck.execute("SELECT n AS a, 'own' AS s FROM range(5) r(n)").to_arrow_table())
    # By place in the file, 's' would be read as 'a'.
    table.add_files([write(duck, "SELECT 's' || n AS s, n AS a FROM range(10, 20) r(n)", f'{place}/1.parquet')])
    assert duck.execute(f'SELECT sum(a), count(s) FROM lake.{name}').fetchone() == (155, 15)
    assert assert_agree(truth, readers, name) == 15
    first = catalog.load_table(name).metadata.current_snapshot_id
    table = catalog.load_table(name)
    with table.update_schema() as change:
        change.rename_column('a', 'b')
        change.add_column('later', LongType())
    table = catalog.load_table(name)
    table.add_files([write(duck, 'SELECT n AS later, -n AS b, NULL::VARCHAR AS s FROM range(20, 30) r(n)', f'{place}/2.parquet')])
    duck.execute(f"INSERT INTO lake.{name} VALUES (7, 'small', 8)")
    assert assert_agree(truth, readers, name) == 26
    assert assert_agree(truth, readers, name, first) == 15
    catalog.load_table(name).delete('b < -25')
    assert assert_agree(truth, readers, name) == 22


@pytest.fixture
def foreign(lake, schema):
    storage = {key: value for key, value in iceberg_client.properties(lake).items() if key.startswith('s3.')}
    return ForeignCatalog(f'{lake.data_path}foreign/{schema}', **storage)


def register(lake, schema, table):
    return Rest.of(lake).post(f'namespaces/{schema}/register', {'name': 't', 'metadata-location': table.metadata_location})


def test_a_table_with_a_name_mapping_is_registered(lake, duck, truth, readers, foreign, schema, place):
    table = foreign.create_table('ns.t', COLUMNS)
    table.append(duck.execute("SELECT n AS a, 'own' AS s FROM range(5) r(n)").to_arrow_table())
    foreign.load_table('ns.t').add_files(
        [write(duck, "SELECT 's' || n AS s, n AS a FROM range(10, 20) r(n)", f'{place}/1.parquet')])
    table = foreign.load_table('ns.t')
    assert MAPPING in table.properties
    answer = register(lake, schema, table)
    assert answer.status_code == 200, answer.text
    assert duck.execute(f'SELECT sum(a), count(s) FROM lake.{schema}.t').fetchone() == (155, 15)
    assert assert_agree(truth, readers, f'{schema}.t') == 15


def test_a_file_of_another_type_is_refused(lake, duck, foreign, schema, place):
    table = foreign.create_table('ns.t', COLUMNS)
    file = write(duck, 'SELECT n AS a FROM range(10) r(n)', f'{place}/1.parquet')
    table.add_files([file])
    write(duck, 'SELECT n::UINTEGER AS a FROM range(10) r(n)', file)
    changed = foreign.load_table('ns.t')
    answer = register(lake, schema, changed)
    assert answer.status_code in (400, 501), answer.text  # the footer may stand elsewhere now
    assert file in answer.json()['error']['message']
    assert Rest.of(lake).send('HEAD', f'namespaces/{schema}/tables/t').status_code == 404


def added_by_hand(lake, catalog, name, path, size, partition):
    loaded = catalog.load_table(name)
    snapshot = commits.Snapshot(loaded, 'append')
    snapshot.add([unread_file(loaded, path, record_count=10, file_size_in_bytes=size, partition=partition)])
    schema, table = name.split('.')
    return Rest.of(lake).post(f'namespaces/{schema}/tables/{table}', {'requirements': [], 'updates': snapshot.updates()})


def size_of(duck, path):
    return len(duck.execute(f"SELECT content FROM read_blob('{path}')").fetchone()[0])


@pytest.fixture
def partitioned(catalog, schema):
    spec = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), 's'))
    mapping = '[{"field-id": 1, "names": ["a"]}, {"field-id": 2, "names": ["s"]}]'
    catalog.create_table(f'{schema}.t', COLUMNS, partition_spec=spec, properties={MAPPING: mapping})
    return f'{schema}.t'


def test_a_value_of_the_path_is_read_by_duckdb_too(lake, duck, catalog, truth, readers, partitioned, place):
    path = write(duck, 'SELECT n AS a FROM range(10) r(n)', f'{place}/s=xy/1.parquet')
    answer = added_by_hand(lake, catalog, partitioned, path, size_of(duck, path), {'s': 'xy'})
    assert answer.status_code == 200, answer.text
    assert duck.execute(f'SELECT s, sum(a) FROM lake.{partitioned} GROUP BY s').fetchall() == [('xy', 45)]
    assert assert_agree(truth, readers, partitioned) == 10


@pytest.mark.parametrize('folder, value, status, why', [
    ('s=other', 'xy', 501, "the value of column 's' is its partition's alone"),
    ('plain', 'xy', 501, "the value of column 's' is its partition's alone"),
    ('s=xy', 'xy', 400, 'data file'),
])
def test_what_duckdb_would_read_otherwise_is_refused(lake, duck, catalog, partitioned, place, folder, value, status, why):
    path = f'{place}/{folder}/1.parquet'
    size = 100
    if status == 501:
        write(duck, 'SELECT n AS a FROM range(10) r(n)', path)
        size = size_of(duck, path)
    answer = added_by_hand(lake, catalog, partitioned, path, size, {'s': value})
    assert_error(answer, status)
    assert path in answer.json()['error']['message'] and why in answer.json()['error']['message']
    assert duck.execute(f'SELECT count(*) FROM lake.{partitioned}').fetchone() == (0,)
