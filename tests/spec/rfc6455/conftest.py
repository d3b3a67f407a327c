"""The project's WebSocket echo program, as a server and as a client, for foreign peers."""

import datetime
import ipaddress
import os
import subprocess
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = Path(os.environ.get("WEBSOCKET_ECHO", ROOT / "build" / "dev" / "websocket_echo"))


class EchoServer:
    """`websocket_echo serve`, until its input is closed."""

    def __init__(self, *options):
        self.process = subprocess.Popen(
            [PROGRAM, "serve", *map(str, options)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline().split()[1])

    def url(self, scheme="ws", host="127.0.0.1"):
        return f"{scheme}://{host}:{self.port}/echo"

    def stop(self):
        self.process.stdin.close()
        assert self.process.wait(timeout=20) == 0


@pytest.fixture
def start_server():
    servers = []

    def start(*options):
        servers.append(EchoServer(*options))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()


@pytest.fixture(scope="session")
def echo_server():
    server = EchoServer("--limit", 1 << 20, "--close-ms", 500)
    yield server
    server.stop()


@pytest.fixture
def send():
    """Runs `websocket_echo send` and gives what it printed."""

    def run(url, *options):
        done = subprocess.run([PROGRAM, "send", url, *map(str, options)], capture_output=True, text=True, timeout=60)
        assert done.returncode in (0, 2), done.stderr
        return done.stdout.strip()

    return run


class Authority:
    """Signs certificates into a folder."""

    def __init__(self, folder):
        self.folder = folder
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "authority")])
        self.ca = self._write("ca", self._sign(self.name, self.key, [], is_ca=True), self.key)[0]

    def issue(self, name):
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        return self._write(name, self._sign(subject, key, names, is_ca=False), key)

    def _sign(self, subject, key, names, is_ca):
        now = datetime.datetime.now(datetime.timezone.utc)
        builder = (x509.CertificateBuilder().subject_name(subject).issuer_name(self.name)
                   .public_key(key.public_key()).serial_number(x509.random_serial_number())
                   .not_valid_before(now - datetime.timedelta(minutes=1))
                   .not_valid_after(now + datetime.timedelta(hours=1))
                   .add_extension(x509.BasicConstraints(ca=is_ca, path_length=None), critical=True))
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return builder.sign(self.key, hashes.SHA256())

    def _write(self, name, certificate, key):
        chain, secret = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        chain.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        secret.write_bytes(key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
        return chain, secret


@pytest.fixture(scope="session")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("certificates"))
