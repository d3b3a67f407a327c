"""A fault at every numbered step of a commit: readers see the old state or the new one, and a retry makes it the new one once."""
import concurrent.futures
import contextlib
import dataclasses

import pytest

from faults.changes import Maker
from faults.reader import Reader
from faults.relay import REFUSE, STALL, Relay
from faults.servers import SECONDS, Faulty, lake_of, own_stack
from stack.process import wait_until

# lakeproxy/ducklake/commit/commit_step.h. The last step before the lake changes is PLANNED.
ASKED, PREPARED, LOCKED, PLANNED, COMMITTED, PUT, ANSWERED, RECORDED, CLEANED = range(1, 10)
COMMITS = (ASKED, PREPARED, LOCKED, PLANNED, COMMITTED, PUT, RECORDED, CLEANED)
STEPS = {
    'create': (ASKED, PREPARED, LOCKED, PLANNED, COMMITTED, PUT, ANSWERED, RECORDED),  # nothing of a client's to read or remove
    'staged': (COMMITTED, PUT, ANSWERED, RECORDED),  # up to there it is as staged_append
    'staged_append': (*COMMITS, ANSWERED),
    'properties': (COMMITTED, PUT, ANSWERED, RECORDED),  # up to there it is as append
    'append': (*COMMITS, ANSWERED),
    'overwrite': COMMITS,
    'transaction': COMMITS,
}
CASES = [(operation, step) for operation, steps in STEPS.items() for step in steps]
# From this step on the client may have its answer.
ANSWERED_BEFORE = {'create': ANSWERED, 'staged': ANSWERED, 'staged_append': ANSWERED, 'properties': ANSWERED, 'append': ANSWERED,
                   'overwrite': CLEANED, 'transaction': PUT}
DONE, NOT_DONE, UNKNOWN, BROKEN = {200, 204}, {409}, {500, 503}, {599}
BEHIND = 0.3  # seconds in which work behind an answer comes upon the fault, if it does
# No server publishes what another one has committed.
ALONE = {'LAKEPROXY_DISABLE_NOTIFY': '1'}
IMPATIENT = {'LAKEPROXY_REQUEST_TIMEOUT': '1'}
COMMIT_ANSWERED = b'COMMIT\0'


class World:
    """One server that falls, with a spoiled wire to the store, and another with one to PostgreSQL, that has no patience."""

    def __init__(self, stack, patient, impatient, store_wires, postgres_wire):
        self.stack = stack
        self.patient = patient
        self.impatient = impatient
        self.store_wires = store_wires
        self.postgres_wire = postgres_wire
        self.reader = Reader(stack, lake_of(stack))
        self.maker = Maker(self.reader.iceberg, self.reader)


@pytest.fixture(scope='module')
def world():
    with contextlib.ExitStack() as entered:
        stack = entered.enter_context(own_stack('steps', **ALONE))
        wires = [entered.enter_context(Relay(stack.store.port)) for _ in range(2)]
        postgres = entered.enter_context(Relay(stack.postgres.port))
        through = {'LAKEPROXY_PG_HOST': '127.0.0.1', 'LAKEPROXY_PG_PORT': str(postgres.port), **ALONE}
        patient = Faulty(stack, {'LAKEPROXY_S3_ENDPOINT': wires[0].endpoint(), **through})
        impatient = Faulty(stack, {'LAKEPROXY_S3_ENDPOINT': wires[1].endpoint(), **IMPATIENT, **ALONE})
        for server in (patient, impatient):
            entered.enter_context(server)
        yield World(stack, patient, impatient, {patient: wires[0], impatient: wires[1]}, postgres)


class Attempt:
    """One change sent to a server that will meet a fault at a step; what must hold in the end."""

    def __init__(self, world, operation, server):
        self.world = world
        self.server = server
        self.change = getattr(world.maker, operation)()
        self.newest = world.reader.newest()
        self.sender = concurrent.futures.ThreadPoolExecutor(1)
        self.answer = None

    def send(self):
        self.answer = self.sender.submit(self.change.send, self.server)

    def status(self):
        return self.answer.result(timeout=2 * SECONDS)

    def check(self, allowed, *states):
        """Readers see one of the states, and an answer says no more than is so."""
        assert self.status() in allowed
        if self.status() < 300:
            states = [self.change.after]
        elif self.status() < 500:
            states = [self.change.before]
        self.demand(*(states or [self.change.before, self.change.after]))

    def demand(self, *states):
        found = self.world.reader.state(self.change.before)
        assert found in states, f'{found} is none of {states}'

    def pause(self, step):
        """Sends; the file that keeps the server waiting at the step."""
        self.server.arm(step, 'pause')
        self.send()
        return self.server.await_pause(step)

    def finish(self):
        """The same request under the same key: it was done, or is done now, once."""
        assert wait_until(lambda: self.change.send(self.server) in DONE, SECONDS)
        self.demand(self.change.after)
        assert self.world.reader.newest() - self.newest == self.change.snapshots, 'the commit was made twice'
        self.sender.shutdown()


@pytest.mark.parametrize('operation, step', CASES)
def test_a_server_that_is_killed(world, operation, step):
    attempt = Attempt(world, operation, world.patient)
    world.patient.arm(step, 'kill')
    attempt.send()
    world.patient.await_death(step)
    attempt.check(BROKEN | (DONE if step >= ANSWERED_BEFORE[operation] else set()),
                  attempt.change.before if step <= PLANNED else attempt.change.after)
    world.patient.start()
    attempt.finish()


@pytest.mark.parametrize('operation, step', CASES)
def test_postgres_that_restarts(world, operation, step):
    attempt = Attempt(world, operation, world.patient)
    paused = attempt.pause(step)
    world.stack.stop(world.stack.postgres)
    world.stack.start(world.stack.postgres)
    world.reader.connect()
    paused.unlink()
    # A transaction that was open is gone for certain; a creation says so by another status than a commit.
    refused = {503} if operation == 'create' else {409}
    attempt.check(refused if step in (LOCKED, PLANNED) else DONE | NOT_DONE | UNKNOWN)
    attempt.finish()


@pytest.mark.parametrize('fault', (REFUSE, STALL))
@pytest.mark.parametrize('operation, step', CASES)
def test_a_store_that_fails(world, operation, step, fault):
    server = world.patient if fault == REFUSE else world.impatient
    attempt = Attempt(world, operation, server)
    paused = attempt.pause(step)
    with world.store_wires[server].spoil(fault) as spoiled:
        paused.unlink()
        attempt.status()
        spoiled.wait(BEHIND)
    attempt.check(DONE | NOT_DONE | UNKNOWN)
    attempt.finish()


@pytest.mark.parametrize('operation', STEPS)
def test_an_answer_of_postgres_that_is_lost(world, operation):
    """The one moment at which nobody here can know."""
    attempt = Attempt(world, operation, world.patient)
    paused = attempt.pause(PLANNED)
    with world.postgres_wire.cut(COMMIT_ANSWERED):
        paused.unlink()
        attempt.status()
    attempt.check(UNKNOWN, attempt.change.after)
    attempt.finish()


@pytest.mark.parametrize('operation', ('staged_append', 'append', 'transaction'))
def test_a_change_that_was_made_and_cannot_be_shown(world, operation):
    """Asked for again under its key, while the store fails: the change was made, whatever became of its files."""
    attempt = Attempt(world, operation, world.patient)
    world.patient.arm(COMMITTED, 'kill')
    attempt.send()
    world.patient.await_death(COMMITTED)
    world.patient.start()
    with world.store_wires[world.patient].spoil(REFUSE):
        again = attempt.change.send(world.patient)
    # A transaction answers without its tables.
    assert again in (DONE if operation == 'transaction' else {500})
    attempt.finish()


def test_a_key_that_nobody_can_look_up(world):
    """The change was made. While the database is away it must not be told as one that certainly was not."""
    attempt = Attempt(world, 'append', world.patient)
    attempt.send()
    assert attempt.status() in DONE
    with world.postgres_wire.spoil(REFUSE):
        assert attempt.change.send(world.patient) == 500
        # Without a key it is another change, and that one certainly did not happen.
        assert dataclasses.replace(attempt.change, key=None).send(world.patient) == 409
    attempt.finish()
