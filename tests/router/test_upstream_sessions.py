"""A session is opened once for everybody, renewed once for everybody, and ended."""

import asyncio
from collections.abc import Awaitable
from dataclasses import replace

import pytest

from bench import behaviours
from bench.behaviours import errs, responds, results_in
from bench.legacy_server import LegacyServer
from bench.links import QUICK, a_call, linked
from bench.raw_upstream import Behaviour, RawUpstream
from bench.waiting import until
from pointsman_router.upstream import Result, Trouble

pytestmark = pytest.mark.usefixtures("lane")

WAITERS = 50
NOT_INITIALIZED = errs(-32000, "Bad Request: Server not initialized", status=400, rpc_id=None)


def agreed(version: object = "2025-11-25", **members: object) -> dict[str, object]:
    return {"protocolVersion": version, "capabilities": {"tools": {}}, **members}


def opening(behaviour: Behaviour) -> LegacyServer:
    return LegacyServer(on={"initialize": behaviour}, sessions=False)


@pytest.mark.parametrize(
    "lost",
    [
        pytest.param(behaviours.loses_session_by_404(), id="404"),
        pytest.param(responds(404), id="404 with a page"),
        pytest.param(behaviours.loses_session_by_400(), id="400 no valid session"),
        pytest.param(NOT_INITIALIZED, id="400 not initialized"),
        pytest.param(
            errs(-32600, "Bad Request: Missing session ID", status=400, rpc_id="server-error"),
            id="400 missing session",
        ),
    ],
)
@pytest.mark.parametrize("event_streams", [False, True], ids=["JSON", "event streams"])
async def test_fifty_callers_of_a_restarted_server_share_one_new_session(
    lost: Behaviour, event_streams: bool
) -> None:
    server = LegacyServer(event_streams=event_streams)
    server.lost_session = lost
    renewals: list[None] = []
    async with RawUpstream(server) as upstream, linked(upstream.url()) as link:
        link.on_renewal(lambda: renewals.append(None))
        await link.list()
        server.forget_sessions()
        found = await asyncio.gather(
            *(link.call(a_call(arguments=b'{"n":%d}' % n)) for n in range(WAITERS))
        )

    assert [f'{{\\"n\\": {n}}}'.encode() in one.raw for n, one in enumerate(found)] == [
        True
    ] * WAITERS
    assert len(upstream.requests("initialize")) == 2
    assert len(upstream.requests("tools/call")) <= 2 * WAITERS
    assert renewals
    assert len(server.live_sessions) == 0  # the renewed one was ended


async def test_the_first_fifty_callers_open_one_session() -> None:
    async with RawUpstream(LegacyServer()) as upstream, linked(upstream.url()) as link:
        found = await asyncio.gather(*(link.call(a_call()) for _ in range(WAITERS)))

    assert all(isinstance(one, Result) for one in found)
    assert len(upstream.requests("initialize")) == 1
    assert len(upstream.requests("notifications/initialized")) == 1


async def test_a_listing_renews_a_lost_session_without_further_ado() -> None:
    server = LegacyServer()
    renewals: list[None] = []
    async with RawUpstream(server) as upstream, linked(upstream.url()) as link:
        link.on_renewal(lambda: renewals.append(None))
        await link.list()
        server.forget_sessions()
        listed = await link.list()

    assert len(listed.tools) == 1
    assert len(upstream.requests("initialize")) == 2
    assert renewals == []


async def test_a_server_that_loses_every_session_is_asked_twice_and_no_more() -> None:
    server = LegacyServer(on={"tools/call": behaviours.loses_session_by_404()})
    async with RawUpstream(server) as upstream, linked(upstream.url()) as link:
        with pytest.raises(Trouble, match="replicas") as error:
            await link.call(a_call())

    assert (error.value.reason, error.value.executed) == ("UpstreamHttpError", "no")
    assert len(upstream.requests("tools/call")) == 2
    assert len(upstream.requests("initialize")) == 2


async def test_without_a_session_404_is_a_wrong_path() -> None:
    server = LegacyServer(sessions=False, on={"tools/call": responds(404)})
    async with RawUpstream(server) as upstream, linked(upstream.url()) as link:
        with pytest.raises(Trouble, match="path in url") as error:
            await link.call(a_call())

    assert (error.value.reason, error.value.executed) == ("UpstreamHttpError", "no")
    assert len(upstream.requests("initialize")) == 1


async def test_a_failed_renewal_says_that_the_call_was_not_executed() -> None:
    server = LegacyServer()
    async with RawUpstream(server) as upstream, linked(upstream.url()) as link:
        await link.list()
        server.forget_sessions()
        server.on["initialize"] = responds(503)
        with pytest.raises(Trouble) as error:
            await link.call(a_call())

    assert (error.value.reason, error.value.executed) == ("UpstreamHttpError", "no")


async def test_a_caller_that_leaves_does_not_take_the_session_from_the_others() -> None:
    gate = asyncio.Event()
    server = LegacyServer(sessions=False)
    server.on["initialize"] = behaviours.held(gate, results_in(agreed()))
    async with RawUpstream(server) as upstream, linked(upstream.url()) as link:
        impatient = asyncio.create_task(link.call(a_call(timeout_s=0.1)))
        patient = asyncio.create_task(link.call(a_call()))
        with pytest.raises(Trouble) as error:
            await impatient
        gate.set()
        found = await patient

    assert (error.value.reason, error.value.executed) == ("Timeout", "no")
    assert isinstance(found, Result)
    assert len(upstream.requests("initialize")) == 1
    assert len(upstream.requests("tools/call")) == 1


@pytest.mark.parametrize(
    ("behaviour", "reason", "says"),
    [
        pytest.param(behaviours.hangs(), "Timeout", "within 0.2 s", id="hangs"),
        pytest.param(behaviours.closes(), "Unreachable", "without an answer", id="closes"),
        pytest.param(responds(401), "UpstreamAuthRequired", "credentials", id="401"),
        pytest.param(responds(404), "UpstreamHttpError", "path in url", id="404"),
        pytest.param(responds(405), "UnsupportedProtocol", "HTTP+SSE", id="405"),
        pytest.param(responds(421), "UpstreamHttpError", "hosts that it allows", id="421"),
        pytest.param(responds(503), "UpstreamHttpError", "503", id="503"),
        pytest.param(responds(307), "UpstreamHttpError", "redirect", id="redirect"),
        pytest.param(responds(200, b"<html>"), "ProtocolViolation", "neither JSON", id="HTML"),
        pytest.param(
            results_in({"x": "y" * (1 << 22)}), "ListTooLarge", "larger", id="an endless welcome"
        ),
        pytest.param(errs(-32603, "Oops\n"), "UpstreamRpcError", "-32603: Oops·", id="an error"),
        pytest.param(
            errs(-32022, "no", {"supported": ["2026-07-28"]}, status=400),
            "UnsupportedProtocol",
            "opens with initialize",
            id="modern only",
        ),
        pytest.param(
            results_in(agreed("2026-07-28")),
            "UnsupportedProtocol",
            "2026-07-28",
            id="modern answer",
        ),
        pytest.param(
            results_in(agreed("1999\n" + "9" * 100)), "UnsupportedProtocol", "1999·", id="unknown"
        ),
        pytest.param(results_in(agreed(2025)), "ProtocolViolation", "incomplete", id="a number"),
        pytest.param(results_in({}), "ProtocolViolation", "incomplete", id="no version"),
        pytest.param(
            results_in(agreed(), **{"Mcp-Session-Id": "a b"}),
            "ProtocolViolation",
            "session id",
            id="a blank in the session id",
        ),
        pytest.param(
            results_in(agreed(), **{"Mcp-Session-Id": ""}),
            "ProtocolViolation",
            "session id",
            id="an empty session id",
        ),
        pytest.param(
            results_in(agreed(), **{"Mcp-Session-Id": "x" * 2000}),
            "ProtocolViolation",
            "session id",
            id="a huge session id",
        ),
    ],
)
async def test_a_server_that_opens_no_session_is_named_and_asked_again_next_time(
    behaviour: Behaviour, reason: str, says: str
) -> None:
    server = opening(behaviour)
    limits = replace(QUICK, first_byte_s=0.2)
    async with RawUpstream(server) as upstream, linked(upstream.url(), limits) as link:
        met = await asyncio.gather(*(_trouble(link.call(a_call())) for _ in range(3)))
        listing = await _trouble(link.list())
        server.on.clear()
        found = await link.call(a_call())

    assert {one.reason for one in [*met, listing]} == {reason}
    assert {one.executed for one in met} == {"no"}
    assert len({id(one) for one in met}) == 3
    assert says in met[0].message
    assert met[0].message.isprintable()
    assert isinstance(found, Result)
    assert len(upstream.requests("tools/call")) == 1


async def _trouble(asked: Awaitable[object]) -> Trouble:
    with pytest.raises(Trouble) as error:
        await asked
    return error.value


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
async def test_every_legacy_revision_is_taken_and_named_from_then_on(revision: str) -> None:
    server = LegacyServer(
        on={
            "initialize": results_in(agreed(revision)),
            "notifications/initialized": responds(202, content_type=""),
            "tools/list": results_in({"tools": []}),
        },
    )
    async with RawUpstream(server) as upstream, linked(upstream.url()) as link:
        listed = await link.list()

    assert listed.protocol_version == revision
    later = [one.header("mcp-protocol-version") for one in upstream.received[1:]]
    assert later == [revision] * 2


@pytest.mark.parametrize(
    ("said", "name"),
    [
        pytest.param({"name": "a", "version": "1"}, "a", id="complete"),
        pytest.param({"name": "a\nb" + "x" * 200, "version": "1"}, "a·b", id="not printable"),
        pytest.param({"name": "a"}, None, id="no version"),
        pytest.param("a", None, id="a string"),
        pytest.param(None, None, id="null"),
    ],
)
async def test_what_a_server_calls_itself_does_no_harm(said: object, name: str | None) -> None:
    server = opening(results_in(agreed(serverInfo=said)))
    async with RawUpstream(server) as upstream, linked(upstream.url()) as link:
        info = (await link.list()).server_info

    assert (info and info.name[: len(name or "")]) == name
    assert info is None or len(info.name) <= 120


async def test_opening_is_retried_when_only_its_connection_was_lost() -> None:
    flaky = behaviours.in_turn(behaviours.closes(), behaviours.closes(), results_in(agreed()))
    async with RawUpstream(opening(flaky)) as upstream, linked(upstream.url()) as link:
        await link.list()

    assert len(upstream.requests("initialize")) == 3


@pytest.mark.parametrize(
    "farewell",
    [
        pytest.param(responds(405), id="405"),
        pytest.param(responds(500), id="500"),
        pytest.param(behaviours.closes(), id="closes"),
        pytest.param(behaviours.hangs(), id="hangs"),
    ],
)
async def test_a_session_that_cannot_be_ended_does_not_hold_up_the_end(
    farewell: Behaviour,
) -> None:
    server = LegacyServer(on={"DELETE": farewell})
    limits = replace(QUICK, farewell_s=0.2)
    async with RawUpstream(server) as upstream, linked(upstream.url(), limits) as link:
        await link.list()
        async with asyncio.timeout(2):
            await link.close()

    assert [one.method for one in upstream.received][-1] == "DELETE"


async def test_without_a_session_nothing_is_ended() -> None:
    async with (
        RawUpstream(LegacyServer(sessions=False)) as upstream,
        linked(upstream.url()) as link,
    ):
        await link.list()

    assert {one.method for one in upstream.received} == {"POST"}


async def test_a_call_in_flight_ends_before_its_session_does() -> None:
    gate = asyncio.Event()
    server = LegacyServer(on={"tools/call": behaviours.held(gate, results_in({"ok": True}))})
    async with RawUpstream(server) as upstream, linked(upstream.url()) as link:
        calling = asyncio.create_task(link.call(a_call()))
        await until(lambda: upstream.requests("tools/call"))
        closing = asyncio.create_task(link.close())
        await asyncio.sleep(0)
        late = await _trouble(link.call(a_call()))
        gate.set()
        found = await calling
        await closing

    assert found == Result(b'{"ok": true}')
    assert (late.reason, late.executed) == ("Unreachable", "no")
    assert [one.rpc_method or one.method for one in upstream.received][-2:] == [
        "tools/call",
        "DELETE",
    ]


async def test_a_close_that_is_cancelled_closes_the_connections_at_once() -> None:
    server = LegacyServer(on={"tools/call": behaviours.hangs()})
    async with RawUpstream(server) as upstream, linked(upstream.url()) as link:
        calling = asyncio.create_task(_trouble(link.call(a_call())))
        await until(lambda: upstream.requests("tools/call"))
        await link.list()  # it leaves an idle connection
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await link.close()

        async with asyncio.timeout(1):
            met = await calling

        assert link.open_connections == 0
        assert met.executed == "unknown"
    assert {one.method for one in upstream.received} == {"POST"}
