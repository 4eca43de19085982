"""How many calls may be at one upstream, so that a hung one holds nobody else's."""

import asyncio
from collections import deque

from pointsman_router.upstream import trouble
from pointsman_router.upstream.limits import Limits


class Bulkhead:
    """Places for calls; whoever was first is served first. Needs a running loop."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._free = limits.in_flight_max
        self._queue: deque[asyncio.Future[None]] = deque()

    def take(self) -> bool:
        """Take a place if one is free; it has to be left."""
        if self._free <= 0:
            return False
        self._free -= 1
        return True

    async def wait(self) -> None:
        """Take a place as soon as one is free; raises Trouble where that lasts."""
        if len(self._queue) >= self._limits.waiting_max:
            raise trouble.busy(self._limits.in_flight_max)
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append(place)
        try:
            async with asyncio.timeout(self._limits.waiting_s):
                await place
        except BaseException as met:
            if place in self._queue:
                self._queue.remove(place)
            else:
                self.leave()  # it was given to somebody who had just gone
            if isinstance(met, TimeoutError):
                raise trouble.busy(self._limits.in_flight_max) from None
            raise

    def leave(self) -> None:
        """Give a place to whoever waits longest, or to nobody."""
        for place in self._queue:
            if not place.done():
                self._queue.remove(place)
                place.set_result(None)
                return
        self._free += 1
