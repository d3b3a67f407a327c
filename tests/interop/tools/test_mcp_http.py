"""MCP clients on the service's port, in both eras: the same tools, the same gate, the same trail. docs/tools/mcp.md."""
import json
import os
import signal
import time

import pytest

from mcp_messages import MODERN, PREFIX, SESSIONS, EventStream, McpCaller, listening
from test_modes import run, session
from tool_clients import client_of


def records_of(service, tool=None):
    """What ended calls, oldest first, of one tool or of all."""
    lines = [json.loads(line) for file in sorted(service.audit.glob('audit-*.jsonl')) for line in file.read_text().splitlines()]
    return [line for line in lines if line['kind'] == 'seal' and tool in (None, line['tool'])]


def test_a_client_without_a_session_finds_and_calls_a_tool(caller):
    found = caller.modern('server/discover')
    assert found.status == 200 and MODERN in found.result['supportedVersions'] and found.result['resultType'] == 'complete'
    assert found.result['capabilities']['tools'] == {'listChanged': True}
    listed = caller.modern('tools/list').result
    names = [tool['name'] for tool in listed['tools']]
    assert names == sorted(names) and 'files.read' in names and listed['cacheScope'] == 'private'
    result = caller.call('files.read', {'path': 'notes/welcome.txt'}).result
    assert result['resultType'] == 'complete' and not result.get('isError')
    assert result['content'][0]['text'] == 'Hello from the file tool.\n'


def test_a_client_with_a_session_finds_and_calls_a_tool(caller):
    opened = caller.open()
    assert opened.result['protocolVersion'] == SESSIONS and opened.result['serverInfo']['name'] == 'securetool'
    assert caller.in_session('ping').result == {}
    assert 'files.read' in [tool['name'] for tool in caller.in_session('tools/list').result['tools']]
    result = caller.in_session('tools/call', {'name': 'files.read', 'arguments': {'path': 'notes/welcome.txt'}}).result
    assert 'resultType' not in result and result['content'][0]['text'] == 'Hello from the file tool.\n'
    closed = caller.send(None, {'Mcp-Session-Id': caller.session, 'MCP-Protocol-Version': SESSIONS}, 'DELETE')
    assert closed.status == 204
    assert caller.in_session('ping').status == 404


@pytest.mark.parametrize('asked, answered', [('2025-03-26', '2025-03-26'), ('2025-06-18', '2025-06-18'), ('2025-11-25', '2025-11-25'),
                                             ('2024-11-05', '2025-11-25'), ('2099-01-01', '2025-11-25')])
def test_a_session_has_the_revision_that_both_know(caller, asked, answered):
    assert caller.open(version=asked).result['protocolVersion'] == answered


def test_a_client_of_the_first_revision_names_none(caller):
    answer = caller.send({'jsonrpc': '2.0', 'id': 1, 'method': 'tools/list'})
    assert 'files.read' in [tool['name'] for tool in answer.result['tools']]


def test_a_call_leaves_the_line_that_a_native_one_leaves(mcp_service, caller):
    async def native(client):
        return await client.invoke_tool('files.stat', path='notes/welcome.txt')

    before = len(records_of(mcp_service, 'files.stat'))
    run(session(client_of(mcp_service), native))
    assert not caller.call('files.stat', {'path': 'notes/welcome.txt'}).result.get('isError')
    native_line, mcp_line = records_of(mcp_service, 'files.stat')[before:]
    assert mcp_line['sid'].startswith('mcp:') and not native_line['sid'].startswith('mcp:')
    assert set(native_line) == set(mcp_line)
    for member in ('args_mac', 'principal', 'consent', 'guard', 'decision', 'origin', 'peer', 'result'):
        assert native_line[member] == mcp_line[member], member


def test_an_argument_that_breaks_the_schema_is_a_result_that_a_model_can_read(caller):
    refused = caller.call('files.list', {'path': 7}).result
    assert refused['isError'] and refused['content'][0]['text'].startswith('E_SHAPE: args.path')


def test_an_error_of_the_tool_is_a_result(caller):
    result = caller.call('files.read', {'path': 'notes/missing.txt'}).result
    assert result['isError'] and result['content'][0]['text']


def test_progress_comes_before_the_answer(fixtures):
    answer = fixtures.call('test_tool_with_progress', meta={'progressToken': 'p'})
    steps = [message['params'] for message in answer.messages[:-1]]
    assert [step['progress'] for step in steps] == [0, 50, 100] and {step['progressToken'] for step in steps} == {'p'}
    assert answer.result['content'][0]['text']


def test_notes_come_to_those_who_ask_for_them(fixtures):
    assert [message['params']['level'] for message in fixtures.call('test_tool_with_logging', meta={PREFIX + 'logLevel': 'info'}).messages[:-1]] == ['info'] * 3
    assert len(fixtures.call('test_tool_with_logging', meta={PREFIX + 'logLevel': 'error'}).messages) == 1
    assert len(fixtures.call('test_tool_with_logging').messages) == 1


def test_a_tool_asks_and_is_answered_in_the_next_request(fixtures):
    can = {'elicitation': {}}
    first = fixtures.call('test_input_required_result_request_state', capabilities=can).result
    assert first['resultType'] == 'input_required' and 'round-1' not in first['requestState']
    second = fixtures.call('test_input_required_result_request_state', capabilities=can, requestState=first['requestState'],
                           inputResponses={'confirm': {'action': 'accept', 'content': {'ok': True}}})
    assert second.result['content'][0]['text'] == 'state-ok'


def test_what_a_client_cannot_be_asked_is_said(fixtures):
    answer = fixtures.call('test_missing_capability')
    assert answer.status == 400 and answer.error['code'] == -32021 and answer.error['data']['requiredCapabilities'] == {'sampling': {}}


def test_resources_and_prompts_of_the_program(fixtures):
    assert fixtures.modern('resources/read', {'uri': 'test://static-text'}).result['contents'][0]['text']
    missing = fixtures.modern('resources/read', {'uri': 'test://nothing'})
    assert missing.error['code'] == -32602 and missing.error['data'] == {'uri': 'test://nothing'}
    assert fixtures.modern('prompts/get', {'name': 'test_simple_prompt'}).result['messages']


def test_resources_and_prompts_need_their_scopes(fixture_service):
    poor = McpCaller(fixture_service, fixture_service.mint('poor', ['tool:invoke:fixture.test_simple_text']))
    for method, scope in [('resources/list', 'mcp:resources'), ('prompts/list', 'mcp:prompts')]:
        answer = poor.modern(method)
        assert answer.status == 403 and answer.error['data']['code'] == 'E_SCOPE'
        assert f'error="insufficient_scope", scope="{scope}"' in answer.headers['www-authenticate']
    assert poor.call('test_simple_text').result['content']


def approve(answer):
    return {'securetool.consent': {'action': 'accept', 'content': {'approve': answer}}}


def write(fixtures, **options):
    return fixtures.call('files.write', {'path': 'notes/new.txt', 'content': 'x'}, capabilities={'elicitation': {}}, **options)


def test_the_clients_user_gives_consent_once_for_one_call(fixtures):
    asked = write(fixtures).result
    assert 'files.write' in asked['inputRequests']['securetool.consent']['params']['message']
    done = write(fixtures, requestState=asked['requestState'], inputResponses=approve(True)).result
    assert done['resultType'] == 'complete' and not done.get('isError'), done
    again = write(fixtures, requestState=asked['requestState'], inputResponses=approve(True))
    assert again.error['code'] == -32602 and 'requestState' in again.error['message']


@pytest.mark.parametrize('response', [{'action': 'decline'}, {'action': 'cancel'}, {'action': 'accept', 'content': {'approve': False}},
                                      {'action': 'accept', 'content': {'approve': 'true'}}, {'action': 'accept'}, {}], ids=json.dumps)
def test_anything_but_a_clear_yes_is_no(fixtures, response):
    asked = write(fixtures).result
    denied = write(fixtures, requestState=asked['requestState'], inputResponses={'securetool.consent': response}).result
    assert denied['isError'] and 'E_CONSENT' in denied['content'][0]['text']


def test_consent_without_the_question_is_none(fixtures):
    assert write(fixtures, inputResponses=approve(True)).result['resultType'] == 'input_required'


def test_a_client_that_cannot_ask_its_user_is_refused(fixtures):
    refused = fixtures.call('files.write', {'path': 'notes/new.txt', 'content': 'x'}).result
    assert refused['isError'] and 'E_CONSENT' in refused['content'][0]['text']


def test_a_call_that_its_client_gives_up_ends(mcp_service, caller):
    body = {'jsonrpc': '2.0', 'id': 1, 'method': 'tools/call', 'params': {
        'name': 'sql.query', 'arguments': {'sql': 'SELECT count(*) FROM range(100000000000) a, range(1000) b'},
        '_meta': {PREFIX + 'protocolVersion': MODERN, PREFIX + 'clientCapabilities': {}}}}
    connection = caller.connect()
    connection.request('POST', '/mcp', body=json.dumps(body), headers={
        'Content-Type': 'application/json', 'Accept': 'application/json, text/event-stream', 'Authorization': f'Bearer {caller.token}',
        'MCP-Protocol-Version': MODERN, 'Mcp-Method': 'tools/call', 'Mcp-Name': 'sql.query'})
    answer = connection.getresponse()  # a stream, since the answer does not come soon
    assert answer.getheader('Content-Type') == 'text/event-stream'
    answer.close()
    connection.close()
    deadline = time.monotonic() + 60
    while not any(line['decision'].get('code') == 'E_CANCELLED' for line in records_of(mcp_service, 'sql.query')):
        assert time.monotonic() < deadline, 'the call was not cancelled'
        time.sleep(0.1)


def test_it_is_off_unless_it_is_set(services):
    service = services['simple']
    assert McpCaller(service, service.secret('api_key')).modern('server/discover').status in (404, 413)


def test_sessions_can_be_turned_off(make_service):
    service = make_service('simple', mcp__enabled=True, mcp__minimum_version=MODERN)
    caller = McpCaller(service, service.secret('api_key'))
    assert caller.modern('server/discover').result['supportedVersions'] == [MODERN]
    opened = caller.send({'jsonrpc': '2.0', 'id': 1, 'method': 'initialize', 'params': {
        'protocolVersion': SESSIONS, 'capabilities': {}, 'clientInfo': {'name': 'raw', 'version': '1'}}}, {'MCP-Protocol-Version': SESSIONS})
    assert opened.status == 400 and opened.error['code'] == -32022 and opened.error['data']['supported'] == [MODERN]
    assert caller.send(None, method='GET').status == 405


def test_basic_mode_takes_client_tokens(make_service):
    service = make_service('basic', mcp__enabled=True)
    assert McpCaller(service, service.mint()).call('files.read', {'path': 'notes/welcome.txt'}).result['content']
    assert McpCaller(service, service.secret('jwt_secret')).modern('tools/list').status == 401


YES = {'action': 'accept', 'content': {'response': 'fine'}}


def test_a_tool_asks_a_client_that_waits_and_takes_the_answer_of_it_alone(fixture_service, fixtures):
    fixtures.open({'elicitation': {}})
    stream = EventStream(fixtures, {'method': 'tools/call', 'params': {'name': 'test_elicitation', 'arguments': {'message': 'How are you?'}}})
    question = stream.next()
    assert question['method'] == 'elicitation/create' and question['params']['message'] == 'How are you?'
    reply = {'jsonrpc': '2.0', 'id': question['id'], 'result': YES}
    mallory = McpCaller(fixture_service, fixture_service.mint('mallory', ['tool:invoke:fixture.*']))
    fields = {'Mcp-Session-Id': fixtures.session, 'MCP-Protocol-Version': SESSIONS}
    assert mallory.send(reply, fields).status == 404
    assert fixtures.send({**reply, 'id': 999}, fields).status == 400
    assert fixtures.send(reply, fields).status == 202
    assert 'fine' in stream.next()['result']['content'][0]['text'] and stream.next() is None
    assert fixtures.send(reply, fields).status == 400
    stream.close()


def test_a_client_that_refuses_to_be_asked_is_told_so(fixtures):
    fixtures.open({'elicitation': {}})
    stream = EventStream(fixtures, {'method': 'tools/call', 'params': {'name': 'test_elicitation', 'arguments': {'message': 'How are you?'}}})
    error = {'jsonrpc': '2.0', 'id': stream.next()['id'], 'error': {'code': -1, 'message': 'no'}}
    assert fixtures.send(error, {'Mcp-Session-Id': fixtures.session, 'MCP-Protocol-Version': SESSIONS}).status == 202
    assert stream.next()['error']['data']['code'] == 'E_CONSENT'
    stream.close()


def test_a_session_without_the_capability_is_not_asked(fixtures):
    fixtures.open()
    result = fixtures.in_session('tools/call', {'name': 'test_elicitation', 'arguments': {'message': 'How are you?'}}).result
    assert result['isError'] and 'E_CONSENT' in result['content'][0]['text']


@pytest.mark.parametrize('approve_it', [True, False])
def test_the_user_of_a_client_that_waits_gives_consent(fixtures, approve_it):
    fixtures.open({'elicitation': {}})
    stream = EventStream(fixtures, {'method': 'tools/call', 'params': {'name': 'files.write', 'arguments': {'path': 'notes/waits.txt', 'content': 'x'}}})
    question = stream.next()
    assert 'files.write' in question['params']['message']
    reply = {'jsonrpc': '2.0', 'id': question['id'], 'result': {'action': 'accept', 'content': {'approve': approve_it}}}
    assert fixtures.send(reply, {'Mcp-Session-Id': fixtures.session, 'MCP-Protocol-Version': SESSIONS}).status == 202
    assert bool(stream.next()['result'].get('isError')) != approve_it
    stream.close()


def test_a_session_hears_of_changes_on_a_stream_of_its_own(fixtures):
    fixtures.open()
    assert fixtures.in_session('resources/subscribe', {'uri': 'test://watched-resource'}).result == {}
    stream = EventStream(fixtures, method='GET')
    assert stream.answer.status == 200
    fixtures.in_session('tools/call', {'name': 'test_trigger_tool_change', 'arguments': {}})
    fixtures.in_session('tools/call', {'name': 'test_trigger_prompt_change', 'arguments': {}})
    assert [stream.next()['method'] for _ in range(2)] == ['notifications/tools/list_changed', 'notifications/prompts/list_changed']
    stream.close()


def test_a_session_cancels_a_call_by_its_id(caller):
    caller.open()
    stream = EventStream(caller, {'id': 'long', 'method': 'tools/call', 'params': {
        'name': 'sql.query', 'arguments': {'sql': 'SELECT count(*) FROM range(100000000000) a, range(1000) b'}}})
    assert caller.tell('notifications/cancelled', {'requestId': 'other'}).status == 202
    assert caller.tell('notifications/cancelled', {'requestId': 'long'}).status == 202
    ended = stream.next()
    assert ended['id'] == 'long' and ended['error']['data']['code'] == 'E_CANCELLED'
    stream.close()


@pytest.mark.parametrize('mode', ['simple', 'basic'])
def test_those_who_listen_are_told_that_the_service_stops(make_service, mode):
    service = make_service(mode, mcp__enabled=True)
    stream = listening(McpCaller(service, service.mint()), toolsListChanged=True, promptsListChanged=True)
    first = stream.next()
    assert first['method'] == 'notifications/subscriptions/acknowledged'
    # The service has no prompts, so it says that it will not tell of them.
    assert first['params'] == {'_meta': {PREFIX + 'subscriptionId': 'listen'}, 'notifications': {'toolsListChanged': True}}
    service.stop()
    last = stream.next()
    assert last['id'] == 'listen' and last['result']['_meta'][PREFIX + 'subscriptionId'] == 'listen' and stream.next() is None
    stream.close()


def test_a_listener_hears_what_it_asked_for_and_no_more(fixtures):
    tools, prompts = listening(fixtures, toolsListChanged=True), listening(fixtures, promptsListChanged=True)
    assert tools.next() and prompts.next()
    fixtures.call('test_trigger_prompt_change')
    fixtures.call('test_trigger_tool_change')
    assert tools.next()['method'] == 'notifications/tools/list_changed'
    assert prompts.next()['method'] == 'notifications/prompts/list_changed'
    tools.close()
    prompts.close()


def test_a_listener_whose_credential_is_taken_back_is_ended(make_service, tmp_path):
    denied = tmp_path / 'denied'
    denied.write_text('')
    service = make_service('simple', mcp__enabled=True, security__deny_file=str(denied))
    caller = McpCaller(service, service.mint('mallory'))
    stream = listening(caller, toolsListChanged=True)
    assert stream.next()['method'] == 'notifications/subscriptions/acknowledged'
    denied.write_text('sub mallory\n')
    os.kill(service.process.pid, signal.SIGHUP)
    assert stream.next()['result']['resultType'] == 'complete' and stream.next() is None
    assert caller.modern('tools/list').status == 401
    stream.close()
