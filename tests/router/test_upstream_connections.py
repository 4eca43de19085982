"""Whose connection a call gets, and that no answer ever reaches another call."""

import asyncio
import json
import time
from dataclasses import replace

import pytest

from bench import answers, behaviours
from bench.behaviours import results_in
from bench.legacy_server import LegacyServer
from bench.links import QUICK, a_call, linked, working
from bench.raw_upstream import Behaviour, RawUpstream, Received, Wire
from bench.waiting import until
from pointsman_router.jsonrpc import RpcError
from pointsman_router.upstream import Limits, Link, Result, Trouble

in_both_lanes = pytest.mark.usefixtures("lane")


def numbered(link: Link, number: int, timeout_s: float = 10.0) -> asyncio.Task[int]:
    """A call whose result says which call it belongs to."""

    async def call() -> int:
        found = await link.call(a_call(arguments=b'{"n":%d}' % number, timeout_s=timeout_s))
        assert isinstance(found, Result)
        return int(json.loads(found.raw)["n"])

    return asyncio.create_task(call())


async def says_its_number(request: Received, wire: Wire) -> None:
    number = request.message["params"]["arguments"]["n"]
    await wire.send(answers.http(200, answers.result(request.rpc_id, {"n": number})))


def calls(behaviour: Behaviour) -> LegacyServer:
    return LegacyServer(on={"tools/call": behaviour})


async def trouble_of(call: asyncio.Task[int]) -> Trouble:
    with pytest.raises(Trouble) as error:
        await call
    return error.value


@in_both_lanes
async def test_two_hundred_calls_at_once_each_get_their_own_answer() -> None:
    async with RawUpstream(calls(says_its_number)) as upstream:
        limits = replace(QUICK, waiting_max=200, waiting_s=10.0)
        async with linked(upstream.url(), limits) as link:
            found = await asyncio.gather(*(numbered(link, n) for n in range(200)))

    assert found == list(range(200))
    ids = {str(one.rpc_id) for one in upstream.received if one.rpc_id is not None}
    assert len(ids) == 201  # of 200 calls and one initialize


@in_both_lanes
@pytest.mark.parametrize("event_streams", [False, True], ids=["JSON", "event streams"])
async def test_a_right_answer_leaves_its_connection_for_the_next_call(event_streams: bool) -> None:
    async with (
        RawUpstream(LegacyServer(event_streams=event_streams)) as upstream,
        linked(upstream.url()) as link,
    ):
        for _ in range(5):
            await link.call(a_call())
            await until(lambda: not working())

    assert upstream.connections == 1


@in_both_lanes
async def test_a_late_answer_is_cut_off_with_its_connection() -> None:
    gate = asyncio.Event()
    late = behaviours.held(gate, says_its_number)
    server = calls(behaviours.in_turn(late, says_its_number))
    async with RawUpstream(server) as upstream, linked(upstream.url()) as link:
        met = await trouble_of(numbered(link, 1, timeout_s=0.2))
        gate.set()
        found = await numbered(link, 2)

    assert (met.reason, met.executed) == ("Timeout", "unknown")
    assert found == 2
    first, second = upstream.requests("tools/call")
    assert first.connection != second.connection


@in_both_lanes
async def test_an_answer_that_nobody_asked_for_reaches_nobody() -> None:
    async def twice(request: Received, wire: Wire) -> None:
        await says_its_number(request, wire)
        await says_its_number(request, wire)

    async with RawUpstream(calls(twice)) as upstream, linked(upstream.url()) as link:
        found = [await numbered(link, n) for n in range(20)]

    assert found == list(range(20))


@in_both_lanes
async def test_an_answer_sent_on_an_idle_connection_costs_only_that_connection() -> None:
    wires: list[Wire] = []

    async def behave(request: Received, wire: Wire) -> None:
        wires.append(wire)
        await says_its_number(request, wire)

    async with RawUpstream(calls(behave)) as upstream, linked(upstream.url()) as link:
        first = await numbered(link, 1)
        await wires[0].send(answers.http(200, answers.result("x", {"n": 666})))
        second = await numbered(link, 2)

    assert (first, second) == (1, 2)
    one, other = upstream.requests("tools/call")
    assert one.connection != other.connection


@in_both_lanes
async def test_an_answer_to_somebody_else_closes_the_connection() -> None:
    wrong = results_in({"n": 666}, rpc_id="somebody else's")
    server = calls(behaviours.in_turn(wrong, says_its_number))
    async with RawUpstream(server) as upstream, linked(upstream.url()) as link:
        met = await trouble_of(numbered(link, 1))
        await until(lambda: upstream.open_connections == 0)
        found = await numbered(link, 2)

    assert met.reason == "ProtocolViolation"
    assert found == 2


@in_both_lanes
async def test_a_connection_that_the_server_closed_is_noticed_before_it_is_used() -> None:
    async def answers_and_closes(request: Received, wire: Wire) -> None:
        await says_its_number(request, wire)
        await wire.finish()

    async with RawUpstream(calls(answers_and_closes)) as upstream, linked(upstream.url()) as link:
        for number in range(20):
            assert await numbered(link, number) == number
            await until(lambda: upstream.open_connections == 0, every_s=0.001)

    assert len(upstream.requests("tools/call")) == 20


@in_both_lanes
async def test_an_idle_connection_is_gone_before_a_server_would_close_it() -> None:
    limits = replace(QUICK, keepalive_s=0.1)
    async with RawUpstream(LegacyServer()) as upstream, linked(upstream.url(), limits) as link:
        await link.call(a_call())
        await until(lambda: upstream.open_connections == 0, 5.0)

        assert link.open_connections == 0
        assert isinstance(await link.call(a_call()), Result)


@in_both_lanes
async def test_rolled_servers_cost_the_calls_in_flight_and_nothing_after_them() -> None:
    server = calls(behaviours.hangs())
    async with RawUpstream(server) as upstream, linked(upstream.url()) as link:
        rolled = [numbered(link, n) for n in range(64)]
        await until(lambda: len(upstream.requests("tools/call")) == 64)
        server.on["tools/call"] = says_its_number
        await upstream.stop()
        met = [await trouble_of(call) for call in rolled]
        await upstream.start()
        found = await numbered(link, 7)

    assert {(one.reason, one.executed) for one in met} == {("Unreachable", "unknown")}
    assert found == 7
    assert len(upstream.requests("tools/call")) == 65


@in_both_lanes
async def test_event_streams_that_do_not_end_hold_a_bounded_number_of_connections() -> None:
    async def never_ends(request: Received, wire: Wire) -> None:
        message = answers.result(request.rpc_id, {})
        whole = answers.http_in_chunks(200, [answers.event(message)])
        await wire.send(whole.removesuffix(answers.chunk(b"")))
        await wire.hang()

    limits = replace(QUICK, drain_s=10.0, drains_max=4)
    open_connections = []
    async with RawUpstream(calls(never_ends)) as upstream, linked(upstream.url(), limits) as link:
        for _ in range(20):
            await link.call(a_call())
            open_connections.append(link.open_connections)

    # one more is the idle one that opened the session
    assert max(open_connections) <= 5


async def test_calls_beyond_the_bulkhead_wait_briefly_or_are_refused_at_once() -> None:
    gate = asyncio.Event()
    server = calls(behaviours.held(gate, says_its_number))
    limits = replace(QUICK, in_flight_max=4, waiting_max=4, waiting_s=0.3)
    async with RawUpstream(server) as upstream, linked(upstream.url(), limits) as link:
        inside = [numbered(link, n) for n in range(4)]
        await until(lambda: len(upstream.requests("tools/call")) == 4)
        waiting = [numbered(link, n) for n in range(4, 8)]
        await asyncio.sleep(0)
        begun = time.monotonic()
        refused = await trouble_of(numbered(link, 8))
        took = time.monotonic() - begun
        waited = [await trouble_of(call) for call in waiting[:2]]
        await asyncio.gather(*waiting, return_exceptions=True)
        gate.set()
        found = await asyncio.gather(*inside)
        after = await numbered(link, 9)

    for met in [refused, *waited]:
        assert met.busy
        assert met.executed == "no"
    assert took < 0.1
    assert found == [0, 1, 2, 3]
    assert after == 9
    assert len(upstream.requests("tools/call")) == 5


async def test_who_waits_gets_the_place_of_a_call_that_ends() -> None:
    gate = asyncio.Event()
    server = calls(behaviours.held(gate, says_its_number))
    limits = replace(QUICK, in_flight_max=1, waiting_max=3, waiting_s=5.0)
    async with RawUpstream(server) as upstream, linked(upstream.url(), limits) as link:
        all_of_them = [numbered(link, n) for n in range(4)]
        await until(lambda: upstream.requests("tools/call"))
        gate.set()
        found = await asyncio.gather(*all_of_them)

    assert found == [0, 1, 2, 3]


async def test_five_hundred_calls_to_a_hung_server_leave_its_neighbour_alone() -> None:
    async with (
        RawUpstream(calls(behaviours.hangs())) as hung,
        RawUpstream(calls(says_its_number)) as healthy,
        linked(hung.url(), Limits(waiting_s=0.3)) as link,
        linked(healthy.url()) as other,
    ):
        begun = [numbered(link, n, timeout_s=1.0) for n in range(500)]
        beside = [await numbered(other, n) for n in range(50)]
        met = [await trouble_of(call) for call in begun]
        # What tells the server that nobody waits may have connections of its own for a moment.
        await until(lambda: link.open_connections == 0)

    assert beside == list(range(50))
    assert sum(one.reason == "Timeout" and one.executed == "unknown" for one in met) == 64
    assert sum(one.busy and one.executed == "no" for one in met) == 500 - 64
    assert len(hung.requests("tools/call")) == 64


@in_both_lanes
async def test_an_error_is_an_answer_and_leaves_its_connection_too() -> None:
    server = calls(behaviours.errs(-32050, "no"))
    async with RawUpstream(server) as upstream, linked(upstream.url()) as link:
        found = [await link.call(a_call()) for _ in range(3)]

    assert all(isinstance(one, RpcError) for one in found)
    assert upstream.connections == 1
