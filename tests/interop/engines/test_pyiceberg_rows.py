"""PyIceberg's whole write surface for rows; what it does, DuckDB finds in the lake."""
import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet
import pytest
from pyiceberg.exceptions import BadRequestError
from pyiceberg.expressions import And, EqualTo, GreaterThan
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import BucketTransform, IdentityTransform
from pyiceberg.types import LongType, NestedField, StringType

import readers as lake_readers
from engine_tour import Tour

COLUMNS = Schema(NestedField(1, 'n', LongType(), required=True), NestedField(2, 's', StringType(), required=False),
                 identifier_field_ids=[1])
BY_TEXT = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), 's'))
BY_NUMBER = PartitionSpec(PartitionField(1, 1000, BucketTransform(3), 'n_bucket'))


class Written(Tour):
    """A tour whose statements are calls of PyIceberg; the model gets its SQL beside them."""

    @property
    def table(self):
        return self.catalog.load_table(self.name)

    def rows(self, values, text):
        return pa.table({'n': list(values), 's': [text] * len(values)}, schema=self.table.schema().as_arrow())


@pytest.fixture
def written(duck, truth, catalog, duck_iceberg, schema):
    def make(version, spec=PartitionSpec()):
        readers = [lake_readers.PyIceberg(catalog), lake_readers.DuckIceberg(duck_iceberg)]
        catalog.create_table(f'{schema}.t', COLUMNS, partition_spec=spec, properties={'format-version': version})
        tour = Written(f'{schema}.t', None, duck, truth, readers, catalog)
        tour.follow('CREATE TABLE {t} (n BIGINT, s VARCHAR)')
        return tour
    return make


def fill(tour):
    for first, text in ((90, 'a'), (100, 'b'), (110, 'c')):
        tour.table.append(tour.rows(range(first, first + 10), text))
        tour.follow(f"INSERT INTO {{t}} SELECT i, '{text}' FROM range({first}, {first + 10}) r(i)")
    tour.by_lake("INSERT INTO {t} VALUES (1, 'inlined')")


@pytest.mark.parametrize('spec', [PartitionSpec(), BY_TEXT, BY_NUMBER], ids=['whole', 'by_text', 'by_number'])
def test_rows_are_overwritten_deleted_and_upserted(written, spec):
    tour = written('2', spec)
    fill(tour)
    tour.table.overwrite(tour.rows([500, 501], 'over'), overwrite_filter=And(EqualTo('s', 'a'), GreaterThan('n', 100)))
    tour.follow("DELETE FROM {t} WHERE s = 'a' AND n > 100; INSERT INTO {t} VALUES (500, 'over'), (501, 'over')")
    tour.table.delete('n = 99 or n = 500')
    tour.follow('DELETE FROM {t} WHERE n IN (99, 500)')
    result = tour.table.upsert(tour.rows([98, 501, 600, 1], 'up'))
    assert result.rows_inserted == 1
    tour.follow("DELETE FROM {t} WHERE n IN (98, 501, 600, 1); INSERT INTO {t} VALUES (98, 'up'), (501, 'up'), (600, 'up'), (1, 'up')")
    with tour.table.transaction() as change:
        change.append(tour.rows([700], 'one step'))
        change.delete(EqualTo('n', 600))
        change.set_properties({'step': 'one'})
    tour.follow("INSERT INTO {t} VALUES (700, 'one step'); DELETE FROM {t} WHERE n = 600")
    assert tour.table.properties['step'] == 'one'
    tour.by_lake('DELETE FROM {t} WHERE n = 700')
    tour.table.delete(EqualTo('s', 'up'))
    tour.follow("DELETE FROM {t} WHERE s = 'up'")
    if spec is BY_TEXT:
        tour.table.dynamic_partition_overwrite(tour.rows([900], 'c'))
        tour.follow("DELETE FROM {t} WHERE s = 'c'; INSERT INTO {t} VALUES (900, 'c')")
    tour.table.overwrite(tour.rows([1, 2], 'all'))
    tour.follow("DELETE FROM {t}; INSERT INTO {t} VALUES (1, 'all'), (2, 'all')")
    assert tour.agrees_always(at_least=8) == 2


def test_version_3_is_read_and_what_it_cannot_write_is_said_by_it(written):
    tour = written('3')
    tour.by_lake("INSERT INTO {t} SELECT i, 'lake' FROM range(20) r(i)")
    tour.by_lake('DELETE FROM {t} WHERE n < 3')
    # PyIceberg 0.12 writes no manifests of version 3.
    with pytest.raises(ValueError, match='[Vv]ersion: 3|not supported|Unsupported'):
        tour.table.append(tour.rows([100], 'new'))
    assert tour.agrees_always(at_least=2) == 17


def put_file(lake, path, rows):
    store = pyarrow.fs.S3FileSystem(access_key=lake.s3_access_key, secret_key=lake.s3_secret_key,
                                    endpoint_override=lake.s3_endpoint.removeprefix('http://'), scheme='http',
                                    region=lake.s3_region)
    pyarrow.parquet.write_table(rows, path.removeprefix('s3://'), filesystem=store)
    return path


def test_files_are_added_as_they_are(written, lake, duck, schema):
    """Files without field ids: their columns are found by the names of the mapping that the client sets."""
    tour = written('2')
    fill(tour)
    rows = pa.table({'n': pa.array([2000, 2001]), 's': ['added', None]},
                    schema=pa.schema([pa.field('n', pa.int64(), nullable=False), ('s', pa.string())]))
    inside = put_file(lake, f'{tour.table.location()}/data/added.parquet', rows)
    outside = put_file(lake, f's3://{lake.s3_bucket}/elsewhere/{schema}.parquet', rows)
    tour.table.add_files([inside])
    tour.follow("INSERT INTO {t} VALUES (2000, 'added'), (2001, NULL)")
    assert 'schema.name-mapping.default' in tour.table.properties
    with pytest.raises(ValueError, match='already referenced'):
        tour.table.add_files([inside])
    with pytest.raises(BadRequestError, match='LAKEPROXY_FILE_PREFIXES'):
        tour.table.add_files([outside])
    assert tour.agrees_always(at_least=5) == 33


def test_a_branch_takes_no_rows(written):
    tour = written('2')
    fill(tour)
    with tour.table.manage_snapshots() as change:
        change.create_branch(tour.table.current_snapshot().snapshot_id, 'side')
    before = tour.snapshots()
    with pytest.raises(NotImplementedError, match='a snapshot that main does not point to'):
        tour.table.append(tour.rows([9], 'x'), branch='side')
    assert tour.snapshots() == before
    assert tour.agrees_always() == 31
