"""Which of a tool's texts hold characters that a person does not see and a model reads."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from pointsman_contract import hiddentext

TITLE, HINTED_TITLE, DESCRIPTION = "title", "annotations.title", "description"
_SCHEMAS = ("inputSchema", "outputSchema")
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

JSON: TypeAlias = "bool | float | str | list[JSON] | _Object | None"


class _Object(tuple[tuple[str, "JSON"], ...]):
    """The members of an object, a name that is there twice included: readers differ on it."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Hidden:
    """One member of a tool in which something hides."""

    member: str
    """`title`, `annotations.title`, `description`, `inputSchema` or `outputSchema`."""
    code_point: str
    """The first character that hides, as `U+202E`."""

    @property
    def told(self) -> str:
        """Where it is, in words of ours."""
        inside = "a title or description in " if self.member in _SCHEMAS else ""
        return f"{inside}{self.member} ({self.code_point})"


def found(members: Mapping[str, bytes]) -> tuple[Hidden, ...]:
    """Return where something hides in a tool that is otherwise well-formed, one for each member."""
    return tuple(
        Hidden(member, code_point)
        for member, texts in _texts(members)
        if (code_point := _first_hidden(texts))
    )


def _texts(members: Mapping[str, bytes]) -> Iterator[tuple[str, Iterator[str]]]:
    for member in (TITLE, DESCRIPTION):
        if _may_hide(raw := members.get(member, b"")):
            yield member, iter([str(_value(raw))])
    if _may_hide(raw := members.get("annotations", b"")):
        yield HINTED_TITLE, _titles(_value(raw))
    for member in _SCHEMAS:
        if _may_hide(raw := members.get(member, b"")):
            yield member, _within(_value(raw))


def _may_hide(raw: bytes) -> bool:
    return not raw.isascii() or _ESCAPED.search(raw) is not None


def _first_hidden(texts: Iterator[str]) -> str | None:
    return next((found for text in texts if (found := hiddentext.first_hidden(text))), None)


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
