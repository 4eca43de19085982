"""A call that no task waits for is answered as one is that a task carries from the start."""

import asyncio
import json
import logging
import random
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from bench import answers, behaviours, expressway
from bench.behaviours import errs, responds, sends_and_resets, streams
from bench.expressway import (
    SERVER,
    Expressway,
    Peer,
    Spell,
    Takes,
    Told,
    legacy,
    legacy_without_streams,
    modern,
    modern_with_logs,
    raw,
    refusal,
    requests_in_tasks,
    running,
    told,
    told_by,
    turns,
)
from bench.legacy_server import LegacyServer
from bench.links import QUICK
from bench.mcpport import Connection
from bench.modern_server import ModernServer
from bench.raw_upstream import Behaviour, Received, Wire
from bench.waiting import until
from pointsman_router import express, jsonrpc, translation
from pointsman_router.outlet import Pace
from pointsman_router.respond import Outcome
from pointsman_router.upstream.limits import KIB, MIB

RESULT = {"content": [{"type": "text", "text": "grüße 世界"}], "n": 9007199254740993}
PROGRESS = answers.event(answers.notification("notifications/progress", {"progress": 1}))
LOGGED = answers.event(
    answers.notification("notifications/message", {"level": "info", "data": "a"})
)
OTHER = answers.event(b"not json", name="heartbeat")
AGENTS = {
    "legacy": legacy,
    "legacy without streams": legacy_without_streams,
    "modern": modern,
    "modern with logs": modern_with_logs,
}
PEERS = {"legacy": LegacyServer, "modern": ModernServer}

every_agent = pytest.mark.parametrize("spell", AGENTS.values(), ids=AGENTS.keys())
either_peer = pytest.mark.parametrize(
    "make", PEERS.values(), ids=[f"{era} upstream" for era in PEERS]
)


@pytest.fixture
def takes(monkeypatch: pytest.MonkeyPatch) -> Takes:
    return expressway.recorded(monkeypatch)


def whole(body: bytes, head: str, *, finishes: bool = False) -> Behaviour:
    """A right answer with another head."""

    async def behave(request: Received, wire: Wire) -> None:
        await wire.send(head.encode() + answers.result(request.rpc_id, RESULT) + body)
        if finishes:
            await wire.finish()

    return behave


def in_pieces(size: int, content_type: str = answers.JSON) -> Behaviour:
    """A right answer, each piece of which is read before the next is sent."""

    async def behave(request: Received, wire: Wire) -> None:
        message = answers.result(request.rpc_id, RESULT)
        body = answers.event(message) if content_type == answers.EVENT_STREAM else message
        data = answers.http_in_chunks(200, answers.in_pieces(body, 7), content_type)
        for piece in answers.in_pieces(data, size):
            await wire.send(piece)
            await turns()

    return behave


def with_members(members: bytes) -> Behaviour:
    """An answer with these members beside its version."""

    async def behave(request: Received, wire: Wire) -> None:
        id_ = json.dumps(request.rpc_id).encode()
        await wire.send(answers.http(200, b'{"jsonrpc":"2.0",%b}' % members.replace(b"ID", id_)))

    return behave


def surplus(data: bytes) -> Behaviour:
    async def behave(request: Received, wire: Wire) -> None:
        await wire.send(answers.http(200, answers.result(request.rpc_id, RESULT)) + data)

    return behave


def with_status(status: int) -> Behaviour:
    """A right result that the status denies."""

    async def behave(request: Received, wire: Wire) -> None:
        await wire.send(answers.http(status, answers.result(request.rpc_id, RESULT)))

    return behave


LONG = b'{"content":[],"x":"%b"}'
UNUSUAL = {
    "an error": errs(-32602, "Unknown tool"),
    "an error with data": errs(-32000, "no \u202e", {"n": 1.0}),
    "an error to act on": errs(-32042, "sign in", {"elicitations": []}),
    "an error of capabilities": errs(-32021, "sampling", status=400),
    "an error with 400 and no id": errs(-32050, "no", status=400, rpc_id=None),
    "a result that says no": raw(b'{"content":[],"isError":true}'),
    "another id": behaviours.results_in({}, rpc_id="somebody else's"),
    "a null id": with_members(b'"id":null,"result":{}'),
    "our id twice": with_members(b'"id":ID,"id":ID,"result":{}'),
    "a result and an error": with_members(b'"id":ID,"result":{},"error":{"code":1,"message":""}'),
    "a member beside the result": with_members(b'"id":ID,"vendor":1,"result":{"content":[]}'),
    "a list for a result": with_members(b'"id":ID,"result":[]'),
    "a notification": with_members(b'"method":"notifications/progress"'),
    "a request": with_members(b'"id":1,"method":"ping"'),
    "500": responds(500),
    "503 with a page": responds(503, b"<h1>x"),
    "401": responds(401),
    "403": responds(403),
    "405": responds(405),
    "429": responds(429),
    "202": responds(202, b"", ""),
    "202 with a result": with_status(202),
    "400 with a result": with_status(400),
    "500 with a result": with_status(500),
    "a redirect": responds(307, b"", "", {"Location": "http://127.0.0.1:1/"}),
    "HTML": responds(200, b"<html>"),
    "no JSON": responds(200, b"Oops", answers.JSON),
    "an empty body": responds(200, b"", answers.JSON),
    "an event stream": streams(RESULT),
    "an event stream with CRLF": streams(RESULT, newline="\r\n"),
    "progress before": streams(RESULT, before=PROGRESS * 2),
    "a log message before": streams(RESULT, before=LOGGED),
    "a priming event before": streams(RESULT, before=b"id: 1\nretry: 5\ndata:\n\n"),
    "other events around": streams(RESULT, before=OTHER, after=OTHER),
    "a garbage event before": streams(RESULT, before=b"data: garbage\n\n"),
    "another's event": streams(RESULT, rpc_id="somebody else's"),
    "something behind the answer": streams(RESULT, after=PROGRESS),
    "several data lines": streams(RESULT, data_lines=3),
    "an error event": streams(RESULT, before=answers.event(b'{"jsonrpc":"2.0","id":1}')),
    "a stream without the answer": behaviours.sends_and_closes(
        answers.http_in_chunks(200, [PROGRESS])
    ),
    "a stream of nothing": behaviours.sends(answers.http_in_chunks(200, [b": hi\n\n"])),
    "a long stream": streams(RESULT, before=b": x\n" * 20_000),
    "a request on the stream": streams(
        RESULT, before=answers.event(b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
    ),
    "byte by byte": in_pieces(1),
    "a stream byte by byte": in_pieces(1, answers.EVENT_STREAM),
    "300 KiB": raw(LONG % (b"y" * 300 * KIB)),
    "300 KiB of brackets": raw(b'{"content":[%b]}' % b",".join([b"[]"] * 100 * KIB)),
    "more than a mebibyte": raw(LONG % (b"y" * (MIB + 1))),
    "more than may be": raw(LONG % (b"y" * 4 * MIB)),
    "brackets in a string": raw(LONG % (b"[" * 100 * KIB)),
    "gzip unasked": raw(b'{"content":[]}', **{"Content-Encoding": "gzip"}),
    "UTF-16 said": raw(b'{"content":[]}', charset="utf-16"),
    "no UTF-8": raw(b'{"content":[],"x":"\xff"}'),
    "half a surrogate pair": raw(rb'{"content":[],"x":"\ud800"}'),
    "NaN": raw(b'{"content":[],"x":NaN}'),
    "100 levels": raw(b'{"content":%b}' % (b"[" * 100 + b"]" * 100)),
    "blanks behind it": raw(b'{"content":[]}\n\t '),
    "_meta that is none": raw(b'{"content":[],"_meta":5}'),
    "_meta of the protocol": raw(b'{"_meta":{"io.modelcontextprotocol/x":1,"v":2},"content":[]}'),
    "a long result with that": raw(
        b'{"_meta":{"io.modelcontextprotocol/x":1},"x":"%b"}' % (b"y" * 5000)
    ),
    "structure in a list": raw(b'{"content":[],"structuredContent":[1.0]}'),
    "a link": raw(b'{"content":[{"type":"resource_link","uri":"file:///a","name":"a"}]}'),
    "a wish for input": raw(b'{"resultType":"input_required","inputRequests":{}}'),
    "members twice": raw(b'{"_meta":{},"content":[],"_meta":{}}'),
    "the end before the head": behaviours.closes(),
    "a reset before the head": sends_and_resets(),
    "the end inside the head": behaviours.sends_and_closes(b"HTTP/1.1 20"),
    "the end inside the body": behaviours.cuts(RESULT, 20),
    "a reset inside the body": sends_and_resets(answers.http(200, b"{}")[:-1]),
    "the end inside a body without a length": behaviours.cuts(RESULT, 20, length_stated=False),
    "a body up to the end": whole(
        b"", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n", finishes=True
    ),
    "HTTP 1.0": whole(
        b"", "HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n", finishes=True
    ),
    "no HTTP": behaviours.sends(b"garbage\r\n\r\n"),
    "an interim answer": behaviours.sends(b"HTTP/1.1 101 Switching Protocols\r\n\r\n"),
    "a huge header": behaviours.sends(answers.http(200, headers={"X": "a" * 64 * KIB})),
    "another answer behind it": surplus(answers.http(200, b'{"jsonrpc":"2.0"}')),
    "garbage behind it": surplus(b"garbage"),
}

NEVER_S = 60.0
# Of all that, what needs no task after all, where the agent is one of 2025-11-25.
NEEDS_NO_TASK = frozenset(
    [
        *("a result that says no", "an event stream", "an event stream with CRLF"),
        *("a priming event before", "other events around", "something behind the answer"),
        *("byte by byte", "300 KiB", "_meta of the protocol"),
        *(
            "a long result with that",
            "structure in a list",
            "a link",
            "a body up to the end",
            "HTTP 1.0",
        ),
        *("another answer behind it", "garbage behind it"),
    ]
)


@either_peer
@every_agent
@pytest.mark.parametrize("spoilt", UNUSUAL)
async def test_an_agent_cannot_tell_whether_a_task_carried_its_call(
    takes: Takes,
    spell: Spell,
    make: type[Peer],
    spoilt: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(express, "_QUICK_S", NEVER_S)  # what is unusual is seen at once
    async with running(takes, make()) as way, way.port.connected() as agent:
        request = spell(way.port)
        await way.warm(agent, request)
        meter = way.port.meter
        results = []
        for is_open in (False, True):
            way.mend()
            takes.is_open = False
            await way.ask(agent, request)  # there is an idle connection afterwards
            await way.idle()
            takes.is_open = is_open
            way.spoil(UNUSUAL[spoilt])
            landed = takes.landed
            before = len(way.calls), len(meter.calls), len(meter.ended_with), len(meter.failures)
            answer = await way.ask(agent, request)
            taken = takes.taken[-1]
            seen, called, ended, failed = before
            results.append(
                (
                    answer,
                    len(way.calls) - seen,
                    meter.calls[called:],
                    meter.ended_with[ended:],
                    meter.failures[failed:],
                )
            )
        landed = takes.landed - landed
        way.mend()
        after = [await way.ask(agent, request) for _ in range(2)]

    with_task, without = results
    assert taken
    assert without == with_task
    assert without[1:3] == (1, [SERVER])
    assert len(without[3]) == 1
    assert after[0] == after[1]
    assert takes.taken[-1]
    assert spell is not legacy or landed == (spoilt in NEEDS_NO_TASK)
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


@either_peer
@every_agent
async def test_an_upstream_cannot_tell_either(takes: Takes, spell: Spell, make: type[Peer]) -> None:
    arguments = '{"n":9007199254740993, "s":"ü\\u00fc", "a":1,"a":1e400}'
    async with running(takes, make()) as way, way.port.connected() as agent:
        await way.warm(agent, spell(way.port))
        for is_open in (False, True):
            await way.idle()
            takes.is_open = is_open
            await way.ask(agent, spell(way.port, "github.search", arguments))

    with_task, without = way.calls[-2:]
    assert takes.taken[-1]
    assert arguments.encode() in without.body
    assert without.rpc_id != with_task.rpc_id
    ids = [str(one.rpc_id).encode() for one in (with_task, without)]
    assert without.body.replace(ids[1], b"") == with_task.body.replace(ids[0], b"")
    assert (without.headers, without.target) == (with_task.headers, with_task.target)


@pytest.mark.parametrize("spell", [legacy, modern], ids=["legacy", "modern"])
async def test_structure_of_a_schema_that_is_not_shown_is_not_shown(
    takes: Takes, spell: Spell
) -> None:
    async with running(takes) as way, way.port.connected() as agent:
        way.spoil(raw(b'{"content":[],"structuredContent":{"n":1}}'))
        found = [await way.ask(agent, spell(way.port, "github.lists")) for _ in range(4)]

    assert takes.landed == 2
    assert set(found) == {found[0]}
    assert (b"structuredContent" in found[0].body) == (spell is modern)


async def test_chunks_may_be_cut_anywhere(takes: Takes) -> None:
    async def behave(request: Received, wire: Wire) -> None:
        event = answers.event(answers.result(request.rpc_id, {"a": "ü"}), newline="\r\n")
        data = answers.http_in_chunks(200, answers.in_pieces(b"\xef\xbb\xbf" + event, 40))
        at = request.message["params"]["arguments"]["at"]
        await wire.send(data[:at])
        await turns()
        await wire.send(data[at:])

    async with running(takes) as way, way.port.connected() as agent:
        await way.warm(agent, legacy(way.port))
        way.spoil(behave)
        told_of = [
            await way.ask(agent, legacy(way.port, arguments=f'{{"at":{at}}}'))
            for at in range(1, 300)
        ]

    assert {one.body for one in told_of} == {
        '{"jsonrpc":"2.0","id":1,"result":{"a": "ü"}}'.encode()
    }
    assert takes.landed >= 299


# --- sessions, waits, places


async def test_a_session_that_is_lost_is_opened_anew_once(takes: Takes) -> None:
    peer = LegacyServer()
    async with running(takes, peer) as way, way.port.connected() as agent:
        request = legacy(way.port)
        await way.warm(agent, request)
        usual = await way.ask(agent, request)
        for lost in (behaviours.loses_session_by_404(), behaviours.loses_session_by_400()):
            peer.lost_session = lost
            peer.forget_sessions()
            seen = len(way.calls)
            assert await way.ask(agent, request) == usual
            assert takes.taken[-1]
            assert len(way.calls) == seen + 2
            await way.warm(agent, request)

    assert len(way.upstream.requests("initialize")) == 3
    assert set(way.port.meter.ended_with) == {("tools/call", Outcome.OK)}


async def test_a_call_that_was_sent_in_an_older_session_does_not_end_the_newer_one(
    takes: Takes,
) -> None:
    gate, peer = asyncio.Event(), LegacyServer()
    async with (
        running(takes, peer) as way,
        way.port.connected() as agent,
        way.port.connected() as other,
    ):
        request = legacy(way.port)
        await way.warm(agent, request)
        await way.warm(other, request)
        way.spoil(behaviours.held(gate, peer.lost_session))
        await agent.send(request)
        await until(lambda: len(way.calls) == 7, every_s=0.001)
        taken = takes.taken[-1]
        way.mend()
        peer.forget_sessions()
        beside = await told_by(other, request)
        gate.set()
        late = await told(agent)

    assert taken
    assert late == beside
    assert len(way.upstream.requests("initialize")) == 2


async def test_an_upstream_that_asks_to_be_left_alone_is_left_alone(takes: Takes) -> None:
    gate = asyncio.Event()
    async with (
        running(takes) as way,
        way.port.connected() as agent,
        way.port.connected() as other,
    ):
        request = legacy(way.port)
        await way.warm(agent, request)
        await way.warm(other, request)
        way.spoil(behaviours.held(gate, behaviours.results_in(RESULT)))
        await agent.send(request)
        await until(lambda: len(way.calls) == 7, every_s=0.001)
        way.spoil(responds(429, headers={"Retry-After": "30"}))
        throttled = await told_by(other, request)
        gate.set()  # whose connection serves again, so that none is missing
        await told(agent)
        await way.idle()
        way.mend()
        later = await way.ask(other, request)

    assert takes.taken[-3:] == [True, False, False]
    assert refusal(throttled)["reason"] == "UpstreamThrottled"
    assert refusal(later)["reason"] == "UpstreamThrottled"
    assert len(way.calls) == 8


async def test_a_call_whose_headers_are_refused_is_built_anew_from_a_newer_list(
    takes: Takes,
) -> None:
    refused = errs(-32020, "Mcp-Param-Region", status=400)
    async with running(takes, ModernServer()) as way, way.port.connected() as agent:
        request = modern(way.port)
        await way.warm(agent, request)
        usual = await way.ask(agent, request)
        way.spoil(behaviours.in_turn(refused, way.peer._answer))
        again = await way.ask(agent, request)
        taken = takes.taken[-1]
        way.mend()
        await way.warm(agent, request)

    assert taken
    assert again == usual
    assert way.port.renewed == [SERVER]
    assert len(way.calls) == 9
    assert way.port.meter.calls == [SERVER] * 9


async def test_calls_that_are_handed_over_keep_one_place_each(takes: Takes) -> None:
    limits = replace(QUICK, in_flight_max=2, waiting_max=0)
    async with running(takes, limits=limits) as way, way.port.connected() as agent:
        request = legacy(way.port)
        await way.warm(agent, request)
        usual = await way.ask(agent, request)
        for spoilt in (errs(-32000, "no"), responds(500), behaviours.closes()) * 3:
            way.spoil(spoilt)
            await way.ask(agent, request)
            way.mend()
            assert await way.ask(agent, request) == usual
        gate = asyncio.Event()
        way.spoil(behaviours.held(gate, behaviours.results_in(RESULT)))
        async with way.port.connected() as other, way.port.connected() as third:
            seen = len(way.calls)
            await agent.send(request)
            await other.send(request)
            await until(lambda: len(way.calls) == seen + 2, every_s=0.001)
            refused = await told_by(third, request)
            gate.set()
            both = [await told(agent), await told(other)]

    assert both[0] == both[1]
    assert refusal(refused)["executed"] == "no"
    assert refusal(refused)["code"] == -32013
    assert way.port.meter.calls.count(SERVER) == len(way.port.meter.ended_with)


async def test_without_a_place_or_a_connection_a_call_waits_in_a_task(takes: Takes) -> None:
    gate = asyncio.Event()
    limits = replace(QUICK, in_flight_max=2, waiting_max=1, waiting_s=5.0)
    async with (
        running(takes, limits=limits) as way,
        way.port.connected() as first,
        way.port.connected() as second,
        way.port.connected() as third,
    ):
        request = legacy(way.port)
        for agent in (first, second, third):
            await way.warm(agent, request)
        connections, seen = way.upstream.connections, len(way.calls)
        way.spoil(behaviours.held(gate, behaviours.results_in(RESULT)))
        for agent in (first, second, third):
            await agent.send(request)
        await until(lambda: len(way.calls) == seen + 2, every_s=0.001)
        way.mend()
        gate.set()
        found = [await told(agent) for agent in (first, second, third)]
        dialled = way.upstream.connections - connections

    assert takes.taken[-3:] == [True, False, False]
    assert [one.status for one in found] == [200] * 3
    assert found[0] == found[1]
    assert dialled == 1


async def test_a_connection_that_serves_again_holds_nothing_of_the_answer(takes: Takes) -> None:
    async with running(takes) as way, way.port.connected() as agent:
        way.spoil(raw(LONG % (b"y" * 300 * KIB)))
        await way.warm(agent, legacy(way.port))
        await way.idle()

        assert takes.landed == 1
        assert [one.answer.held_bytes for one in way.link._wire._pool._idle] == [0]


# --- time


async def test_a_call_that_takes_long_gets_a_task_and_its_answer(
    takes: Takes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(express, "_QUICK_S", 0.01)
    gate = asyncio.Event()
    async with running(takes) as way, way.port.connected() as agent:
        request = legacy(way.port)
        await way.warm(agent, request)
        usual, landed = await way.ask(agent, request), takes.landed
        way.spoil(behaviours.held(gate, way.peer._answer))
        await agent.send(request)
        await until(requests_in_tasks, every_s=0.005, what="the call has a task")
        gate.set()
        late = await told(agent)
        handed = takes.landed
        way.mend()
        after = await way.ask(agent, request)

    assert usual == late == after
    assert handed == landed
    assert takes.taken[-2:] == [True, True]
    assert takes.landed == landed + 1
    assert len(way.calls) == 6


async def test_a_call_has_its_time_from_its_sending(
    takes: Takes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(express, "_QUICK_S", 0.4)
    async with running(takes) as way, way.port.connected() as agent:
        request = legacy(way.port)
        await way.warm(agent, request)
        way.spoil(behaviours.hangs())
        begun_s = time.monotonic()
        late = await way.ask(agent, request)
        took_s = time.monotonic() - begun_s
        await until(lambda: way.upstream.requests("notifications/cancelled"))

    (cancelled,) = way.upstream.requests("notifications/cancelled")
    assert takes.taken[-1]
    assert refusal(late)["reason"] == "Timeout"
    assert 1.0 <= took_s < 1.35
    assert cancelled.message["params"] == {"requestId": way.calls[-1].rpc_id}


async def test_a_silent_call_shows_signs_of_life_counted_from_its_sending(takes: Takes) -> None:
    gate = asyncio.Event()
    pace = Pace(silence_s=0.3, stall_s=5.0)
    async with running(takes, pace=pace) as way, way.port.connected() as agent:
        await way.warm(agent, modern(way.port))
        way.spoil(behaviours.held(gate, way.peer._answer))
        await agent.send(modern(way.port))
        begun = await agent.begun()
        comment = await agent.chunk()
        gate.set()
        message = await agent.message()

    assert takes.taken[-1]
    assert begun.headers["content-type"] == "text/event-stream"
    assert comment == b":\n\n"
    assert message["result"]["resultType"] == "complete"


# --- agents


@either_peer
async def test_a_modern_agent_that_leaves_takes_its_call_along(
    takes: Takes, make: type[Peer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(express, "_QUICK_S", NEVER_S)
    async with running(takes, make()) as way:
        async with way.port.connected() as agent:
            await way.warm(agent, modern(way.port))
            way.spoil(behaviours.hangs())
            connections = way.upstream.open_connections
            await agent.send(modern(way.port))
            await until(lambda: len(way.calls) == 4, every_s=0.001)
            assert takes.taken[-1]
        await until(lambda: way.port.meter.in_flight == 0, 1.0, every_s=0.001)
        if make is LegacyServer:
            await until(lambda: way.upstream.requests("notifications/cancelled"))
            (said,) = way.upstream.requests("notifications/cancelled")
            assert said.message["params"] == {"requestId": way.calls[-1].rpc_id}
        else:
            await until(lambda: way.upstream.open_connections < connections)
            assert not way.upstream.requests("notifications/cancelled")

        assert way.port.meter.ended_with[-1] == ("tools/call", Outcome.LEFT)
        assert len(way.calls) == 4


async def test_a_legacy_agents_call_runs_on_when_it_leaves(
    takes: Takes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(express, "_QUICK_S", NEVER_S)
    gate = asyncio.Event()
    async with running(takes) as way:
        async with way.port.connected() as agent:
            await way.warm(agent, legacy(way.port))
            way.spoil(behaviours.held(gate, behaviours.results_in(RESULT)))
            await agent.send(legacy(way.port))
            await until(lambda: len(way.calls) == 4, every_s=0.001)
        await until(requests_in_tasks, every_s=0.001, what="the call has a task")
        gate.set()
        await until(lambda: way.port.meter.in_flight == 0, every_s=0.001)
        await way.idle()

        assert takes.taken[-1]
        assert way.port.meter.ended_with[-1] == ("tools/call", Outcome.OK)
        assert way.upstream.connections == 1
        assert not way.upstream.requests("notifications/cancelled")


async def test_requests_sent_ahead_are_answered_in_their_order(takes: Takes) -> None:
    async with running(takes) as way, way.port.connected() as agent:
        await way.warm(agent, legacy(way.port))
        for number in range(50):
            await agent.send(legacy(way.port, arguments=f'{{"n":{number}}}', id_=str(number)))
            await turns()
        found = [json.loads((await told(agent)).body) for _ in range(50)]

    texts = [one["result"]["content"][0]["text"] for one in found]
    assert [one["id"] for one in found] == list(range(50))
    assert texts == [f'search {{"n": {number}}}' for number in range(50)]
    assert len(way.calls) == 53
    assert takes.taken[3:].count(True) > 1


async def test_a_request_sent_ahead_of_an_answer_takes_the_lane_behind_it(takes: Takes) -> None:
    gate = asyncio.Event()
    async with running(takes) as way, way.port.connected() as agent:
        await way.warm(agent, legacy(way.port))
        way.spoil(behaviours.held(gate, way.peer._answer))
        await agent.send(legacy(way.port, id_="1"))
        await until(lambda: len(way.calls) == 4, every_s=0.001)
        way.mend()
        await agent.send(legacy(way.port, id_="2"))
        await turns()
        gate.set()
        ids = [json.loads((await told(agent)).body)["id"] for _ in range(2)]

    assert ids == [1, 2]
    assert takes.taken[-2:] == [True, True]
    assert way.upstream.connections == 1


def _is_over(way: Expressway, calls: int) -> bool:
    return len(way.port.meter.calls) > calls


async def until_unread(way: Expressway, agent: Connection, request: bytes) -> int:
    """Send one request after another until an answer waits to be read; return how many."""
    agent.stop_reading()
    for count in range(1, 100):
        calls = len(way.port.meter.calls)
        await agent.send(request)
        await until(partial(_is_over, way, calls), every_s=0.001)
        if way.port.pulse.waiting:
            return count
    raise AssertionError("the kernel takes everything")


async def test_an_agent_reads_its_answers_before_it_is_served_again(takes: Takes) -> None:
    async with running(takes) as way, way.port.connected() as agent:
        request = legacy(way.port)
        await way.warm(agent, request)
        way.spoil(raw(LONG % (b"y" * 450 * KIB)))
        count = await until_unread(way, agent, request)
        landed = takes.landed
        await agent.send(request)
        await turns()
        waits = len(way.port.meter.calls) == 3 + count
        agent.read_on()
        lengths = {len((await told(agent)).body) for _ in range(count + 1)}
        after = await way.ask(agent, request)

    assert landed == 1 + count
    assert waits
    assert lengths == {len(after.body)}
    assert takes.taken[-1]


async def test_an_agent_that_never_reads_its_answers_is_cut(takes: Takes) -> None:
    pace = Pace(silence_s=5.0, stall_s=0.3)
    async with running(takes, pace=pace) as way, way.port.connected() as agent:
        await way.warm(agent, legacy(way.port))
        way.spoil(raw(LONG % (b"y" * 450 * KIB)))
        await until_unread(way, agent, legacy(way.port))
        await until(lambda: not way.port.pulse.waiting, what="nobody waits for it any longer")

        assert takes.landed > 1
        assert way.port.meter.in_flight == 0


# --- mistakes of our own


async def test_a_mistake_of_ours_costs_one_call_and_tells_nothing(
    takes: Takes, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_: object, **__: object) -> bytes:
        raise RuntimeError("secret detail of a library")

    async with running(takes) as way, way.port.connected() as agent:
        request = legacy(way.port)
        await way.warm(agent, request)
        with monkeypatch.context() as patch:
            patch.setattr(translation, "result", fails)
            answer = await way.ask(agent, request)
            taken = takes.taken[-1]
        after = await way.ask(agent, request)

    assert taken
    assert json.loads(answer.body)["error"]["code"] == -32603
    assert "secret detail" in caplog.text
    assert way.port.meter.ended_with[-2:] == [
        ("tools/call", Outcome.FAILED),
        ("tools/call", Outcome.OK),
    ]
    assert b"search {}" in after.body
    assert len(way.calls) == 5


async def test_a_mistake_behind_a_call_that_was_sent_frees_its_place(
    takes: Takes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: bytes) -> bytes:
        raise RuntimeError("secret detail of a library")

    limits = replace(QUICK, in_flight_max=1, waiting_max=0)
    async with running(takes, limits=limits) as way, way.port.connected() as agent:
        request = legacy(way.port)
        await way.warm(agent, request)
        way.spoil(errs(-32000, "no"))
        with monkeypatch.context() as patch:
            patch.setattr(jsonrpc, "parse", fails)
            answer = await way.ask(agent, request)
        way.mend()
        after = await way.ask(agent, request)
        await way.warm(agent, request)

    assert json.loads(answer.body)["error"]["code"] == -32603
    assert b"search {}" in after.body
    assert len(way.calls) == 8


async def test_a_mistake_before_a_call_is_sent_costs_one_call_too(
    takes: Takes, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(takes) as way, way.port.connected() as agent:
        request = legacy(way.port)
        await way.warm(agent, request)
        with monkeypatch.context() as patch:
            patch.setattr(way.port, "links", Broken())
            answer = await way.ask(agent, request)
        after = await way.ask(agent, request)

    assert json.loads(answer.body)["error"]["code"] == -32603
    assert "secret detail" in caplog.text
    assert b"search {}" in after.body
    assert len(way.calls) == 4


class Broken:
    """A cell that cannot be read."""

    def get(self, *_: object) -> None:
        raise RuntimeError("secret detail of a library")


# --- many at once


async def test_of_a_thousand_calls_with_one_id_none_gets_anothers_answer(takes: Takes) -> None:
    chance = random.Random(5)
    shapes: list[Callable[[dict[str, Any]], Behaviour]] = [
        behaviours.results_in,
        streams,
        lambda value: streams(value, before=LOGGED),
        lambda value: streams(value, before=b"data:\n\n", piece=9),
        lambda value: behaviours.results_in(value, rpc_id="somebody else's"),
        lambda value: responds(503),
        lambda value: errs(-32000, str(value["n"])),
        lambda value: behaviours.closes(),
        lambda value: behaviours.cuts(value, 20),
        lambda value: behaviours.results_in(value, Connection="close"),
    ]

    async def behave(request: Received, wire: Wire) -> None:
        number = request.message["params"]["arguments"]["n"]
        for _ in range(chance.randrange(4)):
            await asyncio.sleep(0)
        shape = chance.choice(shapes) if chance.random() < 0.5 else shapes[0]
        await shape({"n": number, "content": []})(request, wire)
        if chance.random() < 0.1 and not wire.is_closed:
            await wire.send(answers.http(200, answers.result(request.rpc_id, {"n": -1})))

    async def some(agent: Connection, spell: Spell, first: int) -> list[tuple[int, Told]]:
        found = []
        for number in range(first, first + 50):
            await agent.send(spell(way.port, "github.search", f'{{"n":{number}}}', "7"))
            found.append((number, await told(agent)))
        return found

    async with AsyncExitStack() as stack:
        way = await stack.enter_async_context(running(takes))
        agents = [await stack.enter_async_context(way.port.connected()) for _ in range(20)]
        spellings: list[Spell] = [legacy, modern]
        for agent, spell in zip(agents, spellings * 10, strict=True):
            await way.warm(agent, spell(way.port))
        way.spoil(behave)
        landed = takes.landed
        rounds = await asyncio.gather(
            *(some(agent, spellings[at % 2], at * 50) for at, agent in enumerate(agents))
        )
        landed, carried = takes.landed - landed, sum(takes.taken[60:]) - takes.landed + landed

    found = [one for numbers in rounds for one in numbers]
    assert [number for number, answer in found if not is_its_own(number, answer)] == []
    assert len(way.calls) == 60 + 1000
    assert way.port.meter.calls == [SERVER] * 1060
    assert landed > 50
    assert carried > 50


def is_its_own(number: int, answer: Told) -> bool:
    """Whether an answer is of this call, or says why it has none."""
    last = answer.body.split(b"data: ")[-1]
    message = json.loads(last)
    result = message["result"]
    if result.get("isError"):
        quoted = result["_meta"].get("pointsman.dev/upstreamError")
        return message["id"] == 7 and (quoted is None or quoted["message"] == str(number))
    return bool(message["id"] == 7 and result["n"] == number)
