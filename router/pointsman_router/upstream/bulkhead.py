"""How many calls may be at one upstream, so that a hung one holds nobody else's."""

import asyncio
from types import TracebackType

from pointsman_router.upstream import trouble
from pointsman_router.upstream.limits import Limits


class Bulkhead:
    """Places for calls; enter it as a context, which raises Trouble where all are taken."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._places = asyncio.Semaphore(limits.in_flight_max)
        self._waiting = 0

    async def __aenter__(self) -> None:
        if not self._places.locked():
            await self._places.acquire()
            return
        if self._waiting >= self._limits.waiting_max:
            raise trouble.busy(self._limits.in_flight_max)
        self._waiting += 1
        try:
            async with asyncio.timeout(self._limits.waiting_s):
                await self._places.acquire()
        except TimeoutError:
            raise trouble.busy(self._limits.in_flight_max) from None
        finally:
            self._waiting -= 1

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._places.release()
