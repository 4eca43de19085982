"""The stand-in upstream does exactly what a test tells it to, and behaves otherwise."""

import asyncio
from contextlib import suppress

import aiohttp
import pytest
from mcp import Client

from bench import answers, behaviours
from bench.legacy_server import LegacyServer, tool
from bench.raw_upstream import Behaviour, RawUpstream, Received, Wire
from bench.waiting import until

RESULT = {"content": [{"type": "text", "text": "grüße, 世界"}], "structuredContent": {"n": 1}}
HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
}
CALL = b'{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "greet"}}'


async def call(url: str) -> tuple[int, bytes]:
    """Status and body of one `tools/call`, as bytes."""
    headers = HEADERS
    async with (
        aiohttp.ClientSession() as session,
        session.post(url, data=CALL, headers=headers, allow_redirects=False) as answer,
    ):
        return answer.status, await answer.read()


@pytest.mark.parametrize("event_streams", [False, True], ids=["json answers", "event streams"])
@pytest.mark.parametrize("sessions", [False, True], ids=["without sessions", "with sessions"])
async def test_the_official_client_is_content_with_the_well_behaved_server(
    event_streams: bool, sessions: bool
) -> None:
    tools = [tool(f"tool-{number}") for number in range(5)]
    server = LegacyServer(tools, event_streams=event_streams, sessions=sessions, page_size=2)

    async with RawUpstream(server) as upstream, Client(upstream.url(), mode="legacy") as client:
        first = await client.list_tools()
        last = await client.list_tools(cursor="4")
        called = await client.call_tool("tool-3", {"text": "hi"})

    assert [one.name for one in first.tools] == ["tool-0", "tool-1"]
    assert (first.next_cursor, last.next_cursor) == ("2", None)
    assert called.content[0].text == 'tool-3 {"text": "hi"}'  # type: ignore[union-attr]  # a text
    assert server.live_sessions == set()


async def test_the_official_client_falls_back_to_the_legacy_era() -> None:
    async with RawUpstream(LegacyServer()) as upstream, Client(upstream.url()) as client:
        listed = await client.list_tools()

    assert [one.name for one in listed.tools] == ["greet"]


async def test_a_forgotten_session_is_refused_until_there_is_a_new_one() -> None:
    server = LegacyServer()
    async with RawUpstream(server) as upstream, aiohttp.ClientSession() as session:
        headers = HEADERS | {"Mcp-Session-Id": "forgotten"}
        async with session.post(upstream.url(), data=CALL, headers=headers) as by_404:
            first = (by_404.status, (await by_404.json())["error"]["message"])
        server.lost_session = behaviours.loses_session_by_400()
        async with session.post(upstream.url(), data=CALL, headers=headers) as by_400:
            second = (by_400.status, (await by_400.json())["error"]["message"])

    assert first == (404, "Session not found")
    assert second == (400, "Bad Request: No valid session ID provided")


async def test_one_step_can_be_spoilt_while_the_others_are_right() -> None:
    server = LegacyServer(sessions=False, on={"tools/call": behaviours.responds(503, b"<h1>")})
    async with RawUpstream(server) as upstream:
        spoilt = await call(upstream.url())
        async with Client(upstream.url(), mode="legacy") as client:
            listed = await client.list_tools()

    assert spoilt == (503, b"<h1>")
    assert len(listed.tools) == 1


async def test_requests_are_kept_byte_for_byte_with_the_number_of_their_connection() -> None:
    async with RawUpstream(behaviours.results_in({})) as upstream:
        await call(upstream.url("/a?x=1"))
        await call(upstream.url("/b"))

    seen = [(one.connection, one.target, one.body, one.rpc_id) for one in upstream.received]
    assert seen == [(1, "/a?x=1", CALL, 7), (2, "/b", CALL, 7)]
    assert upstream.received[0].header("CONTENT-TYPE") == "application/json"
    assert len(upstream.requests("tools/call", path="/b")) == 1


@pytest.mark.parametrize(
    ("behaviour", "expected"),
    [
        pytest.param(
            behaviours.streams({}, newline="\r\n"),
            b'event: message\r\ndata: {"jsonrpc": "2.0", "id": 7, "result": {}}\r\n\r\n',
            id="lines that end in CR LF",
        ),
        pytest.param(
            behaviours.streams({}, newline="\r"),
            b'event: message\rdata: {"jsonrpc": "2.0", "id": 7, "result": {}}\r\r',
            id="lines that end in CR alone",
        ),
        pytest.param(
            behaviours.streams({}, data_lines=3),
            b'event: message\ndata: {"jsonrpc": "2.0",\ndata: "id": 7,\ndata: "result": {}}\n\n',
            id="a message over several data lines",
        ),
        pytest.param(
            behaviours.streams({}, before=b"\xef\xbb\xbf: hello\n\n", after=b": bye\n\n"),
            b'\xef\xbb\xbf: hello\n\nevent: message\ndata: {"jsonrpc": "2.0", "id": 7, '
            b'"result": {}}\n\n: bye\n\n',
            id="comments and a byte order mark around it",
        ),
        pytest.param(
            behaviours.streams("ü", piece=1),
            'event: message\ndata: {"jsonrpc": "2.0", "id": 7, "result": "ü"}\n\n'.encode(),
            id="every byte in a chunk of its own",
        ),
        pytest.param(
            behaviours.results_in({}, rpc_id="7"),
            b'{"jsonrpc": "2.0", "id": "7", "result": {}}',
            id="the id in another type",
        ),
        pytest.param(
            behaviours.drips({}, every_s=0.0),
            b'{"jsonrpc": "2.0", "id": 7, "result": {}}',
            id="byte by byte",
        ),
    ],
)
async def test_an_answer_has_exactly_the_bytes_it_was_told_to(
    behaviour: Behaviour, expected: bytes
) -> None:
    async with RawUpstream(behaviour) as upstream:
        assert await call(upstream.url()) == (200, expected)


@pytest.mark.parametrize(
    ("behaviour", "error"),
    [
        pytest.param(behaviours.closes(), aiohttp.ServerDisconnectedError, id="closes"),
        pytest.param(behaviours.sends_and_resets(), aiohttp.ClientOSError, id="resets"),
        pytest.param(behaviours.cuts(RESULT, 10), aiohttp.ClientPayloadError, id="cut short"),
        pytest.param(
            behaviours.sends_and_closes(b"garbage\r\n\r\n"),
            aiohttp.ClientResponseError,
            id="garbage",
        ),
    ],
)
async def test_a_broken_answer_breaks_in_the_way_it_was_told_to(
    behaviour: Behaviour, error: type[Exception]
) -> None:
    async with RawUpstream(behaviour) as upstream:
        with pytest.raises(error):
            await call(upstream.url())


async def test_an_answer_cut_without_a_stated_length_looks_whole_to_a_client() -> None:
    async with RawUpstream(behaviours.cuts(RESULT, 3, length_stated=False)) as upstream:
        assert await call(upstream.url()) == (200, b'{"j')


async def test_a_hanging_answer_hangs_until_the_caller_goes() -> None:
    async with RawUpstream(behaviours.hangs()) as upstream:
        waiting = asyncio.create_task(call(upstream.url()))
        await until(lambda: upstream.received, what="the request has come")
        assert upstream.open_connections == 1

        waiting.cancel()
        with suppress(asyncio.CancelledError):
            await waiting

        await until(lambda: not upstream.open_connections, what="the connection is gone")


async def test_a_held_answer_comes_when_the_gate_opens() -> None:
    gate = asyncio.Event()
    async with RawUpstream(behaviours.held(gate, behaviours.results_in({}))) as upstream:
        waiting = asyncio.create_task(call(upstream.url()))
        await until(lambda: upstream.received, what="the request has come")
        assert not waiting.done()

        gate.set()

        assert (await waiting)[0] == 200


async def test_behaviours_in_turn_end_with_the_last_for_ever() -> None:
    turns = behaviours.in_turn(behaviours.responds(503), behaviours.results_in({}))
    async with RawUpstream(turns) as upstream:
        statuses = [(await call(upstream.url()))[0] for _ in range(3)]

    assert statuses == [503, 200, 200]


async def test_a_flood_ends_when_the_caller_has_read_enough() -> None:
    async with RawUpstream(behaviours.floods(b" " * 65536)) as upstream:
        async with aiohttp.ClientSession() as session, session.post(upstream.url()) as answer:
            read = await answer.content.readexactly(1_000_000)
            answer.close()

        await until(lambda: not upstream.open_connections, what="the connection is gone")
    assert len(read) == 1_000_000


async def test_a_stopped_upstream_refuses_and_comes_back_on_its_port() -> None:
    async with RawUpstream(behaviours.results_in({})) as upstream:
        port = upstream.port
        await upstream.stop()
        with pytest.raises(aiohttp.ClientConnectorError):
            await call(upstream.url())

        await upstream.start()

        assert (await call(upstream.url()))[0] == 200
        assert upstream.port == port


async def test_each_path_has_its_own_behaviour_and_others_are_not_found() -> None:
    paths = {"/good": behaviours.results_in({}), "/bad": behaviours.responds(500)}
    async with RawUpstream(paths) as upstream:
        statuses = [(await call(upstream.url(path)))[0] for path in ("/good", "/bad", "/other")]

    assert statuses == [200, 500, 404]


def test_pieces_put_together_are_the_whole() -> None:
    assert b"".join(answers.in_pieces(b"abcdefg", 3)) == b"abcdefg"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param({"Accept": "application/json"}, 406, id="only one type accepted"),
        pytest.param({"Content-Type": "text/plain"}, 415, id="no JSON"),
        pytest.param({"MCP-Protocol-Version": "2026-07-28"}, 400, id="a later revision"),
        pytest.param({}, 400, id="no session"),
        pytest.param({"Mcp-Session-Id": "unknown"}, 404, id="an unknown session"),
    ],
)
async def test_the_well_behaved_server_is_as_strict_as_real_ones(
    headers: dict[str, str], status: int
) -> None:
    async with (
        RawUpstream(LegacyServer()) as upstream,
        aiohttp.ClientSession() as session,
        session.post(upstream.url(), data=CALL, headers=HEADERS | headers) as answer,
    ):
        assert answer.status == status


async def test_a_behaviour_that_fails_by_itself_fails_the_test() -> None:
    async def fails(request: Received, wire: Wire) -> None:
        raise LookupError("a slip in the stand-in")

    upstream = RawUpstream(fails)
    await upstream.__aenter__()
    with suppress(aiohttp.ClientError):
        await call(upstream.url())

    with pytest.raises(LookupError, match="a slip in the stand-in"):
        await upstream.__aexit__(None, None, None)
