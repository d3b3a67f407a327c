"""A server with clients: who gets a token, what it opens, and what it does not."""
import base64
import dataclasses
import hashlib
import hmac
import json
import subprocess
import time
import uuid

import duckdb
import pyarrow as pa
import pytest
import requests
from pyiceberg.catalog import load_catalog
from pyiceberg.exceptions import ForbiddenError, NoSuchNamespaceError, OAuthError, RESTError, UnauthorizedError

from by_hand import Watched
from lake_clients import duck as duckdb_client
from lake_clients import iceberg as iceberg_client
from lake_clients import spark as spark_client
from rest import Rest, assert_error, table_body

SECRET = 'for tests alone: 32 bytes and more of it'
CLIENTS = {
    'admin': ('top-secret', '*', '', ''),
    'writer': ('w-secret', 'ns:sales:rw', 'loader', ''),
    'reader': ('r-secret', 'ns:sales:r', '', ''),
    'keeper': ('k-secret', 'ns:*:rw', '', ''),
    'acme': ('a-secret', 'ns:*:rw', '', 'acme'),
    'globex': ('g-secret', 'ns:*:rw', '', 'globex'),
}
ENTRIES = ','.join(f'{name}:{secret}|{scope}|{roles}|{account}' for name, (secret, scope, roles, account) in CLIENTS.items())
SETTINGS = {'LAKEPROXY_OAUTH_CLIENTS': ENTRIES, 'LAKEPROXY_OAUTH_JWT_SECRET': SECRET, 'LAKEPROXY_REQUIRE_AUTH': '1',
            'LAKEPROXY_LOG_LEVEL': 'debug'}


def token_url(server):
    return f'{server.uri()}/v1/oauth/tokens'


def ask(server, client, secret=None, **fields):
    body = {'grant_type': 'client_credentials', 'client_id': client, 'client_secret': secret or CLIENTS[client][0], **fields}
    return requests.post(token_url(server), data=body, timeout=30)


def token_of(server, client, **fields):
    answer = ask(server, client, **fields)
    assert answer.status_code == 200, answer.text
    return answer.json()['access_token']


def bearer(token):
    return {'headers': {'Authorization': f'Bearer {token}'}}


@dataclasses.dataclass(frozen=True)
class Bearer(Rest):
    """The catalog as plain HTTP, with a token."""
    token: str = ''

    def send(self, method, path, **request):
        request['headers'] = {'Authorization': f'Bearer {self.token}', **request.get('headers', {})}
        return super().send(method, path, **request)


def as_client(server, name, warehouse='lake', **fields):
    return Bearer(server.uri(), warehouse, token_of(server, name, **fields))


@pytest.fixture(scope='module')
def server(stack):
    with Watched.beside(stack, **SETTINGS) as made:
        yield made


@pytest.fixture(scope='module')
def own_lake(lake, server):
    return dataclasses.replace(lake, uri=server.uri())


@pytest.fixture(scope='module')
def sales(lake):
    """Tables of two namespaces and rows in them, made through the stack's own server, which is open."""
    catalog = iceberg_client.connect(lake)
    for name in ('sales', 'sales2', 'hidden'):
        catalog.create_namespace_if_not_exists(name)
        if not catalog.table_exists(f'{name}.t'):
            catalog.create_table(f'{name}.t', pa.schema([('a', pa.int64())])).append(pa.table({'a': [1, 2, 3]}))
    catalog.create_namespace_if_not_exists(('sales', 'eu'))
    return catalog


# Tokens

def test_a_client_gets_a_token_and_comes_in(server, sales):
    answer = ask(server, 'reader')
    assert answer.status_code == 200
    body = answer.json()
    assert set(body) == {'access_token', 'token_type', 'expires_in', 'issued_token_type', 'scope'}
    assert body['token_type'] == 'bearer'
    assert body['expires_in'] == 3600
    assert body['issued_token_type'] == 'urn:ietf:params:oauth:token-type:access_token'
    assert body['scope'] == 'ns:sales:r'
    assert answer.headers['Cache-Control'] == 'no-store'
    claims = json.loads(base64.urlsafe_b64decode(body['access_token'].split('.')[1] + '=='))
    assert claims['iss'] == 'lakeproxy' and claims['sub'] == 'reader' and claims['exp'] - claims['iat'] == 3600
    assert requests.get(f'{server.uri()}/v1/lake/namespaces/sales', timeout=30, **bearer(body['access_token'])).status_code == 200


def test_a_client_shows_itself_by_basic(server):
    fields = {'grant_type': 'client_credentials'}
    answer = requests.post(token_url(server), data=fields, auth=('reader', 'r-secret'), timeout=30)
    assert answer.status_code == 200, answer.text
    refused = requests.post(token_url(server), data=fields, auth=('reader', 'wrong'), timeout=30)
    assert refused.status_code == 401
    assert refused.json()['error'] == 'invalid_client'
    assert refused.headers['WWW-Authenticate'].startswith('Basic')


def test_a_narrower_scope_is_given_and_a_wider_one_is_not(server, sales):
    writer = as_client(server, 'writer', scope='ns:sales:r')
    assert writer.get('namespaces/sales/tables').status_code == 200
    assert_error(writer.post('namespaces/sales/tables', table_body('narrow')), 403)
    assert ask(server, 'reader', scope='*').json()['scope'] == 'ns:sales:r'
    assert ask(server, 'reader', scope='ns:sales:rw').json()['scope'] == 'ns:sales:r'
    for scope in ('ns:hidden:r', 'ns:sales:w', 'everything'):
        refused = ask(server, 'reader', scope=scope)
        assert refused.status_code == 400 and refused.json()['error'] == 'invalid_scope', scope


@pytest.mark.parametrize(('fields', 'status', 'error'), [
    ({}, 400, 'invalid_request'),
    ({'grant_type': 'password', 'client_id': 'reader', 'client_secret': 'r-secret'}, 400, 'unsupported_grant_type'),
    ({'grant_type': 'client_credentials'}, 401, 'invalid_client'),
    ({'grant_type': 'client_credentials', 'client_id': 'reader'}, 401, 'invalid_client'),
    ({'grant_type': 'client_credentials', 'client_id': 'nobody', 'client_secret': 'r-secret'}, 401, 'invalid_client'),
    ({'grant_type': 'client_credentials', 'client_id': 'reader', 'client_secret': 'top-secret'}, 401, 'invalid_client'),
])
def test_a_request_for_a_token_that_is_wrong_is_refused(server, fields, status, error):
    answer = requests.post(token_url(server), data=fields, timeout=30)
    assert answer.status_code == status, answer.text
    assert answer.json()['error'] == error
    assert answer.json()['error_description']
    assert 'r-secret' not in answer.text


def test_attack_malformed_basic(server):
    for value in ('Basic', 'Basic !!', 'Basic ' + base64.b64encode(b'no colon').decode(), 'Basic YTpi YTpi',
                  'Basic ' + 'QUFB' * 1000):
        answer = requests.post(token_url(server), data={'grant_type': 'client_credentials'}, headers={'Authorization': value}, timeout=30)
        assert answer.status_code == 400, value
        assert answer.json()['error'] == 'invalid_request'
    both = requests.post(token_url(server), timeout=30, auth=('reader', 'r-secret'),
                         data={'grant_type': 'client_credentials', 'client_id': 'admin', 'client_secret': 'top-secret'})
    assert both.status_code == 400


def exchange(server, token, **fields):
    body = {'grant_type': 'urn:ietf:params:oauth:grant-type:token-exchange', 'subject_token': token,
            'subject_token_type': 'urn:ietf:params:oauth:token-type:access_token', 'scope': 'catalog', **fields}
    return requests.post(token_url(server), data=body, timeout=30, **bearer(token))


def test_a_token_is_exchanged_for_a_new_one_of_no_more(server, sales):
    answer = exchange(server, token_of(server, 'writer', scope='ns:sales:r'))
    assert answer.status_code == 200, answer.text
    assert answer.json()['scope'] == 'ns:sales:r'
    renewed = Bearer(server.uri(), 'lake', answer.json()['access_token'])
    assert renewed.get('namespaces/sales').status_code == 200
    assert_error(renewed.post('namespaces/sales/tables', table_body('u')), 403)
    good = token_of(server, 'writer')
    for wrong in (exchange(server, good, actor_token=good), exchange(server, 'x'), exchange(server, forged()),
                  exchange(server, good, subject_token_type='urn:ietf:params:oauth:token-type:jwt')):
        assert wrong.status_code == 400 and wrong.json()['error'] in ('invalid_grant', 'invalid_request'), wrong.text


# Who comes in

OPEN = ('/healthz', '/readyz', '/metrics', '/openapi.json', '/v1/config', '/ui')


def test_a_stranger_comes_no_further_than_the_open_paths(server):
    for path in OPEN:
        assert requests.get(server.uri() + path, timeout=30).status_code == 200, path
    described = requests.get(f'{server.uri()}/openapi.json', timeout=30).json()['paths']
    asked = 0
    for path, methods in described.items():
        if path in OPEN or path == '/v1/oauth/tokens':
            continue
        for method in methods:
            made = path.replace('{prefix}', 'lake').replace('{', '').replace('}', '')
            answer = requests.request(method, server.uri() + made, timeout=30)
            assert_error(answer, 401)
            assert answer.headers['WWW-Authenticate'] == 'Bearer realm="lakeproxy"'
            asked += 1
    assert asked > 25


def jwt(header, claims, secret=SECRET):
    def part(value):
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b'=').decode()
    signed = f'{part(header)}.{part(claims)}'
    mac = hmac.new(secret.encode(), signed.encode(), hashlib.sha256).digest()
    return f'{signed}.{base64.urlsafe_b64encode(mac).rstrip(b"=").decode()}'


def forged(secret=SECRET, header=None, **changes):
    now = int(time.time())
    claims = {'iss': 'lakeproxy', 'aud': 'lakeproxy', 'sub': 'reader', 'iat': now, 'nbf': now, 'exp': now + 600, 'jti': 'x',
              'scope': 'ns:sales:r', **changes}
    return jwt(header or {'alg': 'HS256', 'typ': 'at+jwt'}, claims, secret)


def test_attacks_on_tokens_are_refused(server, sales):
    url = f'{server.uri()}/v1/lake/namespaces/sales'
    assert requests.get(url, timeout=30, **bearer(forged())).status_code == 200, 'what the others change one thing of'
    now = int(time.time())
    attacks = {
        'alg none': forged(header={'alg': 'none', 'typ': 'at+jwt'}),
        'no signature': forged(header={'alg': 'none', 'typ': 'at+jwt'}).rsplit('.', 1)[0] + '.',
        'RS256 by the secret': forged(header={'alg': 'RS256', 'typ': 'at+jwt'}),
        'another secret': forged(secret='another secret of 32 bytes and more'),
        'another issuer': forged(iss='evil'),
        'another audience': forged(aud='tools'),
        'expired': forged(iat=now - 600, nbf=now - 600, exp=now - 60),
        'not yet valid': forged(nbf=now + 120),
        'an unknown client': forged(sub='nobody'),
        'more than the client has': forged(scope='*'),
        'another account': forged(account='acme'),
        'a kid that is a path': forged(header={'alg': 'HS256', 'typ': 'at+jwt', 'kid': '../../../../dev/null'}, secret=''),
        'a kid that is SQL': forged(header={'alg': 'HS256', 'typ': 'at+jwt', 'kid': "x' UNION SELECT 'y"}, secret='y'),
        'a key that it brings along': forged(header={'alg': 'HS256', 'typ': 'at+jwt', 'jwk': {'kty': 'oct', 'k': 'eHg'}}, secret='xx'),
        'another kind': forged(header={'alg': 'HS256', 'typ': 'JWT'}),
        'huge': 'a' * 9000,
        'no token at all': 'no.token.at-all',
    }
    for name, token in attacks.items():
        answer = requests.get(url, timeout=30, **bearer(token))
        assert_error(answer, 401)
        assert 'error="invalid_token"' in answer.headers['WWW-Authenticate'], name
        assert token not in answer.text


def test_attack_several_authorization_headers(server, sales):
    import http.client
    token = token_of(server, 'admin')
    for second in (f'Bearer {token}', 'Bearer x', 'Basic YTpi'):
        connection = http.client.HTTPConnection('127.0.0.1', server.port, timeout=30)
        connection.putrequest('GET', '/v1/lake/namespaces')
        connection.putheader('Authorization', f'Bearer {token}')
        connection.putheader('authorization', second)
        connection.endheaders()
        assert connection.getresponse().status == 401
        connection.close()


def test_a_token_too_large_for_a_head_is_refused_before_it_is_read(server):
    answer = requests.get(f'{server.uri()}/v1/lake/namespaces', timeout=30, **bearer('a' * 60_000))
    assert answer.status_code == 431


# What a token opens

def test_a_scope_opens_one_namespace_and_none_of_a_longer_name(server, sales):
    reader = as_client(server, 'reader')
    assert reader.get('namespaces/sales/tables/t').status_code == 200
    for name in ('sales2', 'hidden', 'sale', 'SALES', 'sales%1Feu', 'nowhere'):
        assert_error(reader.get(f'namespaces/{name}/tables/t'), 403)
        assert_error(reader.get(f'namespaces/{name}'), 403)
    assert_error(reader.post('namespaces/sales/tables', table_body('u')), 403)
    assert_error(reader.send('DELETE', 'namespaces/sales/tables/t'), 403)
    assert_error(reader.post('namespaces/sales/properties', {'updates': {'a': 'b'}}), 403)


def test_what_is_not_there_is_not_told_from_what_is_not_allowed(server, sales):
    reader = as_client(server, 'reader')
    there, nowhere = (reader.get(f'namespaces/{name}') for name in ('hidden', 'nowhere'))
    assert (there.status_code, there.json()) == (nowhere.status_code, nowhere.json())


def test_a_list_shows_what_may_be_seen(server, sales):
    def listed(client):
        return {tuple(name) for name in client.get('namespaces').json()['namespaces']}
    assert listed(as_client(server, 'reader')) == {('sales',)}
    assert {('sales',), ('sales2',), ('hidden',)} <= listed(as_client(server, 'keeper'))
    assert_error(as_client(server, 'reader').get('namespaces?parent=hidden'), 403)
    pages, token = [], ''
    while token is not None:
        page = as_client(server, 'reader').get(f'namespaces?pageSize=1&pageToken={token}').json()
        pages += page['namespaces']
        token = page['next-page-token']
    assert pages == [['sales']]


def test_namespaces_are_made_by_who_may_write_them_all(server, sales):
    name = f'n{uuid.uuid4().hex[:10]}'
    assert_error(as_client(server, 'writer').post('namespaces', {'namespace': [name]}), 403)
    keeper = as_client(server, 'keeper')
    assert keeper.post('namespaces', {'namespace': [name]}).status_code == 200
    assert_error(as_client(server, 'writer').send('DELETE', f'namespaces/{name}'), 403)
    assert keeper.send('DELETE', f'namespaces/{name}').status_code == 204


def test_a_table_leaves_its_namespace_for_another_only_with_both(server, sales):
    writer = as_client(server, 'writer')
    name = f't{uuid.uuid4().hex[:10]}'
    assert writer.post('namespaces/sales/tables', table_body(name)).status_code == 200
    def move(client, source, destination):
        return client.post('tables/rename', {'source': {'namespace': [source], 'name': name},
                                             'destination': {'namespace': [destination], 'name': name}})
    assert_error(move(writer, 'sales', 'hidden'), 403)
    assert_error(move(writer, 'hidden', 'sales'), 403)
    keeper = as_client(server, 'keeper')
    assert move(keeper, 'sales', 'hidden').status_code == 204
    assert keeper.send('DELETE', f'namespaces/hidden/tables/{name}').status_code == 204


def test_a_transaction_needs_each_of_its_tables(server, sales):
    def change(name_space):
        return {'identifier': {'namespace': [name_space], 'name': 't'}, 'requirements': [],
                'updates': [{'action': 'set-properties', 'updates': {'x': 'y'}}]}
    writer = as_client(server, 'writer')
    assert writer.post('transactions/commit', {'table-changes': [change('sales')]}).status_code == 204
    assert_error(writer.post('transactions/commit', {'table-changes': [change('sales'), change('hidden')]}), 403)


def test_a_dropped_table_comes_back_only_to_who_may_write_where_it_was(server, sales):
    keeper, writer = as_client(server, 'keeper'), as_client(server, 'writer')
    name = f't{uuid.uuid4().hex[:10]}'
    made = keeper.post('namespaces/hidden/tables', table_body(name)).json()
    assert keeper.send('DELETE', f'namespaces/hidden/tables/{name}').status_code == 204
    body = {'name': name, 'metadata-location': made['metadata-location']}
    assert_error(writer.post('namespaces/sales/register', body), 403)
    assert_error(writer.get(f'namespaces/sales/tables/{name}'), 404)
    assert keeper.post('namespaces/sales/register', body).status_code == 200
    assert writer.send('DELETE', f'namespaces/sales/tables/{name}').status_code == 204
    assert writer.post('namespaces/sales/register', body).status_code == 200, 'where it was last counts'
    assert keeper.send('DELETE', f'namespaces/sales/tables/{name}').status_code == 204


def test_upkeep_and_catalogs_are_the_administrators(server, sales):
    body = {'catalog_id': f'c{uuid.uuid4().hex[:10]}', 'metadata_schema': f'm{uuid.uuid4().hex[:10]}',
            'data_prefix': f'tenants/{uuid.uuid4().hex}/'}
    keeper = as_client(server, 'keeper')
    assert_error(keeper.post('admin/namespaces/sales/tables/t/compact'), 403)
    answer = requests.post(f'{server.uri()}/v1/catalogs', json=body, timeout=30, **bearer(keeper.token))
    assert_error(answer, 403)
    assert_error(requests.get(f'{server.uri()}/v1/catalogs', timeout=30, **bearer(keeper.token)), 403)
    assert_error(requests.get(f'{server.uri()}/v1/catalogs', timeout=30), 401)
    admin = token_of(server, 'admin')
    assert requests.post(f'{server.uri()}/v1/catalogs', json=body, timeout=60, **bearer(admin)).status_code == 201
    listed = requests.get(f'{server.uri()}/v1/catalogs', timeout=30, **bearer(admin))
    assert body['catalog_id'] in [one['catalog_id'] for one in listed.json()['catalogs']]


# Tenants

@pytest.fixture(scope='module')
def acme(server):
    """A catalog of the account acme."""
    name = f'acme{uuid.uuid4().hex[:10]}'
    body = {'catalog_id': name, 'metadata_schema': f'meta_{name}', 'data_prefix': f'tenants/{name}/', 'account_id': 'acme'}
    answer = requests.post(f'{server.uri()}/v1/catalogs', json=body, timeout=60, **bearer(token_of(server, 'admin')))
    assert answer.status_code == 201, answer.text
    return name


def same(answer, other, name, other_name):
    assert answer.status_code == other.status_code
    assert answer.text.replace(name, '*') == other.text.replace(other_name, '*')
    assert set(answer.headers) == set(other.headers)


def test_a_catalog_is_open_to_its_own_account_and_the_administrator(server, acme):
    for client in ('acme', 'admin'):
        assert as_client(server, client, acme).get('namespaces').status_code == 200
        token = token_of(server, client)
        config = requests.get(f'{server.uri()}/v1/config?warehouse={acme}', timeout=30, **bearer(token))
        assert config.json()['overrides']['prefix'] == acme


def test_a_foreign_catalog_is_answered_as_one_that_does_not_exist(server, acme):
    unknown = 'c' + acme[1:]
    for client in ('globex', 'keeper', 'reader'):
        foreign, none = as_client(server, client, acme), as_client(server, client, unknown)
        for method, path in (('GET', 'namespaces'), ('GET', 'namespaces/s/tables/t'), ('POST', 'namespaces'),
                             ('DELETE', 'namespaces/s'), ('POST', 'tables/rename')):
            answer = foreign.send(method, path, json={'namespace': ['s']} if method == 'POST' else None)
            assert_error(answer, 404)
            same(answer, none.send(method, path, json={'namespace': ['s']} if method == 'POST' else None), acme, unknown)
        for warehouse in (acme, unknown):
            answer = requests.get(f'{server.uri()}/v1/config?warehouse={warehouse}', timeout=30, **bearer(foreign.token))
            assert_error(answer, 404)


def test_a_stranger_learns_of_no_account_by_the_configuration(server, acme):
    unknown = 'c' + acme[1:]
    answers = [requests.get(f'{server.uri()}/v1/config?warehouse={name}', timeout=30) for name in (acme, unknown)]
    assert answers[0].status_code == 404
    same(*answers, acme, unknown)


# Secrets stay where they are

def test_no_secret_and_no_token_is_in_the_log(server, sales):
    token = token_of(server, 'reader')
    as_client(server, 'reader').get('namespaces/hidden')
    requests.get(f'{server.uri()}/v1/lake/namespaces', timeout=30, **bearer(token[:-4] + 'AAAA'))
    ask(server, 'reader', 'wrong-secret')
    ask(server, 'my-secret-as-a-name', 'x-secret')
    requests.post(token_url(server), data='grant_type=client_credentials&client_secret=%zzy-secret',
                  headers={'Content-Type': 'application/x-www-form-urlencoded'}, timeout=30)
    time.sleep(0.5)
    log = server.log.read_text()
    assert '"token issued"' in log and '"token refused"' in log
    assert '"client":"reader"' in log and '"token_id"' in log and '"invalid_client"' in log
    for secret in (SECRET, token, token.rsplit('.', 1)[1], *(secret for secret, *_ in CLIENTS.values()), 'wrong-secret', 'x-secret',
                   'y-secret', 'my-secret-as-a-name'):
        assert secret not in log, secret
    shown = subprocess.run([server.binary, 'settings'], env=server.environment(), cwd=server.folder, capture_output=True, text=True,
                           timeout=30, check=True).stdout
    for secret in (SECRET, *(secret for secret, *_ in CLIENTS.values())):
        assert secret not in shown


# The start

def start(server, **settings):
    environment = {name: value for name, value in server.environment().items() if not name.startswith(('LAKEPROXY_OAUTH', 'LAKEPROXY_REQ'))}
    return subprocess.run([server.binary, 'serve', '--port', '0'], env={**environment, **settings}, cwd=server.folder,
                          capture_output=True, text=True, timeout=30, check=False)


@pytest.mark.parametrize(('settings', 'word'), [
    ({'LAKEPROXY_REQUIRE_AUTH': '1'}, 'LAKEPROXY_REQUIRE_AUTH'),
    ({'LAKEPROXY_OAUTH_CLIENTS': 'a:s3cr3t|*'}, 'LAKEPROXY_OAUTH_JWT_SECRET'),
    ({'LAKEPROXY_OAUTH_CLIENTS': 'a:s3cr3t|*', 'LAKEPROXY_OAUTH_JWT_SECRET': 'short'}, '32 bytes'),
    ({'LAKEPROXY_OAUTH_CLIENTS': 'a:s3cr3t|all', 'LAKEPROXY_OAUTH_JWT_SECRET': SECRET}, 'entry 1: scope'),
    ({'LAKEPROXY_OAUTH_CLIENTS': ' , ', 'LAKEPROXY_OAUTH_JWT_SECRET': SECRET}, 'has no client'),
    ({'LAKEPROXY_OAUTH_CLIENTS_FILE': '/nowhere', 'LAKEPROXY_OAUTH_JWT_SECRET': SECRET}, 'LAKEPROXY_OAUTH_CLIENTS_FILE'),
])
def test_a_server_that_would_be_open_by_mistake_does_not_start(server, settings, word):
    done = start(server, **settings)
    assert done.returncode != 0
    assert word in done.stderr
    assert 's3cr3t' not in done.stderr


def test_clients_of_a_file_and_a_second_secret(stack, sales, tmp_path):
    file = tmp_path / 'clients.json'
    # A hash of "open sesame".
    file.write_text(json.dumps([
        {'id': 'hashed', 'secret': '$2b$05$abcdefghijklmnopqrstuupx2xBUC4954936wVIjyyPHmUBFu0wCW', 'scope': ['ns:sales:r'], 'roles': ['a b']},
        {'id': 'reader', 'secret': 'r-secret', 'scope': 'ns:sales:r'}]))
    file.chmod(0o600)
    settings = {'LAKEPROXY_OAUTH_CLIENTS_FILE': str(file), 'LAKEPROXY_OAUTH_JWT_SECRET': 'the next secret: 32 bytes and more',
                'LAKEPROXY_OAUTH_JWT_SECRET_OTHER': SECRET, 'LAKEPROXY_OAUTH_TTL_SECONDS': '600'}
    with Watched.beside(stack, **settings) as server:
        url = f'{server.uri()}/v1/lake/namespaces/sales'
        token = ask(server, 'hashed', 'open sesame').json()
        assert token['expires_in'] == 600
        assert requests.get(url, timeout=30, **bearer(token['access_token'])).status_code == 200
        assert ask(server, 'hashed', 'open').status_code == 401
        assert requests.get(url, timeout=30, **bearer(forged())).status_code == 200, 'by the other secret'
        assert requests.get(url, timeout=30, **bearer(forged(secret='a third secret of 32 bytes and more'))).status_code == 401


# Real clients

def pyiceberg(lake, **properties):
    return load_catalog('tokens', **{**iceberg_client.properties(lake), **properties})


def credential(server, client):
    return {'credential': f'{client}:{CLIENTS[client][0]}', 'oauth2-server-uri': token_url(server)}


def test_pyiceberg_with_a_credential(server, own_lake, sales):
    reader = pyiceberg(own_lake, **credential(server, 'reader'))
    assert reader.load_table('sales.t').scan().to_arrow().num_rows == 3
    assert reader.list_namespaces() == [('sales',)]
    with pytest.raises(ForbiddenError):
        reader.load_table('hidden.t')
    with pytest.raises(ForbiddenError):
        reader.load_table('sales.t').append(pa.table({'a': [4]}))
    with pytest.raises((OAuthError, UnauthorizedError, RESTError)):
        pyiceberg(own_lake, credential='reader:wrong', **{'oauth2-server-uri': token_url(server)})


def test_pyiceberg_with_a_token(server, own_lake, sales):
    writer = pyiceberg(own_lake, token=token_of(server, 'writer'))
    name = f'sales.p{uuid.uuid4().hex[:8]}'
    writer.create_table(name, pa.schema([('a', pa.int64())])).append(pa.table({'a': [1, 2]}))
    assert writer.load_table(name).scan().to_arrow().num_rows == 2
    with pytest.raises(ForbiddenError):
        writer.create_table('hidden.p', pa.schema([('a', pa.int64())]))
    with pytest.raises(ForbiddenError):
        writer.create_namespace('made')
    writer.drop_table(name)
    with pytest.raises((UnauthorizedError, RESTError, NoSuchNamespaceError)):
        pyiceberg(own_lake, token='x').list_namespaces()


def duck_iceberg(lake, secret):
    return duckdb_client.connect(
        duckdb_client.ICEBERG_EXTENSIONS, duckdb_client.secret(lake), f'CREATE SECRET lake_tokens (TYPE iceberg, {secret})',
        f"ATTACH '{lake.warehouse}' AS ice (TYPE iceberg, ENDPOINT '{lake.uri}', SECRET lake_tokens, ACCESS_DELEGATION_MODE 'none')")


def duck_client(lake, server, client, secret=None):
    return duck_iceberg(lake, f"CLIENT_ID '{client}', CLIENT_SECRET '{secret or CLIENTS[client][0]}', "
                              f"OAUTH2_SERVER_URI '{token_url(server)}'")


def test_duckdb_with_a_token(server, own_lake, sales):
    reader = duck_iceberg(own_lake, f"TOKEN '{token_of(server, 'reader')}'")
    assert reader.execute('SELECT count(*) FROM ice.sales.t').fetchone() == (3,)
    with pytest.raises(duckdb.Error):
        reader.execute('SELECT count(*) FROM ice.hidden.t').fetchone()
    with pytest.raises(duckdb.Error):
        duck_iceberg(own_lake, "TOKEN 'x'").execute('SELECT count(*) FROM ice.sales.t')


def test_duckdb_with_a_client_and_its_secret(server, own_lake, sales):
    reader = duck_client(own_lake, server, 'reader')
    assert reader.execute('SELECT count(*) FROM ice.sales.t').fetchone() == (3,)
    with pytest.raises(duckdb.Error):
        reader.execute('SELECT count(*) FROM ice.hidden.t').fetchone()
    with pytest.raises(duckdb.Error):
        reader.execute('INSERT INTO ice.sales.t VALUES (4)')
    with pytest.raises(duckdb.Error):
        duck_client(own_lake, server, 'reader', 'wrong').execute('SELECT count(*) FROM ice.sales.t')
    writer = duck_client(own_lake, server, 'writer')
    name = f'd{uuid.uuid4().hex[:8]}'
    writer.execute(f'CREATE TABLE ice.sales.{name}(a BIGINT)')
    writer.execute(f'INSERT INTO ice.sales.{name} VALUES (1), (2)')
    assert writer.execute(f'SELECT sum(a) FROM ice.sales.{name}').fetchone() == (3,)


def spark_catalog(spark, lake, server, client, secret=None):
    """A catalog of a name of its own: Spark keeps one as it was first made."""
    name = f'tokens{uuid.uuid4().hex[:8]}'
    settings = spark_client.catalog_settings(lake, f'spark.sql.catalog.{name}')
    for key, value in settings.items():
        if key.startswith('spark.sql.catalog.'):
            spark.conf.set(key, value)
    spark.conf.set(f'spark.sql.catalog.{name}.credential', f'{client}:{secret or CLIENTS[client][0]}')
    spark.conf.set(f'spark.sql.catalog.{name}.oauth2-server-uri', token_url(server))
    return name


def test_spark_with_a_credential(spark, server, own_lake, sales):
    def told(statement):
        with pytest.raises(Exception) as refused:  # Py4J wraps what Java throws, by its class's name
            spark.sql(statement).collect()
        return str(refused.value)
    reader = spark_catalog(spark, own_lake, server, 'reader')
    assert spark.sql(f'SELECT count(*) FROM {reader}.sales.t').collect()[0][0] == 3
    assert 'Forbidden' in told(f'SELECT count(*) FROM {reader}.hidden.t')
    assert 'Forbidden' in told(f'INSERT INTO {reader}.sales.t VALUES (4)')
    writer = spark_catalog(spark, own_lake, server, 'writer')
    name = f'{writer}.sales.s{uuid.uuid4().hex[:8]}'
    spark.sql(f'CREATE TABLE {name} (a BIGINT) USING iceberg')
    spark.sql(f'INSERT INTO {name} VALUES (1), (2)')
    assert spark.sql(f'SELECT sum(a) FROM {name}').collect()[0][0] == 3
    assert 'Forbidden' in told(f'CREATE TABLE {writer}.hidden.s (a BIGINT) USING iceberg')
    wrong = spark_catalog(spark, own_lake, server, 'reader', 'wrong')
    assert 'NotAuthorized' in told(f'SELECT count(*) FROM {wrong}.sales.t')


def test_spark_goes_on_after_its_token_has_ended(spark, stack, own_lake, sales):
    with Watched.beside(stack, **SETTINGS, LAKEPROXY_OAUTH_TTL_SECONDS='2') as short:
        reader = spark_catalog(spark, dataclasses.replace(own_lake, uri=short.uri()), short, 'reader')
        query = f'SELECT count(*) FROM {reader}.sales.t'
        assert spark.sql(query).collect()[0][0] == 3
        first = token_of(short, 'reader')
        url = f'{short.uri()}/v1/lake/namespaces/sales'
        time.sleep(34)  # clocks may differ by 30 s
        assert requests.get(url, timeout=30, **bearer(first)).status_code == 401
        assert spark.sql(query).collect()[0][0] == 3
        assert 'token-exchange' in short.log.read_text()
