"""Appends whose manifests lie in S3 already, so that only the catalog's own time is measured.

A commit names its manifest list, and that one every manifest of the table: those
that the catalog shows, and the new one. All are written before the clock starts;
the data files need not exist, for no catalog opens them on the way.
"""
import dataclasses
import io
import time

from pyiceberg.conversions import to_bytes
from pyiceberg.io import OutputFile
from pyiceberg.manifest import (DataFile, DataFileContent, FileFormat, ManifestEntry,
                                ManifestEntryStatus, read_manifest_list, write_manifest, write_manifest_list)
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.schema import Schema
from pyiceberg.typedef import Record
from pyiceberg.types import DoubleType, LongType, NestedField, StringType

SCHEMA = Schema(NestedField(1, 'id', LongType(), required=False), NestedField(2, 'x', DoubleType(), required=False),
                NestedField(3, 's', StringType(), required=False))
BOUNDS = {1: to_bytes(LongType(), 1), 2: to_bytes(DoubleType(), 0.5), 3: to_bytes(StringType(), 'key')}
FIRST_ID = 1_000_000_000_000  # like the random ids of real clients: far from the lake's own


@dataclasses.dataclass(frozen=True)
class Place:
    """Where an append of a client stands in its table."""

    number: int  # of the appends to the table, from 0
    parent: int | None
    sequence_number: int

    def snapshot(self):
        return FIRST_ID + self.number


class Table:
    """A table under load. Its next append stands on what the catalog last answered."""

    def __init__(self, client, name):
        self.loaded = client.create_table(name, SCHEMA)
        self.metadata = None  # the catalog's last answer; nothing before the first append
        self.number = 0

    def next_append(self, files):
        """Writes the Avro files of one append; its request body."""
        return self.append_at(self.place(), self.listed(), files)

    def side_by_side(self, count):
        """The bodies of `count` appends of one file that all stand on the table as it is now, as those of
        clients do that began at one time; and the files they name, as bytes by location."""
        listed, written = list(self.listed()), {}

        def keep(location):
            return Kept(location, written)

        return [self.append_at(self.place(), listed, 1, keep) for _ in range(count)], written

    def chain(self, count):
        """The bodies of `count` appends, each on the one before, for a catalog that reads no manifest lists:
        what they name is not written, since a list would have to name what the catalog has yet to answer."""
        bodies = []
        for _ in range(count):
            place = self.place()
            bodies.append(request_body(self.loaded.metadata.table_uuid, place, self.list_path(place), 1))
            self.metadata = {'current-snapshot-id': place.snapshot(), 'last-sequence-number': place.sequence_number}
        return bodies

    def place(self):
        parent, last = None, 0
        if self.metadata is not None:
            parent, last = self.metadata['current-snapshot-id'], self.metadata['last-sequence-number']
        self.number += 1
        return Place(self.number - 1, parent, last + 1)

    def listed(self):
        if self.metadata is None:
            return []
        current = next(s for s in self.metadata['snapshots']
                       if s['snapshot-id'] == self.metadata['current-snapshot-id'])
        return read_manifest_list(self.loaded.io.new_input(current['manifest-list']))

    def append_at(self, place, listed, files, output=None):
        output = output or self.loaded.io.new_output
        manifests = [*listed, self.new_manifest(place, files, output)]
        with write_manifest_list(2, output(self.list_path(place)), place.snapshot(), place.parent,
                                 place.sequence_number, 'deflate') as writer:
            writer.add_manifests(manifests)
        return request_body(self.loaded.metadata.table_uuid, place, self.list_path(place), files)

    def new_manifest(self, place, files, output):
        location, snapshot = self.loaded.location(), place.snapshot()
        target = output(f'{location}/metadata/bench-{place.number}.avro')
        with write_manifest(2, UNPARTITIONED_PARTITION_SPEC, SCHEMA, target, snapshot, 'deflate') as writer:
            for file in range(files):
                writer.add_entry(ManifestEntry.from_args(
                    status=ManifestEntryStatus.ADDED, snapshot_id=snapshot, sequence_number=None,
                    file_sequence_number=None, data_file=self.data_file(f'{location}/data/{place.number}-{file}.parquet')))
        return writer.to_manifest_file()

    def data_file(self, path):
        return data_file(path)

    def list_path(self, place):
        return f'{self.loaded.location()}/metadata/bench-list-{place.number}.avro'


class Kept(OutputFile):
    """A file whose bytes go into `written`, by its location."""

    def __init__(self, location, written):
        super().__init__(location)
        self.written = written

    def create(self, overwrite=False):
        return KeptStream(self)

    def exists(self):
        return self.location in self.written

    def __len__(self):
        return len(self.written[self.location])

    def to_input_file(self):
        raise io.UnsupportedOperation('it is only written')


class KeptStream(io.BytesIO):
    def __init__(self, file):
        super().__init__()
        self.file = file

    def close(self):
        if not self.closed:
            self.file.written[self.file.location] = self.getvalue()
        super().close()


def data_file(path, lower=None, upper=None):
    counts = dict.fromkeys(BOUNDS, 1000)
    return DataFile.from_args(
        content=DataFileContent.DATA, file_path=path, file_format=FileFormat.PARQUET, partition=Record(),
        record_count=1000, file_size_in_bytes=40_000, column_sizes=dict.fromkeys(BOUNDS, 12_000),
        value_counts=counts, null_value_counts=dict.fromkeys(BOUNDS, 0), nan_value_counts={2: 0},
        lower_bounds=lower or BOUNDS, upper_bounds=upper or BOUNDS, key_metadata=None, split_offsets=[4],
        equality_ids=None, sort_order_id=None)


def request_body(table_uuid, place, manifest_list, files):
    snapshot = {
        'snapshot-id': place.snapshot(), 'sequence-number': place.sequence_number, 'schema-id': 0,
        'timestamp-ms': time.time_ns() // 1_000_000 + place.number, 'manifest-list': manifest_list,
        'summary': {'operation': 'append', 'added-data-files': str(files), 'added-records': str(files * 1000)}}
    if place.parent is not None:
        snapshot['parent-snapshot-id'] = place.parent
    return {
        'requirements': [{'type': 'assert-table-uuid', 'uuid': str(table_uuid)},
                         {'type': 'assert-ref-snapshot-id', 'ref': 'main', 'snapshot-id': place.parent}],
        'updates': [{'action': 'add-snapshot', 'snapshot': snapshot},
                    {'action': 'set-snapshot-ref', 'ref-name': 'main', 'type': 'branch',
                     'snapshot-id': place.snapshot()}]}
