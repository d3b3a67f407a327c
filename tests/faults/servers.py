"""The servers of these tests: a stack of their own, and beside its catalog one that falls at a step."""
import contextlib
import os
import pathlib
import shutil
import tempfile

from lake_clients.lake import Lake
from stack import catalog, ports, process
from stack.process import wait_until
from stack.stack import Stack

SECONDS = 30


@contextlib.contextmanager
def own_stack(suffix, **settings):
    """Other tests must not see its servers fall, nor its load. The settings are the catalog's."""
    other = Stack.load(os.environ.get('LAKE_STACK', 'test'))
    stack = Stack.make(f'{other.name}-{suffix}', kind=other.state['kind'], binary=other.state['binary'])
    stack.catalog.settings.update(settings)
    try:
        for part in stack.parts():
            stack.start(part)
        yield stack
    finally:
        for part in reversed(stack.parts()):
            stack.stop(part)
        stack.wipe()


class Faulty(catalog.Lakeproxy):
    """tests/faults/server on the stack's PostgreSQL and store. Steps are armed by files, as its main.cc says."""

    name = 'faulty lakeproxy'

    def __init__(self, stack, settings):
        binary = pathlib.Path(stack.state['binary']).with_name('faulty_lakeproxy')
        super().__init__(stack.folder, ports.any_free(), stack.postgres, stack.store, binary, settings)
        self.steps = pathlib.Path(tempfile.mkdtemp(prefix='faults-'))
        self.log = stack.folder / f'faulty-{self.port}.log'
        self.server = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        for file in self.steps.iterdir():
            file.unlink()
        self.server.stop()
        shutil.rmtree(self.steps)

    def start(self):
        self.server = process.start([self.binary, self.steps], self.log, self.environment(), self.folder)
        process.wait_ready(self.name, self.server, self.log, self.ready, SECONDS)

    def file(self, step, state):
        return self.steps / f'{step}.{state}'

    def arm(self, step, state):
        self.file(step, state).touch()

    def await_pause(self, step):
        paused = self.file(step, 'paused')
        assert wait_until(paused.exists, SECONDS), f'step {step} was never reached'
        return paused

    def await_death(self, step):
        assert wait_until(lambda: not self.server.alive(), SECONDS), f'step {step} was never reached'
        self.file(step, 'killed').unlink()


def lake_of(stack):
    return Lake.of(stack.variables())
