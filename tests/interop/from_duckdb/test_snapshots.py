"""One lake commit is one Iceberg snapshot with the same id, and can be read again."""
import pyarrow as pa

from agreement import assert_agree


def last_snapshot(duck):
    return duck.execute("SELECT max(snapshot_id) FROM ducklake_snapshots('lake')").fetchone()[0]


def make_history(duck, table):
    """A table with a commit of each kind; the ids of the commits that changed its rows."""
    duck.execute(f'CREATE TABLE lake.{table} (a INTEGER, b VARCHAR)')
    marks = []
    for statement in (f"INSERT INTO lake.{table} SELECT n, 'one' FROM range(100) t(n)",
                      f"INSERT INTO lake.{table} VALUES (100, 'inlined')",
                      f'DELETE FROM lake.{table} WHERE a % 5 = 0',
                      f"UPDATE lake.{table} SET b = 'two' WHERE a < 50",
                      f"INSERT INTO lake.{table} SELECT n, 'three' FROM range(200, 300) t(n)",
                      f'DELETE FROM lake.{table} WHERE a = 201'):
        duck.execute(statement)
        marks.append(last_snapshot(duck))
        duck.execute(f"INSERT INTO lake.{table}_other VALUES ({len(marks)})")
    return marks


def test_lake_snapshots_are_iceberg_snapshots(duck, truth, readers, catalog, schema):
    table = f'{schema}.history'
    duck.execute(f'CREATE TABLE lake.{table}_other (n INTEGER)')
    marks = make_history(duck, table)
    metadata = catalog.load_table(table).metadata
    shown = [snapshot.snapshot_id for snapshot in metadata.snapshots]
    assert shown == marks, 'one for each commit, and none for those of the other table'
    for snapshot_id in shown:
        assert_agree(truth, readers, table, snapshot_id)


def test_snapshots_form_one_growing_chain(duck, catalog, schema):
    table = f'{schema}.chain'
    duck.execute(f'CREATE TABLE lake.{table}_other (n INTEGER)')
    make_history(duck, table)
    metadata = catalog.load_table(table).metadata
    chain = sorted(metadata.snapshots, key=lambda snapshot: snapshot.snapshot_id)
    assert chain[0].parent_snapshot_id is None
    for parent, child in zip(chain, chain[1:]):
        assert child.parent_snapshot_id == parent.snapshot_id
        assert child.timestamp_ms >= parent.timestamp_ms
        assert child.sequence_number > parent.sequence_number
    assert [entry.snapshot_id for entry in metadata.snapshot_log] == [s.snapshot_id for s in chain]
    assert [entry.timestamp_ms for entry in metadata.snapshot_log] == [s.timestamp_ms for s in chain]
    # The head goes with each commit.
    for by in ('DuckDB', 'a client', 'DuckDB'):
        if by == 'DuckDB':
            duck.execute(f"INSERT INTO lake.{table} VALUES (1000, 'newest')")
        else:
            loaded = catalog.load_table(table)
            loaded.append(pa.table({'a': [1001], 'b': ['newest']}, schema=loaded.schema().as_arrow()))
        head = catalog.load_table(table).metadata
        assert head.current_snapshot_id == head.refs['main'].snapshot_id == head.snapshot_log[-1].snapshot_id == last_snapshot(duck)


def test_snapshots_are_shown_one_second_earlier(duck, catalog, schema):
    """A client that anchors on the start of its transaction finds what was committed right before."""
    table = f'{schema}.earlier'
    duck.execute(f'CREATE TABLE lake.{table}_other (n INTEGER)')
    marks = make_history(duck, table)
    made = dict(duck.execute("SELECT snapshot_id, epoch_ms(snapshot_time) FROM ducklake_snapshots('lake')").fetchall())
    shown = {snapshot.snapshot_id: snapshot.timestamp_ms for snapshot in catalog.load_table(table).metadata.snapshots}
    assert {mark: shown[mark] for mark in marks} == {mark: made[mark] - 1000 for mark in marks}


def test_snapshots_name_their_operation(duck, catalog, schema):
    table = f'{schema}.operations'
    duck.execute(f'CREATE TABLE lake.{table}_other (n INTEGER)')
    marks = make_history(duck, table)
    duck.execute(f"CALL ducklake_rewrite_data_files('lake', 'operations', schema => '{schema}', delete_threshold => 0.1)")
    marks.append(last_snapshot(duck))
    operations = {s.snapshot_id: s.summary.operation.value for s in catalog.load_table(table).metadata.snapshots}
    assert [operations[mark] for mark in marks] == [
        'append', 'append', 'delete', 'overwrite', 'append', 'delete', 'replace']


def test_time_travel_follows_the_schema_of_its_time(duck, truth, catalog, schema):
    table = f'{schema}.schemas'
    duck.execute(f'CREATE TABLE lake.{table} (a INTEGER)')
    duck.execute(f'INSERT INTO lake.{table} SELECT n FROM range(20) t(n)')
    before = last_snapshot(duck)
    duck.execute(f'ALTER TABLE lake.{table} ADD COLUMN b VARCHAR')
    duck.execute(f"INSERT INTO lake.{table} SELECT n, 'b' FROM range(20) t(n)")
    rows = catalog.load_table(table).scan(snapshot_id=before).to_arrow()
    assert rows.column_names == ['a'] and rows.num_rows == 20
    assert truth.read(table, before).num_rows == 20
