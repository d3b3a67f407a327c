"""After a commit of DuckDB its table is prepared before anybody asks for it."""
import contextlib
import os
import re

import pytest
import requests

from lake_clients import duck as duckdb_client
from lake_clients.lake import Lake
from rest import Rest
from stack import ports
from stack.catalog import Lakeproxy
from stack.process import wait_until
from stack.stack import Stack

PATIENCE = 15


def metric(uri, name):
    text = requests.get(f'{uri}/metrics', timeout=10).text
    found = re.search(rf'^{re.escape(name)} ([0-9.]+)', text, re.MULTILINE)
    return float(found[1]) if found else 0


def listens(uri):
    return metric(uri, 'lakeproxy_eager_listener') == 1


def prepared(uri):
    return metric(uri, 'lakeproxy_eager_loads_total{result="prepared"}')


def misses(uri):
    return metric(uri, 'lakeproxy_metadata_cache_misses_total')


@pytest.fixture(scope='module')
def own():
    """A stack of this file's own, without a catalog: who listens is what is tested."""
    other = Stack.load(os.environ.get('LAKE_STACK', 'test'))
    stack = Stack.make(f'{other.name}-eager', kind=other.state['kind'], binary=other.state['binary'])
    servers = [stack.postgres, stack.store]
    try:
        for part in servers:
            stack.start(part)
        yield stack
    finally:
        for part in reversed(servers):
            stack.stop(part)
        stack.wipe()


@pytest.fixture
def serve(own, tmp_path):
    """Starts a server on the stack's database; gives its address and what ends it."""
    with contextlib.ExitStack() as servers:
        def serve(**settings):
            folder = tmp_path / str(ports.any_free())
            folder.mkdir()
            server = Lakeproxy(folder, ports.any_free(), own.postgres, own.store,
                               own.state['binary'], settings)
            process = server.start()
            ended = servers.enter_context(contextlib.ExitStack())
            ended.callback(server.stop, process)
            return server.uri(), ended.close
        yield serve


def connect(own, schema):
    duck = duckdb_client.connect_lake(Lake.of(own.variables()))
    duck.execute(f'DROP SCHEMA IF EXISTS lake.{schema} CASCADE')
    duck.execute(f'CREATE SCHEMA lake.{schema}')
    return duck


def test_the_load_after_a_commit_of_duckdb_finds_the_table_ready(own, serve):
    uri, _ = serve()
    assert wait_until(lambda: listens(uri), PATIENCE)
    duck = connect(own, 'ready')
    for statement in ('CREATE TABLE lake.ready.t AS SELECT 1 AS a',
                      'INSERT INTO lake.ready.t VALUES (2), (3)'):
        before = prepared(uri)
        duck.execute(statement)
        assert wait_until(lambda before=before: prepared(uri) > before, PATIENCE)
    missed = misses(uri)
    table = Rest(uri, 'lake').get('namespaces/ready/tables/t').json()
    assert table['metadata']['snapshots'][-1]['summary']['total-records'] == '3'
    assert misses(uri) == missed


def test_a_commit_of_ours_wakes_nobody(own, serve):
    uri, _ = serve()
    assert wait_until(lambda: listens(uri), PATIENCE)
    duck = connect(own, 'ours')
    duck.execute('CREATE TABLE lake.ours.t AS SELECT 1 AS a')
    duck.execute('CREATE TABLE lake.ours.after (a INTEGER)')
    assert wait_until(lambda: prepared(uri) >= 2, PATIENCE)
    before = prepared(uri)
    path = 'namespaces/ours/tables/t'
    answer = Rest(uri, 'lake').post(path, {
        'requirements': [], 'updates': [{'action': 'set-properties', 'updates': {'k': 'v'}}]})
    assert answer.status_code == 200
    # What DuckDB does next is heard; what was ours stood before it and was not.
    duck.execute('INSERT INTO lake.ours.after VALUES (1)')
    assert wait_until(lambda: prepared(uri) > before, PATIENCE)


def test_one_server_listens_and_another_takes_its_place(serve):
    first, end_first = serve()
    assert wait_until(lambda: listens(first), PATIENCE)
    second, _ = serve()
    assert not listens(second)
    end_first()
    assert wait_until(lambda: listens(second), PATIENCE)


def test_the_listener_comes_back_after_the_database_was_away(own, serve):
    uri, _ = serve()
    assert wait_until(lambda: listens(uri), PATIENCE)
    own.stop(own.postgres)
    assert wait_until(lambda: not listens(uri), PATIENCE)
    own.start(own.postgres)
    assert wait_until(lambda: listens(uri), PATIENCE)


def test_without_the_listener_the_load_does_the_work(own, serve):
    uri, _ = serve(LAKEPROXY_DISABLE_NOTIFY='1')
    duck = connect(own, 'quiet')
    duck.execute('CREATE TABLE lake.quiet.t AS SELECT 1 AS a')
    missed = misses(uri)
    for _ in range(3):  # The first makes it, the others find it.
        assert Rest(uri, 'lake').get('namespaces/quiet/tables/t').status_code == 200
        assert misses(uri) == missed + 1
    duck.execute('INSERT INTO lake.quiet.t VALUES (2)')
    answer = Rest(uri, 'lake').get('namespaces/quiet/tables/t')
    assert answer.json()['metadata']['snapshots'][-1]['summary']['total-records'] == '2' and misses(uri) == missed + 2
    assert prepared(uri) == 0 and not listens(uri)
