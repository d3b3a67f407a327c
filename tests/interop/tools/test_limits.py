"""What one caller, or a stranger, may use, and what happens at the end of it. docs/wire-3.0.md, section 12."""
import asyncio
import contextlib
import json
import threading
import time

import pytest
import websockets
from raw import raw_of, rss_kib, run
from scp import Refused
from tool_stack.hooks import ConsentHook

SLOW = 'SELECT count(*) FROM range(300000) a, range(300000) b'


async def code_of(awaitable):
    try:
        await awaitable
    except Refused as refused:
        return refused.code
    return None


async def close_all(clients):
    for client in clients:
        await client.close()


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


@pytest.mark.parametrize('op, payload, code', [('tool.invoke', {'tool': 'no.tool', 'args': {}}, 'E_TOOL'), ('no.such', {}, 'E_OP'),
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
