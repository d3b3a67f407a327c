"""DuckDB looks for one value of a bucketed column only in files with the bucket's number. No row may be hidden from it by that."""
import pytest
from pyiceberg.exceptions import ServerError
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.transforms import BucketTransform

import iceberg_tables
from agreement import assert_agree
from iceberg_tables import every_value, rows

COLUMNS = {'big': 'long', 's': 'string', 'id': 'uuid', 'dec9': 'decimal', 'ts': 'timestamp'}


@pytest.fixture
def kinds():
    return iceberg_tables.every_type()


def bucket_of(kinds, column):
    return PartitionSpec(PartitionField(kinds.find_field(column).field_id, 1000, BucketTransform(3), f'{column}_bucket'))


def some(table, first, count=8):
    return rows(table, every_value, first, count)


def assert_found(duck, truth, readers, name, column):
    """Each value of the column, asked for alone and in a list."""
    assert_agree(truth, readers, name)
    values = duck.execute(f'SELECT {column}, count(*) FROM lake.{name} WHERE {column} IS NOT NULL GROUP BY ALL').fetchall()
    assert values
    for value, count in values:
        assert duck.execute(f'SELECT count(*) FROM lake.{name} WHERE {column} = ?', [value]).fetchone() == (count,), value
    listed = ', '.join(f"'{value}'" for value, _ in values)
    assert duck.execute(f'SELECT count(*) FROM lake.{name} WHERE {column} IN ({listed})').fetchone() == (sum(n for _, n in values),)


def buckets_of_the_lake(duck, name):
    """Keys of the partition by which DuckDB writes the table now."""
    schema, table = name.split('.')
    return [row[0] for row in duck.execute(f"""
        FROM postgres_query('__ducklake_metadata_lake', $$SELECT c.transform FROM ducklake_partition_info i
          JOIN ducklake_partition_column c USING (partition_id, table_id) JOIN ducklake_table t USING (table_id)
          JOIN ducklake_schema s USING (schema_id) WHERE i.end_snapshot IS NULL AND t.end_snapshot IS NULL
           AND t.table_name = '{table}' AND s.schema_name = '{schema}' AND s.end_snapshot IS NULL$$)""").fetchall()]


@pytest.mark.parametrize('column', COLUMNS)
def test_of_a_table_that_is_made_with_its_first_rows(catalog, duck, truth, readers, schema, kinds, column):
    name = f'{schema}.made'
    empty = catalog.create_table(f'{schema}.model', kinds)
    with catalog.create_table_transaction(name, kinds, partition_spec=bucket_of(kinds, column)) as making:
        making.append(some(empty, 0))
    catalog.load_table(name).append(some(empty, 100))
    assert buckets_of_the_lake(duck, name) == ([] if column in ('id', 'dec9') else ['bucket(3)'])
    assert_found(duck, truth, readers, name, column)
    duck.execute(f'INSERT INTO lake.{name} SELECT * FROM lake.{name}')
    assert_found(duck, truth, readers, name, column)


@pytest.mark.parametrize('column', COLUMNS)
def test_of_a_table_that_has_files_before_it_has_buckets(catalog, duck, truth, readers, schema, kinds, column):
    name = f'{schema}.later'
    table = catalog.create_table(name, kinds)
    table.append(some(table, 0))
    with table.update_spec() as change:
        change.add_field(column, BucketTransform(3), 'b')
    table.append(some(table, 100))
    assert buckets_of_the_lake(duck, name) == []
    assert_found(duck, truth, readers, name, column)
    duck.execute(f'INSERT INTO lake.{name} SELECT * FROM lake.{name}')
    assert_found(duck, truth, readers, name, column)
    # The way there and back.
    with table.update_spec() as change:
        change.remove_field('b')
    assert catalog.load_table(name).spec().is_unpartitioned()
    with catalog.load_table(name).update_spec() as change:
        change.add_field(column, BucketTransform(3), 'b')
    table = catalog.load_table(name)
    assert [str(field.transform) for field in table.spec().fields] == ['bucket[3]']
    table.append(some(table, 200))
    assert_found(duck, truth, readers, name, column)


def test_of_a_table_that_gets_buckets_and_its_first_rows_in_one_commit(catalog, duck, truth, readers, schema, kinds):
    name = f'{schema}.at_once'
    table = catalog.create_table(name, kinds)
    with table.transaction() as change:
        with change.update_spec() as spec:
            spec.add_field('big', BucketTransform(3), 'b')
        change.append(some(table, 0))
    assert buckets_of_the_lake(duck, name) == ['bucket(3)']
    assert_found(duck, truth, readers, name, 'big')


def test_of_a_table_that_spark_makes_or_replaces_by_a_query(spark, duck, truth, readers, schema):
    name = f'{schema}.made'
    query = "SELECT id, 'k' || id AS s FROM range({}, {})"
    spark.sql(f'CREATE TABLE lake.{name} USING iceberg PARTITIONED BY (bucket(3, id)) AS {query.format(0, 20)}')
    assert_found(duck, truth, readers, name, 'id')
    spark.sql(f'CREATE OR REPLACE TABLE lake.{name} USING iceberg PARTITIONED BY (bucket(4, s)) AS {query.format(10, 40)}')
    assert buckets_of_the_lake(duck, name) == ['bucket(4)']
    assert_found(duck, truth, readers, name, 's')
    assert_found(duck, truth, readers, name, 'id')


def test_of_a_table_whose_buckets_duckdb_alone_can_number(catalog, duck, truth, readers, schema, kinds):
    """What an Iceberg client adds would have no number, so it is refused until the bucket is gone."""
    name = f'{schema}.its_own'
    table = catalog.create_table(name, kinds)
    duck.execute(f'ALTER TABLE lake.{name} SET PARTITIONED BY (bucket(3, id))')
    duck.execute(f'INSERT INTO lake.{name} (id) SELECT uuid() FROM range(30)')
    assert_found(duck, truth, readers, name, 'id')
    table = catalog.load_table(name)
    with pytest.raises((ServerError, NotImplementedError), match='RESET PARTITIONED BY'):
        table.append(some(table, 0))
    duck.execute(f'ALTER TABLE lake.{name} RESET PARTITIONED BY')
    table.refresh()
    table.append(some(table, 0))
    assert_found(duck, truth, readers, name, 'id')
