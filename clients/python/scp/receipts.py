"""Receipts: what a caller keeps of a call to prove later that it was recorded. docs/wire-3.0.md, section 16.6.

    from scp import check_receipt
    answer = await client.invoke_tool('sql.query', sql='SELECT 1')
    check_receipt(answer['audit'], public_key=open('audit.pub', 'rb').read())
"""

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ed25519, padding

from . import keys
from .canonical import canonical


def receipt_text(receipt):
    """The bytes that are signed."""
    return b'SCP3-RECEIPT\0' + canonical({name: receipt[name] for name in ('hash', 'node', 'seq')})


def checkpoint_key(secret):
    """The key where no key pair is set: who has the secret can sign, too."""
    return keys.hkdf(secret.encode(), b'', b'scp3 audit checkpoint', 32)


def thumbprint(key):
    """RFC 7638, of an Ed25519 (RFC 8037) or RSA key."""
    if isinstance(key, ed25519.Ed25519PublicKey):
        raw = key.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
        jwk = {'crv': 'Ed25519', 'kty': 'OKP', 'x': keys.b64(raw)}
    else:
        n, e = (keys.b64(number.to_bytes((number.bit_length() + 7) // 8, 'big')) for number in (key.public_numbers().n, key.public_numbers().e))
        jwk = {'e': e, 'kty': 'RSA', 'n': n}
    return keys.b64(keys.sha256(canonical(jwk)))


def check_receipt(receipt, *, public_key=None, secret=None):
    """Whether the service of this key gave out `receipt`, the `audit` of an answer. `public_key` is PEM,
    `secret` the secret_key of a service without a key pair. Needs neither the service nor its trail."""
    sig = receipt.get('sig')
    if not sig or (public_key is None) == (secret is None):
        return False
    try:
        value, text = keys.unb64(sig['v']), receipt_text(receipt)
        if secret is not None:
            return sig['kid'] == 'secret' and keys.equal(value, keys.hmac(checkpoint_key(secret), text))
        key = serialization.load_pem_public_key(public_key)
        if sig['kid'] != thumbprint(key):
            return False
        if isinstance(key, ed25519.Ed25519PublicKey):
            key.verify(value, text)
        else:
            key.verify(value, text, padding.PSS(padding.MGF1(hashes.SHA256()), 32), hashes.SHA256())
    except (InvalidSignature, KeyError, TypeError, ValueError):
        return False
    return True
