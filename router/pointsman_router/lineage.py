"""Where names led in the catalogues that agents may still choose from."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from pointsman_router.exposure import Route

# A list that is older is no list to choose from: nobody's conversation is.
KEPT_S = 24 * 3600.0
# One every ten seconds for a day; what a list showed longer ago is not known then.
REVISIONS_MAX = 10_000
# Some 200 bytes each: a hundred servers of twenty tools may all change three times.
MOVES_MAX = 20_000

Key: TypeAlias = tuple[str | None, str]
"""A name, and the server on whose endpoint it is one; None where it is one of all servers'."""


@dataclass(frozen=True, slots=True)
class Lead:
    """Where a name leads, and what agents read there."""

    server: str
    tool: str
    reads: str


Move: TypeAlias = tuple[Key, Lead | None]
"""A name that leads elsewhere than before, and where it led."""


@dataclass(frozen=True, slots=True)
class _Led:
    """Where a name led until the catalogue of that number."""

    until: int
    to: Lead | None


@dataclass(frozen=True, slots=True)
class _Seen:
    """When a revision was in force last."""

    number: int
    until_s: float = math.inf
    """When it is forgotten."""


@dataclass(frozen=True, slots=True)
class Lineage:
    """The revisions of one catalogue, and what has moved since the oldest of them."""

    newest: str | None = None
    seen: Mapping[str, _Seen] = field(default_factory=dict)
    led: Mapping[Key, tuple[_Led, ...]] = field(default_factory=dict)
    """Each name's moves, the oldest first."""
    moves: int = 0
    """How many there are."""


class UnknownRevision(LookupError):
    """A revision that this replica does not know, or no more."""


def lead(route: Route | None) -> Lead | None:
    """Return where a route leads, as it is compared."""
    return None if route is None else Lead(route.server, route.tool, route.reads)


def at(lineage: Lineage, revision: str, key: Key, now: Lead | None) -> Lead | None:
    """Return where a name that leads to `now` led in a revision; raises UnknownRevision."""
    seen = lineage.seen.get(revision)
    if seen is None:
        raise UnknownRevision
    return next((led.to for led in lineage.led.get(key, ()) if led.until > seen.number), now)


def moves(
    server: str | None, before: Mapping[str, Route], after: Mapping[str, Route]
) -> Iterator[Move]:
    """Yield the names that lead elsewhere than before, or to what reads otherwise."""
    if before is after:
        return
    for name, route in after.items():
        old = before.get(name)
        if old is not route and lead(old) != lead(route):
            yield (server, name), lead(old)
    for name in before.keys() - after.keys():
        yield (server, name), lead(before[name])


def advanced(before: Lineage, revision: str, moved: Iterable[Move], now_s: float) -> Lineage:
    """Return the lineage once `revision` is in force; `moved` is what its making moved.

    A revision that returns is as new as it is now. `now_s` is any clock that only goes forward.
    """
    if not before.seen:
        # Before the first there is nothing to choose from, and no need to know what moved.
        return Lineage(revision, {revision: _Seen(1)})
    numbers = [seen.number for seen in before.seen.values()]
    number = max(numbers) + 1
    led, count = dict(before.led), before.moves
    for key, to in moved:
        led[key] = (*led.get(key, ()), _Led(number, to))
        count += 1
    seen = {
        each: _Seen(seen.number, now_s + KEPT_S) if each == before.newest else seen
        for each, seen in before.seen.items()
        if seen.until_s > now_s
    }
    new = Lineage(revision, seen | {revision: _Seen(number)}, led, count)
    oldest = _oldest(new)
    return new if oldest == min(numbers) else _since(new, oldest)


def _oldest(lineage: Lineage) -> int:
    """Return the number of the oldest catalogue that there is room for."""
    numbers = sorted((seen.number for seen in lineage.seen.values()), reverse=True)
    oldest = numbers[:REVISIONS_MAX][-1]
    if lineage.moves > MOVES_MAX:
        untils = sorted((led.until for each in lineage.led.values() for led in each), reverse=True)
        oldest = max(oldest, min(each for each in numbers if each >= untils[MOVES_MAX]))
    return oldest


def _since(lineage: Lineage, oldest: int) -> Lineage:
    """Return the lineage from that catalogue on: nothing else is held against what moved before."""
    led = {
        key: recent
        for key, each in lineage.led.items()
        if (recent := tuple(led for led in each if led.until > oldest))
    }
    seen = {each: seen for each, seen in lineage.seen.items() if seen.number >= oldest}
    return Lineage(lineage.newest, seen, led, sum(map(len, led.values())))
