"""The MCP port before one upstream, its calls on the express lane or kept off it."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

import pytest

from bench import answers, mcpport
from bench.catalogues import Known, built, definition, found, server
from bench.legacy_server import LegacyServer, tool
from bench.links import QUICK, linked
from bench.mcpport import PATIENT, Connection, McpPort, message_in
from bench.mcpstage import CAPABILITIES, MODERN, VERSION
from bench.modern_server import ModernServer
from bench.raw_upstream import Behaviour, RawUpstream, Received, Wire
from bench.waiting import until
from pointsman_contract.meta import Protocol
from pointsman_router.agentline import Connection as Line
from pointsman_router.catalogue import Catalogue
from pointsman_router.door import Door
from pointsman_router.express import Express, Flight
from pointsman_router.heads import Heard
from pointsman_router.outlet import Pace
from pointsman_router.upstream import Limits, Link

SERVER = "tools/github"
GITHUB = server(SERVER, timeout_s=1)
REGION = {"type": "string", "x-mcp-header": "Region"}
HEADED = definition("headed", inputSchema={"type": "object", "properties": {"region": REGION}})
LISTS = definition("lists", outputSchema={"type": "array"})
CATALOGUE = built(Known(GITHUB, found("search", "read", HEADED, LISTS)))
LOG_LEVEL = "io.modelcontextprotocol/logLevel"

Peer = LegacyServer | ModernServer


@dataclass
class Takes:
    """Which requests with a familiar head were offered to the lane, and which of them it took."""

    taken: list[bool] = field(default_factory=list)
    is_open: bool = True
    """Whether it is asked at all."""
    landed: int = 0
    """How many calls were answered without a task."""


def recorded(patch: pytest.MonkeyPatch) -> Takes:
    """What the lane takes from now on."""
    seen, take, land = Takes(), Express.take, Door.land

    def recording(self: Express, line: Line, heard: Heard) -> bool:
        taken = seen.is_open and take(self, line, heard)
        seen.taken.append(taken)
        return taken

    def landing(self: Door, flight: Flight, answer: bytes) -> None:
        seen.landed += 1
        land(self, flight, answer)

    patch.setattr(Express, "take", recording)
    patch.setattr(Door, "land", landing)
    return seen


@dataclass(frozen=True, slots=True)
class Told:
    """An answer, whole: of a stream, all that was sent on it."""

    status: int
    headers: tuple[tuple[str, str], ...]
    """But for the time of day."""
    body: bytes


async def told(agent: Connection) -> Told:
    """Read the next answer, be it a stream."""
    begun = await agent.begun()
    if begun.headers.get("transfer-encoding") == "chunked":
        body = b""
        while chunk := await agent.chunk():
            message_in(chunk)
            body += chunk
    else:
        body = await agent.exactly(int(begun.headers["content-length"]))
    headers = tuple((name, value) for name, value in begun.headers.items() if name != "date")
    return Told(begun.status, headers, body)


async def told_by(agent: Connection, request: bytes) -> Told:
    """Send a request, and read its answer."""
    await agent.send(request)
    return await told(agent)


def refusal(answer: Told) -> dict[str, object]:
    """Why a call has no result of its own."""
    found = json.loads(answer.body)["result"]["_meta"]["pointsman.dev/refusal"]
    assert isinstance(found, dict)
    return found


async def turns() -> None:
    """Let what was sent be read by whoever is in this loop too."""
    for _ in range(4):
        await asyncio.sleep(0)


def requests_in_tasks() -> int:
    """How many requests with a familiar head are in tasks."""
    return sum(task.get_name() == "request" for task in asyncio.all_tasks())


Spell = Callable[..., bytes]
"""A call as some agent spells it, by the port, and then by name, arguments and id."""


def legacy(
    port: McpPort,
    name: str = "github.search",
    arguments: str = "{}",
    id_: str = "1",
    meta: str = "",
    path: str = "/mcp",
    **headers: str | None,
) -> bytes:
    """A call of an agent of 2025-11-25."""
    described = f',"_meta":{meta}' if meta else ""
    params = f'{{"name":"{name}","arguments":{arguments}{described}}}'
    body = f'{{"jsonrpc":"2.0","id":{id_},"method":"tools/call","params":{params}}}'
    return port.request(body.encode(), path, **{"MCP_Protocol_Version": "2025-11-25"} | headers)


def modern(
    port: McpPort,
    name: str = "github.search",
    arguments: str = "{}",
    id_: str = "1",
    more: str = "",
    **headers: str | None,
) -> bytes:
    """A call of a modern agent, with blanks as some writers put them."""
    meta = f'{{"{VERSION}": "{MODERN}", "{CAPABILITIES}": {{}}{more}}}'
    params = f'{{"_meta": {meta}, "name": "{name}", "arguments": {arguments}}}'
    body = f'{{"method": "tools/call", "params": {params}, "jsonrpc": "2.0", "id": {id_}}}'
    sent = {"MCP_Protocol_Version": MODERN, "Mcp_Method": "tools/call", "Mcp_Name": name}
    return port.request(body.encode(), "/mcp", **sent | headers)


def modern_with_logs(
    port: McpPort, name: str = "github.search", arguments: str = "{}", id_: str = "1"
) -> bytes:
    """A call of a modern agent that wants to hear what is logged."""
    return modern(port, name, arguments, id_, f', "{LOG_LEVEL}": "info"')


def legacy_without_streams(
    port: McpPort, name: str = "github.search", arguments: str = "{}", id_: str = "1"
) -> bytes:
    """A call of an agent that takes no stream."""
    return legacy(port, name, arguments, id_, Accept="application/json")


@dataclass
class Expressway:
    """The port, the upstream behind it, and which calls were carried without a task."""

    port: McpPort
    upstream: RawUpstream
    peer: Peer
    link: Link
    takes: Takes

    @property
    def calls(self) -> tuple[Received, ...]:
        """The calls that the upstream saw."""
        return self.upstream.requests("tools/call")

    def spoil(self, behaviour: Behaviour) -> None:
        """Have the upstream do that with every call."""
        self.peer.on["tools/call"] = behaviour

    def mend(self) -> None:
        """Have it answer again."""
        self.peer.on.pop("tools/call", None)

    async def warm(self, agent: Connection, *requests: bytes) -> None:
        """Send requests until the lane takes them, each of which the upstream answers."""
        for request in requests:
            for _ in range(3):
                await agent.send(request)
                await told(agent)
            assert self.takes.taken[-1], "the third of a kind is taken"

    async def ask(self, agent: Connection, request: bytes) -> Told:
        """Send one, and read its answer; nobody is at work for it any more."""
        await agent.send(request)
        answer = await told(agent)
        await until(lambda: self.port.meter.in_flight == 0, every_s=0.001)
        return answer

    async def idle(self) -> None:
        """Wait until the upstream has an idle connection."""
        await until(lambda: self.link._wire._pool._idle, every_s=0.001)


@asynccontextmanager
async def running(
    takes: Takes,
    peer: Peer | None = None,
    *,
    limits: Limits = QUICK,
    catalogue: Catalogue = CATALOGUE,
    pace: Pace = PATIENT,
) -> AsyncIterator[Expressway]:
    """Serve, and leave neither a request nor a connection behind."""
    peer = peer or LegacyServer()
    peer.tools = [tool("search"), tool("read"), tool("headed"), tool("lists")]
    protocol = Protocol.MODERN if isinstance(peer, ModernServer) else Protocol.LEGACY
    async with AsyncExitStack() as stack:
        upstream = await stack.enter_async_context(RawUpstream(peer))
        link = await stack.enter_async_context(linked(upstream.url(), limits, protocol=protocol))
        port = await stack.enter_async_context(mcpport.serving(catalogue, pace=pace))
        port.links[SERVER] = link
        yield Expressway(port, upstream, peer, link, takes)
        await until(lambda: port.meter.in_flight == 0, what="every request has ended")


def raw(result: bytes, *, charset: str = "", **headers: str) -> Behaviour:
    """A result byte for byte."""

    async def behave(request: Received, wire: Wire) -> None:
        body = b'{"jsonrpc":"2.0","id":"%b","result":%b}' % (str(request.rpc_id).encode(), result)
        kind = answers.JSON + (f"; charset={charset}" if charset else "")
        await wire.send(answers.http(200, body, kind, headers))

    return behave
