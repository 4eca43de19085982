"""The rules of 2026-07-28: every request describes itself, and its headers say the same."""

from collections.abc import Mapping
from dataclasses import dataclass

from pointsman_contract import rawjson
from pointsman_router import eras, headervalues, metakeys, refusals
from pointsman_router.eras import Revision
from pointsman_router.jsonrpc import Notification, Request
from pointsman_router.refusals import Refusal

VERSION_HEADER = "MCP-Protocol-Version"
METHOD_HEADER = "Mcp-Method"
NAME_HEADER = "Mcp-Name"
VERSION_KEY = metakeys.PROTOCOL_VERSION
CAPABILITIES_KEY = metakeys.CLIENT_CAPABILITIES

# Which parameter of a method its Mcp-Name header repeats.
_NAMED_BY = {"prompts/get": "name", "resources/read": "uri", "tools/call": "name"}


@dataclass(frozen=True, slots=True)
class Headers:
    """The headers that a modern request repeats itself in, each as often as it was sent."""

    version: tuple[str, ...] = ()
    method: tuple[str, ...] = ()
    name: tuple[str, ...] = ()


def is_meant(headers: Headers, meta: Mapping[str, bytes] | None) -> bool:
    """Say whether a message with this `_meta` speaks this era rather than a legacy revision."""
    if headers.version and eras.legacy_named(headers.version[0]) is None:
        return True
    return meta is not None and VERSION_KEY in meta


def problem(headers: Headers, request: Request) -> Refusal | None:
    """Return the first rung of the transport's ladder that `request` misses, or None."""
    for header, values in (
        (VERSION_HEADER, headers.version),
        (METHOD_HEADER, headers.method),
        (NAME_HEADER, headers.name),
    ):
        if len(values) > 1:
            return refusals.header_mismatch(header, "is there more than once")
    meta = request.meta or {}
    version = _string(meta.get(VERSION_KEY))
    if version is None:
        return refusals.incomplete_meta(VERSION_KEY)
    capabilities = meta.get(CAPABILITIES_KEY)
    if capabilities is None or rawjson.kind(capabilities) != "{":
        return refusals.incomplete_meta(CAPABILITIES_KEY)
    if headers.version != (version,):
        return refusals.header_mismatch(VERSION_HEADER, f"must equal params._meta's {VERSION_KEY}")
    if headers.method != (request.method,):
        return refusals.header_mismatch(METHOD_HEADER, "must equal the method")
    if member := _NAMED_BY.get(request.method):
        named = _string(request.params.get(member))
        if not headers.name or named is None or headervalues.decode(headers.name[0]) != named:
            return refusals.header_mismatch(NAME_HEADER, f"must equal params.{member}")
    if version != Revision.MODERN:
        return refusals.unsupported_version(version)
    return None


def notification_problem(headers: Headers, notification: Notification) -> Refusal | None:
    """Return why a notification is refused, or None."""
    stated = _string((notification.meta or {}).get(VERSION_KEY))
    version = headers.version[0] if headers.version else stated
    if version is not None and version != Revision.MODERN:
        return refusals.unsupported_version(version)
    return None


def _string(raw: bytes | None) -> str | None:
    try:
        return rawjson.string(raw) if raw is not None else None
    except rawjson.Malformed:
        return None
