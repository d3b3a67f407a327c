"""Two more independent implementations, npm's `ws` and Go's `gorilla/websocket`, as clients and as servers."""

import urllib.parse

import pytest

from foreign_peer import COMMANDS, ECHO, ForeignPeer, Tap, close, ping, receive, say, say_broken_text

SIZES = [0, 125, 126, 65_535, 65_536, 1 << 20]
CODES = {1000: "", 1001: "away", 1011: "fault", 3000: "", 3999: "r" * 123, 4000: "κόσμε", 4999: "last"}
CONTINUATION, TEXT, BINARY, CLOSE, PING = 0, 1, 2, 8, 9


@pytest.fixture(scope="module", params=COMMANDS)
def running(request):
    held = []

    def get():
        if not held or held[0].process.poll() is not None:
            held[:] = [ForeignPeer(request.param)]
        return held[0]

    yield get
    for peer in held:
        peer.stop()


@pytest.fixture
def peer(running):
    """Another one when the last has ended in a failed test."""
    return running()


def message_of(kind, size):
    return "€" * (size // 3) + "." * (size % 3) if kind == "text" else (bytes(range(256)) * (size // 256 + 1))[:size]


def port_of(url):
    return urllib.parse.urlsplit(url).port


def assert_fragments(frames, cut, whole):
    assert [frame[0] for frame in frames].index(PING) in (1, 2)
    sizes = [size for opcode, _, _, size in frames if opcode in (CONTINUATION, TEXT, BINARY)]
    assert len(sizes) >= whole // cut and max(sizes) == cut and sum(sizes) == whole


# ---- Their client, our server ----

@pytest.mark.parametrize("kind", ["text", "binary"])
@pytest.mark.parametrize("size", SIZES)
def test_client_gets_its_message_back(peer, echo_server, kind, size):
    message = message_of(kind, size)
    outcome = peer.connect(echo_server.url(), say(message), receive(), close(1000), receive())
    assert outcome.seen == [message, ("close", 1000, "")]


def test_client_has_a_thousand_messages_in_flight(peer, echo_server):
    messages = [f"message {i}" for i in range(1_000)]
    outcome = peer.connect(echo_server.url(), *map(say, messages), *[receive()] * 1_000)
    assert outcome.seen == messages


@pytest.mark.parametrize("kind", ["text", "binary"])
def test_client_sends_fragments_with_a_ping_between(peer, echo_server, kind):
    message = message_of(kind, 200)  # Cut within characters.
    tap = Tap(echo_server.port)
    steps = say(message, ping=b"between"), receive(), receive()
    assert peer.connect(tap.url, *steps, cut=7).seen == [("pong", b"between"), message]
    assert_fragments(tap.frames("client"), 7, 200)


@pytest.mark.parametrize("data", [b"", b"\xff\x00", b"p" * 125], ids=["empty", "no_text", "125"])
def test_client_gets_its_pong(peer, echo_server, data):
    assert peer.connect(echo_server.url(), ping(data), receive()).seen == [("pong", data)]


def test_client_that_answers_pings_stays(peer, start_server):
    server = start_server("--ping-ms", 50, "--idle-ms", 300, "--close-ms", 100)
    outcome = peer.connect(server.url(), *[receive("ping")] * 8, say("here"), receive("text"))
    assert [seen[0] for seen in outcome.seen[:8]] == ["ping"] * 8
    assert outcome.seen[8] == "here"


@pytest.mark.parametrize("code", CODES)
def test_client_sees_its_close_confirmed(peer, echo_server, code):
    outcome = peer.connect(echo_server.url(), close(code, CODES[code]), receive())
    assert outcome.seen[0][:2] == ("close", code) and len(outcome.seen[0]) == 3


def test_client_may_close_without_a_code(peer, echo_server):
    assert peer.connect(echo_server.url(), close(), receive()).seen == [("close", 1005, "")]


REFUSED = {
    "8_1_text_that_is_not_utf_8": (say_broken_text(b"\xff"), 1007),
    "10_4_message_over_the_limit": (say(b"x" * ((1 << 20) + 1)), 1009),
}


@pytest.mark.parametrize("name", REFUSED)
def test_client_is_told_what_was_wrong(peer, echo_server, name):
    step, code = REFUSED[name]
    assert peer.connect(echo_server.url(), step, receive()).seen[0][:2] == ("close", code)


def test_client_is_closed_when_the_server_stops(peer, start_server):
    server = start_server()
    with peer.connected(server.url(), receive()) as outcome:
        server.process.stdin.close()
        assert outcome().seen[0][:2] == ("close", 1001)


def test_client_agrees_on_the_subprotocol(peer, start_server):
    server = start_server("--subprotocol", "scp.v3.json")
    outcome = peer.connect(server.url(), say("a"), receive(), subprotocols=["other", "scp.v3.json"])
    assert (outcome.subprotocol, outcome.seen) == ("scp.v3.json", ["a"])


@pytest.mark.parametrize("offered", [[], ["other"], ["scp.v3", "SCP.V3.JSON"]], ids=["none", "other", "near"])
def test_client_without_the_subprotocol_is_refused(peer, start_server, offered):
    server = start_server("--subprotocol", "scp.v3.json")
    assert peer.refusal(server.url(), *offered) == 400


def test_client_offers_compression_in_vain(peer, echo_server):
    outcome = peer.connect(echo_server.url(), say("plain" * 1_000), receive())
    assert (outcome.extensions, outcome.seen) == ("", ["plain" * 1_000])


def test_client_masks_and_our_server_does_not(peer, echo_server):
    tap = Tap(echo_server.port)
    peer.connect(tap.url, *[say("same")] * 5, *[receive()] * 5, close(1000), receive())
    assert [mask is None for *_, mask, _ in tap.frames("client")] == [False] * 6
    assert tap.frames("server") == [(TEXT, True, None, 4)] * 5 + [(CLOSE, True, None, 2)]


# ---- Our client, their server ----

@pytest.mark.parametrize("kind", ["text", "binary"])
@pytest.mark.parametrize("size", SIZES)
def test_server_gives_our_messages_back(peer, send, kind, size):
    options = ["--binary"] if kind == "binary" else []
    with peer.serving(ECHO) as (url, outcome):
        assert send(url, "--messages", 3, "--window", 2, "--bytes", size, *options).startswith("ok 3 ")
        assert (outcome().echoed, outcome().seen) == (3, [("close", 1000, "")])


def test_server_gives_a_thousand_messages_in_flight_back(peer, send):
    with peer.serving(ECHO) as (url, outcome):
        assert send(url, "--messages", 1_000, "--window", 1_000).startswith("ok 1000 ")
        assert outcome().echoed == 1_000


def test_server_sends_fragments_with_a_ping_between(peer, send):
    message = message_of("text", 200)
    steps = receive(), say(message, ping=b"between"), receive(), receive()
    with peer.serving(*steps, cut=7) as (url, outcome):
        tap = Tap(port_of(url))
        assert send(tap.url, "--messages", 1, "--text", message).startswith("ok 1 ")
        assert outcome().seen == [message, ("pong", b"between"), ("close", 1000, "")]
    assert_fragments(tap.frames("server"), 7, 200)


@pytest.mark.parametrize("data", [b"", b"\xff\x00", b"p" * 125], ids=["empty", "no_text", "125"])
def test_server_gets_our_pong(peer, send, data):
    with peer.serving(receive(), ping(data), receive(), say("a"), receive()) as (url, outcome):
        assert send(url, "--messages", 1, "--text", "a").startswith("ok 1 ")
        assert outcome().seen == ["a", ("pong", data), ("close", 1000, "")]


def test_server_that_answers_our_pings_keeps_us(peer, send):
    with peer.serving(receive(), *[receive("ping")] * 8, say("a"), ECHO) as (url, outcome):
        printed = send(url, "--messages", 1, "--text", "a", "--ping-ms", 50, "--idle-ms", 300)
        assert printed.startswith("ok 1 ")
        assert [seen[0] for seen in outcome().seen[1:]] == ["ping"] * 8 + ["close"]


@pytest.mark.parametrize("code", CODES)
def test_server_sees_our_close(peer, send, code):
    with peer.serving(ECHO) as (url, outcome):
        printed = send(url, "--messages", 1, "--close-code", code, "--close-reason", CODES[code])
        assert printed.endswith("closed_here")
        assert outcome().seen == [("close", code, CODES[code])]


@pytest.mark.parametrize("code", CODES)
def test_server_that_closes_is_understood_and_confirmed(peer, send, code):
    with peer.serving(close(code, CODES[code]), receive("close")) as (url, outcome):
        assert send(url) == f"ended cancelled closed {code}"
        assert outcome().seen[0][:2] == ("close", code) and len(outcome().seen[0]) == 3


def test_server_may_close_without_a_code(peer, send):
    with peer.serving(close(), receive("close")) as (url, outcome):
        assert send(url) == "ended cancelled closed 1005"
        assert outcome().seen == [("close", 1005, "")]


def test_server_that_breaks_off_is_understood(peer, send):
    with peer.serving(receive()) as (url, _):
        assert send(url) == "ended unavailable lost 1006"


WRONG = {
    "8_1_text_that_is_not_utf_8": (say_broken_text(b"\xff"), "ended invalid protocol 1007", 1007),
    "10_4_message_over_the_limit": (say("x" * 1_001), "ended too_large too_large 1009", 1009),
}


@pytest.mark.parametrize("name", WRONG)
def test_server_is_told_what_was_wrong(peer, send, name):
    step, said, code = WRONG[name]
    with peer.serving(step, receive("close")) as (url, outcome):
        assert send(url, "--limit", 1_000, "--bytes", 1) == said
        assert outcome().seen[0][:2] == ("close", code)


def test_server_agrees_on_the_subprotocol(peer, send):
    with peer.serving(ECHO, subprotocols=["other", "scp.v3.json"]) as (url, outcome):
        assert send(url, "--subprotocol", "scp.v3.json").startswith("ok ")
        assert outcome().subprotocol == "scp.v3.json"


@pytest.mark.parametrize("answer", [{}, {"subprotocols": ["other"]}, {"insist": "other"}],
                         ids=["none", "others", "wrong"])
def test_server_without_the_subprotocol_is_refused(peer, send, answer):
    with peer.serving(receive(), **answer) as (url, outcome):
        assert send(url, "--subprotocol", "scp.v3.json").startswith("refused unsupported")
        assert outcome().seen[0][:2] == ("close", 1006)


def test_server_that_can_compress_is_not_asked_to(peer, send):
    with peer.serving(ECHO) as (url, outcome):
        assert send(url, "--bytes", 5_000).startswith("ok ")
        assert outcome().extensions == ""


def test_our_client_masks_each_frame_anew(peer, send):
    with peer.serving(ECHO) as (url, _):
        tap = Tap(port_of(url))
        assert send(tap.url, "--messages", 5, "--text", "same").startswith("ok 5 ")
    frames = tap.frames("client")
    assert [(opcode, size) for opcode, _, _, size in frames] == [(TEXT, 4)] * 5 + [(CLOSE, 2)]
    assert len({mask for *_, mask, _ in frames} - {None}) == 6
    assert [mask for *_, mask, _ in tap.frames("server")] == [None] * 6
