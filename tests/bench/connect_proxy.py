"""A proxy that opens tunnels, and what it was asked for."""

import asyncio
from contextlib import suppress
from typing import Self

from bench import ports

CONNECTED = b"HTTP/1.1 200 Connection established\r\nVia: 1.1 proxy\r\n\r\n"


class ConnectProxy:
    """A listener on 127.0.0.1 that answers CONNECT; every tunnel leads to one port."""

    def __init__(self, leads_to: int, answer: bytes = CONNECTED) -> None:
        self._leads_to = leads_to
        self._answer = answer
        self._server: asyncio.Server | None = None
        self._serving: set[asyncio.Task[None]] = set()
        self.asked: list[bytes] = []
        self.port = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, ports.LOOPBACK, 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        try:
            with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await self._tunnel(reader, writer)
        finally:
            writer.transport.abort()
            self._serving.discard(task)

    async def _tunnel(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.asked.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(self._answer)
        if not self._answer.startswith(CONNECTED[:12]):
            await reader.read()
            return
        behind_reader, behind_writer = await asyncio.open_connection(ports.LOOPBACK, self._leads_to)
        try:
            await asyncio.gather(_pump(reader, behind_writer), _pump(behind_reader, writer))
        finally:
            behind_writer.transport.abort()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.close()
