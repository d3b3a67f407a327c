"""The hooks as an operator meets them: what a person is shown, who asks, and what happens when nobody answers."""
import asyncio
import http.server
import json
import re
import socket
import subprocess
import sys
import threading
import time

import pytest
from mcp_messages import McpCaller
from scp import Refused
from tool_clients import MODES, ROOT, client_of
from tool_stack.hooks import Hook

SECRET = 'hR7v-Qm2Lx9Tz4Kw8Pc5Nd3Yb6Gf1Js0'


def call(service, tool, **arguments):
    async def work():
        client = client_of(service)
        await client.connect()
        try:
            return await client.invoke_tool(tool, **arguments)
        finally:
            await client.disconnect()

    return asyncio.run(asyncio.wait_for(work(), 60))


def closed_port():
    with socket.socket() as free:
        free.bind(('127.0.0.1', 0))
        return free.getsockname()[1]


class FilterHook:
    """Answers as `mode` says; "slow" waits until it is told to go on."""

    def __init__(self):
        self.mode, self.go_on = 'pass', threading.Event()
        hook = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers['Content-Length']))
                if hook.mode == 'slow':
                    hook.go_on.wait(30)
                body = b' ' * (40 << 20) if hook.mode == 'huge' else json.dumps({'action': 'pass'}).encode()
                try:
                    self.send_response(500 if hook.mode == 'broken' else 200)
                    self.send_header('Content-Length', str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)
                except OSError:
                    pass  # Whoever asked did not wait.

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self.url = f'http://127.0.0.1:{self.server.server_port}/filter'
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.go_on.set()
        self.server.shutdown()
        self.server.server_close()


def test_the_program_shows_the_path_before_any_long_content(services, consent):
    service = services['simple']
    done = service.run('call', 'files.write', 'path=notes/evil.txt', 'content=' + 'A' * 1100, check=False)
    assert done.returncode == 0, done.stderr
    asked = consent.asked[-1]
    assert '"path":"notes/evil.txt"' in asked['args_preview'], asked
    assert '...(+902 bytes)' in asked['args_preview'] and asked['truncated'] is True
    assert re.fullmatch('sha256:[0-9a-f]{64}', asked['args_h']) and asked['bytes'] > 1100
    assert 'session' not in asked['scopes']


def test_no_order_and_no_character_hides_an_argument(services, consent):
    call(services['simple'], 'files.write', content='A' * 2000 + '\u202e', path='notes/last.txt', mode='create')
    assert '"path":"notes/last.txt"' in consent.asked[-1]['args_preview']
    call(services['simple'], 'files.write', content='a\u202eb\u2066', path='notes/turn.txt', mode='create')
    assert '\u202e' not in consent.asked[-1]['args_preview'] and '\\u202e' in consent.asked[-1]['args_preview']


def test_a_write_is_asked_about_each_time_whatever_scope_is_given(services, consent):
    consent.decision = {'decision': 'approve', 'by': 'operator', 'scope': 'session'}
    before = len(consent.asked)

    async def work():
        client = client_of(services['simple'])
        await client.connect()
        for n in range(3):
            await client.invoke_tool('files.write', path=f'notes/each{n}.txt', content='x', mode='create')
        await client.disconnect()

    try:
        asyncio.run(work())
    finally:
        consent.decision = {'decision': 'approve', 'by': 'operator', 'scope': 'once'}
    assert len(consent.asked) == before + 3


def test_a_hook_that_is_away_is_told_to_the_operator(make_service):
    service = make_service('simple', hooks__consent_url=f'http://127.0.0.1:{closed_port()}/')
    with pytest.raises(Refused) as refused:
        call(service, 'files.write', path='notes/x.txt', content='x', mode='create')
    assert refused.value.code == 'E_CONSENT'
    assert 'gave no answer' in str(refused.value) and '127.0.0.1' not in str(refused.value)
    assert 'consent hook gave no answer' in service.log.read_text()


def test_an_open_filter_is_open_only_where_there_is_none(make_service):
    hook = FilterHook()
    try:
        service = make_service('simple', hooks__filter_url=hook.url, hooks__fail_mode='open', hooks__filter_timeout='0.5')
        assert not call(service, 'sql.query', sql='SELECT 1')['is_error']
        for mode in ('slow', 'broken', 'huge'):
            hook.mode = mode
            with pytest.raises(Refused) as refused:
                call(service, 'sql.query', sql='SELECT 1')
            assert refused.value.code == ('E_TIMEOUT' if mode == 'slow' else 'E_UPSTREAM'), mode
    finally:
        hook.stop()
    # Now there is none.
    assert not call(service, 'sql.query', sql='SELECT 1')['is_error']


def tidied(question):
    """A filter that takes a word out of answers, and withholds those with another."""
    text = question['content'][0]['text']
    if 'top-secret' in text:
        return {'action': 'block'}
    if 'hunter2' not in text:
        return {'action': 'pass'}
    return {'action': 'redact', 'content': [{**question['content'][0], 'text': text.replace('hunter2', '***')}],
            'structured': json.loads(json.dumps(question['structured']).replace('hunter2', '***'))}


@pytest.mark.parametrize('mode', MODES)
def test_a_filter_sees_every_answer_before_its_caller_in_every_mode(make_service, mode):
    hook = Hook(tidied)
    try:
        service = make_service(mode, hooks__filter_url=hook.url, mcp__enabled=mode != 'encrypted')
        shown = call(service, 'sql.query', sql="SELECT 'plain' AS word")
        assert shown['structured']['rows'] == [['plain']] and shown['redactions'] == 0
        redacted = call(service, 'sql.query', sql="SELECT 'hunter' || '2' AS word")
        assert redacted['structured']['rows'] == [['***']] and redacted['redactions'] == 1 and 'hunter2' not in json.dumps(redacted)
        with pytest.raises(Refused) as refused:
            call(service, 'sql.query', sql="SELECT 'top-' || 'secret' AS word")
        assert refused.value.code == 'E_POLICY' and 'top-secret' not in str(refused.value)
        assert [('hunter2' in json.dumps(one), 'top-secret' in json.dumps(one)) for one in hook.asked] == [(False, False), (True, False), (False, True)]
        if mode in ('simple', 'basic'):  # and to MCP clients
            caller = McpCaller(service, service.secret('api_key') or service.mint())
            said = json.dumps(caller.call('sql.query', {'sql': "SELECT 'hunter' || '2' AS word"}).result)
            assert '***' in said and 'hunter2' not in said
            said = caller.call('sql.query', {'sql': "SELECT 'top-' || 'secret' AS word"}).result
            assert said['isError'] and 'E_POLICY' in said['content'][0]['text'] and 'top-secret' not in json.dumps(said)
    finally:
        hook.stop()


def test_the_hook_of_the_page_asks_checks_the_signature_and_answers(make_service, tmp_path):
    """As it stands there, with one line of the operator's: the secret and the port."""
    page = (ROOT / 'docs/tools/hooks.md').read_text()
    program = re.search(r'```python\n(.*?)```', page, re.S).group(1)
    port = closed_port()
    assert "8099" in program
    script = tmp_path / 'hook.py'
    script.write_text(program.replace('8099', str(port)))
    hook = subprocess.Popen([sys.executable, '-u', str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                            env={'HOOK_SECRET': SECRET, 'PATH': '/usr/bin:/bin'})
    try:
        for _ in range(100):
            with socket.socket() as probe:
                if probe.connect_ex(('127.0.0.1', port)) == 0:
                    break
            time.sleep(0.05)
        service = make_service('simple', hooks__consent_url=f'http://127.0.0.1:{port}/', hooks__signing_secret=SECRET)
        answers = []
        for answer in ('n\n', 'y\n'):
            hook.stdin.write(answer)
            hook.stdin.flush()
            try:
                call(service, 'files.write', path='notes/page.txt', content='x\u202e\x1b[2J', mode='create')
                answers.append('ok')
            except Refused as refused:
                answers.append(refused.code)
        assert answers == ['E_CONSENT', 'ok']
        other = make_service('simple', hooks__consent_url=f'http://127.0.0.1:{port}/', hooks__signing_secret=SECRET[::-1])
        hook.stdin.write('y\n')
        hook.stdin.flush()
        with pytest.raises(Refused) as refused:
            call(other, 'files.write', path='notes/forged.txt', content='x', mode='create')
        assert refused.value.code == 'E_CONSENT'
    finally:
        hook.kill()
        shown = hook.communicate()[0]
    assert 'notes/page.txt' in shown and '\u202e' not in shown and '\x1b' not in shown
    assert 'notes/forged.txt' not in shown


def test_the_largest_and_smallest_values_of_the_sql_settings_start(make_service):
    for changes in ({'memory': '64MiB', 'timeout': '0.01', 'max_rows': '1', 'max_bytes': '1024', 'threads': '1'},
                    {'memory': '1GiB', 'timeout': '300', 'max_rows': '1000000', 'max_bytes': '256MiB', 'threads': '8'}):
        service = make_service('simple', **{f'connectors__sql__{name}': value for name, value in changes.items()})
        service.stop()
