"""Credentials that open a tool for some arguments and not for others. docs/wire-3.0.md, section 6.7; docs/tools/access.md."""
import asyncio
import json

import pytest
from bridged import audit_lines, await_pins, await_tools, test_server, until
from federated import Federation, await_call
from mcp_messages import MODERN, PREFIX, McpCaller
from mcp_programs import environment_of
from scp import Refused
from scp.keys import unb64
from test_enterprise import connect as connect_by, pinned, token as access_token  # noqa: F401
from test_mcp_few_tools import searching
from test_mcp_stdio import Process, modern
from test_modes import run, session
from test_revocation import alive, closed_with, opened, reload
from test_tokens import hs256
from tool_clients import client_of

SCOPE = 'cap:list tool:invoke:files.* tool:invoke:sql.*'
TEXTS = {'reports/a.txt': 'a', 'reports/b/c.txt': 'c', 'notes/other.txt': 'other'}
REFUSED = 'args.path: must be a path within reports'


def detail(tool, **args):
    return {'type': 'scp_tool', 'tool': tool, 'args': args}


REPORTS = [detail('files.read', path={'within': 'reports'})]


@pytest.fixture(scope='module')
def narrowed(make_service, tmp_path_factory):
    """A service with files, tables and named keys, which limits nobody's calls."""
    file = tmp_path_factory.mktemp('keys') / 'api-keys'
    tools = tmp_path_factory.mktemp('tools') / 'tools.tsv'
    tools.write_text('say\tSays it.\ttext,times\n')
    made = make_service('simple', mcp__enabled=True, security__api_keys_file=str(file), limits__calls_per_second=100_000, limits__burst=100_000,
                        **test_server('m', 'many.py', tools, first_seen='trust'))
    for name, text in TEXTS.items():
        (made.folder / 'files' / name).parent.mkdir(parents=True, exist_ok=True)
        (made.folder / 'files' / name).write_text(text)
    return made


def bearer(service, details, scope=SCOPE, **changes):
    return hs256(service, scope=scope, authorization_details=details, **changes)


def native(service, tool, arguments, **credential):
    """The answer's text, or the refusal."""
    async def work(client):
        answer = await client.invoke_tool(tool, **arguments)
        return answer['content'][0]['text'] if answer['content'] else ''

    try:
        return run(session(client_of(service, **credential), work))
    except Refused as refused:
        return f'{refused.code} {refused.message}'


def by_mcp(caller, tool, arguments):
    answer = caller.call(tool, arguments)
    return told_by_mcp(answer.last)


def told_by_mcp(message):
    if 'error' in message:
        return f'{message["error"]["data"]["code"]} {message["error"]["message"]}'
    return message['result']['content'][0]['text']


def test_every_way_in_allows_and_refuses_alike(narrowed):
    token = bearer(narrowed, REPORTS)
    stdio = Process({**environment_of(narrowed), 'SCP_SECURITY_CLIENT_TOKEN': token})
    searcher = searching(narrowed, token)
    try:
        for path, expected in (('reports/a.txt', 'a'), ('notes/other.txt', REFUSED)):
            said = [native(narrowed, 'files.read', {'path': path}, token=token),
                    by_mcp(McpCaller(narrowed, token), 'files.read', {'path': path}),
                    told_by_mcp(stdio.ask(modern('tools/call', 1, name='files.read', arguments={'path': path}))),
                    by_mcp(searcher, 'execute', {'tool': 'files.read', 'arguments': {'path': path}})]
            assert all(expected in one for one in said), said
    finally:
        stdio.process.kill()
        stdio.process.communicate()


# What leads out of the folder, or could be read so by somebody behind.
OUTSIDE = ['notes/other.txt', 'reports/../notes/other.txt', '../reports/a.txt', '/reports/a.txt', 'Reports/a.txt', 'reportsx/a.txt', 'reports\\..\\notes/other.txt',
           'reports/%2e%2e/notes/other.txt', 'reports/%252e%252e/notes/other.txt', 'reports%2fa.txt', '~/reports/a.txt', 'file:reports/a.txt', 'reports/\u0000/a.txt',
           '\uff52eports/a.txt', 'reports\u2215a.txt']


@pytest.mark.parametrize('path', OUTSIDE, ids=ascii)
def test_no_spelling_of_a_path_leads_out(narrowed, path):
    caller = McpCaller(narrowed, bearer(narrowed, REPORTS))
    assert REFUSED in by_mcp(caller, 'files.read', {'path': path})
    assert by_mcp(caller, 'files.read', {'path': 'reports/b/c.txt'}) == 'c'


def test_an_argument_that_comes_twice_is_no_message(narrowed):
    caller = McpCaller(narrowed, bearer(narrowed, REPORTS))
    head = {'MCP-Protocol-Version': MODERN, 'Mcp-Method': 'tools/call', 'Mcp-Name': 'files.read'}
    meta = json.dumps({PREFIX + 'protocolVersion': MODERN, PREFIX + 'clientCapabilities': {}})
    body = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"files.read","arguments":{"path":"reports/a.txt"%s},"_meta":' + meta + '}}'
    assert caller.send(body % '', head).result['content'][0]['text'] == 'a'
    assert caller.send(body % ',"path":"notes/other.txt"', head).error['code'] == -32700


@pytest.mark.parametrize('details', [
    {}, [7], [{'type': 'payment', 'tool': 'files.read'}], [{'type': 'scp_tool', 'tool': 'files.*'}], [{'type': 'scp_tool'}],
    [{**detail('files.read'), 'locations': ['https://elsewhere']}], [detail('files.read', path={'prefix': 'reports'})],
    [detail('files.read', path={'within': 'a/../b'})], [detail('files.read', path={'pattern': '('})], [detail('files.read', path={})],
    REPORTS * 65], ids=lambda value: json.dumps(value)[:60])
def test_what_is_not_understood_refuses_the_token(narrowed, details):
    assert native(narrowed, 'files.read', {'path': 'reports/a.txt'}, token=bearer(narrowed, details)).startswith('E_AUTH')
    assert McpCaller(narrowed, bearer(narrowed, details)).call('files.read', {'path': 'reports/a.txt'}).status == 401


def test_a_detail_grants_nothing_and_narrows_nothing_else(narrowed):
    only = McpCaller(narrowed, bearer(narrowed, REPORTS, scope='tool:invoke:files.stat'))
    assert by_mcp(only, 'files.read', {'path': 'reports/a.txt'}).startswith('E_TOOL')
    assert not only.call('files.stat', {'path': 'notes/other.txt'}).result.get('isError')
    both = McpCaller(narrowed, bearer(narrowed, REPORTS + [detail('files.read', path={'values': ['notes/other.txt']})]))
    assert by_mcp(both, 'files.read', {'path': 'notes/other.txt'}) == 'other' and by_mcp(both, 'files.read', {'path': 'reports/a.txt'}) == 'a'
    assert REFUSED in by_mcp(both, 'files.read', {'path': 'notes/welcome.txt'})


def test_a_statement_reads_the_tables_that_it_may(narrowed):
    run(session(client_of(narrowed), load_tables))
    caller = McpCaller(narrowed, bearer(narrowed, [detail('sql.query', sql={'tables': ['Sales']}), detail('sql.describe', table={'tables': ['sales']})]))
    assert not caller.call('sql.query', {'sql': 'WITH plans AS (SELECT * FROM sales) SELECT count(*) FROM plans'}).result.get('isError')
    for sql in ('SELECT * FROM plans', 'SELECT * FROM sales, plans', 'SELECT (SELECT max(id) FROM "PLANS")', 'FROM nobody_has_this'):
        assert 'args.sql: must read no other tables than sales' in by_mcp(caller, 'sql.query', {'sql': sql})
    for sql in ('SHOW TABLES', "SELECT * FROM 'orders.csv'", 'SELECT * FROM', 'SELECT * FROM sales; SELECT 1'):
        assert by_mcp(caller, 'sql.query', {'sql': sql}).startswith('E_POLICY')
    assert not caller.call('sql.describe', {'table': 'SALES'}).result.get('isError')
    assert 'args.table: must be one of sales' in by_mcp(caller, 'sql.describe', {'table': 'plans'})
    # A tool without tables cannot tell, and says so.
    other = McpCaller(narrowed, bearer(narrowed, [detail('files.read', path={'tables': ['sales']})]))
    assert 'cannot tell' in by_mcp(other, 'files.read', {'path': 'reports/a.txt'})


async def load_tables(client):
    for table in ('sales', 'plans'):
        await client.invoke_tool('sql.load', file='orders.csv', table=table, replace=True)


def test_a_foreign_tool_is_narrowed_like_ours(narrowed):
    await_pins(narrowed, {'m.say': 'pinned'})
    caller = McpCaller(narrowed, bearer(narrowed, [detail('m.say', text={'pattern': '[a-z]+'}, times={'values': ['1', '2'], 'optional': True})], scope='tool:invoke:m.say'))
    until(lambda: by_mcp(caller, 'm.say', {'text': 'hello', 'times': '2'}) == 'say {"text": "hello", "times": "2"}', 'the tool of the bridge')
    assert 'args.text: must match the pattern [a-z]+' in by_mcp(caller, 'm.say', {'text': 'hello;'})
    assert 'args.times: must be one of 1, 2' in by_mcp(caller, 'm.say', {'text': 'hello', 'times': '3'})


def test_a_named_key_has_its_details_in_its_line(narrowed, tmp_path):
    file = tmp_path / 'details.json'
    file.write_text(json.dumps(REPORTS))
    key = narrowed.run('keys', 'add', 'reports', '--scope', SCOPE, '--details', f'@{file}').stdout.strip()
    reload(narrowed)
    until(lambda: McpCaller(narrowed, key).call('files.read', {'path': 'reports/a.txt'}).status == 200, 'the key')
    for path, expected in (('reports/a.txt', 'a'), ('notes/other.txt', REFUSED)):
        assert expected in native(narrowed, 'files.read', {'path': path}, api_key=key)
        assert expected in by_mcp(McpCaller(narrowed, key), 'files.read', {'path': path})
    listed = [json.loads(line) for line in narrowed.run('keys', 'list', '--json').stdout.splitlines()]
    assert listed[0]['authorization_details'] == REPORTS
    assert narrowed.run('keys', 'add', 'wrong', '--scope', SCOPE, '--details', '[{"type":"other"}]', check=False).returncode == 1
    lines = narrowed.folder / narrowed.settings['security.api_keys_file']

    async def work():
        stays, goes = await opened(client_of(narrowed, api_key=key), client_of(narrowed, api_key=key))
        await asyncio.to_thread(reload, narrowed, limits__in_flight=63)
        assert await alive(stays), 'the same details end nothing'
        lines.write_text(lines.read_text().replace('"within":"reports"', '"within":"reports/b"'))
        await asyncio.to_thread(reload, narrowed)
        assert await closed_with(goes) == (4401, 'E_AUTH') and await closed_with(stays) == (4401, 'E_AUTH')

    run(work())
    assert 'must be a path within reports/b' in native(narrowed, 'files.read', {'path': 'reports/a.txt'}, api_key=key)


def test_a_minted_token_and_its_session_say_what_narrows_them(narrowed):
    token = narrowed.run('mint-token', '--subject', 'alice', '--scope', SCOPE, '--details', json.dumps(REPORTS)).stdout.strip()
    assert REFUSED in native(narrowed, 'files.read', {'path': 'notes/other.txt'}, token=token)

    async def work(client):
        return claims_of(client.session['session_token'])

    assert run(session(client_of(narrowed, token=token), work))['details'] == [REPORTS]
    assert 'details' not in run(session(client_of(narrowed), work))
    assert narrowed.run('mint-token', '--subject', 'a', '--scope', SCOPE, '--details', '[7]', check=False).returncode == 1


def claims_of(token):
    return json.loads(unb64(token.split('.')[1]))


def test_a_narrow_credential_does_not_see_what_a_wide_one_read(narrowed):
    async def work():
        wide, narrow, again = [client_of(narrowed, token=bearer(narrowed, *details)) for details in ([[]], [REPORTS], [[]])]
        await opened(wide, narrow, again)
        answer = await wide.call('tool.invoke', {'tool': 'files.read', 'args': {'path': 'notes/other.txt'}, 'idem': 'wide-1'})
        request = next(line['rid'] for line in reversed(audit_lines(narrowed)) if line.get('seq') == answer['audit']['seq'])
        told = [await one.call('tool.outcome', {'id': request}) for one in (narrow, again)]
        with pytest.raises(Refused) as refused:
            await narrow.call('tool.invoke', {'tool': 'files.read', 'args': {'path': 'notes/other.txt'}, 'idem': 'wide-1'})
        for one in (wide, narrow, again):
            await one.disconnect()
        return told, refused.value.code

    (narrow, wide), code = run(work())
    assert wide['answer']['content'][0]['text'] == 'other' and narrow['state'] == 'finished' and 'answer' not in narrow
    assert code == 'E_POLICY'


def test_access_tokens_and_roles_are_narrowed(make_service, pinned, tmp_path):  # noqa: F811
    _, key, public = pinned
    table = tmp_path / 'roles'
    table.write_text(f'tool:invoke:files.read {json.dumps(REPORTS)} = reporters\ntool:invoke:files.read = all\n')
    service = make_service('enterprise', mcp__enabled=True, oauth2__jwks_url=None, oauth2__local_public_key_path=str(public),
                           oauth2__role_claims='/groups', oauth2__role_scopes_file=str(table))
    (service.folder / 'files/reports').mkdir()
    (service.folder / 'files/reports/a.txt').write_text('a')

    def reads(path, **claims):
        return by_mcp(McpCaller(service, access_token(key, service, **{'scope': None, **claims})), 'files.read', {'path': path})

    scope = 'tool:invoke:files.read'
    assert reads('reports/a.txt', scope=scope, authorization_details=REPORTS) == 'a'
    assert REFUSED in reads('notes/welcome.txt', scope=scope, authorization_details=REPORTS)
    assert reads('reports/a.txt', groups=['reporters']) == 'a' and REFUSED in reads('notes/welcome.txt', groups=['reporters'])
    assert 'Hello' in reads('notes/welcome.txt', groups=['reporters', 'all'])
    assert REFUSED in reads('notes/welcome.txt', groups=['all'], authorization_details=REPORTS), 'no role widens what a token was narrowed to'
    for wrong in ([{'type': 'payment_initiation'}], 'all', {'type': 'scp_tool'}):
        with pytest.raises(Refused) as refused:
            connect_by(service, access_token(key, service, authorization_details=wrong))
        assert refused.value.code == 'E_AUTH'


def test_details_go_with_a_call_to_another_node(tmp_path_factory, authority):
    made = Federation(tmp_path_factory.mktemp('narrow'), authority, {'node-a': ['node-b'], 'node-b': []}, changes={
        'node-b': {'cluster.peer_scopes_file': str(tmp_path_factory.mktemp('peers') / 'peers')}})
    peers = made['node-b'].settings['cluster.peer_scopes_file']
    with open(peers, 'w') as file:
        file.write(f'cap:list tool:invoke:sql.query {json.dumps([detail("sql.query", sql={"pattern": "SELECT [0-9 +]+"})])} = node-a\n')
    made.start()
    try:
        a, b = made['node-a'], made['node-b']
        token = hs256(a, iss='node-a', aud='federation-1', scope='cap:list tool:invoke:node-b.*',
                      authorization_details=[detail('node-b.sql_query', sql={'pattern': '.*1.*'})])

        async def work(client):
            await await_tools(client, ['node-b.sql_query'])
            out = []
            for sql in ('SELECT 1', 'SELECT 2', "SELECT '1'"):
                try:
                    out.append((await client.invoke_tool('node-b.sql_query', sql=sql))['structured']['rows'])
                except Refused as refused:
                    out.append(f'{refused.code} {refused.message}')
            return out

        done, here, there = run(session(client_of(a, token=token), work))
        assert done == [[1]]
        assert 'E_POLICY' in here and 'args.sql: must match the pattern .*1.*' in here
        assert there.startswith('E_POLICY') and 'node node-b' in there
        refused = await_call(b, lambda line: line['decision']['verdict'] == 'refused', 'the refusal at node-b')
        assert refused['decision'] == {'stage': 'authorise', 'verdict': 'refused', 'code': 'E_POLICY'}
        assert len([line for line in audit_lines(b) if line['kind'] == 'seal']) == 2, 'node-a refuses by itself what its caller may not'
    finally:
        made.stop()
