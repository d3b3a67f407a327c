"""A store that knows its bucket by the host of a request, and no longer by the path: the server and each client ask
http://lakehouse.localhost/KEY. The wires to the store note every path, so one request in the other style would be seen."""
import contextlib
import dataclasses
import json
import re
import shutil
import socket
import subprocess

import duckdb
import pyarrow as pa
import pytest
import urllib3
from minio import Minio
from pyiceberg.catalog import load_catalog
from pyiceberg.exceptions import ForbiddenError, SignError

from by_hand import Listening
from lake_clients import duck as duckdb_client
from plain_store import BUCKET, CLIENTS, catalog_on, rest_of, running
from stack import object_store, ports
from stack.process import wait_until
from test_remote_signing import Signer, iceberg_of, one_worker, refused  # noqa: F401
from tool_stack.authority import Authority

DOMAIN = 'localhost'
ROWS = pa.table({'a': pa.array([1, 2, 3], pa.int64())})
VENDED = {'header.X-Iceberg-Access-Delegation': 'vended-credentials'}


@pytest.fixture(scope='module', autouse=True)
def names_below_localhost():
    """What asks the system's resolver, as Python does, finds them only where that knows them. DuckDB and Arrow, which have
    curl, and the server find them everywhere."""
    ask = socket.getaddrinfo

    def look_up(host, *rest, **more):
        return ask(DOMAIN if str(host).endswith('.' + DOMAIN) else host, *rest, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket, 'getaddrinfo', look_up)
        yield


@contextlib.contextmanager
def hosted(stack, store, name, folder, **settings):
    """A catalog with a lake of its own on that store."""
    with Listening(store.port) as wire:
        told = {'LAKEPROXY_S3_ENDPOINT': f'http://{DOMAIN}:{wire.port}', 'LAKEPROXY_S3_PATH_STYLE': '0',
                'LAKEPROXY_S3_PREFIX': f'{name}/', 'LAKEPROXY_FILE_PREFIXES': '', **settings}
        with catalog_on(stack, store, f'virtual_{name}', folder, **told) as server:
            server.wire = wire
            for name_space in ('sales', 'hidden'):
                rest_of(server, 'admin').post('namespaces', {'namespace': [name_space]}).raise_for_status()
            yield server
        assert_only_hosts(wire)


def assert_only_hosts(wire):
    assert len(wire.asked) > 10, 'the store is reached by another way'
    assert [path for path in wire.asked if path.startswith(f'/{BUCKET}')] == []


@pytest.fixture(scope='module')
def store(tmp_path_factory):
    made = object_store.ObjectStore(tmp_path_factory.mktemp('minio'), ports.any_free(), 'rootkey', 'rootsecret', DOMAIN)
    with running(made):
        yield made


@pytest.fixture(scope='module')
def server(stack, store, tmp_path_factory):
    with hosted(stack, store, 'vended', tmp_path_factory.mktemp('vended'), LAKEPROXY_STS_ENDPOINT='') as made:
        yield made


def duck_on(server, lake):
    """DuckDB as a writer of the lake itself, with keys of its own and a secret that says where the bucket's name stands."""
    settings = server.environment()
    own = dataclasses.replace(
        lake, uri=server.uri(), s3_endpoint=settings['LAKEPROXY_S3_ENDPOINT'], s3_access_key=server.store.access_key,
        s3_secret_key=server.store.secret_key, prefix=settings['LAKEPROXY_S3_PREFIX'],
        pg_dsn=re.sub(r'dbname=\S+', f"dbname={settings['LAKEPROXY_PG_DATABASE']}", lake.pg_dsn))
    secret = duckdb_client.secret(own).replace("URL_STYLE 'path'", "URL_STYLE 'vhost'")
    return duckdb_client.connect(duckdb_client.LAKE_EXTENSIONS, secret, duckdb_client.attach_lake(own))


def engine_on(server, *before):
    """DuckDB's Iceberg extension, with keys that the catalog gives."""
    uri = server.uri()
    return duckdb_client.connect(
        duckdb_client.ICEBERG_EXTENSIONS, *before,
        f"CREATE SECRET lake_tokens (TYPE iceberg, CLIENT_ID 'writer', CLIENT_SECRET '{CLIENTS['writer'][0]}', "
        f"OAUTH2_SERVER_URI '{uri}/v1/oauth/tokens')",
        f"ATTACH 'lake' AS ice (TYPE iceberg, ENDPOINT '{uri}', SECRET lake_tokens)")


@pytest.fixture(scope='module')
def duck(server, lake):
    return duck_on(server, lake)


def iceberg(server, client, **properties):
    """PyIceberg that knows of the store what the catalog tells it."""
    return load_catalog(f'{client} of {server.port}', type='rest', uri=server.uri(), warehouse='lake',
                        credential=':'.join((client, CLIENTS[client][0])),
                        **{'oauth2-server-uri': f'{server.uri()}/v1/oauth/tokens', 'scope': '', **VENDED, **properties})


def values(table):
    return sorted(table.scan().to_arrow()['a'].to_pylist())


def test_duckdb_writes_and_every_object_of_the_metadata_is_read(server, duck):
    duck.execute('CREATE TABLE lake.sales.direct (a BIGINT)')
    duck.execute('INSERT INTO lake.sales.direct SELECT * FROM range(1000)')
    duck.execute('DELETE FROM lake.sales.direct WHERE a >= 3')
    duck.execute('INSERT INTO lake.sales.direct VALUES (7)')  # inlined
    table = iceberg(server, 'reader').load_table('sales.direct')
    assert values(table) == [0, 1, 2, 7]
    assert table.metadata_location.startswith(f's3://{BUCKET}/vended/')
    assert table.io.new_input(table.metadata_location).open().read()
    for snapshot in table.snapshots():
        for manifest in snapshot.manifests(table.io):
            assert manifest.fetch_manifest_entry(table.io)


def test_clients_are_told_the_style(server, duck):
    duck.execute('CREATE TABLE lake.sales.told (a BIGINT)')
    config = rest_of(server, 'reader').get('namespaces/sales/tables/told').json()['config']
    assert config['s3.endpoint'] == server.environment()['LAKEPROXY_S3_ENDPOINT']
    assert (config['s3.path-style-access'], config['s3.force-virtual-addressing']) == ('false', 'true')


def test_pyiceberg_with_vended_keys_reads_and_writes(server, duck):
    writer = iceberg(server, 'writer')
    table = writer.create_table('sales.vended', ROWS.schema)
    table.append(ROWS)
    table.delete('a = 2')
    assert values(iceberg(server, 'reader').load_table('sales.vended')) == [1, 3]
    assert duck.execute('SELECT a FROM lake.sales.vended ORDER BY a').fetchall() == [(1,), (3,)]
    with pytest.raises((OSError, ForbiddenError)):
        iceberg(server, 'reader').load_table('sales.vended').append(ROWS)


def test_pyiceberg_with_keys_of_its_own_reads_and_writes(server, duck):
    """It is told where the store is, and so in which style; its keys are all that it brings."""
    own = {'header.X-Iceberg-Access-Delegation': '', 's3.access-key-id': server.store.access_key,
           's3.secret-access-key': server.store.secret_key}
    table = iceberg(server, 'writer', **own).create_table('sales.own', ROWS.schema)
    table.append(ROWS)
    assert values(iceberg(server, 'reader', **own).load_table('sales.own')) == [1, 2, 3]
    assert duck.execute('SELECT sum(a) FROM lake.sales.own').fetchone() == (6,)


def test_compaction_and_the_removal_of_files_find_the_bucket(server, duck):
    admin = rest_of(server, 'admin')
    duck.execute('CREATE TABLE lake.sales.upkeep (a BIGINT)')
    for _ in range(3):
        duck.execute('INSERT INTO lake.sales.upkeep SELECT * FROM range(1000)')
    done = admin.post('admin/namespaces/sales/tables/upkeep/compact', timeout=120).json()
    assert done['complete'] and done['merged'] == {'files-read': 3, 'files-written': 1}, done
    assert len(values(iceberg(server, 'reader').load_table('sales.upkeep'))) == 3000
    location = admin.get('namespaces/sales/tables/upkeep').json()['metadata']['location']
    prefix = location.removeprefix(f's3://{BUCKET}/').rstrip('/') + '/'
    done = subprocess.run([server.binary, 'gc', '--json', '--older-than', '0s'], env=server.environment(), cwd=server.folder,
                          check=False, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and json.loads(done.stdout)['listed'] > 5, (done.stdout, done.stderr)

    def objects():
        return [item.object_name for item in server.store.client().list_objects(bucket_name=BUCKET, prefix=prefix, recursive=True)]

    assert objects()
    admin.send('DELETE', 'namespaces/sales/tables/upkeep', params={'purgeRequested': 'true'}).raise_for_status()
    assert wait_until(lambda: not objects(), 30), objects()


def test_the_gateway_asks_the_host_and_is_asked_by_path(stack, store, tmp_path):
    with hosted(stack, store, 'gateway', tmp_path, LAKEPROXY_STS_ENDPOINT='none', LAKEPROXY_S3_GATEWAY='1',
                LAKEPROXY_S3_GATEWAY_PORT=str(ports.any_free())) as server:
        table = iceberg(server, 'writer').create_table('sales.t', ROWS.schema)
        table.append(ROWS)
        assert table.io.properties['s3.endpoint'] != server.environment()['LAKEPROXY_S3_ENDPOINT']
        assert (table.io.properties['s3.path-style-access'], table.io.properties['s3.force-virtual-addressing']) == ('true', 'false')
        assert values(iceberg(server, 'reader').load_table('sales.t')) == [1, 2, 3]


# Over TLS

class SecureStore(object_store.ObjectStore):
    """Its certificate is for the bucket's host and for 127.0.0.1, and not for the address that clients are told: a request in
    the other style ends before it is sent."""

    def __init__(self, folder):
        super().__init__(folder, ports.any_free(), 'rootkey', 'rootsecret', DOMAIN)
        self.authority = Authority(folder / 'authority')
        self.certificates = folder / 'certificates'
        self.certificates.mkdir()
        for file, name in zip(self.authority.server('store', f'{BUCKET}.{DOMAIN}'), ('public.crt', 'private.key')):
            shutil.copy(file, self.certificates / name)

    def options(self):
        return ['--certs-dir', self.certificates]

    def ready(self):
        return object_store.answers(f'https://127.0.0.1:{self.port}/minio/health/ready', self.authority.client_tls())

    def client(self):
        return Minio(f'127.0.0.1:{self.port}', access_key=self.access_key, secret_key=self.secret_key, region=object_store.REGION,
                     http_client=urllib3.PoolManager(ca_certs=str(self.authority.roots), retries=urllib3.Retry(
                         total=5, backoff_factor=0.2, status_forcelist=[503])))  # as it begins


@pytest.fixture(scope='module')
def secure(stack, tmp_path_factory):
    made = SecureStore(tmp_path_factory.mktemp('tls'))
    settings = {'LAKEPROXY_S3_ENDPOINT': f'https://{DOMAIN}:{made.port}', 'LAKEPROXY_S3_PATH_STYLE': '0', 'LAKEPROXY_S3_PREFIX': 'tls/',
                'LAKEPROXY_S3_CA_FILE': str(made.authority.roots), 'LAKEPROXY_STS_ENDPOINT': f'https://127.0.0.1:{made.port}',
                'LAKEPROXY_FILE_PREFIXES': ''}
    with running(made), catalog_on(stack, made, 'virtual_tls', tmp_path_factory.mktemp('catalog'), **settings) as server:
        rest_of(server, 'admin').post('namespaces', {'namespace': ['sales']}).raise_for_status()
        yield server


def test_duckdbs_iceberg_extension_with_vended_keys_reads_and_writes(secure):
    engine = engine_on(secure, f"SET ca_cert_file = '{secure.store.authority.roots}'")
    engine.execute('CREATE TABLE ice.sales.engine (a BIGINT)')
    engine.execute('INSERT INTO ice.sales.engine SELECT * FROM range(100)')
    engine.execute('DELETE FROM ice.sales.engine WHERE a >= 50')
    assert engine.execute('SELECT sum(a) FROM ice.sales.engine').fetchone() == (1225,)
    done = rest_of(secure, 'admin').post('admin/namespaces/sales/tables/engine/compact', timeout=120).json()
    assert done['complete'], done
    assert engine.execute('SELECT sum(a) FROM ice.sales.engine').fetchone() == (1225,)


def test_duckdbs_iceberg_extension_takes_a_bucket_that_is_a_host_for_one_with_tls(server, duck):
    """DuckDB 1.5.5, whatever the address says."""
    duck.execute('CREATE TABLE lake.sales.engine (a BIGINT)')
    duck.execute('INSERT INTO lake.sales.engine SELECT * FROM range(100)')
    with pytest.raises(duckdb.Error, match=f'https://{BUCKET}.{DOMAIN}'):
        engine_on(server).execute('SELECT sum(a) FROM ice.sales.engine')


# Remote signing

@pytest.fixture(scope='module')
def signing(stack, tmp_path_factory):
    """On a store that has no STS, and refuses fields that are not signed."""
    plain = object_store.PlainStore(tmp_path_factory.mktemp('plain'), ports.any_free(), 'rootkey', 'rootsecret', DOMAIN)
    with running(plain), hosted(stack, plain, 'signed', tmp_path_factory.mktemp('signed')) as server:
        yield server


def signed(server, client):
    # Catalogs that are configured alike share a file system, with the signer of another server.
    return iceberg_of(server, client, **{'s3.connect-timeout': str(80 + list(CLIENTS).index(client))})


def test_pyiceberg_reads_and_writes_without_a_key(signing):
    writer = signed(signing, 'writer')
    writer.create_table('sales.t', ROWS.schema).append(ROWS)
    assert values(signed(signing, 'reader').load_table('sales.t')) == [1, 2, 3]
    table = signed(signing, 'reader').load_table('sales.t')
    with pytest.raises((SignError, ForbiddenError, PermissionError, OSError)):
        table.append(ROWS)


def test_the_host_names_the_bucket_in_what_is_signed(signing):
    signed(signing, 'writer').create_table('sales.host', ROWS.schema).append(ROWS)
    location = rest_of(signing, 'admin').get('namespaces/sales/tables/host').json()['metadata']['location']
    key = location.removeprefix(f's3://{BUCKET}') + '/data/x'
    signer = Signer(signing, 'writer', 'sales.host')
    port = signing.wire.port
    host = signer.store = f'http://{BUCKET}.{DOMAIN}:{port}'
    assert signer.send('PUT', key, b'x').status_code == 200
    assert signer.send('GET', key).content == b'x'
    for uri in (f'http://{DOMAIN}:{port}/{BUCKET}{key}', f'http://other.{DOMAIN}:{port}{key}', f'{host}:1{key}',
                f'http://{BUCKET}.{DOMAIN}{key}', f'http://{BUCKET}.{BUCKET}.{DOMAIN}:{port}{key}'):
        refused(signer.ask('GET', '', uri=uri), 400, 403)
    other = Signer(signing, 'other', 'hidden.none')
    refused(other.ask('GET', '', uri=host + key), 403, 404)
