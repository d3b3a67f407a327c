"""Keycloak itself as the identity provider. Takes a minute and 170 MB: runs where KEYCLOAK_HOME names its folder."""
import base64
import json
import os
import pathlib
import subprocess
import time
import uuid

import pytest
import requests

from by_hand import Watched
from rest import assert_error
from stack import ports
from test_tokens import SETTINGS, bearer, token_of
from tool_stack.authority import Authority

HOME = os.environ.get('KEYCLOAK_HOME')
pytestmark = pytest.mark.skipif(not HOME, reason='KEYCLOAK_HOME is not set')
REALM = pathlib.Path(__file__).with_name('keycloak_realm.json')


@pytest.fixture(scope='module')
def keycloak(tmp_path_factory):
    folder = tmp_path_factory.mktemp('keycloak')
    authority = Authority(folder / 'authority')
    certificate, key = authority.server('keycloak')
    home = folder / 'home'
    subprocess.run(['cp', '-r', HOME, home], check=True)
    imported = home / 'data/import'
    imported.mkdir(parents=True)
    (imported / 'data-realm.json').write_text(REALM.read_text())
    port = ports.any_free()
    log = (folder / 'log').open('w')
    server = subprocess.Popen([home / 'bin/kc.sh', 'start-dev', '--import-realm', '--http-enabled=false', f'--https-port={port}',
                               '--http-host=127.0.0.1', f'--https-certificate-file={certificate}', f'--https-certificate-key-file={key}',
                               '--http-management-scheme=inherited', f'--http-management-port={ports.any_free()}'],
                              stdout=log, stderr=log, env={**os.environ, 'JAVA_OPTS_APPEND': '-Xmx512m'})
    realm = f'https://127.0.0.1:{port}/realms/data'
    try:
        end = time.monotonic() + 240
        while True:
            assert server.poll() is None and time.monotonic() < end, (folder / 'log').read_text()[-3000:]
            try:
                if requests.get(realm, verify=str(authority.roots), timeout=5).status_code == 200:
                    break
            except requests.RequestException:
                pass
            time.sleep(0.5)
        yield realm, authority
    finally:
        server.terminate()
        server.wait(30)


def keycloak_token(keycloak):
    realm, authority = keycloak
    answer = requests.post(f'{realm}/protocol/openid-connect/token', verify=str(authority.roots), timeout=30, data={
        'grant_type': 'client_credentials', 'client_id': 'dashboard', 'client_secret': 'dashboard-secret-of-keycloak'})
    assert answer.status_code == 200, answer.text
    return answer.json()['access_token']


def test_tokens_of_keycloak_open_what_its_realm_says(stack, keycloak):
    realm, authority = keycloak
    settings = {'LAKEPROXY_OIDC_ISSUER': realm, 'LAKEPROXY_OIDC_AUDIENCE': 'lakeproxy',
                'LAKEPROXY_OIDC_JWKS_URL': f'{realm}/protocol/openid-connect/certs', 'LAKEPROXY_OIDC_CA_FILE': str(authority.roots),
                'LAKEPROXY_OIDC_ROLES_CLAIM': 'realm_access.roles', 'LAKEPROXY_OIDC_ACCOUNT_CLAIM': 'tenant'}
    token = keycloak_token(keycloak)
    claims = json.loads(base64.urlsafe_b64decode(token.split('.')[1] + '=='))
    assert 'analyst' in claims['realm_access']['roles'] and claims['tenant'] == 'acme'
    with Watched.beside(stack, **settings, **SETTINGS) as server:
        admin = bearer(token_of(server, 'admin'))
        name = f'kc{uuid.uuid4().hex[:8]}'
        for account, prefix in (('acme', name), ('globex', f'{name}x')):
            body = {'catalog_id': prefix, 'metadata_schema': f'meta_{prefix}', 'data_prefix': f'tenants/{prefix}/', 'account_id': account}
            assert requests.post(f'{server.uri()}/v1/catalogs', json=body, timeout=60, **admin).status_code == 201
        assert requests.get(f'{server.uri()}/v1/{name}/namespaces', timeout=30, **bearer(token)).status_code == 200
        assert_error(requests.get(f'{server.uri()}/v1/{name}x/namespaces', timeout=30, **bearer(token)), 404)
        assert_error(requests.post(f'{server.uri()}/v1/{name}/namespaces', json={'namespace': ['a']}, timeout=30, **bearer(token)), 403)
        assert_error(requests.get(f'{server.uri()}/v1/{name}/namespaces', timeout=30, **bearer(token[:-8] + 'AAAAAAAA')), 401)
    with Watched.beside(stack, **{**settings, 'LAKEPROXY_OIDC_AUDIENCE': 'another'}) as server:
        assert_error(requests.get(f'{server.uri()}/v1/lake/namespaces', timeout=30, **bearer(token)), 401)
