"""Commits that no client library would send: a sound one is made, and one thing in it is changed before it goes out."""
import contextlib
import io
import pathlib
import re
import uuid

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType

from faults.relay import Relay
from oracle import avro_files, commits
from oracle.avro_files import EQUALITY_DELETES, POSITION_DELETES
from rest import Rest, assert_error
from stack import catalog, ports, process

COLUMNS = Schema(NestedField(1, 'n', LongType(), required=False), NestedField(2, 's', StringType(), required=False))
REQUEST = re.compile(rb'(?:GET|HEAD|PUT|POST|DELETE) (\S+) HTTP/1\.1\r\n')
RANGE = re.compile(rb'GET (\S+) HTTP/1\.1\r\n(?:[^\r]+\r\n)*?range: bytes=(\d+)-(\d+)\r\n', re.IGNORECASE)


class Listening(Relay):
    """A wire to the store on which every object that is asked for is noted, and how much of it."""

    def __init__(self, port):
        self.asked = []
        self.ranges = []  # (path, bytes)
        super().__init__(port)

    def up(self, client, server):
        client = Noting(client, self)
        super().up(client, server)

    def note(self, words):
        self.asked += [path.decode() for path in REQUEST.findall(words)]
        self.ranges += [(path.decode(), int(last) - int(first) + 1) for path, first, last in RANGE.findall(words)]

    def read_of(self, part):
        """The bytes that were asked for of objects with `part` in their path."""
        return sum(count for path, count in self.ranges if part in path)


class Noting:
    def __init__(self, wire, listening):
        self.wire = wire
        self.listening = listening

    def recv(self, count):
        words = self.wire.recv(count)
        self.listening.note(words)
        return words

    def __getattr__(self, name):
        return getattr(self.wire, name)


class Watched(catalog.Lakeproxy):
    """A second server on the lake whose requests to the store are noted."""

    name = 'watched lakeproxy'
    wire_class = Listening

    @classmethod
    @contextlib.contextmanager
    def beside(cls, stack, **settings):
        with cls.wire_class(stack.store.port) as wire:
            made = cls(stack.folder, ports.any_free(), stack.postgres, stack.store, stack.state['binary'],
                       {'LAKEPROXY_S3_ENDPOINT': wire.endpoint(), **settings})
            made.log = stack.folder / f'watched-{made.port}.log'
            made.wire = wire
            made.server = process.start([made.binary, 'serve'], made.log, made.environment(), made.folder)
            try:
                process.wait_ready(made.name, made.server, made.log, made.ready, 60)
                yield made
            finally:
                made.server.stop()


class Peak:
    """The memory that a process holds at most, in MiB, from now on. One with a sanitizer keeps what was freed, and its
    shadow: a third of what it holds is its own."""

    def __init__(self, process):
        self.folder = pathlib.Path(f'/proc/{process.pid}')
        self.share = 3 if (self.folder / 'exe').readlink().parent.name in ('asan', 'tsan') else 1
        (self.folder / 'clear_refs').write_text('5')  # the highest mark is what it holds now
        self.before = self.read('VmRSS')

    def read(self, name):
        line = next(line for line in (self.folder / 'status').read_text().splitlines() if line.startswith(name))
        return int(line.split()[1]) // 1024

    def more(self):
        return (self.read('VmHWM') - self.before) // self.share


class Table:
    """A table that commits made by hand go to; `name` is of one level."""

    def __init__(self, lake, iceberg, duck, name, uri=None):
        self.iceberg = iceberg
        self.duck = duck
        self.name = name
        self.path = 'namespaces/{}/tables/{}'.format(*name.split('.'))
        self.rest = Rest(uri or lake.uri, lake.warehouse)

    def load(self):
        return self.iceberg.load_table(self.name)

    def snapshot(self, operation='append'):
        return commits.Snapshot(self.load(), operation)

    def post(self, updates, requirements=()):
        return self.rest.post(self.path, {'requirements': list(requirements), 'updates': updates})

    def state(self):
        """What a refused commit must leave as it was."""
        shown = self.rest.get(self.path).json()
        return shown['metadata-location'], self.rows()

    def rows(self):
        return self.duck.execute(f'FROM lake.{self.name} ORDER BY ALL').fetchall()

    def files(self):
        return commits.live(self.load())[0]


def rows_of(loaded, values):
    return pa.table([list(values), [f's{n}' for n in values]], schema=loaded.schema().as_arrow())


def new_file(loaded, values=(100, 101)):
    return commits.data_files(loaded, rows_of(loaded, values))[0]


def unread_file(loaded, path, **changes):
    """An entry of a data file that nobody has to find."""
    spec = loaded.spec()
    file = {'content': 0, 'file_path': path, 'file_format': 'PARQUET', 'record_count': 2, 'file_size_in_bytes': 500,
            'partition': {}, **changes}
    return commits.Live(spec.spec_id, avro_files.entry_schema(loaded, spec), commits.new_entry(file))


def appending(table, **changes):
    """A snapshot that adds one file, of which the entry says something else."""
    snapshot = table.snapshot()
    file = new_file(snapshot.loaded)
    file.file.update(changes)
    snapshot.add([file])
    return snapshot


def overwrite_object(loaded, place, content):
    with loaded.io.new_output(place).create(overwrite=True) as out:
        out.write(content)


def rewrite(snapshot, change):
    """The newest manifest once more, of which `change(header, schema, entries)` has changed something."""
    place = snapshot.manifests[-1]['manifest_path']
    reader = fastavro.reader(io.BytesIO(avro_files.fetch(snapshot.loaded, place)))
    header = {key: value for key, value in reader.metadata.items() if not key.startswith('avro.')}
    entries = list(reader)
    change(header, entries)
    sink = io.BytesIO()
    fastavro.writer(sink, reader.writer_schema, entries, codec='deflate', metadata=header)
    overwrite_object(snapshot.loaded, place, sink.getvalue())
    snapshot.manifests[-1]['manifest_length'] = len(sink.getvalue())


def parquet(table, metadata=None):
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()


def positions(pairs):
    """Rows of a position-delete file, in the order given."""
    schema = pa.schema([commits.numbered('file_path', pa.string(), commits.FILE_PATH),
                        commits.numbered('pos', pa.int64(), commits.POSITION)])
    return pa.table([[path for path, _ in pairs], [position for _, position in pairs]], schema=schema)


def delete_entry(loaded, content, kind, like, suffix='parquet', **changes):
    """A delete file of these bytes."""
    place = changes.pop('place', None) or f'{loaded.location()}/data/by-hand-{uuid.uuid4()}.{suffix}'
    if content is not None:
        avro_files.store(loaded, place, content)
    file = {'content': kind, 'file_path': place, 'file_format': 'PUFFIN' if suffix == 'puffin' else 'PARQUET',
            'record_count': 1, 'file_size_in_bytes': len(content or b''), 'partition': like.file['partition'], **changes}
    return commits.Live(like.spec_id, like.schema, commits.new_entry(file))


def deleting(table, content, kind=POSITION_DELETES, **changes):
    """A snapshot that adds a delete file of these bytes."""
    snapshot = table.snapshot('delete')
    snapshot.add([delete_entry(snapshot.loaded, content, kind, table.files()[0], **changes)])
    return snapshot


def deleting_equal(table, rows, columns, **changes):
    return deleting(table, parquet(rows), EQUALITY_DELETES, record_count=rows.num_rows, equality_ids=columns, **changes)


def assert_refused(table, make, status, word):
    """With the word in the reason, and nothing is changed. `make` gives the updates."""
    before = table.state()
    answer = table.post(make(table))
    assert_error(answer, status)
    assert word in answer.json()['error']['message']
    assert table.state() == before
