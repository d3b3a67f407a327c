"""Manifest lists and manifests as the specification has them, by a plain Avro library: PyIceberg 0.12 writes none of
format version 3, and what it reads of one lacks the row ids and the places of deletion vectors."""
import io

import fastavro
from pyiceberg.utils.schema_conversion import AvroSchemaConversion
from pyiceberg.manifest import (MANIFEST_LIST_FILE_SCHEMAS, data_file_with_partition,
                                manifest_entry_schema_with_data_file)

EXISTING, ADDED, DELETED = 0, 1, 2
DATA, POSITION_DELETES, EQUALITY_DELETES = 0, 1, 2


def fetch(loaded, place):
    with loaded.io.new_input(place).open() as source:
        return source.read()


def store(loaded, place, content):
    """The bytes' count."""
    with loaded.io.new_output(place).create() as out:
        out.write(content)
    return len(content)


def read_list(loaded, place):
    return list(fastavro.reader(io.BytesIO(fetch(loaded, place))))


def read_manifest(loaded, listed):
    """(Avro schema, entries); what an entry leaves out it has from the manifest, in order."""
    reader = fastavro.reader(io.BytesIO(fetch(loaded, listed['manifest_path'])))
    entries = list(reader)
    next_row_id = listed.get('first_row_id')
    for entry in entries:
        file = entry['data_file']
        entry['inherits'] = entry['sequence_number'] is None
        if entry['status'] == ADDED:
            for name in ('sequence_number', 'file_sequence_number'):
                entry[name] = listed['sequence_number'] if entry[name] is None else entry[name]
        if entry['snapshot_id'] is None:
            entry['snapshot_id'] = listed['added_snapshot_id']
        if file['content'] == DATA and entry['status'] != DELETED and file.get('first_row_id') is None and next_row_id is not None:
            file['first_row_id'] = next_row_id
            next_row_id += file['record_count']
    return reader.writer_schema, entries


def live_entries(loaded, place):
    """(manifest's row, its Avro schema, entry) of each live file of a manifest list."""
    for listed in read_list(loaded, place):
        schema, entries = read_manifest(loaded, listed)
        for entry in entries:
            if entry['status'] != DELETED:
                yield listed, schema, entry


def entry_schema(loaded, spec):
    """For a spec that no manifest of the table has yet."""
    version = loaded.metadata.format_version
    files = data_file_with_partition(format_version=version, partition_type=spec.partition_type(loaded.schema()))
    schema = manifest_entry_schema_with_data_file(format_version=version, data_file=files)
    return with_names_once(AvroSchemaConversion().iceberg_to_avro(schema, schema_name='manifest_entry'), set())


def with_names_once(schema, known):
    """PyIceberg calls each decimal of one kind by the same name, which Avro allows once."""
    if isinstance(schema, list):
        return [with_names_once(part, known) for part in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: with_names_once(part, known) for key, part in schema.items()}
    if made.get('type') == 'fixed':
        if made['name'] in known:
            made['name'] += f'_{len(known)}'
        known.add(made['name'])
    return made


def encoded(schema, rows, metadata):
    sink = io.BytesIO()
    fastavro.writer(sink, fastavro.parse_schema(schema), rows, codec='deflate', metadata=metadata)
    return sink.getvalue()


def write_manifest(loaded, place, schema, spec, entries, snapshot_id):
    """The manifest's row in a manifest list; `sequence_number` None is that of the commit."""
    version = loaded.metadata.format_version
    is_data = entries[0]['data_file']['content'] == DATA
    metadata = {'schema': loaded.schema().model_dump_json(), 'partition-spec': spec.model_dump_json(include={'fields'}),
                'partition-spec-id': str(spec.spec_id), 'format-version': str(version),
                'content': 'data' if is_data else 'deletes'}
    listed = {'manifest_path': place, 'manifest_length': store(loaded, place, encoded(schema, entries, metadata)),
              'partition_spec_id': spec.spec_id, 'content': 0 if is_data else 1, 'sequence_number': None,
              'added_snapshot_id': snapshot_id, 'partitions': None, 'key_metadata': None}
    known = [entry['sequence_number'] for entry in entries if entry['status'] != DELETED]
    listed['min_sequence_number'] = None if None in known or not known else min(known)
    for status, name in ((ADDED, 'added'), (EXISTING, 'existing'), (DELETED, 'deleted')):
        counts = [entry['data_file']['record_count'] for entry in entries if entry['status'] == status]
        listed[f'{name}_files_count'], listed[f'{name}_rows_count'] = len(counts), sum(counts)
    return listed


def write_list(loaded, place, rows, snapshot_id, parent_id, number):
    version = loaded.metadata.format_version
    schema = AvroSchemaConversion().iceberg_to_avro(MANIFEST_LIST_FILE_SCHEMAS[version], schema_name='manifest_file')
    metadata = {'snapshot-id': str(snapshot_id), 'parent-snapshot-id': 'null' if parent_id is None else str(parent_id),
                'sequence-number': str(number), 'format-version': str(version)}
    full = [{**row, 'sequence_number': number if row['sequence_number'] is None else row['sequence_number'],
             'min_sequence_number': number if row['min_sequence_number'] is None else row['min_sequence_number']}
            for row in rows]
    store(loaded, place, encoded(schema, full, metadata))
