"""Which servers' tools may be taken for each other's, looked at once for as long as they stay."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pointsman_contract.report import SkippedTool
from pointsman_router import confusables, flags
from pointsman_router.exposure import Candidate, Exposure


@dataclass(frozen=True, slots=True)
class Group:
    """Servers whose prefixes look alike."""

    of: Mapping[str, tuple[Candidate, ...]]
    """The tools of each."""
    told: Mapping[str, tuple[SkippedTool, ...]]
    """What to tell of them for the tools of the others."""


Groups = Mapping[str, Group]
"""By what the prefixes look like."""


def groups(exposures: Iterable[Exposure], before: Groups) -> Groups:
    """Return the servers that look alike; of `before` what still holds.

    No prefix holds a dot: names are alike only where their prefixes are.
    """
    alike: defaultdict[str, list[Exposure]] = defaultdict(list)
    for shown in exposures:
        if shown.server.meta and shown.candidates:
            alike[confusables.plainest(shown.server.meta.prefix)].append(shown)
    return {
        look: _group(members, before.get(look))
        for look, members in alike.items()
        if len(members) > 1
    }


def told(of: Groups) -> Mapping[str, tuple[SkippedTool, ...]]:
    """Return what to tell of each server that looks like another."""
    return {server: told for group in of.values() for server, told in group.told.items()}


def _group(members: Sequence[Exposure], before: Group | None) -> Group:
    of = {shown.server.id: shown.candidates for shown in members}
    if before and _same(of, before.of):
        return before
    return Group(of, flags.beside({shown.server.id: shown.listed for shown in members}))


def _same(
    some: Mapping[str, tuple[Candidate, ...]], others: Mapping[str, tuple[Candidate, ...]]
) -> bool:
    return some.keys() == others.keys() and all(some[id_] is others[id_] for id_ in some)
