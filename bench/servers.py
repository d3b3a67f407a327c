"""The two catalogs on one PostgreSQL and one S3 store."""
import dataclasses

import requests
from pyiceberg.catalog import load_catalog

from lake_clients import iceberg
from lake_clients.lake import Lake
from stack import paths, ports
from stack.catalog import Reference
from stack.stack import Stack

BINARY = paths.ROOT / 'build/release/lakeproxy'


@dataclasses.dataclass(frozen=True)
class Catalog:
    """A catalog under load: by its client, and by its raw address."""

    name: str
    lake: Lake

    def client(self):
        return load_catalog(self.name, **iceberg.properties(self.lake))

    def base(self):
        config = requests.get(f'{self.lake.uri}/v1/config', params={'warehouse': self.lake.warehouse},
                              timeout=30).json()
        prefix = {**config.get('defaults', {}), **config.get('overrides', {})}.get('prefix')
        return f'{self.lake.uri}/v1/{prefix + "/" if prefix else ""}'


class BenchStack:
    """A stack of its own, removed at the end; the reference is started beside lakeproxy."""

    def __enter__(self):
        self.stack = Stack.make('bench', binary=BINARY)
        for part in self.stack.parts():
            self.stack.start(part)
        self.reference = Reference(self.stack.folder, ports.any_free(), self.stack.postgres, self.stack.store)
        self.stack.start(self.reference)
        return self

    def __exit__(self, *fault):
        for part in [self.reference, *reversed(self.stack.parts())]:
            self.stack.stop(part)
        self.stack.wipe()

    def lakeproxy_catalog(self):
        return Catalog('lakeproxy', Lake.of(self.stack.variables()))

    def catalogs(self):
        ours = self.lakeproxy_catalog()
        return [ours, Catalog('reference catalog', dataclasses.replace(ours.lake, uri=self.reference.uri()))]
