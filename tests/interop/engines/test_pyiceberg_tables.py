"""PyIceberg changes what a table is: schema, partitioning, order, refs, statistics, names."""
import pyarrow as pa
import pytest
from pyiceberg.exceptions import NoSuchTableError, RESTError, TableAlreadyExistsError
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import (BucketTransform, DayTransform, HourTransform, IdentityTransform, MonthTransform,
                                  TruncateTransform, YearTransform)
from pyiceberg.types import (DecimalType, DoubleType, FloatType, IntegerType, ListType, LongType, NestedField, StringType,
                             StructType, TimestampType)

import readers as lake_readers
from engine_tour import same

COLUMNS = Schema(
    NestedField(1, 'id', LongType(), required=True), NestedField(2, 'a', IntegerType(), required=False),
    NestedField(3, 'f', FloatType(), required=False), NestedField(4, 'dec', DecimalType(9, 2), required=False),
    NestedField(5, 's', StringType(), required=False), NestedField(6, 'ts', TimestampType(), required=False),
    NestedField(7, 'p', StructType(NestedField(8, 'x', IntegerType(), required=False),
                                   NestedField(9, 'y', StringType(), required=False)), required=False),
    NestedField(10, 'l', ListType(11, StructType(NestedField(12, 'z', IntegerType(), required=False)), False), required=False))


@pytest.fixture
def readers(catalog, duck_iceberg):
    return [lake_readers.PyIceberg(catalog), lake_readers.DuckIceberg(duck_iceberg)]


@pytest.fixture
def table(catalog, duck, schema, version):
    """A file and an inlined row, written by DuckDB: PyIceberg writes no rows of version 3."""
    made = catalog.create_table(f'{schema}.t', COLUMNS, properties={'format-version': version})
    add(duck, schema, 20)
    add(duck, schema, 1)
    return made.refresh()


def add(duck, schema, rows, columns='id, s, p'):
    values = {'id': 'i', 's': "'s' || i", 'p': f"(SELECT p FROM lake.{schema}.t LIMIT 1)"}
    if rows == 20 and columns == 'id, s, p':
        values['p'] = "{'x': i, 'y': 'y'}"
    chosen = ', '.join(values[name] for name in columns.split(', '))
    duck.execute(f'INSERT INTO lake.{schema}.t ({columns}) SELECT {chosen} FROM range({rows}) r(i)')


def agree_always(truth, readers, table):
    for snapshot in table.refresh().snapshots():
        same(truth, readers, '.'.join(table.name()), snapshot.snapshot_id)
    return same(truth, readers, '.'.join(table.name()))


def test_every_change_of_a_schema(table, duck, truth, readers, schema):
    with table.update_schema() as change:
        change.add_column('later', IntegerType(), doc='added')
        change.add_column(('p', 'q'), DoubleType())
        change.add_column(('l', 'zz'), StringType())
        change.rename_column('s', 'text')
        change.rename_column(('p', 'y'), 'yy')
        change.update_column('a', LongType(), doc='wider')
        change.update_column('f', DoubleType())
        change.update_column('dec', DecimalType(12, 2))
        change.update_column(('p', 'x'), LongType())
    with table.update_schema() as change:
        change.move_first('later')
        change.move_after('a', 'text')
        change.move_before('dec', 'f')
        change.move_first(('p', 'q'))
        change.make_column_optional('id')
    columns = truth.columns(f'{schema}.t')
    assert [name for name, _ in columns] == ['later', 'id', 'dec', 'f', 'text', 'a', 'ts', 'p', 'l']
    assert dict(columns)['p'] == 'STRUCT(q DOUBLE, x BIGINT, yy VARCHAR)'
    assert dict(columns)['l'] == 'STRUCT(z INTEGER, zz VARCHAR)[]'
    assert [dict(columns)[name] for name in ('a', 'f', 'dec')] == ['BIGINT', 'DOUBLE', 'DECIMAL(12,2)']
    assert table.schema().find_field('a').doc == 'wider' and not table.schema().find_field('id').required
    duck.execute(f'INSERT INTO lake.{schema}.t (id, later) SELECT i, i FROM range(20) r(i)')
    with table.update_schema() as change:
        change.union_by_name(pa.schema([('id', pa.int64()), ('united', pa.string()), ('p', pa.struct([('more', pa.int32())]))]))
        change.delete_column('later')
        change.delete_column(('p', 'q'))
    assert dict(truth.columns(f'{schema}.t'))['p'] == 'STRUCT(x BIGINT, yy VARCHAR, more INTEGER)'
    with pytest.raises(Exception, match='[Ii]ncompatible|allow_incompatible'):
        with table.update_schema() as change:
            change.add_column('must', LongType(), required=True)
    assert agree_always(truth, readers, table) == 41


def test_identifiers_properties_and_order(table, catalog, truth, readers):
    for wanted in (['id'], [], ['id']):
        with table.update_schema() as change:
            change.set_identifier_fields(*wanted)
        assert catalog.load_table(table.name()).schema().identifier_field_names() == set(wanted)
    with table.update_sort_order() as change:
        change.asc('id', IdentityTransform()).desc('ts', DayTransform())
    assert [field.source_id for field in catalog.load_table(table.name()).sort_order().fields] == [1, 6]
    with table.transaction() as change:
        change.set_properties({'a': '1', 'b': '2'})
        change.remove_properties('a')
    assert catalog.load_table(table.name()).properties.items() >= {'b': '2'}.items()
    assert 'a' not in catalog.load_table(table.name()).properties
    with pytest.raises(RESTError, match='lakeproxy.'):
        with table.transaction() as change:
            change.set_properties({'lakeproxy.masked': 'x'})
    assert agree_always(truth, readers, table) == 21


def test_partitioning_changes_between_writes(table, duck, truth, readers, schema):
    def steps():
        yield lambda change: change.add_identity('a').add_field('id', BucketTransform(3), 'b')
        yield lambda change: change.rename_field('b', 'bucket').add_field('s', TruncateTransform(2))
        yield lambda change: change.remove_field('a').remove_field('bucket').add_field('ts', DayTransform())
        yield lambda change: change.remove_field('ts_day').add_field('ts', HourTransform(), 'h')
        yield lambda change: change.remove_field('h').add_field('ts', MonthTransform(), 'm')
        yield lambda change: change.remove_field('m').add_field('ts', YearTransform(), 'y')
        yield lambda change: change.remove_field('y').remove_field('s_trunc_2')
    for step in steps():
        with table.update_spec() as change:
            step(change)
        for rows in (15, 2):
            duck.execute(f"INSERT INTO lake.{schema}.t (id, a, s, ts) SELECT i, i % 2, 's' || i, "
                         f"TIMESTAMP '2020-01-01' + i * INTERVAL 9 HOUR FROM range({rows}) r(i)")
    assert len(table.refresh().spec().fields) == 0
    assert agree_always(truth, readers, table) == 21 + 7 * 17


def test_refs_and_rollback(table, duck, truth, readers, catalog, schema):
    first, second = table.snapshots()
    with table.manage_snapshots() as change:
        change.create_tag(first.snapshot_id, 'one').create_branch(second.snapshot_id, 'two', max_ref_age_ms=10**9)
    with table.manage_snapshots() as change:
        change.remove_branch('two')
    assert {name: ref.snapshot_id for name, ref in table.refresh().refs().items()} == {
        'one': first.snapshot_id, 'main': second.snapshot_id}
    assert table.scan().use_ref('one').to_arrow().num_rows == 20
    with table.manage_snapshots() as change:
        change.rollback_to_snapshot(first.snapshot_id)
    assert same(truth, readers, f'{schema}.t') == 20
    with table.refresh().manage_snapshots() as change:
        change.set_current_snapshot(snapshot_id=second.snapshot_id)
    assert same(truth, readers, f'{schema}.t') == 21
    with table.refresh().manage_snapshots() as change:
        change.set_current_snapshot(ref_name='one')
    with table.refresh().manage_snapshots() as change:
        change.rollback_to_timestamp(second.timestamp_ms + 1)
    assert agree_always(truth, readers, table) == 21


def test_the_tables_of_metadata(table, duck, schema):
    # PyIceberg's table of entries does not bear delete files, which have no sizes of columns.
    assert table.inspect.entries()['snapshot_id'].to_pylist() == [one.snapshot_id for one in table.snapshots()]
    duck.execute(f'DELETE FROM lake.{schema}.t WHERE id = 5')
    table.refresh()
    ids = [one.snapshot_id for one in table.snapshots()]
    inspect = table.inspect
    assert inspect.snapshots()['snapshot_id'].to_pylist() == ids
    assert inspect.history()['snapshot_id'].to_pylist() == ids
    assert inspect.refs()['snapshot_id'].to_pylist() == [ids[-1]]
    assert sum(inspect.data_files()['record_count'].to_pylist()) == 21
    assert sum(inspect.delete_files()['record_count'].to_pylist()) == 1
    assert inspect.manifests().num_rows >= 2 and inspect.metadata_log_entries().num_rows >= 1
    assert inspect.partitions()['record_count'].to_pylist() == [21]


def test_tables_are_made_in_one_step_moved_and_registered(catalog, duck, truth, readers, schema):
    name = f'{schema}.made'
    spec = PartitionSpec(PartitionField(1, 1000, IdentityTransform(), 'a'))
    columns = Schema(NestedField(1, 'a', LongType(), required=False), NestedField(2, 's', StringType(), required=False))
    rows = pa.table({'a': [1, 2], 's': ['x', 'y']})
    with catalog.create_table_transaction(name, columns, partition_spec=spec, properties={'k': 'v'}) as change:
        change.append(rows)
        with change.update_schema() as schema_change:
            schema_change.add_column('more', LongType())
        assert not catalog.table_exists(name)
    assert same(truth, readers, name) == 2
    with pytest.raises(TableAlreadyExistsError):
        catalog.create_table(name, columns)
    other = f'{schema}_other'
    catalog.create_namespace(other, {'owner': 'me'})
    summary = catalog.update_namespace_properties(other, removals={'owner', 'none'}, updates={'team': 'us'})
    assert (summary.removed, summary.updated, summary.missing) == (['owner'], ['team'], ['none'])
    catalog.rename_table(name, f'{other}.moved')
    assert same(truth, readers, f'{other}.moved') == 2
    location = catalog.load_table(f'{other}.moved').metadata_location
    catalog.drop_table(f'{other}.moved')
    with pytest.raises(NoSuchTableError):
        catalog.load_table(f'{other}.moved')
    assert catalog.register_table(f'{other}.moved', location).scan().to_arrow().num_rows == 2
    assert same(truth, readers, f'{other}.moved') == 2
    catalog.purge_table(f'{other}.moved')
    catalog.drop_namespace(other)
    assert not catalog.namespace_exists(other)
