"""Appends whose manifests lie in S3 already, so that only the catalog's own time is measured.

A commit names its manifest list, and that one every manifest of the table.
All are written before the clock starts; the data files need not exist, for no
catalog opens them on the way.
"""
import dataclasses
import time

from pyiceberg.conversions import to_bytes
from pyiceberg.manifest import (DataFile, DataFileContent, FileFormat, ManifestEntry,
                                ManifestEntryStatus, write_manifest, write_manifest_list)
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.schema import Schema
from pyiceberg.typedef import Record
from pyiceberg.types import DoubleType, LongType, NestedField, StringType

SCHEMA = Schema(NestedField(1, 'id', LongType(), required=False), NestedField(2, 'x', DoubleType(), required=False),
                NestedField(3, 's', StringType(), required=False))
BOUNDS = {1: to_bytes(LongType(), 1), 2: to_bytes(DoubleType(), 0.5), 3: to_bytes(StringType(), 'key')}
FIRST_ID = 1_000_000_000_000  # like the random ids of real clients: far from the lake's own


@dataclasses.dataclass(frozen=True)
class Table:
    """A table under load, and the commits that it has seen."""

    loaded: object  # PyIceberg's Table
    manifests: list

    @staticmethod
    def make(client, name):
        return Table(client.create_table(name, SCHEMA), [])


def prepare(table, commits, files_each):
    """Writes the Avro files of the next `commits` appends; their request bodies, in order."""
    bodies = []
    for _ in range(commits):
        number = len(table.manifests)
        table.manifests.append(new_manifest(table.loaded, number, files_each))
        bodies.append(request_body(table.loaded, number, new_list(table.loaded, number, table.manifests), files_each))
    return bodies


def new_manifest(table, number, files):
    output = table.io.new_output(f'{table.location()}/metadata/bench-{number}.avro')
    with write_manifest(2, UNPARTITIONED_PARTITION_SPEC, SCHEMA, output, FIRST_ID + number, 'deflate') as writer:
        for file in range(files):
            writer.add_entry(ManifestEntry.from_args(
                status=ManifestEntryStatus.ADDED, snapshot_id=FIRST_ID + number, sequence_number=None,
                file_sequence_number=None, data_file=data_file(f'{table.location()}/data/{number}-{file}.parquet')))
    return writer.to_manifest_file()


def data_file(path):
    counts = dict.fromkeys(BOUNDS, 1000)
    return DataFile.from_args(
        content=DataFileContent.DATA, file_path=path, file_format=FileFormat.PARQUET, partition=Record(),
        record_count=1000, file_size_in_bytes=40_000, column_sizes=dict.fromkeys(BOUNDS, 12_000),
        value_counts=counts, null_value_counts=dict.fromkeys(BOUNDS, 0), nan_value_counts={2: 0},
        lower_bounds=BOUNDS, upper_bounds=BOUNDS, key_metadata=None, split_offsets=[4],
        equality_ids=None, sort_order_id=None)


def new_list(table, number, manifests):
    path = f'{table.location()}/metadata/bench-list-{number}.avro'
    parent = FIRST_ID + number - 1 if number else None
    with write_manifest_list(2, table.io.new_output(path), FIRST_ID + number, parent, number + 1, 'deflate') as writer:
        # Sequence numbers are given here: in later lists the earlier manifests keep theirs.
        for at, manifest in enumerate(manifests):
            if at < number:
                manifest.sequence_number = manifest.min_sequence_number = at + 1
            writer.add_manifests([manifest])
    return path


def request_body(table, number, manifest_list, files):
    snapshot = {
        'snapshot-id': FIRST_ID + number, 'sequence-number': number + 1, 'schema-id': 0,
        'timestamp-ms': time.time_ns() // 1_000_000 + number, 'manifest-list': manifest_list,
        'summary': {'operation': 'append', 'added-data-files': str(files), 'added-records': str(files * 1000)}}
    parent = None
    if number:
        parent = snapshot['parent-snapshot-id'] = FIRST_ID + number - 1
    return {
        'requirements': [{'type': 'assert-table-uuid', 'uuid': str(table.metadata.table_uuid)},
                         {'type': 'assert-ref-snapshot-id', 'ref': 'main', 'snapshot-id': parent}],
        'updates': [{'action': 'add-snapshot', 'snapshot': snapshot},
                    {'action': 'set-snapshot-ref', 'ref-name': 'main', 'type': 'branch',
                     'snapshot-id': FIRST_ID + number}]}
