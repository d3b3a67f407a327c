"""Servers that go away, and a catalog that is killed: no lost row, no half-made one."""
import threading
import time

import pyarrow as pa
import pytest
import requests

from faults.servers import own_stack
from lake_clients import duck as duckdb_client
from lake_clients import iceberg as iceberg_client
from lake_clients.lake import Lake
from rest import Rest, assert_error, keyed, table_body
from stack.process import wait_until

BATCH = 3
KILLS = 6


@pytest.fixture(scope='module')
def own():
    """A stack of this file's own: other tests must not see its servers fall."""
    with own_stack('faults') as stack:
        yield stack


@pytest.fixture(scope='module')
def own_lake(own):
    return Lake.of(own.variables())


@pytest.fixture(scope='module')
def own_duck(own_lake):
    connection = duckdb_client.connect_lake(own_lake)
    connection.execute('CREATE SCHEMA lake.f')
    return connection


def status(lake, path):
    return requests.get(lake.uri + path, timeout=30).status_code


def assert_unavailable(answer):
    assert_error(answer, 503)
    assert int(answer.headers['Retry-After']) >= 1


def test_without_postgres_requests_are_503_until_it_returns(own, own_lake, own_duck):
    own_duck.execute('CREATE TABLE lake.f.waits (a INTEGER)')
    rest = Rest.of(own_lake)
    assert rest.get('namespaces/f/tables/waits').status_code == 200
    own.stop(own.postgres)
    try:
        assert_unavailable(rest.get('namespaces'))
        assert_unavailable(rest.get('namespaces/f/tables/waits'))
        assert_unavailable(rest.post('namespaces', {'namespace': ['never']}))
        assert status(own_lake, '/readyz') == 503
        assert status(own_lake, '/healthz') == 200
    finally:
        own.start(own.postgres)
    assert wait_until(lambda: status(own_lake, '/readyz') == 200, 15)
    assert rest.get('namespaces/f/tables/waits').status_code == 200
    assert rest.send('HEAD', 'namespaces/never').status_code == 404


def test_without_s3_new_metadata_is_503_until_it_returns(own, own_lake):
    connection = duckdb_client.connect_lake(own_lake)
    connection.execute('CREATE TABLE lake.f.unseen (a INTEGER)')
    connection.execute('INSERT INTO lake.f.unseen VALUES (1)')
    rest = Rest.of(own_lake)
    own.stop(own.store)
    try:
        assert_unavailable(rest.get('namespaces/f/tables/unseen'))
        assert rest.get('namespaces').status_code == 200
        assert status(own_lake, '/healthz') == 200
    finally:
        own.start(own.store)
    assert wait_until(lambda: rest.get('namespaces/f/tables/unseen').status_code == 200, 15)
    assert iceberg_client.connect(own_lake).load_table('f.unseen').scan().to_arrow().num_rows == 1


class Appender(threading.Thread):
    """Appends batches until told to stop; remembers which ones the catalog said were in."""

    def __init__(self, lake):
        super().__init__()
        self.lake = lake
        self.acknowledged = []
        self.tried = 0
        self.stopping = threading.Event()

    def run(self):
        while not self.stopping.is_set():
            number, self.tried = self.tried, self.tried + 1
            try:
                self.append(number)
                self.acknowledged.append(number)
            except Exception:  # noqa: BLE001  killed under us: the outcome of this batch is unknown
                time.sleep(0.05)

    def append(self, number):
        table = iceberg_client.connect(self.lake).load_table('f.killed')
        table.append(pa.table({'batch': [number] * BATCH, 'row': list(range(BATCH))},
                              schema=table.schema().as_arrow()))


def test_kill_9_during_appends_loses_no_committed_row(own, own_lake):
    connection = duckdb_client.connect_lake(own_lake)
    connection.execute('CREATE TABLE lake.f.killed (batch INTEGER, "row" INTEGER)')
    appender = Appender(own_lake)
    appender.start()
    try:
        for kill in range(KILLS):
            # Each kill waits for progress, then falls at another moment of a commit.
            wanted = len(appender.acknowledged) + 2
            assert wait_until(lambda n=wanted: len(appender.acknowledged) >= n, 60)
            time.sleep(0.013 * kill)
            own.stop(own.catalog, kill=True)
            own.start(own.catalog)
    finally:
        appender.stopping.set()
        appender.join()
    found = dict(connection.execute('SELECT batch, count(*) FROM lake.f.killed GROUP BY batch').fetchall())
    assert set(appender.acknowledged) <= set(found), 'a batch that was acknowledged is lost'
    assert set(found.values()) == {BATCH}, 'a batch is there in part, or twice'
    rows = iceberg_client.connect(own_lake).load_table('f.killed').scan().to_arrow()
    assert rows.num_rows == BATCH * len(found)


class Creator(threading.Thread):
    """Makes tables, each under a key, and asks again after every failure."""

    def __init__(self, lake):
        super().__init__()
        self.rest = Rest.of(lake)
        self.statuses = []
        self.stopping = threading.Event()

    def run(self):
        while not self.stopping.is_set():
            key, body = keyed(), table_body(f'keyed_{len(self.statuses)}')
            while (answer := self.ask(key, body)) >= 500:
                time.sleep(0.02)
            self.statuses.append(answer)

    def ask(self, key, body):
        try:
            return self.rest.post('namespaces/f/tables', body, **key).status_code
        except requests.RequestException:
            return 599


def test_a_key_outlives_the_server(own, own_lake, own_duck):
    creator = Creator(own_lake)
    creator.start()
    try:
        for kill in range(KILLS):
            wanted = len(creator.statuses) + 3
            assert wait_until(lambda n=wanted: len(creator.statuses) >= n, 60)
            time.sleep(0.011 * kill)
            own.stop(own.catalog, kill=True)
            own.start(own.catalog)
    finally:
        creator.stopping.set()
        creator.join()
    assert set(creator.statuses) == {200}, 'a creation that had been made was made or refused again'
    made = own_duck.execute("""SELECT count(*) FROM ducklake_snapshots('lake')
                               WHERE changes::VARCHAR LIKE '%keyed_%'""").fetchone()[0]
    assert made == len(creator.statuses)
