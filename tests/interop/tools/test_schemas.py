"""The schemas under docs/schemas/wire against the vectors, against messages written by hand, and against
what a service and the Python client really say to each other."""
import copy
import json
import pathlib

import pytest
from tool_clients import client_of
from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from scp import Client, Refused
from test_modes import run
from wire_messages import BYTES32, GOOD, HOLDER, JWK, KEY_PROOF, UNKNOWN

ROOT = pathlib.Path(__file__).resolve().parents[3]
SCHEMAS = {file.stem: json.loads(file.read_text()) for file in (ROOT / 'docs/schemas/wire').glob('*.json')}
REGISTRY = Registry().with_resources((schema['$id'], Resource.from_contents(schema)) for schema in SCHEMAS.values())
VALIDATORS = {name: Draft202012Validator(schema, registry=REGISTRY) for name, schema in SCHEMAS.items() if name != 'types'}
REMOVED = object()

# Schema, what is wrong, the member (path) and what stands there instead. Each is one change to the first good message.
BAD = [
    ('envelope', 'v', '2.0'), ('envelope', 'v', 3), ('envelope', 't', 'request'), ('envelope', 'id', 'x'), ('envelope', 'id', '8' + '0' * 25),
    ('envelope', 'id', '01jd0000000000000000000001'), ('envelope', 'id', '01JD000000000000000000000I'), ('envelope', 'op', ''),
    ('envelope', 'op', 'a' * 33), ('envelope', 'op', 'Tool.invoke'), ('envelope', 'ts', -1), ('envelope', 'ts', 1.5), ('envelope', 'ts', 2**53),
    ('envelope', 'ts', '1'), ('envelope', 'n', 'A' * 21), ('envelope', 'n', 'A' * 23), ('envelope', 'n', 'A' * 21 + 'B'),
    ('envelope', 'n', 'A' * 22 + '=='), ('envelope', 'n', '+' * 22), ('envelope', 'aud', None), ('envelope', 'p', []), ('envelope', 'p', None),
    ('envelope', 'meta', {'deadline_ms': 0}), ('envelope', 'meta', {'deadline_ms': 300001}), ('envelope', 'meta', {'deadline_ms': 1.5}),
    ('envelope', 'meta', {'traceparent': 'x'}), ('envelope', 'meta', {'traceparent': f'ff-{"a" * 32}-{"b" * 16}-01'}),
    ('envelope', 'meta', {'traceparent': f'00-{"0" * 32}-{"b" * 16}-01'}), ('envelope', 'sig', {}), ('envelope', 'sig', {'alg': 'none', 'kid': 'c', 'v': BYTES32}),
    ('envelope', 'sig', {'alg': 'HS256', 'kid': 'x', 'v': BYTES32}), ('envelope', 'sig', {'alg': 'HS256', 'kid': 'c', 'v': 'AA'}),
    ('envelope', 'sig', {'alg': 'HS256', 'kid': 'c', 'v': BYTES32, 'more': 1}), ('envelope', 't', 'evt'),
    ('hello', 'aud', 'node-b'), ('hello', 't', 'res'), ('hello', 'op', 'session.auth'), ('hello', 'p.versions', []), ('hello', 'p.versions', ['3.0'] * 17),
    ('hello', 'p.versions', ['3']), ('hello', 'p.versions', ['03.0']), ('hello', 'p.versions', ['1000.0']), ('hello', 'p.suites', []),
    ('hello', 'p.suites', ['NONE'] * 9), ('hello', 'p.suites', ['S' * 65]), ('hello', 'p.nonce_c', 'AA'), ('hello', 'p.nonce_c', 'A' * 42 + 'B'),
    ('hello', 'p.eph_c', {'X25519': 'A'}), ('hello', 'p.eph_c', []), ('hello', 'p.channels', []), ('hello', 'p.channels', ['none'] * 5),
    ('hello', 'p.proofs', []), ('hello', 'p.proofs', ['hmac'] * 5), ('hello', 'p.proofs', REMOVED),
    ('hello', 'p.client', {'name': 'x' * 65, 'version': ''}), ('hello', 'p.client', {'name': 'x'}), ('hello', 'p.want_mode', 1), ('hello', 'p.want_mode', REMOVED),
    ('welcome', 'aud', 'x'), ('welcome', 'p.eph_s', REMOVED), ('welcome', 'p.suite', 'NONE'), ('welcome', 'p.suite', 'AES'), ('welcome', 'p.mode', 'none'),
    ('welcome', 'p.mode', 'basic'), ('welcome', 'p.channel', 'tls-unique'), ('welcome', 'p.proof', {'kind': 'none'}), ('welcome', 'p.proof', {'kind': 'hmac'}),
    ('welcome', 'p.proof', {'kind': 'rsa', 'v': BYTES32}), ('welcome', 'p.proof', REMOVED), ('welcome', 'p.proof', KEY_PROOF), ('welcome', 'p.node_key', JWK), ('welcome', 'p.channel', 'tls-exporter'), ('welcome', 'p.limits.in_flight', 0),
    ('welcome', 'p.limits.message_bytes', REMOVED), ('welcome', 'p.auth', []), ('welcome', 'p.node_id', ''), ('welcome', 'p.node_id', 'n' * 257),
    ('auth', 'p.method', 'node'), ('auth', 'p.method', 'password'), ('auth', 'p.credential', 'short'), ('auth', 'p.credential', REMOVED),
    ('auth', 'p.confirm', REMOVED), ('auth', 'p.confirm', 'AA'), ('auth', 'p.method', 'jwt'), ('auth', 'p.method', 'mtls'), ('auth', 'aud', ''),
    ('auth', 'p.holder', HOLDER), ('auth', 'p.holder', {}), ('auth', 'p.method', 'session'), ('auth', 'p.session_key', HOLDER), ('auth', 'p.session_key', BYTES32),
    ('ready', 'p.session_id', 'x'), ('ready', 'p.session_token', ''), ('ready', 'p.session_token', 't' * 8193), ('ready', 'p.principal', {'sub': 'a'}),
    ('ready', 'p.scopes', ['two words']), ('ready', 'p.scopes', ['"']), ('ready', 'p.scopes', ['s'] * 257), ('ready', 'p.expires_at', -1),
    ('ready', 'p.confirm', REMOVED), ('ready', 'aud', 'node-b'),
    ('err', 'p.code', 'E_NEW'), ('err', 'p.num', 4042), ('err', 'p.num', '4041'), ('err', 'p.msg', REMOVED), ('err', 'p.retry_ms', -1), ('err', 'p.data', []),
    ('err', 'p', {'code': 'E_VERSION', 'num': 4026, 'msg': ''}), ('err', 'p', {'code': 'E_RATE', 'num': 4290, 'msg': ''}), ('err', 'id', UNKNOWN),
    ('err', 'op', 'session.error'), ('err', 't', 'res'),
    ('cap.list', 'p.limit', 0), ('cap.list', 'p.limit', 1001), ('cap.list', 'p.filter', 'f' * 130), ('cap.list', 'p.cursor', 1), ('cap.list', 't', 'cancel'),
    ('admin.session.list', 't', 'evt'), ('admin.session.close', 'p', {}), ('admin.session.close', 'p', {'session_id': 's', 'sub': 's'}),
    ('admin.consent.list', 't', 'evt'), ('admin.consent.revoke', 'p', {}), ('admin.consent.revoke', 'p', {'id': 1, 'sub': 's'}),
    ('admin.consent.revoke', 'p.id', 0), ('admin.consent.revoke', 'p.id', '1'), ('admin.session.close', 'p.session_id', ''), ('admin.session.close', 'p.session_id', 7),
    ('cap.get', 'p.tool', 'sql'), ('cap.get', 'p.tool', 'Sql.query'), ('cap.get', 'p.tool', 'sql.*'), ('cap.get', 'p', {}),
    ('tool.invoke', 'p.tool', REMOVED), ('tool.invoke', 'p.args', REMOVED), ('tool.invoke', 'p.args', []), ('tool.invoke', 'p.dry_run', 1), ('tool.invoke', 'p.stream', 'yes'),
    ('tool.invoke', 'p.idem', ''), ('tool.invoke', 'p.idem', 'k' * 129), ('tool.invoke', 'p.idem', 'two words'), ('tool.invoke', 'p.idem', 7),
    ('flow.run', 'p.run', 'x'), ('flow.run', 'p.run', REMOVED), ('flow.run', 'p.workflow', REMOVED), ('flow.run', 'p.workflow', []), ('flow.run', 't', 'evt'),
    ('flow.get', 'p.run', REMOVED), ('flow.cancel', 'p.run', ''), ('flow.cancel', 't', 'cancel'),
    ('tool.outcome', 'p.id', 'x'), ('tool.outcome', 'p.id', REMOVED), ('tool.outcome', 't', 'evt'),
    ('tool.invoke', 'p.tool', 's' * 65 + '.query'), ('tool.invoke', 'p.tool', 'sql.query.x'),
    ('fed.forward', 'p.proofs', REMOVED), ('fed.forward', 'p.proofs', []), ('fed.forward', 'p.proofs', ['a.b.c'] * 9), ('fed.forward', 'p.proofs', ['a.b']),
    ('fed.forward', 'p.args', []), ('fed.forward', 'p.idem', 'two words'), ('fed.forward', 'p.again_ms', 0), ('fed.forward', 'p.again_ms', 5), ('fed.forward', 'p.dry_run', 1), ('fed.forward', 'p.stream', 'yes'), ('fed.forward', 'p.tool', REMOVED), ('fed.caps', 'p.limit', 0), ('fed.caps', 'p.wait_ms', -1), ('fed.caps', 'p.wait_ms', 30_001), ('fed.caps', 't', 'evt'),
    ('tool.progress', 'p.done', '1'), ('tool.progress', 'p.done', REMOVED), ('tool.progress', 'seq', REMOVED), ('tool.progress', 'seq', -1),
    ('tool.progress', 't', 'res'), ('tool.chunk', 'p.data', ''), ('tool.chunk', 'p.data', 'A'), ('tool.chunk', 'p.index', -1), ('tool.chunk', 'p.data', 'A' * 65540),
    ('capability', 'id', 'query'), ('capability', 'inputSchema', {'type': 'array'}), ('capability', 'inputSchema', True), ('capability', 'title', ''),
    ('capability', 'annotations.readOnlyHint', REMOVED), ('capability', 'annotations.readOnlyHint', 'yes'), ('capability', 'origin', {'kind': 'bridge'}),
    ('capability', 'origin', {'kind': 'local', 'server': 'x'}), ('capability', 'origin', {'kind': 'peer', 'node': 'node-c'}), ('capability', 'requires.consent', 'sometimes'), ('capability', 'requires.scopes', []),
    ('capability', 'requires.scopes', ['tool:invoke:*']), ('capability', 'requires.min_mode', 'none'), ('capability', 'limits.time_ms', 0),
    ('capability', 'pin.h', '0' * 64), ('capability', 'pin.alg', 'md5'), ('capability', 'pin', REMOVED), ('capability', 'version', 1),
]


def faults(name, message):
    return [f'{error.json_path}: {error.message}' for error in VALIDATORS[name].iter_errors(message)]


def changed(message, path, value):
    message = copy.deepcopy(message)
    place, *rest = path.split('.')[::-1]
    target = message
    for part in rest[::-1]:
        target = target[part]
    if value is REMOVED:
        del target[place]
    else:
        target[place] = value
    return message


@pytest.mark.parametrize('name', SCHEMAS)
def test_is_a_schema_of_its_draft(name):
    Draft202012Validator.check_schema(SCHEMAS[name])
    assert SCHEMAS[name]['$id'] == f'urn:scp:3.0:{name}'


@pytest.mark.parametrize('name, what, message', GOOD, ids=[f'{name} {what}' for name, what, _ in GOOD])
def test_takes_a_good_message(name, what, message):
    assert faults(name, message) == []
    if name != 'capability':
        assert faults('envelope', message) == []


@pytest.mark.parametrize('name, path, value', BAD, ids=[f'{name} {path} {str(value)[:30]}' for name, path, value in BAD])
def test_refuses_a_message_with_one_wrong_member(name, path, value):
    good = next(message for one, _, message in GOOD if one == name)
    assert faults(name, changed(good, path, value))


@pytest.mark.parametrize('name', [name for name in VALIDATORS if name != 'capability'])
def test_a_message_of_another_kind_does_not_fit(name):
    for other, _, message in GOOD:
        if other not in (name, 'envelope', 'capability') and name not in ('envelope',):
            assert faults(name, message), other


def test_the_codes_are_those_of_the_table():
    page = (ROOT / 'docs/wire-3.0.md').read_text()
    rows = [line.split('|') for line in page.split('## 11. Errors')[1].split('## 12.')[0].splitlines() if line.startswith('| E_')]
    table = {row[1].strip(): int(row[2]) for row in rows}
    payload = SCHEMAS['err']['properties']['p']
    assert {one['properties']['code']['const']: one['properties']['num']['const'] for one in payload['oneOf']} == table
    assert payload['properties']['code']['enum'] == list(table)


def test_the_vectors_are_envelopes():
    """They are about signatures; an evt among them leaves out its number."""
    cases = json.loads((ROOT / 'tests/golden/wire/signatures.json').read_text())['cases']
    for case in cases:
        message = json.loads(case['message'])
        if message['t'] == 'evt':
            assert any('seq' in fault for fault in faults('envelope', message)), case['name']
            message['seq'] = 0
        message['sig'] = {'alg': 'HS256', 'kid': 's', 'v': case['v']}
        assert faults('envelope', message) == [], case['name']
    assert len(cases) >= 20


def test_the_vectors_of_proofs_are_told_apart_by_their_shape():
    cases = json.loads((ROOT / 'tests/golden/wire/holders.json').read_text())['cases']
    validator = Draft202012Validator({'$ref': 'urn:scp:3.0:types#/$defs/holder'}, registry=REGISTRY)
    for case in cases:
        if 'holder' in case:
            assert validator.is_valid(case['holder']) == (case['answer'] != 'E_SHAPE'), case['name']
    assert {case['answer'] for case in cases} == {'ok', 'E_AUTH', 'E_SHAPE'}


def test_the_vectors_of_servers_proofs_are_told_apart_by_their_shape():
    cases = [case for case in json.loads((ROOT / 'tests/golden/wire/proofs.json').read_text())['cases'] if case['side'] == 'client']
    properties = SCHEMAS['welcome']['properties']['p']['properties']
    shape = {'required': ['proof'], 'properties': {name: properties[name] for name in ('node_key', 'proof')}}
    validator = Draft202012Validator(shape, registry=REGISTRY)
    for case in cases:
        assert validator.is_valid(case['welcome']) == (case['answer'] != 'E_SHAPE'), case['name']
    assert {case['answer'] for case in cases} == {'ok', 'E_SIG', 'E_SHAPE'}


class Watched(Client):
    """Keeps every message of both ends."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.seen = []

    def _encode(self, message, transcript):
        self.seen.append(copy.deepcopy(message))
        return super()._encode(message, transcript)

    def _decode(self, data, transcript):
        message = super()._decode(data, transcript)
        self.seen.append(copy.deepcopy(message))
        return message

    def _answer(self, message):
        if message['op'] == 'session.hello':
            self.seen.append(copy.deepcopy(message))
        return super()._answer(message)


SCHEMA_OF = {('res', 'session.hello'): 'welcome', ('req', 'session.auth'): 'auth', ('res', 'session.auth'): 'ready'}


def schema_of(message):
    if message['t'] == 'err':
        return 'err'
    return SCHEMA_OF.get((message['t'], message['op'])) or (message['op'] if message['op'] in VALIDATORS else 'envelope')


def test_a_real_session_says_only_what_fits(service):
    client = client_of(service)
    client.__class__, client.seen = Watched, []

    async def work():
        await client.connect()
        first = await client.call('cap.list', {'limit': 1})
        unchanged = await client.call('cap.list', {'etag': first['etag']})
        assert unchanged['unchanged'] is True
        for one in await client.list_capabilities():
            assert faults('capability', (await client.call('cap.get', {'tool': one['id']}))['capability']) == []
        await client.invoke_tool('sql.query', sql='SELECT 42::INTEGER AS answer')
        for key in ('twice', 'twice', None):
            await client.invoke_tool('sql.query', sql='SELECT 43::INTEGER AS answer', idempotency_key=key)
        asked = [message['id'] for message in client.seen if message['op'] == 'tool.invoke' and message['t'] == 'req']
        states = [(await client.outcome_of(one))['state'] for one in (*asked, asked[0][:-1] + ('0' if asked[0][-1] != '0' else '1'))]
        assert states == ['finished', 'finished', 'never', 'finished', 'never']
        for tool, arguments in (('sql.query', {'sql': 5}), ('no.such', {})):
            with pytest.raises(Refused):
                await client.invoke_tool(tool, **arguments)
        with pytest.raises(Refused):
            await client.call('no.such_op', {})
        await client.disconnect()

    run(work())
    kinds = set()
    for message in client.seen:
        kinds.add(schema_of(message))
        assert faults(schema_of(message), message) == [], message
    assert kinds >= {'welcome', 'auth', 'ready', 'cap.list', 'cap.get', 'tool.invoke', 'tool.outcome', 'err', 'envelope'}
