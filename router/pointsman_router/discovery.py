"""What every upstream offers now: each is asked on its own, and none waits for another."""

import asyncio
import logging
import random
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Protocol

from pointsman_contract.report import ServerReason
from pointsman_router import belief, offer
from pointsman_router.belief import Belief, Rhythm
from pointsman_router.followed import Followed
from pointsman_router.offer import Finding, Listing, Offer
from pointsman_router.recent import Recent
from pointsman_router.registry import Skip, Target
from pointsman_router.upstream import Calls, Desk, Link, Trouble
from pointsman_router.upstream.limits import KIB

# Smaller listings are read at once: a thread would take longer than the reading.
_LOOP_MAX_BYTES = 16 * KIB
_UNREADABLE = "the router could not read the upstream's list; its log says why"

_LOG = logging.getLogger(__name__)


class Meter(Protocol):
    """What is counted of listings."""

    def failed(self, server: str, reason: str) -> None:
        """Count one failure of an upstream."""


class Clock(Protocol):
    """How time passes."""

    def now_s(self) -> float:
        """The time, which only grows."""

    async def wait(self, event: asyncio.Event, limit_s: float) -> None:
        """Return when the event is set, or after the limit."""


class Monotonic:
    """Time as it passes."""

    def now_s(self) -> float:
        """Return the seconds of the machine's own clock."""
        return time.monotonic()

    async def wait(self, event: asyncio.Event, limit_s: float) -> None:
        """Return when the event is set, or after the limit."""
        try:
            async with asyncio.timeout(limit_s):
                await event.wait()
        except TimeoutError:
            pass


class Discovery:
    """Keeps the offer of every server that is followed fresh. Needs a running loop."""

    def __init__(
        self,
        *,
        connect: Callable[[Target], Link],
        desk: Desk,
        changed: Callable[[], None],
        meter: Meter | None = None,
        recent: Recent | None = None,
        rhythm: Rhythm | None = None,
        clock: Clock | None = None,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._connect = connect
        self._desk = desk
        self._changed = changed
        self._meter = meter
        self._recent = recent
        self._rhythm = rhythm or Rhythm()
        self._clock = clock or Monotonic()
        self._chance = chance
        self._watches: dict[str, Followed] = {}
        self._findings: Mapping[str, Finding] | None = None
        self._leaving: deque[Followed] = deque()
        self._coming: deque[Followed] = deque()
        self._turning: asyncio.Task[None] | None = None
        self._farewells: set[asyncio.Task[None]] = set()

    @property
    def findings(self) -> Mapping[str, Finding]:
        """What is known of each server's upstream; replaced, never edited."""
        if self._findings is None:
            self._findings = MappingProxyType(
                {id_: watch.belief.finding for id_, watch in self._watches.items()}
            )
        return self._findings

    @property
    def everyone_had_a_chance(self) -> bool:
        """Whether every server that is followed was listed, or failed, at least once."""
        return all(watch.had_a_chance for watch in self._watches.values())

    def follow(self, targets: Mapping[str, Target]) -> None:
        """Start what is new, keep what is equal, stop what is gone; `changed` is not called."""
        before: dict[str, Followed] = {}
        for id_, watch in list(self._watches.items()):
            if targets.get(id_) != watch.target:
                before[id_] = self._watches.pop(id_)
                self._leaving.append(watch)
                watch.answer(watch.begun + 1, good=False)
        for id_, target in targets.items():
            if id_ not in self._watches:
                self._watches[id_] = Followed(target, self._connect, before.get(id_))
                self._coming.append(self._watches[id_])
        self._findings = None
        if self._turning is None and (self._leaving or self._coming):
            self._turning = asyncio.create_task(self._turn_over())

    def link(self, server_id: str, url: str | None) -> Link | None:
        """Return the wire to a server, if it is followed at this url.

        Nothing that was decided by a snapshot goes to an upstream that is not that snapshot's.
        """
        watch = self._watches.get(server_id)
        return watch.link if watch and watch.target.url == url else None

    def calls(self, server_id: str, url: str | None) -> Calls | None:
        """Return what sends calls to a server without a task, if it is followed at this url."""
        link = self.link(server_id, url)
        return link.calls if link else None

    def nudge(self, server_id: str) -> None:
        """List this server again soon: within a second, however often that is asked for."""
        if watch := self._watches.get(server_id):
            watch.nudged.set()

    async def renewed(self, server_id: str, limit_s: float) -> bool:
        """List this server again, and return whether a listing begun from now on was good in time.

        What comes of it is in `findings` then; whoever makes a snapshot of these has been told.
        """
        watch = self._watches.get(server_id)
        if watch is None:
            return False
        good: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        watch.awaited.append((watch.begun + 1, good))
        watch.nudged.set()
        try:
            async with asyncio.timeout(limit_s):
                return await good
        except TimeoutError:
            return False
        finally:
            watch.awaited = [each for each in watch.awaited if each[1] is not good]

    async def close(self) -> None:
        """Stop listing; calls in flight end, sessions are ended, connections closed.

        Cancelled, it closes the connections at once.
        """
        if self._turning is not None:
            self._turning.cancel()
        for watch in (*self._leaving, *self._watches.values()):
            watch.answer(watch.begun + 1, good=False)
            self._part(watch)
        self._leaving.clear()
        self._coming.clear()
        self._watches.clear()
        self._findings = None
        await asyncio.gather(*self._farewells)

    async def _turn_over(self) -> None:
        """Part from who leaves and begin with who comes, one by one: others' turn between two."""
        while self._leaving or self._coming:
            if self._leaving:
                self._part(self._leaving.popleft())
            else:
                watch = self._coming.popleft()
                if self._watches.get(watch.target.id) is watch:
                    watch.task = asyncio.create_task(self._keep_fresh(watch))
            await asyncio.sleep(0)
        self._turning = None

    def _part(self, watch: Followed) -> None:
        if watch.task is not None:
            watch.task.cancel()
        farewell = asyncio.create_task(_part_from(watch))
        self._farewells.add(farewell)
        farewell.add_done_callback(self._farewells.discard)

    async def _keep_fresh(self, watch: Followed) -> None:
        while True:
            await self._desk.turns.next()
            watch.nudged.clear()
            begun_s = self._clock.now_s()
            watch.begun += 1
            at_least_ms = await self._list(watch)
            # A large list is read for at most half of the time, however often it changes.
            rested_at_s = max(
                begun_s + self._rhythm.least_s, self._clock.now_s() + watch.reading_took_s
            )
            watch.answer(watch.begun, good=watch.belief.failures == 0)
            wait_s = belief.wait_s(watch.belief, self._rhythm, self._chance, at_least_ms)
            await self._wait(watch, wait_s)
            rest_s = rested_at_s - self._clock.now_s()
            if rest_s > 0:
                await self._clock.wait(asyncio.Event(), rest_s)

    async def _wait(self, watch: Followed, wait_s: float) -> None:
        """Wait for the next listing, and let go of an offer whose time runs out before."""
        left_s = belief.keeps_s(watch.belief, self._clock.now_s(), self._rhythm)
        if left_s is not None and left_s < wait_s:
            await self._clock.wait(watch.nudged, left_s)
            if watch.nudged.is_set():
                return
            now_s = self._clock.now_s()
            self._believe(watch, belief.outlived(watch.belief, now_s, self._rhythm))
            wait_s -= left_s
        await self._clock.wait(watch.nudged, wait_s)

    async def _list(self, watch: Followed) -> int | None:
        """List once and believe what comes of it; return the wait that the upstream asked for."""
        at_least_ms = None
        watch.reading_took_s = 0.0
        try:
            offered = await self._read(watch, await watch.link.list())
        except Trouble as met:
            self._failed(watch, Skip(met.reason, met.message))
            at_least_ms = met.retry_after_ms
        except Exception:
            _LOG.exception("a list could not be read", extra={"server": watch.target.id})
            self._failed(watch, Skip(ServerReason.PROTOCOL_VIOLATION, _UNREADABLE))
        else:
            self._count(watch, offered.refused.values())
            now_s = self._clock.now_s()
            self._believe(watch, belief.listed(watch.belief, offered, now_s, self._rhythm))
        return at_least_ms

    async def _read(self, watch: Followed, listing: Listing) -> Offer:
        known = watch.belief.finding.offer

        def read() -> Offer:
            begun_s = self._clock.now_s()
            try:
                offered = offer.read(listing)
                return offered.spelled_as(known) if known else offered
            finally:
                watch.reading_took_s = self._clock.now_s() - begun_s

        if listing.size_bytes <= _LOOP_MAX_BYTES:
            return read()
        async with self._desk.reading:
            return await asyncio.to_thread(read)

    def _failed(self, watch: Followed, trouble: Skip) -> None:
        self._count(watch, [trouble])
        now_s = self._clock.now_s()
        self._believe(watch, belief.failed(watch.belief, trouble, now_s, self._rhythm))

    def _count(self, watch: Followed, troubles: Iterable[Skip]) -> None:
        for trouble in troubles:
            if self._meter is not None:
                self._meter.failed(watch.target.id, trouble.reason)
            if self._recent is not None:
                self._recent.add(watch.target.id, "listing", trouble.reason, trouble.message)

    def _believe(self, watch: Followed, new: Belief) -> None:
        old, watch.belief = watch.belief, new
        watch.had_a_chance = True
        if new.finding is not old.finding:
            _log(watch.target.id, new.finding)
            self._findings = None
            self._changed()


async def _part_from(watch: Followed) -> None:
    await watch.close()
    if watch.task is not None:
        await asyncio.wait([watch.task])


def _log(server: str, finding: Finding) -> None:
    if finding.trouble is not None:
        _warn("an upstream gave no list to believe", server, finding.trouble)
    elif finding.offer is not None:
        _LOG.info(
            "an upstream was listed",
            extra={"server": server, "tools": len(finding.offer.tools)},
        )
        for refused in finding.offer.refused.values():
            _warn("an upstream gave no list of one kind to believe", server, refused)


def _warn(what: str, server: str, why: Skip) -> None:
    _LOG.warning(what, extra={"server": server, "reason": why.reason, "detail": why.message})
