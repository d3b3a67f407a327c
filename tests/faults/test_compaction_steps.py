"""A fault at every numbered step of a compaction: no row is lost, no reader reaches what is not there, and the next one
goes on to the end."""
import concurrent.futures
import contextlib
import threading
import time

import duckdb
import pyarrow as pa
import pytest
import requests

from faults.reader import Reader, counted
from faults.relay import REFUSE, Relay
from faults.servers import SECONDS, Faulty, lake_of, own_stack
from lake_clients import duck as duckdb_client
from stack.process import wait_until

# lakeproxy/maintenance/compaction/compactor.h
LOCKED, FLUSHED, REWRITTEN, MERGED, EXPIRED, PUBLISHED, REMOVED, FORGOTTEN = range(11, 19)
STEPS = (LOCKED, FLUSHED, REWRITTEN, MERGED, EXPIRED, PUBLISHED, REMOVED, FORGOTTEN)
ANSWERS = {200, 500, 503}  # done, or begun and to be asked for again
BATCHES, ROWS, GONE = 6, 30, 29  # of the first batch so many rows that its file is written anew
LEFT = {**dict.fromkeys(range(1, BATCHES), ROWS), 0: ROWS - GONE, 100: 3}
SCHEMA = pa.schema([('batch', pa.int64()), ('row', pa.int64())])


class World:
    """A lake that lets old snapshots go, and a server that falls, with a wire to the store that can be spoiled."""

    def __init__(self, stack, server, wire):
        self.stack = stack
        self.server = server
        self.wire = wire
        self.reader = Reader(stack, lake_of(stack))
        self.reader.iceberg.create_namespace('faults')
        self.made = 0

    def table(self):
        """With work for every step: small files, rows in PostgreSQL, files of deleted rows, old snapshots and the files that
        they name."""
        self.made += 1
        name = f'compacted_{self.made}'
        duck, table = self.reader.duck, self.reader.iceberg.create_table(f'faults.{name}', SCHEMA)
        for batch in (1, 2, 'merge', 0, *range(3, BATCHES)):
            if batch == 'merge':
                self.reader.load(name)
                duck.execute(f"CALL ducklake_merge_adjacent_files('lake', '{name}', schema => 'faults')")
                self.reader.load(name)
            else:
                duck.execute(f'INSERT INTO lake.faults.{name} SELECT {batch}, range FROM range({ROWS})')
        duck.execute(f'DELETE FROM lake.faults.{name} WHERE batch = 0 AND row < {GONE}')
        table.refresh()
        table.append(pa.table({'batch': [100] * 2, 'row': [0, 1]}, schema=SCHEMA))
        duck.execute(f'INSERT INTO lake.faults.{name} VALUES (100, 2)')
        assert self.reader.agreed(name) == LEFT
        time.sleep(0.2)  # what comes before is old then
        return name

    def compact(self, name):
        """The answer; None when the server went away."""
        url = f'{self.server.uri()}/v1/lake/admin/namespaces/faults/tables/{name}/compact'
        with contextlib.suppress(requests.ConnectionError):
            return requests.post(url, timeout=2 * SECONDS)

    def check(self, name):
        """Through both access paths, now and at each snapshot that is left; the objects are there."""
        self.reader.connect()
        assert self.reader.agreed(name) == LEFT
        table = self.reader.load(name)
        for snapshot in table.snapshots():
            at = f'lake.faults.{name} AT (VERSION => {snapshot.snapshot_id})'
            ours = dict(self.reader.duck.execute(f'SELECT batch, count(*) FROM {at} GROUP BY batch').fetchall())
            assert counted(table, snapshot.snapshot_id) == ours

    def finish(self, name):
        """The next compaction ends what was begun, and the one after it finds nothing to do."""
        answers = []

        def whole():
            answers.append(self.compact(name))
            return answers[-1] is not None and answers[-1].status_code == 200 and answers[-1].json()['complete']
        assert wait_until(whole, SECONDS), [answer and answer.text for answer in answers]
        again = self.compact(name).json()
        assert again['rows-flushed'] == again['merged']['files-read'] == again['rewritten']['files-read'] == 0
        assert again['after']['inlined'] == 0 and again['after']['data-files'] == 1, again
        self.check(name)


@pytest.fixture(scope='module')
def world():
    with contextlib.ExitStack() as entered:
        stack = entered.enter_context(own_stack('compaction'))
        wire = entered.enter_context(Relay(stack.store.port))
        settings = {'LAKEPROXY_S3_ENDPOINT': wire.endpoint(), 'LAKEPROXY_FILE_GRACE': '0'}
        server = entered.enter_context(Faulty(stack, settings))
        made = World(stack, server, wire)
        made.reader.duck.execute("CALL lake.set_option('expire_older_than', '100 milliseconds')")
        yield made


@pytest.mark.parametrize('step', STEPS)
def test_a_server_that_is_killed(world, step):
    name = world.table()
    world.server.arm(step, 'kill')
    assert world.compact(name) is None
    world.server.await_death(step)
    world.check(name)
    world.server.start()
    world.finish(name)


@pytest.mark.parametrize('step', STEPS)
def test_a_store_that_fails(world, step):
    """From the step on the store refuses everything, until the compaction has answered."""
    name = world.table()
    world.server.arm(step, 'pause')
    with concurrent.futures.ThreadPoolExecutor(1) as sender:
        answer = sender.submit(world.compact, name)
        paused = world.server.await_pause(step)
        with world.wire.spoil(REFUSE):
            paused.unlink()
            status = answer.result(timeout=2 * SECONDS).status_code
    assert status in ANSWERS
    world.check(name)
    world.finish(name)


@pytest.mark.parametrize('step', (FLUSHED, MERGED, REMOVED))
def test_postgres_that_restarts(world, step):
    name = world.table()
    world.server.arm(step, 'pause')
    with concurrent.futures.ThreadPoolExecutor(1) as sender:
        answer = sender.submit(world.compact, name)
        paused = world.server.await_pause(step)
        world.stack.stop(world.stack.postgres)
        world.stack.start(world.stack.postgres)
        paused.unlink()
        status = answer.result(timeout=2 * SECONDS).status_code
    assert status in ANSWERS
    world.check(name)
    world.finish(name)


def test_writers_beside_a_server_that_falls(world):
    """DuckDB goes on writing while compactions of the same table are killed at one step after the other."""
    name = world.table()
    ended = threading.Event()
    wrote = []

    def write():
        duck = duckdb_client.connect_lake(world.reader.lake)
        while not ended.is_set():
            with contextlib.suppress(duckdb.TransactionException):
                duck.execute(f'INSERT INTO lake.faults.{name} SELECT 200, range FROM range(20)')
                wrote.append(20)
            time.sleep(0.05)
    writer = threading.Thread(target=write)
    writer.start()
    for step in (FLUSHED, MERGED, PUBLISHED, REMOVED):
        world.server.arm(step, 'kill')
        world.compact(name)
        world.server.await_death(step)
        world.server.start()
    ended.set()
    writer.join()
    world.reader.connect()
    assert world.reader.agreed(name) == {**LEFT, 200: sum(wrote)}
    assert world.compact(name).json()['complete']
    world.reader.connect()
    assert world.reader.agreed(name) == {**LEFT, 200: sum(wrote)}
