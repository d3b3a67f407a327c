"""A client that can be made to misbehave: each step of the handshake apart, each message as it is wanted."""
import asyncio
import os
import pathlib
import time

import websockets
from tool_clients import client_of
from scp import Client
from scp.canonical import canonical, parse
from scp.client import make_ulid
from scp.keys import b64

# Section 11 of docs/wire-3.0.md.
CLOSE = {'E_PARSE': 4400, 'E_SHAPE': 4400, 'E_OP': 4400, 'E_VERSION': 4426, 'E_STATE': 4400, 'E_AUTH': 4401, 'E_EXPIRED': 4401,
         'E_REPLAY': 4409, 'E_STALE': 4409, 'E_SIG': 4401, 'E_LIMIT': 4413, 'E_BUSY': 4503, 'E_TIMEOUT': 4408}


def run(coroutine, seconds=60):
    return asyncio.run(asyncio.wait_for(coroutine, seconds))


class Raw(Client):
    """Steps: dial, hello, auth; or all at once with `to`."""

    async def to(self, state):
        await self.dial()
        if state == 'CONNECTED':
            return self
        await self.socket.send(self._make_hello())
        self._take_welcome(await self._receive())
        if state == 'NEGOTIATED':
            return self
        await self.socket.send(self._encode(self._make_auth(), self.th1))
        if state == 'AUTHENTICATING':
            return self
        self._take_ready(self._decode(await self._receive(), self.th1))
        return self

    @property
    def transcript(self):
        return getattr(self, 'th2', None) or self.th1

    def request(self, op, payload=None, kind='req', **members):
        """An envelope; `members` replace those made here, None takes one away."""
        node = getattr(self, 'node', '*')
        message = {**self._envelope(kind, op, payload or {}, '*' if op == 'session.hello' else node), **members}
        return {name: value for name, value in message.items() if value is not None}

    def protected(self, message):
        """The bytes of `message` as the session would send it; before welcome, plain text."""
        return self._encode(message, self.transcript) if hasattr(self, 'th1') else canonical(message).decode()

    @staticmethod
    def _decode_own(text):
        """A signed message as an object again, to be changed."""
        return parse(text)

    async def send(self, message):
        await self.socket.send(self.protected(message))

    async def ask(self, op, payload=None, **members):
        """The answer to a request, whatever it is."""
        await self.send(self.request(op, payload, **members))
        return await self.receive()

    async def receive(self, seconds=15):
        data = await asyncio.wait_for(self.socket.recv(), seconds)
        return self._decode(data, self.transcript) if hasattr(self, 'th1') else parse(data)

    async def refusal(self, seconds=15):
        """The code of the err that comes, or None, and the close code that ends the connection."""
        code = None
        try:
            while True:
                message = await self.receive(seconds)
                if message['t'] == 'err':
                    code = message['p']['code']
        except websockets.ConnectionClosed:
            return code, self.socket.close_code

    async def is_alive(self):
        answer = await self.ask('session.ping')
        return answer['t'] == 'res'

    async def close(self):
        if hasattr(self, 'socket'):
            self.socket.transport.abort()
            await self.socket.wait_closed()


def raw_of(service, **changes):
    """`Raw` with the credentials of the mode."""
    return client_of(service, kind=Raw, **changes)


def rss_kib(service):
    """Resident memory of the service's process."""
    status = pathlib.Path(f'/proc/{service.process.pid}/status').read_text()
    return int(next(line for line in status.splitlines() if line.startswith('VmRSS')).split()[1])


def nonce():
    return b64(os.urandom(16))


def now_ms():
    return time.time_ns() // 1_000_000


__all__ = ['CLOSE', 'Raw', 'make_ulid', 'nonce', 'now_ms', 'raw_of', 'rss_kib', 'run']
