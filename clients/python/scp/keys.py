"""Transcript, key schedule, proofs. docs/wire-3.0.md, sections 4 and 7."""

import base64
import hashlib
import hmac as _hmac
import re

from cryptography.hazmat.primitives.asymmetric import ec, x25519
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

SUITES = {
    'X25519_A256GCM_S256': ('X25519', AESGCM),
    'P256_A256GCM_S256': ('P256', AESGCM),
    'X25519_C20P_S256': ('X25519', ChaCha20Poly1305),
    'NONE': ('X25519', None),
}
LABELS = {'c2s key': 32, 's2c key': 32, 'c2s iv': 12, 's2c iv': 12, 'c2s sig': 32, 's2c sig': 32,
          'confirm c': 32, 'confirm s': 32, 'export': 32}


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b'=').decode()


def unb64(text):
    data = base64.b64decode(text + '=' * (-len(text) % 4), altchars=b'-_', validate=True)
    if b64(data) != text:
        raise ValueError('not base64url without padding')
    return data


def hmac(key, data):
    return _hmac.new(key, data, hashlib.sha256).digest()


def equal(a, b):
    """In a time that does not tell where they differ."""
    return _hmac.compare_digest(a, b)


def sha256(data):
    return hashlib.sha256(data).digest()


def extract(salt, ikm):
    return hmac(salt or b'\0' * 32, ikm)


def expand(prk, info, length):
    out, block = b'', b''
    for index in range(1, -(-length // 32) + 1):
        block = hmac(prk, block + info + bytes([index]))
        out += block
    return out[:length]


def hkdf(ikm, salt, info, length):
    return expand(extract(salt, ikm), info, length)


def with_length(data):
    return len(data).to_bytes(4, 'big') + data


def make_share(group):
    """A private key and its share."""
    if group == 'X25519':
        key = x25519.X25519PrivateKey.generate()
        return key, key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    key = ec.generate_private_key(ec.SECP256R1())
    return key, key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def agree(group, key, share):
    """Errors: ValueError for a share that is not a usable point."""
    if group == 'X25519':
        return key.exchange(x25519.X25519PublicKey.from_public_bytes(share))
    if len(share) != 65:
        raise ValueError('not an uncompressed point')
    return key.exchange(ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), share))


def th1(hello, welcome0, binding):
    return sha256(b'SCP3-TH' + with_length(hello) + with_length(welcome0) + with_length(binding))


def th_auth(th1_, auth0):
    return sha256(b'SCP3-AUTH' + th1_ + auth0)


def th2(th_auth_, ready0):
    return sha256(b'SCP3-TH2' + th_auth_ + ready0)


def th_r(th2_, epoch, eph_c, eph_s):
    return sha256(b'SCP3-REKEY' + th2_ + epoch.to_bytes(4, 'big') + with_length(eph_c) + with_length(eph_s))


def make_psk(secret, kdf_salt):
    return hkdf(secret, kdf_salt, b'scp3 psk', 32) if secret else b'\0' * 32


def schedule(transcript, dh, psk):
    """Every key of an epoch by its label."""
    prk = extract(transcript, dh + psk)
    return {label: expand(prk, b'scp3 ' + label.encode() + transcript, size) for label, size in LABELS.items()}


def proof(psk, th1_):
    return hmac(expand(psk, b'scp3 proof', 32), b'SCP3-PROOF\0' + th1_)


def api_key_credential(api_key, th1_):
    named = re.fullmatch(r'scpk_([a-z][a-z0-9-]{0,63})_[A-Za-z0-9_-]{43}', api_key)
    if named:
        return named[1] + '.' + b64(hmac(hashlib.sha256(api_key.encode()).digest(), b'scp3 apikey' + th1_))
    return b64(hmac(api_key.encode(), b'scp3 apikey' + th1_))


def signature(key, transcript, canonical_message):
    return hmac(key, b'SCP3-MSG\0' + transcript + canonical_message)


class Records:
    """One direction of one epoch. Section 7."""

    def __init__(self, suite, keys, direction, binding, epoch=0):
        self.aead = SUITES[suite][1](keys[direction + ' key'])
        self.iv = keys[direction + ' iv']
        self.binding, self.epoch, self.counter = binding, epoch, 0

    def _nonce(self):
        counter = b'\0' * 4 + self.counter.to_bytes(8, 'big')
        return bytes(a ^ b for a, b in zip(self.iv, counter))

    def _header(self):
        return b'S\x01' + self.epoch.to_bytes(2, 'big') + self.counter.to_bytes(8, 'big')

    def seal(self, plaintext):
        header = self._header()
        record = header + self.aead.encrypt(self._nonce(), plaintext, header + self.binding)
        self.counter += 1
        return record

    def open(self, record):
        """Errors: ValueError for a counter out of order; InvalidTag."""
        header = self._header()
        if record[:12] != header or len(record) < 28:
            raise ValueError('not the record that comes next')
        plaintext = self.aead.decrypt(self._nonce(), record[12:], header + self.binding)
        self.counter += 1
        return plaintext
