"""Web pages that reach a server of the visitor's own machine: by a name that was made to point here, or by a WebSocket, which browsers open to anywhere."""
import asyncio
import json

import pytest
import websockets
from exploits import Replica, calls, request, tool_call
from holes import shows
from raw import raw_of
from scp import Refused
from tool_stack.service import strong

HELLO = 'Hello from the file tool.'
REBOUND = {'Host': 'evil.example', 'Origin': 'http://evil.example'}  # what a browser sends when evil.example points to 127.0.0.1
REFUSAL = {'error': {'status': 403, 'message': 'the host or the origin is not allowed'}}


def believes_every_name(method, path, headers, body):
    """The transport of an SDK that looks at neither Host nor Origin."""
    call = json.loads(body)
    return 200, {'Content-Type': 'application/json'}, json.dumps({'jsonrpc': '2.0', 'id': call['id'], 'result': {'content': [{'type': 'text', 'text': HELLO}]}})


@shows('CVE-2026-42559', 'CVE-2026-34742', 'CVE-2026-11624')
@pytest.mark.parametrize('headers', [REBOUND, {'Host': 'evil.example'}, {'Origin': 'https://evil.example'}, {'Origin': 'null'}], ids=str)
def test_a_page_with_a_name_that_points_here_calls_nothing(service, caller, headers):
    with Replica(believes_every_name) as replica:
        status, text = request(replica.port, 'POST', '/mcp', headers, tool_call('files.read', path='notes/welcome.txt'))
        assert status == 200 and HELLO in text

    before = calls(service)
    # Even with a good token, which a page does not have: so it is the names that stop it.
    answer = caller.call('files.read', {'path': 'notes/welcome.txt'}, headers=headers)
    assert answer.status == 403 and answer.last == REFUSAL
    assert calls(service) == before
    assert HELLO in caller.call('files.read', {'path': 'notes/welcome.txt'}).result['content'][0]['text']


async def ask_by_websocket(url, origin, subprotocols=None):
    async with websockets.connect(url, origin=origin, subprotocols=subprotocols) as socket:
        await socket.send(json.dumps(tool_call('files.read', path='notes/welcome.txt')))
        return json.loads(await socket.recv())


async def on_replica(origin):
    async def obey(socket):
        call = json.loads(await socket.recv())
        await socket.send(json.dumps({'jsonrpc': '2.0', 'id': call['id'], 'result': HELLO}))

    async with websockets.serve(obey, '127.0.0.1', 0) as server:
        return await ask_by_websocket(f'ws://127.0.0.1:{server.sockets[0].getsockname()[1]}', origin)


@shows('CVE-2025-52882')
def test_a_page_opens_no_websocket(service):
    assert asyncio.run(on_replica('https://evil.example'))['result'] == HELLO

    before = calls(service)
    for origin in ('https://evil.example', 'null', 'http://localhost:3000'):
        with pytest.raises(websockets.InvalidStatus) as refused:
            asyncio.run(ask_by_websocket(service.url, origin, ['scp.v3.json']))
        assert refused.value.response.status_code == 403
    # A program that is no browser gets as far as the handshake, which it cannot end without a key.
    answer = asyncio.run(ask_by_websocket(service.url, None, ['scp.v3.json']))
    assert answer['t'] == 'err' and answer['p']['code'] in ('E_SHAPE', 'E_STATE')
    with pytest.raises(Refused) as refused:
        asyncio.run(raw_of(service, api_key=strong()).connect())
    assert refused.value.code == 'E_AUTH'
    assert calls(service) == before


UPGRADE = {'Connection': 'Upgrade', 'Upgrade': 'websocket', 'Sec-WebSocket-Version': '13', 'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
           'Sec-WebSocket-Protocol': 'scp.v3.json'}


@shows('CVE-2026-42559', 'CVE-2026-34742')
def test_nor_does_it_reach_the_websocket_by_that_name(service):
    assert request(service.port, 'GET', '/scp/v3', {**UPGRADE, **REBOUND})[0] == 421  # another host's
    assert request(service.port, 'GET', '/scp/v3', {**UPGRADE, 'Host': 'localhost', 'Origin': 'http://evil.example'})[0] == 403
    assert request(service.port, 'GET', '/scp/v3', {**UPGRADE, 'Host': 'localhost'})[0] == 101
