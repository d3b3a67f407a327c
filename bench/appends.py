"""Appends whose manifests lie in S3 already, so that only the catalog's own time is measured.

A commit names its manifest list, and that one every manifest of the table: those
that the catalog shows, and the new one. All are written before the clock starts;
the data files need not exist, for no catalog opens them on the way.
"""
import time

from pyiceberg.conversions import to_bytes
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


class Table:
    """A table under load. Its next append stands on what the catalog last answered."""

    def __init__(self, client, name):
        self.loaded = client.create_table(name, SCHEMA)
        self.metadata = None  # the catalog's last answer; nothing before the first append
        self.number = 0

    def next_append(self, files):
        """Writes the Avro files of one append; its request body."""
        manifests = [*self.listed(), self.new_manifest(files)]
        body = request_body(self, self.new_list(manifests), files)
        self.number += 1
        return body

    def listed(self):
        if self.metadata is None:
            return []
        current = next(s for s in self.metadata['snapshots']
                       if s['snapshot-id'] == self.metadata['current-snapshot-id'])
        return read_manifest_list(self.loaded.io.new_input(current['manifest-list']))

    def parent(self):
        return self.metadata['current-snapshot-id'] if self.metadata else None

    def sequence_number(self):
        return (self.metadata['last-sequence-number'] if self.metadata else 0) + 1

    def new_manifest(self, files):
        location, snapshot = self.loaded.location(), FIRST_ID + self.number
        output = self.loaded.io.new_output(f'{location}/metadata/bench-{self.number}.avro')
        with write_manifest(2, UNPARTITIONED_PARTITION_SPEC, SCHEMA, output, snapshot, 'deflate') as writer:
            for file in range(files):
                writer.add_entry(ManifestEntry.from_args(
                    status=ManifestEntryStatus.ADDED, snapshot_id=snapshot, sequence_number=None,
                    file_sequence_number=None, data_file=data_file(f'{location}/data/{self.number}-{file}.parquet')))
        return writer.to_manifest_file()

    def new_list(self, manifests):
        path = f'{self.loaded.location()}/metadata/bench-list-{self.number}.avro'
        output = self.loaded.io.new_output(path)
        with write_manifest_list(2, output, FIRST_ID + self.number, self.parent(), self.sequence_number(),
                                 'deflate') as writer:
            writer.add_manifests(manifests)
        return path


def data_file(path):
    counts = dict.fromkeys(BOUNDS, 1000)
    return DataFile.from_args(
        content=DataFileContent.DATA, file_path=path, file_format=FileFormat.PARQUET, partition=Record(),
        record_count=1000, file_size_in_bytes=40_000, column_sizes=dict.fromkeys(BOUNDS, 12_000),
        value_counts=counts, null_value_counts=dict.fromkeys(BOUNDS, 0), nan_value_counts={2: 0},
        lower_bounds=BOUNDS, upper_bounds=BOUNDS, key_metadata=None, split_offsets=[4],
        equality_ids=None, sort_order_id=None)


def request_body(table, manifest_list, files):
    parent = table.parent()
    snapshot = {
        'snapshot-id': FIRST_ID + table.number, 'sequence-number': table.sequence_number(), 'schema-id': 0,
        'timestamp-ms': time.time_ns() // 1_000_000 + table.number, 'manifest-list': manifest_list,
        'summary': {'operation': 'append', 'added-data-files': str(files), 'added-records': str(files * 1000)}}
    if parent is not None:
        snapshot['parent-snapshot-id'] = parent
    return {
        'requirements': [{'type': 'assert-table-uuid', 'uuid': str(table.loaded.metadata.table_uuid)},
                         {'type': 'assert-ref-snapshot-id', 'ref': 'main', 'snapshot-id': parent}],
        'updates': [{'action': 'add-snapshot', 'snapshot': snapshot},
                    {'action': 'set-snapshot-ref', 'ref-name': 'main', 'type': 'branch',
                     'snapshot-id': FIRST_ID + table.number}]}
