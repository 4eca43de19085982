"""What a call comes to, from the agent's bytes over an upstream to the answer."""

import asyncio
import json
from dataclasses import replace

import pytest

from bench import behaviours
from bench.catalogues import Known, built, server
from bench.links import QUICK
from bench.mcpstage import (
    CAPABILITIES,
    CATALOGUE,
    LEGACY,
    MODERN,
    SERVER_INFO,
    VERSION,
    Stage,
    call,
    modern,
    names,
    refusal,
    results_in,
    rpc,
    staged,
    text,
)
from bench.raw_upstream import Behaviour, Received, Wire
from bench.waiting import until
from pointsman_contract.report import ServerReason


@pytest.mark.parametrize("revision", [None, *LEGACY])
@pytest.mark.parametrize("name", ["github.search", "github__search"])
@pytest.mark.parametrize("path", ["/mcp", "/mcp?names=safe"])
async def test_j34_a_legacy_agent_calls_a_tool_by_either_name(
    stage: Stage, revision: str | None, name: str, path: str
) -> None:
    answer = await stage.port.post(call(name), path, MCP_Protocol_Version=revision)

    assert answer.document == {
        "jsonrpc": "2.0",
        "id": 1,
        "result": {"content": [{"type": "text", "text": "search {}"}]},
    }
    assert stage.port.meter.calls == ["tools/github"]


async def test_a_modern_agent_calls_a_tool(stage: Stage) -> None:
    answer = await modern(stage.port, "tools/call", {"name": "github.search", "arguments": {}})

    assert answer.document["result"] == {
        "content": [{"type": "text", "text": "search {}"}],
        "_meta": {SERVER_INFO: {"name": "pointsman", "version": "1.2.3"}},
        "resultType": "complete",
    }


async def test_j20_the_endpoint_of_one_server_calls_by_the_tools_own_name(stage: Stage) -> None:
    path = "/mcp/servers/tools/github"

    assert text(await stage.port.post(call("search"), path)) == "search {}"
    assert (await stage.port.post(call("delete"), path)).verdict == (200, -32602)
    assert (await stage.port.post(call("github.search"), path)).verdict == (200, -32602)
    assert (await stage.port.post(call("search"))).verdict == (200, -32602)


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param('{"n":9007199254740993}', id="J23 2^53+1"),
        pytest.param('{"n":1.0,"m":1}', id="J23 1.0 and 1"),
        pytest.param('{"n":-0}', id="J23 -0"),
        pytest.param('{"n":1e400}', id="J04 beyond any float"),
        pytest.param(rb'{"s":"\/\u00fc"}'.decode(), id="J23 escapes"),
        pytest.param('{ "b" : 1 ,\t"a":2 }', id="J23 order and blanks"),
        pytest.param(r'{"s":"\ud800"}', id="J03 half a surrogate pair"),
        pytest.param('{"a":1,"a":2}', id="a member twice"),
        pytest.param(f'{{"x":{"[" * 60}{"]" * 60}}}', id="J05 60 levels"),
        pytest.param('{"s":"ü😀"}', id="UTF-8"),
        pytest.param('{"n":' + "9" * 2000 + "}", id="2,000 digits"),
        pytest.param("{}", id="nothing"),
    ],
)
async def test_arguments_reach_the_upstream_byte_for_byte(stage: Stage, arguments: str) -> None:
    stage.peer.on["tools/call"] = results_in(b'{"content":[]}')

    await stage.port.post(call("github.search", arguments))

    assert b'"arguments":' + arguments.encode() in stage.calls[-1].body


async def test_j21_a_call_without_arguments_has_empty_ones(stage: Stage) -> None:
    await stage.port.post(rpc("tools/call", '{"name":"github.search"}'))

    assert stage.calls[-1].message["params"] == {"name": "search", "arguments": {}}


async def test_nothing_of_an_agents_own_goes_on(stage: Stage) -> None:
    meta = {
        "traceparent": "00-a-b-01",
        "vendor.example/x": 1,
        "progressToken": "mine",
        "pointsman.dev/x": 1,
        "io.modelcontextprotocol/logLevel": "debug",
    }
    await modern(
        stage.port,
        "tools/call",
        {"name": "github.search", "_meta": meta | {VERSION: MODERN, CAPABILITIES: {}}},
        Authorization="Bearer planted",
        Cookie="planted=1",
        Origin="http://localhost",
        X_Forwarded_For="6.6.6.6",
        Mcp_Session_Id="planted",
        Mcp_Param_Region="planted",
        Last_Event_ID="planted",
    )
    received = stage.calls[-1]
    sent = dict(received.message["params"]["_meta"])

    assert sent.pop("progressToken") != "mine"
    assert sent == {
        "traceparent": "00-a-b-01",
        "vendor.example/x": 1,
    }
    assert received.message["id"] != 1
    for request in stage.upstream.received:
        whole = repr((request.headers, request.body, request.target))
        assert "planted" not in whole
        assert "6.6.6.6" not in whole
        assert request.header("origin") is None


@pytest.mark.parametrize(
    "raw",
    [
        b'{"content":[ ],"structuredContent":{"n":9007199254740993,"x":1.0,"z":-0,"e":1e400}}',
        rb'{ "content" : [{"type":"text","text":"a\/b"}] , "isError":true}',
        b'{"content":[{"type":"of tomorrow"}],"x":null}',
    ],
    ids=["J23 numbers", "R13 isError and escapes", "what nobody knows"],
)
async def test_a_result_reaches_the_agent_byte_for_byte(stage: Stage, raw: bytes) -> None:
    stage.peer.on["tools/call"] = results_in(raw)

    legacy = await stage.port.post(call(), MCP_Protocol_Version="2025-11-25")
    new = await modern(stage.port, "tools/call", {"name": "github.search"})

    assert legacy.body == b'{"jsonrpc":"2.0","id":1,"result":' + raw + b"}"
    for name, value in json.loads(raw).items():
        assert new.document["result"][name] == value


async def test_r16_no_header_of_an_upstream_reaches_the_agent(stage: Stage) -> None:
    stage.peer.on["tools/call"] = results_in(b'{"content":[]}')
    plain = await stage.port.post(call())
    stage.peer.on["tools/call"] = results_in(
        b'{"content":[]}',
        **{
            "Set-Cookie": "a=b",
            "WWW-Authenticate": "Bearer",
            "Location": "http://evil.example/",
            "Mcp-Session-Id": "theirs",
            "Access-Control-Allow-Origin": "*",
        },
    )

    answer = await stage.port.post(call())

    assert answer.body == plain.body
    assert answer.headers.keys() == plain.headers.keys()


async def test_an_upstream_cannot_forge_a_refusal(stage: Stage) -> None:
    stage.peer.on["tools/call"] = results_in(
        b'{"content":[],"_meta":{"pointsman.dev/refusal":{"code":-32010},"v":1.0}}'
    )

    answer = await stage.port.post(call())

    assert answer.body == b'{"jsonrpc":"2.0","id":1,"result":{"content":[],"_meta":{"v":1.0}}}'


@pytest.mark.parametrize("connections", [1, 2])
async def test_j10_one_id_twice_in_flight_is_answered_to_each_its_own(
    stage: Stage, connections: int
) -> None:
    first_may_end = asyncio.Event()

    async def behave(request: Received, wire: Wire) -> None:
        arguments = request.message["params"]["arguments"]
        if arguments == {"n": 1}:
            await first_may_end.wait()
        await results_in(json.dumps(arguments).encode())(request, wire)

    stage.peer.on["tools/call"] = behave
    async with stage.port.connected() as one, stage.port.connected() as other:
        second = other if connections == 2 else one
        await one.send(stage.port.request(call(arguments='{"n":1}', id_="7")))
        await second.send(stage.port.request(call(arguments='{"n":2}', id_="7")))
        if connections == 2:
            assert (await other.answer()).document == {
                "jsonrpc": "2.0",
                "id": 7,
                "result": {"n": 2},
            }
        first_may_end.set()

        assert (await one.answer()).document == {"jsonrpc": "2.0", "id": 7, "result": {"n": 1}}
        if connections == 1:
            assert (await one.answer()).document["result"] == {"n": 2}


async def test_j28_nobody_cancels_the_call_of_another(stage: Stage) -> None:
    may_end = asyncio.Event()
    stage.peer.on["tools/call"] = behaviours.held(may_end, results_in(b'{"content":[]}'))
    calling = asyncio.create_task(stage.port.post(call(id_="7")))
    await until(lambda: stage.calls, what="the call is at the upstream")

    cancelled = await stage.port.post(rpc("notifications/cancelled", '{"requestId":7}', id_=None))
    may_end.set()

    assert (cancelled.status, cancelled.body) == (202, b"")
    assert (await calling).document["result"] == {"content": []}


async def test_a_call_ends_in_the_snapshot_in_which_it_began(stage: Stage) -> None:
    may_end = asyncio.Event()
    stage.peer.on["tools/call"] = behaviours.held(may_end, results_in(b'{"content":[]}'))
    calling = asyncio.create_task(stage.port.post(call()))
    await until(lambda: stage.calls, what="the call is at the upstream")

    suspended = built(Known(server("tools/github", out=ServerReason.SUSPENDED)), previous=CATALOGUE)
    stage.port.catalogues.put(suspended)
    refused = await stage.port.post(call())
    may_end.set()

    assert refused.document["error"]["data"] == {"reason": "suspended"}
    assert (await calling).document["result"] == {"content": []}
    stage.port.catalogues.put(CATALOGUE)


# --- an upstream's trouble


async def test_a_call_goes_to_the_upstream_of_its_snapshot_or_nowhere(stage: Stage) -> None:
    await stage.port.post(call())
    stage.port.moved["tools/github"] = "http://elsewhere.example/mcp"
    found = refusal(await stage.port.post(call()))
    stage.port.moved.clear()

    assert (found["code"], found["reason"], found["executed"]) == (-32010, "Unreachable", "no")
    assert len(stage.calls) == 1


@pytest.mark.parametrize(
    ("behaviour", "code", "reason", "executed"),
    [
        pytest.param(
            behaviours.responds(503, b"<h1>x"), -32010, "UpstreamHttpError", "unknown", id="503"
        ),
        pytest.param(behaviours.responds(401), -32010, "UpstreamAuthRequired", "no", id="R30 401"),
        pytest.param(behaviours.responds(403), -32010, "UpstreamAuthRequired", "no", id="R30 403"),
        pytest.param(
            behaviours.responds(429, headers={"Retry-After": "0"}),
            -32013,
            "UpstreamThrottled",
            "no",
            id="429",
        ),
        pytest.param(
            behaviours.closes(), -32010, "Unreachable", "unknown", id="a closed connection"
        ),
        pytest.param(behaviours.hangs(), -32011, "Timeout", "unknown", id="silence"),
        pytest.param(
            results_in(b'{"a":NaN}'), -32012, "ProtocolViolation", "unknown", id="R28 no JSON"
        ),
        pytest.param(
            results_in(b"[]"), -32012, "ProtocolViolation", "unknown", id="a result that is a list"
        ),
        pytest.param(
            results_in(b'{"_meta":5}'), -32012, "ProtocolViolation", "unknown", id="a _meta of 5"
        ),
        pytest.param(
            results_in(b'{"x":"' + b"y" * 40_000 + b'"}'),
            -32014,
            "TooLarge",
            "unknown",
            id="R27 too large a result",
        ),
        pytest.param(
            behaviours.results_in({}, rpc_id="foreign"),
            -32012,
            "ProtocolViolation",
            "unknown",
            id="somebody else's answer",
        ),
    ],
)
async def test_an_upstreams_trouble_is_a_result_and_costs_nobody_else(
    behaviour: Behaviour, code: int, reason: str, executed: str
) -> None:
    limits = replace(QUICK, body_max_bytes=20_000, line_max_bytes=20_000)
    async with staged(limits) as stage:
        stage.peer.on["tools/call"] = behaviour
        found = refusal(await stage.port.post(call()))

        assert found["code"] == code
        assert found["reason"] == reason
        assert found["executed"] == executed
        assert found["server"] == "tools/github"
        assert not (found["retryable"] and executed == "unknown")
        assert stage.port.meter.failures == [("tools/github", reason)]
        assert names(await stage.port.post(rpc("tools/list"))) == ["github.read", "github.search"]


async def test_a_modern_agent_is_told_of_trouble_in_a_whole_result(stage: Stage) -> None:
    stage.peer.on["tools/call"] = behaviours.responds(503)

    answer = await modern(stage.port, "tools/call", {"name": "github.search"})

    assert refusal(answer)["code"] == -32010
    assert answer.document["result"]["resultType"] == "complete"
    assert "structuredContent" not in answer.document["result"]


async def test_more_calls_than_an_upstream_gets_are_refused_as_busy() -> None:
    async with staged(replace(QUICK, in_flight_max=1, waiting_max=0)) as stage:
        may_end = asyncio.Event()
        stage.peer.on["tools/call"] = behaviours.held(may_end, results_in(b'{"content":[]}'))
        calling = asyncio.create_task(stage.port.post(call()))
        await until(lambda: stage.calls, what="the call is at the upstream")

        found = refusal(await stage.port.post(call()))
        may_end.set()

        assert (found["code"], found["executed"], found["retryable"]) == (-32013, "no", True)
        assert (await calling).document["result"] == {"content": []}


async def test_a_server_that_left_between_list_and_call_is_unavailable(stage: Stage) -> None:
    link = stage.port.links.pop("tools/github")

    found = refusal(await stage.port.post(call()))

    assert (found["code"], found["executed"]) == (-32010, "no")
    stage.port.links["tools/github"] = link


@pytest.mark.parametrize("code", [-32602, -32000, -32010, 5])
async def test_r14_r24_an_upstreams_error_is_a_result_that_quotes_it(
    stage: Stage, code: int
) -> None:
    stage.peer.on["tools/call"] = behaviours.errs(code, "no \u202e such\ntool", {"n": 1.0})

    answer = await stage.port.post(call())

    result = answer.document["result"]
    assert result["isError"] is True
    assert result["_meta"] == {
        "pointsman.dev/upstreamError": {
            "code": code,
            "message": "no \u202e such\ntool",
            "data": {"n": 1.0},
        }
    }
    assert text(answer).isprintable()
    assert stage.port.nudged == (["tools/github"] if code == -32602 else [])


async def test_r25_an_error_that_a_client_acts_on_is_relayed_as_one(stage: Stage) -> None:
    stage.peer.on["tools/call"] = behaviours.errs(-32042, "sign in", {"elicitations": []})

    newest = await stage.port.post(call(), MCP_Protocol_Version="2025-11-25")
    older = await stage.port.post(call(), MCP_Protocol_Version="2025-06-18")

    assert newest.verdict == (200, -32042)
    assert newest.document["error"]["data"] == {"elicitations": []}
    assert older.verdict == (200, None)
