"""The streams on which agents are told that a list has changed."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import compress
from operator import is_not

from pointsman_contract.meta import Exposed
from pointsman_router import changes, dispatch, dispatch_beside, endpoints, refusals, respond
from pointsman_router.catalogue import Catalogue
from pointsman_router.dispatch import Listen
from pointsman_router.endpoints import Endpoint
from pointsman_router.eras import Revision
from pointsman_router.listing import Form, Line
from pointsman_router.outlet import Outlet
from pointsman_router.respond import Asker, Response


class _Audience:
    """The open streams of one endpoint, and what its lists showed when they last heard of it."""

    def __init__(self) -> None:
        self.shown: dict[Exposed, object] = {}
        """Of each list that one of the streams was ever to be told of."""
        self.changes: Counter[Exposed] = Counter()
        self.streams: dict[asyncio.Event, tuple[Exposed, ...]] = {}

    def see(self, catalogue: Catalogue, endpoint: Endpoint) -> None:
        """Stir the streams that are to be told of what `catalogue` changes."""
        changed = set()
        for of, before in self.shown.items():
            now = _shown(catalogue, endpoint, of)
            if now != before:
                self.shown[of] = now
                self.changes[of] += 1
                changed.add(of)
        for stream, lists in self.streams.items():
            if not changed.isdisjoint(lists):
                stream.set()


class Subscriptions:
    """Tells every open stream of each change of what its endpoint lists, once.

    `pause_s` after a message the next one follows at the earliest: whoever hears of a change
    lists again, and a burst of them is worth one list. Changes of several lists that are known by
    then are told together. Where tools are found rather than listed, it is the tools that can be
    found whose change is told: the list of two stays, what a search answers does not.
    """

    def __init__(
        self, current: Callable[[], Catalogue], *, streams_max: int, pause_s: float
    ) -> None:
        self._current = current
        self._streams_max = streams_max
        self._pause_s = pause_s
        self._streams_open = 0
        self._audiences: dict[Endpoint, _Audience] = {}
        self._ending = asyncio.Event()

    async def serve(
        self, listen: Listen, endpoint: Endpoint, asker: Asker, outlet: Outlet
    ) -> Response:
        """Tell one agent of changes until it leaves or the router ends; return the last message."""
        if self._streams_open >= self._streams_max:
            return respond.refused(refusals.too_many_streams(), asker.id)
        audience = self._audience(endpoint, listen.lists)
        stirred = asyncio.Event()
        told = {of: audience.changes[of] for of in listen.lists}
        audience.streams[stirred] = listen.lists
        self._streams_open += 1
        outlet.begin(streams=True, leaving_cancels=True)
        try:
            await outlet.say(changes.acknowledgement(asker.id, listen.lists))
            while not self._ending.is_set():
                await stirred.wait()
                stirred.clear()
                changed = [of for of in listen.lists if audience.changes[of] != told[of]]
                for of in changed:
                    told[of] = audience.changes[of]
                    await outlet.say(changes.told(asker.id, of))
                if changed:
                    await self._pause()
            return respond.unsubscribed(asker)
        finally:
            outlet.settle()
            self._streams_open -= 1
            del audience.streams[stirred]
            if not audience.streams:
                self._audiences.pop(endpoint, None)

    def changed(self) -> None:
        """Take a new snapshot into account; to be called for each."""
        catalogue = self._current()
        for endpoint, audience in self._audiences.items():
            audience.see(catalogue, endpoint)

    def end(self) -> None:
        """End every stream with its last message, and each that is opened from now on.

        One whose agent reads nothing ends when it is cut or given up, and then without a message.
        """
        self._ending.set()
        for audience in self._audiences.values():
            for stream in audience.streams:
                stream.set()

    def _audience(self, endpoint: Endpoint, lists: Iterable[Exposed]) -> _Audience:
        audience = self._audiences.setdefault(endpoint, _Audience())
        for of in lists:
            if of not in audience.shown:
                audience.shown[of] = _shown(self._current(), endpoint, of)
        return audience

    async def _pause(self) -> None:
        try:
            async with asyncio.timeout(self._pause_s):
                await self._ending.wait()
        except TimeoutError:
            pass


def _shown(catalogue: Catalogue, endpoint: Endpoint, of: Exposed) -> object:
    """Return what makes a list another one, in its order, as a modern agent sees it."""
    endpoint = endpoints.resolved(catalogue, endpoint)
    match of:
        case Exposed.TOOLS:
            if catalogue.echo and endpoint.is_whole:
                return (dispatch.ECHO,)
            # A view that comes to be searched, or no longer, lists something else all the same.
            shown = _Rendered(endpoints.shown(catalogue, endpoint), endpoint.form)
            return endpoint.discover, shown
        case Exposed.PROMPTS:
            lines = dispatch_beside.prompt_lines(catalogue, endpoint.form, endpoint.beside)
            return _Rendered(lines, endpoint.form)
        case Exposed.RESOURCES:
            # Nobody is told of templates otherwise.
            return tuple(
                tuple(
                    line.render(Revision.MODERN)
                    for line in dispatch_beside.uri_lines(catalogue, member, endpoint.beside)
                )
                for member in dispatch_beside.URI_LISTS.values()
            )


class _Rendered:
    """Lines as one form of list shows them to a modern agent; equal where that is the same.

    Most lines of a snapshot are those of the one before: only the others are worth a look, for
    this is done in the event loop, and a list may hold twenty thousand.
    """

    __slots__ = ("_form", "_lines")
    __hash__ = None  # type: ignore[assignment] # it is compared, never looked up

    def __init__(self, lines: Sequence[Line], form: Form) -> None:
        self._lines = lines
        self._form = form

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Rendered) or self._form != other._form:
            return False
        if self._lines is other._lines:
            return True
        mine, theirs = self._lines, other._lines
        differ = compress(zip(mine, theirs, strict=False), map(is_not, mine, theirs))
        return len(mine) == len(theirs) and all(
            self._seen(one) == self._seen(another) for one, another in differ
        )

    def _seen(self, line: Line) -> tuple[str, bytes]:
        return line.names[self._form], line.rest[Revision.MODERN]
