"""Which tools of a view go by their own names alone.

A tool does where no other one of the view can be meant by its name, whether that one is served now
or only held back: else a name would lead to a sibling for as long as its owner is away.

- What begins like a prefixed name of another server of the view is never a tool's own name there,
  whatever that server has.
- A tool that waits for approval, and one that a suspended server names, claims its names as if it
  were served.
- While it is not known what a server has (it was not listed yet, could not be, or is suspended and
  allows every tool) no name that may be one of its tools' comes into being: a tool keeps the one
  that led to it before, and goes by its prefixed ones otherwise.

So two replicas that know what every server has show the same; until then one that has just started
may show prefixed what an older one shows bare, and neither leads a name to another server.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from pointsman_contract import names
from pointsman_contract.meta import Exposed, Meta
from pointsman_contract.names import Names
from pointsman_contract.report import State
from pointsman_router.exposure import Exposure, Route
from pointsman_router.listing import Form

Key: TypeAlias = tuple[str, str]
"""A server, and the own name of a tool of it."""
Matches: TypeAlias = Callable[[Names], bool]
"""Whether a view asks for the tool of these names."""


@dataclass(frozen=True, slots=True)
class _Unknown:
    """What the servers may have of which nobody knows yet what they have."""

    anything: bool
    """Whether that may be any tool."""
    named: Collection[str]
    """The names of the tools that they may show at most, where they may not show any."""

    def may_claim(self, own: Iterable[str]) -> bool:
        return self.anything or any(name in self.named for name in own)


def own(tool: str, max_length: int) -> Mapping[Form, str]:
    """Return the names of a tool where it needs no prefix."""
    safe = names.bare(tool, max_length=max_length)
    return {Form.DOTTED: tool if len(tool) <= max_length else safe, Form.SAFE: safe}


def suspended(shown: Exposure, matches: Matches, max_length: int) -> Iterator[tuple[Key, Names]]:
    """Yield the tools of a suspended server that a view asks for, as far as the server names any.

    Of another server there are none.
    """
    if shown.state is State.SUSPENDED and shown.server.meta:
        yield from _allowed(shown.server.id, shown.server.meta, matches, max_length)


def of(
    tools: Mapping[Key, Names],
    servers: Collection[Exposure],
    matches: Matches,
    before: Mapping[str, Route],
    *,
    taken: Collection[str],
    max_length: int,
) -> Mapping[Key, Mapping[Form, str]]:
    """Return the own names of those of a view's tools that go by them.

    `tools` are all that it shows, `before` is where its names led until now, and `taken` are names
    that are no tool's own in it.
    """
    owned = {key: own(key[1], max_length) for key in tools}
    claims: defaultdict[str, set[Key]] = defaultdict(set)
    for key, called in tools.items():
        _claim(claims, key, called, owned[key])
    for key, called in _held_back(servers, matches, max_length):
        _claim(claims, key, called, own(key[1], max_length))
    prefixes = _prefixes(servers)
    unknown = _unknown(servers, matches, max_length)
    return {
        key: called
        for key, called in owned.items()
        if all(
            len(claims[name]) == 1 and name not in taken and not _is_prefixed(name, key, prefixes)
            for name in called.values()
        )
        and (not unknown.may_claim(called.values()) or _led(before, called.values(), key))
    }


def _claim(
    claims: Mapping[str, set[Key]], key: Key, called: Names, owned: Mapping[Form, str]
) -> None:
    for name in (*owned.values(), *called.each):
        claims[name].add(key)


def _prefixes(servers: Iterable[Exposure]) -> Mapping[str, set[str]]:
    found: defaultdict[str, set[str]] = defaultdict(set)
    for shown in servers:
        if shown.server.meta:
            found[shown.server.meta.prefix].add(shown.server.id)
    return found


def _is_prefixed(name: str, key: Key, prefixes: Mapping[str, set[str]]) -> bool:
    """Say whether a name begins as those of another server do; no prefix holds a separator."""
    return any(
        begin != name and not prefixes.get(begin, set()) <= {key[0]}
        for begin in (name.partition(".")[0], name.partition("__")[0])
    )


def _held_back(
    servers: Iterable[Exposure], matches: Matches, max_length: int
) -> Iterator[tuple[Key, Names]]:
    """Yield the tools that a view would show if a person approved them, or resumed their server."""
    for shown in servers:
        for tool, each in shown.unapproved.items():
            if matches(each.names):
                yield (shown.server.id, tool), each.names
        yield from suspended(shown, matches, max_length)


def _allowed(
    id_: str, meta: Meta, matches: Matches, max_length: int
) -> Iterator[tuple[Key, Names]]:
    """Yield the tools that a server names, if it does not allow every one."""
    if meta.allows_every_tool or not meta.exposes(Exposed.TOOLS):
        return
    for tool in meta.allowed_tools:
        called = names.of(meta.prefix, tool, max_length=max_length)
        if matches(called):
            yield (id_, tool), called


def _unknown(servers: Iterable[Exposure], matches: Matches, max_length: int) -> _Unknown:
    named: set[str] = set()
    for shown in servers:
        meta = shown.server.meta
        if meta is None or not meta.exposes(Exposed.TOOLS):
            continue
        is_unlisted = shown.server.skip is None and shown.finding.offer is None
        if meta.allows_every_tool and (is_unlisted or shown.state is State.SUSPENDED):
            return _Unknown(True, ())
        if is_unlisted:
            for (_, tool), _ in _allowed(shown.server.id, meta, matches, max_length):
                named.update(own(tool, max_length).values())
    return _Unknown(False, named)


def _led(before: Mapping[str, Route], owned: Iterable[str], key: Key) -> bool:
    routes = [before.get(name) for name in owned]
    return all(route is not None and (route.server, route.tool) == key for route in routes)
