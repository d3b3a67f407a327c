"""In front of an MCP endpoint, for programs that cannot be told a token: adds it to each request, and passes all else on as it is."""
import asyncio
import contextlib
import threading


class BearerProxy:
    def __init__(self, port, token):
        self.target, self.token = port, token
        self.loop = asyncio.new_event_loop()
        started = threading.Event()
        self.thread = threading.Thread(target=self._run, args=(started,), daemon=True)
        self.thread.start()
        started.wait(10)

    def stop(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)

    def _run(self, started):
        asyncio.set_event_loop(self.loop)
        server = self.loop.run_until_complete(asyncio.start_server(self._serve, '127.0.0.1', 0))
        self.port = server.sockets[0].getsockname()[1]
        started.set()
        self.loop.run_forever()

    async def _serve(self, reader, writer):
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            other_reader, other_writer = await asyncio.open_connection('127.0.0.1', self.target)
            answers = asyncio.create_task(self._copy(other_reader, writer))
            requests = asyncio.create_task(self._requests(reader, other_writer))
            await asyncio.wait([answers, requests], return_when=asyncio.FIRST_COMPLETED)
            for task in (answers, requests):
                task.cancel()
            other_writer.close()
        writer.close()

    async def _requests(self, reader, writer):
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                head = await reader.readuntil(b'\r\n\r\n')
                first, rest = head.split(b'\r\n', 1)
                writer.write(first + b'\r\nAuthorization: Bearer ' + self.token.encode() + b'\r\n' + rest)
                await self._body(head.lower(), reader, writer)
                await writer.drain()

    async def _body(self, head, reader, writer):
        for line in head.split(b'\r\n'):
            if line.startswith(b'content-length:'):
                writer.write(await reader.readexactly(int(line.split(b':')[1])))
            if line.startswith(b'transfer-encoding:'):
                while True:
                    size = await reader.readuntil(b'\r\n')
                    writer.write(size + await reader.readexactly(int(size, 16) + 2))
                    if int(size, 16) == 0:
                        break

    async def _copy(self, reader, writer):
        with contextlib.suppress(ConnectionError):
            while piece := await reader.read(65536):
                writer.write(piece)
                await writer.drain()
