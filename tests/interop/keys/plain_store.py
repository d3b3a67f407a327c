"""A catalog on a store without STS, with clients whose scopes differ, and the catalog as each of them sees it."""
import contextlib
import dataclasses

import pyarrow as pa
import requests

from rest import Rest
from stack import catalog, object_store, ports

CLIENTS = {
    'writer': ('w-secret', 'ns:sales:rw'),
    'reader': ('r-secret', 'ns:sales:r'),
    'other': ('o-secret', 'ns:hidden:rw'),
    'admin': ('top-secret', '*'),
}
MEMORY_SECONDS = 1.0
SETTINGS = {
    'LAKEPROXY_OAUTH_CLIENTS': ','.join(f'{name}:{secret}|{scope}' for name, (secret, scope) in CLIENTS.items()),
    'LAKEPROXY_OAUTH_JWT_SECRET': 'for tests alone: 32 bytes and more of it',
    'LAKEPROXY_REQUIRE_AUTH': '1',
    'LAKEPROXY_SIGNER_CACHE_TTL': str(MEMORY_SECONDS),
    'LAKEPROXY_STS_ENDPOINT': 'none',
}
BUCKET = object_store.BUCKET
ROWS = pa.table({'a': pa.array(range(1000), pa.int64())})


@contextlib.contextmanager
def running(part):
    server = part.start()
    try:
        yield part
    finally:
        part.stop(server)


@contextlib.contextmanager
def catalog_on(stack, store, database, folder, **settings):
    """A catalog with a lake of its own on that store."""
    stack.postgres.query('postgres', f'DROP DATABASE IF EXISTS {database}')
    stack.postgres.query('postgres', f'CREATE DATABASE {database}')
    made = catalog.Lakeproxy(folder, ports.any_free(), stack.postgres, store, stack.state['binary'],
                             {**SETTINGS, 'LAKEPROXY_PG_DATABASE': database, **settings})
    try:
        with running(made):
            yield made
    finally:
        stack.postgres.query('postgres', f'DROP DATABASE {database} WITH (FORCE)')


def token_of(server, client):
    fields = {'grant_type': 'client_credentials', 'client_id': client, 'client_secret': CLIENTS[client][0]}
    answer = requests.post(f'{server.uri()}/v1/oauth/tokens', data=fields, timeout=30)
    assert answer.status_code == 200, answer.text
    return answer.json()['access_token']


@dataclasses.dataclass(frozen=True)
class Bearer(Rest):
    token: str = ''

    def send(self, method, path, **request):
        request['headers'] = {'Authorization': f'Bearer {self.token}', **request.get('headers', {})}
        return super().send(method, path, **request)


def rest_of(server, client):
    return Bearer(server.uri(), 'lake', token_of(server, client))


def location_of(server, table):
    name_space, name = table.split('.')
    return rest_of(server, 'admin').get(f'namespaces/{name_space}/tables/{name}').json()['metadata']['location']
