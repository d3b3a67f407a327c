"""MCP clients of several makers against the service, over HTTP and over standard input and output."""
import json

import pytest

from mcp_programs import INSPECTOR, NODE, PEERS, PYTHON, environment_of, run
from tool_clients import BINARY

HELLO = 'Hello from the file tool.\n'
ARGUMENTS = json.dumps({'path': 'notes/welcome.txt'})
CLIENTS = {
    'typescript': [NODE, PEERS / 'call_tool.mjs'],
    'python': [PYTHON, PEERS / 'call_tool.py', 'mcp'],
    'python with a session': [PYTHON, PEERS / 'call_tool.py', 'mcp-legacy'],
    'fastmcp': [PYTHON, PEERS / 'call_tool.py', 'fastmcp'],
}


@pytest.mark.parametrize('client', CLIENTS)
def test_a_client_lists_and_calls(mcp_service, client, tmp_path):
    said = json.loads(run([*CLIENTS[client], mcp_service.http_url + '/mcp', mcp_service.secret('api_key'), 'files.read', ARGUMENTS], cwd=tmp_path).stdout)
    assert 'files.read' in said['tools'] and said['text'] == HELLO and not said['isError']


@pytest.mark.parametrize('client', CLIENTS)
def test_a_client_with_another_token_gets_nothing(mcp_service, client, tmp_path):
    done = run([*CLIENTS[client], mcp_service.http_url + '/mcp', 'wrong', 'files.read', ARGUMENTS], cwd=tmp_path, check=False)
    assert done.returncode != 0 and 'Hello' not in done.stdout


def inspect(target, *options, cwd, env=None):
    return json.loads(run([NODE, INSPECTOR, '--cli', *target, *options], cwd=cwd, env=env).stdout)


def test_the_inspector_lists_and_calls(mcp_service, tmp_path):
    target = [mcp_service.http_url + '/mcp', '--transport', 'http', '--header', f'Authorization: Bearer {mcp_service.secret("api_key")}']
    assert 'files.read' in [tool['name'] for tool in inspect(target, '--method', 'tools/list', cwd=tmp_path)['tools']]
    called = inspect(target, '--method', 'tools/call', '--tool-name', 'files.read', '--tool-arg', 'path=notes/welcome.txt', cwd=tmp_path)
    assert called['content'][0]['text'] == HELLO


def test_the_inspector_over_standard_input_and_output(mcp_service, tmp_path):
    target, env = [BINARY, 'mcp'], environment_of(mcp_service)
    options = [word for name, value in env.items() for word in ('-e', f'{name}={value}')]
    called = inspect(target, *options, '--method', 'tools/call', '--tool-name', 'files.read', '--tool-arg', 'path=notes/welcome.txt', cwd=tmp_path, env=env)
    assert called['content'][0]['text'] == HELLO


@pytest.mark.parametrize('word', ['yes', 'no'])
def test_a_clients_user_sees_what_is_asked_and_decides(make_service, tmp_path, word):
    """By TypeScript's client: the form that it is sent, with the arguments of the call."""
    service = make_service('simple', hooks__consent_url=None, mcp__enabled=True, mcp__elicit_consent=True)
    arguments = json.dumps({'path': 'notes/asked.txt', 'content': 'by a user of a client'})
    said = json.loads(run([NODE, PEERS / 'ask_user.mjs', service.http_url + '/mcp', service.secret('api_key'), 'files.write', arguments, word], cwd=tmp_path).stdout)
    (question,) = said['asked']
    assert 'api-key asks to run files.write' in question['message'] and 'notes/asked.txt' in question['message'] and 'by a user' in question['message']
    assert list(question['form']['properties']) == ['approve']
    assert said['isError'] == (word == 'no') == ('E_CONSENT' in said['text'])
    assert (service.folder / 'files/notes/asked.txt').exists() == (word == 'yes')
