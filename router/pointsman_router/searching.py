"""The indexes of what can be searched now, each made when it is first asked."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

from pointsman_router import endpoints
from pointsman_router.catalogue import Catalogue
from pointsman_router.endpoints import Endpoint
from pointsman_router.listing import Line
from pointsman_router.metatools import Found, Search
from pointsman_router.search import Index, Ranked

# Of all endpoints together, some 50 MiB; the one that is asked is kept whatever it takes.
TOOLS_MAX = 50_000
# Each is a database and takes some 100 KiB before it holds a tool.
INDEXES_MAX = 32
_NOTHING = Ranked((), 0)


@dataclass(frozen=True, slots=True)
class _Kept:
    lines: tuple[Line, ...]
    index: Index


class Searching:
    """Finds tools among those that an endpoint lists in the snapshot that it is asked with.

    One thread beside the event loop does all of it: nobody waits for an index but who searches,
    and nobody makes one that somebody else is making.
    """

    def __init__(
        self,
        current: Callable[[], Catalogue],
        *,
        tools_max: int = TOOLS_MAX,
        indexes_max: int = INDEXES_MAX,
    ) -> None:
        self._current = current
        self._tools_max = tools_max
        self._indexes_max = indexes_max
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="search")
        self._is_used = False
        # That thread's alone, in the order of their last use.
        self._kept: dict[Endpoint, _Kept] = {}

    async def find(self, catalogue: Catalogue, endpoint: Endpoint, search: Search) -> Found:
        """Return what `search` finds."""
        self._is_used = True
        work = partial(self._find, catalogue, endpoint, search)
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def changed(self) -> None:
        """Take a new snapshot into account; to be called for each."""
        if self._is_used:
            self._thread.submit(self._forget)

    def close(self) -> None:
        """Give up what is kept, and wait for nothing; nobody may search any more."""
        self._thread.submit(self._forget_all)
        self._thread.shutdown(wait=False)

    def _find(self, catalogue: Catalogue, endpoint: Endpoint, search: Search) -> Found:
        ranked = self._ranked(catalogue, endpoint, search)
        return Found(
            ranked.tools, endpoint.form, ranked.total, endpoints.revision(catalogue, endpoint)
        )

    def _ranked(self, catalogue: Catalogue, endpoint: Endpoint, search: Search) -> Ranked:
        lines = tuple(endpoints.shown(catalogue, endpoint))
        if not lines:
            return _NOTHING
        kept = self._kept.get(endpoint)
        if kept is not None and kept.lines != lines:
            self._drop(endpoint)
            kept = None
        if kept is None:
            kept = _Kept(lines, Index(lines, endpoint.form))
        self._kept.pop(endpoint, None)
        self._kept[endpoint] = kept
        self._make_room()
        return kept.index.find(search.query, search.limit)

    def _make_room(self) -> None:
        while len(self._kept) > 1 and self._is_too_much:
            self._drop(next(iter(self._kept)))

    @property
    def _is_too_much(self) -> bool:
        tools = sum(len(kept.lines) for kept in self._kept.values())
        return tools > self._tools_max or len(self._kept) > self._indexes_max

    def _forget(self) -> None:
        """Drop what is no longer so."""
        catalogue = self._current()
        for endpoint, kept in tuple(self._kept.items()):
            if kept.lines != tuple(endpoints.shown(catalogue, endpoint)):
                self._drop(endpoint)

    def _forget_all(self) -> None:
        for endpoint in tuple(self._kept):
            self._drop(endpoint)

    def _drop(self, endpoint: Endpoint) -> None:
        self._kept.pop(endpoint).index.close()
