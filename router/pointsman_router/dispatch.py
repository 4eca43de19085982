"""What is to be done with one request: an answer, a call to forward, or a refusal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pointsman_contract import rawjson
from pointsman_router import jsonrpc, listing, refusals
from pointsman_router.catalogue import Catalogue, became
from pointsman_router.eras import Revision, legacy
from pointsman_router.exposure import Route
from pointsman_router.jsonrpc import Notification, Request
from pointsman_router.listing import Form, Line
from pointsman_router.refusals import Refusal

ECHO = "echo"
_ONLY_SERVERS_NOTIFY = frozenset(
    f"notifications/{what}"
    for what in (
        "elicitation/complete",
        "message",
        "prompts/list_changed",
        "resources/list_changed",
        "resources/updated",
        "subscriptions/acknowledged",
        "tools/list_changed",
    )
)
_CALL_PARAMS = frozenset(["name", "arguments", "_meta"])
_PROGRESS = "progressToken"
# By their first characters: objects, lists and booleans. Some clients write null for none.
_NEVER_A_TOKEN = frozenset("{[tf")


@dataclass(frozen=True, slots=True)
class View:
    """Which list an endpoint shows."""

    form: Form
    server: str | None = None
    """The only server, on the endpoint of one; its tools go by their own names."""


@dataclass(frozen=True, slots=True)
class Empty:
    """An answer without content: `ping`."""


@dataclass(frozen=True, slots=True)
class Welcome:
    """The answer to `initialize`."""

    revision: Revision


@dataclass(frozen=True, slots=True)
class Discovered:
    """The answer to `server/discover`."""


@dataclass(frozen=True, slots=True)
class Listed:
    """One page of tools."""

    tools: Sequence[Line]
    form: Form
    revision: str
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class EchoListed:
    """The list of a router where nothing is registered."""

    revision: str


@dataclass(frozen=True, slots=True)
class Echoed:
    """The answer of the built-in tool."""

    text: bytes | None
    """The text that was sent, as JSON; None where none was."""


Answer = Empty | Welcome | Discovered | Listed | EchoListed | Echoed


@dataclass(frozen=True, slots=True)
class Forward:
    """A call that goes to an upstream."""

    route: Route
    arguments: bytes
    """A JSON object, byte for byte as the agent sent it."""
    meta: bytes | None
    """What of the call's `_meta` goes on."""


Decision = Answer | Forward | Refusal


def decide(
    catalogue: Catalogue, view: View, request: Request, revision: Revision, page_size: int
) -> Decision:
    """Return what is to be done with `request`, which its era has let in as one of `revision`."""
    modern = revision is Revision.MODERN
    match request.method:
        case "tools/call":
            return call_tool(catalogue, view, request)
        case "tools/list":
            return list_tools(catalogue, view, request.params, page_size)
        case "initialize" if not modern:
            agreed = legacy.agreed(request.params)
            return Welcome(agreed) if isinstance(agreed, Revision) else agreed
        case "ping" if not modern:
            return Empty()
        case "server/discover" if modern:
            return Discovered()
        case method:
            return refusals.method_not_found(revision, method)


def take_note(notification: Notification) -> Refusal | None:
    """Return why `notification` is refused; None where it is acknowledged, and has no effect.

    A request without an id is not executed: nobody could be told the outcome.
    """
    method = notification.method
    if not method.startswith("notifications/") or method in _ONLY_SERVERS_NOTIFY:
        return refusals.no_notification(method)
    return None


def list_tools(
    catalogue: Catalogue, view: View, params: Mapping[str, bytes], page_size: int
) -> Decision:
    """Answer `tools/list` from the snapshot."""
    cursor: str | None = None
    if (raw := params.get("cursor", b"null")) != b"null":
        try:
            cursor = rawjson.string(raw)
        except rawjson.Malformed:
            return refusals.invalid_params("cursor must be a string.")
    if catalogue.echo and view.server is None:
        return EchoListed(catalogue.revision) if cursor is None else refusals.unknown_cursor()
    try:
        page = listing.page(_lines(catalogue, view), view.form, cursor, page_size)
    except listing.UnknownCursor:
        return refusals.unknown_cursor()
    return Listed(page.tools, view.form, catalogue.revision, page.next_cursor)


def call_tool(catalogue: Catalogue, view: View, request: Request) -> Decision:
    """Decide where a `tools/call` goes: by exact look-up of its name, or nowhere."""
    params = request.params
    if clash := jsonrpc.case_clash(params, _CALL_PARAMS):
        return refusals.invalid_request(f"params.{clash} must be spelled in lower case.")
    try:
        name = rawjson.string(params.get("name", b""))
    except rawjson.Malformed:
        return refusals.invalid_params("params.name must be a string.")
    arguments = params.get("arguments", b"{}")
    if rawjson.kind(arguments) != "{":
        return refusals.invalid_params("params.arguments must be an object.")
    if catalogue.echo and view.server is None and name == ECHO:
        return _echo(arguments)
    route = _routes(catalogue, view).get(name)
    if route is None:
        return refusals.unknown_tool(name, became(catalogue, name, view.server))
    try:
        meta = rawjson.members(params["_meta"]) if "_meta" in params else {}
    except rawjson.Malformed:
        return refusals.invalid_params("params._meta must be an object with unique members.")
    if rawjson.kind(meta.get(_PROGRESS, b'""')) in _NEVER_A_TOKEN:
        return refusals.invalid_params("params._meta.progressToken must be a string or a number.")
    return Forward(route, arguments, forwarded_meta(meta))


def forwarded_meta(meta: Mapping[str, bytes]) -> bytes | None:
    """Return what of an agent's `_meta` an upstream may see.

    Reserved keys describe the agent's own connection, and its progress token means nothing to
    the upstream; vendors' keys and trace context go on as they came.
    """
    kept = {key: value for key, value in meta.items() if not is_reserved(key) and key != _PROGRESS}
    return rawjson.assemble(kept) if kept else None


def is_reserved(key: str) -> bool:
    """Say whether a `_meta` key belongs to the protocol, or to this router."""
    prefix, slash, _ = key.partition("/")
    parts = prefix.split(".")
    return bool(slash) and (
        key.startswith(listing.OUR_KEYS)
        or (len(parts) > 1 and parts[1] in ("modelcontextprotocol", "mcp"))
    )


def _lines(catalogue: Catalogue, view: View) -> Sequence[Line]:
    if view.server is None:
        return catalogue.lines[view.form]
    exposure = catalogue.exposures[view.server]
    return sorted(exposure.lines.values(), key=lambda line: line.names[Form.BARE].encode())


def _routes(catalogue: Catalogue, view: View) -> Mapping[str, Route]:
    if view.server is None:
        return catalogue.routes
    return catalogue.exposures[view.server].bare


def _echo(arguments: bytes) -> Echoed | Refusal:
    try:
        text = dict(rawjson.pairs(arguments)).get("text")
        return Echoed(text if text and rawjson.kind(text) == '"' else None)
    except rawjson.Malformed:
        return refusals.invalid_params("params.arguments must be an object.")
