"""DuckDB replaces files behind published snapshots: what they name is kept until clients do not see them any more."""
import time

import pytest

import readers
from own_lake import compact, location_of, own_stack, rows_at, snapshots

KEPT = "SELECT count(*) FROM ducklake_files_scheduled_for_deletion WHERE schedule_start > '9000-01-01'"


@pytest.fixture(scope='module')
def own():
    with own_stack('kept', LAKEPROXY_FILE_GRACE='0') as own:
        own.duck.execute('CREATE SCHEMA lake.k')
        yield own


def publish(own, name):
    """{snapshot: its manifest list}"""
    metadata = own.catalog.load_table(name).metadata
    return {snapshot.snapshot_id: snapshot.manifest_list for snapshot in metadata.snapshots}


def kept_paths(own):
    return set(own.ask(KEPT.replace('count(*)', 'path')).splitlines())


def fill(own, name):
    own.duck.execute(f'CREATE TABLE lake.{name} (a INTEGER)')
    for first in (0, 100, 200):
        own.duck.execute(f'INSERT INTO lake.{name} SELECT n FROM range({first}, {first + 50}) r(n)')
        own.duck.execute(f'INSERT INTO lake.{name} VALUES ({first + 60})')
        publish(own, name)
    own.duck.execute(f'DELETE FROM lake.{name} WHERE a IN (3, 160)')
    return publish(own, name)


def flush_and_merge(own, name):
    schema, table = name.split('.')
    own.duck.execute(f"CALL ducklake_flush_inlined_data('lake', schema_name => '{schema}', table_name => '{table}')")
    publish(own, name)
    own.duck.execute(f"CALL ducklake_merge_adjacent_files('lake', '{table}', schema => '{schema}')")


def seen(own, name):
    reader = readers.PyIceberg(own.catalog)
    return {snapshot: rows_at(reader, name, snapshot) for snapshot in publish(own, name)}


def test_duckdbs_clean_up_leaves_what_is_published(own):
    name = 'k.kept'
    lists = fill(own, name)
    rows = seen(own, name)
    flush_and_merge(own, name)
    assert publish(own, name).items() > lists.items()
    operations = [snapshot.summary.operation.value for snapshot in own.catalog.load_table(name).metadata.snapshots]
    assert operations[len(lists):] == ['replace', 'replace']
    own.duck.execute("CALL lake.set_option('delete_older_than', '0 seconds')")
    for statement in ("CALL ducklake_cleanup_old_files('lake', older_than => now())",
                      "CALL ducklake_delete_orphaned_files('lake', older_than => now() + INTERVAL 1 DAY)",
                      'CHECKPOINT lake'):
        own.duck.execute(statement)
        assert int(own.ask(KEPT)) > 0, statement
        assert publish(own, name).items() >= lists.items(), statement
        now = seen(own, name)
        assert {snapshot: now[snapshot] for snapshot in rows} == rows, statement


def test_expiry_lets_the_files_go(own):
    name = 'k.expired'
    fill(own, name)
    flush_and_merge(own, name)
    head = readers.PyIceberg(own.catalog).read(name).num_rows
    own.duck.execute("CALL ducklake_expire_snapshots('lake', older_than => now())")
    assert own.ask(KEPT) == '0'
    before = own.objects.under(location_of(own.rest, 'k', 'expired'))
    own.duck.execute("CALL ducklake_cleanup_old_files('lake', older_than => now())")
    left = {key for key in own.objects.under(location_of(own.rest, 'k', 'expired')) if key.endswith('.parquet')}
    assert left < before
    assert readers.PyIceberg(own.catalog).read(name).num_rows == head
    assert len(snapshots(own.duck)) == 1


def test_a_clean_up_by_force_hides_the_snapshots_at_once(own):
    name = 'k.forced'
    lists = fill(own, name)
    flush_and_merge(own, name)
    publish(own, name)
    own.duck.execute("CALL ducklake_cleanup_old_files('lake', cleanup_all => true)")
    left = publish(own, name)
    assert set(lists) - set(left), 'some named what is gone'
    reader = readers.PyIceberg(own.catalog)
    direct = readers.Direct(own.duck)
    for snapshot in [*left, None]:
        assert rows_at(reader, name, snapshot) == rows_at(direct, name, snapshot)


def test_compaction_applies_the_tables_own_retention(own):
    name = 'k.retained'
    lists = fill(own, name)
    tagged = sorted(lists)[1]
    with own.catalog.load_table(name).manage_snapshots() as change:
        change.create_tag(tagged, 'kept')
    at_tag = rows_at(readers.PyIceberg(own.catalog), name, tagged)
    compact(own.rest, name)
    assert publish(own, name).items() > lists.items(), 'no age is set'
    with own.catalog.load_table(name).transaction() as change:
        change.set_properties({'history.expire.max-snapshot-age-ms': '1', 'history.expire.min-snapshots-to-keep': '2'})
    time.sleep(0.1)
    own.duck.execute(f'INSERT INTO lake.{name} VALUES (7000)')
    kept = kept_paths(own)
    compact(own.rest, name)
    left = publish(own, name)
    assert tagged in left and len(set(left) & set(lists)) == 1
    assert rows_at(readers.PyIceberg(own.catalog), name, tagged) == at_tag
    assert kept - kept_paths(own), 'files of the others go'
    with own.catalog.load_table(name).manage_snapshots() as change:
        change.remove_tag('kept')
    compact(own.rest, name)
    assert tagged not in publish(own, name)
