"""One tool's line in a list: rendered once for each era, joined into any page."""

import base64
import binascii
import zlib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from pointsman_contract import labels, rawjson
from pointsman_router import compilable, metakeys, toolcheck
from pointsman_router.eras import LEGACY_NEWEST, Revision
from pointsman_router.eras.removals import UNKNOWN, Unknown
from pointsman_router.offer import Tool

SERVER_KEY = f"{labels.GROUP}/server"
TOOL_KEY = f"{labels.GROUP}/tool"
CATALOGUE_KEY = f"{labels.GROUP}/catalogue"


T = TypeVar("T")


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


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some lines of a list, and how to ask for those behind them."""

    lines: Sequence[T]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class Good:
    """For how long and for whom a list is good, as far as its contributors say."""

    ttl_ms: int | None = None
    private: bool = False


EVER_GOOD = Good()


def line(tool: Tool, server: str, names: Mapping[Form, str]) -> Line:
    """Return the line of `tool`, whose origin travels in its `_meta`."""
    members = dict(tool.members)
    members["_meta"] = _meta(members.get("_meta"), server, tool.name)
    del members["name"]
    schema = members.get("outputSchema")
    is_usable = schema is None or _is_usable(schema)
    rendered: dict[Revision, bytes] = {}
    for revision in (
        Revision.MODERN,
        LEGACY_NEWEST,
        Revision.V2025_06_18,
        Revision.V2025_03_26,
    ):
        rest = _rest(_known(members, UNKNOWN[revision], is_usable=is_usable))
        # Equal renderings share their bytes: a thousand servers' tools fit into memory once.
        rendered[revision] = next((old for old in rendered.values() if old == rest), rest)
    return Line(names, rendered)


def unless_same(before: tuple[Line, ...], now: tuple[Line, ...]) -> tuple[Line, ...]:
    """Return the lines as they are now: `before` itself where they are the same.

    That two long lists do not differ is then told without looking at either.
    """
    return before if before == now else now


def joined(lines: Iterable[Line], form: Form, revision: Revision) -> bytes:
    """Return the JSON array of these tools; a long one is copied once."""
    variant = _variant(revision)
    parts: list[bytes] = []
    for line in lines:
        parts += (b',{"name":', rawjson.quote(line.names[form]), line.rest[variant])
    if not parts:
        return b"[]"
    parts[0] = b'[{"name":'
    parts.append(b"]")
    return b"".join(parts)


def page(lines: Sequence[Line], form: Form, cursor: str | None, size: int) -> Page[Line]:
    """Return the tools behind `cursor`, at most `size`; `lines` are in order of their names."""
    return cut(lines, form, lambda line: line.names[form], cursor, size)


def cut(
    lines: Sequence[T], kind: str, name: Callable[[T], str], cursor: str | None, size: int
) -> Page[T]:
    """Return the lines of one kind of list behind `cursor`, at most `size`, in order of `name`.

    The cursor holds the last name that the asker saw, so that it works on every replica and goes
    on after a change of the catalogue. Raises UnknownCursor.
    """
    begin = 0
    if cursor is not None:
        last = _last_seen(cursor, kind)
        begin = bisect_right(lines, last, key=lambda line: name(line).encode())
    shown = lines[begin : begin + size]
    more = begin + size < len(lines)
    return Page(shown, _cursor(name(shown[-1]), kind) if more else None)


def _variant(revision: Revision) -> Revision:
    return Revision.V2025_03_26 if revision is Revision.V2024_11_05 else revision


def _known(
    members: Mapping[str, bytes], unknown: Unknown, *, is_usable: bool
) -> Mapping[str, bytes]:
    kept = {name: value for name, value in members.items() if name not in unknown.tool}
    if unknown.plain_structure and not is_usable:
        kept.pop("outputSchema", None)
    if unknown.reserved_meta:
        meta = rawjson.pairs(kept["_meta"])
        if any(metakeys.is_reserved(key) for key, _ in meta):
            kept["_meta"] = rawjson.assemble(
                pair for pair in meta if not metakeys.is_reserved(pair[0])
            )
    return kept


def _is_usable(schema: bytes) -> bool:
    """Say whether legacy agents can use an output schema; some lose the whole list by another."""
    return toolcheck.has_object_root(schema) and compilable.compiles(schema)


def _rest(members: Mapping[str, bytes]) -> bytes:
    return b"," + rawjson.assemble(members)[1:]


def _meta(raw: bytes | None, server: str, tool: str) -> bytes:
    own = {SERVER_KEY: rawjson.quote(server), TOOL_KEY: rawjson.quote(tool)}
    if raw is None:
        return rawjson.assemble(own)
    kept = {name: value for name, value in rawjson.pairs(raw) if not metakeys.is_ours(name)}
    return rawjson.assemble(kept | own)


def _cursor(name: str, kind: str) -> str:
    text = f"{kind}\n{name}".encode("utf-8", "surrogatepass")
    seal = zlib.crc32(text).to_bytes(4)
    return base64.urlsafe_b64encode(seal + text).decode()


def _last_seen(cursor: str, kind: str) -> bytes:
    try:
        raw = base64.b64decode(cursor.encode("ascii"), altchars=b"-_", validate=True)
    except (ValueError, binascii.Error):
        raise UnknownCursor from None
    seal, text = raw[:4], raw[4:]
    stated, _, name = text.partition(b"\n")
    if seal != zlib.crc32(text).to_bytes(4) or stated != kind.encode():
        raise UnknownCursor
    return name
