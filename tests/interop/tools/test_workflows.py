"""Workflows against a real service: from the command line, from both clients and over MCP, with its audit; over a service that is killed; and
what others may not do with a run. The tools note each of their runs, and end when the test lets them."""
import asyncio
import contextlib
import json
import os
import re
import signal

import pytest
from bridged import audit_lines, await_tools
from cut_proxy import CutProxy
from federated import Federation
from jsonschema import Draft202012Validator
from mcp_messages import MODERN, PREFIX, EventStream, McpCaller
from own_tools import sections
from scp import Client, Refused
from scp.client import make_ulid
from test_command_tools import script
from test_idempotency import Place, code_of, tools_of
from test_modes import run
from tool_clients import ROOT, client_of
from typescript_client import TypescriptClient

GRANTS = 'cap:list,flow:run,tool:invoke:tools.*,tool:invoke:files.read,tool:invoke:files.stat,tool:invoke:flow.*'
PAGE = ROOT / 'docs/tools/workflows.md'
SCHEMA = Draft202012Validator(json.loads((ROOT / 'docs/schemas/workflow.json').read_text()))
NOTE = """#!/usr/bin/python3
import pathlib, sys
with pathlib.Path(sys.argv[1]).open('a') as notes:
    notes.write(sys.argv[2] + '\\n')
print(sys.argv[2])
"""


def once(name, place, **more):
    return {'name': name, 'tool': 'tools.once', 'args': {'place': str(place.path)}, 'timeout_ms': 120_000, **more}


def note(name, folder, **more):
    return {'name': name, 'tool': 'tools.note', 'args': {'file': str(folder / 'notes'), 'text': name}, **more}


def notes(folder):
    file = folder / 'notes'
    return file.read_text().split() if file.exists() else []


def workflow(*steps, **more):
    return {'workflow': 1, 'steps': list(steps), **more}


def states(answer):
    return answer['state'], {step['name']: step['state'] for step in answer['steps']}


def settings(folder):
    tools = tools_of(folder) | sections({
        'note': {'kind': 'command', 'program': script(folder, 'note', NOTE), 'arguments': ['{file}', '{text}'],
                 'parameters': {'file': {'type': 'string'}, 'text': {'type': 'string', 'pattern': '^[a-z]'}}},
        'count': {'kind': 'command', 'program': '/usr/bin/wc', 'arguments': ['-w'], 'input': '{text}', 'parameters': {'text': {'type': 'string'}}}})
    flows = folder / 'flows'
    flows.mkdir(exist_ok=True)
    (flows / 'words.json').write_text(json.dumps(WORDS))
    return {**tools, 'security.api_key_scopes': GRANTS, 'workflows.folder': str(flows), 'mcp.enabled': True}


WORDS = workflow(
    {'name': 'read', 'tool': 'files.read', 'args': {'path': {'$from': '/input/path'}}},
    {'name': 'count', 'tool': 'tools.count', 'args': {'text': {'$from': '/steps/read/content/0/text'}}},
    {'name': 'again', 'tool': 'tools.count', 'args': {'text': {'$from': '/steps/count/content/0/text'}}},
    title='Count words', description='Counts the words of a file.', output={'words': {'$from': '/steps/count/content/0/text'}},
    input={'type': 'object', 'properties': {'path': {'type': 'string'}}, 'required': ['path'], 'additionalProperties': False})


@pytest.fixture(scope='module')
def service(make_service, tmp_path_factory):
    return make_service('simple', **settings(tmp_path_factory.mktemp('flows')))


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path, 'place')


async def opened(service, kind=Client, **options):
    client = client_of(service, kind, **options)
    await client.connect()
    return client


def test_the_command_line_runs_shows_and_records_a_workflow(service, tmp_path):
    file = tmp_path / 'words.json'
    file.write_text(json.dumps(WORDS))
    done = service.run('flow', 'run', file, '--input', '{"path": "notes/welcome.txt"}')
    answer = json.loads(done.stdout)
    assert answer['state'] == 'done' and answer['output']['words'].strip() == '5'
    assert done.stderr.splitlines() == [f'run {answer["run"]}', '[1/3] read: done', '[2/3] count: done', '[3/3] again: done']
    assert json.loads(service.run('flow', 'get', answer['run']).stdout) == {**answer, 'driven': False}
    assert json.loads(service.run('flow', 'run', answer['run']).stdout) == answer
    lines = [line for line in audit_lines(service) if line.get('flow', '').startswith(answer['run'])]
    assert [(line['kind'], line['flow'].split('/')[1]) for line in lines] == [
        (kind, step) for step in ('read', 'count', 'again') for kind in ('open', 'seal')]
    assert [line['rid'] for line in lines if line['kind'] == 'seal'] == [step['rid'] for step in answer['steps']]


@pytest.mark.parametrize('change, code, said', [
    ({'steps': []}, 'E_SHAPE', 'workflow.steps'),
    ({'stps': 1}, 'E_SHAPE', 'workflow.stps: no such member'),
    ({'steps': [WORDS['steps'][0]] * 2}, 'E_SHAPE', 'steps.read: two steps of one name'),
    ({'steps': WORDS['steps'][1:]}, 'E_SHAPE', 'there is no step read'),
    ({'steps': [{**WORDS['steps'][0], 'after': ['again']}, *WORDS['steps'][1:]]}, 'E_SHAPE', 'wait for each other: read, count, again'),
    ({'steps': [{**WORDS['steps'][0], 'tool': 'files.none'}]}, 'E_TOOL', 'steps.read.tool: files.none: no such tool'),
    ({'steps': [{**WORDS['steps'][0], 'tool': 'flow.words'}]}, 'E_SHAPE', 'a workflow cannot be a step of another'),
    ({'steps': [{**WORDS['steps'][0], 'args': {}}]}, 'E_SHAPE', 'steps.read.args'),
    ({'steps': [*WORDS['steps'], {'name': 'x', 'tool': 'tools.count', 'args': {'text': {'$from': '/steps/read/is_error'}}}]}, 'E_SHAPE', 'gives boolean'),
    ({'steps': [{**WORDS['steps'][0], 'name': f's{i}'} for i in range(65)]}, 'E_LIMIT', 'over 64 steps'),
    ({'parallel': 9}, 'E_SHAPE', 'must be 1 to 8'),
])
def test_a_workflow_with_a_fault_is_refused_before_anything_runs(service, change, code, said):
    async def work():
        client = await opened(service)
        name = make_ulid()
        refused = await code_of(client.flow_run({**WORDS, 'output': None, **change}, {'path': 'notes/welcome.txt'}, name))
        assert refused[0] == code and said in refused[1]
        assert (await code_of(client.flow_get(name)))[0] == 'E_SHAPE'
        await client.disconnect()

    run(work())


def test_what_a_step_may_not_call_no_workflow_calls(service, tmp_path):
    async def work():
        less = await opened(service, token=service.mint('carol', ['flow:run', 'tool:invoke:files.read', 'tool:describe:tools.note']))
        none = await opened(service, token=service.mint('dave', ['tool:invoke:files.read', 'tool:invoke:tools.*']))
        read = {'name': 'read', 'tool': 'files.read', 'args': {'path': 'notes/welcome.txt'}}
        assert await code_of(less.flow_run(workflow(read, note('n', tmp_path)))) == (
            'E_SCOPE', 'steps.n.tool: needs the scope tool:invoke:tools.note')
        assert (await code_of(less.flow_run(workflow(read, {**note('n', tmp_path), 'tool': 'tools.count'}))))[0] == 'E_TOOL'
        assert (await less.flow_run(workflow(read)))['state'] == 'done'
        for op in ('flow.run', 'flow.get', 'flow.cancel'):
            assert (await code_of(none.call(op, {'run': make_ulid()})))[0] == 'E_SCOPE'
        # As a tool it opens nothing either.
        tool = await opened(service, token=service.mint('erin', ['tool:invoke:flow.words', 'tool:invoke:files.read']))
        assert (await code_of(tool.invoke_tool('flow.words', path='notes/welcome.txt')))[0] == 'E_TOOL'
        for client in (less, none, tool):
            await client.disconnect()

    run(work())
    assert notes(tmp_path) == []


@pytest.mark.parametrize('kind', [Client, TypescriptClient])
def test_a_run_is_found_again_after_a_lost_connection(service, place, tmp_path, kind):
    async def work():
        async with CutProxy(service.port) as proxy:
            client = proxy.client(service, kind)
            await client.connect()
            told = []
            steps = workflow(note('first', tmp_path), once('held', place, after=['first']), note('last', tmp_path, after=['held']))
            going = asyncio.create_task(client.flow_run(steps, progress=told.append))
            await place.begun()
            proxy.cut()
            await proxy.reopened()
            place.go()
            answer = await going
            assert states(answer) == ('done', {'first': 'done', 'held': 'done', 'last': 'done'})
            assert told[0] == {'done': 1, 'total': 3, 'note': 'first: done'}
            assert await client.flow_get(answer['run']) == {**answer, 'driven': False}
            assert await client.flow_cancel(answer['run']) == answer
            await client.disconnect()

    run(work())
    assert (notes(tmp_path), place.runs) == (['first', 'last'], 1)


def test_a_run_of_another_is_not_there(service, place, tmp_path):
    async def work():
        client, bob = await opened(service), await opened(service, token=service.mint('bob', GRANTS.split(',')))
        name = make_ulid()
        going = asyncio.create_task(client.flow_run(workflow(once('held', place)), run=name))
        await place.begun()
        assert (await client.flow_get(name))['driven'] is True
        for ask in (bob.flow_get(name), bob.flow_cancel(name), bob.flow_run(run=name)):
            assert await code_of(ask) == ('E_SHAPE', 'p.run: there is no such run')
        assert (await code_of(client.call('flow.run', {'run': name})))[0] == 'E_BUSY'
        # The same id is another run of his.
        assert states(await bob.flow_run(workflow(note('own', tmp_path)), run=name)) == ('done', {'own': 'done'})
        place.go()
        assert states(await going) == ('done', {'held': 'done'})
        for one in (client, bob):
            await one.disconnect()

    run(work())


def test_a_run_that_is_cancelled_is_taken_back(service, place, tmp_path):
    async def work():
        client = await opened(service)
        name = make_ulid()
        undo = {'tool': 'tools.note', 'args': {'file': str(tmp_path / 'notes'), 'text': {'$from': '/input/undo'}}}
        steps = workflow(note('first', tmp_path, undo=undo), once('held', place, after=['first']), note('last', tmp_path, after=['held']),
                         input={'type': 'object', 'properties': {'undo': {'type': 'string'}}, 'required': ['undo']})
        going = asyncio.create_task(client.flow_run(steps, {'undo': 'undone'}, name))
        await place.begun()
        assert (await client.flow_cancel(name))['run'] == name
        answer = await going
        assert states(answer) == ('cancelled', {'first': 'done', 'held': 'unknown', 'last': 'waiting'})
        assert answer['steps'][0]['undo']['state'] == 'done'
        await client.disconnect()

    run(work())
    assert notes(tmp_path) == ['first', 'undone']


def test_a_run_outlives_a_service_that_is_killed(make_service, tmp_path):
    """Killed while one step runs and others are done; the client, which never let go, sees its end."""
    service, held = make_service('simple', **settings(tmp_path)), Place(tmp_path, 'held')
    side = Place(tmp_path, 'side').go()
    name = make_ulid()
    steps = workflow(note('first', tmp_path), once('side', side), once('held', held, after=['first', 'side']), note('last', tmp_path, after=['held']))

    async def before():
        client = await opened(service)
        asyncio.create_task(client.flow_run(steps, run=name))
        await held.begun()
        client.leaving = True  # The test is who looks for its run again.
        os.kill(service.process.pid, signal.SIGKILL)
        await client.reader
        await client._stop_refreshing()

    run(before())
    service.process.stop()
    service.start()
    shown = json.loads(service.run('flow', 'get', name).stdout)
    assert states(shown) == ('open', {'first': 'done', 'side': 'done', 'held': 'running', 'last': 'waiting'}) and not shown['driven']
    # Nobody knows whether `held` did its work, so it is not done again.
    gone = service.run('flow', 'run', name, check=False)
    assert gone.returncode == 1
    assert states(json.loads(gone.stdout)) == ('unknown', {'first': 'done', 'side': 'done', 'held': 'unknown', 'last': 'waiting'})
    assert states(json.loads(service.run('flow', 'cancel', name).stdout))[0] == 'cancelled'
    assert (notes(tmp_path), side.runs, held.runs) == (['first'], 1, 1)
    held.go()  # Its program outlived the service.
    files = list((service.audit / 'flows').glob('*/*.jsonl'))
    assert len(files) == 1 and files[0].stat().st_mode & 0o777 == 0o600 and files[0].parent.stat().st_mode & 0o777 == 0o700


def test_a_service_that_stops_leaves_a_run_to_be_gone_on_with(make_service, tmp_path):
    service, held = make_service('simple', **settings(tmp_path)), Place(tmp_path, 'held')
    name = make_ulid()

    async def before():
        client = await opened(service)
        going = asyncio.create_task(client.flow_run(workflow(once('held', held), note('last', tmp_path, after=['held'])), run=name))
        await held.begun()
        client.leaving = True
        os.kill(service.process.pid, signal.SIGTERM)
        async with asyncio.timeout(60):  # It drains: no new request.
            with pytest.raises(Refused, match='E_BUSY'):
                while await client.flow_get(name):
                    await asyncio.sleep(0.05)
        held.go()
        assert (await code_of(going))[0] == 'E_BUSY'
        client.socket.transport.abort()
        await client._stop_refreshing()

    run(before())
    service.process.stop()
    assert notes(tmp_path) == []
    service.start()
    assert states(json.loads(service.run('flow', 'run', name).stdout)) == ('done', {'held': 'done', 'last': 'done'})
    assert (notes(tmp_path), held.runs) == (['last'], 1)


def test_a_workflow_of_the_operator_is_a_tool_for_mcp_clients(service):
    caller = McpCaller(service, service.secret('api_key'))
    listed = {tool['name']: tool for tool in caller.modern('tools/list').result['tools']}
    assert listed['flow.words']['inputSchema'] == WORDS['input'] and listed['flow.words']['title'] == 'Count words'
    result = caller.call('flow.words', {'path': 'notes/welcome.txt'}).result
    assert not result.get('isError') and result['structuredContent']['output']['words'].strip() == '5'
    failed = caller.call('flow.words', {'path': 'notes/none.txt'}).result
    assert failed['isError'] and failed['structuredContent']['state'] == 'failed'
    assert caller.call('flow.words', {'pfad': 'x'}).result['isError']
    meta = {PREFIX + 'protocolVersion': MODERN, PREFIX + 'clientCapabilities': {}, 'progressToken': 'p'}
    params = {'name': 'flow.words', 'arguments': {'path': 'notes/welcome.txt'}, '_meta': meta}
    events = EventStream(caller, {'method': 'tools/call', 'params': params},
                         headers={'MCP-Protocol-Version': MODERN, 'Mcp-Method': 'tools/call', 'Mcp-Name': 'flow.words'})
    with contextlib.closing(events):
        told = []
        while 'result' not in (message := events.next()):
            told.append((message['params']['progress'], message['params'].get('message')))
    assert told == [(0, None), (1, 'read: done'), (2, 'count: done'), (3, 'again: done')]


def test_steps_are_local_and_of_other_nodes(authority, tmp_path):
    grants = 'cap:list,flow:run,tool:invoke:tools.*,tool:invoke:node-b.*'
    own = {**sections({'count': {'kind': 'command', 'program': '/usr/bin/wc', 'arguments': ['-w'], 'input': '{text}', 'parameters': {'text': {'type': 'string'}}}}),
           'security.api_key_scopes': grants}
    nodes = Federation(tmp_path, authority, {'node-a': ['node-b'], 'node-b': []}, changes={'node-a': own, 'node-b': dict(own)}).start()

    async def work():
        client = await opened(nodes['node-a'])
        await await_tools(client, ['node-b.tools_count'])
        answer = await client.flow_run(workflow(
            {'name': 'far', 'tool': 'node-b.tools_count', 'args': {'text': 'one two three'}},
            {'name': 'near', 'tool': 'tools.count', 'args': {'text': {'$from': '/steps/far/content/0/text'}}},
            output={'far': {'$from': '/steps/far/content/0/text'}, 'near': {'$from': '/steps/near/content/0/text'}}))
        assert {name: text.strip() for name, text in answer['output'].items()} == {'far': '3', 'near': '1'}
        await client.disconnect()

    try:
        run(work())
    finally:
        nodes.stop()


def test_a_file_of_the_folder_with_a_fault_keeps_the_service_from_starting(make_service, tmp_path):
    service = make_service('simple', **settings(tmp_path))
    service.stop()
    (tmp_path / 'flows/bad.json').write_text(json.dumps(workflow({'name': 'a', 'tool': 'tools.count', 'after': ['b']})))
    for command in (['config', 'check'], ['serve']):
        refused = service.run(*command, check=False)
        assert refused.returncode != 0 and 'workflows.folder: bad.json: steps.a.after: there is no step b' in refused.stdout + refused.stderr


def test_the_page_and_the_schema_say_what_the_service_takes(service, tmp_path):
    text = PAGE.read_text()
    example = json.loads(re.search(r'`count\.json`:\n```json\n(.*?)```', text, re.S)[1])
    SCHEMA.validate(example)
    SCHEMA.validate(WORDS)
    for place, wrong in ((('steps', 0, 'name'), 'Read'), (('steps', 0, 'tool'), 'flow.x'), (('steps', 0, 'more'), 1), (('workflow',), 2),
                         (('steps', 0, 'retry'), {'attempts': 1}), (('steps', 0, 'if'), {'from': 'x', 'equals': 1}), (('steps', 0, 'if'), {'from': '/input'})):
        bad = json.loads(json.dumps(WORDS))
        *path, last = place
        target = bad
        for part in path:
            target = target[part]
        target[last] = wrong
        assert not SCHEMA.is_valid(bad), place

        async def work():
            client = await opened(service)
            assert (await code_of(client.flow_run(bad, {'path': 'x'})))[0] == 'E_SHAPE'
            await client.disconnect()

        run(work())
    # The example itself, with a writer of these tests in place of the one that asks a person.
    example['steps'][2] = note('write', tmp_path, after=['count'])
    file = tmp_path / 'count.json'
    file.write_text(json.dumps(example))
    done = service.run('flow', 'run', file, '--input', '{"path": "notes/welcome.txt"}')
    assert json.loads(done.stdout)['output']['words'].strip() == '5' and notes(tmp_path) == ['write']
