"""What is asked of an upstream on an agent's behalf, and what it says before it answers."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

import msgspec

from pointsman_contract import rawjson
from pointsman_contract.rawjson import Malformed

# By which a modern agent takes up a call that asked for input.
RESUMING = ("inputResponses", "requestState")
PROGRESS = "notifications/progress"
MESSAGE = "notifications/message"
# RFC 5424, the least urgent first.
_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")


class Call(msgspec.Struct, frozen=True):
    """A request that goes on, in the raw members that an upstream of either era may see."""

    method: str
    params: Mapping[str, bytes]
    """All but `_meta`; what is named in it has the upstream's own name."""
    meta: Mapping[str, bytes]
    """Of the agent's `_meta` what goes on: no reserved key and no progress token."""
    timeout_s: float
    capabilities: bytes = b"{}"
    """What this agent declared on this request; only modern upstreams are told."""
    log_level: bytes | None = None
    """A raw JSON string: the agent wants log messages of at least this level; None: no message."""
    wants_progress: bool = False
    """Whether the agent sent a progress token; the upstream gets one of ours."""
    headers: tuple[tuple[str, str], ...] = ()
    """`Mcp-Param-*` for modern upstreams, values already encoded."""
    trace: tuple[tuple[str, str], ...] = ()
    """The agent's own `traceparent`, `tracestate` and `baggage` headers, for either era."""


@dataclass(frozen=True, slots=True)
class Notice:
    """What an upstream says about one call before its answer."""

    method: str
    params: Mapping[str, bytes]
    """Raw members; of progress without its token, which is ours."""


Listener = Callable[[Notice], Awaitable[None]]
"""Awaiting it is back-pressure: the upstream is not read meanwhile."""


def notice(
    method: str, params: bytes, *, token: str | None, log_level: bytes | None
) -> Notice | None:
    """Return what a notification on the stream of a call says about it; None for anything else.

    Progress belongs to a call only by the token that this call was given.
    """
    try:
        if method == PROGRESS:
            return _progress(rawjson.members(params), token)
        if method == MESSAGE and log_level is not None:
            return _message(rawjson.members(params), log_level)
    except Malformed:
        pass  # what cannot be read belongs to nobody
    return None


def is_level(raw: bytes) -> bool:
    """Say whether a value names how urgent a log message is."""
    try:
        return rawjson.string(raw) in _LEVELS
    except Malformed:
        return False


def _progress(members: dict[str, bytes], token: str | None) -> Notice | None:
    if token is None or rawjson.string(members.pop("progressToken", b"null")) != token:
        return None
    return Notice(PROGRESS, members)


def _message(members: dict[str, bytes], log_level: bytes) -> Notice | None:
    if _urgency(members.get("level", b"null")) < _urgency(log_level):
        return None
    return Notice(MESSAGE, members)


def _urgency(level: bytes) -> int:
    """Return the rank of a level; what is none is as urgent as can be, so that it is not lost."""
    try:
        return _LEVELS.index(rawjson.string(level))
    except (Malformed, ValueError):
        return len(_LEVELS)
