"""Real servers, as the router's own wire meets them."""

import asyncio
import json
from collections.abc import Iterator

import aiohttp
import pytest

from bench import peers
from bench.links import a_call, linked
from bench.peers import Peer
from bench.waiting import until
from pointsman_contract.meta import Protocol
from pointsman_router import offer
from pointsman_router.jsonrpc import RpcError
from pointsman_router.upstream import Link, Notice, Result, Trouble
from pointsman_router.upstream.era import Modern, Session

MODERN, LEGACY = "2026-07-28", "2025-11-25"
GROWS = "test_trigger_tool_change"
ADD = ("add", b'{"a":2,"b":3}', "5")
ECHO = ("echo", b'{"message":"hi"}', "Echo: hi")


def text_of(found: Result | RpcError) -> str:
    assert isinstance(found, Result)
    return str(json.loads(found.raw)["content"][0]["text"])


@pytest.mark.parametrize(
    ("peer", "protocol", "revision", "call", "least_tools"),
    [
        pytest.param("sdk_server", Protocol.AUTO, MODERN, ADD, 8, id="SDK 2"),
        pytest.param("sdk_server", Protocol.MODERN, MODERN, ADD, 8, id="SDK 2, modern"),
        pytest.param("sdk_server", Protocol.LEGACY, LEGACY, ADD, 8, id="SDK 2, legacy"),
        pytest.param("sdk1_server", Protocol.AUTO, LEGACY, ADD, 4, id="SDK 1"),
        pytest.param("sdk1_server", Protocol.LEGACY, LEGACY, ADD, 4, id="SDK 1, legacy"),
        pytest.param("everything_server", Protocol.AUTO, LEGACY, ECHO, 10, id="everything"),
    ],
)
async def test_a_real_server_is_listed_called_and_left(
    peer: str,
    protocol: Protocol,
    revision: str,
    call: tuple[str, bytes, str],
    least_tools: int,
    request: pytest.FixtureRequest,
) -> None:
    served: Peer = request.getfixturevalue(peer)
    name, arguments, expected = call

    async with linked(served.url, protocol=protocol) as link:
        offered = offer.read(await link.list())
        called = await asyncio.gather(*(link.call(a_call(name, arguments)) for _ in range(20)))
        terms = link.terms
        await link.close()

    assert len(offered.tools) >= least_tools
    assert offered.skipped == ()
    assert offered.protocol_version == revision
    assert offered.server_info is not None
    assert {text_of(one) for one in called} == {expected}
    assert isinstance(terms, Modern if revision == MODERN else Session)
    if isinstance(terms, Session):
        assert await _status_of_a_ping(served.url, terms) in (400, 404)  # the session was ended


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(["--sessionless"], id="without sessions"),
        pytest.param(["--json"], id="JSON answers"),
        pytest.param(["--era", "legacy"], id="older server"),
        pytest.param(["--pages", "3"], id="pages"),
    ],
)
@pytest.mark.parametrize("protocol", [Protocol.AUTO, Protocol.LEGACY])
async def test_every_way_of_serving_is_understood(options: list[str], protocol: Protocol) -> None:
    with peers.sdk_server(*options) as peer:
        async with linked(peer.url, protocol=protocol) as link:
            listed = await link.list()
            called = await link.call(a_call("add", b'{"a":2,"b":3}'))

    assert len(listed.tools) == (68 if "--pages" in options else 8)
    assert text_of(called) == "5"


@pytest.mark.parametrize("protocol", [Protocol.AUTO, Protocol.LEGACY])
async def test_what_a_real_server_says_comes_through_unchanged(
    sdk_server: Peer, protocol: Protocol
) -> None:
    async with linked(sdk_server.url, protocol=protocol) as link:
        failed = await link.call(a_call("fail"))
        refused = await link.call(a_call("refuse"))
        unknown = await link.call(a_call("nothing"))
        rich = await link.call(a_call("rich"))
        big = await link.call(a_call("big", b'{"length":900000}'))
        huge = await _trouble(link, "big", b'{"length":5000000}')
        slow = await _trouble(link, "slow", b'{"seconds":30}', timeout_s=0.5)
        after = await link.call(a_call("add", b'{"a":2,"b":3}'))

    assert isinstance(failed, Result)
    assert json.loads(failed.raw)["isError"] is True
    assert isinstance(refused, RpcError)
    assert json.loads(refused.raw) == {
        "code": -32050,
        "message": "not today",
        "data": {"retry": "tomorrow"},
    }
    assert isinstance(unknown, RpcError)
    assert unknown.code == -32602
    assert isinstance(rich, Result)
    assert json.loads(rich.raw)["_meta"]["example.test/trace"] == {"id": "abc"}
    assert len(text_of(big)) == 900_000
    assert huge.too_large
    assert (slow.reason, slow.executed) == ("Timeout", "unknown")
    assert text_of(after) == "5"


@pytest.fixture(params=["SDK 2", "SDK 1", "everything"])
def own_peer(request: pytest.FixtureRequest) -> Iterator[Peer]:
    makers = {
        "SDK 2": peers.sdk_server,
        "SDK 1": peers.sdk1_server,
        "everything": peers.everything_server,
    }
    with makers[request.param]() as peer:
        yield peer


async def test_a_restarted_server_is_answered_for_to_all_who_call(own_peer: Peer) -> None:
    name, arguments, expected = ECHO if own_peer.program.name == "everything_server" else ADD

    async with linked(own_peer.url, protocol=Protocol.AUTO) as link:
        before = await link.call(a_call(name, arguments))
        old = link.terms
        await asyncio.to_thread(own_peer.kill)
        down = await _trouble(link, name, arguments)
        own_peer.start()
        found = await asyncio.gather(*(link.call(a_call(name, arguments)) for _ in range(50)))
        new = link.terms

    assert text_of(before) == expected
    assert (down.reason, down.executed) == ("Unreachable", "no")
    assert {text_of(one) for one in found} == {expected}
    assert old is not new or isinstance(old, Modern)


async def test_a_server_that_dies_during_a_call_leaves_its_effect_unknown() -> None:
    with peers.sdk1_server() as peer:
        async with linked(peer.url) as link:
            await link.list()
            calling = asyncio.create_task(_trouble(link, "slow", b'{"seconds":60}'))
            await until(lambda: "slow began" in peer.program.output)
            await asyncio.to_thread(peer.kill)
            met = await calling

    assert met.executed == "unknown"
    assert met.reason in ("Unreachable", "ProtocolViolation")


@pytest.fixture(params=[[], ["--sessionless"]], ids=["sessions", "sessionless"], scope="module")
def suite_server(request: pytest.FixtureRequest) -> Iterator[Peer]:
    with peers.fixture(*request.param) as peer:
        yield peer


@pytest.mark.parametrize("protocol", [Protocol.AUTO, Protocol.LEGACY])
async def test_what_a_real_server_tells_on_its_way_is_heard_in_order(
    suite_server: Peer, protocol: Protocol
) -> None:
    heard: list[Notice] = []

    async def hear(notice: Notice) -> None:
        heard.append(notice)

    async with linked(suite_server.url, protocol=protocol) as link:
        found = await link.call(
            a_call("test_tool_with_progress", wants_progress=True, timeout_s=20), hear
        )
        progress = [one.params["progress"] for one in heard]
        await link.call(a_call("test_tool_with_progress"), hear)
        unasked = heard[len(progress) :]
        await link.call(a_call("test_tool_with_logging", log_level=b'"info"'), hear)
        logged = heard[len(progress) :]
        await link.call(a_call("test_tool_with_logging", log_level=b'"error"'), hear)
        lower = heard[len(progress) + len(logged) :]

    assert isinstance(found, Result)
    assert len(progress) == 3
    assert sorted(progress, key=float) == progress
    assert unasked == lower == []
    assert len(logged) >= 3
    assert {one.params["level"] for one in logged} == {b'"info"'}


@pytest.mark.parametrize("protocol", [Protocol.AUTO, Protocol.LEGACY])
async def test_a_real_server_tells_that_its_list_changed(protocol: Protocol) -> None:
    told: list[None] = []
    with peers.fixture() as peer:
        async with linked(peer.url, protocol=protocol) as link:
            link.on_renewal(lambda: told.append(None))
            before = await link.list()
            await until(lambda: told)
            await link.call(a_call(GROWS))
            await until(lambda: len(told) > 1, 1.5)
            after = await link.list()

    assert len(after.tools) != len(before.tools)


async def test_the_reference_servers_own_stream_is_followed(everything_server: Peer) -> None:
    told: list[None] = []
    async with linked(everything_server.url, protocol=Protocol.AUTO) as link:
        link.on_renewal(lambda: told.append(None))
        await link.list()
        await until(lambda: told)
        found = await link.call(a_call(ECHO[0], ECHO[1]))

        assert link.listens
    assert text_of(found) == ECHO[2]


@pytest.mark.parametrize("protocol", [Protocol.AUTO, Protocol.LEGACY])
async def test_a_real_server_stops_working_for_who_has_left(protocol: Protocol) -> None:
    with peers.sdk1_server() if protocol is Protocol.LEGACY else peers.sdk_server() as peer:
        async with linked(peer.url, protocol=protocol) as link:
            await link.list()
            calling = asyncio.create_task(link.call(a_call("slow", b'{"seconds":60}')))
            await until(lambda: "slow began" in peer.program.output)
            calling.cancel()
            await until(lambda: "slow was called off" in peer.program.output)
            found = await link.call(a_call(ADD[0], ADD[1]))

    assert text_of(found) == ADD[2]


async def _trouble(link: Link, name: str, arguments: bytes, *, timeout_s: float = 20.0) -> Trouble:
    with pytest.raises(Trouble) as error:
        await link.call(a_call(name, arguments, timeout_s=timeout_s))
    return error.value


async def _status_of_a_ping(url: str, session_: Session) -> int:
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    accept = {"Accept": "application/json, text/event-stream"}
    async with (
        aiohttp.ClientSession() as session,
        session.post(url, json=ping, headers={**session_.headers, **accept}) as answer,
    ):
        return answer.status
