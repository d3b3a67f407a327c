"""A server with clients beside the stack's own, and what an administrator does on it."""
import json

import pytest

from by_hand import Watched
from governed import CLIENTS, Governed, clients_of


@pytest.fixture(scope='session')
def clients_file(tmp_path_factory):
    path = tmp_path_factory.mktemp('clients') / 'clients.json'
    path.touch(mode=0o600)
    path.write_text(json.dumps(CLIENTS))
    return path


@pytest.fixture(scope='session')
def settings(clients_file):
    return {'LAKEPROXY_OAUTH_CLIENTS_FILE': str(clients_file), 'LAKEPROXY_OAUTH_JWT_SECRET': 'for tests alone: 32 bytes and more of it'}


@pytest.fixture(scope='session')
def server(stack, settings):
    with Watched.beside(stack, **settings) as made:
        yield made


@pytest.fixture(scope='session')
def tokens(server):
    return clients_of(server)


@pytest.fixture
def governed(stack, server, duck, tokens):
    return Governed(server, duck, lambda sql: stack.postgres.query('lake', sql).strip(), tokens)


# Of a module: while it is there, no other test could run an event loop of its own.
@pytest.fixture(scope='module')
def browser():
    from console_page import browser
    with browser() as made:
        yield made


@pytest.fixture
def console(browser, server):
    """Opens the console of the server; each is checked for faults and strange requests at the end."""
    from console_page import Console
    opened = []

    def open_console(uri=None, **options):
        opened.append(Console(browser, uri or server.uri(), **options))
        return opened[-1]

    yield open_console
    for one in opened:
        one.close()
