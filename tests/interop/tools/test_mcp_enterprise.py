"""The MCP endpoint as an OAuth 2.1 resource server, with tokens of a real provider. docs/tools/mcp.md, RFC 9728, RFC 6750."""
import json
import re

import pytest

from claim_sets import from_now
from mcp_messages import McpCaller
from test_enterprise import pinned, token  # noqa: F401
from tool_clients import token_of

HELLO = {'path': 'notes/welcome.txt'}


@pytest.fixture(scope='module')
def endpoint(make_service):
    return make_service('enterprise', mcp__enabled=True)


@pytest.fixture(scope='module')
def pinned_endpoint(make_service, pinned):  # noqa: F811
    """A service that knows one public key, and that key's private half."""
    _, key, file = pinned
    return make_service('enterprise', mcp__enabled=True, oauth2__jwks_url=None, oauth2__local_public_key_path=str(file)), key


def test_an_access_token_calls(endpoint, identity):
    caller = McpCaller(endpoint, token_of(identity, lambda: identity.token('agent')))
    assert caller.call('files.read', HELLO).result['content'][0]['text'] == 'Hello from the file tool.\n'


def test_a_client_learns_where_to_get_a_token(endpoint, identity):
    stranger = McpCaller(endpoint, None)
    challenge = stranger.send(None, method='GET').headers['www-authenticate']
    url = re.search(r'resource_metadata="([^"]+)"', challenge).group(1)
    assert url == f'https://127.0.0.1:{endpoint.port}/.well-known/oauth-protected-resource/mcp'
    for path in ('/.well-known/oauth-protected-resource/mcp', '/.well-known/oauth-protected-resource'):
        said = json.loads(stranger.send(None, method='GET', path=path).body)
        assert said['resource'] == f'https://127.0.0.1:{endpoint.port}/mcp'
        assert said['authorization_servers'] == [identity.issuer] and said['bearer_methods_supported'] == ['header']


def test_a_service_without_a_provider_names_none(make_service):
    service = make_service('simple', mcp__enabled=True)
    stranger = McpCaller(service, None)
    assert stranger.send(None, method='GET', path='/.well-known/oauth-protected-resource').status == 404
    assert 'resource_metadata' not in stranger.send(None, method='GET').headers['www-authenticate']


@pytest.mark.parametrize('name, changes', [
    ('fits', {}), ('other audience', {'aud': 'https://other.example'}), ('no audience', {'aud': None}), ('other issuer', {'iss': 'https://localhost:1'}),
    ('expired', {'exp': from_now(-60)}), ('no exp', {'exp': None}), ('not yet', {'nbf': from_now(600)})], ids=lambda value: value if isinstance(value, str) else '')
def test_a_token_for_another_audience_is_refused(pinned_endpoint, name, changes):
    service, key = pinned_endpoint
    answer = McpCaller(service, token(key, service, **changes)).modern('tools/list')
    assert answer.status == (200 if name == 'fits' else 401)
    assert name == 'fits' or 'error="invalid_token"' in answer.headers['www-authenticate']


@pytest.mark.parametrize('header', [{'alg': 'none'}, {'alg': 'HS256'}], ids=str)
def test_a_token_that_names_another_algorithm_is_refused(pinned_endpoint, header):
    service, key = pinned_endpoint
    assert McpCaller(service, token(key, service, header=header)).modern('tools/list').status == 401


def test_a_scope_that_is_missing_is_named(pinned_endpoint):
    service, key = pinned_endpoint
    caller = McpCaller(service, token(key, service, scope='tool:describe:files.read tool:invoke:files.stat'))
    answer = caller.call('files.read', HELLO)
    assert answer.status == 403 and 'scope="tool:invoke:files.read"' in answer.headers['www-authenticate']
    assert not caller.call('files.stat', HELLO).result.get('isError')


def test_the_api_key_of_another_mode_is_no_token(endpoint):
    assert McpCaller(endpoint, endpoint.secret('secret_key')).modern('tools/list').status == 401
