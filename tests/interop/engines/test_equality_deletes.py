"""Equality deletes of a Java client: the lake holds none, and yet every reader misses the same rows."""
import pytest

from java_writer import JavaWriter


@pytest.fixture
def tour(spark_tour, duck, version):
    """A file of Spark's, one of DuckDB's, inlined rows and a deleted one."""
    tour = spark_tour('t')

    def make(partitioned=''):
        tour(f"CREATE TABLE {{t}} (id BIGINT, s STRING, part INT) USING iceberg {partitioned} "
             f"TBLPROPERTIES ('format-version' = '{version}')", 'CREATE TABLE {t} (id BIGINT, s VARCHAR, part INTEGER)')
        tour("INSERT INTO {t} SELECT id, concat('s', id % 7), CAST(id % 2 AS INT) FROM range(40) r(id)")
        tour.by_lake("INSERT INTO {t} SELECT id, 's' || id % 7, id % 2 FROM range(40, 80) r(id)")
        tour.by_lake("INSERT INTO {t} VALUES (100, 'inlined', 1), (101, NULL, 1), (NULL, NULL, 0)")
        tour.by_lake('DELETE FROM {t} WHERE id IN (7, 47)')
        return tour
    return make


def keys(duck, schema, name, columns, values):
    duck.execute(f'CREATE TABLE lake.{schema}.{name} ({columns})')
    duck.execute(f'INSERT INTO lake.{schema}.{name} VALUES {values}')
    return f'{schema}.{name}'


def test_rows_with_the_keys_are_gone_for_every_reader(tour, spark, duck, schema, catalog):
    tour = tour()
    by_id = keys(duck, schema, 'by_id', 'id BIGINT', '(3), (45), (100), (9999), (7)')
    java = JavaWriter(spark, tour.name)
    java.commit([java.equality_deletes(by_id, 'id')])
    tour.follow('DELETE FROM {t} WHERE id IN (3, 45, 100, 9999, 7)')
    # Null is a value to an equality delete, and several columns count together.
    by_two = keys(duck, schema, 'by_two', 's VARCHAR, part INTEGER', "('s5', 1), (NULL, 1), ('none', 0)")
    java = JavaWriter(spark, tour.name, 2)
    java.commit([java.equality_deletes(by_two, 's', 'part')])
    tour.follow("DELETE FROM {t} WHERE part = 1 AND (s = 's5' OR s IS NULL)")
    by_null = keys(duck, schema, 'by_null', 'id BIGINT', '(NULL)')
    # New rows stay, though the same commit deletes their key among the older ones.
    fresh = keys(duck, schema, 'fresh', 'id BIGINT, s VARCHAR, part INTEGER', "(10, 'upserted', 0), (11, 'upserted', 1)")
    java = JavaWriter(spark, tour.name, 3)
    java.commit([java.equality_deletes(by_null, 'id'), java.equality_deletes(fresh, 'id')], [java.data(fresh)])
    tour.follow("DELETE FROM {t} WHERE id IS NULL OR id IN (10, 11); INSERT INTO {t} VALUES (10, 'upserted', 0), (11, 'upserted', 1)")
    tour('UPDATE {t} SET part = 9 WHERE id = 10')
    tour.agrees_always(at_least=8)
    assert spark.sql(f'SELECT count(*) FROM lake.{tour.name}.all_delete_files WHERE content = 2').collect()[0][0] == 0


def test_a_transaction_deletes_rows_that_it_has_added(tour, spark, duck, schema):
    tour = tour()
    fresh = keys(duck, schema, 'fresh', 'id BIGINT, s VARCHAR, part INTEGER', "(10, 'upserted', 0), (200, 'new', 1)")
    by_id = keys(duck, schema, 'by_id', 'id BIGINT', '(10), (41), (100), (200)')
    again = keys(duck, schema, 'again', 'id BIGINT, s VARCHAR, part INTEGER', "(10, 'again', 1)")
    java = JavaWriter(spark, tour.name)
    java.commit_together(([], [java.data(fresh)]), ([java.equality_deletes(by_id, 'id')], [java.data(again)]))
    tour.follow("INSERT INTO {t} VALUES (10, 'upserted', 0), (200, 'new', 1); DELETE FROM {t} WHERE id IN (10, 41, 100, 200);"
                "INSERT INTO {t} VALUES (10, 'again', 1)")
    tour.agrees_always(at_least=6)


def test_a_delete_file_of_a_partition_counts_in_it_alone(tour, spark, duck, schema):
    tour = tour('PARTITIONED BY (part)')
    by_text = keys(duck, schema, 'by_text', 's VARCHAR', "('s1'), ('s2')")
    java = JavaWriter(spark, tour.name)
    odd = next(row for row in java.records(tour.name, '*') if row.getField('part') == 1)
    java.commit([java.equality_deletes(by_text, 's', partition=odd)])
    tour.follow("DELETE FROM {t} WHERE part = 1 AND s IN ('s1', 's2')")
    tour.agrees_always(at_least=5)
