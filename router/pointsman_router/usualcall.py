"""The one spelling of a `tools/call` that nearly all agents use, read in one go."""

from typing import Literal

import msgspec

from pointsman_contract import names, rawjson
from pointsman_router import jsonrpc

# Of a longer one the arguments are what costs.
_MAX_BYTES = 64 * 1024
# What agents say of themselves with every call is short.
_META_MAX_BYTES = 1024


class UsualCall(msgspec.Struct, frozen=True):
    """A call that holds nothing but these."""

    id: bytes
    """Raw JSON, as the rest but for the name."""
    name: str
    arguments: bytes
    """An object."""
    meta: bytes
    """`_meta`; empty where there is none."""


class _Params(msgspec.Struct):
    name: str
    arguments: msgspec.Raw
    meta: msgspec.Raw = msgspec.field(name="_meta", default=msgspec.Raw(b""))


class _Call(msgspec.Struct):
    jsonrpc: Literal["2.0"]
    id: msgspec.Raw
    method: Literal["tools/call"]
    params: _Params


_CALLS = msgspec.json.Decoder(_Call)
_BYTES = len(b'{"jsonrpc":"2.0","id":,"method":"tools/call","params":{"name":"","arguments":}}')
_META_BYTES = len(b',"_meta":')


def read(body: bytes) -> UsualCall | None:
    """Return the call that `body` spells; None for anything else, and for any other spelling.

    That no member is there twice or beside these, its length says: it is what these need, where
    there are blanks between the tokens these included.
    """
    if len(body) > _MAX_BYTES:
        return None
    try:
        rawjson.check(body)
        found = _CALLS.decode(body)
    except (rawjson.Malformed, msgspec.MsgspecError):
        return None
    params = found.params
    name, id_, arguments = params.name, bytes(found.id), bytes(params.arguments)
    meta = bytes(params.meta)
    if len(meta) > _META_MAX_BYTES or len(name) > names.DOTTED_MAX_LENGTH:
        return None
    if not (arguments.startswith(b"{") and jsonrpc.is_id(id_)) or " " in name:
        return None
    needed = _BYTES + len(id_) + len(name) + len(arguments)
    if meta:
        needed += _META_BYTES + len(meta)
    if not rawjson.holds_no_more(body, needed, id_, arguments, meta):
        return None
    return UsualCall(id_, name, arguments, meta)
