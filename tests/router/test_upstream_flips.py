"""The era of an upstream is found by asking it, remembered, and found anew when it changes."""

import asyncio
from dataclasses import replace

import pytest

from bench import behaviours
from bench.behaviours import errs, responds, results_in
from bench.legacy_server import LegacyServer
from bench.links import QUICK, a_call, linked
from bench.modern_server import ModernServer
from bench.raw_upstream import Behaviour, RawUpstream
from bench.waiting import until
from pointsman_contract.meta import Protocol
from pointsman_router.jsonrpc import RpcError
from pointsman_router.upstream import Link, Result, Trouble
from pointsman_router.upstream.era import Modern, Session

pytestmark = pytest.mark.usefixtures("lane")

FLIPS = 6
PROBE = "server/discover"


def counted(server: LegacyServer | ModernServer, ran: list[object]) -> Behaviour:
    """The server, each execution of whose tool is written down."""

    def run(params: dict[str, object]) -> dict[str, object]:
        ran.append(params["arguments"])
        return {"content": []}

    server._call = run
    return server


LEGACY = [
    pytest.param(LegacyServer, id="with sessions"),
    pytest.param(lambda: LegacyServer(sessions=False), id="without sessions"),
]


@pytest.mark.parametrize("make", LEGACY)
async def test_a_server_that_changes_its_era_by_turns_loses_no_call(
    make: type[LegacyServer],
) -> None:
    ran: list[object] = []
    async with (
        RawUpstream(ModernServer()) as upstream,
        linked(upstream.url(), protocol=Protocol.AUTO) as link,
    ):
        failed = 0
        for flip in range(FLIPS):
            upstream.behave(counted(make() if flip % 2 else ModernServer(), ran))
            for n in range(3):
                try:
                    found = await link.call(a_call(arguments=b'{"n":%d}' % (flip * 3 + n)))
                except Trouble:
                    failed += 1
                else:
                    failed += not isinstance(found, Result)
            spoken = isinstance(link.terms, Session)

            assert spoken == bool(flip % 2)

    assert failed == 0
    assert ran == [{"n": n} for n in range(FLIPS * 3)]


async def test_fifty_calls_at_a_server_that_changed_its_era_ask_it_once() -> None:
    ran: list[object] = []
    async with (
        RawUpstream(LegacyServer()) as upstream,
        linked(upstream.url(), protocol=Protocol.AUTO) as link,
    ):
        await link.list()
        upstream.behave(counted(ModernServer(), ran))
        found = await asyncio.gather(
            *(link.call(a_call(arguments=b'{"n":%d}' % n)) for n in range(50))
        )

    assert all(isinstance(one, Result) for one in found)
    assert len(ran) == 50
    assert len(upstream.requests(PROBE)) == 2


async def test_fifty_calls_at_a_restarted_server_ask_for_its_era_once() -> None:
    server = LegacyServer()
    async with (
        RawUpstream(server) as upstream,
        linked(upstream.url(), protocol=Protocol.AUTO) as link,
    ):
        await link.list()
        server.forget_sessions()
        found = await asyncio.gather(*(link.call(a_call()) for _ in range(50)))

    assert all(isinstance(one, Result) for one in found)
    assert len(upstream.requests(PROBE)) == 2
    assert len(upstream.requests("initialize")) == 2


@pytest.mark.parametrize(
    "refusal",
    [
        pytest.param(responds(404), id="404"),
        pytest.param(responds(405), id="405"),
        pytest.param(responds(415), id="415"),
        pytest.param(responds(400), id="400 with a page"),
    ],
)
async def test_a_refusal_in_http_alone_fails_one_call_and_no_second(refusal: Behaviour) -> None:
    legacy = LegacyServer()

    async def older(request: object, wire: object) -> None:
        chosen = refusal if request.header("mcp-method") else legacy  # type: ignore[attr-defined]  # as it comes
        await chosen(request, wire)  # type: ignore[arg-type]  # as it came

    async with (
        RawUpstream(ModernServer()) as upstream,
        linked(upstream.url(), protocol=Protocol.AUTO) as link,
    ):
        await link.call(a_call())
        upstream.behave(older)
        with pytest.raises(Trouble):
            await link.call(a_call())
        found = await link.call(a_call())

    assert isinstance(found, Result)
    assert len(upstream.requests("tools/call")) == 3


@pytest.mark.parametrize(
    "outage",
    [
        pytest.param(responds(500), id="500"),
        pytest.param(responds(503), id="503"),
        pytest.param(responds(401), id="401"),
        pytest.param(responds(403), id="403"),
        pytest.param(responds(429), id="429"),
        pytest.param(behaviours.hangs(), id="timeout"),
        pytest.param(behaviours.closes(), id="connection lost"),
    ],
)
@pytest.mark.parametrize("make", [LegacyServer, ModernServer])
async def test_an_outage_is_no_verdict(
    make: type[LegacyServer] | type[ModernServer], outage: Behaviour
) -> None:
    server = make()
    async with (
        RawUpstream(server) as upstream,
        linked(upstream.url(), protocol=Protocol.AUTO) as link,
    ):
        await link.list()
        before = link.terms
        server.on["tools/call"] = outage
        with pytest.raises(Trouble):
            await link.call(a_call(timeout_s=0.2))
        server.on.clear()
        found = await link.call(a_call())

        assert link.terms is before
    assert isinstance(found, Result)
    assert len(upstream.requests(PROBE)) == 1


@pytest.mark.parametrize(
    ("outage", "reason"),
    [
        pytest.param(responds(503), "UpstreamHttpError", id="503"),
        pytest.param(responds(401), "UpstreamAuthRequired", id="401"),
        pytest.param(responds(429), "UpstreamThrottled", id="429"),
        pytest.param(behaviours.hangs(), "Timeout", id="timeout"),
        pytest.param(behaviours.closes(), "Unreachable", id="connection lost"),
    ],
)
async def test_a_probe_without_a_verdict_decides_nothing_and_is_repeated(
    outage: Behaviour, reason: str
) -> None:
    server = ModernServer(on={PROBE: outage})
    limits = replace(QUICK, first_byte_s=0.2)
    async with (
        RawUpstream(server) as upstream,
        linked(upstream.url(), limits, protocol=Protocol.AUTO) as link,
    ):
        with pytest.raises(Trouble) as error:
            await link.call(a_call())
        server.on.clear()
        found = await link.call(a_call())

        assert isinstance(link.terms, Modern)
    assert (error.value.reason, error.value.executed) == (reason, "no")
    assert ("protocol: Legacy" in error.value.message) == (
        reason in ("UpstreamHttpError", "Timeout")
    )
    assert len(error.value.message) < 250
    assert isinstance(found, Result)
    assert not upstream.requests("initialize")


@pytest.mark.parametrize(
    ("again", "reason"),
    [
        pytest.param("2026-07-28", "UnsupportedProtocol", id="it refuses what it names"),
        pytest.param("2027-01-01", "UnsupportedProtocol", id="it speaks only later ones"),
    ],
)
async def test_a_server_without_a_common_revision_is_named(again: str, reason: str) -> None:
    refusal = errs(-32022, "no", {"supported": [again], "requested": "2026-07-28"}, status=400)
    async with (
        RawUpstream(refusal) as upstream,
        linked(upstream.url(), protocol=Protocol.AUTO) as link,
    ):
        with pytest.raises(Trouble, match=again) as error:
            await link.list()

    assert error.value.reason == reason
    assert len(upstream.requests(PROBE)) == 1 + (again == "2026-07-28")
    assert not upstream.requests("initialize")


async def test_a_revision_refused_once_is_asked_for_once_more() -> None:
    server = ModernServer()
    refused = errs(-32022, "no", {"supported": ["2026-07-28"]}, status=400)
    server.on[PROBE] = behaviours.in_turn(refused, server._answer)
    async with (
        RawUpstream(server) as upstream,
        linked(upstream.url(), protocol=Protocol.AUTO) as link,
    ):
        found = await link.call(a_call())

    assert isinstance(found, Result)
    assert len(upstream.requests(PROBE)) == 2


@pytest.mark.parametrize(
    ("protocol", "server"),
    [
        pytest.param(Protocol.LEGACY, LegacyServer(), id="legacy"),
        pytest.param(Protocol.MODERN, ModernServer(), id="modern"),
    ],
)
async def test_a_forced_era_stays_whatever_is_answered(
    protocol: Protocol, server: LegacyServer | ModernServer
) -> None:
    refusal = errs(-32022, "no", {"supported": ["2025-11-25", "2026-07-28"]}, status=400)
    async with (
        RawUpstream(server) as upstream,
        linked(upstream.url(), protocol=protocol) as link,
    ):
        await link.list()
        server.on["tools/call"] = refusal
        found = await link.call(a_call())
        server.on.clear()
        after = await link.call(a_call())

    assert isinstance(found, RpcError)
    assert isinstance(after, Result)
    assert len(upstream.requests("tools/call")) == 2
    assert bool(upstream.requests(PROBE)) == (protocol is Protocol.MODERN)
    assert bool(upstream.requests("initialize")) == (protocol is Protocol.LEGACY)


@pytest.mark.parametrize(
    ("server", "is_modern"),
    [
        pytest.param(LegacyServer(), False, id="legacy"),
        pytest.param(ModernServer(), True, id="modern"),
    ],
)
async def test_an_error_says_in_which_eras_codes_it_is(
    server: LegacyServer | ModernServer, is_modern: bool
) -> None:
    async with (
        RawUpstream(server) as upstream,
        linked(upstream.url(), protocol=Protocol.AUTO) as link,
    ):
        found = await link.call(a_call("unknown"))

    assert isinstance(found, RpcError)
    assert (found.code, found.is_modern) == (-32602, is_modern)


async def test_a_legacy_server_is_asked_at_intervals_whether_it_moved_on() -> None:
    both = LegacyServer()
    limits = replace(QUICK, revise_s=0.0)
    async with (
        RawUpstream(both) as upstream,
        linked(upstream.url(), limits, protocol=Protocol.AUTO) as link,
    ):
        await link.list()
        once = len(upstream.requests(PROBE))
        await link.list()
        older = link.terms
        both.on[PROBE] = ModernServer()._answer
        both.on["tools/list"] = ModernServer()._answer
        listed = await link.list()

    assert once == 1
    assert isinstance(older, Session)
    assert listed.protocol_version == "2026-07-28"
    assert len(upstream.requests(PROBE)) == 3
    assert len(upstream.requests("initialize")) == 1


# --- what becomes of the session


def deletions(upstream: RawUpstream) -> list[str | None]:
    """The sessions that were ended."""
    return [one.header("mcp-session-id") for one in upstream.received if one.method == "DELETE"]


async def test_the_session_of_a_server_that_moved_on_is_ended_beside_the_calls() -> None:
    both = LegacyServer(on={"DELETE": behaviours.hangs()})
    limits = replace(QUICK, revise_s=0.0, farewell_s=0.2)
    async with (
        RawUpstream(both) as upstream,
        linked(upstream.url(), limits, protocol=Protocol.AUTO) as link,
    ):
        await link.list()
        old = _session(link)
        for method in (PROBE, "tools/list", "tools/call"):
            both.on[method] = ModernServer()._answer
        await link.list()
        found = await link.call(a_call())
        await until(lambda: deletions(upstream))

    assert isinstance(found, Result)
    assert deletions(upstream) == [old.id]


async def test_a_session_is_ended_only_once_none_of_our_calls_is_in_it() -> None:
    gate = asyncio.Event()
    both = LegacyServer(on={"tools/call": behaviours.held(gate, results_in({"content": []}))})
    async with (
        RawUpstream(both) as upstream,
        linked(upstream.url(), replace(QUICK, revise_s=0.0), protocol=Protocol.AUTO) as link,
    ):
        await link.list()
        old = _session(link)
        calling = [asyncio.create_task(link.call(a_call())) for _ in range(2)]
        await until(lambda: len(upstream.requests("tools/call")) == 2)
        calling.pop().cancel()
        await until(lambda: upstream.requests("notifications/cancelled"))
        both.on |= dict.fromkeys((PROBE, "tools/list"), ModernServer()._answer)
        await link.list()
        modern = link.terms
        await link.list()
        early = deletions(upstream)
        gate.set()
        found = await calling.pop()
        await until(lambda: deletions(upstream))

    assert isinstance(modern, Modern)
    assert early == []
    assert found == Result(b'{"content": []}')
    assert deletions(upstream) == [old.id]


async def test_the_session_of_a_server_that_refuses_its_era_is_ended_and_its_stream_left() -> None:
    told = {"tools": {"listChanged": True}}
    welcome = {"protocolVersion": "2025-11-25", "capabilities": told}
    refusal = errs(-32022, "no", {"supported": ["2026-07-28"]}, status=400)
    server = LegacyServer(
        on={
            "initialize": results_in(welcome, **{"Mcp-Session-Id": "old"}),
            "notifications/initialized": responds(202, content_type=""),
            "tools/list": results_in({"tools": []}),
            "GET": behaviours.hangs(),
            "tools/call": refusal,
        }
    )
    async with (
        RawUpstream(server) as upstream,
        linked(upstream.url(), protocol=Protocol.AUTO) as link,
    ):
        await link.list()
        await until(lambda: any(one.method == "GET" for one in upstream.received))
        listened = link.listens
        server.on |= {PROBE: ModernServer()._answer}
        server.on["tools/call"] = behaviours.in_turn(refusal, ModernServer()._answer)
        found = await link.call(a_call())
        left = not link.listens
        await until(lambda: deletions(upstream))

    assert isinstance(found, Result)
    assert (listened, left) == (True, True)
    assert deletions(upstream) == ["old"]


@pytest.mark.parametrize(
    "lost",
    [
        pytest.param(behaviours.loses_session_by_404(), id="404"),
        pytest.param(behaviours.loses_session_by_400(), id="400"),
    ],
)
async def test_a_session_that_the_server_forgot_is_not_ended(lost: Behaviour) -> None:
    server = LegacyServer()
    server.lost_session = lost
    async with (
        RawUpstream(server) as upstream,
        linked(upstream.url(), protocol=Protocol.AUTO) as link,
    ):
        await link.list()
        server.forget_sessions()
        await link.call(a_call())
        renewed = _session(link)

    assert deletions(upstream) == [renewed.id]


async def test_a_failed_look_for_an_upgrade_changes_nothing() -> None:
    server = LegacyServer()
    async with (
        RawUpstream(server) as upstream,
        linked(upstream.url(), replace(QUICK, revise_s=0.0), protocol=Protocol.AUTO) as link,
    ):
        await link.list()
        await link.list()
        server.on[PROBE] = responds(503)
        listed = await link.list()

    assert listed.protocol_version == "2025-11-25"
    assert len(upstream.requests("initialize")) == 1


async def test_what_an_older_server_answers_to_the_probe_means_nothing_else() -> None:
    refusal = errs(
        -32600,
        "Bad Request: Missing session ID",
        status=400,
        rpc_id="server-error",
    )
    stray = results_in({}, **{"Mcp-Session-Id": "means-nothing"})
    for answer in (refusal, stray):
        async with (
            RawUpstream(LegacyServer(on={PROBE: answer})) as upstream,
            linked(upstream.url(), protocol=Protocol.AUTO) as link,
        ):
            await link.call(a_call())
            session = _session(link)

        assert session.id != "means-nothing"
        opened = upstream.requests("initialize")[0]
        assert opened.header("mcp-session-id") is None


def _session(link: Link) -> Session:
    assert isinstance(link.terms, Session)
    return link.terms
