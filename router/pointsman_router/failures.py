"""How it is told that a call has no result of its own: in one that a model can act on."""

import json
from dataclasses import dataclass
from enum import StrEnum

from pointsman_contract.report import ServerReason, ToolReason, printable
from pointsman_router.refusals import Code

REFUSAL_KEY = "pointsman.dev/refusal"
UPSTREAM_ERROR_KEY = "pointsman.dev/upstreamError"


class Executed(StrEnum):
    """What is known of a refused call's effect."""

    NO = "no"
    """No byte of it left, or the upstream's answer says that it was not taken."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a call has no result of its upstream's: told as a result that a model can read."""

    code: Code
    reason: str
    server: str
    message: str
    executed: Executed
    retryable: bool = False
    retry_after_ms: int | None = None
    advice: str = ""
    """What to do, where that does not follow from the rest."""


_LIST_AGAIN = "List or search the tools again, and choose from what is there now."
_CODES = {
    ServerReason.TIMEOUT: Code.DEADLINE,
    ServerReason.PROTOCOL_VIOLATION: Code.VIOLATION,
    ServerReason.UPSTREAM_THROTTLED: Code.BUSY,
}
# Causes that pass without anybody repairing anything.
_PASSING = frozenset([ServerReason.UNREACHABLE, ServerReason.UPSTREAM_THROTTLED])


def troubled(
    server: str,
    reason: ServerReason,
    message: str,
    executed: Executed,
    retry_after_ms: int | None = None,
) -> Failure:
    """An upstream that could not be asked, or did not answer as it should."""
    return Failure(
        code=_CODES.get(reason, Code.UNAVAILABLE),
        reason=reason,
        server=server,
        message=message,
        executed=executed,
        retryable=executed is Executed.NO and reason in _PASSING,
        retry_after_ms=retry_after_ms,
    )


def busy(server: str, message: str) -> Failure:
    """An upstream that has as many calls in flight as it may have."""
    return Failure(
        Code.BUSY, ServerReason.UPSTREAM_THROTTLED, server, message, Executed.NO, retryable=True
    )


def too_large(server: str, message: str) -> Failure:
    """A result over the limit."""
    return Failure(Code.TOO_LARGE, ToolReason.TOO_LARGE, server, message, Executed.UNKNOWN)


def gone(server: str) -> Failure:
    """The server left, or is elsewhere, since the snapshot that decided the call."""
    return Failure(
        Code.UNAVAILABLE,
        ServerReason.UNREACHABLE,
        server,
        "its server was just removed or its url changed",
        Executed.NO,
    )


def violation(server: str, message: str) -> Failure:
    """An answer that is not what the protocol allows."""
    return Failure(
        Code.VIOLATION, ServerReason.PROTOCOL_VIOLATION, server, message, Executed.UNKNOWN
    )


def unapproved(server: str, *, is_changed: bool) -> Failure:
    """A tool whose definition nobody approved; `is_changed`: another one was."""
    what = "has changed and is not approved" if is_changed else "is not approved"
    advice = "Trying again will not help until a person has approved it."
    return _definition_changed(server, f"its definition {what}", advice)


def changed(server: str) -> Failure:
    """A name that leads to something else than in the list that the call names."""
    message = "it is not what the list showed that this call was chosen from"
    return _definition_changed(server, message, _LIST_AGAIN)


def dropped(server: str) -> Failure:
    """A name that leads nowhere any more, of a call that names the list that had it."""
    message = "it is gone from the list that this call was chosen from"
    return _definition_changed(server, message, _LIST_AGAIN)


def of_unknown_list(server: str) -> Failure:
    """A call that names a list which this replica does not know, or no more."""
    message = "this router does not know the list that this call was chosen from"
    return _definition_changed(server, message, _LIST_AGAIN)


def _definition_changed(server: str, message: str, advice: str) -> Failure:
    return Failure(
        Code.DEFINITION_CHANGED,
        ToolReason.DEFINITION_CHANGED,
        server,
        message,
        Executed.NO,
        advice=advice,
    )


def text(failure: Failure) -> str:
    """Return what a model is told: what failed, whether it may have happened, what to do."""
    effect = (
        "Nothing was executed."
        if failure.executed is Executed.NO
        else "It is not known whether the tool was executed."
    )
    advice = failure.advice or (
        "Trying again later may help."
        if failure.retryable
        else "Do not repeat the call without checking its effect."
        if failure.executed is Executed.UNKNOWN
        else "Trying again will not help until the server is repaired."
    )
    return (
        f"The tool of server {failure.server} gave no result: {failure.message}. {effect} {advice}"
    )


def error_words(failure: Failure) -> str:
    """Return the message of an error, for methods that change nothing."""
    advice = " Trying again later may help." if failure.retryable else ""
    return f"Server {failure.server} gave no answer: {failure.message}.{advice}"


def meta(failure: Failure) -> bytes:
    """Return the refusal object of the contract."""
    members: dict[str, object] = {
        "code": int(failure.code),
        "reason": str(failure.reason),
        "server": failure.server,
        "retryable": failure.retryable,
        "executed": str(failure.executed),
    }
    if failure.retry_after_ms is not None:
        members["retryAfterMs"] = failure.retry_after_ms
    return json.dumps(members).encode()


def error_text(server: str, code: int, message: str) -> str:
    """Return what a model is told of an upstream's own error."""
    return f"Server {server} answered with error {code}: {printable(message)}"


def untold_text(server: str, why: str) -> str:
    """Return what a model is told of a result that its agent could make nothing of."""
    return (
        f"The tool of server {server} gave no result that could be passed on: {why}. "
        "Trying again will not help with this agent."
    )
