"""One good message of each kind, by the schema that it must fit."""

NONCE = 'AAAAAAAAAAAAAAAAAAAAAA'
BYTES32 = 'A' * 43
REQUEST = '01JD0000000000000000000001'
SESSION = '01JD0000000000000000000002'
UNKNOWN = '0' * 26
TOKEN = 'eyJhbGciOiJIUzI1NiJ9.e30.AAAA'
SIG = {'alg': 'HS256', 'kid': 'c', 'v': BYTES32}
JWK = {'crv': 'Ed25519', 'kty': 'OKP', 'x': BYTES32}
HOLDER = {'alg': 'Ed25519', 'jwk': JWK, 'v': 'A' * 86}
KEY_PROOF = {'kind': 'ed25519', 'v': 'A' * 86}


def envelope(kind, op, payload, **more):
    return {'v': '3.0', 't': kind, 'id': REQUEST, 'op': op, 'ts': 1795251600123, 'n': NONCE, 'aud': SESSION if kind != 'req' else 'node-b',
            'p': payload, **more}


CAPABILITY = {
    'id': 'sql.query', 'name': 'query', 'title': 'Query', 'description': 'Runs one SELECT.', 'inputSchema': {'type': 'object'},
    'annotations': {'readOnlyHint': True, 'destructiveHint': False, 'idempotentHint': True, 'openWorldHint': False}, 'version': '1',
    'origin': {'kind': 'local'}, 'requires': {'scopes': ['tool:invoke:sql.query'], 'consent': 'never', 'min_mode': 'simple'},
    'limits': {'time_ms': 30000, 'output_bytes': 4194304}, 'pin': {'alg': 'sha256', 'h': 'sha256:' + '0' * 64, 'state': 'pinned'},
}
ANSWER = {'is_error': False, 'usage': {'ms': 3, 'bytes': 2}, 'redactions': 0, 'audit': {'seq': 7, 'hash': 'a' * 64}}
WELCOME = {
    'version': '3.0', 'mode': 'encrypted', 'suite': 'X25519_A256GCM_S256', 'nonce_s': BYTES32, 'eph_s': BYTES32, 'node_id': 'node-b',
    'cluster': 'cluster-1', 'auth': ['api_key', 'jwt'], 'channel': 'none', 'proof': {'kind': 'hmac', 'v': BYTES32},
    'limits': {'message_bytes': 1048576, 'in_flight': 64, 'deadline_ms': 30000, 'idle_ms': 300000},
}
READY = {'session_id': SESSION, 'session_token': TOKEN, 'principal': {'sub': 'alice', 'iss': 'node-b'},
         'scopes': ['cap:list', 'tool:invoke:sql.query'], 'expires_at': 1795252500000, 'confirm': BYTES32}

WORKFLOW = {'workflow': 1, 'steps': [{'name': 'read', 'tool': 'files.read', 'args': {'path': 'a.txt'}}]}
RUN = {'run': REQUEST, 'state': 'done', 'output': None, 'steps': [
    {'name': 'read', 'state': 'done', 'attempts': 1, 'rid': SESSION, 'undo': {'state': 'failed', 'attempts': 2, 'status': 'E_UPSTREAM', 'msg': 'away'}}]}

# Schema, what is special, message.
GOOD = [
    ('envelope', 'a request', envelope('req', 'session.ping', {})),
    ('envelope', 'signed', envelope('req', 'session.ping', {}, sig=SIG)),
    ('envelope', 'unknown members', envelope('req', 'session.ping', {}, later=[1], meta={'unknown': True})),
    ('envelope', 'an unknown op', envelope('req', 'some.thing_new', {})),
    ('envelope', 'all of meta', envelope('req', 'tool.invoke', {}, meta={'deadline_ms': 300000, 'traceparent': f'00-{"a" * 32}-{"b" * 16}-01'})),
    ('envelope', 'a seq that means nothing', envelope('res', 'session.ping', {}, seq='x')),
    ('envelope', 'cancel', envelope('cancel', 'tool.cancel', {})),
    ('hello', 'one suite', envelope('req', 'session.hello', {
        'versions': ['3.0'], 'suites': ['X25519_A256GCM_S256'], 'nonce_c': BYTES32, 'eph_c': {'X25519': BYTES32}, 'channels': ['none'],
        'proofs': ['ed25519'], 'client': {'name': 'example', 'version': '1'}, 'want_mode': 'encrypted'}, aud='*')),
    ('hello', 'versions of the future', envelope('req', 'session.hello', {
        'versions': ['3.0', '3.1', '4.0'], 'suites': ['NEW', 'NONE'], 'nonce_c': BYTES32, 'eph_c': {'X25519': BYTES32}, 'channels': ['tls-exporter'],
        'proofs': ['new', 'hmac'], 'client': {'name': '', 'version': ''}, 'want_mode': 'basic', 'new': 1}, aud='*', v='4.0')),
    ('welcome', 'with records', envelope('res', 'session.hello', WELCOME, aud='')),
    ('welcome', 'without records', envelope('res', 'session.hello', {
        **WELCOME, 'mode': 'basic', 'suite': 'NONE', 'channel': 'tls-exporter', 'auth': ['jwt']}, aud='')),
    ('welcome', 'without a shared secret', envelope('res', 'session.hello', {
        **WELCOME, 'mode': 'enterprise', 'suite': 'NONE', 'auth': ['oauth2'], 'proof': {'kind': 'none'}}, aud='')),
    ('welcome', 'by a key, with records', envelope('res', 'session.hello', {**WELCOME, 'node_key': JWK, 'proof': KEY_PROOF}, aud='')),
    ('welcome', 'by a key, without records', envelope('res', 'session.hello', {
        **WELCOME, 'mode': 'basic', 'suite': 'NONE', 'channel': 'tls-exporter', 'auth': ['jwt'], 'node_key': JWK, 'proof': KEY_PROOF}, aud='')),
    ('auth', 'API key', envelope('req', 'session.auth', {'method': 'api_key', 'credential': BYTES32, 'confirm': BYTES32})),
    ('auth', 'token', envelope('req', 'session.auth', {'method': 'jwt', 'credential': TOKEN, 'confirm': BYTES32}, sig=SIG)),
    ('auth', 'bound token', envelope('req', 'session.auth', {'method': 'jwt', 'credential': TOKEN, 'holder': HOLDER, 'confirm': BYTES32}, sig=SIG)),
    ('auth', 'a session that is followed', envelope('req', 'session.auth', {'method': 'session', 'credential': TOKEN, 'holder': HOLDER, 'session_key': JWK,
                                                                            'confirm': BYTES32})),
    ('auth', 'certificate', envelope('req', 'session.auth', {'method': 'mtls', 'credential': '', 'confirm': BYTES32})),
    ('auth', 'node', envelope('req', 'session.auth', {'method': 'node', 'credential': TOKEN, 'confirm': BYTES32})),
    ('ready', '', envelope('res', 'session.auth', READY, aud='')),
    ('ready', 'no scopes', envelope('res', 'session.auth', {**READY, 'scopes': []}, aud='')),
    ('admin.session.list', 'request', envelope('req', 'admin.session.list', {})),
    ('admin.session.list', 'answer', envelope('res', 'admin.session.list', {'sessions': [
        {'session_id': SESSION, 'principal': {'sub': 'alice', 'iss': 'node-b'}, 'method': 'jwt', 'peer': '127.0.0.1', 'since': 1795251600123, 'jti': REQUEST}]})),
    ('admin.session.close', 'one session', envelope('req', 'admin.session.close', {'session_id': SESSION})),
    ('admin.session.close', 'all of a subject', envelope('req', 'admin.session.close', {'sub': 'alice'})),
    ('admin.session.close', 'answer', envelope('res', 'admin.session.close', {'closed': 2})),
    ('admin.consent.list', 'request', envelope('req', 'admin.consent.list', {})),
    ('admin.consent.list', 'answer', envelope('res', 'admin.consent.list', {'consents': [
        {'id': 1, 'principal': {'sub': 'alice', 'iss': 'node-b'}, 'tool': 'files.write', 'scope': 'session', 'session_id': SESSION, 'by': 'operator', 'until': 1795251600123},
        {'id': 2, 'principal': {'sub': 'alice', 'iss': 'node-b'}, 'tool': 'files.write', 'scope': 'args_hash', 'by': 'operator', 'until': 1795251600123}]})),
    ('admin.consent.revoke', 'one approval', envelope('req', 'admin.consent.revoke', {'id': 1})),
    ('admin.consent.revoke', 'all of a subject', envelope('req', 'admin.consent.revoke', {'sub': 'alice'})),
    ('admin.consent.revoke', 'answer', envelope('res', 'admin.consent.revoke', {'revoked': 2})),
    ('err', 'plain', envelope('err', 'tool.invoke', {'code': 'E_TOOL', 'num': 4041, 'msg': 'no such tool'})),
    ('err', 'with data', envelope('err', 'cap.list', {'code': 'E_SCOPE', 'num': 4031, 'msg': 'no', 'data': {'scope': 'cap:list'}})),
    ('err', 'come again', envelope('err', 'tool.invoke', {'code': 'E_RATE', 'num': 4290, 'msg': 'later', 'retry_ms': 20})),
    ('err', 'no version in common', envelope('err', 'session.hello', {'code': 'E_VERSION', 'num': 4026, 'msg': 'none', 'data': {'versions': ['3.0']}}, aud='')),
    ('err', 'of an unknown request', envelope('err', 'session.error', {'code': 'E_PARSE', 'num': 4000, 'msg': 'not JSON'}, id=UNKNOWN)),
    ('cap.list', 'the first page', envelope('req', 'cap.list', {})),
    ('cap.list', 'a later page', envelope('req', 'cap.list', {'cursor': '100', 'filter': 'sql.', 'limit': 1000})),
    ('cap.list', 'answer', envelope('res', 'cap.list', {'capabilities': [CAPABILITY], 'etag': 'x', 'next': '1'})),
    ('cap.list', 'nothing', envelope('res', 'cap.list', {'capabilities': [], 'etag': 'x'})),
    ('cap.list', 'unchanged', envelope('res', 'cap.list', {'etag': 'x', 'unchanged': True})),
    ('cap.get', 'request', envelope('req', 'cap.get', {'tool': 'sql.query'})),
    ('cap.get', 'answer', envelope('res', 'cap.get', {'capability': CAPABILITY})),
    ('tool.invoke', 'request', envelope('req', 'tool.invoke', {'tool': 'sql.query', 'args': {'sql': 'SELECT 1'}, 'dry_run': False, 'stream': True})),
    ('tool.invoke', 'a request with a key', envelope('req', 'tool.invoke', {'tool': 'sql.query', 'args': {}, 'idem': 'pay-2026-0042', 'dry_run': False})),
    ('tool.invoke', 'the answer of an earlier call', envelope('res', 'tool.invoke', {**ANSWER, 'content': [], 'repeats': SESSION})),
    ('tool.invoke', 'text', envelope('res', 'tool.invoke', {**ANSWER, 'content': [{'type': 'text', 'media_type': 'text/plain', 'text': '42'}]})),
    ('tool.invoke', 'bytes', envelope('res', 'tool.invoke', {**ANSWER, 'content': [{'type': 'data', 'media_type': 'image/png', 'data': 'AAAA'}]})),
    ('tool.invoke', 'streamed', envelope('res', 'tool.invoke', {**ANSWER, 'content': [{'type': 'data', 'media_type': 'image/png', 'bytes': 99999, 'streamed': True}]})),
    ('tool.invoke', 'structured', envelope('res', 'tool.invoke', {**ANSWER, 'content': [], 'structured': None})),
    ('tool.outcome', 'request', envelope('req', 'tool.outcome', {'id': REQUEST})),
    ('tool.outcome', 'never', envelope('res', 'tool.outcome', {'state': 'never', 'since': 0})),
    ('tool.outcome', 'running', envelope('res', 'tool.outcome', {'state': 'running', 'since': 0, 'tool': 'sql.query', 'began': 1795251600123})),
    ('tool.outcome', 'finished', envelope('res', 'tool.outcome', {
        'state': 'finished', 'since': 0, 'tool': 'sql.query', 'began': 1795251600123, 'status': 'ok', 'audit': {'seq': 7, 'hash': 'a' * 64},
        'answer': {**ANSWER, 'content': []}})),
    ('tool.outcome', 'without an answer', envelope('res', 'tool.outcome', {
        'state': 'finished', 'since': 0, 'tool': 'sql.query', 'began': 1795251600123, 'status': 'E_UPSTREAM'})),
    ('flow.run', 'a new run', envelope('req', 'flow.run', {'run': REQUEST, 'workflow': WORKFLOW, 'input': {'n': 1}})),
    ('flow.run', 'a run that is there', envelope('req', 'flow.run', {'run': REQUEST})),
    ('flow.run', 'answer', envelope('res', 'flow.run', RUN)),
    ('flow.get', 'request', envelope('req', 'flow.get', {'run': REQUEST})),
    ('flow.get', 'answer', envelope('res', 'flow.get', {**RUN, 'driven': False})),
    ('flow.cancel', 'request', envelope('req', 'flow.cancel', {'run': REQUEST})),
    ('flow.cancel', 'answer', envelope('res', 'flow.cancel', {**RUN, 'state': 'cancelled'})),
    ('fed.forward', 'request', envelope('req', 'fed.forward', {'tool': 'sql.query', 'args': {'sql': 'SELECT 1'}, 'proofs': [TOKEN, TOKEN]})),
    ('fed.forward', 'answer', envelope('res', 'fed.forward', {**ANSWER, 'content': [{'type': 'text', 'media_type': 'text/plain', 'text': '42'}]})),
    ('fed.caps', 'request', envelope('req', 'fed.caps', {'limit': 200, 'etag': 'x'})),
    ('fed.caps', 'answer', envelope('res', 'fed.caps', {'capabilities': [CAPABILITY], 'etag': 'x', 'proof': TOKEN})),
    ('fed.caps', 'unchanged', envelope('res', 'fed.caps', {'etag': 'x', 'unchanged': True, 'proof': TOKEN})),
    ('tool.progress', 'all members', envelope('evt', 'tool.progress', {'done': 0.5, 'total': 2, 'note': 'half'}, seq=0)),
    ('tool.progress', 'the least', envelope('evt', 'tool.progress', {'done': 1}, seq=1)),
    ('tool.chunk', '', envelope('evt', 'tool.chunk', {'index': 0, 'data': 'AAAA'}, seq=2)),
    ('capability', 'local', CAPABILITY),
    ('capability', 'bridged', {**CAPABILITY, 'origin': {'kind': 'bridge', 'server': 'weather', 'tool': 'Forecast', 'h': 'sha256:' + '0' * 64}, 'outputSchema': {'type': 'object'}}),
    ('capability', 'of a peer', {**CAPABILITY, 'origin': {'kind': 'peer', 'node': 'node-b/node-c', 'tool': 'node-c.sql_query', 'h': 'sha256:' + '0' * 64}}),
    ('capability', 'without a title', {name: CAPABILITY[name] for name in CAPABILITY if name != 'title'}),
]
