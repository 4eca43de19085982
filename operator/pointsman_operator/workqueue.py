"""Which key is worked on next: each key once, by one worker, after a failure later and later."""

import asyncio
import heapq
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

# Short enough that a passing fault costs nobody a noticeable time, doubling up to a rate at which
# thousands of failing keys are no load.
BACKOFF_FIRST_S = 0.5
BACKOFF_MAX_S = 300.0
# How far a delay is spread, so that what failed together does not come back together.
JITTER = 0.5


@dataclass(slots=True)
class _Failures:
    count: int = 0
    not_before_s: float = 0.0


class WorkQueue:
    """Keys that have to be looked at, each at its time."""

    def __init__(self, *, spread: Callable[[], float] = random.random) -> None:
        self._spread = spread
        self._due: dict[str, float] = {}
        self._heap: list[tuple[float, str]] = []
        self._working: set[str] = set()
        self._failures: dict[str, _Failures] = {}
        self._changed = asyncio.Event()
        self._closed = False

    @property
    def depth(self) -> int:
        """How many keys are due and wait for a worker."""
        now_s = self.now_s()
        return sum(1 for due_s in self._due.values() if due_s <= now_s)

    @staticmethod
    def now_s() -> float:
        """Return the time on the clock that the queue goes by."""
        return asyncio.get_running_loop().time()

    def put(self, key: str, at_s: float | None = None) -> None:
        """Have `key` looked at, at `at_s` (now unless given) instead of when it was due before."""
        now_s = self.now_s()
        failures = self._failures.get(key)
        floor_s = failures.not_before_s if failures is not None else now_s
        self._set(key, max(now_s if at_s is None else at_s, floor_s))

    def wake(self, key: str, at_s: float) -> None:
        """Have `key` looked at by `at_s`, or earlier if it is due earlier."""
        if at_s < self._due.get(key, float("inf")):
            self.put(key, at_s)

    def failed(self, key: str, *, not_before_s: float | None = None) -> float:
        """Have `key` looked at again later than after its last failure; return the delay (s).

        Whatever came while it was worked on waits as long. Nothing brings it back earlier than
        `not_before_s`; without it a later change does.
        """
        failures = self._failures.setdefault(key, _Failures())
        delay_s = min(BACKOFF_MAX_S, BACKOFF_FIRST_S * 2.0 ** min(failures.count, 16))
        delay_s *= 1 - JITTER * self._spread()
        failures.count += 1
        failures.not_before_s = not_before_s or 0.0
        now_s = self.now_s()
        delay_s = max(delay_s, failures.not_before_s - now_s)
        self._set(key, now_s + delay_s)
        return delay_s

    def succeeded(self, key: str) -> None:
        """Forget the failures of `key`."""
        self._failures.pop(key, None)

    async def work(self, handle: Callable[[str], Awaitable[None]]) -> None:
        """Hand due keys to `handle`, one at a time, until the queue is closed: one worker."""
        while (key := await self._next()) is not None:
            try:
                await handle(key)
            finally:
                self._working.discard(key)
                if key in self._due:
                    heapq.heappush(self._heap, (self._due[key], key))
                    self._changed.set()

    def close(self) -> None:
        """Let each worker end with what it is at."""
        self._closed = True
        self._changed.set()

    async def _next(self) -> str | None:
        while not self._closed:
            now_s = self.now_s()
            while self._heap:
                due_s, key = self._heap[0]
                if self._due.get(key) != due_s or key in self._working:
                    heapq.heappop(self._heap)
                    continue
                if due_s > now_s:
                    break
                heapq.heappop(self._heap)
                del self._due[key]
                self._working.add(key)
                return key
            await self._wait(self._heap[0][0] - now_s if self._heap else None)
        return None

    async def _wait(self, timeout_s: float | None) -> None:
        self._changed.clear()
        try:
            async with asyncio.timeout(timeout_s):
                await self._changed.wait()
        except TimeoutError:
            pass

    def _set(self, key: str, at_s: float) -> None:
        self._due[key] = at_s
        if key not in self._working:
            heapq.heappush(self._heap, (at_s, key))
            self._changed.set()
