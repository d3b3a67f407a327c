"""Proofs of servers for the vectors: what a client takes, what a server chooses, and the attacks between them."""

import random

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519

from scp import holder, keys, node_key
from scp.canonical import canonical

some = random.Random('proofs of servers').randbytes
SECRET, BEFORE, OTHER, SALT = 'the secret of the group', 'the secret before', 'another secret', 'a salt of it'


def proof_cases():
    yield from client_cases()
    yield from server_cases()
    yield whole_case()


def client_cases():
    """What a client that knows `pins` or `secrets` answers to `welcome`, whose other members make `th1`."""
    key, second, member = (ed25519.Ed25519PrivateKey.from_private_bytes(some(32)) for _ in range(3))
    jwk, jwk2, jwk3 = (holder.jwk_of(one.public_key()) for one in (key, second, member))
    pin, pin2 = holder.thumbprint(jwk), holder.thumbprint(jwk2)
    th1 = some(32)

    def by_key(signer=key, shown=jwk, text=None):
        signed = node_key.signed_text(th1) if text is None else text
        return {'node_key': shown, 'proof': {'kind': 'ed25519', 'v': keys.b64(signer.sign(signed))}}

    def by_secret(secret=SECRET):
        return {'proof': {'kind': 'hmac', 'v': keys.b64(keys.proof(keys.make_psk(secret.encode(), SALT.encode()), th1))}}

    def case(name, answer, welcome, pins=(pin,), secrets=(), mode='basic', **more):
        row = {'name': name, 'side': 'client', 'mode': mode, 'th1': th1.hex(), 'welcome': welcome, 'pins': list(pins),
               'secrets': list(secrets), 'kdf_salt': SALT, **more}
        found, psk = answered(row)
        assert found == answer, (name, found)
        return {**row, 'answer': answer, **({'psk': psk.hex()} if answer == 'ok' else {})}

    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()).decode()
    yield case('the key that is pinned', 'ok', by_key(), private_key_pem=pem)
    yield case('one of two that are pinned, while it is changed', 'ok', by_key(second, jwk2), [pin, pin2])
    yield case('the pinned key, by a client that has the secret too', 'ok', by_key(), secrets=[SECRET])
    yield case('another key', 'E_SIG', by_key(second, jwk2))
    yield case('a member of the group, by its own key', 'E_SIG', by_key(member, jwk3), secrets=[SECRET])
    yield case('a member of the group, under the pinned key\'s name', 'E_SIG', by_key(member, jwk), secrets=[SECRET])
    yield case('a member of the group, by the secret', 'E_SIG', by_secret(), secrets=[SECRET])
    yield case('the secret, with the pinned key beside it', 'E_SIG', {**by_secret(), 'node_key': jwk}, secrets=[SECRET])
    yield case('no proof, where a key is pinned', 'E_SIG', {'proof': {'kind': 'none'}}, mode='enterprise')
    yield case('a key without its name', 'E_SIG', {'proof': by_key()['proof']})
    for name, text in {'of another connection': node_key.signed_text(some(32)), 'without the context': th1, 'of nothing': b'',
                       'under the context of holders': holder.CONTEXT + th1 + keys.sha256(b''),
                       'under the context of the secret\'s proof': b'SCP3-PROOF\0' + th1}.items():
        yield case(f'a signature {name}', 'E_SIG', by_key(text=text))
    value = keys.unb64(by_key()['proof']['v'])
    yield case('a signature with a bit flipped', 'E_SIG', {'node_key': jwk, 'proof': {'kind': 'ed25519', 'v': keys.b64(value[:-1] + bytes([value[-1] ^ 1]))}})
    order = 2**252 + 27742317777372353535851937790883648493  # RFC 8032, section 5.1.7: S must be below it
    again = value[:32] + (int.from_bytes(value[32:], 'little') + order).to_bytes(32, 'little')
    yield case('a signature in its second form', 'E_SIG', {'node_key': jwk, 'proof': {'kind': 'ed25519', 'v': keys.b64(again)}})
    for name, point in {'all zeros': bytes(32), 'the neutral point': b'\1' + bytes(31)}.items():
        weak = {'crv': 'Ed25519', 'kty': 'OKP', 'x': keys.b64(point)}
        yield case(f'a key of small order, {name}', 'E_SIG', {'node_key': weak, 'proof': {'kind': 'ed25519', 'v': keys.b64(point + bytes(32))}})

    yield case('the secret', 'ok', by_secret(), [], [SECRET])
    yield case('the one before it', 'ok', by_secret(BEFORE), [], [SECRET, BEFORE])
    yield case('the one before it, which was not given', 'E_SIG', by_secret(BEFORE), [], [SECRET])
    yield case('another secret', 'E_SIG', by_secret(OTHER), [], [SECRET, BEFORE])
    yield case('zeros, which everybody has', 'E_SIG', {'proof': {'kind': 'hmac', 'v': keys.b64(keys.proof(bytes(32), th1))}}, [], [SECRET])
    yield case('a key that this client does not know', 'E_SIG', by_key(), [], [SECRET])
    yield case('no proof, where a secret is known', 'E_SIG', {'proof': {'kind': 'none'}}, [], [SECRET], mode='enterprise')
    yield case('no proof in mode enterprise', 'ok', {'proof': {'kind': 'none'}}, [], [], mode='enterprise')
    yield case('no proof in another mode', 'E_SIG', {'proof': {'kind': 'none'}}, [], [], mode='basic')
    yield case('a proof by a secret that this client has not', 'E_SIG', by_secret(), [], [], mode='enterprise')

    whole = by_key()
    shapes = {'without a proof': {'node_key': jwk}, 'with a proof as a text': {**whole, 'proof': 'x'}, 'with an empty one': {**whole, 'proof': {}},
              'of an unknown kind': {**whole, 'proof': {**whole['proof'], 'kind': 'ps256'}}, 'of kind 1': {**whole, 'proof': {**whole['proof'], 'kind': 1}},
              'without a value': {**whole, 'proof': {'kind': 'ed25519'}}, 'with a short value': {**whole, 'proof': {'kind': 'ed25519', 'v': whole['proof']['v'][:-2]}},
              'with the value of a MAC': {**whole, 'proof': {'kind': 'ed25519', 'v': by_secret()['proof']['v']}},
              'with a padded value': {**whole, 'proof': {'kind': 'ed25519', 'v': whole['proof']['v'] + '=='}},
              'with a MAC as long as a signature': {'proof': {'kind': 'hmac', 'v': whole['proof']['v']}},
              'with a key as a text': {**whole, 'node_key': pin}, 'with an empty key': {**whole, 'node_key': {}},
              'with a key of P-256': {**whole, 'node_key': {**jwk, 'kty': 'EC', 'crv': 'P-256'}}, 'with a key of X25519': {**whole, 'node_key': {**jwk, 'crv': 'X25519'}},
              'with a short key': {**whole, 'node_key': {**jwk, 'x': jwk['x'][:-2]}}, 'with more in the key': {**whole, 'node_key': {**jwk, 'alg': 'EdDSA'}}}
    for name, welcome in shapes.items():
        yield case(f'welcome {name}', 'E_SHAPE', welcome, secrets=[SECRET])


def server_cases():
    """What a server with these means chooses of `proofs`; nothing is E_SHAPE."""
    for has_key in (True, False):
        for has_secret in (True, False):
            for mode in ('simple', 'enterprise'):
                for proofs in (['ed25519'], ['hmac'], ['none'], ['hmac', 'ed25519'], ['none', 'hmac', 'ed25519'], ['ps256', 'hmac'], ['ed25519 ', 'HMAC']):
                    means = f'{"a key" if has_key else "no key"}, {"a secret" if has_secret else "no secret"}'
                    yield {'name': f'{mode} with {means}: {proofs}', 'side': 'server', 'mode': mode, 'node_key': has_key, 'secret': has_secret,
                           'proofs': proofs, 'kind': node_key.choose(proofs, mode, has_key, has_secret)}


def whole_case():
    """A hello and its welcome: the key is part of what th1 covers, the proof is not."""
    private = ed25519.Ed25519PrivateKey.from_private_bytes(some(32))
    jwk = holder.jwk_of(private.public_key())
    share = keys.b64(some(32))
    envelope = {'v': '3.0', 'id': f'01J{"0" * 23}', 'op': 'session.hello', 'ts': 1795251600000, 'n': keys.b64(some(16))}
    hello = canonical({**envelope, 't': 'req', 'aud': '*', 'p': {
        'versions': ['3.0'], 'suites': ['NONE'], 'nonce_c': keys.b64(some(32)), 'eph_c': {'X25519': share}, 'channels': ['none'],
        'proofs': ['ed25519'], 'client': {'name': 'c', 'version': '1'}, 'want_mode': 'simple'}})
    bare = {**envelope, 't': 'res', 'aud': '', 'p': {
        'version': '3.0', 'mode': 'simple', 'suite': 'NONE', 'nonce_s': keys.b64(some(32)), 'eph_s': share, 'node_id': 'gateway',
        'cluster': 'default', 'auth': ['api_key'], 'channel': 'none', 'node_key': jwk,
        'limits': {'message_bytes': 1048576, 'in_flight': 64, 'deadline_ms': 30000, 'idle_ms': 300000}}}
    th1 = keys.th1(hello, canonical(bare), b'')
    proof = {'kind': 'ed25519', 'v': keys.b64(private.sign(node_key.signed_text(th1)))}
    welcome = canonical({**bare, 'p': {**bare['p'], 'proof': proof}})
    return {'name': 'a hello and its welcome', 'side': 'transcript', 'hello': hello.decode(), 'welcome': welcome.decode(), 'th1': th1.hex(),
            'pins': [holder.thumbprint(jwk)]}


def answered(row):
    psks = [keys.make_psk(one.encode(), row['kdf_salt'].encode()) for one in row['secrets']]
    try:
        return 'ok', node_key.check(row['welcome'], bytes.fromhex(row['th1']), row['pins'], psks, row['mode'])
    except ValueError as error:
        return str(error), None
