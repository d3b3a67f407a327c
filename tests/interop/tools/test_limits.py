"""What one caller, or a stranger, may use, and what happens at the end of it. docs/wire-3.0.md, section 12."""
import asyncio
import contextlib
import json
import secrets
import socket
import threading
import time

import pytest
import websockets
from raw import raw_of, rss_kib, run
from scp import Refused
from tool_stack.consent import ConsentHook

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


@pytest.mark.parametrize('limit, count', [('limits__connections', 3), ('limits__connections_per_address', 4)])
def test_connections_are_capped_before_the_websocket(make_service, limit, count):
    lower = {'limits__unauthenticated': 3, 'limits__connections_per_address': 3, 'limits__connections_per_principal': 3}
    service = make_service('simple', **{**(lower if limit == 'limits__connections' else {}), limit: count})

    async def work():
        held = [await raw_of(service).to('READY') for _ in range(count)]
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
    assert status == 503 and retry == '1'
    assert after == 101, 'a place that was given back is free'


@pytest.mark.parametrize('limit', ['limits__unauthenticated', 'limits__connections_per_address'])
@pytest.mark.parametrize('state', ['NEGOTIATED', 'CONNECTED'])
def test_a_stranger_too_many_takes_the_place_of_the_oldest(make_service, limit, state):
    service = make_service('simple', **{limit: 3})

    async def work():
        known = await raw_of(service).to('READY')
        oldest = await raw_of(service).to(state)
        others = [await raw_of(service).to(state) for _ in range(3 if limit == 'limits__unauthenticated' else 2)]
        cut = await oldest.refusal(5)
        await raw_of(service).connect()
        alive = await known.is_alive()
        await close_all([known, oldest, *others])
        return cut, alive

    assert run(work()) == ((None, 1006), True)


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


@pytest.mark.parametrize('op, payload', [('session.ping', {}), ('cap.list', {}), ('cap.get', {'tool': 'files.read'}), ('admin.audit.head', {}),
                                         ('tool.invoke', {'tool': 'files.stat', 'args': {'path': 'notes/welcome.txt'}})])
def test_every_request_is_counted(make_service, op, payload):
    service = make_service('simple', limits__calls_per_second=1, limits__burst=10)

    async def work():
        client = await raw_of(service).to('READY')
        answers = [await client.ask(op, payload) for _ in range(12)]
        await client.close()
        return [answer['p'].get('code') for answer in answers]

    codes = run(work())
    assert codes[:10] == [None] * 10 and 'E_RATE' in codes[10:]


def test_refreshes_are_few(make_service):
    service = make_service('simple', limits__calls_per_second=1000, limits__burst=1000)

    async def work():
        client = await raw_of(service).to('READY')
        answers = [await client.ask('session.refresh') for _ in range(6)]
        alive = await client.is_alive()
        await client.close()
        return [answer['p'].get('code') for answer in answers], answers[-1]['p']['retry_ms'], alive

    codes, retry, alive = run(work())
    assert codes == [None] * 5 + ['E_RATE'] and 0 < retry <= 10_000 and alive


@pytest.mark.parametrize('op, payload, code', [('tool.invoke', {'tool': 'no.tool', 'args': {}}, 'E_TOOL'), ('flow.run', {}, 'E_OP'),
                                               ('cap.get', {'tool': 'no.tool'}, 'E_TOOL'), ('session.ping', {}, 'E_RATE')])
def test_who_is_refused_again_and_again_is_disconnected(make_service, op, payload, code):
    """After so many refusals, whatever they are for; another connection of the same principal does not help."""
    service = make_service('basic', limits__calls_per_second=5, limits__burst=10)
    token, other = service.mint('mallory'), service.mint('alice')

    async def flood():
        client = await raw_of(service, token=token).to('READY')
        codes = []
        try:
            for _ in range(200):
                answer = await client.ask(op, payload)
                codes.append(answer['p'].get('code'))
        except websockets.ConnectionClosed:
            pass
        finally:
            await client.close()
        return codes, client.socket.close_code

    async def bystander():
        client = raw_of(service, token=other)
        await client.connect()
        answer = await client.invoke_tool('files.stat', path='notes/welcome.txt')
        await client.close()
        return answer['is_error']

    codes, close = run(flood())
    assert close == 4429 and 60 < len(codes) < 90 and code in codes
    codes, close = run(flood())
    assert close == 4429 and len(codes) < 20
    assert run(bystander()) is False


def test_slow_calls_of_one_principal_leave_room_for_others(make_service):
    """Eight statements run at once; one caller has four of these places, however many it asks for."""
    service = make_service('basic')
    greedy, other = service.mint('mallory'), service.mint('alice')

    async def work():
        held = [raw_of(service, token=greedy) for _ in range(2)]
        for client in held:
            await client.connect()
        slow = [asyncio.ensure_future(client.invoke_tool('sql.query', sql=SLOW)) for client in held for _ in range(6)]
        await asyncio.sleep(0.5)
        client = raw_of(service, token=other)
        await client.connect()
        began = time.monotonic()
        answer = await client.invoke_tool('sql.query', sql='SELECT 1 AS one')
        seconds = time.monotonic() - began
        await client.close()
        for call in slow:
            call.cancel()
        await asyncio.gather(*slow, return_exceptions=True)
        await close_all(held)
        return answer['is_error'], seconds

    failed, seconds = run(work())
    assert failed is False and seconds < 5


def test_calls_that_get_no_place_until_their_deadline_are_busy(make_service):
    """One caller has four of the eight places: what waits behind its own calls is refused, and never ran."""
    service = make_service('basic', connectors__sql__timeout='5')

    async def work():
        client = raw_of(service, token=service.mint('mallory'))
        await client.connect()
        running = [asyncio.ensure_future(client.invoke_tool('sql.query', sql=SLOW)) for _ in range(4)]
        await asyncio.sleep(0.3)
        waited = []
        for _ in range(2):
            try:
                await client.invoke_tool('sql.query', sql='SELECT 1', deadline_ms=500)
            except Refused as refused:
                waited.append((refused.code, refused.retry_ms))
        for call in running:
            call.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        after = await client.invoke_tool('sql.query', sql='SELECT 1', deadline_ms=5000)
        await client.close()
        return waited, after['is_error']

    assert run(work()) == ([('E_BUSY', 1000)] * 2, False)
    trail = [json.loads(line) for file in sorted(service.audit.glob('*.jsonl')) for line in file.read_text().splitlines()]
    busy = [line for line in trail if line['kind'] == 'seal' and line['decision'].get('code') == 'E_BUSY']
    assert len(busy) == 2 and not any('result' in line for line in busy)


def test_unanswered_questions_of_one_principal_leave_room_for_others(make_service):
    """Nobody answers for mallory; alice is asked about, and gets her answer, at once."""
    hook = ConsentHook()
    enough = threading.Event()
    hook.hold = lambda question: enough.wait(30) if question['principal'] == 'mallory' else None
    service = make_service('basic', hooks__consent_url=hook.url)
    greedy, other = service.mint('mallory'), service.mint('alice')

    async def write(client, number):
        return await client.invoke_tool('files.write', path=f'notes/asked-{number}.txt', content='x', mode='replace')

    async def work():
        flood = raw_of(service, token=greedy)
        await flood.connect()
        waiting = [asyncio.ensure_future(write(flood, number)) for number in range(40)]
        while len(hook.asked) < 16:
            await asyncio.sleep(0.01)
        client = raw_of(service, token=other)
        await client.connect()
        answer = await asyncio.wait_for(write(client, 'alice'), 5)
        asked = len([one for one in hook.asked if one['principal'] == 'mallory'])
        for call in waiting:
            call.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        await close_all([client, flood])
        return answer['is_error'], asked

    try:
        assert run(work()) == (False, 16)
    finally:
        enough.set()
        hook.stop()


def test_lines_about_strangers_are_few(make_service):
    service = make_service('simple', server__workers=1)

    async def work():
        for _ in range(60):
            client = await raw_of(service, secret_key=secrets.token_urlsafe(32)).to('CONNECTED')
            await client.socket.send('{}')
            await client.refusal()
            await client.close()
        await asyncio.sleep(1.1)
        client = await raw_of(service).to('CONNECTED')
        await client.close()

    run(work())
    for _ in range(100):
        lines = [json.loads(line) for line in service.log.read_text().splitlines()]
        left_out = sum(line['count'] for line in lines if 'left out' in line.get('msg', ''))
        if left_out:
            break
        time.sleep(0.02)
    about = [line for line in lines if line.get('msg') in ('session refused', 'session ended')]
    assert left_out > 0 and left_out + len(about) == 121


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
    """It is disconnected in time, and what it does not read is bounded by its calls in flight."""
    service = make_service('simple', server__write_timeout='1')
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
    assert json.loads(service.run('audit', 'verify', '--json').stdout)['unfinished'] == 0, 'each call that began has its end on record'


HALF_A_HEAD = b'GET /scp/v3 HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgr'
UPGRADE = (b'GET /scp/v3 HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n'
           b'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: scp.v3.json\r\n\r\n')
ONE_ADDRESS = ['127.0.0.1']  # the caller's own
MANY_ADDRESSES = [f'127.0.1.{last}' for last in range(1, 41)]


def stranger(service, address, first=b'', tls=None):
    """A connection from `address` that sends `first`, or that shakes hands with `tls`, and nothing more."""
    one = socket.create_connection(('127.0.0.1', service.port), 10, source_address=(address, 0))
    with contextlib.suppress(OSError):  # closed already, for another stranger
        if first:
            one.sendall(first)
        if tls:
            return tls.wrap_socket(one, server_hostname='127.0.0.1')
    return one


@contextlib.contextmanager
def strangers(service, count, addresses, **habits):
    held = []
    try:
        held += (stranger(service, addresses[number % len(addresses)], **habits) for number in range(count))
        yield held
    finally:
        for one in held:
            one.close()


def seconds_of_a_call(service):
    """How long a caller who comes now takes for its handshake and a call."""
    async def work():
        client = raw_of(service)
        await client.connect()
        answer = await client.invoke_tool('files.stat', path='notes/welcome.txt')
        await client.close()
        assert answer['is_error'] is False

    began = time.monotonic()
    run(work())
    return time.monotonic() - began


@pytest.mark.parametrize('addresses', [ONE_ADDRESS, MANY_ADDRESSES], ids=['one address', 'many addresses'])
@pytest.mark.parametrize('mode, habit', [('simple', 'silent'), ('simple', 'half a head'), ('simple', 'upgraded'), ('basic', 'silent'),
                                         ('basic', 'half a ClientHello'), ('basic', 'hands shaken')])
def test_more_strangers_than_places_shut_nobody_out(services, mode, habit, addresses):
    """1,100 connections that never come to a credential, where there is room for 1,024, 64 of an address and 128 strangers."""
    service = services[mode]
    habits = {'silent': {}, 'half a head': {'first': HALF_A_HEAD}, 'upgraded': {'first': UPGRADE},
              'half a ClientHello': {'first': b'\x16\x03\x01\x02\x00\x01'}, 'hands shaken': {'tls': service.authority.client_tls()}}
    with strangers(service, 1100, addresses, **habits[habit]):
        assert seconds_of_a_call(service) < 3
        assert seconds_of_a_call(service) < 3
    assert rss_kib(service) < 512 * 1024


def test_two_addresses_do_not_take_all_places_of_strangers(services):
    service = services['simple']
    with strangers(service, 128, ['127.0.0.2', '127.0.0.3'], first=UPGRADE) as held:
        assert all(one.recv(12) == b'HTTP/1.1 101' for one in held)
        for _ in range(5):
            assert seconds_of_a_call(service) < 2


def test_strangers_that_keep_coming_shut_nobody_out(services):
    service = services['simple']
    enough = threading.Event()

    def come_again(address):
        while not enough.is_set():
            with strangers(service, 200, [address], first=UPGRADE):
                pass

    crowd = [threading.Thread(target=come_again, args=[address]) for address in ('127.0.0.2', '127.0.0.3')]
    for one in crowd:
        one.start()
    try:
        for _ in range(10):
            assert seconds_of_a_call(service) < 3
    finally:
        enough.set()
        for one in crowd:
            one.join()


def test_a_stranger_who_ignores_the_close_has_its_time_once(hurried):
    with strangers(hurried, 1, ONE_ADDRESS, first=UPGRADE) as [one]:
        began = time.monotonic()
        with contextlib.suppress(ConnectionError):
            while one.recv(4096):
                pass
        seconds = time.monotonic() - began
    assert 0.2 < seconds < 0.3 + 1 + 1


def test_a_body_is_refused_by_its_head(services):
    """900 strangers who each bring most of a megabyte: nothing of it is kept."""
    service = services['simple']
    before = rss_kib(service)
    body = b'POST /x HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1048576\r\n\r\n' + b'x' * 200_000
    with strangers(service, 900, MANY_ADDRESSES, first=body):
        with strangers(service, 1, ONE_ADDRESS, first=body[:200]) as [one]:
            assert one.recv(12) == b'HTTP/1.1 413'
        assert rss_kib(service) - before < 64 * 1024
        assert seconds_of_a_call(service) < 3
