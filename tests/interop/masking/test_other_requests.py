"""What a store can be asked beside reading an object, by a principal who is masked in the files: copies, deletes of many, parts, versions,
lists, and a bucket in the host's name. With vended keys at the store, with the gateway's keys, and for the signer. None gives a base
object away or harms one; the steward beside shows that the request is a sound one."""
import base64
import hashlib
import re
import secrets
import urllib.parse

import pytest
from by_hand import Watched
from masked import NAMESPACE, SETTINGS, VENDED, as_client
from raw_s3 import Raw
from rest import assert_error
from stack import ports

TABLE = f'requests_{secrets.token_hex(3)}'


@pytest.fixture(scope='module', autouse=True)
def table(duck, governance, governed):
    duck.execute(f"CREATE TABLE lake.{NAMESPACE}.{TABLE} AS SELECT n AS id, 'secret-' || n AS ssn FROM range(20) r(n)")
    governance.mask(TABLE, 'ssn', 'VARCHAR', "'***'")


@pytest.fixture(scope='module')
def gateway(stack):
    port = ports.any_free()
    with Watched.beside(stack, **SETTINGS, LAKEPROXY_STS_ENDPOINT='none', LAKEPROXY_S3_GATEWAY='1',
                        LAKEPROXY_S3_GATEWAY_PORT=str(port)) as made:
        made.gateway = f'127.0.0.1:{port}'
        yield made


class KeyedStore:
    """A store as one principal's keys reach it, and where things lie."""

    def __init__(self, server, client, store, address):
        answer = as_client(server, client).load(TABLE, headers=VENDED)
        assert answer.status_code == 200, answer.text
        config = answer.json()['config']
        self.keys = (store.bucket, config['s3.access-key-id'], config['s3.secret-access-key'], config.get('s3.session-token'))
        self.address = address
        self.folder = store.key(answer.json()['metadata']['location'])
        self.raw = Raw(address, *self.keys)

    def virtual(self):
        """The bucket in the host's name instead of the path."""
        return Raw(f'{self.raw.bucket}.{self.address}', *self.keys, address=self.address)


@pytest.fixture(scope='module', params=['vended keys', 'gateway'])
def keyed_stores(request, server, gateway, store):
    """The analyst's and the steward's."""
    at = (server, store.host) if request.param == 'vended keys' else (gateway, gateway.gateway)
    return KeyedStore(at[0], 'analyst', store, at[1]), KeyedStore(at[0], 'steward', store, at[1])


@pytest.fixture(scope='module')
def base(steward, store):
    """(the table's folder, a data file, its metadata) as keys."""
    loaded = steward.pyiceberg().load_table(f'{NAMESPACE}.{TABLE}')
    data = next(iter(loaded.scan().plan_files())).file.file_path
    return store.key(loaded.metadata.location), store.key(data), store.key(loaded.metadata_location)


def refused(answer):
    assert answer.status in (400, 403, 404), answer
    assert b'secret-' not in answer.body


def is_there(store, key):
    return key in store.under(key)


def test_the_steward_reads_what_the_others_may_not(keyed_stores, base):
    masked, raw = keyed_stores
    for key in base[1:]:
        assert raw.raw.get(key).status == 200
        refused(masked.raw.get(key))


def test_a_base_file_is_not_copied_into_an_own_folder(keyed_stores, base, store):
    masked, _ = keyed_stores
    for folder in (masked.folder + '/data', masked.folder + '/metadata', base[0] + '/data', base[0] + '/metadata/lake'):
        for source in (f'/{store.bucket}/{base[1]}', urllib.parse.quote(f'{store.bucket}/{base[1]}', safe='')):
            target = f'{folder}/copy-{secrets.token_hex(4)}'
            refused(masked.raw.put(target, b'', headers={'X-Amz-Copy-Source': source}))
            assert not is_there(store, target)


def test_a_part_is_not_copied_of_a_base_file(keyed_stores, base, store):
    masked, _ = keyed_stores
    target = f'{masked.folder}/data/part-{secrets.token_hex(4)}'
    refused(masked.raw.send('PUT', f'{masked.raw.path(target)}?partNumber=1&uploadId=any', {'X-Amz-Copy-Source': f'/{store.bucket}/{base[1]}'}))
    assert not is_there(store, target)


def test_the_steward_copies_with_keys_of_the_store(server, store, base):
    """A sound request: MinIO takes it of whoever may read the one and write the other."""
    keyed = KeyedStore(server, 'steward', store, store.host)
    target = f'{base[0]}/data/copy-{secrets.token_hex(4)}'
    assert keyed.raw.put(target, b'', headers={'X-Amz-Copy-Source': f'/{store.bucket}/{base[1]}'}).status == 200
    assert is_there(store, target)
    store.client.remove_object(store.bucket, target)


def delete_of(raw, *keys):
    body = '<Delete>' + ''.join(f'<Object><Key>{key}</Key></Object>' for key in keys) + '</Delete>'
    md5 = base64.b64encode(hashlib.md5(body.encode()).digest()).decode()
    return raw.send('POST', f'/{raw.bucket}?delete=', {'Content-MD5': md5}, body.encode())


def test_a_delete_of_many_takes_nothing(keyed_stores, base, store):
    masked, _ = keyed_stores
    own = next(key for key in store.under(masked.folder + '/') if '/data/' in key)
    answer = delete_of(masked.raw, own, base[1], base[2])
    assert b'<Deleted>' not in answer.body and b'AccessDenied' in answer.body, answer
    assert all(is_there(store, key) for key in (own, base[1], base[2]))


def test_the_steward_removes_a_new_object_among_many(gateway, store, base):
    """The same request is sound: the gateway takes it of whoever may change the table, for what is not recorded."""
    keyed = KeyedStore(gateway, 'steward', store, gateway.gateway)
    key = f'{base[0]}/data/new-{secrets.token_hex(4)}'
    assert keyed.raw.put(key).status == 200
    answer = delete_of(keyed.raw, key)
    assert answer.status == 200 and b'<Error>' not in answer.body, answer
    assert not is_there(store, key)


def test_no_upload_in_parts_is_begun(keyed_stores, base):
    masked, raw = keyed_stores
    for folder in (masked.folder + '/data', base[0] + '/data', base[0] + '/metadata/lake'):
        refused(masked.raw.send('POST', masked.raw.path(f'{folder}/parts') + '?uploads='))
    refused(masked.raw.send('POST', masked.raw.path(base[1]) + '?uploads='))
    path = raw.raw.path(f'{base[0]}/data/parts-{secrets.token_hex(4)}')
    begun = raw.raw.send('POST', path + '?uploads=')
    assert begun.status == 200, begun
    upload = re.search('<UploadId>(.+?)</UploadId>', begun.body.decode()).group(1)
    # Somebody else's upload: neither a part, nor its list, nor its end.
    for method, query in (('PUT', f'partNumber=1&uploadId={upload}'), ('GET', f'uploadId={upload}'), ('DELETE', f'uploadId={upload}')):
        refused(masked.raw.send(method, f'{path}?{query}'))
    assert raw.raw.send('DELETE', f'{path}?uploadId={upload}').status == 204


def listing(keyed, query):
    return keyed.raw.send('GET', f'/{keyed.raw.bucket}?{query}')


def test_neither_versions_nor_uploads_nor_base_folders_are_listed(keyed_stores, base):
    masked, raw = keyed_stores
    folder = urllib.parse.quote(base[0], safe='')
    for query in ('versions=', f'versions=&prefix={folder}%2F', 'uploads=', f'uploads=&prefix={folder}%2F', 'list-type=2', 'list-type=2&prefix=',
                  f'list-type=2&prefix={folder}%2F', f'list-type=2&prefix={folder}%2Fdata%2F', f'list-type=2&prefix={folder}%2Fmetadata%2F',
                  f'prefix={folder}%2F', f'delimiter=%2F&prefix={folder}%2F',
                  f'list-type=2&prefix={urllib.parse.quote(masked.folder.rsplit("/", 1)[0], safe="")}%2F'):
        answer = listing(masked, query)
        refused(answer)
        assert base[1].encode() not in answer.body, query
    own = listing(raw, f'list-type=2&prefix={folder}%2F')
    assert own.status == 200 and base[1].encode() in own.body


def test_a_version_of_a_base_file_is_not_read(keyed_stores, base):
    masked, _ = keyed_stores
    for query in ('versionId=null', 'versionId=', 'acl=', 'tagging=', 'attributes='):
        refused(masked.raw.send('GET', f'{masked.raw.path(base[1])}?{query}'))


def test_a_bucket_in_the_hosts_name_opens_no_more(keyed_stores, base, store):
    masked, raw = keyed_stores
    for key in base[1:]:
        for target in (f'/{key}', f'/{store.bucket}/{key}'):
            refused(masked.virtual().send('GET', target))
    # The name of the host is nothing to the store beside a whole path, and the steward's keys open it.
    assert raw.raw.get(base[1]).status == 200


# Requests that the server signs

@pytest.fixture(scope='module')
def ask(server, lake, analyst, steward):
    """Of the table's own signer or that of all tables."""
    def signed(caller, method, uri, headers=None, body=None, by_object=False):
        request = {'region': lake.s3_region, 'method': method, 'uri': uri, 'headers': {name: [value] for name, value in (headers or {}).items()}}
        if body is not None:
            request['body'] = body
        return caller.post('aws/s3/sign' if by_object else caller.table(TABLE) + '/sign', request)
    assert analyst.load(TABLE).status_code == 200
    return signed


@pytest.fixture(scope='module')
def uri(server, store):
    endpoint = server.environment()['LAKEPROXY_S3_ENDPOINT']
    return lambda key='', query='': f'{endpoint}/{store.bucket}' + (f'/{key}' if key else '') + (f'?{query}' if query else '')


@pytest.fixture(scope='module')
def own(analyst, store):
    return store.key(analyst.load(TABLE).json()['metadata']['location'])


def unsigned(answer):
    assert_error(answer, 400, 403)
    assert 'AWS4-HMAC' not in answer.text


@pytest.mark.parametrize('by_object', [False, True], ids=['table', 'all tables'])
def test_no_request_but_reads_of_own_copies_is_signed(ask, uri, own, base, store, analyst, steward, by_object):
    folder = base[0]
    copied = {'x-amz-copy-source': f'/{store.bucket}/{base[1]}'}
    body = f'<Delete><Object><Key>{base[1]}</Key></Object></Delete>'
    requests = [('PUT', uri(f'{own}/data/copy'), copied), ('PUT', uri(f'{folder}/data/copy'), copied),
                ('PUT', uri(f'{own}/data/x', 'partNumber=1&uploadId=a'), copied), ('PUT', uri(f'{own}/data/x'), {}),
                ('POST', uri(f'{own}/data/x', 'uploads'), {}), ('POST', uri(f'{folder}/data/x', 'uploads'), {}),
                ('GET', uri(base[1], 'versionId=null'), {}), ('GET', uri(query=f'versions&prefix={folder}/'), {}),
                ('GET', uri(query=f'list-type=2&prefix={folder}/'), {}), ('GET', uri(query=f'uploads&prefix={folder}/'), {}),
                ('DELETE', uri(base[1]), {}), ('HEAD', uri(base[1]), {}), ('GET', uri(base[1]), {})]
    host = uri().split('/')[2]
    requests += [('GET', f'http://{store.bucket}.{host}/{base[1]}', {}), ('GET', f'http://{host}/{base[1]}', {})]
    for method, where, headers in requests:
        unsigned(ask(analyst, method, where, headers, by_object=by_object))
    unsigned(ask(analyst, 'POST', uri(query='delete'), body=body, by_object=by_object))
    # What is sound of these is signed for the steward (changes are signed for no store that obeys headers which nobody signed,
    # as this one does), and the analyst has its own copies.
    for method, where in (('GET', uri(base[1])), ('HEAD', uri(base[1])), ('GET', uri(query=f'list-type=2&prefix={folder}/'))):
        answer = ask(steward, method, where, by_object=by_object and 'list' not in where)
        assert answer.status_code == 200, (method, where, answer.text)
    copy = next(key for key in store.under(own + '/') if '/data/' in key)
    assert ask(analyst, 'GET', uri(copy), by_object=by_object).status_code == 200
