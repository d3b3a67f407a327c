"""A second server on the tour's lake, with an administrator, an analyst, a steward and a tool service as its clients."""
import contextlib
import dataclasses
import json
import secrets
import time

import requests

from lake_clients.lake import Lake
from stack import catalog, ports
from stack.process import StackError

SCOPES = {'admin': '*', 'analyst': 'ns:tour:r', 'steward': 'ns:tour:r'}
SECONDS_FOR_COPIES = 120
VENDED = {'X-Iceberg-Access-Delegation': 'vended-credentials'}


@dataclasses.dataclass(frozen=True)
class Principal:
    name: str
    lake: Lake  # with the credential of this one
    token: str

    def send(self, method, path, **request):
        headers = {'Authorization': f'Bearer {self.token}', **request.pop('headers', {})}
        return requests.request(method, f'{self.lake.uri}/v1/{self.lake.warehouse}/{path}', headers=headers, timeout=60, **request)

    def get(self, path, **request):
        """The answer's body, once the server has made what it needs for it."""
        end = time.monotonic() + SECONDS_FOR_COPIES
        while (answer := self.send('GET', path, **request)).status_code == 503 and time.monotonic() < end:
            time.sleep(0.1)
        return checked(answer)

    def post(self, path, body):
        return checked(self.send('POST', path, json=body))

    def keys(self, table):
        """Those to the store that the catalog gives with the table."""
        return self.get(f'namespaces/tour/tables/{table}', headers=VENDED)['config']


def checked(answer):
    if not answer.ok:
        raise StackError(f'{answer.request.method} {answer.request.path_url}: {answer.status_code} {answer.text}')
    return answer.json()


LAKE_NAME = 'lake.tour'  # of its own: what a service states for one lake is of no use at another


@contextlib.contextmanager
def beside(stack, lake, agent):
    """The principals by their names, while the server is up; the agent may ask for the steward."""
    known = {name: secrets.token_hex(16) for name in SCOPES}
    folder = stack.folder / 'tour'
    folder.mkdir(exist_ok=True)
    clients = folder / 'clients.json'
    clients.touch(mode=0o600)
    clients.write_text(json.dumps([*({'id': name, 'secret': known[name], 'scope': scope} for name, scope in SCOPES.items()),
                                   agent.client('ns:tour:r', ['steward'])]))
    server = catalog.Lakeproxy(folder, ports.any_free(), stack.postgres, stack.store, stack.state['binary'], {
        'LAKEPROXY_OAUTH_CLIENTS_FILE': str(clients), 'LAKEPROXY_OAUTH_ISSUER': LAKE_NAME,
        'LAKEPROXY_OAUTH_JWT_SECRET': secrets.token_hex(32), 'LAKEPROXY_REQUIRE_AUTH': '1',
        'LAKEPROXY_GOVERNANCE_FAIL_CLOSED': '1'})
    process = server.start()
    try:
        yield {name: principal(server, lake, name, secret) for name, secret in known.items()}
    finally:
        process.stop()


def principal(server, lake, name, secret):
    token_uri = f'{server.uri()}/v1/oauth/tokens'
    body = {'grant_type': 'client_credentials', 'client_id': name, 'client_secret': secret}
    token = checked(requests.post(token_uri, data=body, timeout=60))['access_token']
    return Principal(name, dataclasses.replace(lake, uri=server.uri(), token_uri=token_uri, credential=f'{name}:{secret}'), token)
