"""What a masked principal's keys give it: rows by way of metadata, manifests and Parquet files, as an Iceberg reader goes; and whether
they open what is not its own."""
import io

import fastavro
import pyarrow.parquet as pq
from minio.error import S3Error
from oracle.steps import Difference

FIELD_ID = b'PARQUET:field_id'
DATA = 0


class Keys:
    """Those that came with an answer."""

    def __init__(self, world, config):
        self.bucket = world.bucket
        self.client = world.opened_with(config['s3.access-key-id'], config['s3.secret-access-key'], config.get('s3.session-token'),
                                        config.get('s3.endpoint'))

    def get(self, key):
        """The object, or None where it is refused."""
        try:
            answer = self.client.get_object(self.bucket, key)
        except S3Error as error:
            if error.code != 'AccessDenied':
                raise Difference('keys', f'{key}: {error.code}') from error
            return None
        try:
            return answer.read()
        finally:
            answer.close()
            answer.release_conn()

    def must_get(self, key):
        content = self.get(key)
        if content is None:
            raise Difference('keys', f'they do not open what the answer names: {key}')
        return content


def key_of(world, location):
    return location.removeprefix(f's3://{world.bucket}/')


def columns_of(metadata):
    """(name, field id) of the current schema."""
    current = next(schema for schema in metadata['schemas'] if schema['schema-id'] == metadata['current-schema-id'])
    return [(field['name'], field['id']) for field in current['fields']]


def types_of(metadata):
    current = next(schema for schema in metadata['schemas'] if schema['schema-id'] == metadata['current-schema-id'])
    return [(field['name'], field['type']) for field in current['fields']]


def files_of(world, metadata, keys):
    """Data files of the newest snapshot. There are no deletes in a masked copy."""
    current = metadata.get('current-snapshot-id')
    if current in (None, -1):
        return []
    snapshot = next(one for one in metadata['snapshots'] if one['snapshot-id'] == current)
    listed = fastavro.reader(io.BytesIO(keys.must_get(key_of(world, snapshot['manifest-list']))))
    found = []
    for manifest in listed:
        if manifest['content'] != DATA:
            raise Difference('masked files', f'a masked table has delete files: {manifest}')
        for entry in fastavro.reader(io.BytesIO(keys.must_get(key_of(world, manifest['manifest_path'])))):
            if entry['status'] != 2:
                found.append(entry['data_file'])
    return found


def rows_of(world, metadata, keys):
    """Tuples in the order of the schema's columns."""
    wanted = columns_of(metadata)
    rows = []
    for file in files_of(world, metadata, keys):
        table = pq.read_table(io.BytesIO(keys.must_get(key_of(world, file['file_path']))))
        if table.num_rows != file['record_count']:
            raise Difference('masked files', f'{file["file_path"]} has {table.num_rows} rows, not {file["record_count"]}')
        by_id = {int(field.metadata[FIELD_ID]): table.column(i) for i, field in enumerate(table.schema)}
        columns = [by_id[number].to_pylist() if number in by_id else [None] * table.num_rows for _, number in wanted]
        rows += zip(*columns)
    return rows


def base_objects(world, location, own):
    """Objects of the table itself, beside the folder of one's own masked copies."""
    folder = key_of(world, location)
    found = [item.object_name for item in world.store.list_objects(world.bucket, prefix=folder + '/', recursive=True)]
    return [key for key in found if own is None or not key.startswith(own + '/')]
