"""Sessions that are over, each ended beside the calls."""

import asyncio
import contextlib

from pointsman_router.upstream.era import Session
from pointsman_router.upstream.exchange import Wire
from pointsman_router.upstream.limits import Limits
from pointsman_router.upstream.trouble import Trouble


class Farewells:
    """Ends sessions as a courtesy: no call waits for it, and none is hurt if it fails."""

    def __init__(self, wire: Wire, limits: Limits) -> None:
        self._wire = wire
        self._limits = limits
        self._bidding: set[asyncio.Task[None]] = set()

    def bid(self, session: Session) -> None:
        """Begin to end a session, where there is one: without an id there is none."""
        # An upstream that answers none of them may not hold ever more connections.
        if session.id is not None and len(self._bidding) < self._limits.replies_max:
            bidding = asyncio.create_task(self._end(session))
            self._bidding.add(bidding)
            bidding.add_done_callback(self._bidding.discard)

    async def bidden(self) -> None:
        """Return when those that were begun have ended, which takes `farewell_s` at most.

        Without waiting for that: the closing of the wire ends them, too.
        """
        if self._bidding:
            await asyncio.wait(self._bidding)

    async def _end(self, session: Session) -> None:
        with contextlib.suppress(Trouble):  # what cannot be ended ends by itself
            await self._wire.delete(session.headers)
