"""What is passed on travels as the bytes it came as, in all four cells."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest

from bench import agents, answers, stack
from bench.corpus import VALUES
from bench.directories import lay
from bench.legacy_server import LegacyServer
from bench.modern_server import MODERN, ModernServer
from bench.raw_upstream import RawUpstream, Received, Wire
from bench.waiting import until

LEGACY = "2025-11-25"
# A larger definition is left out of the list.
DEFINABLE = {name: raw for name, raw in VALUES.items() if len(raw) < 4096}
# Of these some clients lose the whole list: what is defined with one is left out.
UNREADABLE = {
    *("a lone surrogate", "two surrogates in the wrong order", "a lone surrogate as a key"),
    "beyond any double",
}
# A larger error object is only named.
_ERROR_MAX_BYTES = 64 * 1024
_META = (
    b'"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
    b'"io.modelcontextprotocol/clientCapabilities":{}'
)
CELLS = [
    pytest.param(agent, upstream, streamed, id=f"{agent} agent, {upstream} upstream, {form}")
    for agent in ("legacy", "modern")
    for upstream in ("legacy", "modern")
    for streamed, form in ((False, "JSON"), (True, "event stream"))
]


@dataclass
class Relayed:
    """A router with one upstream behind it, whose every answer carries one raw value."""

    url: str
    admin: str
    agent: str
    upstream: RawUpstream
    answering: "Answering"

    async def post(self, method: str, params: bytes, meta: bytes = b"") -> bytes:
        """What the router answers to a request of these raw members, with what is in `_meta`."""
        headers = {"MCP_Protocol_Version": LEGACY}
        if self.agent == "modern":
            headers = {"MCP_Protocol_Version": MODERN, "Mcp_Method": method}
            headers |= {"Mcp_Name": "up.tool"} if method == "tools/call" else {}
            meta = _META + (b"," + meta if meta else b"")
        members = [params] if params else []
        members += [b'"_meta":{' + meta + b"}"] if meta else []
        body = b'{"jsonrpc":"2.0","id":1,"method":"%b","params":{%b}}' % (
            method.encode(),
            b",".join(members),
        )
        answer = await agents.post(self.url, body, **headers)
        assert answer.status == 200, answer.body
        return answer.body

    async def left_out(self) -> dict[str, str]:
        """The tools that the router does not list, each with the reason."""
        async with aiohttp.ClientSession() as session, session.get(f"{self.admin}/status") as told:
            (server,) = (await told.json())["servers"]
        return {tool["name"]: tool["message"] for tool in server["skippedTools"]}

    def received(self) -> bytes:
        """The call as it came to the upstream last."""
        return self.upstream.requests("tools/call")[-1].body


class Answering:
    """Puts the raw value that is its turn into results, errors and lists."""

    def __init__(self, era: str, *, streamed: bool) -> None:
        self.raw = b"0"
        self.as_error = False
        self._era = era
        self._streamed = streamed

    async def call(self, request: Received, wire: Wire) -> None:
        """Answer a call."""
        if self.as_error:
            member = b'"error":{"code":-32050,"message":"not today","data":%b}' % self.raw
        else:
            member = b'"result":{"content":[%b],"structuredContent":{"v":%b},"_meta":{%b},%b}' % (
                b'{"type":"text","text":"t","annotations":{"x":%b}}' % self.raw,
                self.raw,
                b'"example.test/v":%b' % self.raw,
                b'"x-unknown":%b' % self.raw + self._complete(),
            )
        await self._send(request, wire, member)

    async def list(self, request: Received, wire: Wire) -> None:
        """Answer a list: one tool for each value, with it in its schema and beside it."""
        tools = [b'{"name":"tool","inputSchema":{"type":"object"}}']
        for number, raw in enumerate(DEFINABLE.values()):
            schema = b'{"type":"object","properties":{"p":{"const":%b}},"x-extra":%b}' % (raw, raw)
            tools.append(
                b'{"name":"t%d","inputSchema":%b,"x-unknown":%b,"_meta":{"example.test/v":%b}}'
                % (number, schema, raw, raw)
            )
        more = b',"ttlMs":60000,"cacheScope":"public"' if self._era == "modern" else b""
        member = b'"result":{"tools":[%b]%b%b}' % (b",".join(tools), self._complete(), more)
        await self._send(request, wire, member)

    def _complete(self) -> bytes:
        return b',"resultType":"complete"' if self._era == "modern" else b""

    async def _send(self, request: Received, wire: Wire, member: bytes) -> None:
        id_ = json.dumps(request.rpc_id).encode()
        message = b'{"jsonrpc":"2.0","id":%b,%b}' % (id_, member)
        if self._streamed:
            event = b"event: message\ndata: " + message + b"\n\n"
            await wire.send(answers.http_in_chunks(200, [event]))
        else:
            await wire.send(answers.http(200, message))


@asynccontextmanager
async def relayed(agent: str, era: str, streamed: bool, directory: Path) -> AsyncIterator[Relayed]:
    answering = Answering(era, streamed=streamed)
    on = {"tools/call": answering.call, "tools/list": answering.list}
    peer = LegacyServer(on=on) if era == "legacy" else ModernServer(on=on)
    async with RawUpstream(peer) as upstream:
        # Registered once the router is up: starting it holds up the loop that the upstream is in.
        with stack.router(directory) as (_, url, admin):
            lay(directory, "up", url=upstream.url())
            found = Relayed(url, admin, agent, upstream, answering)

            async def is_listed() -> bool:
                return b"up.tool" in await found.post("tools/list", b"")

            await until(is_listed, 20, "the upstream's tools are listed")
            yield found


@pytest.mark.parametrize(("agent", "era", "streamed"), CELLS)
async def test_not_one_byte_of_a_value_changes_on_its_way(
    agent: str, era: str, streamed: bool, tmp_path: Path
) -> None:
    changed: list[str] = []
    async with relayed(agent, era, streamed, tmp_path) as found:
        for name, raw in VALUES.items():
            found.answering.raw = raw
            params = b'"name":"up.tool","arguments":{"v":%b}' % raw
            result = await found.post("tools/call", params, b'"example.test/v":%b' % raw)
            came = found.received()
            found.answering.as_error = True
            error = await found.post("tools/call", b'"name":"up.tool","arguments":{}')
            found.answering.as_error = False
            places = {
                "arguments": (came, b'"arguments":{"v":%b}' % raw),
                "_meta of the request": (came, b'"example.test/v":%b' % raw),
                "content": (result, b'"annotations":{"x":%b}' % raw),
                "structuredContent": (result, b'"structuredContent":{"v":%b}' % raw),
                "_meta of the result": (result, b'"example.test/v":%b' % raw),
                "a member that nobody knows": (result, b'"x-unknown":%b' % raw),
            }
            if len(raw) < _ERROR_MAX_BYTES:
                places["an error's data"] = (error, b'"data":%b' % raw)
            changed += [
                f"{name}, in {place}"
                for place, (whole, member) in places.items()
                if not _holds(whole, member)
            ]

    assert changed == []


@pytest.mark.parametrize(("agent", "era", "streamed"), CELLS)
async def test_not_one_byte_of_a_definition_changes_on_its_way(
    agent: str, era: str, streamed: bool, tmp_path: Path
) -> None:
    async with relayed(agent, era, streamed, tmp_path) as found:
        listed = await found.post("tools/list", b"")
        left_out = await found.left_out()

    changed = [
        f"{name}, in {place}"
        for number, (name, raw) in enumerate(DEFINABLE.items())
        if name not in UNREADABLE
        for place, expected in {
            "the schema": b'{"type":"object","properties":{"p":{"const":%b}},"x-extra":%b}'
            % (raw, raw),
            "a member that nobody knows": b'"x-unknown":%b' % raw,
            "_meta": b'"example.test/v":%b' % raw,
        }.items()
        if not _holds(listed, expected)
    ]

    assert changed == []
    assert left_out.keys() == {
        f"t{number}" for number, name in enumerate(DEFINABLE) if name in UNREADABLE
    }
    assert {why.partition(" (")[0] for why in left_out.values()} == {
        "the tool's definition holds half of a surrogate pair",
        "numbers must be below 1.8e308",
    }


def _holds(whole: bytes, member: bytes) -> bool:
    """Whether that member is there, and its value ends where it should."""
    return member + b"," in whole or member + b"}" in whole
