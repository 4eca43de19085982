"""A list is taken whole, within bounds, or not at all."""

import asyncio
import json
from dataclasses import replace

import pytest

from bench import answers, behaviours
from bench.behaviours import errs, responds, results_in
from bench.legacy_server import LegacyServer, tool
from bench.links import QUICK, linked
from bench.raw_upstream import Behaviour, RawUpstream, Received, Wire
from pointsman_router.upstream import Desk, Trouble

SMALL = replace(
    QUICK,
    first_byte_s=0.2,
    listing_s=0.6,
    page_max_bytes=4000,
    line_max_bytes=3000,
    pages_max=5,
    tools_max=20,
    list_max_bytes=6000,
)


def lists(behaviour: Behaviour) -> LegacyServer:
    return LegacyServer(on={"tools/list": behaviour})


def pages(*cursors: object) -> Behaviour:
    """One tool on each page; the last cursor is on every page from then on."""
    return behaviours.in_turn(
        *(results_in({"tools": [tool(f"t{n}")], "nextCursor": c}) for n, c in enumerate(cursors))
    )


@pytest.mark.parametrize("event_streams", [False, True], ids=["JSON", "event streams"])
async def test_a_list_of_many_pages_is_read_to_its_end(event_streams: bool) -> None:
    tools = [tool(f"t{number}") for number in range(101)]
    server = LegacyServer(tools, page_size=50, event_streams=event_streams)
    async with RawUpstream(server) as upstream, linked(upstream.url()) as link:
        listed = await link.list()

    assert [json.loads(one) for one in listed.tools] == tools
    assert len(upstream.requests("tools/list")) == 3


async def test_a_tool_stays_as_it_was_spelled() -> None:
    spelled = (
        b'{ "name":"a","inputSchema":{"type":"object","n":1.0,"big":9007199254740993},"x":[] }'
    )

    async def behave(request: Received, wire: Wire) -> None:
        id_ = json.dumps(request.rpc_id).encode()
        body = b'{"jsonrpc":"2.0","id":%b,"result":{"tools":[ %b ]}}' % (id_, spelled)
        await wire.send(answers.http(200, body))

    async with RawUpstream(lists(behave)) as upstream, linked(upstream.url()) as link:
        listed = await link.list()

    assert listed.tools == (spelled,)


@pytest.mark.parametrize(
    ("cursors", "count"),
    [
        pytest.param(["", None], 2, id="an empty cursor means more"),
        pytest.param(["a", "b", None], 3, id="null ends it"),
        pytest.param(['q"\\u0000\u00fc', None], 2, id="a cursor of any characters"),
    ],
)
async def test_a_cursor_goes_back_as_it_came(cursors: list[object], count: int) -> None:
    server = lists(pages(*cursors))
    async with RawUpstream(server) as upstream, linked(upstream.url()) as link:
        listed = await link.list()

    sent = [one.message["params"].get("cursor") for one in upstream.requests("tools/list")]
    assert len(listed.tools) == count
    assert sent == [None, *cursors[:-1]]


@pytest.mark.parametrize(
    ("behaviour", "reason", "says", "requests"),
    [
        pytest.param(pages("a"), "CursorLoop", "a cursor came twice", 2, id="same cursor"),
        pytest.param(pages(""), "CursorLoop", "a cursor came twice", 2, id="same empty cursor"),
        pytest.param(
            pages("a", "b", "c", "a", "b"), "CursorLoop", "a cursor came twice", 4, id="a cycle"
        ),
        pytest.param(
            pages(*map(str, range(20))), "ListTooLarge", "more than 5 pages", 5, id="many pages"
        ),
        pytest.param(
            results_in({"tools": [tool(f"t{n}", "") for n in range(21)]}),
            "ListTooLarge",
            "more than 20 tools",
            1,
            id="many tools",
        ),
        pytest.param(
            results_in({"tools": [tool("a", "x" * 5000)]}),
            "ListTooLarge",
            "answer is larger than 4000 bytes",
            1,
            id="a large page",
        ),
        pytest.param(
            behaviours.streams({"tools": [tool("a", "x" * 5000)]}),
            "ListTooLarge",
            "answer is larger than 3000 bytes",
            1,
            id="a long line of an event",
        ),
        pytest.param(
            behaviours.in_turn(
                *(
                    results_in({"tools": [tool("a", "x" * 3500)], "nextCursor": str(n)})
                    for n in range(9)
                )
            ),
            "ListTooLarge",
            "larger than 6000 bytes",
            2,
            id="large pages in sum",
        ),
        pytest.param(
            behaviours.in_turn(
                results_in({"tools": [], "nextCursor": "a"}), errs(-32602, "bad\ncursor")
            ),
            "UpstreamRpcError",
            "error -32602: bad·cursor",
            2,
            id="an error on page two",
        ),
        pytest.param(errs(-32603, "x"), "UpstreamRpcError", "-32603", 1, id="an error"),
        pytest.param(errs(-32601, "x"), "UpstreamRpcError", "-32601", 1, id="declared, not there"),
        pytest.param(results_in({}), "ProtocolViolation", "list of tools", 1, id="no tools member"),
        pytest.param(
            results_in({"tools": None}), "ProtocolViolation", "list of tools", 1, id="null tools"
        ),
        pytest.param(
            results_in({"tools": {}}), "ProtocolViolation", "list of tools", 1, id="object tools"
        ),
        pytest.param(
            results_in({"tools": [], "nextCursor": 5}),
            "ProtocolViolation",
            "list of tools",
            1,
            id="a cursor that is a number",
        ),
        pytest.param(behaviours.hangs(), "Timeout", "within 0.2 s", 1, id="hangs"),
        pytest.param(
            behaviours.sends_and_hangs(answers.http_in_chunks(200, [])[:-5]),
            "Timeout",
            "within 0.6 s",
            1,
            id="a silent event stream",
        ),
        pytest.param(responds(500), "UpstreamHttpError", "500", 1, id="500"),
        pytest.param(
            responds(429, headers={"Retry-After": "7"}), "UpstreamThrottled", "429", 1, id="429"
        ),
        pytest.param(behaviours.closes(), "Unreachable", "without an answer", 3, id="closes"),
    ],
)
async def test_a_bad_list_is_none(
    behaviour: Behaviour, reason: str, says: str, requests: int
) -> None:
    async with RawUpstream(lists(behaviour)) as upstream, linked(upstream.url(), SMALL) as link:
        with pytest.raises(Trouble) as error:
            await link.list()

    assert error.value.reason == reason
    assert says in error.value.message
    assert error.value.message.isprintable()
    assert len(upstream.requests("tools/list")) == requests


async def test_a_listing_whose_connection_was_lost_is_asked_again() -> None:
    flaky = behaviours.in_turn(behaviours.closes(), results_in({"tools": [tool("a")]}))
    async with RawUpstream(lists(flaky)) as upstream, linked(upstream.url()) as link:
        listed = await link.list()

    assert len(listed.tools) == 1
    assert len(upstream.requests("tools/list")) == 2


async def test_a_server_without_tools_that_never_said_it_had_some_lists_none() -> None:
    welcome = {"protocolVersion": "2025-11-25", "capabilities": {"prompts": {}}}
    server = LegacyServer(
        sessions=False,
        on={"initialize": results_in(welcome), "tools/list": errs(-32601, "Method not found")},
    )
    async with RawUpstream(server) as upstream, linked(upstream.url()) as link:
        listed = await link.list()

    assert listed.tools == ()


async def test_a_large_page_waits_for_room_and_gives_it_back_and_small_ones_need_none() -> None:
    large = LegacyServer([tool(f"t{n}", "x" * 1000) for n in range(100)])
    desk = Desk()
    places = [await desk.large_pages.acquire() for _ in range(16)]
    async with (
        RawUpstream(large) as upstream,
        RawUpstream(LegacyServer()) as small,
        linked(upstream.url(), desk=desk) as link,
        linked(small.url(), desk=desk) as other,
    ):
        waiting = asyncio.create_task(link.list())
        beside = await other.list()
        assert not waiting.done()

        desk.large_pages.release()
        listed = await waiting

    assert len(places) == 16
    assert len(beside.tools) == 1
    assert len(listed.tools) == 100
    assert not desk.large_pages.locked()
