"""When an answer becomes a stream, what is on it, and how it ends."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from bench import mcpport, scripted_link
from bench.mcpport import Connection, McpPort
from bench.mcpstage import CAPABILITIES, CATALOGUE, MODERN, VERSION, call, rpc
from bench.scripted_link import OK, Script, ScriptedLink, logged, progress, tells, waits
from bench.waiting import until
from pointsman_contract.report import ServerReason
from pointsman_router.failures import Executed
from pointsman_router.outlet import Pace
from pointsman_router.respond import Outcome
from pointsman_router.upstream import Call, Notice, Result, RpcError, Trouble

LOG_LEVEL = "io.modelcontextprotocol/logLevel"
HASTY = Pace(silence_s=0.2, stall_s=0.5)
BIG = b"x" * 8192


@asynccontextmanager
async def calling(
    script: Script, pace: Pace = mcpport.PATIENT
) -> AsyncIterator[tuple[McpPort, ScriptedLink]]:
    """The port before a scripted upstream; every call has ended afterwards."""
    link = ScriptedLink(script)
    async with mcpport.serving(CATALOGUE, pace=pace) as port:
        port.links["tools/github"] = link
        yield port, link
        await until(lambda: link.ended == len(link.calls), what="every call has ended")
        await until(lambda: port.meter.in_flight == 0, what="every request has ended")


def modern_call(port: McpPort, *, id_: str = "1", **meta: Any) -> bytes:
    """A modern call; `meta` joins what describes it."""
    described = {VERSION: MODERN, CAPABILITIES: {}, **meta}
    params = {"name": "github.search", "arguments": {}, "_meta": described}
    return port.request(
        rpc("tools/call", json.dumps(params), id_=id_),
        "/mcp",
        MCP_Protocol_Version=MODERN,
        Mcp_Method="tools/call",
        Mcp_Name="github.search",
    )


def legacy_call(port: McpPort, **headers: str | None) -> bytes:
    """A legacy call that asks for progress."""
    params = '{"name":"github.search","arguments":{},"_meta":{"progressToken":"p"}}'
    return port.request(
        rpc("tools/call", params), "/mcp", MCP_Protocol_Version="2025-11-25", **headers
    )


async def messages(connection: Connection) -> list[Any]:
    """Every message of a stream, to its end."""
    found = []
    while (message := await connection.message()) is not None:
        found.append(message)
    return found


# --- when


async def test_an_answer_that_nothing_precedes_is_json() -> None:
    async with calling(tells()) as (port, _), port.connected() as agent:
        await agent.send(modern_call(port, progressToken=7, **{LOG_LEVEL: "info"}))
        answer = await agent.answer()

    assert answer.headers["content-type"] == "application/json"
    assert answer.document["result"]["content"] == []


@pytest.mark.parametrize("era", ["modern", "legacy"])
async def test_progress_makes_a_stream_that_ends_with_the_answer(era: str) -> None:
    script = tells(progress(1, total=b"2", message=b'"half"'), progress(2))
    async with calling(script) as (port, link), port.connected() as agent:
        modern = modern_call(port, progressToken="p")
        await agent.send(modern if era == "modern" else legacy_call(port))
        begun = await agent.begun()
        told = await messages(agent)
        await agent.send(port.request(rpc("ping")))
        after = await agent.answer()

    assert begun.status == 200
    assert begun.headers["content-type"] == "text/event-stream"
    assert begun.headers["cache-control"] == "no-cache, no-transform"
    assert begun.headers["x-accel-buffering"] == "no"
    assert [message["params"] for message in told[:2]] == [
        {"progressToken": "p", "progress": 1, "total": 2, "message": "half"},
        {"progressToken": "p", "progress": 2},
    ]
    assert told[2]["id"] == 1
    assert told[2]["result"]["content"] == []
    assert link.calls[0].wants_progress
    assert after.document["result"] == {}


async def test_a_notice_that_cannot_be_read_costs_itself() -> None:
    unreadable = Notice("notifications/progress", {"progress": b"1", "_meta": b"5"})
    async with calling(tells(unreadable, progress(2))) as (port, _), port.connected() as agent:
        await agent.send(modern_call(port, progressToken="p"))
        await agent.begun()
        told = await messages(agent)

    assert [message.get("params", {}).get("progress") for message in told] == [2, None]
    assert told[1]["result"]["content"] == []


@pytest.mark.parametrize("token", [7, "7", 0, -1, ""])
async def test_an_agents_progress_token_comes_back_in_its_own_type(token: int | str) -> None:
    async with calling(tells(progress(1))) as (port, _), port.connected() as agent:
        await agent.send(modern_call(port, progressToken=token))
        await agent.begun()
        told = await messages(agent)

    assert told[0]["params"]["progressToken"] == token
    assert type(told[0]["params"]["progressToken"]) is type(token)


async def test_a_silent_call_becomes_a_stream_that_shows_signs_of_life() -> None:
    may_end = asyncio.Event()
    async with calling(waits(may_end), HASTY) as (port, _), port.connected() as agent:
        await agent.send(modern_call(port))
        begun = await agent.begun()
        comments = [await agent.chunk(), await agent.chunk()]
        may_end.set()
        told = await messages(agent)

    assert begun.headers["content-type"] == "text/event-stream"
    assert comments == [b":\n\n", b":\n\n"]
    assert told[0]["result"]["resultType"] == "complete"


@pytest.mark.parametrize("accept", ["application/json", "*/*", None])
async def test_a_legacy_agent_that_names_no_stream_gets_json_however_long_it_takes(
    accept: str | None,
) -> None:
    may_end = asyncio.Event()
    script = waits(may_end, progress(1), logged(b'"x"'))
    async with calling(script, HASTY) as (port, link), port.connected() as agent:
        await agent.send(legacy_call(port, Accept=accept))
        await until(lambda: link.calls, what="the call is at the upstream")
        asyncio.get_running_loop().call_later(HASTY.silence_s * 3, may_end.set)
        answer = await agent.answer()

    assert answer.headers["content-type"] == "application/json"
    assert answer.document["result"] == {"content": []}


async def test_an_array_is_answered_whole_however_long_it_takes() -> None:
    may_end = asyncio.Event()
    script = waits(may_end, progress(1))
    async with calling(script, HASTY) as (port, link), port.connected() as agent:
        await agent.send(port.request(b"[" + call() + b"," + call(id_="2") + b"]"))
        await until(lambda: len(link.calls) == 2, what="both calls are at the upstream")
        asyncio.get_running_loop().call_later(HASTY.silence_s * 3, may_end.set)
        answer = await agent.answer()

    assert [element["id"] for element in answer.document] == [1, 2]


# --- what


@pytest.mark.parametrize(
    ("level", "logs"), [("info", True), ("debug", True), (None, False)], ids=str
)
async def test_a_modern_agent_gets_log_messages_only_if_it_asked(
    level: str | None, logs: bool
) -> None:
    async with calling(tells(logged(b'"a"'))) as (port, link), port.connected() as agent:
        await agent.send(modern_call(port, **({LOG_LEVEL: level} if level else {})))
        begun = await agent.begun()

    is_stream = begun.headers["content-type"] == "text/event-stream"
    assert is_stream == logs
    assert link.calls[0].log_level == (json.dumps(level).encode() if level else None)


async def test_a_legacy_agent_gets_log_messages_since_that_is_declared() -> None:
    async with calling(tells(logged(b'{"n":1.0}'))) as (port, link), port.connected() as agent:
        await agent.send(legacy_call(port))
        await agent.begun()
        told = await messages(agent)

    assert told[0] == {
        "jsonrpc": "2.0",
        "method": "notifications/message",
        "params": {"level": "info", "data": {"n": 1.0}},
    }
    assert link.calls[0].log_level is not None


async def test_nothing_is_heard_for_an_agent_that_wants_nothing() -> None:
    async with calling(tells(progress(1))) as (port, link), port.connected() as agent:
        await agent.send(modern_call(port))
        answer = await agent.answer()

    assert answer.status == 200
    assert link.heard_by == [None]


async def test_line_breaks_between_tokens_do_not_break_an_event() -> None:
    then = Result(b'{\n"content":\r\n[ ],"x":"a\\nb\xe2\x80\xa8c","n":1.0\r}')
    async with calling(tells(progress(1), then=then)) as (port, _), port.connected() as agent:
        await agent.send(legacy_call(port))
        await agent.begun()
        told = await messages(agent)

    assert told[1]["result"] == {"content": [], "x": "a\nb\u2028c", "n": 1.0}


# --- how it ends


@pytest.mark.parametrize(
    ("reply", "key"),
    [
        pytest.param(OK, "result", id="a result"),
        pytest.param(RpcError(-32000, "no", b'{"code":-32000,"message":"no"}'), "result", id="R14"),
        pytest.param(
            RpcError(-32021, "no", b'{"code":-32021,"message":"no"}'), "error", id="an error"
        ),
        pytest.param(
            Trouble(ServerReason.TIMEOUT, "it took too long", executed=Executed.UNKNOWN),
            "result",
            id="late",
        ),
        pytest.param(RuntimeError("a secret of ours"), "error", id="a mistake of ours"),
    ],
)
async def test_a_stream_always_ends_with_the_answer_and_the_connection_stays(
    reply: Result | RpcError | Exception, key: str
) -> None:
    async def script(call: Call, tell: scripted_link.Tell) -> Result | RpcError:
        await tell(progress(1))
        if isinstance(reply, Exception):
            raise reply
        return reply

    async with calling(script) as (port, _), port.connected() as agent:
        await agent.send(modern_call(port, progressToken=1, id_='"a"'))
        await agent.begun()
        told = await messages(agent)
        await agent.send(port.request(rpc("ping")))
        after = await agent.answer()

    assert told[-1]["id"] == "a"
    assert key in told[-1]
    assert "secret" not in json.dumps(told)
    assert after.document["result"] == {}


async def test_an_agent_of_http_1_0_gets_a_stream_that_the_connection_ends() -> None:
    async with calling(tells(progress(1))) as (port, _), port.connected() as agent:
        request = modern_call(port, progressToken=1).replace(b"HTTP/1.1", b"HTTP/1.0", 1)
        await agent.send(request)
        begun = await agent.begun()
        rest = await agent.rest()

    events = [mcpport.message_in(event + b"\n\n") for event in rest.split(b"\n\n")[:-1]]
    assert "transfer-encoding" not in begun.headers
    assert begun.headers["connection"] == "close"
    assert events[-1]["result"]["content"] == []


@pytest.mark.parametrize("begun", [True, False], ids=["streaming", "waiting"])
async def test_f100_a_modern_agent_that_leaves_cancels_its_call_at_once(begun: bool) -> None:
    notices = [progress(1)] if begun else []
    async with calling(waits(asyncio.Event(), *notices)) as (port, link):
        async with port.connected() as agent:
            await agent.send(modern_call(port, progressToken=1))
            await until(lambda: link.calls, what="the call is at the upstream")
            if begun:
                await agent.begun()
        await until(lambda: link.cancelled == 1, 1.0, what="the call was cancelled")

        await until(lambda: port.meter.ended_with, what="the request has ended")
        assert port.meter.ended_with == [("tools/call", Outcome.LEFT)]


@pytest.mark.parametrize("begun", [True, False], ids=["streaming", "waiting"])
async def test_f100_a_legacy_agents_call_runs_on_when_it_leaves(begun: bool) -> None:
    may_end = asyncio.Event()
    notices = [progress(1)] if begun else []
    async with calling(waits(may_end, *notices)) as (port, link):
        async with port.connected() as agent:
            await agent.send(legacy_call(port))
            await until(lambda: link.calls, what="the call is at the upstream")
            if begun:
                await agent.begun()
        await port.post(rpc("ping"))
        still_running = not link.ended
        may_end.set()
        await until(lambda: link.ended, what="the call has ended")

    assert still_running
    assert link.cancelled == 0


# --- an agent that does not read


async def test_an_agent_that_does_not_read_is_not_written_to_and_then_cut() -> None:
    told = 0

    async def script(call: Call, tell: scripted_link.Tell) -> Result | RpcError:
        nonlocal told
        for _ in range(10_000):
            await tell(progress(1, message=b'"' + BIG + b'"'))
            told += 1
        return OK

    async with calling(script, HASTY) as (port, link), port.connected() as agent:
        agent.stop_reading()
        await agent.send(modern_call(port, progressToken=1))
        await until(lambda: link.cancelled == 1, 10.0, what="the stalled agent was cut")

    # What the kernel takes and our bound; without back-pressure it would be all of 80 MB.
    assert told * len(BIG) < 16 * 1024 * 1024


async def test_an_agent_that_does_not_read_a_large_answer_is_cut() -> None:
    large = Result(b'{"content":[],"x":"' + b"y" * 32_000_000 + b'"}')
    async with calling(tells(then=large), HASTY) as (port, _), port.connected() as agent:
        agent.stop_reading()
        await agent.send(legacy_call(port))
        await until(lambda: port.pulse.waiting, what="the answer waits to be read")
        await until(lambda: not port.pulse.waiting, what="nobody waits for it any longer")

        assert await agent.is_cut()


# --- a router that ends


@pytest.mark.parametrize("begun", [True, False], ids=["streaming", "waiting"])
async def test_f80_a_call_that_outlasts_the_drain_is_answered_as_draining(begun: bool) -> None:
    notices = [progress(1)] if begun else []
    async with calling(waits(asyncio.Event(), *notices)) as (port, link), port.connected() as agent:
        await agent.send(legacy_call(port))
        await until(lambda: link.calls, what="the call is at the upstream")
        if begun:
            await agent.begun()
            await agent.message()
        await port.drain(0.1)
        if begun:
            last = (await messages(agent))[-1]
        else:
            answer = await agent.answer()
            last = answer.document
            assert (answer.status, answer.headers["retry-after"]) == (503, "1")
            assert answer.headers["connection"] == "close"

    assert last["error"]["code"] == -32016
    assert last["id"] == 1


async def test_f80_a_call_that_ends_in_time_is_answered_and_its_connection_closed() -> None:
    may_end = asyncio.Event()
    async with calling(waits(may_end)) as (port, link), port.connected() as agent:
        await agent.send(legacy_call(port))
        await until(lambda: link.calls, what="the call is at the upstream")
        draining = asyncio.create_task(port.drain(10.0))
        may_end.set()
        answer = await agent.answer()
        await draining

        assert answer.document["result"] == {"content": []}
        assert answer.headers["connection"] == "close"
        assert await agent.is_closed()
