"""What an upstream gets to see of the router, and what it is told when it asks."""

import asyncio
import json
from dataclasses import replace

import pytest
from msgspec import structs

from bench import answers, behaviours
from bench.behaviours import results_in, streams
from bench.legacy_server import LegacyServer
from bench.links import QUICK, a_call, linked
from bench.raw_upstream import RawUpstream, Received, Wire
from pointsman_router.upstream import Result, Trouble

pytestmark = pytest.mark.usefixtures("lane")

RESULT = {"content": [{"type": "text", "text": "done"}]}
FOUND = Result(json.dumps(RESULT).encode())


async def test_what_an_upstream_gets_is_ours_and_nothing_else() -> None:
    arguments = b'{"n":9007199254740993, "z":-0,"u":"\\ud83d","e":1e400 }'
    meta = {"vendor.test/x": b"1.0"}
    server = LegacyServer(on={"tools/call": results_in(RESULT)})
    async with RawUpstream(server) as upstream, linked(upstream.url()) as link:
        await link.call(a_call("greet", arguments, meta=meta))
        await link.close()

    opened, initialized, called, ended = upstream.received
    assert opened.message["params"] == {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "pointsman", "version": "1.2.3"},
    }
    assert opened.header("mcp-protocol-version") is None
    assert initialized.message == {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert called.body.endswith(
        b'"params":{"name":"greet","arguments":%b,"_meta":{"vendor.test/x":1.0}}}' % arguments
    )
    assert ended.method == "DELETE"
    session = {one.header("mcp-session-id") for one in (initialized, called, ended)}
    assert len(session) == 1
    assert session != {None}
    for request in (initialized, called, ended):
        assert request.header("mcp-protocol-version") == "2025-11-25"
    assert {name.lower() for name, _ in called.headers} == {
        "accept",
        "accept-encoding",
        "content-length",
        "content-type",
        "host",
        "mcp-protocol-version",
        "mcp-session-id",
        "user-agent",
    }
    assert called.header("accept-encoding") == "identity"
    assert called.header("accept") == "application/json, text/event-stream"


async def test_cookies_do_not_come_back_and_a_query_goes_as_it_was_written() -> None:
    cookie = results_in(RESULT, **{"Set-Cookie": "a=b; Path=/"})
    async with (
        RawUpstream(LegacyServer(on={"tools/call": cookie})) as upstream,
        linked(upstream.url("/mcp?q=%41+b&token=x%2fy")) as link,
    ):
        await link.call(a_call())
        await link.call(a_call())

    assert {request.target for request in upstream.received} == {"/mcp?q=%41+b&token=x%2fy"}
    assert [request.header("cookie") for request in upstream.received if request.body] == [None] * 4


async def test_a_large_call_arrives_whole() -> None:
    arguments = b'{"text":"%b"}' % (b"x" * 2_000_000)
    async with RawUpstream(LegacyServer()) as upstream, linked(upstream.url()) as link:
        found = await link.call(a_call(arguments=arguments))

    assert isinstance(found, Result)
    assert arguments in upstream.requests("tools/call")[0].body


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        pytest.param("ping", {"result": {}}, id="ping"),
        pytest.param(
            "sampling/createMessage",
            {"error": {"code": -32601, "message": "Method not found"}},
            id="what was not declared",
        ),
    ],
)
async def test_a_request_on_the_stream_is_answered_while_the_call_waits_for_it(
    asked: str, answer: dict[str, object]
) -> None:
    replied = asyncio.Event()

    async def behave(request: Received, wire: Wire) -> None:
        question = {"jsonrpc": "2.0", "id": "theirs", "method": asked, "params": {}}
        head = answers.http_in_chunks(200, []).removesuffix(answers.LAST_CHUNK)
        await wire.send(head + answers.chunk(answers.event(json.dumps(question).encode())))
        await replied.wait()
        event = answers.event(answers.result(request.rpc_id, RESULT))
        await wire.send(answers.chunk(event) + answers.LAST_CHUNK)

    async def take_reply(request: Received, wire: Wire) -> None:
        replied.set()
        await wire.send(answers.http(202, content_type=""))

    server = LegacyServer(on={"tools/call": behave, "": take_reply})
    async with RawUpstream(server) as upstream, linked(upstream.url()) as link:
        found = await link.call(a_call())
        reply = next(one for one in upstream.received if "id" in one.message and not one.rpc_method)

    assert found == FOUND
    assert reply.message == {"jsonrpc": "2.0", "id": "theirs", **answer}
    assert reply.header("mcp-session-id") is not None


async def test_an_upstream_that_asks_without_end_is_given_up() -> None:
    question = answers.event(b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
    server = LegacyServer(
        on={"tools/call": streams(RESULT, before=question * 40), "": behaviours.hangs()}
    )
    limits = replace(QUICK, replies_max=8)
    async with RawUpstream(server) as upstream, linked(upstream.url(), limits) as link:
        with pytest.raises(Trouble, match="asks more") as error:
            await link.call(a_call())

    assert error.value.reason == "ProtocolViolation"


async def test_a_server_that_never_asked_for_input_gets_none() -> None:
    given = {"inputResponses": b'{"a":{}}', "requestState": b'"s"'}
    server = LegacyServer(on={"tools/call": results_in(RESULT)})
    async with RawUpstream(server) as upstream, linked(upstream.url()) as link:
        plain = a_call()
        await link.call(structs.replace(plain, params={**plain.params, **given}))

    (called,) = upstream.requests("tools/call")
    assert called.message["params"].keys() == {"name", "arguments"}
