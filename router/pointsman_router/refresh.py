"""The one line from the directory to the snapshot that agents see."""

import asyncio
import gc
import logging
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Protocol, TypeVar

from pointsman_contract.report import Report
from pointsman_router import catalogue, registry, reporting
from pointsman_router.catalogue import Catalogue
from pointsman_router.current import Current
from pointsman_router.offer import Finding
from pointsman_router.reading import Reading
from pointsman_router.registry import Registry, Target

# A thousand upstreams that answer at once are not worth a thousand snapshots.
PAUSE_S = 0.05
# How long a slow upstream may keep the whole router from being ready.
PATIENCE_S = 3.0
# How long a call waits for a new list that it is to be built from.
RENEWAL_S = 10.0
# After a mistake of ours: often enough to heal soon, seldom enough to leave a log readable.
AGAIN_S = 1.0

_LOG = logging.getLogger(__name__)

T = TypeVar("T")


class Source(Protocol):
    """Where readings of the directory come from."""

    async def next(self) -> Reading:
        """Return the next reading that differs from the one before."""


class Discovery(Protocol):
    """What keeps every server's offer fresh."""

    @property
    def findings(self) -> Mapping[str, Finding]:
        """What is known of each server's upstream; replaced, never edited."""

    @property
    def everyone_had_a_chance(self) -> bool:
        """Whether every server that is followed was listed, or failed, at least once."""

    def follow(self, targets: Mapping[str, Target]) -> None:
        """Start what is new, keep what is equal, stop what is gone."""

    def nudge(self, server_id: str) -> None:
        """List this server again soon."""

    async def renewed(self, server_id: str, limit_s: float) -> bool:
        """List this server again now, and return whether that went well in time."""


class Refresh:
    """Carries every change of the directory and of the offers to the two cells; their only writer.

    `stirred` is to be set whenever a finding changed. Snapshots are made beside the event loop. A
    mistake of ours that meets one change costs that change: what agents see stays.
    """

    def __init__(
        self,
        *,
        source: Source,
        discovery: Discovery,
        stirred: asyncio.Event,
        catalogues: Current[Catalogue],
        reports: Current[Report | None],
        myself: reporting.Self,
        max_length: int,
        pause_s: float = PAUSE_S,
        patience_s: float = PATIENCE_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._source = source
        self._discovery = discovery
        self._stirred = stirred
        self._catalogues = catalogues
        self._reports = reports
        self._myself = myself
        self._max_length = max_length
        self._pause_s = pause_s
        self._patience_s = patience_s
        self._clock = clock
        # Not the loop's own threads: names that resolve slowly may occupy all of those.
        self._beside = ThreadPoolExecutor(1, thread_name_prefix="refresh")
        self._registry: Registry = Registry(loaded=False)
        self._loaded_at_s: float | None = None
        self._ready = False
        self._is_making = False
        self._made = asyncio.Event()

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._follow_directory())
            tasks.create_task(self._follow_findings())

    async def renewed(self, server_id: str, limit_s: float = RENEWAL_S) -> Catalogue:
        """List a server again, and return the snapshot that holds what came of it."""
        try:
            async with asyncio.timeout(limit_s):
                if await self._discovery.renewed(server_id, limit_s):
                    while self._stirred.is_set() or self._is_making:
                        await self._made.wait()
        except TimeoutError:
            pass
        return self._catalogues.get()

    @property
    def unready(self) -> str | None:
        """Why agents should not come yet; None, and then for ever, once they may."""
        if self._ready:
            return None
        if self._loaded_at_s is None:
            return self._registry.fault or "the directory has not been read yet"
        if self._reports.get() is None:
            return "the first catalogue is not made yet"
        if self._clock() - self._loaded_at_s < self._patience_s:
            return "not every server has been listed once yet"
        self._ready = True
        return None

    async def _follow_directory(self) -> None:
        while True:
            try:
                await self._take_over(await self._source.next())
            except Exception:
                _LOG.exception("directory: could not be taken over, the last set stays")
                await asyncio.sleep(AGAIN_S)

    async def _take_over(self, reading: Reading) -> None:
        old = self._registry

        def read() -> tuple[Registry, Mapping[str, Target], Collection[str]]:
            new = registry.build(reading)
            return new, new.targets, registry.amended(old, new)

        new, targets, amended = await self._in_thread(read)
        self._registry = new
        if not new.loaded:
            return
        if self._loaded_at_s is None:
            self._loaded_at_s = self._clock()
        self._discovery.follow(targets)
        findings = self._discovery.findings
        for server in amended:
            if server in findings and findings[server].trouble:
                self._discovery.nudge(server)
        self._stirred.set()
        _log_difference(old, new)

    async def _follow_findings(self) -> None:
        while True:
            await self._stirred.wait()
            self._stirred.clear()
            if not self._registry.loaded:
                continue
            began_s = self._clock()
            self._is_making, replaced = True, None
            try:
                replaced = await self._rebuild()
            except Exception:
                _LOG.exception("catalogue: could not be made, the last one stays")
            finally:
                self._is_making = False
                self._made.set()
                self._made.clear()
            if replaced is not None:
                await self._in_thread(replaced.let_go)
            # A large catalogue takes at most half of the time, however often offers change.
            await asyncio.sleep(max(self._pause_s, self._clock() - began_s))

    async def _rebuild(self) -> "_Replaced":
        """Put a new snapshot in the place of the last, and return what it replaces."""
        everyone_had_a_chance = self._discovery.everyone_had_a_chance
        servers, findings = self._registry, self._discovery.findings
        replaced = _Replaced(self._catalogues.get(), self._reports.get())

        def make() -> tuple[Catalogue, Report]:
            before, reported = replaced.catalogue, replaced.report
            with _garbage_left_alone():
                made = catalogue.build(
                    servers,
                    findings,
                    max_length=self._max_length,
                    now_s=self._clock(),
                    previous=before,
                )
                return made, reporting.build(made, reported, myself=self._myself, now=_now())

        snapshot, report = await self._in_thread(make)
        self._catalogues.put(snapshot)
        if report is not replaced.report:
            self._reports.put(report)
        self._ready = self._ready or everyone_had_a_chance
        return replaced

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._beside, work)


class _Replaced:
    """What a snapshot replaces.

    Whoever holds the last of a large one frees a million objects at once, and holds every thread up
    for it. So it is let go of in parts, beside the event loop.
    """

    def __init__(self, catalogue: Catalogue, report: Report | None) -> None:
        self.catalogue = catalogue
        self.report = report

    def let_go(self) -> None:
        """Give up what of it is not in the new one, server by server."""
        parts: list[object] = [
            *self.catalogue.routes.values(),
            *self.catalogue.exposures.values(),
            *(self.report.servers if self.report else ()),
        ]
        self.catalogue, self.report = catalogue.empty(), None
        while parts:
            parts.pop()


@contextmanager
def _garbage_left_alone() -> Iterator[None]:
    """Make what is made here as if it had been there for long.

    A snapshot holds no cycles and up to a million objects. Every full collection that their making
    sets off would walk them all, hold every thread up for it, and find nothing.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.unfreeze()
        if was_enabled:
            gc.enable()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _log_difference(old: Registry, new: Registry) -> None:
    added = len(new.servers.keys() - old.servers.keys())
    removed = len(old.servers.keys() - new.servers.keys())
    if added or removed or not old.loaded:
        _LOG.info(
            "directory: servers registered",
            extra={"servers": len(new.servers), "added": added, "removed": removed},
        )
    if old.views.keys() != new.views.keys():
        _LOG.info("directory: views registered", extra={"views": len(new.views)})
