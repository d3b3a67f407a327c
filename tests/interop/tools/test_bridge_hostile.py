"""Foreign servers that die, lie, flood or say nothing: one clear refusal, and nobody else is the worse for it."""
import asyncio
import http.server
import json
import threading
import time

import pytest
from bridged import (
    audit_lines,
    await_pins,
    await_tools,
    bridge,
    pins,
    run,
    settings_of,
    test_server,
    text_of,
    until,
)
from scp import Refused
from test_modes import session
from tool_clients import client_of
from tool_stack.hooks import Hook


@pytest.fixture(scope='module')
def hostile(make_service):
    return make_service('simple', **settings_of(test_server('bad', 'hostile.py', first_seen='trust'),
                                                test_server('good', 'hostile.py', first_seen='trust')))


async def again(client, tool):
    """A call that is made until its server is back."""
    for _ in range(600):
        try:
            return await client.invoke_tool(tool)
        except Refused as refused:
            if refused.code not in ('E_BUSY', 'E_UPSTREAM', 'E_TOOL'):
                raise
            await asyncio.sleep(0.1)
    raise AssertionError('the server does not come back')


@pytest.mark.parametrize(('tool', 'codes'), [
    ('dies', {'E_UPSTREAM'}), ('says_too_much', {'E_UPSTREAM', 'E_LIMIT'}), ('writes_junk', {'E_UPSTREAM'}), ('floods', {'E_UPSTREAM'}),
    ('breaks_its_promise', {'E_UPSTREAM'}), ('needs_input', {'E_POLICY'}), ('says_nothing', {'E_TIMEOUT'}), ('answers_another', {'E_TIMEOUT'})])
def test_each_trick_is_one_refusal_and_the_server_comes_back(hostile, tool, codes):
    async def work(client):
        for server in ('bad', 'good'):
            assert text_of(await again(client, f'{server}.honest')) == 'as it should be'
        # A deadline only where the server never answers: all else has to end by itself.
        deadline = 1_000 if 'E_TIMEOUT' in codes else 40_000
        with pytest.raises(Refused) as caught:
            await client.invoke_tool(f'bad.{tool}', deadline_ms=deadline)
        assert caught.value.code in codes
        # Others' servers do not notice.
        assert text_of(await client.invoke_tool('good.honest')) == 'as it should be'
        assert text_of(await again(client, 'bad.honest')) == 'as it should be'

    run(session(client_of(hostile), work))


def test_what_a_server_asks_of_the_client_is_refused(hostile):
    async def work(client):
        await await_tools(client, ['good.asks_back'])
        said = json.loads(text_of(await client.invoke_tool('good.asks_back')))
        assert said == {'sampling/createMessage': -32601, 'elicitation/create': -32601, 'roots/list': -32601, 'ping': 'result'}

    run(session(client_of(hostile), work))


def filtered(question):
    """An output filter that blocks where a word stands, and else puts a word of its own in the place of the answer."""
    if 'not like this' in question['content'][0]['text']:
        return {'action': 'block'}
    return {'action': 'redact', 'content': [{'type': 'text/plain', 'text': 'taken out'}], 'redactions': 1}


def test_an_error_of_the_server_is_a_result(hostile):
    async def work(client):
        await await_tools(client, ['good.fails'])
        answer = await client.invoke_tool('good.fails')
        assert answer['is_error'] and text_of(answer) == 'not like this (-32602)'

    run(session(client_of(hostile), work))


def test_filters_see_what_a_foreign_server_answers(make_service):
    """Answers and errors alike, before their caller does."""
    hook = Hook(filtered)
    service = make_service('simple', **settings_of(test_server('good', 'hostile.py', first_seen='trust')), hooks__filter_url=hook.url)

    async def work(client):
        await await_tools(client, ['good.fails', 'good.honest'])
        assert text_of(await client.invoke_tool('good.honest')) == 'taken out'
        with pytest.raises(Refused) as caught:
            await client.invoke_tool('good.fails')
        assert caught.value.code == 'E_POLICY' and 'not like this' not in str(caught.value)

    try:
        run(session(client_of(service), work))
    finally:
        hook.stop()
    assert [(one['tool'], one['is_error'], one['content'][0]['text']) for one in hook.asked] == [
        ('good.honest', False, 'as it should be'), ('good.fails', True, 'not like this (-32602)')]
    sealed = [line for line in audit_lines(service) if line['kind'] == 'seal' and line['tool'].startswith('good.')]
    assert [line['result']['redactions'] for line in sealed] == [1, 0]
    assert sealed[1]['decision']['stage'] == 'output_filter'


@pytest.mark.parametrize('how', ['endless', 'huge', 'slow'])
def test_a_list_that_cannot_be_read_offers_nothing(make_service, how):
    service = make_service('simple', **settings_of(test_server('bad', 'hostile.py', how, first_seen='trust', timeout=2),
                                                   test_server('good', 'hostile.py', first_seen='trust')))

    async def work(client):
        await await_tools(client, ['good.honest'])
        until(lambda: '"bridge":"bad"' in service.log.read_text(), 'a line about the bad one')
        ids = {one['id'] for one in await client.list_capabilities()}
        assert not {id for id in ids if id.startswith('bad.')}
        assert text_of(await client.invoke_tool('good.honest')) == 'as it should be'

    run(session(client_of(service), work))


def test_odd_tools_are_left_out_one_by_one(make_service):
    service = make_service('simple', **settings_of(test_server('odd', 'hostile.py', 'odd', first_seen='trust')))

    async def work(client):
        assert await await_tools(client, ['odd.honest']) == {'odd.honest'}

    run(session(client_of(service), work))
    found = pins(service)
    reasons = {id: one['reason'] for id, one in found.items() if one['state'] == 'unusable'}
    assert 'looks like that of odd.read_log' in reasons['odd.read_1og'] and 'looks like' in reasons['odd.read_log']
    assert reasons['odd.twice'] == 'another tool has its name'
    assert 'must be of type object' in reasons['odd.no_schema'] and 'unknown keyword' in reasons['odd.unknown_word']
    assert found['odd.honest']['state'] == 'pinned' and len(reasons) == 10
    refused = service.run('pins', 'approve', 'odd.unknown_word', check=False)
    assert refused.returncode == 1 and 'cannot be offered' in refused.stderr


class Recorder:
    """An HTTP server that writes down what it is sent and answers by `answer(request) -> (status, headers, body)`.
    A body that is no bytes is a row of chunks; `left` counts those whose client went before the last one."""

    def __init__(self, answer):
        self.seen = []
        self.connections = 0
        self.left = 0
        recorder = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'

            def setup(self):
                recorder.connections += 1
                super().setup()

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers['Content-Length'])))
                recorder.seen.append((body, dict(self.headers)))
                status, headers, data = answer(body)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                if isinstance(data, bytes):
                    self.send_header('Content-Length', str(len(data)))
                    self.end_headers()
                    self.wfile.write(data)
                    return
                self.send_header('Transfer-Encoding', 'chunked')
                self.end_headers()
                try:
                    for chunk in data:
                        self.wfile.write(b'%x\r\n%s\r\n' % (len(chunk), chunk))
                    self.wfile.write(b'0\r\n\r\n')
                except OSError:
                    recorder.left += 1
                    self.close_connection = True

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self.url = f'http://127.0.0.1:{self.server.server_port}/mcp'
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def modern(body):
    """As much of a server of 2026-07-28 as these tests need."""
    if body['method'] == 'server/discover':
        result = {'supportedVersions': ['2026-07-28'], 'capabilities': {'tools': {}}}
    elif body['method'] == 'tools/list':
        result = {'tools': [{'name': 'honest', 'inputSchema': {'type': 'object'}}]}
    else:
        result = {'content': [{'type': 'text', 'text': 'as it should be'}]}
    data = json.dumps({'jsonrpc': '2.0', 'id': body.get('id'), 'result': {'resultType': 'complete', **result}})
    return 200, {'Content-Type': 'application/json'}, data.encode()


def test_credentials_go_to_their_own_server_alone(make_service, tmp_path):
    for name in 'ab':
        (tmp_path / name).write_text(f'Bearer secret-of-{name}\n')
        (tmp_path / name).chmod(0o600)
    with Recorder(modern) as one, Recorder(modern) as other, Recorder(lambda body: (307, {'Location': one.url}, b'')) as leads_away:
        service = make_service('simple', **settings_of(
            bridge('one', kind='http', url=one.url, first_seen='trust', header_files__Authorization=str(tmp_path / 'a')),
            bridge('other', kind='http', url=other.url, first_seen='trust', header_files__Authorization=str(tmp_path / 'b')),
            bridge('away', kind='http', url=leads_away.url, first_seen='trust', header_files__Authorization=str(tmp_path / 'b'))))

        async def work(client):
            await await_tools(client, ['one.honest', 'other.honest'])
            for tool in ('one.honest', 'other.honest'):
                assert text_of(await client.invoke_tool(tool)) == 'as it should be'
            until(lambda: '"bridge":"away"' in service.log.read_text(), 'a line about the redirect')
            assert 'away.honest' not in {found['id'] for found in await client.list_capabilities()}

        run(session(client_of(service), work))
        assert {headers['Authorization'] for _, headers in one.seen} == {'Bearer secret-of-a'}
        assert {headers['Authorization'] for _, headers in other.seen} == {'Bearer secret-of-b'}
        assert leads_away.seen and not [body for body, headers in one.seen if 'secret-of-b' in json.dumps(headers)]
        assert 'secret-of' not in service.log.read_text()
        for body, headers in one.seen:
            assert headers['Mcp-Method'] == body['method'] and headers['MCP-Protocol-Version'] == '2026-07-28'
            assert 'Bearer' not in json.dumps(body)
        assert {headers.get('Mcp-Name') for body, headers in one.seen if body['method'] == 'tools/call'} == {'honest'}


def test_plaintext_to_another_machine_is_refused_at_the_start(hostile, tmp_path):
    settings = dict(hostile.settings)
    try:
        hostile.settings.update(bridge('far', kind='http', url='http://192.0.2.1/mcp'))
        for command in (['config', 'check'], ['serve']):
            refused = hostile.run(*command, check=False)
            assert refused.returncode == 2 and 'far.url: must use TLS' in refused.stderr
        hostile.settings['bridges.far.url'] = 'https://192.0.2.1/mcp'
        assert hostile.run('config', 'check').returncode == 0
    finally:
        hostile.settings = settings


@pytest.mark.parametrize('answer', [
    lambda body: (200, {'Content-Type': 'text/html'}, b'<html>'),
    lambda body: (200, {'Content-Type': 'application/json'}, b'{"jsonrpc":"2.0","id":999,"result":{}}'),
    lambda body: (200, {'Content-Type': 'text/event-stream'}, b': nothing\n\n'),
    lambda body: (200, {'Content-Type': 'text/event-stream'}, b'data: {"jsonrpc":"2.0","method":"notifications/message"}\n\n' * 11_000),
    lambda body: (401, {'WWW-Authenticate': 'Bearer'}, b''),
    lambda body: (500, {}, b'{')], ids=['html', 'another id', 'no answer', 'too many events', 'unauthorised', 'broken'])
def test_an_http_server_that_gives_no_answer_costs_its_tools_alone(make_service, answer):
    def trick(body):
        return answer(body) if body['method'] == 'tools/call' else modern(body)

    with Recorder(trick) as server:
        service = make_service('simple', **settings_of(bridge('web', kind='http', url=server.url, first_seen='trust'),
                                                       test_server('good', 'hostile.py', first_seen='trust')))

        async def work(client):
            await await_tools(client, ['web.honest', 'good.honest'])
            with pytest.raises(Refused) as caught:
                await client.invoke_tool('web.honest')
            assert caught.value.code == 'E_UPSTREAM'
            assert text_of(await client.invoke_tool('good.honest')) == 'as it should be'

        run(session(client_of(service), work))
    assert await_pins(service, {'web.honest': 'pinned'})


def as_events(body, after):
    """What modern() says, as an event, and what the stream does before it ends."""
    def chunks():
        yield b'data: ' + modern(body)[2] + b'\n\n'
        yield from after()

    return 200, {'Content-Type': 'text/event-stream'}, chunks()


def call_five_times(make_service, server):
    service = make_service('simple', **settings_of(bridge('web', kind='http', url=server.url, first_seen='trust')))

    async def work(client):
        await await_tools(client, ['web.honest'])
        for _ in range(5):
            await asyncio.sleep(0.05)
            assert text_of(await client.invoke_tool('web.honest')) == 'as it should be'

    run(session(client_of(service), work))


def test_a_stream_that_ends_with_its_answer_leaves_its_connection_to_the_next_call(make_service):
    def soon():
        time.sleep(0.01)
        yield b': nothing more\n\n'

    with Recorder(lambda body: as_events(body, soon)) as server:
        call_five_times(make_service, server)
    # One for each of the questions that came before, at most.
    assert len([body for body, _ in server.seen if body['method'] == 'tools/call']) == 5 and server.connections <= 3


def test_a_stream_that_goes_on_after_its_answer_is_closed(make_service):
    def never():
        for _ in range(600):
            time.sleep(0.05)
            yield b': still here\n\n'

    with Recorder(lambda body: as_events(body, never) if body['method'] == 'tools/call' else modern(body)) as server:
        call_five_times(make_service, server)
        until(lambda: server.left == 5, 'the end of all five')


def test_a_server_that_says_nothing_does_not_hold_up_the_end(make_service):
    over = threading.Event()

    def silent(body):
        if body['method'] == 'tools/list':
            over.wait(120)
        return modern(body)

    with Recorder(silent) as server:
        service = make_service('simple', **settings_of(bridge('mute', kind='http', url=server.url, first_seen='trust', timeout=120),
                                                       test_server('slow', 'hostile.py', 'slow', first_seen='trust', timeout=120)))
        until(lambda: any(body['method'] == 'tools/list' for body, _ in server.seen), 'the question for its tools')
        service.stop()
        over.set()
        assert '"msg":"stopped"' in service.log.read_text()
