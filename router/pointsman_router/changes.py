"""How an agent asks to be told of lists that change, and in which words it is told."""

from collections.abc import Collection

from pointsman_contract import rawjson
from pointsman_contract.meta import Exposed
from pointsman_router import jsonrpc, metakeys

_ASKED_BY = {f"{of.lower()}ListChanged": of for of in Exposed}


def wanted(notifications: bytes) -> tuple[Exposed, ...]:
    """Return the lists that a filter asks for, each once; raises Malformed where it is none."""
    asked = rawjson.members(notifications)
    return tuple(of for name, of in _ASKED_BY.items() if asked.get(name) == b"true")


def acknowledgement(id_: bytes, lists: Collection[Exposed]) -> bytes:
    """Return the first message of the stream `id_`: of which lists it will tell."""
    honoured = {name: b"true" for name, of in _ASKED_BY.items() if of in lists}
    return jsonrpc.notification(
        "notifications/subscriptions/acknowledged",
        rawjson.assemble({"_meta": mark(id_), "notifications": rawjson.assemble(honoured)}),
    )


def told(id_: bytes, of: Exposed) -> bytes:
    """Return the message that tells the stream `id_` of a change."""
    params = rawjson.assemble({"_meta": mark(id_)})
    return jsonrpc.notification(f"notifications/{of.lower()}/list_changed", params)


def mark(id_: bytes) -> bytes:
    """Return the `_meta` of every message of the stream `id_`."""
    return rawjson.assemble({metakeys.SUBSCRIPTION_ID: id_})
