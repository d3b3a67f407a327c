"""The S3 gateway: what its keys open on a store that makes none, and that they open nothing beside it."""
import datetime
import hashlib
import http.client
import os
import re
import time

import pyarrow as pa
import pytest
import requests

from by_hand import Watched
from gateway import GatewayKeys, GatewayStore, gateway_beside, on_plain_store
from lake_clients import iceberg as iceberg_client
from raw_s3 import Raw
from rest import table_body
from vended import CLIENTS, SETTINGS, Store, as_client

ROWS = pa.table({'a': [1, 2, 3]})


@pytest.fixture(scope='module', params=['minio', 'versitygw'])
def place(request, stack, lake, tmp_path_factory):
    """The same on a store that has STS, which is not asked, and on one that has none."""
    if request.param == 'minio':
        yield stack, lake
        return
    with on_plain_store(stack, lake, tmp_path_factory.mktemp('plain'), 'gateway_attacks') as made:
        yield made


@pytest.fixture(scope='module')
def stack_of_place(place):
    return place[0]


@pytest.fixture(scope='module')
def lake_of_place(place):
    return place[1]


@pytest.fixture(scope='module')
def server(stack_of_place):
    with gateway_beside(stack_of_place) as made:
        yield made


@pytest.fixture(scope='module')
def keeps_parts(lake_of_place, stack):
    """VersityGW 1.8 stores what has come of an object whose hash it does not know when the sender breaks off."""
    return lake_of_place.s3_endpoint != stack.store.endpoint()


@pytest.fixture(scope='module')
def at(server, lake_of_place):
    return GatewayStore(server, lake_of_place)


@pytest.fixture(scope='module')
def store(stack_of_place, lake_of_place):
    return Store.of(stack_of_place, lake_of_place)


@pytest.fixture(scope='module')
def tables(lake_of_place):
    catalog = iceberg_client.connect(lake_of_place)
    for name in ('keys', 'others'):
        catalog.create_namespace_if_not_exists(name)
    for name in ('keys.g', 'keys.h', 'others.g'):
        if catalog.table_exists(name):
            catalog.drop_table(name)
        catalog.create_table(name, ROWS.schema).append(ROWS)
    return catalog


class Places:
    def __init__(self, catalog, store, name):
        table = catalog.load_table(name)
        self.folder = store.key(table.location())
        self.data = sorted(store.key(task.file.file_path) for task in table.scan().plan_files())
        self.list = store.key(table.current_snapshot().manifest_list)
        self.document = store.key(table.metadata_location)
        self.all = (*self.data, self.list, self.document)


@pytest.fixture(scope='module')
def g(tables, store):
    return Places(tables, store, 'keys.g')


@pytest.fixture(scope='module')
def h(tables, store):
    return Places(tables, store, 'keys.h')


def keys_of(server, client, name, at, **fields):
    answer = as_client(server, client, **fields).get('namespaces/{}/tables/{}'.format(*name.split('.')))
    assert answer.status_code == 200, answer.text
    return GatewayKeys(answer.json()['config'], at)


@pytest.fixture(scope='module')
def reader(server, at, g):
    return keys_of(server, 'reader', 'keys.g', at)


@pytest.fixture(scope='module')
def writer(server, at, g):
    return keys_of(server, 'writer', 'keys.g', at)


# What keys open

def test_keys_name_the_gateway(reader, server):
    assert reader.config['s3.endpoint'] == f'http://{server.gateway}'
    assert reader.config['s3.path-style-access'] == 'true'
    assert int(reader.config['s3.session-token-expires-at-ms']) > 0


def test_a_reader_reads_the_table(reader, store, g):
    raw = reader.raw()
    for key in g.all:
        whole = store.client.get_object(store.bucket, key).read()
        answer = raw.get(key)
        assert answer.status == 200 and answer.body == whole, key
        part = raw.get(key, headers={'Range': 'bytes=3-8'})
        assert part.status == 206 and part.body == whole[3:9]
        assert part.headers['content-range'] == f'bytes 3-8/{len(whole)}'
        head = raw.head(key)
        assert head.status == 200 and head.headers['content-length'] == str(len(whole)) and head.body == b''
        assert raw.get(key, headers={'If-None-Match': answer.headers['etag']}).status == 304
    assert reader.lists(g.folder + '/') and reader.lists(g.folder + '/data/')


def test_a_writer_adds_and_removes_what_is_not_recorded(writer, store, g):
    raw = writer.raw()
    key = f'{g.folder}/data/é a+b=c.parquet'
    assert raw.put(key).status == 200
    assert store.client.get_object(store.bucket, key).read() == b'new'
    assert raw.get(key).body == b'new'
    assert raw.delete(key).status == 204
    assert raw.get(key).code == 'NoSuchKey'
    assert writer.puts_in_parts(f'{g.folder}/data/large.parquet')
    assert store.client.stat_object(store.bucket, f'{g.folder}/data/large.parquet').size == 6 << 20
    for name in ('m1', 'm2'):
        assert writer.puts(f'{g.folder}/data/{name}')
    failures = list(writer.client.remove_objects(writer.bucket, [_delete(f'{g.folder}/data/{n}') for n in ('m1', 'm2')]))
    assert not failures and not {f'{g.folder}/data/m1', f'{g.folder}/data/m2'} & store.under(g.folder + '/data/')


def _delete(key):
    from minio.deleteobjects import DeleteObject
    return DeleteObject(key)


def test_each_form_of_a_body_is_stored_as_it_was(writer, store, g):
    raw = writer.raw()
    content = os.urandom(300_000)
    forms = {
        'hashed': lambda key: raw.put(key, content),
        'unsigned': lambda key: raw.put(key, content, payload='UNSIGNED-PAYLOAD'),
        'chunks': lambda key: raw.signed_chunks(key, [content[:131072], content[131072:]]),
        'trailer': lambda key: raw.trailing_checksum(key, content),
        'empty': lambda key: raw.put(key, b''),
        'empty-chunks': lambda key: raw.signed_chunks(key, []),
    }
    for name, put in forms.items():
        key = f'{g.folder}/data/form-{name}'
        answer = put(key)
        assert answer.status == 200, (name, answer)
        stored = store.client.get_object(store.bucket, key).read()
        assert stored == (b'' if name.startswith('empty') else content), name


def test_a_body_that_is_not_what_was_signed_is_not_stored(writer, store, g, keeps_parts):
    raw = writer.raw()
    content = os.urandom(300_000)
    other = hashlib.sha256(b'other').hexdigest()
    attempts = {
        'hash': (raw.put, (content,), {'payload': other}, 'XAmzContentSHA256Mismatch'),
        'checksum': (raw.trailing_checksum, (content, 'AAAAAA=='), {}, 'BadDigest'),
        'byte': (raw.signed_chunks, ([content],),
                 {'spoil': lambda body: body[:5000] + bytes([body[5000] ^ 1]) + body[5001:]}, 'SignatureDoesNotMatch'),
        'cut': (raw.signed_chunks, ([content],), {'spoil': lambda body: body[:-100]}, 'SignatureDoesNotMatch'),
    }
    for name, (put, arguments, options, code) in attempts.items():
        key = f'{g.folder}/data/bad-{name}'
        answer = put(key, *arguments, **options)
        assert answer.status >= 400 and (name == 'cut' or answer.code == code), (name, answer)
        if name == 'hash' or not keeps_parts:
            time.sleep(0.3)
            assert key not in store.under(f'{g.folder}/data/'), name


def test_an_upload_that_breaks_off_leaves_nothing(writer, store, g, keeps_parts):
    raw = writer.raw()
    key = f'{g.folder}/data/broken-off'
    target = raw.path(key)
    payload = hashlib.sha256(bytes(8 << 20)).hexdigest() if keeps_parts else 'UNSIGNED-PAYLOAD'
    headers = raw.sign('PUT', target, payload=payload)
    connection = http.client.HTTPConnection(raw.host, timeout=30)
    connection.putrequest('PUT', target)
    for name, value in {**headers, 'Content-Length': str(8 << 20)}.items():
        connection.putheader(name, value)
    connection.endheaders(bytes(5 << 20))
    connection.close()
    time.sleep(0.5)
    assert key not in store.under(f'{g.folder}/data/')
    assert raw.put(key).status == 200


def test_large_objects_stream(writer, store, g):
    content = os.urandom(1 << 20) * 64
    key = f'{g.folder}/data/64-mib'
    raw = writer.raw()
    assert raw.put(key, content, payload='UNSIGNED-PAYLOAD').status == 200
    assert raw.get(key).body == content


def test_a_staged_table_is_written_before_it_is_made(server, at, store, tables):
    caller = as_client(server, 'writer')
    caller.send('DELETE', 'namespaces/keys/tables/g_staged')
    staged = caller.post('namespaces/keys/tables', {**table_body('g_staged'), 'stage-create': True})
    assert staged.status_code == 200, staged.text
    folder = store.key(staged.json()['metadata']['location'])
    keys = GatewayKeys(staged.json()['config'], at)
    assert keys.puts(f'{folder}/data/early.parquet') and not keys.puts(f'{folder}/metadata/lake/early.avro')


# One step beyond

def refused(answer, code='AccessDenied', status=403):
    assert (answer.status, answer.code) == (status, code), answer
    for word in ('minio', 'Minio', 'HostId', 'BucketName'):
        assert word not in str(answer.body)


def test_a_reader_changes_nothing(reader, store, g):
    raw = reader.raw()
    for key in (*g.all, f'{g.folder}/data/new.parquet'):
        refused(raw.put(key))
        refused(raw.delete(key))
        refused(raw.send('POST', raw.path(key) + '?uploads='))
    assert set(g.all) <= store.under(g.folder + '/')


def test_a_writer_neither_replaces_nor_removes_what_is_recorded(writer, store, g):
    raw = writer.raw()
    before = {key: store.client.stat_object(store.bucket, key).etag for key in g.all}
    for key in g.all:
        refused(raw.put(key))
        refused(raw.signed_chunks(key, [b'new']))
        refused(raw.delete(key))
        refused(raw.send('POST', raw.path(key) + '?uploads='))
    body = f'<Delete><Object><Key>{g.data[0]}</Key></Object></Delete>'.encode()
    refused(raw.send('POST', f'/{raw.bucket}?delete=', body=body))
    assert before == {key: store.client.stat_object(store.bucket, key).etag for key in g.all}


def test_nobody_replaces_an_object(writer, g):
    raw = writer.raw()
    key = f'{g.folder}/data/once'
    assert raw.put(key).status == 200
    refused(raw.put(key), 'PreconditionFailed', 412)


def test_nobody_replaces_an_object_that_came_while_its_parts_were_put(writer, store, g):
    raw = writer.raw()
    key = f'{g.folder}/data/in-parts'
    begun = raw.send('POST', raw.path(key) + '?uploads=')
    assert begun.status == 200, begun
    upload = re.search('<UploadId>(.+?)</UploadId>', begun.body.decode()).group(1)
    target = f'{raw.path(key)}?partNumber=1&uploadId={upload}'
    part = raw.send('PUT', target, body=b'parts')
    assert part.status == 200, part
    store.put(key, b'whole')
    body = (f'<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>{part.headers["etag"]}</ETag></Part>'
            '</CompleteMultipartUpload>').encode()
    refused(raw.send('POST', f'{raw.path(key)}?uploadId={upload}', body=body), 'PreconditionFailed', 412)
    assert store.client.get_object(store.bucket, key).read() == b'whole'
    assert raw.send('DELETE', f'{raw.path(key)}?uploadId={upload}').status in (204, 404)


def test_the_servers_own_folder_is_closed_to_writes(writer, g):
    raw = writer.raw()
    for name in ('v99.metadata.json', 'x.avro', 'deeper/x'):
        refused(raw.put(f'{g.folder}/metadata/lake/{name}'))
    assert raw.put(f'{g.folder}/metadata/mine-{time.time()}.avro').status == 200


def test_other_tables_are_closed(reader, writer, g, h, tables, store):
    v = Places(tables, store, 'others.g')
    for keys in (reader, writer):
        raw = keys.raw()
        for key in (*h.all, *v.all, h.folder + '/data/x', g.folder + 'x/data/y'):
            refused(raw.get(key))
            refused(raw.put(key))
            refused(raw.delete(key))
            assert raw.head(key).status == 403


def test_lists_are_of_the_table_alone(reader, g, h):
    raw = reader.raw()
    for prefix in ('', 'data/', h.folder + '/', g.folder, g.folder.rsplit('/', 1)[0] + '/'):
        answer = raw.send('GET', f'/{raw.bucket}?list-type=2&prefix={prefix.replace("/", "%2F")}')
        assert answer.status in (400, 403) and answer.code in ('AccessDenied', 'InvalidRequest'), prefix
    assert raw.send('GET', '/').status in (400, 403)
    assert raw.send('GET', f'/{raw.bucket}').status in (400, 403)
    refused(raw.send('GET', f'/another-bucket/{g.data[0]}'))


def test_paths_have_one_reading(writer, g, h):
    raw = writer.raw()
    for path in (f'/{raw.bucket}/{g.folder}/../{h.folder.rsplit("/", 1)[1]}/data/x', f'/{raw.bucket}//{g.data[0]}',
                 f'/{raw.bucket}/{g.folder}/data%2Fx', f'/{raw.bucket}/{g.folder}/%2e%2e/x', f'/{raw.bucket}/{g.folder}/./x',
                 f'/{raw.bucket}/{g.folder}%5Cx'):
        for method in ('GET', 'PUT', 'DELETE'):
            answer = raw.send(method, path)
            assert answer.status in (400, 403), (method, path, answer)


def test_other_operations_are_closed(writer, g, h):
    raw = writer.raw()
    key = raw.path(g.data[0])
    refused(raw.put(f'{g.folder}/data/copy', b'', headers={'X-Amz-Copy-Source': f'/{raw.bucket}/{h.data[0]}'}))
    for header in ('X-Amz-Acl', 'X-Amz-Grant-Read', 'X-Amz-Meta-A', 'X-Amz-Tagging', 'X-Amz-Website-Redirect-Location'):
        refused(raw.put(f'{g.folder}/data/header', headers={header: 'public-read'}))
    for query in ('acl', 'tagging', 'versionId=1', 'policy', 'torrent', 'retention', 'select&select-type=2'):
        assert raw.send('GET', f'{key}?{query}').status in (400, 403), query
    for query in ('versions', 'policy', 'versioning', 'uploads', 'location', 'acl'):
        assert raw.send('GET', f'/{raw.bucket}?{query}').status in (400, 403), query
    for method, path in (('PUT', f'/{raw.bucket}'), ('DELETE', f'/{raw.bucket}'), ('PUT', f'/{raw.bucket}?policy')):
        assert raw.send(method, path).status in (400, 403), (method, path)


# Keys that are none

def test_attack_an_unsigned_request(reader, g):
    raw = reader.raw()
    answer = requests.get(f'http://{raw.host}{raw.path(g.data[0])}', timeout=30)
    assert answer.status_code == 403 and '<Code>AccessDenied</Code>' in answer.text
    bearer = requests.get(f'http://{raw.host}{raw.path(g.data[0])}', timeout=30, headers={'Authorization': 'Bearer abc'})
    assert bearer.status_code == 400


def test_attack_the_roots_own_keys_and_made_up_ones(server, lake_of_place, reader, g):
    lake = lake_of_place
    host, bucket = server.gateway, lake.s3_bucket
    root = Raw(host, bucket, lake.s3_access_key, lake.s3_secret_key, None)
    refused(root.get(g.data[0]), 'InvalidAccessKeyId')
    config = reader.config
    refused(Raw(host, bucket, 'LKGW0123456789ABCDEF', 'secret', None).get(g.data[0]), 'InvalidAccessKeyId')
    forged = Raw(host, bucket, config['s3.access-key-id'], config['s3.secret-access-key'], 'AQIDBAUGBwgJCgsMDQ4PEBES')
    refused(forged.get(g.data[0]), 'InvalidToken', 400)


def test_attack_a_tampered_token(reader, writer, g):
    token = reader.config['s3.session-token']
    for at in (0, 10, len(token) // 2, len(token) - 1):
        changed = token[:at] + ('A' if token[at] != 'A' else 'B') + token[at + 1:]
        refused(reader.raw(**{'s3.session-token': changed}).get(g.data[0]), 'InvalidToken', 400)
    mixed = reader.raw(**{'s3.session-token': writer.config['s3.session-token']})
    refused(mixed.get(g.data[0]), 'InvalidToken', 400)


def test_attack_another_secret_key(reader, writer, g):
    mixed = reader.raw(**{'s3.secret-access-key': writer.config['s3.secret-access-key']})
    refused(mixed.get(g.data[0]), 'SignatureDoesNotMatch')


def test_attack_an_old_date(reader, g):
    now = datetime.datetime.now(datetime.timezone.utc)
    for minutes in (-16, 16):
        refused(reader.raw().get(g.data[0], date=now + datetime.timedelta(minutes=minutes)), 'RequestTimeTooSkewed')
    assert reader.raw().get(g.data[0], date=now - datetime.timedelta(minutes=14)).status == 200


def test_attack_a_request_that_was_changed_on_its_way(writer, g):
    raw = writer.raw()

    def changed(**fields):
        return lambda headers: headers.update(fields)
    refused(raw.get(g.data[0], change=changed(**{'X-Amz-Date': '20200101T000000Z'})), 'AuthorizationHeaderMalformed', 400)
    refused(raw.get(g.data[0], change=changed(**{'X-Amz-Copy-Source': '/a/b'})), 'AuthorizationHeaderMalformed', 400)
    refused(raw.get(g.data[0], headers={'Range': 'bytes=0-1'}, change=changed(**{'Range': 'bytes=0-9'})),
            'SignatureDoesNotMatch')
    refused(raw.get(g.data[0], change=changed(Host='other:1')), 'SignatureDoesNotMatch')
    signed = raw.sign('GET', raw.path(g.data[0]))
    for method, target in (('DELETE', raw.path(g.data[0])), ('GET', raw.path(g.list))):
        answer = requests.request(method, f'http://{raw.host}{target}', headers=signed, timeout=30)
        assert answer.status_code == 403 and 'SignatureDoesNotMatch' in answer.text


def test_attack_an_expired_key(stack_of_place, lake_of_place, g):
    with gateway_beside(stack_of_place, LAKEPROXY_S3_GATEWAY_KEY_SECONDS='3') as short:
        raw = keys_of(short, 'reader', 'keys.g', GatewayStore(short, lake_of_place)).raw()
        assert raw.get(g.data[0]).status == 200
        time.sleep(3.2)
        refused(raw.get(g.data[0]), 'ExpiredToken', 400)


def test_attack_the_key_of_a_principal_whose_scope_was_taken(stack_of_place, reader, writer, g):
    def clients(**scopes):
        return ','.join(f'{name}:{CLIENTS[name][0]}|{scope}' for name, scope in scopes.items())

    def at_server_with(entries):
        return gateway_beside(stack_of_place, LAKEPROXY_OAUTH_CLIENTS=entries)

    def moved(keys, server):
        return Raw(server.gateway, keys.bucket, keys.config['s3.access-key-id'], keys.config['s3.secret-access-key'],
                   keys.config['s3.session-token'])
    with at_server_with(SETTINGS['LAKEPROXY_OAUTH_CLIENTS']) as same:
        assert moved(reader, same).get(g.data[0]).status == 200, 'every server of a lake takes them'
    with at_server_with(clients(writer='ns:keys:r', reader='ns:others:r', admin='*')) as less:
        refused(moved(reader, less).get(g.data[0]))
        refused(moved(writer, less).get(g.data[0]))
        refused(moved(writer, less).put(f'{g.folder}/data/less'))
    with at_server_with(clients(admin='*')) as gone:
        refused(moved(reader, gone).get(g.data[0]))
    with gateway_beside(stack_of_place, LAKEPROXY_OAUTH_JWT_SECRET='another secret of 32 bytes and more') as other:
        refused(moved(reader, other).get(g.data[0]), 'InvalidToken', 400)


def test_attack_the_key_of_a_table_that_was_dropped(server, at, tables, store):
    if tables.table_exists('keys.g_gone'):
        tables.drop_table('keys.g_gone')
    tables.create_table('keys.g_gone', ROWS.schema).append(ROWS)
    places = Places(tables, store, 'keys.g_gone')
    raw = keys_of(server, 'writer', 'keys.g_gone', at).raw()
    assert raw.get(places.data[0]).status == 200
    tables.drop_table('keys.g_gone')
    time.sleep(1.2)
    refused(raw.get(places.data[0]))
    refused(raw.put(places.folder + '/data/x'))


# What it says

def test_the_stores_errors_come_without_its_words(reader, g):
    raw = reader.raw()
    missing = raw.get(f'{g.folder}/data/missing')
    refused(missing, 'NoSuchKey', 404)
    assert g.folder not in str(missing.body)
    refused(raw.get(g.data[0], headers={'Range': 'bytes=999999999-'}), 'InvalidRange', 416)
    assert raw.head(f'{g.folder}/data/missing').status == 404


def test_secrets_are_in_no_log_metric_or_error(server, reader, writer, lake_of_place):
    seen = server.log.read_text() + requests.get(f'{server.uri()}/metrics', timeout=30).text
    assert 'gateway request refused' in seen and 'lakeproxy_gateway_requests_total' in seen
    for keys in (reader, writer):
        for name in ('s3.secret-access-key', 's3.session-token'):
            assert keys.config[name] not in seen
    assert lake_of_place.s3_secret_key not in seen


def test_the_gateway_is_off_unless_it_is_turned_on(stack, tables):
    with Watched.beside(stack, **SETTINGS, LAKEPROXY_STS_ENDPOINT='none') as off:
        answer = as_client(off, 'reader').get('namespaces/keys/tables/g')
        assert 's3.access-key-id' not in answer.text and 's3.session-token' not in answer.text
