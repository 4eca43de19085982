"""What all answering routers agree on about one server."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pointsman_contract.report import ServerReason, ServerReport, State, printable
from pointsman_operator.spec import Identity
from pointsman_operator.status import Counts, Lists, Skipped, Tool, Truth

# How much of the lists a resource carries: what is still read by a person, fetched by every
# `kubectl get`, and far from what the API server stores of one object (1.5 MiB).
TOOLS_MAX = 500
TOOLS_MAX_BYTES = 160 * 1024
SKIPPED_MAX = 50
UNMATCHED_MAX = 500
NAME_MAX_LENGTH = 256
MESSAGE_MAX_LENGTH = 512

_REASON = re.compile(r"[A-Za-z]{1,64}", re.ASCII)

# The router leaves the server out, and has nevertheless listed its upstream.
_LISTED = frozenset([ServerReason.NO_TOOLS, ServerReason.NO_TOOLS_MATCHED])


class Readiness(StrEnum):
    """Why an agent can call a server's tools, or cannot."""

    READY = "Ready"
    NO_TOOLS_ALLOWED = "NoToolsAllowed"
    NO_TOOLS_MATCHED = "NoToolsMatched"
    NO_TOOLS = "NoTools"
    NOT_DISCOVERED = "NotDiscovered"
    STALE = "Stale"
    PROGRESSING = "Progressing"
    NO_ROUTER = "NoRouter"
    SUSPENDED = "Suspended"
    NOT_ACCEPTED = "NotAccepted"


DISCOVERED = "Discovered"


@dataclass(frozen=True, slots=True)
class Finding:
    """What is known of one condition."""

    truth: Truth
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Statement:
    """What one router says of one server."""

    router: str
    answers: bool
    """Whether its last long poll ended recently enough to be believed."""
    young: bool = False
    """Whether the router began so recently that it may not have looked yet."""
    entry: ServerReport | None = None


@dataclass(frozen=True, slots=True)
class Consensus:
    """What is true of a server on every router that answers."""

    discovered: Finding | None
    """None while nothing new can be said."""
    ready: Finding
    lists: Lists | None
    """None while nothing new can be said."""
    counts: Counts


def reach(identity: Identity, statements: Sequence[Statement]) -> Consensus:
    """Return what the routers' `statements` come to, for the generation that `identity` names."""
    total = len(statements)
    answering = [statement for statement in statements if _counts(statement)]
    if not answering:
        return Consensus(
            Finding(Truth.UNKNOWN, Readiness.NO_ROUTER, _no_router(total)),
            Finding(Truth.FALSE, Readiness.NO_ROUTER, _no_router(total)),
            None,
            Counts(0, total),
        )
    current = [
        (statement.router, statement.entry)
        for statement in answering
        if statement.entry is not None and _is_current(statement.entry, identity)
    ]
    counts = Counts(len(current), total)
    if len(current) < len(answering):
        names = {router for router, _ in current}
        late = min(t.router for t in answering if t.router not in names)
        message = f"router {late} does not serve this generation yet"
        return Consensus(None, Finding(Truth.FALSE, Readiness.PROGRESSING, message), None, counts)
    entries = [entry for _, entry in current]
    return Consensus(_discovered(current), _ready(current), _lists(entries), counts)


def _counts(statement: Statement) -> bool:
    if not statement.answers:
        return False
    unseen = statement.entry is None or statement.entry.state is State.PENDING
    return not (unseen and statement.young)


def _is_current(entry: ServerReport, identity: Identity) -> bool:
    return entry.uid == identity.uid and (entry.generation or 0) >= (identity.generation or 0)


def _no_router(total: int) -> str:
    if not total:
        return "no router is known: start one, and have POINTSMAN_OPERATOR_ROUTERS name it"
    return "no router answers: look at the routers' pods"


_Said = Sequence[tuple[str, ServerReport]]


def _discovered(said: _Said) -> Finding:
    for router, entry in said:
        if entry.state is State.SERVING or entry.reason in _LISTED:
            continue
        if entry.state is State.PENDING:
            message = _of(said, router, entry, "the upstream has not been listed yet")
            return Finding(Truth.UNKNOWN, ServerReason.PENDING, message)
        message = _of(said, router, entry, "the upstream could not be listed")
        return Finding(Truth.FALSE, _word(entry.reason), message)
    listed = "the routers have listed the upstream"
    for router, entry in said:
        if entry.state is State.SERVING and entry.message:
            # It is served all the same: a list beside its tools did not come, or its file is bad.
            return Finding(Truth.TRUE, DISCOVERED, f"{listed}; {_of(said, router, entry, '')}")
    return Finding(Truth.TRUE, DISCOVERED, listed)


def _ready(said: _Said) -> Finding:
    judged = [(_readiness(entry), router, entry) for router, entry in said]
    for readiness, advice in _ADVICE.items():
        for judgement, router, entry in judged:
            if judgement is readiness:
                return Finding(Truth.FALSE, readiness, _of(said, router, entry, advice))
    return Finding(Truth.TRUE, Readiness.READY, "agents can call its tools")


# What keeps a server from being ready, the weightiest first.
_ADVICE = {
    Readiness.NOT_DISCOVERED: "the upstream has not been listed yet",
    Readiness.STALE: "the upstream can no longer be listed; its last tools are still offered",
    Readiness.SUSPENDED: "suspended by spec.suspend",
    Readiness.NO_TOOLS_ALLOWED: "spec.allowedTools allows none",
    Readiness.NO_TOOLS_MATCHED: "spec.allowedTools names none of the upstream's tools",
    Readiness.NO_TOOLS: "the upstream has no tool that can be offered",
}


def _readiness(entry: ServerReport) -> Readiness:
    match entry.state, entry.reason:
        case State.SERVING, _:
            return Readiness.READY if entry.tool_count else Readiness.NO_TOOLS
        case State.STALE, _:
            return Readiness.STALE
        case State.SUSPENDED, _:
            return Readiness.SUSPENDED
        case State.SKIPPED, ServerReason.NO_TOOLS_ALLOWED:
            return Readiness.NO_TOOLS_ALLOWED
        case State.SKIPPED, ServerReason.NO_TOOLS_MATCHED:
            return Readiness.NO_TOOLS_MATCHED
        case State.SKIPPED, ServerReason.NO_TOOLS:
            return Readiness.NO_TOOLS
        case _:
            return Readiness.NOT_DISCOVERED


def _of(said: _Said, router: str, entry: ServerReport, otherwise: str) -> str:
    text = printable(entry.message or otherwise, MESSAGE_MAX_LENGTH)
    agreed = all((other.state, other.reason) == (entry.state, entry.reason) for _, other in said)
    return text if agreed else f"router {printable(router)} says: {text}"


def _word(reason: str | None) -> str:
    return reason if reason and _REASON.fullmatch(reason) else str(ServerReason.PENDING)


def _lists(entries: Sequence[ServerReport]) -> Lists:
    first, *others = entries
    common = set(_tools(first)).intersection(*map(_tools, others))
    tools = sorted(common, key=lambda tool: tool.exposed_name)
    shown = _bounded(tools)
    skipped = {
        tool.name: Skipped(
            printable(tool.name, NAME_MAX_LENGTH),
            tool.reason,
            printable(tool.message, MESSAGE_MAX_LENGTH),
        )
        for entry in entries
        for tool in entry.skipped_tools
    }
    unmatched = {name for entry in entries for name in entry.unmatched_allowed_tools}
    info = first.server_info
    return Lists(
        tool_count=len(tools),
        tools=shown,
        truncated=len(shown) < len(tools),
        skipped=tuple(skipped[name] for name in sorted(skipped)[:SKIPPED_MAX]),
        unmatched=tuple(sorted(unmatched)[:UNMATCHED_MAX]),
        protocol_version=first.protocol_version,
        server_name=printable(info.name) if info else None,
        server_version=printable(info.version) if info else None,
        schema_bytes=first.schema_bytes,
    )


def _tools(entry: ServerReport) -> Iterable[Tool]:
    return (Tool(tool.name, tool.exposed_name, tool.safe_name) for tool in entry.tools)


def _bounded(tools: Sequence[Tool]) -> tuple[Tool, ...]:
    room = TOOLS_MAX_BYTES
    shown: list[Tool] = []
    for tool in tools[:TOOLS_MAX]:
        spelled = json.dumps([tool.name, tool.exposed_name, tool.safe_name], ensure_ascii=False)
        # The names of the three fields, quotes and commas: what an entry costs besides its texts.
        room -= len(spelled.encode()) + len('"name":,"exposedName":,"safeName":,')
        if room < 0:
            break
        shown.append(tool)
    return tuple(shown)
