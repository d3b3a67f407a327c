"""Keys of JSON that two readers read differently: what a gateway checked is not what the server does."""
import json

from exploits import Replica, request
from holes import shows
from mcp_messages import MODERN, PREFIX

FIELDS = {'MCP-Protocol-Version': MODERN, 'Mcp-Method': 'tools/call', 'Mcp-Name': 'files.stat'}
ALLOWED = ['files.stat']


def forgets_case(method, path, headers, body):
    """A reader that takes Name for name, and the last of several."""
    def lower(pairs):
        return {name.lower(): value for name, value in pairs}

    return 200, {}, json.loads(body, object_pairs_hook=lower)['params']['name']


def gateway_lets_through(body):
    """In front of it stands one that reads keys as they are."""
    return json.loads(body)['params']['name'] in ALLOWED


def call(members):
    """A call whose parameters begin with `members`, as text: a dictionary could not say a key twice."""
    meta = json.dumps({PREFIX + 'protocolVersion': MODERN, PREFIX + 'clientCapabilities': {}})
    return f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{{members},"arguments":{{"path":"notes/welcome.txt"}},"_meta":{meta}}}}}'


@shows('CVE-2026-27896')
def test_a_key_in_other_letters_is_another_key(service, caller):
    trick = call('"name":"files.stat","Name":"files.read"')
    assert gateway_lets_through(trick)
    with Replica(forgets_case) as replica:
        assert request(replica.port, 'POST', '/mcp', body=trick) == (200, 'files.read')

    answer = caller.send(trick, FIELDS).result['content'][0]['text']
    assert answer == 'notes/welcome.txt (26 bytes)'  # what the gateway let through is what was called


@shows('CVE-2026-27896')
def test_no_spelling_stands_for_a_key(caller):
    assert caller.send(call('"NAME":"files.stat"'), FIELDS).error['code'] == -32020
    assert caller.send(call('"name":"files.stat"').replace('"method"', '"Method"'), FIELDS).error['code'] == -32600
    assert caller.send(call('"name":"files.stat","name":"files.read"'), FIELDS).error['code'] == -32700
