"""An independent implementation, Python's `websockets`, as client and as server."""

import contextlib
import queue
import ssl
import threading

import pytest
from websockets.exceptions import ConnectionClosedError, InvalidStatus
from websockets.sync.client import connect
from websockets.sync.server import serve


def client_tls(authority, own=None):
    context = ssl.create_default_context(cafile=authority.ca)
    if own:
        context.load_cert_chain(*own)
    return context


@contextlib.contextmanager
def foreign_server(handler, **options):
    with serve(handler, "127.0.0.1", 0, max_size=8 << 20, **options) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.socket.getsockname()[1]
        finally:
            server.shutdown()
            thread.join()


def echo(connection):
    for message in connection:
        connection.send(message)


# ---- Their client, our server ----

def test_client_exchanges_messages(echo_server):
    with connect(echo_server.url(), max_size=8 << 20) as peer:
        for message in ["", "hello", "κόσμε", b"", b"\xff\x00", "x" * 70_000, b"y" * (1 << 20)]:
            peer.send(message)
            assert peer.recv(timeout=10) == message
        for i in range(1_000):
            peer.send(str(i))
        assert [peer.recv(timeout=10) for _ in range(1_000)] == [str(i) for i in range(1_000)]
        peer.ping(b"payload").wait(timeout=10)


def test_client_sends_fragments(echo_server):
    with connect(echo_server.url()) as peer:
        peer.send(["one ", "two ", "three"])
        assert peer.recv(timeout=10) == "one two three"


def test_client_offers_compression_in_vain(echo_server):
    with connect(echo_server.url(), compression="deflate") as peer:
        assert "Sec-WebSocket-Extensions" not in peer.response.headers
        peer.send("plain")
        assert peer.recv(timeout=10) == "plain"


def test_client_is_told_that_a_message_is_too_large(echo_server):
    with connect(echo_server.url()) as peer:
        peer.send(b"x" * ((1 << 20) + 1))
        with pytest.raises(ConnectionClosedError) as closed:
            peer.recv(timeout=10)
        assert closed.value.rcvd.code == 1009


def test_client_is_closed_when_the_server_stops(start_server):
    server = start_server()
    with connect(server.url()) as peer:
        server.process.stdin.close()
        with pytest.raises(Exception) as closed:
            peer.recv(timeout=10)
        assert closed.value.rcvd.code == 1001
    assert server.process.wait(timeout=20) == 0
    server.stop = lambda: None


def test_client_must_offer_the_subprotocol(start_server):
    server = start_server("--subprotocol", "scp.v3.json")
    with connect(server.url(), subprotocols=["other", "scp.v3.json"]) as peer:
        assert peer.subprotocol == "scp.v3.json"
    with pytest.raises(InvalidStatus) as refused:
        connect(server.url(), subprotocols=["other"])
    assert refused.value.response.status_code == 400


def test_client_with_a_foreign_origin_is_refused(start_server):
    server = start_server("--origin", "https://a.example")
    with connect(server.url(), origin="https://a.example"):
        pass
    with pytest.raises(InvalidStatus) as refused:
        connect(server.url(), origin="https://b.example")
    assert refused.value.response.status_code == 403


def test_client_that_answers_pings_stays(start_server):
    server = start_server("--ping-ms", 50, "--idle-ms", 200, "--close-ms", 100)
    with connect(server.url(), ping_interval=None) as peer:
        with pytest.raises(TimeoutError):  # Longer than it may be silent.
            peer.recv(timeout=0.6)
        peer.send("here")
        assert peer.recv(timeout=10) == "here"


def test_client_over_tls(start_server, authority):
    chain, key = authority.issue("server")
    own = authority.issue("client")
    server = start_server("--cert", chain, "--key", key, "--ca", authority.ca, "--clients", "optional")
    for certificate, name in ((None, "who am I"), (own, "CN=client")):
        with connect(server.url("wss", "localhost"), ssl=client_tls(authority, certificate)) as peer:
            assert peer.socket.version() == "TLSv1.3"
            peer.send("who am I")
            assert peer.recv(timeout=10) == name
            peer.send(b"z" * 300_000)
            assert peer.recv(timeout=10) == b"z" * 300_000


def test_client_with_tls_1_2_is_refused(start_server, authority):
    chain, key = authority.issue("server")
    server = start_server("--cert", chain, "--key", key)
    context = client_tls(authority)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    with pytest.raises(ssl.SSLError):
        connect(server.url("wss"), ssl=context)


# ---- Our client, their server ----

@pytest.mark.parametrize("kind", [[], ["--binary"]], ids=["text", "binary"])
@pytest.mark.parametrize("size", [0, 125, 126, 65_535, 65_536, 1_000_000])
def test_server_echoes(send, kind, size):
    with foreign_server(echo) as port:
        printed = send(f"ws://127.0.0.1:{port}/", "--messages", 20, "--window", 4, "--bytes", size, *kind)
    assert printed.startswith("ok 20 ") and printed.endswith("closed_here")


def test_server_sees_our_close(send):
    seen = queue.Queue()

    def handler(connection):
        with contextlib.suppress(ConnectionClosedError):
            echo(connection)
        received = connection.protocol.close_rcvd
        seen.put((received.code, received.reason))

    with foreign_server(handler) as port:
        send(f"ws://127.0.0.1:{port}/", "--messages", 1, "--close-code", 4321, "--close-reason", "enough")
        assert seen.get(timeout=10) == (4321, "enough")


def test_server_that_closes_is_understood(send):
    with foreign_server(lambda connection: connection.close(4401, "no")) as port:
        assert send(f"ws://127.0.0.1:{port}/") == "ended cancelled closed 4401"


def test_server_that_breaks_off_is_understood(send):
    with foreign_server(lambda connection: connection.socket.shutdown(2)) as port:
        assert send(f"ws://127.0.0.1:{port}/") == "ended unavailable lost 1006"


def test_server_sends_too_much(send):
    with foreign_server(lambda connection: connection.send("x" * 101)) as port:
        assert send(f"ws://127.0.0.1:{port}/", "--limit", 100, "--bytes", 1) == "ended too_large too_large 1009"


def test_server_agrees_on_the_subprotocol(send):
    with foreign_server(echo, subprotocols=["scp.v3.json"]) as port:
        assert send(f"ws://127.0.0.1:{port}/", "--subprotocol", "scp.v3.json").startswith("ok ")
        assert send(f"ws://127.0.0.1:{port}/", "--subprotocol", "other").startswith("refused unsupported")


def server_tls(authority, clients=False, version=ssl.TLSVersion.TLSv1_3):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = context.maximum_version = version
    context.load_cert_chain(*authority.issue("server"))
    if clients:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(authority.ca)
    return context


def test_server_over_tls(send, authority):
    with foreign_server(echo, ssl=server_tls(authority)) as port:
        url = f"wss://localhost:{port}/"
        assert send(url, "--ca", authority.ca, "--bytes", 100_000, "--window", 3).startswith("ok ")
        assert send(url) == "refused forbidden certificate 0"


def test_server_that_asks_for_a_certificate(send, authority):
    chain, key = authority.issue("client")
    with foreign_server(echo, ssl=server_tls(authority, clients=True)) as port:
        url = f"wss://localhost:{port}/"
        assert send(url, "--ca", authority.ca, "--cert", chain, "--key", key).startswith("ok ")
        # Whether its alert or the end of the connection comes first is chance.
        assert {send(url, "--ca", authority.ca) for _ in range(10)} == {"refused forbidden tls 0"}


def test_server_with_tls_1_2_is_refused(send, authority):
    with foreign_server(echo, ssl=server_tls(authority, version=ssl.TLSVersion.TLSv1_2)) as port:
        assert send(f"wss://localhost:{port}/", "--ca", authority.ca) == "refused forbidden tls 0"
