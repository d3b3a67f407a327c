"""Services of all four modes, each a real process, shared by the tests of this folder."""
import pytest
from tool_clients import AGENT_SECRET, BINARY, MODES  # first: it makes the packages below known
from mcp_messages import McpCaller
from mcp_programs import CONFORMANCE_SERVER
from tool_stack.authority import Authority
from tool_stack.hooks import ConsentHook
from tool_stack.identity import IdentityProvider
from tool_stack.service import SCOPES, ToolService


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


@pytest.fixture(scope='session')
def hurried(make_service):
    """A service whose time-outs are short."""
    return make_service('simple', server__hello_timeout='0.3', server__auth_timeout='0.3', server__idle_timeout='1',
                        server__ping_interval='0.5')


@pytest.fixture(scope='session')
def mcp_service(make_service):
    """A service that lets MCP clients in, and asks nobody for consent but its own hook."""
    return make_service('simple', mcp__enabled=True)


@pytest.fixture
def caller(mcp_service):
    return McpCaller(mcp_service, mcp_service.secret('api_key'))


@pytest.fixture(scope='session')
def fixture_service(tmp_path_factory, authority):
    """A service with the conformance suite's tools, which ask, tell and change."""
    scopes = 'cap:list,mcp:resources,mcp:prompts,tool:invoke:fixture.*,tool:invoke:files.*'
    service = ToolService(tmp_path_factory.mktemp('fixture'), 'simple', authority, binary=CONFORMANCE_SERVER, changes={
        'mcp.enabled': True, 'mcp.bare_namespace': 'fixture', 'mcp.elicit_consent': True, 'mcp.task_after': '0.2', 'security.api_key_scopes': scopes})
    service.start()
    service.binary = BINARY  # what mints tokens, with the same configuration
    yield service
    service.stop()


@pytest.fixture
def fixtures(fixture_service):
    return McpCaller(fixture_service, fixture_service.secret('api_key'))
