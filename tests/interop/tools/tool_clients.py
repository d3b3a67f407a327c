"""The program under test, and clients of it with the credentials of each mode."""
import os
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / 'clients/python'), str(ROOT / 'devtools')]

from scp import Client  # noqa: E402

MODES = ['simple', 'basic', 'encrypted', 'enterprise']
BINARY = pathlib.Path(os.environ.get('TOOLS_BINARY', ROOT / 'build/dev/securetool'))
AGENT_SECRET = 'agent-Vq8ZpR2mXw6TbY4kLc9N'
TOKEN_SECONDS = 300  # tokens live for ten minutes, and the run for longer


def token_of(issuer, get, tokens={}):
    """A token of an issuer serves many tests, since to get one costs a process or a TLS handshake: for half its life."""
    if issuer not in tokens or time.monotonic() - tokens[issuer][0] > TOKEN_SECONDS:
        tokens[issuer] = time.monotonic(), get()
    return tokens[issuer][1]


def client_of(service, kind=Client, **changes):
    """The Python client, or another `kind` of it, with the credentials of the mode."""
    options = {'secret_key': service.secret('secret_key'), 'kdf_salt': service.secret('kdf_salt'), 'ca': service.authority.roots}
    if 'token' in changes:
        pass
    elif service.mode in ('simple', 'encrypted'):
        options['api_key'] = service.secret('api_key')
    elif service.mode == 'basic':
        options['token'] = token_of(service, service.mint)
    else:
        options['token'] = token_of(service.identity, lambda: service.identity.token('agent'))
    return kind(service.url, service.mode, **{**options, **changes})
