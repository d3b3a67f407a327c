"""Servers of the oracle of governance, and who asks them. Three servers on one lake: what one is told the others know."""
import contextlib
import dataclasses
import json

import requests
from pyiceberg.catalog import load_catalog
from requests.adapters import HTTPAdapter

from rest import Rest
from stack import catalog, ports, process

ROLES = ('analyst', 'steward', 'auditor')
OWNER = 'owner'  # also its role, which every policy lets off: it sees what is there
PRINCIPALS = {'admin': (), 'ana': ('analyst',), 'bob': (), 'cleo': ('steward',), OWNER: (OWNER,)}
VENDED = {'X-Iceberg-Access-Delegation': 'vended-credentials'}
SERVERS = 2
LONGEST_TOKEN = '604800'
READER_SECONDS = '60'  # A principal has a hundred logins at most.


def settings(folder):
    clients = [{'id': name, 'secret': 's', 'scope': '*' if name == 'admin' else 'ns:*:rw', 'roles': list(roles)}
               for name, roles in PRINCIPALS.items()]
    path = folder / 'policy-oracle-clients.json'
    path.touch(mode=0o600)
    path.write_text(json.dumps(clients))
    return {'LAKEPROXY_OAUTH_CLIENTS_FILE': str(path), 'LAKEPROXY_OAUTH_JWT_SECRET': 'for tests alone: 32 bytes and more of it',
            'LAKEPROXY_OAUTH_TTL_SECONDS': LONGEST_TOKEN, 'LAKEPROXY_STS_MAX_DURATION': '900', 'LAKEPROXY_SIGNER_CACHE_TTL': '0',
            'LAKEPROXY_GOVERNANCE_FAIL_CLOSED': '1', 'LAKEPROXY_READER_TTL_SECONDS': READER_SECONDS}


def gateway_settings():
    """Of a server that gives keys of its own gateway, as where the store makes none."""
    return {'LAKEPROXY_STS_ENDPOINT': 'none', 'LAKEPROXY_S3_GATEWAY': '1', 'LAKEPROXY_S3_GATEWAY_PORT': str(ports.any_free())}


@contextlib.contextmanager
def servers(stack, count=SERVERS):
    """That many beside the stack's own, on its lake; the last one has the gateway."""
    with contextlib.ExitStack() as ends:
        made = []
        for more in [{}] * count + [gateway_settings()]:
            one = catalog.Lakeproxy(stack.folder, ports.any_free(), stack.postgres, stack.store, stack.state['binary'],
                                    {**settings(stack.folder), **more})
            one.log = stack.folder / f'policy-oracle-{one.port}.log'
            server = process.start([one.binary, 'serve'], one.log, one.environment(), one.folder)
            ends.callback(server.stop)
            process.wait_ready(one.name, server, one.log, one.ready, 60)
            made.append(one)
        yield made


@dataclasses.dataclass(frozen=True)
class Client(Rest):
    """The catalog as one principal sees it, over connections that stay open."""
    name: str = ''
    session: requests.Session = None

    def send(self, method, path, timeout=60, **request):
        return self.session.request(method, self.url(path), timeout=timeout, **request)

    def pyiceberg(self):
        token = self.session.headers['Authorization'].removeprefix('Bearer ')
        return load_catalog('lake', type='rest', uri=self.uri, warehouse=self.prefix, token=token,
                            **{f'header.{name}': value for name, value in VENDED.items()})


def client_of(server, name):
    body = {'grant_type': 'client_credentials', 'client_id': name, 'client_secret': 's'}
    answer = requests.post(f'{server.uri()}/v1/oauth/tokens', data=body, timeout=30)
    answer.raise_for_status()
    session = requests.Session()
    session.trust_env = False  # no proxies are looked up for each request
    session.mount('http://', HTTPAdapter(max_retries=0))
    session.headers['Authorization'] = f'Bearer {answer.json()["access_token"]}'
    return Client(server.uri(), 'lake', name, session)
