"""Spark makes, replaces and drops tables, partitioned by every transform and sorted."""
import pytest

from engine_tour import same

PARTITIONINGS = ('s', 'bucket(3, n)', 'truncate(2, s)', 'years(ts)', 'months(ts)', 'days(day)', 'hours(ts), bucket(2, s)')
SOURCE = """SELECT id AS n, concat('s', id) AS s, DATE '2020-01-30' + INT(id) AS day,
            timestamp_seconds(1577836800 + id * 100000) AS ts FROM range({}) r(id)"""


def properties(version):
    return f"TBLPROPERTIES ('format-version' = '{version}')"


def test_tables_are_made_from_queries_partitioned_by_every_transform(spark_tour, sql, duck, catalog, version, schema):
    tour = spark_tour('parts')
    for turn, partitioning in enumerate(PARTITIONINGS):
        # CTAS first, then RTAS, which keeps the history of the table.
        verb = 'CREATE' if turn == 0 else 'REPLACE' if turn % 2 else 'CREATE OR REPLACE'
        sql(f'{verb} TABLE lake.{tour.name} USING iceberg PARTITIONED BY ({partitioning}) {properties(version)} AS '
            + SOURCE.format(10 + turn))
        assert same(tour.truth, tour.readers, tour.name) == 10 + turn
    assert len(catalog.load_table(tour.name).spec().fields) == 2
    duck.execute(f'INSERT INTO lake.{tour.name} FROM lake.{tour.name}')
    assert catalog.load_table(tour.name).format_version == int(version)
    assert tour.agrees_always(at_least=len(PARTITIONINGS)) == 2 * (9 + len(PARTITIONINGS))


def test_an_empty_table_is_made_replaced_and_dropped(spark_tour, sql, duck, catalog, version, schema):
    tour = spark_tour('made')
    create = f"""TABLE {{}} lake.{tour.name} (n BIGINT NOT NULL COMMENT 'a number', s STRING, b BINARY, flag BOOLEAN,
                 local TIMESTAMP_NTZ, p STRUCT<a: ARRAY<INT>, m: MAP<STRING, DATE>>) USING iceberg
                 COMMENT 'of the test' {properties(version)}"""
    sql('CREATE ' + create.format(''))
    sql('CREATE ' + create.format('IF NOT EXISTS'))
    with pytest.raises(Exception, match='TABLE_OR_VIEW_ALREADY_EXISTS'):
        sql('CREATE ' + create.format(''))
    made = catalog.load_table(tour.name)
    assert made.properties['comment'] == 'of the test'
    assert made.schema().find_field('n').doc == 'a number' and made.schema().find_field('n').required
    sql(f"""INSERT INTO lake.{tour.name} VALUES (1, 'a', X'00FF', true, TIMESTAMP_NTZ '1969-12-31 23:59:59.999999',
            named_struct('a', array(1, NULL), 'm', map('k', DATE '2020-02-29'))), (2, NULL, NULL, NULL, NULL, NULL)""")
    duck.execute(f"INSERT INTO lake.{tour.name} VALUES (3, 'inlined', 'x'::BLOB, false, NULL, {{'a': [], 'm': MAP {{}}}})")
    assert tour.agrees_always() == 3
    sql(f'REPLACE TABLE lake.{tour.name} (other STRING) USING iceberg {properties(version)}')
    assert same(tour.truth, tour.readers, tour.name) == 0
    sql(f"INSERT INTO lake.{tour.name} VALUES ('new')")
    assert tour.agrees_always(at_least=3) == 1
    sql(f'DROP TABLE lake.{tour.name}')
    sql(f'DROP TABLE IF EXISTS lake.{tour.name}')
    with pytest.raises(Exception, match='TABLE_OR_VIEW_NOT_FOUND'):
        sql(f'DROP TABLE lake.{tour.name}')
    assert sql(f'SHOW TABLES IN lake.{schema}') == []


def test_an_upgrade_by_a_property_keeps_every_snapshot(spark_tour, sql, duck, catalog):
    tour = spark_tour('upgraded')
    sql(f"CREATE TABLE lake.{tour.name} USING iceberg TBLPROPERTIES ('write.delete.mode' = 'merge-on-read') AS "
        + SOURCE.format(20))
    sql(f'DELETE FROM lake.{tour.name} WHERE n = 3')
    duck.execute(f'DELETE FROM lake.{tour.name} WHERE n = 4')
    sql(f"ALTER TABLE lake.{tour.name} SET TBLPROPERTIES ('format-version' = '3')")
    sql(f'DELETE FROM lake.{tour.name} WHERE n IN (5, 6)')
    duck.execute(f'DELETE FROM lake.{tour.name} WHERE n > 15')
    assert catalog.load_table(tour.name).format_version == 3
    assert tour.agrees_always(at_least=5) == 12


def test_namespaces_come_and_go(sql, catalog, version):
    name = f'made_by_spark_{version}'
    sql(f"CREATE NAMESPACE lake.{name} COMMENT 'a place' WITH DBPROPERTIES ('team' = 'me')")
    sql(f"ALTER NAMESPACE lake.{name} SET PROPERTIES ('place' = 'here')")
    assert catalog.load_namespace_properties(name).items() >= {'team': 'me', 'comment': 'a place', 'place': 'here'}.items()
    assert (name,) in sql('SHOW NAMESPACES IN lake')
    sql(f'CREATE TABLE lake.{name}.t (a INT) USING iceberg {properties(version)}')
    with pytest.raises(Exception, match='not empty'):
        sql(f'DROP NAMESPACE lake.{name}')
    sql(f'DROP TABLE lake.{name}.t')
    sql(f'DROP NAMESPACE lake.{name}')
    assert (name,) not in sql('SHOW NAMESPACES IN lake')
