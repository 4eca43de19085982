"""The JSON-RPC messages between the router and an upstream, parameters and results as raw JSON."""

import re
import secrets
from dataclasses import dataclass

from pointsman_contract import rawjson
from pointsman_contract.rawjson import Malformed
from pointsman_router.jsonrpc import METHOD_NOT_FOUND, RpcError

UNSUPPORTED_VERSION = -32022

_ID_BYTES = 12  # 96 random bits: an upstream cannot guess the id of a call that it did not get
_FOREIGN_ID_MAX_BYTES = 1024
_INTEGER = re.compile(rb"-?(0|[1-9][0-9]{0,17})")
_VERSION = b'"jsonrpc":"2.0"'


@dataclass(frozen=True, slots=True)
class Result:
    """What a request came to."""

    raw: bytes
    """The `result` member, an object, byte for byte."""


@dataclass(frozen=True, slots=True)
class Response:
    """An answer to some request."""

    id: bytes | None
    outcome: Result | RpcError

    def answers(self, id_: str) -> bool:
        """Whether it belongs to the request `id_`, which is a JSON string."""
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


Message = Response | Request | Notification


def read(data: bytes) -> Message:
    """Return the one message that `data` spells; raises Malformed."""
    members = rawjson.members(rawjson.check(data))
    if rawjson.string(members.get("jsonrpc", b"null")) != "2.0":
        raise Malformed("not JSON-RPC 2.0")
    if "method" not in members:
        return Response(members.get("id"), _outcome(members))
    if "result" in members or "error" in members:
        raise Malformed("a request that is an answer")
    method = rawjson.string(members["method"])
    if "id" not in members:
        return Notification(method)
    return Request(_foreign_id(members["id"]), method)


def new_id() -> str:
    """Return an id that nobody can guess and that needs no escape in JSON."""
    return secrets.token_urlsafe(_ID_BYTES)


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


def reply(asked: Request) -> bytes:
    """Return the answer to a request of an upstream, to which the router declared no capability."""
    if asked.method == "ping":
        return b'{%b,"id":%b,"result":{}}' % (_VERSION, asked.id)
    error = b'{"code":%d,"message":"Method not found"}' % METHOD_NOT_FOUND
    return b'{%b,"id":%b,"error":%b}' % (_VERSION, asked.id, error)


def initialize_params(revision: str, version: str) -> bytes:
    """Return what opens a session: the wanted revision, and who the router is."""
    client = rawjson.assemble({"name": b'"pointsman"', "version": rawjson.quote(version)})
    return rawjson.assemble(
        {"protocolVersion": rawjson.quote(revision), "capabilities": b"{}", "clientInfo": client}
    )


def call_params(name: str, arguments: bytes, meta: bytes | None) -> bytes:
    """Return the parameters of a call; `arguments` and `meta` go as they are."""
    members = {"name": rawjson.quote(name), "arguments": arguments}
    return rawjson.assemble(members if meta is None else members | {"_meta": meta})


def list_params(cursor: bytes | None) -> bytes:
    """Return the parameters that ask for the page at `cursor`, as the upstream spelled it."""
    return b"{}" if cursor is None else b'{"cursor":%b}' % cursor


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
