"""A server that freezes with the lake's lock, and an answer to COMMIT that is late: the others go on, and nobody is told
what is not so."""
import concurrent.futures
import contextlib
import os
import signal
import time

import pytest
import requests

from faults.changes import Maker
from faults.reader import Reader
from faults.relay import Relay
from faults.servers import SECONDS, Faulty, lake_of, own_stack
from faults.test_compaction_steps import LOCKED as COMPACTION_LOCKED
from faults.test_steps import COMMIT_ANSWERED, LOCKED, PLANNED
from stack.process import wait_until

IDLE = 2  # seconds, of the setting
PATIENT = {'LAKEPROXY_PG_IDLE_TRANSACTION_TIMEOUT': str(IDLE)}
HASTE, LATE = 3, 4  # seconds: the deadline of a request, and what the answer to COMMIT takes
SAID_TO_BE_GONE = {409}


class World:
    def __init__(self, stack, first, second):
        self.stack = stack
        self.first = first
        self.second = second
        self.reader = Reader(stack, lake_of(stack))
        self.maker = Maker(self.reader.iceberg, self.reader)


@pytest.fixture(scope='module')
def world():
    with contextlib.ExitStack() as entered:
        stack = entered.enter_context(own_stack('frozen'))
        servers = [entered.enter_context(Faulty(stack, PATIENT)) for _ in range(2)]
        yield World(stack, *servers)


@contextlib.contextmanager
def frozen(server):
    os.kill(server.server.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(server.server.pid, signal.SIGCONT)


@pytest.mark.parametrize('step', (LOCKED, PLANNED))
def test_a_server_that_freezes_with_the_lock(world, step):
    stands_still, passes = world.maker.append(), world.maker.overwrite()
    world.first.arm(step, 'pause')
    with concurrent.futures.ThreadPoolExecutor(1) as sender:
        answer = sender.submit(stands_still.send, world.first)
        paused = world.first.await_pause(step)
        with frozen(world.first):
            began = time.monotonic()
            assert passes.send(world.second) == 200
            assert time.monotonic() - began < IDLE + 3
        paused.unlink()
        status = answer.result(timeout=2 * SECONDS)
    # Its transaction is gone, and it says so.
    assert status in SAID_TO_BE_GONE
    assert world.reader.state(stands_still.before) == stands_still.before
    assert world.reader.state(passes.before) == passes.after
    # It goes on: the same request is made now, once.
    assert wait_until(lambda: stands_still.send(world.first) == 200, SECONDS)
    assert world.reader.state(stands_still.before) == stands_still.after


def test_a_compaction_may_take_its_time(world):
    """Its lock is a transaction that says nothing for long; it must not be taken for a frozen one."""
    name = world.maker.name('appended')
    world.maker.append().send(world.second)
    url = f'/v1/lake/admin/namespaces/faults/tables/{name}/compact'
    world.first.arm(COMPACTION_LOCKED, 'pause')
    with concurrent.futures.ThreadPoolExecutor(1) as sender:
        answer = sender.submit(requests.post, world.first.uri() + url, timeout=SECONDS)
        paused = world.first.await_pause(COMPACTION_LOCKED)
        time.sleep(IDLE + 0.5)  # the time that the others would lose their transaction after
        assert requests.post(world.second.uri() + url, timeout=SECONDS).status_code == 503
        paused.unlink()
        assert answer.result(timeout=SECONDS).status_code == 200


def test_an_answer_to_commit_that_comes_after_the_deadline(world):
    """The commit is made, and this is what its client is told, if a little late."""
    change = world.maker.append()
    with Relay(world.stack.postgres.port) as wire:
        settings = {'LAKEPROXY_REQUEST_TIMEOUT': str(HASTE), 'LAKEPROXY_PG_HOST': '127.0.0.1',
                    'LAKEPROXY_PG_PORT': str(wire.port), 'LAKEPROXY_DISABLE_NOTIFY': '1'}
        with Faulty(world.stack, settings) as hasty, concurrent.futures.ThreadPoolExecutor(1) as sender:
            hasty.arm(PLANNED, 'pause')
            answer = sender.submit(change.send, hasty)
            paused = hasty.await_pause(PLANNED)
            with wire.delay(COMMIT_ANSWERED, LATE):
                paused.unlink()
                status = answer.result(timeout=2 * SECONDS)
            assert wire.spoiled.is_set(), 'the answer was not late'
    assert status == 200
    assert world.reader.state(change.before) == change.after
