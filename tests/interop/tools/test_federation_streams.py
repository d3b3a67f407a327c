"""Answers of other nodes that no message holds: they come over the link in chunks, whole or not at all. docs/wire-3.0.md, sections 9 and 18.3."""
import asyncio
import json

import pytest
from bridged import await_tools, run, text_of, until
from federated import (
    WAIT,
    FakeNode,
    Federation,
    Signer,
    answer_of,
    await_call,
    calls_of,
    node_client,
    record_of,
)
from own_tools import sections
from raw import rss_kib
from scp import Refused
from stack import ports
from test_modes import session
from tool_clients import client_of
from tool_stack.hooks import Hook

MIB = 1 << 20
CHUNK = 48 << 10
GRANTS = 'cap:list,tool:invoke:tools.*,tool:invoke:node-b.*,tool:invoke:node-c.*'
# So many bytes of a character that has two.
BIG = {'kind': 'command', 'program': '/bin/sh', 'arguments': ['-c', 'yes é | tr -d "\\n" | head -c "$1"', 'sh', '{bytes}'], 'timeout': 60,
       'answer_max': '64MiB', 'parameters': {'bytes': {'type': 'integer', 'minimum': 0}}}
OWN = {**sections({'big': BIG}), 'security.api_key_scopes': GRANTS, 'cluster.peer_scopes': GRANTS}
LARGE = 18 * MIB  # over the 16 MiB that no message of a server exceeds


def text(size):
    return 'é' * (size // 2)


@pytest.fixture(scope='module')
def three(tmp_path_factory, authority):
    """node-a calls node-b, which calls node-c. What one of them answers is larger for each that is nearer to the tool."""
    folder = tmp_path_factory.mktemp('three')
    signer = Signer('node-x')
    changes = {'node-a': {**OWN, 'limits.output_bytes': '20MiB', 'limits.send_queue_bytes': '16MiB'},
               'node-b': {**OWN, 'limits.output_bytes': '24MiB'}, 'node-c': {**OWN, 'limits.output_bytes': '24MiB'}}
    made = Federation(folder, authority, {'node-a': ['node-b'], 'node-b': ['node-c'], 'node-c': []}, changes=changes,
                      strangers={'node-x': ('-', signer.write_public(folder))})
    made.signer = signer
    yield made.start()
    made.stop()


def at(node, work, tools=()):
    async def connected(client):
        await await_tools(client, tools)
        return await work(client)

    return run(session(client_of(node), connected))


def connections(node, other):
    lines = [json.loads(line) for line in node.log.read_text().splitlines() if '"federation: connected"' in line]
    return len([one for one in lines if one['node'] == other])


async def refused(client, tool, **options):
    with pytest.raises(Refused) as caught:
        await client.invoke_tool(tool, **options)
    return caught.value


@pytest.mark.parametrize('node, tool', [('node-b', 'tools.big'), ('node-a', 'node-b.tools_big'), ('node-a', 'node-b.node-c_tools_big')])
def test_an_answer_that_no_message_holds_comes_whole(three, node, tool):
    """At the tool's own node, over one link and over two."""
    answer, parts = at(three[node], lambda client: client.invoke_streamed(tool, bytes=LARGE), [tool])
    assert answer['content'] == [{'type': 'data', 'media_type': 'text/plain', 'bytes': LARGE, 'streamed': True}]
    assert list(parts) == [0] and parts[0] == text(LARGE).encode()
    assert answer['usage']['bytes'] == LARGE + len('text/plain')


def test_an_answer_is_as_long_as_a_message_of_the_node_in_front_where_its_caller_wants_it_in_one(three):
    """What node-b cannot send in one message reaches a caller of node-a, whose messages may be longer."""
    size = 5 * MIB
    tool = 'node-b.tools_big'

    async def there(client):
        return (await refused(client, 'tools.big', bytes=size)).code

    async def here(client):
        return text_of(await client.invoke_tool(tool, bytes=size)), (await refused(client, tool, bytes=LARGE)).code

    assert at(three['node-b'], there) == 'E_LIMIT'
    assert at(three['node-a'], here, [tool]) == (text(size), 'E_LIMIT')


def test_a_small_answer_has_no_chunks(three):
    answer, parts = at(three['node-a'], lambda client: client.invoke_streamed('node-b.tools_big', bytes=64 << 10), ['node-b.tools_big'])
    assert parts == {} and answer['content'][0]['text'] == text(64 << 10)


def test_both_trails_say_of_a_large_answer_what_they_say_of_a_small_one(three):
    async def work(client):
        small = await client.invoke_tool('node-b.tools_big', bytes=10)
        large, _ = await client.invoke_streamed('node-b.tools_big', bytes=LARGE)
        return small['audit'], large['audit']

    found = []
    for receipt in at(three['node-a'], work, ['node-b.tools_big']):
        here = await_call(three['node-a'], lambda line: line['seq'] == receipt['seq'], 'the record at node-a')
        there = await_call(three['node-b'], lambda line: line['rid'] == here['rid'], 'the record at node-b')
        found.append((here, there))
    for small, large in zip(*found):
        assert small.keys() == large.keys()
        assert (large['result']['status'], large['result']['bytes']) == ('ok', LARGE + len('text/plain'))
        assert small['result'].keys() == large['result'].keys() and small['decision'] == large['decision']


def test_an_answer_over_the_limit_of_the_node_in_front_is_refused_there_and_costs_no_link(three):
    tool = 'node-b.tools_big'

    async def work(client):
        return await refused(client, tool, bytes=22 * MIB), text_of(await client.invoke_tool(tool, bytes=4))

    told, after = at(three['node-a'], work, [tool])
    assert (told.code, told.message) == ('E_LIMIT', "the tool's answer is too large") and after == 'éé'
    assert connections(three['node-a'], 'node-b') == 1
    here = calls_of(three['node-a'], tool)[-2]
    assert here['result']['status'] == 'E_LIMIT' and here['decision']['stage'] == 'execute'
    there = await_call(three['node-b'], lambda line: line['rid'] == here['rid'], 'the record at node-b')
    assert there['result']['status'] == 'ok'


@pytest.mark.parametrize('whose', ['of a node', 'of a caller'])
def test_a_small_answer_is_not_held_up_by_a_large_one_on_the_same_link(three, whose):
    """Who asks reads more slowly than node-b writes, and wants something small when the large answer has begun."""
    node = three['node-b']

    async def work(client):
        order, begun = [], asyncio.Event()

        def heard(payload):
            order.append('chunk')
            begun.set()

        async def ask(name, arguments, events=None):
            payload = {'tool': 'tools.big', 'args': arguments, 'stream': True}
            if whose == 'of a node':
                payload['proofs'] = [three.signer.forward_proof('node-b', client.session['session_id'], 'tools.big', arguments)]
            await client.call('fed.forward' if whose == 'of a node' else 'tool.invoke', payload, events=events)
            order.append(name)

        large = asyncio.create_task(ask('large', {'bytes': LARGE}, heard))
        await begun.wait()
        await asyncio.gather(*(ask('small', {'bytes': 2}) for _ in range(3)))
        await large
        return order

    order = run(session(node_client(three.signer, node) if whose == 'of a node' else client_of(node), work))
    chunks = -(-LARGE // CHUNK)
    assert order.count('chunk') == chunks and order[-1] == 'large'
    last_small = max(at for at, what in enumerate(order) if what == 'small')
    assert order.count('small') == 3 and order[:last_small].count('chunk') < 2 * chunks / 3, order


def test_a_large_answer_that_nobody_wants_any_more_stops(three):
    async def work(client):
        chunks, begun = [], asyncio.Event()

        def heard(payload):
            chunks.append(payload)
            begun.set()

        call = asyncio.create_task(client.call('tool.invoke', {'tool': 'tools.big', 'args': {'bytes': LARGE}, 'stream': True}, events=heard))
        await begun.wait()
        call.cancel()
        async with asyncio.timeout(WAIT):
            while client.waiting:  # The err that ends it.
                await asyncio.sleep(0.02)
        return len(chunks)

    assert at(three['node-b'], work) < 2 * (LARGE // CHUNK) / 3


@pytest.fixture
def filtered(tmp_path, authority):
    """node-a asks a filter about every answer, `hook.answer` says what of it is shown."""
    hook = Hook(lambda question: hook.answer(question))
    made = Federation(tmp_path / 'filtered', authority, {'node-a': ['node-b'], 'node-b': []}, changes={
        'node-a': {**OWN, 'hooks.filter_url': hook.url, 'hooks.filter_timeout': '20'}, 'node-b': OWN})
    made.hook = hook
    yield made.start()
    made.stop()
    hook.stop()


def test_chunks_are_made_of_the_answer_that_the_filter_in_front_has_left(filtered):
    size = 3 * MIB
    tool = 'node-b.tools_big'
    filtered.hook.answer = lambda question: {'action': 'redact', 'redactions': 2, 'content': [
        {'type': 'text/plain', 'text': question['content'][0]['text'].replace('é', 'e')}]}
    answer, parts = at(filtered['node-a'], lambda client: client.invoke_streamed(tool, bytes=size), [tool])
    assert parts == {0: b'e' * (size // 2)} and answer['redactions'] == 2
    assert [len(one['content'][0]['text']) for one in filtered.hook.asked] == [size // 2]
    filtered.hook.answer = lambda question: {'action': 'block'}
    heard = []

    async def blocked(client):
        with pytest.raises(Refused) as caught:
            await client.call('tool.invoke', {'tool': tool, 'args': {'bytes': size}, 'stream': True}, events=heard.append)
        return caught.value.code

    assert at(filtered['node-a'], blocked, [tool]) == 'E_POLICY' and heard == []


# node-b is this test.

@pytest.fixture
def liar(tmp_path, authority):
    port = ports.any_free()
    signer = Signer('node-b')
    made = Federation(tmp_path / 'liar', authority, {'node-a': ['node-b']}, mode='simple', changes={'node-a': {'limits.in_flight': 64}},
                      strangers={'node-b': (f'ws://127.0.0.1:{port}', signer.write_public(tmp_path))})
    node = made['node-a']
    made.fake = FakeNode(signer, port, node.secret('secret_key'), node.secret('kdf_salt'), [
        record_of('echo.say', limits={'time_ms': 60_000, 'output_bytes': MIB})])
    yield made.start()
    made.stop()
    made.fake.stop()


SAY = 'node-b.echo_say'


def streamed(size, media='image/png'):
    return {'type': 'data', 'media_type': media, 'bytes': size, 'streamed': True}


def with_content(*parts):
    return {**answer_of(''), 'content': list(parts)}


def at_liar(liar, work):
    return at(liar['node-a'], work, [SAY])


async def answer_in_chunks(link, message, chunks, *content):
    for seq, (index, data) in enumerate(chunks):
        await link.chunk(message, seq, index, data)
    await link.answer(message, with_content(*content))


HONEST = [(0, b'abc'), (0, b'd'), (2, b'xyz')], (streamed(4), answer_of('whole')['content'][0], streamed(3, 'text/plain'))
LIES = {
    'more than announced': ([(0, b'abc'), (0, b'd')], [streamed(3)]),
    'less than announced': ([(0, b'ab')], [streamed(3)]),
    'none of what is announced': ([], [streamed(3)]),
    'of another part': ([(1, b'abc')], [streamed(3)]),
    'of no part': ([(0, b'abc'), (1, b'd')], [streamed(3)]),
    'back to a part that is over': ([(0, b'a'), (1, b'b'), (0, b'c')], [streamed(2), streamed(1)]),
    'an index under 0': ([(-1, b'abc')], [streamed(3)]),
    'an index over all parts': ([(1024, b'abc')], [streamed(3)]),
    'a chunk that is too large': ([(0, b'x' * (CHUNK + 1))], [streamed(CHUNK + 1)]),
    'an empty chunk': ([(0, b'')], [streamed(0)]),
    'no base64url': ([(0, 'YWJj=')], [streamed(3)]),
    'text that is none': ([(0, b'\xff')], [streamed(1, 'text/plain')]),
}


def test_a_node_that_lies_about_chunks_ends_that_call_and_no_other(liar):
    lie = None
    held = asyncio.Event()

    async def forward(link, message):
        if message['p']['args'] == {'word': 'held'}:
            while not held.is_set():
                await asyncio.sleep(0.02)
            return await answer_in_chunks(link, message, HONEST[0], *HONEST[1])
        await answer_in_chunks(link, message, lie[0], *lie[1])

    liar.fake.forward = forward

    async def work(client):
        nonlocal lie
        other = asyncio.create_task(client.invoke_tool(SAY, word='held'))
        await asyncio.to_thread(until, lambda: liar.fake.asked, 'the call that goes on', WAIT)
        for name, lie in LIES.items():
            told = await refused(client, SAY, word='x')
            assert (told.code, told.message) == ('E_UPSTREAM', "the node's answer is not one"), name
        held.set()
        assert [part.get('text') for part in (await other)['content']] == [None, 'whole', 'xyz']
        lie = HONEST
        assert (await client.invoke_tool(SAY, word='x'))['content'][0] == {'type': 'data', 'media_type': 'image/png', 'data': 'YWJjZA'}

    at_liar(liar, work)
    assert liar.fake.links == 1
    assert all(message['p']['stream'] is True for message in liar.fake.asked if message['t'] == 'req')
    failed = [json.loads(line) for line in liar['node-a'].log.read_text().splitlines() if '"call failed"' in line]
    assert len(failed) == len(LIES) and all(line['code'] == 'E_UPSTREAM' and line['detail'] for line in failed)


def test_a_node_that_sends_without_end_is_told_to_stop_and_then_cut_off(liar):
    """No more is gathered than the tool may answer; what comes after that is counted and let go."""
    async def forward(link, message):
        over = MIB // CHUNK + 1
        for seq in range(over):
            await link.chunk(message, seq, 0, b'x' * CHUNK)
        while not any(one['t'] == 'cancel' for one in liar.fake.asked):
            await asyncio.sleep(0.02)
        for seq in range(over, 20_000):
            await link.chunk(message, seq, 0, b'xyz')

    liar.fake.forward = forward
    before = rss_kib(liar['node-a'])

    async def work(client):
        told = await refused(client, SAY, deadline_ms=60_000)
        assert (told.code, told.message) == ('E_LIMIT', "the tool's answer is too large")
        assert rss_kib(liar['node-a']) - before < 32 << 10
        await asyncio.to_thread(until, lambda: liar.fake.links > 1, 'another link', WAIT)

    at_liar(liar, work)
    assert 'the server sends too many events for one request' in liar['node-a'].log.read_text()


@pytest.mark.parametrize('place', ['after the end', 'of a request that is over', 'of a request that never was', 'out of turn', 'of a list'])
def test_a_chunk_that_belongs_to_no_call_costs_the_link(liar, place):
    async def forward(link, message):
        if message['p']['args'] == {'word': 'held'}:
            return
        if place == 'after the end':
            await answer_in_chunks(link, message, [(0, b'abc')], streamed(3))
            return await link.chunk(message, 1, 0, b'd')
        if place == 'of a request that is over':
            await link.answer(message, answer_of('done'))
            return await link.chunk(message, 0, 0, b'd')
        if place == 'out of turn':
            return await link.chunk(message, 1, 0, b'abc')
        request = {**message, 'id': '0' * 25 + '1'}
        if place == 'of a list':
            request = link.waits
        await link.chunk(request, 0, 0, b'abc')

    liar.fake.forward = forward

    async def work(client):
        held = asyncio.create_task(refused(client, SAY, word='held'))
        await asyncio.to_thread(until, lambda: liar.fake.asked, 'the call that goes on', WAIT)
        try:
            answer = await client.invoke_tool(SAY, word='x')
            assert place in ('after the end', 'of a request that is over') and not answer['is_error']
        except Refused as told:
            assert told.code == 'E_UPSTREAM'
        assert (await held).code == 'E_UPSTREAM'
        await asyncio.to_thread(until, lambda: liar.fake.links > 1, 'another link', WAIT)
        await client.invoke_tool('sql.query', sql='SELECT 1')

    at_liar(liar, work)
    assert '"reason":"the server sent what was not asked for"' in liar['node-a'].log.read_text()


def test_a_deadline_ends_a_call_whose_chunks_still_come(liar):
    async def forward(link, message):
        for seq in range(1_000):
            await link.chunk(message, seq, 0, b'xyz')
            await asyncio.sleep(0.02)
            if any(one['t'] == 'cancel' for one in liar.fake.asked):
                return await link.refuse(message, 'E_CANCELLED', 4990)

    liar.fake.forward = forward

    async def work(client):
        assert (await refused(client, SAY, deadline_ms=700)).code == 'E_TIMEOUT'
        await asyncio.to_thread(until, lambda: any(one['t'] == 'cancel' for one in liar.fake.asked), 'the cancellation', WAIT)
        await client.invoke_tool('sql.query', sql='SELECT 1')

    at_liar(liar, work)
    assert liar.fake.links == 1


def test_a_caller_that_goes_away_between_two_chunks_is_told_to_the_node(liar):
    sent = asyncio.Event()

    async def forward(link, message):
        await link.chunk(message, 0, 0, b'abc')
        sent.set()
        while not any(one['t'] == 'cancel' for one in liar.fake.asked):
            await asyncio.sleep(0.02)
        await link.chunk(message, 1, 0, b'def')  # was on its way
        await link.refuse(message, 'E_CANCELLED', 4990)

    liar.fake.forward = forward

    async def work(client):
        call = asyncio.create_task(client.invoke_tool(SAY))
        await asyncio.to_thread(until, sent.is_set, 'the first chunk', WAIT)
        call.cancel()
        await asyncio.to_thread(until, lambda: liar.fake.asked[-1]['t'] == 'cancel', 'the cancellation', WAIT)
        liar.fake.forward = lambda link, message: link.answer(message, answer_of('after'))
        assert text_of(await client.invoke_tool(SAY)) == 'after'

    at_liar(liar, work)
    assert liar.fake.links == 1


def test_what_came_over_a_link_that_was_lost_is_no_part_of_the_answer(liar):
    async def forward(link, message):
        if len(liar.fake.asked) < 2:
            await link.chunk(message, 0, 0, b'lost')
            return link.socket.transport.abort()
        await answer_in_chunks(link, message, [(0, b'new')], streamed(3, 'text/plain'))

    liar.fake.forward = forward

    async def work(client):
        return text_of(await client.invoke_tool(SAY, idempotency_key='act-1', deadline_ms=60_000))

    assert at_liar(liar, work) == 'new'
    assert [one['p']['stream'] for one in liar.fake.asked] == [True, True]
