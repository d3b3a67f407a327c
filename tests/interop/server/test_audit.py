"""The audit trail of a server with clients: what is in it, who reads it, and that a change of it is found."""
import base64
import json
import subprocess
import time
import uuid

import pytest
import requests

from by_hand import Watched
from rest import assert_error
from test_tokens import CLIENTS, SECRET, SETTINGS, as_client, ask, bearer, jwt, sales, token_of, token_url  # noqa: F401  fixtures too


@pytest.fixture(scope='module')
def server(stack):
    with Watched.beside(stack, **SETTINGS) as made:
        yield made


def entries(server, prefix='lake', **parameters):
    answer = requests.get(f'{server.uri()}/v1/{prefix}/governance/audit', params=parameters, timeout=30,
                          **bearer(token_of(server, 'admin')))
    assert answer.status_code == 200, answer.text
    return answer.json()['entries']


def soon(found, seconds=5):
    """What `found` finds: a refusal does not wait for its record."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if answer := found():
            return answer
        time.sleep(0.05)
    return found()


def verify(server, *arguments):
    return subprocess.run([server.binary, 'audit', 'verify', *arguments], env=server.environment(), cwd=server.folder, timeout=120,
                          capture_output=True, text=True, check=False)


def test_a_token_that_was_issued_is_recorded_with_whose_it_is(server):
    token = token_of(server, 'writer', scope='ns:sales:r')
    newest = entries(server, operation='token_issued', object='writer', limit=1)[0]
    claims = json.loads(base64.urlsafe_b64decode(token.split('.')[1] + '=='))
    assert newest['principal'] == 'writer' and newest['issuer'] == 'lakeproxy' and newest['actor'] == ''
    assert newest['decision'] == 'allowed'
    assert newest['detail'] == {'grant_type': 'client_credentials', 'scope': 'ns:sales:r', 'token_id': claims['jti'], 'peer': '127.0.0.1'}
    assert set(newest) == {'id', 'ts', 'principal', 'issuer', 'actor', 'operation', 'object', 'decision', 'masked_cols',
                           'applied_policies', 'detail', 'request_id', 'previous_hash', 'hash'}


def test_what_is_refused_is_recorded(server, sales):  # noqa: F811
    before = entries(server, limit=1)[0]['id']
    reader = as_client(server, 'reader')
    refused = requests.get(f'{server.uri()}/v1/lake/namespaces/hidden/tables/t', timeout=30, **bearer(reader.token))
    assert_error(refused, 403)
    line = soon(lambda: [one for one in entries(server, principal='reader', operation='loadTable') if one['id'] > before])[0]
    assert line['object'] == 'table hidden.t' and line['decision'] == 'denied'
    assert line['request_id'] == refused.headers['X-Request-Id']
    ask(server, 'reader', 'a wrong one')
    ask(server, 'no-such-client', 'a wrong one')
    assert soon(lambda: entries(server, operation='token_refused', object='reader: invalid_client'))
    assert soon(lambda: entries(server, operation='token_refused', object='unknown: invalid_client'))
    requests.get(f'{server.uri()}/v1/lake/namespaces', timeout=30, **bearer('x.y.z'))
    assert soon(lambda: entries(server, operation='token_refused', object='malformed'))
    assert 'a wrong one' not in json.dumps(entries(server, limit=1000))
    assert 'no-such-client' not in json.dumps(entries(server, limit=1000)), 'it may be a secret in the wrong field'


def test_a_flood_of_guesses_is_counted_and_not_kept_one_by_one(stack):
    with Watched.beside(stack, **SETTINGS, LAKEPROXY_OAUTH_MAX_GUESSES='0', LAKEPROXY_WORKERS='1') as server:
        before = entries(server, limit=1)[0]['id']
        session = requests.Session()
        for _ in range(300):
            session.post(token_url(server), data={'grant_type': 'client_credentials', 'client_id': 'globex', 'client_secret': 'x'}, timeout=30)
    with Watched.beside(stack, **SETTINGS) as server:  # Who stops writes what it has counted.
        lines = [one for one in entries(server, object='globex: invalid_client', limit=1000) if one['id'] > before]
        assert sum(one['detail'].get('count', 1) for one in lines) == 300
        assert len(lines) <= 4


def test_a_catalog_that_is_made_is_recorded_and_has_a_trail_of_its_own(server):
    name = f'aud{uuid.uuid4().hex[:8]}'
    body = {'catalog_id': name, 'metadata_schema': f'meta_{name}', 'data_prefix': f'tenants/{name}/', 'account_id': 'acme'}
    answer = requests.post(f'{server.uri()}/v1/catalogs', json=body, timeout=60, **bearer(token_of(server, 'admin')))
    assert answer.status_code == 201, answer.text
    made = entries(server, operation='create_catalog', object=name)
    assert len(made) == 1 and made[0]['principal'] == 'admin' and made[0]['detail']['account_id'] == 'acme'
    assert entries(server, name) == []
    assert_error(requests.get(f'{server.uri()}/v1/{name}/governance/audit', timeout=30, **bearer(token_of(server, 'acme'))), 403)
    line = soon(lambda: entries(server, name))[0]
    assert (line['principal'], line['operation'], line['object']) == ('acme', 'listAuditRecords', 'catalog')
    assert verify(server, '--catalog', name).returncode == 0


def test_the_trail_is_the_administrators(server):
    for client in ('reader', 'keeper', 'acme'):
        assert_error(requests.get(f'{server.uri()}/v1/lake/governance/audit', timeout=30, **bearer(token_of(server, client))), 403)
    assert_error(requests.get(f'{server.uri()}/v1/lake/governance/audit', timeout=30), 401)


@pytest.mark.parametrize('parameters', [{'limit': '0'}, {'limit': '1001'}, {'limit': 'x'}, {'before': '-1'}, {'before': '1e3'}])
def test_a_question_that_is_wrong_is_refused(server, parameters):
    answer = requests.get(f'{server.uri()}/v1/lake/governance/audit', params=parameters, timeout=30, **bearer(token_of(server, 'admin')))
    assert_error(answer, 400)


def test_pages_go_down_by_before(server):
    for _ in range(5):
        token_of(server, 'reader')
    first = entries(server, limit=3)
    second = entries(server, limit=3, before=first[-1]['id'])
    ids = [one['id'] for one in first + second]
    assert ids == sorted(ids, reverse=True) and len(set(ids)) == 6


def test_a_line_that_was_changed_is_named(server, stack):
    token_of(server, 'writer')
    whole = verify(server)
    assert whole.returncode == 0, whole.stdout + whole.stderr
    noted = whole.stdout.splitlines()[-1].removeprefix('newest: ')
    line = entries(server, object='writer', limit=1)[0]['id']
    stack.postgres.query('lake', f"UPDATE lakeproxy_audit SET principal = 'somebody' WHERE id = {line}")
    changed = verify(server)
    assert changed.returncode == 1 and changed.stdout == f'line {line} was changed\n'
    stack.postgres.query('lake', f"UPDATE lakeproxy_audit SET principal = 'writer' WHERE id = {line}")
    assert verify(server, '--noted', noted).returncode == 0
    assert verify(server, '--noted', 'x').returncode == 2


def test_a_token_is_not_given_that_the_trail_does_not_know_of(server, stack):
    stack.postgres.query('lake', 'ALTER TABLE lakeproxy_audit_head RENAME TO lakeproxy_audit_away')
    try:
        answer = ask(server, 'reader')
        assert_error(answer, 503)
        assert 'access_token' not in answer.text
        assert ask(server, 'reader', 'wrong').status_code == 401, 'a refusal gives nothing away and waits for nothing'
    finally:
        stack.postgres.query('lake', 'ALTER TABLE lakeproxy_audit_away RENAME TO lakeproxy_audit_head')
    assert ask(server, 'reader').status_code == 200


# Somebody acts for somebody else

EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'
ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token'


@pytest.fixture(scope='module')
def acting(stack, tmp_path_factory):
    file = tmp_path_factory.mktemp('clients') / 'clients.json'
    file.write_text(json.dumps([
        {'id': 'admin', 'secret': CLIENTS['admin'][0], 'scope': '*'},
        {'id': 'reader', 'secret': CLIENTS['reader'][0], 'scope': 'ns:sales:r ns:hidden:r'},
        {'id': 'writer', 'secret': CLIENTS['writer'][0], 'scope': 'ns:sales:rw', 'may_act_for': ['reader']}]))
    file.chmod(0o600)
    with Watched.beside(stack, LAKEPROXY_OAUTH_CLIENTS_FILE=str(file), LAKEPROXY_OAUTH_JWT_SECRET=SECRET,
                        LAKEPROXY_LOG_LEVEL='debug') as made:
        yield made


def exchange(server, subject, actor, **fields):
    return requests.post(token_url(server), timeout=30, data={
        'grant_type': EXCHANGE, 'subject_token': subject, 'subject_token_type': ACCESS_TOKEN,
        'actor_token': actor, 'actor_token_type': ACCESS_TOKEN, **fields})


def test_an_agent_acts_for_a_user_and_both_are_on_record(acting, sales):  # noqa: F811
    answer = exchange(acting, token_of(acting, 'reader'), token_of(acting, 'writer'))
    assert answer.status_code == 200, answer.text
    assert answer.json()['scope'] == 'ns:sales:r'
    agent = bearer(answer.json()['access_token'])
    assert requests.get(f'{acting.uri()}/v1/lake/namespaces/sales/tables/t', timeout=30, **agent).status_code == 200
    for path in ('namespaces/hidden/tables/t', 'governance/audit'):
        assert_error(requests.get(f'{acting.uri()}/v1/lake/{path}', timeout=30, **agent), 403)
    assert_error(requests.delete(f'{acting.uri()}/v1/lake/namespaces/sales/tables/t', timeout=30, **agent), 403)
    issued = entries(acting, operation='token_issued', object='writer', limit=1)[0]
    assert (issued['principal'], issued['actor']) == ('reader', 'writer')
    denied = soon(lambda: entries(acting, operation='dropTable', principal='reader'))[0]
    assert denied['actor'] == 'writer'
    assert '"principal":"reader","actor":"writer"' in acting.log.read_text()


def test_attack_acting_without_leave(acting, sales):  # noqa: F811
    for subject, actor in (('writer', 'reader'), ('admin', 'writer'), ('reader', 'reader'), ('reader', 'admin')):
        answer = exchange(acting, token_of(acting, subject), token_of(acting, actor))
        assert (answer.status_code, answer.json()['error']) == (400, 'invalid_grant'), (subject, actor)
    forged = jwt({'alg': 'HS256', 'typ': 'at+jwt'}, {'iss': 'lakeproxy', 'aud': 'lakeproxy', 'sub': 'admin', 'scope': '*'}, 'x' * 40)
    assert exchange(acting, forged, token_of(acting, 'writer')).status_code == 400
    assert exchange(acting, token_of(acting, 'reader'), token_of(acting, 'writer'), scope='ns:hidden:r').json()['error'] == 'invalid_scope'
