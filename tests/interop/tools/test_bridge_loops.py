"""Servers over HTTP, which the loop of each caller asks by itself: calls of all loops side by side, what comes beside an answer,
what is too large to be read there, and a session that all loops share."""
import asyncio
import json
import threading

import pytest
from bridged import (
    await_pins,
    await_tools,
    bridge,
    run,
    settings_of,
    text_of,
    until,
)
from scp import Refused
from test_bridge_hostile import Recorder, modern
from test_modes import session
from tool_clients import client_of

CALLERS, CALLS = 8, 20


def event(message):
    return b'data: ' + json.dumps({'jsonrpc': '2.0', **message}).encode() + b'\n\n'


def result(body, text):
    return {'id': body['id'], 'result': {'resultType': 'complete', 'content': [{'type': 'text', 'text': text}]}}


def as_json(body, text):
    return 200, {'Content-Type': 'application/json'}, json.dumps({'jsonrpc': '2.0', **result(body, text)}).encode()


def as_events(body, text, before=()):
    return 200, {'Content-Type': 'text/event-stream'}, [*map(event, before), event(result(body, text))]


def web(make_service, server, **changes):
    return make_service('simple', **settings_of(bridge('web', kind='http', url=server.url, first_seen='trust', **changes)), server__workers=4,
                        limits__calls_per_second=10_000, limits__burst=10_000)


@pytest.mark.parametrize('form', [as_json, as_events])
def test_callers_of_all_loops_get_their_own_answers(make_service, form):
    """Small ones and such as are too large to be read on the loop of their caller."""
    def answer(body):
        if body['method'] != 'tools/call':
            return modern(body)
        meta = body['params']['_meta']
        text = body['params']['arguments']['text'] * (300_000 if body['params']['arguments']['large'] else 1)
        progress = {'method': 'notifications/progress', 'params': {'progressToken': meta.get('progressToken'), 'progress': 1, 'message': text[:8]}}
        return form(body, text) if form is as_json else form(body, text, [progress])

    async def caller(service, name):
        async def work(client):
            await await_tools(client, ['web.honest'])
            for n in range(CALLS):
                seen = []
                told = await client.invoke_tool('web.honest', progress=seen.append, text=name, large=n % 5 == 0)
                assert set(text_of(told)) == {name} and len(text_of(told)) == (300_000 if n % 5 == 0 else 1)
                if form is as_events:
                    assert {one['note'] for one in seen} <= {name * 8, name}

        await session(client_of(service), work)

    with Recorder(answer) as server:
        service = web(make_service, server)

        async def all_of_them():
            await asyncio.gather(*(caller(service, chr(ord('a') + n)) for n in range(CALLERS)))

        run(all_of_them())
    calls = [body for body, _ in server.seen if body['method'] == 'tools/call']
    assert len(calls) == CALLERS * CALLS
    # No two requests have an id, and more than one loop asked; none of the calls was the bridge's own.
    assert len({body['id'] for body, _ in server.seen}) == len(server.seen)
    loops = {body['id'] >> 40 for body in calls}
    assert 0 not in loops and len(loops) > 1
    assert {headers['Mcp-Method'] for _, headers in server.seen} == {'server/discover', 'tools/list', 'tools/call'}


def test_a_list_that_changed_is_read_though_the_loop_of_a_caller_is_told(make_service):
    """Its tools are held against their pins as ever, and where it cannot be read none is called."""
    offers = {'description': 'The first.', 'status': 200}

    def answer(body):
        if body['method'] == 'tools/list':
            tool = {'name': 'honest', 'description': offers['description'],
                    'inputSchema': {'type': 'object', 'properties': {'n': {'type': 'number', 'maximum': 1e20}}}}
            listed = {'jsonrpc': '2.0', 'id': body['id'], 'result': {'resultType': 'complete', 'tools': [tool]}}
            return offers['status'], {'Content-Type': 'application/json'}, json.dumps(listed).encode()
        if body['method'] == 'tools/call':
            return as_events(body, offers['description'], [{'method': 'notifications/tools/list_changed'}])
        return modern(body)

    async def code_of(client, code):
        for _ in range(600):
            try:
                await client.invoke_tool('web.honest')
            except Refused as refused:
                if refused.code == code:
                    return
            await asyncio.sleep(0.05)
        raise AssertionError(f'never {code}')

    async def described(client):
        return [(one['description'], one['inputSchema']['properties']['n']['maximum'], one['pin']['state'])
                for one in (await client.call('cap.list', {}))['capabilities']]

    with Recorder(answer) as server:
        service = web(make_service, server)

        async def work(client):
            await await_tools(client, ['web.honest'])
            assert await described(client) == [('The first.', 1e20, 'pinned')]
            offers['description'] = 'The second.'
            await code_of(client, 'E_PIN')
            assert await described(client) == []
            service.run('pins', 'approve', 'web.honest')
            await await_tools(client, ['web.honest'])
            assert await described(client) == [('The second.', 1e20, 'pinned')]
            assert text_of(await client.invoke_tool('web.honest')) == 'The second.'
            offers['status'] = 500
            await code_of(client, 'E_BUSY')
            offers['status'] = 200
            for _ in range(600):
                try:
                    assert text_of(await client.invoke_tool('web.honest')) == 'The second.'
                    break
                except Refused as refused:
                    assert refused.code == 'E_BUSY'
                    await asyncio.sleep(0.1)
            else:
                raise AssertionError('it does not come back')

        run(session(client_of(service), work))
        assert await_pins(service, {'web.honest': 'pinned'})


def test_a_call_whose_time_is_over_leaves_its_server(make_service):
    over = threading.Event()

    def answer(body):
        if body['method'] != 'tools/call' or body['params']['arguments']:
            return modern(body)

        def never():
            while not over.wait(0.05):
                yield b': not yet\n\n'

        return 200, {'Content-Type': 'text/event-stream'}, never()

    with Recorder(answer) as server:
        service = web(make_service, server)

        async def work(client):
            await await_tools(client, ['web.honest'])
            with pytest.raises(Refused) as caught:
                await client.invoke_tool('web.honest', deadline_ms=500)
            assert caught.value.code == 'E_TIMEOUT'
            until(lambda: server.left == 1, 'the end of the stream')
            assert text_of(await client.invoke_tool('web.honest', at='once')) == 'as it should be'

        try:
            run(session(client_of(service), work))
        finally:
            over.set()


def test_a_tool_that_asks_its_caller_is_refused(make_service):
    def answer(body):
        if body['method'] != 'tools/call':
            return modern(body)
        asked = {'resultType': 'input_required', 'inputRequests': {'name': {'method': 'elicitation/create', 'params': {
            'mode': 'form', 'message': 'Who?', 'requestedSchema': {'type': 'object', 'properties': {}}}}}}
        return 200, {'Content-Type': 'application/json'}, json.dumps({'jsonrpc': '2.0', 'id': body['id'], 'result': asked}).encode()

    with Recorder(answer) as server:
        service = web(make_service, server)

        async def work(client):
            await await_tools(client, ['web.honest'])
            with pytest.raises(Refused) as caught:
                await client.invoke_tool('web.honest')
            assert caught.value.code == 'E_POLICY' and 'wants input of the caller' in str(caught.value)

        run(session(client_of(service), work))


def test_all_loops_share_a_session_of_the_older_era_and_its_end(make_service):
    sessions, ended = [], threading.Event()

    def answer(body):
        method, headers = body['method'], {'Content-Type': 'application/json'}
        if method == 'server/discover':
            return 200, headers, json.dumps({'jsonrpc': '2.0', 'id': body['id'], 'error': {'code': -32601, 'message': 'no such method'}}).encode()
        if method == 'initialize':
            ended.clear()
            sessions.append(f'session-{len(sessions)}')
            told = {'protocolVersion': '2025-11-25', 'capabilities': {'tools': {}}, 'serverInfo': {'name': 'older', 'version': '1'}}
            return 200, {**headers, 'Mcp-Session-Id': sessions[-1]}, json.dumps({'jsonrpc': '2.0', 'id': body['id'], 'result': told}).encode()
        if method == 'notifications/initialized':
            return 202, {}, b''
        if method == 'tools/call' and ended.is_set():
            return 404, {}, b''
        return modern(body)

    async def come_back(client):
        for _ in range(600):
            try:
                return text_of(await client.invoke_tool('web.honest'))
            except Refused as refused:
                assert refused.code in ('E_BUSY', 'E_UPSTREAM')
                await asyncio.sleep(0.05)
        raise AssertionError('it does not come back')

    async def caller(service, first):
        async def work(client):
            await await_tools(client, ['web.honest'])
            for _ in range(5):
                assert text_of(await client.invoke_tool('web.honest')) == 'as it should be'
            await first.wait()
            ended.set()
            assert await come_back(client) == 'as it should be'

        await session(client_of(service), work)

    with Recorder(answer) as server:
        service = web(make_service, server)

        async def all_of_them():
            first = asyncio.Barrier(CALLERS)
            await asyncio.gather(*(caller(service, first) for _ in range(CALLERS)))

        run(all_of_them())
    calls = [(headers.get('Mcp-Session-Id'), body['id']) for body, headers in server.seen if body['method'] == 'tools/call']
    assert len(sessions) >= 2 and {of for of, _ in calls} <= set(sessions) and sessions[0] in {of for of, _ in calls}
    assert len(set(calls)) == len(calls) and len({id >> 40 for of, id in calls if of == sessions[0]}) > 1
    assert '"mcp":"2025-11-25"' in service.log.read_text()
