"""A server that takes the tokens of an identity provider, a real one, alone or beside its own."""
import base64
import json

import pytest
import requests

from by_hand import Watched
from rest import assert_error
from test_tokens import CLIENTS, SETTINGS, ask, bearer, jwt, token_of
from tool_stack.authority import Authority
from tool_stack.identity import IdentityProvider

AUDIENCE = 'https://lake.example/catalog'
SECRET = 'a secret of the provider, for tests'
PEOPLE = {
    'admin': ('*', {}),
    'reader': ('ns:sales:r', {'groups': ['analysts', 'eu'], 'tenant': {'id': 'acme'}}),
    'worded': ('ns:sales:r', {'groups': 'analysts eu'}),
    'wrong': ('ns:sales:r', {'groups': {'analysts': True}}),
    'torn': ('ns:sales:r', {'tenant': {'id': ['acme', 'globex']}}),
    'other': ('profile', {}),
}


@pytest.fixture(scope='module')
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp('authority'))


def make_provider(folder, authority, **options):
    return IdentityProvider(folder, authority, AUDIENCE, {name: (SECRET, scope) for name, (scope, _) in PEOPLE.items()},
                            claims={name: claims for name, (_, claims) in PEOPLE.items()}, **options)


@pytest.fixture(scope='module', params=['RS256', 'ES256'])
def provider(request, tmp_path_factory, authority):
    made = make_provider(tmp_path_factory.mktemp('identity'), authority, algorithm=request.param)
    made.start()
    yield made
    made.stop()


def settings(provider):
    return {'LAKEPROXY_OIDC_ISSUER': provider.issuer, 'LAKEPROXY_OIDC_AUDIENCE': AUDIENCE, 'LAKEPROXY_OIDC_JWKS_URL': provider.jwks_url,
            'LAKEPROXY_OIDC_CA_FILE': str(provider.authority.roots), 'LAKEPROXY_OIDC_ALGORITHM': provider.algorithm,
            'LAKEPROXY_OIDC_ROLES_CLAIM': 'groups', 'LAKEPROXY_OIDC_ACCOUNT_CLAIM': 'tenant.id', 'LAKEPROXY_REQUIRE_AUTH': '1',
            'LAKEPROXY_WORKERS': '1'}


@pytest.fixture(scope='module')
def server(stack, provider):
    with Watched.beside(stack, **settings(provider)) as made:
        yield made


def listed(server, token):
    return requests.get(f'{server.uri()}/v1/lake/namespaces', timeout=30, **bearer(token))


def test_a_token_of_the_provider_opens_what_its_scope_says(server, provider):
    assert listed(server, provider.token('admin')).status_code == 200
    reader = bearer(provider.token('reader'))
    assert_error(requests.get(f'{server.uri()}/v1/lake/namespaces/hidden', timeout=30, **reader), 403)
    assert requests.get(f'{server.uri()}/v1/lake/namespaces/sales', timeout=30, **reader).status_code in (200, 404)
    # Words of other services open nothing.
    assert_error(listed(server, provider.token('other')), 403)


def test_the_account_is_where_the_settings_say(server, provider):
    name = f'oidc{provider.port}'
    body = {'catalog_id': name, 'metadata_schema': f'meta_{name}', 'data_prefix': f'tenants/{name}/', 'account_id': 'acme'}
    made = requests.post(f'{server.uri()}/v1/catalogs', json=body, timeout=60, **bearer(provider.token('admin')))
    assert made.status_code == 201, made.text

    def status(client):
        return requests.get(f'{server.uri()}/v1/{name}/namespaces', timeout=30, **bearer(provider.token(client))).status_code
    assert status('reader') == 200
    assert status('worded') == 404
    assert status('admin') == 200


def test_claims_of_another_shape_are_refused(server, provider):
    assert listed(server, provider.token('worded')).status_code == 200, 'a text of words is a list'
    for name in ('wrong', 'torn'):
        assert_error(listed(server, provider.token(name)), 401)


def parts(token):
    return [json.loads(base64.urlsafe_b64decode(part + '==')) for part in token.split('.')[:2]]


def test_attack_the_public_key_as_a_secret(server, provider):
    """HS/RS confusion: what everybody can read is no key of an HMAC."""
    header, claims = parts(provider.token('reader'))
    published = requests.get(provider.jwks_url, verify=str(provider.authority.roots), timeout=30)
    for secret in (published.text, json.dumps(published.json()['keys'][0])):
        for algorithm in ('HS256', provider.algorithm, 'none'):
            assert_error(listed(server, jwt({**header, 'alg': algorithm}, {**claims, 'scope': '*'}, secret)), 401)


def test_attacks_on_the_providers_tokens(server, provider):
    token = provider.token('reader')
    head, body, signature = token.split('.')
    _, claims = parts(token)
    wider = base64.urlsafe_b64encode(json.dumps({**claims, 'scope': '*'}).encode()).rstrip(b'=').decode()
    for attack in (f'{head}.{wider}.{signature}', f'{head}.{body}.{signature[:-8]}AAAAAAAA', f'{head}.{body}.'):
        assert_error(listed(server, attack), 401)


def test_another_provider_and_another_audience_are_refused(server, provider, authority, tmp_path):
    another = make_provider(tmp_path / 'another', authority, algorithm=provider.algorithm)
    another.start()
    try:
        assert_error(listed(server, another.token('admin')), 401)
    finally:
        another.stop()


def test_a_server_with_a_provider_alone_gives_no_tokens(server):
    answer = requests.post(f'{server.uri()}/v1/oauth/tokens', data={'grant_type': 'client_credentials'}, timeout=30)
    assert_error(answer, 404)


def test_both_kinds_side_by_side_and_no_key_serves_two(stack, provider):
    with Watched.beside(stack, **{**settings(provider), **SETTINGS}) as both:
        assert listed(both, provider.token('reader')).status_code == 200
        assert listed(both, token_of(both, 'reader')).status_code == 200
        assert ask(both, 'reader', 'wrong').status_code == 401
        header, claims = parts(token_of(both, 'reader'))
        for algorithm in ('RS256', 'ES256'):
            assert_error(listed(both, jwt({**header, 'alg': algorithm, 'kid': 'key-1'}, claims)), 401)
        assert CLIENTS['reader'][0] not in both.log.read_text()


def test_keys_rotate_and_a_provider_that_is_away_is_said(stack, provider, authority, tmp_path):
    own = make_provider(tmp_path / 'own', authority, algorithm=provider.algorithm)
    own.start()
    try:
        old = own.token('admin')
        own.rotate()
        with Watched.beside(stack, **settings(own)) as server:
            assert listed(server, own.token('admin')).status_code == 200
            assert_error(listed(server, old), 401)
            known = own.token('admin')
            assert listed(server, known).status_code == 200
            own.stop()
            assert listed(server, known).status_code == 200, 'keys that were had go on for a while'
        with Watched.beside(stack, **settings(own)) as server:
            assert_error(listed(server, known), 503)
            assert requests.get(f'{server.uri()}/healthz', timeout=30, **bearer(known)).status_code == 200
            assert requests.get(f'{server.uri()}/v1/config', timeout=30, **bearer(known)).status_code == 200
    finally:
        own.stop()
