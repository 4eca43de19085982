"""What agents meet at the endpoints of views, as bytes of an HTTP answer."""

import json
from collections.abc import AsyncIterator

import pytest

from bench import mcpport
from bench.catalogues import built
from bench.mcpport import McpPort
from bench.mcpstage import CAPABILITIES, MODERN, VERSION, call, modern, names, rpc
from bench.viewing import CATALOGUE, GITHUB, VIEWS

LIST = rpc("tools/list")


@pytest.fixture(params=[False, True], ids=["a new head", "behind familiar heads"])
async def port(request: pytest.FixtureRequest) -> AsyncIterator[McpPort]:
    async with mcpport.serving(CATALOGUE, familiar=request.param) as serving:
        yield serving


@pytest.mark.parametrize(
    ("path", "listed"),
    [
        ("/mcp/views/tools/support", ["github.search"]),
        ("/mcp/views/tools/support/", ["github.search"]),
        ("/mcp/views/tools/support?names=safe", ["github__search"]),
        ("/mcp/views/tools/support?names=dotted", ["github.search"]),
        ("/mcp/views/tools/bare", ["close", "delete", "github.search", "tickets.search"]),
        (
            "/mcp/views/tools/bare?names=safe",
            ["close", "delete", "github__search", "tickets__search"],
        ),
        ("/mcp/views/tools/broken", []),
        ("/mcp/views/lone", []),
    ],
)
async def test_every_view_lists_its_own_tools(port: McpPort, path: str, listed: list[str]) -> None:
    assert names(await port.post(LIST, path)) == listed


@pytest.mark.parametrize(
    "path",
    [
        *("/mcp/views", "/mcp/views/", "/mcp/views/tools/nobody", "/mcp/views/support"),
        *("/mcp/views/dev/support", "/mcp/views/tools%2Fsupport", "/mcp/views/TOOLS/support"),
        *("/mcp/views/tools/github", "/mcp/views/tools/support/x", "/mcp/views//lone"),
        *("/mcp/servers/tools/support", "/mcp/view/tools/support"),
    ],
)
async def test_an_unknown_view_is_not_found_and_never_the_whole(port: McpPort, path: str) -> None:
    unknown = await port.post(LIST, path)

    assert unknown.verdict == (404, -32600)
    assert unknown.body == (await port.post(LIST, "/mcp/servers/tools/nobody")).body


async def test_a_view_that_is_removed_is_not_found_at_once(port: McpPort) -> None:
    path = "/mcp/views/tools/support"
    before = await port.post(LIST, path)
    port.catalogues.put(built(GITHUB, views=VIEWS[1:], previous=CATALOGUE))
    after = await port.post(LIST, path)
    port.catalogues.put(CATALOGUE)

    assert names(before) == ["github.search"]
    assert after.verdict == (404, -32600)


async def test_the_names_of_the_list_must_be_of_a_form(port: McpPort) -> None:
    assert (await port.post(LIST, "/mcp/views/tools/support?names=bare")).verdict == (400, -32600)


@pytest.mark.parametrize("at", ["tools/support", "tools/bare", "tools/broken", "lone"])
async def test_a_name_outside_the_view_is_refused_in_the_same_bytes_as_any_unknown_one(
    port: McpPort, at: str
) -> None:
    path = f"/mcp/views/{at}"
    for outside in ("all.find", "all__find"):
        unknown = await port.post(call("x" * len(outside)), path)
        known = await port.post(call(outside), path)

        assert known.verdict == (200, -32602)
        assert known.body.replace(outside.encode(), b"x" * len(outside)) == unknown.body
    assert (await port.post(call("echo"), path)).verdict == (200, -32602)


async def test_a_list_names_the_revision_of_its_view(port: McpPort) -> None:
    async def revision(path: str) -> object:
        return (await port.post(LIST, path)).document["result"]["_meta"]["pointsman.dev/catalogue"]

    support, bare, whole = [
        await revision(path)
        for path in ("/mcp/views/tools/support", "/mcp/views/tools/bare", "/mcp")
    ]

    assert support == CATALOGUE.views["tools/support"].revision
    assert len({support, bare, whole}) == 3
    prompts = await port.post(rpc("prompts/list"), "/mcp/views/tools/support")
    assert prompts.document["result"]["_meta"]["pointsman.dev/catalogue"] == support


async def test_a_view_advertises_tools_alone(port: McpPort) -> None:
    opening = rpc("initialize", '{"protocolVersion":"2025-11-25","capabilities":{}}')
    path = "/mcp/views/tools/all"
    legacy = (await port.post(opening, path)).document["result"]["capabilities"]
    meta = json.dumps({"_meta": {VERSION: MODERN, CAPABILITIES: {}}})
    discovered = await port.post(
        rpc("server/discover", meta),
        path,
        MCP_Protocol_Version=MODERN,
        Mcp_Method="server/discover",
    )
    whole = await modern(port, "server/discover")

    assert legacy == {"logging": {}, "tools": {"listChanged": False}}
    assert discovered.document["result"]["capabilities"] == {
        "logging": {},
        "tools": {"listChanged": True},
    }
    assert set(whole.document["result"]["capabilities"]) == {
        *("completions", "logging", "prompts", "resources", "tools")
    }
