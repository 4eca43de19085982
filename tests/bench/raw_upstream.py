"""An upstream on bare sockets, for everything that real servers never do.

async with RawUpstream(LegacyServer(on={"tools/call": behaviours.hangs()})) as upstream:
    upstream.url()           # http://127.0.0.1:PORT/mcp
    upstream.received        # every request: headers, body bytes, number of its connection
"""

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol, Self

from bench import ports

_READ_LIMIT = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Received:
    """One request as it came, on the connection of that number (the first is 1)."""

    connection: int
    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes

    @property
    def path(self) -> str:
        """The target without its query."""
        return self.target.partition("?")[0]

    def header(self, name: str) -> str | None:
        """The first header of that name, whatever its case."""
        wanted = name.lower()
        return next((value for key, value in self.headers if key.lower() == wanted), None)

    @property
    def message(self) -> dict[str, Any]:
        """The JSON object in the body; empty where there is none."""
        try:
            found = json.loads(self.body)
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}

    @property
    def rpc_method(self) -> str:
        """The JSON-RPC method that the body names; empty where it names none."""
        return str(self.message.get("method", ""))

    @property
    def rpc_id(self) -> object:
        """The JSON-RPC id of the request."""
        return self.message.get("id")


class Wire:
    """The answering side of one connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def send(self, data: bytes) -> None:
        """Write these bytes, whatever they are."""
        self._writer.write(data)
        await self._writer.drain()

    async def hang(self) -> None:
        """Do nothing more until the caller has gone."""
        while await self._reader.read(65536):
            pass
        self._writer.close()

    async def finish(self) -> None:
        """Close the connection in the orderly way (FIN)."""
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()

    def reset(self) -> None:
        """Break the connection (RST)."""
        transport = self._writer.transport
        ports.linger_off(transport.get_extra_info("socket"))
        transport.abort()

    @property
    def is_closed(self) -> bool:
        """Whether this side has ended the connection."""
        return self._writer.is_closing()


class Behaviour(Protocol):
    """What the upstream does with one request; without a `finish` the connection stays open."""

    async def __call__(self, request: Received, wire: Wire) -> None: ...


class RawUpstream:
    """A listener on 127.0.0.1 with one behaviour for each path, or one for all.

    `stop` and `start` keep the port.
    """

    def __init__(self, behaviour: Behaviour | Mapping[str, Behaviour], *, port: int = 0) -> None:
        self._behaviours: dict[str, Behaviour] = {}
        self._any: Behaviour | None = None
        if isinstance(behaviour, Mapping):
            self._behaviours.update(behaviour)
        else:
            self._any = behaviour
        self.port = port
        self.received: list[Received] = []
        self.connections = 0
        self._server: asyncio.Server | None = None
        self._open: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self._faults: list[Exception] = []

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        await self.stop()
        if error is None and self._faults:
            raise self._faults[0]  # a stand-in that fails by itself proves nothing

    def url(self, path: str = "/mcp") -> str:
        """The URL of one path."""
        return f"http://{ports.LOOPBACK}:{self.port}{path}"

    def behave(self, behaviour: Behaviour, path: str = "") -> None:
        """From now on do this, on one path or on all that have no behaviour of their own."""
        if path:
            self._behaviours[path] = behaviour
        else:
            self._any = behaviour

    def requests(self, rpc_method: str = "", path: str = "") -> tuple[Received, ...]:
        """The requests so far, narrowed to a JSON-RPC method or a path."""
        return tuple(
            one
            for one in self.received
            if (not rpc_method or one.rpc_method == rpc_method) and (not path or one.path == path)
        )

    @property
    def open_connections(self) -> int:
        """How many connections are open now."""
        return len(self._open)

    async def start(self) -> None:
        """Listen; after a `stop`, on the same port."""
        self._server = await asyncio.start_server(
            self._serve, ports.LOOPBACK, self.port, limit=_READ_LIMIT
        )
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Refuse new connections and break the open ones."""
        if self._server is not None:
            self._server.close()
        tasks = list(self._open)
        for task in tasks:
            self._open[task].transport.abort()
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._server is not None:
            await self._server.wait_closed()
            self._server = None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.connections += 1
        self._open[task] = writer
        wire = Wire(reader, writer)
        try:
            await self._converse(self.connections, reader, wire)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the caller has gone, or the test has ended: neither is this side's concern
        except Exception as fault:
            self._faults.append(fault)
        finally:
            del self._open[task]
            writer.close()

    async def _converse(self, number: int, reader: asyncio.StreamReader, wire: Wire) -> None:
        while not wire.is_closed:
            request = await _read(number, reader)
            self.received.append(request)
            behaviour = self._behaviours.get(request.path, self._any)
            if behaviour is None:
                await wire.send(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            else:
                await behaviour(request, wire)


async def _read(number: int, reader: asyncio.StreamReader) -> Received:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, target, _ = head[0].split(" ")
    pairs = [line.partition(":") for line in head[1:] if line]
    headers = tuple((name, value.strip()) for name, _, value in pairs)
    lowered = {name.lower(): value for name, value in headers}
    if lowered.get("transfer-encoding", "").lower() == "chunked":
        body = await _read_chunks(reader)
    else:
        body = await reader.readexactly(int(lowered.get("content-length", "0")))
    return Received(number, method, target, headers, body)


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    pieces: list[bytes] = []
    while True:
        size = int((await reader.readline()).partition(b";")[0], 16)
        piece = await reader.readexactly(size)
        await reader.readline()
        if not size:
            return b"".join(pieces)
        pieces.append(piece)
