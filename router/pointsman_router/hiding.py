"""Where in a tool there are characters that a person does not see and a model reads.

In titles and descriptions, nothing may hide. Everything else is data, and may hold what it likes
but for what misleads whoever reads it, person or model.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from pointsman_contract import hiddentext

TITLE, HINTED_TITLE, DESCRIPTION = "title", "annotations.title", "description"
ANNOTATIONS, OTHER = "annotations", "another member"
_SCHEMAS = ("inputSchema", "outputSchema")
# What a report may name of an upstream's: any other name is anybody's choice.
_KNOWN = frozenset([TITLE, DESCRIPTION, ANNOTATIONS, *_SCHEMAS, "icons", "_meta"])
_TEXTS = frozenset([TITLE, DESCRIPTION])
# Under these a schema holds values, whatever they look like.
_VALUES = frozenset(["const", "default", "enum", "example", "examples"])
# Under these it holds schemas by names that are anybody's choice.
_NAMED = frozenset(
    [
        *("$defs", "definitions", "dependencies", "dependentSchemas"),
        *("patternProperties", "properties"),
    ]
)
# How JSON in ASCII spells everything that is not printable ASCII; a tab and line ends hide nothing.
_ESCAPED = re.compile(rb"\\[ubf]|\x7f")
# How JSON spells what misleads in any string; what this finds has still to be read.
_MAY_MISLEAD = re.compile(
    rb"\xe2\x80[\xaa-\xae]|\xe2\x81[\xa6-\xa9]|\xf3\xa0[\x80\x81]"
    rb"|\\u(?:202[a-eA-E]|206[6-9]|[dD][bB]40)"
)

JSON: TypeAlias = "bool | float | str | list[JSON] | _Object | None"


class _Object(tuple[tuple[str, "JSON"], ...]):
    """The members of an object, a name that is there twice included: readers differ on it."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Hidden:
    """One member of a tool in which something hides."""

    member: str
    """One that the protocol knows, `annotations.title`, or `another member`."""
    code_point: str
    """The first character that hides, as `U+202E`."""
    is_text: bool = True
    """Whether it is in a title or description, and not in what else there is."""

    @property
    def told(self) -> str:
        """Where it is, in words of ours."""
        is_within = self.is_text and self.member in _SCHEMAS
        inside = "a title or description in " if is_within else ""
        return f"{inside}{self.member} ({self.code_point})"


def found(members: Mapping[str, bytes]) -> tuple[Hidden, ...]:
    """Return where something hides in a tool that is otherwise well-formed, one for each member."""
    hidden = {
        member: Hidden(member, code_point)
        for member, texts in _texts(members)
        if (code_point := _first(map(hiddentext.first_hidden, texts)))
    }
    for member, strings in _strings(members):
        if member not in hidden and (
            code_point := _first(map(hiddentext.first_misleading, strings))
        ):
            hidden[member] = Hidden(member, code_point, is_text=False)
    return tuple(hidden.values())


def _texts(members: Mapping[str, bytes]) -> Iterator[tuple[str, Iterator[str]]]:
    for member in (TITLE, DESCRIPTION):
        if _may_hide(raw := members.get(member, b"")):
            yield member, iter([str(_value(raw))])
    if _may_hide(raw := members.get(ANNOTATIONS, b"")):
        yield HINTED_TITLE, _titles(_value(raw))
    for member in _SCHEMAS:
        if _may_hide(raw := members.get(member, b"")):
            yield member, _within(_value(raw))


def _may_hide(raw: bytes) -> bool:
    return not raw.isascii() or _ESCAPED.search(raw) is not None


def _first(code_points: Iterable[str | None]) -> str | None:
    return next(filter(None, code_points), None)


def _strings(members: Mapping[str, bytes]) -> Iterator[tuple[str, Iterator[str]]]:
    """Yield each member in which something may mislead that no text shows, with its strings."""
    for name, raw in members.items():
        member = name if name in _KNOWN else OTHER
        if member == OTHER:
            yield member, iter([name])
        if (not raw.isascii() or b"\\u" in raw) and _MAY_MISLEAD.search(raw):
            value = _value(raw)
            yield member, _within_any(_untitled(value) if name == ANNOTATIONS else value)


def _untitled(hints: JSON) -> JSON:
    """Return hints without their title, which is a text of its own."""
    if not isinstance(hints, _Object):
        return hints
    return _Object(
        (name, value) for name, value in hints if name != TITLE or not isinstance(value, str)
    )


def _within_any(value: JSON) -> Iterator[str]:
    """Yield every string of a value, the names in it included."""
    pending: list[JSON] = [value]
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, _Object):
            for name, member in value:
                yield name
                pending.append(member)
        elif isinstance(value, list):
            pending += value


def _titles(hints: JSON) -> Iterator[str]:
    members = hints if isinstance(hints, _Object) else ()
    return (value for name, value in members if name == TITLE and isinstance(value, str))


def _within(schema: JSON) -> Iterator[str]:
    """Yield every title and description of a schema and of those inside it."""
    pending: list[JSON] = [schema]
    while pending:
        value = pending.pop()
        if isinstance(value, list):
            pending += value
        if not isinstance(value, _Object):
            continue
        for name, member in value:
            if isinstance(member, str):
                if name in _TEXTS:
                    yield member
            elif name in _NAMED and isinstance(member, _Object):
                pending += (inner for _, inner in member)
            elif name not in _VALUES:
                pending.append(member)


def _value(raw: bytes) -> JSON:
    # No number is judged, and the standard library refuses whole ones of many digits.
    value: JSON = json.loads(raw, parse_int=float, object_pairs_hook=_Object)
    return value
