"""The kinds of commit that these tests interrupt: what is sent, and what the lake shows before and after."""
import collections
import dataclasses
import json
import secrets
import time

import pyarrow as pa
import requests

from oracle import commits
from oracle.avro_files import POSITION_DELETES

SCHEMA = pa.schema([('batch', pa.int64()), ('row', pa.int64())])
ROWS = 3  # of a batch
TIMEOUT = 40
USES = 8  # of a table


@dataclasses.dataclass
class Change:
    """A request, and the rows of each table it concerns: {table: {batch: rows}}; None where there is no table. Of a property
    {(table, property): value}."""

    path: str
    body: dict
    before: dict
    after: dict
    snapshots: int  # of the lake
    key: str = dataclasses.field(default_factory=lambda: new_key())

    def send(self, server):
        """The status; 599 when the server went away."""
        url = f'{server.uri()}/v1/lake/{self.path}'
        headers = {'Idempotency-Key': self.key} if self.key else {}
        try:
            return requests.post(url, json=self.body, headers=headers, timeout=TIMEOUT).status_code
        except requests.ConnectionError:
            return 599


def new_key():
    """A UUID of version 7."""
    text = f'{int(time.time() * 1000):012x}7{secrets.token_hex(2)[1:]}8{secrets.token_hex(8)[1:]}'
    return '-'.join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def rows(batch):
    return pa.table({'batch': [batch] * ROWS, 'row': list(range(ROWS))}, schema=SCHEMA)


def commit_body(table, updates, requirements):
    def plain(part):
        return part if isinstance(part, dict) else json.loads(part.model_dump_json(by_alias=True, exclude_none=True))
    *levels, name = table.name()
    return {'identifier': {'namespace': levels, 'name': name}, 'requirements': [plain(part) for part in requirements],
            'updates': [plain(part) for part in updates]}


def appending(table, batch):
    """What PyIceberg would commit to append a batch."""
    transaction = table.transaction()
    transaction.append(rows(batch))
    return commit_body(table, transaction._updates, transaction._requirements)


def add_files(snapshot, batch):
    loaded = snapshot.loaded
    snapshot.add(commits.data_files(loaded, rows(batch).cast(loaded.schema().as_arrow())))


class Maker:
    """Makes changes against the lake as it is. A table has some history, and is left for a new one when it has much."""

    def __init__(self, iceberg, reader):
        self.iceberg = iceberg
        self.reader = reader
        self.batch = 0
        self.uses = collections.Counter()
        iceberg.create_namespace('faults')

    def name(self, kind):
        """Of the table that the next change of this kind goes to."""
        age, self.uses[kind] = divmod(self.uses[kind], USES), self.uses[kind] + 1
        name = f'{kind}_{age[0]}'
        if age[1] == 0:
            table = self.iceberg.create_table(f'faults.{name}', SCHEMA)
            for _ in range(2):
                table.append(rows(self.next_batch()))
        return name

    def next_batch(self):
        self.batch += 1
        return self.batch

    def load(self, name):
        return self.iceberg.load_table(f'faults.{name}')

    def create(self):
        name = f'made_{self.next_batch()}'
        fields = [{'id': i, 'name': field.name, 'type': 'long', 'required': False} for i, field in enumerate(SCHEMA, 1)]
        body = {'name': name, 'schema': {'type': 'struct', 'fields': fields}}
        return Change('namespaces/faults/tables', body, {name: None}, {name: {}}, 1)

    def staged(self, batches=()):
        """The commit that makes a staged table, perhaps with rows."""
        name = f'made_{self.next_batch()}'
        transaction = self.iceberg.create_table_transaction(f'faults.{name}', SCHEMA)
        for batch in batches:
            transaction.append(rows(batch))
        body = commit_body(transaction._table, transaction._updates, [{'type': 'assert-create'}])
        after = dict.fromkeys(batches, ROWS)
        return Change(f'namespaces/faults/tables/{name}', body, {name: None}, {name: after}, 1 + len(batches))

    def staged_append(self):
        return self.staged([self.next_batch()])

    def append(self):
        name = self.name('appended')
        batch, before = self.next_batch(), self.reader.rows(name)
        body = appending(self.load(name), batch)
        return Change(f'namespaces/faults/tables/{name}', body, {name: before}, {name: {**before, batch: ROWS}}, 1)

    def properties(self):
        name, value = self.name('described'), str(self.next_batch())
        rows_of = {name: self.reader.rows(name)}
        body = {'requirements': [], 'updates': [{'action': 'set-properties', 'updates': {'said': value}}]}
        place = (name, 'said')
        return Change(f'namespaces/faults/tables/{name}', body, {**rows_of, place: self.reader.property(*place)},
                      {**rows_of, place: value}, 0)

    def overwrite(self):
        """A file that goes, a file that loses its first row by a position delete, and a file that comes."""
        name = self.name('overwritten')
        table, batch, before = self.load(name), self.next_batch(), self.reader.rows(name)
        gone, shortened = sorted(before)
        files = {self.reader.batch_of(file.path): file for file in commits.live(table)[0]}
        snapshot = commits.Snapshot(table, 'overwrite')
        snapshot.remove([files[gone]])
        positions = commits.position_deletes([(files[shortened].path, 0)])
        snapshot.add([commits.delete_file(table, positions, POSITION_DELETES, files[shortened])])
        add_files(snapshot, batch)
        body = commit_body(table, snapshot.updates(), commits.main_was(table))
        return Change(f'namespaces/faults/tables/{name}', body, {name: before},
                      {name: {shortened: ROWS - 1, batch: ROWS}}, 1)

    def transaction(self):
        names = [self.name(kind) for kind in ('left', 'right')]
        batch = self.next_batch()
        before = {name: self.reader.rows(name) for name in names}
        body = {'table-changes': [appending(self.load(name), batch) for name in names]}
        return Change('transactions/commit', body, before, {name: {**before[name], batch: ROWS} for name in names}, 2)
