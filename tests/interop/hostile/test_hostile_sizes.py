"""Texts that are far too long, and files that unpack to far too much: whoever sends them gets a short error, and nobody
else is kept waiting."""
import concurrent.futures
import copy
import io
import threading
import time
import zlib

import fastavro
import pytest
import requests

from by_hand import COLUMNS, Peak, Table, Watched, appending, overwrite_object, rows_of
from oracle import avro_files, commits
from rest import COLUMN, assert_error, table_body

BOMB = 250_000_000
MOST_MEMORY = 192  # MiB that a bomb may add
MOST_WAIT = 1.0  # s that others may wait for an answer
MOST_ANSWER = 1000  # bytes of an error


@pytest.fixture(scope='module')
def alone(stack):
    """One event loop: who keeps it, keeps all."""
    with Watched.beside(stack, LAKEPROXY_WORKERS='1') as server:
        yield server


@pytest.fixture
def table(lake, catalog, duck, alone, schema):
    made = catalog.create_table(f'{schema}.t', COLUMNS)
    made.append(rows_of(made, range(5)))
    return Table(lake, catalog, duck, f'{schema}.t', alone.uri())


def avro_long(number):
    number = (number << 1) ^ (number >> 63)
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def bomb_of(content, mark, claimed=1):
    """The Avro file with its one record, in which `mark` stands, made BOMB bytes longer there; its block says to hold
    `claimed` records."""
    reader = fastavro.reader(io.BytesIO(content))
    record = next(reader)
    sink = io.BytesIO()
    header = {key: text for key, text in reader.metadata.items() if not key.startswith('avro.')}
    fastavro.writer(sink, fastavro.parse_schema(reader.writer_schema), [record], codec='deflate', metadata=header)
    whole = sink.getvalue()
    marker = whole[-16:]
    plain = io.BytesIO()
    fastavro.schemaless_writer(plain, fastavro.parse_schema(reader.writer_schema), record)
    before, behind = plain.getvalue().split(avro_long(len(mark)) + mark, 1)
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(before + avro_long(len(mark) + BOMB) + mark)
    piece = b'a' * 1_000_000
    for _ in range(BOMB // len(piece)):
        packed += packer.compress(piece)
    packed += packer.compress(behind) + packer.flush()
    begin = whole.index(marker) + len(marker)
    return whole[:begin] + avro_long(claimed) + avro_long(len(packed)) + packed + marker


def list_bomb(table):
    snapshot = appending(table)
    snapshot.manifests = snapshot.manifests[-1:]
    update = snapshot.update()
    place = update['snapshot']['manifest-list']
    path = snapshot.manifests[-1]['manifest_path'].encode()
    overwrite_object(snapshot.loaded, place, bomb_of(avro_files.fetch(snapshot.loaded, place), path))
    return [update, commits.main_is(snapshot.id)]


def manifest_bomb(claimed):
    def make(table):
        snapshot = appending(table)
        listed = snapshot.manifests[-1]
        content = avro_files.fetch(snapshot.loaded, listed['manifest_path'])
        path = next(fastavro.reader(io.BytesIO(content)))['data_file']['file_path'].encode()
        content = bomb_of(content, path, claimed)
        overwrite_object(snapshot.loaded, listed['manifest_path'], content)
        listed['manifest_length'] = len(content)
        return snapshot.updates()
    return make


class Pulse:
    """How long /healthz takes at worst, in seconds, while it is asked over and over."""

    def __init__(self, uri):
        self.uri = uri
        self.worst = 0
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self.ask, daemon=True)

    def ask(self):
        with requests.Session() as session:
            while not self.stopped.is_set():
                begin = time.monotonic()
                session.get(f'{self.uri}/healthz', timeout=60)
                self.worst = max(self.worst, time.monotonic() - begin)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        self.thread.join()


BOMBS = {'a list': list_bomb, 'a manifest': manifest_bomb(1), 'a manifest that claims many entries': manifest_bomb(1000)}


@pytest.mark.parametrize('case', BOMBS)
def test_what_unpacks_to_very_much_costs_its_sender_an_error(table, alone, case):
    before = table.state()
    updates = BOMBS[case](table)
    peak = Peak(alone.server)
    with Pulse(alone.uri()) as pulse, concurrent.futures.ThreadPoolExecutor(4) as senders:
        answers = list(senders.map(lambda _: table.post(updates), range(4)))
    for answer in answers:
        assert_error(answer, 400, 413, 429)
        assert len(answer.content) < MOST_ANSWER
    print(case, 'worst wait', round(pulse.worst, 3), 's; memory', peak.more(), 'MiB;', answers[0].status_code, answers[0].text)
    assert pulse.worst < MOST_WAIT
    assert peak.more() < (MOST_MEMORY if case != 'a manifest that claims many entries' else 4 * MOST_MEMORY)
    assert table.state() == before


LONG = {'a word': 'q' * 20_000, 'many words': 'quite long ' * 2_000}
VIEW = {'version-id': 1, 'timestamp-ms': 1, 'schema-id': 0, 'summary': {'engine': 'x'}, 'default-namespace': ['a'],
        'representations': [{'type': 'sql', 'sql': 'SELECT 1', 'dialect': 'duckdb'}]}
FIELDS = {'type': 'struct', 'fields': [COLUMN]}
SPEC = {'spec-id': 0, 'fields': [{'name': 'p', 'transform': 'identity', 'source-id': 1, 'field-id': 1000}]}
ORDER = {'order-id': 1, 'fields': [{'transform': 'identity', 'source-id': 1, 'direction': 'asc', 'null-order': 'nulls-first'}]}
SNAPSHOT = {'snapshot-id': 1, 'timestamp-ms': 1, 'manifest-list': 's3://b/l.avro', 'schema-id': 0, 'sequence-number': 1,
            'summary': {'operation': 'append'}}
COMMIT = {
    'requirements': [{'type': 'assert-table-uuid', 'uuid': '00000000-0000-0000-0000-000000000000'},
                     {'type': 'assert-ref-snapshot-id', 'ref': 'main', 'snapshot-id': 1}],
    'updates': [{'action': 'assign-uuid', 'uuid': '00000000-0000-0000-0000-000000000000'},
                {'action': 'add-schema', 'schema': FIELDS}, {'action': 'add-spec', 'spec': SPEC},
                {'action': 'add-sort-order', 'sort-order': ORDER}, {'action': 'add-snapshot', 'snapshot': SNAPSHOT},
                {'action': 'set-snapshot-ref', 'ref-name': 'main', 'type': 'branch', 'snapshot-id': 1},
                {'action': 'remove-snapshot-ref', 'ref-name': 'main'}, {'action': 'set-location', 'location': 's3://b/l'},
                {'action': 'set-properties', 'updates': {'a': 'b'}}, {'action': 'remove-properties', 'removals': ['a']}]}
BODIES = {
    'namespaces': {'namespace': ['a'], 'properties': {'a': 'b'}},
    'namespaces/{ns}/properties': {'removals': ['a'], 'updates': {'b': 'c'}},
    'namespaces/{ns}/tables': table_body('t', **{'location': 's3://b/l', 'partition-spec': SPEC, 'write-order': ORDER,
                                                 'properties': {'a': 'b'}}),
    'namespaces/{ns}/tables/t': COMMIT,
    'namespaces/{ns}/register': {'name': 'r', 'metadata-location': 's3://b/m.json'},
    'namespaces/{ns}/views': {'name': 'v', 'schema': FIELDS, 'view-version': VIEW, 'properties': {}, 'location': 's3://b/v'},
    'namespaces/{ns}/tables/t/metrics': {'report-type': 'scan-report', 'table-name': 't', 'snapshot-id': 1, 'filter': True,
                                         'schema-id': 0, 'projected-field-ids': [1], 'projected-field-names': ['a'], 'metrics': {}},
    'tables/rename': {'source': {'namespace': ['a'], 'name': 't'}, 'destination': {'namespace': ['a'], 'name': 'u'}},
    'views/rename': {'source': {'namespace': ['a'], 'name': 't'}, 'destination': {'namespace': ['a'], 'name': 'u'}},
    'transactions/commit': {'table-changes': [{'identifier': {'namespace': ['a'], 'name': 't'}, **COMMIT}]},
}


def places(value, path=()):
    """The ways to all texts and names of fields inside."""
    yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inside:
        yield from places(part, (*path, key))


def with_text(body, path, text, as_name):
    """The body with the text at the place, or as the name of a field beside it."""
    body = copy.deepcopy(body)
    if not path:
        return {**body, text: 1} if as_name else text
    parent = body
    for key in path[:-1]:
        parent = parent[key]
    if not as_name:
        parent[path[-1]] = text
    elif isinstance(parent, dict):
        parent[text] = parent.pop(path[-1])
    return body


def assert_little_of(text, answer):
    assert answer.status_code < 500 or answer.status_code == 501, answer.text[:500]
    if answer.status_code < 400:
        return 0
    message = answer.json()['error']['message']
    assert len(answer.content) < MOST_ANSWER, answer.content[:300]
    assert text[:201] not in message and text[7:208] not in message
    return 1


@pytest.mark.parametrize('kind', LONG)
def test_no_error_repeats_a_long_text(table, kind):
    text = LONG[kind]
    name_space = table.name.split('.')[0]
    refused = 0
    with requests.Session() as session:
        for path, body in BODIES.items():
            url = table.rest.url(path.format(ns=name_space))
            for place in places(body):
                for as_name in (False, True):
                    sent = with_text(body, place, text, as_name)
                    refused += assert_little_of(text, session.post(url, json=sent, timeout=30))
        short = text[:3000]
        for path in ('namespaces/{}', 'namespaces/{}/tables', 'namespaces/a/tables/{}', 'namespaces/{}/views', 'namespaces/a/views/{}',
                     'namespaces?parent={}', 'namespaces?pageToken={}', 'namespaces?pageSize={}', f'{table.path}?snapshots={{}}',
                     '../{}/namespaces', '../config?warehouse={}'):
            refused += assert_little_of(short, session.get(table.rest.url(path.format(short)), timeout=30))
        for header in ('Idempotency-Key', 'Content-Type', 'If-None-Match'):
            answer = session.post(table.rest.url('namespaces'), data=b'{}', headers={header: short.strip()}, timeout=30)
            refused += assert_little_of(short, answer)
        answer = session.post(table.rest.url('namespaces'), data=text, headers={'Content-Type': 'application/json'}, timeout=30)
        refused += assert_little_of(text, answer)
    assert refused > 150
