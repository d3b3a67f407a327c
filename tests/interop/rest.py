"""The catalog as plain HTTP."""
import dataclasses
import secrets
import time

import requests

TIMEOUT = 30


@dataclasses.dataclass(frozen=True)
class Rest:
    uri: str
    prefix: str

    @staticmethod
    def of(lake):
        return Rest(lake.uri, lake.warehouse)

    def url(self, path):
        return f'{self.uri}/v1/{self.prefix}/{path}'

    def send(self, method, path, timeout=TIMEOUT, **request):
        return requests.request(method, self.url(path), timeout=timeout, **request)

    def get(self, path, **request):
        return self.send('GET', path, **request)

    def post(self, path, body=None, **request):
        return self.send('POST', path, json=body, **request)


def assert_error(answer, *statuses):
    """The status is one of `statuses`, and the body is an error in the API's shape."""
    assert answer.status_code in statuses, f'{answer.status_code}: {answer.text[:500]}'
    if answer.request.method == 'HEAD':
        assert not answer.content
        return
    error = answer.json()['error']
    assert set(error) >= {'message', 'type', 'code'}
    assert error['code'] == answer.status_code
    assert error['message'] and error['type']


def new_key():
    """An Idempotency-Key: a UUID of version 7."""
    text = f'{int(time.time() * 1000):012x}7{secrets.token_hex(2)[1:]}8{secrets.token_hex(8)[1:]}'
    return '-'.join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def keyed(key=None):
    return {'headers': {'Idempotency-Key': key or new_key()}}


COLUMN = {'id': 1, 'name': 'a', 'type': 'long', 'required': False}


def table_body(name, **changes):
    return {'name': name, 'schema': {'type': 'struct', 'fields': [COLUMN]}, **changes}
