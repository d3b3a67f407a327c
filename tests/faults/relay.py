"""A wire to a server that a test can spoil: what passes, stalls, is refused, or is cut."""
import contextlib
import socket
import threading
import time

PASS, STALL, REFUSE = 'pass', 'stall', 'refuse'
CHUNK = 1 << 16
UNAVAILABLE = b'HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n'


class Relay:
    """Forwards connections from a port of its own to `port`; closed at the end of the `with`."""

    def __init__(self, port):
        self.target = port
        self.mode = PASS
        self.changed = threading.Condition()
        self.spoiled = threading.Event()  # something met the fault
        self.cut_at = None  # what the server must not be heard to say
        self.late = None  # what it is heard to say so many seconds later
        self.open = set()
        self.listener = socket.create_server(('127.0.0.1', 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.set(PASS)
        self.listener.close()
        for wire in list(self.open):
            end(wire)

    def endpoint(self):
        return f'http://127.0.0.1:{self.port}'

    def set(self, mode):
        with self.changed:
            self.mode = mode
            self.spoiled.clear()
            self.changed.notify_all()

    @contextlib.contextmanager
    def spoil(self, mode):
        self.set(mode)
        try:
            yield self.spoiled
        finally:
            self.set(PASS)

    @contextlib.contextmanager
    def cut(self, words):
        """Cuts the wire in place of delivering `words` from the server."""
        self.cut_at = words
        try:
            yield
        finally:
            self.cut_at = None

    @contextlib.contextmanager
    def delay(self, words, seconds):
        """Delivers `words` from the server that much later."""
        self.late = words, seconds
        try:
            yield
        finally:
            self.late = None

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            try:
                wire = client, socket.create_connection(('127.0.0.1', self.target))
            except OSError:
                client.close()  # as if it had asked the server itself, which is away
                continue
            self.open.add(wire)
            threading.Thread(target=self.up, args=wire, daemon=True).start()
            threading.Thread(target=self.down, args=wire, daemon=True).start()

    def up(self, client, server):
        """From the client. Its words are what stalls or is refused."""
        for words in heard(client):
            with self.changed:
                if self.mode != PASS:
                    self.spoiled.set()
                self.changed.wait_for(lambda: self.mode != STALL)
                refused = self.mode == REFUSE
            if refused:
                say(client, UNAVAILABLE)
                break
            if not say(server, words):
                break
        self.drop(client, server)

    def down(self, client, server):
        for words in heard(server):
            if self.cut_at and self.cut_at in words:
                self.spoiled.set()
                break
            if self.late and self.late[0] in words:
                self.spoiled.set()
                time.sleep(self.late[1])
            if not say(client, words):
                break
        self.drop(client, server)

    def drop(self, client, server):
        self.open.discard((client, server))
        end((client, server))


def heard(wire):
    while True:
        try:
            words = wire.recv(CHUNK)
        except OSError:
            return
        if not words:
            return
        yield words


def say(wire, words):
    try:
        wire.sendall(words)
    except OSError:
        return False
    return True


def end(wire):
    for side in wire:
        with contextlib.suppress(OSError):
            side.shutdown(socket.SHUT_RDWR)
        side.close()
