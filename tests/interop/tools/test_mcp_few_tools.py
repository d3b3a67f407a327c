"""Three tools in place of many, for MCP clients that ask for it. docs/tools/mcp.md, "Many tools, few tokens"."""
import json

import bpe_openai
import pytest
from bridged import settings_of, test_server, until
from mcp_messages import McpCaller
from mcp_programs import environment_of, run
from test_mcp_clients import CLIENTS, HELLO
from test_mcp_http import approve, records_of
from test_mcp_stdio import Process, initialize, modern
from tool_clients import ROOT

THREE = ['search', 'describe', 'execute']
LABELLED = ROOT / 'tests/tool_search'
O200K = bpe_openai.get_encoding('o200k_base')
READ = {'tool': 'files.read', 'arguments': {'path': 'notes/welcome.txt'}}


def names(listed):
    return [tool['name'] for tool in listed['tools']]


def told(result):
    """What search and describe answer."""
    assert not result.get('isError'), result
    return json.loads(result['content'][0]['text'])


def searching(service, token=None):
    return McpCaller(service, token or service.secret('api_key'), '/mcp?tools=search')


@pytest.fixture
def searcher(mcp_service):
    return searching(mcp_service)


@pytest.fixture(scope='module')
def many(make_service):
    """A service with the 500 tools of the labelled set behind a bridge, which shows three to who may see more than 100."""
    settings = settings_of(test_server('m', 'many.py', LABELLED / 'tools.tsv', first_seen='trust'))
    service = make_service('simple', mcp__enabled=True, mcp__search_above=100, limits__calls_per_second=100_000, limits__burst=100_000, **settings)
    caller = McpCaller(service, service.secret('api_key'))
    until(lambda: names(caller.modern('tools/list').result) == THREE, 'the tools of the bridge')
    return service


def tokens(value):
    """As o200k_base counts the JSON text."""
    return len(O200K.encode(json.dumps(value, separators=(',', ':'), ensure_ascii=False)))


def whole_list(caller):
    tools, cursor = [], {}
    while cursor is not None:
        page = caller.modern('tools/list', cursor).result
        tools += page['tools']
        cursor = {'cursor': page['nextCursor']} if 'nextCursor' in page else None
    return tools


def test_500_tools_begin_with_600_tokens_at_most(many, capsys):
    few = McpCaller(many, many.secret('api_key')).modern('tools/list').result['tools']
    all = whole_list(McpCaller(many, many.secret('api_key'), '/mcp?tools=all'))
    with capsys.disabled():
        print(f'\n  tokens to begin with (o200k_base): {tokens(few)} in place of {tokens(all)} for {len(all)} tools')
    assert len(all) == 500 and tokens(few) <= 600 < tokens(all)


def test_most_queries_find_their_tool_among_five(many, capsys):
    caller = searching(many)
    queries = [line.split('\t') for line in (LABELLED / 'held_out_models.tsv').read_text().splitlines()]
    found, cost = 0, 0
    for name, query in queries:
        answer = told(caller.call('search', {'query': query}).result)
        found += f'm.{name}' in names(answer)
        cost += tokens(answer)
    with capsys.disabled():
        print(f'\n  the right tool is among five for {found} of {len(queries)} queries, at {cost / len(queries):.0f} tokens an answer')
    assert found >= 0.8 * len(queries)


def test_what_search_names_can_be_described_and_called(many):
    caller = searching(many)
    first = told(caller.call('search', {'query': 'post bug report on GitHub', 'limit': 20}).result)
    assert 'm.github_create_issue' in names(first)
    tool = told(caller.call('describe', {'tool': 'm.github_create_issue'}).result)
    assert tool in whole_list(McpCaller(many, many.secret('api_key'), '/mcp?tools=all'))
    called = caller.call('execute', {'tool': 'm.github_create_issue', 'arguments': {'owner': 'me'}}).result
    assert called['content'][0]['text'] == 'github_create_issue {"owner": "me"}'
    missing = caller.call('execute', {'tool': 'm.github_create_issue', 'arguments': {'repo': 'x'}}).result
    assert missing['isError'] and 'E_SHAPE' in missing['content'][0]['text']


@pytest.mark.parametrize('client', CLIENTS)
def test_a_client_finds_three_tools_and_calls_another_through_them(mcp_service, client, tmp_path):
    url = mcp_service.http_url + '/mcp?tools=search'
    said = json.loads(run([*CLIENTS[client], url, mcp_service.secret('api_key'), 'execute', json.dumps(READ)], cwd=tmp_path).stdout)
    assert said['tools'] == THREE and said['text'] == HELLO and not said['isError']


def test_both_eras_have_them(searcher):
    assert names(searcher.modern('tools/list').result) == THREE
    searcher.open()
    assert names(searcher.in_session('tools/list').result) == THREE
    answer = searcher.in_session('tools/call', {'name': 'execute', 'arguments': READ}).result
    assert answer['content'][0]['text'] == HELLO
    assert names(told(searcher.in_session('tools/call', {'name': 'search', 'arguments': {'query': 'read file'}}).result))[0] == 'files.read'


def test_who_asks_for_nothing_has_the_whole_list(caller):
    assert 'files.read' in names(caller.modern('tools/list').result)
    assert caller.call('execute', READ).error['data']['code'] == 'E_TOOL'


@pytest.mark.parametrize('word', ['', 'few', 'SEARCH', 'search%2Call'])
def test_another_word_is_refused(mcp_service, word):
    answer = McpCaller(mcp_service, mcp_service.secret('api_key'), f'/mcp?tools={word}').modern('tools/list')
    assert answer.status == 400 and answer.last['error']['message'] == 'tools: must be all or search'


def test_a_stranger_has_none_of_it(mcp_service):
    assert searching(mcp_service, 'wrong').modern('tools/list').status == 401


def test_the_trail_names_the_tool_and_not_the_way_to_it(mcp_service, caller, searcher):
    before = len(records_of(mcp_service))
    assert not caller.call('files.stat', {'path': 'notes/welcome.txt'}).result.get('isError')
    assert not searcher.call('execute', {'tool': 'files.stat', 'arguments': {'path': 'notes/welcome.txt'}}).result.get('isError')
    told(searcher.call('search', {'query': 'file size'}).result)
    told(searcher.call('describe', {'tool': 'files.stat'}).result)
    direct, through = records_of(mcp_service)[before:]
    for member in set(direct) - {'seq', 'open', 'ts', 'rid', 'prev', 'hash', 'timing'}:
        assert direct[member] == through[member], member
    assert through['tool'] == 'files.stat'


def test_who_may_not_call_a_tool_may_not_call_it_through_another(mcp_service):
    reader = searching(mcp_service, mcp_service.mint('few-reader', ['tool:invoke:files.read', 'tool:describe:files.write']))
    assert reader.call('execute', READ).result['content'][0]['text'] == HELLO
    outside = reader.call('execute', {'tool': 'files.read', 'arguments': {'path': '../../etc/passwd'}})
    assert outside.result['isError']
    refused = reader.call('execute', {'tool': 'files.write', 'arguments': {'path': 'x.txt', 'content': 'x'}})
    assert refused.status == 403 and refused.error['data']['code'] == 'E_SCOPE'
    assert 'error="insufficient_scope", scope="tool:invoke:files.write"' in refused.headers['www-authenticate']
    unseen = reader.call('execute', {'tool': 'files.delete', 'arguments': {'path': 'x.txt'}})
    nothing = reader.call('execute', {'tool': 'files.no_such', 'arguments': {'path': 'x.txt'}})
    assert unseen.error == nothing.error and unseen.error['code'] == -32602
    assert set(names(told(reader.call('search', {'query': 'files', 'limit': 20}).result))) == {'files.read', 'files.write'}
    assert reader.call('describe', {'tool': 'files.delete'}).error == nothing.error


def test_consent_is_asked_for_the_tool_and_given_once(fixture_service):
    caller = searching(fixture_service)
    write = {'tool': 'files.write', 'arguments': {'path': 'notes/few.txt', 'content': 'x'}}
    asked = caller.call('execute', write, capabilities={'elicitation': {}}).result
    assert 'files.write' in asked['inputRequests']['securetool.consent']['params']['message']
    said = {'requestState': asked['requestState'], 'inputResponses': approve(True)}
    other = {'tool': 'files.write', 'arguments': {'path': 'notes/other.txt', 'content': 'x'}}
    assert 'requestState' in caller.call('execute', other, capabilities={'elicitation': {}}, **said).error['message']
    done = caller.call('execute', write, capabilities={'elicitation': {}}, **said).result
    assert done['resultType'] == 'complete' and not done.get('isError'), done
    denied = {'requestState': caller.call('execute', write, capabilities={'elicitation': {}}).result['requestState'], 'inputResponses': approve(False)}
    assert 'E_CONSENT' in caller.call('execute', write, capabilities={'elicitation': {}}, **denied).result['content'][0]['text']


def test_standard_input_and_output_has_them_by_a_flag(mcp_service):
    process = Process(environment_of(mcp_service), '--tools', 'search')
    try:
        assert names(process.ask(modern('tools/list'))['result']) == THREE
        for _ in range(2):  # The second list is the first, which the service does not send again.
            assert names(told(process.ask(modern('tools/call', name='search', arguments={'query': 'read file'}))['result']))[0] == 'files.read'
        assert process.ask(modern('tools/call', name='execute', arguments=READ))['result']['content'][0]['text'] == HELLO
        assert process.ask(modern('tools/call', name='execute', arguments={'tool': 'files.no_such'}))['error']['code'] == -32602
        assert process.ask(initialize())['result']['serverInfo']['name'] == 'securetool'
        assert names(process.ask({'id': 3, 'method': 'tools/list'})['result']) == THREE
    finally:
        process.process.kill()
        process.process.communicate()
