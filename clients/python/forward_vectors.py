"""Proofs of forwarded calls for the vectors: good ones, and the attacks on them. Section 18 of docs/wire-3.0.md.
`forward_vectors.py FOLDER` writes them; they are for nodes, which no client is."""
import hashlib
import json
import pathlib
import sys

from cryptography.hazmat.primitives.asymmetric import ed25519
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from scp import keys
from scp.canonical import canonical

NOW = 1_795_251_600
SECRET, SALT = b'a-shared-secret-of-good-length-42', b'a-salt-of-16-and-more'
REQUEST, SESSION, FIRST, SECOND = (f'01JD000000000000000000000{one}' for one in '1234')
ARGS = {'sql': 'SELECT 42', 'limit': 1e2}
NODES = 'node-a', 'node-b', 'node-c'


def key_of(node):
    return ed25519.Ed25519PrivateKey.from_private_bytes(hashlib.sha256(node.encode()).digest())


def public_of(node):
    return key_of(node).public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


def jws(kid, typ, alg, sign, claims):
    head = keys.b64(json.dumps({'alg': alg, 'typ': typ, 'kid': kid}, separators=(',', ':')).encode())
    body = f'{head}.{keys.b64(json.dumps(claims, separators=(",", ":")).encode())}'
    return f'{body}.{keys.b64(sign(body.encode()))}'


def by_key(node, claims, typ='scp-fwd+jws', key=None):
    return jws(node, typ, 'EdDSA', key_of(key or node).sign, claims)


def by_secret(node, to, claims):
    info = b'scp3 forward' + keys.with_length(node.encode()) + keys.with_length(to.encode())
    return jws(node, 'scp-fwd+jws', 'HS256', lambda data: keys.hmac(keys.hkdf(SECRET, SALT, info, 32), data), claims)


def step(node, to, known_as, /, **changes):
    """The claims of a first step of a call of alice; `changes` replace some, None takes one away."""
    claims = {'iss': node, 'aud': to, 'sub': 'alice', 'sub_iss': 'https://idp.example', 'jti': FIRST, 'iat': NOW, 'exp': NOW + 30, 'rid': REQUEST,
              'tool': known_as, 'args_h': 'sha256:' + hashlib.sha256(canonical(ARGS)).hexdigest(),
              'scope': f'tool:invoke:{changes.get("tool") or known_as}',
              'hop': 1, 'max_hop': 4, 'via': [], 'sid': SESSION, **changes}
    return {name: value for name, value in claims.items() if value is not None}


def forward_cases():
    """A case is what `node` sees of one fed.forward in the session of `from`: it knows the nodes of `known` by their public
    keys, or, where there is none, by the secret."""
    def case(name, answer, proofs, node='node-b', sender='node-a', tool='sql.query', now=NOW, known=None, args=ARGS):
        row = {'name': name, 'node': node, 'from': sender, 'session': SESSION, 'tool': tool, 'args': args, 'now': now, 'max_hops': 4,
               'secret': SECRET.hex(), 'salt': SALT.hex(),
               'known': known or {other: public_of(other).hex() for other in NODES if other != node}, 'proofs': proofs}
        return {**row, 'answer': answer}

    def one(name, answer, **changes):
        return case(name, answer, [by_key('node-a', step('node-a', 'node-b', 'sql.query', **changes))])

    yield {**one('a first step', 'ok'), 'way': ['node-a']}
    yield {**case('a first step by the secret', 'ok', [by_secret('node-a', 'node-b', step('node-a', 'node-b', 'sql.query'))], known={'node-a': ''}),
           'way': ['node-a']}
    yield case('by the secret, of a node with a key', 'E_SIG', [by_secret('node-a', 'node-b', step('node-a', 'node-b', 'sql.query'))])
    yield case('by the secret towards another node', 'E_SIG', [by_secret('node-a', 'node-c', step('node-a', 'node-b', 'sql.query'))], known={'node-a': ''})
    yield case('by the secret the other way', 'E_SIG', [jws('node-a', 'scp-fwd+jws', 'HS256', lambda data: keys.hmac(keys.hkdf(
        SECRET, SALT, b'scp3 forward' + keys.with_length(b'node-b') + keys.with_length(b'node-a'), 32), data), step('node-a', 'node-b', 'sql.query'))],
        known={'node-a': ''})
    yield case('by the key of another', 'E_SIG', [by_key('node-a', step('node-a', 'node-b', 'sql.query'), key='node-c')])
    yield case('under the name of another', 'E_SIG', [by_key('node-c', step('node-a', 'node-b', 'sql.query'), key='node-a')])
    yield case('of another type', 'E_SIG', [by_key('node-a', step('node-a', 'node-b', 'sql.query'), typ='scp-peer+jws')])
    yield case('of nobody we know', 'E_AUTH', [by_key('node-x', step('node-x', 'node-b', 'sql.query'))], sender='node-x')
    yield case('a token without a signature', 'E_SIG', [jws('node-a', 'scp-fwd+jws', 'none', lambda data: b'', step('node-a', 'node-b', 'sql.query'))])
    yield case('no proof', 'E_SHAPE', [])
    yield one('for another node', 'E_REPLAY', aud='node-c')
    yield one('by another node', 'E_REPLAY', iss='node-c')
    yield one('for another session', 'E_REPLAY', sid=REQUEST)
    yield one('for another tool', 'E_SIG', tool='sql.load')
    yield one('for other arguments', 'E_SIG', args_h='sha256:' + '0' * 64)
    yield case('arguments written in another way', 'ok', [by_key('node-a', step('node-a', 'node-b', 'sql.query'))], args={'limit': 100, 'sql': 'SELECT 42'})
    for name, seconds, answer in (('at the end of its time', 34, 'ok'), ('after it', 36, 'E_STALE'), ('a little before its time', -5, 'ok'),
                                  ('before it', -6, 'E_STALE')):
        yield case(name, answer, [by_key('node-a', step('node-a', 'node-b', 'sql.query'))], now=NOW + seconds)
    yield one('that lives too long', 'E_STALE', exp=NOW + 31)
    for scope in ('tool:invoke:sql.*', 'tool:invoke:sql.query cap:list', '', 'tool:describe:sql.query'):
        yield one(f'with the scope "{scope}"', 'E_SCOPE', scope=scope)
    for name in ('sub', 'sub_iss', 'jti', 'iat', 'rid', 'tool', 'args_h', 'hop', 'max_hop', 'via', 'sid'):
        yield one(f'without {name}', 'E_SIG', **{name: None})
    yield one('with a hop of 0', 'E_SIG', hop=0)
    yield one('with nine hops', 'E_SIG', max_hop=9)
    yield one('with a way as a text', 'E_SIG', via='node-c')
    yield one('with prev at the first step', 'E_SIG', prev=keys.b64(b'\0' * 32))

    narrow = [[{'sql': {'tables': ['sales']}}, {'sql': {'tables': ['stores']}}], [{'sql': {'pattern': 'SELECT .*'}}]]
    yield one('narrowed to some arguments', 'ok', details=narrow)
    for number, wrong in enumerate(([[]], {}, [7], [[{'sql': {'inside': 'a'}}]], [[{'sql': {'tables': None}}]], narrow * 9)):
        yield one(f'narrowed in a way that nobody understands, {number}', 'E_SIG', details=wrong)

    yield {**one('a dry run', 'ok', dry=True), 'dry_run': True}
    yield one('a dry run that is done', 'E_SIG', dry=True)
    yield {**one('a call that is said to be a dry run', 'E_SIG'), 'dry_run': True}
    for number, wrong in enumerate((False, 1, 'true')):
        yield one(f'with a dry that is none, {number}', 'E_SIG', dry=wrong)

    def two(name, answer, first=None, second=None, first_key='node-a', **more):
        before = by_key('node-a', step('node-a', 'node-b', 'node-c.sql_query', **(first or {})), key=first_key)
        claims = {'jti': SECOND, 'hop': 2, 'via': ['node-a'], 'prev': keys.b64(keys.sha256(before.encode())), **(second or {})}
        last = by_key('node-b', step('node-b', 'node-c', 'sql.query', **claims))
        return case(name, answer, [before, last], node='node-c', sender='node-b', **more)

    yield {**two('two steps', 'ok'), 'way': ['node-a', 'node-b']}
    yield two('two steps, the first by another key', 'E_SIG', first_key='node-c')
    yield two('two steps, the first for another node', 'E_REPLAY', first={'aud': 'node-c'})
    yield two('two steps, of a first that asked for another tool', 'E_SCOPE', first={'tool': 'node-c.sql_load'})
    yield two('two steps, of a first with a wider scope', 'E_SCOPE', first={'scope': 'tool:invoke:node-c.*'})
    yield two('two steps, and another caller', 'E_SIG', second={'sub': 'root'})
    yield two('two steps, and another issuer', 'E_SIG', second={'sub_iss': 'node-c'})
    yield two('two steps, and another request', 'E_SIG', second={'rid': SESSION})
    yield two('two steps, and other arguments before', 'E_SIG', first={'args_h': 'sha256:' + '0' * 64})
    yield two('two steps, and another proof before', 'E_SIG', second={'prev': keys.b64(b'\0' * 32)})
    yield two('two steps, and more hops', 'E_LIMIT', first={'max_hop': 2}, second={'max_hop': 3})
    yield two('two steps, where one is allowed', 'E_LIMIT', first={'max_hop': 1}, second={'max_hop': 1})
    yield two('two steps, narrowed at the first and at the second', 'ok', first={'details': narrow[:1]}, second={'details': narrow})
    for number, wider in enumerate((None, narrow[1:], [narrow[0][:1]], [narrow[0] + [{}]])):
        yield two(f'two steps, and wider at the second, {number}', 'E_SCOPE', first={'details': narrow[:1]}, second={'details': wider})
    yield {**two('two steps of a dry run', 'ok', first={'dry': True}, second={'dry': True}), 'dry_run': True}
    yield two('two steps, and what was a dry run is done', 'E_SIG', first={'dry': True})
    yield {**two('two steps, and what was no dry run is one', 'E_SIG', second={'dry': True}), 'dry_run': True}
    yield two('two steps, by way of ourselves', 'E_POLICY', second={'via': ['node-c']})
    yield two('two steps, by one node twice', 'E_POLICY', second={'via': ['node-b']})
    yield two('two steps, the first by nobody we know', 'E_AUTH', known={'node-b': public_of('node-b').hex()})
    yield two('two steps, the first an hour before', 'ok', first={'iat': NOW - 3600, 'exp': NOW - 3570})
    yield two('two steps, the first longer ago', 'E_STALE', first={'iat': NOW - 3700, 'exp': NOW - 3670})
    yield two('two steps, the first after the second', 'E_SIG', first={'iat': NOW + 20, 'exp': NOW + 50})
    good = two('', 'ok')['proofs']
    yield case('a way that was cut off', 'E_SIG', good[1:], node='node-c', sender='node-b')
    yield case('a way with a step twice', 'E_SIG', [good[0], *good], node='node-c', sender='node-b')
    yield case('five steps', 'E_LIMIT', [good[0]] * 4 + good[1:], node='node-c', sender='node-b')


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    cases = list(forward_cases())
    assert len({case['name'] for case in cases}) == len(cases)
    text = json.dumps({'about': 'proofs of forwarded calls', 'section': '18', 'cases': cases}, indent=1, ensure_ascii=True)
    (folder / 'forward_proofs.json').write_text(text + '\n')
    print(f'{len(cases)} cases')


if __name__ == '__main__':
    main(pathlib.Path(sys.argv[1]))
