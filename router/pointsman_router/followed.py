"""One server that is followed."""

import asyncio
from collections.abc import Callable

from pointsman_contract.meta import Exposed
from pointsman_router import belief
from pointsman_router.belief import Belief
from pointsman_router.registry import Target
from pointsman_router.upstream import Link


class Followed:
    """One server that is followed; what was known of it before stays, if it has the same url."""

    def __init__(
        self,
        target: Target,
        connect: Callable[[Target], Link],
        before: "Followed | None" = None,
    ) -> None:
        self.target = target
        self._connect = connect
        self._link: Link | None = None
        self.belief = Belief()
        self.had_a_chance = False
        if before is not None and _is_known(target, before.target):
            self.belief = belief.asked_otherwise(before.belief, target.exposes)
            self.had_a_chance = before.had_a_chance
        self.nudged = asyncio.Event()
        self.task: asyncio.Task[None] | None = None
        self.begun = 0
        """How many listings have begun so far."""
        self.reading_took_s = 0.0
        """For how long what the last one brought was read, the waiting for a place left out."""
        self.awaited: list[tuple[int, asyncio.Future[bool]]] = []
        """Who waits for the end of which listing."""

    @property
    def link(self) -> Link:
        """The wire to it, made when it is first asked for."""
        if self._link is None:
            self._link = self._connect(self.target)
            self._link.on_renewal(self.nudged.set)
        return self._link

    async def close(self) -> None:
        """Close the wire, if there is one."""
        if self._link is not None:
            await self._link.close()

    def answer(self, number: int, *, good: bool) -> None:
        """Tell all who wait for the listing of that number, or an earlier one."""
        for wanted, waiting in self.awaited:
            if wanted <= number and not waiting.done():
                waiting.set_result(good)


def _is_known(target: Target, before: Target) -> bool:
    # An upstream that was never asked for its tools is not one that has none: nobody knows yet
    # which names it claims.
    asked = Exposed.TOOLS in before.exposes or Exposed.TOOLS not in target.exposes
    return asked and target.url == before.url
