"""Checks the session tokens of a server that signs with RS256. docs/wire-3.0.md, section 6.1."""

import json
import pathlib
import time

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from .keys import b64, unb64

CLOCKS_APART = 60  # seconds


def load_key(file):
    """Errors: ValueError  no RSA public key of at least 2048 bits in PEM; OSError."""
    key = serialization.load_pem_public_key(pathlib.Path(file).read_bytes())
    if not isinstance(key, rsa.RSAPublicKey) or key.key_size < 2048:
        raise ValueError(f'{file}: must be an RSA public key of at least 2048 bits')
    return key


def check_session_token(token, key, *, node, cluster, session, th1):
    """Errors: ValueError  it is not this session's, of this connection, under this key and in its time."""
    try:
        header, claims, signature = token.split('.')
        key.verify(unb64(signature), f'{header}.{claims}'.encode(), padding.PKCS1v15(), hashes.SHA256())
        header, claims = json.loads(unb64(header)), json.loads(unb64(claims))
    except InvalidSignature:
        raise ValueError('is not signed by the key of this client') from None
    if header.get('alg') != 'RS256' or header.get('typ') != 'scp-session+jwt':
        raise ValueError('has another algorithm or type')
    for name, value in {'iss': node, 'aud': cluster, 'sid': session}.items():
        if claims.get(name) != value:
            raise ValueError(f'{name}: is for another session')
    if not isinstance(claims.get('cnf'), dict) or claims['cnf'].get('scp_th') != b64(th1):
        raise ValueError('cnf: is for another connection')
    if not claims['nbf'] - CLOCKS_APART <= time.time() < claims['exp'] + CLOCKS_APART:
        raise ValueError('is out of its time')
