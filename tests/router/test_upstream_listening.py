"""An upstream that tells of changes is heard, and one that does not costs nothing."""

import asyncio
from dataclasses import replace

import pytest

from bench import answers, behaviours
from bench.behaviours import errs, responds, results_in
from bench.legacy_server import LATEST, LegacyServer
from bench.links import QUICK, a_call, linked
from bench.modern_server import SUBSCRIPTION, ModernServer
from bench.raw_upstream import Behaviour, RawUpstream, Received, Wire
from bench.waiting import until
from pointsman_contract.meta import Exposed, Protocol
from pointsman_router.upstream import Link, Result

LISTEN = "subscriptions/listen"
CHANGED = answers.event(answers.notification("notifications/tools/list_changed"))
AT_ONCE = replace(QUICK, listening_pause_s=(0.0, 0.0))


class Told:
    """How often the link said that the list may be another one."""

    def __init__(self, link: Link) -> None:
        self.times = 0
        link.on_renewal(self._tell)

    def _tell(self) -> None:
        self.times += 1

    async def more_than(self, times: int) -> None:
        await until(lambda: self.times > times, what="the link told of a change")


def listened(upstream: RawUpstream) -> int:
    gets = sum(one.method == "GET" for one in upstream.received)
    return gets + len(upstream.requests(LISTEN))


def notices(*all_said: tuple[str, dict[str, object]], last: bytes = b"") -> Behaviour:
    """A stream of changes of exactly these messages, which then stays open."""

    async def behave(request: Received, wire: Wire) -> None:
        await wire.send(answers.http_in_chunks(200, []).removesuffix(answers.LAST_CHUNK))
        for method, said in all_said:
            marked = {"_meta": {SUBSCRIPTION: request.rpc_id}, **said}
            message = answers.notification(method, marked)
            await wire.send(answers.chunk(answers.event(message)))
        await wire.send(last)
        await wire.hang()

    return behave


ACK: tuple[str, dict[str, object]] = (
    "notifications/subscriptions/acknowledged",
    {"notifications": {"toolsListChanged": True}},
)


async def test_a_modern_servers_change_is_told_once_each_time() -> None:
    server = ModernServer(tells_changes=True)
    async with (
        RawUpstream(server) as upstream,
        linked(upstream.url(), protocol=Protocol.AUTO) as link,
    ):
        told = Told(link)
        await link.list()
        await told.more_than(0)  # what happened before it listened is unknown
        await server.tell_change()
        await told.more_than(1)
        await link.list()
        await server.tell_change()
        await told.more_than(2)
        found = await link.call(a_call())

        assert told.times == 3
    (asked,) = upstream.requests(LISTEN)
    assert asked.message["params"]["notifications"] == {"toolsListChanged": True}
    assert asked.header("mcp-method") == LISTEN
    assert isinstance(found, Result)


TELLS_ALL = {name: {"listChanged": True} for name in ("tools", "prompts", "resources")}
ASKED = [
    pytest.param([Exposed.TOOLS], {"toolsListChanged"}, 1, id="tools"),
    pytest.param([Exposed.PROMPTS], {"promptsListChanged"}, 2, id="prompts"),
    pytest.param(
        list(Exposed),
        {"toolsListChanged", "promptsListChanged", "resourcesListChanged"},
        2,
        id="everything",
    ),
]


@pytest.mark.parametrize(("exposes", "kinds", "told_in_all"), ASKED)
async def test_a_modern_server_is_asked_for_changes_of_what_is_exposed(
    exposes: list[Exposed], kinds: set[str], told_in_all: int
) -> None:
    discovered = {"supportedVersions": ["2026-07-28"], "capabilities": TELLS_ALL}
    server = ModernServer(
        tells_changes=True,
        on={
            "server/discover": results_in(discovered),
            "prompts/list": results_in({"prompts": []}),
            "resources/list": results_in({"resources": []}),
            "resources/templates/list": results_in({"resourceTemplates": []}),
            LISTEN: notices(
                (ACK[0], {"notifications": dict.fromkeys(kinds, True)}),
                ("notifications/prompts/list_changed", {}),
                ("notifications/other", {}),
            ),
        },
    )
    async with (
        RawUpstream(server) as upstream,
        linked(upstream.url(), protocol=Protocol.AUTO, exposes=exposes) as link,
    ):
        told = Told(link)
        await link.list()
        await told.more_than(told_in_all - 1)

        assert told.times == told_in_all
    (asked,) = upstream.requests(LISTEN)
    assert asked.message["params"]["notifications"] == dict.fromkeys(kinds, True)


async def test_a_legacy_servers_change_of_prompts_is_heard_where_they_are_exposed() -> None:
    changed = answers.event(answers.notification("notifications/prompts/list_changed"))
    welcome = {"protocolVersion": LATEST, "capabilities": {"prompts": {"listChanged": True}}}

    async def stream(request: Received, wire: Wire) -> None:
        head = answers.http_in_chunks(200, []).removesuffix(answers.LAST_CHUNK)
        await wire.send(head + answers.chunk(changed))
        await wire.hang()

    server = LegacyServer(
        sessions=False,
        on={
            "initialize": results_in(welcome, **{"Mcp-Session-Id": "s"}),
            "prompts/list": results_in({"prompts": []}),
            "GET": stream,
        },
    )
    async with (
        RawUpstream(server) as upstream,
        linked(upstream.url(), exposes=[Exposed.PROMPTS]) as link,
    ):
        told = Told(link)
        await link.list()
        await told.more_than(1)

    assert listened(upstream) == 1


async def test_the_end_of_a_stream_is_told_and_the_next_listing_opens_another() -> None:
    server = ModernServer(tells_changes=True)
    async with (
        RawUpstream(server) as upstream,
        linked(upstream.url(), AT_ONCE, protocol=Protocol.AUTO) as link,
    ):
        told = Told(link)
        await link.list()
        await told.more_than(0)
        await server.end_streams()
        await told.more_than(1)
        await link.list()
        await told.more_than(2)

    assert listened(upstream) == 2


@pytest.mark.parametrize(
    "behaviour",
    [
        pytest.param(behaviours.closes(), id="FIN"),
        pytest.param(responds(503), id="503"),
        pytest.param(errs(-32603, "Subscription limit reached"), id="an error"),
        pytest.param(notices(last=answers.chunk(b"data: {}\n\n")), id="no message"),
        pytest.param(notices(last=answers.chunk(b"data: " + b"x" * 200_000)), id="a long line"),
        pytest.param(
            notices(ACK, last=answers.chunk(b'data: {"jsonrpc":"2.0","id":1,"method":"a"}\n\n')),
            id="a request",
        ),
    ],
)
async def test_a_stream_that_fails_is_left_alone_for_longer_and_longer(
    behaviour: Behaviour,
) -> None:
    server = ModernServer(tells_changes=True, on={LISTEN: behaviour})
    limits = replace(QUICK, listening_pause_s=(60.0, 60.0))
    async with (
        RawUpstream(server) as upstream,
        linked(upstream.url(), limits, protocol=Protocol.AUTO) as link,
    ):
        await link.list()
        await until(lambda: listened(upstream) and not link.listens)
        for _ in range(3):
            await link.list()
        found = await link.call(a_call())

    assert listened(upstream) == 1
    assert isinstance(found, Result)


@pytest.mark.parametrize(
    "behaviour",
    [
        pytest.param(errs(-32601, "no", status=404), id="no such method"),
        pytest.param(responds(405), id="405"),
        pytest.param(
            notices(("notifications/subscriptions/acknowledged", {"notifications": {}})),
            id="nothing is honoured",
        ),
    ],
)
async def test_a_server_without_a_stream_of_changes_is_asked_for_one_once(
    behaviour: Behaviour,
) -> None:
    server = ModernServer(tells_changes=True, on={LISTEN: behaviour})
    async with (
        RawUpstream(server) as upstream,
        linked(upstream.url(), AT_ONCE, protocol=Protocol.AUTO) as link,
    ):
        told = Told(link)
        await link.list()
        await until(lambda: listened(upstream) == 1 and not link.listens)
        await link.list()
        await link.list()

    assert listened(upstream) == 1
    assert told.times == 0


@pytest.mark.parametrize(
    "said",
    [
        pytest.param([("notifications/tools/list_changed", {})], id="before it is acknowledged"),
        pytest.param(
            [("notifications/tools/list_changed", {"_meta": {SUBSCRIPTION: "theirs"}})],
            id="of somebody else's",
        ),
        pytest.param([("notifications/message", {"level": "info"})], id="anything else"),
    ],
)
async def test_a_stream_that_is_not_acknowledged_is_given_up(
    said: list[tuple[str, dict[str, object]]],
) -> None:
    server = ModernServer(tells_changes=True, on={LISTEN: notices(*said)})
    limits = replace(QUICK, first_byte_s=0.2)
    async with (
        RawUpstream(server) as upstream,
        linked(upstream.url(), limits, protocol=Protocol.AUTO) as link,
    ):
        told = Told(link)
        await link.list()
        await until(lambda: listened(upstream) == 1)
        await until(lambda: not link.listens)

        assert told.times == 0


def welcome(**tools: object) -> Behaviour:
    return results_in(
        {"protocolVersion": LATEST, "capabilities": {"tools": tools}},
        **{"Mcp-Session-Id": "s"},
    )


def legacy(get: Behaviour, **tools: object) -> LegacyServer:
    server = LegacyServer(on={"initialize": welcome(**tools), "GET": get})
    server.live_sessions.add("s")
    return server


async def test_a_legacy_servers_change_is_heard_on_its_own_stream() -> None:
    async def tells(request: Received, wire: Wire) -> None:
        await wire.send(answers.http_in_chunks(200, []).removesuffix(answers.LAST_CHUNK))
        await gate.wait()
        await wire.send(answers.chunk(CHANGED))
        ping = answers.event(b'{"jsonrpc":"2.0","id":"theirs","method":"ping"}')
        await wire.send(answers.chunk(ping))
        await wire.hang()

    gate = asyncio.Event()
    async with (
        RawUpstream(legacy(tells, listChanged=True)) as upstream,
        linked(upstream.url()) as link,
    ):
        told = Told(link)
        await link.list()
        await told.more_than(0)
        gate.set()
        await told.more_than(1)
        await until(lambda: upstream.received[-1].message.get("result") == {})
        found = await link.call(a_call())

    (asked,) = [one for one in upstream.received if one.method == "GET"]
    assert asked.header("mcp-session-id") == "s"
    assert asked.header("mcp-protocol-version") == LATEST
    assert "text/event-stream" in (asked.header("accept") or "")
    assert isinstance(found, Result)


@pytest.mark.parametrize(
    ("tools", "asked"),
    [
        pytest.param({"listChanged": True}, 1, id="405"),
        pytest.param({"listChanged": False}, 0, id="it does not tell"),
        pytest.param({"listChanged": "true"}, 0, id="it says so in a string"),
        pytest.param({}, 0, id="it says nothing"),
    ],
)
async def test_a_legacy_server_that_tells_nobody_is_only_polled(
    tools: dict[str, object], asked: int
) -> None:
    async with (
        RawUpstream(legacy(responds(405), **tools)) as upstream,
        linked(upstream.url(), AT_ONCE) as link,
    ):
        for _ in range(3):
            await link.list()
            await until(lambda: not link.listens)

    assert listened(upstream) == asked


async def test_a_legacy_server_without_a_stream_is_asked_for_one_again_in_its_next_session() -> (
    None
):
    server = legacy(responds(405), listChanged=True)
    server.lost_session = _begins_anew(server)
    async with RawUpstream(server) as upstream, linked(upstream.url(), AT_ONCE) as link:
        for _ in range(2):
            await link.list()
            await until(lambda: not link.listens)
        in_the_first = listened(upstream)
        server.forget_sessions()
        for _ in range(2):
            await link.list()
            await until(lambda: not link.listens)

    assert len(upstream.requests("initialize")) == 2
    assert in_the_first == 1
    assert listened(upstream) == 2


def _begins_anew(server: LegacyServer) -> Behaviour:
    """The session is lost for this request, and there again for the next handshake."""

    async def behave(request: Received, wire: Wire) -> None:
        await behaviours.loses_session_by_404()(request, wire)
        server.live_sessions.add("s")

    return behave


async def test_a_legacy_server_without_a_session_is_not_listened_to() -> None:
    server = LegacyServer(
        sessions=False,
        on={
            "initialize": results_in(
                {"protocolVersion": LATEST, "capabilities": {"tools": {"listChanged": True}}}
            )
        },
    )
    async with RawUpstream(server) as upstream, linked(upstream.url()) as link:
        await link.list()

        assert not link.listens
    assert listened(upstream) == 0


async def test_listening_takes_no_place_of_a_call() -> None:
    server = ModernServer(tells_changes=True)
    limits = replace(QUICK, in_flight_max=1, waiting_max=0)
    async with (
        RawUpstream(server) as upstream,
        linked(upstream.url(), limits, protocol=Protocol.AUTO) as link,
    ):
        told = Told(link)
        await link.list()
        await told.more_than(0)
        found = await link.call(a_call())

        assert link.listens
    assert isinstance(found, Result)
