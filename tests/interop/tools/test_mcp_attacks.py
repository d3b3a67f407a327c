"""Attacks on the MCP endpoint, each beside the request that it is a change of. docs/tools/mcp.md, THREAT-MODEL.md."""
import base64
import http.client
import json
import socket
import time

import pytest

from mcp_messages import MODERN, PREFIX, SESSIONS, McpCaller
from test_mcp_http import approve, write

LIST = {'jsonrpc': '2.0', 'id': 1, 'method': 'tools/list', 'params': {'_meta': {PREFIX + 'protocolVersion': MODERN, PREFIX + 'clientCapabilities': {}}}}
FIELDS = {'MCP-Protocol-Version': MODERN, 'Mcp-Method': 'tools/list'}
HELLO = {'path': 'notes/welcome.txt'}


def same_origin(service):
    return f'http://127.0.0.1:{service.port}'


@pytest.mark.parametrize('headers, status', [
    ({}, 200), ({'Origin': 'https://evil.example'}, 403), ({'Origin': 'null'}, 403), ({'Origin': 'http://localhost:1'}, 403),
    ({'Host': 'evil.example'}, 403), ({'Host': 'localhost.evil.example'}, 403), ({'Host': 'evil.example', 'Origin': 'http://evil.example'}, 403),
    ({'Host': 'localhost'}, 200), ({'Host': 'localhost', 'Origin': 'http://localhost'}, 200)], ids=str)
def test_a_page_that_points_its_name_here_calls_nothing(caller, headers, status):
    assert caller.modern('tools/list', headers=headers).status == status


def test_a_page_of_this_host_is_let_in(mcp_service, caller):
    assert caller.modern('tools/list', headers={'Origin': same_origin(mcp_service)}).status == 200


@pytest.mark.parametrize('authorization, status', [
    (None, 401), ('Bearer', 400), ('Bearer ', 400), ('Basic YTpi', 400), ('Bearer wrong', 401), ('Bearer a.b.c', 401), ('Bearer a b', 400)], ids=str)
def test_a_request_without_its_token_is_refused(caller, authorization, status):
    answer = caller.modern('tools/list', headers={'Authorization': authorization})
    # Without the field not even the body is taken.
    assert answer.status == status or (authorization is None and answer.status == 413)
    assert 'tools' not in answer.body.decode()


def test_a_request_without_a_body_and_a_token_is_told_how_to_get_one(caller):
    answer = caller.send(None, {'Authorization': None}, 'GET')
    assert answer.status == 401 and answer.headers['www-authenticate'].startswith('Bearer ')


def test_a_token_of_another_service_is_refused(mcp_service, services, caller):
    foreign = services['basic'].mint()
    assert McpCaller(mcp_service, foreign).modern('tools/list').status == 401
    assert McpCaller(mcp_service, services['encrypted'].secret('api_key')).modern('tools/list').status == 401
    assert McpCaller(mcp_service, mcp_service.mint()).modern('tools/list').status == 200
    assert caller.modern('tools/list').status == 200


def test_a_session_id_is_no_credential(mcp_service, caller):
    caller.open()
    field = {'Mcp-Session-Id': caller.session, 'MCP-Protocol-Version': SESSIONS}
    ping = {'jsonrpc': '2.0', 'id': 1, 'method': 'ping'}
    assert caller.send(ping, field).status == 200
    assert caller.send(ping, {**field, 'Authorization': 'Bearer wrong'}).status == 401
    assert caller.send(None, {**field, 'Authorization': None}, 'GET').status == 401


def test_a_session_of_another_principal_does_not_exist(mcp_service, caller):
    caller.open()
    other = McpCaller(mcp_service, mcp_service.mint('mallory'))
    other.session, other.version = caller.session, caller.version
    assert other.in_session('ping').status == 404
    assert other.send(None, {'Mcp-Session-Id': caller.session, 'MCP-Protocol-Version': SESSIONS}, 'GET').status == 404
    assert other.send(None, {'Mcp-Session-Id': caller.session, 'MCP-Protocol-Version': SESSIONS}, 'DELETE').status == 404
    assert caller.in_session('ping').status == 200


@pytest.mark.parametrize('changes', [
    {'MCP-Protocol-Version': None}, {'MCP-Protocol-Version': SESSIONS}, {'Mcp-Method': None}, {'Mcp-Method': 'tools/call'}, {'Mcp-Method': 'TOOLS/LIST'}], ids=str)
def test_a_head_that_disagrees_with_its_body_is_refused(caller, changes):
    assert caller.send(LIST, FIELDS).status == 200
    answer = caller.send(LIST, {**FIELDS, **changes})
    assert answer.status == 400 and answer.error['code'] == -32020 and answer.last['id'] == 1


@pytest.mark.parametrize('name', [None, 'files.write', 'files.read ', '=?base64?!!?=', base64.b64encode(b'files.read').decode()], ids=str)
def test_a_head_that_names_another_tool_is_refused(caller, name):
    encoded = '=?base64?' + base64.b64encode(b'files.read').decode() + '?='
    assert caller.call('files.read', HELLO).status == 200
    assert caller.call('files.read', HELLO, headers={'Mcp-Name': encoded}).status == 200
    answer = caller.call('files.read', HELLO, headers={'Mcp-Name': name})
    if name == 'files.read ':  # white space around a field's value is none of it
        assert answer.status == 200
    else:
        assert answer.status == 400 and answer.error['code'] == -32020


def test_a_batch_is_refused(caller):
    answer = caller.send([LIST, LIST], FIELDS)
    assert answer.status == 400 and answer.error['code'] == -32600


@pytest.mark.parametrize('version', ['2024-11-05', '2099-01-01', 'v1', 'x' * 200])
def test_an_unknown_revision_is_refused_with_the_list(caller, version):
    body = {**LIST, 'params': {'_meta': {PREFIX + 'protocolVersion': version, PREFIX + 'clientCapabilities': {}}}}
    answer = caller.send(body, {**FIELDS, 'MCP-Protocol-Version': version})
    assert answer.status == 400 and answer.error['code'] == -32022
    assert MODERN in answer.error['data']['supported'] and answer.error['data']['requested'] == version


@pytest.mark.parametrize('meta', [None, {}, {PREFIX + 'protocolVersion': MODERN}, {PREFIX + 'clientCapabilities': {}}, 7], ids=str)
def test_a_request_that_does_not_say_who_asks_is_refused(caller, meta):
    answer = caller.send({**LIST, 'params': {} if meta is None else {'_meta': meta}}, FIELDS)
    assert answer.status == 400 and answer.error['code'] == -32602


@pytest.mark.parametrize('body, code', [
    ('{"jsonrpc":"2.0","id":1,"method":"tools/list"', -32700), ('{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/list"}', -32700),
    (b'\xff\xfe', -32700), ('7', -32600), ('{"id":1,"method":"tools/list"}', -32600), ('{"jsonrpc":"2.0","id":null,"method":"tools/list"}', -32600),
    ('{"jsonrpc":"2.0","id":1,"method":"tools/list","params":' + '[' * 200 + ']' * 200 + '}', -32700)], ids=lambda value: str(value)[:40])
def test_a_body_that_is_no_request_is_refused(caller, body, code):
    answer = caller.send(body, FIELDS)
    assert answer.status == 400 and answer.error['code'] == code


def test_a_body_over_the_limit_is_refused_before_it_is_read(mcp_service, caller):
    large = {**LIST, 'params': {**LIST['params'], 'x': 'y' * (1 << 19)}}
    assert caller.send(large, FIELDS).status == 200
    connection = caller.connect()
    connection.putrequest('POST', '/mcp')
    for name, value in {**FIELDS, 'Authorization': f'Bearer {caller.token}', 'Content-Type': 'application/json', 'Content-Length': str(1 << 30)}.items():
        connection.putheader(name, value)
    connection.endheaders()
    assert connection.getresponse().status == 413
    connection.close()


def test_a_stranger_gets_no_body_in(mcp_service):
    connection = http.client.HTTPConnection('127.0.0.1', mcp_service.port, timeout=30)
    connection.putrequest('POST', '/mcp')
    connection.putheader('Content-Length', '100')
    connection.endheaders()
    assert connection.getresponse().status == 413
    connection.close()


@pytest.mark.parametrize('headers, status', [({'Content-Type': 'text/plain'}, 415), ({'Content-Type': None}, 415), ({'Accept': 'text/html'}, 406),
                                             ({'Accept': 'application/json'}, 200), ({'Accept': '*/*'}, 200)], ids=str)
def test_media_types(caller, headers, status):
    assert caller.send(LIST, {**FIELDS, **headers}).status == status


@pytest.mark.parametrize('method', ['GET', 'DELETE', 'PUT', 'OPTIONS'])
def test_other_methods(caller, method):
    assert caller.send(None, {'MCP-Protocol-Version': MODERN}, method).status == 405


def asked_state(fixtures, tool='test_input_required_result_request_state'):
    return fixtures.call(tool, capabilities={'elicitation': {}}).result['requestState']


CONFIRM = {'confirm': {'action': 'accept', 'content': {'ok': True}}}


def with_state(fixtures, state, tool='test_input_required_result_request_state', arguments=None):
    return fixtures.call(tool, arguments, capabilities={'elicitation': {}}, requestState=state, inputResponses=CONFIRM)


def test_a_state_that_was_touched_is_refused(fixtures):
    state = asked_state(fixtures)
    for broken in [state + 'A', state[:-4], 'A' + state[1:], state[:-1] + ('A' if state[-1] != 'A' else 'B'), '', 'x', 'y' * 100_000]:
        answer = with_state(fixtures, broken)
        done = answer.last.get('result', {}).get('content', [{}])[0].get('text')
        assert done != 'state-ok' and (broken == '' or answer.error['code'] == -32602), broken[:20]
    assert with_state(fixtures, state).result['content'][0]['text'] == 'state-ok'


def test_a_state_of_another_call_is_refused(fixture_service, fixtures):
    state = asked_state(fixtures)
    assert with_state(fixtures, state, 'test_input_required_result_tampered_state').error['code'] == -32602
    assert with_state(fixtures, state, arguments={'other': 1}).error['code'] == -32602
    mallory = McpCaller(fixture_service, fixture_service.mint('mallory', ['tool:invoke:fixture.*']))
    assert with_state(mallory, state).error['code'] == -32602
    assert with_state(fixtures, state).result['content'][0]['text'] == 'state-ok'


def test_consent_for_one_file_is_none_for_another(fixtures):
    asked = write(fixtures).result
    other = fixtures.call('files.write', {'path': 'notes/other.txt', 'content': 'x'}, capabilities={'elicitation': {}},
                          requestState=asked['requestState'], inputResponses=approve(True))
    assert other.error['code'] == -32602


def test_a_tool_without_scope_is_neither_listed_nor_called(mcp_service):
    reader = McpCaller(mcp_service, mcp_service.mint('reader', ['tool:invoke:files.read']))
    assert [tool['name'] for tool in reader.modern('tools/list').result['tools']] == ['files.read']
    assert reader.call('files.read', HELLO).result['content']
    hidden, free = reader.call('files.stat', HELLO), reader.call('files.nothing', HELLO)
    assert hidden.error == free.error and hidden.error['code'] == -32602


def test_a_tool_that_may_be_seen_and_not_called_says_which_scope_is_missing(mcp_service):
    watcher = McpCaller(mcp_service, mcp_service.mint('watcher', ['tool:describe:files.read']))
    answer = watcher.call('files.read', HELLO)
    assert answer.status == 403 and answer.error['data']['code'] == 'E_SCOPE'
    assert 'error="insufficient_scope", scope="tool:invoke:files.read"' in answer.headers['www-authenticate']


def test_a_request_that_never_ends_is_ended(make_service):
    """The connection of one who sends a head and no body gives its place up; another's call goes on meanwhile."""
    service = make_service('simple', mcp__enabled=True, limits__unauthenticated=1, limits__connections_per_address=64)
    slow = socket.create_connection(('127.0.0.1', service.port), timeout=60)
    slow.sendall(f'POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {service.secret("api_key")}\r\nContent-Length: 50\r\n\r\n{{'.encode())
    assert McpCaller(service, service.secret('api_key')).modern('tools/list').status == 200
    # A newcomer has taken the place of one whose token nobody has read yet.
    try:
        assert slow.recv(1024) == b''
    except ConnectionResetError:
        pass
    slow.close()


def test_a_principal_has_as_many_streams_as_connections(make_service):
    service = make_service('simple', mcp__enabled=True, limits__connections_per_principal=2)
    caller = McpCaller(service, service.secret('api_key'))
    body = {'jsonrpc': '2.0', 'id': 1, 'method': 'subscriptions/listen', 'params': {
        'notifications': {'toolsListChanged': True}, '_meta': LIST['params']['_meta']}}
    fields = {**FIELDS, 'Mcp-Method': 'subscriptions/listen', 'Authorization': f'Bearer {caller.token}', 'Content-Type': 'application/json'}
    open_ones = []
    for _ in range(2):
        connection = caller.connect()
        connection.request('POST', '/mcp', body=json.dumps(body), headers=fields)
        answer = connection.getresponse()
        assert answer.status == 200 and answer.readline() == b'event: message\n'
        open_ones.append((answer, connection))
    assert caller.send(body, fields).status == 429
    for part in open_ones.pop():
        part.close()
    deadline = time.monotonic() + 30
    while True:
        connection = caller.connect()
        connection.request('POST', '/mcp', body=json.dumps(body), headers=fields)
        answer = connection.getresponse()
        open_ones.append((answer, connection))
        if answer.status == 200:
            break
        assert answer.status == 429 and time.monotonic() < deadline
    for part in [part for pair in open_ones for part in pair]:
        part.close()
