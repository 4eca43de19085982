"""What agents that wait for changes are told, and when their streams end."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from bench import mcpport
from bench.catalogues import Known, built, definition, found, server, view
from bench.listed_beside import described
from bench.mcpport import Connection, McpPort
from bench.mcpstage import CAPABILITIES, MODERN, VERSION, rpc
from bench.waiting import until
from pointsman_contract.meta import Exposed
from pointsman_contract.view import Discovery
from pointsman_router import offer
from pointsman_router.catalogue import Catalogue
from pointsman_router.entrycheck import Kind
from pointsman_router.httpbytes import LAST_CHUNK
from pointsman_router.offer import Finding, Listing
from pointsman_router.outlet import Pace

ID = "io.modelcontextprotocol/subscriptionId"
GITHUB, LONE = server("tools/github"), server("tools/lone")
FIRST = built(Known(GITHUB, found("search")), Known(LONE, found("find")))
WANTS_TOOLS = {"toolsListChanged": True}
LISTS = ("tools", "resources", "prompts")
WANTS_ALL = {f"{of}ListChanged": True for of in LISTS}
LISTED = Listing(
    (definition("search"),),
    "2025-11-25",
    prompts=(described(Kind.PROMPT, "ask"),),
    resources=(described(Kind.RESOURCE, "test://a"),),
    templates=(described(Kind.TEMPLATE, "row://{n}"),),
)


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


def offering(listing: Listing = LISTED, id_: str = "tools/all") -> Known:
    """A server of which everything may be seen, and what it lists."""
    return Known(server(id_, expose=tuple(Exposed)), Finding(offer.read(listing), None))


def churned(of: str, number: int = 0) -> Known:
    """The server after a change of one of its lists; each number is another change."""
    match of:
        case "tools":
            listing = replace(LISTED, tools=(definition(f"tool{number}"),))
        case "prompts":
            listing = replace(LISTED, prompts=(described(Kind.PROMPT, f"prompt{number}"),))
        case "resources":
            listing = replace(LISTED, resources=(described(Kind.RESOURCE, f"test://{number}"),))
        case _:
            listing = replace(LISTED, templates=(described(Kind.TEMPLATE, f"x://{number}/{{n}}"),))
    return offering(listing)


async def told_of(agent: Connection, port: McpPort) -> list[str]:
    """Which lists an agent is told of until all streams end, each as often as it is."""
    port.end_subscriptions()
    found = []
    while "method" in (message := await agent.message()):
        assert message["params"] == {"_meta": {ID: "listen:0"}}
        found.append(message["method"].removeprefix("notifications/"))
    return [method.removesuffix("/list_changed") for method in found]


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
        ({"promptsListChanged": True}, {"promptsListChanged": True}),
        ({"resourcesListChanged": True}, {"resourcesListChanged": True}),
        (
            {"toolsListChanged": False, "promptsListChanged": True, "resourcesListChanged": True},
            {"promptsListChanged": True, "resourcesListChanged": True},
        ),
        (WANTS_ALL, WANTS_ALL),
        ({"resourceSubscriptions": ["file:///x"], "rootsListChanged": True}, {}),
        ({"toolsListChanged": True, "resourceSubscriptions": ["file:///x"]}, WANTS_TOOLS),
        ({"toolsListChanged": "true", "promptsListChanged": 1, "resourcesListChanged": None}, {}),
    ],
    ids=[
        *("tools", "nothing", "no tools", "prompts", "resources", "two of three", "all"),
        *("what nobody offers", "tools among others", "neither yes nor no"),
    ],
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
        ("/mcp", built(Known(GITHUB, found("search")), Known(LONE, found("find"))), False),
        ("/mcp/servers/tools/github", built(Known(LONE, found("find"))), True),
        ("/mcp", built(), True),
        ("/mcp?discover=1", changed("read"), True),
        ("/mcp?discover=1", changed(definition("search", description="new")), True),
        ("/mcp?discover=1", changed("search"), False),
        ("/mcp/servers/tools/lone?discover=1", changed("read"), False),
    ],
    ids=[
        *("dotted", "safe", "the server that changed", "another server"),
        *("another description", "nothing", "the same, made anew"),
        *("the server that went", "all servers that went"),
        *("what can be found", "how it is described", "nothing of it", "what others can find"),
    ],
)
async def test_only_who_sees_a_change_is_told_of_it(
    path: str, after: Catalogue, expected: bool
) -> None:
    async with mcpport.serving(FIRST) as port, listening(port, path=path) as (agent, _):
        port.catalogues.put(after)

        assert await is_told(agent, port) == expected


VIEWED = built(
    Known(GITHUB, found("search", "read")),
    Known(LONE, found("find")),
    views=[view(tools=["github.s*"]), view("tools/other", servers=["lone"])],
)


@pytest.mark.parametrize(
    ("tools", "lone", "patterns", "expected"),
    [
        (["search", "read"], ["find"], "github.s*", False),
        (["search"], ["find"], "github.s*", False),
        (["search", "read"], ["find", "more"], "github.s*", False),
        (["read"], ["find"], "github.s*", True),
        (["search", "star"], ["find"], "github.s*", True),
        ([definition("search", title="new"), "read"], ["find"], "github.s*", True),
        (["search", "read"], ["find"], "github.*", True),
        (["search", "read"], ["find"], None, True),
    ],
    ids=[
        *("nothing", "a tool outside", "another server", "a tool that left", "a tool that came"),
        *("another title", "another view of the same", "the view that went"),
    ],
)
async def test_on_a_views_endpoint_only_changes_of_its_list_are_told(
    tools: list[str | bytes], lone: list[str], patterns: str | None, expected: bool
) -> None:
    views = [view("tools/other", servers=["lone"])]
    if patterns:
        views.append(view(tools=[patterns]))
    path = "/mcp/views/tools/support"
    async with mcpport.serving(VIEWED) as port, listening(port, path=path) as (agent, _):
        port.catalogues.put(
            built(
                Known(GITHUB, found(*tools)),
                Known(LONE, found(*lone)),
                views=views,
                previous=VIEWED,
            )
        )

        assert await is_told(agent, port) == expected


async def test_a_view_whose_tools_come_to_be_searched_or_listed_is_told_of_as_changed() -> None:
    known = (Known(GITHUB, found("search")), Known(LONE, found("find")))
    listed = built(*known, views=[view()])
    searched = built(*known, views=[view(discovery=Discovery.SEARCH)], previous=listed)

    for before, after in ((listed, searched), (searched, listed)):
        async with (
            mcpport.serving(before) as port,
            listening(port, path="/mcp/views/tools/support") as (agent, _),
        ):
            port.catalogues.put(after)

            assert await told_of(agent, port) == ["tools"]


async def test_a_stream_of_a_view_promises_no_more_than_its_tools() -> None:
    path = "/mcp/views/tools/support"
    async with mcpport.serving(VIEWED) as port, listening(port, WANTS_ALL, path=path) as (_, first):
        assert first["params"]["notifications"] == WANTS_TOOLS


async def test_who_did_not_ask_for_tools_is_not_told_of_them() -> None:
    async with mcpport.serving(FIRST) as port, listening(port, {}) as (agent, _):
        port.catalogues.put(changed("read"))

        assert not await is_told(agent, port)


EVERYTHING = built(offering())


@pytest.mark.parametrize("path", ["/mcp", "/mcp?names=safe", "/mcp/servers/tools/all"])
@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (offering(), []),
        (churned("tools"), ["tools"]),
        (churned("prompts"), ["prompts"]),
        (churned("resources"), ["resources"]),
        (churned("templates"), ["resources"]),
        (
            offering(replace(LISTED, prompts=(described(Kind.PROMPT, "ask", title="x"),))),
            ["prompts"],
        ),
        (
            offering(replace(LISTED, resources=(described(Kind.RESOURCE, "test://a", size=1),))),
            ["resources"],
        ),
        (
            offering(
                replace(LISTED, templates=(described(Kind.TEMPLATE, "row://{n}", title="x"),))
            ),
            ["resources"],
        ),
        (offering(replace(LISTED, resources=())), ["resources"]),
        (offering(replace(LISTED, tools=(), prompts=())), ["tools", "prompts"]),
        (None, ["tools", "resources", "prompts"]),
    ],
    ids=[
        *("nothing", "tools", "prompts", "resources", "templates", "a prompt's title"),
        *("a resource's size", "a template's title", "no resources", "two lists", "no server"),
    ],
)
async def test_an_agent_is_told_of_exactly_the_lists_that_changed(
    path: str, after: Known | None, expected: list[str]
) -> None:
    now = built(*[after] if after else [], previous=EVERYTHING)
    async with (
        mcpport.serving(EVERYTHING) as port,
        listening(port, WANTS_ALL, path=path) as (agent, _),
    ):
        port.catalogues.put(now)

        assert await told_of(agent, port) == expected


@pytest.mark.parametrize("wanted", LISTS)
async def test_an_agent_is_told_of_no_list_that_it_did_not_ask_for(wanted: str) -> None:
    async with (
        mcpport.serving(EVERYTHING) as port,
        listening(port, WANTS_ALL) as (other, _),
        listening(port, {f"{wanted}ListChanged": True}) as (agent, _),
    ):
        port.catalogues.put(built())
        await other.message()

        assert await told_of(agent, port) == [wanted]


async def test_another_servers_prompts_and_resources_are_no_news_on_the_endpoint_of_one() -> None:
    lists = replace(LISTED, resources=(described(Kind.RESOURCE, "other://a"),), templates=())
    other = offering(lists, "tools/other")
    path = "/mcp/servers/tools/all"
    async with (
        mcpport.serving(EVERYTHING) as port,
        listening(port, WANTS_ALL, path=path) as (agent, _),
    ):
        port.catalogues.put(built(offering(), other, previous=EVERYTHING))

        assert await told_of(agent, port) == []


async def test_a_collision_is_news_where_all_servers_are_listed() -> None:
    other = offering(replace(LISTED, tools=(), prompts=(), templates=()), "tools/other")
    now = built(offering(), other, previous=EVERYTHING)
    async with mcpport.serving(EVERYTHING) as port, listening(port, WANTS_ALL) as (agent, _):
        port.catalogues.put(now)

        assert await told_of(agent, port) == ["resources"]


async def test_what_changed_before_a_stream_began_is_no_news_on_it() -> None:
    async with (
        mcpport.serving(EVERYTHING) as port,
        listening(port, {"promptsListChanged": True}),
        listening(port, WANTS_TOOLS) as (earlier, _),
    ):
        port.catalogues.put(built(churned("prompts")))
        port.catalogues.put(built(churned("tools")))
        await earlier.message()
        async with listening(port, WANTS_ALL) as (agent, _):
            assert await told_of(agent, port) == []


@pytest.mark.parametrize(
    ("of", "told_as"), [*((of, of) for of in LISTS), ("templates", "resources")]
)
async def test_a_burst_of_changes_of_several_lists_is_told_once_of_each(
    of: str, told_as: str
) -> None:
    async with (
        mcpport.serving(EVERYTHING, pause_s=0.3) as port,
        listening(port, WANTS_ALL) as (agent, _),
    ):
        port.catalogues.put(built(churned(of)))
        first = await agent.message()
        for number in range(1, 20):
            port.catalogues.put(built(churned(of, number)))
        port.catalogues.put(built())
        later = [(await agent.message())["method"] for _ in LISTS]

        assert first["method"] == f"notifications/{told_as}/list_changed"
        assert later == [f"notifications/{each}/list_changed" for each in LISTS]
        assert await told_of(agent, port) == []


@pytest.mark.parametrize("of", [*LISTS, "templates"])
async def test_during_the_pause_after_a_message_nothing_is_told_of_any_list(of: str) -> None:
    async with (
        mcpport.serving(EVERYTHING, pause_s=60.0) as port,
        listening(port, WANTS_ALL) as (agent, _),
    ):
        port.catalogues.put(built())
        first = [(await agent.message())["method"] for _ in LISTS]
        async with listening(port, WANTS_ALL) as (later, _):
            port.catalogues.put(built(churned(of)))
            await later.message()

        assert first == [f"notifications/{each}/list_changed" for each in LISTS]
        assert await told_of(agent, port) == []


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


# --- an agent that does not read


@asynccontextmanager
async def stuck(port: McpPort) -> AsyncIterator[Connection]:
    """An agent that reads nothing, and a stream on which more was said than the kernel takes."""
    # Every message repeats the id of the request: a long one fills what is in between soon.
    id_ = json.dumps("x" * 1000)
    async with listening(port, WANTS_ALL, id_=id_) as (agent, _):
        agent.stop_reading()
        (outlet,) = port.pulse.waiting
        for _ in range(10_000):
            port.catalogues.put(built() if port.catalogue() is EVERYTHING else EVERYTHING)
            await asyncio.sleep(0)
            if outlet._line.unread_bytes:
                break
        assert outlet._line.unread_bytes
        yield agent


async def test_an_agent_that_reads_nothing_of_what_changes_is_cut() -> None:
    pace = Pace(silence_s=0.2, stall_s=0.5)
    async with mcpport.serving(EVERYTHING, pace=pace, streams_max=1) as port, stuck(port) as agent:
        await until(lambda: not port.pulse.waiting, what="the stuck stream has ended")
        async with listening(port) as (_, first):
            assert first["method"] == "notifications/subscriptions/acknowledged"

        agent.read_on()
        rest = await agent.rest()

    assert rest
    assert not rest.endswith(LAST_CHUNK)


@pytest.mark.parametrize("is_familiar", [False, True], ids=["a new head", "a familiar head"])
async def test_a_stuck_stream_is_given_up_with_the_router_and_nothing_is_added_to_it(
    is_familiar: bool,
) -> None:
    async with AsyncExitStack() as running:
        port = await running.enter_async_context(mcpport.serving(EVERYTHING))
        if is_familiar:
            await port.exchange(listen(port, "no filter"))
        async with stuck(port) as agent:
            port.end_subscriptions()
            await port.drain(0.1)
            await until(lambda: port.meter.in_flight == 0, what="the request has ended")
            agent.read_on()
            rest = await agent.rest()
        async with asyncio.timeout(mcpport.CLOSE_S * 0.9):
            await running.aclose()

    assert rest
    assert b'"result"' not in rest
    assert not rest.endswith(LAST_CHUNK)


async def test_a_stuck_stream_whose_agent_reads_on_ends_with_its_last_message() -> None:
    async with mcpport.serving(EVERYTHING) as port, stuck(port) as agent:
        port.end_subscriptions()
        draining = asyncio.create_task(port.drain(60.0))
        agent.read_on()
        while "method" in (last := await agent.message()):
            pass
        await asyncio.wait_for(draining, 5.0)

        assert last["result"]["resultType"] == "complete"
