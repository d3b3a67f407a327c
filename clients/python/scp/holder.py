"""The key that a client's tokens are bound to, and the proof that the client holds it. docs/wire-3.0.md, sections 4.11
and 6.6.

    client = Client(url, 'basic', token=token, holder_key='agent.key', ...)     # securetool keygen ed25519 --out agent
"""

import os
import stat

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519

from .canonical import canonical
from .keys import b64, equal, sha256, unb64

CONTEXT = b'SCP3-HOLDER\0'


def load_key(file):
    """Errors: ValueError  no Ed25519 private key in PEM, or a file that others can read or change; OSError."""
    with open(file, 'rb') as opened:
        facts = os.fstat(opened.fileno())
        if facts.st_mode & (stat.S_IRWXO | stat.S_IWGRP):
            raise ValueError(f'{file}: must not be open to others, nor to be written by a group (mode 0600 or 0640)')
        if facts.st_uid not in (os.geteuid(), 0):
            raise ValueError(f'{file}: must be a file of this user or of root')
        key = serialization.load_pem_private_key(opened.read(), None)
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise ValueError(f'{file}: must be an Ed25519 private key')
    return key


def make_key():
    return ed25519.Ed25519PrivateKey.generate()


def jwk_of(public_key):
    raw = public_key.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    return {'crv': 'Ed25519', 'kty': 'OKP', 'x': b64(raw)}


def key_of(jwk):
    """Errors: ValueError  E_SHAPE  no JWK of an Ed25519 public key, or one with more in it."""
    if not isinstance(jwk, dict) or set(jwk) != {'crv', 'kty', 'x'} or (jwk['kty'], jwk['crv']) != ('OKP', 'Ed25519'):
        raise ValueError('E_SHAPE')
    try:
        x = unb64(jwk['x'])
    except (TypeError, ValueError):
        raise ValueError('E_SHAPE') from None
    if len(x) != 32:
        raise ValueError('E_SHAPE')
    return ed25519.Ed25519PublicKey.from_public_bytes(x)


def thumbprint(jwk):
    """RFC 7638; what `cnf.jkt` of a token is."""
    return b64(sha256(canonical(jwk)))


def signed_text(th1, credential):
    return CONTEXT + th1 + sha256(credential.encode())


def prove(key, th1, credential):
    """The member `holder` of auth and refresh."""
    return {'alg': 'Ed25519', 'jwk': jwk_of(key.public_key()), 'v': b64(key.sign(signed_text(th1, credential)))}


def check(holder, th1, credential):
    """The thumbprint of the key whose holder made this proof here. Errors: ValueError  E_SHAPE or E_AUTH, as a server
    answers."""
    if not isinstance(holder, dict) or set(holder) != {'alg', 'jwk', 'v'} or holder['alg'] != 'Ed25519':
        raise ValueError('E_SHAPE')
    jwk = holder['jwk']
    key = key_of(jwk)
    try:
        v = unb64(holder['v'])
    except (TypeError, ValueError):
        raise ValueError('E_SHAPE') from None
    if len(v) != 64:
        raise ValueError('E_SHAPE')
    try:
        key.verify(v, signed_text(th1, credential))
    except InvalidSignature:
        raise ValueError('E_AUTH') from None
    return thumbprint(jwk)


def check_binding(claims, *, jkt=None, certificate=None, required=False):
    """Whether a token with `claims` may be taken from one who proved to hold the key `jkt` and showed the TLS client
    certificate of this hash. Errors: ValueError  E_AUTH."""
    if 'cnf' not in claims:
        if required:
            raise ValueError('E_AUTH')
        return
    cnf, shown = claims['cnf'], {'jkt': jkt, 'x5t#S256': certificate}
    wanted = [name for name in shown if name in cnf] if isinstance(cnf, dict) else []
    if not wanted:
        raise ValueError('E_AUTH')
    for name in wanted:
        if not isinstance(cnf[name], str) or len(cnf[name]) != 43 or not equal(cnf[name].encode(), (shown[name] or '').encode()):
            raise ValueError('E_AUTH')
