"""Each refusal has its documented status and the error body; none is a 5xx."""
import json

import pytest
import requests

from rest import COLUMN, Rest, assert_error, table_body
from stack.process import wait_until


@pytest.fixture(scope='module')
def rest(lake, duck):
    duck.execute('CREATE SCHEMA IF NOT EXISTS lake.http')
    duck.execute('CREATE TABLE IF NOT EXISTS lake.http.there (a BIGINT)')
    duck.execute('CREATE SCHEMA IF NOT EXISTS lake.http_full')
    duck.execute('CREATE TABLE IF NOT EXISTS lake.http_full.there (a BIGINT)')
    return Rest.of(lake)


def commit(requirements=(), updates=()):
    return {'requirements': list(requirements), 'updates': list(updates)}


REFUSED = {
    'namespace not there': ('GET', 'namespaces/nowhere', None, 404),
    'namespace not there, asked by HEAD': ('HEAD', 'namespaces/nowhere', None, 404),
    'tables of no namespace': ('GET', 'namespaces/nowhere/tables', None, 404),
    'children of no namespace': ('GET', 'namespaces?parent=nowhere', None, 404),
    'namespace taken': ('POST', 'namespaces', {'namespace': ['http']}, 409),
    'namespace of no level': ('POST', 'namespaces', {'namespace': []}, 400),
    'namespace of a blank level': ('POST', 'namespaces', {'namespace': ['']}, 400),
    'namespace of a number': ('POST', 'namespaces', {'namespace': [7]}, 400),
    'namespace with a property that is no string': (
        'POST', 'namespaces', {'namespace': ['x'], 'properties': {'k': 1}}, 400),
    'namespace that holds tables is dropped': ('DELETE', 'namespaces/http_full', None, 409),
    'namespace not there is dropped': ('DELETE', 'namespaces/nowhere', None, 404),
    'property set and removed at once': (
        'POST', 'namespaces/http/properties', {'updates': {'k': 'v'}, 'removals': ['k']}, 422),
    'table not there': ('GET', 'namespaces/http/tables/nowhere', None, 404),
    'table not there, asked by HEAD': ('HEAD', 'namespaces/http/tables/nowhere', None, 404),
    'table not there is dropped': ('DELETE', 'namespaces/http/tables/nowhere', None, 404),
    'table of a namespace not there': ('GET', 'namespaces/nowhere/tables/there', None, 404),
    'table taken': ('POST', 'namespaces/http/tables', table_body('there'), 409),
    'table of a namespace not there is made': ('POST', 'namespaces/nowhere/tables', table_body('t'), 404),
    'table with a reserved name': ('POST', 'namespaces/http/tables', table_body('__mask_t'), 400),
    'table without a name': ('POST', 'namespaces/http/tables', table_body(''), 400),
    'table without a schema': ('POST', 'namespaces/http/tables', {'name': 't'}, 400),
    'table with a type of no meaning': ('POST', 'namespaces/http/tables', table_body('t', schema={
        'type': 'struct', 'fields': [{**COLUMN, 'type': 'quaternion'}]}), 400),
    'table with a decimal too wide': ('POST', 'namespaces/http/tables', table_body('t', schema={
        'type': 'struct', 'fields': [{**COLUMN, 'type': 'decimal(39, 2)'}]}), 400),
    'table with one name twice': ('POST', 'namespaces/http/tables', table_body('t', schema={
        'type': 'struct', 'fields': [COLUMN, {**COLUMN, 'id': 2}]}), 400),
    'table partitioned by a column not there': ('POST', 'namespaces/http/tables', table_body('t', **{
        'partition-spec': {'fields': [{'name': 'p', 'source-id': 77, 'transform': 'identity'}]}}), 400),
    'table partitioned by void': ('POST', 'namespaces/http/tables', table_body('t', **{
        'partition-spec': {'fields': [{'name': 'p', 'source-id': 1, 'transform': 'void'}]}}), 501),
    'table with a reserved property': ('POST', 'namespaces/http/tables', table_body('t', properties={
        'lakeproxy.format-version': '2'}), 403),
    'rename of nothing': ('POST', 'tables/rename', {
        'source': {'namespace': ['http'], 'name': 'nowhere'},
        'destination': {'namespace': ['http'], 'name': 'b'}}, 404),
    'rename to a reserved name': ('POST', 'tables/rename', {
        'source': {'namespace': ['http'], 'name': 'there'},
        'destination': {'namespace': ['http'], 'name': '__mask_b'}}, 400),
    'rename without a destination': ('POST', 'tables/rename', {
        'source': {'namespace': ['http'], 'name': 'there'}}, 400),
    'commit to no table': ('POST', 'namespaces/http/tables/nowhere', commit(), 404),
    'commit of a word that is no action': (
        'POST', 'namespaces/http/tables/there', commit(updates=[{'action': 'explode'}]), 400),
    'commit without its list': ('POST', 'namespaces/http/tables/there', {'updates': {}}, 400),
    'commit that requires a word of no meaning': (
        'POST', 'namespaces/http/tables/there', commit([{'type': 'assert-nonsense'}]), 400),
    'commit that requires another uuid': ('POST', 'namespaces/http/tables/there', commit(
        [{'type': 'assert-table-uuid', 'uuid': '00000000-0000-4000-8000-000000000000'}]), 409),
    'commit that requires that the table is not there': (
        'POST', 'namespaces/http/tables/there', commit([{'type': 'assert-create'}]), 409),
    'commit that requires another snapshot': ('POST', 'namespaces/http/tables/there', commit(
        [{'type': 'assert-ref-snapshot-id', 'ref': 'main', 'snapshot-id': 9_999_999}]), 409),
    'commit of a reserved property': ('POST', 'namespaces/http/tables/there', commit(
        updates=[{'action': 'set-properties', 'updates': {'lakeproxy.mask.a': 'x'}}]), 403),
    'commit that removes a reserved property': ('POST', 'namespaces/http/tables/there', commit(
        updates=[{'action': 'remove-properties', 'removals': ['lakeproxy.mask.a']}]), 403),
    'commit of a property with a zero': ('POST', 'namespaces/http/tables/there', commit(
        updates=[{'action': 'set-properties', 'updates': {'k': 'a\0b'}}]), 400),
    'commit of a column whose doc has a zero': ('POST', 'namespaces/http/tables/there', commit(
        updates=[{'action': 'add-schema', 'schema': {'type': 'struct', 'fields': [{**COLUMN, 'doc': '\0'}]}}]), 400),
    'namespace with a property of a zero': ('POST', 'namespaces', {'namespace': ['z'], 'properties': {'k': '\0'}}, 400),
    'commit of another location': ('POST', 'namespaces/http/tables/there', commit(
        updates=[{'action': 'set-location', 'location': 's3://elsewhere/'}]), 501),
    'page size of zero': ('GET', 'namespaces?pageSize=0', None, 400),
    'page size of letters': ('GET', 'namespaces?pageSize=many', None, 400),
    'page token that was never given': ('GET', 'namespaces?pageSize=1&pageToken=garbage!', None, 400),
    'snapshots of a word of no meaning': ('GET', 'namespaces/http/tables/there?snapshots=some', None, 400),
    'namespace that is not UTF-8': ('GET', 'namespaces/%ff%fe', None, 400),
    'route that is not there': ('GET', 'nothing/of/the/kind', None, 404),
    'method that the route lacks': ('PATCH', 'namespaces', None, 405),
}


@pytest.mark.parametrize('case', REFUSED)
def test_refusals(rest, case):
    method, path, body, status = REFUSED[case]
    answer = rest.send(method, path, **({} if body is None else {'json': body}))
    assert_error(answer, status)


RESERVED = ['lakeproxy.format-version', 'lakeproxy.file-layer-masking', 'lakeproxy.masking-disabled', 'lakeproxy.masking-view-name',
            'lakeproxy.masked-columns', 'lakeproxy.mask.a', 'lakeproxy.of-nothing-yet', 'lakeproxy.']


@pytest.mark.parametrize('key', RESERVED)
def test_no_client_sets_or_removes_what_is_reserved(rest, key):
    path = 'namespaces/http/tables/there'
    before = rest.get(path).json()['metadata']['properties']
    for update in ({'action': 'set-properties', 'updates': {'mine': '1', key: 'true'}},
                   {'action': 'remove-properties', 'removals': ['mine', key]}):
        answer = rest.post(path, commit(updates=[update]))
        assert_error(answer, 403)
        assert key in answer.json()['error']['message']
    assert_error(rest.post('namespaces/http/tables', table_body('t', properties={'mine': '1', key: 'true'})), 403)
    assert rest.get(path).json()['metadata']['properties'] == before
    assert rest.send('HEAD', 'namespaces/http/tables/t').status_code == 404
    # Only what begins so.
    like = f'x{key}'
    assert rest.post(path, commit(updates=[{'action': 'set-properties', 'updates': {like: '1'}}])).status_code == 200
    assert rest.get(path).json()['metadata']['properties'][like] == '1'
    assert rest.post(path, commit(updates=[{'action': 'remove-properties', 'removals': [like]}])).status_code == 200


BODIES = {
    'nothing': b'',
    'not JSON': b'{"namespace": [',
    'a list': b'[]',
    'a word': b'"namespace"',
    'two values': b'{"namespace": ["x"]} {}',
    'not UTF-8': b'{"namespace": ["\xff"]}',
    'a lone surrogate': b'{"namespace": ["\\ud800"]}',
    'a name with a control character': b'{"namespace": ["a\\u0000b"]}',
    'lists in lists': b'[' * 100_000,
    'objects in objects': b'{"a":' * 100_000,
    'a number without end': b'{"namespace": ' + b'9' * 100_000 + b'}',
}


@pytest.mark.parametrize('path', ['namespaces', 'namespaces/http/tables', 'namespaces/http/tables/there',
                                  'tables/rename', 'namespaces/http/properties'])
@pytest.mark.parametrize('case', BODIES)
def test_malformed_bodies(rest, path, case):
    answer = rest.send('POST', path, data=BODIES[case], headers={'Content-Type': 'application/json'})
    assert_error(answer, 400)


def test_another_content_type_is_refused(rest):
    assert_error(rest.send('POST', 'namespaces', data='<a/>', headers={'Content-Type': 'text/xml'}), 415)


def test_an_unknown_prefix_and_an_unknown_warehouse_are_404(lake):
    assert_error(requests.get(f'{lake.uri}/v1/nowhere/namespaces', timeout=30), 404)
    assert_error(requests.get(f'{lake.uri}/v1/config', params={'warehouse': 'nowhere'}, timeout=30), 404)


def test_refused_requests_change_nothing(rest, duck):
    assert rest.get('namespaces/http/tables').json()['identifiers'] == [
        {'namespace': ['http'], 'name': 'there'}]
    assert duck.execute('SELECT count(*) FROM lake.http.there').fetchone() == (0,)


def refusals_in_the_log(stack):
    """By the request's id. The log is written behind the answers."""
    text = (stack.folder / 'lakeproxy.log').read_text(encoding='utf-8')
    lines = [json.loads(line) for line in text[:text.rindex('\n')].splitlines()]
    return {line['request_id']: line for line in lines if line['msg'] == 'request refused'}


def test_a_refusal_stands_in_the_log_with_the_words_of_the_answer(rest, stack):
    for answer in [rest.get('namespaces/nowhere'), rest.post('namespaces', {'namespace': 7})]:
        request = answer.headers['X-Request-Id']
        assert wait_until(lambda: request in refusals_in_the_log(stack), 10)
        assert refusals_in_the_log(stack)[request]['error'] == answer.json()['error']['message']
