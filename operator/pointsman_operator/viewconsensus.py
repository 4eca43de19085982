"""What all answering routers agree on about one view."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pointsman_contract import view
from pointsman_contract.report import State, ViewReport, printable
from pointsman_contract.view import Discovery, ViewMeta
from pointsman_operator import budget
from pointsman_operator.consensus import Finding
from pointsman_operator.status import Truth
from pointsman_operator.viewstatus import Content

# As many as a person reads; the routers' own reports have them all.
UNMATCHED_MAX = 50
NAME_MAX_LENGTH = 256
MESSAGE_MAX_LENGTH = 512
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
class ViewStatement:
    """What one router says of one view."""

    router: str
    answers: bool
    """Whether its last long poll ended recently enough to be believed."""
    young: bool = False
    """Whether the router began so recently that it may not have looked yet."""
    entry: ViewReport | None = None
    fault: str | None = None
    """Why it holds older views than its directory has."""


@dataclass(frozen=True, slots=True)
class ViewConsensus:
    """What is true of a view on every router that answers."""

    ready: Finding
    content: Content | None
    """None while nothing new can be said."""


def reach(published: ViewMeta, statements: Sequence[ViewStatement]) -> ViewConsensus:
    """Return what the routers' `statements` come to, for this very document."""
    answering = [one for one in statements if one.answers and not _has_begun(one)]
    if not answering and any(one.answers for one in statements):
        message = "the routers only began, and have not listed the servers yet"
        return ViewConsensus(_no(ViewReadiness.PROGRESSING, message), None)
    if not answering:
        return ViewConsensus(_no(ViewReadiness.NO_ROUTER, _no_router(len(statements))), None)
    entries, grown = [], []
    for statement in answering:
        if statement.entry is None or not _is_current(statement.entry, published):
            return ViewConsensus(_no(ViewReadiness.PROGRESSING, _late(statement)), None)
        entries.append(statement.entry)
        if not statement.young:
            grown.append(statement.entry)
    # A router that began a moment ago finds its tools one server after the other.
    entries = grown or entries
    content = Content(
        tool_count=min(entry.tool_count for entry in entries),
        schema_bytes=max(entry.schema_bytes for entry in entries),
        unmatched_servers=_union(entry.unmatched_servers for entry in entries),
        unmatched_tools=_union(entry.unmatched_tools for entry in entries),
    )
    return ViewConsensus(_ready(published, entries, content), content)


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


def _has_begun(statement: ViewStatement) -> bool:
    """Say whether a router only began, and may not have looked yet."""
    entry = statement.entry
    unseen = entry is None or (entry.state is State.SERVING and not entry.tool_count)
    return statement.young and unseen


def _late(statement: ViewStatement) -> str:
    message = f"router {printable(statement.router)} does not serve this document yet"
    if statement.fault is None:
        return message
    return f"{message}: {printable(statement.fault, MESSAGE_MAX_LENGTH)}"


def _is_current(entry: ViewReport, published: ViewMeta) -> bool:
    if entry.uid != published.uid:
        return False
    if entry.state is not State.SERVING and entry.digest is None:
        # Of a document that cannot be used a router may know no more than whose it is.
        return (entry.generation or 0) >= (published.generation or 0)
    return entry.digest == view.digest(published)


def _no(reason: ViewReadiness, message: str) -> Finding:
    return Finding(Truth.FALSE, reason, message)


def _no_router(total: int) -> str:
    if not total:
        return "no router is known: start one, and have POINTSMAN_OPERATOR_ROUTERS name it"
    return "no router answers: look at the routers' pods"


def _union(lists: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    texts = {printable(text, NAME_MAX_LENGTH) for each in lists for text in each}
    return tuple(sorted(texts)[:UNMATCHED_MAX])
