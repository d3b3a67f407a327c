"""Tables of format version 3: rows have ids, and every client sees the lake's."""
import pytest

import readers as lake_readers
from agreement import assert_agree
from copies import newest, opened
from rest import Rest, assert_error, table_body
from row_ids import FIELDS, assert_same_lineage, lake_lineage, make_table, spark_lineage


@pytest.fixture
def rest(lake):
    return Rest.of(lake)


@pytest.fixture
def table(rest, schema):
    return make_table(rest, schema, 't')


def insert(duck, table, first, rows):
    duck.execute(f"INSERT INTO lake.{table} SELECT {first} + i, 's' || i FROM range({rows}) r(i)")


def metadata(rest, table):
    schema, name = table.split('.')
    answer = rest.get(f'namespaces/{schema}/tables/{name}')
    assert answer.status_code == 200, answer.text
    return answer.json()['metadata']


def commit(rest, table, *updates):
    schema, name = table.split('.')
    return rest.post(f'namespaces/{schema}/tables/{name}', {'requirements': [], 'updates': list(updates)})


def upgrade(rest, table, version):
    return commit(rest, table, {'action': 'upgrade-format-version', 'format-version': version})


def test_a_table_is_made_in_the_version_asked_for(rest, duck, schema):
    table = make_table(rest, schema, 't')
    made = metadata(rest, table)
    assert made['format-version'] == 3
    assert made['properties'] == {'lakeproxy.format-version': '3', 'gc.enabled': 'false'}
    assert (made['next-row-id'], made['last-row-id'], made['row-lineage']) == (0, 0, True)
    assert metadata(rest, make_table(rest, schema, 'old', '2'))['format-version'] == 2
    duck.execute(f'CREATE TABLE lake.{schema}.nobodys (a BIGINT)')
    for _ in range(2):
        before = metadata(rest, f'{schema}.nobodys')
        assert before['format-version'] == 2 and upgrade(rest, f'{schema}.nobodys', 2).status_code == 200
    assert 'lakeproxy.format-version' in before['properties']
    assert metadata(rest, f'{schema}.nobodys')['properties']['lakeproxy.format-version'] == '2'
    assert_error(rest.post(f'namespaces/{schema}/tables', table_body('no', properties={'format-version': '1'})), 400)


def test_row_ids_are_the_lakes_after_every_kind_of_change(duck, truth, readers, spark, table):
    for rows in (40, 3, 20):  # a file, inlined rows, a file
        insert(duck, table, 100 * rows, rows)
    changes = [f"UPDATE lake.{table} SET s = 'u' WHERE a IN (4001, 301)",  # updated rows keep their ids, inlined
               f"UPDATE lake.{table} SET s = 'v' WHERE a BETWEEN 4010 AND 4030",  # and in a file
               f'DELETE FROM lake.{table} WHERE a IN (300, 4035)',
               f'DELETE FROM lake.{table} WHERE a BETWEEN 2000 AND 2011']
    schema, name = table.split('.')
    changes += [f"CALL ducklake_flush_inlined_data('lake', schema_name => '{schema}', table_name => '{name}')",
                f"CALL ducklake_merge_adjacent_files('lake', '{name}', schema => '{schema}')",
                f"CALL ducklake_rewrite_data_files('lake', '{name}', schema => '{schema}', delete_threshold => 0.1)"]
    for change in changes:
        duck.execute(change)
        assert_same_lineage(duck, spark, table)
        assert_agree(truth, readers, table)


def test_snapshots_say_which_ids_they_added(rest, duck, table):
    for rows in (40, 3):
        insert(duck, table, 0, rows)
    duck.execute(f"UPDATE lake.{table} SET s = 'u' WHERE a = 39")
    shown = metadata(rest, table)
    counts = [(s['first-row-id'], s['added-rows']) for s in shown['snapshots']]
    assert counts == [(0, 40), (40, 3), (43, 0)]
    assert [s['sequence-number'] for s in shown['snapshots']] == [s['snapshot-id'] for s in shown['snapshots']]
    assert shown['last-sequence-number'] == shown['current-snapshot-id']
    assert (shown['next-row-id'], shown['last-row-id'], shown['row-lineage']) == (43, 43, True)


def test_clients_append_to_it(duck, truth, readers, catalog, spark, duck_iceberg, table):
    insert(duck, table, 0, 30)
    spark.sql(f"INSERT INTO lake.{table} VALUES (500, 'spark'), (501, 'spark')")
    assert_same_lineage(duck, spark, table)
    duck_iceberg.execute(f"INSERT INTO ice.{table} SELECT 600 + i, 'duck' FROM range(30) r(i)")
    insert(duck, table, 700, 3)
    assert_same_lineage(duck, spark, table)
    assert assert_agree(truth, readers, table) == 65


def test_rows_that_spark_rewrites_keep_their_ids(duck, truth, readers, spark, table):
    for first in (0, 100):
        insert(duck, table, first, 30)
    ids = {row[2]: row[0] for row in lake_lineage(duck, table)}
    for change in (f"UPDATE lake.{table} SET s = 'changed' WHERE a IN (3, 104)",
                   f"CALL lake.system.rewrite_data_files(table => '{table}', options => map('rewrite-all', 'true'))"):
        spark.sql(change)
        assert {row[2]: row[0] for row in spark_lineage(spark, table)} == ids
        assert {row[2]: row[0] for row in lake_lineage(duck, table)} == ids
        assert assert_agree(truth, readers, table) == 60


def test_vectors_of_spark_delete_rows_everywhere(rest, duck, truth, readers, spark, schema):
    table = make_table(rest, schema, 't', **{f'write.{kind}.mode': 'merge-on-read' for kind in ('delete', 'update')})
    for first, rows in ((0, 30), (100, 30), (200, 4)):  # two files, inlined rows
        insert(duck, table, first, rows)
    duck.execute(f'DELETE FROM lake.{table} WHERE a IN (1, 101)')  # one Puffin file with two vectors
    for rows, left in (('3, 103, 201', 59), ('4, 203', 57)):
        spark.sql(f'DELETE FROM lake.{table} WHERE a IN ({rows})')
        assert assert_agree(truth, readers, table) == left
        assert_same_lineage(duck, spark, table)
    ids = {row[2]: row[0] for row in lake_lineage(duck, table)}
    spark.sql(f"UPDATE lake.{table} SET s = 'u' WHERE a IN (5, 105)")
    assert {row[2]: row[0] for row in spark_lineage(spark, table)} == ids
    assert {row[2]: row[0] for row in lake_lineage(duck, table)} == ids
    duck.execute(f'DELETE FROM lake.{table} WHERE a IN (6, 5)')
    assert assert_agree(truth, readers, table) == 55
    for snapshot in metadata(rest, table)['snapshots']:
        assert_agree(truth, readers, table, snapshot['snapshot-id'])


def test_an_upgrade_shows_the_whole_history_in_the_new_form(rest, duck, truth, readers, spark, schema):
    table = make_table(rest, schema, 't', '2')
    for rows in (40, 3):
        insert(duck, table, 100 * rows, rows)
    duck.execute(f'DELETE FROM lake.{table} WHERE a IN (4003, 300)')
    duck.execute(f'DELETE FROM lake.{table} WHERE a BETWEEN 4010 AND 4025')
    assert_agree(truth, readers, table)
    before = metadata(rest, table)
    assert upgrade(rest, table, 3).status_code == 200
    after = metadata(rest, table)
    assert after['format-version'] == 3
    assert after['properties']['lakeproxy.format-version'] == '3'
    assert [s['snapshot-id'] for s in after['snapshots']] == [s['snapshot-id'] for s in before['snapshots']]
    lists = {s['manifest-list'] for s in before['snapshots']} & {s['manifest-list'] for s in after['snapshots']}
    assert not lists, 'a list of version 2 is shown in version 3'
    for snapshot in after['snapshots']:
        assert_agree(truth, readers, table, snapshot['snapshot-id'])
    assert_same_lineage(duck, spark, table)
    insert(duck, table, 900, 20)
    assert_same_lineage(duck, spark, table)
    assert assert_agree(truth, readers, table) == 45


def test_a_version_is_never_lowered(rest, duck, truth, readers, table):
    insert(duck, table, 0, 20)
    answer = upgrade(rest, table, 2)
    assert_error(answer, 400)
    assert 'v3' in answer.json()['error']['message']
    assert_error(upgrade(rest, table, 4), 400)
    assert metadata(rest, table)['format-version'] == 3
    assert upgrade(rest, table, 3).status_code == 200
    assert assert_agree(truth, readers, table) == 20


def test_nanoseconds_agree_with_the_clients_that_know_them(rest, duck, truth, catalog, duck_iceberg, schema):
    table = make_table(rest, schema, 't', fields=[FIELDS[0], {'id': 2, 'name': 'n', 'type': 'timestamp_ns', 'required': False}])
    for rows in (30, 3):  # in a file, inlined
        duck.execute(f"INSERT INTO lake.{table} SELECT i, TIMESTAMP_NS '1969-12-31 23:59:59.999999999' + to_hours(i::INT) "
                     f'FROM range({rows}) r(i)')
    duck.execute(f'INSERT INTO lake.{table} VALUES (NULL, NULL)')
    assert assert_agree(truth, [lake_readers.PyIceberg(catalog), lake_readers.DuckIceberg(duck_iceberg)], table) == 34


def test_variants_agree_with_spark(rest, duck, spark, schema):
    fields = [FIELDS[0], {'id': 2, 'name': 'v', 'type': 'variant', 'required': False}]
    table = make_table(rest, schema, 't', fields=fields)
    duck.execute(f"INSERT INTO lake.{table} SELECT i, {{'x': i, 'y': ['a', NULL]}}::VARIANT FROM range(20) r(i)")
    duck.execute(f"INSERT INTO lake.{table} VALUES (100, NULL), (101, 'text'::VARIANT), (102, 2.5::DOUBLE::VARIANT)")
    spark.sql(f"""INSERT INTO lake.{table} SELECT 200, parse_json('{{"x": 5, "y": [1, null]}}')""")
    wanted = duck.execute(f'SELECT a, v::JSON::VARCHAR FROM lake.{table} ORDER BY a').fetchall()
    found = spark.sql(f'SELECT a, to_json(v) FROM lake.{table} ORDER BY a').collect()
    assert [(row[0], row[1]) for row in found] == wanted


def test_that_variants_are_read_row_by_row_is_said_unless_somebody_says_otherwise(rest, duck, schema):
    def shown():
        answer = rest.get(f'namespaces/{schema}/tables/t').json()
        return answer['metadata']['properties'].get('read.parquet.vectorization.enabled')

    def commit(update):
        answer = rest.post(f'namespaces/{schema}/tables/t', {'requirements': [], 'updates': [update]})
        assert answer.status_code == 200, answer.text

    make_table(rest, schema, 't', fields=FIELDS[:1])
    assert shown() is None
    duck.execute(f'ALTER TABLE lake.{schema}.t ADD COLUMN v VARIANT')
    assert shown() == 'false'
    for value in ('true', 'false'):
        commit({'action': 'set-properties', 'updates': {'read.parquet.vectorization.enabled': value}})
        assert shown() == value
    commit({'action': 'remove-properties', 'removals': ['read.parquet.vectorization.enabled']})
    assert shown() == 'false'
    # Its files are shown by older snapshots.
    duck.execute(f'ALTER TABLE lake.{schema}.t DROP COLUMN v')
    assert shown() == 'false'


def test_geometry_agrees_with_duckdbs_iceberg_reader(rest, duck, duck_iceberg, schema):
    table = make_table(rest, schema, 't', fields=[FIELDS[0], {'id': 2, 'name': 'g', 'type': 'geometry', 'required': False}])
    for rows in (30, 3):  # in a file, inlined
        duck.execute(f"INSERT INTO lake.{table} SELECT i, ('POINT(' || i || ' 1.5)')::GEOMETRY FROM range({rows}) r(i)")
    duck.execute(f'INSERT INTO lake.{table} VALUES (NULL, NULL)')
    query = 'SELECT a, g::VARCHAR FROM {}.{} ORDER BY ALL'
    wanted = duck.execute(query.format('lake', table)).fetchall()
    assert len(wanted) == 34
    assert duck_iceberg.execute(query.format('ice', table)).fetchall() == wanted


def test_a_geography_of_a_client_stays_one(rest, duck, schema):
    """DuckDB has one type for both, and reads and writes a geometry there."""
    kinds = {'g': 'geography', 'k': 'geography(srid:4269, karney)', 'm': 'geometry(srid:3857)'}
    fields = [FIELDS[0], *({'id': 2 + n, 'name': name, 'type': kind, 'required': False} for n, (name, kind) in enumerate(kinds.items()))]
    table = make_table(rest, schema, 't', fields=fields)

    def shown():
        found = opened(rest, table)
        current, = [one for one in found['schemas'] if one['schema-id'] == found['current-schema-id']]
        return {field['name']: field['type'] for field in current['fields']}

    assert shown() == {'a': 'long', **kinds}
    assert {row[1] for row in duck.execute(f'DESCRIBE lake.{table}').fetchall()} == {'BIGINT', 'GEOMETRY'}
    point = "'POINT(7 1.5)'::GEOMETRY"
    for rows in (30, 3):  # in a file, inlined
        duck.execute(f"INSERT INTO lake.{table} SELECT i, {point}, {point}, {point} FROM range({rows}) r(i)")
        assert shown() == {'a': 'long', **kinds}
    duck.execute(f'ALTER TABLE lake.{table} ADD COLUMN later INTEGER')
    duck.execute(f'ALTER TABLE lake.{table} RENAME COLUMN k TO renamed')
    kinds['renamed'] = kinds.pop('k')
    assert shown() == {'a': 'long', **kinds, 'later': 'int'}
    assert duck.execute(f'SELECT count(*), min(g::VARCHAR), max(renamed::VARCHAR) FROM lake.{table}').fetchone() == (33, 'POINT (7 1.5)', 'POINT (7 1.5)')


@pytest.fixture
def geospatial(spark):
    """Spark's own switch for such columns, off as it comes."""
    spark.conf.set('spark.sql.geospatial.enabled', 'true')
    yield spark
    spark.conf.unset('spark.sql.geospatial.enabled')


def geo_table(rest, schema, kind):
    return make_table(rest, schema, 't', fields=[FIELDS[0], {'id': 2, 'name': 'g', 'type': kind, 'required': False}])


def by_spark(spark, table):
    return [tuple(row) for row in spark.sql(f'SELECT a, hex(ST_AsBinary(g)) FROM lake.{table} ORDER BY a').collect()]


def by_duckdb(duck, table):
    return duck.execute(f'SELECT a, hex(ST_AsWKB(g)) FROM lake.{table} ORDER BY a').fetchall()


SHAPES = "(['POINT(' || i || ' 1.5)', 'LINESTRING(0 ' || i || ', 1 1)', 'POLYGON((0 0, ' || i + 1 || ' 0, 1 1, 0 0))'])[1 + i % 3]::GEOMETRY"


def test_geometry_agrees_with_spark(rest, duck, geospatial, schema):
    table = geo_table(rest, schema, 'geometry')
    for first, rows in ((0, 30), (100, 3)):  # in a file, inlined
        duck.execute(f'INSERT INTO lake.{table} SELECT {first} + i, {SHAPES} FROM range({rows}) r(i)')
    duck.execute(f'INSERT INTO lake.{table} VALUES (200, NULL)')
    assert by_spark(geospatial, table) == by_duckdb(duck, table)
    geospatial.sql(f'INSERT INTO lake.{table} SELECT a + 1000, g FROM lake.{table} WHERE a IN (3, 4, 5, 101, 200)')
    geospatial.sql(f'DELETE FROM lake.{table} WHERE a < 20')
    duck.execute(f'DELETE FROM lake.{table} WHERE a = 101')
    assert by_spark(geospatial, table) == by_duckdb(duck, table)
    assert len(by_duckdb(duck, table)) == 34 + 5 - 20 - 1


def data_files(spark, table):
    return {row[0] for row in spark.sql(f'SELECT file_path FROM lake.{table}.files WHERE content = 0').collect()}


def points_at(snapshot, rest, duck, spark, table):
    """What both have of the rows at that snapshot, once the copies of DuckDB's files are there."""
    opened(rest, table, newest(duck))
    by_client = spark.sql(f'SELECT a, hex(ST_AsBinary(g)) FROM lake.{table} VERSION AS OF {snapshot} ORDER BY a').collect()
    rows = duck.execute(f'SELECT a, hex(ST_AsWKB(g)) FROM lake.{table} AT (VERSION => {snapshot}) ORDER BY a').fetchall()
    assert [tuple(row) for row in by_client] == rows
    return rows


def test_geography_agrees_with_spark(rest, duck, geospatial, schema):
    table = geo_table(rest, schema, 'geography')
    points = {n: f'0101000000000000000000F03F00000000000000{n:02X}' for n in (0x40, 0x41)}
    seen = {}

    def both(rows):
        snapshot = newest(duck)
        seen[snapshot] = points_at(snapshot, rest, duck, geospatial, table)
        assert len(seen[snapshot]) == rows and by_spark(geospatial, table) == seen[snapshot]

    geospatial.sql(f"INSERT INTO lake.{table} VALUES {', '.join(f'({n}, ST_GeogFromWKB(X{chr(39)}{wkb}{chr(39)}))' for n, wkb in points.items())}, (99, NULL)")
    both(3)
    assert by_duckdb(duck, table) == [*points.items(), (99, None)]
    files = data_files(geospatial, table)
    # What DuckDB writes says geometry, which Spark 4.1 takes by its word.
    duck.execute(f'INSERT INTO lake.{table} SELECT 100 + i, {SHAPES} FROM range(30) r(i)')
    both(33)
    copy, = data_files(geospatial, table) - files
    assert '/copy-' in copy
    duck.execute(f'DELETE FROM lake.{table} WHERE a % 7 = 0')
    both(29)
    duck.execute(f"UPDATE lake.{table} SET g = 'POINT(1 2)'::GEOMETRY WHERE a % 5 = 0")  # of files of both
    both(29)
    geospatial.sql(f'DELETE FROM lake.{table} WHERE a = 101')
    geospatial.sql(f'INSERT INTO lake.{table} SELECT a + 1000, g FROM lake.{table} WHERE a IN (64, 102, 110)')
    both(31)
    duck.execute(f"CALL ducklake_rewrite_data_files('lake', '{table.split('.')[1]}', schema => '{schema}', delete_threshold => 0)")
    duck.execute(f"CALL ducklake_merge_adjacent_files('lake', '{table.split('.')[1]}', schema => '{schema}')")
    both(31)
    for snapshot, rows in seen.items():
        assert points_at(snapshot, rest, duck, geospatial, table) == rows


def test_files_added_to_a_geography_agree_with_spark(lake, rest, duck, geospatial, schema):
    table = geo_table(rest, schema, 'geography')
    place = f's3://{lake.s3_bucket}/beside/{schema}'
    duck.execute(f"COPY (SELECT i AS a, {SHAPES} AS g FROM range(30) r(i)) TO '{place}/g.parquet' (FORMAT parquet, GEOPARQUET_VERSION NONE)")
    duck.execute(f"CALL ducklake_add_data_files('lake', 't', '{place}/g.parquet', schema => '{schema}')")
    assert len(points_at(newest(duck), rest, duck, geospatial, table)) == 30
    duck.execute(f'DELETE FROM lake.{table} WHERE a < 10')
    assert len(points_at(newest(duck), rest, duck, geospatial, table)) == 20


def test_defaults_of_duckdb_are_seen_by_clients(duck, truth, readers, table):
    insert(duck, table, 0, 30)
    insert(duck, table, 50, 3)
    for definition in ('i INTEGER DEFAULT 7', "t VARCHAR DEFAULT 'it''s'", "d DATE DEFAULT '2020-02-29'",
                       'x DOUBLE DEFAULT 2.5', "b BLOB DEFAULT 'a\\x00'"):
        duck.execute(f'ALTER TABLE lake.{table} ADD COLUMN {definition}')
    insert_more = f"INSERT INTO lake.{table} (a, i) SELECT 100 + i, NULL FROM range({{}}) r(i)"
    for rows in (30, 3):
        duck.execute(insert_more.format(rows))
    assert assert_agree(truth, readers, table) == 66


def test_constants_that_duckdb_writes_as_expressions_are_defaults_too(rest, duck, truth, readers, spark, schema):
    table = f'{schema}.t'
    duck.execute(f"""CREATE TABLE lake.{table} (a BIGINT, ok BOOLEAN DEFAULT true, no BOOLEAN DEFAULT false, dt DATE DEFAULT DATE '2024-02-29',
        ts TIMESTAMP DEFAULT TIMESTAMP '2024-01-01 10:00:00.5', tz TIMESTAMPTZ DEFAULT TIMESTAMPTZ '2024-01-01 10:00:00+00',
        money DECIMAL(10,2) DEFAULT 1.5, made TIMESTAMPTZ DEFAULT current_timestamp)""")
    assert upgrade(rest, table, 3).status_code == 200
    spark.sql(f'INSERT INTO lake.{table} (a) VALUES (1)')
    duck.execute(f'INSERT INTO lake.{table} (a) VALUES (2)')
    rows = duck.execute(f'SELECT * EXCLUDE (a, made) FROM lake.{table}').fetchall()
    assert rows[0] == rows[1] and None not in rows[0]
    made = duck.execute(f'SELECT made IS NULL FROM lake.{table} ORDER BY a').fetchall()
    assert made == [(True,), (False,)], 'a default is a constant to Iceberg'
    assert assert_agree(truth, readers, table) == 2


def test_defaults_of_clients_are_duckdbs(rest, duck, truth, readers, spark, table):
    insert(duck, table, 0, 30)
    fields = FIELDS + [
        {'id': 3, 'name': 'i', 'type': 'int', 'required': False, 'initial-default': 7, 'write-default': 7},
        {'id': 4, 'name': 't', 'type': 'string', 'required': True, 'initial-default': 'old', 'write-default': "it's"},
        {'id': 5, 'name': 'b', 'type': 'binary', 'required': False, 'initial-default': '00FF', 'write-default': '61'}]
    answer = commit(rest, table, {'action': 'add-schema', 'schema': {'type': 'struct', 'fields': fields}},
                    {'action': 'set-current-schema', 'schema-id': -1})
    assert answer.status_code == 200, answer.text
    assert duck.execute(f'SELECT DISTINCT i, t, b FROM lake.{table}').fetchall() == [(7, 'old', b'\x00\xff')]
    duck.execute(f'INSERT INTO lake.{table} (a) VALUES (100)')
    assert duck.execute(f'SELECT i, t, b FROM lake.{table} WHERE a = 100').fetchall() == [(7, "it's", b'a')]
    fields[2]['write-default'] = 8
    del fields[4]['write-default']
    answer = commit(rest, table, {'action': 'add-schema', 'schema': {'type': 'struct', 'fields': fields}},
                    {'action': 'set-current-schema', 'schema-id': -1})
    assert answer.status_code == 200, answer.text
    duck.execute(f'INSERT INTO lake.{table} (a) VALUES (101)')
    assert duck.execute(f'SELECT i, t, b FROM lake.{table} WHERE a = 101').fetchall() == [(8, "it's", None)]
    assert assert_agree(truth, readers, table) == 32


def test_what_the_lake_cannot_hold_is_refused_by_name(rest, schema):
    refused = {'unknown': 'unknown', 'zoned': 'timestamptz_ns',
               'inner': {'type': 'struct', 'fields': [
                   {'id': 9, 'name': 'deep', 'type': 'int', 'required': False, 'write-default': 1}]}}
    for name, kind in refused.items():
        body = table_body('t', schema={'type': 'struct', 'fields': [{'id': 1, 'name': name, 'type': kind, 'required': False}]},
                          properties={'format-version': '3'})
        answer = rest.post(f'namespaces/{schema}/tables', body)
        assert_error(answer, 501)
        assert ('deep' if name == 'inner' else name) in answer.json()['error']['message']
