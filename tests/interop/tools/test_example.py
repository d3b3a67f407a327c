"""The examples that show how to link the client library, and how to serve a tool of one's own, really work."""
import os
import subprocess

import pytest
from bridged import test_server, until
from own_tools import good, invoke, refused
from scp import Refused
from tool_clients import BINARY
from tool_stack.service import ToolService, strong


def run(service, **changes):
    secrets = {'SCP_API_KEY': service.secret('api_key'), 'SCP_SECRET_KEY': service.secret('secret_key'),
               'SCP_KDF_SALT': service.secret('kdf_salt'), **changes}
    return subprocess.run([BINARY.parent / 'call_tool', service.url], env={**os.environ, **secrets}, capture_output=True,
                          text=True, timeout=30)


def test_prints_the_answer(services):
    done = run(services['encrypted'])
    assert done.returncode == 0 and '[[42]]' in done.stdout, done


def test_says_why_not(services):
    done = run(services['encrypted'], SCP_API_KEY=strong())
    assert done.returncode == 1 and done.stderr.startswith('E_AUTH: ')


@pytest.fixture(scope='module')
def own(tmp_path_factory, authority):
    """The service of the example, with the configuration in its working directory."""
    changes = {'security.api_key_scopes': 'cap:list,tool:invoke:text.*,tool:invoke:files.*,tool:invoke:sql.query,tool:invoke:foreign.*',
               'security.allow_insecure_transit': True, **test_server('foreign', 'hostile.py', first_seen='trust')}
    service = ToolService(tmp_path_factory.mktemp('serve-tool'), 'simple', authority, binary=BINARY.parent / 'serve_tool', changes=changes)
    yield service.start()
    service.stop()


def test_a_program_serves_a_function_of_its_own(own):
    assert good(invoke(own, 'text.reverse', text='stressed')) == 'desserts'
    assert good(invoke(own, 'files.read', path='notes/welcome.txt')).startswith('Hello')
    assert refused(invoke(own, 'text.reverse', text='x' * 1001)) == 'E_SHAPE'
    assert refused(invoke(own, 'text.other', text='x')) == 'E_TOOL'
    assert refused(invoke(own, 'sql.list_tables')) == 'E_TOOL'


def test_its_engine_and_its_foreign_servers_are_children_of_the_program(own):
    assert good(invoke(own, 'sql.query', sql='SELECT 6 * 7 AS answer'))
    answer = until(lambda: (found := invoke(own, 'foreign.honest')) and not isinstance(found, Refused) and found, 'the foreign tool')
    assert good(answer) == 'as it should be'
