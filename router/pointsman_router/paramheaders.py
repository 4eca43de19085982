"""Which arguments of a tool a header repeats, whether it does, and what it has to say."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from pointsman_contract import rawjson
from pointsman_router import headervalues, toolcheck
from pointsman_router.demands import JSON

PREFIX = "Mcp-Param-"
KEYWORD = "x-mcp-header"

_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+", re.ASCII)  # RFC 9110, 5.6.2
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?", re.ASCII)
_TYPES = frozenset(["boolean", "integer", "string"])

Sent = Callable[[str], Sequence[str]]
"""The values of a header, each as often as it was sent."""


class InvalidAnnotation(ValueError):
    """An annotation for which no client may send a header; the message says why."""


@dataclass(frozen=True, slots=True)
class Annotation:
    """One argument that a header repeats."""

    header: str
    path: tuple[str, ...]
    """The members that lead to it from the arguments."""
    is_integer: bool


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A header that does not say what the body says."""

    header: str
    why: str


def annotations(schema: bytes) -> tuple[Annotation, ...]:
    """Return the annotations of an input schema, in order of their headers.

    Raises InvalidAnnotation: a client must drop a tool with a single invalid one.
    """
    if KEYWORD.encode() not in schema and b"\\u" not in schema:
        return ()
    found: dict[str, Annotation] = {}
    for path, described in _positions(json.loads(schema, parse_int=float)):
        if KEYWORD not in described:
            continue
        annotation = _annotation(path, described)
        if annotation.header.lower() in found:
            raise InvalidAnnotation("names the same header for two arguments")
        found[annotation.header.lower()] = annotation
    return tuple(found[name] for name in sorted(found))


def mismatch(wanted: Sequence[Annotation], arguments: bytes, sent: Sent) -> Mismatch | None:
    """Return the first header that is not what these arguments say, or None.

    `null` counts as absent, and what is absent in the one must be absent in the other.
    """
    for annotation in wanted:
        values = sent(annotation.header)
        if len(values) > 1:
            return Mismatch(annotation.header, "is there more than once")
        try:
            said = _said(annotation, arguments)
        except rawjson.Malformed:
            return Mismatch(annotation.header, "repeats a member that is there twice")
        if (said is None) != (not values):
            what = "must be absent" if said is None else "is missing"
            return Mismatch(annotation.header, f"{what}: it repeats an argument")
        if said is not None and not _is_same(annotation, said, values[0].strip(" \t")):
            return Mismatch(annotation.header, "must equal the argument that it repeats")
    return None


def headers(wanted: Sequence[Annotation], arguments: bytes) -> tuple[tuple[str, str], ...]:
    """Return the headers that a client has to send with these arguments, values encoded."""
    found: list[tuple[str, str]] = []
    for annotation in wanted:
        try:
            said = _said(annotation, arguments)
        except rawjson.Malformed:
            continue  # nobody can tell which of two members the upstream would read
        if said is not None:
            found.append((annotation.header, headervalues.encode(said)))
    return tuple(found)


def _annotation(path: tuple[str, ...] | None, described: dict[str, JSON]) -> Annotation:
    name, kind = described[KEYWORD], described.get("type")
    if not path:
        raise InvalidAnnotation("is not on an argument that properties alone lead to")
    if not isinstance(name, str) or not _TOKEN.fullmatch(name):
        raise InvalidAnnotation("is no name of a header")
    if not isinstance(kind, str) or kind not in _TYPES:
        raise InvalidAnnotation("is only allowed on a string, an integer or a boolean")
    return Annotation(f"{PREFIX}{name}", path, kind == "integer")


def _positions(root: JSON) -> Iterator[tuple[tuple[str, ...] | None, dict[str, JSON]]]:
    """Yield each schema in `root` with the properties that lead to it; None: something else does.

    Values that only look like schemas, such as defaults and examples, are not entered.
    """
    pending: list[tuple[tuple[str, ...] | None, JSON]] = [((), root)]
    while pending:
        path, schema = pending.pop()
        if not isinstance(schema, dict):
            continue
        yield path, schema
        if isinstance(properties := schema.get("properties"), dict):
            pending.extend(
                (None if path is None else (*path, name), inner)
                for name, inner in properties.items()
            )
        others = {name: inner for name, inner in schema.items() if name != "properties"}
        pending.extend((None, inner) for inner in toolcheck.inner_schemas(others))


def _said(annotation: Annotation, arguments: bytes) -> str | None:
    """Return what the arguments say, as a header would; None where they say nothing of the kind."""
    value = arguments
    for name in annotation.path:
        if rawjson.kind(value) != "{":
            return None
        found = rawjson.members(value).get(name)
        if found is None:
            return None
        value = found
    match rawjson.kind(value):
        case "n" | "{" | "[":
            return None
        case '"':
            text = rawjson.string(value)
            return None if _has_half_a_pair(text) else text
        case _:
            return value.decode("ascii")


def _is_same(annotation: Annotation, said: str, value: str) -> bool:
    decoded = headervalues.decode(value)
    if decoded is None:
        return False
    if decoded == said:
        return True
    if not annotation.is_integer or not (_NUMBER.fullmatch(decoded) and _NUMBER.fullmatch(said)):
        return False
    try:
        return Decimal(decoded) == Decimal(said)
    except InvalidOperation:
        return False


def _has_half_a_pair(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)
