"""The example that shows how to link the client library really works."""
import os
import subprocess

from tool_clients import BINARY
from tool_stack.service import strong


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
