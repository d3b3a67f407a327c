import pytest
from by_hand import Watched
from masked import NAMESPACE, SETTINGS, Governance, Store, as_client


@pytest.fixture(scope='module')
def server(stack):
    with Watched.beside(stack, **SETTINGS) as made:
        yield made


@pytest.fixture(scope='module')
def store(stack, lake):
    return Store.of(stack, lake)


@pytest.fixture(scope='module')
def governed(duck):
    duck.execute(f'CREATE SCHEMA IF NOT EXISTS lake.{NAMESPACE}')


@pytest.fixture(scope='module')
def admin(server, governed):
    return as_client(server, 'admin')


@pytest.fixture(scope='module')
def governance(admin):
    return Governance(admin)


@pytest.fixture(scope='module')
def analyst(server, governed):
    return as_client(server, 'analyst')


@pytest.fixture(scope='module')
def intern(server, governed):
    return as_client(server, 'intern')


@pytest.fixture(scope='module')
def steward(server, governed):
    return as_client(server, 'steward')
