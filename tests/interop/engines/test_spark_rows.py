"""Spark changes rows in every way it knows, in both modes and both format versions."""
import pytest

pytestmark = pytest.mark.parametrize('version', ['2', '3'], indirect=True, ids='v{}'.format)
MODES = ('copy-on-write', 'merge-on-read')


@pytest.fixture
def tour(spark_tour, sql, version):
    """An empty table with the partition column part."""
    def make(mode):
        table = spark_tour('rows')
        modes = ', '.join(f"'write.{change}.mode' = '{mode}'" for change in ('delete', 'update', 'merge'))
        table('CREATE TABLE {t} (n BIGINT, s STRING, part INT) USING iceberg PARTITIONED BY (part) '
              f"TBLPROPERTIES ('format-version' = '{version}', {modes})",
              'CREATE TABLE {t} (n BIGINT, s VARCHAR, part INTEGER)')
        fill(table)
        return table
    yield make
    sql('RESET spark.sql.sources.partitionOverwriteMode')


def fill(tour):
    tour("INSERT INTO {t} SELECT id, concat('s', id), CAST(id % 3 AS INT) FROM range(60) r(id)")
    tour.by_lake("INSERT INTO {t} VALUES (1000, 'inlined', 1), (1001, 'inlined', NULL)")


@pytest.mark.parametrize('mode', MODES)
def test_rows_are_deleted_updated_and_merged(tour, mode):
    tour = tour(mode)
    tour('DELETE FROM {t} WHERE n % 4 = 0')
    tour.by_lake('DELETE FROM {t} WHERE n IN (1, 1000)')
    # Rows move to other partitions, inlined ones too.
    tour("UPDATE {t} SET s = concat(s, '!'), part = part + 1 WHERE n > 50")
    tour.by_lake("UPDATE {t} SET s = 'by the lake' WHERE n BETWEEN 50 AND 55")
    tour("""MERGE INTO {t} t USING (SELECT id AS n FROM range(35, 45) r(id)) u ON t.n = u.n
            WHEN MATCHED AND t.n < 37 THEN DELETE WHEN MATCHED THEN UPDATE SET s = 'merged'
            WHEN NOT MATCHED THEN INSERT (n, s, part) VALUES (u.n, 'new', 9)
            WHEN NOT MATCHED BY SOURCE AND t.n IN (2, 1001) THEN DELETE""")
    tour('DELETE FROM {t} WHERE part = 9')
    tour.by_lake('DELETE FROM {t} WHERE part = 2')
    tour('DELETE FROM {t} WHERE part IN (1, 2)')
    tour.agrees_always(at_least=10)


def test_partitions_are_overwritten(tour, sql, spark, duck, schema):
    tour = tour(MODES[1])
    # Inlined rows of several values are in no partition until DuckDB flushes them, and a dynamic overwrite passes over them.
    duck.execute(f"CALL ducklake_flush_inlined_data('lake', schema_name => '{schema}', table_name => 'rows')")
    tour("INSERT OVERWRITE {t} PARTITION (part = 2) SELECT id, 'static' FROM range(3) r(id)",
         "DELETE FROM {t} WHERE part = 2; INSERT INTO {t} SELECT id, 'static', 2 FROM range(3) r(id)")
    sql('SET spark.sql.sources.partitionOverwriteMode = dynamic')
    tour("INSERT OVERWRITE {t} SELECT id, 'dynamic', CAST(id % 2 AS INT) FROM range(4) r(id)",
         "DELETE FROM {t} WHERE part < 2; INSERT INTO {t} SELECT id, 'dynamic', id % 2 FROM range(4) r(id)")
    sql('SET spark.sql.sources.partitionOverwriteMode = static')
    tour("INSERT INTO {t} REPLACE WHERE part = 1 SELECT id, 'where', 1 FROM range(2) r(id)",
         "DELETE FROM {t} WHERE part = 1; INSERT INTO {t} SELECT id, 'where', 1 FROM range(2) r(id)")
    frame = spark.createDataFrame([(70, 'frame', 7), (71, 'frame', 1)], 'n bigint, s string, part int')
    frame.writeTo(f'lake.{tour.name}').append()
    tour.follow("INSERT INTO {t} VALUES (70, 'frame', 7), (71, 'frame', 1)")
    frame.writeTo(f'lake.{tour.name}').overwritePartitions()
    tour.follow("DELETE FROM {t} WHERE part IN (1, 7); INSERT INTO {t} VALUES (70, 'frame', 7), (71, 'frame', 1)")
    tour("INSERT OVERWRITE {t} SELECT id, 'all', 5 FROM range(4) r(id)",
         "DELETE FROM {t}; INSERT INTO {t} SELECT id, 'all', 5 FROM range(4) r(id)")
    tour('TRUNCATE TABLE {t}', 'DELETE FROM {t}')
    tour('INSERT INTO {t} (n) VALUES (5)')
    assert tour.agrees_always(at_least=10) == 1
