"""What a server must do with each kind of frame, byte by byte, by section of RFC 6455."""

import os
import socket
import struct

import pytest

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
MASK = b"\x12\x34\xab\xcd"
LIMIT = 1 << 20


def frame(opcode, payload=b"", final=True, reserved=0, masked=True, length_bytes=None, announce=None):
    """A client's frame; the last three arguments make it wrong."""
    size = len(payload) if announce is None else announce
    if length_bytes is None:
        length_bytes = 0 if size < 126 else 2 if size < 65536 else 8
    first = (0x80 if final else 0) | reserved << 4 | opcode
    short = {0: size, 2: 126, 8: 127}[length_bytes]
    head = bytes([first, (0x80 if masked else 0) | short])
    if length_bytes:
        head += size.to_bytes(length_bytes, "big")
    if not masked:
        return head + payload
    return head + MASK + bytes(b ^ MASK[i % 4] for i, b in enumerate(payload))


def close(code=None, reason=b""):
    return frame(CLOSE, b"" if code is None else struct.pack(">H", code) + reason)


class Peer:
    """One connection after its opening handshake."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=10)
        key = "dGhlIHNhbXBsZSBub25jZQ=="
        self.socket.sendall(
            f"GET /echo HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n".encode())
        self.held = b""
        while b"\r\n\r\n" not in self.held:
            self.held += self.socket.recv(4096)
        head, self.held = self.held.split(b"\r\n\r\n", 1)
        assert head.startswith(b"HTTP/1.1 101 ")

    def _take(self, count):
        while len(self.held) < count:
            got = self.socket.recv(65536)
            if not got:
                raise EOFError
            self.held += got
        out, self.held = self.held[:count], self.held[count:]
        return out

    def read(self):
        """(opcode, payload) of the next frame, which a server never masks or splits here."""
        first, second = self._take(2)
        assert first & 0xF0 == 0x80 and second < 128
        size = second
        if size == 126:
            size = int.from_bytes(self._take(2), "big")
        elif size == 127:
            size = int.from_bytes(self._take(8), "big")
        return first & 15, self._take(size)

    def read_close(self):
        opcode, payload = self.read()
        assert opcode == CLOSE
        with pytest.raises((EOFError, ConnectionResetError)):
            self.read()
        return int.from_bytes(payload[:2], "big") if payload else None


@pytest.fixture
def peer(echo_server):
    peer = Peer(echo_server.port)
    yield peer
    peer.socket.close()


def text_of(size):
    return (b"0123456789" * (size // 10 + 1))[:size]


ECHOED = {
    "5_6_empty_text": ([frame(TEXT)], (TEXT, b"")),
    "5_6_empty_binary": ([frame(BINARY)], (BINARY, b"")),
    **{f"5_2_text_of_{n}_bytes": ([frame(TEXT, text_of(n))], (TEXT, text_of(n)))
       for n in (1, 125, 126, 127, 65535, 65536, LIMIT)},
    **{f"5_2_binary_of_{n}_bytes": ([frame(BINARY, b"\xfe" * n)], (BINARY, b"\xfe" * n))
       for n in (125, 126, 65535, 65536, LIMIT)},
    "5_4_two_fragments": ([frame(TEXT, b"a", final=False), frame(CONTINUATION, b"b")], (TEXT, b"ab")),
    "5_4_empty_fragments": (
        [frame(BINARY, final=False), frame(CONTINUATION, final=False), frame(CONTINUATION)], (BINARY, b"")),
    "5_4_a_thousand_fragments": (
        [frame(TEXT, b"x", final=False), *[frame(CONTINUATION, b"x", final=False)] * 998, frame(CONTINUATION, b"x")],
        (TEXT, b"x" * 1000)),
    "5_5_3_unasked_pong": ([frame(PONG, b"x"), frame(TEXT, b"a")], (TEXT, b"a")),
    "8_1_two_to_four_byte_characters": ([frame(TEXT, "κόσμε€😀".encode())], (TEXT, "κόσμε€😀".encode())),
    "8_1_character_over_three_fragments": (
        [frame(TEXT, b"\xe2", final=False), frame(CONTINUATION, b"\x82", final=False), frame(CONTINUATION, b"\xac")],
        (TEXT, b"\xe2\x82\xac")),
    "8_1_largest_character": ([frame(TEXT, b"\xf4\x8f\xbf\xbf")], (TEXT, b"\xf4\x8f\xbf\xbf")),
    "8_1_not_a_character_but_encodable": ([frame(TEXT, b"\xef\xbf\xbf")], (TEXT, b"\xef\xbf\xbf")),
}


@pytest.mark.parametrize("name", ECHOED)
@pytest.mark.parametrize("cut", ["at_once", "frame_by_frame", "in_pieces"])
def test_echoes(peer, name, cut):
    frames, expected = ECHOED[name]
    whole = b"".join(frames)
    if cut == "in_pieces":
        step = 1 if len(whole) < 300 else 997 if len(whole) < 100_000 else 50_001
        frames = [whole[i:i + step] for i in range(0, len(whole), step)]
    for piece in [whole] if cut == "at_once" else frames:
        peer.socket.sendall(piece)
    assert peer.read() == expected


PONGED = {
    "5_5_2_empty_ping": frame(PING),
    "5_5_2_ping_of_125_bytes": frame(PING, bytes(range(125))),
    "5_5_2_ping_that_is_not_text": frame(PING, b"\xff\xfe\xfd"),
}


@pytest.mark.parametrize("name", PONGED)
def test_answers_ping(peer, name):
    peer.socket.sendall(PONGED[name])
    opcode, payload = peer.read()
    assert opcode == PONG
    assert frame(PING, payload) == PONGED[name]


def test_5_4_ping_between_fragments_is_answered_first(peer):
    peer.socket.sendall(frame(TEXT, b"a", final=False) + frame(PING, b"p"))
    assert peer.read() == (PONG, b"p")
    peer.socket.sendall(frame(CONTINUATION, b"b"))
    assert peer.read() == (TEXT, b"ab")


def test_5_5_2_pong_goes_before_the_answer_to_what_followed_the_ping(peer):
    peer.socket.sendall(frame(TEXT, b"a", final=False) + frame(PING, b"p") + frame(CONTINUATION, b"b") + frame(PING, b"q"))
    assert [peer.read() for _ in range(3)] == [(PONG, b"p"), (TEXT, b"ab"), (PONG, b"q")]


REFUSED = {
    "5_1_unmasked_text": (frame(TEXT, b"x", masked=False), 1002),
    "5_1_unmasked_ping": (frame(PING, masked=False), 1002),
    "5_1_unmasked_close": (frame(CLOSE, masked=False), 1002),
    **{f"5_2_reserved_bits_{r}": (frame(TEXT, b"x", reserved=r), 1002) for r in range(1, 8)},
    "5_2_reserved_bit_in_ping": (frame(PING, reserved=1), 1002),
    **{f"5_2_opcode_{op}": (frame(op, b"x"), 1002) for op in (3, 4, 5, 6, 7, 11, 12, 13, 14, 15)},
    "5_2_two_length_bytes_for_125": (frame(TEXT, text_of(125), length_bytes=2), 1002),
    "5_2_eight_length_bytes_for_65535": (frame(TEXT, text_of(65535), length_bytes=8), 1002),
    "5_2_length_with_top_bit": (frame(BINARY, announce=1 << 63), 1002),
    "5_4_continuation_first": (frame(CONTINUATION, b"x"), 1002),
    "5_4_continuation_after_end": (
        frame(TEXT, b"a", final=False) + frame(CONTINUATION, final=False) + frame(TEXT, b"b"), 1002),
    "5_4_binary_inside_text": (frame(TEXT, b"a", final=False) + frame(BINARY, b"b"), 1002),
    "5_5_ping_of_126_bytes": (frame(PING, b"x" * 126), 1002),
    "5_5_close_of_126_bytes": (frame(CLOSE, b"\x03\xe8" + b"x" * 124), 1002),
    "5_5_fragmented_ping": (frame(PING, final=False), 1002),
    "5_5_fragmented_close": (frame(CLOSE, final=False), 1002),
    "5_5_1_close_of_one_byte": (frame(CLOSE, b"\x03"), 1002),
    "5_5_1_close_reason_not_text": (close(1000, b"\xff"), 1007),
    **{f"7_4_close_code_{code}": (close(code), 1002)
       for code in (0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65535)},
    "8_1_lone_continuation_byte": (frame(TEXT, b"\x80"), 1007),
    "8_1_cut_character": (frame(TEXT, b"abc\xe2\x82"), 1007),
    "8_1_overlong": (frame(TEXT, b"\xc0\xaf"), 1007),
    "8_1_overlong_of_three": (frame(TEXT, b"\xe0\x80\xaf"), 1007),
    "8_1_surrogate": (frame(TEXT, b"\xed\xa0\x80"), 1007),
    "8_1_beyond_the_last": (frame(TEXT, b"\xf4\x90\x80\x80"), 1007),
    "8_1_broken_in_the_second_fragment": (
        frame(TEXT, b"good", final=False) + frame(CONTINUATION, b"\xffbad"), 1007),
    "10_4_over_the_limit_announced": (frame(BINARY, announce=LIMIT + 1), 1009),
    "10_4_largest_length_announced": (frame(BINARY, announce=(1 << 63) - 1), 1009),
    "10_4_over_the_limit_in_fragments": (
        frame(BINARY, b"x" * LIMIT, final=False) + frame(CONTINUATION, b"x"), 1009),
    "10_4_too_many_fragments": (
        frame(TEXT, b"", final=False) + frame(CONTINUATION, b"", final=False) * 1024, 1009),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refuses(peer, name):
    data, code = REFUSED[name]
    peer.socket.sendall(data)
    assert peer.read_close() == code


def test_message_before_a_violation_is_still_served(peer):
    peer.socket.sendall(frame(TEXT, b"good") + frame(3))
    assert peer.read() == (TEXT, b"good")
    assert peer.read_close() == 1002


CLOSED = {
    "5_5_1_without_code": (close(), None),
    **{f"7_4_1_code_{code}": (close(code), code) for code in (1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011)},
    "7_4_2_code_3000": (close(3000), 3000),
    "7_4_2_code_4999": (close(4999), 4999),
    "5_5_1_reason_of_123_bytes": (close(1000, b"r" * 123), 1000),
    "5_5_1_inside_a_fragmented_message": (frame(TEXT, b"a", final=False) + close(1000), 1000),
    "5_5_1_what_follows_is_ignored": (close(1000) + frame(TEXT, b"late") + frame(PING, b"late"), 1000),
}


@pytest.mark.parametrize("name", CLOSED)
def test_confirms_close(peer, name):
    data, code = CLOSED[name]
    peer.socket.sendall(data)
    assert peer.read_close() == code


def test_7_2_1_lost_peers_leave_nothing_behind(echo_server):
    before = len(os.listdir(f"/proc/{echo_server.process.pid}/fd"))
    for data in (b"", b"\x81", frame(TEXT, b"a", final=False), frame(BINARY, announce=1000)):
        peer = Peer(echo_server.port)
        peer.socket.sendall(data)
        peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        peer.socket.close()
    Peer(echo_server.port).socket.close()
    for _ in range(500):
        if len(os.listdir(f"/proc/{echo_server.process.pid}/fd")) <= before:
            break
        socket.create_connection(("127.0.0.1", echo_server.port)).close()
    assert len(os.listdir(f"/proc/{echo_server.process.pid}/fd")) <= before + 1
