"""Doors without a lock: debug tools that run what a stranger names, a second path that nobody guards, servers that ask nobody who he is."""
import json
import subprocess
import urllib.parse

import pytest
from exploits import Replica, calls, request, tool_call
from holes import shows
from mcp_messages import McpCaller
from own_tools import invoke
from scp import Refused

CALL = tool_call('sql.query', sql='SELECT 42')
DOORS = ('/mcp', '/mcp_message', '/mcp/message', '/message', '/messages', '/sse', '/stdio', '/api/mcp/connect', '/scp/v3', '/metrics', '/healthz', '/')


def runs_what_it_is_told(method, path, headers, body):
    """A proxy for a developer's browser: it starts the program that the query names and asks for no token."""
    query = urllib.parse.parse_qs(urllib.parse.urlsplit(path).query)
    subprocess.run([query['command'][0], *query.get('args', [])], check=True)
    return 200, {}, 'started'


@shows('CVE-2025-49596', 'CVE-2026-23744')
def test_no_path_runs_a_program(service, tmp_path):
    def question(file):
        return '?' + urllib.parse.urlencode({'transportType': 'stdio', 'command': '/usr/bin/touch', 'args': str(file)})

    with Replica(runs_what_it_is_told) as replica:
        assert request(replica.port, 'GET', '/stdio' + question(tmp_path / 'replica'))[0] == 200
    assert (tmp_path / 'replica').exists()

    for path in ('/stdio', '/sse', '/api/mcp/connect', '/'):
        assert request(service.port, 'GET', path + question(tmp_path / 'ours')) == (404, '{"error":{"status":404,"message":"no such path"}}')
        assert request(service.port, 'POST', path + question(tmp_path / 'ours'), body={'command': '/usr/bin/touch', 'args': [str(tmp_path / 'ours')]})[0] in (404, 413)
    assert not (tmp_path / 'ours').exists()


@shows('CVE-2026-23744', 'CVE-2026-49257')
def test_no_network_is_listened_to_without_tls(service, tmp_path):
    """What made these holes reach so far: they listened on every address. So would the service, with TLS alone."""
    for host in ('0.0.0.0', '::', '192.0.2.1'):
        other = type(service)(tmp_path / str(len(host)), 'simple', service.authority, binary=service.binary, changes={'server.host': host})
        done = other.run('serve', check=False)
        assert done.returncode == 2 and done.stderr.startswith('securetool.toml:server.host: must be this machine itself unless security.tls_enabled')
    assert type(service)(tmp_path / 'bare', 'simple', service.authority, binary=service.binary, changes={'server.host': None}).run('config', 'check').returncode == 0


def asks_nobody(method, path, headers, body):
    return 200, {'Content-Type': 'application/json'}, json.dumps({'jsonrpc': '2.0', 'id': json.loads(body)['id'], 'result': {'rows': [[42]]}})


def locks_one_door(method, path, headers, body):
    """Two paths to the same tools: one asks for a token, the other for an address of a list, and the list is empty, which it takes for everybody."""
    allowed_addresses = []
    if path == '/mcp' and 'Authorization' not in headers:
        return 401, {}, ''
    if path == '/mcp_message' and allowed_addresses and '127.0.0.1' not in allowed_addresses:
        return 403, {}, ''
    return asks_nobody(method, path, headers, body)


def assert_no_door_opens(service):
    before = calls(service)
    for path in DOORS:
        # A stranger may not even send a body; without one he is told what is missing, or that nothing is there.
        status, text = request(service.port, 'POST', path, {'Content-Type': 'application/json'}, CALL)
        assert status == 413 and '42' not in text, path
        assert request(service.port, 'POST', path, {'Content-Type': 'application/json'})[0] in (401, 404, 405, 426), path
    assert calls(service) == before


@shows('CVE-2026-49257', 'CVE-2026-32211')
def test_a_stranger_calls_nothing(service, caller):
    with Replica(asks_nobody) as replica:
        assert '42' in request(replica.port, 'POST', '/mcp', {'Content-Type': 'application/json'}, CALL)[1]

    assert_no_door_opens(service)
    answer = McpCaller(service, None).send(None, method='GET')
    assert answer.status == 401 and answer.last['error']['message'] == 'a bearer token is missing'
    assert McpCaller(service, 'wrong').call('sql.query', {'sql': 'SELECT 42'}).last['error']['message'] == 'the credential was not accepted'
    assert '42' in caller.call('sql.query', {'sql': 'SELECT 42'}).result['content'][0]['text']


@shows('CVE-2026-33032')
def test_a_second_door_is_locked_too(service):
    with Replica(locks_one_door) as replica:
        assert request(replica.port, 'POST', '/mcp', body=CALL)[0] == 401
        status, text = request(replica.port, 'POST', '/mcp_message', body=CALL)
        assert status == 200 and '42' in text

    assert_no_door_opens(service)


@shows('CVE-2026-33032')
@pytest.mark.parametrize('scopes', ['', None])
def test_an_empty_list_is_nobody(make_service, scopes):
    """Without a word on scopes a caller with the right key can call nothing."""
    service = make_service(mcp__enabled=True, security__api_key_scopes=scopes)
    refusal = invoke(service, 'sql.query', sql='SELECT 42')
    assert isinstance(refusal, Refused) and refusal.code == 'E_TOOL'
    answer = McpCaller(service, service.secret('api_key'))
    assert answer.modern('tools/list').result['tools'] == []
    assert answer.call('sql.query', {'sql': 'SELECT 42'}).error['data']['code'] == 'E_TOOL'
