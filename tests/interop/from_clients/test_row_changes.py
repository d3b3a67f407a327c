"""What Iceberg clients do to rows besides adding them, DuckDB finds in the lake, and so do the others."""
import concurrent.futures

import pytest
from pyiceberg.exceptions import CommitFailedException, ValidationException
from pyiceberg.expressions import EqualTo
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.transforms import IdentityTransform

from agreement import assert_agree, assert_agree_always
from iceberg_tables import NUMBERED, numbers, operations
from lake_clients import iceberg as iceberg_client


def test_pyiceberg_overwrites_and_deletes(catalog, duck, truth, readers, schema):
    name = f'{schema}.numbers'
    table = catalog.create_table(name, NUMBERED)
    table.append(numbers(table, range(10)))
    table.append(numbers(table, range(10, 20)))
    table.delete('n < 5')
    assert assert_agree(truth, readers, name) == 15
    table.overwrite(numbers(table, [100, 101], 'over'), overwrite_filter='n >= 10')
    assert assert_agree(truth, readers, name) == 7
    duck.execute(f"INSERT INTO lake.{name} VALUES (7, 'inlined'), (8, 'inlined')")
    table.refresh()
    table.delete('n = 7')
    assert assert_agree_always(truth, readers, catalog, name) == 7
    table.refresh()
    table.overwrite(numbers(table, [1]))
    assert assert_agree_always(truth, readers, catalog, name) == 1
    assert duck.execute(f'SELECT count(*), min(n), max(n) FROM lake.{name}').fetchone() == (1, 1, 1)
    assert set(operations(catalog, name)) == {'append', 'overwrite', 'delete'}


def test_pyiceberg_overwrites_partitions(catalog, truth, readers, schema):
    name = f'{schema}.parts'
    spec = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), 's'))
    table = catalog.create_table(name, NUMBERED, partition_spec=spec)
    for text in 'abc':
        table.append(numbers(table, range(5), text))
    table.dynamic_partition_overwrite(numbers(table, [70, 71], 'b'))
    assert assert_agree(truth, readers, name) == 12
    table.delete(EqualTo('s', 'a'))
    assert assert_agree_always(truth, readers, catalog, name) == 7


def test_spark_copies_on_write(spark, duck, catalog, truth, readers, schema):
    name = f'{schema}.copied'
    spark.sql(f"""CREATE TABLE lake.{name} (n BIGINT, s STRING) USING iceberg PARTITIONED BY (bucket(2, n))
                  TBLPROPERTIES ('write.delete.mode'='copy-on-write', 'write.update.mode'='copy-on-write',
                                 'write.merge.mode'='copy-on-write')""")
    spark.sql(f"INSERT INTO lake.{name} SELECT id, concat('s', id) FROM range(40)")
    spark.sql(f'DELETE FROM lake.{name} WHERE n % 4 = 0')
    spark.sql(f"UPDATE lake.{name} SET s = 'changed' WHERE n > 30")
    spark.sql(f"""MERGE INTO lake.{name} t USING (SELECT id AS n FROM range(35, 45)) u ON t.n = u.n
                  WHEN MATCHED AND t.n < 37 THEN DELETE WHEN MATCHED THEN UPDATE SET s = 'merged'
                  WHEN NOT MATCHED THEN INSERT (n, s) VALUES (u.n, 'new')""")
    duck.execute(f"INSERT INTO lake.{name} VALUES (1000, 'inlined')")
    duck.execute(f'DELETE FROM lake.{name} WHERE n = 1')
    assert assert_agree_always(truth, readers, catalog, name) == 35
    spark.sql(f"INSERT OVERWRITE lake.{name} SELECT id, 'all new' FROM range(3)")
    assert assert_agree(truth, readers, name) == 3


def test_spark_rewrites_data_files(spark, duck, catalog, truth, readers, schema):
    name = f'{schema}.rewritten'
    spark.sql(f'CREATE TABLE lake.{name} (n BIGINT, s STRING) USING iceberg')
    for turn in range(6):
        spark.sql(f"INSERT INTO lake.{name} SELECT id + {turn * 10}, 's' FROM range(10)")
    duck.execute(f'DELETE FROM lake.{name} WHERE n % 10 = 3')
    before = assert_agree(truth, readers, name)
    spark.sql(f"CALL lake.system.rewrite_data_files(table => '{name}', "
              "options => map('rewrite-all', 'true'))").collect()
    assert assert_agree_always(truth, readers, catalog, name) == before
    assert operations(catalog, name)[-1] == 'replace'
    assert len(duck.execute(f"FROM ducklake_list_files('lake', 'rewritten', schema => '{schema}')").fetchall()) == 1


def test_a_decision_by_older_rows_is_refused(lake, schema):
    catalog = iceberg_client.connect(lake)
    name = f'{schema}.decided'
    table = catalog.create_table(name, NUMBERED)
    table.append(numbers(table, range(3)))
    stale = catalog.load_table(name)
    table.append(numbers(table, range(3)))
    # The client tries again, and finds that others added rows that it did not look at.
    with pytest.raises((CommitFailedException, ValidationException)):
        stale.delete('n = 1')
    assert catalog.load_table(name).scan().to_arrow().num_rows == 6


def test_plain_appends_never_see_a_conflict(lake, duck, truth, readers, schema):
    name = f'{schema}.many'
    iceberg_client.connect(lake).create_table(
        name, NUMBERED, properties={'commit.retry.num-retries': '0'})

    def append(writer):
        table = iceberg_client.connect(lake).load_table(name)
        # Each writer stays on what it saw first.
        for n in range(3):
            with table.transaction() as change:
                change.append(numbers(table, [writer * 10 + n]))
            if writer % 2 == 0:
                table = iceberg_client.connect(lake).load_table(name)

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        for job in [pool.submit(append, writer) for writer in range(16)]:
            job.result()
    assert assert_agree(truth, readers, name) == 48
    assert duck.execute(f'SELECT count(DISTINCT n) FROM lake.{name}').fetchone() == (48,)
