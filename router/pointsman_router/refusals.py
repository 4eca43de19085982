"""Every way to say no, each with its code and its words."""

import json
from dataclasses import dataclass
from enum import IntEnum

from pointsman_contract.report import printable
from pointsman_router import jsonrpc
from pointsman_router.eras import Revision

# Another replica may answer at once; a restarted one takes seconds.
_RETRY_AFTER_S = "1"
# Before 2026-07-28, which says -32602.
RESOURCE_NOT_FOUND = -32002
# Nothing that is listed is longer; of what else agents ask for no more is said again.
_URI_MAX_LENGTH = 2048


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


@dataclass(frozen=True, slots=True)
class Refusal:
    """A request that is wrong as a request: a JSON-RPC error under an HTTP status."""

    status: int
    code: int
    message: str
    data: bytes | None = None
    headers: tuple[tuple[str, str], ...] = ()
    closes: bool = False
    """Whether nothing more can come over its connection."""


def no_request() -> Refusal:
    """Bytes that are no HTTP request, or that two readers could read differently."""
    return Refusal(
        400,
        jsonrpc.INVALID_REQUEST,
        "This is no well-formed HTTP/1.1 request.",
    )


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
    """A path that is no endpoint, or that of a server or view that is not registered."""
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
        closes=True,
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
    return _unknown("tool", name, became)


def unknown_prompt(name: str, became: str | None = None) -> Refusal:
    """A prompt's name that leads nowhere; `became` as with a tool."""
    return _unknown("prompt", name, became)


def unknown_resource(revision: Revision, uri: str, became: str | None = None) -> Refusal:
    """A URI that leads nowhere: agents look for it in the error; `became` as with a tool."""
    data = {"uri": uri[:_URI_MAX_LENGTH]}
    if became:
        data["reason"] = became
    modern = revision is Revision.MODERN
    return Refusal(
        200,
        jsonrpc.INVALID_PARAMS if modern else RESOURCE_NOT_FOUND,
        f"Unknown resource: {printable(uri)}",
        json.dumps(data).encode(),
    )


def unknown_template(text: str) -> Refusal:
    """A reference to a template or a resource that leads nowhere."""
    return invalid_params(f"Unknown resource template: {printable(text)}")


def _unknown(what: str, name: str, became: str | None) -> Refusal:
    data = json.dumps({"reason": became}).encode() if became else None
    return Refusal(200, jsonrpc.INVALID_PARAMS, f"Unknown {what}: {printable(name)}", data)


def unknown_cursor() -> Refusal:
    """A cursor that this router did not write."""
    return invalid_params("Unknown cursor: list again without one.")


def draining() -> Refusal:
    """A call that outlasted the time that a router leaves its calls to end."""
    return Refusal(
        503,
        Code.OVERLOADED,
        "This router is being stopped. It is not known whether the tool was executed.",
        headers=(("Retry-After", _RETRY_AFTER_S),),
    )


def too_many_streams() -> Refusal:
    """A stream of changes more than this router holds."""
    return Refusal(
        503,
        Code.OVERLOADED,
        "This router holds as many subscriptions as it may.",
        headers=(("Retry-After", _RETRY_AFTER_S),),
    )


def internal() -> Refusal:
    """A fault of our own."""
    return Refusal(200, jsonrpc.INTERNAL_ERROR, "The router failed to answer; its log says why.")
