"""The JSON that every door accepts: one value, UTF-8, no duplicate keys, bounded size and depth."""

import json
import math
import re
from collections.abc import Iterable
from itertools import accumulate
from typing import Never, TypeAlias

JSON: TypeAlias = "bool | int | float | str | list[JSON] | dict[str, JSON] | None"

# Deep enough for every document of ours and every schema met in practice, shallow enough that
# no recursive reader behind this door overflows its stack.
MAX_DEPTH = 64

# Possessive, so that no string is read twice.
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_STEPS = bytes.maketrans(b"[{]}", bytes([1, 1, 0xFF, 0xFF]))  # 0xFF: -1, as a signed byte
_NO_BRACKETS = bytes(set(range(256)) - set(b"[{]}"))


class NotStrictJSON(ValueError):
    """The text is not JSON as the doors demand it; the message says why, never what it held."""


def loads(data: bytes, *, max_bytes: int, max_depth: int = MAX_DEPTH) -> JSON:
    """Return the one value that `data` spells.

    Raises NotStrictJSON for more than `max_bytes`, a byte order mark, bad UTF-8, a duplicate key,
    NaN or an infinity in any spelling, a lone surrogate, more than `max_depth` levels, or no JSON.
    """
    if len(data) > max_bytes:
        raise NotStrictJSON(f"is larger than {max_bytes} bytes")
    if data.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):
        raise NotStrictJSON("begins with a byte order mark")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise NotStrictJSON("is not UTF-8") from None
    if depth(data) > max_depth:
        raise NotStrictJSON(f"is nested deeper than {max_depth} levels")
    try:
        value: JSON = json.loads(
            text,
            object_pairs_hook=_object,
            parse_constant=_no_constant,
            parse_float=_finite,
        )
    except NotStrictJSON:
        raise
    except (ValueError, RecursionError):
        raise NotStrictJSON("is not JSON") from None
    if "\\u" in text:
        _demand_encodable(value)
    return value


def depth(data: bytes) -> int:
    """Return how deeply arrays and objects nest in `data`, brackets inside strings not counted.

    Without recursion, and in a few hundredths of a second for a mebibyte: it may be asked of bytes
    that nobody has judged yet.
    """
    steps = _STRING.sub(b"", data).translate(_STEPS, _NO_BRACKETS)
    return max(accumulate(memoryview(steps).cast("b"), initial=0))


def _object(pairs: Iterable[tuple[str, JSON]]) -> dict[str, JSON]:
    result: dict[str, JSON] = {}
    for key, value in pairs:
        if key in result:
            raise NotStrictJSON("has a key twice in one object")
        result[key] = value
    return result


def _no_constant(spelling: str) -> Never:
    raise NotStrictJSON(f"holds {spelling}, which is no JSON number")


def _finite(spelling: str) -> float:
    number = float(spelling)
    if not math.isfinite(number):
        raise NotStrictJSON("holds a number too large to represent")
    return number


def _demand_encodable(value: JSON) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise NotStrictJSON("holds half of a surrogate pair") from None
