"""Somebody between client and server who reads, changes, holds back and repeats messages."""
import asyncio
import contextlib

import websockets


class Meddler:
    """`edit(side, index, data)` sees the message number `index` of a `side` ('client' or 'server') and returns
    what goes on: data, or a list of data. `tls` is the context for a client that speaks TLS to it."""

    def __init__(self, service, edit, tls=None):
        self.service, self.edit, self.tls = service, edit, tls
        self.seen = []  # (side, data) as it came

    async def __aenter__(self):
        self.server = await websockets.serve(self._relay, '127.0.0.1', 0, subprotocols=['scp.v3.json'], compression=None, ssl=self.tls,
                                             max_size=16 << 20)
        port = self.server.sockets[0].getsockname()[1]
        self.url = f'{"wss" if self.tls else "ws"}://127.0.0.1:{port}/scp/v3'
        return self

    async def __aexit__(self, *_):
        self.server.close()
        await self.server.wait_closed()

    async def _relay(self, client):
        outward = self.service.authority.client_tls() if self.service.tls else None
        async with websockets.connect(self.service.url, subprotocols=['scp.v3.json'], compression=None, proxy=None, ssl=outward,
                                      max_size=16 << 20) as server:
            forth = asyncio.ensure_future(self._pass_on('client', client, server))
            back = asyncio.ensure_future(self._pass_on('server', server, client))
            await asyncio.wait([forth, back], return_when=asyncio.FIRST_COMPLETED)
            for source, target in ((client, server), (server, client)):
                if source.close_code is not None:
                    # 1005 and 1006 cannot be sent.
                    await target.close(source.close_code if source.close_code not in (1005, 1006) else 1000, source.close_reason or '')
            await asyncio.gather(forth, back, return_exceptions=True)

    async def _pass_on(self, side, source, target):
        index = 0
        with contextlib.suppress(websockets.ConnectionClosed):
            async for data in source:
                self.seen.append((side, data))
                edited = self.edit(side, index, data)
                for one in edited if isinstance(edited, list) else [edited]:
                    await target.send(one)
                index += 1
