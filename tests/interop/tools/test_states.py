"""Every message in every state over a real socket: the matrix of docs/wire-3.0.md, section 5.1."""
import asyncio
import contextlib
import socket
import threading
import time

import pytest
import websockets
from raw import raw_of, run

STATES = ['CONNECTED', 'NEGOTIATED', 'READY']
# What no client may send, in no state.
NEVER = [('res', 'session.ping'), ('err', 'session.ping'), ('evt', 'tool.progress'), ('cancel', 'session.ping'), ('req', 'tool.cancel'),
         ('req', 'tool.progress'), ('req', 'tool.chunk'), ('req', 'session.error')]
# What belongs to READY alone.
READY_ONLY = ['session.ping', 'session.refresh', 'session.rekey', 'cap.list', 'cap.get', 'tool.invoke', 'tool.outcome', 'admin.audit.head', 'admin.session.list',
              'admin.session.close', 'admin.consent.list', 'admin.consent.revoke', 'fed.forward', 'fed.caps', 'flow.run', 'flow.get', 'flow.cancel']


async def refused(service, state, kind, op, payload=None):
    client = await raw_of(service).to(state)
    try:
        message = client.request(op, payload, kind=kind)
        if kind == 'evt':
            message['seq'] = 0
        if kind == 'err':
            message['p'] = {'code': 'E_INTERNAL', 'num': 5000, 'msg': 'x'}
        await client.send(message)
        return await client.refusal()
    finally:
        await client.close()


@pytest.mark.parametrize('state', STATES)
@pytest.mark.parametrize('kind, op', NEVER, ids=lambda value: value)
def test_what_no_client_may_send(service, state, kind, op):
    assert run(refused(service, state, kind, op)) == ('E_STATE', 4400)


@pytest.mark.parametrize('state', ['CONNECTED', 'NEGOTIATED'])
@pytest.mark.parametrize('op', READY_ONLY)
def test_operations_before_ready(service, state, op):
    assert run(refused(service, state, 'req', op)) == ('E_STATE', 4400)


def test_close_and_cancel_before_hello(service):
    assert run(refused(service, 'CONNECTED', 'req', 'session.close')) == ('E_STATE', 4400)
    assert run(refused(service, 'CONNECTED', 'cancel', 'tool.cancel')) == ('E_STATE', 4400)
    assert run(refused(service, 'NEGOTIATED', 'cancel', 'tool.cancel')) == ('E_STATE', 4400)


def test_auth_before_hello(service):
    payload = {'method': 'jwt', 'credential': 'x', 'confirm': 'x'}
    assert run(refused(service, 'CONNECTED', 'req', 'session.auth', payload)) == ('E_STATE', 4400)


@pytest.mark.parametrize('state', ['NEGOTIATED', 'READY'])
def test_hello_twice(service, state):
    async def work():
        client = await raw_of(service).to(state)
        await client.send(client.request('session.hello', client.asked['p'], v='3.0'))
        try:
            return await client.refusal()
        finally:
            await client.close()

    assert run(work()) == ('E_STATE', 4400)


def test_auth_twice(service):
    async def work():
        client = await raw_of(service).to('READY')
        try:
            await client.send(client._make_auth())
            return await client.refusal()
        finally:
            await client.close()

    assert run(work()) == ('E_STATE', 4400)


def test_two_auths_at_once_open_one_session_at_most(service):
    """The second comes while the first is verified, or after: it is out of place alike."""
    async def work():
        client = await raw_of(service).to('NEGOTIATED')
        try:
            first = client._encode(client._make_auth(), client.th1)
            second = client._encode(client._make_auth(), client.th1)
            await client.socket.send(first)
            await client.socket.send(second)
            with contextlib.suppress(websockets.ConnectionClosed):
                while True:
                    await asyncio.wait_for(client.socket.recv(), 10)
            return client.socket.close_code
        finally:
            await client.close()

    assert run(work()) == 4400


def test_close_ends_with_1000(service):
    async def work(state):
        client = await raw_of(service).to(state)
        try:
            assert (await client.ask('session.close'))['t'] == 'res'
            return await client.refusal()
        finally:
            await client.close()

    assert run(work('NEGOTIATED')) == (None, 1000)
    assert run(work('READY')) == (None, 1000)


@pytest.mark.parametrize('state', ['NEGOTIATED', 'READY'])
def test_text_where_records_belong_and_the_reverse(service, state):
    async def work():
        client = await raw_of(service).to(state)
        try:
            if client.sender:
                await client.socket.send('{"v":"3.0"}')
            else:
                await client.socket.send(b'S\x01' + bytes(40))
            return await client.refusal()
        finally:
            await client.close()

    assert run(work()) == ('E_STATE', 4400)


def test_a_record_before_hello(service):
    async def work():
        client = await raw_of(service).to('CONNECTED')
        try:
            await client.socket.send(b'S\x01' + bytes(40))
            return await client.refusal()
        finally:
            await client.close()

    assert run(work()) == ('E_STATE', 4400)


@pytest.mark.parametrize('text', ['', ' ', '{', '[]', 'null', '{"v":"3.0","v":"3.0"}', '{"a":NaN}', '{"a":9007199254740993}', '[' * 70 + ']' * 70,
                                  '\ufeff{}', '{"a":"\\ud800"}'], ids=ascii)
def test_no_envelope_before_hello(service, text):
    async def work():
        client = await raw_of(service).to('CONNECTED')
        try:
            await client.socket.send(text)
            return await client.refusal()
        finally:
            await client.close()

    code, close = run(work())
    assert close == 4400
    assert code in ('E_PARSE', 'E_SHAPE')


@pytest.mark.parametrize('member', ['v', 't', 'id', 'op', 'ts', 'n', 'aud', 'p'])
def test_a_hello_without_a_member(service, member):
    async def work():
        client = await raw_of(service).to('CONNECTED')
        try:
            client._make_hello()
            await client.send({name: value for name, value in client.asked.items() if name != member})
            return await client.refusal()
        finally:
            await client.close()

    assert run(work()) == ('E_SHAPE', 4400)


def test_ready_stays_after_a_refusal_that_harms_nobody(service):
    async def work():
        client = await raw_of(service).to('READY')
        try:
            codes = [(await client.ask(op, payload))['p'].get('code') for op, payload in
                     [('node.list', {}), ('tool.invoke', {'tool': 5}), ('tool.invoke', {'tool': 'no.tool', 'args': {}}), ('cap.get', {}),
                      ('cap.list', {'limit': 0}), ('cap.list', {'limit': 1001}), ('cap.list', {'cursor': '-1'}), ('tool.invoke', {})]]
            assert codes == ['E_OP', 'E_SHAPE', 'E_TOOL', 'E_SHAPE', 'E_SHAPE', 'E_SHAPE', 'E_SHAPE', 'E_SHAPE']
            await client.send({**client.request('tool.cancel', kind='cancel')})  # of an id that nobody knows
            return await client.is_alive()
        finally:
            await client.close()

    assert run(work())


def test_rekey_without_records_is_out_of_place(services):
    assert run(refused(services['simple'], 'READY', 'req', 'session.rekey', {'eph': 'x'})) == ('E_STATE', 4400)


@pytest.mark.parametrize('share', ['', 'AA', 'A' * 43, 5, None])
def test_a_refused_rekey_leaves_the_epoch(services, share):
    async def work():
        client = await raw_of(services['encrypted']).to('READY')
        try:
            answer = await client.ask('session.rekey', {'eph': share} if share is not None else {})
            assert answer['p']['code'] == 'E_SHAPE'
            return await client.is_alive()
        finally:
            await client.close()

    assert run(work())


@pytest.fixture(scope='module')
def silent_keys():
    """A place where the identity provider's keys should be; it accepts and says nothing."""
    with socket.create_server(('127.0.0.1', 0)) as listener:
        held = []

        def accept():
            with contextlib.suppress(OSError):
                while True:
                    held.append(listener.accept()[0])

        threading.Thread(target=accept, daemon=True).start()
        yield f'https://127.0.0.1:{listener.getsockname()[1]}/jwks'
        listener.shutdown(socket.SHUT_RDWR)
        for connection in held:
            connection.close()


@pytest.fixture(scope='module')
def verifying(make_service, silent_keys):
    return make_service('enterprise', oauth2__jwks_url=silent_keys)


def test_nothing_but_close_while_the_credential_is_verified(verifying):
    ops = ['session.hello', 'session.auth', 'session.ping', 'tool.invoke', 'cap.list', 'flow.run']

    async def work():
        return await asyncio.gather(*(refused(verifying, 'AUTHENTICATING', 'req', op) for op in ops))

    assert run(work()) == [('E_STATE', 4400)] * len(ops)


def test_who_leaves_holds_no_place_while_the_provider_is_asked(verifying):
    async def work():
        client = await raw_of(verifying).to('AUTHENTICATING')
        began = time.monotonic()
        try:
            assert (await client.ask('session.close'))['t'] == 'res'
            return await client.refusal(), time.monotonic() - began
        finally:
            await client.close()

    outcome, seconds = run(work())
    assert outcome == (None, 1000)
    assert seconds < 2


def test_a_silent_provider_ends_the_session_in_time(verifying):
    async def work():
        client = await raw_of(verifying).to('AUTHENTICATING')
        try:
            return await client.refusal(30)
        finally:
            await client.close()

    code, close = run(work())
    assert (code, close) in [('E_UPSTREAM', 4500), ('E_TIMEOUT', 4408)]
