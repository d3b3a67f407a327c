"""Who is asked about a call that another node makes: somebody at the tool's own node, and never the caller. docs/wire-3.0.md, section 18.3."""
import pytest
from bridged import await_tools, run, text_of
from federated import Federation
from mcp_messages import McpCaller
from mcp_programs import CONFORMANCE_SERVER
from own_tools import sections
from scp import Refused
from test_mcp_http import approve
from test_modes import session
from tool_clients import client_of
from tool_stack.hooks import ConsentHook

GRANTS = 'cap:list,tool:invoke:tools.*,tool:invoke:node-b.*,tool:invoke:fixture.*'
ASKS = sections({'write': {'kind': 'command', 'program': '/bin/echo', 'arguments': ['written'], 'read_only': False, 'consent': 'always'}})
FRONT = {'mcp.enabled': True, 'mcp.elicit_consent': True, 'security.api_key_scopes': GRANTS, 'cluster.peer_scopes': GRANTS}
CAN = {'elicitation': {}}
FAR, NEAR = 'node-b.tools_write', 'tools.write'


@pytest.fixture
def asked_there(tmp_path, authority):
    """Both nodes have somebody to ask, each its own."""
    hooks = {'node-a': ConsentHook(), 'node-b': ConsentHook()}
    changes = {name: {**ASKS, 'security.api_key_scopes': GRANTS, 'cluster.peer_scopes': GRANTS, 'hooks.consent_url': hook.url}
               for name, hook in hooks.items()}
    made = Federation(tmp_path / 'asked', authority, {'node-a': ['node-b'], 'node-b': []}, changes=changes)
    made.hooks = hooks
    yield made.start()
    made.stop()
    for hook in hooks.values():
        hook.stop()


def test_consent_is_asked_at_the_tools_own_node(asked_there):
    there = asked_there.hooks['node-b']

    async def work(client):
        await await_tools(client, [FAR])
        assert text_of(await client.invoke_tool(FAR)) == 'written\n'
        there.decision = {'decision': 'deny', 'by': 'operator'}
        with pytest.raises(Refused) as caught:
            await client.invoke_tool(FAR)
        return caught.value

    told = run(session(client_of(asked_there['node-a']), work))
    assert (told.code, told.message) == ('E_CONSENT', 'node node-b: E_CONSENT')
    assert [(one['tool'], one['principal']) for one in there.asked] == [(NEAR, 'api-key')] * 2
    assert asked_there.hooks['node-a'].asked == []


@pytest.fixture
def nobody_there(tmp_path, authority):
    """node-a can ask its MCP clients, as node-b can its own; node-b has nobody else. Its program has tools that ask by themselves."""
    changes = {'node-a': {**ASKS, **FRONT}, 'node-b': {**ASKS, **FRONT}}
    made = Federation(tmp_path / 'nobody', authority, {'node-a': ['node-b'], 'node-b': []}, mode='simple', changes=changes)
    made['node-b'].binary = CONFORMANCE_SERVER
    yield made.start()
    made.stop()


def test_a_client_that_can_be_asked_is_asked_by_its_own_node_alone(nobody_there):
    run(session(client_of(nobody_there['node-a']), lambda client: await_tools(client, [FAR])))
    caller = McpCaller(nobody_there['node-a'], nobody_there['node-a'].secret('api_key'))
    asked = caller.call(NEAR, capabilities=CAN).result
    done = caller.call(NEAR, capabilities=CAN, requestState=asked['requestState'], inputResponses=approve(True)).result
    assert done['content'][0]['text'] == 'written\n'
    far = caller.call(FAR, capabilities=CAN).result
    assert far['isError'] and 'E_CONSENT' in far['content'][0]['text'] and 'inputRequests' not in far


def test_a_tool_that_has_to_ask_its_caller_cannot_over_a_link(nobody_there):
    tool = 'test_input_required_result_request_state'
    run(session(client_of(nobody_there['node-a']), lambda client: await_tools(client, [f'node-b.fixture_{tool}'])))
    near = McpCaller(nobody_there['node-b'], nobody_there['node-b'].secret('api_key'))
    assert near.call(f'fixture.{tool}', capabilities=CAN).result['resultType'] == 'input_required'
    front = McpCaller(nobody_there['node-a'], nobody_there['node-a'].secret('api_key'))
    far = front.call(f'node-b.fixture_{tool}', capabilities=CAN).result
    assert far['isError'] and 'E_CONSENT' in far['content'][0]['text'] and 'inputRequests' not in far
