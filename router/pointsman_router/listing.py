"""One tool's line in a list: rendered once for each era, joined into any page."""

import base64
import binascii
import zlib
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pointsman_contract import labels, rawjson
from pointsman_router import toolcheck
from pointsman_router.eras import LEGACY_NEWEST, Revision
from pointsman_router.offer import Tool

SERVER_KEY = f"{labels.GROUP}/server"
TOOL_KEY = f"{labels.GROUP}/tool"
CATALOGUE_KEY = f"{labels.GROUP}/catalogue"
OUR_KEYS = f"{labels.GROUP}/"

# What an agent of an older revision does not know, and a strict one would refuse.
_NEWER_THAN_2025_06_18 = frozenset(["icons", "execution"])
_NEWER_THAN_2025_03_26 = _NEWER_THAN_2025_06_18 | {"title", "outputSchema"}


class Form(StrEnum):
    """Which of a tool's names a list shows."""

    DOTTED = "dotted"
    SAFE = "safe"
    BARE = "bare"


class UnknownCursor(ValueError):
    """A cursor that this router did not write for this list."""


@dataclass(frozen=True, slots=True)
class Line:
    """One tool, ready to be listed under any of its names."""

    names: Mapping[Form, str]
    """The name in each form of list that shows the tool."""
    rest: Mapping[Revision, bytes]
    """Everything behind the name, for the revisions that differ; see `_variant`."""

    def render(self, form: Form, revision: Revision) -> bytes:
        """Return the tool as JSON."""
        name = rawjson.quote(self.names[form])
        return b'{"name":' + name + self.rest[_variant(revision)]


@dataclass(frozen=True, slots=True)
class Page:
    """Some tools of a list, and how to ask for those behind them."""

    tools: Sequence[Line]
    next_cursor: str | None


def line(tool: Tool, server: str, names: Mapping[Form, str]) -> Line:
    """Return the line of `tool`, whose origin travels in its `_meta`."""
    members = dict(tool.members)
    members["_meta"] = _meta(members.get("_meta"), server, tool.name)
    del members["name"]
    modern = _rest(members)
    if (schema := members.get("outputSchema")) and not toolcheck.has_object_root(schema):
        del members["outputSchema"]
    rendered = {Revision.MODERN: modern}
    for revision, unknown in (
        (LEGACY_NEWEST, frozenset[str]()),
        (Revision.V2025_06_18, _NEWER_THAN_2025_06_18),
        (Revision.V2025_03_26, _NEWER_THAN_2025_03_26),
    ):
        rest = _rest({name: value for name, value in members.items() if name not in unknown})
        # Equal renderings share their bytes: a thousand servers' tools fit into memory once.
        rendered[revision] = next((old for old in rendered.values() if old == rest), rest)
    return Line(names, rendered)


def page(lines: Sequence[Line], form: Form, cursor: str | None, size: int) -> Page:
    """Return the tools behind `cursor`, at most `size`; `lines` are in order of their names.

    The cursor holds the last name that the asker saw, so that it works on every replica and goes
    on after a change of the catalogue. Raises UnknownCursor.
    """
    begin = 0
    if cursor is not None:
        last = _last_seen(cursor, form)
        begin = bisect_right(lines, last, key=lambda line: line.names[form].encode())
    tools = lines[begin : begin + size]
    more = begin + size < len(lines)
    return Page(tools, _cursor(tools[-1].names[form], form) if more else None)


def _variant(revision: Revision) -> Revision:
    return Revision.V2025_03_26 if revision is Revision.V2024_11_05 else revision


def _rest(members: Mapping[str, bytes]) -> bytes:
    return b"," + rawjson.assemble(members)[1:]


def _meta(raw: bytes | None, server: str, tool: str) -> bytes:
    own = {SERVER_KEY: rawjson.quote(server), TOOL_KEY: rawjson.quote(tool)}
    if raw is None:
        return rawjson.assemble(own)
    kept = {name: value for name, value in rawjson.pairs(raw) if not name.startswith(OUR_KEYS)}
    return rawjson.assemble(kept | own)


def _cursor(name: str, form: Form) -> str:
    text = f"{form}\n{name}".encode("utf-8", "surrogatepass")
    seal = zlib.crc32(text).to_bytes(4)
    return base64.urlsafe_b64encode(seal + text).decode()


def _last_seen(cursor: str, form: Form) -> bytes:
    try:
        raw = base64.b64decode(cursor.encode("ascii"), altchars=b"-_", validate=True)
    except (ValueError, binascii.Error):
        raise UnknownCursor from None
    seal, text = raw[:4], raw[4:]
    stated, _, name = text.partition(b"\n")
    if seal != zlib.crc32(text).to_bytes(4) or stated != form.encode():
        raise UnknownCursor
    return name
