"""The two catalogs on one PostgreSQL and one S3 store."""
import contextlib
import dataclasses

import requests
from pyiceberg.catalog import load_catalog

from lake_clients import iceberg
from lake_clients.lake import Lake
from stack import paths, ports
from stack.catalog import Lakeproxy, Reference
from stack.stack import Stack

BINARY = paths.ROOT / 'build/release/lakeproxy'


@dataclasses.dataclass(frozen=True)
class Catalog:
    """A catalog under load: by its client, and by its raw address."""

    name: str
    lake: Lake
    rebases: bool = True  # plain appends of others are no conflict to it

    def client(self):
        return load_catalog(self.name, **iceberg.properties(self.lake))

    def base(self):
        config = requests.get(f'{self.lake.uri}/v1/config', params={'warehouse': self.lake.warehouse},
                              timeout=30).json()
        prefix = {**config.get('defaults', {}), **config.get('overrides', {})}.get('prefix')
        return f'{self.lake.uri}/v1/{prefix + "/" if prefix else ""}'


@contextlib.contextmanager
def beside(stack, name, settings):
    """A server beside the stack's, with settings of its own; the stack's folder holds its log, called `name`."""
    server = Lakeproxy(stack.folder, ports.any_free(), stack.postgres, stack.store, stack.state['binary'], settings)
    server.log = stack.folder / f'{name}.log'
    running = server.start()
    server.pid = running.pid
    try:
        yield server
    finally:
        server.stop(running)


class OwnStack:
    """A stack of a run's own, in a release build, removed at the end."""

    def __init__(self, name, binary=BINARY):
        self.stack = Stack.make(name, binary=binary)

    def parts(self):
        return self.stack.parts()

    def __enter__(self):
        for part in self.parts():
            self.stack.start(part)
        return self

    def __exit__(self, *fault):
        for part in reversed(self.parts()):
            self.stack.stop(part)
        self.stack.wipe()

    def lakeproxy_catalog(self):
        return Catalog('lakeproxy', Lake.of(self.stack.variables()))

    def serving(self, catalog):
        return self.stack.catalog

    def processes(self, catalog):
        """Those that a request to `catalog` may keep busy, by name."""
        return {part.name: self.stack.process_of(part).pid for part in (self.serving(catalog), self.stack.postgres, self.stack.store)}


class BenchStack(OwnStack):
    """The reference is started beside lakeproxy."""

    def __init__(self, binary=BINARY):
        super().__init__('bench', binary)
        self.reference = Reference(self.stack.folder, ports.any_free(), self.stack.postgres, self.stack.store)

    def parts(self):
        return [*self.stack.parts(), self.reference]

    def catalogs(self):
        ours = self.lakeproxy_catalog()
        reference = dataclasses.replace(ours.lake, uri=self.reference.uri())
        return [ours, Catalog('reference catalog', reference, rebases=False)]

    def serving(self, catalog):
        return self.stack.catalog if catalog.rebases else self.reference
