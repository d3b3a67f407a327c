"""A secret that stands in the source is known to everybody: whoever reads it makes tokens."""
import base64
import hashlib
import hmac
import json
import time

import pytest
from exploits import Replica, calls, request
from holes import shows
from mcp_messages import McpCaller

DEFAULT = 'my-test-key'  # as the gateway had it


def part(value):
    return base64.urlsafe_b64encode(value if isinstance(value, bytes) else json.dumps(value).encode()).rstrip(b'=').decode()


def forge(secret, claims):
    signed = part({'alg': 'HS256', 'typ': 'JWT'}) + '.' + part(claims)
    return signed + '.' + part(hmac.new(secret.encode(), signed.encode(), hashlib.sha256).digest())


def believes_its_default(method, path, headers, body, secret=DEFAULT):
    token = headers.get('Authorization', '').removeprefix('Bearer ')
    claims = json.loads(base64.urlsafe_b64decode(token.split('.')[1] + '=='))
    return (200, {}, claims['sub']) if hmac.compare_digest(forge(secret, claims), token) else (401, {}, '')


@shows('CVE-2026-53709')
def test_a_token_under_a_known_secret_is_nobodys(service):
    now = int(time.time())
    token = forge(DEFAULT, {'sub': 'admin', 'iss': 'node-b', 'aud': 'cluster-1', 'iat': now, 'nbf': now, 'exp': now + 60, 'jti': '0' * 26,
                            'scope': 'tool:invoke:files.*'})
    with Replica(believes_its_default) as replica:
        assert request(replica.port, 'GET', '/admin', {'Authorization': f'Bearer {token}'}) == (200, 'admin')
        assert request(replica.port, 'GET', '/admin', {'Authorization': f'Bearer {token}x'})[0] == 401

    before = calls(service)
    answer = McpCaller(service, token).call('files.read', {'path': 'notes/welcome.txt'})
    assert answer.status == 401 and 'error="invalid_token"' in answer.headers['www-authenticate']
    assert calls(service) == before
    assert McpCaller(service, service.mint()).call('files.read', {'path': 'notes/welcome.txt'}).result['content']


@shows('CVE-2026-53709')
@pytest.mark.parametrize('setting, secret, rule', [
    ('jwt_secret', DEFAULT, 'must not be a placeholder'), ('jwt_secret', DEFAULT + '-but-long-enough-to-pass-for-a-secret', 'must not be a placeholder'),
    ('jwt_secret', None, 'must be set'), ('jwt_secret', 'ab' * 32, 'must be random'), ('secret_key', 'changeme' * 5, 'must not be a placeholder')])
def test_a_service_does_not_start_with_a_secret_that_others_know(service, tmp_path, setting, secret, rule):
    other = type(service)(tmp_path, 'basic', service.authority, binary=service.binary, changes={setting: secret})
    done = other.run('serve', check=False)
    assert done.returncode == 2 and f'{setting}: {rule}' in done.stderr
    assert not secret or secret not in done.stderr
