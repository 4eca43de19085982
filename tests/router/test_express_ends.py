"""What ends, changes or never takes the way of calls that no task waits for."""

import asyncio
import json
import logging
from contextlib import AsyncExitStack

import pytest

from bench import answers, behaviours, expressway
from bench.behaviours import errs
from bench.catalogues import Known, built, found, server, view
from bench.expressway import (
    CATALOGUE,
    GITHUB,
    SERVER,
    Expressway,
    Spell,
    Takes,
    legacy,
    modern,
    refusal,
    requests_in_tasks,
    running,
    told,
    told_by,
    turns,
)
from bench.legacy_server import LegacyServer, tool
from bench.links import linked
from bench.mcpport import Connection
from bench.raw_upstream import RawUpstream, Received, Wire
from bench.waiting import until
from pointsman_contract.view import NameForm
from pointsman_router import express
from pointsman_router.respond import Outcome


@pytest.fixture
def takes(monkeypatch: pytest.MonkeyPatch) -> Takes:
    return expressway.recorded(monkeypatch)


# --- a router that ends


async def test_a_call_in_the_air_when_the_router_ends_closes_its_connection(takes: Takes) -> None:
    gate = asyncio.Event()
    async with running(takes) as way, way.port.connected() as agent:
        await way.warm(agent, legacy(way.port))
        landed = takes.landed
        way.spoil(behaviours.held(gate, way.peer._answer))
        await agent.send(legacy(way.port))
        await until(lambda: len(way.calls) == 4, every_s=0.001)
        draining = asyncio.create_task(way.port.drain(5.0))
        await until(requests_in_tasks, every_s=0.001, what="the call has a task")
        gate.set()
        answer = await told(agent)
        await draining
        closed = await agent.is_closed()

    assert takes.taken[-1]
    assert ("connection", "close") in answer.headers
    assert b"search {}" in answer.body
    assert closed
    assert takes.landed == landed
    assert way.port.meter.ended_with[-1] == ("tools/call", Outcome.OK)


@pytest.mark.parametrize("spell", [legacy, modern], ids=["legacy", "modern"])
async def test_a_call_in_the_air_that_outlasts_the_drain_is_told_so(
    takes: Takes, spell: Spell
) -> None:
    async with running(takes) as way, way.port.connected() as agent:
        await way.warm(agent, spell(way.port))
        way.spoil(behaviours.hangs())
        await agent.send(spell(way.port))
        await until(lambda: len(way.calls) == 4, every_s=0.001)
        await way.port.drain(0.05)
        answer = await told(agent)
        await until(lambda: way.upstream.requests("notifications/cancelled"))

    assert takes.taken[-1]
    assert answer.status == 503
    assert ("connection", "close") in answer.headers
    assert json.loads(answer.body)["error"]["code"] == -32016
    assert way.port.meter.ended_with[-1] == ("tools/call", Outcome.OVERLOADED)


async def test_a_router_that_ends_takes_no_call_without_a_task(takes: Takes) -> None:
    async with running(takes) as way, way.port.connected() as agent:
        await way.warm(agent, legacy(way.port))
        offered = len(takes.taken)
        draining = asyncio.create_task(way.port.drain(5.0))
        await turns()
        answer = await told_by(agent, legacy(way.port))
        await draining

    assert ("connection", "close") in answer.headers
    assert b"search {}" in answer.body
    assert len(takes.taken) == offered


async def test_an_answer_that_comes_as_the_router_ends_comes_once(
    takes: Takes, caplog: pytest.LogCaptureFixture
) -> None:
    wires: list[tuple[Received, Wire]] = []

    async def behave(request: Received, wire: Wire) -> None:
        wires.append((request, wire))

    async with running(takes) as way, way.port.connected() as agent:
        await way.warm(agent, legacy(way.port))
        way.spoil(behave)
        await agent.send(legacy(way.port))
        await until(lambda: wires, every_s=0.001)
        request, wire = wires[0]
        # It is there to be read before whoever takes the call over is at work.
        wire._writer.write(answers.http(200, answers.result(request.rpc_id, {"content": []})))
        draining = asyncio.create_task(way.port.drain(5.0))
        answer = await told(agent)
        await draining
        closes = ("connection", "close") in answer.headers
        rest = await agent.rest() if closes else b""

    assert takes.taken[-1]
    assert closes is not (takes.landed == 2)  # it depends on the loop which was first
    assert answer.body == b'{"jsonrpc":"2.0","id":1,"result":{"content": []}}'
    assert rest == b""
    assert way.port.meter.ended_with == [("tools/call", Outcome.OK)] * 4
    assert len(way.calls) == 4
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


@pytest.mark.parametrize("quick_s", [0.01, 60.0], ids=["in a task", "without one"])
async def test_a_port_that_closes_gives_up_what_is_in_the_air(
    takes: Takes, quick_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(express, "_QUICK_S", quick_s)
    patient = built(Known(server(SERVER, timeout_s=30), found("search")))
    async with AsyncExitStack() as stack:
        way = await stack.enter_async_context(running(takes, catalogue=patient))
        agent = await stack.enter_async_context(way.port.connected())
        await way.warm(agent, legacy(way.port))
        way.spoil(behaviours.hangs())
        await agent.send(legacy(way.port))
        await until(lambda: len(way.calls) == 4, every_s=0.001)
        await way.port.close()
        await until(lambda: way.upstream.requests("notifications/cancelled"))

        assert takes.taken[-1]
        assert way.port.meter.in_flight == 0
        assert way.port.meter.ended_with[-1] == ("tools/call", Outcome.LEFT)


# --- catalogues and servers


async def test_a_tool_that_was_removed_is_refused_at_once(takes: Takes) -> None:
    async with running(takes) as way, way.port.connected() as agent:
        request = legacy(way.port)
        await way.warm(agent, request)
        way.port.catalogues.put(built(Known(GITHUB, found("read"))))
        refused = await way.ask(agent, request)
        not_taken = takes.taken[-1]
        way.port.catalogues.put(CATALOGUE)
        await way.warm(agent, request)

    assert not not_taken
    assert json.loads(refused.body)["error"]["code"] == -32602
    assert len(way.calls) == 6


async def test_a_call_of_a_view_needs_no_task_until_the_view_changes(takes: Takes) -> None:
    whole = Known(GITHUB, found("search", "read"))
    first = built(whole, views=[view(names=NameForm.BARE)])
    narrowed = built(whole, views=[view(names=NameForm.BARE, tools=["github.read"])])
    async with running(takes, catalogue=first) as way, way.port.connected() as agent:
        request = legacy(way.port, "search", path="/mcp/views/tools/support")
        await way.warm(agent, request)
        way.port.catalogues.put(narrowed)
        left = await way.ask(agent, request)
        not_taken = takes.taken[-1]
        way.port.catalogues.put(built(whole))
        gone = await way.ask(agent, request)
        way.port.catalogues.put(first)
        await way.warm(agent, request)

    assert not not_taken
    assert json.loads(left.body)["error"]["message"] == "Unknown tool: search"
    assert gone.status == 404
    assert len(way.calls) == 6


async def test_a_name_that_leads_elsewhere_now_leads_there_at_once(takes: Takes) -> None:
    moved = built(
        Known(GITHUB, found("read")),
        Known(server("tools/other", prefix="github", timeout_s=1), found("search")),
    )
    other = LegacyServer([tool("search")], name="other")
    async with (
        running(takes) as way,
        RawUpstream(other) as elsewhere,
        linked(elsewhere.url()) as link,
        way.port.connected() as agent,
    ):
        request = legacy(way.port)
        way.port.links["tools/other"] = link
        await way.warm(agent, request)
        way.port.catalogues.put(moved)
        await way.warm(agent, request)
        way.port.catalogues.put(CATALOGUE)
        await way.warm(agent, request)

    assert len(way.calls) == 6
    assert len(elsewhere.requests("tools/call")) == 3
    assert way.port.meter.calls == [SERVER] * 3 + ["tools/other"] * 3 + [SERVER] * 3


async def test_a_call_goes_by_the_list_that_it_was_sent_by(takes: Takes) -> None:
    gate = asyncio.Event()
    async with running(takes) as way, way.port.connected() as agent:
        await way.warm(agent, legacy(way.port))
        way.spoil(behaviours.held(gate, errs(-32000, "no")))
        await agent.send(legacy(way.port))
        await until(lambda: len(way.calls) == 4, every_s=0.001)
        way.port.catalogues.put(built(Known(GITHUB, found("read"))))
        gate.set()
        answer = await told(agent)

    assert takes.taken[-1]
    assert b'"pointsman.dev/upstreamError":{"code": -32000' in answer.body
    assert len(way.calls) == 4


async def test_a_server_that_is_replaced_ends_its_call_and_gets_no_other(takes: Takes) -> None:
    gate = asyncio.Event()
    async with (
        running(takes) as way,
        RawUpstream(LegacyServer([tool("search")])) as newer,
        linked(newer.url()) as link,
        way.port.connected() as agent,
        way.port.connected() as other,
    ):
        request = legacy(way.port)
        await way.warm(agent, request)
        await way.warm(other, request)
        way.spoil(behaviours.held(gate, way.peer._answer))
        await agent.send(request)
        await until(lambda: len(way.calls) == 7, every_s=0.001)
        way.port.links[SERVER] = link
        closing = asyncio.create_task(way.link.close())
        await told_by(other, request)
        await way.warm(other, request)
        gate.set()
        answer = await told(agent)
        await closing

    assert b"search {}" in answer.body
    assert len(way.calls) == 7
    assert len(newer.requests("tools/call")) == 4
    assert newer.requests("tools/call")[-1].header("host") == f"127.0.0.1:{newer.port}"


async def test_a_server_that_was_removed_gets_no_call_while_another_ends(takes: Takes) -> None:
    gate = asyncio.Event()
    async with (
        running(takes) as way,
        way.port.connected() as agent,
        way.port.connected() as other,
    ):
        request = legacy(way.port)
        await way.warm(agent, request)
        await way.warm(other, request)
        way.spoil(behaviours.held(gate, way.peer._answer))
        await agent.send(request)
        await told_beside(way, other, request)
        await until(lambda: way.link._wire._pool._idle, every_s=0.001)
        closing = asyncio.create_task(way.link.close())
        await turns()
        refused = await told_by(other, request)
        gate.set()
        answer = await told(agent)
        await closing

    assert refusal(refused)["executed"] == "no"
    assert b"search {}" in answer.body
    assert len(way.calls) == 8


async def told_beside(way: Expressway, agent: Connection, request: bytes) -> None:
    """Have a second connection to the upstream, which is idle afterwards."""
    seen = len(way.calls)
    await until(lambda: len(way.calls) == 7, every_s=0.001)
    way.mend()
    await told_by(agent, request)
    assert len(way.calls) > seen


async def test_a_server_that_is_cut_off_is_trouble_of_the_call_in_the_air(takes: Takes) -> None:
    async with running(takes) as way, way.port.connected() as agent:
        await way.warm(agent, legacy(way.port))
        way.spoil(behaviours.hangs())
        await agent.send(legacy(way.port))
        await until(lambda: len(way.calls) == 4, every_s=0.001)
        closing = asyncio.create_task(way.link.close())
        await turns()
        closing.cancel()
        answer = await told(agent)
        await asyncio.wait([closing])

    assert takes.taken[-1]
    assert refusal(answer)["reason"] == "Unreachable"
    assert refusal(answer)["executed"] == "unknown"


# --- what never takes it


@pytest.mark.parametrize(
    "spell",
    [
        pytest.param(lambda port: legacy(port, meta='{"progressToken":1}'), id="a progress token"),
        pytest.param(
            lambda port: modern(port, more=', "progressToken": "a"'), id="a modern agent's token"
        ),
        pytest.param(lambda port: legacy(port, meta='{"vendor.example/x":1}'), id="a vendor's key"),
        pytest.param(
            lambda port: modern(port, more=', "traceparent": "00-a-b-01"'), id="a trace in _meta"
        ),
        pytest.param(
            lambda port: legacy(port, traceparent="00-a-b-01"), id="a trace in the headers"
        ),
        pytest.param(lambda port: legacy(port, "github.headed"), id="a header that repeats"),
        pytest.param(lambda port: modern(port, "github.headed"), id="a modern agent's too"),
        pytest.param(lambda port: legacy(port).replace(b"{}", b"[]", 1), id="no arguments"),
        pytest.param(lambda port: legacy(port, "github.nothing"), id="a tool that is none"),
        pytest.param(lambda port: legacy(port, Connection="close"), id="the last of a connection"),
    ],
)
async def test_what_may_be_another_call_each_time_is_carried_in_a_task(
    takes: Takes, spell: Spell
) -> None:
    async with running(takes) as way:
        found = []
        for _ in range(4):
            async with way.port.connected() as agent:
                await way.warm(agent, legacy(way.port, "github.read"))
                offered = len(takes.taken)
                found.append(await told_by(agent, spell(way.port)))
                await until(lambda: way.port.meter.in_flight == 0, every_s=0.001)
                assert not any(takes.taken[offered:])

    assert found[1:] == found[:1] * 3


async def test_a_body_that_names_another_tool_than_its_head_is_refused(takes: Takes) -> None:
    async with running(takes) as way, way.port.connected() as agent:
        search, read = (modern(way.port, f"github.{name}") for name in ("search", "read"))
        await way.warm(agent, search, read)
        mixed = modern(way.port, "github.search", Mcp_Name="github.read")
        seen = len(way.calls)
        for _ in range(3):
            refused = await way.ask(agent, mixed)
            assert not takes.taken[-1]
        await way.ask(agent, search)

    assert refused.status == 400
    assert json.loads(refused.body)["error"]["code"] == -32020
    assert len(way.calls) == seen + 1
    assert takes.taken[-1]
