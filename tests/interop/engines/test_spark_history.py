"""Older versions, tags and branches, and Spark's tables of metadata, against DuckDB on the lake; Spark's views."""
import pytest

from agreement import checksum


@pytest.fixture
def table(spark_tour, sql, duck, version):
    tour = spark_tour('history')
    name = f'lake.{tour.name}'
    sql(f"CREATE TABLE {name} (n BIGINT, part INT) USING iceberg PARTITIONED BY (part) "
        f"TBLPROPERTIES ('format-version' = '{version}', 'write.delete.mode' = 'merge-on-read')")
    sql(f'INSERT INTO {name} SELECT id, CAST(id % 2 AS INT) FROM range(20) r(id)')
    duck.execute(f'INSERT INTO {name} SELECT i, 7 FROM range(100, 112) r(i)')
    duck.execute(f'ALTER TABLE {name} ADD COLUMN later VARCHAR')
    sql(f"INSERT INTO {name} VALUES (112, 7, 'x')")
    sql(f'DELETE FROM {name} WHERE n IN (3, 4)')
    return tour


def test_older_versions_by_id_time_tag_and_branch(table, sql, catalog, spark):
    snapshots = catalog.load_table(table.name).snapshots()
    ids = [one.snapshot_id for one in snapshots]
    sql(f'ALTER TABLE lake.{table.name} CREATE TAG first AS OF VERSION {ids[0]} RETAIN 5 DAYS')
    sql(f'ALTER TABLE lake.{table.name} CREATE BRANCH side AS OF VERSION {ids[1]} WITH SNAPSHOT RETENTION 3 SNAPSHOTS 2 DAYS')

    def agrees(at, snapshot):
        columns = table.truth.columns(table.name, snapshot)
        found = spark.sql(f'SELECT * FROM lake.{table.name}{at}').toArrow()
        assert found.column_names == [name for name, _ in columns], at
        assert checksum(found, columns) == checksum(table.truth.read(table.name, snapshot), columns), at

    for one in snapshots:
        agrees(f' VERSION AS OF {one.snapshot_id}', one.snapshot_id)
        agrees(f" TIMESTAMP AS OF timestamp_millis({one.timestamp_ms})", one.snapshot_id)
    for at in (" VERSION AS OF 'first'", '.tag_first', f'.snapshot_id_{ids[0]}', f'.at_timestamp_{snapshots[0].timestamp_ms}'):
        agrees(at, ids[0])
    # A branch is read with the schema of the table: the column that came later is there, and null.
    assert sorted(sql(f"SELECT n FROM lake.{table.name} VERSION AS OF 'side'")) == sorted(
        table.duck.execute(f'SELECT n FROM lake.{table.name} AT (VERSION => {ids[1]})').fetchall())
    sql(f'ALTER TABLE lake.{table.name} REPLACE TAG first AS OF VERSION {ids[2]}')
    sql(f'ALTER TABLE lake.{table.name} CREATE OR REPLACE BRANCH side')
    assert {(row[0], row[1], row[2]) for row in sql(f'SELECT name, type, snapshot_id FROM lake.{table.name}.refs')} == {
        ('main', 'BRANCH', ids[-1]), ('first', 'TAG', ids[2]), ('side', 'BRANCH', ids[-1])}
    sql(f'ALTER TABLE lake.{table.name} DROP TAG first')
    sql(f'ALTER TABLE lake.{table.name} DROP BRANCH side')
    sql(f'ALTER TABLE lake.{table.name} DROP TAG IF EXISTS first')
    assert [row[0] for row in sql(f'SELECT name FROM lake.{table.name}.refs')] == ['main']
    with pytest.raises(Exception, match='Cannot find a snapshot older than'):
        sql(f"SELECT * FROM lake.{table.name} TIMESTAMP AS OF '2001-01-01'")
    table.agrees_always(at_least=4)


def test_the_tables_of_metadata_tell_the_truth(table, sql, duck):
    def of(what, columns, rest=''):
        return sql(f'SELECT {columns} FROM lake.{table.name}.{what} {rest}')

    ids = table.snapshots()
    assert [row[0] for row in of('snapshots', 'snapshot_id', 'ORDER BY committed_at')] == ids
    assert of('snapshots', 'parent_id', 'ORDER BY committed_at') == [(one,) for one in [None, *ids[:-1]]]
    assert [row[0] for row in of('history', 'snapshot_id', 'ORDER BY made_current_at')] == ids
    data, deletes = of('data_files', 'sum(record_count), count(*)')[0], of('delete_files', 'sum(record_count)')[0]
    assert data[0] - deletes[0] == duck.execute(f'SELECT count(*) FROM lake.{table.name}').fetchone()[0] == 31
    assert of('files', 'count(*)')[0][0] > data[1] and of('all_data_files', 'count(*)')[0][0] >= data[1]
    assert of('all_delete_files', 'count(*)')[0][0] > 0
    assert of('position_deletes', 'count(*)') == [(2,)]
    assert of('entries', 'count(*)', 'WHERE status < 2') == of('files', 'count(*)')
    assert of('all_entries', 'count(*)')[0][0] >= of('entries', 'count(*)')[0][0]
    assert of('manifests', 'sum(added_data_files_count + existing_data_files_count)', 'WHERE content = 0') == [(data[1],)]
    assert of('all_manifests', 'count(*)')[0][0] >= of('manifests', 'count(*)')[0][0]
    assert of('partitions', 'partition.part, record_count - position_delete_record_count', 'ORDER BY 1') == duck.execute(
        f'SELECT part, count(*) FROM lake.{table.name} GROUP BY ALL ORDER BY 1').fetchall()
    assert of('metadata_log_entries', 'latest_snapshot_id', 'ORDER BY timestamp DESC LIMIT 1') == [(ids[-1],)]


def test_views(sql, catalog, duck, schema):
    sql(f'CREATE TABLE lake.{schema}.t USING iceberg AS SELECT id AS n FROM range(5) r(id)')
    view = f'lake.{schema}.v'
    sql(f"CREATE VIEW IF NOT EXISTS {view} (number) TBLPROPERTIES ('a' = '1', 'b' = '2') AS SELECT n FROM lake.{schema}.t")
    with pytest.raises(Exception, match='VIEW_ALREADY_EXISTS|already exists'):
        sql(f'CREATE VIEW {view} AS SELECT 1 AS one')
    sql(f"ALTER VIEW {view} UNSET TBLPROPERTIES ('b')")
    assert catalog.load_view(f'{schema}.v').properties.items() >= {'a': '1'}.items()
    assert 'b' not in catalog.load_view(f'{schema}.v').properties
    assert ('a', '1') in sql(f'SHOW TBLPROPERTIES {view}')
    assert [row[1] for row in sql(f'SHOW VIEWS IN lake.{schema}')] == ['v']
    assert 'SELECT n' in sql(f'SHOW CREATE TABLE {view}')[0][0]
    assert ('number', 'bigint') in [row[:2] for row in sql(f'DESCRIBE {view}')]
    sql(f'CREATE OR REPLACE VIEW {view} AS SELECT sum(n) AS total FROM lake.{schema}.t')
    assert sql(f'SELECT total FROM {view}') == duck.execute(f'SELECT total FROM {view}').fetchall() == [(10,)]
    # Spark itself has no ALTER VIEW AS for the views of a catalog.
    with pytest.raises(Exception, match='ALTER VIEW <viewName> AS is not supported'):
        sql(f'ALTER VIEW {view} AS SELECT 2 AS two')
    sql(f'DROP VIEW {view}')
    sql(f'DROP VIEW IF EXISTS {view}')
    assert duck.execute("SELECT count(*) FROM duckdb_views() WHERE database_name = 'lake' AND schema_name = ?",
                        [schema]).fetchone() == (0,)
