"""A private certificate authority for servers and clients on loopback."""
import base64
import datetime
import ipaddress
import os
import pathlib
import ssl

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

DAY = datetime.timedelta(days=1)


class Authority:
    """Its files live in `folder`: ca.pem, and NAME.pem with NAME.key for each certificate."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.roots = self.folder / 'ca.pem'
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, 'Test authority')])
        builder = self._builder(self.name, self.key.public_key())
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        self.roots.write_bytes(_pem(builder.sign(self.key, hashes.SHA256())))

    def server(self, name, host='localhost'):
        """A certificate for 127.0.0.1 and `host`: (certificate file, key file)."""
        names = x509.SubjectAlternativeName([x509.DNSName(host), x509.IPAddress(ipaddress.ip_address('127.0.0.1'))])
        return self._issue(name, ExtendedKeyUsageOID.SERVER_AUTH, names)

    def client(self, name, end=None):
        return self._issue(name, ExtendedKeyUsageOID.CLIENT_AUTH, x509.SubjectAlternativeName([x509.DNSName(name)]), end)

    def client_tls(self):
        """A context that trusts this authority alone."""
        return ssl.create_default_context(cafile=self.roots)

    def server_tls(self, name):
        """A context that shows a new certificate of this authority."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self.server(name))
        return context

    def _issue(self, name, usage, names, end=None):
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        builder = self._builder(subject, key.public_key(), end).add_extension(names, critical=False)
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        certificate, private = self.folder / f'{name}.pem', self.folder / f'{name}.key'
        certificate.write_bytes(_pem(builder.sign(self.key, hashes.SHA256())))
        write_private(private, key)
        return certificate, private

    def _builder(self, subject, public_key, end=None):
        now = datetime.datetime.now(datetime.timezone.utc)
        authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key())
        return (x509.CertificateBuilder().subject_name(subject).issuer_name(self.name).public_key(public_key)
                .serial_number(x509.random_serial_number()).not_valid_before(now - DAY).not_valid_after(end or now + 30 * DAY)
                .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
                .add_extension(authority, critical=False))


def _pem(certificate):
    return certificate.public_bytes(serialization.Encoding.PEM)


def write_private(file, key):
    """Readable by the owner alone, as the service demands of key files."""
    data = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), 'wb') as out:
        out.write(data)


def make_rsa():
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def make_p256():
    return ec.generate_private_key(ec.SECP256R1())


def private_jwk(key, kid):
    """The key as a JWK (RFC 7517) for a provider that signs with RS256 or ES256."""
    numbers = key.private_numbers()
    public = numbers.public_numbers

    def text(number, length=0):
        return base64.urlsafe_b64encode(number.to_bytes(length or (number.bit_length() + 7) // 8, 'big')).rstrip(b'=').decode()

    if isinstance(key, ec.EllipticCurvePrivateKey):
        return {'kty': 'EC', 'crv': 'P-256', 'use': 'sig', 'alg': 'ES256', 'kid': kid, 'x': text(public.x, 32),
                'y': text(public.y, 32), 'd': text(numbers.private_value, 32)}
    return {'kty': 'RSA', 'use': 'sig', 'alg': 'RS256', 'kid': kid, 'n': text(public.n), 'e': text(public.e),
            'd': text(numbers.d), 'p': text(numbers.p), 'q': text(numbers.q), 'dp': text(numbers.dmp1),
            'dq': text(numbers.dmq1), 'qi': text(numbers.iqmp)}
