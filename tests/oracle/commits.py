"""Commits written by hand over REST: what an engine with merge-on-read sends and PyIceberg does not."""
import io
import time
import uuid

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.manifest import (DataFile, FileFormat, ManifestContent, ManifestEntry, ManifestEntryStatus,
                                ManifestWriterV2, write_manifest_list)

COMPRESSION = 'deflate'
FILE_PATH, POSITION = 2147483546, 2147483545  # the reserved field ids of position-delete files


class DeleteManifest(ManifestWriterV2):
    """PyIceberg writes manifests of data files only; the other kind differs in its header alone."""

    def content(self):
        return ManifestContent.DELETES

    @property
    def _meta(self):
        return {**super()._meta, 'content': 'deletes'}


def put_parquet(loaded, place, rows):
    """The bytes' count."""
    sink = io.BytesIO()
    pq.write_table(rows, sink)
    with loaded.io.new_output(place).create() as out:
        out.write(sink.getvalue())
    return len(sink.getvalue())


def numbered(name, kind, number):
    return pa.field(name, kind, metadata={'PARQUET:field_id': str(number)})


def position_deletes(paths, positions):
    """Rows in the order that the specification asks for."""
    pairs = sorted(zip(paths, positions))
    schema = pa.schema([numbered('file_path', pa.string(), FILE_PATH), numbered('pos', pa.int64(), POSITION)])
    return pa.table([[path for path, _ in pairs], [position for _, position in pairs]], schema=schema)


def delete_file(loaded, rows, content, like=None, equality_ids=None):
    """A delete file under the spec and partition of the data file `like`, or under a spec without fields."""
    place = f'{loaded.location()}/data/by-hand-{uuid.uuid4()}.parquet'
    file = DataFile.from_args(
        content=content, file_path=place, file_format=FileFormat.PARQUET, partition=like.partition,
        record_count=rows.num_rows, file_size_in_bytes=put_parquet(loaded, place, rows), equality_ids=equality_ids)
    file.spec_id = like.spec_id
    return file


class Snapshot:
    """A snapshot in the making: manifests that stay, and new ones."""

    def __init__(self, loaded, operation):
        self.loaded = loaded
        self.id = uuid.uuid4().int >> 66  # not of the seed: a history is run again while it is shrunk
        self.parent = loaded.current_snapshot()
        self.number = loaded.metadata.last_sequence_number + 1
        self.operation = operation
        self.manifests = list(self.parent.manifests(loaded.io)) if self.parent else []

    def place(self, kind):
        return f'{self.loaded.location()}/metadata/by-hand-{self.id:x}-{kind}-{len(self.manifests)}.avro'

    def add_deletes(self, files):
        """One manifest for each spec, since a manifest has one."""
        for spec_id in sorted({file.spec_id for file in files}):
            with DeleteManifest(self.loaded.metadata.specs()[spec_id], self.loaded.schema(),
                                self.loaded.io.new_output(self.place('deletes')), self.id, COMPRESSION) as writer:
                for file in files:
                    if file.spec_id == spec_id:
                        writer.add(ManifestEntry.from_args(status=ManifestEntryStatus.ADDED, snapshot_id=self.id, data_file=file))
            self.manifests.append(writer.to_manifest_file())

    def remove(self, paths):
        """Each manifest that lists one of the files is written again with the file marked as deleted."""
        self.manifests = [self.without(manifest, paths) for manifest in self.manifests]

    def without(self, manifest, paths):
        entries = manifest.fetch_manifest_entry(self.loaded.io, discard_deleted=True)
        if not any(entry.data_file.file_path in paths for entry in entries):
            return manifest
        kind = ManifestWriterV2 if manifest.content == ManifestContent.DATA else DeleteManifest
        place = f'{self.loaded.location()}/metadata/by-hand-{self.id:x}-again-{abs(hash(manifest.manifest_path)):x}.avro'
        with kind(self.loaded.metadata.specs()[manifest.partition_spec_id], self.loaded.schema(),
                  self.loaded.io.new_output(place), self.id, COMPRESSION) as writer:
            for entry in entries:
                (writer.delete if entry.data_file.file_path in paths else writer.existing)(entry)
        return writer.to_manifest_file()

    def updates(self):
        place = self.place('list')
        parent = self.parent.snapshot_id if self.parent else None
        with write_manifest_list(2, self.loaded.io.new_output(place), self.id, parent, self.number, COMPRESSION) as out:
            out.add_manifests(self.manifests)
        snapshot = {'snapshot-id': self.id, 'sequence-number': self.number, 'timestamp-ms': int(time.time() * 1000),
                    'manifest-list': place, 'summary': {'operation': self.operation},
                    'schema-id': self.loaded.metadata.current_schema_id}
        if parent is not None:
            snapshot['parent-snapshot-id'] = parent
        return [{'action': 'add-snapshot', 'snapshot': snapshot}, main_is(self.id)]


def main_is(snapshot_id):
    return {'action': 'set-snapshot-ref', 'ref-name': 'main', 'type': 'branch', 'snapshot-id': snapshot_id}


def main_was(loaded):
    return [{'type': 'assert-table-uuid', 'uuid': str(loaded.metadata.table_uuid)},
            {'type': 'assert-ref-snapshot-id', 'ref': 'main', 'snapshot-id': loaded.metadata.current_snapshot_id}]


def live_files(loaded):
    return sorted((task.file for task in loaded.scan().plan_files()), key=lambda file: file.file_path)
