"""Commits of very many files, deletes and manifests: what the server's memory grows by stays within bounds that
docs/scaling.md states."""
import concurrent.futures
import io
import os

import fastavro
import pytest
import requests
from pyiceberg.schema import Schema
from pyiceberg.types import DoubleType, LongType, NestedField, StringType

from by_hand import Peak, Table, Watched, deleting, overwrite_object, parquet, positions, unread_file
from oracle import avro_files, commits
from own_lake import Objects
from rest import assert_error

COLUMNS = Schema(NestedField(1, 'n', LongType(), required=False), NestedField(2, 's', StringType(), required=False),
                 NestedField(3, 'd', DoubleType(), required=False))
FILES = 100_000
DELETES = 100_000
MANIFESTS = int(os.environ.get('LAKE_MANY_MANIFESTS', '1000'))  # 10,000 are a minute's work for the test itself
# MiB that a commit may add to the server's memory at its peak.
MOST_FOR_FILES, MOST_FOR_DELETES, MOST_FOR_MANIFESTS = 640, 64, 128


@pytest.fixture
def alone(stack):
    """A server of its own: what others ask for is not in its memory."""
    with Watched.beside(stack, LAKEPROXY_WORKERS='2', LAKEPROXY_REQUEST_TIMEOUT='120') as server:
        yield server


@pytest.fixture
def table(lake, catalog, duck, alone, schema):
    catalog.create_table(f'{schema}.t', COLUMNS)
    made = Table(lake, catalog, duck, f'{schema}.t', alone.uri())
    assert made.rest.get(made.path).status_code == 200
    return made


def statistic(pairs):
    return [{'key': key, 'value': value} for key, value in pairs]


def many_files(loaded, count):
    """Files that nobody looks for, with the statistics that writers give."""
    schema = avro_files.entry_schema(loaded, loaded.spec())
    for n in range(count):
        low, high = (n * 1000).to_bytes(8, 'little'), (n * 1000 + 999).to_bytes(8, 'little')
        yield commits.Live(0, schema, commits.new_entry({
            'content': 0, 'file_path': f'{loaded.location()}/data/00000-{n}-0f8fad5b-d9cb-469f-a165-70867728950e.parquet',
            'file_format': 'PARQUET', 'partition': {}, 'record_count': 1000, 'file_size_in_bytes': 50_000 + n % 1000,
            'column_sizes': statistic(((1, 8000), (2, 30000), (3, 9000))),
            'value_counts': statistic(((1, 1000), (2, 1000), (3, 1000))),
            'null_value_counts': statistic(((1, 0), (2, 5), (3, 0))), 'nan_value_counts': statistic(((3, 1),)),
            'lower_bounds': statistic(((1, low), (2, b'aaaaaaaaaaaaaaaa'), (3, low))),
            'upper_bounds': statistic(((1, high), (2, b'zzzzzzzzzzzzzzzz'), (3, high)))}))


def with_files(table, count, manifests):
    snapshot = table.snapshot()
    files = list(many_files(snapshot.loaded, count))
    for begin in range(0, count, count // manifests):
        snapshot.add(files[begin:begin + count // manifests])
    return snapshot


def grown(alone, table, snapshot):
    """MiB, by a commit that is made."""
    updates = snapshot.updates()
    peak = Peak(alone.server)
    answer = requests.post(table.rest.url(table.path), json={'requirements': [], 'updates': updates}, timeout=150)
    assert answer.status_code == 200, answer.text[:500]
    return peak.more(), answer.json()['metadata']['snapshots'][-1]['summary']


def test_a_commit_of_100_000_files(alone, table):
    memory, summary = grown(alone, table, with_files(table, FILES, 10))
    assert summary['total-data-files'] == str(FILES)
    assert memory < MOST_FOR_FILES
    # The next one costs what it changes.
    small = table.snapshot()
    small.add([unread_file(small.loaded, f'{small.loaded.location()}/data/one.parquet')])
    memory, summary = grown(alone, table, small)
    assert summary['total-data-files'] == str(FILES + 1)
    assert memory < MOST_FOR_DELETES


def test_100_000_deletes_in_one_file(alone, table):
    snapshot = table.snapshot()
    place = f'{snapshot.loaded.location()}/data/large.parquet'
    snapshot.add([unread_file(snapshot.loaded, place, record_count=10 * DELETES)])
    grown(alone, table, snapshot)
    rows = parquet(positions([(place, n * 10) for n in range(DELETES)]))
    memory, summary = grown(alone, table, deleting(table, rows, record_count=DELETES))
    assert summary['total-position-deletes'] == str(DELETES)
    assert memory < MOST_FOR_DELETES


def test_a_list_of_many_manifests(alone, table, stack):
    snapshot = with_files(table, 1, 1)
    one = snapshot.manifests.pop()
    reader = fastavro.reader(io.BytesIO(avro_files.fetch(snapshot.loaded, one['manifest_path'])))
    header, entry, schema = own_header(reader), next(reader), fastavro.parse_schema(reader.writer_schema)
    objects = Objects(stack)

    def put(n):
        entry['data_file']['file_path'] = f'{snapshot.loaded.location()}/data/{n}.parquet'
        sink = io.BytesIO()
        fastavro.writer(sink, schema, [entry], metadata=header)
        place = f'{one["manifest_path"]}-{n}.avro'
        return {**one, 'manifest_path': place, 'manifest_length': len(sink.getvalue())}, sink.getvalue()
    made = [put(n) for n in range(MANIFESTS)]
    with concurrent.futures.ThreadPoolExecutor(8) as senders:
        list(senders.map(lambda row: objects.put(row[0]['manifest_path'].split('/', 3)[3], row[1]), made))
    snapshot.manifests = [row for row, _ in made]
    memory, summary = grown(alone, table, snapshot)
    assert summary['total-data-files'] == str(MANIFESTS)
    assert memory < MOST_FOR_MANIFESTS


def test_a_list_that_does_not_say_how_much_it_holds(alone, table):
    """Half a million entries is what a commit may bring, whether or not its list counts them."""
    snapshot = table.snapshot()
    snapshot.add([unread_file(snapshot.loaded, f'{snapshot.loaded.location()}/data/x.parquet')])
    listed = snapshot.manifests[-1]
    reader = fastavro.reader(io.BytesIO(avro_files.fetch(snapshot.loaded, listed['manifest_path'])))
    content = repeated(reader.writer_schema, next(reader), own_header(reader), 501, 1000)
    overwrite_object(snapshot.loaded, listed['manifest_path'], content)
    listed['manifest_length'] = len(content)
    updates = uncounted(snapshot)
    peak = Peak(alone.server)
    answer = requests.post(table.rest.url(table.path), json={'requirements': [], 'updates': updates}, timeout=150)
    assert_error(answer, 413)
    assert peak.more() < MOST_FOR_FILES


def repeated(schema, entry, header, blocks, times):
    """A manifest of one entry over and over: a block is encoded once."""
    sink = io.BytesIO()
    fastavro.writer(sink, fastavro.parse_schema(schema), [entry] * times, codec='deflate', metadata=header,
                    sync_interval=1 << 30)
    whole = sink.getvalue()
    marker = whole[-16:]
    begin = whole.index(marker) + len(marker)
    return whole[:begin] + whole[begin:] * blocks


COUNTS = [f'{status}_{what}_count' for status in ('added', 'existing', 'deleted') for what in ('files', 'rows')]


def uncounted(snapshot):
    """Updates with a list as format version 1 has it: the counts are left out."""
    updates = snapshot.updates()
    place = updates[0]['snapshot']['manifest-list']
    reader = fastavro.reader(io.BytesIO(avro_files.fetch(snapshot.loaded, place)))
    schema, rows = reader.writer_schema, [{**row, **dict.fromkeys(COUNTS)} for row in reader]
    for field in schema['fields']:
        if field['name'] in COUNTS:
            field['type'] = ['null', field['type']]
    sink = io.BytesIO()
    fastavro.writer(sink, fastavro.parse_schema(schema), rows, metadata=own_header(reader))
    overwrite_object(snapshot.loaded, place, sink.getvalue())
    return updates


def own_header(reader):
    return {key: text for key, text in reader.metadata.items() if not key.startswith('avro.')}
