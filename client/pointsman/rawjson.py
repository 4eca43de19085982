"""A JSON text cut into its parts, each left as it was spelled."""

import json
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_BLANK = " \t\r\n"
_DECODER = json.JSONDecoder()


class NotJSON(ValueError):
    """The text is not the JSON that was asked for."""


def members(text: str) -> dict[str, str]:
    """Return the members of the object that `text` spells; raises NotJSON."""
    return dict(_parts(text, "{", "}", _member))


def items(text: str) -> list[str]:
    """Return the items of the array that `text` spells; raises NotJSON."""
    return _parts(text, "[", "]", _item)


def load(text: str) -> object:
    """Return the value that `text` spells; raises NotJSON."""
    value, end = _value(text, _skip(text, 0))
    if _skip(text, end) != len(text):
        raise NotJSON("more than one value")
    return value


def _parts(
    text: str, opening: str, closing: str, part: Callable[[str, int], tuple[T, int]]
) -> list[T]:
    parts: list[T] = []
    at = _after(text, 0, opening)
    while text[at : at + 1] != closing:
        if parts:
            at = _after(text, at, ",")
        found, at = part(text, at)
        parts.append(found)
        at = _skip(text, at)
    if _skip(text, at + 1) != len(text):
        raise NotJSON("more than one value")
    return parts


def _member(text: str, at: int) -> tuple[tuple[str, str], int]:
    name, at = _value(text, at)
    if not isinstance(name, str):
        raise NotJSON("a member without a name")
    value, at = _item(text, _after(text, at, ":"))
    return (name, value), at


def _item(text: str, at: int) -> tuple[str, int]:
    _, end = _value(text, at)
    return text[at:end], end


def _value(text: str, at: int) -> tuple[object, int]:
    try:
        return _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):
        raise NotJSON("not JSON") from None


def _after(text: str, at: int, mark: str) -> int:
    at = _skip(text, at)
    if text[at : at + 1] != mark:
        raise NotJSON(f"{mark} is missing")
    return _skip(text, at + 1)


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _BLANK:
        at += 1
    return at
