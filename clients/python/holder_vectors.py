"""Proofs of possession for the vectors: good ones, and the attacks on them."""

from cryptography.hazmat.primitives.asymmetric import ed25519

from scp import holder, keys
from scp.canonical import canonical


def holder_cases(some):
    """`some` gives so many bytes, the same in each run. A case is what a server sees of one auth: `claims` are those of
    the token (whose own checks are in tokens.json), `certificate` the hash of the TLS client certificate, `th1` the
    connection's."""
    key, other = (ed25519.Ed25519PrivateKey.from_private_bytes(some(32)) for _ in range(2))
    # RFC 8037, appendix A.3.
    assert holder.thumbprint({'crv': 'Ed25519', 'kty': 'OKP', 'x': '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo'}) == \
        'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k'
    th1, certificate, token = some(32), keys.b64(some(32)), 'eyJh.eyJi.c2ln'
    jwk = holder.jwk_of(key.public_key())
    jkt, proof = holder.thumbprint(jwk), holder.prove(key, th1, token)
    bound = {'cnf': {'jkt': jkt}}

    def case(name, answer, claims=bound, shown=proof, **more):
        row = {'name': name, 'th1': th1.hex(), 'credential': token, 'claims': claims, 'required': False, **more}
        if shown is not None:
            row['holder'] = shown
        if answer == 'ok' and shown is not None:
            row['signed'] = holder.signed_text(th1, token).hex()
            row['thumbprint'] = jkt
        assert answered(row) == answer, name
        return {**row, 'answer': answer}

    yield case('bound, and proved', 'ok')
    yield case('bound, without a proof', 'E_AUTH', shown=None)
    yield case('bound, proved with another key', 'E_AUTH', shown=holder.prove(other, th1, token))
    yield case('another key under the name of the right one', 'E_AUTH', shown={**holder.prove(other, th1, token), 'jwk': jwk})
    yield case('proof of another connection', 'E_AUTH', shown=holder.prove(key, some(32), token))
    yield case('proof for another token', 'E_AUTH', shown=holder.prove(key, th1, token + 'x'))
    for name, text in {'without the context': th1 + keys.sha256(token.encode()), 'of th1 alone': th1,
                       'under another context': b'SCP3-PROOF\0' + th1 + keys.sha256(token.encode())}.items():
        yield case(f'signature {name}', 'E_AUTH', shown={**proof, 'v': keys.b64(key.sign(text))})
    last = keys.unb64(proof['v'])
    yield case('signature with a bit flipped', 'E_AUTH', shown={**proof, 'v': keys.b64(last[:-1] + bytes([last[-1] ^ 1]))})
    # RFC 8032, section 5.1.7: S must be below the order of the group, or each signature would have a second form.
    order = 2**252 + 27742317777372353535851937790883648493
    second = last[:32] + (int.from_bytes(last[32:], 'little') + order).to_bytes(32, 'little')
    yield case('signature in its second form', 'E_AUTH', shown={**proof, 'v': keys.b64(second)})

    yield case('not bound, without a proof', 'ok', claims={}, shown=None)
    yield case('not bound, with a proof', 'ok', claims={})
    yield case('not bound, with a proof that does not hold', 'E_AUTH', claims={}, shown=holder.prove(key, some(32), token))
    yield case('not bound, where it must be', 'E_AUTH', claims={}, required=True)
    yield case('bound, where it must be', 'ok', required=True)

    both = {'cnf': {'jkt': jkt, 'x5t#S256': certificate}}
    by_certificate = {'cnf': {'x5t#S256': certificate}}
    yield case('bound to a certificate that was shown', 'ok', by_certificate, None, certificate=certificate, required=True)
    yield case('bound to a certificate, and none was shown', 'E_AUTH', by_certificate, None)
    yield case('bound to a certificate, and a key was proved', 'E_AUTH', by_certificate)
    yield case('bound to another certificate', 'E_AUTH', by_certificate, None, certificate=keys.b64(some(32)))
    yield case('bound to both, and both are there', 'ok', both, certificate=certificate)
    yield case('bound to both, without the key', 'E_AUTH', both, None, certificate=certificate)
    yield case('bound to both, without the certificate', 'E_AUTH', both)
    yield case('a member of cnf beside it that nobody knows', 'ok', {'cnf': {'jkt': jkt, 'kid': 'x'}})

    bad = {'empty': {}, 'of unknown members': {'kid': 'x'}, 'as a text': jkt, 'as a list': [jkt], 'null': None, 'with a number': {'jkt': 1},
           'with an empty thumbprint': {'jkt': ''}, 'with a short one': {'jkt': jkt[:-1]}, 'with a padded one': {'jkt': jkt + '='},
           'in hexadecimal': {'jkt': keys.unb64(jkt).hex()}, 'with a certificate of no hash': {'jkt': jkt, 'x5t#S256': 7}}
    for name, cnf in bad.items():
        yield case(f'cnf {name}', 'E_AUTH', {'cnf': cnf}, certificate=certificate)
        yield case(f'cnf {name}, without a proof', 'E_AUTH', {'cnf': cnf}, None)

    shapes = {'as a text': 'x', 'as a list': [], 'empty': {}, 'without alg': without(proof, 'alg'), 'without jwk': without(proof, 'jwk'),
              'without v': without(proof, 'v'), 'with more': {**proof, 'kid': 'x'}, 'with alg ES256': {**proof, 'alg': 'ES256'},
              'with alg none': {**proof, 'alg': 'none'}, 'with alg EdDSA': {**proof, 'alg': 'EdDSA'}, 'with alg HS256': {**proof, 'alg': 'HS256'},
              'with alg 1': {**proof, 'alg': 1}, 'with a jwk as a text': {**proof, 'jwk': canonical(jwk).decode()},
              'with a private key': {**proof, 'jwk': {**jwk, 'd': jwk['x']}}, 'with a jwk of P-256': {**proof, 'jwk': {**jwk, 'kty': 'EC', 'crv': 'P-256'}},
              'with a jwk of Ed448': {**proof, 'jwk': {**jwk, 'crv': 'Ed448'}}, 'with a jwk of X25519': {**proof, 'jwk': {**jwk, 'crv': 'X25519'}},
              'with a secret as the key': {**proof, 'jwk': {'kty': 'oct', 'k': jwk['x']}}, 'with a short key': {**proof, 'jwk': {**jwk, 'x': jwk['x'][:-2]}},
              'with a padded key': {**proof, 'jwk': {**jwk, 'x': jwk['x'] + '='}}, 'with a short signature': {**proof, 'v': proof['v'][:-3]},
              'with a padded signature': {**proof, 'v': proof['v'] + '=='}, 'with a signature as a number': {**proof, 'v': 1}}
    for name, shown in shapes.items():
        yield case(f'holder {name}', 'E_SHAPE', shown=shown)


def without(proof, name):
    return {member: value for member, value in proof.items() if member != name}


def answered(row):
    """What a server answers to this row, by this client's own checks."""
    try:
        jkt = holder.check(row['holder'], bytes.fromhex(row['th1']), row['credential']) if 'holder' in row else None
        holder.check_binding(row['claims'], jkt=jkt, certificate=row.get('certificate'), required=row['required'])
    except ValueError as error:
        return str(error)
    return 'ok'
