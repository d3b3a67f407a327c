"""Readable copies: what keeps them, what takes them, what refuses them."""
import time

import pytest

from own_lake import location_of, own_stack, snapshots
from rest import assert_error

SECONDS = 30


@pytest.fixture(scope='module')
def own():
    with own_stack('copies', LAKEPROXY_FILE_GRACE='0', LAKEPROXY_DISABLE_NOTIFY='1') as own:
        own.duck.execute('CREATE SCHEMA lake.c')
        yield own


def opened(own, name, wanted=1):
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        answer = own.rest.get(f'namespaces/c/tables/{name}')
        if answer.status_code == 200 and len(answer.json()['metadata']['snapshots']) >= wanted:
            return answer.json()['metadata']
        assert answer.status_code in (200, 503), answer.text
        time.sleep(0.1)
    raise AssertionError(answer.text[:400])


def copies(own, name):
    return {key for key in own.objects.under(location_of(own.rest, 'c', name)) if '/metadata/lake/copy-' in key}


def make(own, name):
    own.duck.execute(f'CREATE TABLE lake.c.{name} AS SELECT n, n::UINTEGER AS u FROM range(100) r(n)')


def count(own, name):
    return len(own.catalog.load_table(f'c.{name}').scan().to_arrow())


def test_gc_takes_what_nobody_names_and_keeps_the_rest(own):
    make(own, 'kept')
    opened(own, 'kept')
    made = copies(own, 'kept')
    assert len(made) == 1
    key = next(iter(made))
    stray = key[:key.rindex('copy-')] + 'copy-99-0123456789abcdef'
    own.objects.put(stray)
    assert stray in own.remove_orphans()
    assert copies(own, 'kept') == made
    assert count(own, 'kept') == 100


def test_a_copy_that_was_put_and_not_recorded_is_found(own):
    make(own, 'found')
    opened(own, 'found')
    own.ask('DELETE FROM lakeproxy_readable_copy')
    own.ask('DELETE FROM lakeproxy_snapshot')
    own.stack.stop(own.stack.catalog, kill=True)
    own.stack.start(own.stack.catalog)
    opened(own, 'found')
    assert len(copies(own, 'found')) == 1
    assert count(own, 'found') == 100


def test_a_copy_goes_with_the_last_snapshot_that_shows_it(own):
    make(own, 'gone')
    opened(own, 'gone')
    assert len(copies(own, 'gone')) == 1
    own.duck.execute('DELETE FROM lake.c.gone')
    own.duck.execute('INSERT INTO lake.c.gone SELECT n, n::UINTEGER FROM range(50) r(n)')
    opened(own, 'gone', wanted=3)
    assert len(copies(own, 'gone')) == 2
    own.remove_orphans()
    assert len(copies(own, 'gone')) == 2, 'an older snapshot shows it'
    own.duck.execute(f"CALL ducklake_expire_snapshots('lake', versions => {snapshots(own.duck)[:-1]})")
    opened(own, 'gone')
    own.duck.execute("CALL ducklake_cleanup_old_files('lake', cleanup_all => true)")
    own.remove_orphans()  # Lets go of what expired snapshots named,
    own.remove_orphans()  # and takes it.
    assert len(copies(own, 'gone')) == 1
    assert count(own, 'gone') == 50


def test_checkpoint_leaves_copies_alone(own):
    make(own, 'checked')
    opened(own, 'checked')
    made = copies(own, 'checked')
    own.duck.execute("CALL lake.set_option('delete_older_than', '0 seconds')")
    own.duck.execute('CHECKPOINT lake')
    assert copies(own, 'checked') == made
    assert count(own, 'checked') == 100


def test_purge_takes_copies(own):
    make(own, 'purged')
    opened(own, 'purged')
    location = location_of(own.rest, 'c', 'purged')
    assert copies(own, 'purged')
    assert own.rest.send('DELETE', 'namespaces/c/tables/purged?purgeRequested=true').status_code == 204
    assert not own.objects.under(location)


def test_a_broken_file_hides_the_snapshots_that_need_it(own):
    make(own, 'broken')
    opened(own, 'broken')
    location = location_of(own.rest, 'c', 'broken')
    own.duck.execute('INSERT INTO lake.c.broken SELECT n, n::UINTEGER FROM range(50) r(n)')
    path = own.ask("SELECT f.path FROM ducklake_data_file f JOIN ducklake_table t USING (table_id) WHERE t.table_name = 'broken' ORDER BY data_file_id DESC LIMIT 1")
    key = next(key for key in own.objects.under(location) if key.endswith(path))
    size = own.ask(f"SELECT file_size_bytes FROM ducklake_data_file WHERE path = '{path}'")
    own.objects.put(key, b'x' * int(size))
    until = time.monotonic() + SECONDS
    while time.monotonic() < until and not own.ask('SELECT failure FROM lakeproxy_readable_copy WHERE failure IS NOT NULL'):
        assert len(opened(own, 'broken')['snapshots']) == 1
        time.sleep(0.1)
    assert own.ask('SELECT count(*) FROM lakeproxy_readable_copy WHERE failure IS NOT NULL') == '1'
    assert len(opened(own, 'broken')['snapshots']) == 1
    assert count(own, 'broken') == 100


@pytest.mark.parametrize('settings, word', (({'LAKEPROXY_READABLE_COPIES': 'off'}, 'uint32'),
                                            ({'LAKEPROXY_READABLE_COPIES_MAX_BYTES': '10'}, 'LAKEPROXY_READABLE_COPIES_MAX_BYTES')))
def test_where_none_are_made_the_table_is_refused_by_name(settings, word):
    with own_stack('nocopies', LAKEPROXY_DISABLE_NOTIFY='1', **settings) as own:
        own.duck.execute('CREATE SCHEMA lake.c')
        make(own, 't')
        answer = own.rest.get('namespaces/c/tables/t')
        assert_error(answer, 501)
        message = answer.json()['error']['message']
        assert "'u'" in message and word in message
        own.duck.execute('CREATE OR REPLACE TABLE lake.c.t AS SELECT n, u::BIGINT AS u FROM lake.c.t')
        assert opened(own, 't')
        assert count(own, 't') == 100
