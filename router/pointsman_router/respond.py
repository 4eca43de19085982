"""What an outcome looks like on the wire: status, headers, body."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import msgspec

from pointsman_contract import rawjson
from pointsman_router import changes, failures, jsonrpc, listing, metakeys, metatools, translation
from pointsman_router.dispatch import (
    ECHO,
    Answer,
    Discovered,
    Echoed,
    EchoListed,
    Empty,
    Listed,
    Welcome,
)
from pointsman_router.dispatch_beside import PromptsListed, UrisListed
from pointsman_router.eras import Revision
from pointsman_router.failures import Failure
from pointsman_router.jsonrpc import RpcError
from pointsman_router.listing import EVER_GOOD, Good
from pointsman_router.metatools import Found, Offered, Wrong
from pointsman_router.refusals import Code, Refusal

JSON_TYPE = "application/json"
# An upstream's error object is passed on verbatim up to this size; a larger one is only named.
ERROR_MAX_BYTES = 64 * 1024
# Errors that an agent of that revision acts on: it must see them as what they are.
_ACTED_ON = frozenset(
    [
        (Code.MISSING_CAPABILITY, Revision.MODERN),
        (Code.URL_ELICITATION_REQUIRED, Revision.V2025_11_25),
    ]
)

_MODERN_CAPABILITIES = (
    b'{"completions":{},"logging":{},"prompts":{"listChanged":true},'
    b'"resources":{"listChanged":true},"tools":{"listChanged":true}}'
)
# Without a session there is no stream on which a change could be told.
_LEGACY_CAPABILITIES = (
    b'{"completions":{},"logging":{},"prompts":{"listChanged":false},'
    b'"resources":{"listChanged":false,"subscribe":false},"tools":{"listChanged":false}}'
)
# Of an endpoint that shows nothing beside tools.
_MODERN_TOOLS_ALONE = b'{"logging":{},"tools":{"listChanged":true}}'
_LEGACY_TOOLS_ALONE = b'{"logging":{},"tools":{"listChanged":false}}'
_ECHO_TOOL = (
    b'{"name":"' + ECHO.encode() + b'","title":"Echo","description":"Returns the text it is given.'
    b' Offered while no server is registered.","inputSchema":{"type":"object","properties":'
    b'{"text":{"type":"string"}},"required":["text"]}}'
)


class Outcome(StrEnum):
    """How a request at the MCP port ended."""

    OK = "ok"
    """Answered, an upstream's own result or error included."""
    REFUSED = "refused"
    """A `tools/call` answered with a refusal result: the upstream's trouble, or a changed tool."""
    ERROR = "error"
    """Answered with a JSON-RPC error of ours: the caller's mistake."""
    REJECTED = "rejected"
    """Answered with an HTTP 4xx: nothing of it was a request."""
    OVERLOADED = "overloaded"
    """Answered with HTTP 503."""
    FAILED = "failed"
    """A mistake of ours."""
    LEFT = "left"
    """Not answered: the agent left before, which cancelled its call."""


class Response(msgspec.Struct, frozen=True):
    """An HTTP response, whole."""

    status: int
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    outcome: Outcome = Outcome.OK
    closes: bool = False
    """Whether its connection ends with it."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What this installation says of itself."""

    name: str
    version: str
    ttl_ms: int
    """For how long an agent may keep a list."""
    info: bytes = field(init=False)
    """The serverInfo object."""

    def __post_init__(self) -> None:
        """Spell the serverInfo once."""
        info = json.dumps({"name": self.name, "version": self.version}).encode()
        object.__setattr__(self, "info", info)


class Asker(msgspec.Struct, frozen=True):
    """To whom an answer goes: what it must repeat and which revision it must speak."""

    id: bytes
    revision: Revision
    identity: Identity


def accepted() -> Response:
    """Acknowledge a message that wants no answer."""
    return Response(202)


def refused(refusal: Refusal, id_: bytes = b"null") -> Response:
    """Say no to the request `id_`."""
    body = jsonrpc.error_response(id_, refusal.code, refusal.message, refusal.data)
    return Response(refusal.status, body, refusal.headers, _outcome(refusal), closes=refusal.closes)


def answered(answer: Answer, asker: Asker) -> Response:
    """Answer from what the router itself knows."""
    return _result(asker, _finished(_members(answer, asker), asker))


def relayed(
    raw: bytes,
    asker: Asker,
    *,
    is_plain: bool = True,
    method: str = "tools/call",
    declared: bytes = b"{}",
) -> Response:
    """Relay an upstream's result: as it came, but for what only the two ends may say.

    `is_plain`: its structure is an object. `declared`: what the agent can do, and may therefore be
    asked for. Raises Malformed where `raw` is no object, CannotBeTold
    where the agent could make nothing of it.
    """
    if method == "resources/read" and asker.revision is Revision.MODERN:
        raw = translation.cacheable(raw)
    elif method == "prompts/get":
        raw = translation.prompt(raw, asker.revision)
    told = translation.result(
        raw,
        asker.revision,
        is_plain=is_plain,
        server_info=asker.identity.info,
        method=method,
        declared=declared,
    )
    return _result(asker, told)


def untold(server: str, why: str, asker: Asker) -> Response:
    """Tell of a result that this agent could make nothing of."""
    return _is_error(failures.untold_text(server, why), {}, asker)


def unsubscribed(asker: Asker) -> Response:
    """End a stream of changes on purpose."""
    return _result(asker, _finished({"_meta": changes.mark(asker.id)}, asker))


def failed(failure: Failure, asker: Asker) -> Response:
    """Tell in a result why a call has none of its upstream's."""
    return _is_error(
        failures.text(failure),
        {failures.REFUSAL_KEY: failures.meta(failure)},
        asker,
        Outcome.REFUSED,
    )


def upstream_error(
    server: str, error: RpcError, asker: Asker, *, is_resumed: bool = False
) -> Response:
    """Tell of an upstream's own JSON-RPC error: in a result, unless an agent acts on it.

    `is_resumed`: the call brought input that was asked for, and the agent has to learn what became
    of it.
    """
    short = len(error.raw) <= ERROR_MAX_BYTES
    if short and (is_resumed or (error.code, asker.revision) in _ACTED_ON):
        status = 400 if error.code == Code.MISSING_CAPABILITY else 200
        return Response(status, jsonrpc.raw_error_response(asker.id, error.raw))
    return _is_error(
        failures.error_text(server, error.code, error.message),
        {failures.UPSTREAM_ERROR_KEY: error.raw} if short else {},
        asker,
    )


def _outcome(refusal: Refusal) -> Outcome:
    if refusal.code == jsonrpc.INTERNAL_ERROR:
        return Outcome.FAILED
    if refusal.status == 503:
        return Outcome.OVERLOADED
    return Outcome.ERROR if refusal.status == 200 else Outcome.REJECTED


def _is_error(
    text: str, meta: Mapping[str, bytes], asker: Asker, outcome: Outcome = Outcome.OK
) -> Response:
    members = {"content": _content(text), "isError": b"true"}
    if meta:
        members["_meta"] = rawjson.assemble(meta)
    return _result(asker, _finished(members, asker), outcome)


def _content(text: str) -> bytes:
    return b'[{"type":"text","text":' + rawjson.quote(text) + b"}]"


def _result(asker: Asker, result: bytes, outcome: Outcome = Outcome.OK) -> Response:
    return Response(200, jsonrpc.response(asker.id, result), outcome=outcome)


def _members(answer: Answer, asker: Asker) -> dict[str, bytes]:
    match answer:
        case Empty():
            return {}
        case Welcome(agreed, tools_alone):
            return {
                "protocolVersion": rawjson.quote(agreed),
                "capabilities": _LEGACY_TOOLS_ALONE if tools_alone else _LEGACY_CAPABILITIES,
                "serverInfo": asker.identity.info,
            }
        case Discovered(tools_alone):
            return {
                "supportedVersions": b"[" + rawjson.quote(Revision.MODERN) + b"]",
                "capabilities": _MODERN_TOOLS_ALONE if tools_alone else _MODERN_CAPABILITIES,
            } | _caching(asker)
        case Listed(tools, form, catalogue, cursor, good):
            raw = listing.joined(tools, form, asker.revision)
            return _list("tools", raw, catalogue, cursor, asker, good)
        case PromptsListed(_, _, catalogue, cursor, good) as page:
            return _list("prompts", page.joined(asker.revision), catalogue, cursor, asker, good)
        case UrisListed(member, _, catalogue, cursor, good) as page:
            return _list(member, page.joined(asker.revision), catalogue, cursor, asker, good)
        case Offered(catalogue, good):
            raw = metatools.definitions(asker.revision)
            return _list("tools", raw, catalogue, None, asker, good)
        case Found() | Wrong():
            return answer.members(asker.revision)
        case EchoListed(catalogue):
            return _list("tools", b"[" + _ECHO_TOOL + b"]", catalogue, None, asker)
        case Echoed(None):
            return {"content": _content("arguments.text must be a string"), "isError": b"true"}
        case Echoed(text):
            return {"content": b'[{"type":"text","text":' + (text or b'""') + b"}]"}


def _list(
    member: str,
    entries: bytes,
    catalogue: str,
    cursor: str | None,
    asker: Asker,
    good: Good = EVER_GOOD,
) -> dict[str, bytes]:
    members = {member: entries}
    if cursor is not None:
        members["nextCursor"] = rawjson.quote(cursor)
    members["_meta"] = rawjson.assemble({listing.CATALOGUE_KEY: rawjson.quote(catalogue)})
    return members | _caching(asker, good)


def _caching(asker: Asker, good: Good = EVER_GOOD) -> dict[str, bytes]:
    if asker.revision is not Revision.MODERN:
        return {}
    ttl_ms = asker.identity.ttl_ms
    if good.ttl_ms is not None:
        ttl_ms = min(ttl_ms, good.ttl_ms)
    scope = b'"private"' if good.private else b'"public"'
    return {"ttlMs": str(ttl_ms).encode(), "cacheScope": scope}


def _finished(members: Mapping[str, bytes], asker: Asker) -> bytes:
    """Return the result with what the revision demands of every result."""
    if asker.revision is not Revision.MODERN:
        return rawjson.assemble(members)
    meta = dict(rawjson.pairs(members.get("_meta", b"{}")))
    meta[metakeys.SERVER_INFO] = asker.identity.info
    whole = dict(members) | {"_meta": rawjson.assemble(meta)}
    whole.setdefault("resultType", b'"complete"')
    return rawjson.assemble(whole)
