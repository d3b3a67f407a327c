"""The branch main set back, removed, and replaced."""
import pyarrow as pa

import rest
from agreement import assert_agree, assert_agree_always
from iceberg_tables import NUMBERED, numbers


def test_spark_rolls_back(spark, duck, catalog, truth, readers, schema):
    name = f'{schema}.back'
    spark.sql(f'CREATE TABLE lake.{name} (n BIGINT, s STRING) USING iceberg')
    spark.sql(f"INSERT INTO lake.{name} SELECT id, 'a' FROM range(30)")
    duck.execute(f"INSERT INTO lake.{name} VALUES (100, 'inlined'), (101, 'inlined')")
    duck.execute(f'DELETE FROM lake.{name} WHERE n = 100 OR n BETWEEN 10 AND 24')
    then = catalog.load_table(name).current_snapshot().snapshot_id
    spark.sql(f"INSERT INTO lake.{name} SELECT id, 'b' FROM range(10)")
    duck.execute(f'DELETE FROM lake.{name} WHERE n < 12')
    duck.execute(f'DELETE FROM lake.{name} WHERE n = 101')
    spark.sql(f"CALL lake.system.rollback_to_snapshot('{name}', {then})").collect()
    assert assert_agree_always(truth, readers, catalog, name) == 16
    now = catalog.load_table(name).current_snapshot()
    assert now.snapshot_id != then
    assert now.summary['lakeproxy-restored-snapshot-id'] == str(then)
    spark.sql(f"INSERT INTO lake.{name} VALUES (7, 'after')")
    assert assert_agree(truth, readers, name) == 17


def test_spark_replaces_a_table(spark, duck, catalog, truth, readers, schema):
    name = f'{schema}.replaced'
    spark.sql(f"CREATE TABLE lake.{name} USING iceberg AS SELECT id AS n, 'old' AS s FROM range(20)")
    spark.sql(f'CREATE OR REPLACE TABLE lake.{name} (other STRING) USING iceberg')
    assert catalog.load_table(name).current_snapshot() is None
    assert assert_agree(truth, readers, name) == 0
    duck.execute(f"INSERT INTO lake.{name} VALUES ('by DuckDB')")
    assert assert_agree(truth, readers, name) == 1
    spark.sql(f"""CREATE OR REPLACE TABLE lake.{name} USING iceberg PARTITIONED BY (bucket(2, k))
                  AS SELECT id AS k, concat('n', id) AS n FROM range(7)""")
    assert assert_agree_always(truth, readers, catalog, name) == 7
    assert duck.execute(f"SELECT count(*) FROM lake.{name} WHERE n = 'n3'").fetchone() == (1,)


def test_main_is_removed(lake, catalog, duck, truth, readers, schema):
    name = f'{schema}.removed'
    table = catalog.create_table(name, NUMBERED)
    table.append(numbers(table, range(5)))
    http = rest.Rest.of(lake)
    path = f'namespaces/{schema}/tables/removed'
    answer = http.post(path, {'requirements': [], 'updates': [{'action': 'remove-snapshot-ref', 'ref-name': 'main'}]})
    assert answer.status_code == 200, answer.text
    metadata = answer.json()['metadata']
    assert metadata.get('current-snapshot-id', -1) in (None, -1)
    assert 'main' not in metadata['refs']
    assert duck.execute(f'SELECT count(*) FROM lake.{name}').fetchone() == (0,)
    table = catalog.load_table(name)
    table.append(pa.table({'n': [1], 's': ['again']}, schema=table.schema().as_arrow()))
    assert assert_agree(truth, readers, name) == 1
