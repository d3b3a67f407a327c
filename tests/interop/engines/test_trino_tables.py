"""Trino alters tables, reads what DuckDB wrote and older snapshots, and makes views."""
import pytest

from rest import Rest
from engine_tour import same


def kinds(tour):
    return dict(tour.truth.columns(tour.name))


def alter(tour, *forms):
    for form in forms:
        tour.run(f'ALTER TABLE lake.{tour.name} {form}')


def test_columns_come_change_and_go(trino_tour, ask, duck, catalog):
    tour = trino_tour('altered')
    ask(f"""CREATE TABLE lake.{tour.name} (id bigint NOT NULL, a integer, f real, dec decimal(9, 2),
            p row(x integer, y varchar), l array(row(z integer)), s varchar, ts timestamp(6))""")
    row = "1, REAL '1.5', DECIMAL '2.25', ROW(1, 'y'), ARRAY[ROW(1)], 's', TIMESTAMP '2020-01-01 00:00:00.000000'"
    ask(f'INSERT INTO lake.{tour.name} VALUES (1, {row}), (2, {row})')
    duck.execute(f"INSERT INTO lake.{tour.name} (id, p) VALUES (3, {{'x': 3, 'y': 'inlined'}})")
    alter(tour, 'ADD COLUMN later integer AFTER id', 'ADD COLUMN first_one varchar FIRST', "ADD COLUMN c1 double COMMENT 'one'",
          'ADD COLUMN p.q double', 'ADD COLUMN l.element.zz varchar')
    assert list(kinds(tour)) == ['first_one', 'id', 'later', 'a', 'f', 'dec', 'p', 'l', 's', 'ts', 'c1']
    assert kinds(tour)['p'] == 'STRUCT(x INTEGER, y VARCHAR, q DOUBLE)'
    ask(f'INSERT INTO lake.{tour.name} (id, p) SELECT 4, p FROM lake.{tour.name} WHERE id = 1')
    alter(tour, 'RENAME COLUMN s TO text', 'RENAME COLUMN p.y TO yy', 'ALTER COLUMN a SET DATA TYPE bigint',
          'ALTER COLUMN f SET DATA TYPE double', 'ALTER COLUMN dec SET DATA TYPE decimal(12, 2)',
          'ALTER COLUMN p.x SET DATA TYPE bigint', 'ALTER COLUMN id DROP NOT NULL')
    assert [kinds(tour)[name] for name in ('a', 'f', 'dec', 'p')] == [
        'BIGINT', 'DOUBLE', 'DECIMAL(12,2)', 'STRUCT(x BIGINT, yy VARCHAR, q DOUBLE)']
    duck.execute(f'INSERT INTO lake.{tour.name} (id, p) SELECT 5, p FROM lake.{tour.name} WHERE id = 4')
    alter(tour, 'DROP COLUMN c1', 'DROP COLUMN p.q')
    ask(f"COMMENT ON TABLE lake.{tour.name} IS 'changed'")
    ask(f"COMMENT ON COLUMN lake.{tour.name}.text IS 'a text'")
    assert tour.truth.comments(tour.name) == {None: 'changed', 'text': 'a text'}
    ask(f"INSERT INTO lake.{tour.name} (id, text) VALUES (NULL, 'new')")
    loaded = catalog.load_table(tour.name)
    assert loaded.properties['comment'] == 'changed' and loaded.schema().find_field('text').doc == 'a text'
    with pytest.raises(Exception, match='Failed to set column type|Cannot change'):
        alter(tour, 'ALTER COLUMN text SET DATA TYPE integer')
    assert tour.agrees_always(at_least=5) == 6


def test_partitioning_order_properties_and_name_change(trino_tour, ask, duck, catalog, schema):
    tour = trino_tour('shaped')
    ask(f'CREATE TABLE lake.{tour.name} (n bigint, s varchar, ts timestamp(6))')
    fill = f"""INSERT INTO lake.{tour.name} SELECT id, concat('s', cast(id AS varchar)),
               date_add('hour', id * 30, TIMESTAMP '2020-01-01 00:00:00.000000') FROM UNNEST(sequence(1, 8)) r(id)"""
    ask(fill)
    for setting in ("partitioning = ARRAY['bucket(n, 2)']", "partitioning = ARRAY['bucket(n, 2)', 'month(ts)']",
                    "partitioning = ARRAY['s']", "sorted_by = ARRAY['n DESC']", 'partitioning = ARRAY[]'):
        alter(tour, f'SET PROPERTIES {setting}')
        ask(fill)
        duck.execute(f'INSERT INTO lake.{tour.name} FROM lake.{tour.name} WHERE n = 3')
    loaded = catalog.load_table(tour.name)
    assert loaded.spec().fields == () or list(loaded.spec().fields) == []
    assert [field.direction.value for field in loaded.sort_order().fields] == ['desc']
    rows = tour.agrees_always(at_least=11)
    ask(f'ALTER TABLE lake.{tour.name} RENAME TO lake.{schema}.moved')
    tour.name = f'{schema}.moved'
    assert ask(f'SHOW TABLES FROM lake.{schema}') == [['moved']]
    assert same(tour.truth, tour.readers, tour.name) == rows
    ask(f'DROP TABLE lake.{tour.name}')
    assert not catalog.table_exists(tour.name)


def test_it_reads_what_duckdb_wrote(trino_tour, duck):
    tour = trino_tour('by_duckdb')
    duck.execute(f'CREATE TABLE lake.{tour.name} (a INTEGER, b VARCHAR, tiny TINYINT, p STRUCT(x INTEGER, y VARCHAR), l BIGINT[])')
    values = "SELECT i, 'b' || i, i % 100, {{'x': i, 'y': NULL}}, [i, NULL] FROM range({}) r(i)"
    for rows in (40, 4):  # a file, inlined rows
        duck.execute(f'INSERT INTO lake.{tour.name} {values.format(rows)}')
    for change in ('DELETE FROM {t} WHERE a IN (1, 2)', 'DELETE FROM {t} WHERE a BETWEEN 10 AND 25',
                   "UPDATE {t} SET b = 'changed' WHERE a < 8", 'ALTER TABLE {t} ADD COLUMN c DOUBLE',
                   'INSERT INTO {t} (a, c) VALUES (100, 1.5)', 'ALTER TABLE {t} RENAME COLUMN b TO d',
                   'ALTER TABLE {t} ALTER COLUMN a TYPE BIGINT', 'ALTER TABLE {t} ADD COLUMN p.w DOUBLE',
                   'ALTER TABLE {t} DROP COLUMN tiny', 'ALTER TABLE {t} SET PARTITIONED BY (bucket(3, a))',
                   "INSERT INTO {t} (a, d) SELECT 200 + i, 'd' || i FROM range(40) r(i)"):
        duck.execute(change.format(t=f'lake.{tour.name}'))
    assert tour.agrees_always(at_least=7) == 65
    ask, name = tour.run, f'lake.{tour.name}'
    # Conditions that it answers from statistics and partitions.
    assert ask(f'SELECT count(*) FROM {name} WHERE a = 201') == [[1]]
    assert ask(f'SELECT count(*), min(a), max(a) FROM {name}') == [list(
        duck.execute(f'SELECT count(*), min(a), max(a) FROM {name}').fetchone())]


def test_older_snapshots_and_metadata_tables(trino_tour, ask, duck, catalog):
    tour = trino_tour('history')
    ask(f"CREATE TABLE lake.{tour.name} WITH (partitioning = ARRAY['a']) AS SELECT 1 AS a, 'x' AS b")
    duck.execute(f"INSERT INTO lake.{tour.name} VALUES (2, 'inlined')")
    duck.execute(f'DELETE FROM lake.{tour.name} WHERE a = 1')
    first, second, third = catalog.load_table(tour.name).snapshots()
    name = tour.name.replace('.', '."', 1)
    with catalog.load_table(tour.name).manage_snapshots() as change:
        change.create_tag(second.snapshot_id, 'both')
    assert ask(f"SELECT a FROM lake.{tour.name} FOR VERSION AS OF 'both' ORDER BY a") == [[1], [2]]
    moment = f"from_unixtime_nanos({first.timestamp_ms} * 1000000)"
    assert ask(f'SELECT a FROM lake.{tour.name} FOR TIMESTAMP AS OF {moment}') == [[1]]
    ids = [[one.snapshot_id] for one in (first, second, third)]
    assert ask(f'SELECT snapshot_id FROM lake.{name}$snapshots" ORDER BY committed_at') == ids
    assert ask(f'SELECT snapshot_id FROM lake.{name}$history" ORDER BY made_current_at') == ids
    assert ask(f"""SELECT name, type, snapshot_id FROM lake.{name}$refs" ORDER BY name""") == [
        ['both', 'TAG', second.snapshot_id], ['main', 'BRANCH', third.snapshot_id]]
    assert ask(f'SELECT sum(record_count) FROM lake.{name}$files" WHERE content = 0') == [[2]]
    assert ask(f'SELECT count(*) > 0 FROM lake.{name}$manifests"') == [[True]]
    # The inlined row is alone in its snapshot, which so has one value; else it were in no partition until DuckDB flushes it.
    assert ask(f'SELECT partition.a, record_count FROM lake.{name}$partitions" ORDER BY 1') == [[1, 1], [2, 1]]
    assert ask(f'SELECT count(*) > 0 FROM lake.{name}$metadata_log_entries"') == [[True]]
    assert ask(f"""SELECT count(*) FROM lake.{name}$properties" WHERE key = 'format-version'""") in ([[0]], [[1]])
    alter(tour, f'EXECUTE rollback_to_snapshot({second.snapshot_id})')
    assert tour.agrees_always(at_least=4) == 2


def test_version_3_is_refused_by_trino(lake, ask, duck, schema):
    body = {'name': 't', 'schema': {'type': 'struct', 'fields': [{'id': 1, 'name': 'a', 'type': 'int', 'required': False}]},
            'properties': {'format-version': '3'}}
    assert Rest.of(lake).post(f'namespaces/{schema}/tables', body).status_code == 200
    duck.execute(f'INSERT INTO lake.{schema}.t SELECT i FROM range(20) r(i)')
    assert ask(f'SELECT count(*) FROM lake.{schema}.t') == [[20]]


def test_views(ask, duck, catalog, schema):
    ask(f"CREATE TABLE lake.{schema}.t AS SELECT * FROM (VALUES (1, 'a'), (2, 'b')) t(n, s)")
    ask(f"CREATE VIEW lake.{schema}.v COMMENT 'by Trino' AS SELECT s, sum(n) AS total FROM lake.{schema}.t GROUP BY s")
    assert ask(f'SELECT s, total FROM lake.{schema}.v ORDER BY s') == [['a', 1], ['b', 2]]
    assert catalog.list_views(schema) == [(schema, 'v')]
    assert duck.execute(f'SELECT s, total FROM lake.{schema}.v ORDER BY s').fetchall() == [('a', 1), ('b', 2)]
    ask(f'CREATE OR REPLACE VIEW lake.{schema}.v AS SELECT max(n) AS most FROM lake.{schema}.t')
    assert ask(f'SELECT most FROM lake.{schema}.v') == [[2]]
    assert len(catalog.load_view(f'{schema}.v').versions) == 2
    ask(f'ALTER VIEW lake.{schema}.v RENAME TO lake.{schema}.w')
    assert [row[0] for row in ask(f'SHOW TABLES FROM lake.{schema}')] == ['t', 'w']
    duck.execute(f'CREATE VIEW lake.{schema}.of_duckdb AS SELECT n FROM lake.{schema}.t')
    ask(f'DROP VIEW lake.{schema}.w')
    assert catalog.list_views(schema) == [(schema, 'of_duckdb')]
    with pytest.raises(Exception, match='dialect'):
        ask(f'SELECT * FROM lake.{schema}.of_duckdb')


def test_schemas_come_and_go(ask, catalog, duck):
    ask('CREATE SCHEMA lake.made_by_trino')
    assert catalog.namespace_exists('made_by_trino')
    assert ['made_by_trino'] in ask('SHOW SCHEMAS FROM lake')
    ask('DROP SCHEMA lake.made_by_trino')
    assert not catalog.namespace_exists('made_by_trino')
