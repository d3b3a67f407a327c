"""Agents of users whom an identity provider knows: a tool service and a lake that trust one provider. docs/tools/lake.md."""
import json
import secrets
import subprocess

import pytest
import requests
from cryptography.hazmat.primitives import serialization

from by_hand import Watched
from stack import ports
from stack.catalog import Lakeproxy
from test_agents import LAKE_NAME, answered, claims_of, exchange, said, signed, token_of
from tool_stack.authority import Authority
from tool_stack.identity import IdentityProvider
from tool_stack.lake_agent import LakeAgent, McpUser

SECRET = 'a secret of the provider, for tests'
AUDIENCE = 'https://tools.example'
JWT = {'LAKEPROXY_OAUTH_JWT_SECRET': 'for tests alone: 32 bytes and more of it'}


@pytest.fixture(scope='module')
def identity(tmp_path_factory):
    made = IdentityProvider(tmp_path_factory.mktemp('identity'), Authority(tmp_path_factory.mktemp('authority')), AUDIENCE,
                            {name: (SECRET, 'cap:list tool:invoke:lake.*') for name in ('ada', 'eve', 'dana')})
    made.start()
    yield made
    made.stop()


@pytest.fixture(scope='module')
def agent(tmp_path_factory):
    return LakeAgent(tmp_path_factory.mktemp('agent'), 'agents', LAKE_NAME)


@pytest.fixture(scope='module')
def schemas(duck):
    """Two, of which the service may read both and its users one."""
    names = [f'{word}_{secrets.token_hex(3)}' for word in ('theirs', 'its')]
    for name in names:
        duck.execute(f'CREATE SCHEMA lake.{name}')
        duck.execute(f"CALL lake.set_option('data_inlining_row_limit', 0, schema => '{name}')")
        duck.execute(f"CREATE TABLE lake.{name}.people AS SELECT 1 AS id, 'Ada' AS name")
    return names


def clients_file(folder, agent, schemas, **more):
    file = folder / 'clients.json'
    file.touch(mode=0o600)
    file.write_text(json.dumps([{'id': 'admin', 'secret': 's', 'scope': '*'}, {'id': 'dana', 'secret': 's', 'scope': 'ns:*:rw'},
                                agent.client(' '.join(f'ns:{name}:r' for name in schemas), ['dana'], **more)]))
    return {'LAKEPROXY_OAUTH_CLIENTS_FILE': str(file), 'LAKEPROXY_OAUTH_ISSUER': LAKE_NAME, **JWT}


@pytest.fixture(scope='module')
def server(stack, agent, schemas, identity, tmp_path_factory):
    users = {'names': ['ada', 'dana'], 'scope': f'ns:{schemas[0]}:rw'}
    with Watched.beside(stack, LAKEPROXY_OIDC_ISSUER=identity.issuer, LAKEPROXY_OIDC_AUDIENCE='https://lake.example',
                        LAKEPROXY_OIDC_JWKS_URL=identity.jwks_url, LAKEPROXY_OIDC_CA_FILE=str(identity.authority.roots),
                        **clients_file(tmp_path_factory.mktemp('clients'), agent, schemas, users=users)) as made:
        yield made


@pytest.fixture(scope='module')
def service(agent, server, identity):
    made = agent.service(server.uri(), server.wire.endpoint(), identity, provider_users=True).start()
    yield made
    made.stop()


def user(service, name):
    return McpUser(service, name, token=service.identity.token(name))


def people(schema):
    return f'SELECT id, name FROM {schema}.people'


def test_an_agent_reads_for_a_user_of_the_provider(server, service, schemas):
    assert answered(user(service, 'ada'), 'lake.query', sql=people(schemas[0]))['rows'] == [[1, 'Ada']]
    admin = {'Authorization': f"Bearer {token_of(server, 'admin')}"}
    trail = requests.get(f'{server.uri()}/v1/lake/governance/audit', headers=admin, params={'principal': 'ada', 'limit': 100}, timeout=30)
    entries = trail.json()['entries']
    assert entries and {(one['actor'], one['issuer']) for one in entries} == {('agents', service.identity.issuer)}


def test_attack_a_user_whom_the_lake_does_not_let_the_service_ask_for(service, schemas):
    refusal = said(user(service, 'eve').call('lake.query', sql=people(schemas[0])))
    assert 'E_POLICY' in refusal and 'no token for the caller' in refusal


def test_attack_more_than_the_lake_says_of_users(service, schemas):
    """The service's own scope opens the other namespace, and so does that of the client who has the user's name."""
    for name in ('ada', 'dana'):
        assert 'E_POLICY' in said(user(service, name).call('lake.query', sql=people(schemas[1])))
        assert schemas[1] not in answered(user(service, name), 'lake.list_namespaces')['namespaces']


def test_attack_statements_about_users(server, agent, identity, schemas):
    key = serialization.load_pem_private_key(agent.key.read_bytes(), None)
    own = token_of(server, 'agents', agent.secret)
    good = exchange(server, signed(key, claims_of(sub='ada', sub_iss=identity.issuer)), own)
    assert good.status_code == 200 and good.json()['scope'] == f'ns:{schemas[0]}:r', 'what both may'
    for name, claims in {'another provider': {'sub_iss': 'https://other.example'}, 'of this lake': {'sub_iss': LAKE_NAME}, 'of nobody': {'sub_iss': ''},
                         'another user': {'sub_iss': identity.issuer, 'sub': 'eve'}, 'as a client': {}}.items():
        answer = exchange(server, signed(key, claims_of(**{'sub': 'ada', **claims})), own)
        assert (answer.status_code, answer.json()['error']) == (400, 'invalid_grant'), name


def test_a_lake_without_a_provider_has_no_users(stack, agent, schemas, tmp_path):
    made = Lakeproxy(tmp_path, ports.any_free(), stack.postgres, stack.store, stack.state['binary'],
                     clients_file(tmp_path, agent, schemas, users={'names': '*', 'scope': 'ns:a:r'}))
    done = subprocess.run([made.binary, 'serve'], check=False, env=made.environment(), cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode != 0 and 'LAKEPROXY_OIDC_ISSUER' in done.stderr + done.stdout
