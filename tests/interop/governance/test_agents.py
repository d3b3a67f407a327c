"""An agent that asks the lake for its user through the tool service: what it gets, and each way to get more. docs/tools/lake.md."""
import base64
import hashlib
import json
import pathlib
import secrets
import subprocess
import sys
import time
import uuid

import pytest
import requests
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from by_hand import Watched
from governed import Bearer
from stack import ports
from stack.catalog import Lakeproxy
from tool_stack.lake_agent import LakeAgent, McpUser

sys.path.append(str(pathlib.Path(__file__).parents[1] / 'tools'))
from mcp_programs import PEERS, PYTHON, run  # noqa: E402

LAKE_NAME = 'lake.of-agents'
TOKEN_TYPE = 'urn:ietf:params:oauth:token-type:'
VENDED = {'X-Iceberg-Access-Delegation': 'vended-credentials'}
PATIENCE_SECONDS = 120


@pytest.fixture(scope='module')
def agent(tmp_path_factory):
    return LakeAgent(tmp_path_factory.mktemp('agent'), 'agents', LAKE_NAME)


@pytest.fixture(scope='module')
def schemas(duck):
    """Two, of which the service may read one."""
    names = [f'{word}_{secrets.token_hex(3)}' for word in ('open', 'shut')]
    for name in names:
        duck.execute(f'CREATE SCHEMA lake.{name}')
        duck.execute(f"CALL lake.set_option('data_inlining_row_limit', 0, schema => '{name}')")
        duck.execute(f"CREATE TABLE lake.{name}.people AS SELECT * FROM (VALUES (1, 'Ada', '536-22-1180', 'eu'), "
                     "(2, 'Ben', '402-71-5523', 'us'), (3, 'Cleo', '219-09-0207', 'eu')) AS t(id, name, ssn, region)")
    return names


@pytest.fixture(scope='module')
def server(stack, agent, schemas, tmp_path_factory):
    clients = tmp_path_factory.mktemp('clients') / 'clients.json'
    clients.touch(mode=0o600)
    clients.write_text(json.dumps([
        {'id': 'admin', 'secret': 's', 'scope': '*'}, {'id': 'dana', 'secret': 's', 'scope': 'ns:*:rw'},
        {'id': 'thief', 'secret': 's', 'scope': 'ns:*:r', 'may_act_for': '*'},
        agent.client(f'ns:{schemas[0]}:r', ['dana'])]))
    with Watched.beside(stack, LAKEPROXY_OAUTH_CLIENTS_FILE=str(clients), LAKEPROXY_OAUTH_ISSUER=LAKE_NAME,
                        LAKEPROXY_OAUTH_JWT_SECRET='for tests alone: 32 bytes and more of it') as made:
        yield made


def token_of(server, name, secret='s'):
    answer = requests.post(f'{server.uri()}/v1/oauth/tokens', timeout=30,
                           data={'grant_type': 'client_credentials', 'client_id': name, 'client_secret': secret})
    assert answer.status_code == 200, answer.text
    return answer.json()['access_token']


@pytest.fixture(scope='module')
def admin(server):
    return Bearer(server.uri(), 'lake', token_of(server, 'admin'))


@pytest.fixture(scope='module')
def governed(admin, schemas):
    """A mask and a filter that are left to engines, and a role that lifts both, which the user has and the service has not."""
    schema = schemas[0]
    for collection, body in (
            ('masking-policies', {'name': f'ssn_{schema}', 'signature': '(v VARCHAR)', 'body': "'***-**-' || right(v, 4)", 'unmasked-roles': [schema]}),
            ('policy-attachments', {'policy-kind': 'masking', 'policy-name': f'ssn_{schema}', 'target-kind': 'column', 'schema': schema,
                                    'object': 'people', 'column': 'ssn'}),
            ('row-access-policies', {'name': f'eu_{schema}', 'signature': '(region VARCHAR)', 'body': "region = 'eu'", 'unmasked-roles': [schema]}),
            ('policy-attachments', {'policy-kind': 'row_access', 'policy-name': f'eu_{schema}', 'target-kind': 'table', 'schema': schema,
                                    'object': 'people'}),
            ('role-grants', {'role': schema, 'principal': 'dana'})):
        answer = admin.post(f'governance/{collection}', body)
        assert answer.status_code == 200, answer.text
    return schema


@pytest.fixture(scope='module')
def service(agent, server, governed):
    made = agent.service(server.uri(), server.wire.endpoint()).start()
    yield made
    made.stop()


@pytest.fixture(scope='module')
def dana(service):
    return McpUser(service, 'dana')


def answered(user, tool, **arguments):
    """The structured answer, once the masked copies are there; meanwhile the call says when to try again."""
    end = time.monotonic() + PATIENCE_SECONDS
    while True:
        answer = user.call(tool, **arguments)
        result = answer.get('result', {})
        if 'structuredContent' in result and not result.get('isError'):
            return result['structuredContent']
        assert 'try again in' in json.dumps(answer) and time.monotonic() < end, answer
        time.sleep(0.1)


def said(answer):
    """What a call that is no answer says."""
    assert 'error' in answer or answer['result'].get('isError'), answer
    return json.dumps(answer)


def test_a_lake_without_a_name_of_its_own_takes_no_statements(stack, agent, tmp_path):
    clients = tmp_path / 'clients.json'
    clients.touch(mode=0o600)
    clients.write_text(json.dumps([agent.client('ns:a:r', ['dana'])]))
    made = Lakeproxy(tmp_path, ports.any_free(), stack.postgres, stack.store, stack.state['binary'], {
        'LAKEPROXY_OAUTH_CLIENTS_FILE': str(clients), 'LAKEPROXY_OAUTH_JWT_SECRET': 'for tests alone: 32 bytes and more of it'})
    done = subprocess.run([made.binary, 'serve'], check=False, env=made.environment(), cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode != 0 and 'LAKEPROXY_OAUTH_ISSUER' in done.stderr + done.stdout


def people(schema, columns='id, name, ssn'):
    return f'SELECT {columns} FROM {schema}.people ORDER BY id'


MASKED = [[1, 'Ada', '***-**-1180'], [3, 'Cleo', '***-**-0207']]


def test_an_agent_reads_masked_rows_where_its_user_reads_clear_ones(server, service, dana, governed, tmp_path):
    assert answered(dana, 'lake.query', sql=people(governed))['rows'] == MASKED
    shown = Bearer(server.uri(), 'lake', token_of(server, 'dana')).get(f'namespaces/{governed}/tables/people').json()
    assert 'lakeproxy.masked-columns' not in shown['metadata']['properties'], 'her role lifts the mask'
    # A client of another maker, over the same way in.
    arguments = json.dumps({'sql': people(governed), 'limit': 1})
    told = json.loads(run([PYTHON, PEERS / 'call_tool.py', 'mcp', f'{service.http_url}/mcp', dana.token, 'lake.query', arguments], cwd=tmp_path,
                          env={'SSL_CERT_FILE': str(service.authority.roots)}).stdout)
    assert 'lake.query' in told['tools'] and not told['isError'] and json.loads(told['text'])['rows'] == MASKED[:1]


def test_it_finds_tables_and_says_why_a_column_is_masked(dana, governed, schemas):
    assert governed in answered(dana, 'lake.list_namespaces')['namespaces']
    assert schemas[1] not in answered(dana, 'lake.list_namespaces')['namespaces']
    assert answered(dana, 'lake.list_tables', namespace=governed)['tables'] == ['people']
    columns = answered(dana, 'lake.describe_table', namespace=governed, table='people')['columns']
    assert [(one['name'], one['type']) for one in columns] == [('id', 'int'), ('name', 'string'), ('ssn', 'string'), ('region', 'string')]
    why = answered(dana, 'lake.explain_access', namespace=governed, table='people')
    (masked,) = why['masked_columns']
    assert masked['column'] == 'ssn' and f'masked by policy ssn_{governed}' in masked['note'] and 'right' in masked['shown_as']
    assert why['asked_as'] == 'dana through agents'


def test_both_trails_name_the_user_and_the_request(admin, service, dana, governed):
    answered(dana, 'lake.query', sql=people(governed))
    lines = [json.loads(line) for file in sorted(service.audit.glob('audit-*.jsonl')) for line in file.read_text().splitlines()]
    here = [line for line in lines if line['kind'] == 'seal' and line['tool'] == 'lake.query'][-1]
    assert here['principal']['sub'] == 'dana'
    entries = admin.get('governance/audit', params={'principal': 'dana', 'limit': 1000}).json()['entries']
    there = [one for one in entries if one['request_id'] == hashlib.sha256(here['rid'].encode()).hexdigest()[:16]]
    loaded = [one for one in there if one['operation'] == 'load_table']
    assert loaded and all(one['actor'] == 'agents' and one['masked_cols'] == ['ssn'] for one in loaded)


def test_deleted_and_changed_rows_are_read_as_the_lake_has_them(duck, dana, governed):
    duck.execute(f"CREATE TABLE lake.{governed}.orders AS SELECT i AS id, i * 0.5 AS price, 'x' || i AS note FROM range(5000) t(i)")
    duck.execute(f'DELETE FROM lake.{governed}.orders WHERE id % 7 = 0')
    duck.execute(f'ALTER TABLE lake.{governed}.orders RENAME COLUMN note TO remark')
    duck.execute(f'ALTER TABLE lake.{governed}.orders ADD COLUMN since DATE')
    duck.execute(f"INSERT INTO lake.{governed}.orders VALUES (5000, 1.25, 'late', DATE '2026-11-27')")
    sql = 'SELECT count(*), sum(id)::BIGINT, sum(price)::VARCHAR, max(remark), count(since) FROM {}.orders'
    (truth,) = duck.execute(sql.format(f'lake.{governed}')).fetchall()
    assert answered(dana, 'lake.query', sql=sql.format(governed))['rows'] == [list(truth)]
    joined = f'SELECT p.name, o.remark FROM {governed}.people p JOIN {governed}.orders o USING (id) WHERE o.price > $1'
    assert answered(dana, 'lake.query', sql=joined, params=[0.5])['rows'] == [['Cleo', 'x3']]


@pytest.mark.parametrize('sql', [
    "SELECT * FROM read_parquet('/etc/passwd')", "SELECT * FROM glob('/*')", "ATTACH '/tmp/x.db'", 'SET threads = 9',
    "COPY (SELECT 1) TO '/tmp/x'", 'INSTALL httpfs', 'SELECT * FROM duckdb_secrets()', "SELECT getenv('HOME')",
    'SELECT * FROM information_schema.tables', 'DELETE FROM {0}.people', 'SELECT 1; SELECT 2', 'SELECT * FROM {0}."/etc/passwd.csv"'])
def test_attack_sql_that_is_no_question_to_the_tables(dana, governed, sql):
    refusal = said(dana.call('lake.query', sql=sql.format(governed)))
    assert 'E_POLICY' in refusal or 'does not exist' in refusal.lower() or 'no such' in refusal.lower(), refusal


def test_attack_what_the_service_may_not_read(dana, schemas):
    """Her own scope opens it; that of the service does not."""
    for tool, arguments in (('lake.query', {'sql': people(schemas[1])}), ('lake.list_tables', {'namespace': schemas[1]}),
                            ('lake.describe_table', {'namespace': schemas[1], 'table': 'people'})):
        assert 'E_POLICY' in said(dana.call(tool, **arguments)), tool


def test_attack_somebody_whom_the_service_may_not_ask_for(service, governed):
    for subject in ('admin', 'nobody', 'agents'):
        refusal = said(McpUser(service, subject).call('lake.query', sql=people(governed)))
        assert 'E_POLICY' in refusal and 'no token for the caller' in refusal, subject


def test_attack_a_tool_or_a_table_beyond_what_was_given(governed, duck, service):
    listing = McpUser(service, 'dana', ['tool:invoke:lake.list_tables'])
    assert answered(listing, 'lake.list_tables', namespace=governed)['tables']
    assert 'result' not in (answer := listing.call('lake.query', sql=people(governed))) or answer['result'].get('isError')
    duck.execute(f'CREATE TABLE IF NOT EXISTS lake.{governed}.others AS SELECT 1 AS id')
    service.stop()
    service.settings['connectors.lake.tables'] = f'{governed}.people'
    service.start()
    try:
        user = McpUser(service, 'dana')
        assert answered(user, 'lake.query', sql=people(governed))['rows'] == MASKED
        assert answered(user, 'lake.list_tables', namespace=governed)['tables'] == ['people']
        for tool, arguments in (('lake.query', {'sql': f'SELECT * FROM {governed}.others'}),
                                ('lake.describe_table', {'namespace': governed, 'table': 'others'})):
            assert 'E_POLICY' in said(user.call(tool, **arguments)), tool
    finally:
        service.stop()
        del service.settings['connectors.lake.tables']
        service.start()


def signed(key, claims, kind='lake-subject+jwt'):
    def part(value):
        return base64.urlsafe_b64encode(value).rstrip(b'=')
    text = part(json.dumps({'alg': 'EdDSA', 'typ': kind}).encode()) + b'.' + part(json.dumps(claims).encode())
    return (text + b'.' + part(key.sign(text))).decode()


def claims_of(**changes):
    now = int(time.time())
    return {'iss': 'agents', 'sub': 'dana', 'aud': LAKE_NAME, 'iat': now, 'exp': now + 120, 'jti': str(uuid.uuid4()), **changes}


def exchange(server, statement, actor=None, kind='jwt'):
    form = {'grant_type': 'urn:ietf:params:oauth:grant-type:token-exchange', 'subject_token': statement, 'subject_token_type': TOKEN_TYPE + kind}
    if actor:
        form |= {'actor_token': actor, 'actor_token_type': TOKEN_TYPE + 'access_token'}
    return requests.post(f'{server.uri()}/v1/oauth/tokens', data=form, timeout=30)


def test_attack_the_statement_of_whom_is_asked_for(server, agent, governed):
    key = serialization.load_pem_private_key(agent.key.read_bytes(), None)
    own = token_of(server, 'agents', agent.secret)
    good = signed(key, claims_of())
    assert exchange(server, good).status_code == 400, 'without the service'
    assert exchange(server, good, token_of(server, 'thief')).status_code == 400, "with another one's token"
    taken = exchange(server, good, own)
    assert taken.status_code == 200 and taken.json()['expires_in'] <= 120
    for name, statement in {
            'replayed': good, 'forged': signed(Ed25519PrivateKey.generate(), claims_of()), 'of another kind': signed(key, claims_of(), 'at+jwt'),
            'for another lake': signed(key, claims_of(aud='another-lake')), 'for another user': signed(key, claims_of(sub='admin')),
            'old': signed(key, claims_of(iat=int(time.time()) - 400, exp=int(time.time()) - 100)),
            'for long': signed(key, claims_of(exp=int(time.time()) + 3600))}.items():
        answer = exchange(server, statement, own)
        assert (answer.status_code, answer.json()['error']) == (400, 'invalid_grant'), name


def test_attack_its_token_on_other_ways_to_the_rows(server, agent, governed):
    """The user's role lifts mask and filter, the policies are left to engines: for an actor both are in the files."""
    key = serialization.load_pem_private_key(agent.key.read_bytes(), None)
    token = exchange(server, signed(key, claims_of()), token_of(server, 'agents', agent.secret)).json()['access_token']
    assert exchange(server, token, kind='access_token').status_code == 400, 'it is not renewed'
    acting = Bearer(server.uri(), 'lake', token)
    user = Bearer(server.uri(), 'lake', token_of(server, 'dana'))
    path = f'namespaces/{governed}/tables/people'
    raw = user.get(path, headers=VENDED).json()
    end = time.monotonic() + PATIENCE_SECONDS
    while (shown := acting.get(path, headers=VENDED)).status_code == 503 and time.monotonic() < end:
        time.sleep(0.1)
    assert shown.status_code == 200 and '/masked/' in json.dumps(shown.json()['metadata']['snapshots'])
    assert acting.get(f'namespaces/{governed}/ducklake-credentials').status_code == 403
    assert user.get(f'namespaces/{governed}/ducklake-credentials').status_code == 200
    planned = user.post(f'{path}/plan', {}).json()
    (file,) = [task['data-file']['file-path'] for task in planned['file-scan-tasks']]
    assert acting.get(f"{path}/plan/{planned['plan-id']}").status_code == 404, "the user's plan"
    bucket, _, name = file.removeprefix('s3://').partition('/')
    request = {'region': '', 'method': 'GET', 'headers': {}, 'uri': f"{raw['config']['s3.endpoint']}/{bucket}/{name}"}
    assert user.post(f'{path}/sign', request).status_code == 200
    assert acting.post(f'{path}/sign', request).status_code == 403, 'also while what the user may do is remembered'
    assert acting.post(path, {'requirements': [], 'updates': []}).status_code == 403
