"""The operations of the API description, one by one: what is announced works, and what is not announced is refused."""
import re
import uuid

import pytest
import requests

from rest import COLUMN, Rest, assert_error, table_body

VIEW = {'view-version': {'version-id': 1, 'schema-id': 0, 'timestamp-ms': 1, 'summary': {}, 'default-namespace': ['{ns}'],
                         'representations': [{'type': 'sql', 'sql': 'SELECT 1 AS a', 'dialect': 'duckdb'}]},
        'schema': {'type': 'struct', 'schema-id': 0, 'fields': [COLUMN]}, 'properties': {}}
REPORT = {'report-type': 'commit-report', 'table-name': 't', 'snapshot-id': 1, 'sequence-number': 1, 'operation': 'append',
          'metrics': {}}
NAMESPACE, TABLE, VIEWS = 'namespaces/{ns}', 'namespaces/{ns}/tables/{t}', 'namespaces/{ns}/views'
CHANGE = {'requirements': [], 'updates': []}


def rename(kind):
    return {'source': {'namespace': ['{ns}'], 'name': kind}, 'destination': {'namespace': ['{ns}'], 'name': f'{kind}_b'}}


# operation: (method, path as announced, path that is there, body, status); in an order in which each finds what it needs.
WORK = {
    'createNamespace': ('POST', 'namespaces', 'namespaces', {'namespace': ['{ns}']}, 200),
    'listNamespaces': ('GET', 'namespaces', 'namespaces', None, 200),
    'loadNamespaceMetadata': ('GET', 'namespaces/{namespace}', NAMESPACE, None, 200),
    'namespaceExists': ('HEAD', 'namespaces/{namespace}', NAMESPACE, None, 204),
    'updateProperties': ('POST', 'namespaces/{namespace}/properties', f'{NAMESPACE}/properties', {'updates': {'k': 'v'}}, 200),
    'createTable': ('POST', 'namespaces/{namespace}/tables', f'{NAMESPACE}/tables', table_body('t'), 200),
    'listTables': ('GET', 'namespaces/{namespace}/tables', f'{NAMESPACE}/tables', None, 200),
    'loadTable': ('GET', 'namespaces/{namespace}/tables/{table}', TABLE, None, 200),
    'tableExists': ('HEAD', 'namespaces/{namespace}/tables/{table}', TABLE, None, 204),
    'updateTable': ('POST', 'namespaces/{namespace}/tables/{table}', TABLE, CHANGE, 200),
    'signRequest': ('POST', 'namespaces/{namespace}/tables/{table}/sign', f'{TABLE}/sign',
                    {'region': 'us-east-1', 'uri': '{store}/{folder}/data/x', 'method': 'GET', 'headers': {}}, 200),
    'loadCredentials': ('GET', 'namespaces/{namespace}/tables/{table}/credentials', f'{TABLE}/credentials', None, 200),
    'reportMetrics': ('POST', 'namespaces/{namespace}/tables/{table}/metrics', f'{TABLE}/metrics', REPORT, 204),
    'planTableScan': ('POST', 'namespaces/{namespace}/tables/{table}/plan', f'{TABLE}/plan', {}, 200),
    'fetchPlanningResult': ('GET', 'namespaces/{namespace}/tables/{table}/plan/{plan-id}', f'{TABLE}/plan/{{plan}}', None, 200),
    'cancelPlanning': ('DELETE', 'namespaces/{namespace}/tables/{table}/plan/{plan-id}', f'{TABLE}/plan/{{plan}}', None, 204),
    # A plan as small as that of this table has no tasks besides.
    'fetchScanTasks': ('POST', 'namespaces/{namespace}/tables/{table}/tasks', f'{TABLE}/tasks', {'plan-task': '{plan}.1'}, 404),
    'listFunctions': ('GET', 'namespaces/{namespace}/functions', f'{NAMESPACE}/functions', None, 200),
    # There are none.
    'loadFunction': ('GET', 'namespaces/{namespace}/functions/{function}', f'{NAMESPACE}/functions/f', None, 404),
    'commitTransaction': ('POST', 'transactions/commit', 'transactions/commit', {
        'table-changes': [{'identifier': {'namespace': ['{ns}'], 'name': 't'}, **CHANGE}]}, 204),
    'renameTable': ('POST', 'tables/rename', 'tables/rename', rename('t'), 204),
    'unregisterTable': ('POST', 'namespaces/{namespace}/tables/{table}/unregister', f'{TABLE}_b/unregister', None, 200),
    'registerTable': ('POST', 'namespaces/{namespace}/register', f'{NAMESPACE}/register',
                      {'name': 't', 'metadata-location': '{table location}'}, 200),
    'dropTable': ('DELETE', 'namespaces/{namespace}/tables/{table}', TABLE, None, 204),
    'createView': ('POST', 'namespaces/{namespace}/views', VIEWS, {'name': 'v', **VIEW}, 200),
    'listViews': ('GET', 'namespaces/{namespace}/views', VIEWS, None, 200),
    'loadView': ('GET', 'namespaces/{namespace}/views/{view}', f'{VIEWS}/v', None, 200),
    'viewExists': ('HEAD', 'namespaces/{namespace}/views/{view}', f'{VIEWS}/v', None, 204),
    'replaceView': ('POST', 'namespaces/{namespace}/views/{view}', f'{VIEWS}/v', CHANGE, 200),
    'renameView': ('POST', 'views/rename', 'views/rename', rename('v'), 204),
    'dropView': ('DELETE', 'namespaces/{namespace}/views/{view}', f'{VIEWS}/v_b', None, 204),
    'registerView': ('POST', 'namespaces/{namespace}/register-view', f'{NAMESPACE}/register-view',
                     {'name': 'v', 'metadata-location': '{view location}'}, 200),
    'dropNamespace': ('DELETE', 'namespaces/{namespace}', NAMESPACE, None, 204),
}
BESIDE_THE_PREFIX = {'getConfig', 'getToken'}


@pytest.fixture
def rest(lake):
    return Rest.of(lake)


def filled(value, names):
    """`value` with {…} in its texts replaced."""
    if isinstance(value, dict):
        return {key: filled(each, names) for key, each in value.items()}
    if isinstance(value, list):
        return [filled(each, names) for each in value]
    if not isinstance(value, str):
        return value
    for name, text in names.items():
        value = value.replace('{' + name + '}', text)
    return value


def test_the_description_has_35_operations():
    assert len(WORK) + len(BESIDE_THE_PREFIX) == 35


def test_exactly_what_works_is_announced(lake):
    for parameters in ({}, {'warehouse': lake.warehouse}):
        config = requests.get(f'{lake.uri}/v1/config', params=parameters, timeout=30).json()
        assert set(config) == {'defaults', 'overrides', 'endpoints', 'idempotency-key-lifetime'}
        announced = config['endpoints']
        assert sorted(announced) == sorted(f'{method} /v1/{{prefix}}/{path}' for method, path, *_ in WORK.values())


# Of the specification, beside the API.
OURS = {'/healthz': 'get', '/readyz': 'get', '/metrics': 'get', '/openapi.json': 'get', '/v1/config': 'get', '/v1/catalogs': 'post',
        '/v1/oauth/tokens': 'post', '/v1/{prefix}/namespaces/{namespace}/ducklake-credentials': 'get',
        '/v1/{prefix}/governance/effective-policies': 'get', '/v1/{prefix}/governance/audit': 'get',
        '/v1/{prefix}/admin/namespaces/{namespace}/tables/{table}/compact': 'post'}
GOVERNANCE = ('tags', 'object-tags', 'masking-policies', 'row-access-policies', 'policy-attachments', 'roles', 'role-grants', 'object-grants')


def test_the_description_has_each_operation(lake):
    answer = requests.get(f'{lake.uri}/openapi.json', timeout=30)
    assert answer.headers['Content-Type'].startswith('application/json')
    described = answer.json()
    assert described['openapi'].startswith('3.') and described['info']['title'] and described['info']['version']
    paths = {path: set(methods) for path, methods in described['paths'].items()}
    for method, path, *_ in WORK.values():
        assert method.lower() in paths[f'/v1/{{prefix}}/{path}'], path
    for path, method in OURS.items():
        assert method in paths[path], path
    for collection in GOVERNANCE:
        of = [methods for path, methods in paths.items() if re.match(rf'/v1/\{{prefix\}}/governance/{collection}(/|$)', path)]
        assert {'post', 'delete'} <= set().union(*of), collection


def test_each_that_is_announced_works(rest, lake):
    names = {'ns': f'endpoints_{uuid.uuid4().hex[:8]}', 't': 't', 'store': lake.s3_endpoint}
    for operation, (method, _, path, body, status) in WORK.items():
        answer = rest.send(method, filled(path, names), **({} if body is None else {'json': filled(body, names)}))
        assert answer.status_code == status, (operation, answer.text)
        if operation == 'loadTable':
            names['folder'] = answer.json()['metadata']['location'].removeprefix('s3://')
        if operation == 'unregisterTable':
            names['table location'] = answer.json()['metadata-location']
        if operation == 'planTableScan':
            names['plan'] = answer.json()['plan-id']
        if operation == 'loadView':
            names['view location'] = answer.json()['metadata-location']
        if operation == 'registerView':
            assert rest.send('DELETE', filled(f'{VIEWS}/v', names)).status_code == 204


def test_no_tokens_are_given(lake):
    """Clients that ask are told so, and go on without."""
    answer = requests.post(f'{lake.uri}/v1/oauth/tokens', data={'grant_type': 'client_credentials'}, timeout=30)
    assert_error(answer, 404)


def test_methods_that_a_path_lacks_are_refused_with_those_it_has(rest, duck, schema):
    duck.execute(f'CREATE TABLE lake.{schema}.t (a BIGINT)')
    allowed = {}
    for method, path, *_ in WORK.values():
        allowed.setdefault(path, set()).add(method)
    names = {'namespace': schema, 'table': 't', 'view': 'v'}
    for path, methods in allowed.items():
        for method in {'GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'} - methods:
            answer = rest.send(method, filled(path, names))
            # A GET of /tables/rename is no other path's.
            assert answer.status_code == 405, (method, path, answer.status_code)
            assert set(re.split(', ', answer.headers['Allow'])) >= methods
