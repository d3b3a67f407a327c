"""What was said once counts once. docs/wire-3.0.md, sections 7 and 8."""
import asyncio
import contextlib
import time
import types

import pytest
import websockets
from bridged import audit_lines
from cryptography.exceptions import InvalidTag
from raw import make_ulid, nonce, now_ms, raw_of, run
from scp import Refused, keys
from scp.canonical import canonical
from tool_stack.meddler import Meddler

SIGNED = ['simple', 'basic', 'enterprise']


@pytest.fixture(params=SIGNED)
def signed(request, services):
    return services[request.param]


async def outcome(client, data):
    """Sends `data` as it is; the refusal and the close code that follow."""
    await client.socket.send(data)
    return await client.refusal()


async def with_session(service, work):
    client = await raw_of(service).to('READY')
    try:
        return await work(client)
    finally:
        await client.close()


def test_the_same_message_twice(signed):
    async def work(client):
        data = client.protected(client.request('session.ping'))
        await client.socket.send(data)
        assert (await client.receive())['t'] == 'res'
        return await outcome(client, data)

    assert run(with_session(signed, work)) == ('E_REPLAY', 4409)


def test_a_call_sent_twice_runs_once(signed):
    async def work(client):
        path = f'notes/once-{make_ulid().lower()}.txt'
        data = client.protected(client.request('tool.invoke', {'tool': 'files.write', 'args': {
            'path': path, 'content': 'x', 'mode': 'replace'}}))
        await client.socket.send(data)
        first = await client.receive()
        assert first['t'] == 'res' and not first['p']['is_error']
        return await outcome(client, data), first['id']

    refused, call = run(with_session(signed, work))
    assert refused == ('E_REPLAY', 4409)
    # The tool would have done it again: nothing but the replay window stands between.
    assert [line['kind'] for line in audit_lines(signed) if line.get('rid') == call and line['kind'] in ('open', 'seal')] == ['open', 'seal']


def test_a_nonce_twice_with_another_content(signed):
    async def work(client):
        first = client.request('session.ping')
        await client.send(first)
        assert (await client.receive())['t'] == 'res'
        await client.send(client.request('cap.list', n=first['n']))
        return await client.refusal()

    assert run(with_session(signed, work)) == ('E_REPLAY', 4409)


@pytest.mark.parametrize('shift', [-61_000, -3_600_000, 61_500, 3_600_000])
def test_a_time_outside_the_window_is_stale_and_the_session_stays(signed, shift):
    async def work(client):
        answer = await client.ask('session.ping', ts=now_ms() + shift)
        assert answer['p']['code'] == 'E_STALE'
        return await client.is_alive()

    assert run(with_session(signed, work))


@pytest.mark.parametrize('ts', [0, -1, 2**53 - 1, -(2**53 - 1)])
def test_times_at_the_ends_of_their_range(signed, ts):
    async def work(client):
        answer = await client.ask('session.ping', ts=ts)
        assert answer['p']['code'] in ('E_STALE', 'E_SHAPE')
        return await client.is_alive()

    assert run(with_session(signed, work))


def test_a_stale_nonce_is_not_remembered(signed):
    """Nothing is kept of a message that was refused: its nonce is free."""
    async def work(client):
        used = nonce()
        assert (await client.ask('session.ping', ts=now_ms() - 100_000, n=used))['p']['code'] == 'E_STALE'
        return (await client.ask('session.ping', n=used))['t']

    assert run(with_session(signed, work)) == 'res'


def test_a_message_of_another_connection(service):
    async def work(client):
        data = client.protected(client.request('session.ping'))
        return await with_session(service, lambda other: outcome(other, data))

    assert run(with_session(service, work)) == ('E_SIG', 4401)


def test_a_message_for_another_node(service):
    async def work(client):
        await client.send(client.request('session.ping', aud='node-x'))
        return await client.refusal()

    assert run(with_session(service, work)) == ('E_REPLAY', 4409)


def test_two_nodes_with_the_same_secrets(services, make_service):
    """What one of them has seen, signed for it, is of no use at the other; neither is its session token."""
    first = services['simple']
    secrets = {name: first.secret(name) for name in ('api_key', 'secret_key', 'jwt_secret', 'kdf_salt')}
    second = make_service('simple', node_id='node-c', **secrets)

    async def work():
        a, b = await raw_of(first).to('READY'), await raw_of(second).to('READY')
        try:
            assert (a.node, b.node) == ('node-b', 'node-c')
            data = a.protected(a.request('session.ping'))
            crossed = await outcome(b, data)
        finally:
            await a.close()
            await b.close()
        c = await raw_of(second).to('READY')
        try:
            await c.send(c.request('session.ping', aud='node-b'))
            return crossed, await c.refusal()
        finally:
            await c.close()

    assert run(work()) == (('E_REPLAY', 4409), ('E_REPLAY', 4409))


def test_a_hello_that_was_recorded(service):
    """The server answers it with new keys; who recorded it has none of them."""
    async def work():
        first = await raw_of(service).to('CONNECTED')
        try:
            hello = first._make_hello()
            await first.socket.send(hello)
            first._take_welcome(await first._receive())
            auth = first._encode(first._make_auth(), first.th1)
            await first.socket.send(auth)
            first._take_ready(first._decode(await first._receive(), first.th1))
        finally:
            await first.close()
        second = await raw_of(service).to('CONNECTED')
        try:
            await second.socket.send(hello)
            await second._receive()
            await second.socket.send(auth)
            with contextlib.suppress(websockets.ConnectionClosed):
                while True:
                    await asyncio.wait_for(second.socket.recv(), 10)
            return second.socket.close_code
        finally:
            await second.close()

    assert run(work()) == 4401


def test_a_restart_ends_sessions_and_their_messages(make_service):
    """The cache begins empty, and no session of before is there to take a message again."""
    service = make_service('simple')

    async def before():
        client = await raw_of(service).to('READY')
        ping = client.protected(client.request('session.ping'))
        await client.socket.send(ping)
        await client.receive()
        await client.close()
        return ping

    sent = run(before())
    service.stop()
    service.start()
    assert run(with_session(service, lambda client: outcome(client, sent))) == ('E_SIG', 4401)


def test_a_client_whose_clock_is_slow_is_served_right_after_a_start(make_service, monkeypatch):
    """Within the window the clocks may differ, whatever the server did just before."""
    service = make_service('simple')
    monkeypatch.setattr('scp.client.time', types.SimpleNamespace(time=lambda: time.time() - 20, time_ns=lambda: time.time_ns() - 20 * 10**9))
    assert run(with_session(service, lambda client: client.is_alive()))


def test_a_full_cache_refuses_and_forgets_nothing(make_service):
    """One session may hold a tenth of the cache; the one that fills it does not push the others out."""
    service = make_service('simple', security__replay_cache_size=1000, limits__calls_per_second=1000, limits__burst=1000)

    async def work(client):
        first = client.protected(client.request('session.ping'))
        await client.socket.send(first)
        assert (await client.receive())['t'] == 'res'
        codes = []
        for _ in range(110):
            answer = await client.ask('session.ping')
            codes.append(answer['p'].get('code'))
        assert codes[-1] == 'E_BUSY' and codes.count(None) == 99
        # Another session is not affected, and what was seen is still known.
        assert await with_session(service, lambda other: other.is_alive())
        return await outcome(client, first)

    code, close = run(with_session(service, work))
    assert (code, close) == ('E_REPLAY', 4409)


@pytest.mark.parametrize('name, change', [
    ('another op', lambda m: m.update(op='cap.list')), ('another id', lambda m: m.update(id=make_ulid())), ('a later ts', lambda m: m.update(ts=m['ts'] + 1)),
    ('another nonce', lambda m: m.update(n=nonce())), ('other meta', lambda m: m.update(meta={'deadline_ms': 1})),
    ('an unknown member', lambda m: m.update(x=1)), ('another payload', lambda m: m.update(p={'a': 1})),
    ('the other direction\'s kid', lambda m: m['sig'].update(kid='s')), ('another alg', lambda m: m['sig'].update(alg='none')),
    ('no value', lambda m: m['sig'].update(v='A' * 43)),
], ids=lambda value: value if isinstance(value, str) else '')
def test_each_member_is_signed(signed, name, change):
    async def work(client):
        message = client.request('session.ping')
        data = client._decode_own(client.protected(message))
        change(data)
        return await outcome(client, canonical(data).decode())

    assert run(with_session(signed, work)) == ('E_SIG', 4401)


@pytest.mark.parametrize('name, change', [
    ('no sig', lambda m: m.pop('sig')), ('a sig of no form', lambda m: m.update(sig='x')), ('a sig without its value', lambda m: m['sig'].pop('v')),
    ('a sig with more', lambda m: m['sig'].update(more=1)), ('a short value', lambda m: m['sig'].update(v='AAAA')),
], ids=lambda value: value if isinstance(value, str) else '')
def test_a_message_without_a_proper_sig(signed, name, change):
    async def work(client):
        data = client._decode_own(client.protected(client.request('session.ping')))
        change(data)
        await client.socket.send(canonical(data).decode())
        answer = await client.receive()
        return answer['p']['code'], await client.is_alive()

    # E_SHAPE leaves a READY session as it is (section 5).
    assert run(with_session(signed, work)) == ('E_SHAPE', True)


def test_a_signature_of_the_handshake_after_it(signed):
    async def work(client):
        return await outcome(client, client._encode(client.request('session.ping'), client.th1))

    assert run(with_session(signed, work)) == ('E_SIG', 4401)


def test_a_sig_inside_a_record(services):
    async def work(client):
        message = client.request('session.ping', sig={'alg': 'HS256', 'kid': 'c', 'v': 'A' * 43})
        await client.send(message)
        answer = await client.receive()
        return answer['p']['code'], await client.is_alive()

    assert run(with_session(services['encrypted'], work)) == ('E_SHAPE', True)


def records(client, count):
    return [client.protected(client.request('session.ping')) for _ in range(count)]


async def sent(client, data):
    """The err's code and the close code after all of `data`."""
    for one in data:
        with contextlib.suppress(websockets.ConnectionClosed):
            await client.socket.send(one)
    return await client.refusal()


@pytest.mark.parametrize('name, pick, expected', [
    ('dropped', lambda r: [r[0], r[2]], ('E_REPLAY', 4409)), ('doubled', lambda r: [r[0], r[0]], ('E_REPLAY', 4409)),
    ('reordered', lambda r: [r[1], r[0]], ('E_REPLAY', 4409)), ('empty', lambda r: [b''], ('E_PARSE', 4400)),
    ('a header alone', lambda r: [r[0][:12]], ('E_PARSE', 4400)), ('a byte too short for a tag', lambda r: [r[0][:27]], ('E_PARSE', 4400)),
    ('cut off', lambda r: [r[0][:-1]], ('E_SIG', 4401)), ('longer', lambda r: [r[0] + b'\0'], ('E_SIG', 4401)),
    ('of another type', lambda r: [r[0][:1] + b'\x02' + r[0][2:]], ('E_PARSE', 4400)), ('without its mark', lambda r: [b'T' + r[0][1:]], ('E_PARSE', 4400)),
    ('of another epoch', lambda r: [r[0][:2] + b'\0\1' + r[0][4:]], ('E_REPLAY', 4409)),
    ('of the last counter', lambda r: [r[0][:4] + b'\xff' * 8 + r[0][12:]], ('E_REPLAY', 4409)),
    ('a bit of the ciphertext', lambda r: [r[0][:12] + bytes([r[0][12] ^ 1]) + r[0][13:]], ('E_SIG', 4401)),
    ('a bit of the tag', lambda r: [r[0][:-1] + bytes([r[0][-1] ^ 0x80])], ('E_SIG', 4401)),
], ids=lambda value: value if isinstance(value, str) else '')
def test_records_that_were_tampered_with(services, name, pick, expected):
    async def work(client):
        return await sent(client, pick(records(client, 3)))

    assert run(with_session(services['encrypted'], work)) == expected


async def rekeyed(client):
    private, share = keys.make_share(keys.SUITES[client.suite][0])
    client.rekeying = private, share
    answer = await client.ask('session.rekey', {'eph': keys.b64(share)})
    client._rekey(answer['p'])


def test_a_record_of_an_old_epoch(services):
    async def work(client):
        old = client.sender
        await rekeyed(client)
        assert await client.is_alive()
        await client.socket.send(old.seal(canonical(client.request('session.ping'))))
        return await client.refusal()

    assert run(with_session(services['encrypted'], work)) == ('E_REPLAY', 4409)


def test_a_record_of_the_old_epoch_right_after_the_rekey(services):
    async def work(client):
        old = client.sender
        await rekeyed(client)
        await client.socket.send(old.seal(canonical(client.request('session.ping'))))
        return await client.refusal()

    assert run(with_session(services['encrypted'], work)) == ('E_REPLAY', 4409)


def changed(data):
    if isinstance(data, bytes):
        return data[:-1] + bytes([data[-1] ^ 1])
    return data.replace('"t":"res"', '"t":"err"')


@pytest.mark.parametrize('mode', ['simple', 'encrypted'])
@pytest.mark.parametrize('name, edit, codes', [
    ('changed', changed, ('E_SIG', 'InvalidTag')), ('repeated', lambda data: [data, data], ('E_STATE', 'ValueError')),
    ('as another form', lambda data: data.decode('latin-1') if isinstance(data, bytes) else data.encode(), ('E_STATE',)),
], ids=lambda value: value if isinstance(value, str) else '')
def test_the_client_refuses_answers(services, mode, name, edit, codes):
    """After the second answer that is not as the server sent it, the session is over for the client."""
    service = services[mode]

    async def work():
        async with Meddler(service, lambda side, index, data: edit(data) if (side, index) == ('server', 2) else data) as meddler:
            client = raw_of(service)
            client.url = meddler.url
            await client.connect()
            try:
                for _ in range(3):
                    await client.call('session.ping', {})
            except Refused as refused:
                return refused.code
            except (ValueError, InvalidTag, websockets.ConnectionClosed) as error:
                return type(error).__name__
            finally:
                await client.close()

    assert run(work()) in (*codes, 'ConnectionClosedOK', 'ConnectionClosedError')
