"""A modern upstream gets requests that describe themselves, and is heard before it answers."""

import asyncio
import json

import pytest
from msgspec.structs import replace

from bench import answers, behaviours
from bench.behaviours import errs, responds, results_in, streams
from bench.legacy_server import tool
from bench.links import a_call, linked
from bench.modern_server import ModernServer, says
from bench.raw_upstream import Behaviour, RawUpstream, Received
from bench.waiting import until
from pointsman_contract.meta import Protocol
from pointsman_router.jsonrpc import RpcError
from pointsman_router.upstream import Notice, Result, Trouble
from pointsman_router.upstream.asking import Call

pytestmark = pytest.mark.usefixtures("lane")

PREFIX = "io.modelcontextprotocol/"
RESULT = {"resultType": "complete", "content": []}
FOUND = Result(json.dumps(RESULT).encode())


def calls(behaviour: Behaviour) -> ModernServer:
    return ModernServer(on={"tools/call": behaviour})


def token_of(request: Received) -> object:
    return request.message["params"]["_meta"].get("progressToken")


async def test_a_call_says_the_same_in_its_headers_and_in_its_body() -> None:
    arguments = b'{"n":9007199254740993, "z":-0,"u":"\\ud83d","e":1e400 }'
    call = replace(
        a_call("greet", arguments, meta={"vendor.test/x": b"1.0", "traceparent": b'"00-1-2-01"'}),
        capabilities=b'{"sampling": {}}',
        log_level=b'"info"',
        headers=(("Mcp-Param-Region", "us"),),
        trace=(("traceparent", "00-1-2-01"),),
    )
    server = calls(results_in(RESULT))
    async with (
        RawUpstream(server) as upstream,
        linked(upstream.url(), protocol=Protocol.AUTO) as link,
    ):
        found = await link.call(call)

    probed, called = upstream.received
    assert found == FOUND
    assert probed.rpc_method == "server/discover"
    assert called.body.endswith(
        b'"params":{"name":"greet","arguments":%b,"_meta":{'
        b'"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
        b'"io.modelcontextprotocol/clientInfo":{"name":"pointsman","version":"1.2.3"},'
        b'"io.modelcontextprotocol/clientCapabilities":{"sampling": {}},'
        b'"io.modelcontextprotocol/logLevel":"info",'
        b'"vendor.test/x":1.0,"traceparent":"00-1-2-01"}}}' % arguments
    )
    assert {name.lower(): value for name, value in called.headers}.items() >= {
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": "greet",
        "mcp-param-region": "us",
        "traceparent": "00-1-2-01",
    }.items()
    assert called.header("mcp-session-id") is None


async def test_a_probe_and_a_list_declare_nothing() -> None:
    async with (
        RawUpstream(ModernServer()) as upstream,
        linked(upstream.url(), protocol=Protocol.AUTO) as link,
    ):
        listed = await link.list()

    assert listed.protocol_version == "2026-07-28"
    assert listed.server_info is not None
    assert listed.server_info.name == "stand-in"
    assert [one.rpc_method for one in upstream.received] == ["server/discover", "tools/list"]
    for request in upstream.received:
        assert request.header("mcp-method") == request.rpc_method
        assert request.header("mcp-name") is None
        assert request.message["params"]["_meta"][f"{PREFIX}clientCapabilities"] == {}


@pytest.mark.parametrize(
    ("params", "header"),
    [
        pytest.param({"name": "grüße"}, "=?base64?Z3LDvMOfZQ==?=", id="not ASCII"),
        pytest.param({"name": " a"}, "=?base64?IGE=?=", id="a blank at its edge"),
        pytest.param({"name": "a b"}, "a b", id="a blank inside"),
        pytest.param({"name": "=?base64?YQ==?="}, "=?base64?PT9iYXNlNjQ/WVE9PT89?=", id="marked"),
        pytest.param({"name": "a\nb"}, "=?base64?YQpi?=", id="a line break"),
        pytest.param({"name": "\ud800"}, None, id="half a surrogate pair"),
    ],
)
async def test_a_name_travels_in_its_header(params: dict[str, str], header: str | None) -> None:
    raw = {"name": json.dumps(params["name"]).encode()}
    server = calls(results_in(RESULT))
    async with (
        RawUpstream(server) as upstream,
        linked(upstream.url(), protocol=Protocol.MODERN) as link,
    ):
        await link.call(Call("tools/call", raw, {}, 10.0))

    assert upstream.requests("tools/call")[0].header("mcp-name") == header


async def test_a_resource_is_named_by_its_uri() -> None:
    server = ModernServer(on={"resources/read": results_in(RESULT)})
    async with (
        RawUpstream(server) as upstream,
        linked(upstream.url(), protocol=Protocol.MODERN) as link,
    ):
        await link.call(Call("resources/read", {"uri": b'"file:///a"'}, {}, 10.0))

    assert upstream.requests("resources/read")[0].header("mcp-name") == "file:///a"


async def test_what_is_asked_back_comes_through_byte_for_byte() -> None:
    wanted = (
        b'{"resultType":"input_required","inputRequests":{"a":{"n":1.0}},"requestState":"\\u0041"}'
    )

    async def behave(request: Received, wire: object) -> None:
        id_ = json.dumps(request.rpc_id).encode()
        body = b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (id_, wanted)
        await behaviours.sends(answers.http(200, body))(request, wire)  # type: ignore[arg-type]  # a stand-in's own

    async with (
        RawUpstream(calls(behave)) as upstream,
        linked(upstream.url(), protocol=Protocol.AUTO) as link,
    ):
        found = await link.call(a_call())

    assert found == Result(wanted)


async def test_progress_reaches_the_call_before_its_answer_and_without_our_token() -> None:
    gate = asyncio.Event()
    heard: list[Notice] = []

    async def hear(notice: Notice) -> None:
        heard.append(notice)
        gate.set()

    def half(request: Received) -> object:
        return {"progressToken": token_of(request), "progress": 0.5}

    server = calls(says("notifications/progress", half, RESULT, gate=gate))
    async with (
        RawUpstream(server) as upstream,
        linked(upstream.url(), protocol=Protocol.AUTO) as link,
    ):
        found = await link.call(a_call(wants_progress=True), hear)
        again = await link.call(a_call(wants_progress=True), hear)

    tokens = {token_of(one) for one in upstream.requests("tools/call")}
    assert found == again == FOUND
    assert heard == [Notice("notifications/progress", {"progress": b"0.5"})] * 2
    assert len(tokens) == 2
    assert None not in tokens


async def test_progress_of_others_is_dropped_and_counted() -> None:
    heard: list[Notice] = []

    async def hear(notice: Notice) -> None:
        heard.append(notice)

    def theirs(request: Received) -> object:
        return {"progressToken": "somebody's", "progress": 0.5}

    server = calls(says("notifications/progress", theirs, RESULT))
    async with (
        RawUpstream(server) as upstream,
        linked(upstream.url(), protocol=Protocol.AUTO) as link,
    ):
        found = await link.call(a_call(wants_progress=True), hear)
        await link.call(a_call(), hear)

        assert found == FOUND
        assert heard == []
        assert link.calls.foreign_notices == 2
    assert token_of(upstream.requests("tools/call")[1]) is None


async def test_a_listener_that_takes_its_time_is_waited_for() -> None:
    gate = asyncio.Event()
    entered = asyncio.Event()

    async def hear(notice: Notice) -> None:
        entered.set()
        await gate.wait()

    def say(request: Received) -> object:
        return {"level": "info", "data": "x"}

    server = calls(says("notifications/message", say, RESULT))
    async with (
        RawUpstream(server) as upstream,
        linked(upstream.url(), protocol=Protocol.AUTO) as link,
    ):
        calling = asyncio.create_task(link.call(a_call(log_level=b'"debug"'), hear))
        await entered.wait()
        waiting = not calling.done()
        gate.set()
        found = await calling

    assert waiting
    assert found == FOUND


async def test_an_agent_that_leaves_closes_the_stream_and_nothing_else_is_said() -> None:
    server = calls(behaviours.hangs())
    async with (
        RawUpstream(server) as upstream,
        linked(upstream.url(), protocol=Protocol.AUTO) as link,
    ):
        calling = asyncio.create_task(link.call(a_call()))
        await until(lambda: upstream.requests("tools/call"))
        before = upstream.open_connections
        calling.cancel()
        await asyncio.wait([calling])
        await until(lambda: upstream.open_connections < before)

    assert calling.cancelled()
    assert [one.rpc_method for one in upstream.received] == ["server/discover", "tools/call"]


async def test_a_request_on_the_stream_of_an_answer_is_a_violation() -> None:
    question = answers.event(b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
    server = calls(streams(RESULT, before=question))
    async with (
        RawUpstream(server) as upstream,
        linked(upstream.url(), protocol=Protocol.AUTO) as link,
    ):
        with pytest.raises(Trouble, match="asks on the stream") as error:
            await link.call(a_call())

    assert error.value.reason == "ProtocolViolation"
    assert len(upstream.requests("tools/call")) == 1


@pytest.mark.parametrize(
    ("behaviour", "code"),
    [
        pytest.param(errs(-32020, "Mcp-Param-Region", status=400), -32020, id="a header"),
        pytest.param(errs(-32021, "sampling", status=400), -32021, id="a capability"),
        pytest.param(errs(-32602, "Unknown tool", status=200), -32602, id="an unknown tool"),
        pytest.param(errs(-32601, "Method not found", status=404), -32601, id="no such method"),
    ],
)
async def test_an_error_of_the_upstreams_own_is_returned_and_asked_once(
    behaviour: Behaviour, code: int
) -> None:
    async with (
        RawUpstream(calls(behaviour)) as upstream,
        linked(upstream.url(), protocol=Protocol.AUTO) as link,
    ):
        found = await link.call(a_call())

    assert isinstance(found, RpcError)
    assert found.code == code
    assert [one.rpc_method for one in upstream.received] == ["server/discover", "tools/call"]


@pytest.mark.parametrize(
    ("lists", "ttl_ms", "private"),
    [
        pytest.param({"ttlMs": 5000, "cacheScope": "public"}, 5000, False, id="as stated"),
        pytest.param({"ttlMs": 0, "cacheScope": "private"}, 0, True, id="nothing and nobody"),
        pytest.param({}, None, False, id="absent"),
        pytest.param({"ttlMs": -1, "cacheScope": ""}, None, False, id="negative and empty"),
        pytest.param({"ttlMs": 1.5, "cacheScope": 7}, None, False, id="other types"),
        pytest.param({"ttlMs": "60000"}, None, False, id="a string"),
        pytest.param({"ttlMs": 10**18}, None, False, id="absurd"),
        pytest.param({"ttlMs": None, "cacheScope": None}, None, False, id="null"),
    ],
)
async def test_how_long_a_list_is_good_is_read_with_sense(
    lists: dict[str, object], ttl_ms: int | None, private: bool
) -> None:
    async with (
        RawUpstream(ModernServer(lists=lists)) as upstream,
        linked(upstream.url(), protocol=Protocol.AUTO) as link,
    ):
        listed = await link.list()

    assert (listed.ttl_ms, listed.private) == (ttl_ms, private)


async def test_the_most_cautious_page_counts_for_the_whole_list() -> None:
    pages = behaviours.in_turn(
        results_in({"tools": [tool("a")], "nextCursor": "2", "ttlMs": 9, "cacheScope": "private"}),
        results_in({"tools": [tool("b")], "ttlMs": 4, "cacheScope": "public"}),
    )
    async with (
        RawUpstream(ModernServer(on={"tools/list": pages})) as upstream,
        linked(upstream.url(), protocol=Protocol.AUTO) as link,
    ):
        listed = await link.list()

    assert (len(listed.tools), listed.ttl_ms, listed.private) == (2, 4, True)
    assert upstream.requests("tools/list")[1].message["params"]["cursor"] == "2"


async def test_a_modern_server_without_tools_lists_none() -> None:
    found = {"supportedVersions": ["2026-07-28"], "capabilities": {"prompts": {}}}
    server = ModernServer(
        on={
            "server/discover": results_in(found),
            "tools/list": errs(-32601, "Method not found", status=404),
        }
    )
    async with (
        RawUpstream(server) as upstream,
        linked(upstream.url(), protocol=Protocol.AUTO) as link,
    ):
        listed = await link.list()

    assert listed.tools == ()


@pytest.mark.parametrize(
    "behaviour",
    [
        pytest.param(errs(-32601, "Method not found", status=404), id="it serves no probe"),
        pytest.param(responds(404), id="404"),
        pytest.param(results_in({}), id="no DiscoverResult"),
    ],
)
async def test_a_resource_that_says_modern_is_believed(behaviour: Behaviour) -> None:
    server = ModernServer(on={"server/discover": behaviour})
    async with (
        RawUpstream(server) as upstream,
        linked(upstream.url(), protocol=Protocol.MODERN) as link,
    ):
        found = await link.call(a_call())

    assert isinstance(found, Result)
    assert not upstream.requests("initialize")
