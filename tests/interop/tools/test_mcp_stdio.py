"""`securetool mcp`: MCP on standard input and output, for a client of the service. docs/tools/mcp.md."""
import json
import subprocess

import pytest

from mcp_messages import MODERN, PREFIX, SESSIONS
from mcp_programs import environment_of
from test_mcp_http import records_of
from tool_clients import BINARY


class Process:
    def __init__(self, env, *flags):
        self.process = subprocess.Popen([BINARY, 'mcp', *flags], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def send(self, message):
        self.process.stdin.write((message if isinstance(message, str) else json.dumps({'jsonrpc': '2.0', **message})) + '\n')
        self.process.stdin.flush()

    def receive(self):
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read()
        return json.loads(line)

    def ask(self, message):
        self.send(message)
        return self.receive()

    def end(self):
        """The exit code, and what was still said."""
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out, err


@pytest.fixture
def process(mcp_service):
    made = Process(environment_of(mcp_service))
    yield made
    made.process.kill()
    made.process.communicate()


def modern(method, id=1, **params):
    return {'id': id, 'method': method, 'params': {**params, '_meta': {PREFIX + 'protocolVersion': MODERN, PREFIX + 'clientCapabilities': {}}}}


def initialize(version=SESSIONS):
    return {'id': 0, 'method': 'initialize', 'params': {'protocolVersion': version, 'capabilities': {}, 'clientInfo': {'name': 'raw', 'version': '1'}}}


READ = {'name': 'files.read', 'arguments': {'path': 'notes/welcome.txt'}}


def test_a_call_without_a_session(process):
    assert MODERN in process.ask(modern('server/discover'))['result']['supportedVersions']
    assert 'files.read' in [tool['name'] for tool in process.ask(modern('tools/list'))['result']['tools']]
    answer = process.ask(modern('tools/call', 'x', **READ))
    assert answer['id'] == 'x' and answer['result']['content'][0]['text'] == 'Hello from the file tool.\n'
    code, out, _ = process.end()
    assert code == 0 and out == ''


def test_a_call_with_a_session(process):
    assert process.ask(initialize())['result']['protocolVersion'] == SESSIONS
    process.send({'method': 'notifications/initialized'})
    assert process.ask({'id': 1, 'method': 'ping'})['result'] == {}
    assert process.ask({'id': 2, 'method': 'tools/call', 'params': READ})['result']['content'][0]['text'] == 'Hello from the file tool.\n'


def test_the_service_is_the_gate_and_keeps_the_record(mcp_service, process):
    before = len(records_of(mcp_service, 'files.read'))
    refused = process.ask(modern('tools/call', 1, name='files.read', arguments={'path': '../../etc/passwd'}))
    assert refused['result']['isError']
    assert process.ask(modern('tools/call', 2, name='admin.nothing', arguments={}))['error']['code'] == -32602
    assert len(records_of(mcp_service, 'files.read')) == before + 1


@pytest.mark.parametrize('line, code', [('{', -32700), ('[]', -32600), ('{"jsonrpc":"2.0","id":1}', -32600)])
def test_a_line_that_is_no_message_is_answered_and_the_next_is_served(process, line, code):
    assert process.ask(line)['error']['code'] == code
    assert process.ask(modern('server/discover'))['result']


def test_a_request_that_names_no_revision_is_refused(process):
    assert process.ask({'id': 1, 'method': 'tools/list'})['error']['code'] == -32602
    process.ask(initialize())
    assert process.ask({'id': 1, 'method': 'tools/list'})['result']['tools']


def test_a_cancelled_call_ends(process):
    process.send(modern('tools/call', 'long', name='sql.query', arguments={'sql': 'SELECT count(*) FROM range(100000000000) a, range(1000) b'}))
    assert process.ask(modern('server/discover', 'quick'))['id'] == 'quick'
    process.send({'method': 'notifications/cancelled', 'params': {'requestId': 'long'}})
    ended = process.receive()
    assert ended['id'] == 'long' and ended['error']['data']['code'] == 'E_CANCELLED'


def test_what_runs_when_the_input_ends_is_ended(process):
    process.send(modern('tools/call', 'long', name='sql.query', arguments={'sql': 'SELECT count(*) FROM range(100000000000) a, range(1000) b'}))
    assert process.ask(modern('server/discover', 'quick'))['id'] == 'quick'
    code, out, _ = process.end()
    assert code == 0 and json.loads(out)['id'] == 'long'


def test_a_wrong_credential_serves_nothing(mcp_service):
    wrong = Process({**environment_of(mcp_service), 'SCP_API_KEY': 'Zk3vQ8mXr2TbY6wLc9Np4Hs7Dg1Fj5Ka'})
    wrong.send(modern('server/discover'))
    code, out, err = wrong.end()
    assert code == 1 and out == '' and 'E_AUTH' in err
