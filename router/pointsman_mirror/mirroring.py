"""How what the API server says becomes what the router reads."""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import aclosing

from pointsman_mirror import layout
from pointsman_mirror.disk import Directory, InForce, NotWritten
from pointsman_mirror.hearing import Changed, Event, Gone, Item, Listed, Trouble, Unchanged
from pointsman_mirror.layout import Generation
from pointsman_mirror.metrics import Metrics

# A burst is one generation, yet a lone change is in force within 50 ms, and no burst however
# long keeps the first of its changes waiting.
QUIET_S = 0.02
BURST_MAX_S = 0.1
# A full volume is tried again before anybody can have looked at it.
WRITE_RETRY_FIRST_S = 0.25
WRITE_RETRY_MAX_S = 4.0


class Mirror:
    """One directory kept equal to what a stream of events says."""

    def __init__(self, directory: Directory, metrics: Metrics, logger: logging.Logger) -> None:
        self._directory = directory
        self._metrics = metrics
        self._logger = logger
        self._items: dict[str, Item] = {}
        self._changed = asyncio.Event()
        self._skipped: frozenset[layout.Skipped] = frozenset()
        self._trouble: Trouble | None = None
        self._in_force: InForce | None = None

    @property
    def is_ready(self) -> bool:
        """Whether a whole generation is in force: written now, or left by a run before.

        One that was left counts, so that a mirror restarted while the API server is away does
        not take its router, which serves that generation, out of service.
        """
        return self._in_force is not None

    @property
    def lack(self) -> str:
        """Why there is no generation yet."""
        trouble = self._trouble
        return f"{trouble.cause}: {trouble.message}" if trouble else "not listed yet"

    async def run(self, events: AsyncGenerator[Event, None]) -> None:
        """Follow `events` to their end, which no watch has."""
        self._took_force(self._directory.in_force())
        async with asyncio.TaskGroup() as tasks:
            writing = tasks.create_task(self._write())
            async with aclosing(events):
                async for event in events:
                    self._hear(event)
            writing.cancel()

    def _hear(self, event: Event) -> None:
        match event:
            case Listed(items):
                self._items = dict(items)
                self._changed.set()
            case Changed(object_name, item):
                self._items[object_name] = item
                self._changed.set()
            case Gone(object_name):
                self._items.pop(object_name, None)
                self._changed.set()
            case Unchanged():
                pass
            case Trouble():
                self._metrics.watch_failures.labels(event.cause).inc()
                self._tell(event)
                return
        self._metrics.last_word_timestamp.set(time.time())
        self._tell(None)

    def _tell(self, trouble: Trouble | None) -> None:
        """Log a trouble once, however often it is met, and its end."""
        before, self._trouble = self._trouble, trouble
        if trouble and (before is None or before.cause is not trouble.cause):
            self._logger.warning(
                "the API server's word is lost; the last generation stays in force",
                extra={"cause": trouble.cause, "detail": trouble.message},
            )
        elif before and not trouble:
            self._logger.info("the API server is heard again")

    async def _write(self) -> None:
        failures = 0
        now_s = asyncio.get_running_loop().time
        while True:
            await settled(self._changed, quiet_s=QUIET_S, at_most_s=BURST_MAX_S)
            began_s = now_s()
            try:
                generation, in_force = await asyncio.to_thread(
                    self._publish, tuple(self._items.values())
                )
            except NotWritten as exc:
                self._metrics.write_failures.inc()
                if not failures:
                    self._logger.error(
                        "a generation could not be written; the last one stays in force",
                        extra={"detail": str(exc)},
                    )
                await asyncio.sleep(min(WRITE_RETRY_FIRST_S * 2.0**failures, WRITE_RETRY_MAX_S))
                failures = min(failures + 1, 30)
                self._changed.set()
                continue
            failures = 0
            self._wrote(generation, in_force)
            # Large generations take at most half of the time, however often objects change.
            await asyncio.sleep(now_s() - began_s)

    def _publish(self, items: tuple[Item, ...]) -> tuple[Generation, InForce]:
        generation = layout.build(items)
        return generation, self._directory.publish(generation)

    def _wrote(self, generation: Generation, in_force: InForce) -> None:
        self._metrics.servers.set(generation.servers)
        self._metrics.views.set(generation.views)
        if self._in_force != in_force:
            self._metrics.generations.inc()
            self._logger.info(
                "a generation is in force",
                extra={
                    "generation": in_force.target,
                    "servers": generation.servers,
                    "views": generation.views,
                },
            )
        self._took_force(in_force)
        counted = Counter(item.reason for item in generation.skipped)
        for reason in layout.Reason:
            self._metrics.skipped.labels(reason).set(counted[reason])
        skipped = frozenset(generation.skipped)
        for item in sorted(skipped - self._skipped, key=lambda item: item.object_name):
            self._logger.warning(
                "an object publishes nothing",
                extra={
                    "object": item.object_name,
                    "reason": item.reason,
                    "detail": item.message,
                },
            )
        self._skipped = skipped

    def _took_force(self, in_force: InForce | None) -> None:
        self._in_force = in_force
        if in_force:
            self._metrics.generation_timestamp.set(in_force.written_at_s)


async def settled(changed: asyncio.Event, *, quiet_s: float, at_most_s: float) -> None:
    """Return when something has changed and then nothing for `quiet_s`, or after `at_most_s`."""
    await changed.wait()
    now_s = asyncio.get_running_loop().time
    end_s = now_s() + at_most_s
    while changed.is_set() and now_s() < end_s:
        changed.clear()
        try:
            async with asyncio.timeout(min(quiet_s, end_s - now_s())):
                await changed.wait()
        except TimeoutError:
            break
    changed.clear()
