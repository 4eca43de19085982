"""What agents that wait for changes are told, and when their streams end."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from bench import mcpport
from bench.catalogues import Known, built, definition, found, server
from bench.mcpport import Connection, McpPort
from bench.mcpstage import CAPABILITIES, MODERN, VERSION, rpc
from bench.waiting import until
from pointsman_router.catalogue import Catalogue
from pointsman_router.outlet import Pace

ID = "io.modelcontextprotocol/subscriptionId"
GITHUB, LONE = server("tools/github"), server("tools/lone")
FIRST = built(Known(GITHUB, found("search")), Known(LONE, found("find")))
WANTS_TOOLS = {"toolsListChanged": True}


def listen(
    port: McpPort, wanted: Any = WANTS_TOOLS, *, id_: str = '"listen:0"', path: str = "/mcp"
) -> bytes:
    described = {VERSION: MODERN, CAPABILITIES: {}}
    params = {"notifications": wanted, "_meta": described}
    return port.request(
        rpc("subscriptions/listen", json.dumps(params), id_=id_),
        path,
        MCP_Protocol_Version=MODERN,
        Mcp_Method="subscriptions/listen",
    )


@asynccontextmanager
async def listening(
    port: McpPort, wanted: Any = WANTS_TOOLS, **chosen: str
) -> AsyncIterator[tuple[Connection, Any]]:
    """An open stream, and what it was acknowledged with."""
    async with port.connected() as agent:
        await agent.send(listen(port, wanted, **chosen))
        begun = await agent.begun()
        assert begun.headers["content-type"] == "text/event-stream"
        yield agent, await agent.message()


def changed(*tools: str | bytes, previous: Catalogue = FIRST) -> Catalogue:
    """The catalogue after a change of one server's offer."""
    return built(Known(GITHUB, found(*tools)), Known(LONE, found("find")), previous=previous)


async def is_told(agent: Connection, port: McpPort) -> bool:
    """Whether the next message tells of a change; the end of all streams is the alternative."""
    port.end_subscriptions()
    message = await agent.message()
    return "method" in message


@pytest.mark.parametrize("id_", ['"listen:0"', "0", '"0"', "-7"])
@pytest.mark.parametrize(
    ("wanted", "honoured"),
    [
        (WANTS_TOOLS, WANTS_TOOLS),
        ({}, {}),
        ({"toolsListChanged": False}, {}),
        ({"promptsListChanged": True, "resourceSubscriptions": ["file:///x"]}, {}),
        ({"toolsListChanged": True, "resourcesListChanged": True}, WANTS_TOOLS),
    ],
    ids=["tools", "nothing", "no tools", "what nobody offers", "tools among others"],
)
async def test_a_stream_begins_with_what_will_be_told(wanted: Any, honoured: Any, id_: str) -> None:
    async with mcpport.serving(FIRST) as port, listening(port, wanted, id_=id_) as (_, first):
        assert first == {
            "jsonrpc": "2.0",
            "method": "notifications/subscriptions/acknowledged",
            "params": {"_meta": {ID: json.loads(id_)}, "notifications": honoured},
        }
        assert type(first["params"]["_meta"][ID]) is type(json.loads(id_))


async def test_a_change_of_the_list_is_told_once() -> None:
    async with mcpport.serving(FIRST) as port, listening(port) as (agent, _):
        port.catalogues.put(changed("search", "read"))
        told = await agent.message()
        port.catalogues.put(changed("search", "read", previous=port.catalogue()))

        assert told == {
            "jsonrpc": "2.0",
            "method": "notifications/tools/list_changed",
            "params": {"_meta": {ID: "listen:0"}},
        }
        assert not await is_told(agent, port)


@pytest.mark.parametrize(
    ("path", "after", "expected"),
    [
        ("/mcp", changed("read"), True),
        ("/mcp?names=safe", changed("read"), True),
        ("/mcp/servers/tools/github", changed("read"), True),
        ("/mcp/servers/tools/lone", changed("read"), False),
        ("/mcp", changed(definition("search", description="new")), True),
        ("/mcp", changed("search"), False),
        ("/mcp/servers/tools/github", built(Known(LONE, found("find"))), True),
        ("/mcp", built(), True),
    ],
    ids=[
        *("dotted", "safe", "the server that changed", "another server"),
        *("another description", "nothing", "the server that went", "all servers that went"),
    ],
)
async def test_only_who_sees_a_change_is_told_of_it(
    path: str, after: Catalogue, expected: bool
) -> None:
    async with mcpport.serving(FIRST) as port, listening(port, path=path) as (agent, _):
        port.catalogues.put(after)

        assert await is_told(agent, port) == expected


async def test_who_did_not_ask_for_tools_is_not_told_of_them() -> None:
    async with mcpport.serving(FIRST) as port, listening(port, {}) as (agent, _):
        port.catalogues.put(changed("read"))

        assert not await is_told(agent, port)


async def test_a_burst_of_changes_is_told_at_once_and_then_once_more() -> None:
    async with mcpport.serving(FIRST, pause_s=0.3) as port, listening(port) as (agent, _):
        port.catalogues.put(changed("a"))
        first = await agent.message()
        for number in range(20):
            port.catalogues.put(changed(f"tool{number}", previous=port.catalogue()))
        second = await agent.message()

        assert [first["method"], second["method"]] == ["notifications/tools/list_changed"] * 2
        assert not await is_told(agent, port)


async def test_an_end_on_purpose_is_a_response_and_the_connection_stays() -> None:
    async with mcpport.serving(FIRST) as port, listening(port, id_="7") as (agent, _):
        port.end_subscriptions()
        last = await agent.message()
        end = await agent.message()
        await agent.send(port.request(rpc("ping")))
        after = await agent.answer()

    assert last["id"] == 7
    assert last["result"]["resultType"] == "complete"
    assert last["result"]["_meta"][ID] == 7
    assert end is None
    assert after.document["result"] == {}


async def test_more_streams_than_are_held_are_refused_and_one_that_left_makes_room() -> None:
    async with mcpport.serving(FIRST, streams_max=1) as port:
        async with listening(port):
            refused = await port.exchange(listen(port, id_="9"))
        await until(lambda: not port.pulse.waiting, what="the first one has left")
        async with listening(port) as (_, first):
            assert first["method"] == "notifications/subscriptions/acknowledged"

    assert refused.verdict == (503, -32016)
    assert refused.document["id"] == 9
    assert "retry-after" in refused.headers


async def test_a_quiet_stream_shows_that_it_is_alive() -> None:
    pace = Pace(silence_s=0.2, stall_s=5.0)
    async with mcpport.serving(FIRST, pace=pace) as port, listening(port) as (agent, _):
        assert await agent.chunk() == b":\n\n"
        assert await agent.chunk() == b":\n\n"


async def test_a_hundred_streams_that_leave_leave_nothing_behind() -> None:
    async with mcpport.serving(FIRST) as port:
        agents = [port.connected() for _ in range(100)]
        connections = [await agent.__aenter__() for agent in agents]
        for connection in connections:
            await connection.send(listen(port))
            await connection.begun()
        port.catalogues.put(changed("read"))
        for agent in agents:
            await agent.__aexit__(None, None, None)
        await until(lambda: not port.pulse.waiting, what="every stream has ended")

        assert port.meter.in_flight == 0


@pytest.mark.parametrize("wanted", [[], "x", None, 5], ids=str)
async def test_a_filter_that_is_none_is_refused(wanted: Any) -> None:
    async with mcpport.serving(FIRST) as port:
        answer = await port.exchange(listen(port, wanted))

    assert answer.verdict == (200, -32602)


async def test_a_legacy_agent_has_nothing_to_listen_to() -> None:
    async with mcpport.serving(FIRST) as port:
        answer = await port.post(rpc("subscriptions/listen", '{"notifications":{}}'))

    assert answer.verdict == (200, -32601)


async def test_streams_end_first_when_the_router_does() -> None:
    async with mcpport.serving(FIRST) as port, listening(port) as (agent, _):
        port.end_subscriptions()
        await asyncio.wait_for(port.drain(5.0), 2.0)

        assert "result" in await agent.message()
