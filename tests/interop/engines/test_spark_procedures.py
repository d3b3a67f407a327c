"""Spark's procedures: files and manifests are rewritten, main moves, and no row changes by it."""
import pytest

from engine_tour import same

MERGE_ON_READ = "'write.delete.mode' = 'merge-on-read', 'write.delete.granularity' = 'file'"


@pytest.fixture
def table(spark_tour, sql, duck, version):
    """Three files in two partitions, inlined rows, deletes by both access paths."""
    tour = spark_tour('kept')
    name = f'lake.{tour.name}'
    sql(f"CREATE TABLE {name} (n BIGINT, s STRING) USING iceberg PARTITIONED BY (bucket(2, n)) "
        f"TBLPROPERTIES ('format-version' = '{version}', {MERGE_ON_READ})")
    for first in (0, 20):
        sql(f"INSERT INTO {name} SELECT id, concat('s', id) FROM range({first}, {first + 20}) r(id)")
    duck.execute(f"INSERT INTO {name} SELECT i, 'lake' FROM range(40, 60) r(i)")
    duck.execute(f"INSERT INTO {name} VALUES (100, 'inlined'), (101, 'inlined')")
    sql(f'DELETE FROM {name} WHERE n % 10 = 3')
    duck.execute(f'DELETE FROM {name} WHERE n % 10 = 4')
    sql(f'DELETE FROM {name} WHERE n IN (5, 25, 100)')
    return tour


def call(tour, procedure, *arguments):
    given = ', '.join([f"table => '{tour.name}'", *arguments])
    return tour.run(f'CALL lake.system.{procedure}({given})')


def test_files_and_manifests_are_rewritten(table, duck, version):
    rows = same(table.truth, table.readers, table.name)
    assert rows == 62 - 6 - 6 - 3
    rewritten = call(table, 'rewrite_position_delete_files', "options => map('rewrite-all', 'true')")[0]
    # Version 3 has one vector for each file: there is nothing to put together.
    assert (rewritten[0] > 0) == (version == '2')
    assert same(table.truth, table.readers, table.name) == rows
    call(table, 'rewrite_data_files', "options => map('delete-file-threshold', '1', 'remove-dangling-deletes', 'true')")
    assert same(table.truth, table.readers, table.name) == rows
    duck.execute(f'DELETE FROM lake.{table.name} WHERE n = 7')
    call(table, 'rewrite_data_files', "strategy => 'sort'", "sort_order => 'n DESC NULLS LAST'",
         "options => map('rewrite-all', 'true')")
    call(table, 'rewrite_data_files', "strategy => 'sort'", "sort_order => 'zorder(n, s)'", "where => 'n > 5'",
         "options => map('rewrite-all', 'true')")
    assert same(table.truth, table.readers, table.name) == rows - 1
    call(table, 'rewrite_manifests')
    assert call(table, 'compute_table_stats')
    assert [row[0] for row in call(table, 'ancestors_of')] == table.snapshots()[::-1]
    assert table.agrees_always(at_least=10) == rows - 1


def test_main_moves_back_and_forth(table, sql, catalog):
    def times():
        return {one.snapshot_id: one.timestamp_ms for one in catalog.load_table(table.name).snapshots()}

    ids = table.snapshots()
    call(table, 'rollback_to_snapshot', f'snapshot_id => {ids[1]}')
    assert same(table.truth, table.readers, table.name) == 40
    # The lake's history is one line: what came after an older snapshot stays an ancestor, with nothing to pick.
    with pytest.raises(Exception, match='already an ancestor'):
        call(table, 'cherrypick_snapshot', f'snapshot_id => {ids[2]}')
    call(table, 'set_current_snapshot', f'snapshot_id => {ids[-1]}')
    assert same(table.truth, table.readers, table.name) == 47
    sql(f'ALTER TABLE lake.{table.name} CREATE TAG early AS OF VERSION {ids[0]}')
    call(table, 'set_current_snapshot', "ref => 'early'")
    assert same(table.truth, table.readers, table.name) == 20
    moment = sql(f'SELECT timestamp_millis({times()[ids[2]] + 1})')[0][0]
    call(table, 'rollback_to_timestamp', f"timestamp => TIMESTAMP '{moment}'")
    assert same(table.truth, table.readers, table.name) == 60
    sql(f'ALTER TABLE lake.{table.name} CREATE BRANCH side AS OF VERSION {ids[3]}')
    # A branch of the lake's line is behind main, which holds what came later.
    with pytest.raises(Exception, match='not an ancestor'):
        call(table, 'fast_forward', "branch => 'main'", "to => 'side'")
    assert table.agrees_always(at_least=len(ids) + 4) == 60


def test_what_needs_a_line_beside_main_is_refused(table, sql, spark):
    before = table.snapshots()
    sql(f'ALTER TABLE lake.{table.name} CREATE BRANCH side')
    for statement in (f"INSERT INTO lake.{table.name}.branch_side VALUES (1, 'x')",
                      f'DELETE FROM lake.{table.name}.branch_side WHERE n = 1'):
        with pytest.raises(Exception, match='a snapshot that main does not point to'):
            sql(statement)
    sql(f"ALTER TABLE lake.{table.name} SET TBLPROPERTIES ('write.wap.enabled' = 'true')")
    spark.conf.set('spark.wap.id', 'staged')
    try:
        # A staged snapshot is on no branch: the lake's history is one line.
        with pytest.raises(Exception, match='a snapshot that main does not point to'):
            sql(f"INSERT INTO lake.{table.name} VALUES (1, 'x')")
    finally:
        spark.conf.unset('spark.wap.id')
    assert table.snapshots() == before
    assert same(table.truth, table.readers, table.name) == 47
