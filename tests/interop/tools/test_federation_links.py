"""What becomes of calls and of workflows when a link is lost, or a node is killed, after the call was sent. The tool notes each of its
runs, and ends when the test lets it."""
import asyncio
import json
import os
import signal
import time

import pytest
from bridged import audit_lines, await_tools, run, until
from cut_proxy import CutProxy
from federated import (
    WAIT,
    FakeNode,
    Federation,
    Signer,
    answer_of,
    calls_of,
    record_of,
)
from own_tools import sections
from scp import Refused, keys
from scp.client import make_ulid
from stack import ports
from test_command_tools import script
from test_idempotency import ONCE, Place, code_of
from test_workflows import states, workflow
from tool_clients import client_of

FAR = 'node-b.tools_once'
GRANTS = 'cap:list,flow:run,tool:invoke:tools.*,tool:invoke:node-b.*'


def tools(folder):
    """`once` may be called once; `same` is the same tool, and says that it can be called twice."""
    one = {'kind': 'command', 'program': script(folder, 'once', ONCE), 'arguments': ['{place}'], 'timeout': 120,
           'parameters': {'place': {'type': 'string'}}, 'read_only': False, 'consent': 'never'}
    return {**sections({'once': one, 'same': {**one, 'idempotent': True}}), 'security.api_key_scopes': GRANTS}


def step(place, **more):
    return {'name': 'far', 'tool': FAR, 'args': {'place': str(place.path)}, 'timeout_ms': 60_000, **more}


NEXT = {'name': 'next', 'tool': 'tools.once', 'after': ['far']}


class Pair:
    """node-a calls node-b, by `proxy` where there is one."""

    def __init__(self, folder, authority, proxy_port=None, **changes):
        folder.mkdir(parents=True, exist_ok=True)
        own = {name: {**tools(folder), **changes} for name in ('node-a', 'node-b')}
        self.nodes = Federation(folder / 'nodes', authority, {'node-a': ['node-b'], 'node-b': []}, changes=own)
        self.a, self.b = self.nodes['node-a'], self.nodes['node-b']
        if proxy_port:
            self.a.settings['cluster.peers'] = [f'node-b ws://127.0.0.1:{proxy_port}/scp/v3 {self.nodes.keys["node-b"][1]}']

    async def __aenter__(self):
        await asyncio.to_thread(self.nodes.start)
        return self

    async def __aexit__(self, *_):
        await asyncio.to_thread(self.nodes.stop)

    async def client(self):
        client = client_of(self.a)
        await client.connect()
        await await_tools(client, [FAR])
        return client

    def flow(self, *arguments):
        """Of the command line at node-a, and its exit."""
        done = self.a.run('flow', *arguments, check=False)
        return json.loads(done.stdout), done.returncode

    async def kill(self, node):
        os.kill(node.process.pid, signal.SIGKILL)
        await asyncio.to_thread(node.stop)


async def leave(client):
    """The connection is as good as gone, and nobody looks for it."""
    client.leaving = True
    client.socket.transport.abort()
    await client._stop_refreshing()


def repeats(node):
    return [line for line in audit_lines(node) if line['kind'] == 'seal' and line.get('repeats')]


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path, 'place')


@pytest.mark.parametrize('ends', ['while it is away', 'later'])
def test_a_step_whose_link_is_lost_is_asked_for_by_its_key_and_runs_once(tmp_path, authority, place, ends):
    async def work():
        port = ports.any_free()
        async with Pair(tmp_path / 'pair', authority, port) as pair, CutProxy(pair.b.port, port) as proxy:
            client = await pair.client()
            going = asyncio.create_task(client.flow_run(workflow(
                step(place), {**NEXT, 'args': {'place': str(Place(tmp_path, 'next').go().path)}}, output={'far': {'$from': '/steps/far/content/0/text'}})))
            await place.begun()
            proxy.cut()
            if ends == 'while it is away':
                place.go()
            await proxy.reopened()
            place.go()
            answer = await going
            assert states(answer) == ('done', {'far': 'done', 'next': 'done'})
            assert answer['output'] == {'far': 'run 1\n'} and answer['steps'][0]['attempts'] == 1
            assert place.runs == 1
            # node-b was asked again, and answered from its record.
            assert await asyncio.to_thread(until, lambda: repeats(pair.b), 'the repeat at node-b', WAIT)
            await client.disconnect()

    run(work())


def test_a_call_of_a_client_with_a_key_outlives_the_link_and_one_without_does_not(tmp_path, authority):
    async def work():
        port = ports.any_free()
        async with Pair(tmp_path / 'pair', authority, port) as pair, CutProxy(pair.b.port, port) as proxy:
            client = await pair.client()
            for key, answers in (('act-1', True), (None, False)):
                place = Place(tmp_path, f'place-{key}')
                more = {'idempotency_key': key} if key else {}
                call = asyncio.create_task(client.invoke_tool(FAR, place=str(place.path), deadline_ms=60_000, **more))
                await place.begun()
                proxy.cut()
                place.go()
                if answers:
                    assert (await call)['content'][0]['text'] == 'run 1\n'
                    assert (await client.invoke_tool(FAR, place=str(place.path), **more))['repeats']
                else:
                    assert (await code_of(call))[0] == 'E_UPSTREAM'
                assert place.runs == 1
                await await_tools(client, [FAR])
            await client.disconnect()

    run(work())


def test_the_node_that_runs_a_workflow_is_killed_while_another_one_does_a_step(tmp_path, authority, place):
    name = make_ulid()

    async def work():
        async with Pair(tmp_path / 'pair', authority) as pair:
            client = await pair.client()
            near = Place(tmp_path, 'near').go()
            steps = workflow(step(place, after=['near']), {'name': 'near', 'tool': 'tools.once', 'args': {'place': str(near.path)}},
                             {**NEXT, 'args': {'place': str(Place(tmp_path, 'next').go().path)}})
            asyncio.create_task(client.flow_run(steps, run=name))
            await place.begun()
            client.leaving = True
            await pair.kill(pair.a)
            await client._stop_refreshing()
            await asyncio.to_thread(pair.a.start)
            # At once, before node-a has a link: it waits for one.
            going = asyncio.create_task(asyncio.to_thread(pair.flow, 'run', name))
            await asyncio.sleep(1)
            place.go()
            answer, code = await going
            assert (code, *states(answer)) == (0, 'done', {'far': 'done', 'near': 'done', 'next': 'done'})
            assert (place.runs, near.runs, Place(tmp_path, 'next').runs) == (1, 1, 1)
            assert len([line for line in calls_of(pair.b, 'tools.once') if 'result' in line]) == 1

    run(work())


def test_a_link_that_stays_away_leaves_the_run_to_be_asked_about_later(tmp_path, authority, place):
    async def work():
        port = ports.any_free()
        async with Pair(tmp_path / 'pair', authority, port) as pair:
            name = make_ulid()
            async with CutProxy(pair.b.port, port) as proxy:
                client = await pair.client()
                going = asyncio.create_task(client.flow_run(workflow(step(place, timeout_ms=4_000)), run=name))
                await place.begun()
                proxy.server.close()
                proxy.cut()
                place.go()
                answer = await going
                assert states(answer) == ('unknown', {'far': 'unknown'})
                assert 'whether the call did its work is not known' in answer['steps'][0]['msg']
            async with CutProxy(pair.b.port, port) as proxy:
                async with asyncio.timeout(WAIT):
                    while not proxy.connections:
                        await asyncio.sleep(0.02)
                answer, code = await asyncio.to_thread(pair.flow, 'run', name)
                assert (code, *states(answer)) == (0, 'done', {'far': 'done'})
                assert place.runs == 1
            await client.disconnect()

    run(work())


@pytest.mark.parametrize('tool, ends, runs', [('once', ('unknown', {'far': 'unknown'}), 1), ('same', ('done', {'far': 'done'}), 2)])
def test_a_node_that_is_killed_with_a_step_does_not_do_it_again_unless_it_may(tmp_path, authority, place, tool, ends, runs):
    """Whether a step that was cut off did its work nobody can tell; only a tool that says so is called twice."""
    async def work():
        async with Pair(tmp_path / 'pair', authority) as pair:
            client = await pair.client()
            again = {'retry': {'attempts': 3, 'pause_ms': 100}} if tool == 'same' else {}
            going = asyncio.create_task(client.flow_run(workflow(step(place, tool=f'node-b.tools_{tool}', **again))))
            await place.begun()
            await pair.kill(pair.b)
            place.go()
            await asyncio.to_thread(pair.b.start)
            answer = await going
            assert states(answer) == ends and place.runs == runs
            await client.disconnect()

    run(work())


def test_a_node_that_comes_back_is_called_at_once(tmp_path, authority):
    """node-a tries at ever longer intervals. node-b, which is back, calls node-a: then it is there."""
    own = tools(tmp_path)
    nodes = Federation(tmp_path / 'nodes', authority, {'node-a': ['node-b'], 'node-b': ['node-a']}, changes={'node-a': own, 'node-b': own})

    async def work():
        attempts = []

        async def gone(_, writer):
            attempts.append(writer)
            writer.transport.abort()

        async with await asyncio.start_server(gone, '127.0.0.1', nodes['node-b'].port):
            await asyncio.to_thread(nodes['node-a'].start)
            async with asyncio.timeout(WAIT):
                while len(attempts) < 6:  # The next pause is 4 s to 8 s.
                    await asyncio.sleep(0.02)
        client = client_of(nodes['node-a'])
        await client.connect()
        assert (await code_of(client.invoke_tool(FAR, place='x'))) == ('E_BUSY', 'the node of this tool is not connected yet')
        await asyncio.to_thread(nodes['node-b'].start)
        began = time.monotonic()
        await await_tools(client, [FAR])
        assert time.monotonic() - began < 3
        await client.disconnect()

    try:
        run(work())
    finally:
        nodes.stop()


# node-b is this test.

@pytest.fixture
def liar(tmp_path, authority):
    port = ports.any_free()
    signer = Signer('node-b')
    made = Federation(tmp_path / 'liar', authority, {'node-a': ['node-b']}, mode='simple',
                      strangers={'node-b': (f'ws://127.0.0.1:{port}', signer.write_public(tmp_path))})
    node = made['node-a']
    made.fake = FakeNode(signer, port, node.secret('secret_key'), node.secret('kdf_salt'), [record_of('echo.say')])
    yield made.start()
    made.stop()
    made.fake.stop()


def at(liar, work):
    async def connected():
        client = client_of(liar['node-a'])
        await client.connect()
        await await_tools(client, ['node-b.echo_say'])
        await work(client)
        await client.disconnect()

    run(connected())


def test_what_is_asked_for_again_has_the_same_key_the_same_request_and_a_new_proof(liar):
    async def forward(link, message):
        if len(liar.fake.asked) < 3:
            return link.socket.transport.abort()
        await link.answer(message, answer_of('done'))

    liar.fake.forward = forward

    async def work(client):
        answer = await client.invoke_tool('node-b.echo_say', word='x', idempotency_key='act-1', deadline_ms=60_000)
        assert answer['content'][0]['text'] == 'done'

    at(liar, work)
    first, *later = [one['p'] for one in liar.fake.asked]
    assert len(later) == 2 and 'again_ms' not in first
    assert 0 < later[0]['again_ms'] < later[1]['again_ms'] < 60_000
    assert len({one['idem'] for one in (first, *later)}) == 1 and 'act-1' not in json.dumps(first)
    assert len({one['proofs'][0] for one in (first, *later)}) == 3
    claims = [json.loads(keys.unb64(one['proofs'][0].split('.')[1])) for one in (first, *later)]
    assert len({one['rid'] for one in claims}) == 1 and len({one['jti'] for one in claims}) == 3


def test_a_refusal_of_what_was_sent_before_says_nothing_of_whether_it_ran(liar):
    """The node did the call, and has taken our right to it away meanwhile: that is no `it was not done`."""
    async def forward(link, message):
        if len(liar.fake.asked) == 1:
            return link.socket.transport.abort()
        await link.refuse(message, 'E_TOOL', 4041)

    liar.fake.forward = forward

    async def work(client):
        for _ in range(2):
            with pytest.raises(Refused) as caught:
                await client.invoke_tool('node-b.echo_say', word='x', idempotency_key='act-1', deadline_ms=20_000)
            assert caught.value.code == 'E_INTERNAL' and 'is not known' in caught.value.message
        # Sent once, it is what it says.
        with pytest.raises(Refused) as caught:
            await client.invoke_tool('node-b.echo_say', word='x', idempotency_key='act-2')
        assert caught.value.code == 'E_POLICY'

    at(liar, work)
    assert [('again_ms' in one['p']) for one in liar.fake.asked] == [False, True, True, False]


def test_a_list_is_waited_for(liar):
    """One question stands while nothing changes; a change is seen without another one before it."""
    async def work(client):
        before = len(liar.fake.questions)
        await asyncio.to_thread(until, lambda: len(liar.fake.questions) > before, 'a question that waits', WAIT)
        before = len(liar.fake.questions)
        liar.fake.records = [record_of('echo.say'), record_of('echo.more')]
        await await_tools(client, ['node-b.echo_more'])
        # That it is told by is the one that stood; then the list is read, and waited for again.
        assert len(liar.fake.questions) - before <= 2

    at(liar, work)
    assert all(0 < one['wait_ms'] <= 30_000 and one['etag'] for one in liar.fake.questions if 'wait_ms' in one)


def test_a_node_whose_list_never_rests_is_asked_once_a_second(liar):
    liar.fake.restless = True

    async def work(client):
        before, began = len(liar.fake.questions), time.monotonic()
        await asyncio.to_thread(until, lambda: len(liar.fake.questions) - before >= 6, 'six questions', WAIT)
        assert time.monotonic() - began > 1.5
        await client.invoke_tool('sql.query', sql='SELECT 1')

    at(liar, work)


def test_a_call_without_a_key_is_not_sent_again(liar):
    async def forward(link, message):
        link.socket.transport.abort()

    liar.fake.forward = forward

    async def work(client):
        with pytest.raises(Refused) as caught:
            await client.invoke_tool('node-b.echo_say', word='x', deadline_ms=20_000)
        assert caught.value.code == 'E_UPSTREAM'
        links = liar.fake.links
        await asyncio.to_thread(until, lambda: liar.fake.links > links, 'another link', WAIT)

    at(liar, work)
    assert len(liar.fake.asked) == 1
