"""What all answering routers agree on about one server."""

import re
from collections.abc import Container, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pointsman_contract.report import ServerReason, ServerReport, State, printable
from pointsman_operator import agreement, differences
from pointsman_operator.spec import Identity
from pointsman_operator.statement import MESSAGE_MAX_LENGTH, Statement, believed, late, no_router
from pointsman_operator.status import Counts, Lists, Truth

_REASON = re.compile(r"[A-Za-z]{1,64}", re.ASCII)

# The router leaves the server out, and has nevertheless listed its upstream.
_LISTED = frozenset([ServerReason.NO_TOOLS, ServerReason.NO_TOOLS_MATCHED])

# States in which agents can call what a router has of a server.
_CALLABLE = frozenset([State.SERVING, State.STALE])


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
# What is said where routers answer, and none has had its time: that passes, and is no trouble.
ONLY_BEGAN = "the routers only began, and have not listed the upstream yet"


@dataclass(frozen=True, slots=True)
class Finding:
    """What is known of one condition."""

    truth: Truth
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Consensus:
    """What is true of a server on every router that answers."""

    discovered: Finding | None
    """None while nothing new can be said."""
    ready: Finding
    lists: Lists | None
    """None while nothing new can be said."""
    counts: Counts
    is_counted: bool = True
    """Whether every router that answers has had its time to serve it."""
    difference: str | None = None
    """How the tools of a server that can be called differ between routers."""
    serving: tuple[Statement[ServerReport], ...] = ()
    """Of the routers that let agents call it now, whichever generation they have."""
    outdated: tuple[Statement[ServerReport], ...] = ()
    """Those of them that have something else than this generation."""


def remaining(serving: Sequence[Statement[ServerReport]]) -> Lists:
    """Return what agents can still call of a server that should offer nothing."""
    entries = [one.entry for one in serving if one.entry is not None]
    return agreement.lists(entries) if entries else Lists()


def reach(
    identity: Identity,
    statements: Sequence[Statement[ServerReport]],
    approved: Container[str] = (),
) -> Consensus:
    """Return what the routers' `statements` come to, for the generation that `identity` names.

    `approved`: names of tools of which somebody approved a definition.
    """
    total = len(statements)
    answering = believed(statements, _has_begun)
    serving = tuple(one for one in answering if one.entry and one.entry.state in _CALLABLE)
    is_counted = not any(map(_has_begun, statements))
    if not answering:
        message = ONLY_BEGAN if not is_counted else no_router(total)
        return Consensus(
            Finding(Truth.UNKNOWN, Readiness.NO_ROUTER, message),
            Finding(Truth.FALSE, Readiness.NO_ROUTER, message),
            None,
            Counts(0, total),
            is_counted,
        )
    current = [
        (statement.router, statement.entry)
        for statement in answering
        if statement.entry is not None and _is_current(statement.entry, identity)
    ]
    counts = Counts(len(current), total)
    if len(current) < len(answering):
        names = {router for router, _ in current}
        first = next(one for one in answering if one.router not in names)
        progressing = Finding(Truth.FALSE, Readiness.PROGRESSING, late(first, "generation"))
        outdated = tuple(one for one in serving if one.router not in names)
        return Consensus(
            None, progressing, None, counts, is_counted, serving=serving, outdated=outdated
        )
    ready = _ready(current)
    return Consensus(
        _discovered(current),
        ready,
        agreement.lists([entry for _, entry in current], approved),
        counts,
        is_counted,
        differences.between(current) if ready.truth is Truth.TRUE else None,
        serving,
    )


def _has_begun(statement: Statement[ServerReport]) -> bool:
    """Say whether a router only began, and has not looked at the server yet."""
    unseen = statement.entry is None or statement.entry.state is State.PENDING
    return statement.answers and statement.young and unseen


def _is_current(entry: ServerReport, identity: Identity) -> bool:
    return entry.uid == identity.uid and (entry.generation or 0) >= (identity.generation or 0)


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
    agreed = all(_standing(other) == _standing(entry) for _, other in said)
    return text if agreed else f"router {printable(router)} says: {text}"


def _standing(entry: ServerReport) -> tuple[State, str | None, bool]:
    return entry.state, entry.reason, entry.tool_count > 0


def _word(reason: str | None) -> str:
    return reason if reason and _REASON.fullmatch(reason) else str(ServerReason.PENDING)
