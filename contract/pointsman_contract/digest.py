"""Whether two definitions of a tool, or two catalogues, are the same."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

# What makes a tool the tool that somebody approved. Icons and `_meta` may change freely.
DEFINING = frozenset(["name", "title", "description", "inputSchema", "outputSchema", "annotations"])

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}", re.ASCII)


class _Spelling(str):
    """A number as it was written: `1.0` and `1` are different definitions."""

    __slots__ = ()


class _Members(tuple[tuple[str, Any], ...]):
    """An object's members, a key that is there twice included: readers differ on which counts."""

    __slots__ = ()


def definition(tool: bytes) -> str:
    """Return the digest of a tool's definition, given the JSON object that described it.

    Key order and white space do not count; numbers count as they are spelled. Raises ValueError
    where `tool` is no JSON object.
    """
    members = _read(tool)
    if not isinstance(members, _Members):
        raise ValueError("a tool's definition is an object")
    defining = _Members(member for member in members if member[0] in DEFINING)
    canonical = "".join(_canonical(defining))
    return f"sha256:{hashlib.sha256(canonical.encode('utf-8', 'surrogatepass')).hexdigest()}"


def same(some: Mapping[str, bytes], others: Mapping[str, bytes]) -> bool:
    """Say whether two objects are the same, as definitions are; given the JSON of their members.

    Costs little where they are spelled alike. Raises ValueError where one of them is no JSON.
    """
    return some.keys() == others.keys() and all(
        raw == others[name] or _spelled(raw) == _spelled(others[name]) for name, raw in some.items()
    )


def is_digest(text: str) -> bool:
    """Say whether `text` is spelled as the digest of a definition is."""
    return _DIGEST.fullmatch(text) is not None


class Line(NamedTuple):
    """One tool of a catalogue, as the revision sees it.

    A tuple: twenty thousand of them are put in order whenever one changes.
    """

    listed: str
    server: str
    tool: str
    digest: str


def revision(lines: Iterable[Line]) -> str:
    """Return the revision of a catalogue: equal for equal content, on every replica."""
    text = "".join(
        [f"{listed}\t{server}\t{tool}\t{of}\n" for listed, server, tool, of in sorted(lines)]
    )
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _read(raw: bytes) -> Any:
    return json.loads(raw, parse_float=_Spelling, parse_int=_Spelling, object_pairs_hook=_Members)


def _spelled(raw: bytes) -> str:
    return "".join(_canonical(_read(raw)))


def _canonical(value: Any) -> Iterable[str]:
    if isinstance(value, _Members):
        yield "{"
        for number, (key, member) in enumerate(sorted(value, key=lambda member: member[0])):
            yield f"{',' if number else ''}{json.dumps(key, ensure_ascii=False)}:"
            yield from _canonical(member)
        yield "}"
    elif isinstance(value, list):
        yield "["
        for number, item in enumerate(value):
            if number:
                yield ","
            yield from _canonical(item)
        yield "]"
    elif isinstance(value, _Spelling):
        yield value
    else:
        yield json.dumps(value, ensure_ascii=False)
