"""Every way to say no, each with its code and its words."""

import json
from dataclasses import dataclass
from enum import IntEnum, StrEnum

from pointsman_contract.report import ServerReason, ToolReason, printable
from pointsman_router import jsonrpc, rawjson
from pointsman_router.eras import Revision

REFUSAL_KEY = "pointsman.dev/refusal"
UPSTREAM_ERROR_KEY = "pointsman.dev/upstreamError"


class Code(IntEnum):
    """What kept a call from its result; the protocol leaves this range to servers."""

    UNAVAILABLE = -32010
    DEADLINE = -32011
    VIOLATION = -32012
    BUSY = -32013
    TOO_LARGE = -32014
    DEFINITION_CHANGED = -32015
    OVERLOADED = -32016
    HEADER_MISMATCH = -32020
    MISSING_CAPABILITY = -32021
    UNSUPPORTED_VERSION = -32022
    URL_ELICITATION_REQUIRED = -32042


class Executed(StrEnum):
    """What is known of a refused call's effect."""

    NO = "no"
    """No byte of it left, or the upstream's answer says that it was not taken."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Refusal:
    """A request that is wrong as a request: a JSON-RPC error under an HTTP status."""

    status: int
    code: int
    message: str
    data: bytes | None = None
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Failure:
    """A call that an upstream's trouble kept from its result: told as a result a model can read."""

    code: Code
    reason: str
    server: str
    message: str
    executed: Executed
    retryable: bool = False
    retry_after_ms: int | None = None


def misdirected() -> Refusal:
    """A Host that this router does not answer to: the rebinding of a browser's name."""
    return Refusal(
        421,
        jsonrpc.INVALID_REQUEST,
        "This Host is not served. Add it to POINTSMAN_ROUTER_ALLOWED_HOSTS if it should be.",
    )


def foreign_origin() -> Refusal:
    """A page of another origin."""
    return Refusal(403, jsonrpc.INVALID_REQUEST, "Requests from this Origin are not served.")


def no_such_path() -> Refusal:
    """A path that is no endpoint, or that of a server that is not registered."""
    return Refusal(404, jsonrpc.INVALID_REQUEST, "There is no MCP endpoint at this path.")


def wrong_verb() -> Refusal:
    """Anything but a POST."""
    return Refusal(
        405, jsonrpc.INVALID_REQUEST, "Only POST is served here.", headers=(("Allow", "POST"),)
    )


def wrong_content_type() -> Refusal:
    """A body that is not said to be JSON."""
    return Refusal(415, jsonrpc.INVALID_REQUEST, "Content-Type must be application/json.")


def not_acceptable(needed: str) -> Refusal:
    """An agent that cannot take the answer."""
    return Refusal(406, jsonrpc.INVALID_REQUEST, f"Accept must allow {needed}.")


def body_too_large(limit_bytes: int) -> Refusal:
    """A request over the door's limit."""
    return Refusal(413, jsonrpc.INVALID_REQUEST, f"A request may hold at most {limit_bytes} bytes.")


def body_too_slow(limit_s: float) -> Refusal:
    """A request that did not arrive in time."""
    return Refusal(
        408,
        jsonrpc.INVALID_REQUEST,
        f"The request did not arrive within {limit_s:g} s.",
        headers=(("Connection", "close"),),
    )


def body_broken_off() -> Refusal:
    """A request whose body is cut off, or no chunk where one should be."""
    return Refusal(400, jsonrpc.INVALID_REQUEST, "The request's body is broken off.")


def not_a_message(wrong: jsonrpc.NotAMessage) -> Refusal:
    """A body that is not one JSON-RPC message."""
    return Refusal(400, wrong.code, wrong.message)


def invalid_request(message: str) -> Refusal:
    """A message that may not be sent here."""
    return Refusal(400, jsonrpc.INVALID_REQUEST, message)


def method_not_found(revision: Revision, method: str) -> Refusal:
    """A method that is not offered; the modern transport says so in the status too."""
    status = 404 if revision is Revision.MODERN else 200
    return Refusal(status, jsonrpc.METHOD_NOT_FOUND, f"Unknown method: {printable(method)}")


def invalid_params(message: str) -> Refusal:
    """Parameters that make no sense."""
    return Refusal(200, jsonrpc.INVALID_PARAMS, message)


def no_notification(method: str) -> Refusal:
    """A request without an id, or a notice that only servers give."""
    return Refusal(
        400,
        jsonrpc.INVALID_REQUEST,
        f"{printable(method)} is no notification that an agent sends; a request needs an id.",
    )


def batch_too_long(limit: int) -> Refusal:
    """An array of more messages than one request may carry."""
    return invalid_request(f"An array may hold at most {limit} messages.")


def no_batch() -> Refusal:
    """An array where the revision in force has none, or an empty one."""
    return invalid_request("Exactly one message is expected.")


def incomplete_meta(key: str) -> Refusal:
    """A modern request that does not describe itself."""
    return Refusal(400, jsonrpc.INVALID_PARAMS, f"params._meta must hold {key}.")


def header_mismatch(header: str, why: str) -> Refusal:
    """A header that contradicts the body."""
    return Refusal(400, Code.HEADER_MISMATCH, f"{header} {why}.")


def unsupported_version(requested: str) -> Refusal:
    """A modern revision that is not served."""
    data = {"supported": [Revision.MODERN], "requested": printable(requested)}
    return Refusal(
        400,
        Code.UNSUPPORTED_VERSION,
        "This protocol version is not served.",
        json.dumps(data).encode(),
    )


def unknown_tool(name: str, became: str | None = None) -> Refusal:
    """A name that leads nowhere; `became` says what happened to one that agents once saw."""
    data = json.dumps({"reason": became}).encode() if became else None
    return Refusal(200, jsonrpc.INVALID_PARAMS, f"Unknown tool: {printable(name)}", data)


def unknown_cursor() -> Refusal:
    """A cursor that this router did not write."""
    return invalid_params("Unknown cursor: list again without one.")


def internal() -> Refusal:
    """A fault of our own."""
    return Refusal(200, jsonrpc.INTERNAL_ERROR, "The router failed to answer; its log says why.")


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
    """The server left between the look-up and the call."""
    return Failure(
        Code.UNAVAILABLE,
        ServerReason.UNREACHABLE,
        server,
        "its server was just removed",
        Executed.NO,
    )


def violation(server: str, message: str) -> Failure:
    """An answer that is not what the protocol allows."""
    return Failure(
        Code.VIOLATION, ServerReason.PROTOCOL_VIOLATION, server, message, Executed.UNKNOWN
    )


def failure_text(failure: Failure) -> str:
    """Return what a model is told: what failed, whether it may have happened, what to do."""
    effect = (
        "Nothing was executed."
        if failure.executed is Executed.NO
        else "It is not known whether the tool was executed."
    )
    advice = (
        "Trying again later may help."
        if failure.retryable
        else "Do not repeat the call without checking its effect."
        if failure.executed is Executed.UNKNOWN
        else "Trying again will not help until the server is repaired."
    )
    return (
        f"The tool of server {failure.server} gave no result: {failure.message}. {effect} {advice}"
    )


def failure_meta(failure: Failure) -> bytes:
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


def upstream_error_text(server: str, code: int, message: str) -> str:
    """Return what a model is told of an upstream's own error."""
    return f"Server {server} answered with error {code}: {printable(message)}"


def quoted(text: str) -> bytes:
    """Return the JSON of one text block."""
    return b'{"type":"text","text":' + rawjson.quote(text) + b"}"
