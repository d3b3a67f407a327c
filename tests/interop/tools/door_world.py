"""The two nodes of the differential of doors, and the credential with which a principal comes through each of their doors.

`node-b` has the tools. `node-a` has none of its own: it reaches those of node-b as their peer and, over MCP, as a bridge."""
import base64
import hashlib
import http.server
import json
import secrets
import threading
import time
import urllib.parse

from bridged import await_tools, run, test_server
from door_cases import ASKED, DENIED, DISAGREED, FILES, FORM, FORM_RULES, HIDDEN, QUARANTINED, READ_MOST, ROLES, TAKEN_OUT, TOOLS, WRITTEN
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding
from federated import make_key
from scp import holder
from scp.keys import b64, hkdf, hmac
from tool_clients import BINARY, client_of
from tool_stack.authority import make_rsa
from tool_stack.hooks import ConsentHook
from tool_stack.service import ToolService, strong

OWN, GATE = 'node-b', 'node-a'
# Of each door: the node it leads to, and the way from there to the tools.
DOORS = {'python': (OWN, 'here'), 'cpp': (OWN, 'here'), 'typescript': (OWN, 'here'), 'mcp': (OWN, 'here'), 'mcp-session': (OWN, 'here'),
         'stdio': (OWN, 'here'), 'workflow': (OWN, 'here'), 'peer': (GATE, 'peer'), 'bridge': (GATE, 'bridge')}
ENOUGH = {'limits.calls_per_second': 1_000_000, 'limits.burst': 1_000_000, 'limits.connections_per_address': 1024, 'limits.unauthenticated': 1024,
          'server.hello_timeout': 60, 'server.auth_timeout': 60}
RULE = """
[[rule]]
id = "doors.{name}"
severity = "high"
kind = "{kind}"
where = ["{where}"]
pattern = "{word}"
action = "{action}"
matches = ["a {word}"]
misses = ["a bird"]
"""
RULES = [('denied', 'injection', 'arguments', DENIED, 'deny'), ('asked', 'injection', 'arguments', ASKED, 'consent'),
         ('hidden', 'secret', 'arguments', HIDDEN, 'redact'), ('taken-out', 'secret', 'result', TAKEN_OUT, 'redact')]


def named(tool, way):
    """A tool's name at the node where its caller is. What is no tool's name has none."""
    space, dot, name = tool.partition('.')
    if way == 'here' or not dot or not space.isascii() or not space.isalpha() or not space.islower() or '.' in name:
        return tool
    return f'{OWN if way == "peer" else "far"}.{space}_{name}'


def scopes_at(scopes, way):
    """In the names of the gate; a scope for a namespace there would be one for all namespaces here."""
    if way == 'here':
        return scopes
    made = []
    for scope in scopes:
        verb, tool = scope.rsplit(':', 1)
        tools = [one for one in TOOLS if one.startswith(tool[:-1])] if tool.endswith('.*') else [tool]
        made += [f'{verb}:{named(one, way)}' for one in tools]
    return made


def details_at(details, way):
    return [{'type': 'scp_tool', 'tool': named(one['tool'], way), 'args': one['args']} for one in details]


class World:
    """`mode` is simple, where callers have API keys and client tokens, or enterprise, where a provider signs them."""

    def __init__(self, folder, mode, authority, people, issuer=None):
        self.folder, self.mode, self.issuer = folder, mode, issuer
        self.hook = ConsentHook()
        self.hook.decide = lambda question: {'decision': 'deny' if DISAGREED in json.dumps(question['args_preview']) else 'approve', 'by': 'operator', 'scope': 'once'}
        folder.mkdir(parents=True, exist_ok=True)
        self.secrets = {'secret_key': strong(), 'jwt_secret': strong(), 'kdf_salt': strong(24), **({'api_key': strong()} if mode != 'enterprise' else {})}
        self.key_pairs = {node: make_key(folder, node) for node in (OWN, GATE)}
        self.holder, self.thief = (make_key(folder, name)[0] for name in ('holder', 'thief'))
        self.nodes = {node: ToolService(folder / node, mode, authority, issuer, binary=BINARY) for node in (OWN, GATE)}
        self.keys = {OWN: [], GATE: []}
        self.denied = []
        for node, service in self.nodes.items():
            service.settings.update({**self._common(node), **(self._own() if node == OWN else self._gate())})
        self._fill_folder()
        self.credentials = {(one.name, door): self._credential(one, door) for one in people for door in DOORS}
        self.bearer_of_bridge = self._bearer_of_bridge()
        self._write_lists()

    def _common(self, node):
        mine, other = (OWN, GATE) if node == OWN else (GATE, OWN)
        address = '-' if node == OWN else self.nodes[OWN].url
        made = {**self.secrets, **ENOUGH, 'node_id': node, 'cluster.name': 'doors', 'security.proof_signing_key_path': str(self.key_pairs[mine][0]),
                'cluster.peers': [f'{other} {address} {self.key_pairs[other][1]}'], 'hooks.consent_url': self.hook.url, 'security.deny_file': str(self.folder / 'deny'),
                'audit.log_arguments': node == OWN, 'pins.path': str(self.nodes[node].folder / 'pins')}
        if not self.issuer:
            made |= {'security.api_keys_file': str(self.folder / f'{node}.keys'), 'security.api_key_scopes': 'cap:list'}
        else:
            made |= {'oauth2.jwks_url': None, 'oauth2.local_public_key_path': str(self.issuer.public), 'oauth2.role_claims': '/groups',
                     'oauth2.role_scopes_file': str(self.folder / f'{node}.roles')}
        return made

    def _own(self):
        rules = self.folder / 'doors.toml'
        rules.write_text('format = "securetool-rules/1"\nname = "doors"\nversion = 1\n' + ''.join(
            RULE.format(name=name, kind=kind, where=where, word=word, action=action) for name, kind, where, word, action in RULES))
        (self.folder / 'quarantine.txt').write_text(f'{QUARANTINED} # for the model\n')
        (self.folder / 'form.json').write_text(json.dumps(FORM))
        ruled = {f'rules__ruled__{argument}.{name}': value for argument, rule in FORM_RULES.items() for name, value in rule.items()}
        return {'mcp.enabled': self.mode != 'encrypted', 'cluster.peer_scopes': ','.join(f'tool:invoke:{tool}' for tool in TOOLS), 'guard.rules': [str(rules)],
                'guard.allow_unsigned_rules': True, 'guard.scan_time': '60', 'guard.quarantine_file': str(self.folder / 'quarantine.txt'), 'workflows.runs': 1_000_000,
                'connectors.files.read_max': READ_MOST, **test_server('form', 'form.py', self.folder / 'form.json', first_seen='trust', **ruled)}

    def _gate(self):
        bridge = {'bridges.far.kind': 'http', 'bridges.far.url': self.nodes[OWN].http_url + '/mcp', 'bridges.far.first_seen': 'trust', 'bridges.far.consent': 'never',
                  'bridges.far.header_files.Authorization': str(self.folder / 'bearer'),
                  **({'bridges.far.ca_cert_path': str(self.nodes[GATE].authority.roots)} if self.nodes[OWN].tls else {})}
        off = dict.fromkeys(['connectors.sql.enabled', 'connectors.sql.data_dir', 'connectors.files.enabled', 'connectors.files.root', 'connectors.files.extensions',
                             'connectors.files.allow_write'])
        return {**off, **(bridge if self.mode != 'encrypted' else {})}

    def _fill_folder(self):
        root = self.nodes[OWN].folder / 'files'
        for name, text in {**FILES, **dict.fromkeys(WRITTEN, 'before'), 'notes/x.key': 'key', 'notes/.hidden.txt': 'hidden'}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        outside = self.folder / 'outside'
        outside.mkdir()
        (outside / 'passwd.txt').write_text('secret')
        (root / 'notes/link.txt').symlink_to(outside / 'passwd.txt')
        (root / 'linked').symlink_to(outside)

    def _credential(self, person, door):
        node, way = DOORS[door]
        name = f'{person.name}-{door}'
        scopes = ['cap:list', 'flow:run', *scopes_at(person.scopes, way)]
        details = details_at(person.details, way)
        if person.kind == 'key':
            return {'api_key': self._key(node, name, scopes, details, person.flaw)}
        made = {'token': self._token(node, name, scopes, details, person)}
        if person.flaw == 'denied':
            self.denied.append(name)
        if person.kind == 'bound':
            made['holder_key'] = self.thief if person.flaw == 'another holder' else self.holder
        return made

    def _key(self, node, name, scopes, details, flaw=''):
        key = f'scpk_{name}_{secrets.token_urlsafe(32)}'
        until = '2020-01-01' if flaw == 'ended' else 'never'
        grant = ' '.join(scopes) + (f' {json.dumps(details)}' if details else '')
        shown = key[:-4] + ('AAAA' if flaw == 'another secret' else key[-4:])
        if flaw != 'unknown':
            self.keys[node].append(f'{name} until={until} sha256:{hashlib.sha256(key.encode()).hexdigest()} {grant}')
        return shown

    def _token(self, node, name, scopes, details, person):
        now = int(time.time())
        flaw, issuer = person.flaw, self.issuer
        claims = {'iss': issuer.issuer if issuer else node, 'aud': issuer.audience if issuer else 'doors', 'sub': name, 'iat': now - 10, 'nbf': now - 10, 'exp': now + 7200,
                  'jti': name, 'scope': ' '.join(scopes), 'groups': person.roles}
        if details:
            claims['authorization_details'] = details
        claims |= {'ended': {'exp': now - 3600, 'iat': now - 7200, 'nbf': now - 7200}, 'another audience': {'aud': 'elsewhere'},
                   'details': {'authorization_details': [{'type': 'payment_initiation'}]}}.get(flaw, {})
        if person.kind == 'bound':
            claims['cnf'] = {'jkt': thumbprint(self.holder)}
        if issuer:
            return issuer.sign(claims, is_forged=flaw == 'another secret')
        body = b64(b'{"alg":"HS256","typ":"scp-client+jwt"}') + '.' + b64(json.dumps(claims).encode())
        secret = strong() if flaw == 'another secret' else self.secrets['jwt_secret']
        return body + '.' + b64(hmac(hkdf(secret.encode(), self.secrets['kdf_salt'].encode(), b'scp3 client jwt', 32), body.encode()))

    def _bearer_of_bridge(self):
        """What the gate shows to node-b: a credential of its own, for all tools."""
        scopes = ['cap:list', *(f'tool:invoke:{tool}' for tool in TOOLS)]
        if not self.issuer:
            return self._key(OWN, 'bridge', scopes, [])
        now = int(time.time())
        return self.issuer.sign({'iss': self.issuer.issuer, 'aud': self.issuer.audience, 'sub': 'bridge', 'iat': now - 10, 'exp': now + 7200, 'scope': ' '.join(scopes)})

    def _write_lists(self):
        (self.folder / 'deny').write_text(''.join(f'sub {one}\n' for one in self.denied))
        for file, text in [('bearer', f'Bearer {self.bearer_of_bridge}\n')] + [(f'{node}.keys', '\n'.join(lines) + '\n') for node, lines in self.keys.items()]:
            (self.folder / file).touch(mode=0o600)
            (self.folder / file).write_text(text)
        for node, ways in ((OWN, ['here']), (GATE, ['peer', 'bridge'])):
            lines = []
            for role, (scopes, details) in ROLES.items():
                both = [one for way in ways for one in scopes_at(scopes, way)], [one for way in ways for one in details_at(details, way)]
                lines.append(f'{" ".join(both[0])}{" " + json.dumps(both[1]) if both[1] else ""} = {role}\n')
            (self.folder / f'{node}.roles').write_text(''.join(lines))

    def start(self):
        self.nodes[OWN].start()
        run(self._load_tables())
        self.nodes[GATE].start()
        run(self._await_gate())
        return self

    async def _load_tables(self):
        client = self.client(OWN, 'cap:list tool:invoke:sql.load tool:invoke:form.any')
        await client.connect()
        for table in ('sales', 'plans'):
            await client.invoke_tool('sql.load', file='orders.csv', table=table)
        await await_tools(client, ['form.any'])
        await client.disconnect()

    async def _await_gate(self):
        wanted = [named(tool, way) for way in ('peer', 'bridge') for tool in TOOLS if tool != QUARANTINED and (way == 'peer' or self.mode != 'encrypted')]
        client = self.client(GATE, ' '.join(['cap:list', *(f'tool:describe:{tool}' for tool in wanted)]))
        await client.connect()
        await await_tools(client, wanted)
        await client.disconnect()

    def client(self, node, scopes):
        """A Python client of the test's own."""
        return client_of(self.nodes[node], token=self._token(node, 'tester', scopes.split(), [], Tester))

    def stop(self):
        for service in self.nodes.values():
            service.stop()
        self.hook.stop()


class Tester:
    kind, flaw, roles = 'token', '', []


def thumbprint(private_key_file):
    return holder.thumbprint(holder.jwk_of(holder.load_key(private_key_file).public_key()))


class Issuer:
    """A provider of access tokens whose key the services know, and its token endpoint: a client is given what `tokens` has for its id."""

    def __init__(self, folder, authority):
        self.issuer, self.audience, self.jwks_url = 'https://provider.example', 'https://doors.example/scp', None
        self.key, self.forger, self.tokens = make_rsa(), make_rsa(), {}
        folder.mkdir(parents=True, exist_ok=True)
        self.public = folder / 'issuer.pub'
        self.public.write_bytes(self.key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo))
        issuer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                asked = self.rfile.read(int(self.headers['Content-Length'])).decode()
                basic = base64.b64decode(self.headers.get('Authorization', 'Basic ').removeprefix('Basic ')).decode()
                client = basic.split(':')[0] or urllib.parse.parse_qs(asked)['client_id'][0]
                body = json.dumps({'access_token': issuer.tokens[client], 'token_type': 'Bearer', 'expires_in': 7200}).encode()
                self.send_response(200)
                self.send_header('Content-Type', 'application/json')
                self.send_header('Content-Length', str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self.server.socket = authority.server_tls('doors-provider').wrap_socket(self.server.socket, server_side=True)
        self.token_url = f'https://localhost:{self.server.server_port}/token'
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def client_of(self, token):
        """The id of a client that the endpoint gives this token."""
        client = hashlib.sha256(token.encode()).hexdigest()[:32]
        self.tokens[client] = token
        return client

    def sign(self, claims, is_forged=False):
        body = b64(b'{"alg":"RS256","typ":"at+jwt"}') + '.' + b64(json.dumps(claims).encode())
        return body + '.' + b64((self.forger if is_forged else self.key).sign(body.encode(), padding.PKCS1v15(), hashes.SHA256()))

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
