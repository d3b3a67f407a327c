"""Keys that live, for clients that can neither sign nor be given temporary ones: cut by a bucket policy, on VersityGW."""
import io
import json
import subprocess

import duckdb
import pytest
import requests
from minio import Minio
from minio.error import S3Error
from pyiceberg.catalog import load_catalog

from lake_clients import duck as duckdb_client
from plain_store import BUCKET, CLIENTS, ROWS, catalog_on, location_of, rest_of, running, token_of
from rest import assert_error
from stack import object_store, ports

KEYS = {'writer': ('writerkey', 'secret-of-the-writer'), 'reader': ('readerkey', 'secret-of-the-reader'),
        'other': ('otherkey', 'secret-of-the-other')}
PATH = 'governance/static-s3-keys'
VENDED = {'X-Iceberg-Access-Delegation': 'vended-credentials'}


@pytest.fixture(scope='module')
def store(tmp_path_factory):
    made = object_store.PlainStore(tmp_path_factory.mktemp('static'), ports.any_free(), 'rootkey', 'rootsecret')
    with running(made):
        for access_key, secret in KEYS.values():
            made.make_user(access_key, secret)
        yield made


@pytest.fixture(scope='module')
def server(stack, store, tmp_path_factory):
    with catalog_on(stack, store, 'static_keys', tmp_path_factory.mktemp('catalog')) as made:
        admin = rest_of(made, 'admin')
        for name in ('sales', 'hidden'):
            admin.post('namespaces', {'namespace': [name]}).raise_for_status()
        writer = load_catalog('root', type='rest', uri=made.uri(), warehouse='lake', token=token_of(made, 'admin'),
                              **{'s3.access-key-id': 'rootkey', 's3.secret-access-key': 'rootsecret',
                                 'header.X-Iceberg-Access-Delegation': ''})
        for table in ('sales.t', 'hidden.t'):
            writer.create_table(table, ROWS.schema).append(ROWS)
        yield made


def register(server, client, **fields):
    access_key, secret = KEYS[client]
    body = {'principal': client, 'access-key-id': access_key, 'secret-access-key': secret, 'note': 'a test', 'confined': True, **fields}
    return rest_of(server, 'admin').post(PATH, body)


def bucket_policy(server, *options):
    done = subprocess.run([server.binary, 'bucket-policy', *options], env=server.environment(), capture_output=True,
                          text=True, timeout=60, cwd=server.folder, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def load(server, client, table='sales.t', headers=VENDED):
    name_space, name = table.split('.')
    return rest_of(server, client).get(f'namespaces/{name_space}/tables/{name}', headers=headers)


class Keys:
    def __init__(self, server, client):
        access_key, secret = KEYS[client]
        self.client = Minio(server.store.endpoint().removeprefix('http://'), access_key, secret, secure=False,
                            region=object_store.REGION)

    def allowed(self, call, *arguments):
        try:
            call(*arguments)
            return True
        except S3Error as refusal:
            assert refusal.code == 'AccessDenied', refusal.code
            return False

    def get(self, key):
        return self.allowed(lambda: self.client.get_object(BUCKET, key).close())

    def put(self, key):
        return self.allowed(lambda: self.client.put_object(BUCKET, key, io.BytesIO(b'x'), 1))

    def remove(self, key):
        return self.allowed(lambda: self.client.remove_object(BUCKET, key))

    def list(self, prefix):
        return self.allowed(lambda: list(self.client.list_objects(BUCKET, prefix, recursive=True)))


@pytest.fixture(scope='module')
def applied(server):
    for client in KEYS:
        assert register(server, client).json() == {'status': 'created', 'access-key-id': KEYS[client][0]}
    return bucket_policy(server, '--apply')


def some_file(server, table):
    """A key of a data file, as the catalog's metadata has its folder."""
    folder = location_of(server, table).removeprefix(f's3://{BUCKET}/')
    objects = server.store.client().list_objects(BUCKET, folder + '/data/', recursive=True)
    return next(item.object_name for item in objects)


def test_a_key_is_managed_by_administrators_and_its_secret_is_never_shown(server):
    assert_error(rest_of(server, 'writer').post(PATH, {'principal': 'writer', 'access-key-id': 'x'}), 403)
    assert_error(rest_of(server, 'writer').get(PATH), 403)
    assert_error(rest_of(server, 'writer').send('DELETE', f'{PATH}/x'), 403)
    made = rest_of(server, 'admin').post(PATH, {'principal': 'nobody', 'access-key-id': 'x', 'secret-access-key': 'hush-hush'})
    assert made.status_code == 200 and 'hush' not in made.text
    listed = rest_of(server, 'admin').get(PATH)
    assert 'hush' not in listed.text
    assert {'access-key-id': 'x', 'principal': 'nobody', 'has-secret': True, 'note': '', 'confined': False} in listed.json()['static-s3-keys']
    assert rest_of(server, 'admin').send('DELETE', f'{PATH}/x').json() == {'status': 'deleted', 'access-key-id': 'x'}
    assert_error(rest_of(server, 'admin').send('DELETE', f'{PATH}/x'), 404)
    for body in ({}, {'principal': 'p'}, {'access-key-id': 'k'}, {'principal': 'p', 'access-key-id': '*'},
                 {'principal': '', 'access-key-id': 'k'}, {'principal': 'p', 'access-key-id': 'k', 'confined': 'yes'}):
        assert_error(rest_of(server, 'admin').post(PATH, body), 400)


def test_a_key_without_a_policy_or_a_plain_one_fails_closed(server):
    register(server, 'reader').raise_for_status()
    assert_error(load(server, 'reader'), 403)
    register(server, 'reader', confined=False).raise_for_status()
    bucket_policy(server, '--apply')
    refused = load(server, 'reader')
    assert_error(refused, 403)
    assert 'not confined' in refused.json()['error']['message']
    # Who can sign needs no key.
    assert load(server, 'reader', headers={'X-Iceberg-Access-Delegation': 'remote-signing'}).status_code == 200


def test_a_confined_key_opens_what_its_clients_scopes_do(server, applied):
    config = load(server, 'reader').json()['config']
    assert (config['s3.access-key-id'], config['s3.secret-access-key']) == KEYS['reader']
    assert load(server, 'reader').headers['Cache-Control'] == 'no-store'
    own, foreign = some_file(server, 'sales.t'), some_file(server, 'hidden.t')
    folder = location_of(server, 'sales.t').removeprefix(f's3://{BUCKET}/')
    reader, writer, other = (Keys(server, client) for client in ('reader', 'writer', 'other'))
    assert reader.get(own) and writer.get(own) and other.get(foreign)
    assert not reader.get(foreign) and not writer.get(foreign) and not other.get(own)
    assert writer.put(f'{folder}/data/new') and not reader.put(f'{folder}/data/new') and not other.put(f'{folder}/data/new')
    assert not writer.put(f'{folder}/metadata/lake/next.avro')
    assert not writer.put(f'{folder}0/data/new')
    for keys in (reader, writer, other):
        assert not keys.remove(own) and not keys.list(folder + '/') and not keys.list('')


def test_pyiceberg_with_a_static_key(server, applied):
    def connect(client):
        return load_catalog(client, type='rest', uri=server.uri(), warehouse='lake', credential=':'.join((client, CLIENTS[client][0])),
                            **{'oauth2-server-uri': f'{server.uri()}/v1/oauth/tokens', 'scope': ''})
    before = connect('reader').load_table('sales.t').scan().to_arrow().num_rows
    connect('writer').load_table('sales.t').append(ROWS)
    assert connect('reader').load_table('sales.t').scan().to_arrow().num_rows == before + 1000
    with pytest.raises(Exception, match='(?i)access.?denied|forbidden'):
        connect('reader').load_table('sales.t').append(ROWS)


def duck_iceberg(server, client):
    return duckdb_client.connect(
        duckdb_client.ICEBERG_EXTENSIONS,
        f"CREATE SECRET lake_tokens (TYPE iceberg, CLIENT_ID '{client}', CLIENT_SECRET '{CLIENTS[client][0]}', "
        f"OAUTH2_SERVER_URI '{server.uri()}/v1/oauth/tokens')",
        f"ATTACH 'lake' AS ice (TYPE iceberg, ENDPOINT '{server.uri()}', SECRET lake_tokens)",
        'SET enable_external_file_cache = false')


def test_duckdb_with_a_static_key(server, applied):
    reader, writer = duck_iceberg(server, 'reader'), duck_iceberg(server, 'writer')
    before = reader.execute('SELECT count(*) FROM ice.sales.t').fetchone()[0]
    writer.execute('INSERT INTO ice.sales.t VALUES (7)')
    assert duck_iceberg(server, 'reader').execute('SELECT count(*) FROM ice.sales.t').fetchone()[0] == before + 1
    with pytest.raises(duckdb.Error):
        reader.execute('INSERT INTO ice.sales.t VALUES (8)')
    access_key, secret = KEYS['reader']
    reader.execute(f"CREATE SECRET of_the_store (TYPE s3, KEY_ID '{access_key}', SECRET '{secret}', URL_STYLE path, USE_SSL false, REGION 'us-east-1', "
                   f"ENDPOINT '{server.store.endpoint().removeprefix('http://')}', SCOPE 's3://{BUCKET}')")
    assert reader.execute(f"SELECT count(*) FROM 's3://{BUCKET}/{some_file(server, 'sales.t')}'").fetchone()[0]
    with pytest.raises(duckdb.Error, match='403|Forbidden'):
        reader.execute(f"SELECT count(*) FROM 's3://{BUCKET}/{some_file(server, 'hidden.t')}'").fetchall()


def test_a_narrowed_token_gets_no_wider_key(server, applied):
    fields = {'grant_type': 'client_credentials', 'client_id': 'writer', 'client_secret': CLIENTS['writer'][0], 'scope': 'ns:sales:r'}
    token = requests.post(f'{server.uri()}/v1/oauth/tokens', data=fields, timeout=30).json()['access_token']
    answer = requests.get(f'{server.uri()}/v1/lake/namespaces/sales/tables/t', timeout=30,
                          headers={'Authorization': f'Bearer {token}', **VENDED})
    assert_error(answer, 403)
    assert KEYS['writer'][1] not in answer.text


def test_statements_of_others_stay_and_ours_are_written_anew(server, applied):
    client = server.store.client()
    theirs = {'Sid': 'theirs', 'Effect': 'Allow', 'Principal': {'AWS': ['otherkey']}, 'Action': ['s3:GetObject'],
              'Resource': [f'arn:aws:s3:::{BUCKET}/elsewhere/*']}
    now = json.loads(client.get_bucket_policy(BUCKET))
    ours = len(now['Statement'])
    client.set_bucket_policy(BUCKET, json.dumps({**now, 'Statement': [theirs, *now['Statement']]}))
    for _ in range(2):
        bucket_policy(server, '--apply')
        statements = json.loads(client.get_bucket_policy(BUCKET))['Statement']
        assert len(statements) == ours + 1 and any(one.get('Sid') == 'theirs' for one in statements)
