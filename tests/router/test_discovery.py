"""Every upstream is asked on its own, again and again, and what it offers is kept."""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from bench import behaviours, ports
from bench.behaviours import errs, responds, results_in
from bench.legacy_server import LegacyServer, tool
from bench.links import QUICK, a_call, working
from bench.modern_server import ModernServer
from bench.raw_upstream import Behaviour, RawUpstream
from bench.waiting import until
from pointsman_contract.meta import Exposed, Protocol
from pointsman_router import offer
from pointsman_router.belief import Rhythm
from pointsman_router.discovery import Discovery
from pointsman_router.offer import Finding, Listing, Offer
from pointsman_router.registry import Target
from pointsman_router.upstream import Desk, Dialler, Limits, Link, Result, Trouble, messages

PENDING = Finding(None, None)


class Time:
    """Time that passes when the test says so."""

    def __init__(self) -> None:
        self._now_s = 1000.0
        self._sleepers: dict[asyncio.Event, float] = {}

    def now_s(self) -> float:
        return self._now_s

    async def wait(self, event: asyncio.Event, limit_s: float) -> None:
        if event.is_set():
            return
        over = asyncio.Event()
        self._sleepers[over] = self._now_s + limit_s
        waiting = [asyncio.create_task(one.wait()) for one in (event, over)]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waiting:
                task.cancel()
            self._sleepers.pop(over, None)

    @property
    def waits_s(self) -> list[float]:
        """How long each who waits now still has to."""
        return sorted(round(due_s - self._now_s, 3) for due_s in self._sleepers.values())

    def passes(self, seconds: float) -> None:
        self._now_s += seconds
        for over, due_s in self._sleepers.items():
            if due_s <= self._now_s:
                over.set()


class Meter:
    def __init__(self) -> None:
        self.failures: list[tuple[str, str]] = []

    def failed(self, server: str, reason: str) -> None:
        self.failures.append((server, reason))


class Bench:
    """A discovery over real wires, in a time of the test's own."""

    def __init__(self, limits: Limits, rhythm: Rhythm | None = None) -> None:
        self.time = Time()
        self.meter = Meter()
        self.desk = Desk()
        self.changes = 0
        self.urls: dict[str, str] = {}
        dialler = Dialler(limits)
        self.discovery = Discovery(
            connect=lambda target: Link(
                target, dialler=dialler, desk=self.desk, version="1", limits=limits
            ),
            desk=self.desk,
            changed=self._changed,
            meter=self.meter,
            rhythm=rhythm,
            clock=self.time,
            chance=lambda: 1.0,
        )

    def _changed(self) -> None:
        self.changes += 1

    def follow(self, *exposes: Exposed, **urls: str) -> None:
        exposed = frozenset(exposes or [Exposed.TOOLS])
        self.urls.update(urls)
        self.discovery.follow({id_: Target(id_, url, exposes=exposed) for id_, url in urls.items()})

    def finding(self, id_: str = "a") -> Finding:
        return self.discovery.findings[id_]

    def names(self, id_: str = "a") -> list[str] | None:
        offered = self.finding(id_).offer
        return None if offered is None else [one.name for one in offered.tools]

    def reason(self, id_: str = "a") -> str | None:
        trouble = self.finding(id_).trouble
        return trouble.reason if trouble else None

    def link(self, id_: str = "a") -> Link:
        found = self.discovery.link(id_, self.urls[id_])
        assert found is not None
        return found

    async def idles(self, count: int = 1) -> None:
        """Wait until so many servers have been listed and wait for their next turn."""
        await until(lambda: len(self.time.waits_s) == count, every_s=0.005)


@asynccontextmanager
async def discovering(limits: Limits = QUICK, rhythm: Rhythm | None = None) -> AsyncIterator[Bench]:
    """A discovery that leaves nothing behind."""
    before = working()
    bench = Bench(limits, rhythm)
    try:
        yield bench
    finally:
        await bench.discovery.close()
    assert bench.discovery.findings == {}
    await until(lambda: working() <= before, what="every task of the discovery has ended")


async def test_what_an_upstream_offers_is_found() -> None:
    async with (
        RawUpstream(LegacyServer([tool("x"), tool("y")])) as upstream,
        discovering() as bench,
    ):
        bench.follow(a=upstream.url())
        pending = bench.finding()
        chance_before = bench.discovery.everyone_had_a_chance
        await bench.idles()

        assert pending == PENDING
        assert not chance_before
        assert bench.names() == ["x", "y"]
        assert bench.reason() is None
        assert bench.discovery.everyone_had_a_chance
        assert bench.changes == 1


async def test_hung_upstreams_delay_nobody() -> None:
    healthy = {f"healthy-{n}": LegacyServer() for n in range(7)}
    limits = replace(QUICK, first_byte_s=1.0)
    paths = {f"/{id_}": server for id_, server in healthy.items()}
    async with (
        RawUpstream({**paths, "/hung": behaviours.hangs()}) as upstream,
        discovering(limits) as bench,
    ):
        hung = {f"hung-{n}": upstream.url("/hung") for n in range(30)}
        bench.follow(**hung, **{id_: upstream.url(f"/{id_}") for id_ in healthy})
        await until(lambda: all(bench.names(id_) for id_ in healthy), 5.0)
        still_pending = [bench.finding(id_) == PENDING for id_ in hung]
        had_a_chance = bench.discovery.everyone_had_a_chance
        await until(lambda: bench.discovery.everyone_had_a_chance, 5.0)

        assert all(still_pending)
        assert not had_a_chance
        assert {bench.reason(id_) for id_ in hung} == {"Timeout"}
        assert len(bench.meter.failures) == 30


async def test_an_unchanged_server_keeps_link_connection_and_offer_when_another_changes() -> None:
    async with (
        RawUpstream(LegacyServer()) as upstream,
        RawUpstream(LegacyServer([tool("other")])) as second,
        discovering() as bench,
    ):
        bench.follow(a=upstream.url(), b=second.url())
        await bench.idles(2)
        link, finding, requests = bench.link(), bench.finding(), len(upstream.received)
        bench.follow(a=upstream.url(), b=second.url("/mcp?changed"))
        gone = bench.names("b")
        await until(lambda: bench.names("b") == ["other"])

        assert bench.link() is link
        assert bench.finding() is finding
        assert len(upstream.received) == requests
        assert gone is None


async def test_a_changed_url_drops_the_offer_and_lets_calls_in_flight_end() -> None:
    gate = asyncio.Event()
    old = LegacyServer([tool("old")], on={})
    old.on["tools/call"] = behaviours.held(gate, behaviours.results_in({"ok": True}))
    async with (
        RawUpstream(old) as before,
        RawUpstream(LegacyServer([tool("new")])) as after,
        discovering() as bench,
    ):
        bench.follow(a=before.url())
        await bench.idles()
        calling = asyncio.create_task(bench.link().call(a_call("old")))
        await until(lambda: before.requests("tools/call"))
        bench.follow(a=after.url())
        at_once = bench.finding()
        await until(lambda: bench.names() == ["new"])
        in_flight = not calling.done()
        gate.set()
        called = await calling
        await until(lambda: old.live_sessions == set())

    assert at_once == PENDING
    assert in_flight
    assert isinstance(called, Result)
    assert before.received[-1].method == "DELETE"


TOOLS = frozenset([Exposed.TOOLS])


@pytest.mark.parametrize(
    "edited",
    [
        pytest.param({"exposes": TOOLS | {Exposed.PROMPTS}}, id="what is exposed"),
        pytest.param({"protocol": Protocol.LEGACY}, id="the protocol"),
    ],
)
async def test_an_edit_that_leaves_the_url_keeps_the_offer_and_lists_at_once(
    edited: dict[str, Any],
) -> None:
    server = LegacyServer()
    async with RawUpstream(server) as upstream, discovering() as bench:
        target = Target("a", upstream.url())
        bench.discovery.follow({"a": target})
        await bench.idles()
        finding = bench.finding()
        server.on["initialize"] = responds(503)
        bench.discovery.follow({"a": replace(target, **edited)})
        at_once, had_a_chance = bench.finding(), bench.discovery.everyone_had_a_chance
        bench.discovery.nudge("a")
        await until(bench.reason)
        await bench.idles()

        assert at_once is finding
        assert had_a_chance
        assert bench.reason() == "UpstreamHttpError"
        assert bench.names() == ["greet"]
        assert bench.time.waits_s == [1]


async def test_an_upstream_that_was_never_asked_for_its_tools_has_not_none() -> None:
    async with RawUpstream(LegacyServer()) as upstream, discovering() as bench:
        bench.follow(Exposed.PROMPTS, a=upstream.url())
        await bench.idles()
        bench.follow(Exposed.PROMPTS, Exposed.TOOLS, a=upstream.url())
        at_once = bench.finding()
        await until(lambda: bench.names() == ["greet"])

    assert at_once == PENDING


async def test_many_that_come_or_go_at_once_are_taken_one_by_one() -> None:
    ticks = 0
    met: list[int] = []

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0)

    class Noted(Link):
        async def list(self) -> Listing:
            met.append(ticks)
            return Listing((), "2025-11-25")

        async def close(self) -> None:
            met.append(ticks)
            await super().close()

    limits, desk = QUICK, Desk()
    dialler = Dialler(limits)
    discovery = Discovery(
        connect=lambda target: Noted(
            target, dialler=dialler, desk=desk, version="1", limits=limits
        ),
        desk=desk,
        changed=lambda: None,
    )
    ticking = asyncio.create_task(tick())
    discovery.follow({f"s{n}": Target(f"s{n}", "http://a.example/") for n in range(300)})
    await until(lambda: len(met) == 300)
    discovery.follow({f"s{n}": Target(f"s{n}", "http://b.example/") for n in range(300)})
    await until(lambda: len(met) == 900)
    at_once = max(Counter(met).values())
    ticking.cancel()
    await discovery.close()

    assert at_once <= 2


async def test_a_server_that_goes_is_forgotten_and_its_session_ended() -> None:
    server = LegacyServer()
    async with RawUpstream(server) as upstream, discovering() as bench:
        bench.follow(a=upstream.url())
        await bench.idles()
        bench.follow()
        await until(lambda: server.live_sessions == set())

        assert bench.discovery.link("a", upstream.url()) is None
        assert bench.discovery.findings == {}


async def test_no_way_leads_to_a_server_that_is_elsewhere_than_it_was_thought_to_be() -> None:
    server = LegacyServer()
    async with RawUpstream(server) as upstream, discovering() as bench:
        old, new = upstream.url(), upstream.url("/new")
        bench.follow(a=old)
        await bench.idles()
        bench.follow(a=new)

        assert bench.discovery.link("a", old) is None
        assert bench.discovery.calls("a", old) is None
        assert bench.discovery.link("a", None) is None
        assert bench.link().calls is bench.discovery.calls("a", new)


async def test_an_offer_is_refreshed_and_only_real_changes_are_told() -> None:
    server = LegacyServer([tool("x"), tool("y")])
    async with RawUpstream(server) as upstream, discovering() as bench:
        bench.follow(a=upstream.url())
        await bench.idles()
        wait_s = bench.time.waits_s
        first = bench.finding()
        server.tools.reverse()
        await listed_again(bench, upstream, 72)
        second, changes = bench.finding(), bench.changes
        server.tools.pop()
        await listed_again(bench, upstream, 72)

        assert wait_s == [72]
        assert second is first
        assert changes == 1
        assert bench.names() == ["y"]
        assert bench.changes == 2


async def test_an_upstream_that_writes_its_members_in_any_order_changes_nothing() -> None:
    greet = tool("greet", _meta={"a": 1, "b": 2})
    server = LegacyServer([greet])
    async with RawUpstream(server) as upstream, discovering() as bench:
        bench.follow(a=upstream.url())
        await bench.idles()
        first = bench.finding()
        other_order = dict(reversed(greet.items()))
        server.tools[:] = [other_order | {"_meta": {"b": 2, "a": 1}}]
        await listed_again(bench, upstream, 72)

        assert bench.finding() is first
        assert bench.changes == 1


async def listed_again(bench: Bench, upstream: RawUpstream, after_s: float) -> None:
    """Let time pass and wait until a listing has begun and ended."""
    await bench.idles()
    before = len(upstream.received)
    bench.time.passes(after_s)
    await until(lambda: len(upstream.received) > before, every_s=0.005)
    await bench.idles()


async def test_a_failing_upstream_keeps_its_offer_and_is_asked_ever_more_rarely() -> None:
    server = LegacyServer()
    async with RawUpstream(server) as upstream, discovering() as bench:
        bench.follow(a=upstream.url())
        await bench.idles()
        server.on["tools/list"] = responds(503)
        waits = []
        for after_s in (72, 1, 2, 4):
            await listed_again(bench, upstream, after_s)
            waits += bench.time.waits_s
        stale, changes = bench.finding(), bench.changes
        server.on.clear()
        await listed_again(bench, upstream, 8)

        assert stale.offer is not None
        assert stale.trouble is not None
        assert stale.trouble.reason == "UpstreamHttpError"
        assert waits == [1, 2, 4, 8]
        assert changes == 2
        assert bench.reason() is None
        assert bench.names() == ["greet"]
        assert bench.time.waits_s == [72]
        assert bench.meter.failures == [("a", "UpstreamHttpError")] * 4


async def test_an_offer_outlives_its_upstream_for_a_day_and_no_longer() -> None:
    server = LegacyServer()
    async with RawUpstream(server) as upstream, discovering() as bench:
        bench.follow(a=upstream.url())
        await bench.idles()
        server.on["tools/list"] = responds(503)
        await listed_again(bench, upstream, 24 * 3600 - 1)
        nearly_a_day = bench.names()
        await listed_again(bench, upstream, 2)

        assert nearly_a_day == ["greet"]
        assert bench.names() is None
        assert bench.reason() == "UpstreamHttpError"


async def test_an_offer_ends_with_its_time_also_where_nobody_asks_its_upstream_then() -> None:
    server = LegacyServer()
    async with RawUpstream(server) as upstream, discovering(rhythm=Rhythm(keep_s=90.0)) as bench:
        bench.follow(a=upstream.url())
        await bench.idles()
        server.on["tools/list"] = responds(401)
        await listed_again(bench, upstream, 72)
        stale, waits_s, asked = bench.names(), bench.time.waits_s, len(upstream.received)
        bench.time.passes(18)
        await until(lambda: bench.names() is None)
        await bench.idles()

        assert stale == ["greet"]
        assert waits_s == [18]
        assert len(upstream.received) == asked
        assert bench.reason() == "UpstreamAuthRequired"
        assert bench.time.waits_s == [54]


async def test_an_upstream_that_hangs_does_not_keep_its_offer_longer() -> None:
    server = LegacyServer()
    limits = replace(QUICK, first_byte_s=0.2)
    rhythm = Rhythm(keep_s=60.0)
    async with RawUpstream(server) as upstream, discovering(limits, rhythm) as bench:
        bench.follow(a=upstream.url())
        await bench.idles()
        server.on["tools/list"] = behaviours.hangs()
        await listed_again(bench, upstream, 72)

        assert bench.names() is None
        assert bench.reason() == "Timeout"


async def test_an_offer_that_is_not_to_outlive_its_upstream_goes_at_once() -> None:
    server = LegacyServer()
    async with RawUpstream(server) as upstream, discovering(rhythm=Rhythm(keep_s=0.0)) as bench:
        bench.follow(a=upstream.url())
        await bench.idles()
        server.on["tools/list"] = responds(503)
        await listed_again(bench, upstream, 72)
        gone = bench.names()
        server.on.clear()
        await listed_again(bench, upstream, 1)

        assert gone is None
        assert bench.names() == ["greet"]


async def test_a_server_that_starts_late_appears_by_itself() -> None:
    with ports.refusing_port() as port:
        pass
    async with discovering() as bench:
        bench.follow(a=f"http://{ports.LOOPBACK}:{port}/mcp")
        await bench.idles()
        refused = bench.reason()
        async with RawUpstream(LegacyServer(), port=port):
            bench.time.passes(1)
            await until(lambda: bench.names() == ["greet"])

            assert refused == "Unreachable"
            assert bench.reason() is None


async def test_a_sudden_empty_list_is_believed_only_when_it_lasts() -> None:
    server = LegacyServer([tool("x")])
    async with RawUpstream(server) as upstream, discovering() as bench:
        bench.follow(a=upstream.url())
        await bench.idles()
        server.tools.clear()
        seen = []
        for after_s in (72, 12, 12):
            await listed_again(bench, upstream, after_s)
            seen.append((bench.names(), bench.reason()))

    assert seen == [(["x"], "NoTools"), (["x"], "NoTools"), ([], None)]


async def test_a_nudge_lists_within_a_second_however_many_there_are() -> None:
    async with RawUpstream(LegacyServer()) as upstream, discovering() as bench:
        bench.follow(a=upstream.url())
        await bench.idles()
        for _ in range(10):
            bench.discovery.nudge("a")
        await until(lambda: bench.time.waits_s == [0.4])
        before = len(upstream.requests("tools/list"))
        await listed_again(bench, upstream, 0.4)
        once = len(upstream.requests("tools/list"))
        bench.discovery.nudge("nobody")

        assert before == 1
        assert once == 2
        assert bench.time.waits_s == [72]


async def test_a_nudge_after_a_while_lists_at_once() -> None:
    async with RawUpstream(LegacyServer()) as upstream, discovering() as bench:
        bench.follow(a=upstream.url())
        await bench.idles()
        bench.time.passes(5)
        bench.discovery.nudge("a")
        await until(lambda: len(upstream.requests("tools/list")) == 2)


async def test_a_server_that_began_anew_is_listed_again() -> None:
    server = LegacyServer([tool("x")])
    async with RawUpstream(server) as upstream, discovering() as bench:
        bench.follow(a=upstream.url())
        await bench.idles()
        bench.time.passes(5)
        server.forget_sessions()
        server.tools[:] = [tool("x"), tool("y")]
        called = await bench.link().call(a_call("x"))
        await until(lambda: bench.names() == ["x", "y"])

    assert isinstance(called, Result)


async def test_a_change_that_an_upstream_tells_of_is_listed_at_once() -> None:
    server = ModernServer([tool("x")], tells_changes=True)
    async with RawUpstream(server) as upstream, discovering() as bench:
        bench.follow(a=upstream.url())
        await bench.idles()
        await until(lambda: server.listeners)
        bench.time.passes(1)  # after which it lists again, since it listens only now
        await until(lambda: len(upstream.requests("tools/list")) == 2)
        await bench.idles()
        bench.time.passes(5)
        server.tools.append(tool("y"))
        for _ in range(20):
            await server.tell_change()
        await until(lambda: bench.names() == ["x", "y"])
        in_the_first_second = len(upstream.requests("tools/list"))

        assert in_the_first_second == 3
        assert len(upstream.requests("subscriptions/listen")) == 1


async def test_servers_that_change_at_once_are_heard_and_read_in_turns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names, turn, heard_in, read_in = [f"s{n}" for n in range(30)], 0, Counter[int](), Counter[int]()
    server = ModernServer([tool("x")], tells_changes=True)
    read = messages.read

    def noted(data: bytes) -> messages.Message:
        for said, turns in {b"inputSchema": read_in, b"list_changed": heard_in}.items():
            turns.update([turn] if said in data else [])
        return read(data)

    async def count() -> None:
        nonlocal turn
        while True:
            await asyncio.sleep(0)
            turn += 1

    async with RawUpstream(server) as upstream, discovering() as bench:
        bench.follow(**dict.fromkeys(names, upstream.url()))
        await until(lambda: len(server.listeners) == len(names))
        await bench.idles(len(names))
        monkeypatch.setattr(messages, "read", noted)
        counting = asyncio.create_task(count())
        await server.tell_change()
        bench.time.passes(1)
        await until(lambda: heard_in.total() == read_in.total() == len(names))
        counting.cancel()

    assert set(heard_in.values()) == set(read_in.values()) == {1}


@pytest.mark.parametrize(
    ("ttl_ms", "wait_s"),
    [
        pytest.param(45_000, 54, id="shorter"),
        pytest.param(0, 36, id="not below half a minute"),
        pytest.param(3_600_000, 72, id="never longer"),
    ],
)
async def test_how_long_a_list_is_good_may_shorten_the_wait(ttl_ms: int, wait_s: float) -> None:
    server = ModernServer(lists={"ttlMs": ttl_ms, "cacheScope": "public"})
    async with RawUpstream(server) as upstream, discovering() as bench:
        bench.follow(a=upstream.url())
        await bench.idles()

        assert bench.time.waits_s == [wait_s]


async def test_who_needs_a_new_list_waits_for_one_that_is_begun_from_now_on() -> None:
    server = LegacyServer([tool("x")])
    async with RawUpstream(server) as upstream, discovering() as bench:
        bench.follow(a=upstream.url())
        await bench.idles()
        bench.time.passes(5)
        server.tools.append(tool("y"))
        renewed = await asyncio.gather(*(bench.discovery.renewed("a", 5.0) for _ in range(10)))

        assert renewed == [True] * 10
        assert bench.names() == ["x", "y"]
        assert len(upstream.requests("tools/list")) == 2


async def test_a_listing_under_way_is_not_the_one_that_is_waited_for() -> None:
    gate = asyncio.Event()
    server = LegacyServer()
    server.on["tools/list"] = behaviours.in_turn(
        behaviours.held(gate, behaviours.results_in({"tools": [tool("old")]})),
        behaviours.results_in({"tools": [tool("new")]}),
    )
    async with RawUpstream(server) as upstream, discovering() as bench:
        bench.follow(a=upstream.url())
        await until(lambda: upstream.requests("tools/list"))
        waiting = asyncio.create_task(bench.discovery.renewed("a", 5.0))
        await asyncio.sleep(0)
        gate.set()
        await until(lambda: bench.names() == ["old"])
        still = not waiting.done()
        await until(lambda: 0.4 in bench.time.waits_s)
        bench.time.passes(1)

        assert still
        assert await waiting
        assert bench.names() == ["new"]


async def test_a_list_that_does_not_come_keeps_nobody_waiting() -> None:
    server = LegacyServer()
    async with RawUpstream(server) as upstream, discovering() as bench:
        bench.follow(a=upstream.url())
        await bench.idles()
        bench.time.passes(5)
        nobody = await bench.discovery.renewed("nobody", 5.0)
        server.on["tools/list"] = responds(503)
        failed = await bench.discovery.renewed("a", 5.0)
        bench.time.passes(5)
        server.on["tools/list"] = behaviours.hangs()
        late = await bench.discovery.renewed("a", 0.1)
        leaving = asyncio.create_task(bench.discovery.renewed("a", 5.0))
        await asyncio.sleep(0)
        bench.follow()
        gone = await leaving

    assert (nobody, failed, late, gone) == (False, False, False, False)


@pytest.mark.parametrize(
    ("behaviour", "reason", "wait_s"),
    [
        pytest.param(responds(401), "UpstreamAuthRequired", 72, id="slowly where nobody logs in"),
        pytest.param(
            responds(429, headers={"Retry-After": "9"}), "UpstreamThrottled", 9, id="as asked"
        ),
        pytest.param(errs(-32603, "x"), "UpstreamRpcError", 1, id="soon after an error"),
    ],
)
async def test_the_next_try_fits_the_trouble(
    behaviour: Behaviour, reason: str, wait_s: float
) -> None:
    server = LegacyServer(on={"initialize": behaviour})
    async with RawUpstream(server) as upstream, discovering() as bench:
        bench.follow(a=upstream.url())
        await bench.idles()

        assert bench.reason() == reason
        assert bench.time.waits_s == [wait_s]


async def test_a_list_that_cannot_be_read_costs_its_own_server_only(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    read = offer.read

    def stumbles(listing: Listing) -> Offer:
        if b"stumble" in listing.tools[0]:
            raise RuntimeError("a mistake of ours")
        return read(listing)

    monkeypatch.setattr(offer, "read", stumbles)
    async with (
        RawUpstream(LegacyServer([tool("stumble")])) as bad,
        RawUpstream(LegacyServer()) as good,
        discovering() as bench,
    ):
        bench.follow(a=bad.url(), b=good.url())
        await bench.idles(2)

        assert bench.reason() == "ProtocolViolation"
        assert bench.names("b") == ["greet"]
    stumbled = next(record for record in caplog.records if record.exc_info)
    assert vars(stumbled)["server"] == "a"


async def test_large_lists_are_read_two_at_a_time_and_small_ones_need_no_place() -> None:
    large = LegacyServer([tool(f"t{n}", "x" * 1000) for n in range(100)])
    async with (
        RawUpstream(large) as upstream,
        RawUpstream(LegacyServer()) as small,
        discovering() as bench,
    ):
        await bench.desk.reading.acquire()
        await bench.desk.reading.acquire()
        bench.follow(a=upstream.url(), b=small.url())
        await until(lambda: upstream.requests("tools/list") and bench.names("b"))
        waiting = bench.finding()
        bench.desk.reading.release()
        await until(lambda: bench.names() is not None)
        bench.desk.reading.release()

        assert waiting == PENDING
        assert len(bench.names() or []) == 100


@pytest.mark.parametrize(
    ("took_s", "rest_s"),
    [
        pytest.param(2.0, 2.0, id="long"),
        pytest.param(0.1, 0.3, id="short"),
    ],
)
async def test_a_list_that_is_read_for_long_rests_for_as_long_whoever_asks_for_it(
    took_s: float, rest_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    large = LegacyServer([tool(f"t{n}", "x" * 1000) for n in range(100)])
    read = offer.read
    async with RawUpstream(large) as upstream, discovering() as bench:

        def reads(listing: Listing) -> Offer:
            bench.time.passes(took_s)
            return read(listing)

        monkeypatch.setattr(offer, "read", reads)
        bench.follow(a=upstream.url())
        await bench.idles()
        bench.discovery.nudge("a")
        await until(lambda: bench.time.waits_s == [rest_s])
        await listed_again(bench, upstream, rest_s)


async def test_waiting_for_a_place_to_read_is_no_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    large = LegacyServer([tool(f"t{n}", "x" * 1000) for n in range(100)])
    read = offer.read
    async with RawUpstream(large) as upstream, discovering() as bench:

        def reads(listing: Listing) -> Offer:
            bench.time.passes(2)
            return read(listing)

        monkeypatch.setattr(offer, "read", reads)
        await bench.desk.reading.acquire()
        await bench.desk.reading.acquire()
        bench.follow(a=upstream.url())
        await until(lambda: upstream.requests("tools/list"))
        bench.time.passes(5)
        bench.desk.reading.release()
        await bench.idles()
        bench.desk.reading.release()
        bench.discovery.nudge("a")

        await until(lambda: bench.time.waits_s == [2])


async def test_an_upstream_that_refuses_a_list_serves_its_tools_and_what_it_listed_before(
    caplog: pytest.LogCaptureFixture,
) -> None:
    welcome = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}, "prompts": {}}}
    server = LegacyServer(
        sessions=False,
        on={
            "initialize": results_in(welcome),
            "prompts/list": results_in({"prompts": [{"name": "ask"}]}),
        },
    )
    async with RawUpstream(server) as upstream, discovering() as bench:
        bench.follow(Exposed.TOOLS, Exposed.PROMPTS, a=upstream.url())
        await bench.idles()
        server.on["prompts/list"] = errs(-32603, "no")
        server.tools = [tool("new")]
        await listed_again(bench, upstream, 72)
        refusing, reason = bench.finding().offer, bench.reason()
        server.on["prompts/list"] = results_in({"prompts": [{"name": "tell"}]})
        await listed_again(bench, upstream, 72)
        healed = bench.finding().offer

    assert reason is None
    assert refusing is not None
    assert [one.name for one in refusing.tools] == ["new"]
    assert [one.name for one in refusing.prompts.entries] == ["ask"]
    assert bench.meter.failures == [("a", "UpstreamRpcError")]
    (warned,) = (vars(record) for record in caplog.records if record.levelname == "WARNING")
    assert (warned["server"], warned["reason"]) == ("a", "UpstreamRpcError")
    assert "prompts/list" in warned["detail"]
    assert healed is not None
    assert not healed.refused
    assert [one.name for one in healed.prompts.entries] == ["tell"]


async def test_the_log_tells_each_change_once_and_no_address(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    server = LegacyServer()
    async with RawUpstream(server) as upstream, discovering() as bench:
        bench.follow(a=upstream.url("/mcp?token=secret"))
        await bench.idles()
        server.on["tools/list"] = responds(503)
        for after_s in (72, 1, 2):
            await listed_again(bench, upstream, after_s)
        port = str(upstream.port)

    said = [vars(record) for record in caplog.records]
    assert [(one["levelname"], one["server"]) for one in said] == [("INFO", "a"), ("WARNING", "a")]
    assert said[1]["reason"] == "UpstreamHttpError"
    for one in said:
        assert "secret" not in f"{one['message']} {one.get('detail')}"
        assert port not in f"{one['message']} {one.get('detail')}"


async def test_closing_waits_for_nothing_once_it_is_cancelled() -> None:
    server = LegacyServer(on={"tools/call": behaviours.hangs()})
    async with RawUpstream(server) as upstream, discovering() as bench:
        bench.follow(a=upstream.url())
        await bench.idles()
        calling = asyncio.create_task(bench.link().call(a_call()))
        await until(lambda: upstream.requests("tools/call"))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await bench.discovery.close()
        with pytest.raises(Trouble):
            async with asyncio.timeout(1):
                await calling
        await until(lambda: upstream.open_connections == 0)
