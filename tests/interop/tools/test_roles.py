"""Roles and groups of a provider, and what they may do here. docs/tools/access.md, "Access tokens"."""
import pytest
from bridged import until
from mcp_messages import McpCaller
from scp import Refused
from test_enterprise import connect, pinned, token  # noqa: F401
from test_modes import run, session
from test_revocation import reload
from tool_clients import client_of

TABLE = """# what groups of the company may do
cap:list tool:invoke:files.read = readers
tool:invoke:files.stat = Data People
"""
READ = {'path': 'notes/welcome.txt'}


@pytest.fixture(scope='module')
def table(tmp_path_factory):
    file = tmp_path_factory.mktemp('roles') / 'roles'
    file.write_text(TABLE)
    return file


@pytest.fixture(scope='module')
def with_roles(make_service, pinned, table):  # noqa: F811
    """A service that knows a table of roles, and its provider's private key."""
    _, key, file = pinned
    settings = {'oauth2__role_claims': '/groups,/realm_access/roles', 'oauth2__role_scopes_file': str(table)}
    return make_service('enterprise', mcp__enabled=True, oauth2__jwks_url=None, oauth2__local_public_key_path=str(file), **settings), key


def scopes(service, key, **claims):
    return sorted(connect(service, token(key, service, scope=None, **claims))['scopes'])


def test_a_group_and_a_role_open_what_the_table_says(with_roles):
    service, key = with_roles
    assert scopes(service, key, groups=['readers', 'of another service']) == ['cap:list', 'tool:invoke:files.read']
    assert scopes(service, key, groups='readers', realm_access={'roles': ['Data People']}) == ['cap:list', 'tool:invoke:files.read', 'tool:invoke:files.stat']

    async def read(client):
        return await client.invoke_tool('files.read', **READ)

    answer = run(session(client_of(service, token=token(key, service, scope=None, groups=['readers'])), read))
    assert answer['content'][0]['text'] == 'Hello from the file tool.\n'


@pytest.mark.parametrize('claims', [{}, {'groups': []}, {'groups': ['Readers', 'data people']}, {'groups': 'readers,Data People'}, {'roles': ['readers']},
                                    {'realm_access': ['readers']}], ids=str)
def test_another_name_or_place_opens_nothing(with_roles, claims):
    service, key = with_roles
    assert scopes(service, key, **claims) == []
    caller = McpCaller(service, token(key, service, scope=None, **claims))
    assert caller.call('files.read', READ).error['data']['code'] == 'E_TOOL'


def test_a_role_opens_one_tool_and_not_its_neighbour(with_roles):
    service, key = with_roles
    caller = McpCaller(service, token(key, service, scope=None, groups=['readers']))
    assert caller.call('files.read', READ).result['content'][0]['text'] == 'Hello from the file tool.\n'
    assert caller.call('files.stat', READ).error['data']['code'] == 'E_TOOL'


@pytest.mark.parametrize('groups', [7, ['readers', 7], {'readers': True}, ['r'] * 1025], ids=['number', 'list with a number', 'object', 'too many'])
def test_a_claim_that_cannot_be_read_refuses_the_token(with_roles, groups):
    service, key = with_roles
    with pytest.raises(Refused) as refused:
        connect(service, token(key, service, groups=groups))
    assert refused.value.code == 'E_AUTH'


def test_a_service_without_a_table_reads_no_roles(pinned):  # noqa: F811
    service, key, _ = pinned
    assert scopes(service, key, groups=['readers']) == []


def test_a_line_less_takes_the_scopes_back_at_a_reload(with_roles, table):
    service, key = with_roles
    try:
        table.write_text(TABLE.replace('tool:invoke:files.read', 'tool:invoke:files.list'))
        reload(service)
        until(lambda: scopes(service, key, groups=['readers']) == ['cap:list', 'tool:invoke:files.list'], 'the new table')
        caller = McpCaller(service, token(key, service, scope=None, groups=['readers']))
        assert caller.call('files.read', READ).error['data']['code'] == 'E_TOOL'
    finally:
        table.write_text(TABLE)
        reload(service)
        until(lambda: scopes(service, key, groups=['readers']) == ['cap:list', 'tool:invoke:files.read'], 'the old table')
