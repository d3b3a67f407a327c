"""A tool service of its own: folder, secrets, sample data, configuration, process."""
import json
import os
import pathlib
import secrets
import socket
import subprocess

from stack import ports, process

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(os.environ.get('TOOLS_BINARY', ROOT / 'build/dev/securetool'))
SANITIZED = BINARY.parent.name in ('asan', 'tsan')  # It needs more address space than a wall allows, and keeps what was freed.
SCOPES = ['cap:list', 'admin:audit', 'tool:invoke:sql.*', 'tool:invoke:files.*']
ORDERS = 'id,customer,amount\n1,ada,12.50\n2,bob,7.25\n3,ada,100.00\n'


class ToolService:
    """`mode` is one of simple, basic, encrypted, enterprise. `changes` are settings by dotted name that
    replace the ones made here; None takes one away."""

    def __init__(self, folder, mode, authority, identity=None, binary=BINARY, changes=None):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.mode, self.authority, self.identity, self.binary = mode, authority, identity, binary
        self.port = ports.any_free()
        self.tls = mode in ('basic', 'enterprise')
        self.process = None
        self.log = self.folder / 'log'
        self.audit = self.folder / 'audit'
        self._sample_data()
        self.settings = self._settings()
        self.settings.update(changes or {})

    @property
    def url(self):
        return f'{"wss" if self.tls else "ws"}://127.0.0.1:{self.port}/scp/v3'

    @property
    def http_url(self):
        return f'{"https" if self.tls else "http"}://127.0.0.1:{self.port}'

    def secret(self, name):
        return self.settings.get(name) or ''

    def start(self):
        config = self.write_config()
        self.process = process.start([self.binary, 'serve', '--config', config], self.log, env=environment(),
                                     cwd=self.folder)
        process.wait_ready(f'the tool service in mode {self.mode}', self.process, self.log, self._listens, 20)
        return self

    def stop(self):
        if self.process:
            self.process.stop()
            self.process = None

    def write_config(self):
        """The TOML file, readable by its owner alone since it holds secrets."""
        file = self.folder / 'securetool.toml'
        file.touch(mode=0o600)
        file.write_text(to_toml(self.settings))
        return file

    def run(self, *arguments, check=True):
        """The command line with this service's configuration."""
        command = [self.binary, *arguments, '--config', self.write_config()]
        return subprocess.run([str(word) for word in command], cwd=self.folder, env=environment(), check=check,
                              timeout=60, capture_output=True, text=True)

    def run_bare(self, *arguments, check=True, env=None):
        """The command line without a configuration."""
        return subprocess.run([str(word) for word in (self.binary, *arguments)], cwd=self.folder, env={**environment(), **(env or {})},
                              check=check, timeout=60, capture_output=True, text=True)

    def mint(self, subject='alice', scopes=SCOPES, seconds=600):
        """A client token, made by the command line."""
        return self.run('mint-token', '--subject', subject, '--scope', ' '.join(scopes), '--lifetime', str(seconds)).stdout.strip()

    def _listens(self):
        with socket.socket() as probe:
            probe.settimeout(1)
            return probe.connect_ex(('127.0.0.1', self.port)) == 0

    def _sample_data(self):
        (self.folder / 'data').mkdir(exist_ok=True)
        (self.folder / 'data/orders.csv').write_text(ORDERS)
        (self.folder / 'files/notes').mkdir(parents=True, exist_ok=True)
        (self.folder / 'files/notes/welcome.txt').write_text('Hello from the file tool.\n')

    def _settings(self):
        certificate, key = self.authority.server(f'service-{self.mode}') if self.tls else (None, None)
        common = {
            'node_id': 'node-b', 'mode': self.mode, 'server_url': self.url, 'cluster.name': 'cluster-1',
            'server.host': '127.0.0.1', 'server.port': self.port, 'server.workers': 2,
            # The consent hook is on this machine, and so are the clients.
            'security.allow_insecure_transit': True, 'secret_key': strong(), 'jwt_secret': strong(), 'kdf_salt': strong(24), 'audit.path': str(self.audit),
            'connectors.sql.enabled': True, 'connectors.sql.data_dir': str(self.folder / 'data'),
            'connectors.files.enabled': True, 'connectors.files.root': str(self.folder / 'files'),
            'connectors.files.extensions': '.txt,.csv', 'connectors.files.allow_write': True,
        }
        transport = {'security.tls_enabled': True, 'server.tls_cert': str(certificate), 'server.tls_key': str(key),
                     'security.ca_cert_path': str(self.authority.roots)} if self.tls else {}
        own = {
            'simple': {'api_key': strong(), 'security.api_key_scopes': ','.join(SCOPES)},
            'basic': {},
            'encrypted': {'api_key': strong(), 'security.api_key_scopes': ','.join(SCOPES)},
            'enterprise': {},
        }[self.mode]
        if self.mode == 'enterprise':
            own = {'oauth2.audience': self.identity.audience, 'oauth2.issuer': self.identity.issuer,
                   'oauth2.jwks_url': self.identity.jwks_url, 'oauth2.ca_cert_path': str(self.authority.roots)}
        return {**common, **transport, **own}


def environment():
    """No setting of another service; what a sanitizer's run-time reads stays."""
    kept = {name: value for name, value in os.environ.items() if name.endswith(('SAN_OPTIONS', 'SYMBOLIZER_PATH'))}
    return {'PATH': '/usr/bin:/bin', **kept}


def strong(count=36):
    return secrets.token_urlsafe(count)


def to_toml(settings):
    """Dotted names become sections; the top-level ones come first, as TOML wants."""
    lines, sections = [], {}
    for name, value in settings.items():
        if value is None:
            continue
        section, _, key = name.rpartition('.')
        sections.setdefault(section, []).append(f'{key} = {toml_value(value)}')
    lines += sections.pop('', [])
    for section, entries in sections.items():
        lines += ['', f'[{section}]', *entries]
    return '\n'.join(lines) + '\n'


def toml_value(value):
    if isinstance(value, list):
        return '[' + ', '.join(toml_value(item) for item in value) + ']'
    if isinstance(value, bool):
        return 'true' if value else 'false'
    if isinstance(value, (int, float)):
        return str(value)
    return json.dumps(str(value), ensure_ascii=False)  # a text of JSON is one of TOML
