"""lakeproxy gc --remove: what nothing names goes, and every reader sees the same as before at every snapshot that is kept."""
import json

import pyarrow as pa
import pytest
import requests

import readers
from own_lake import own_stack, rows_at, snapshots
from rest import assert_error

ROWS = pa.table({'a': list(range(100)), 's': [f's{n}' for n in range(100)]})
ORPHANS = {'data/nobody': b'1', 'data/g/t/data/left.parquet': b'22', 'data/g/t/metadata/left.avro': b'333',
           'data/g/v3/ducklake-0-delete.puffin': b'4444'}


@pytest.fixture(scope='module')
def own():
    with own_stack('gc', LAKEPROXY_FILE_GRACE='0', LAKEPROXY_DISABLE_NOTIFY='1') as own:
        yield own


@pytest.fixture(scope='module')
def gc(own):
    return own.gc


def found(done):
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def orphans(gc, *arguments):
    return {item['key'] for item in found(gc('--json', '--older-than', '0s', *arguments))['orphans']}


def removed(gc, *arguments):
    return orphans(gc, '--remove', *arguments)


def everything(own):
    """Each reader's rows of each table at each snapshot that it shows."""
    both = (readers.Direct(own.duck), readers.PyIceberg(own.catalog))
    seen = {}
    for name in ('t', 'v3'):
        metadata = own.rest.get(f'namespaces/g/tables/{name}').json()['metadata']
        for snapshot in [None] + [entry['snapshot-id'] for entry in metadata['snapshots']]:
            for reader in both:
                seen[reader.name, name, snapshot] = rows_at(reader, f'g.{name}', snapshot)
    seen['view'] = own.rest.get('namespaces/g/views/v').json()
    return seen


@pytest.fixture(scope='module')
def history(own):
    """Files, deletes and rows of every kind, a view, a table that is dropped, and snapshots that changed their form."""
    own.duck.execute('CREATE SCHEMA lake.g')
    own.duck.execute('CREATE TABLE lake.g.t (a BIGINT, s VARCHAR)')
    own.catalog.create_table('g.v3', ROWS.schema, properties={'format-version': '3'})
    for name in ('t', 'v3'):
        if name == 't':
            own.catalog.load_table('g.t').append(ROWS)
        else:
            own.duck.execute("INSERT INTO lake.g.v3 SELECT n, 's' FROM range(100) r(n)")
        own.duck.execute(f"INSERT INTO lake.g.{name} VALUES (1000, 'inlined')")
        own.rest.get(f'namespaces/g/tables/{name}')
        own.duck.execute(f'DELETE FROM lake.g.{name} WHERE a % 2 = 0 AND a < 90')
        own.rest.get(f'namespaces/g/tables/{name}')
        own.duck.execute(f"INSERT INTO lake.g.{name} SELECT n, 'x' FROM range(2000, 2100) r(n)")
    own.duck.execute('CREATE VIEW lake.g.v AS SELECT a FROM lake.g.t')
    own.catalog.create_table('g.dropped', ROWS.schema).append(ROWS)
    dropped = own.rest.get('namespaces/g/tables/dropped').json()['metadata-location']
    own.rest.send('DELETE', 'namespaces/g/tables/dropped')
    own.duck.execute("CALL ducklake_flush_inlined_data('lake', schema_name => 'g', table_name => 't')")
    own.duck.execute("CALL ducklake_merge_adjacent_files('lake', 't', schema => 'g')")
    return {'dropped': dropped, 'seen': everything(own)}


def test_nothing_young_is_an_orphan(own, gc, history):
    for key, content in ORPHANS.items():
        own.objects.put(key, content)
    for grace in ((), ('--older-than', '1h')):
        assert found(gc('--json', '--remove', *grace))['objects'] == 0


def test_orphans_are_shown_and_stay_unless_removal_is_asked_for(own, gc, history):
    before = own.objects.keys('')
    shown = found(gc('--json', '--older-than', '0s'))
    keys = {item['key']: item['bytes'] for item in shown['orphans']}
    assert ORPHANS.keys() <= keys.keys()
    # Besides: what the table showed before its files were merged.
    assert all('/metadata/' in key for key in keys.keys() - ORPHANS.keys())
    assert {key: keys[key] for key in ORPHANS} == {key: len(content) for key, content in ORPHANS.items()}
    assert shown['objects'] == len(keys) and shown['bytes'] == sum(keys.values())
    assert own.objects.keys('') == before
    assert not shown['removed']
    lines = gc('--dry-run', '--older-than', '0s').stdout.splitlines()
    assert '             1  data/nobody' in lines
    assert lines[-1].startswith(f'{len(keys)} orphans with {sum(keys.values())} bytes found')
    assert own.objects.keys('') == before
    both = gc('--dry-run', '--remove', '--older-than', '0s')
    assert both.returncode != 0 and '--remove' in both.stderr and own.objects.keys('') == before


def test_orphans_go_and_readers_see_the_same(own, gc, history):
    own.objects.put('elsewhere/not-ours')
    shown = orphans(gc)
    assert removed(gc) == shown
    left = own.objects.keys('')
    assert not left & shown and 'elsewhere/not-ours' in left
    assert removed(gc) == set()
    assert everything(own) == history['seen']
    own.stack.stop(own.stack.catalog)
    own.stack.start(own.stack.catalog)
    assert everything(own) == history['seen'], 'what a fresh process reads from the store'


def test_a_dropped_table_keeps_its_files_while_snapshots_show_it(own, gc, history):
    removed(gc)
    answer = own.rest.post('namespaces/g/register', {'name': 'dropped', 'metadata-location': history['dropped']})
    assert answer.status_code == 200, answer.text
    assert own.catalog.load_table('g.dropped').scan().to_arrow().num_rows == 100
    own.rest.send('DELETE', 'namespaces/g/tables/dropped')


def test_files_that_wait_for_their_removal_are_no_orphans(own, gc, history):
    own.duck.execute('CREATE TABLE lake.g.waits AS SELECT n FROM range(1000) r(n)')
    own.duck.execute('INSERT INTO lake.g.waits SELECT n FROM range(1000) r(n)')
    own.duck.execute("CALL ducklake_merge_adjacent_files('lake', 'waits', schema => 'g')")
    assert not any('/waits/' in key for key in removed(gc))
    assert len(own.objects.keys('data/g/waits/')) == 3


def test_what_expired_snapshots_named_goes(own, gc, history):
    before = {reader.name: rows_at(reader, 'g.t') for reader in
              (readers.Direct(own.duck), readers.PyIceberg(own.catalog))}
    own.duck.execute("CALL ducklake_expire_snapshots('lake', older_than => now())")
    own.duck.execute("CALL ducklake_cleanup_old_files('lake', cleanup_all => true)")
    assert len(snapshots(own.duck)) == 1
    own.rest.get('namespaces/g/tables/t')
    metadata = len(own.objects.keys('data/g/t/metadata/'))
    removed(gc)  # From now on the lists of expired snapshots count as let go of.
    removed(gc)
    assert len(own.objects.keys('data/g/t/metadata/')) < metadata
    assert not any('/dropped-' in key for key in own.objects.keys('data/')), 'expired with its snapshots'
    for reader in (readers.Direct(own.duck), readers.PyIceberg(own.catalog)):
        assert rows_at(reader, 'g.t') == before[reader.name]


def test_a_purge_that_broke_off_is_finished(own, gc, history):
    table = own.catalog.create_table('g.purged', ROWS.schema)
    table.append(ROWS)
    own.stack.stop(own.stack.store)
    try:
        assert_error(own.rest.send('DELETE', 'namespaces/g/tables/purged?purgeRequested=true'), 503)
    finally:
        own.stack.start(own.stack.store)
    assert own.objects.under(table.location())
    assert found(gc('--json'))['purged'] == 0
    assert found(gc('--json', '--remove'))['purged'] > 0
    assert own.objects.under(table.location()) == set()


def test_a_registered_catalog_is_searched_alone(own, gc, history):
    body = {'catalog_id': 'other', 'metadata_schema': 'other', 'data_prefix': 'other/'}
    assert requests.post(f'{own.lake.uri}/v1/catalogs', json=body, timeout=30).status_code == 201
    own.objects.put('other/orphan')
    own.objects.put('data/orphan')
    assert removed(gc, '--catalog', 'other') == {'other/orphan'}
    assert 'data/orphan' in own.objects.keys('data/')


@pytest.mark.parametrize('arguments, settings, code, told', [
    (('--older-than', '1h'), {'LAKEPROXY_FILE_GRACE': '7200'}, 2, 'LAKEPROXY_FILE_GRACE'),
    (('--older-than', 'soon'), {}, 2, '--older-than'),
    (('--catalog', 'nobody'), {}, 1, 'nobody'),
    ((), {'LAKEPROXY_S3_PREFIX': 'wrong/'}, 1, 'data path'),
    ((), {'LAKEPROXY_PG_DATABASE': 'postgres'}, 1, 'no lake'),
    ((), {'LAKEPROXY_PG_PORT': '1'}, 1, ''),
    ((), {'LAKEPROXY_S3_ROOT_SECRET': 'wrong'}, 1, '')])
def test_what_cannot_be_told_removes_nothing(own, gc, history, arguments, settings, code, told):
    own.objects.put('data/stays')
    arguments = ('--remove', *(arguments or ('--older-than', '0s')))
    done = gc(*arguments, **settings)
    assert done.returncode == code, done.stdout + done.stderr
    assert told in done.stderr
    assert 'wrong' not in done.stderr or 'wrong/' in done.stderr
    assert 'data/stays' in own.objects.keys('data/')
