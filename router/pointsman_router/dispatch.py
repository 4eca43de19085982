"""What is to be done with one request: an answer, a call to forward, or a refusal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pointsman_contract import rawjson
from pointsman_contract.meta import Exposed
from pointsman_router import (
    changes,
    chosen,
    dispatch_beside,
    endpoints,
    listing,
    metatools,
    outgoing,
    paramheaders,
    refusals,
)
from pointsman_router.catalogue import Catalogue
from pointsman_router.dispatch_beside import PromptsListed, UrisListed
from pointsman_router.endpoints import Endpoint
from pointsman_router.eras import Revision, legacy
from pointsman_router.failures import Failure
from pointsman_router.jsonrpc import Notification, Request
from pointsman_router.listing import Form, Good, Line
from pointsman_router.metatools import Called, Found, Offered, Search, Wrong
from pointsman_router.outgoing import Forward
from pointsman_router.paramheaders import Sent
from pointsman_router.refusals import Refusal
from pointsman_router.upstream import asking

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


@dataclass(frozen=True, slots=True)
class Empty:
    """An answer without content: `ping`."""


@dataclass(frozen=True, slots=True)
class Welcome:
    """The answer to `initialize`."""

    revision: Revision
    tools_alone: bool = False
    """Whether nothing beside tools is offered here."""


@dataclass(frozen=True, slots=True)
class Discovered:
    """The answer to `server/discover`."""

    tools_alone: bool = False
    """As in a welcome."""


@dataclass(frozen=True, slots=True)
class Listed:
    """One page of tools."""

    tools: Sequence[Line]
    form: Form
    revision: str
    next_cursor: str | None
    good: Good = listing.EVER_GOOD


@dataclass(frozen=True, slots=True)
class EchoListed:
    """The list of a router where nothing is registered."""

    revision: str


@dataclass(frozen=True, slots=True)
class Echoed:
    """The answer of the built-in tool."""

    text: bytes | None
    """The text that was sent, as JSON; None where none was."""


Lists = Listed | PromptsListed | UrisListed | EchoListed | Offered
Answer = Empty | Welcome | Discovered | Lists | Echoed | Found | Wrong


@dataclass(frozen=True, slots=True)
class Listen:
    """A stream of what changes."""

    lists: tuple[Exposed, ...]
    """Of which lists changes are wanted."""


Decision = Answer | Forward | Listen | Search | Refusal | Failure


def no_headers(_: str) -> Sequence[str]:
    """Return the headers of a message that came without any of its own."""
    return ()


def decide(
    catalogue: Catalogue,
    endpoint: Endpoint,
    request: Request,
    revision: Revision,
    page_size: int,
    sent: Sent = no_headers,
) -> Decision:
    """Return what is to be done with `request`, which its era has let in as one of `revision`.

    `sent` are the headers that it came with.
    """
    modern = revision is Revision.MODERN
    endpoint = endpoints.resolved(catalogue, endpoint)
    match request.method:
        case "tools/call":
            return call_tool(catalogue, endpoint, request, sent if modern else None)
        case "tools/list":
            return list_tools(catalogue, endpoint, request.params, page_size)
        case "initialize" if not modern:
            return _welcome(endpoint, request.params)
        case "ping" if not modern:
            return Empty()
        case "logging/setLevel" if not modern:
            return _set_level(request.params)
        case "server/discover" if modern:
            return Discovered(endpoint.tools_alone)
        case "subscriptions/listen" if modern:
            return _listen(endpoint, request.params)
        case "prompts/get":
            return dispatch_beside.get_prompt(catalogue, endpoint.beside, request, revision)
        case "resources/read":
            return dispatch_beside.read_resource(catalogue, endpoint.beside, request, revision)
        case "completion/complete":
            return dispatch_beside.complete(catalogue, endpoint.beside, request, revision)
        case "prompts/list" | "resources/list" | "resources/templates/list":
            return _list_beside(catalogue, endpoint, request, page_size)
        case method:
            return refusals.method_not_found(revision, method)


def _welcome(endpoint: Endpoint, params: Mapping[str, bytes]) -> Welcome | Refusal:
    agreed = legacy.agreed(params)
    return agreed if isinstance(agreed, Refusal) else Welcome(agreed, endpoint.tools_alone)


def _set_level(params: Mapping[str, bytes]) -> Empty | Refusal:
    """Acknowledge a level, which nothing can be bound to without a session."""
    if asking.is_level(params.get("level", b"null")):
        return Empty()
    return refusals.invalid_params("params.level must be a level of RFC 5424.")


def take_note(notification: Notification) -> Refusal | None:
    """Return why `notification` is refused; None where it is acknowledged, and has no effect.

    A request without an id is not executed: nobody could be told the outcome.
    """
    method = notification.method
    if not method.startswith("notifications/") or method in _ONLY_SERVERS_NOTIFY:
        return refusals.no_notification(method)
    return None


def list_tools(
    catalogue: Catalogue, endpoint: Endpoint, params: Mapping[str, bytes], page_size: int
) -> Decision:
    """Answer `tools/list` from the snapshot."""
    cursor = _cursor(params)
    if isinstance(cursor, Refusal):
        return cursor
    if catalogue.echo and endpoint.is_whole:
        return EchoListed(catalogue.revision) if cursor is None else refusals.unknown_cursor()
    good = Good(catalogue.ttl_ms, catalogue.private)
    if endpoint.discover:
        revision = endpoints.revision(catalogue, endpoint)
        return Offered(revision, good) if cursor is None else refusals.unknown_cursor()
    try:
        page = listing.page(endpoints.shown(catalogue, endpoint), endpoint.form, cursor, page_size)
    except listing.UnknownCursor:
        return refusals.unknown_cursor()
    revision = endpoints.revision(catalogue, endpoint)
    return Listed(page.lines, endpoint.form, revision, page.next_cursor, good)


def call_tool(
    catalogue: Catalogue, endpoint: Endpoint, request: Request, sent: Sent | None
) -> Decision:
    """Decide where a `tools/call` goes: by exact look-up of its name, or nowhere.

    `sent` are the headers of a modern agent, which has to repeat some arguments there. It cannot
    repeat those of a tool that is called through another one, so that there none are looked for.
    """
    name = dispatch_beside.named(request.params, "name", _CALL_PARAMS)
    if isinstance(name, Refusal):
        return name
    arguments = request.params.get("arguments", b"{}")
    if rawjson.kind(arguments) != "{":
        return refusals.invalid_params("params.arguments must be an object.")
    if catalogue.echo and endpoint.is_whole and name == ECHO:
        return _echo(arguments)
    is_modern, is_found = sent is not None, False
    if endpoint.discover and not (catalogue.echo and endpoint.is_whole):
        match metatools.read(name, arguments):
            case Called(name, arguments):
                sent, is_found = None, True
            case None:
                pass
            case answer:
                return answer
    route = endpoints.routes(catalogue, endpoint).get(name)
    if problem := chosen.problem(catalogue, endpoint, name, route, request.meta):
        return problem
    if route is None:
        return refusals.unknown_tool(name, endpoints.became(catalogue, endpoint, name))
    if sent and (wrong := paramheaders.mismatch(route.annotations, arguments, sent)):
        return refusals.header_mismatch(wrong.header, wrong.why)
    return outgoing.forward(route, request, arguments, is_modern=is_modern, by_arguments=is_found)


def _list_beside(
    catalogue: Catalogue, endpoint: Endpoint, request: Request, page_size: int
) -> PromptsListed | UrisListed | Refusal:
    cursor = _cursor(request.params)
    if isinstance(cursor, Refusal):
        return cursor
    listed: PromptsListed | UrisListed | Refusal
    if request.method in dispatch_beside.URI_LISTS:
        listed = dispatch_beside.list_uris(
            catalogue, request.method, endpoint.beside, cursor, page_size
        )
    else:
        listed = dispatch_beside.list_prompts(
            catalogue, endpoint.form, endpoint.beside, cursor, page_size
        )
    if isinstance(listed, Refusal):
        return listed
    return replace(listed, revision=endpoints.revision(catalogue, endpoint))


def _cursor(params: Mapping[str, bytes]) -> str | Refusal | None:
    raw = params.get("cursor", b"null")
    try:
        return None if raw == b"null" else rawjson.string(raw)
    except rawjson.Malformed:
        return refusals.invalid_params("cursor must be a string.")


def _listen(endpoint: Endpoint, params: Mapping[str, bytes]) -> Listen | Refusal:
    try:
        wanted = changes.wanted(params.get("notifications", b"{}"))
    except rawjson.Malformed:
        return refusals.invalid_params(
            "params.notifications must be an object with unique members."
        )
    return Listen(tuple(of for of in wanted if of is Exposed.TOOLS or not endpoint.tools_alone))


def _echo(arguments: bytes) -> Echoed | Refusal:
    try:
        text = dict(rawjson.pairs(arguments)).get("text")
        return Echoed(text if text and rawjson.kind(text) == '"' else None)
    except rawjson.Malformed:
        return refusals.invalid_params("params.arguments must be an object.")
