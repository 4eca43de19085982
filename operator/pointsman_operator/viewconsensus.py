"""What all answering routers agree on about one view."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pointsman_contract import view
from pointsman_contract.report import State, ViewReport, printable
from pointsman_contract.view import Discovery, ViewMeta
from pointsman_operator import budget
from pointsman_operator.consensus import Finding
from pointsman_operator.differences import odd_one
from pointsman_operator.statement import MESSAGE_MAX_LENGTH, Statement, believed, late, no_router
from pointsman_operator.status import Truth
from pointsman_operator.viewstatus import Content

# As many as a person reads; the routers' own reports have them all.
UNMATCHED_MAX = 50
NAME_MAX_LENGTH = 256
# So many are named in a message: the list beside it has more.
NAMED_MAX = 3
_REMEDY = "name fewer in spec.tools, or have them searched for with spec.discovery"


class ViewReadiness(StrEnum):
    """Why agents find tools in a view, or do not."""

    READY = "Ready"
    NO_SERVERS = "NoServers"
    NO_TOOLS = "NoTools"
    NOT_SERVED = "NotServed"
    PROGRESSING = "Progressing"
    NO_ROUTER = "NoRouter"


@dataclass(frozen=True, slots=True)
class ViewConsensus:
    """What is true of a view on every router that answers."""

    ready: Finding
    content: Content | None
    """None while nothing new can be said."""
    follows: bool = False
    """Whether the routers know this generation, and only its servers are not yet the newest."""
    difference: str | None = None
    """Which router finds more tools than another, or other ones."""
    outdated: tuple[Statement[ViewReport], ...] = ()
    """Of the routers that let agents find tools in something else than this document."""


def serving(statements: Iterable[Statement[ViewReport]]) -> tuple[Statement[ViewReport], ...]:
    """Return what routers say that let agents find tools now, in whichever document."""
    return tuple(
        one
        for one in believed(statements, _has_begun)
        if one.entry and one.entry.state is State.SERVING and one.entry.tool_count
    )


def remaining(found: Iterable[Statement[ViewReport]]) -> Content:
    """Return what agents can still find in a view that should have nothing."""
    entries = [one.entry for one in found if one.entry is not None]
    return _content(entries) if entries else Content()


def reach(published: ViewMeta, statements: Sequence[Statement[ViewReport]]) -> ViewConsensus:
    """Return what the routers' `statements` come to, for this very document."""
    answering = believed(statements, _has_begun)
    if not answering and any(one.answers for one in statements):
        message = "the routers only began, and have not listed the servers yet"
        return ViewConsensus(_no(ViewReadiness.PROGRESSING, message), None)
    if not answering:
        return ViewConsensus(_no(ViewReadiness.NO_ROUTER, no_router(len(statements))), None)
    said = [
        (one, one.entry)
        for one in answering
        if one.entry is not None and _is_current(one.entry, published)
    ]
    if len(said) < len(answering):
        current = {one.router for one, _ in said}
        lagging = [one for one in answering if one.router not in current]
        return ViewConsensus(
            _no(ViewReadiness.PROGRESSING, late(lagging[0], "document")),
            None,
            follows=all(_follows(one.entry, published) for one in lagging),
            outdated=serving(lagging),
        )
    # A router that began a moment ago finds its tools one server after the other.
    said = [(one, entry) for one, entry in said if not one.young] or said
    entries = [entry for _, entry in said]
    content = _content(entries)
    return ViewConsensus(
        _ready(published, entries, content),
        content,
        difference=_difference([(one.router, entry) for one, entry in said]),
    )


def _content(entries: Sequence[ViewReport]) -> Content:
    return Content(
        tool_count=min(entry.tool_count for entry in entries),
        schema_bytes=max(entry.schema_bytes for entry in entries),
        unmatched_servers=_union(entry.unmatched_servers for entry in entries),
        unmatched_tools=_union(entry.unmatched_tools for entry in entries),
    )


def _follows(entry: ViewReport | None, published: ViewMeta) -> bool:
    """Say whether a router knows this very spec, with other servers than it selects now."""
    return (
        entry is not None
        and entry.uid == published.uid
        and entry.generation == published.generation
    )


def _difference(said: Sequence[tuple[str, ViewReport]]) -> str | None:
    if any(entry.state is not State.SERVING for _, entry in said):
        return None
    fewest = min(entry.tool_count for _, entry in said)
    router, entry = max(said, key=lambda one: one[1].tool_count)
    if entry.tool_count != fewest:
        return f"{printable(router)} finds {entry.tool_count}"
    # An older router does not tell its list's revision.
    revisions = {router: entry.revision for router, entry in said if entry.revision}
    if len(set(revisions.values())) > 1:
        return f"{printable(odd_one(revisions))} finds other tools, or other definitions of them"
    return None


def _ready(published: ViewMeta, entries: Sequence[ViewReport], content: Content) -> Finding:
    for entry in entries:
        if entry.state is not State.SERVING:
            message = printable(entry.message or "the routers cannot use it", MESSAGE_MAX_LENGTH)
            return _no(ViewReadiness.NOT_SERVED, message)
    if content.tool_count:
        count = f"{content.tool_count} tool{'' if content.tool_count == 1 else 's'}"
        address = f"/mcp/views/{published.id}"
        message = f"agents find {count} at {address}"
        if published.discovery is Discovery.LIST:
            told = budget.warning(content.tool_count, remedy=_REMEDY)
            message = "; ".join(part for part in (message, told) if part)
        return Finding(Truth.TRUE, ViewReadiness.READY, message)
    if all(set(published.servers) == set(entry.unmatched_servers) for entry in entries):
        names = ", ".join(published.servers[:NAMED_MAX])
        more = len(published.servers) - NAMED_MAX
        missing = f"{names} and {more} more" if more > 0 else names
        return _no(ViewReadiness.NO_SERVERS, f"none of its servers is served: {missing}")
    return _no(
        ViewReadiness.NO_TOOLS, "no entry of spec.tools matches a tool that its servers offer now"
    )


def _has_begun(statement: Statement[ViewReport]) -> bool:
    """Say whether a router only began, and may not have looked yet."""
    entry = statement.entry
    unseen = entry is None or (entry.state is State.SERVING and not entry.tool_count)
    return statement.young and unseen


def _is_current(entry: ViewReport, published: ViewMeta) -> bool:
    if entry.uid != published.uid:
        return False
    if entry.state is not State.SERVING and entry.digest is None:
        # Of a document that cannot be used a router may know no more than whose it is.
        return (entry.generation or 0) >= (published.generation or 0)
    return entry.digest == view.digest(published)


def _no(reason: ViewReadiness, message: str) -> Finding:
    return Finding(Truth.FALSE, reason, message)


def _union(lists: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    texts = {printable(text, NAME_MAX_LENGTH) for each in lists for text in each}
    return tuple(sorted(texts)[:UNMATCHED_MAX])
