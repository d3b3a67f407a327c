"""ALTER TABLE through Spark: after each form the lake has the columns, and every snapshot still reads the same."""
import pytest

from engine_tour import same

COLUMNS = '''id BIGINT NOT NULL, a INT, f FLOAT, dec DECIMAL(9,2), p STRUCT<x: INT, y: STRING>,
    l ARRAY<STRUCT<z: INT>>, m MAP<STRING, STRUCT<w: INT>>, s STRING, ts TIMESTAMP'''
ROWS = """SELECT id, id, id / 2, id / 4, named_struct('x', id, 'y', 'y'), array(named_struct('z', id)),
    map('k', named_struct('w', id)), concat('s', id), timestamp_seconds(id * 40000) FROM range(20) r(id)"""
INLINED = """SELECT 100, 1, 1.5, 2.25, {'x': 1, 'y': 'inlined'}, [{'z': 1}], MAP {'k': {'w': 1}}, 's', TIMESTAMPTZ '2020-01-01 00:00:00+00'"""


@pytest.fixture
def table(spark_tour, sql, duck, version, schema):
    """A table with a file and an inlined row; its tour runs without the model."""
    tour = spark_tour('altered')
    sql(f"CREATE TABLE lake.{tour.name} ({COLUMNS}) USING iceberg TBLPROPERTIES ('format-version' = '{version}')")
    sql(f'INSERT INTO lake.{tour.name} {ROWS}')
    duck.execute(f'INSERT INTO lake.{tour.name} {INLINED}')
    return tour


def alter(tour, *forms):
    for form in forms:
        tour.run(f'ALTER TABLE lake.{tour.name} {form}')


def add_rows(tour, number):
    """One by Spark, one inlined: the columns that the statement does not name are null."""
    tour.run(f"INSERT INTO lake.{tour.name} (id, p) SELECT {number}, p FROM lake.{tour.name} WHERE id = 7")
    tour.duck.execute(f'INSERT INTO lake.{tour.name} (id, p) SELECT {number + 1}, p FROM lake.{tour.name} WHERE id = 8')


def kinds(tour):
    return dict(tour.truth.columns(tour.name))


def required(duck, schema):
    return [row[0] for row in duck.execute("SELECT column_name FROM duckdb_columns() WHERE database_name = 'lake' "
                                           'AND schema_name = ? AND NOT is_nullable', [schema]).fetchall()]


def test_columns_come_move_change_and_go(table, duck, schema, catalog):
    alter(table, 'ADD COLUMN later INT AFTER id', "ADD COLUMNS (c1 STRING COMMENT 'one', c2 DOUBLE)",
          'ADD COLUMN first_one STRING FIRST', 'ADD COLUMN p.q DOUBLE', 'ADD COLUMN p.deep STRUCT<u: INT> FIRST')
    assert list(kinds(table)) == ['first_one', 'id', 'later', 'a', 'f', 'dec', 'p', 'l', 'm', 's', 'ts', 'c1', 'c2']
    assert kinds(table)['p'] == 'STRUCT(deep STRUCT(u INTEGER), x INTEGER, y VARCHAR, q DOUBLE)'
    add_rows(table, 200)
    same(table.truth, table.readers, table.name)

    alter(table, 'RENAME COLUMN s TO text', 'RENAME COLUMN p.y TO yy', 'ALTER COLUMN a TYPE BIGINT',
          'ALTER COLUMN f TYPE DOUBLE', 'ALTER COLUMN dec TYPE DECIMAL(12,2)', 'ALTER COLUMN p.x TYPE BIGINT')
    assert [kinds(table)[name] for name in ('a', 'f', 'dec', 'text')] == ['BIGINT', 'DOUBLE', 'DECIMAL(12,2)', 'VARCHAR']
    add_rows(table, 210)
    same(table.truth, table.readers, table.name)

    alter(table, 'ALTER COLUMN later FIRST', 'ALTER COLUMN a AFTER text', 'ALTER COLUMN p.q FIRST')
    assert list(kinds(table))[:3] == ['later', 'first_one', 'id']
    assert kinds(table)['p'] == 'STRUCT(q DOUBLE, deep STRUCT(u INTEGER), x BIGINT, yy VARCHAR)'
    assert required(duck, schema) == ['id']
    alter(table, 'ALTER COLUMN id DROP NOT NULL', "ALTER COLUMN text COMMENT 'a text'")
    assert required(duck, schema) == []
    assert catalog.load_table(table.name).schema().find_field('text').doc == 'a text'
    table.run(f"COMMENT ON TABLE lake.{table.name} IS 'of Spark'")
    assert table.truth.comments(table.name) == {None: 'of Spark', 'c1': 'one', 'text': 'a text'}
    alter(table, 'DROP COLUMN c1', 'DROP COLUMNS (c2, p.deep)')
    assert 'c1' not in kinds(table) and 'c2' not in kinds(table)
    table.run(f'INSERT INTO lake.{table.name} (text) VALUES (NULL)')
    add_rows(table, 220)
    assert table.agrees_always(at_least=9) == 28


def test_fields_of_elements_and_values_change(table):
    alter(table, 'ADD COLUMN l.element.zz STRING', 'ADD COLUMN m.value.ww INT', 'ALTER COLUMN l.element.z TYPE BIGINT',
          'ALTER COLUMN m.value.w TYPE BIGINT', 'RENAME COLUMN m.value.ww TO wide')
    assert kinds(table)['l'] == 'STRUCT(z BIGINT, zz VARCHAR)[]'
    assert kinds(table)['m'] == 'MAP(VARCHAR, STRUCT(w BIGINT, wide INTEGER))'
    add_rows(table, 300)
    alter(table, 'DROP COLUMN l.element.zz')
    assert table.agrees_always(at_least=4) == 23


def test_what_spark_and_the_catalog_refuse(table):
    for form, why in (('ALTER COLUMN a SET NOT NULL', 'Cannot change nullable column'),
                      ('ALTER COLUMN s TYPE INT', 'NOT_SUPPORTED_CHANGE_COLUMN'),
                      ('ADD COLUMN d INT DEFAULT 7', 'default values in Spark is currently unsupported'),
                      ("SET TBLPROPERTIES ('lakeproxy.owner' = 'me')", 'lakeproxy.'),
                      ("SET LOCATION 's3://elsewhere/t'", 'set-location: not supported')):
        with pytest.raises(Exception, match=why):
            alter(table, form)
    assert same(table.truth, table.readers, table.name) == 21


def test_partitioning_changes_between_writes(table, catalog):
    name = table.name
    for form, fields in (('ADD PARTITION FIELD bucket(4, id)', ['id_bucket_4']),
                         ('ADD PARTITION FIELD truncate(s, 2) AS t2', ['id_bucket_4', 't2']),
                         ('ADD PARTITION FIELD days(ts)', ['id_bucket_4', 't2', 'ts_day']),
                         ('REPLACE PARTITION FIELD ts_day WITH hours(ts) AS h', ['id_bucket_4', 't2', 'h']),
                         ('DROP PARTITION FIELD bucket(4, id)', ['t2', 'h']),
                         ('DROP PARTITION FIELD h', ['t2']),
                         # Back to the first spec, past one that the lake does not know.
                         ('DROP PARTITION FIELD t2', [])):
        alter(table, form)
        assert [field.name for field in catalog.load_table(name).spec().fields] == fields
        table.run(f'INSERT INTO lake.{name} {ROWS} WHERE id < 6')
        table.duck.execute(f'INSERT INTO lake.{name} FROM lake.{name} WHERE id BETWEEN 3 AND 10')
    alter(table, 'ADD PARTITION FIELD years(ts)', 'ADD PARTITION FIELD a')
    table.duck.execute(f'INSERT INTO lake.{name} {INLINED}')
    table.run(f'INSERT INTO lake.{name} {ROWS} WHERE id < 4')
    table.run(f'DELETE FROM lake.{name} WHERE id = 3')
    assert table.agrees_always(at_least=15) > 60


def test_orders_properties_and_identifiers(table, catalog, sql):
    def loaded():
        return catalog.load_table(table.name)

    alter(table, 'WRITE ORDERED BY a DESC NULLS LAST, bucket(4, id)')
    assert [str(field) for field in loaded().sort_order().fields] == ['2 DESC NULLS LAST', 'bucket[4](1) ASC NULLS FIRST']
    table.run(f'INSERT INTO lake.{table.name} {ROWS}')
    alter(table, 'WRITE DISTRIBUTED BY PARTITION LOCALLY ORDERED BY s')
    assert loaded().properties['write.distribution-mode'] == 'hash'
    table.run(f'INSERT INTO lake.{table.name} {ROWS}')
    alter(table, 'WRITE UNORDERED')
    assert loaded().sort_order().fields == [] and loaded().properties['write.distribution-mode'] == 'none'
    alter(table, "SET TBLPROPERTIES ('team' = 'me', 'other' = '1')", "UNSET TBLPROPERTIES ('other')")
    assert loaded().properties['team'] == 'me' and 'other' not in loaded().properties
    alter(table, 'SET IDENTIFIER FIELDS id')
    assert loaded().schema().identifier_field_ids == [1]
    alter(table, 'DROP IDENTIFIER FIELDS id')
    assert loaded().schema().identifier_field_ids == []
    assert table.agrees_always(at_least=4) == 61
    schema = table.name.split('.')[0]
    sql(f'ALTER TABLE lake.{table.name} RENAME TO {schema}.moved')
    assert sql(f'SHOW TABLES IN lake.{schema}') == [(schema, 'moved', False)]
    assert same(table.truth, table.readers, f'{schema}.moved') == 61
