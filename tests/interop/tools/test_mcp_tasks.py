"""Calls that outlast their request: MCP's Tasks extension, over the wire. docs/tools/mcp.md, "Calls that take long"."""
import contextlib
import json
import os
import signal
import time

import pytest
from bridged import audit_lines
from mcp_messages import MODERN, PREFIX, EventStream, McpCaller, listening
from mcp_programs import INSPECTOR, NODE
from mcp_programs import run as run_program
from test_idempotency import Place, tools_of
from test_mcp_http import records_of
from test_workflows import note, notes, once, settings, workflow

EXTENSION = 'io.modelcontextprotocol/tasks'
KNOWS = {'extensions': {EXTENSION: {}}}
ASKS = {**KNOWS, 'elicitation': {}}
OVER = ('completed', 'failed', 'cancelled')
NO_TASK = 'params.taskId: there is no such task'


def get(caller, task, **options):
    return caller.modern('tasks/get', {'taskId': task}, **{'capabilities': KNOWS, **options})


def update(caller, task, responses):
    return caller.modern('tasks/update', {'taskId': task, 'inputResponses': responses}, capabilities=KNOWS)


def cancel(caller, task):
    return caller.modern('tasks/cancel', {'taskId': task}, capabilities=KNOWS)


def until(caller, task, *states, capabilities=KNOWS):
    """The task when it is in one of the states, or over."""
    deadline = time.monotonic() + 60
    while (seen := get(caller, task, capabilities=capabilities).result)['status'] not in (*states, *OVER):
        assert time.monotonic() < deadline, seen
        time.sleep(0.05)
    return seen


def begun(caller, tool, arguments=None, capabilities=KNOWS, **options):
    """The id of a call that became a task."""
    handle = caller.call(tool, arguments or {}, capabilities=capabilities, **options).result
    assert handle['resultType'] == 'task', handle
    return handle['taskId']


def wait_for(what, seconds=60):
    deadline = time.monotonic() + seconds
    while not (seen := what()):
        assert time.monotonic() < deadline, 'it did not come'
        time.sleep(0.05)
    return seen


def test_a_slow_call_is_a_task_for_who_knows_tasks_and_a_call_for_others(fixtures):
    handle = fixtures.call('slow_compute', {'seconds': 1}, capabilities=KNOWS).result
    assert handle['resultType'] == 'task' and handle['status'] == 'working' and not {'result', 'error', 'inputRequests'} & set(handle)
    assert handle['ttlMs'] == 7_200_000 and handle['pollIntervalMs'] > 0
    plain = fixtures.call('slow_compute', {'seconds': 1}).result
    assert plain['resultType'] == 'complete' and 'taskId' not in plain
    done = until(fixtures, handle['taskId'])
    assert done['status'] == 'completed' and done['resultType'] == 'complete'
    assert done['result']['content'] == plain['content'] and done['lastUpdatedAt'] > done['createdAt'] == handle['createdAt']
    assert get(fixtures, handle['taskId']).result == done
    quick = fixtures.call('greet', {'name': 'Ada'}, capabilities=KNOWS).result
    assert quick['resultType'] == 'complete' and quick['content'][0]['text'] == 'Hello, Ada!'


def test_the_extension_is_offered_to_clients_without_sessions_alone(fixtures):
    assert fixtures.modern('server/discover').result['capabilities']['extensions'] == {EXTENSION: {}}
    opened = fixtures.open(KNOWS).result['capabilities']
    assert 'extensions' not in opened and 'tasks' not in opened
    assert 'content' in fixtures.in_session('tools/call', {'name': 'slow_compute', 'arguments': {'seconds': 1}, 'task': {'ttl': 60_000}}).result
    for method in ('tasks/get', 'tasks/list', 'tasks/result', 'tasks/cancel'):
        assert fixtures.in_session(method, {'taskId': 'x'}).error['code'] == -32601
    for method in ('tasks/list', 'tasks/result'):
        answer = fixtures.modern(method, {'taskId': 'x'}, capabilities=KNOWS)
        assert (answer.status, answer.error['code']) == (404, -32601)


@pytest.mark.parametrize('method', ['tasks/get', 'tasks/update', 'tasks/cancel'])
def test_what_is_wrong_with_a_request_is_said(fixtures, method):
    def said(params, capabilities=KNOWS, **options):
        answer = fixtures.modern(method, params, capabilities=capabilities, **options)
        return answer.status, answer.error['code'], answer.error['message']

    full = {'inputResponses': {}} if method == 'tasks/update' else {}
    asked = {'requiredCapabilities': {'extensions': {EXTENSION: {}}}}
    lacking = fixtures.modern(method, {'taskId': 'x', **full})
    assert (lacking.status, lacking.error['code'], lacking.error['data']) == (400, -32021, asked) and EXTENSION in lacking.error['message']
    for wrong in ({'extensions': {EXTENSION: True}}, {'extensions': []}, {'extensions': {'tasks': {}}}, {'tasks': {}}):
        assert said({'taskId': 'x', **full}, wrong)[1] == -32021, wrong
    rule = 'params.taskId: must be a text of 1 to 4096 bytes'
    assert said({**full}, headers={'Mcp-Name': ''}) == (200, -32602, rule)
    assert said({'taskId': '', **full}, headers={'Mcp-Name': ''}) == (200, -32602, rule)
    assert said({'taskId': 7, **full}, headers={'Mcp-Name': ''}) == (200, -32602, rule)
    assert said({'taskId': 'x' * 4097, **full})[2] == rule
    for unknown in ('x', '../x', '01JD0000000000000000000009', '0' * 26, 'ünbekannt'):
        encoded = {} if unknown.isascii() else {'headers': {'Mcp-Name': '=?base64?w7xuYmVrYW5udA==?='}}
        assert said({'taskId': unknown, **full}, **encoded) == (200, -32602, NO_TASK), unknown
    assert said({'taskId': 'x', **full}, headers={'Mcp-Name': 'y'})[:2] == (400, -32020)
    if method == 'tasks/update':
        assert said({'taskId': 'x'})[1:] == (-32602, 'params.inputResponses: must be an object')
        assert said({'taskId': 'x', 'inputResponses': []})[1:] == (-32602, 'params.inputResponses: must be an object')
        assert said({'taskId': 'x', 'inputResponses': {'a': 1}})[1:] == (-32602, 'params.inputResponses.a: must be an object')


def test_a_task_of_another_is_not_there(fixture_service, fixtures):
    task = begun(fixtures, 'confirm_delete', {'filename': 'a'}, ASKS)
    question = until(fixtures, task, 'input_required')['inputRequests']
    bob = McpCaller(fixture_service, fixture_service.mint('bob', ['tool:invoke:fixture.*']))
    for answer in (get(bob, task), update(bob, task, {name: {'action': 'accept', 'content': {'ok': True}} for name in question}), cancel(bob, task)):
        assert (answer.status, answer.error) == (200, {'code': -32602, 'message': NO_TASK})
    assert get(fixtures, task).result['inputRequests'] == question
    # Nor is it there for the same caller without the scope of the tool.
    owner = [McpCaller(fixture_service, fixture_service.mint('carol', [scope])) for scope in ('tool:invoke:fixture.slow_compute', 'tool:invoke:fixture.greet')]
    own = begun(owner[0], 'slow_compute', {'seconds': 1})
    assert get(owner[1], own).error['message'] == NO_TASK
    assert until(owner[0], own)['status'] == 'completed'
    cancel(fixtures, task)


def test_a_task_outlives_the_connection_and_its_call_is_in_the_trail_once(fixture_service, fixtures):
    before = len(records_of(fixture_service, 'fixture.slow_compute'))
    task = begun(fixtures, 'slow_compute', {'seconds': 0.8})  # Each request has a connection of its own.
    assert until(fixtures, task)['status'] == 'completed'
    (line,) = records_of(fixture_service, 'fixture.slow_compute')[before:]
    assert line['rid'] == task and line['result']['status'] == 'ok'


def test_a_question_is_answered_by_an_update_and_each_of_several_alone(fixtures):
    task = begun(fixtures, 'multi_input', capabilities=ASKS)
    questions = until(fixtures, task, 'input_required')['inputRequests']
    assert {one['method'] for one in questions.values()} == {'elicitation/create'} and len(questions) == 2
    yes = {'action': 'accept', 'content': {'name': 'Ada', 'ok': True}}
    first, second = questions
    assert update(fixtures, task, {'nobody-asked': yes}).result == update(fixtures, task, {first: yes}).result
    left = get(fixtures, task).result
    assert left['status'] == 'input_required' and list(left['inputRequests']) == [second]
    update(fixtures, task, {first: yes})  # It is answered already.
    assert list(get(fixtures, task).result['inputRequests']) == [second]
    update(fixtures, task, {second: yes})
    done = until(fixtures, task)
    assert done['status'] == 'completed' and done['result']['content'][0]['text'] == 'both are there'
    assert update(fixtures, task, {second: yes}).result['resultType'] == 'complete'
    # A client that cannot be asked is not: the tool's question is its end.
    task = begun(fixtures, 'multi_input')
    refused = until(fixtures, task)
    assert refused['status'] == 'completed' and refused['result']['isError'] and 'E_CONSENT' in refused['result']['content'][0]['text']


def test_consent_is_given_before_there_is_a_task(fixtures):
    call = {'path': 'notes/task.txt', 'content': 'x'}
    asked = fixtures.call('files.write', call, capabilities=ASKS).result
    assert asked['resultType'] == 'input_required' and 'taskId' not in asked
    denied = fixtures.call('files.write', call, capabilities=ASKS, requestState=asked['requestState'],
                           inputResponses={'securetool.consent': {'action': 'decline'}}).result
    assert denied['resultType'] == 'complete' and 'E_CONSENT' in denied['content'][0]['text']
    asked = fixtures.call('files.write', call, capabilities=ASKS).result
    done = fixtures.call('files.write', call, capabilities=ASKS, requestState=asked['requestState'],
                         inputResponses={'securetool.consent': {'action': 'accept', 'content': {'approve': True}}}).result
    assert done['resultType'] == 'complete' and not done.get('isError')


def test_what_is_refused_is_refused_at_once(fixture_service, fixtures):
    assert fixtures.call('nothing', capabilities=KNOWS).error['code'] == -32602
    wrong = fixtures.call('slow_compute', {'seconds': 'many'}, capabilities=KNOWS).result
    assert wrong['resultType'] == 'complete' and 'E_SHAPE' in wrong['content'][0]['text']
    poor = McpCaller(fixture_service, fixture_service.mint('poor', ['tool:invoke:fixture.greet', 'tool:describe:fixture.slow_compute']))
    answer = poor.call('slow_compute', {'seconds': 5}, capabilities=KNOWS)
    assert answer.status == 403 and answer.error['data']['code'] == 'E_SCOPE'
    assert begun(fixtures, 'failing_job')
    must = fixtures.call('failing_job')
    assert (must.status, must.error['code']) == (400, -32021) and must.error['data']['requiredCapabilities'] == KNOWS


def test_a_cancelled_task_ends_the_call_that_runs(fixture_service, fixtures):
    before = len(records_of(fixture_service, 'fixture.slow_compute'))
    task = begun(fixtures, 'slow_compute', {'seconds': 300})
    assert set(cancel(fixtures, task).result) == {'resultType', '_meta'}
    over = until(fixtures, task)
    assert over['status'] == 'cancelled' and 'not known' in over['statusMessage'] and not {'result', 'error'} & set(over)
    (line,) = records_of(fixture_service, 'fixture.slow_compute')[before:]
    assert line['rid'] == task and line['decision']['code'] == 'E_CANCELLED'
    assert cancel(fixtures, task).result['resultType'] == 'complete' and get(fixtures, task).result == over
    parked = begun(fixtures, 'confirm_delete', {'filename': 'a'}, ASKS)
    until(fixtures, parked, 'input_required')
    cancel(fixtures, parked)
    assert until(fixtures, parked)['status'] == 'cancelled'


def test_a_listener_is_told_of_its_own_tasks_alone(fixture_service, fixtures):
    task = begun(fixtures, 'confirm_delete', {'filename': 'a'}, ASKS)
    with contextlib.closing(listening(fixtures, KNOWS, taskIds=[task, 'x'])) as events:
        assert events.next()['params']['notifications'] == {'taskIds': [task]}
        seen = until(fixtures, task, 'input_required')
        update(fixtures, task, {name: {'action': 'accept', 'content': {'ok': True}} for name in seen['inputRequests']})
        told = []
        while not told or told[-1]['status'] not in OVER:
            message = events.next()
            assert message['method'] == 'notifications/tasks' and message['params'].pop('_meta') == {PREFIX + 'subscriptionId': 'listen'}
            told.append(message['params'])
    last = get(fixtures, task).result
    assert told[-1] == {name: last[name] for name in last if name not in ('resultType', '_meta')} and told[-1]['status'] == 'completed'
    bob = McpCaller(fixture_service, fixture_service.mint('bob', ['tool:invoke:fixture.*']))
    with contextlib.closing(listening(bob, KNOWS, taskIds=[task])) as events:
        assert events.next()['params']['notifications'] == {}
    params = {'notifications': {'taskIds': [task]}, '_meta': {PREFIX + 'protocolVersion': MODERN, PREFIX + 'clientCapabilities': {}}}
    refused = fixtures.send({'jsonrpc': '2.0', 'id': 1, 'method': 'subscriptions/listen', 'params': params},
                            {'MCP-Protocol-Version': MODERN, 'Mcp-Method': 'subscriptions/listen'})
    assert (refused.status, refused.error['code']) == (400, -32021)


def test_the_inspector_follows_a_task_to_its_end(fixture_service, tmp_path):
    """A client of MCP's own, with its library for tasks. failing_job is refused to who does not know tasks."""
    target = [fixture_service.http_url + '/mcp', '--transport', 'http', '--protocol-era', 'modern', '--header',
              f'Authorization: Bearer {fixture_service.secret("api_key")}']
    for tool, text in ((['slow_compute', '--tool-arg', 'seconds=1'], 'computed'), (['failing_job'], 'the job failed')):
        done = run_program([NODE, INSPECTOR, '--cli', *target, '--method', 'tools/call', '--tool-name', *tool], cwd=tmp_path, check=False)
        assert json.loads(done.stdout)['content'][0]['text'] == text, done.stderr


def caller_of(service):
    return McpCaller(service, service.secret('api_key'))


def flows(folder, **more):
    """Workflows of an operator: their names and what they are."""
    changes = {**settings(folder), 'tools.once.at_once': 16}
    for name, steps in more.items():
        (folder / f'flows/{name}.json').write_text(json.dumps(steps))
    return changes


def test_a_principal_has_a_bounded_number_and_none_where_they_are_off(make_service, tmp_path):
    service = make_service('simple', mcp__enabled=True, mcp__tasks=1, mcp__task_after='0.2', **{
        **tools_of(tmp_path), 'security.api_key_scopes': 'tool:invoke:tools.*'})
    caller, places = caller_of(service), [Place(tmp_path, f'place-{i}') for i in range(2)]
    task = begun(caller, 'tools.once', {'place': str(places[0].path)})
    # The second is a call as others are: its client waits.
    meta = {PREFIX + 'protocolVersion': MODERN, PREFIX + 'clientCapabilities': KNOWS}
    params = {'name': 'tools.once', 'arguments': {'place': str(places[1].path)}, '_meta': meta}
    with contextlib.closing(EventStream(caller, {'method': 'tools/call', 'params': params}, headers={
            'MCP-Protocol-Version': MODERN, 'Mcp-Method': 'tools/call', 'Mcp-Name': 'tools.once'})) as events:
        wait_for(lambda: places[1].runs)
        places[1].go()
        assert events.next()['result']['resultType'] == 'complete'
    places[0].go()
    assert until(caller, task)['status'] == 'completed'
    off = make_service('simple', mcp__enabled=True, mcp__tasks=0)
    caller = caller_of(off)
    assert 'extensions' not in caller.modern('server/discover').result['capabilities']
    assert (get(caller, 'x').status, get(caller, 'x').error['code']) == (404, -32601)


def test_a_workflow_is_a_task_at_once_and_tells_its_steps(make_service, tmp_path):
    held = Place(tmp_path, 'held')
    service = make_service('simple', mcp__task_after='60', **flows(tmp_path, long=workflow(
        note('first', tmp_path), once('held', held, after=['first']), note('last', tmp_path, after=['held']), output={'said': {'$from': '/steps/held/content/0/text'}})))
    caller = caller_of(service)
    task = begun(caller, 'flow.long')
    wait_for(lambda: held.runs)
    seen = wait_for(lambda: (now := get(caller, task).result).get('statusMessage') == '1 of 3: first: done' and now)
    assert seen['status'] == 'working' and seen['ttlMs'] == 86_400_000
    shown = json.loads(service.run('flow', 'get', task).stdout)  # The same run.
    assert shown['driven'] and shown['state'] == 'open'
    held.go()
    done = until(caller, task)
    assert done['status'] == 'completed' and done['result']['structuredContent']['output'] == {'said': 'run 1\n'}
    assert done['result']['structuredContent']['run'] == task and notes(tmp_path) == ['first', 'last']
    failed = caller.call('flow.words', {'path': 'notes/none.txt'}, capabilities=KNOWS).result
    over = until(caller, failed['taskId']) if failed['resultType'] == 'task' else {'status': 'completed', 'result': failed}
    assert over['status'] == 'completed' and over['result']['isError'] and over['result']['structuredContent']['state'] == 'failed'
    assert caller.call('flow.words', {'pfad': 'x'}, capabilities=KNOWS).result['isError']  # Before there is a run.
    # A run that was no call of a tool is no task.
    (tmp_path / 'own.json').write_text(json.dumps(workflow(note('own', tmp_path))))
    own = json.loads(service.run('flow', 'run', tmp_path / 'own.json').stdout)['run']
    assert get(caller, own).error['message'] == NO_TASK


def test_a_workflow_that_is_cancelled_is_taken_back(make_service, tmp_path):
    held = Place(tmp_path, 'held')
    undo = {'tool': 'tools.note', 'args': {'file': str(tmp_path / 'notes'), 'text': 'undone'}}
    service = make_service('simple', **flows(tmp_path, long=workflow(note('first', tmp_path, undo=undo), once('held', held, after=['first']))))
    caller = caller_of(service)
    task = begun(caller, 'flow.long')
    wait_for(lambda: held.runs)
    cancel(caller, task)
    over = until(caller, task)
    assert over['status'] == 'cancelled' and notes(tmp_path) == ['first', 'undone']
    assert json.loads(service.run('flow', 'get', task).stdout)['state'] == 'cancelled'
    (line,) = [line for line in audit_lines(service) if line.get('event') == 'mcp_task_cancel']
    assert line['details']['name'] == task


def kill(service):
    os.kill(service.process.pid, signal.SIGKILL)
    service.process.stop()
    service.start()


def test_a_workflow_outlives_a_service_that_is_killed(make_service, tmp_path):
    """One goes on; of one nobody knows; one is taken back. Each step that is done is not done again."""
    places = {name: Place(tmp_path, name) for name in ('again', 'unknown', 'back')}
    service = make_service('simple', **flows(tmp_path, **{
        name: workflow(note(f'{name}-first', tmp_path), once('held', place, after=[f'{name}-first'], **(
            {'retry': {'attempts': 2, 'pause_ms': 0}} if name == 'again' else {})), note(f'{name}-last', tmp_path, after=['held']))
        for name, place in places.items()}))
    caller = caller_of(service)
    tasks = {name: begun(caller, f'flow.{name}') for name in places}
    wait_for(lambda: all(place.runs for place in places.values()))
    plain = begun(caller, 'tools.once', {'place': str(Place(tmp_path, 'plain').path)})
    kill(service)
    for place in places.values():
        place.go()  # The programs outlived the service.
    cancel(caller, tasks['back'])
    bob = McpCaller(service, service.mint('bob', ['flow:run', 'tool:invoke:tools.*', 'tool:invoke:flow.*']))
    for task in (*tasks.values(), plain):
        assert get(bob, task).error['message'] == NO_TASK and cancel(bob, task).error['message'] == NO_TASK
    assert until(caller, tasks['back'])['status'] == 'cancelled'
    unknown = until(caller, tasks['unknown'])
    assert unknown['status'] == 'completed' and unknown['result']['isError'] and 'not known' in unknown['statusMessage']
    assert unknown['result']['structuredContent']['state'] == 'unknown'
    again = until(caller, tasks['again'])
    assert again['status'] == 'completed' and again['result']['structuredContent']['state'] == 'done', again
    assert sorted(notes(tmp_path)) == ['again-first', 'again-last', 'back-first', 'unknown-first']
    assert {name: place.runs for name, place in places.items()} == {'again': 2, 'unknown': 1, 'back': 1}
    # A call that is no workflow ended with the service, and nobody knows as what.
    lost = get(caller, plain).result
    assert lost['status'] == 'failed' and 'whether it did its work is not known' in lost['error']['message']
    # What is over is told after another restart, too.
    kill(service)
    told = get(caller, tasks['again']).result
    assert told['status'] == 'completed' and told['result'] == again['result'] and told['createdAt'] == again['createdAt']
    assert get(caller, tasks['back']).result['status'] == 'cancelled'


def test_a_service_that_stops_leaves_a_task_to_go_on(make_service, tmp_path):
    held = Place(tmp_path, 'held')
    service = make_service('simple', **flows(tmp_path, long=workflow(once('held', held), note('last', tmp_path, after=['held']))))
    caller = caller_of(service)
    task = begun(caller, 'flow.long')
    wait_for(lambda: held.runs)
    os.kill(service.process.pid, signal.SIGTERM)
    time.sleep(0.3)
    held.go()
    service.process.stop()
    assert notes(tmp_path) == []
    service.start()
    assert until(caller, task)['status'] == 'completed'
    assert (notes(tmp_path), held.runs) == (['last'], 1)
