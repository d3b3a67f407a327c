"""The catalog's answers to plain HTTP: settings, health, pages, caching, limits."""
import re
import socket
import urllib.parse

import pytest
import requests

from by_hand import Watched
from rest import Rest, assert_error, table_body


@pytest.fixture
def rest(lake):
    return Rest.of(lake)


def raw(lake, request, seconds=20):
    """Sends bytes as they are; what came back until the server closed or grew silent."""
    address = urllib.parse.urlsplit(lake.uri)
    with socket.create_connection((address.hostname, address.port), timeout=seconds) as connection:
        connection.sendall(request)
        answer = b''
        while b'\r\n\r\n' not in answer:
            part = connection.recv(65536)
            if not part:
                break
            answer += part
    return answer


def test_config_names_the_prefix_and_the_endpoints(lake):
    config = requests.get(f'{lake.uri}/v1/config', params={'warehouse': lake.warehouse}, timeout=30).json()
    merged = {**config['defaults'], **config['overrides']}
    assert merged['prefix'] == lake.warehouse
    assert 'POST /v1/{prefix}/namespaces/{namespace}/tables/{table}' in config['endpoints']


@pytest.mark.parametrize('path', ['/healthz', '/readyz', '/metrics', '/openapi.json'])
def test_operations_endpoints_answer(lake, path):
    assert requests.get(lake.uri + path, timeout=30).status_code == 200


SAMPLE = re.compile(r'([a-zA-Z_:][\w:]*)(?:\{(.*)\})? ([-+]?(?:\d+(?:\.\d+)?(?:e[-+]?\d+)?|Inf)|NaN)')
LABEL = re.compile(r'([a-zA-Z_]\w*)="((?:[^"\\]|\\[\\"n])*)"(?:,|$)')


def families(text):
    """By Prometheus' text format: (type, [(name, labels, value)]) of each family. Whatever breaks a rule of it fails."""
    assert text.endswith('\n')
    found, name = {}, None
    for line in text.splitlines():
        if described := re.fullmatch(r'# HELP (\S+) .+', line):
            name = described[1]
            assert name not in found, 'a family stands in one place'
            found[name] = (None, [])
        elif typed := re.fullmatch(r'# TYPE (\S+) (counter|gauge|histogram)', line):
            name = typed[1]
            assert found.setdefault(name, (None, [])) == (None, []), line
            found[name] = (typed[2], [])
        else:
            sample = SAMPLE.fullmatch(line)
            assert sample, line
            kind, samples = found[name]
            ends = ('_bucket', '_sum', '_count') if kind == 'histogram' else ('',)
            assert sample[1] in [name + end for end in ends], line
            labels = dict(LABEL.findall(sample[2] or ''))
            assert LABEL.sub('', sample[2] or '') == '', line
            samples.append((sample[1], labels, float(sample[3])))
    return found


def test_metrics_are_in_the_exposition_format(lake):
    answer = requests.get(f'{lake.uri}/metrics', timeout=30)
    assert answer.headers['Content-Type'].startswith('text/plain; version=0.0.4')
    found = families(answer.text)
    seen = [(name, tuple(sorted(labels.items()))) for _, samples in found.values() for name, labels, _ in samples]
    assert len(set(seen)) == len(seen), 'a series stands once'
    assert all(kind and samples for kind, samples in found.values())
    assert all(name.startswith('lakeproxy_') for name in found)


def test_latency_is_a_histogram_of_each_endpoint(lake, rest):
    def counted(operation):
        kind, samples = families(requests.get(f'{lake.uri}/metrics', timeout=30).text)['lakeproxy_http_request_seconds']
        assert kind == 'histogram'
        of = [(name, labels, value) for name, labels, value in samples if labels['operation'] == operation]
        buckets = [(float(labels['le']), value) for name, labels, value in of if name.endswith('_bucket')]
        total, = [value for name, _, value in of if name.endswith('_count')]
        seconds, = [value for name, _, value in of if name.endswith('_sum')]
        assert buckets == sorted(buckets) and buckets[-1] == (float('inf'), total) and len(buckets) > 5
        assert [value for _, value in buckets] == sorted(value for _, value in buckets), 'each holds those below it'
        return total, seconds

    def requests_of(operation, status):
        return series(lake).get(f'lakeproxy_http_requests_total{{operation="{operation}",status="{status}"}}', 0)

    for operation, ask, status in (('loadNamespaceMetadata', lambda: rest.get('namespaces/nowhere'), '4xx'),
                                   ('listNamespaces', lambda: rest.get('namespaces'), '2xx')):
        ask()
        before, by_status = counted(operation), requests_of(operation, status)
        for _ in range(3):
            ask()
        after = counted(operation)
        # Other tests may ask the same server meanwhile.
        assert after[0] >= before[0] + 3 and after[1] > before[1]
        assert requests_of(operation, status) >= by_status + 3


def series(lake):
    """Values of all series, by name and labels as they are written."""
    lines = requests.get(f'{lake.uri}/metrics', timeout=30).text.splitlines()
    return {name: float(value) for name, value in (line.rsplit(' ', 1) for line in lines if not line.startswith('#'))}


@pytest.mark.parametrize('name', [
    'lakeproxy_http_requests_total{operation="loadTable",status="2xx"}', 'lakeproxy_metadata_cache_entries',
    'lakeproxy_http_request_seconds_count{operation="loadTable"}', 'lakeproxy_metadata_cache_hits_total',
    'lakeproxy_metadata_cache_misses_total', 'lakeproxy_postgres_connections{state="in_use"}',
    'lakeproxy_postgres_connections{state="idle"}',
    *(f'lakeproxy_commits_total{{operation="updateTable",outcome="{outcome}"}}'
      for outcome in ('committed', 'conflict', 'refused', 'unavailable', 'unknown', 'failed'))])
def test_what_section_6_names_is_measured(lake, name):
    assert name in series(lake)


def test_outcomes_of_commits_and_the_pool_are_counted(lake, rest, schema):
    def counted(outcome):
        return series(lake)[f'lakeproxy_commits_total{{operation="updateTable",outcome="{outcome}"}}']

    path = f'namespaces/{schema}/tables'
    assert rest.post(path, table_body('t')).status_code == 200
    before = {outcome: counted(outcome) for outcome in ('committed', 'conflict', 'refused')}
    change = {'updates': [{'action': 'set-properties', 'updates': {'a': 'b'}}]}
    assert rest.post(f'{path}/t', {'requirements': [], **change}).status_code == 200
    other_uuid = [{'type': 'assert-table-uuid', 'uuid': '00000000-0000-4000-8000-000000000000'}]
    assert rest.post(f'{path}/t', {'requirements': other_uuid, **change}).status_code == 409
    assert rest.post(f'{path}/nowhere', {'requirements': [], **change}).status_code == 404
    # Other tests may commit to the same server meanwhile.
    for outcome, was in before.items():
        assert counted(outcome) >= was + 1, outcome
    pool = {state: series(lake)[f'lakeproxy_postgres_connections{{state="{state}"}}'] for state in ('in_use', 'idle')}
    assert pool['in_use'] >= 0 and pool['in_use'] + pool['idle'] >= 1


def test_every_answer_bears_a_request_id(rest):
    for answer in (rest.get('namespaces'), rest.get('namespaces/nowhere')):
        assert answer.headers['X-Request-Id']


def test_pages_of_tables_are_complete_and_disjoint(rest, duck, schema):
    for number in range(7):
        duck.execute(f'CREATE TABLE lake.{schema}.t{number} (a INTEGER)')
    seen, token = [], ''
    while token is not None:
        page = rest.get(f'namespaces/{schema}/tables', params={'pageSize': 3, 'pageToken': token}).json()
        assert len(page['identifiers']) <= 3
        seen += [identifier['name'] for identifier in page['identifiers']]
        token = page.get('next-page-token')
    assert sorted(seen) == [f't{number}' for number in range(7)] and len(seen) == 7


def test_nested_namespaces_are_listed_by_their_parent(rest):
    for levels in (['outer'], ['outer', 'in.ner'], ['outer', 'in.ner', 'x/y']):
        assert rest.post('namespaces', {'namespace': levels}).status_code == 200
    children = rest.get('namespaces', params={'parent': 'outer'}).json()['namespaces']
    assert children == [['outer', 'in.ner']]
    assert rest.get('namespaces/outer%1Fin.ner%1Fx%2Fy').json()['namespace'] == ['outer', 'in.ner', 'x/y']
    assert_error(rest.send('DELETE', 'namespaces/outer'), 409)
    for path in ('outer%1Fin.ner%1Fx%2Fy', 'outer%1Fin.ner', 'outer'):
        assert rest.send('DELETE', f'namespaces/{path}').status_code == 204
    assert rest.send('HEAD', 'namespaces/outer').status_code == 404


def test_a_loaded_table_is_not_sent_again(rest, duck, schema):
    duck.execute(f'CREATE TABLE lake.{schema}.cached (a INTEGER)')
    path = f'namespaces/{schema}/tables/cached'
    tag = rest.get(path).headers['ETag']
    assert rest.get(path, headers={'If-None-Match': tag}).status_code == 304
    duck.execute(f'INSERT INTO lake.{schema}.cached VALUES (1)')
    changed = rest.get(path, headers={'If-None-Match': tag})
    assert changed.status_code == 200 and changed.headers['ETag'] != tag


def gauge(uri, name):
    text = requests.get(f'{uri}/metrics', timeout=30).text
    return int(re.search(rf'^{re.escape(name)} (\d+)$', text, re.MULTILINE)[1])


@pytest.mark.parametrize('settings, fits', (
    ({'LAKEPROXY_CACHE_MAX': '0'}, range(1)), ({'LAKEPROXY_CACHE_MAX': '2'}, range(2, 3)),
    ({'LAKEPROXY_CACHE_MAX_BYTES': '64KiB'}, range(1, 5)), ({}, range(6, 7))))
def test_tables_in_memory_are_bounded_in_number_and_in_bytes(stack, lake, rest, duck, schema, settings, fits):
    """What does not fit is read again, and is the same."""
    bound = {'LAKEPROXY_MANIFEST_CACHE_MAX_BYTES': '64KiB', **settings}
    for number in range(6):
        duck.execute(f'CREATE TABLE lake.{schema}.t{number} (a INTEGER)')
        duck.execute(f'INSERT INTO lake.{schema}.t{number} FROM range(20)')
    with Watched.beside(stack, LAKEPROXY_DISABLE_NOTIFY='1', **bound) as server:
        bodies = []
        for number in (0, 1, 2, 3, 4, 5, 0, 1):
            path = f'namespaces/{schema}/tables/t{number}'
            answer = Rest(server.uri(), lake.warehouse).get(path)
            assert answer.status_code == 200 and answer.json()['metadata'] == rest.get(path).json()['metadata']
            bodies.append(len(answer.content))
        assert gauge(server.uri(), 'lakeproxy_metadata_cache_entries') in fits
        held = gauge(server.uri(), 'lakeproxy_metadata_cache_bytes')
        assert (held > 0) == (fits[-1] > 0)
        if 'LAKEPROXY_CACHE_MAX_BYTES' in settings:
            assert min(bodies) < held <= 64 * 1024
        assert gauge(server.uri(), 'lakeproxy_manifest_cache_bytes{kind="manifest"}') <= 56 * 1024


def test_a_staged_table_is_not_there_until_its_commit(rest, schema):
    staged = rest.post(f'namespaces/{schema}/tables', table_body('staged', **{'stage-create': True}))
    assert staged.status_code == 200
    assert rest.send('HEAD', f'namespaces/{schema}/tables/staged').status_code == 404


def test_root_keys_are_not_handed_out(rest, lake, duck, schema):
    duck.execute(f'CREATE TABLE lake.{schema}.t (a INTEGER)')
    answer = rest.get(f'namespaces/{schema}/tables/t')
    assert lake.s3_secret_key not in answer.text


def test_a_body_over_the_limit_is_refused_unread(lake):
    answer = raw(lake, f'POST /v1/{lake.warehouse}/namespaces HTTP/1.1\r\nHost: x\r\n'
                       'Content-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n'.encode())
    assert answer.startswith(b'HTTP/1.1 413')


@pytest.mark.parametrize('request_bytes', [
    b'GARBAGE\r\n\r\n',
    b'GET / HTTP/9.9\r\n\r\n',
    b'GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n',
    b'POST /v1/lake/namespaces HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n',
    b'POST /v1/lake/namespaces HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
    b'GET /healthz HTTP/1.1\r\nHost: x\r\n' + b'X-Long: ' + b'a' * 200_000 + b'\r\n\r\n',
    b'GET /healthz HTTP/1.1\r\nHost: x\r\nBad Name: y\r\n\r\n',
    b'GET /' + b'a' * 100_000 + b' HTTP/1.1\r\nHost: x\r\n\r\n',
    b'\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n',
])
def test_bytes_that_are_not_http_are_refused_or_cut(lake, request_bytes):
    try:
        answer = raw(lake, request_bytes)
    except (ConnectionResetError, BrokenPipeError):
        answer = b''  # cut: the server owes nothing to bytes that are not HTTP
    assert answer == b'' or answer.split()[1][:1] in (b'4', b'5') and answer.split()[1] in (
        b'400', b'413', b'414', b'431', b'501', b'505')
    assert requests.get(f'{lake.uri}/healthz', timeout=30).status_code == 200


def test_half_open_clients_cost_nothing(lake):
    address = urllib.parse.urlsplit(lake.uri)
    idle = [socket.create_connection((address.hostname, address.port)) for _ in range(100)]
    for connection in idle:
        connection.sendall(b'GET /v1/config HTTP/1.1\r\nHost:')
    assert requests.get(f'{lake.uri}/readyz', timeout=30).elapsed.total_seconds() < 2
    for connection in idle:
        connection.close()
