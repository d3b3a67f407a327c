"""Commits written by hand over REST: what an engine with merge-on-read sends and PyIceberg does not."""
import dataclasses
import io
import time
import uuid

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.io.pyarrow import (_determine_partitions, compute_statistics_plan, data_file_statistics_from_parquet_metadata,
                                  parquet_path_to_id_mapping)

from oracle import avro_files
from oracle.avro_files import ADDED, DATA, DELETED, EXISTING
from oracle.steps import Skip

FILE_PATH, POSITION = 2147483546, 2147483545  # the reserved field ids of position-delete files
ROW_ID, UPDATED = 2147483540, 2147483539      # and those of row lineage
STATISTICS = ('column_sizes', 'value_counts', 'null_value_counts', 'nan_value_counts', 'lower_bounds', 'upper_bounds')


@dataclasses.dataclass
class Live:
    """A file of a snapshot with all that its manifest says of it."""

    spec_id: int
    schema: dict  # Avro's, of its manifest
    entry: dict

    @property
    def file(self):
        return self.entry['data_file']

    @property
    def path(self):
        return self.file['file_path']

    @property
    def group(self):
        """Delete files must be of the same one."""
        return self.spec_id, repr(self.file['partition'])


def live(loaded, snapshot=None):
    """(data files, delete files), each by their paths."""
    snapshot = snapshot or loaded.current_snapshot()
    if snapshot is None:
        return [], []
    found = [Live(listed['partition_spec_id'], schema, entry)
             for listed, schema, entry in avro_files.live_entries(loaded, snapshot.manifest_list)]
    found.sort(key=lambda each: (each.entry['sequence_number'], each.file['record_count'], each.path))
    return ([each for each in found if each.file['content'] == DATA],
            [each for each in found if each.file['content'] != DATA])


def numbered(name, kind, number):
    return pa.field(name, kind, metadata={'PARQUET:field_id': str(number)})


def new_place(loaded, suffix):
    return f'{loaded.location()}/data/by-hand-{uuid.uuid4()}.{suffix}'


def put_parquet(loaded, rows):
    """What a manifest says of the new file, but for its partition; and the file."""
    if any(str(field.field_type).startswith('geometry') for field in loaded.schema().fields if field.name in rows.column_names):
        raise Skip('pyarrow writes binary where the format wants geometry')
    sink = io.BytesIO()
    pq.write_table(rows, sink)
    place = new_place(loaded, 'parquet')
    return {'content': DATA, 'file_path': place, 'file_format': 'PARQUET', 'record_count': rows.num_rows,
            'file_size_in_bytes': avro_files.store(loaded, place, sink.getvalue())}, sink.getvalue()


def data_files(loaded, rows):
    """Files of the table's present spec, one for each partition, with statistics as PyIceberg makes them."""
    spec = loaded.spec()
    schema = avro_files.entry_schema(loaded, spec)
    if spec.is_unpartitioned():
        return [data_file(loaded, rows, spec.spec_id, schema, {})]
    names = [field['name'] for field in partition_fields(schema)]
    made = []
    for part in _determine_partitions(spec, loaded.schema(), rows):
        values = [part.partition_key.partition[n] for n in range(len(names))]
        made.append(data_file(loaded, part.arrow_table_partition, spec.spec_id, schema, dict(zip(names, values))))
    return made


def partition_fields(schema):
    file = next(field for field in schema['fields'] if field['name'] == 'data_file')['type']
    return next(field for field in file['fields'] if field['name'] == 'partition')['type']['fields']


def data_file(loaded, rows, spec_id, schema, partition):
    file, content = put_parquet(loaded, rows)
    known = loaded.schema()
    of_table = rows.select([name for name in rows.column_names if name in {field.name for field in known.fields}])
    if of_table.num_columns == rows.num_columns:
        found = data_file_statistics_from_parquet_metadata(
            pq.read_metadata(io.BytesIO(content)), compute_statistics_plan(known, loaded.properties),
            parquet_path_to_id_mapping(known)).to_serialized_dict()
        for name in STATISTICS:
            file[name] = [{'key': key, 'value': value} for key, value in (found.get(name) or {}).items()]
    file['partition'] = partition
    return Live(spec_id, schema, new_entry(file))


def new_entry(file):
    return {'status': ADDED, 'snapshot_id': None, 'sequence_number': None, 'file_sequence_number': None, 'data_file': file}


def position_deletes(pairs):
    """Rows in the order that the specification asks for."""
    pairs = sorted(pairs)
    schema = pa.schema([numbered('file_path', pa.string(), FILE_PATH), numbered('pos', pa.int64(), POSITION)])
    return pa.table([[path for path, _ in pairs], [position for _, position in pairs]], schema=schema)


def delete_file(loaded, rows, content, like, equality_ids=None):
    """A delete file under the spec and partition of `like`."""
    file, _ = put_parquet(loaded, rows)
    file |= {'content': content, 'partition': like.file['partition'], 'equality_ids': equality_ids}
    return Live(like.spec_id, like.schema, new_entry(file))


class Nothing:
    """The parent of a snapshot that begins a table anew."""

    id = None
    manifests = ()


class Snapshot:
    """A snapshot in the making: manifests that stay, and new ones."""

    def __init__(self, loaded, operation, parent=None, number=1):
        """On `parent` instead of the table's present snapshot: another one of this commit, or Nothing."""
        self.loaded = loaded
        self.id = uuid.uuid4().int >> 66  # not of the seed: a history is run again while it is shrunk
        current = loaded.current_snapshot()
        self.parent_id = parent.id if parent else current.snapshot_id if current else None
        self.number = loaded.metadata.last_sequence_number + number
        self.operation = operation
        self.manifests = list(parent.manifests) if parent else \
            avro_files.read_list(loaded, current.manifest_list) if current else []
        self.made = 0

    def place(self, kind):
        self.made += 1
        return f'{self.loaded.location()}/metadata/by-hand-{self.id:x}-{kind}-{self.made}.avro'

    def write(self, schema, spec_id, entries, kind):
        spec = self.loaded.metadata.specs()[spec_id]
        return avro_files.write_manifest(self.loaded, self.place(kind), schema, spec, entries, self.id)

    def add(self, files):
        """One manifest for each spec and each kind, since a manifest has one."""
        for spec_id, is_data in sorted({(file.spec_id, file.file['content'] == DATA) for file in files}):
            chosen = [file for file in files if (file.spec_id, file.file['content'] == DATA) == (spec_id, is_data)]
            entries = [{**file.entry, 'snapshot_id': self.id} for file in chosen]
            self.manifests.append(self.write(chosen[0].schema, spec_id, entries, 'added'))

    def remove(self, gone):
        """Each manifest that lists one of the files is written again with the file marked as deleted."""
        keys = {key(file.file) for file in gone}
        self.manifests = [self.without(listed, keys) for listed in self.manifests]

    def without(self, listed, keys):
        schema, entries = avro_files.read_manifest(self.loaded, listed)
        entries = [entry for entry in entries if entry['status'] != DELETED]
        if not any(key(entry['data_file']) in keys for entry in entries):
            return listed
        for entry in entries:
            gone = key(entry['data_file']) in keys
            entry['status'] = DELETED if gone else EXISTING
            entry['snapshot_id'] = self.id if gone else entry['snapshot_id']
        made = self.write(schema, listed['partition_spec_id'], entries, 'again')
        if listed.get('first_row_id') is not None:
            made['first_row_id'] = listed['first_row_id']
        return made

    def update(self):
        """The update that adds it."""
        place = self.place('list')
        avro_files.write_list(self.loaded, place, self.with_row_ids(), self.id, self.parent_id, self.number)
        snapshot = {'snapshot-id': self.id, 'sequence-number': self.number, 'timestamp-ms': int(time.time() * 1000),
                    'manifest-list': place, 'summary': {'operation': self.operation},
                    'schema-id': self.loaded.metadata.current_schema_id}
        if self.parent_id is not None:
            snapshot['parent-snapshot-id'] = self.parent_id
        if self.loaded.metadata.format_version >= 3:
            first = self.loaded.metadata.next_row_id
            snapshot |= {'first-row-id': first, 'added-rows': self.next_row_id - first}
        return {'action': 'add-snapshot', 'snapshot': snapshot}

    def with_row_ids(self):
        """New manifests of data files get the table's next ids, as the specification asks for."""
        if self.loaded.metadata.format_version < 3:
            return self.manifests
        self.next_row_id = self.loaded.metadata.next_row_id
        rows = []
        for listed in self.manifests:
            if listed['content'] == 0 and listed.get('first_row_id') is None:
                listed = {**listed, 'first_row_id': self.next_row_id}
                self.next_row_id += listed['added_rows_count'] + listed['existing_rows_count']
            rows.append(listed)
        return rows

    def updates(self):
        return [self.update(), main_is(self.id)]


def is_vector(file):
    return file.file['file_format'].upper() == 'PUFFIN'


def key(file):
    return file['file_path'], file.get('content_offset')


def main_is(snapshot_id):
    return ref_is('main', 'branch', snapshot_id)


def ref_is(name, kind, snapshot_id, **more):
    return {'action': 'set-snapshot-ref', 'ref-name': name, 'type': kind, 'snapshot-id': snapshot_id, **more}


def main_was(loaded):
    return [{'type': 'assert-table-uuid', 'uuid': str(loaded.metadata.table_uuid)},
            {'type': 'assert-ref-snapshot-id', 'ref': 'main', 'snapshot-id': loaded.metadata.current_snapshot_id}]
