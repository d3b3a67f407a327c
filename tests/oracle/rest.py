"""The catalog as plain HTTP, for what PyIceberg does not do or does not do alone."""
import json

import requests

TIMEOUT = 60


class Rest:
    def __init__(self, lake):
        self.service = lake.uri
        self.root = f'{lake.uri}/v1/{lake.warehouse}'
        self.session = requests.Session()

    def get(self, path):
        answer = self.session.get(f'{self.root}/{path}', timeout=TIMEOUT)
        answer.raise_for_status()
        return answer.json()

    def post(self, path, body):
        """The answer's JSON. A refusal by name is the same error as PyIceberg makes of it."""
        answer = self.session.post(f'{self.root}/{path}', json=body, timeout=TIMEOUT)
        if answer.status_code == 501:
            raise NotImplementedError(answer.json()['error']['message'])
        if not answer.ok:
            raise RuntimeError(f'POST {path}: {answer.status_code} {answer.text[:2000]}\n{json.dumps(body)[:4000]}')
        return answer.json() if answer.content else None

    def delete(self, path):
        answer = self.session.delete(f'{self.root}/{path}', timeout=TIMEOUT)
        answer.raise_for_status()

    def copies_waiting(self):
        """Data files whose readable copies the server is still to make."""
        text = self.session.get(f'{self.service}/metrics', timeout=TIMEOUT).text
        return sum(float(line.split()[-1]) for line in text.splitlines() if line.startswith('lakeproxy_readable_copies_waiting'))

    def commit(self, schema, name, requirements, updates):
        body = {'identifier': {'namespace': [schema], 'name': name}, 'requirements': requirements, 'updates': updates}
        return self.post(path_of(schema, name), body)


def path_of(schema, name):
    return f'namespaces/{schema}/tables/{quote(name)}'


def quote(name):
    return requests.utils.quote(name, safe='')
