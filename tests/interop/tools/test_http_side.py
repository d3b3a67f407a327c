"""The HTTP side of the port, and who may open a WebSocket. docs/wire-3.0.md, section 1."""
import http.client
import json
import socket
import ssl

import pytest


def get(service, path, method='GET', headers=None, body=None):
    tls = service.authority.client_tls() if service.tls else None
    kind = http.client.HTTPSConnection if tls else http.client.HTTPConnection
    connection = kind('127.0.0.1', service.port, timeout=10, **({'context': tls} if tls else {}))
    try:
        connection.request(method, path, body=body, headers=headers or {})
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()
    finally:
        connection.close()


def test_who_watches(service):
    assert get(service, '/healthz')[0] == 200
    assert get(service, '/readyz')[0] == 200
    status, _, text = get(service, '/metrics')
    assert status == 200 and b'securetool_sessions' in text
    status, headers, text = get(service, '/.well-known/scp')
    said = json.loads(text)
    assert status == 200 and headers['Content-Type'] == 'application/json'
    assert said['versions'] == ['3.0'] and said['mode'] == service.mode and said['path'] == '/scp/v3'
    assert set(said) == {'versions', 'suites', 'mode', 'methods', 'path'}


@pytest.mark.parametrize('method, path, status', [
    ('GET', '/', 404), ('GET', '/scp/v2', 404), ('GET', '/scp/v3/', 404), ('GET', '/SCP/V3', 404), ('GET', '/scp//v3', 404), ('GET', '/metrics/x', 404),
    ('GET', '/../etc/passwd', 404), ('GET', '/scp/v3/../v3', 404), ('POST', '/healthz', 405), ('DELETE', '/metrics', 405), ('GET', '/scp/v3', 426),
    ('POST', '/scp/v3', 405),
])
def test_other_requests(service, method, path, status):
    assert get(service, path, method)[0] == status


UPGRADE = {'Connection': 'Upgrade', 'Upgrade': 'websocket', 'Sec-WebSocket-Version': '13', 'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
           'Sec-WebSocket-Protocol': 'scp.v3.json'}


@pytest.mark.parametrize('changes, status', [
    ({}, 101), ({'Sec-WebSocket-Protocol': 'scp.v2.json'}, 400), ({'Sec-WebSocket-Protocol': None}, 400), ({'Sec-WebSocket-Protocol': 'a, scp.v3.json'}, 101),
    ({'Sec-WebSocket-Version': '8'}, 426), ({'Sec-WebSocket-Key': 'short'}, 400), ({'Origin': 'https://evil.example'}, 403), ({'Origin': 'null'}, 403),
    ({'Origin': 'http://127.0.0.1'}, 403), ({'Host': 'evil.example'}, 421), ({'Host': 'localhost'}, 101), ({'Host': 'localhost.evil.example'}, 421),
    ({'Host': '127.0.0.1.evil.example'}, 421), ({'Host': '[::1]:80'}, 101), ({'Upgrade': 'h2c'}, 426),
], ids=str)
def test_who_may_open_a_websocket(service, changes, status):
    headers = {name: value for name, value in {**UPGRADE, **changes}.items() if value is not None}
    assert get(service, '/scp/v3', headers=headers)[0] == status


@pytest.mark.parametrize('path', ['/healthz', '/metrics', '/.well-known/scp', '/readyz'])
@pytest.mark.parametrize('headers, status', [({'Host': 'evil.example'}, 421), ({'Origin': 'https://evil.example'}, 403)], ids=str)
def test_a_page_that_points_its_name_here_reads_nothing(service, path, headers, status):
    assert get(service, path, headers=headers)[0] == status


def test_a_listed_origin_may(make_service):
    service = make_service('simple', server__allowed_origins='https://app.example')
    assert get(service, '/scp/v3', headers={**UPGRADE, 'Origin': 'https://app.example'})[0] == 101
    assert get(service, '/scp/v3', headers={**UPGRADE, 'Origin': 'https://app.example.evil.example'})[0] == 403
    assert get(service, '/scp/v3', headers={**UPGRADE, 'Origin': 'http://app.example'})[0] == 403


@pytest.mark.parametrize('mode', ['basic', 'enterprise'])
def test_tls_is_1_3_whose_keys_are_made_for_each_connection(services, mode):
    """Before 1.3 a key exchange need not be ephemeral; so nothing older is spoken, not even by who knows nothing newer."""
    service = services[mode]

    def spoken(newest):
        context = service.authority.client_tls()
        context.minimum_version, context.maximum_version = ssl.TLSVersion.TLSv1_2, newest
        with socket.create_connection(('127.0.0.1', service.port), 10) as plain, context.wrap_socket(plain, server_hostname='127.0.0.1') as wrapped:
            return wrapped.version()

    assert spoken(ssl.TLSVersion.TLSv1_3) == 'TLSv1.3'
    with pytest.raises(ssl.SSLError, match='(?i)protocol.version'):
        spoken(ssl.TLSVersion.TLSv1_2)
