"""Other servers as tools: what a caller sends stays in its place, no address is reached that the operator did not allow, and credentials are in
no answer."""
import http.server
import json
import os
import socket
import threading
import urllib.parse

import pytest
from own_tools import call, failed, good, refused, sections
from tool_stack.service import strong

TOKEN = strong()
TEXT = {'type': 'string'}


class Upstream:
    """Answers what it was sent; the path says with which status and in which way."""

    def __init__(self, tls=None):
        self.requests, self.release = [], threading.Event()
        upstream = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'

            def answer(self):
                body = self.rfile.read(int(self.headers.get('Content-Length') or 0))
                sent = {'method': self.command, 'target': self.path, 'headers': dict(self.headers), 'body': body.decode()}
                upstream.requests.append(sent)
                path = self.path.split('?')[0]
                if path == '/hang':
                    upstream.release.wait(60)
                status, headers, answer = 200, {'Content-Type': 'application/json'}, json.dumps({'sent': sent, 'list': [1, {'a/b': 'deep'}]}).encode()
                if path.startswith('/status/'):
                    status = int(path.removeprefix('/status/'))
                    headers['Retry-After'] = '7'
                if path == '/redirect':
                    status, headers['Location'] = 302, f'http://127.0.0.1:{upstream.port}/redirected'
                if path == '/bomb':
                    answer = b'x' * (2 << 20)
                if path == '/text':
                    answer = b'not JSON'
                if path == '/bytes':
                    answer = b'\xff\xfe'
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header('Content-Length', str(len(answer)))
                self.end_headers()
                try:
                    self.wfile.write(answer)
                except (BrokenPipeError, ConnectionResetError):
                    pass  # the service has read enough

            do_GET = do_POST = do_PUT = do_DELETE = answer

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        if tls:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.release.set()
        self.server.shutdown()
        self.server.server_close()


class Silent:
    """Counts who connects, and says nothing."""

    def __init__(self):
        self.socket = socket.create_server(('127.0.0.1', 0))
        self.port = self.socket.getsockname()[1]

    def was_called(self):
        self.socket.settimeout(0)
        try:
            self.socket.accept()[0].close()
        except BlockingIOError:
            return False
        return True

    def stop(self):
        self.socket.close()


@pytest.fixture(scope='module')
def upstream():
    one = Upstream()
    yield one
    one.stop()


@pytest.fixture(scope='module')
def encrypted(authority):
    one = Upstream(authority.server_tls('upstream'))
    yield one
    one.stop()


@pytest.fixture(scope='module')
def silent():
    one = Silent()
    yield one
    one.stop()


@pytest.fixture(scope='module')
def service(make_service, upstream, encrypted, silent, authority, tmp_path_factory):
    token = tmp_path_factory.mktemp('http-tools') / 'token'
    with open(os.open(token, os.O_WRONLY | os.O_CREAT, 0o600), 'w') as out:
        out.write(TOKEN)
    here = {'kind': 'http', 'networks': ['127.0.0.1/32']}
    base = f'http://127.0.0.1:{upstream.port}'
    with_token = {'secrets': {'key_file': str(token)}, 'headers': {'Authorization': 'Bearer {secret.key}', 'X-Name': '{name}'}}
    tools = {
        'get': {**here, **with_token, 'url': base + '/v1/{name}/end', 'answer': 'json', 'query': {'q': '{q}', 'fixed': 'a&b'},
                'parameters': {'name': TEXT, 'q': {'type': 'string', 'optional': True}}},
        'post': {**here, 'method': 'POST', 'url': base + '/post', 'answer': 'json', 'pointer': '/sent', 'body': 'json',
                 'parameters': {'n': {'type': 'integer'}, 'list': {'type': 'array'}}},
        'deep': {**here, 'url': base + '/x', 'answer': 'json', 'pointer': '/list/1/a~1b'},
        'nowhere': {**here, 'url': base + '/x', 'answer': 'json', 'pointer': '/none'},
        'status': {**here, **with_token, 'url': base + '/status/{code}',
                   'parameters': {'code': {'type': 'integer'}, 'name': {'type': 'string', 'optional': True}}},
        'redirect': {**here, 'url': base + '/redirect'},
        'bomb': {**here, 'url': base + '/bomb'},
        'text': {**here, 'url': base + '/text', 'answer': 'json'},
        'bytes': {**here, 'url': base + '/bytes'},
        'hang': {**here, 'url': base + '/hang', 'timeout': 2},
        'tls': {**here, 'url': f'https://localhost:{encrypted.port}/tls', 'ca_file': str(authority.roots), 'networks': ['127.0.0.0/8', '::1/128']},
        'untrusted': {**here, 'url': f'https://127.0.0.1:{encrypted.port}/tls'},
        'loopback': {'kind': 'http', 'url': f'http://127.0.0.1:{silent.port}/'},
        'loopback-tls': {'kind': 'http', 'url': f'https://127.0.0.1:{silent.port}/'},
        'name': {'kind': 'http', 'url': f'https://localhost:{silent.port}/'},
        'mapped': {'kind': 'http', 'url': f'https://[::ffff:127.0.0.1]:{silent.port}/'},
        'any': {'kind': 'http', 'url': f'https://0.0.0.0:{silent.port}/'},
        'decimal': {'kind': 'http', 'url': f'https://2130706433:{silent.port}/'},
        'metadata': {'kind': 'http', 'url': 'https://169.254.169.254/latest/meta-data/'},
        'other-network': {'kind': 'http', 'url': f'https://127.0.0.1:{silent.port}/', 'networks': ['127.0.0.2/32']},
    }
    return make_service('simple', **sections(tools))


def test_a_value_stays_in_its_place(service, upstream):
    for value in ('a b', '../../admin', '/', '?x=y&z', '#x', '%2e%2e%2f', '@evil.example', '\\', '\u00e4', ';', 'x' * 1000):
        sent = call(service, 'get', name='n', q=value)['structured']['sent']
        path, _, query = sent['target'].partition('?')
        assert path == '/v1/n/end' and urllib.parse.parse_qsl(query, keep_blank_values=True) == [('fixed', 'a&b'), ('q', value)]
        assert sent['headers']['Host'] == f'127.0.0.1:{upstream.port}'
    for value, segment in (('a/b', 'a%2Fb'), ('..%2f', '..%252f'), ('a?b#c', 'a%3Fb%23c'), ('...', '...')):
        assert call(service, 'get', name=value)['structured']['sent']['target'] == f'/v1/{segment}/end?fixed=a%26b'


def test_a_value_that_would_leave_its_place_is_refused(service, upstream):
    count = len(upstream.requests)
    for value in ('', '.', '..', 'a\r\nHost: evil.example', 'a\nX: y', 'a\0b', '\x7f'):
        assert refused(call(service, 'get', name=value)) == 'E_SHAPE', repr(value)
    assert len(upstream.requests) == count


def test_bodies_and_parts_of_the_answer(service):
    sent = call(service, 'post', n=1, list=['a'])['structured']
    assert sent['method'] == 'POST' and json.loads(sent['body']) == {'n': 1, 'list': ['a']} and sent['headers']['Content-Type'] == 'application/json'
    assert call(service, 'deep')['structured'] == 'deep'
    assert refused(call(service, 'nowhere')) == 'E_UPSTREAM'
    assert refused(call(service, 'text')) == 'E_UPSTREAM'
    assert refused(call(service, 'bytes')) == 'E_UPSTREAM'


def test_each_status_has_its_meaning(service):
    assert failed(call(service, 'status', code=404)).startswith('the server answered with status 404\n')
    for code in (301, 307, 401, 403, 407, 500, 502):
        assert refused(call(service, 'status', code=code)) == 'E_UPSTREAM', code
    busy = call(service, 'status', code=429)
    assert refused(busy) == 'E_BUSY' and busy.retry_ms == 7000


def test_credentials_reach_the_server_and_no_answer(service, upstream):
    answer = call(service, 'get', name='n')
    assert upstream.requests[-1]['headers']['Authorization'] == f'Bearer {TOKEN}'
    assert answer['structured']['sent']['headers']['Authorization'] == 'Bearer ***'
    assert TOKEN not in json.dumps(answer)
    assert TOKEN not in failed(call(service, 'status', code=422))
    assert TOKEN not in service.log.read_text()
    assert TOKEN not in service.run('config', 'show').stdout + service.run('list', '--json').stdout


def test_a_redirect_is_not_followed(service, upstream):
    assert refused(call(service, 'redirect')) == 'E_UPSTREAM'
    assert not any(one['target'] == '/redirected' for one in upstream.requests)


def test_answers_are_bounded_in_size_and_time(service):
    assert refused(call(service, 'bomb')) == 'E_LIMIT'
    assert refused(call(service, 'hang')) == 'E_TIMEOUT'


def test_certificates_are_verified(service, encrypted):
    good(call(service, 'tls'))
    count = len(encrypted.requests)
    assert refused(call(service, 'untrusted')) == 'E_UPSTREAM'
    assert len(encrypted.requests) == count


@pytest.mark.parametrize('name', ['loopback', 'loopback-tls', 'name', 'mapped', 'any', 'decimal', 'metadata', 'other-network'])
def test_an_address_that_is_not_allowed_is_not_connected_to(service, silent, name):
    answer = call(service, name)
    assert refused(answer) == 'E_UPSTREAM' and str(silent.port) not in str(answer)
    assert not silent.was_called()


@pytest.mark.parametrize('members, line', [
    ({'url': 'http://api.example/'}, 'tools.t.url: must be https, but on this machine'),
    ({'url': 'https://{host}/'}, 'tools.t.url: must be https://host/path'),
    ({'url': 'https://user:word@api.example/'}, 'tools.t.url: must be https://host/path'),
    ({'url': 'https://api.example/?key={secret.k}'}, 'tools.t.url: must have no blank'),
    ({'url': 'https://api.example/', 'headers': {'Host': 'x'}}, 'tools.t.headers.Host: is set by the service alone'),
    ({'url': 'https://api.example/', 'network': ['10.0.0.0/8']}, 'tools.t.network: no such key; the nearest is networks'),
    ({'url': 'https://api.example/', 'networks': ['10.0.0.0/99']}, 'tools.t.networks: must be networks'),
])
def test_a_tool_that_cannot_be_right_stops_the_start(service, tmp_path, members, line):
    settings = {name: value for name, value in service.settings.items() if not name.startswith('tools.')}
    other = type(service)(tmp_path, 'simple', service.authority, binary=service.binary,
                          changes={**settings, **sections({'t': {'kind': 'http', **members}})})
    done = other.run('serve', check=False)
    assert done.returncode == 2 and line in done.stderr, done.stderr
