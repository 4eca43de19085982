"""Where names led in the catalogues that agents may still choose from."""

import heapq
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from pointsman_router import leads
from pointsman_router.exposure import Route
from pointsman_router.leads import Lead

# A list that is older is no list to choose from: nobody's conversation is.
KEPT_S = 24 * 3600.0
# One every ten seconds for a day; what a list showed longer ago is not known then.
REVISIONS_MAX = 10_000
# Some 300 bytes each: a hundred servers of twenty tools may all change three times.
MOVES_MAX = 20_000

Key: TypeAlias = tuple[str | None, str]
"""A name, and the server on whose endpoint it is one; None where it is one of all servers'."""


@dataclass(frozen=True, slots=True)
class Move:
    """A name that leads elsewhere than before."""

    key: Key
    to: Lead | None
    """What it led to."""
    by: str
    """The server that it leads to now, or last did."""


@dataclass(frozen=True, slots=True)
class _Led:
    """What a name led to until the catalogue of that number."""

    until: int
    to: Lead | None
    by: str


_History: TypeAlias = Mapping[Key, tuple[_Led, ...]]


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
    led: _History = field(default_factory=dict)
    """Each name's moves, the oldest first."""
    moves: int = 0
    """How many there are."""
    forgotten: Mapping[str, int] = field(default_factory=dict)
    """By server: until which catalogue nothing is known of the names that lead to it."""


class UnknownRevision(LookupError):
    """A revision that this replica does not know, or no more."""


def at(lineage: Lineage, revision: str, key: Key, now: Lead | None) -> Lead | None:
    """Return what a name that leads to `now` led to in a revision; raises UnknownRevision.

    Where that is forgotten it is never what the name leads to now.
    """
    seen = lineage.seen.get(revision)
    if seen is None:
        raise UnknownRevision
    if now is not None and lineage.forgotten.get(now.server, 0) > seen.number:
        return leads.forgotten(now.server)
    return next((led.to for led in lineage.led.get(key, ()) if led.until > seen.number), now)


def moves(
    server: str | None, before: Mapping[str, Route], after: Mapping[str, Route]
) -> Iterator[Move]:
    """Yield the names that lead elsewhere than before, or to what is another tool or reads so."""
    if before is after:
        return
    for name, route in after.items():
        old = before.get(name)
        to = old.lead if old else None
        if old is not route and to != route.lead:
            yield Move((server, name), to, route.server)
    for name in before.keys() - after.keys():
        yield Move((server, name), before[name].lead, before[name].server)


def advanced(
    before: Lineage,
    revision: str,
    moved: Iterable[Move],
    now_s: float,
    *,
    revisions_max: int = REVISIONS_MAX,
    moves_max: int = MOVES_MAX,
) -> Lineage:
    """Return the lineage once `revision` is in force; `moved` is what its making moved.

    A revision that returns is as new as it is now. `now_s` is any clock that only goes forward.
    Where too much moves, what moved longest ago is forgotten of who moves most, and of nobody else.
    """
    if not before.seen:
        # Before the first there is nothing to choose from, and no need to know what moved.
        return Lineage(revision, {revision: _Seen(1)})
    numbers = [seen.number for seen in before.seen.values()]
    number = max(numbers) + 1
    led, count = dict(before.led), before.moves
    for move in moved:
        led[move.key] = (*led.get(move.key, ()), _Led(number, move.to, move.by))
        count += 1
    seen = {
        each: _Seen(seen.number, now_s + KEPT_S) if each == before.newest else seen
        for each, seen in before.seen.items()
        if seen.until_s > now_s
    } | {revision: _Seen(number)}
    new = Lineage(revision, seen, led, count, before.forgotten)
    oldest = sorted((seen.number for seen in seen.values()), reverse=True)[:revisions_max][-1]
    recent = new if oldest == min(numbers) else _since(new, oldest)
    return recent if recent.moves <= moves_max else _fitted(recent, moves_max)


def _since(lineage: Lineage, oldest: int) -> Lineage:
    """Return the lineage from that catalogue on: nothing else is held against what moved before."""
    led = {key: recent for key, each in lineage.led.items() if (recent := _recent(each, oldest))}
    seen = {each: seen for each, seen in lineage.seen.items() if seen.number >= oldest}
    forgotten = {server: at for server, at in lineage.forgotten.items() if at > oldest}
    return Lineage(lineage.newest, seen, led, _count(led), forgotten)


def _fitted(lineage: Lineage, moves_max: int) -> Lineage:
    """Return the lineage with no more moves than there is room for."""
    histories: defaultdict[str, dict[Key, tuple[_Led, ...]]] = defaultdict(dict)
    for key, each in lineage.led.items():
        histories[each[-1].by][key] = each
    most = [(-_count(history), server) for server, history in histories.items()]
    heapq.heapify(most)
    moves, forgotten = lineage.moves, dict(lineage.forgotten)
    while moves > moves_max:
        negative, server = heapq.heappop(most)
        shorter, until = _shorter(histories[server])
        if until is not None:
            forgotten[server] = until
        histories[server] = dict(shorter)
        heapq.heappush(most, (-_count(shorter), server))
        moves += negative + _count(shorter)
    led = {key: each for history in histories.values() for key, each in history.items()}
    return Lineage(lineage.newest, lineage.seen, led, moves, forgotten)


def _shorter(history: _History) -> tuple[_History, int | None]:
    """Return the newer half of one server's moves; of the older, when each name had its last.

    Where that is hardly less, return none, and until which catalogue its names are not known.
    """
    untils = sorted(led.until for each in history.values() for led in each)
    until = untils[len(untils) // 2]
    shorter = {key: _forgetting(each, until) for key, each in history.items()}
    if 4 * _count(shorter) <= 3 * len(untils):
        return shorter, None
    return {}, untils[-1]


def _forgetting(moved: tuple[_Led, ...], until: int) -> tuple[_Led, ...]:
    """Return a name's moves, and of those until then only that there were some."""
    recent = _recent(moved, until)
    older = moved[: len(moved) - len(recent)]
    if not older:
        return moved
    last = older[-1]
    return (_Led(last.until, leads.forgotten(last.by), last.by), *recent)


def _recent(moved: tuple[_Led, ...], after: int) -> tuple[_Led, ...]:
    return tuple(led for led in moved if led.until > after)


def _count(history: _History) -> int:
    return sum(map(len, history.values()))
