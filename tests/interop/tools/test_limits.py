"""What one caller, or a stranger, may use, and what happens at the end of it. docs/wire-3.0.md, section 12."""
import asyncio
import contextlib
import json
import socket
import time

import pytest
import websockets
from raw import raw_of, rss_kib, run
from scp import Refused

SLOW = 'SELECT count(*) FROM range(300000) a, range(300000) b'


async def code_of(awaitable):
    try:
        await awaitable
    except Refused as refused:
        return refused.code
    return None


async def dial_status(client):
    """The HTTP status of a WebSocket that is refused, or 101."""
    try:
        await client.dial()
    except websockets.InvalidStatus as refused:
        return refused.response.status_code, refused.response.headers.get('Retry-After')
    return 101, None


async def close_all(clients):
    for client in clients:
        await client.close()


@pytest.mark.parametrize('limit, count, state', [('limits__connections', 3, 'READY'), ('limits__connections_per_address', 4, 'READY'),
                                                 ('limits__unauthenticated', 2, 'NEGOTIATED'), ('limits__unauthenticated', 2, 'CONNECTED')])
def test_connections_are_capped_before_the_websocket(make_service, limit, count, state):
    lower = {'limits__unauthenticated': 3, 'limits__connections_per_address': 3, 'limits__connections_per_principal': 3}
    service = make_service('simple', **{**(lower if limit == 'limits__connections' else {}), limit: count})

    async def work():
        held = [await raw_of(service).to(state) for _ in range(count)]
        over = raw_of(service)
        refused = await dial_status(over)
        await held.pop().close()
        for _ in range(100):
            again = raw_of(service)
            status, _ = await dial_status(again)
            held.append(again)
            if status == 101:
                break
            await asyncio.sleep(0.02)
        await close_all(held)
        return refused, status

    (status, retry), after = run(work())
    # Over the number of all, the connection is refused before its request is read.
    assert status == 503 and (retry or limit == 'limits__connections')
    assert after == 101, 'a place that was given back is free'


def test_connections_of_a_principal_are_capped_at_auth(make_service):
    service = make_service('basic', limits__connections_per_principal=2)

    async def work():
        token = service.mint('alice')
        held = [await raw_of(service, token=token).to('READY') for _ in range(2)]
        over = await raw_of(service, token=token).to('AUTHENTICATING')
        refused = await over.refusal()
        other = await raw_of(service, token=service.mint('bob')).to('READY')
        await close_all([*held, over, other])
        return refused

    assert run(work()) == ('E_BUSY', 4503)


def test_authenticated_connections_free_the_places_of_strangers(make_service):
    service = make_service('simple', limits__unauthenticated=1)

    async def work():
        held = [await raw_of(service).to('READY') for _ in range(5)]
        await close_all(held)

    run(work())


def test_calls_over_the_rate(make_service):
    service = make_service('simple', limits__calls_per_second=5, limits__burst=5)

    async def work():
        client = raw_of(service)
        await client.connect()
        refusals = []
        for _ in range(8):
            try:
                await client.invoke_tool('files.stat', path='notes/welcome.txt')
            except Refused as refused:
                refusals.append(refused)
        assert refusals and all(one.code == 'E_RATE' and 1 <= one.retry_ms <= 1000 for one in refusals)
        # A second connection of the principal has no rate of its own.
        other = raw_of(service)
        await other.connect()
        assert await code_of(other.invoke_tool('files.stat', path='notes/welcome.txt')) == 'E_RATE'
        await asyncio.sleep(refusals[-1].retry_ms / 1000 + 0.05)
        after = await code_of(client.invoke_tool('files.stat', path='notes/welcome.txt'))
        await close_all([client, other])
        return after

    assert run(work()) is None


def test_calls_in_flight(make_service):
    service = make_service('simple', limits__in_flight=2)

    async def work():
        client = raw_of(service)
        await client.connect()
        running = [asyncio.ensure_future(client.invoke_tool('sql.query', sql=SLOW)) for _ in range(2)]
        await asyncio.sleep(0.2)
        over = await code_of(client.invoke_tool('files.stat', path='notes/welcome.txt'))
        ping = await client.call('session.ping', {})
        for call in running:
            call.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        for _ in range(100):
            after = await code_of(client.invoke_tool('files.stat', path='notes/welcome.txt'))
            if after is None:
                break
            await asyncio.sleep(0.02)
        await client.close()
        return over, ping, after

    assert run(work()) == ('E_BUSY', {}, None)


@pytest.mark.parametrize('state, size', [('CONNECTED', 16 * 1024), ('NEGOTIATED', 16 * 1024), ('READY', 1 << 20)])
def test_a_message_over_its_size(service, state, size):
    async def work(length):
        client = await raw_of(service).to(state)
        try:
            data = b'x' * length if client.sender else 'x' * length
            with contextlib.suppress(websockets.ConnectionClosed):
                await client.socket.send(data)
            return (await client.refusal())[1]
        finally:
            await client.close()

    assert run(work(size + 1)) == 4413
    # Not too large: what is wrong with it is another thing.
    assert run(work(size)) == 4400


def test_a_large_message_is_refused_by_its_header_alone(services):
    """The length is in the frame's header: nothing of the message need come for the refusal."""
    service = services['simple']

    async def work():
        client = await raw_of(service).to('READY')
        try:
            before = rss_kib(service)
            # A final text frame that says it has 2^62 bytes, masked, and none of them.
            client.socket.transport.write(b'\x81\xff' + (1 << 62).to_bytes(8, 'big') + b'\0\0\0\0')
            with contextlib.suppress(websockets.ConnectionClosed):
                while True:
                    await asyncio.wait_for(client.socket.recv(), 5)
            return client.socket.close_code, rss_kib(service) - before
        finally:
            await client.close()

    code, growth = run(work())
    assert code == 4413 and growth < 8 * 1024


def test_a_message_in_pieces_counts_whole(services):
    service = services['simple']

    async def work():
        client = await raw_of(service).to('CONNECTED')
        try:
            with contextlib.suppress(websockets.ConnectionClosed):
                await client.socket.send('x' * 1000 for _ in range(20))
            return (await client.refusal())[1]
        finally:
            await client.close()

    assert run(work()) == 4413


@pytest.fixture(scope='module')
def hurried(make_service):
    return make_service('simple', server__hello_timeout='0.3', server__auth_timeout='0.3', server__idle_timeout='1',
                        server__ping_interval='0.5')


@pytest.mark.parametrize('state', ['CONNECTED', 'NEGOTIATED'])
def test_steps_that_do_not_come_in_time(hurried, state):
    async def work():
        client = await raw_of(hurried).to(state)
        began = time.monotonic()
        try:
            _, close = await client.refusal()
            return close, time.monotonic() - began
        finally:
            await client.close()

    close, seconds = run(work())
    assert close == 4408
    assert 0.2 < seconds < 3


def test_half_a_frame_does_not_stop_the_clock(hurried):
    async def work():
        client = await raw_of(hurried).to('CONNECTED')
        try:
            client.socket.transport.write(b'\x81\xfe\x10\x00\0\0\0\0{')
            # The end of the connection takes longer: our answer to the close is lost in the open frame.
            for _ in range(100):
                await asyncio.sleep(0.05)
                if client.socket.protocol.close_rcvd:
                    return client.socket.protocol.close_rcvd.code
        finally:
            await client.close()

    assert run(work()) == 4408


def test_a_peer_that_is_gone_without_a_word(hurried):
    """A connection whose other end answers no ping is given up; nothing tells the server but the silence."""
    async def work():
        client = await raw_of(hurried).to('READY')
        client.socket.transport.pause_reading()  # the pings stay in the kernel
        await asyncio.sleep(1.3)
        client.socket.transport.resume_reading()
        try:
            return await client.refusal()
        finally:
            await client.close()

    assert run(work()) == (None, 4408)


def test_a_slow_reader_of_large_answers(make_service):
    """It is disconnected when the queue is full; what it does not read does not pile up."""
    service = make_service('simple', limits__send_queue_bytes='8MiB')
    (service.folder / 'files/notes/large.txt').write_text('0123456789abcdef' * (1 << 16))  # 1 MiB, twice in an answer

    async def work():
        client = await raw_of(service).to('READY')
        client.socket.transport.pause_reading()
        before = rss_kib(service)
        peak = 0
        for _ in range(40):
            with contextlib.suppress(websockets.ConnectionClosed, ConnectionError):
                await client.send(client.request('tool.invoke', {'tool': 'files.read', 'args': {'path': 'notes/large.txt'}}))
        for _ in range(100):
            peak = max(peak, rss_kib(service) - before)
            if '"session ended"' in service.log.read_text():
                break
            await asyncio.sleep(0.05)
        await client.close()
        return peak

    peak = run(work())
    assert '"session ended"' in service.log.read_text()
    assert peak < 512 * 1024, f'{peak} KiB'

    async def others():
        client = raw_of(service)
        await client.connect()
        answer = await client.invoke_tool('files.stat', path='notes/welcome.txt')
        await client.close()
        return answer['is_error']

    assert run(others()) is False


def test_calls_whose_caller_goes_away(make_service):
    """At whatever moment of its calls a connection breaks, the service goes on."""
    service = make_service('simple', limits__calls_per_second=10_000, limits__burst=10_000)
    (service.folder / 'files/notes/large.txt').write_text('0123456789abcdef' * (1 << 14))
    calls = [('files.read', {'path': 'notes/large.txt'}), ('files.stat', {'path': 'notes/welcome.txt'}), ('sql.query', {'sql': SLOW}),
             ('sql.query', {'sql': 'SELECT 1::INTEGER AS one'})]

    async def leave(number):
        client = await raw_of(service).to('READY')
        for index in range(12):
            tool, args = calls[(number + index) % len(calls)]
            with contextlib.suppress(websockets.ConnectionClosed):
                await client.send(client.request('tool.invoke', {'tool': tool, 'args': args, 'stream': number % 2 == 0}))
        await asyncio.sleep(number % 10 * 0.003)
        await client.close()

    async def work():
        for number in range(40):
            await leave(number)

    run(work())
    assert service.process.alive()
    service.stop()
    assert json.loads(service.run('audit', 'verify').stdout)['unfinished'] == 0, 'each call that began has its end on record'


def test_half_requests_do_not_shut_others_out(make_service):
    """Two hundred connections that never finish their first request."""
    service = make_service('simple')
    held = []
    try:
        for _ in range(200):
            one = socket.create_connection(('127.0.0.1', service.port), 5)
            one.sendall(b'GET /scp/v3 HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgr')
            held.append(one)

        async def work():
            client = raw_of(service)
            await client.connect()
            answer = await client.invoke_tool('files.stat', path='notes/welcome.txt')
            await client.close()
            return answer['is_error']

        assert run(work()) is False
        assert rss_kib(service) < 512 * 1024
    finally:
        for one in held:
            one.close()


def test_abandoned_tls_handshakes_do_not_shut_others_out(make_service):
    service = make_service('basic')
    held = [socket.create_connection(('127.0.0.1', service.port), 5) for _ in range(100)]
    try:
        for one in held[:50]:
            one.sendall(b'\x16\x03\x01\x02\x00\x01')

        async def work():
            client = raw_of(service)
            await client.connect()
            answer = await client.invoke_tool('files.stat', path='notes/welcome.txt')
            await client.close()
            return answer['is_error']

        assert run(work()) is False
    finally:
        for one in held:
            one.close()
