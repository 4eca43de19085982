"""The router's MCP port at work in this process, spoken to over bare sockets."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from bench import ports
from pointsman_router import admission
from pointsman_router.catalogue import Catalogue
from pointsman_router.current import Current
from pointsman_router.door import Door, Policy
from pointsman_router.listing import Form
from pointsman_router.port import listen
from pointsman_router.relay import Relay
from pointsman_router.respond import Identity, Outcome
from pointsman_router.upstream import Link

BODY_MAX_BYTES = 4096
BODY_S = 0.5
DRAIN_S = 1.0
_ANSWER_S = 10.0


@dataclass(frozen=True, slots=True)
class Answer:
    """One HTTP answer, as it came."""

    status: int
    headers: dict[str, str]
    """By their names in lower case."""
    body: bytes

    @property
    def document(self) -> Any:
        """The JSON in it."""
        return json.loads(self.body)

    @property
    def verdict(self) -> tuple[int, int | None]:
        """HTTP status, and the code of the JSON-RPC error if it is one."""
        document = json.loads(self.body) if self.body else {}
        error = document.get("error") if isinstance(document, dict) else None
        return self.status, error["code"] if error else None


@dataclass
class Meter:
    """Counts what the port and the relay report."""

    in_flight: int = 0
    ended_with: list[tuple[str | None, Outcome]] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    failures: list[tuple[str, str]] = field(default_factory=list)

    def began(self) -> None:
        self.in_flight += 1

    def ended(self, method: str | None, outcome: Outcome, seconds: float) -> None:
        assert seconds >= 0
        self.in_flight -= 1
        self.ended_with.append((method, outcome))

    def called(self, server: str, seconds: float) -> None:
        assert seconds >= 0
        self.calls.append(server)

    def failed(self, server: str, reason: str) -> None:
        self.failures.append((server, reason))


class Connection:
    """One connection of an agent's."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def send(self, data: bytes) -> None:
        """Send bytes as they are."""
        self._writer.write(data)
        await self._writer.drain()

    async def answer(self) -> Answer:
        """Read the next answer."""
        async with asyncio.timeout(_ANSWER_S):
            head = await self._reader.readuntil(b"\r\n\r\n")
            status, *lines = head.decode("latin-1").split("\r\n")[:-2]
            headers = {
                name.lower(): value.strip()
                for name, _, value in (line.partition(":") for line in lines)
            }
            body = await self._reader.readexactly(int(headers.get("content-length", "0")))
        return Answer(int(status.split()[1]), headers, body)

    async def is_closed(self) -> bool:
        """Wait until the router closes; False where it does not."""
        try:
            async with asyncio.timeout(_ANSWER_S):
                return await self._reader.read() == b""
        except (TimeoutError, ConnectionError):
            return False

    async def close(self) -> None:
        """Hang up."""
        self._writer.close()


class McpPort:
    """The port, and the parts behind it that a test may change while it serves."""

    def __init__(self, first: Catalogue) -> None:
        self.port = ports.free_port()
        self.catalogues: Current[Catalogue] = Current(first)
        self.links: dict[str, Link] = {}
        self.nudged: list[str] = []
        self.meter = Meter()

    def link(self, server: str) -> Link | None:
        """The way to a server."""
        return self.links.get(server)

    def catalogue(self) -> Catalogue:
        """The newest snapshot."""
        return self.catalogues.get()

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[Connection]:
        """Open a connection."""
        connection = Connection(*await asyncio.open_connection(ports.LOOPBACK, self.port))
        try:
            yield connection
        finally:
            await connection.close()

    async def exchange(self, data: bytes) -> Answer:
        """Send bytes on a connection of their own and return the answer."""
        async with self.connected() as connection:
            await connection.send(data)
            return await connection.answer()

    async def post(self, body: bytes, path: str = "/mcp", **headers: str | None) -> Answer:
        """Send a body; header names are written with `_` for `-`, None leaves a usual one out."""
        return await self.exchange(self.request(body, path, **headers))

    def request(self, body: bytes, path: str = "/mcp", **headers: str | None) -> bytes:
        """Return the bytes of a POST."""
        sent: dict[str, str | None] = {
            "Host": f"localhost:{self.port}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "Content-Length": str(len(body)),
        }
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        lines = [f"{name}: {value}" for name, value in sent.items() if value is not None]
        return "\r\n".join([f"POST {path} HTTP/1.1", *lines, "", ""]).encode() + body


@asynccontextmanager
async def serving(
    first: Catalogue, *, page_size: int = 100, hosts: tuple[str, ...] = ("localhost",)
) -> AsyncIterator[McpPort]:
    """Serve a catalogue; what it should reach is put into the port's `links`."""
    port = McpPort(first)
    relay = Relay(
        Identity("pointsman", "1.2.3", 60_000),
        page_size=page_size,
        link=port.link,
        nudge=port.nudged.append,
        meter=port.meter,
    )
    policy = Policy(admission.hosts(hosts), Form.DOTTED, BODY_MAX_BYTES, BODY_S, "pointsman")
    door = Door(policy, relay, current=port.catalogue, meter=port.meter)
    opened = await listen(
        door.serve, ports.LOOPBACK, port.port, name="pointsman", body_max_bytes=BODY_MAX_BYTES
    )
    try:
        yield port
    finally:
        await opened.leave(0, DRAIN_S)
        await opened.close()
