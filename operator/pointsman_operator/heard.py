"""What one router has said so far, and what of it is news."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from pointsman_contract.report import Change, Report, ServerReport, ViewReport


@dataclass(frozen=True, slots=True)
class News:
    """Of what something else is said than before, by identity."""

    servers: frozenset[str] = frozenset()
    views: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.servers or self.views)


@dataclass(slots=True)
class Heard:
    """The newest entries of one router."""

    servers: dict[str, ServerReport] = field(default_factory=dict)
    views: dict[str, ViewReport] = field(default_factory=dict)

    def take(self, document: Report | Change) -> News:
        """Take what the router answered; return what is new in it."""
        servers, views = self.servers, self.views
        if isinstance(document, Report):
            self.servers = {entry.id: entry for entry in document.servers}
            self.views = {entry.id: entry for entry in document.views}
        else:
            self.servers = _after(servers, document.changed, document.removed)
            self.views = _after(views, document.changed_views, document.removed_views)
        return News(_differing(servers, self.servers), _differing(views, self.views))


_Entry = TypeVar("_Entry", ServerReport, ViewReport)


def _after(
    before: dict[str, _Entry], changed: Iterable[_Entry], removed: Iterable[str]
) -> dict[str, _Entry]:
    entries = before | {entry.id: entry for entry in changed}
    for gone in removed:
        entries.pop(gone, None)
    return entries


def _differing(before: dict[str, _Entry], after: dict[str, _Entry]) -> frozenset[str]:
    return frozenset(
        id_ for id_ in before.keys() | after.keys() if before.get(id_) != after.get(id_)
    )
