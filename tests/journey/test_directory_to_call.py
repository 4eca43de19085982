"""From a folder of meta.json files to a tool's result: the router as a process, real servers."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from bench import agents, peers, stack
from bench.legacy_server import LegacyServer, tool
from bench.peers import Peer
from bench.processes import Program
from bench.raw_upstream import RawUpstream
from bench.registered import register, unregister, view, write
from bench.waiting import until

SOON_S = 5.0


class Router:
    """A running router over a folder."""

    def __init__(self, program: Program, url: str, admin: str, directory: Path) -> None:
        self.program = program
        self.url = url
        self.admin = admin
        self.directory = directory

    async def report(self) -> dict[str, dict[str, Any]]:
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"{self.admin}/status") as response,
        ):
            document = await response.json()
        return {server["id"]: server for server in document["servers"]}

    async def serves(self, *names: str) -> dict[str, Any]:
        async def listed() -> dict[str, Any] | None:
            found = await agents.tools(self.url)
            return found if set(names) <= set(found) else None

        return await until(listed, SOON_S, f"{names} are listed")


@pytest.fixture
def router(tmp_path: Path) -> Iterator[Router]:
    directory = tmp_path / "servers"
    directory.mkdir()
    with stack.router(directory) as (program, url, admin):
        yield Router(program, url, admin, directory)


@pytest.mark.parametrize("mode", agents.MODES)
async def test_a_fresh_router_echoes(router: Router, mode: str) -> None:
    result = await agents.call(router.url, "echo", {"text": "hello"}, mode)

    assert result.content[0].text == "hello"


@pytest.mark.parametrize("mode", agents.MODES)
@pytest.mark.parametrize(
    ("server", "tool_name", "arguments", "expected"),
    [
        pytest.param("sdk_server", "add", {"a": 2, "b": 3}, "5", id="official SDK 2.x"),
        pytest.param("sdk1_server", "add", {"a": 2, "b": 3}, "5", id="official SDK 1.x"),
        pytest.param(
            "everything_server", "echo", {"message": "hi"}, "Echo: hi", id="server-everything"
        ),
    ],
)
async def test_a_real_servers_tool_is_listed_and_called(
    router: Router,
    request: pytest.FixtureRequest,
    server: str,
    tool_name: str,
    arguments: dict[str, Any],
    expected: str,
    mode: str,
) -> None:
    peer: Peer = request.getfixturevalue(server)
    register(router.directory, "real", peer.url)
    await router.serves(f"real.{tool_name}")

    listed = await agents.tools(router.url, mode)
    result = await agents.call(router.url, f"real.{tool_name}", arguments, mode)

    assert f"real.{tool_name}" in listed
    assert result.content[0].text.startswith(expected)


async def test_all_pages_of_an_upstream_are_listed(router: Router) -> None:
    with peers.sdk_server("--pages", "3") as peer:
        register(router.directory, "paged", peer.url)
        await router.serves("paged.add")

        listed = await agents.tools(router.url)

    assert len(listed) > 60


async def test_tools_are_called_by_either_name_at_either_list(
    router: Router, sdk_server: Peer
) -> None:
    register(router.directory, "both", sdk_server.url)
    await router.serves("both.add")
    safe_url = f"{router.url}?names=safe"

    assert "both__add" in await agents.tools(safe_url)
    for url in (router.url, safe_url):
        for name in ("both.add", "both__add"):
            result = await agents.call(url, name, {"a": 1, "b": 1})
            assert result.content[0].text == "2"


async def test_one_servers_endpoint_offers_bare_names(router: Router, sdk_server: Peer) -> None:
    register(router.directory, "bare", sdk_server.url, namespace="tools", name="bare")
    await router.serves("bare.add")
    url = f"{router.url}/servers/tools/bare"

    assert "add" in await agents.tools(url)
    assert (await agents.call(url, "add", {"a": 1, "b": 1})).content[0].text == "2"


@pytest.mark.parametrize("mode", agents.MODES)
async def test_a_view_offers_its_own_tools_by_its_own_names(
    router: Router, sdk_server: Peer, mode: str
) -> None:
    register(router.directory, "real", sdk_server.url, namespace="tools", name="real")
    view(router.directory, "sums", namespace="tools", servers=["real"], tools=["real.add"])
    await router.serves("real.add")
    url = f"{router.url}/views/tools/sums"

    assert list(await agents.tools(url, mode)) == ["add"]
    for name in ("add", "real.add"):
        assert (await agents.call(url, name, {"a": 2, "b": 3}, mode)).content[0].text == "5"

    view(router.directory, "sums", namespace="tools", servers=["real"], tools=[])

    async def is_empty() -> bool:
        return not await agents.tools(url, mode)

    await until(is_empty, SOON_S, "the view is empty")
    assert (await agents.post(url, agents.legacy_call("add"))).body == (
        b'{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Unknown tool: add",'
        b'"data":{"reason": "removed"}}}'
    )
    unregister(router.directory, "sums")

    async def is_gone() -> bool:
        return (await agents.post(url, agents.legacy_call("add"))).status == 404

    await until(is_gone, SOON_S, "the view is gone")


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param('{"value":9007199254740993}', id="an integer beyond doubles"),
        pytest.param('{ "b" : 1.0,"a":-0, "c":1e400}', id="spelling, order and spaces"),
        pytest.param(r'{"text":"\ud800 \/ é"}', id="half a surrogate pair and odd escapes"),
    ],
)
async def test_arguments_arrive_as_they_were_sent(router: Router, arguments: str) -> None:
    server = LegacyServer([tool("mirror")], call=lambda params: {"content": []})
    async with RawUpstream(server) as upstream:
        register(router.directory, "raw", upstream.url("/mcp"))
        await router.serves("raw.mirror")

        answer = await agents.post(router.url, agents.legacy_call("raw.mirror", arguments))

        assert answer.status == 200
        [received] = upstream.requests("tools/call")
        assert arguments.encode() in received.body


async def test_nothing_of_an_agents_headers_reaches_an_upstream(router: Router) -> None:
    secrets = {
        "Authorization": "Bearer canary-1",
        "Cookie": "session=canary-2",
        "X_Api_Key": "canary-3",
        "Mcp_Session_Id": "canary-4",
        "X_Forwarded_Host": "canary-5",
    }
    async with RawUpstream(LegacyServer([tool("greet")])) as upstream:
        register(router.directory, "raw", upstream.url("/mcp"))
        await router.serves("raw.greet")

        answer = await agents.post(router.url, agents.legacy_call("raw.greet"), **secrets)

        assert answer.status == 200
        seen = b" ".join(
            repr(received.headers).encode() + received.body for received in upstream.received
        )
        assert upstream.requests("tools/call")
        assert b"canary" not in seen


async def test_a_session_lost_by_a_restart_is_renewed_unseen(router: Router) -> None:
    with peers.sdk1_server() as peer:
        register(router.directory, "once", peer.url)
        await router.serves("once.add")
        await asyncio.to_thread(peer.kill)
        peer.start()

        results = await asyncio.gather(
            *(agents.call(router.url, "once.add", {"a": number, "b": 1}) for number in range(20))
        )

    assert [result.content[0].text for result in results] == [
        str(number + 1) for number in range(20)
    ]


async def test_an_unchanged_server_keeps_its_session_when_another_comes_and_goes(
    router: Router, sdk_server: Peer
) -> None:
    async with RawUpstream(LegacyServer([tool("greet")])) as upstream:
        register(router.directory, "steady", upstream.url("/mcp"))
        await router.serves("steady.greet")
        register(router.directory, "other", sdk_server.url)
        await router.serves("other.add")
        unregister(router.directory, "other")

        async def gone() -> bool:
            return "other.add" not in await agents.tools(router.url)

        await until(gone, SOON_S)
        await agents.call(router.url, "steady.greet", {})

        assert len(upstream.requests("initialize")) == 1
        assert len(upstream.requests("tools/list")) == 1


async def test_a_typo_in_a_file_costs_nobody_a_tool_and_is_reported(
    router: Router, sdk_server: Peer
) -> None:
    folder = register(router.directory, "typo", sdk_server.url)
    register(router.directory, "fine", sdk_server.url)
    await router.serves("typo.add", "fine.add")

    write(folder / "meta.json", '{"url": "http://127.0.0.1:1/mcp", "allowedTools": "*"}')

    async def reported() -> dict[str, Any] | None:
        entry = (await router.report())["typo"]
        return entry if entry.get("reason") == "InvalidMeta" else None

    entry = await until(reported, SOON_S)
    result = await agents.call(router.url, "typo.add", {"a": 2, "b": 2})

    assert entry["state"] == "Serving"
    assert "allowedTools" in str(entry["message"])
    assert result.content[0].text == "4"


async def test_a_removed_servers_tool_is_answered_with_what_became_of_it(
    router: Router, sdk_server: Peer
) -> None:
    register(router.directory, "leaver", sdk_server.url)
    register(router.directory, "stayer", sdk_server.url)
    await router.serves("leaver.add", "stayer.add")
    unregister(router.directory, "leaver")

    async def removed() -> dict[str, Any] | None:
        answer = await agents.post(router.url, agents.legacy_call("leaver.add"))
        error: dict[str, Any] | None = json.loads(answer.body).get("error")
        return error

    error = await until(removed, SOON_S)

    assert error["code"] == -32602
    assert error["data"] == {"reason": "removed"}


async def test_a_suspended_server_says_so_from_the_first_request_on(router: Router) -> None:
    unasked = {"namespace": "tools", "suspend": True, "allowedTools": ["greet"]}
    async with RawUpstream(LegacyServer([tool("greet")])) as upstream:
        register(router.directory, "paused", upstream.url("/mcp"), **unasked)

        async def registered() -> bool:
            return "tools/paused" in await router.report()

        await until(registered, SOON_S)
        alone = f"{router.url}/servers/tools/paused"
        refused = [
            json.loads((await agents.post(url, agents.legacy_call(name))).body)["error"]
            for url, name in ((router.url, "paused.greet"), (alone, "greet"))
        ]

        assert [(error["code"], error["data"]) for error in refused] == [
            (-32602, {"reason": "suspended"})
        ] * 2
        assert await agents.tools(router.url) == await agents.tools(alone) == {}
        assert not upstream.received


async def test_u33_two_servers_with_one_url_share_no_session(router: Router) -> None:
    async with RawUpstream(LegacyServer([tool("greet"), tool("part")])) as upstream:
        register(router.directory, "one", upstream.url("/mcp"))
        register(router.directory, "two", upstream.url("/mcp"), allowedTools=["greet"])
        listed = await router.serves("one.greet", "two.greet")

        for name in ("one.greet", "two.greet"):
            assert not (await agents.call(router.url, name, {})).is_error

        assert sorted(listed) == ["one.greet", "one.part", "two.greet"]
        sessions = [call.header("Mcp-Session-Id") for call in upstream.requests("tools/call")]
        assert len(set(sessions)) == 2


async def test_u30_the_query_of_an_url_is_sent_as_written_and_shown_nowhere(
    router: Router,
) -> None:
    async with RawUpstream(LegacyServer([tool("greet")])) as upstream:
        url = upstream.url("/mcp?token=canary&x=%2f")
        register(router.directory, "secret", url)
        await router.serves("secret.greet")
        targets = {received.target for received in upstream.received}
    refused = await agents.post(router.url, agents.legacy_call("secret.greet"))
    register(router.directory, "secret", f"{url}#canary")
    register(router.directory, "away", url)

    async def both_in_trouble() -> bool:
        states = [entry["state"] for entry in (await router.report()).values()]
        return states == ["Skipped", "Skipped"]

    await until(both_in_trouble, SOON_S)
    told = refused.body
    async with aiohttp.ClientSession() as session:
        for path in ("status", "metrics", "readyz"):
            async with session.get(f"{router.admin}/{path}") as response:
                told += await response.read()

    assert targets == {"/mcp?token=canary&x=%2f"}
    assert b"pointsman.dev/refusal" in refused.body
    assert b"canary" not in told
    assert "canary" not in router.program.output


async def test_an_upstream_that_is_away_costs_only_its_own_calls(
    router: Router, sdk_server: Peer
) -> None:
    async with RawUpstream(LegacyServer([tool("greet")])) as upstream:
        register(router.directory, "shaky", upstream.url("/mcp"))
        register(router.directory, "solid", sdk_server.url)
        await router.serves("shaky.greet", "solid.add")

    refused = await agents.call(router.url, "shaky.greet", {})
    fine = await agents.call(router.url, "solid.add", {"a": 1, "b": 2})

    refusal = refused.meta["pointsman.dev/refusal"]
    assert refused.is_error
    assert (refusal["code"], refusal["executed"]) == (-32010, "no")
    assert fine.content[0].text == "3"


async def test_sigterm_ends_the_router_with_status_0(router: Router) -> None:
    assert await asyncio.to_thread(router.program.stop) == 0
