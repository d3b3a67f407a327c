"""How a server proves itself, before a client shows it anything. docs/wire-3.0.md, sections 4.6 and 4.7.

    client = Client(url, 'encrypted', api_key=key, server_key='gateway.pub')     # securetool keygen ed25519 --out gateway
"""

import re

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519

from . import holder, keys

CONTEXT = b'SCP3-NODE\0'
KINDS = {'ed25519': 64, 'hmac': 32, 'none': 0}  # the best first, and the bytes of each


def pins(given):
    """The thumbprints of `given`: one or several, each a thumbprint or a PEM file with the public key. Errors: ValueError."""
    return [_pin(str(one)) for one in ([given] if isinstance(given, str) or hasattr(given, '__fspath__') else given or [])]


def _pin(one):
    if re.fullmatch('[A-Za-z0-9_-]{43}', one):
        return one
    with open(one, 'rb') as file:
        key = serialization.load_pem_public_key(file.read())
    if not isinstance(key, ed25519.Ed25519PublicKey):
        raise ValueError(f'{one}: must be an Ed25519 public key')
    return holder.thumbprint(holder.jwk_of(key))


def offered(pinned, psks, mode):
    """What a client offers: that which it can check, and nothing weaker than what it knows."""
    if pinned:
        return ['ed25519']
    return ['hmac'] if psks else ['none'] if mode == 'enterprise' else []


def choose(proofs, mode, has_key, has_secret):
    """What a server takes of it; None where there is nothing in common."""
    able = {'ed25519': has_key, 'hmac': has_secret, 'none': mode == 'enterprise' and not has_secret}
    return next((kind for kind in KINDS if able[kind] and kind in proofs), None)


def signed_text(th1):
    return CONTEXT + th1


def check(welcome, th1, pinned, psks, mode):
    """The psk of this connection, once the server has proved itself. `welcome` is the payload. Errors: ValueError  E_SHAPE
    or E_SIG."""
    shown = welcome.get('proof')
    key = holder.key_of(welcome['node_key']) if 'node_key' in welcome else None
    kind = shown.get('kind') if isinstance(shown, dict) else None
    if not isinstance(kind, str) or kind not in KINDS:
        raise ValueError('E_SHAPE')
    value = _value(shown, KINDS[kind])
    if kind not in offered(pinned, psks, mode) or (kind == 'ed25519') != (key is not None):
        raise ValueError('E_SIG')
    if kind == 'ed25519':
        _check_key(key, value, th1, pinned)
    elif kind == 'hmac':
        for psk in psks:
            if keys.equal(value, keys.proof(psk, th1)):
                return psk
        raise ValueError('E_SIG')
    return keys.make_psk(b'', b'')


def _value(shown, length):
    try:
        value = keys.unb64(shown['v']) if length else b''
    except (KeyError, TypeError, ValueError):
        raise ValueError('E_SHAPE') from None
    if len(value) != length:
        raise ValueError('E_SHAPE')
    return value


def _check_key(key, value, th1, pinned):
    if holder.thumbprint(holder.jwk_of(key)) not in pinned:
        raise ValueError('E_SIG')
    try:
        key.verify(value, signed_text(th1))
    except InvalidSignature:
        raise ValueError('E_SIG') from None
