"""A server with masks of the file layer: an administrator who writes them, a steward whose role lifts them, and an
analyst who gets masked files. What each set of keys opens is tried at the store."""
import dataclasses
import gzip
import io
import json
import time

import fastavro
import pyarrow.parquet as pq
import requests
from minio import Minio
from minio.error import S3Error
from pyiceberg.catalog import load_catalog
from rest import Rest

NAMESPACE = 'governed'
CLIENTS = {
    'admin': ('top-secret', '*', ''),
    'steward': ('st-secret', f'ns:{NAMESPACE}:rw', 'steward'),
    'analyst': ('an-secret', f'ns:{NAMESPACE}:rw', 'analyst'),
    'intern': ('in-secret', f'ns:{NAMESPACE}:r', 'intern'),
}
SETTINGS = {
    'LAKEPROXY_OAUTH_CLIENTS': ','.join(f'{name}:{secret}|{scope}|{roles}'
                                        for name, (secret, scope, roles) in CLIENTS.items()),
    'LAKEPROXY_OAUTH_JWT_SECRET': 'for tests alone: 32 bytes and more of it',
    'LAKEPROXY_REQUIRE_AUTH': '1', 'LAKEPROXY_STS_MAX_DURATION': '900',
    'LAKEPROXY_SIGNER_CACHE_TTL': '0', 'LAKEPROXY_MASKED_EXPORT_FILE_SIZE': '1MiB'}
VENDED = {'X-Iceberg-Access-Delegation': 'vended-credentials'}
# Copies are made behind the answers; a machine with other work to do takes its time.
PATIENCE_SECONDS = 120


@dataclasses.dataclass(frozen=True)
class Caller(Rest):
    """The catalog as one client sees it."""
    name: str = ''
    token: str = ''

    def send(self, method, path, **request):
        request['headers'] = {'Authorization': f'Bearer {self.token}', **request.get('headers', {})}
        return super().send(method, path, **request)

    def table(self, name):
        return f'namespaces/{NAMESPACE}/tables/{name}'

    def load(self, name, **request):
        """The answer, once the masked copies are there."""
        return self.patient(lambda: self.get(self.table(name), **request))

    @staticmethod
    def patient(ask):
        end = time.monotonic() + PATIENCE_SECONDS
        while True:
            answer = ask()
            if answer.status_code != 503 or time.monotonic() > end:
                return answer
            assert answer.headers['Retry-After'], 'a client must know when to come back'
            time.sleep(0.2)

    def keys(self, name, store):
        answer = self.load(name, headers=VENDED)
        assert answer.status_code == 200, answer.text
        return Keys(answer.json()['config'], store)

    def pyiceberg(self):
        return load_catalog('lake', type='rest', uri=self.uri, warehouse=self.prefix, token=self.token,
                            **{'header.X-Iceberg-Access-Delegation': 'vended-credentials'})


def as_client(server, name):
    body = {'grant_type': 'client_credentials', 'client_id': name, 'client_secret': CLIENTS[name][0]}
    answer = requests.post(f'{server.uri()}/v1/oauth/tokens', data=body, timeout=30)
    assert answer.status_code == 200, answer.text
    return Caller(server.uri(), 'lake', name, answer.json()['access_token'])


class Governance:
    """What the administrator writes. Names of policies are those of the table, so that tests do not meet."""

    def __init__(self, admin):
        self.admin = admin

    def mask(self, table, column, type_name, body, file_layer=True, lifted_by=('steward',)):
        name = f'{table}_{column}'
        self.post('masking-policies', {'name': name, 'signature': f'(v {type_name})', 'body': body,
                                       'unmasked-roles': list(lifted_by), 'file-layer-masking': file_layer})
        self.post('policy-attachments', self.attachment(table, column))
        return name

    @staticmethod
    def attachment(table, column):
        return {'policy-kind': 'masking', 'policy-name': f'{table}_{column}', 'target-kind': 'column',
                'schema': NAMESPACE, 'object': table, 'column': column}

    def unmask(self, table, column):
        answer = self.admin.send('DELETE', 'governance/policy-attachments', json=self.attachment(table, column))
        assert answer.status_code == 200, answer.text

    def filter(self, table, signature, body, columns, lifted_by=('steward',)):
        name = f'{table}_rows'
        self.post('row-access-policies', {'name': name, 'signature': signature, 'body': body,
                                          'unmasked-roles': list(lifted_by)})
        self.post('policy-attachments', {'policy-kind': 'row_access', 'policy-name': name, 'target-kind': 'table',
                                         'schema': NAMESPACE, 'object': table, 'columns': columns})

    def post(self, collection, body):
        answer = self.admin.post(f'governance/{collection}', body)
        assert answer.status_code in (200, 201), answer.text


class Keys:
    """Keys to the store: what they open, as bytes."""

    def __init__(self, config, store):
        self.config = config
        self.bucket = store.bucket
        self.client = Minio(store.host, access_key=config['s3.access-key-id'],
                            secret_key=config['s3.secret-access-key'], session_token=config.get('s3.session-token'),
                            secure=False, region=config.get('s3.region', 'us-east-1'))

    def get(self, key):
        """The object, or None where it is refused."""
        try:
            answer = self.client.get_object(self.bucket, key)
        except S3Error as error:
            assert error.code == 'AccessDenied', error
            return None
        try:
            return answer.read()
        finally:
            answer.close()
            answer.release_conn()

    def lists(self, prefix):
        try:
            list(self.client.list_objects(self.bucket, prefix=prefix, recursive=True))
            return True
        except S3Error as error:
            assert error.code == 'AccessDenied', error
            return False

    def puts(self, key):
        try:
            self.client.put_object(self.bucket, key, io.BytesIO(b'x'), 1)
            return True
        except S3Error as error:
            assert error.code == 'AccessDenied', error
            return False


@dataclasses.dataclass(frozen=True)
class Store:
    """The store past every catalog, with its own keys."""
    host: str
    bucket: str
    client: Minio

    @staticmethod
    def of(stack, lake):
        return Store(f'127.0.0.1:{stack.store.port}', lake.s3_bucket, stack.store.client())

    def under(self, prefix):
        return {item.object_name for item in self.client.list_objects(self.bucket, prefix=prefix, recursive=True)}

    def key(self, location):
        return location.removeprefix(f's3://{self.bucket}/')


def texts_of(content):
    """All that an object tells, as texts: its bytes, and what they are once they are unpacked and decoded."""
    yield content.decode('latin-1')
    if content[:2] == b'\x1f\x8b':
        yield from texts_of(gzip.decompress(content))
    if content[:4] == b'PAR1':
        file = pq.ParquetFile(io.BytesIO(content))
        yield str(file.metadata.to_dict())
        yield str(file.schema)
        yield from flat(file.read().to_pylist())
    if content[:4] == b'Obj\x01':
        reader = fastavro.reader(io.BytesIO(content))
        yield str(reader.metadata)
        yield from flat(list(reader))
    if content[:1] in b'{[':
        yield from flat(json.loads(content))


def flat(value):
    """Each value in it, as text; bytes also as what they spell."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield str(key)
            yield from flat(part)
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from flat(part)
    elif isinstance(value, bytes):
        yield value.decode('latin-1')
        yield value.hex()
    else:
        yield str(value)


def told(content, secrets):
    """Those of the secrets that the object tells."""
    found = set()
    for text in texts_of(content):
        found |= {secret for secret in secrets if secret in text}
    return found


def rows(table):
    """Rows of a pyarrow table, comparable."""
    return sorted(table.to_pylist(), key=lambda row: row['id'])

