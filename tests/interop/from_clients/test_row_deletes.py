"""Rows that Iceberg clients delete by delete files, DuckDB finds deleted in the lake, and so do the others."""
from agreement import assert_agree, assert_agree_always
from iceberg_tables import operations

MERGE_ON_READ = """'write.delete.mode'='merge-on-read', 'write.update.mode'='merge-on-read',
                   'write.merge.mode'='merge-on-read'"""


def spark_table(spark, name, files=2, rows=20, more=''):
    spark.sql(f'CREATE TABLE lake.{name} (n BIGINT, s STRING) USING iceberg TBLPROPERTIES ({MERGE_ON_READ}{more})')
    for turn in range(files):
        spark.sql(f"INSERT INTO lake.{name} SELECT id + {turn * rows}, concat('s', id) FROM range({rows})")


def test_spark_deletes_updates_and_merges(spark, duck, catalog, truth, readers, schema):
    name = f'{schema}.deleted'
    spark_table(spark, name)
    spark.sql(f'DELETE FROM lake.{name} WHERE n % 5 = 0')
    assert assert_agree(truth, readers, name) == 32
    spark.sql(f'DELETE FROM lake.{name} WHERE n % 7 = 1')
    spark.sql(f"UPDATE lake.{name} SET s = 'changed' WHERE n BETWEEN 18 AND 22")
    spark.sql(f"""MERGE INTO lake.{name} t USING (SELECT id AS n FROM range(37, 44)) u ON t.n = u.n
                  WHEN MATCHED AND t.n = 37 THEN DELETE WHEN MATCHED THEN UPDATE SET s = 'merged'
                  WHEN NOT MATCHED THEN INSERT (n, s) VALUES (u.n, 'new')""")
    assert assert_agree_always(truth, readers, catalog, name) == duck.execute(
        f'SELECT count(*) FROM lake.{name}').fetchone()[0]
    assert duck.execute(f"SELECT count(*) FROM lake.{name} WHERE s = 'merged'").fetchone() == (2,)


def test_deletes_of_spark_and_duckdb_add_up(spark, duck, catalog, truth, readers, schema):
    name = f'{schema}.both'
    spark_table(spark, name, files=1, rows=100)
    duck.execute(f'DELETE FROM lake.{name} WHERE n IN (3, 4)')  # Kept in PostgreSQL.
    spark.sql(f'DELETE FROM lake.{name} WHERE n BETWEEN 4 AND 9')
    duck.execute(f'DELETE FROM lake.{name} WHERE n BETWEEN 50 AND 79')  # A file of DuckDB's own.
    spark.sql(f'DELETE FROM lake.{name} WHERE n = 99')
    duck.execute(f"INSERT INTO lake.{name} VALUES (1000, 'a'), (1001, 'b'), (1002, 'c')")
    spark.sql(f'DELETE FROM lake.{name} WHERE n IN (1001, 10)')
    assert assert_agree_always(truth, readers, catalog, name) == 100 - 7 - 30 - 1 - 1 + 2
    assert duck.execute(f'SELECT count(*) FROM lake.{name}').fetchone() == (63,)
    duck.execute(f"CALL ducklake_flush_inlined_data('lake', schema_name => '{schema}')")
    assert assert_agree(truth, readers, name) == 63


def test_spark_rewrites_position_deletes(spark, duck, catalog, truth, readers, schema):
    name = f'{schema}.positions'
    spark_table(spark, name, more=", 'write.delete.granularity'='partition'")
    spark.sql(f'DELETE FROM lake.{name} WHERE n % 4 = 0')
    spark.sql(f'DELETE FROM lake.{name} WHERE n % 4 = 1')
    before = assert_agree(truth, readers, name)
    spark.sql(f"CALL lake.system.rewrite_position_delete_files(table => '{name}', "
              "options => map('rewrite-all', 'true'))").collect()
    assert assert_agree_always(truth, readers, catalog, name) == before
    spark.sql(f"CALL lake.system.rewrite_data_files(table => '{name}', "
              "options => map('rewrite-all', 'true'))").collect()
    assert assert_agree_always(truth, readers, catalog, name) == before
    assert operations(catalog, name)[-1] == 'replace'


def test_duckdb_iceberg_deletes_and_updates(duck_iceberg, duck, catalog, truth, readers, schema):
    name = f'{schema}.ice'
    duck.execute(f'CREATE TABLE lake.{name} (n BIGINT, s VARCHAR)')
    duck.execute(f"INSERT INTO lake.{name} SELECT n, 's' || n FROM range(50) t(n)")
    duck_iceberg.execute(f'DELETE FROM ice.{name} WHERE n % 10 = 7')
    assert assert_agree(truth, readers, name) == 45
    duck_iceberg.execute(f"UPDATE ice.{name} SET s = 'changed' WHERE n < 5")
    assert assert_agree_always(truth, readers, catalog, name) == 45
    assert duck.execute(f"SELECT count(*) FROM lake.{name} WHERE s = 'changed'").fetchone() == (5,)
