"""The real service, for the exploits of this folder; nobody gives consent to anything."""
import pathlib
import sys

import pytest

sys.path[1:1] = [str(pathlib.Path(__file__).resolve().parents[1] / 'interop/tools')]

from tool_clients import BINARY  # noqa: E402  first: it makes the packages below known
from mcp_messages import McpCaller  # noqa: E402
from tool_stack.authority import Authority  # noqa: E402
from tool_stack.service import ToolService  # noqa: E402

SCOPES = 'cap:list,tool:invoke:sql.*,tool:invoke:files.*'


@pytest.fixture(scope='session')
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp('authority'))


@pytest.fixture(scope='session')
def make_service(tmp_path_factory, authority):
    """Starts services with settings of their own, until the end of the run."""
    running = []

    def make(**changes):
        changes = {name.replace('__', '.'): value for name, value in changes.items()}
        service = ToolService(tmp_path_factory.mktemp('service'), 'simple', authority, binary=BINARY, changes=changes)
        running.append(service)
        return service.start()

    yield make
    for service in running:
        service.stop()


@pytest.fixture(scope='session')
def service(make_service):
    """With files, SQL and the ingress for MCP clients."""
    return make_service(mcp__enabled=True, security__api_key_scopes=SCOPES)


@pytest.fixture
def caller(service):
    return McpCaller(service, service.secret('api_key'))
