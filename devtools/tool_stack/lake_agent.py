"""A tool service through which agents ask a lake for their users: its client at the lake, and its settings."""
import http.client
import itertools
import json
import secrets
import shutil
import subprocess

from tool_stack.authority import Authority
from tool_stack.service import BINARY, ToolService

SCOPES = ['cap:list', 'tool:invoke:lake.*']
PREFIX = 'io.modelcontextprotocol/'


class LakeAgent:
    """`name` is the client's id at the lake; `lake_name` what the lake calls itself."""

    def __init__(self, folder, name, lake_name):
        self.folder, self.name, self.lake_name = folder, name, lake_name
        self.secret = secrets.token_hex(16)
        shutil.rmtree(folder, ignore_errors=True)  # of a run before, with other secrets
        folder.mkdir(parents=True)
        self.key = folder / 'statements.key'
        subprocess.run([BINARY, 'keygen', 'ed25519', '--out', str(folder / 'statements')], check=True, capture_output=True)

    def client(self, scope, may_act_for, **more):
        """Its entry of LAKEPROXY_OAUTH_CLIENTS_FILE."""
        return {'id': self.name, 'secret': self.secret, 'scope': scope, 'may_act_for': may_act_for,
                'statement_keys': [self.key.with_suffix('.pub').read_text()], **more}

    def service(self, lake_uri, store_url, identity=None, **changes):
        """Not started. With an identity provider its callers are the provider's."""
        scratch = self.folder / 'scratch'
        scratch.mkdir(mode=0o700, exist_ok=True)
        settings = {'url': lake_uri, 'name': self.lake_name, 'client_id': self.name, 'client_secret': self.secret,
                    'statement_key_path': str(self.key), 'store_url': store_url, 'scratch_dir': str(scratch), 'enabled': True,
                    **changes}
        mode, authority = ('enterprise', identity.authority) if identity else ('basic', Authority(self.folder / 'authority'))
        return ToolService(self.folder / 'service', mode, authority, identity, changes={
            'mcp.enabled': True, 'connectors.sql.enabled': None, 'connectors.sql.data_dir': None, 'connectors.files.enabled': None,
            **{f'connectors.lake.{name}': value for name, value in settings.items()}})


class McpUser:
    """A user's agent: calls over MCP with a token that names the user."""

    def __init__(self, service, subject, scopes=None, token=None):
        self.service, self.ids = service, itertools.count(1)
        self.token = token or service.mint(subject, scopes or SCOPES)

    def call(self, tool, **arguments):
        """The JSON-RPC answer."""
        meta = {PREFIX + 'protocolVersion': '2026-07-28', PREFIX + 'clientCapabilities': {}}
        body = {'jsonrpc': '2.0', 'id': next(self.ids), 'method': 'tools/call',
                'params': {'name': tool, 'arguments': arguments, '_meta': meta}}
        connection = http.client.HTTPSConnection('127.0.0.1', self.service.port, timeout=120,
                                                 context=self.service.authority.client_tls())
        try:
            connection.request('POST', '/mcp', json.dumps(body), {
                'Content-Type': 'application/json', 'Accept': 'application/json, text/event-stream',
                'Authorization': f'Bearer {self.token}', 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tools/call',
                'Mcp-Name': tool})
            answer = connection.getresponse()
            text = answer.read().decode()
        finally:
            connection.close()
        if answer.getheader('Content-Type') == 'text/event-stream':
            text = [line.removeprefix('data: ') for line in text.splitlines() if line.startswith('data: ')][-1]
        return json.loads(text) if text else {'error': {'code': answer.status, 'message': answer.reason}}
