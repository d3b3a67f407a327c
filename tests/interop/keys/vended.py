"""Keys that a catalog gives, tried at the store; and a Security Token Service that says what a test wants."""
import contextlib
import dataclasses
import datetime
import http.server
import io
import threading
import urllib.parse

import requests
from minio import Minio

from rest import Rest
from store_keys import StoreKeys

VENDED = {'X-Iceberg-Access-Delegation': 'vended-credentials'}
SECRET = 'for tests alone: 32 bytes and more of it'
CLIENTS = {
    'admin': ('top-secret', '*'),
    'writer': ('w-secret', 'ns:keys:rw'),
    'reader': ('r-secret', 'ns:keys:r'),
    'second': ('s-secret', 'ns:keys:r'),
    'blind': ('b-secret', 'ns:keys:w'),
    'neighbour': ('n-secret', 'ns:others:rw'),
}
ENTRIES = ','.join(f'{name}:{secret}|{scope}' for name, (secret, scope) in CLIENTS.items())
SETTINGS = {'LAKEPROXY_OAUTH_CLIENTS': ENTRIES, 'LAKEPROXY_OAUTH_JWT_SECRET': SECRET, 'LAKEPROXY_REQUIRE_AUTH': '1',
            'LAKEPROXY_STS_MAX_DURATION': '900', 'LAKEPROXY_LOG_LEVEL': 'debug'}


@dataclasses.dataclass(frozen=True)
class Caller(Rest):
    """The catalog as plain HTTP, with a token, by which clients ask for keys."""
    token: str = ''

    def send(self, method, path, **request):
        request['headers'] = {'Authorization': f'Bearer {self.token}', **VENDED, **request.get('headers', {})}
        return super().send(method, path, **request)

    def keys(self, name, store):
        """Those to a table, `name` of one level."""
        answer = self.get('namespaces/{}/tables/{}'.format(*name.split('.')))
        assert answer.status_code == 200, answer.text
        return Keys(answer.json()['config'], store)


def as_client(server, name, **fields):
    body = {'grant_type': 'client_credentials', 'client_id': name, 'client_secret': CLIENTS[name][0], **fields}
    answer = requests.post(f'{server.uri()}/v1/oauth/tokens', data=body, timeout=30)
    assert answer.status_code == 200, answer.text
    return Caller(server.uri(), 'lake', answer.json()['access_token'])


class Keys(StoreKeys):
    """Those that a catalog gave for a table."""

    def __init__(self, config, store):
        assert config['s3.session-token']
        self.config = config
        super().__init__(store.bucket, Minio(
            store.host, access_key=config['s3.access-key-id'], secret_key=config['s3.secret-access-key'],
            session_token=config['s3.session-token'], secure=False, region=config['s3.region']))

    def puts_in_parts(self, key):
        content = bytes(6 << 20)
        return self.tried(lambda: self.client.put_object(self.bucket, key, io.BytesIO(content), len(content),
                                                         part_size=5 << 20))


@dataclasses.dataclass(frozen=True)
class Store:
    """The store past every catalog, with its own keys."""
    host: str
    bucket: str
    client: Minio

    @staticmethod
    def of(stack, lake):
        return Store(f'127.0.0.1:{stack.store.port}', lake.s3_bucket, stack.store.client())

    def key(self, location):
        return location.removeprefix(f's3://{self.bucket}/')

    def put(self, key, content=b'x'):
        self.client.put_object(self.bucket, key, io.BytesIO(content), len(content))

    def under(self, prefix):
        return {item.object_name for item in self.client.list_objects(self.bucket, prefix=prefix, recursive=True)}


class Sts(http.server.ThreadingHTTPServer):
    """A service whose answers a test chooses: keys that nobody takes, of any life."""

    daemon_threads = True

    def __init__(self):
        super().__init__(('127.0.0.1', 0), Answering)
        self.asked = []
        self.life = 900
        self.refusal = None  # (status, code), or a function of the form
        self.made = 0

    def endpoint(self):
        return f'http://127.0.0.1:{self.server_port}'


class Answering(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        form = dict(urllib.parse.parse_qsl(self.rfile.read(int(self.headers['Content-Length'])).decode(), strict_parsing=True))
        sts = self.server
        sts.asked.append((form, dict(self.headers)))
        refusal = sts.refusal(form) if callable(sts.refusal) else sts.refusal
        if refusal:
            status, code = refusal
            return self.answer(status, f'<ErrorResponse><Error><Type>Sender</Type><Code>{code}</Code>'
                                       f'<Message>secret words</Message></Error></ErrorResponse>')
        sts.made += 1
        ends = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=sts.life)
        return self.answer(200, '<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult>'
                                f'<Credentials><AccessKeyId>ASIA{sts.made}</AccessKeyId><SecretAccessKey>very-secret-{sts.made}'
                                f'</SecretAccessKey><SessionToken>token-{sts.made}</SessionToken><Expiration>'
                                f'{ends:%Y-%m-%dT%H:%M:%SZ}</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>')

    def answer(self, status, text):
        self.send_response(status)
        self.send_header('Content-Length', str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def sts_that_answers():
    with Sts() as sts:
        thread = threading.Thread(target=sts.serve_forever, daemon=True)
        thread.start()
        try:
            yield sts
        finally:
            sts.shutdown()
            thread.join()
