"""What this router says of itself: its report, and what of it an asker has not heard yet."""

from collections import deque
from dataclasses import dataclass

from pointsman_contract import report
from pointsman_contract.report import Change, Report, ServerReport, State, ViewReport
from pointsman_router.catalogue import Catalogue
from pointsman_router.exposure import Exposure
from pointsman_router.views import Table

# An asker that missed more than these is told everything.
REMEMBERED = 16


@dataclass(frozen=True, slots=True)
class Self:
    """Which router speaks: a new one, after a restart, may be told apart from a changed one."""

    instance: str
    started_at: str
    """RFC 3339."""


def build(catalogue: Catalogue, previous: Report | None, *, myself: Self, now: str) -> Report:
    """Return the report of a snapshot; `previous` itself where nothing changed in meaning.

    `now` (RFC 3339) is when a changed entry changed.
    """
    before = {server.id: server for server in previous.servers} if previous else {}
    views = {view.id: view for view in previous.views} if previous else {}
    new = Report(
        instance=myself.instance,
        started_at=myself.started_at,
        catalogue=catalogue.revision,
        fault=catalogue.fault,
        servers=tuple(
            _entry(exposure, before.get(id_), now)
            for id_, exposure in sorted(catalogue.exposures.items())
        ),
        views=tuple(
            _view(table, views.get(id_), now) for id_, table in sorted(catalogue.views.items())
        ),
    )
    return previous if previous == new else new


def _entry(exposure: Exposure, before: ServerReport | None, now: str) -> ServerReport:
    meta = exposure.server.meta
    entry = ServerReport(
        id=exposure.server.id,
        uid=meta.uid if meta else None,
        generation=meta.generation if meta else None,
        state=exposure.state,
        reason=exposure.reason,
        message=exposure.message,
        prefix=meta.prefix if meta else None,
        protocol_version=exposure.protocol_version,
        server_info=exposure.server_info,
        tool_count=len(exposure.tools),
        tools=exposure.tools,
        skipped_tools=exposure.skipped,
        flagged_tools=exposure.flagged,
        unmatched_allowed_tools=exposure.unmatched,
        schema_bytes=exposure.schema_bytes,
        since=before.since if before else now,
    )
    if entry == before:
        return before
    return entry.model_copy(update={"since": now})


def _view(table: Table, before: ViewReport | None, now: str) -> ViewReport:
    named = table.named
    entry = ViewReport(
        id=named.id,
        uid=named.meta.uid if named.meta else None,
        generation=named.meta.generation if named.meta else None,
        digest=table.document,
        state=State.SKIPPED if named.skip else State.SERVING,
        message=named.skip or named.fault,
        revision=table.revision,
        tool_count=table.tool_count,
        schema_bytes=table.schema_bytes,
        unmatched_servers=table.unmatched_servers,
        unmatched_tools=table.unmatched_tools,
        since=before.since if before else now,
    )
    if entry == before:
        return before
    return entry.model_copy(update={"since": now})


@dataclass(frozen=True, slots=True)
class Told:
    """A report and the tag by which an asker says that it has it."""

    tag: str
    report: Report


class History:
    """The newest reports, each with its tag."""

    def __init__(self, remembered: int = REMEMBERED) -> None:
        self._told: deque[Told] = deque(maxlen=remembered)
        self._number = 0

    @property
    def newest(self) -> Told | None:
        """The report in force; None before the first."""
        return self._told[-1] if self._told else None

    def add(self, new: Report) -> None:
        """Remember a report, and forget the oldest where there are too many."""
        self._number += 1
        self._told.append(Told(f"{new.instance}.{self._number}", new))

    def since(self, tag: str | None) -> Report | Change:
        """Return what the asker that has `tag` lacks: the whole report where it is unknown.

        Raises LookupError before the first report.
        """
        if self.newest is None:
            raise LookupError("nothing was reported yet")
        known = next((told for told in self._told if told.tag == tag), None)
        if known is None:
            return self.newest.report
        return report.difference(known.report, self.newest.report)
