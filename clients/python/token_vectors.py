"""Tokens for the vectors: good ones, and the attacks on them."""

import json

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from scp import keys

NOW = 1_795_251_600
SECRET, SALT = 'v7Qm2zKd91xWbTyR4pLeNcUhGf83JsAo', 'k3Vb8nQw5tYz1LpR'
RULES = {'issuer': 'node-b', 'audience': 'cluster-1', 'now': NOW, 'leeway': 30}
CLAIMS = {'iss': 'node-b', 'aud': 'cluster-1', 'sub': 'alice', 'iat': NOW - 10, 'nbf': NOW - 10, 'exp': NOW + 600,
          'jti': '01J0000000000000000000TOK1', 'scope': 'cap:list tool:invoke:sql.query'}


def compact(header, claims, sign):
    body = keys.b64(json.dumps(header).encode()) + '.' + keys.b64(claims if isinstance(claims, bytes) else json.dumps(claims).encode())
    return body + '.' + keys.b64(sign(body.encode()))


def rsa_key(folder):
    file = folder / 'token_key.pem'
    if not file.exists():
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        file.write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
    return serialization.load_pem_private_key(file.read_bytes(), None)


def token_cases(folder):
    private = rsa_key(folder)
    public = private.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    hmac_key = keys.hkdf(SECRET.encode(), SALT.encode(), b'scp3 client jwt', 32)
    session_key = keys.hkdf(SECRET.encode(), SALT.encode(), b'scp3 session jwt', 32)

    def hs(key):
        return lambda data: keys.hmac(key, data)

    def rs(data):
        return private.sign(data, padding.PKCS1v15(), hashes.SHA256())

    def case(name, token, answer, alg='HS256'):
        return {'name': name, 'alg': alg, 'typ': 'scp-client+jwt', 'jwt_secret': SECRET, 'kdf_salt': SALT,
                'public_key_pem': public.decode(), **RULES, 'token': token, 'answer': answer}

    header = {'alg': 'HS256', 'typ': 'scp-client+jwt'}
    good = compact(header, CLAIMS, hs(hmac_key))
    yield case('HS256', good, 'ok')
    yield case('RS256', compact({**header, 'alg': 'RS256'}, CLAIMS, rs), 'ok', 'RS256')
    yield case('with a kid', compact({**header, 'kid': 'k-1'}, CLAIMS, hs(hmac_key)), 'ok')

    changes = {
        'expired within the leeway': ({'iat': NOW - 99, 'nbf': NOW - 99, 'exp': NOW - 29}, 'ok'),
        'expired': ({'iat': NOW - 99, 'nbf': NOW - 99, 'exp': NOW - 31}, 'E_EXPIRED'),
        'not yet, within the leeway': ({'nbf': NOW + 29}, 'ok'), 'not yet': ({'nbf': NOW + 31}, 'E_AUTH'),
        'issued in the future': ({'iat': NOW + 31}, 'E_AUTH'), 'wrong audience': ({'aud': 'cluster-2'}, 'E_AUTH'),
        'audience in a list': ({'aud': ['x', 'cluster-1']}, 'ok'), 'audience not in the list': ({'aud': ['x']}, 'E_AUTH'),
        'wrong issuer': ({'iss': 'node-c'}, 'E_AUTH'), 'issuer with other case': ({'iss': 'NODE-B'}, 'E_AUTH'),
        'exp as a text': ({'exp': str(NOW + 600)}, 'E_AUTH'), 'exp as a fraction': ({'exp': NOW + 600.5}, 'E_AUTH'),
        'lives over a day': ({'exp': NOW + 86_500}, 'E_AUTH'), 'subject as a number': ({'sub': 7}, 'E_AUTH'),
    }
    for name, (change, answer) in changes.items():
        yield case(name, compact(header, {**CLAIMS, **change}, hs(hmac_key)), answer)
    for missing in ('exp', 'iat', 'aud', 'iss', 'sub', 'scope', 'nbf', 'jti'):
        claims = {name: value for name, value in CLAIMS.items() if name != missing}
        yield case(f'without {missing}', compact(header, claims, hs(hmac_key)), 'E_AUTH')

    headers = {
        'alg none': {'alg': 'none'}, 'alg None': {'alg': 'None'}, 'alg HS512': {'alg': 'HS512'}, 'no alg': {'alg': None},
        'other typ': {'typ': 'JWT'}, 'session typ': {'typ': 'scp-session+jwt'}, 'crit': {'crit': ['exp']}, 'jku': {'jku': 'https://example.org/k'},
        'x5u': {'x5u': 'https://example.org/c'}, 'jwk': {'jwk': {'kty': 'oct', 'k': 'AAAA'}}, 'x5c': {'x5c': ['AAAA']},
        'kid as a path': {'kid': '../../dev/null'}, 'kid with SQL': {'kid': "x' OR '1'='1"}, 'kid too long': {'kid': 'k' * 65},
    }
    for name, change in headers.items():
        yield case(name, compact({**header, **change}, CLAIMS, hs(hmac_key)), 'E_AUTH')

    pem = public
    yield case('public key as the HMAC secret', compact(header, CLAIMS, hs(pem)), 'E_AUTH', 'RS256')
    yield case('HS256 where RS256 is pinned', good, 'E_AUTH', 'RS256')
    yield case('RS256 where HS256 is pinned', compact({**header, 'alg': 'RS256'}, CLAIMS, rs), 'E_AUTH')
    yield case('key of the session token', compact(header, CLAIMS, hs(session_key)), 'E_AUTH')
    yield case('the secret itself as the key', compact(header, CLAIMS, hs(SECRET.encode())), 'E_AUTH')
    parts = good.split('.')
    yield case('no signature', parts[0] + '.' + parts[1] + '.', 'E_AUTH')
    yield case('two parts', parts[0] + '.' + parts[1], 'E_AUTH')
    yield case('four parts', good + '.AAAA', 'E_AUTH')
    yield case('padding', good + '=', 'E_AUTH')
    yield case('signature of other claims', compact(header, {**CLAIMS, 'sub': 'bob'}, hs(hmac_key)).rsplit('.', 1)[0] + '.' + parts[2], 'E_AUTH')
    yield case('claim twice', compact(header, json.dumps(CLAIMS)[:-1].encode() + b', "sub": "root"}', hs(hmac_key)), 'E_AUTH')
    yield case('claims not an object', compact(header, b'[]', hs(hmac_key)), 'E_AUTH')
    yield case('over 8 KiB', compact(header, {**CLAIMS, 'x': 'y' * 8192}, hs(hmac_key)), 'E_AUTH')
