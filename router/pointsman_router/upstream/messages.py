"""The JSON-RPC messages between the router and an upstream, parameters and results as raw JSON."""

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import msgspec

from pointsman_contract import rawjson
from pointsman_contract.rawjson import Malformed
from pointsman_router.jsonrpc import METHOD_NOT_FOUND, RpcError
from pointsman_router.upstream.limits import Limits

_ID_BYTES = 12  # 96 random bits: an upstream cannot guess the id of a call that it did not get
_STORED = 64
_FOREIGN_ID_MAX_BYTES = 1024
_INTEGER = re.compile(rb"-?(0|[1-9][0-9]{0,17})")
_VERSION = b'"jsonrpc":"2.0"'


class Result(msgspec.Struct, frozen=True):
    """What a request came to."""

    raw: bytes
    """The `result` member, an object, byte for byte."""


class Response(msgspec.Struct, frozen=True):
    """An answer to some request."""

    id: bytes | None
    outcome: Result | RpcError

    def answers(self, id_: str) -> bool:
        """Whether it belongs to the request `id_`, which is a JSON string."""
        if self.id == b'"%b"' % id_.encode():
            return True
        if self.id is None or rawjson.kind(self.id) != '"':
            return False
        return rawjson.string(self.id) == id_


@dataclass(frozen=True, slots=True)
class Request:
    """A request of the upstream's own."""

    id: bytes
    method: str


@dataclass(frozen=True, slots=True)
class Notification:
    """Something that an upstream only wants to say."""

    method: str
    params: bytes = b"{}"
    """Whatever was there, still unread."""


Message = Response | Request | Notification


def read(data: bytes) -> Message:
    """Return the one message that `data` spells; raises Malformed."""
    members = rawjson.members(rawjson.check(data))
    version = members.get("jsonrpc", b"null")
    if version != b'"2.0"' and rawjson.string(version) != "2.0":
        raise Malformed("not JSON-RPC 2.0")
    if "method" not in members:
        return Response(members.get("id"), _outcome(members))
    if "result" in members or "error" in members:
        raise Malformed("a request that is an answer")
    method = rawjson.string(members["method"])
    if "id" not in members:
        return Notification(method, members.get("params", b"{}"))
    return Request(_foreign_id(members["id"]), method)


class _Usual(msgspec.Struct):
    jsonrpc: Literal["2.0"]
    id: str
    result: msgspec.Raw


_USUAL = msgspec.json.Decoder(_Usual)
_USUAL_BYTES = len(b'{"jsonrpc":"2.0","id":"","result":}')


def is_read_at_once(data: bytes, limits: Limits) -> bool:
    """Say whether reading a message takes too little time for anybody to wait for it."""
    if len(data) <= limits.nested_at_once_max_bytes:
        return True
    return len(data) <= limits.at_once_max_bytes and rawjson.is_flat(data)


def usual_result(data: bytes, id_: str) -> bytes | None:
    """Return the result in an answer to `id_` that holds nothing else, each member once.

    None for any other message, which `read` looks at one by one. Its bytes are as many as those
    members need, where there are blanks between the tokens these included.
    """
    try:
        rawjson.check(data)
        found = _USUAL.decode(data)
    except (Malformed, msgspec.MsgspecError):
        return None
    result = bytes(found.result)
    if found.id != id_ or not result.startswith(b"{"):
        return None
    needed = _USUAL_BYTES + len(id_) + len(result)
    return result if rawjson.holds_no_more(data, needed, result) else None


def new_id() -> str:
    """Return an id that nobody can guess and that needs no escape in JSON."""
    return secrets.token_hex(_ID_BYTES)


class Ids:
    """Such ids in store: many are drawn at once, since each draw is a system call."""

    def __init__(self) -> None:
        self._store: list[str] = []

    def draw(self) -> str:
        """Return one that was never returned before."""
        if not self._store:
            drawn = secrets.token_hex(_ID_BYTES * _STORED)
            size = 2 * _ID_BYTES
            self._store = [drawn[at : at + size] for at in range(0, len(drawn), size)]
        return self._store.pop()


def request(id_: str, method: str, params: bytes) -> bytes:
    """Return a request with these raw parameters."""
    return b'{%b,"id":"%b","method":"%b","params":%b}' % (
        _VERSION,
        id_.encode(),
        method.encode(),
        params,
    )


def notification(method: str) -> bytes:
    """Return a notification without parameters."""
    return b'{%b,"method":"%b"}' % (_VERSION, method.encode())


def cancelled(id_: str) -> bytes:
    """Return the notification that nobody waits for the answer to request `id_` any more."""
    return b'{%b,"method":"notifications/cancelled","params":{"requestId":"%b"}}' % (
        _VERSION,
        id_.encode(),
    )


def reply(asked: Request) -> bytes:
    """Return the answer to a request of an upstream, to which the router declared no capability."""
    if asked.method == "ping":
        return b'{%b,"id":%b,"result":{}}' % (_VERSION, asked.id)
    error = b'{"code":%d,"message":"Method not found"}' % METHOD_NOT_FOUND
    return b'{%b,"id":%b,"error":%b}' % (_VERSION, asked.id, error)


def initialize_params(revision: str, version: str) -> bytes:
    """Return what opens a session: the wanted revision, and who the router is."""
    return rawjson.assemble(
        {
            "protocolVersion": rawjson.quote(revision),
            "capabilities": b"{}",
            "clientInfo": client_info(version),
        }
    )


def client_info(version: str) -> bytes:
    """Return who the router is."""
    return rawjson.assemble({"name": b'"pointsman"', "version": rawjson.quote(version)})


def params(members: Mapping[str, bytes], meta: bytes | None) -> bytes:
    """Return the parameters of a request; every value goes as it is."""
    return rawjson.assemble(members if meta is None else {**members, "_meta": meta})


def meta(members: Mapping[str, bytes], token: str | None) -> bytes | None:
    """Return the `_meta` for a legacy upstream, which knows none of the later keys."""
    if token is not None:
        members = {**members, "progressToken": b'"%b"' % token.encode()}
    return rawjson.assemble(members) if members else None


def _outcome(members: dict[str, bytes]) -> Result | RpcError:
    if ("result" in members) == ("error" in members):
        raise Malformed("neither a result nor an error, or both")
    if "result" in members:
        if rawjson.kind(members["result"]) != "{":
            raise Malformed("a result that is no object")
        return Result(members["result"])
    error = rawjson.members(members["error"])
    code = error.get("code", b"")
    if not _INTEGER.fullmatch(code):
        raise Malformed("an error without an integer code")
    return RpcError(int(code), rawjson.string(error.get("message", b'""')), members["error"])


def _foreign_id(raw: bytes) -> bytes:
    if len(raw) > _FOREIGN_ID_MAX_BYTES or rawjson.kind(raw) not in '"-0123456789':
        raise Malformed("an id that is none")
    return raw
