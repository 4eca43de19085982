"""A legacy upstream learns that nobody waits for an answer any more."""

import asyncio
from dataclasses import replace

import pytest

from bench import behaviours
from bench.behaviours import responds
from bench.legacy_server import LegacyServer
from bench.links import QUICK, a_call, linked
from bench.modern_server import says
from bench.raw_upstream import Behaviour, RawUpstream, Received
from bench.waiting import until
from pointsman_router.upstream import Notice, Result, Trouble

pytestmark = pytest.mark.usefixtures("lane")

CANCELLED = "notifications/cancelled"


def hanging(**on: Behaviour) -> LegacyServer:
    return LegacyServer(on={"tools/call": behaviours.hangs(), **on})


async def test_a_call_that_nobody_waits_for_is_called_off_by_our_id() -> None:
    async with RawUpstream(hanging()) as upstream, linked(upstream.url()) as link:
        calling = asyncio.create_task(link.call(a_call()))
        await until(lambda: upstream.requests("tools/call"))
        calling.cancel()
        await asyncio.wait([calling])
        await until(lambda: upstream.requests(CANCELLED))

    (said,) = upstream.requests(CANCELLED)
    (called,) = upstream.requests("tools/call")
    assert calling.cancelled()
    assert said.message == {
        "jsonrpc": "2.0",
        "method": CANCELLED,
        "params": {"requestId": called.rpc_id},
    }
    assert said.header("mcp-session-id") == called.header("mcp-session-id") is not None


async def test_a_call_past_its_deadline_is_called_off_too() -> None:
    async with RawUpstream(hanging()) as upstream, linked(upstream.url()) as link:
        with pytest.raises(Trouble) as error:
            await link.call(a_call(timeout_s=0.1))
        await until(lambda: upstream.requests(CANCELLED))

    assert (error.value.reason, error.value.executed) == ("Timeout", "unknown")


async def test_opening_a_session_is_never_called_off() -> None:
    server = LegacyServer(on={"initialize": behaviours.hangs()})
    async with RawUpstream(server) as upstream, linked(upstream.url()) as link:
        with pytest.raises(Trouble):
            await link.call(a_call(timeout_s=0.1))
        await link.close()

    assert {one.rpc_method for one in upstream.received} == {"initialize"}


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(responds(500), id="500"),
        pytest.param(behaviours.closes(), id="closes"),
        pytest.param(behaviours.hangs(), id="hangs"),
    ],
)
async def test_calling_off_costs_no_other_call(answer: Behaviour) -> None:
    server = LegacyServer(on={CANCELLED: answer})
    server.on["tools/call"] = behaviours.hangs()
    limits = replace(QUICK, reply_s=0.1, replies_max=2)
    async with RawUpstream(server) as upstream, linked(upstream.url(), limits) as link:
        for _ in range(4):
            with pytest.raises(Trouble):
                await link.call(a_call(timeout_s=0.05))
        del server.on["tools/call"]
        found = await link.call(a_call())

    assert isinstance(found, Result)


async def test_a_legacy_server_gets_our_token_and_its_progress_is_heard() -> None:
    heard: list[Notice] = []

    async def hear(notice: Notice) -> None:
        heard.append(notice)

    def half(request: Received) -> object:
        token = request.message["params"]["_meta"]["progressToken"]
        return {"progressToken": token, "progress": 1, "message": "half"}

    server = LegacyServer(on={"tools/call": says("notifications/progress", half, {"content": []})})
    async with RawUpstream(server) as upstream, linked(upstream.url()) as link:
        found = await link.call(
            a_call(
                meta={"vendor.test/x": b"1.0"},
                wants_progress=True,
                capabilities=b'{"sampling":{}}',
                headers=(("Mcp-Param-X", "y"),),
                log_level=b'"info"',
            ),
            hear,
        )

    (called,) = upstream.requests("tools/call")
    assert found == Result(b'{"content": []}')
    assert heard == [Notice("notifications/progress", {"progress": b"1", "message": b'"half"'})]
    assert set(called.message["params"]["_meta"]) == {"vendor.test/x", "progressToken"}
    assert called.header("mcp-param-x") is None
    assert called.header("mcp-method") is None
