"""What an outcome looks like on the wire: status, headers, body."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from pointsman_contract import rawjson
from pointsman_router import failures, jsonrpc, listing
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
from pointsman_router.eras import Revision
from pointsman_router.failures import Failure
from pointsman_router.jsonrpc import RpcError
from pointsman_router.refusals import Code, Refusal

JSON_TYPE = "application/json"
SERVER_INFO_KEY = "io.modelcontextprotocol/serverInfo"
_CACHE_SCOPE = b'"public"'
# An upstream's error object is passed on verbatim up to this size; a larger one is only named.
_ERROR_MAX_BYTES = 64 * 1024
# Errors that an agent of that revision acts on: it must see them as what they are.
_ACTED_ON = frozenset(
    [
        (Code.MISSING_CAPABILITY, Revision.MODERN),
        (Code.URL_ELICITATION_REQUIRED, Revision.V2025_11_25),
    ]
)

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
    """A `tools/call` answered with a refusal result: the upstream's trouble."""
    ERROR = "error"
    """Answered with a JSON-RPC error of ours: the caller's mistake."""
    REJECTED = "rejected"
    """Answered with an HTTP 4xx: nothing of it was a request."""
    OVERLOADED = "overloaded"
    """Answered with HTTP 503."""
    FAILED = "failed"
    """A mistake of ours."""


@dataclass(frozen=True, slots=True)
class Response:
    """An HTTP response, whole."""

    status: int
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    outcome: Outcome = Outcome.OK


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


@dataclass(frozen=True, slots=True)
class Asker:
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
    return Response(refusal.status, body, refusal.headers, _outcome(refusal))


def answered(answer: Answer, asker: Asker) -> Response:
    """Answer from what the router itself knows."""
    return _result(asker, _finished(_members(answer, asker), asker))


def relayed(raw: bytes, asker: Asker) -> Response:
    """Relay an upstream's result: as it came, but for what only the two ends may say.

    Raises Malformed where `raw` is no object.
    """
    if asker.revision is not Revision.MODERN and b"_meta" not in raw and b"\\u" not in raw:
        if rawjson.kind(raw) != "{":
            raise rawjson.Malformed("not an object")
        return _result(asker, raw)
    members = rawjson.members(raw)
    # Some serialisers write null for what is not there; strict agents refuse it.
    if (meta := members.pop("_meta", b"null")) != b"null":
        kept = [pair for pair in rawjson.pairs(meta) if not pair[0].startswith(listing.OUR_KEYS)]
        members["_meta"] = rawjson.assemble(kept)
    return _result(asker, _finished(members, asker))


def failed(failure: Failure, asker: Asker) -> Response:
    """Tell of an upstream's trouble in a result."""
    return _is_error(
        failures.text(failure),
        {failures.REFUSAL_KEY: failures.meta(failure)},
        asker,
        Outcome.REFUSED,
    )


def upstream_error(server: str, error: RpcError, asker: Asker) -> Response:
    """Tell of an upstream's own JSON-RPC error: in a result, unless an agent acts on it."""
    short = len(error.raw) <= _ERROR_MAX_BYTES
    if short and (error.code, asker.revision) in _ACTED_ON:
        return Response(200, jsonrpc.raw_error_response(asker.id, error.raw))
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
        case Welcome(agreed):
            return {
                "protocolVersion": rawjson.quote(agreed),
                "capabilities": b'{"tools":{"listChanged":false}}',
                "serverInfo": asker.identity.info,
            }
        case Discovered():
            return {
                "supportedVersions": b"[" + rawjson.quote(Revision.MODERN) + b"]",
                "capabilities": b'{"tools":{}}',
            } | _caching(asker)
        case Listed(tools, form, catalogue, cursor):
            rendered = b",".join(line.render(form, asker.revision) for line in tools)
            return _list(rendered, catalogue, cursor, asker)
        case EchoListed(catalogue):
            return _list(_ECHO_TOOL, catalogue, None, asker)
        case Echoed(None):
            return {"content": _content("arguments.text must be a string"), "isError": b"true"}
        case Echoed(text):
            return {"content": b'[{"type":"text","text":' + (text or b'""') + b"}]"}


def _list(tools: bytes, catalogue: str, cursor: str | None, asker: Asker) -> dict[str, bytes]:
    members = {"tools": b"[" + tools + b"]"}
    if cursor is not None:
        members["nextCursor"] = rawjson.quote(cursor)
    members["_meta"] = rawjson.assemble({listing.CATALOGUE_KEY: rawjson.quote(catalogue)})
    return members | _caching(asker)


def _caching(asker: Asker) -> dict[str, bytes]:
    if asker.revision is not Revision.MODERN:
        return {}
    return {"ttlMs": str(asker.identity.ttl_ms).encode(), "cacheScope": _CACHE_SCOPE}


def _finished(members: dict[str, bytes], asker: Asker) -> bytes:
    """Return the result with what the revision demands of every result."""
    if asker.revision is Revision.MODERN:
        meta = dict(rawjson.pairs(members.get("_meta", b"{}")))
        meta[SERVER_INFO_KEY] = asker.identity.info
        members["_meta"] = rawjson.assemble(meta)
        members.setdefault("resultType", b'"complete"')
    return rawjson.assemble(members)
