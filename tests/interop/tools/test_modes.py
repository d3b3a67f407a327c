"""The same tools in all four modes, from a client that was written from the text alone."""
import asyncio
import json

import pytest
from tool_clients import client_of
from scp import Client, Refused
from scp.keys import SUITES
from tool_stack.service import strong


def run(coroutine):
    return asyncio.run(asyncio.wait_for(coroutine, 60))


async def session(client, work):
    await client.connect()
    try:
        return await work(client)
    finally:
        await client.disconnect()


def test_lists_and_calls_the_same_tools(service):
    async def work(client):
        ids = [one['id'] for one in await client.list_capabilities()]
        assert {'sql.query', 'sql.list_tables', 'sql.describe', 'sql.load', 'files.read', 'files.write', 'files.list',
                'files.stat'} <= set(ids)
        loaded = await client.invoke_tool('sql.load', file='orders.csv', table=f'orders_{service.mode}')
        assert not loaded['is_error'], loaded
        answer = await client.invoke_tool('sql.query', sql=f'SELECT customer, sum(amount) AS total FROM orders_{service.mode} '
                                          'GROUP BY customer ORDER BY customer')
        assert answer['structured']['rows'] == [['ada', 112.5], ['bob', 7.25]]
        read = await client.invoke_tool('files.read', path='notes/welcome.txt')
        assert 'Hello from the file tool.' in json.dumps(read)
        return answer

    answer = run(session(client_of(service), work))
    assert answer['audit']['seq'] > 0 and len(answer['audit']['hash']) >= 43
    assert answer['usage']['ms'] >= 0


def test_every_mode_lists_the_same_records(services):
    """The mode is one of the deployment: what the tools are, and what they take and give, is the same in each."""
    listed = {mode: run(session(client_of(service), Client.list_capabilities)) for mode, service in services.items()}
    assert set(listed) == {'simple', 'basic', 'encrypted', 'enterprise'} and len(listed['simple']) >= 8
    for mode, records in listed.items():
        assert records == listed['simple'], mode


def test_writes_after_consent(service, consent):
    async def work(client):
        before = len(consent.asked)
        written = await client.invoke_tool('files.write', path=f'notes/{service.mode}.txt', content='mine', mode='create')
        assert not written['is_error'], written
        assert len(consent.asked) == before + 1
        assert consent.asked[-1]['tool'] == 'files.write'

    run(session(client_of(service), work))
    assert (service.folder / f'files/notes/{service.mode}.txt').read_text() == 'mine'


def test_does_nothing_without_consent(service, consent):
    consent.decision = {'decision': 'deny', 'by': 'operator', 'scope': 'once'}
    try:
        with pytest.raises(Refused) as refused:
            run(session(client_of(service), lambda client: client.invoke_tool('files.write', path='notes/no.txt', content='x', mode='create')))
    finally:
        consent.decision = {'decision': 'approve', 'by': 'operator', 'scope': 'once'}
    assert refused.value.code == 'E_CONSENT'
    assert not (service.folder / 'files/notes/no.txt').exists()


@pytest.mark.parametrize('tool, arguments, code', [
    ('sql.query', {'sql': "SELECT * FROM read_csv('orders.csv')"}, 'E_POLICY'),
    ('sql.query', {'sql': "COPY (SELECT 1) TO 'out.csv'"}, 'E_POLICY'),
    ('sql.query', {'sql': 'SELECT 1; SELECT 2'}, 'E_POLICY'),
    ('sql.query', {'sql': "ATTACH 'x.db'"}, 'E_POLICY'),
    ('sql.query', {'statement': 'SELECT 1'}, 'E_SHAPE'),
    ('sql.query', {'sql': 5}, 'E_SHAPE'),
    ('files.read', {'path': '../data/orders.csv'}, 'E_POLICY'),
    ('files.read', {'path': '/etc/passwd'}, 'E_POLICY'),
    ('files.read', {'path': 'notes/secret.key'}, 'E_POLICY'),
    ('files.unknown', {}, 'E_TOOL'),
    ('sql.query; DROP', {}, 'E_SHAPE'),
], ids=str)
def test_refuses_with_the_code(service, tool, arguments, code):
    with pytest.raises(Refused) as refused:
        run(session(client_of(service), lambda client: client.invoke_tool(tool, **arguments)))
    assert refused.value.code == code


def test_a_double_that_looks_like_an_integer_arrives(service):
    async def work(client):
        for value in (1e20, 9007199254740992.0, -1e300, 0.1):
            answer = await client.invoke_tool('sql.query', sql='SELECT $1::DOUBLE AS d', params=[value])
            assert answer['structured']['rows'] == [[value]], answer

    run(session(client_of(service), work))


def test_many_calls_at_once(service):
    async def work(client):
        answers = await asyncio.gather(*(client.invoke_tool('sql.query', sql=f'SELECT {n}::INTEGER AS n') for n in range(4)))
        assert [answer['structured']['rows'] for answer in answers] == [[[n]] for n in range(4)]

    run(session(client_of(service), work))


def test_a_call_can_be_cancelled(service):
    async def work(client):
        call = asyncio.ensure_future(client.invoke_tool(
            'sql.query', sql='SELECT count(*) FROM range(300000) a, range(300000) b'))
        await asyncio.sleep(0.3)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert (await client.invoke_tool('sql.query', sql='SELECT 1::INTEGER AS one'))['structured']['rows'] == [[1]]

    run(session(client_of(service), work))


def test_a_call_ends_at_its_deadline(service):
    with pytest.raises(Refused) as refused:
        run(session(client_of(service), lambda client: client.invoke_tool(
            'sql.query', deadline_ms=300, sql='SELECT count(*) FROM range(300000) a, range(300000) b')))
    assert refused.value.code == 'E_TIMEOUT'


def test_a_wrong_shared_secret_is_seen_before_any_credential(service):
    with pytest.raises(Refused) as refused:
        run(client_of(service, secret_key=strong()).connect())
    assert refused.value.code == 'E_SIG'


def test_another_mode_is_refused(service):
    other = 'basic' if service.mode == 'simple' else 'simple'
    client = client_of(service)
    client.mode = other
    if client.suites != ['NONE']:
        client.suites = ['NONE']
    with pytest.raises(Refused) as refused:
        run(client.connect())
    assert refused.value.code in ('E_AUTH', 'E_SHAPE')


def test_an_address_without_a_path_means_the_servers(service):
    bare = service.url.removesuffix('/scp/v3')

    async def work():
        return await session(client_of(service, kind=lambda url, mode, **options: Client(bare, mode, **options)), Client.list_capabilities)

    assert run(work())


@pytest.mark.parametrize('mode', ['simple', 'encrypted'])
def test_a_wrong_api_key_is_refused(services, mode):
    service = services[mode]
    with pytest.raises(Refused) as refused:
        run(client_of(service, api_key=strong()).connect())
    assert refused.value.code == 'E_AUTH'


@pytest.mark.parametrize('suite', [name for name in SUITES if name != 'NONE'])
def test_every_suite_and_a_rekey(services, make_service, suite):
    service = services['encrypted'] if suite.startswith('X25519_A') else make_service('encrypted', crypto__suites=suite)

    async def work(client):
        assert client.suite == suite
        for epoch in range(3):
            assert client.sender.epoch == epoch
            answer = await client.invoke_tool('sql.query', sql='SELECT 1::INTEGER AS one')
            assert answer['structured']['rows'] == [[1]]
            await client.rekey()

    run(session(client_of(service, suites=(suite,)), work))


def test_a_scope_for_one_tool_opens_that_tool_only(services):
    service = services['basic']
    token = service.mint('bob', ['cap:list', 'tool:invoke:files.read'])

    async def work(client):
        assert [one['id'] for one in await client.list_capabilities()] == ['files.read']
        assert not (await client.invoke_tool('files.read', path='notes/welcome.txt'))['is_error']
        codes = []
        for tool in ('files.list', 'files.nothing'):
            with pytest.raises(Refused) as refused:
                await client.invoke_tool(tool, path='notes')
            codes.append((refused.value.code, refused.value.message.replace(tool, 'TOOL')))
        assert codes[0] == codes[1], 'a tool that is forbidden and one that is not there answer alike'
        assert codes[0][0] == 'E_TOOL'

    run(session(client_of(service, token=token), work))


def test_the_audit_trail_proves_itself(service):
    run(session(client_of(service), lambda client: client.invoke_tool('files.stat', path='notes/welcome.txt')))
    report = json.loads(service.run('audit', 'verify', '--json').stdout)
    assert report['intact'] is True and report['verdict'] == 'intact' and report['signatures_checked'] is True
    assert 'broken' not in report
    assert report['calls'] > 0
