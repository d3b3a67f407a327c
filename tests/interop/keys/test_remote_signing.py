"""Clients without keys, on a store without STS: each request to the store is signed by the server, or refused."""
import base64
import dataclasses
import hashlib
import time
import urllib.parse

import pytest
import requests
from pyiceberg.catalog import load_catalog
from pyiceberg.exceptions import ForbiddenError, SignError
from pyiceberg.utils.concurrent import ExecutorFactory

from lake_clients import spark as spark_client
from plain_store import BUCKET, CLIENTS, MEMORY_SECONDS, ROWS, catalog_on, location_of, rest_of, running
from rest import Rest, assert_error, table_body
from stack import object_store, ports
from stack.process import wait_until

DATABASE = 'remote_signing'


@pytest.fixture(scope='module')
def store(tmp_path_factory):
    made = object_store.PlainStore(tmp_path_factory.mktemp('plain'), ports.any_free(), 'rootkey', 'rootsecret')
    with running(made):
        yield made


@pytest.fixture(scope='module')
def server(stack, store, tmp_path_factory):
    with catalog_on(stack, store, DATABASE, tmp_path_factory.mktemp('catalog')) as made:
        for name in ('sales', 'hidden'):
            rest_of(made, 'admin').post('namespaces', {'namespace': [name]}).raise_for_status()
        yield made


@pytest.fixture(scope='module', autouse=True)
def one_worker():
    """Each thread of PyIceberg takes the signer off the file system that all share, and puts its own there: what another
    thread sends meanwhile is not signed, and refused by the store."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv('PYICEBERG_MAX_WORKERS', '1')
        patch.setattr(ExecutorFactory, '_instance', None)
        yield


def iceberg_of(server, client, **properties):
    """PyIceberg with a token and the signer, and without any key.

    Catalogs of one process that are configured alike share a file system, and with it the signer of one of them.
    """
    properties = {'s3.connect-timeout': str(60 + list(CLIENTS).index(client)), **properties}
    return load_catalog(client, type='rest', uri=server.uri(), warehouse='lake', credential=':'.join((client, CLIENTS[client][0])),
                        **{'oauth2-server-uri': f'{server.uri()}/v1/oauth/tokens', 'scope': '',
                           'header.X-Iceberg-Access-Delegation': 'remote-signing', **properties})


class Signer:
    """What a client library does, step by step: asks for a signature, and sends what it got."""

    def __init__(self, server, client, table, by_object=False):
        self.rest = rest_of(server, client)
        name_space, name = table.split('.')
        self.path = 'aws/s3/sign' if by_object else f'namespaces/{name_space}/tables/{name}/sign'
        self.store = server.store.endpoint()

    def ask(self, method, path, headers=None, body=None, uri=None):
        request = {'region': object_store.REGION, 'method': method, 'uri': uri or self.store + path,
                   'headers': {name: [value] for name, value in (headers or {}).items()}}
        if body is not None:
            request['body'] = body
        return self.rest.post(self.path, request)

    def send(self, method, path, content=None, headers=None, signed_body=None, unsigned=None):
        """The store's answer to a request that was signed; `unsigned` is added behind the signer's back."""
        answer = self.ask(method, path, headers, signed_body)
        assert answer.status_code == 200, answer.text
        return send_signed(answer.json(), method, content, {**(headers or {}), **(unsigned or {})})


def send_signed(answer, method, content=None, headers=None):
    added = {name: ', '.join(values) for name, values in answer['headers'].items()}
    return requests.request(method, answer['uri'], data=content, headers={**(headers or {}), **added}, timeout=30)


def key_path(location, name=''):
    """The path of an object's URL."""
    return urllib.parse.quote('/' + location.removeprefix('s3://').rstrip('/') + (f'/{name}' if name else ''))


def refused(answer, *statuses):
    assert_error(answer, *(statuses or (403,)))
    assert 'AWS4-HMAC' not in answer.text


def delete_body(*keys):
    objects = ''.join(f'<Object><Key>{key}</Key></Object>' for key in keys)
    return f'<Delete xmlns="http://s3.amazonaws.com/doc/2006-03-01/">{objects}</Delete>'


@pytest.fixture(scope='module')
def tables(server):
    """sales.t with rows, written by PyIceberg without a key; hidden.t without any."""
    writer = iceberg_of(server, 'writer')
    writer.create_table('sales.t', ROWS.schema).append(ROWS)
    rest_of(server, 'admin').post('namespaces/hidden/tables', table_body('t')).raise_for_status()
    return writer


@pytest.fixture(scope='module')
def writer(server, tables):
    return Signer(server, 'writer', 'sales.t')


@pytest.fixture(scope='module')
def reader(server, tables):
    return Signer(server, 'reader', 'sales.t')


@pytest.fixture(scope='module')
def data_file(tables):
    return tables.load_table('sales.t').inspect.files()['file_path'][0].as_py()


# Client libraries

def test_pyiceberg_reads_and_writes_without_a_key(server, tables):
    tables.load_table('sales.t').append(ROWS)
    assert iceberg_of(server, 'reader').load_table('sales.t').scan().to_arrow().num_rows == 2000


@pytest.mark.parametrize('asked', ['remote-signing', 'vended-credentials', 'vended-credentials,remote-signing'])
def test_a_client_of_a_store_without_sts_is_told_of_the_signer(server, tables, asked):
    told = rest_of(server, 'reader').get('namespaces/sales/tables/t', headers={'X-Iceberg-Access-Delegation': asked})
    config = told.json()['config']
    assert config['s3.signer.uri'] == server.uri() and config['s3.remote-signing-enabled'] == 'true'
    assert config['signer.endpoint'] == 'v1/lake/namespaces/sales/tables/t/sign'
    assert config['s3.signer.endpoint'] == 'v1/lake/aws/s3/sign'
    assert not any('key' in name or 'secret' in name or 'token' in name for name in config)
    assert not told.json().get('storage-credentials')
    # It is where this request came to, whatever name the client has for it.
    for host in ('lake.internal:8443', 'localhost', f'127.0.0.1:{server.port}'):
        there = rest_of(server, 'reader').get('namespaces/sales/tables/t', headers={'X-Iceberg-Access-Delegation': asked, 'Host': host})
        assert there.json()['config']['s3.signer.uri'] == f'http://{host}'
    plain = rest_of(server, 'reader').get('namespaces/sales/tables/t')
    assert not any('sign' in name for name in plain.json()['config']) and plain.headers['ETag'] != told.headers['ETag']


def test_pyiceberg_reads_two_tables_in_turn(server, tables):
    tables.create_table('sales.second', ROWS.schema).append(ROWS)
    catalog = iceberg_of(server, 'reader')
    first, second = catalog.load_table('sales.t'), catalog.load_table('sales.second')
    rows = tables.load_table('sales.t').scan().to_arrow().num_rows
    assert [table.scan().to_arrow().num_rows for table in (first, second, first)] == [rows, 1000, rows]


def test_pyiceberg_makes_a_table_with_rows_in_one_transaction(server, tables):
    """The table is staged: rows are written before there is one."""
    with tables.create_table_transaction('sales.staged', ROWS.schema) as transaction:
        transaction.append(ROWS)
    assert tables.load_table('sales.staged').scan().to_arrow().num_rows == 1000


def test_pyiceberg_is_refused_one_step_beyond(server, tables):
    with pytest.raises(ForbiddenError):
        iceberg_of(server, 'reader').load_table('hidden.t')
    table = iceberg_of(server, 'reader').load_table('sales.t')
    with pytest.raises((SignError, ForbiddenError, PermissionError, OSError)):
        table.append(ROWS)
    assert table.refresh().scan().to_arrow().num_rows == tables.load_table('sales.t').scan().to_arrow().num_rows


def spark_catalog(lake, server, client):
    settings = spark_client.catalog_settings(dataclasses.replace(lake, uri=server.uri(), s3_endpoint=server.store.endpoint()),
                                             f'spark.sql.catalog.signed_{client}')
    own = {name: value for name, value in settings.items() if 'access-key' not in name and 'secret' not in name}
    prefix = f'spark.sql.catalog.signed_{client}'
    return {**own, f'{prefix}.credential': ':'.join((client, CLIENTS[client][0])), f'{prefix}.scope': '',
            f'{prefix}.oauth2-server-uri': f'{server.uri()}/v1/oauth/tokens',
            f'{prefix}.header.X-Iceberg-Access-Delegation': 'remote-signing'}


@pytest.fixture(scope='module')
def signed_spark(lake, spark, server, tables):
    for client in ('writer', 'reader'):
        for name, value in spark_catalog(lake, server, client).items():
            if name.startswith(f'spark.sql.catalog.signed_{client}'):
                spark.conf.set(name, value)
    return spark


def test_spark_reads_and_writes_without_a_key(server, tables, signed_spark):
    signed_spark.sql('CREATE TABLE signed_writer.sales.from_spark (a BIGINT, d STRING) USING iceberg PARTITIONED BY (d)')
    signed_spark.sql("INSERT INTO signed_writer.sales.from_spark VALUES (1, 'a/b c'), (2, 'x=y&z')")
    assert signed_spark.sql('SELECT sum(a) FROM signed_reader.sales.from_spark').first()[0] == 3
    signed_spark.sql('DELETE FROM signed_writer.sales.from_spark WHERE a = 1')
    assert signed_spark.sql("SELECT a FROM signed_reader.sales.from_spark WHERE d = 'x=y&z'").first()[0] == 2


def test_spark_makes_a_table_of_a_query(server, tables, signed_spark):
    signed_spark.sql('CREATE TABLE signed_writer.sales.of_query USING iceberg AS SELECT id FROM range(100)')
    assert signed_spark.sql('SELECT count(*) FROM signed_reader.sales.of_query').first()[0] == 100


def test_spark_is_refused_one_step_beyond(server, tables, signed_spark):
    with pytest.raises(Exception, match='(?i)not allowed|forbidden'):
        signed_spark.sql('INSERT INTO signed_reader.sales.t VALUES (1)')
    with pytest.raises(Exception, match='(?i)not allowed|forbidden'):
        signed_spark.sql('SELECT * FROM signed_reader.hidden.t').collect()


# What a signature is given for

@pytest.mark.parametrize('by_object', [False, True], ids=['of a table', 'of an object'])
def test_an_object_of_the_table_is_read(server, tables, data_file, by_object):
    signer = Signer(server, 'reader', 'sales.t', by_object)
    answer = signer.ask('GET', key_path(data_file))
    assert answer.status_code == 200 and answer.headers['Cache-Control'] == 'private'
    assert send_signed(answer.json(), 'GET').content[:4] == b'PAR1'
    assert signer.send('HEAD', key_path(data_file)).status_code == 200
    part = send_signed(answer.json(), 'GET', headers={'Range': 'bytes=0-3'})
    assert part.status_code == 206 and part.content == b'PAR1'


def test_a_new_object_is_put_read_and_removed(server, writer):
    path = key_path(location_of(server, 'sales.t'), 'data/new object+a=b.bin')
    assert writer.ask('PUT', path).headers['Cache-Control'] == 'no-cache'
    assert writer.send('PUT', path, b'content').status_code == 200
    assert writer.send('GET', path).content == b'content'
    assert writer.send('DELETE', path).status_code == 204
    assert writer.send('GET', path).status_code == 404


def test_an_object_is_put_in_parts(server, writer):
    path = key_path(location_of(server, 'sales.t'), 'data/parts.bin')
    made = writer.send('POST', path + '?uploads')
    assert made.status_code == 200, made.text
    upload = made.text.split('<UploadId>')[1].split('<')[0]
    etag = writer.send('PUT', f'{path}?partNumber=1&uploadId={upload}', b'x' * 1000).headers['ETag']
    assert writer.send('GET', f'{path}?uploadId={upload}').status_code == 200
    done = (f'<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>{etag}</ETag></Part>'
            '</CompleteMultipartUpload>')
    assert writer.send('POST', f'{path}?uploadId={upload}', done).status_code == 200
    assert writer.send('GET', path).content == b'x' * 1000
    other = writer.send('POST', path + '2?uploads').text.split('<UploadId>')[1].split('<')[0]
    assert writer.send('DELETE', f'{path}2?uploadId={other}').status_code == 204


def test_the_tables_folder_is_listed(server, reader):
    prefix = location_of(server, 'sales.t').removeprefix(f's3://{BUCKET}/') + '/'
    answer = reader.send('GET', f'/{BUCKET}?list-type=2&prefix={urllib.parse.quote(prefix)}&max-keys=1000')
    assert answer.status_code == 200 and '.parquet' in answer.text


def test_several_objects_are_removed_at_once(server, writer):
    folder = location_of(server, 'sales.t')
    keys = [f'{folder.removeprefix(f"s3://{BUCKET}/")}/data/many-{i}' for i in range(3)]
    for key in keys:
        assert writer.send('PUT', f'/{BUCKET}/{key}', b'x').status_code == 200
    body = delete_body(*keys)
    md5 = base64.b64encode(hashlib.md5(body.encode()).digest()).decode()
    done = writer.send('POST', f'/{BUCKET}?delete', body, {'Content-MD5': md5}, signed_body=body)
    assert done.status_code == 200, done.text
    assert writer.send('GET', f'/{BUCKET}/{keys[0]}').status_code == 404


# Attacks

def test_a_signature_for_another_table(server, tables, writer, reader):
    other = key_path(location_of(server, 'hidden.t'), 'data/x')
    for signer in (writer, reader, Signer(server, 'writer', 'sales.t', by_object=True)):
        refused(signer.ask('GET', other))
        refused(signer.ask('PUT', other))
    refused(Signer(server, 'reader', 'hidden.t').ask('GET', other))
    assert Signer(server, 'other', 'hidden.t').ask('GET', other).status_code == 200


def test_who_may_have_requests_signed_and_who_was_refused_is_on_record(server, tables, writer, data_file):
    assert writer.ask('GET', key_path(data_file)).status_code == 200
    refused(writer.ask('GET', key_path(location_of(server, 'hidden.t'), 'data/x')))

    def recorded():
        entries = rest_of(server, 'admin').get('governance/audit', params={'principal': 'writer', 'limit': 1000}).json()['entries']
        return {(entry['operation'], entry['object'], entry['decision']) for entry in entries}

    assert ('signed', 'sales.t', 'allowed') in recorded()
    assert wait_until(lambda: any(operation.startswith('sign_denied_') and decision == 'denied'
                                  for operation, _, decision in recorded()), 10)


def test_a_signature_for_another_tables_object_under_an_own_tables_name(server, tables, data_file):
    """Who may write hidden.t names an object of sales.t as if it were that table's."""
    refused(Signer(server, 'other', 'hidden.t').ask('GET', key_path(data_file)))
    refused(Signer(server, 'other', 'hidden.t', by_object=True).ask('GET', key_path(data_file)))


def test_the_older_path_says_the_same_of_another_namespaces_table_and_of_none(server, tables):
    signer = Signer(server, 'reader', 'sales.t', by_object=True)
    of_another = signer.ask('GET', key_path(location_of(server, 'hidden.t'), 'data/x'))
    of_none = signer.ask('GET', f'/{BUCKET}/data/nobodys/data/x')
    refused(of_another)
    assert (of_another.status_code, of_another.text) == (of_none.status_code, of_none.text)


def test_a_prefix_that_begins_alike(server, tables, reader):
    folder = location_of(server, 'sales.t')
    refused(reader.ask('GET', key_path(folder + '0', 'x')))
    prefix = folder.removeprefix(f's3://{BUCKET}/')
    refused(reader.ask('GET', f'/{BUCKET}?list-type=2&prefix={prefix}'))
    refused(reader.ask('GET', f'/{BUCKET}?list-type=2&prefix={prefix[:-1]}'))
    assert reader.ask('GET', f'/{BUCKET}?list-type=2&prefix={prefix}/').status_code == 200


def test_a_put_when_read_only(server, reader):
    path = key_path(location_of(server, 'sales.t'), 'data/x')
    for method, query in (('PUT', ''), ('DELETE', ''), ('POST', '?uploads'), ('PUT', '?partNumber=1&uploadId=a')):
        refused(reader.ask(method, path + query))
    body = delete_body(path.removeprefix(f'/{BUCKET}/'))
    refused(reader.ask('POST', f'/{BUCKET}?delete', body=body))


def test_an_object_that_is_recorded_stays_as_it_is(server, writer, data_file):
    path = key_path(data_file)
    key = path.removeprefix(f'/{BUCKET}/')
    for method, query in (('PUT', ''), ('DELETE', ''), ('POST', '?uploads'), ('POST', '?uploadId=a')):
        refused(writer.ask(method, path + query))
    fresh = key.rsplit('/', 1)[0] + '/fresh'
    refused(writer.ask('POST', f'/{BUCKET}?delete', body=delete_body(fresh, key)))
    assert writer.ask('POST', f'/{BUCKET}?delete', body=delete_body(fresh)).status_code == 200


def test_a_signature_from_before_an_object_was_there_does_not_replace_it(server, writer):
    path = key_path(location_of(server, 'sales.t'), 'data/twice')
    signed = writer.ask('PUT', path).json()
    assert send_signed(signed, 'PUT', b'first').status_code == 200
    assert send_signed(signed, 'PUT', b'second').status_code == 412
    without = {**signed, 'headers': {k: v for k, v in signed['headers'].items() if k.lower() != 'if-none-match'}}
    assert send_signed(without, 'PUT', b'second').status_code in (400, 403)
    assert writer.send('GET', path).content == b'first'


def test_a_manifest_under_the_servers_next_name(server, writer):
    folder = location_of(server, 'sales.t')
    for name in ('metadata/lake/snap-99.avro', 'metadata/lake/v99.metadata.json', 'metadata%2Flake/x', 'metadata/lake/'):
        answer = writer.ask('PUT', key_path(folder) + '/' + name)
        refused(answer, 400, 403)
    assert writer.ask('PUT', key_path(folder) + '/metadata/own.avro').status_code == 200


@pytest.mark.parametrize('spelling', [
    '/data/../../../hidden/t/x', '//data/x', '/data%2Fx', '/%2e%2e/x', '/..%2fx', '/%252e%252e/x', '/./x', '/a+b', '/a;b',
    '/a?versionId=1', '/a?acl', '/a?tagging', '/a?torrent'])
def test_a_name_with_two_readings_or_an_unknown_sub_resource(server, writer, spelling):
    path = key_path(location_of(server, 'sales.t'))
    for method in ('GET', 'PUT', 'DELETE'):
        refused(writer.ask(method, path + spelling), 400, 403)


def test_a_copy_of_another_tables_object(server, tables, data_file):
    other = Signer(server, 'other', 'hidden.t')
    path = key_path(location_of(server, 'hidden.t'), 'data/stolen')
    refused(other.ask('PUT', path, {'x-amz-copy-source': key_path(data_file)}))
    # The field that nobody signed: the store has to refuse it.
    stolen = other.send('PUT', path, b'', unsigned={'x-amz-copy-source': key_path(data_file)})
    assert stolen.status_code in (400, 403) or other.send('GET', path).content == b''


@pytest.mark.parametrize('name', ['x-amz-acl', 'x-amz-tagging', 'x-amz-website-redirect-location', 'x-minio-force-delete',
                                  'x-http-method-override', 'x-amz-server-side-encryption-customer-key'])
def test_a_header_that_changes_what_is_done(server, writer, name):
    refused(writer.ask('PUT', key_path(location_of(server, 'sales.t'), 'data/x'), {name: 'value'}))


def test_another_address_or_the_other_way_to_name_a_bucket(server, writer, data_file):
    path = key_path(data_file)
    host = server.store.endpoint().removeprefix('http://')
    for uri in (f'http://{BUCKET}.{host}{path.removeprefix("/" + BUCKET)}', f'https://{host}{path}', f'http://evil.example{path}',
                f'http://user@{host}{path}', f'http://{host}@evil.example{path}', f'http://{host}/other{path}', 's3://lakehouse/x'):
        refused(writer.ask('GET', '', uri=uri), 400, 403)
    refused(writer.ask('GET', path, {'Host': 'evil.example'}), 400, 403)


def test_versions_buckets_and_everything_are_not_listed(server, reader):
    prefix = location_of(server, 'sales.t').removeprefix(f's3://{BUCKET}/') + '/'
    for query in (f'versions&prefix={prefix}', 'uploads', 'location', 'policy', '', 'list-type=2', 'list-type=2&prefix=',
                  f'prefix={prefix}', f'list-type=2&prefix={prefix}../', f'list-type=2&prefix={prefix}&prefix=data/'):
        refused(reader.ask('GET', f'/{BUCKET}?{query}'), 400, 403)
    refused(reader.ask('GET', '/'), 400, 403)


def test_a_delete_whose_body_is_not_the_one_that_was_judged(server, writer, data_file):
    folder = location_of(server, 'sales.t').removeprefix(f's3://{BUCKET}/')
    judged = delete_body(f'{folder}/data/nothing')
    signed = writer.ask('POST', f'/{BUCKET}?delete', body=judged).json()
    key = data_file.removeprefix(f's3://{BUCKET}/')
    other = delete_body(key)
    md5 = base64.b64encode(hashlib.md5(other.encode()).digest()).decode()
    assert send_signed(signed, 'POST', other, {'Content-MD5': md5}).status_code in (400, 403)
    assert writer.send('HEAD', key_path(data_file)).status_code == 200
    refused(writer.ask('POST', f'/{BUCKET}?delete'), 400)


def test_a_signature_cannot_be_bent(server, writer, data_file):
    signed = writer.ask('GET', key_path(data_file)).json()
    assert send_signed(signed, 'GET').status_code == 200
    assert send_signed(signed, 'DELETE').status_code in (400, 403)
    elsewhere = {**signed, 'uri': signed['uri'].replace('.parquet', '.parquet2')}
    assert send_signed(elsewhere, 'GET').status_code in (400, 403)
    more = {**signed, 'uri': signed['uri'] + '?acl='}
    assert send_signed(more, 'GET').status_code in (400, 403)


def test_a_wrong_request(server, writer):
    for body in ({}, {'region': 'r', 'uri': 'x', 'method': 'GET'}, {'region': 'r', 'uri': 5, 'method': 'GET', 'headers': {}},
                 {'region': 'r', 'uri': 'http://a/b', 'method': 'GET', 'headers': {'a': 'b'}},
                 {'region': 'r', 'uri': 'http://a/b', 'method': 'GET', 'headers': {}, 'provider': 'gcs'}):
        refused(writer.rest.post(writer.path, body), 400)
    refused(writer.ask('PATCH', f'/{BUCKET}/x'))


# The end of a right

def test_a_table_that_was_dropped_is_not_signed_for(server, tables):
    rest_of(server, 'writer').post('namespaces/sales/tables', table_body('gone')).raise_for_status()
    location = location_of(server, 'sales.gone')
    signers = [Signer(server, 'writer', 'sales.gone', by_object) for by_object in (False, True)]
    for signer in signers:
        assert signer.ask('PUT', key_path(location, 'data/x')).status_code == 200
    dropped = time.monotonic()
    rest_of(server, 'writer').send('DELETE', 'namespaces/sales/tables/gone').raise_for_status()
    # Each event loop remembers for itself, so one may sign what another refuses by then.
    time.sleep(max(0.0, dropped + MEMORY_SECONDS + 1 - time.monotonic()))
    for signer in signers:
        for _ in range(4):
            refused(signer.ask('PUT', key_path(location, 'data/x')), 403, 404)


def test_a_token_that_is_none_is_refused_at_once(server, reader, data_file):
    signer = Signer(server, 'reader', 'sales.t')
    assert signer.ask('GET', key_path(data_file)).status_code == 200
    signer.rest = dataclasses.replace(signer.rest, token=signer.rest.token[:-4] + 'AAAA')
    refused(signer.ask('GET', key_path(data_file)), 401)
    signer.rest = Rest(server.uri(), 'lake')
    refused(signer.ask('GET', key_path(data_file)), 401)


# Another store

def test_a_store_that_obeys_unsigned_headers_gets_no_signed_changes(stack, tmp_path_factory):
    """MinIO makes a copy of any object of a put that was signed for a new one: the attack, then why it fails here."""
    with catalog_on(stack, stack.store, DATABASE + '_lax', tmp_path_factory.mktemp('lax'),
                    LAKEPROXY_S3_PREFIX='lax/', LAKEPROXY_FILE_PREFIXES='', LAKEPROXY_STS_ENDPOINT='') as server:
        admin = rest_of(server, 'admin')
        admin.post('namespaces', {'namespace': ['sales']}).raise_for_status()
        admin.post('namespaces/sales/tables', table_body('t')).raise_for_status()
        signer = Signer(server, 'writer', 'sales.t')
        metadata = admin.get('namespaces/sales/tables/t').json()['metadata-location']
        assert signer.send('GET', key_path(metadata)).status_code == 200
        refused(signer.ask('PUT', key_path(location_of(server, 'sales.t'), 'data/x')), 501)
        refused(signer.ask('DELETE', key_path(location_of(server, 'sales.t'), 'data/x')), 501)


def test_the_signer_is_named_by_the_public_url(stack, store, tmp_path_factory):
    with catalog_on(stack, store, DATABASE + '_url', tmp_path_factory.mktemp('url'), LAKEPROXY_S3_PREFIX='url/',
                    LAKEPROXY_FILE_PREFIXES='', LAKEPROXY_PUBLIC_URL='https://lake.example/catalog') as server:
        admin = rest_of(server, 'admin')
        for name in (['a'], ['a', 'b/c']):
            admin.post('namespaces', {'namespace': name}).raise_for_status()
        made = admin.post('namespaces/a%1Fb%2Fc/tables', table_body('t'), headers={'X-Iceberg-Access-Delegation': 'remote-signing'})
        config = made.json()['config']
        assert config['s3.signer.uri'] == 'https://lake.example/catalog'
        assert config['signer.endpoint'] == 'v1/lake/namespaces/a%1Fb%2Fc/tables/t/sign'
