"""Two real nodes: tools of the one, listed and called at the other, by the callers of the other."""
import asyncio

import pytest
from bridged import audit_lines, await_tools, run, text_of, until
from federated import WAIT, Federation, Signer, await_call, calls_of, invoke, node_client
from scp import Refused
from test_modes import session
from tool_clients import client_of

NAP = {'tools.nap.kind': 'command', 'tools.nap.description': 'Sleeps.', 'tools.nap.read_only': True, 'tools.nap.program': '/bin/sleep',
       'tools.nap.arguments': ['{seconds}'], 'tools.nap.parameters.seconds.type': 'string', 'tools.nap.parameters.seconds.pattern': '^[0-9]{1,3}$'}
GRANTS = 'cap:list,tool:invoke:sql.query,tool:invoke:node-c.*'


@pytest.fixture(scope='module')
def pair(tmp_path_factory, authority):
    """node-a calls node-b, which lets the other nodes ask for sql.query alone; node-x is this test."""
    folder = tmp_path_factory.mktemp('pair')
    signer = Signer('node-x')
    public = signer.write_public(folder)
    changes = {'node-b': {'cluster.peer_scopes': GRANTS}}
    made = Federation(folder, authority, {'node-a': ['node-b'], 'node-b': []}, changes=changes, strangers={'node-x': ('-', public)})
    made.signer = signer
    yield made.start()
    made.stop()


def refusal(service, tool, **arguments):
    async def work(client):
        with pytest.raises(Refused) as caught:
            await client.invoke_tool(tool, **arguments)
        return caught.value

    return run(session(client_of(service), work))


def test_a_tool_of_another_node_is_listed_with_its_origin_and_called(pair):
    async def work(client):
        await await_tools(client, ['node-b.sql_query'])
        record = next(one for one in await client.list_capabilities() if one['id'] == 'node-b.sql_query')
        answer = await client.invoke_tool('node-b.sql_query', sql='SELECT 6 * 7 AS answer')
        return record, answer

    record, answer = run(session(client_of(pair['node-a']), work))
    assert record['origin'] == {'kind': 'peer', 'node': 'node-b', 'tool': 'sql.query', 'h': record['origin']['h']}
    assert not answer['is_error'] and answer['structured']['rows'] == [[42]]


def test_both_trails_name_the_caller_the_way_and_the_request(pair):
    async def work(client):
        return await invoke(client, 'node-b.sql_query', sql="SELECT 'the trail'")

    receipt = run(session(client_of(pair['node-a']), work))['audit']
    here = await_call(pair['node-a'], lambda line: line['seq'] == receipt['seq'], 'the record at node-a')
    there = await_call(pair['node-b'], lambda line: line['rid'] == here['rid'], 'the record at node-b')
    assert (here['tool'], here['origin'], here['principal']['sub']) == ('node-b.sql_query', 'peer', 'api-key')
    assert 'way' not in here and 'hop' not in here
    assert (there['tool'], there['origin'], there['hop'], there['way']) == ('sql.query', 'local', 1, 'node-a')
    assert there['principal'] == {'sub': 'api-key', 'iss': 'node:node-a:node-a', 'method': 'node'}
    for node in ('node-a', 'node-b'):
        assert pair[node].run('audit', 'verify', check=False).returncode in (0, 3)


def test_a_tool_that_fails_fails_for_the_caller_in_its_own_words(pair):
    async def work(client):
        return await invoke(client, 'node-b.sql_query', sql='SELECT * FROM no_such_table')

    answer = run(session(client_of(pair['node-a']), work))
    assert answer['is_error'] and 'no_such_table' in text_of(answer)


def test_a_dry_run_is_one_at_the_other_node_too(pair):
    async def work(client):
        await await_tools(client, ['node-b.sql_query'])
        answers = [await client.call('tool.invoke', {'tool': 'node-b.sql_query', 'args': {'sql': sql}, 'dry_run': True})
                   for sql in ('SELECT 1', 'SELECT * FROM no_such_table')]
        return [(one['is_error'], one['content'], 'structured' in one) for one in answers], answers[0]['audit']

    told, receipt = run(session(client_of(pair['node-a']), work))
    assert told == [(False, [], False), (True, [], False)]
    here = await_call(pair['node-a'], lambda line: line['seq'] == receipt['seq'], 'the record at node-a')
    there = await_call(pair['node-b'], lambda line: line['rid'] == here['rid'], 'the record at node-b')
    assert (here['result']['status'], there['result']['status']) == ('dry_run', 'dry_run')


def test_what_is_said_to_be_a_dry_run_is_proved_to_be_one(pair):
    async def as_node(client):
        for proved, said in ((True, False), (False, True)):
            with pytest.raises(Refused) as caught:
                args = {'sql': 'SELECT 1'}
                proof = pair.signer.forward_proof('node-b', client.session['session_id'], 'sql.query', args, **({'dry': True} if proved else {}))
                await client.call('fed.forward', {'tool': 'sql.query', 'args': args, 'proofs': [proof], **({'dry_run': True} if said else {})})
            assert caught.value.code == 'E_SIG'

    run(session(node_client(pair.signer, pair['node-b']), as_node))


def test_the_own_tool_of_a_node_is_never_shadowed(pair):
    async def work(client):
        await await_tools(client, ['node-b.sql_query', 'sql.query'])
        mine = next(one for one in await client.list_capabilities() if one['id'] == 'sql.query')
        return mine['origin']

    assert run(session(client_of(pair['node-a']), work)) == {'kind': 'local'}


def test_a_node_lists_and_calls_what_it_was_granted_there(pair):
    async def work(client):
        ids = await await_tools(client, ['node-b.sql_query'])
        assert 'sql.load' in ids and not any(one.startswith('node-b.') for one in ids - {'node-b.sql_query'})

    run(session(client_of(pair['node-a']), work))
    assert refusal(pair['node-a'], 'node-b.sql_load', file='orders.csv', table='t').code == 'E_TOOL'

    async def as_node(client):
        assert (await client.forward('sql.query', {'sql': 'SELECT 1'}))['structured']['rows'] == [[1]]
        # With a proof that is right in every part: what the node was not granted, no caller of it may.
        with pytest.raises(Refused) as caught:
            await client.forward('sql.load', {'file': 'orders.csv', 'table': 't'})
        return caught.value.code

    assert run(session(node_client(pair.signer, pair['node-b']), as_node)) == 'E_TOOL'


def test_a_caller_needs_the_scope_of_the_far_tool(pair):
    node = pair['node-a']

    async def work(client):
        with pytest.raises(Refused) as caught:
            await client.invoke_tool('node-b.sql_query', sql='SELECT 1')
        return caught.value.code, await client.list_capabilities()

    describes = node.mint(scopes=['cap:list', 'tool:describe:node-b.sql_query'])
    run(session(client_of(node), lambda client: await_tools(client, ['node-b.sql_query'])))
    code, listed = run(session(client_of(node, token=describes), work))
    assert code == 'E_SCOPE' and [one['id'] for one in listed] == ['node-b.sql_query']
    code, listed = run(session(client_of(node, token=node.mint(scopes=['cap:list', 'tool:invoke:sql.query'])), work))
    assert code == 'E_TOOL' and [one['id'] for one in listed] == ['sql.query']


def test_arguments_are_checked_before_they_travel(pair):
    run(session(client_of(pair['node-a']), lambda client: await_tools(client, ['node-b.sql_query'])))
    before = len(calls_of(pair['node-b']))
    assert refusal(pair['node-a'], 'node-b.sql_query', sql=7).code == 'E_SHAPE'
    assert len(calls_of(pair['node-b'])) == before


def test_only_nodes_forward_and_nodes_do_nothing_else(pair):
    async def as_caller(client):
        for op in ('fed.forward', 'fed.caps'):
            with pytest.raises(Refused) as caught:
                await client.call(op, {'tool': 'sql.query', 'args': {}, 'proofs': ['x']})
            assert caught.value.code == 'E_POLICY', op

    run(session(client_of(pair['node-b']), as_caller))

    async def as_node(client):
        with pytest.raises(Refused) as caught:
            await client.invoke_tool('sql.query', sql='SELECT 1')
        assert caught.value.code == 'E_POLICY'
        listed = await client.call('fed.caps', {})
        assert [one['id'] for one in listed['capabilities']] == ['sql.query'] and listed['proof']
        for op in ('cap.list', 'admin.audit.head', 'admin.session.list'):
            with pytest.raises(Refused) as caught:
                await client.call(op, {})
            assert caught.value.code == 'E_POLICY', op

    run(session(node_client(pair.signer, pair['node-b']), as_node))


@pytest.mark.parametrize('mode, keyed', [('basic', True), ('simple', True), ('simple', False)])
def test_nodes_of_other_modes_and_without_keys(tmp_path, authority, mode, keyed):
    """Over TLS, in the clear on this machine, and with proofs by the shared secret alone."""
    nodes = Federation(tmp_path / 'nodes', authority, {'node-a': ['node-b'], 'node-b': ['node-a']}, mode=mode, keyed=keyed)
    try:
        nodes.start()
        for node, other in (('node-a', 'node-b'), ('node-b', 'node-a')):
            scopes = {'token': nodes[node].mint(scopes=['cap:list', f'tool:invoke:{other}.sql_query'])}
            answer = run(session(client_of(nodes[node], **scopes), lambda client: invoke(client, f'{other}.sql_query', sql='SELECT 7')))
            assert answer['structured']['rows'] == [[7]]
    finally:
        nodes.stop()


def test_a_node_that_goes_away_ends_its_calls_first_and_is_found_again(tmp_path, authority):
    nodes = Federation(tmp_path / 'nodes', authority, {'node-a': ['node-b'], 'node-b': []}, changes={'node-b': NAP})
    try:
        nodes.start()
        node = nodes['node-a']

        async def call(client):
            return await invoke(client, 'node-b.sql_query', sql='SELECT 1')

        assert run(session(client_of(node), call))['structured']['rows'] == [[1]]

        async def call_and_stop(client):
            running = asyncio.create_task(invoke(client, 'node-b.tools_nap', seconds='4'))
            await asyncio.to_thread(until, lambda: any(line['kind'] == 'open' and line['tool'] == 'tools.nap' for line in audit_lines(nodes['node-b'])),
                                    'the call at node-b', WAIT)
            await asyncio.to_thread(nodes['node-b'].stop)
            return await running

        assert not run(session(client_of(node), call_and_stop))['is_error']
        away = until(lambda: (found := refusal(node, 'node-b.sql_query', sql='SELECT 1')).code == 'E_BUSY' and found, 'E_BUSY', WAIT)
        assert 'node-b' in away.message and away.retry_ms > 0
        run(session(client_of(node), lambda client: client.invoke_tool('sql.query', sql='SELECT 1')))
        nodes['node-b'].start()

        def is_back():
            async def work(client):
                try:
                    return await client.invoke_tool('node-b.sql_query', sql='SELECT 2')
                except Refused as refused:
                    assert refused.code in ('E_BUSY', 'E_UPSTREAM'), refused
                    return None
            return run(session(client_of(node), work))

        assert until(is_back, 'node-b again', WAIT)['structured']['rows'] == [[2]]
    finally:
        nodes.stop()


def test_a_caller_on_the_deny_list_is_refused_there_too(tmp_path, authority):
    deny = tmp_path / 'deny'
    deny.write_text('sub mallory\n')
    deny.chmod(0o600)
    nodes = Federation(tmp_path / 'nodes', authority, {'node-a': ['node-b'], 'node-b': []}, changes={'node-b': {'security.deny_file': str(deny)}})
    try:
        nodes.start()
        for subject, code in (('alice', None), ('mallory', 'E_POLICY')):
            async def work(client):
                await await_tools(client, ['node-b.sql_query'])
                try:
                    await client.invoke_tool('node-b.sql_query', sql='SELECT 1')
                    return None
                except Refused as refused:
                    return refused.code

            token = nodes['node-a'].mint(subject, scopes=['cap:list', 'tool:invoke:node-b.sql_query'])
            assert run(session(client_of(nodes['node-a'], token=token), work)) == code, subject
    finally:
        nodes.stop()


def test_a_private_key_that_others_may_read_is_refused(pair):
    key = pair.keys['node-a'][0]
    assert key.stat().st_mode & 0o777 == 0o600
    key.chmod(0o644)
    try:
        checked = pair['node-a'].run('config', 'check', check=False)
    finally:
        key.chmod(0o600)
    assert checked.returncode == 2 and 'security.proof_signing_key_path' in checked.stdout + checked.stderr
    assert pair['node-a'].run('config', 'check', check=False).returncode == 0
