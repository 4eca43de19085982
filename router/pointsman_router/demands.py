"""What strict clients demand of every description alike, a tool's, a prompt's or a resource's."""

import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from pointsman_contract import rawjson

JSON: TypeAlias = "bool | int | float | str | list[JSON] | dict[str, JSON] | None"

# Python reads no longer ones, and both of the Python SDKs lose the list for one.
WHOLE_NUMBER_MAX_DIGITS = 4300

_THEMES = frozenset(["dark", "light"])
# Possessive, so that no text is read twice.
_NO_HALF_PAIR = re.compile(
    rb"(?:[^\\]++|\\(?:[^u]|u(?![dD][89A-Fa-f])|u[dD][89ABab]..\\u[dD][C-Fc-f]))*+", re.DOTALL
)
_LONG_NUMBER = re.compile(rb"[:,\[\s]-?[0-9]{%d}" % (WHOLE_NUMBER_MAX_DIGITS + 1))
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)


class Wrong(ValueError):
    """What is wrong with a description, and where."""


def unreadable(description: bytes) -> str | None:
    """Return what in a description is JSON that some clients cannot read, or None.

    The text says what to change, and repeats nothing that the upstream wrote.
    """
    if b"\\u" in description and not _NO_HALF_PAIR.fullmatch(description):
        return r"holds half of a surrogate pair (\ud83d alone): cut texts between characters"
    if (
        len(description) > WHOLE_NUMBER_MAX_DIGITS
        and _LONG_NUMBER.search(description)
        and _LONG_NUMBER.search(_STRING.sub(b'""', description))
    ):
        return (
            f"holds a number of more than {WHOLE_NUMBER_MAX_DIGITS} digits: "
            "shorten it, or write it with an exponent"
        )
    return None


def without_null(raw: bytes) -> bytes:
    """Return an object, or a list of them, without members that are `null`; else `raw` itself."""
    if b"null" not in raw:
        return raw
    try:
        if rawjson.kind(raw) == "[":
            items = rawjson.items(raw)
            kept = [without_null(item) for item in items]
            return raw if kept == items else b"[" + b",".join(kept) + b"]"
        if rawjson.kind(raw) == "{":
            pairs = rawjson.pairs(raw)
            some = [pair for pair in pairs if pair[1] != b"null"]
            return raw if some == pairs else rawjson.assemble(some)
    except rawjson.Malformed:
        pass
    return raw


def value(raw: bytes) -> JSON:
    """Return the value of a member that clients read whole, each number as the nearest float.

    Raises Wrong for a number that is beyond any: Go's SDK loses the list for it.
    """
    read: JSON = json.loads(raw, parse_int=_finite, parse_float=_finite)
    return read


def check_icons(icons: JSON) -> None:
    """Raise Wrong where icons are none that every client reads."""
    for icon in objects(icons, "icons"):
        if not isinstance(icon.get("src"), str):
            raise Wrong("each of icons must have a src")
        check_strings(icon, ("mimeType",), "icons.")
        sizes = icon.get("sizes", [])
        if not isinstance(sizes, list) or not all(isinstance(size, str) for size in sizes):
            raise Wrong("icons.sizes must be a list of strings")
        theme = icon.get("theme", "dark")
        if not isinstance(theme, str) or theme not in _THEMES:
            raise Wrong("icons.theme must be dark or light")


def check_strings(values: Mapping[str, JSON], names: Iterable[str], where: str = "") -> None:
    """Raise Wrong where one of these members is there and no string."""
    for name in names:
        if not isinstance(values.get(name, ""), str):
            raise Wrong(f"{where}{name} must be a string")


def objects(value: JSON, where: str) -> Iterable[dict[str, JSON]]:
    """Yield the objects of a list; raises Wrong for anything else."""
    if not isinstance(value, list):
        raise Wrong(f"{where} must be a list")
    for item in value:
        if not isinstance(item, dict):
            raise Wrong(f"{where} must be a list of objects")
        yield item


def _finite(spelling: str) -> float:
    number = float(spelling)
    if math.isinf(number):
        raise Wrong("numbers must be below 1.8e308")
    return number
