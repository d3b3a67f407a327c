"""Three real nodes: calls that go on, the time they have, how they end early, and where they must not go."""
import asyncio

import pytest
from bridged import audit_lines, await_tools, run, until
from federated import CALLER, WAIT, Federation, await_call, calls_of, invoke
from scp import Refused
from test_federation import NAP
from test_modes import session
from tool_clients import client_of

FAR = 'node-b.node-c_sql_query'


@pytest.fixture(scope='module')
def three(tmp_path_factory, authority):
    """node-a calls node-b, and node-b node-c; node-c calls node-a, so that there is a loop to be gone."""
    made = Federation(tmp_path_factory.mktemp('three'), authority, {'node-a': ['node-b'], 'node-b': ['node-c'], 'node-c': ['node-a']},
                      changes={'node-c': NAP})
    yield made.start()
    made.stop()


def test_a_call_goes_by_two_nodes_and_every_trail_has_its_way(three):
    async def work(client):
        answer = await invoke(client, FAR, sql='SELECT 3 AS nodes')
        record = next(one for one in await client.list_capabilities() if one['id'] == FAR)
        return answer, record

    answer, record = run(session(client_of(three['node-a']), work))
    assert answer['structured']['rows'] == [[3]]
    assert record['origin']['node'] == 'node-b/node-c' and record['origin']['tool'] == 'node-c.sql_query'
    first = await_call(three['node-a'], lambda line: line['seq'] == answer['audit']['seq'], 'the record at node-a')
    ways = {}
    for name in ('node-b', 'node-c'):
        line = await_call(three[name], lambda line: line['rid'] == first['rid'], f'the record at {name}')
        assert line['principal'] == {'sub': 'api-key', 'iss': 'node:node-a:node-a', 'method': 'node'}
        ways[name] = line['tool'], line['way'], line['hop']
    assert ways == {'node-b': ('node-c.sql_query', 'node-a', 1), 'node-c': ('sql.query', 'node-a node-b', 2)}


def test_a_loop_is_neither_listed_nor_gone(three):
    async def work(client):
        ids = await await_tools(client, [FAR, 'node-b.node-c_tools_nap'])
        return [one for one in ids if 'node-a' in one]

    # node-c offers the tools of node-a, node-b those of node-c; node-a does not take its own back.
    assert run(session(client_of(three['node-a']), work)) == []

    async def at_c(client):
        return await invoke(client, 'node-a.sql_query', sql='SELECT 1')

    assert run(session(client_of(three['node-c']), at_c))['structured']['rows'] == [[1]]


def test_a_cancellation_reaches_the_last_node(three):
    async def work(client):
        await await_tools(client, ['node-b.node-c_tools_nap'])
        call = asyncio.create_task(client.invoke_tool('node-b.node-c_tools_nap', seconds='110', deadline_ms=120_000))
        opened = lambda: any(line['tool'] == 'tools.nap' for line in open_lines(three['node-c']))  # noqa: E731
        await asyncio.to_thread(until, opened, 'the call at node-c', WAIT)
        call.cancel()
        ended = lambda: [line for line in calls_of(three['node-c'], 'tools.nap') if 'result' in line]  # noqa: E731
        return (await asyncio.to_thread(until, ended, 'the end at node-c', 60))[-1]

    assert run(session(client_of(three['node-a']), work))['result']['status'] == 'E_CANCELLED'


def open_lines(node):
    return [line for line in audit_lines(node) if line['kind'] == 'open']


def test_the_deadline_of_a_call_is_that_of_all_its_nodes(three):
    async def work(client):
        await await_tools(client, ['node-b.node-c_tools_nap'])
        with pytest.raises(Refused) as caught:
            await client.invoke_tool('node-b.node-c_tools_nap', seconds='111', deadline_ms=1_500)
        return caught.value.code

    assert run(session(client_of(three['node-a']), work)) == 'E_TIMEOUT'
    rids = {line['rid'] for line in calls_of(three['node-a'], 'node-b.node-c_tools_nap') if line['decision'].get('code') == 'E_TIMEOUT'}
    ended = await_call(three['node-c'], lambda line: line['rid'] in rids, 'the end at node-c')
    assert ended['result']['status'] in ('E_TIMEOUT', 'E_CANCELLED')


def test_a_scope_for_the_far_tool_is_no_scope_for_the_near_one(three):
    node = three['node-a']

    async def work(client):
        assert (await invoke(client, FAR, sql='SELECT 4'))['structured']['rows'] == [[4]]
        with pytest.raises(Refused) as caught:
            await client.invoke_tool('node-b.sql_query', sql='SELECT 4')
        return caught.value.code

    assert run(session(client_of(node, token=node.mint(scopes=['cap:list', f'tool:invoke:{FAR}'])), work)) == 'E_TOOL'


def test_a_call_goes_no_further_than_its_first_node_allows(tmp_path, authority):
    nodes = Federation(tmp_path / 'nodes', authority, {'node-a': ['node-b'], 'node-b': ['node-c'], 'node-c': []},
                       changes={'node-a': {'cluster.max_hops': 1}})
    try:
        nodes.start()

        async def work(client):
            assert (await invoke(client, 'node-b.sql_query', sql='SELECT 5'))['structured']['rows'] == [[5]]
            await await_tools(client, [FAR])
            with pytest.raises(Refused) as caught:
                await client.invoke_tool(FAR, sql='SELECT 5')
            return caught.value

        told = run(session(client_of(nodes['node-a']), work))
        assert (told.code, told.message) == ('E_LIMIT', 'node node-b: E_LIMIT')
        assert calls_of(nodes['node-c']) == []
    finally:
        nodes.stop()


def test_a_node_in_between_passes_on_what_it_was_granted_itself(tmp_path, authority):
    """node-c grants node-b one tool, and node-b grants node-a all of node-c's: the way is as narrow as its narrowest part."""
    narrow = {'node-b': {'cluster.peer_scopes': ','.join(CALLER)}, 'node-c': {'cluster.peer_scopes': 'tool:invoke:sql.query'}}
    nodes = Federation(tmp_path / 'nodes', authority, {'node-a': ['node-b'], 'node-b': ['node-c'], 'node-c': []}, changes=narrow)
    try:
        nodes.start()

        async def work(client):
            assert (await invoke(client, FAR, sql='SELECT 6'))['structured']['rows'] == [[6]]
            return [one for one in await await_tools(client, [FAR]) if 'node-c' in one]

        assert run(session(client_of(nodes['node-a']), work)) == [FAR]
    finally:
        nodes.stop()
