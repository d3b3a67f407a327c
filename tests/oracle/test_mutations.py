"""The checks can fail: each of these lies about a lake is told to the readers, and must be reported."""
import collections
import contextlib
import os
import random

import pytest
from pyiceberg.manifest import DataFileContent, ManifestFile

from lake_clients.lake import Lake
from oracle import avro_files, by_specification, data_files, manifests, puffin, reading
from oracle.checks import Checker
from oracle.steps import Difference
from oracle.tally import Tally
from oracle.world import World
from stack.stack import Stack

TABLES = {2: 'positions', 3: 'vectors'}


@pytest.fixture(scope='module')
def world():
    """A table of each format version with files, deletes in files, a partition and rows in PostgreSQL."""
    made = World(Lake.of(Stack.load(os.environ.get('LAKE_STACK', 'test')).variables()))
    made.begin('oracle_mutations')
    for version, name in TABLES.items():
        fields = [{'id': 1, 'name': 'n', 'type': 'int', 'required': False}, {'id': 2, 'name': 's', 'type': 'string', 'required': False}]
        made.rest.post(f'namespaces/{made.schema}/tables', {
            'name': name, 'schema': {'type': 'struct', 'fields': fields}, 'properties': {'format-version': str(version)},
            'partition-spec': {'fields': [{'source-id': 2, 'transform': 'identity', 'name': 's'}]}})
        made.add(name)
        for statement in ("INSERT INTO {} SELECT n, 'a' FROM range(30) t(n)", "INSERT INTO {} SELECT n + 30, 'b' FROM range(30) t(n)",
                          "INSERT INTO {} VALUES (100, 'c'), (NULL, NULL)", 'DELETE FROM {} WHERE n < 20'):
            made.duck.execute(statement.format(f'lake.{made.schema}.{name}'))
    yield made
    made.end()


def check(world, version):
    """As after a step, but all of it, and with nothing remembered of earlier comparisons."""
    for seen in (data_files.FILES, data_files.CHECKED, manifests.CHECKED):
        seen.clear()
    table = next(table for table in world.tables if table.name == TABLES[version])
    checker = Checker(world, Tally(), thorough=True)
    checker.check_names()
    checker.check(table, random.Random(1))


@contextlib.contextmanager
def replaced(owner, name, made):
    """`made(original)` stands in its place."""
    original = getattr(owner, name)
    setattr(owner, name, made(original))
    try:
        yield
    finally:
        setattr(owner, name, original)


def in_entries(change, content=DataFileContent.DATA):
    """PyIceberg's view of manifest entries, as the checks of manifests and files get it."""
    def made(original):
        def fetch(self, *arguments, **options):
            entries = original(self, *arguments, **options)
            for entry in entries:
                if entry.data_file.content == content:
                    change(entry)
            return entries
        return fetch
    return replaced(ManifestFile, 'fetch_manifest_entry', made)


def in_avro(change, content=avro_files.DATA):
    """Our own view of them, as rows by the specification come from it."""
    def made(original):
        def read(loaded, listed):
            schema, entries = original(loaded, listed)
            for entry in entries:
                if entry['data_file']['content'] == content:
                    change(entry)
            return schema, entries
        return read
    return replaced(avro_files, 'read_manifest', made)


def in_metadata(change):
    def made(original):
        def load(table):
            loaded = original(table)
            change(loaded.metadata)
            return loaded
        return load
    return lambda world: replaced(world, 'load', made)


def always(context):
    """Such lies do not need the world."""
    return lambda world: context()


def put(position, change):
    """Changes one member of PyIceberg's data file."""
    def apply(entry):
        entry.data_file._data[position] = change(entry.data_file._data[position])
    return apply


def add(name, count, of_file=False):
    def apply(entry):
        (entry['data_file'] if of_file else entry)[name] += count
    return apply


def sequence(entry):
    entry.sequence_number += 1000


def exchanged_ids(entry):
    """Each id is still there once, but the two files have those of the other."""
    first = entry['data_file']['first_row_id']
    entry['data_file']['first_row_id'] = {0: 30, 30: 0}.get(first, first)


def last(metadata, **changes):
    metadata.snapshots[-1] = metadata.snapshots[-1].model_copy(update=changes)


def summary(metadata):
    metadata.snapshots[-1].summary.additional_properties['total-records'] = '7'


def shifted_vector(original):
    """Each position but one further."""
    return lambda blob: sorted({position + 1 for position in original(blob)})


def broken_byte(original):
    def fetch(loaded, place):
        content = original(loaded, place)
        return content[:20] + bytes((content[20] ^ 1,)) + content[21:] if place.endswith('.puffin') else content
    return fetch


def without_a_row(original):
    return lambda *arguments, **options: original(*arguments, **options).slice(1)


def without_a_filtered_row(original):
    def read(loaded, columns, snapshot=None, expression=None):
        rows = original(loaded, columns, snapshot, expression)
        return rows if expression is None else rows.slice(1)
    return read


class Liar:
    """DuckDB that answers a lone count from wrong statistics."""

    def __init__(self, original):
        self.original = original

    def execute(self, sql, *values):
        return self.original.execute('SELECT 7' if sql.startswith('SELECT count(*)') else sql, *values)


def with_another(kind):
    def made(original):
        def get(path):
            answer = original(path)
            return {'identifiers': [*answer['identifiers'], {'name': 'v'}]} if path.endswith(f'/{kind}') else answer
        return get
    return lambda world: replaced(world.rest, 'get', made)


@contextlib.contextmanager
def expecting_nothing(world):
    table = next(table for table in world.tables if table.name == TABLES[2])
    world.expect(table, collections.Counter())
    try:
        yield
    finally:
        world.expected = []


def renamed(metadata):
    schema = metadata.schemas[-1]
    first = schema.fields[0].model_copy(update={'name': 'other'})
    metadata.schemas[-1] = schema.model_copy(update={'fields': (first, *schema.fields[1:])})


LOWER, UPPER, NULLS = 10, 11, 8  # members of PyIceberg's data file

# Name: (format version, the lie, the check that must find it).
LIES = {
    'a lower bound is too high': (2, always(lambda: in_entries(put(LOWER, lambda bounds: {**bounds, 1: b'\x7f\0\0\0'}))), 'file statistics'),
    'an upper bound is too low': (2, always(lambda: in_entries(put(UPPER, lambda bounds: {**bounds, 1: b'\0\0\0\0'}))), 'file statistics'),
    'nulls are counted that are not there': (2, always(lambda: in_entries(put(NULLS, lambda counts: {**counts, 1: 9}))), 'file statistics'),
    'a partition value is another': (2, always(lambda: in_entries(put(3, lambda value: type(value)('z')))), 'file statistics'),
    'a record count is another': (2, always(lambda: in_entries(put(4, lambda count: count + 1))), 'manifests'),
    'a data file is younger than its deletes': (2, always(lambda: in_entries(sequence)), 'rows at the head'),
    'deletes name a younger data file': (2, always(lambda: in_avro(add('sequence_number', 1000))), 'manifests'),
    'position deletes are lost': (2, always(lambda: replaced(by_specification, 'pairs', lambda original: lambda *_: {})), 'rows at the head'),
    'a total is another': (2, in_metadata(summary), 'manifests'),
    'a column has another name': (2, in_metadata(renamed), 'schema at the head'),
    'a reader misses a row of a filter': (2, always(lambda: replaced(reading, 'read_pyiceberg', without_a_filtered_row)), 'filtered rows'),
    'a lone count is wrong': (2, lambda world: replaced(world, 'direct', Liar), 'lone aggregate'),
    'a view is listed among the tables': (2, with_another('tables'), 'list of tables'),
    'a macro is listed among the views': (2, with_another('views'), 'list of views'),
    'an operation did something else': (2, expecting_nothing, 'effect of the operation'),
    'a reader misses a row': (2, always(lambda: replaced(reading, 'read_pyiceberg', without_a_row)), 'rows at the head'),
    'the current snapshot is unknown': (2, in_metadata(lambda metadata: metadata.snapshots.pop()), 'metadata'),
    'a snapshot has the number of another': (2, in_metadata(lambda metadata: last(metadata, sequence_number=1)), 'metadata'),
    'a row id is another': (3, always(lambda: in_avro(exchanged_ids)), 'row ids at the head'),
    'rows have ids of others': (3, always(lambda: in_avro(lambda entry: entry['data_file'].update(first_row_id=0))), 'row ids'),
    'rows have another number': (3, always(lambda: in_avro(add('sequence_number', -1))), 'row ids at the head'),
    'a vector deletes other rows': (3, always(lambda: replaced(puffin, 'positions_of', shifted_vector)), 'row ids at the head'),
    'a vector is broken': (3, always(lambda: replaced(avro_files, 'fetch', broken_byte)), 'deletes'),
    'a vector has another count': (3, always(lambda: in_avro(add('record_count', 1, of_file=True), avro_files.POSITION_DELETES)), 'deletes'),
    'a vector is elsewhere': (3, always(lambda: in_avro(add('content_offset', 1, of_file=True), avro_files.POSITION_DELETES)), 'deletes'),
    'row ids end too early': (3, in_metadata(lambda metadata: vars(metadata).update(next_row_id=5)), 'metadata'),
    'a snapshot gives ids again': (3, in_metadata(lambda metadata: last(metadata, first_row_id=0, added_rows=0)), 'metadata'),
    'a number is not of the lake': (3, in_metadata(lambda metadata: last(metadata, sequence_number=metadata.last_sequence_number - 1)), 'metadata'),
}


@pytest.mark.parametrize('version', TABLES)
def test_the_truth_passes(world, version):
    check(world, version)


@pytest.mark.parametrize(('version', 'lie', 'finds'), LIES.values(), ids=LIES)
def test_a_lie_is_found(world, version, lie, finds):
    with lie(world), pytest.raises(Difference) as difference:
        check(world, version)
    assert difference.value.check.split(':')[0] == finds
