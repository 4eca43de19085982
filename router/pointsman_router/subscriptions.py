"""The streams on which agents are told that a list has changed."""

import asyncio
from collections.abc import Callable, Sequence

from pointsman_router import dispatch, refusals, respond
from pointsman_router.catalogue import Catalogue
from pointsman_router.dispatch import Listen, View
from pointsman_router.eras import Revision
from pointsman_router.listing import Line
from pointsman_router.outlet import Outlet
from pointsman_router.respond import Asker, Response


class _Audience:
    """The open streams of one endpoint, and what its list showed when they last heard of it."""

    def __init__(self, shown: Sequence[object]) -> None:
        self.shown = shown
        self.changes = 0
        self.streams: set[asyncio.Event] = set()

    def stir(self) -> None:
        for stream in self.streams:
            stream.set()


class Subscriptions:
    """Tells every open stream of each change of the list that its endpoint shows, once.

    `pause_s` after a message the next one follows at the earliest: whoever hears of a change
    lists again, and a burst of them is worth one list.
    """

    def __init__(
        self, current: Callable[[], Catalogue], *, streams_max: int, pause_s: float
    ) -> None:
        self._current = current
        self._streams_max = streams_max
        self._pause_s = pause_s
        self._streams_open = 0
        self._audiences: dict[View, _Audience] = {}
        self._ending = asyncio.Event()

    async def serve(self, listen: Listen, view: View, asker: Asker, outlet: Outlet) -> Response:
        """Tell one agent of changes until it leaves or the router ends; return the last message."""
        if self._streams_open >= self._streams_max:
            return respond.refused(refusals.too_many_streams(), asker.id)
        audience = self._audiences.get(view)
        if audience is None:
            audience = self._audiences[view] = _Audience(_shown(self._current(), view))
        stirred, told = asyncio.Event(), audience.changes
        audience.streams.add(stirred)
        self._streams_open += 1
        outlet.begin(streams=True, leaving_cancels=True)
        try:
            await outlet.say(respond.acknowledgement(asker, tools=listen.tools))
            while not self._ending.is_set():
                await stirred.wait()
                stirred.clear()
                if listen.tools and audience.changes != told:
                    told = audience.changes
                    await outlet.say(respond.tools_changed(asker))
                    await self._pause()
            return respond.unsubscribed(asker)
        finally:
            outlet.settle()
            self._streams_open -= 1
            audience.streams.discard(stirred)
            if not audience.streams:
                self._audiences.pop(view, None)

    def changed(self) -> None:
        """Take a new snapshot into account; to be called for each."""
        catalogue = self._current()
        for view, audience in self._audiences.items():
            now = _shown(catalogue, view)
            if now != audience.shown:
                audience.shown = now
                audience.changes += 1
                audience.stir()

    def end(self) -> None:
        """End every stream with its last message, and each that is opened from now on."""
        self._ending.set()
        for audience in self._audiences.values():
            audience.stir()

    async def _pause(self) -> None:
        try:
            async with asyncio.timeout(self._pause_s):
                await self._ending.wait()
        except TimeoutError:
            pass


def _shown(catalogue: Catalogue, view: View) -> Sequence[object]:
    """Return what makes a list another one, in its order, as a modern agent sees it."""
    lines: Sequence[Line] = dispatch.shown(catalogue, view)
    if catalogue.echo and view.server is None:
        return (dispatch.ECHO,)
    return tuple((line.names[view.form], line.rest[Revision.MODERN]) for line in lines)
