"""Compaction: fewer files, and every reader sees the same rows as before at every snapshot that is kept."""
import threading
import time

import duckdb
import pyarrow as pa
import pytest
import requests
from pyiceberg.exceptions import CommitFailedException

import readers
from agreement import engine
from lake_clients import duck as duckdb_client
from own_lake import Objects, as_shown, compact, compact_path, location_of, own_stack, rows_at, snapshots
from rest import Rest, assert_error
from stack.process import wait_until

ROWS = pa.table({'a': list(range(100)), 's': [f's{n}' for n in range(100)]})
IDLE = {'complete': True, 'rows-flushed': 0, 'rewritten': {'files-read': 0, 'files-written': 0},
        'merged': {'files-read': 0, 'files-written': 0}, 'snapshots-expired': 0, 'files-removed': 0, 'skipped': []}


def fill(duck, catalog, name, deleted=(0, 98)):
    """Small files of both access paths, inlined rows, deletes of each kind, and a column that comes later."""
    table = catalog.load_table(name)
    for n in range(4):
        if table.metadata.format_version == 2:
            table.append(pa.table({'a': list(range(n * 100, n * 100 + 100)), 's': ['py'] * 100}))
        else:  # PyIceberg reads format version 3 and does not write it.
            duck.execute(f"INSERT INTO lake.{name} SELECT n, 'py' FROM range({n * 100}, {n * 100 + 100}) r(n)")
        duck.execute(f"INSERT INTO lake.{name} SELECT n, 'duck' FROM range({1000 + n * 100}, {1100 + n * 100}) r(n)")
        duck.execute(f"INSERT INTO lake.{name} VALUES ({-n}, 'inlined')")
    duck.execute(f'DELETE FROM lake.{name} WHERE a BETWEEN {deleted[0]} AND {deleted[1]}')
    duck.execute(f'DELETE FROM lake.{name} WHERE a BETWEEN 1000 AND 1004')
    duck.execute(f"UPDATE lake.{name} SET s = 'changed' WHERE a BETWEEN 1100 AND 1130")


@pytest.fixture
def rest(lake):
    return Rest.of(lake)


@pytest.mark.parametrize('version, partitioned', [('2', False), ('3', False), ('2', True)])
def test_no_reader_sees_other_rows(rest, duck, catalog, duck_iceberg, schema, version, partitioned):
    name = f'{schema}.t'
    catalog.create_table(name, ROWS.schema, properties={'format-version': version})
    if partitioned:
        duck.execute(f'ALTER TABLE lake.{name} SET PARTITIONED BY (s)')
    # A flush of a table that is partitioned by a text is skipped where inlined rows were deleted.
    fill(duck, catalog, name, deleted=(1, 98) if partitioned else (0, 98))
    seen = as_shown(rest, duck, catalog, name)
    # PyIceberg applies each deletion vector of a Puffin file, also those that the snapshot's manifests do not list.
    client = readers.PyIceberg(catalog) if version == '2' else readers.DuckIceberg(duck_iceberg)
    now = rows_at(client, name)
    done = compact(rest, name)
    assert (done['complete'], done['skipped']) == (True, [])
    assert done['before']['rows'] == done['after']['rows'] == len(now)
    assert done['before']['inlined'] > 0 and done['after']['inlined'] == 0 and done['rows-flushed'] > 0
    assert done['after']['data-files'] < done['before']['data-files']
    assert done['merged']['files-read'] > done['merged']['files-written'] > 0
    fresh = duck.cursor()
    assert {key: value for key, value in as_shown(rest, fresh, catalog, name).items() if key in seen} == seen
    assert rows_at(readers.Direct(duck), name) == rows_at(client, name) == now
    newest = snapshots(duck)[-1]
    again = compact(rest, name)
    assert again == {**IDLE, 'before': done['after'], 'after': done['after']}
    assert snapshots(duck)[-1] == newest, 'there was nothing to do'


def test_a_reader_that_loaded_before_still_finds_its_files(rest, duck, catalog, schema, stack):
    name = f'{schema}.t'
    catalog.create_table(name, ROWS.schema)
    fill(duck, catalog, name)
    loaded = catalog.load_table(name)
    objects = Objects(stack)
    before = {key for key in objects.under(loaded.location()) if key.endswith('.parquet')}
    expected = rows_at(readers.Direct(duck), name)
    done = compact(rest, name)
    assert done['files-removed'] == 0
    assert before <= objects.under(loaded.location())
    with engine(found=loaded.scan().to_arrow()) as connection:
        assert connection.execute('SELECT * FROM found ORDER BY ALL').fetchall() == expected


def test_what_cannot_be_compacted(rest, schema, lake, duck):
    assert_error(rest.post(compact_path(f'{schema}.not_there')), 404)
    duck.execute(f'CREATE VIEW lake.{schema}.v AS SELECT 1 AS a')
    assert_error(rest.post(compact_path(f'{schema}.v')), 404)
    assert_error(rest.send('GET', compact_path(f'{schema}.v')), 405)
    listed = requests.get(f'{lake.uri}/v1/config', timeout=30).json()['endpoints']
    assert not any('compact' in endpoint for endpoint in listed), "it is not of Iceberg's API"


def test_an_empty_table_needs_nothing(rest, catalog, schema):
    catalog.create_table(f'{schema}.t', ROWS.schema)
    done = compact(rest, f'{schema}.t')
    assert {key: done[key] for key in IDLE} == IDLE


def test_one_compaction_of_a_table_at_a_time(rest, lake, duck, catalog, schema):
    catalog.create_table(f'{schema}.t', ROWS.schema)
    table_id = duck.execute(
        f"SELECT table_id FROM ducklake_table_info('lake') WHERE table_name = 't' AND schema_id = (SELECT schema_id "
        f"FROM __ducklake_metadata_lake.ducklake_schema WHERE schema_name = '{schema}' AND end_snapshot IS NULL)"
    ).fetchone()[0]
    with duck.cursor() as other:
        other.execute('BEGIN')
        other.execute(f"SELECT * FROM postgres_query('__ducklake_metadata_lake', 'SELECT 1 FROM pg_advisory_xact_lock("
                      f"hashtextextended(''lakeproxy.compact.public'', {table_id}))')").fetchall()
        answer = rest.post(compact_path(f'{schema}.t'))
        assert_error(answer, 503)
        assert 'compacted already' in answer.json()['error']['message']
        other.execute('ROLLBACK')
    compact(rest, f'{schema}.t')


def test_writers_of_both_access_paths_lose_nothing(rest, lake, duck, catalog, schema):
    name = f'{schema}.t'
    catalog.create_table(name, ROWS.schema)
    sums = {'py': 0, 'duck': 0}

    def attempt(act):
        """Whether it was done: both access paths tell their user of a conflict, and nothing was changed then."""
        try:
            act()
            return True
        except (duckdb.Error, CommitFailedException):
            return False

    def append(end):
        while time.monotonic() < end:
            table = catalog.load_table(name)
            if attempt(lambda: table.append(pa.table({'a': [1] * 20, 's': ['py'] * 20}))):
                sums['py'] += 20

    def insert(end):
        with duck.cursor() as own:
            while time.monotonic() < end:
                for sql, count in ((f"INSERT INTO lake.{name} SELECT 1, 'duck' FROM range(20)", 20),
                                   (f"INSERT INTO lake.{name} VALUES (1, 'duck')", 1)):
                    if attempt(lambda: own.execute(sql)):
                        sums['duck'] += count

    def delete(end):
        with duck.cursor() as own:
            while time.monotonic() < end:
                attempt(lambda: own.execute(f"INSERT INTO lake.{name} SELECT 2, 'gone' FROM range(30)"))
                attempt(lambda: own.execute(f"DELETE FROM lake.{name} WHERE s = 'gone'"))

    def merged_beside_them():
        end = time.monotonic() + 8
        writers = [threading.Thread(target=work, args=(end,)) for work in (append, insert, delete)]
        for writer in writers:
            writer.start()
        ran = []
        while time.monotonic() < end:
            ran.append(compact(rest, name))
        for writer in writers:
            writer.join()
        return any(done['merged']['files-read'] for done in ran)

    # Again where the machine is too slow for a merge in that time.
    assert any(merged_beside_them() for _ in range(5))
    duck.execute(f"DELETE FROM lake.{name} WHERE s = 'gone'")
    assert compact(rest, name)['complete']
    for reader in (readers.Direct(duck), readers.PyIceberg(catalog)):
        found = {}
        for _, who in rows_at(reader, name):
            found[who] = found.get(who, 0) + 1
        assert found == sums, reader.name


@pytest.fixture(scope='module')
def own():
    with own_stack('compact', LAKEPROXY_FILE_GRACE='0') as own:
        own.duck.execute('CREATE SCHEMA lake.c')
        yield own


def test_files_go_when_their_grace_is_over(own):
    name = 'c.gone'
    own.catalog.create_table(name, ROWS.schema)
    fill(own.duck, own.catalog, name)
    before = {key for key in own.objects.under(location_of(own.rest, 'c', 'gone')) if key.endswith('.parquet')}
    seen = as_shown(own.rest, own.duck, own.catalog, name)
    compact(own.rest, name)
    shown = as_shown(own.rest, own.duck.cursor(), own.catalog, name)
    assert {key: value for key, value in shown.items() if key in seen} == seen
    assert before <= own.objects.under(location_of(own.rest, 'c', 'gone')), 'published snapshots name them'
    head = rows_at(readers.PyIceberg(own.catalog), name)
    own.duck.execute("CALL ducklake_expire_snapshots('lake', older_than => now())")
    done = compact(own.rest, name)
    left = own.objects.under(location_of(own.rest, 'c', 'gone'))
    assert 0 < len(before - left) <= done['files-removed']
    assert rows_at(readers.PyIceberg(own.catalog), name) == head
    assert compact(own.rest, name)['files-removed'] == 0


def test_snapshots_expire_by_the_lakes_own_setting_and_tags_stay(own):
    name = 'c.old'
    own.catalog.create_table(name, ROWS.schema)
    fill(own.duck, own.catalog, name)
    tagged = own.catalog.load_table(name).metadata.snapshots[2].snapshot_id
    commit = {'requirements': [], 'updates': [{'action': 'set-snapshot-ref', 'ref-name': 'kept', 'type': 'tag',
                                              'snapshot-id': tagged}]}
    assert own.rest.post('namespaces/c/tables/old', commit).status_code == 200
    at_tag = rows_at(readers.PyIceberg(own.catalog), name, tagged)
    now = rows_at(readers.PyIceberg(own.catalog), name)
    assert compact(own.rest, name)['snapshots-expired'] == 0
    own.duck.execute("CALL lake.set_option('expire_older_than', '1 second')")
    time.sleep(1.2)
    own.duck.execute("INSERT INTO lake.c.old VALUES (5000, 'last')")
    done = compact(own.rest, name)
    assert done['snapshots-expired'] > 0 and done['files-removed'] > 0
    assert tagged in snapshots(own.duck) and len(snapshots(own.duck)) < 10
    with own.duck.cursor() as fresh:
        for reader in (readers.Direct(fresh), readers.PyIceberg(own.catalog)):
            assert rows_at(reader, name, tagged) == at_tag
            assert rows_at(reader, name) == sorted(now + [(5000, 'last')])
    assert own.catalog.load_table(name).metadata.refs['kept'].snapshot_id == tagged


def test_a_setting_that_is_no_time_is_told(own):
    own.catalog.create_table('c.told', ROWS.schema)
    own.duck.execute("UPDATE __ducklake_metadata_lake.ducklake_metadata SET value = 'soon' "
                     "WHERE key = 'expire_older_than'")
    done = compact(own.rest, 'c.told')
    assert not done['complete'] and done['skipped'][0]['step'] == 'expire'


def test_it_is_counted(own):
    text = requests.get(f'{own.lake.uri}/metrics', timeout=30).text
    counted = {line.rsplit(' ', 1)[0]: float(line.rsplit(' ', 1)[1]) for line in text.splitlines()
               if line.startswith('lakeproxy_compaction')}
    for series in ('lakeproxy_compactions_total{result="done"}', 'lakeproxy_compactions_total{result="partial"}',
                   'lakeproxy_compaction_files_merged_total', 'lakeproxy_compaction_files_removed_total'):
        assert counted[series] > 0, series


def test_without_the_extensions_it_is_refused_by_name(own):
    own.stack.stop(own.stack.catalog)
    own.stack.catalog.settings['LAKEPROXY_ENGINE_EXTENSIONS'] = ''
    own.stack.start(own.stack.catalog)
    own.catalog.create_table('c.without', ROWS.schema)
    answer = own.rest.post(compact_path('c.without'))
    assert_error(answer, 501)
    assert 'LAKEPROXY_ENGINE_EXTENSIONS' in answer.json()['error']['message']


CHANGED = {
    'type': ('i INTEGER', '(1), (2), (NULL)', 'ALTER i TYPE DOUBLE', '(2.5)'),
    'date': ('i DATE', "('2020-01-01'), (NULL)", 'ALTER i TYPE TIMESTAMP', "('2020-01-01 05:00:00')"),
    'default': ('i INTEGER', '(1), (NULL)', 'ADD COLUMN x INTEGER DEFAULT 7', '(3, 8)'),
}


@pytest.mark.parametrize('case', CHANGED)
def test_rows_from_before_a_change_are_compacted_like_others(lake, rest, duck, catalog, schema, case):
    columns, before, change, after = CHANGED[case]
    table = f'{schema}.t'
    duck.execute(f'CREATE TABLE lake.{table} ({columns})')
    for statement in (f'INSERT INTO lake.{table} VALUES {before}', f'ALTER TABLE lake.{table} {change}',
                      f'INSERT INTO lake.{table} VALUES {after}'):
        duck.execute(statement)
    with duckdb_client.connect_lake(lake) as fresh:
        wanted = rows_at(readers.Direct(fresh), table)
    assert rows_at(readers.PyIceberg(catalog), table) == wanted
    # The copies of the new files may still be made.
    assert wait_until(lambda: (answer := rest.post(compact_path(table), timeout=120)).status_code == 200
                      or assert_error(answer, 503), 60)
    with duckdb_client.connect_lake(lake) as fresh:  # ADR 0044: a session from before the flush may fail
        assert rows_at(readers.PyIceberg(catalog), table) == rows_at(readers.Direct(fresh), table) == wanted
    assert len(wanted) > 2
