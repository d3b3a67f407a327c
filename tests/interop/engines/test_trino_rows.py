"""Trino makes tables and changes rows; what it does, DuckDB finds in the lake, and the other clients with it."""
import pytest

from engine_tour import same

SOURCE = "SELECT id, concat('s', cast(id AS varchar)), cast(id % 3 AS integer) FROM UNNEST(sequence({}, {})) r(id)"
MODEL = "SELECT id, concat('s', id), id % 3 FROM range({}, {} + 1) r(id)"
PARTITIONINGS = ("'s'", "'bucket(n, 3)'", "'truncate(s, 2)'", "'year(ts)'", "'month(ts)'", "'day(day)'",
                 "'hour(ts)', 'bucket(s, 2)'")


def insert(tour, first, last):
    tour(f'INSERT INTO {{t}} {SOURCE.format(first, last)}', f'INSERT INTO {{t}} {MODEL.format(first, last)}')


@pytest.fixture
def tour(trino_tour):
    tour = trino_tour('rows')
    tour("CREATE TABLE {t} (n bigint, s varchar, part integer) WITH (partitioning = ARRAY['part'])",
         'CREATE TABLE {t} (n BIGINT, s VARCHAR, part INTEGER)')
    return tour


def test_rows_are_deleted_updated_and_merged(tour, ask):
    insert(tour, 0, 59)
    tour.by_lake("INSERT INTO {t} VALUES (1000, 'inlined', 1), (1001, 'inlined', NULL)")
    tour('DELETE FROM {t} WHERE n % 4 = 0')
    tour.by_lake('DELETE FROM {t} WHERE n IN (1, 1000)')
    tour("UPDATE {t} SET s = concat(s, '!'), part = part + 1 WHERE n > 50")
    tour.by_lake("UPDATE {t} SET s = 'by the lake' WHERE n BETWEEN 50 AND 55")
    tour("""MERGE INTO {t} t USING (VALUES 35, 36, 37, 38, 39, 40, 41) u(n) ON t.n = u.n
            WHEN MATCHED AND t.n < 37 THEN DELETE WHEN MATCHED THEN UPDATE SET s = 'merged'
            WHEN NOT MATCHED THEN INSERT (n, s, part) VALUES (u.n, 'new', 9)""",
         """MERGE INTO {t} t USING (VALUES (35), (36), (37), (38), (39), (40), (41)) u(n) ON t.n = u.n
            WHEN MATCHED AND t.n < 37 THEN DELETE WHEN MATCHED THEN UPDATE SET s = 'merged'
            WHEN NOT MATCHED THEN INSERT (n, s, part) VALUES (u.n, 'new', 9)""")
    tour('DELETE FROM {t} WHERE part = 9')
    tour.by_lake('DELETE FROM {t} WHERE part = 2')
    tour('INSERT INTO {t} (n) VALUES (77)')
    insert(tour, 100, 109)
    ask(f'ALTER TABLE lake.{tour.name} EXECUTE optimize')
    ask(f'ALTER TABLE lake.{tour.name} EXECUTE optimize_manifests')
    tour.matches_the_model()
    tour('TRUNCATE TABLE {t}', 'DELETE FROM {t}')
    insert(tour, 5, 6)
    assert tour.agrees_always(at_least=12) == 2


def test_tables_are_made_from_queries_partitioned_by_every_transform(trino_tour, ask, duck, catalog):
    tour = trino_tour('parts')
    for turn, partitioning in enumerate(PARTITIONINGS):
        verb = 'CREATE TABLE' if turn == 0 else 'CREATE OR REPLACE TABLE'
        ask(f"""{verb} lake.{tour.name} WITH (partitioning = ARRAY[{partitioning}], sorted_by = ARRAY['n']) AS
                SELECT id AS n, concat('s', cast(id AS varchar)) AS s, date_add('day', id, DATE '2020-01-30') AS day,
                       date_add('hour', id * 30, TIMESTAMP '2020-01-01 00:00:00.000000') AS ts
                FROM UNNEST(sequence(1, {10 + turn})) r(id)""")
        assert same(tour.truth, tour.readers, tour.name) == 10 + turn
    loaded = catalog.load_table(tour.name)
    assert len(loaded.spec().fields) == 2 and len(loaded.sort_order().fields) == 1
    duck.execute(f'INSERT INTO lake.{tour.name} FROM lake.{tour.name}')
    assert tour.agrees_always(at_least=len(PARTITIONINGS)) == 2 * (9 + len(PARTITIONINGS))


def test_every_type_of_trino(trino_tour, ask, catalog):
    tour = trino_tour('types')
    ask(f"""CREATE TABLE lake.{tour.name} (flag boolean NOT NULL, i integer, big bigint, f real, d double, dec decimal(38, 10),
            day date, t time(6), ts timestamp(6), tstz timestamp(6) with time zone, s varchar, raw varbinary, id uuid,
            list array(integer), dict map(varchar, bigint), pair row(a integer, b row(c varchar)))
            COMMENT 'of the test'""")
    ask(f"""INSERT INTO lake.{tour.name} VALUES (true, -1, 10000000000, REAL '1.5', nan(), DECIMAL '-0.0000000001',
            DATE '1969-12-31', TIME '23:59:59.999999', TIMESTAMP '1969-12-31 23:59:59.999999',
            TIMESTAMP '2024-02-29 12:00:00.000001 +02:00', 'ü', x'00ff', UUID '00000000-0000-0000-0000-0000000000ff',
            ARRAY[1, NULL], MAP(ARRAY['k', 'none'], ARRAY[1, NULL]), ROW(1, ROW('x'))),
            (false, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)""")
    loaded = catalog.load_table(tour.name)
    assert loaded.schema().find_field('flag').required and loaded.properties['comment'] == 'of the test'
    assert tour.agrees_always() == 2


def test_the_version_that_trino_does_not_write_is_refused_by_it(ask, schema):
    # Trino 476 knows the format versions 1 and 2 only.
    with pytest.raises(Exception, match='format_version must be between 1 and 2'):
        ask(f'CREATE TABLE lake.{schema}.t (a integer) WITH (format_version = 3)')
    assert ask(f'SHOW TABLES FROM lake.{schema}') == []
