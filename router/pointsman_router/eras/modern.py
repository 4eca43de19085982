"""The rules of 2026-07-28: every request describes itself, and its headers say the same."""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass

from pointsman_contract import rawjson
from pointsman_router import eras, refusals
from pointsman_router.eras import Revision
from pointsman_router.jsonrpc import Notification, Request
from pointsman_router.refusals import Refusal

VERSION_HEADER = "MCP-Protocol-Version"
METHOD_HEADER = "Mcp-Method"
NAME_HEADER = "Mcp-Name"
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"

# Which parameter of a method its Mcp-Name header repeats.
_NAMED_BY = {"tools/call": "name"}
_MARKER = ("=?base64?", "?=")


@dataclass(frozen=True, slots=True)
class Headers:
    """The headers that a modern request repeats itself in, each as often as it was sent."""

    version: tuple[str, ...] = ()
    method: tuple[str, ...] = ()
    name: tuple[str, ...] = ()


def is_meant(headers: Headers, params: Mapping[str, bytes]) -> bool:
    """Say whether a request speaks this era rather than a legacy revision."""
    if headers.version and eras.legacy_named(headers.version[0]) is None:
        return True
    return VERSION_KEY in _members(params.get("_meta"))


def problem(headers: Headers, request: Request) -> Refusal | None:
    """Return the first rung of the transport's ladder that `request` misses, or None."""
    for header, values in (
        (VERSION_HEADER, headers.version),
        (METHOD_HEADER, headers.method),
        (NAME_HEADER, headers.name),
    ):
        if len(values) > 1:
            return refusals.header_mismatch(header, "is there more than once")
    meta = _members(request.params.get("_meta"))
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
        if not headers.name or named is None or _decoded(headers.name[0]) != named:
            return refusals.header_mismatch(NAME_HEADER, f"must equal params.{member}")
    if version != Revision.MODERN:
        return refusals.unsupported_version(version)
    return None


def notification_problem(headers: Headers, notification: Notification) -> Refusal | None:
    """Return why a notification is refused, or None."""
    stated = _string(_members(notification.params.get("_meta")).get(VERSION_KEY))
    version = headers.version[0] if headers.version else stated
    if version is not None and version != Revision.MODERN:
        return refusals.unsupported_version(version)
    return None


def _members(raw: bytes | None) -> Mapping[str, bytes]:
    try:
        return rawjson.members(raw) if raw is not None else {}
    except rawjson.Malformed:
        return {}


def _string(raw: bytes | None) -> str | None:
    try:
        return rawjson.string(raw) if raw is not None else None
    except rawjson.Malformed:
        return None


def _decoded(value: str) -> str | None:
    """Return what a header value spells; None where its encoding is not canonical."""
    opening, closing = _MARKER
    marked = value.startswith(opening) and value.removeprefix(opening).endswith(closing)
    if not marked:
        return value
    encoded = value[len(opening) : -len(closing)].encode("ascii", "replace")
    try:
        raw = base64.b64decode(encoded, validate=True)
        text = raw.decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return None
    return text if base64.b64encode(raw) == encoded else None
