"""What one JSON-RPC message is, its id, parameters and results left as the bytes they came as."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import msgspec
from msgspec import structs

from pointsman_contract import rawjson

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603

_ENVELOPE = frozenset(["jsonrpc", "id", "method", "params", "result", "error"])
_INTEGER = re.compile(rb"-?(0|[1-9][0-9]*)")
# An id is echoed into every answer; nobody needs a longer one.
_ID_MAX_BYTES = 1024
_NO_META: Mapping[str, bytes] = MappingProxyType({})


class NotAMessage(ValueError):
    """The bytes are no message that a server can answer in kind."""

    def __init__(self, code: int, message: str, id_: bytes = b"null") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.id = id_


class Request(msgspec.Struct, frozen=True):
    """A message that wants an answer."""

    id: bytes
    """The sender's id: raw JSON, echoed digit by digit."""
    method: str
    params: Mapping[str, bytes]
    meta: Mapping[str, bytes] | None = _NO_META
    """The members of `params._meta`; None where it is no object with unique members."""

    def __post_init__(self) -> None:
        """Cut `_meta` up once."""
        if "_meta" in self.params:
            structs.force_setattr(self, "meta", _meta(self.params["_meta"]))


class Notification(msgspec.Struct, frozen=True):
    """A message that wants none."""

    method: str
    params: Mapping[str, bytes]
    meta: Mapping[str, bytes] | None = _NO_META
    """As a request's."""

    def __post_init__(self) -> None:
        """Cut `_meta` up once."""
        if "_meta" in self.params:
            structs.force_setattr(self, "meta", _meta(self.params["_meta"]))


@dataclass(frozen=True, slots=True)
class RpcError:
    """The error that a server answered instead of a result."""

    code: int
    message: str
    raw: bytes
    """The error object, byte for byte."""
    untaken: bool = False
    """Whether its HTTP status says that the request was not taken."""
    is_modern: bool = False
    """Whether its code means what 2026-07-28 says; else it is of a revision before."""


Message = Request | Notification


@dataclass(frozen=True, slots=True)
class Batch:
    """An array of messages, each still unread: one bad element costs only itself."""

    elements: Sequence[bytes]


class _Envelope(msgspec.Struct):
    """A request as nearly every agent spells it."""

    jsonrpc: msgspec.Raw
    id: msgspec.Raw
    method: str
    params: msgspec.Raw


_ENVELOPES = msgspec.json.Decoder(_Envelope)
_ENVELOPE_MIN_BYTES = len(b'{"jsonrpc":"2.0","id":,"method":"","params":}')


def parse(body: bytes) -> Message | Batch:
    """Return the message or the batch that `body` spells; raises NotAMessage."""
    try:
        rawjson.check(body)
        if usual := _usual(body):
            return usual
        first = rawjson.kind(body)
    except (rawjson.Malformed, IndexError):
        raise NotAMessage(PARSE_ERROR, "The body is not JSON.") from None
    if first == "[":
        try:
            return Batch(rawjson.items(body))
        except rawjson.Malformed:
            raise NotAMessage(PARSE_ERROR, "The body is not JSON.") from None
    return message(body)


def _usual(body: bytes) -> Request | None:
    """Return the request that `body` spells, if it holds nothing but four members, each once.

    Its bytes are as many as those members need; any other message is looked at one by one.
    """
    try:
        found = _ENVELOPES.decode(body)
    except msgspec.MsgspecError:
        return None
    id_, params, method = bytes(found.id), bytes(found.params), found.method
    if bytes(found.jsonrpc) != b'"2.0"' or not is_id(id_) or " " in method:
        return None
    needed = _ENVELOPE_MIN_BYTES + len(id_) + len(params) + len(method)
    if not rawjson.holds_no_more(body, needed, id_, params):
        return None
    try:
        return Request(id_, method, rawjson.members(params))
    except rawjson.Malformed:
        return None


def message(body: bytes) -> Message:
    """Return the one message that `body` spells; raises NotAMessage."""
    try:
        pairs = rawjson.pairs(body)
    except rawjson.Malformed:
        raise _no_object(body) from None
    members = dict(pairs)
    id_ = members.get("id")
    echoed = id_ if id_ is not None and is_id(id_) else b"null"
    if len(members) != len(pairs):
        raise NotAMessage(INVALID_REQUEST, "A member is there twice.", echoed)
    if clash := case_clash(members, _ENVELOPE):
        raise NotAMessage(INVALID_REQUEST, f"{clash} must be spelled in lower case.", echoed)
    if members.get("jsonrpc") != b'"2.0"':
        raise NotAMessage(INVALID_REQUEST, 'jsonrpc must be "2.0".', echoed)
    if "result" in members or "error" in members:
        raise NotAMessage(INVALID_REQUEST, "A server takes no responses.")
    if id_ is not None and echoed is not id_:
        raise NotAMessage(INVALID_REQUEST, "id must be a string or a whole number.")
    method = _method(members, echoed)
    params = _params(members, echoed)
    return Notification(method, params) if id_ is None else Request(id_, method, params)


def case_clash(members: Mapping[str, bytes], known: frozenset[str]) -> str | None:
    """Return the known name that a member spells in another case, if one does.

    Some readers match names without regard to case: such a member would reach them as the known
    one, unseen by whatever was decided here.
    """
    for name in members:
        folded = name.casefold()
        if folded in known and name not in known:
            return folded
    return None


def response(id_: bytes, result: bytes) -> bytes:
    """Return the message that answers `id_` with a result."""
    return b'{"jsonrpc":"2.0","id":' + id_ + b',"result":' + result + b"}"


def notification(method: str, params: bytes) -> bytes:
    """Return the message that says something and wants no answer."""
    return b'{"jsonrpc":"2.0","method":' + rawjson.quote(method) + b',"params":' + params + b"}"


def error_response(id_: bytes, code: int, text: str, data: bytes | None = None) -> bytes:
    """Return the message that answers `id_` with an error."""
    body = b'{"code":' + str(code).encode() + b',"message":' + rawjson.quote(text)
    if data is not None:
        body += b',"data":' + data
    return raw_error_response(id_, body + b"}")


def raw_error_response(id_: bytes, error: bytes) -> bytes:
    """Return the message that answers `id_` with this error object as it is."""
    return b'{"jsonrpc":"2.0","id":' + id_ + b',"error":' + error + b"}"


def _no_object(body: bytes) -> NotAMessage:
    try:
        values = rawjson.items(b"[" + body + b"]")
    except rawjson.Malformed:
        values = []
    if len(values) != 1:
        return NotAMessage(PARSE_ERROR, "The body is not JSON.")
    return NotAMessage(INVALID_REQUEST, "A message is a JSON object.")


def is_id(raw: bytes) -> bool:
    """Say whether a value may name a request: a string or a whole number, of bounded length."""
    return len(raw) <= _ID_MAX_BYTES and (
        raw.startswith(b'"') or _INTEGER.fullmatch(raw) is not None
    )


def _method(members: Mapping[str, bytes], id_: bytes) -> str:
    try:
        return rawjson.string(members.get("method", b""))
    except rawjson.Malformed:
        raise NotAMessage(INVALID_REQUEST, "method must be a string.", id_) from None


def _meta(raw: bytes) -> Mapping[str, bytes] | None:
    try:
        return rawjson.members(raw)
    except rawjson.Malformed:
        return None


def _params(members: Mapping[str, bytes], id_: bytes) -> Mapping[str, bytes]:
    raw = members.get("params")
    if raw is None:
        return {}
    try:
        return rawjson.members(raw)
    except rawjson.Malformed:
        raise NotAMessage(
            INVALID_REQUEST, "params must be an object with unique members.", id_
        ) from None
