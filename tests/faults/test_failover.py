"""PostgreSQL that takes no writes any more, and a standby that takes over without the last commits."""
import contextlib
import shutil
import subprocess

import pytest
import requests

from faults.changes import SCHEMA, Maker, appending
from faults.reader import Reader, counted
from faults.servers import SECONDS, Faulty, lake_of, own_stack
from lake_clients import duck as duckdb_client
from lake_clients import iceberg as iceberg_client
from lake_clients.lake import Lake
from stack import postgres, process
from stack.process import wait_until

PRIMARY, STANDBY = '127.0.0.1', '127.0.0.2'  # under one port


class Standby(postgres.Postgres):
    """A copy of a running server that follows it, at an address of its own."""

    name = 'standby'

    def __init__(self, primary, folder):
        super().__init__(folder, primary.socket_folder.with_name(primary.socket_folder.name + '-2'), primary.port, primary.password)
        self.data = self.folder / 'standby'
        self.server = None

    def copy(self):
        postgres.own_folder(self.data)
        process.run(postgres.as_server_user([
            postgres.BINARIES / 'pg_basebackup', '-D', self.data, '-R', '-X', 'stream', '-c', 'fast']), self.log,
            self.environment(), cwd='/')

    def start(self):
        postgres.own_folder(self.socket_folder)
        self.server = process.start(postgres.as_server_user([
            postgres.BINARIES / 'postgres', '-D', self.data, f'-p{self.port}', f'-k{self.socket_folder}',
            '-c', f'listen_addresses={STANDBY}', '-c', 'max_connections=200']), self.log)
        process.wait_ready(self.name, self.server, self.log, self.ready, SECONDS)

    def ready(self):
        return self.tells('SELECT 1') == '1'

    def tells(self, sql):
        """Empty when it does not answer."""
        done = subprocess.run([postgres.BINARIES / 'psql', '-qtAX', '-h', STANDBY, '-c', sql], env=self.environment(),
                              check=False, text=True, capture_output=True)
        return done.stdout.strip()

    def stop(self):
        if self.server:
            self.server.stop(process.signal.SIGINT)

    def wipe(self):
        shutil.rmtree(self.data, ignore_errors=True)
        shutil.rmtree(self.socket_folder, ignore_errors=True)


def ready(server):
    return requests.get(server.uri() + '/readyz', timeout=SECONDS).status_code


def lake_at(stack, server, host):
    """The lake as one server and one database tell it."""
    variables = stack.variables()
    return Lake.of({**variables, 'LAKE_URI': server.uri(),
                    'LAKE_PG_DSN': variables['LAKE_PG_DSN'].replace(PRIMARY, host)})


def test_a_database_that_takes_no_writes():
    with own_stack('read-only') as stack:
        reader = Reader(stack, lake_of(stack))
        change = Maker(reader.iceberg, reader).append()
        lake = f'{stack.catalog.uri()}/v1/lake/'
        set_read_only(stack, 'on')
        try:
            assert wait_until(lambda: ready(stack.catalog) == 503, SECONDS)
            answer = requests.post(lake + change.path, json=change.body, timeout=SECONDS)
            assert answer.status_code == 409 and answer.json()['error']['type'] == 'CommitFailedException'
            assert int(answer.headers['Retry-After']) >= 1
            made = requests.post(lake + 'namespaces', json={'namespace': ['never']}, timeout=SECONDS)
            assert made.status_code == 503
            assert requests.get(lake + change.path, timeout=SECONDS).status_code == 200
            assert 'takes no writes' in check(stack, {}).stdout
            metrics = requests.get(stack.catalog.uri() + '/metrics', timeout=SECONDS).text
            assert 'lakeproxy_commits_total{operation="updateTable",outcome="unavailable"} 1\n' in metrics
        finally:
            set_read_only(stack, 'off')
        assert reader.state(change.before) == change.before
        assert wait_until(lambda: ready(stack.catalog) == 200, SECONDS)
        assert change.send(stack.catalog) == 200
        assert reader.state(change.before) == change.after


def set_read_only(stack, state):
    for sql in (f'ALTER SYSTEM SET default_transaction_read_only = {state}', 'SELECT pg_reload_conf()'):
        stack.postgres.query('postgres', sql)


def check(stack, settings):
    environment = {**stack.catalog.environment(), **settings}
    return subprocess.run([stack.catalog.binary, 'check'], env=environment, text=True, capture_output=True, check=False)


@pytest.fixture
def world():
    with contextlib.ExitStack() as entered:
        stack = entered.enter_context(own_stack('failover'))
        standby = Standby(stack.postgres, stack.folder)
        entered.callback(standby.wipe)
        entered.callback(standby.stop)
        hosts = {'LAKEPROXY_PG_HOST': f'{PRIMARY},{STANDBY}', 'LAKEPROXY_PG_PORT': str(stack.postgres.port)}
        first = entered.enter_context(Faulty(stack, hosts))
        yield stack, standby, first, hosts


def append(server, stack, batch):
    table = iceberg_client.connect(lake_at(stack, server, PRIMARY)).load_table('faults.t')
    body = appending(table, batch)
    url = f'{server.uri()}/v1/lake/namespaces/faults/tables/t'
    return requests.post(url, json=body, timeout=SECONDS).status_code


def test_a_standby_that_takes_over_without_the_last_commits(world):
    stack, standby, first, hosts = world
    catalog = iceberg_client.connect(lake_at(stack, first, PRIMARY))
    catalog.create_namespace('faults')
    catalog.create_table('faults.t', SCHEMA)
    assert append(first, stack, 1) == 200
    standby.copy()
    standby.start()
    at = stack.postgres.query('postgres', 'SELECT pg_current_wal_lsn()').strip()
    assert wait_until(lambda: standby.tells(f"SELECT pg_last_wal_replay_lsn() >= '{at}'") == 't', SECONDS)
    # A standby is no place for a catalog: it answers questions, and takes no commit.
    told = check(stack, {**hosts, 'LAKEPROXY_PG_HOST': STANDBY})
    assert told.returncode == 1 and 'takes no writes' in told.stdout
    standby.stop()
    for lost in (2, 3):
        assert append(first, stack, lost) == 200
    assert counted(catalog.load_table('faults.t')) == {1: 3, 2: 3, 3: 3}
    stack.stop(stack.catalog)
    stack.stop(stack.postgres, kill=True)
    assert ready(first) == 503
    standby.start()
    assert standby.tells('SELECT pg_promote()') == 't'
    # Another server commits as often as was lost: the lake's numbers are the same again.
    with Faulty(stack, hosts) as second:
        for batch in (12, 13):
            assert append(second, stack, batch) == 200
    assert wait_until(lambda: ready(first) == 200, SECONDS)
    assert counted(catalog.load_table('faults.t')) == {1: 3, 12: 3, 13: 3}
    assert append(first, stack, 4) == 200
    expected = {1: 3, 12: 3, 13: 3, 4: 3}
    assert counted(catalog.load_table('faults.t')) == expected
    duck = duckdb_client.connect_lake(lake_at(stack, first, STANDBY))
    assert dict(duck.execute('SELECT batch, count(*) FROM lake.faults.t GROUP BY batch').fetchall()) == expected
