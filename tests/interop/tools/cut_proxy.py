"""Between a client and a service, for tests that take the connection away: bytes pass as they are until somebody cuts them off, and
are kept where they are read."""
import asyncio
import contextlib

from scp import Client
from tool_clients import client_of


class CutProxy:
    """Use as an asynchronous context. `port` is where it listens; `cut()` ends every connection at once, without a close."""

    def __init__(self, target, port=0):
        self.target, self.port = target, port
        self.writers, self.connections = set(), 0
        self.seen = bytearray()  # all that passed, of both sides

    async def __aenter__(self):
        self.server = await asyncio.start_server(self._serve, '127.0.0.1', self.port)
        self.port = self.server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_):
        self.server.close()
        self.cut()

    def client(self, service, kind=Client):
        """A client of `service` whose connections lead through here."""
        client = client_of(service, kind)
        if kind is Client:
            client.url = f'ws://127.0.0.1:{self.port}/scp/v3'
        else:
            client.options['url'] = f'ws://127.0.0.1:{self.port}'
        return client

    async def reopened(self):
        """Once a client has come back."""
        async with asyncio.timeout(60):
            while self.connections < 2:
                await asyncio.sleep(0.02)

    def cut(self):
        for writer in self.writers:
            writer.transport.abort()

    async def _serve(self, reader, writer):
        self.connections += 1
        other_reader, other = await asyncio.open_connection('127.0.0.1', self.target)
        pair = {writer, other}
        self.writers |= pair
        await asyncio.gather(self._copy(reader, other), self._copy(other_reader, writer))
        self.writers -= pair

    async def _copy(self, reader, writer):
        with contextlib.suppress(ConnectionError):
            while piece := await reader.read(65536):
                self.seen += piece
                writer.write(piece)
                await writer.drain()
        writer.close()
