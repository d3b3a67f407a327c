"""One database removes objects under a prefix: a copy of it is refused, and loses nothing of what it does not know."""
import contextlib
import json
import subprocess

import pyarrow as pa
import pytest

import readers
from by_hand import Watched
from lake_clients import duck as duckdb_client
from own_lake import own_stack, rows_at
from rest import Rest, assert_error
from stack import postgres
from stack.process import wait_until

ROWS = pa.table({'a': list(range(100))})
OWNER = 'data/lakeproxy-owner.json'


@pytest.fixture(scope='module')
def own():
    with own_stack('owner', LAKEPROXY_FILE_GRACE='0', LAKEPROXY_DISABLE_NOTIFY='1') as own:
        own.duck.execute('CREATE SCHEMA lake.o')
        own.catalog.create_table('o.t', ROWS.schema).append(ROWS)
        yield own


def dump(own, *options):
    command = [postgres.BINARIES / 'pg_dump', *options, 'lake']
    return subprocess.run(command, env=own.stack.postgres.environment(), check=True, capture_output=True).stdout


def restore(own, script, database):
    command = [postgres.BINARIES / 'psql', '-q', '-v', 'ON_ERROR_STOP=1', '-d', database]
    subprocess.run(command, env=own.stack.postgres.environment(), input=script, check=True, capture_output=True)


@pytest.fixture
def clone(own):
    """The name of a copy of the database as it is now."""
    own.ask('CREATE DATABASE clone', 'postgres')
    restore(own, dump(own), 'clone')
    yield 'clone'
    own.ask('DROP DATABASE clone WITH (FORCE)', 'postgres')


@contextlib.contextmanager
def nothing_lost(own):
    before = own.objects.keys('')
    yield
    assert own.objects.keys('') == before
    both = (readers.Direct(own.duck), readers.PyIceberg(own.catalog))
    assert len({json.dumps(rows_at(reader, 'o.t')) for reader in both}) == 1


def write(own):
    """A commit of each access path, seen by a load. What the client wrote for its own is removed behind the answer."""
    own.catalog.load_table('o.t').append(ROWS)
    assert wait_until(lambda: not any('-m0.avro' in key for key in own.objects.keys('')), 30)
    own.duck.execute('INSERT INTO lake.o.t SELECT n FROM range(1000) r(n)')
    own.rest.get('namespaces/o/tables/t')


def refused(done, *words):
    assert done.returncode == 1, done.stdout + done.stderr
    for word in words:
        assert word in done.stderr


def test_a_clone_removes_nothing(own, clone):
    write(own)
    shown = own.gc('--json', '--older-than', '0s', LAKEPROXY_PG_DATABASE=clone)
    lost = {item['key'] for item in json.loads(shown.stdout)['orphans']}
    assert any(key.endswith('.parquet') for key in lost), 'to the clone, live files are orphans'
    with nothing_lost(own):
        refused(own.gc('--remove', '--older-than', '0s', LAKEPROXY_PG_DATABASE=clone), OWNER, 'database-number', '--take-over')
    # The deny's allow: the owner itself.
    own.objects.put('data/orphan')
    assert 'data/orphan' in own.remove_orphans()


def test_a_server_on_a_clone_purges_and_removes_nothing(own, clone):
    write(own)
    with Watched.beside(own.stack, LAKEPROXY_PG_DATABASE=clone, LAKEPROXY_DISABLE_NOTIFY='1') as other, nothing_lost(own):
        rest = Rest(other.uri(), 'lake')
        answer = rest.send('DELETE', 'namespaces/o/tables/t?purgeRequested=true')
        assert_error(answer, 409)
        assert 'lakeproxy-owner.json' in answer.json()['error']['message']
        assert rest.send('HEAD', 'namespaces/o/tables/t').status_code == 204, 'it is not dropped either'
        assert OWNER in other.log.read_text()


def test_an_administrator_takes_over(own, clone):
    other = {'LAKEPROXY_PG_DATABASE': clone}
    with nothing_lost(own):
        done = own.gc('--take-over', **other)
        assert done.returncode == 0 and 'database-number' in done.stdout, done.stderr
        refused(own.gc('--remove', '--older-than', '0s'), OWNER)
        assert_error(own.rest.send('DELETE', 'namespaces/o/tables/t?purgeRequested=true'), 409)
    own.objects.put('data/orphan')
    assert 'data/orphan' in own.remove_orphans(**other)
    assert own.gc('--take-over').returncode == 0
    refused(own.gc('--remove', '--older-than', '0s', **other), OWNER)
    own.objects.put('data/orphan')
    assert 'data/orphan' in own.remove_orphans()


def test_without_a_readable_owner_nothing_is_removed(own):
    text = own.objects.client.get_object(own.objects.bucket, OWNER).data
    own.objects.client.remove_object(own.objects.bucket, OWNER)
    own.stack.stop(own.stack.catalog)
    own.stack.start(own.stack.catalog)
    own.objects.put('data/orphan')
    with nothing_lost(own):
        refused(own.gc('--remove', '--older-than', '0s'), OWNER, 'not there')
    for broken in (b'', b'[]', b'{}', text[:-5]):
        own.objects.put(OWNER, broken)
        with nothing_lost(own):
            refused(own.gc('--remove', '--older-than', '0s'), OWNER)
    own.objects.put(OWNER, text)
    assert 'data/orphan' in own.remove_orphans()


def age(own):
    """The database's times as if all of it had happened an hour ago."""
    own.ask("UPDATE ducklake_snapshot SET snapshot_time = snapshot_time - interval '1 hour';"
            'UPDATE lakeproxy_metadata_log SET timestamp_ms = timestamp_ms - 3600000;'
            'UPDATE lakeproxy_table SET updated_ms = updated_ms - 3600000;'
            "UPDATE lakeproxy_state SET owner_since = owner_since - interval '1 hour'")


@pytest.mark.parametrize('writer', ['lakeproxy', 'duckdb'])
def test_a_backup_that_was_restored_in_place_removes_nothing(own, writer):
    backup = dump(own, '--clean', '--if-exists')
    if writer == 'lakeproxy':
        own.catalog.load_table('o.t').append(ROWS)
        own.rest.get('namespaces/o/tables/t')
    else:
        with duckdb_client.connect_lake(own.lake) as duck:
            duck.execute('INSERT INTO lake.o.t SELECT n FROM range(1000) r(n)')
    own.stack.stop(own.stack.catalog)
    restore(own, backup, 'lake')
    age(own)
    own.stack.start(own.stack.catalog)
    before = own.objects.keys('')
    refused(own.gc('--remove', '--older-than', '0s'), 'older than the store', '--take-over')
    assert own.objects.keys('') == before
    shown = own.gc('--older-than', '0s')
    assert shown.returncode == 0 and 'older than the store' in shown.stderr
    assert own.gc('--take-over').returncode == 0
    removed = own.remove_orphans()
    assert '.parquet' in removed
    assert rows_at(readers.PyIceberg(own.catalog), 'o.t')
