"""What one router has said so far, and what of it is news."""

from collections.abc import Iterable, Sequence
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

    fault: str | None = None
    """Why it holds older ones than its directory has."""
    servers: dict[str, ServerReport] = field(default_factory=dict)
    views: dict[str, ViewReport] = field(default_factory=dict)

    def take(self, document: Report | Change, everybody: Sequence["Heard"] = ()) -> News:
        """Take what the router answered; return what is new in it.

        What `everybody` has said alike is kept once.
        """
        servers, views = self.servers, self.views
        self.fault = document.fault
        if isinstance(document, Report):
            self.servers = {entry.id: _shared(entry, everybody) for entry in document.servers}
            self.views = {entry.id: entry for entry in document.views}
        else:
            changed = [_shared(entry, everybody) for entry in document.changed]
            self.servers = _after(servers, changed, document.removed)
            self.views = _after(views, document.changed_views, document.removed_views)
        return News(_differing(servers, self.servers), _differing(views, self.views))


def _shared(entry: ServerReport, everybody: Sequence[Heard]) -> ServerReport:
    for one in everybody:
        other = one.servers.get(entry.id)
        if other is not None and other.tools == entry.tools:
            return entry.model_copy(update={"tools": other.tools})
    return entry


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
        id_
        for id_ in before.keys() | after.keys()
        if (old := before.get(id_)) is not (new := after.get(id_)) and old != new
    )
