"""Services of all four modes, each a real process, shared by the tests of this folder."""
import os
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / 'clients/python'), str(ROOT / 'devtools')]

from scp import Client  # noqa: E402
from tool_stack.authority import Authority  # noqa: E402
from tool_stack.consent import ConsentHook  # noqa: E402
from tool_stack.identity import IdentityProvider  # noqa: E402
from tool_stack.service import SCOPES, ToolService  # noqa: E402

MODES = ['simple', 'basic', 'encrypted', 'enterprise']
BINARY = pathlib.Path(os.environ.get('TOOLS_BINARY', ROOT / 'build/dev/securetool'))
AGENT_SECRET = 'agent-Vq8ZpR2mXw6TbY4kLc9N'


@pytest.fixture(scope='session')
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp('authority'))


@pytest.fixture(scope='session')
def identity(tmp_path_factory, authority):
    clients = {'agent': (AGENT_SECRET, ' '.join(SCOPES)), 'reader': (AGENT_SECRET, 'cap:list tool:invoke:files.read')}
    provider = IdentityProvider(tmp_path_factory.mktemp('identity'), authority, 'https://tools.example/scp', clients)
    provider.start()
    yield provider
    provider.stop()


@pytest.fixture(scope='session')
def consent():
    hook = ConsentHook()
    yield hook
    hook.stop()


@pytest.fixture(scope='session')
def make_service(tmp_path_factory, authority, identity, consent):
    """Starts further services, with settings of their own, until the end of the run."""
    running = []

    def make(mode, provider=None, **changes):
        changes = {'hooks.consent_url': consent.url, **{name.replace('__', '.'): value for name, value in changes.items()}}
        service = ToolService(tmp_path_factory.mktemp(f'service-{mode}'), mode, authority, provider or identity, BINARY, changes)
        running.append(service)
        return service.start()

    yield make
    for service in running:
        service.stop()


@pytest.fixture(scope='session')
def services(make_service):
    return {mode: make_service(mode) for mode in MODES}


@pytest.fixture(params=MODES)
def service(request, services):
    return services[request.param]


def token_of(issuer, get, tokens={}):
    """One token of an issuer serves the whole run: to get one costs a process or a TLS handshake."""
    if issuer not in tokens:
        tokens[issuer] = get()
    return tokens[issuer]


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
