"""Governance of one server: a schema of a test's own with a table, and the requests of an administrator and others."""
import dataclasses
import secrets

import requests
from rest import Rest, assert_error

CLIENTS = [{'id': 'admin', 'secret': 's', 'scope': '*'}, {'id': 'ana', 'secret': 's', 'scope': 'ns:*:r', 'roles': ['analyst']},
           {'id': 'bob', 'secret': 's', 'scope': 'ns:*:rw'}]


class Governed:
    """What an administrator does on a server, in a schema of its own."""

    def __init__(self, server, duck, ask, clients):
        self.server, self.duck, self.ask, self.clients = server, duck, ask, clients
        self.schema = 'g' + secrets.token_hex(4)
        duck.execute(f'CREATE SCHEMA lake.{self.schema}')
        duck.execute(f'CREATE TABLE lake.{self.schema}.t(id BIGINT, ssn VARCHAR, region VARCHAR)')
        duck.execute(f"INSERT INTO lake.{self.schema}.t VALUES (1, '123-45', 'eu'), (2, '678-90', 'us')")

    def name(self, word):
        """A name of governance that no other test has."""
        return f'{word}_{self.schema}'

    def send(self, method, collection, body=None, client='admin', **query):
        return self.clients[client].send(method, f'governance/{collection}', json=body, params=query)

    def post(self, collection, **body):
        answer = self.send('POST', collection, {key.replace('_', '-'): value for key, value in body.items()})
        assert answer.status_code == 200, answer.text
        return answer.json()

    def refused(self, status, collection, **body):
        answer = self.send('POST', collection, {key.replace('_', '-'): value for key, value in body.items()})
        assert_error(answer, status)
        return answer.json()['error']['message']

    def delete(self, path, status=200, **body):
        answer = self.send('DELETE', path, {key.replace('_', '-'): value for key, value in body.items()} or None)
        if status != 200:
            assert_error(answer, status)
            return answer.json()['error']['message']
        assert answer.status_code == 200, answer.text
        return answer.json()

    def listed(self, collection):
        answer = self.send('GET', collection)
        assert answer.status_code == 200, answer.text
        return answer.json()[collection]

    def effective(self, principal='ana', table='t', **query):
        answer = self.send('GET', 'effective-policies', table=f'{self.schema}.{table}', principal=principal, **query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def plan(self, principal='ana', **query):
        return self.effective(principal, **query)['enforcement']

    def audited(self, operation, **query):
        answer = self.send('GET', 'audit', operation=operation, limit=1000, **query)
        assert answer.status_code == 200, answer.text
        return answer.json()['entries']

    # Objects that most tests need.

    def tag(self, word='ssn'):
        name = {'tag_namespace': self.name('pii'), 'tag_name': word}
        self.post('tags', namespace=name['tag_namespace'], name=word)
        return name

    def mask(self, word='mask', body="'***'", signature='(v VARCHAR)', **more):
        self.post('masking-policies', name=self.name(word), signature=signature, body=body, **more)
        return self.name(word)

    def filter(self, word='rows', body="region = 'eu'", signature='(region VARCHAR)', **more):
        self.post('row-access-policies', name=self.name(word), signature=signature, body=body, **more)
        return self.name(word)

    def on_column(self, policy, column='ssn', table='t'):
        return {'policy_kind': 'masking', 'policy_name': policy, 'target_kind': 'column', 'schema': self.schema, 'object': table, 'column': column}

    def on_tag(self, policy, tag, kind='masking'):
        return {'policy_kind': kind, 'policy_name': policy, 'target_kind': 'tag', **tag}

    def on_table(self, policy, table='t', **more):
        return {'policy_kind': 'row_access', 'policy_name': policy, 'target_kind': 'table', 'schema': self.schema, 'object': table, **more}

    def tagged(self, tag, kind='column', **more):
        names = {'schema': {}, 'table': {'object': 't'}, 'column': {'object': 't', 'column': 'ssn'}}[kind]
        return {'object_kind': kind, 'schema': self.schema, **names, **tag, **more}


@dataclasses.dataclass(frozen=True)
class Bearer(Rest):
    """The catalog as plain HTTP, with a token."""
    token: str = ''

    def send(self, method, path, **request):
        request['headers'] = {'Authorization': f'Bearer {self.token}', **request.get('headers', {})}
        return super().send(method, path, **request)


def client_of(server, name):
    body = {'grant_type': 'client_credentials', 'client_id': name, 'client_secret': 's'}
    answer = requests.post(f'{server.uri()}/v1/oauth/tokens', data=body, timeout=30)
    assert answer.status_code == 200, answer.text
    return Bearer(server.uri(), 'lake', answer.json()['access_token'])


def clients_of(server):
    return {client['id']: client_of(server, client['id']) for client in CLIENTS}


def without_token(server):
    return requests.get(f'{server.uri()}/v1/lake/governance/tags', timeout=30)
