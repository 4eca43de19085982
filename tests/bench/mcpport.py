"""The router's MCP port at work in this process, spoken to over bare sockets."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, cast

from bench import ports
from bench.waiting import until
from pointsman_router import admission, upstream
from pointsman_router.catalogue import Catalogue
from pointsman_router.current import Current
from pointsman_router.door import Door
from pointsman_router.forwarding import Forwarding, Link
from pointsman_router.listing import Form
from pointsman_router.outlet import Pace, Pulse
from pointsman_router.port import listen
from pointsman_router.reception import Policy
from pointsman_router.relay import Relay
from pointsman_router.respond import Identity, Outcome
from pointsman_router.searching import Searching
from pointsman_router.subscriptions import Subscriptions
from pointsman_router.upstream import Calls

BODY_MAX_BYTES = 4096
BODY_S = 0.5
CLOSE_S = 1.0
_ANSWER_S = 10.0
_PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
_NOTE = b'{"jsonrpc":"2.0","method":"notifications/nothing"}'


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
            begun = await self.begun()
            length = int(begun.headers.get("content-length", "0"))
            body = await self._reader.readexactly(length)
        return replace(begun, body=body)

    async def begun(self) -> Answer:
        """Read the head of the next answer."""
        async with asyncio.timeout(_ANSWER_S):
            head = await self._reader.readuntil(b"\r\n\r\n")
        status, *lines = head.decode("latin-1").split("\r\n")[:-2]
        headers = {
            name.lower(): value.strip()
            for name, _, value in (line.partition(":") for line in lines)
        }
        return Answer(int(status.split()[1]), headers, b"")

    async def chunk(self) -> bytes:
        """Read the next chunk of a stream; the last one is empty."""
        async with asyncio.timeout(_ANSWER_S):
            size = int(await self._reader.readuntil(b"\r\n"), 16)
            data = await self._reader.readexactly(size)
            await self._reader.readexactly(2)
        return data

    async def message(self) -> Any:
        """Read the next message of a stream; comments are passed over, None is its end."""
        while (event := await self.chunk()).startswith(b":"):
            pass
        return message_in(event) if event else None

    async def exactly(self, size: int) -> bytes:
        """Read so many bytes."""
        async with asyncio.timeout(_ANSWER_S):
            return await self._reader.readexactly(size)

    async def rest(self) -> bytes:
        """Read until the router closes."""
        async with asyncio.timeout(_ANSWER_S):
            return await self._reader.read()

    async def is_closed(self) -> bool:
        """Wait until the router closes; False where it does not."""
        try:
            async with asyncio.timeout(_ANSWER_S):
                return await self._reader.read() == b""
        except (TimeoutError, ConnectionError):
            return False

    def stop_reading(self) -> None:
        """Leave what comes in the kernel."""
        self._reading.pause_reading()

    def read_on(self) -> None:
        """Take it from there again."""
        self._reading.resume_reading()

    async def is_cut(self) -> bool:
        """Read again, and say whether the router cut the connection before the answer's end."""
        self.read_on()
        try:
            await self.answer()
        except (asyncio.IncompleteReadError, ConnectionError):
            return True
        return False

    async def close(self) -> None:
        """Hang up."""
        self._writer.close()

    @property
    def _reading(self) -> asyncio.ReadTransport:
        # uvloop's transports are of none of asyncio's classes.
        return cast(asyncio.ReadTransport, self._writer.transport)


def message_in(event: bytes) -> Any:
    """The JSON of one event, which has to be framed as agents know it."""
    begin, end = b"event: message\ndata: ", b"\n\n"
    assert event.startswith(begin)
    assert event.endswith(end)
    assert b"\n" not in event[len(begin) : -len(end)]
    return json.loads(event[len(begin) : -len(end)])


class McpPort:
    """The port, and the parts behind it that a test may change while it serves."""

    def __init__(self, first: Catalogue, pulse: Pulse, *, familiar: bool = False) -> None:
        self.pulse = pulse
        self.familiar = familiar
        """Whether what is sent follows other requests, so that usual heads are known already."""
        self.port = ports.free_port()
        self.catalogues: Current[Catalogue] = Current(first)
        self.links: dict[str, Link] = {}
        self.moved: dict[str, str] = {}
        """Where a server is now, which the snapshot does not know yet."""
        self.nudged: list[str] = []
        self.renewed: list[str] = []
        self.on_renewal: Callable[[], None] = lambda: None
        self.meter = Meter()
        self.end_subscriptions: Callable[[], None] = lambda: None
        self.drain: Callable[[float], Coroutine[None, None, None]] = asyncio.sleep
        self.close: Callable[[], Coroutine[None, None, None]]

    def link(self, server: str, url: str | None) -> Link | None:
        """The way to a server, where it is at this url."""
        return self.links.get(server) if self.moved.get(server, url) == url else None

    def calls(self, server: str, url: str | None) -> Calls | None:
        """The way of calls that need no task; scripted links have none."""
        link = self.link(server, url)
        return link.calls if isinstance(link, upstream.Link) else None

    def catalogue(self) -> Catalogue:
        """The newest snapshot."""
        return self.catalogues.get()

    async def renew(self, server: str) -> Catalogue:
        """List a server again."""
        self.renewed.append(server)
        self.on_renewal()
        return self.catalogues.get()

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[Connection]:
        """Open a connection."""
        connection = Connection(*await asyncio.open_connection(ports.LOOPBACK, self.port))
        try:
            if self.familiar:
                await self._become_familiar(connection, self.request(_PING))
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
        data = self.request(body, path, **headers)
        if not self.familiar or not {"Content_Length", "Connection", "Expect"}.isdisjoint(headers):
            return await self.exchange(data)
        async with self.connected() as connection:
            await self._become_familiar(connection, self.request(_NOTE, path, **headers))
            await connection.send(data)
            return await connection.answer()

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

    async def _become_familiar(self, connection: Connection, data: bytes) -> None:
        counted, in_flight = len(self.meter.ended_with), self.meter.in_flight
        for _ in range(2):
            await connection.send(data)
            await connection.answer()
        await until(lambda: self.meter.in_flight <= in_flight)
        del self.meter.ended_with[counted : counted + 2]


PATIENT = Pace(silence_s=15.0, stall_s=30.0)


@asynccontextmanager
async def serving(
    first: Catalogue,
    *,
    page_size: int = 100,
    hosts: tuple[str, ...] = ("localhost",),
    pace: Pace = PATIENT,
    streams_max: int = 100,
    pause_s: float = 0.0,
    familiar: bool = False,
) -> AsyncIterator[McpPort]:
    """Serve a catalogue; what it should reach is put into the port's `links`."""
    port = McpPort(first, Pulse(pace), familiar=familiar)
    subscriptions = Subscriptions(port.catalogue, streams_max=streams_max, pause_s=pause_s)
    port.catalogues.on_change(subscriptions.changed)
    port.end_subscriptions = subscriptions.end
    searching = Searching(port.catalogue)
    port.catalogues.on_change(searching.changed)
    relay = Relay(
        Identity("pointsman", "1.2.3", 60_000),
        page_size=page_size,
        forwarding=Forwarding(link=port.link, nudge=port.nudged.append, meter=port.meter),
        renewed=port.renew,
        subscriptions=subscriptions,
        search=searching.find,
    )
    policy = Policy(admission.hosts(hosts), Form.DOTTED, BODY_MAX_BYTES, BODY_S, "pointsman")
    door = Door(
        policy, relay, port.pulse, current=port.catalogue, calls=port.calls, meter=port.meter
    )
    port.drain = door.drain
    opened = await listen(
        door.serve,
        ports.LOOPBACK,
        port.port,
        quick=door.quick,
        name="pointsman",
        body_max_bytes=BODY_MAX_BYTES,
        close_s=CLOSE_S,
    )
    port.close = opened.close
    try:
        yield port
    finally:
        await opened.close()
        searching.close()
