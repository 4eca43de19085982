"""The real peers, met directly: what the tests of the router may take for granted."""

import json
from collections.abc import Iterator

import pytest
from mcp import Client, MCPError
from mcp_types import TextContent

from bench import peers
from bench.peers import Peer

ADD = ("add", {"a": 2, "b": 3}, "5")
ECHO = ("echo", {"message": "hi"}, "Echo: hi")


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize(
    ("peer", "call", "newest"),
    [
        pytest.param("sdk_server", ADD, "2026-07-28", id="SDK 2"),
        pytest.param("sdk1_server", ADD, "2025-11-25", id="SDK 1"),
        pytest.param("everything_server", ECHO, "2025-11-25", id="everything"),
    ],
)
async def test_the_official_client_lists_and_calls_each_real_server(
    peer: str,
    call: tuple[str, dict[str, object], str],
    newest: str,
    mode: str,
    request: pytest.FixtureRequest,
) -> None:
    served: Peer = request.getfixturevalue(peer)
    name, arguments, expected = call

    async with Client(served.url, mode=mode) as client:
        listed = await client.list_tools()
        called = await client.call_tool(name, arguments)
        spoken = client.protocol_version

    assert name in {tool.name for tool in listed.tools}
    assert called.content == [TextContent(text=expected)]
    assert spoken == (newest if mode == "auto" else "2025-11-25")


async def test_the_rich_server_offers_what_a_relay_must_not_lose(sdk_server: Peer) -> None:
    async with Client(sdk_server.url) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        rich = await client.call_tool("rich", {})
        failed = await client.call_tool("fail", {})
        with pytest.raises(MCPError, match="not today"):
            await client.call_tool("refuse", {})

    assert tools["rich"].input_schema["$defs"]["place"]["$anchor"] == "place"
    assert tools["echo"].meta == {"example.test/team": {"owners": ["a", "b"]}}
    assert tools["echo"].icons is not None
    assert tools["add"].output_schema is not None
    assert "files/read.all v2" in tools
    assert rich.meta is not None
    assert rich.meta["example.test/trace"] == {"id": "abc"}
    assert failed.is_error


async def test_arguments_come_back_as_they_went(sdk_server: Peer) -> None:
    sent = {"text": "grüße 世界 🚂", "deep": [{"n": 1.5, "none": None}], "true": True}

    async with Client(sdk_server.url) as client:
        called = await client.call_tool("echo", sent)

    assert isinstance(called.content[0], TextContent)
    assert json.loads(called.content[0].text) == sent
    assert called.structured_content == sent


@pytest.fixture
def paged() -> Iterator[Peer]:
    with peers.sdk_server("--pages", "3", "--era", "legacy", "--sessionless", "--json") as peer:
        yield peer


async def test_a_long_list_has_pages_and_one_era_only(paged: Peer) -> None:
    names: list[str] = []
    async with Client(paged.url) as client:
        cursor = None
        while True:
            page = await client.list_tools(cursor=cursor)
            names += [tool.name for tool in page.tools]
            if (cursor := page.next_cursor) is None:
                break
        spoken = client.protocol_version

    assert len(names) == len(set(names)) == 8 + 3 * 20
    assert spoken == "2025-11-25"


async def test_a_restarted_server_is_on_its_port_and_knows_no_session() -> None:
    with peers.sdk1_server() as peer:
        async with Client(peer.url, mode="legacy") as client:
            await client.list_tools()
            peer.restart()

            with pytest.raises(MCPError, match=r"[Ss]ession"):
                await client.list_tools()
