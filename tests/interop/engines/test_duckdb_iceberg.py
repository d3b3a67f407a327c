"""DuckDB's Iceberg extension as a writer: all its statements, through the catalog, in both format versions."""
import duckdb
import pytest

import readers as lake_readers
from lake_clients import duck as duckdb_client
from engine_tour import Tour, same


@pytest.fixture
def ice(lake):
    """A connection of the test's own: a refused commit leaves its transaction behind."""
    return duckdb_client.connect_catalog(lake)


@pytest.fixture
def tour(ice, duck, truth, catalog, schema, version):
    """The table rows, made through the catalog; `{t}` is it in both access paths."""
    def run(statement):
        return ice.execute(statement.replace('lake.', 'ice.')).fetchall()

    readers = [lake_readers.DuckIceberg(ice), lake_readers.PyIceberg(catalog)]
    return Tour(f'{schema}.rows', run, duck, truth, readers, catalog)


def create(tour, version, partitioned=''):
    columns = '(n BIGINT, s VARCHAR, part INTEGER)'
    tour(f"CREATE TABLE {{t}} {columns} {partitioned} WITH ('format-version' = '{version}')", f'CREATE TABLE {{t}} {columns}')


MERGE = """MERGE INTO {t} t USING (SELECT i AS n FROM range(35, 45) r(i)) u ON t.n = u.n
    WHEN MATCHED THEN UPDATE SET s = 'merged' WHEN NOT MATCHED THEN INSERT (n, s, part) VALUES (u.n, 'new', 9)"""


@pytest.mark.parametrize('partitioned', ['', 'PARTITIONED BY (part)'], ids=['whole', 'partitioned'])
@pytest.mark.parametrize('version', ['2'], indirect=True)
def test_rows_are_deleted_updated_and_merged(tour, ice, version, partitioned):
    create(tour, version, partitioned)
    tour("INSERT INTO {t} SELECT i, 's' || i, i % 3 FROM range(60) r(i)")
    tour.by_lake("INSERT INTO {t} VALUES (1000, 'inlined', 1), (1001, 'inlined', NULL)")
    tour('DELETE FROM {t} WHERE n % 4 = 0')
    tour.by_lake('DELETE FROM {t} WHERE n IN (1, 1000)')
    tour("UPDATE {t} SET s = s || '!' WHERE n > 50")
    tour.by_lake("UPDATE {t} SET s = 'by the lake' WHERE n BETWEEN 50 AND 55")
    tour(MERGE)
    with pytest.raises(duckdb.Error, match='single UPDATE/DELETE action'):
        ice.execute(f"""MERGE INTO ice.{tour.name} t USING (SELECT 1 AS n) u ON t.n = u.n WHEN MATCHED AND t.s = 'a'
                        THEN DELETE WHEN MATCHED THEN UPDATE SET s = 'x'""")
    tour('DELETE FROM {t} WHERE part = 9')
    tour('TRUNCATE {t}')
    tour('INSERT INTO {t} (n) VALUES (5), (6)')
    assert tour.agrees_always(at_least=10) == 2


@pytest.mark.parametrize('version', ['3'], indirect=True)
def test_vectors_of_one_file_are_replaced_and_those_of_several_stay(tour, ice, version):
    create(tour, version)
    tour("INSERT INTO {t} SELECT i, 's' || i, i % 3 FROM range(60) r(i)")
    tour('DELETE FROM {t} WHERE n % 4 = 0')
    tour.by_lake('DELETE FROM {t} WHERE n IN (1, 2)')
    tour('DELETE FROM {t} WHERE n = 3')
    tour("UPDATE {t} SET s = s || '!' WHERE n > 50")
    tour(MERGE)
    # The vectors of a snapshot lie in one object. The extension takes them all away to put one in the place of one
    # of them, and the rows of the other files would be back.
    tour.by_lake('DELETE FROM {t} WHERE n IN (10, 53)')
    with pytest.raises(duckdb.Error, match='summary.removed-delete-files is 0, but its manifests say'):
        ice.execute(f'DELETE FROM ice.{tour.name} WHERE n = 11')
    assert tour.agrees_always(at_least=6) == 43


def test_a_transaction_is_seen_whole_and_a_rollback_never(tour, ice, version):
    create(tour, version)
    tour("INSERT INTO {t} SELECT i, 's' || i, i % 3 FROM range(20) r(i)")
    ice.execute('BEGIN')
    ice.execute(f'INSERT INTO ice.{tour.name} (n) VALUES (100)')
    ice.execute(f'INSERT INTO ice.{tour.name} (n) VALUES (101)')
    assert tour.truth.read(tour.name).num_rows == 20
    ice.execute('COMMIT')
    tour.follow('INSERT INTO {t} (n) VALUES (100), (101)')
    ice.execute('BEGIN')
    ice.execute(f'DELETE FROM ice.{tour.name}')
    ice.execute('ROLLBACK')
    assert tour.agrees_always() == 22


def together(tour, ice, *statements):
    """All in one transaction, which is a snapshot for each of them."""
    ice.execute('BEGIN')
    for statement in statements:
        ice.execute(statement.format(t=f'ice.{tour.name}'))
    ice.execute('COMMIT')
    tour.follow(';'.join(statements))


def counts(tour):
    """The lake's rows at each snapshot."""
    return [tour.truth.read(tour.name, snapshot).num_rows for snapshot in tour.snapshots()]


@pytest.mark.parametrize('version', ['2', '3'], indirect=True)
def test_a_transaction_deletes_rows_that_it_has_added(tour, ice, version):
    create(tour, version)
    tour("INSERT INTO {t} SELECT i, 's' || i, i % 3 FROM range(20) r(i)")
    together(tour, ice, "INSERT INTO {t} SELECT i, 'new', 7 FROM range(100, 110) r(i)", 'DELETE FROM {t} WHERE n = 105')
    assert counts(tour) == [20, 30, 29]
    together(tour, ice, 'DELETE FROM {t} WHERE n = 101', 'DELETE FROM {t} WHERE n = 102', 'INSERT INTO {t} (n) VALUES (1000)',
             "UPDATE {t} SET s = 'updated' WHERE n IN (103, 3, 1000)")
    assert counts(tour)[3:] == [28, 27, 28, 28]
    tour.by_lake('DELETE FROM {t} WHERE n IN (1, 104)')
    assert tour.agrees_always(at_least=7) == 26


@pytest.mark.parametrize('version', ['2', '3'], indirect=True)
def test_a_table_is_made_filled_and_emptied_in_one_transaction(tour, ice, version):
    ice.execute('BEGIN')
    columns = '(n BIGINT, s VARCHAR)'
    ice.execute(f"CREATE TABLE ice.{tour.name} {columns} WITH ('format-version' = '{version}')")
    changes = ("INSERT INTO {t} SELECT i, 's' || i FROM range(30) r(i)", 'DELETE FROM {t} WHERE n % 3 = 0',
               "UPDATE {t} SET s = 'updated' WHERE n < 10")
    for statement in changes:
        ice.execute(statement.format(t=f'ice.{tour.name}'))
    ice.execute('COMMIT')
    tour.follow(';'.join([f'CREATE TABLE {{t}} {columns}', *changes]))
    assert counts(tour) == [30, 20, 20]
    assert tour.agrees_always(at_least=3) == 20


def test_tables_are_made_altered_renamed_and_dropped(tour, ice, duck, catalog, schema, version):
    create(tour, version)
    tour("INSERT INTO {t} SELECT i, 's' || i, i % 3 FROM range(20) r(i)")
    for change in ('ADD COLUMN c DOUBLE', 'RENAME COLUMN s TO text', 'ALTER COLUMN part TYPE BIGINT'):
        tour(f'ALTER TABLE {{t}} {change}')
        tour.by_lake('INSERT INTO {t} (n) VALUES (200)')
        tour('INSERT INTO {t} (n) VALUES (300)')
    tour('ALTER TABLE {t} DROP COLUMN part')
    for change, model in (('SET PARTITIONED BY (bucket(4, n))', 'SELECT 1'), ('RESET PARTITIONED BY', 'SELECT 1')):
        tour(f'ALTER TABLE {{t}} {change}', model)
        tour("INSERT INTO {t} (n, text) SELECT i, 'more' FROM range(5) r(i)")
    if version == '3':
        tour('ALTER TABLE {t} ADD COLUMN d INTEGER DEFAULT 5')
        tour('ALTER TABLE {t} ALTER COLUMN d SET DEFAULT 6')
        tour.by_lake('INSERT INTO {t} (n) VALUES (400)')
    else:
        with pytest.raises(duckdb.Error, match='not supported for <V3 tables'):
            ice.execute(f'ALTER TABLE ice.{tour.name} ADD COLUMN d INTEGER DEFAULT 5')
    ice.execute(f"ALTER TABLE ice.{tour.name} SET ('team' = 'me')")
    assert catalog.load_table(tour.name).properties['team'] == 'me'
    ice.execute(f"CALL remove_iceberg_table_properties(ice.{tour.name}, ['team'])")
    assert 'team' not in catalog.load_table(tour.name).properties
    for statement, why in (('ALTER TABLE {t} ALTER COLUMN text SET NOT NULL', 'nullable column to non-nullable'),
                           ('ALTER TABLE {t} SET SORTED BY (n)', 'not supported: SET_SORTED_BY'),
                           ("COMMENT ON TABLE {t} IS 'c'", 'Only ALTER TABLE is supported')):
        with pytest.raises(duckdb.Error, match=why):
            ice.execute(statement.format(t=f'ice.{tour.name}'))
    rows = tour.agrees_always(at_least=9)
    ice.execute(f'ALTER TABLE ice.{tour.name} RENAME TO moved')
    tour.name = f'{schema}.moved'
    assert same(tour.truth, tour.readers, tour.name) == rows
    ice.execute(f'DROP TABLE ice.{tour.name}')
    assert duck.execute("SELECT count(*) FROM duckdb_tables() WHERE database_name = 'lake' AND schema_name = ?",
                        [schema]).fetchone() == (0,)


def test_a_table_is_made_from_a_query_in_a_schema_of_its_own(ice, truth, catalog, duck):
    ice.execute('CREATE SCHEMA ice.made_by_ice')
    ice.execute("CREATE TABLE ice.made_by_ice.t AS SELECT i AS n, 's' || i AS s, DATE '2020-01-01' + i::INT AS day FROM range(30) r(i)")
    assert same(truth, [lake_readers.DuckIceberg(ice), lake_readers.PyIceberg(catalog)], 'made_by_ice.t') == 30
    with pytest.raises(duckdb.Error, match='CREATE OR REPLACE not supported'):
        ice.execute('CREATE OR REPLACE TABLE ice.made_by_ice.t AS SELECT 1 AS a')
    with pytest.raises(duckdb.Error, match='not empty'):
        ice.execute('DROP SCHEMA ice.made_by_ice')
    ice.execute('DROP TABLE ice.made_by_ice.t')
    ice.execute('DROP SCHEMA ice.made_by_ice')
    assert not catalog.namespace_exists('made_by_ice')
