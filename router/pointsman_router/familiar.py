"""Which heads of requests were met before, so that their bytes need no parser any more."""

from collections.abc import Iterable
from typing import Generic, TypeVar

import msgspec

T = TypeVar("T")

_END = b"\r\n\r\n"
# The two ways in which clients spell it; what spells it otherwise is never familiar.
_LENGTHS = (b"\r\nContent-Length: ", b"\r\ncontent-length: ")
_DIGITS_MAX = 8
# Agents send the same few heads all the time, those of 2026-07-28 one for each tool.
_HEADS_MAX = 4096
_HEAD_MAX_BYTES = 4096
# Headers that say the same on every request. Others may hold a secret that must not be kept, or
# differ each time.
_STEADY = frozenset(
    [
        *("accept", "accept-encoding", "accept-language", "cache-control", "connection"),
        *("content-length", "content-type", "host", "mcp-method", "mcp-name"),
        *("mcp-protocol-version", "pragma", "priority", "sec-fetch-mode", "user-agent"),
    ]
)


class Cut(msgspec.Struct, frozen=True):
    """One whole request: what its head is but for the length of its body, and the body."""

    form: bytes
    body: bytes


def cut(data: bytes, body_max_bytes: int) -> Cut | None:
    """Return what `data` is cut into, if it is exactly one request of some length; else None."""
    end = data.find(_END)
    if end < 0 or (found := _form(data, end)) is None:
        return None
    form, digits = found
    body = data[end + len(_END) :]
    if int(digits) != len(body) or len(body) > body_max_bytes:
        return None
    return Cut(form, body)


def form(head: bytes) -> bytes | None:
    """Return a whole head but for the length of its body; None where it never is familiar.

    Two heads of one form differ in nothing but the digits of a length, which stand at the same
    place: a parser that took one of them as something takes the other as the same.
    """
    found = _form(head, len(head) - len(_END))
    return found[0] if found else None


def _form(data: bytes, end: int) -> tuple[bytes, bytes] | None:
    begin = data.find(_LENGTHS[0], 0, end)
    if begin < 0 and (begin := data.find(_LENGTHS[1], 0, end)) < 0:
        return None
    begin += len(_LENGTHS[0])
    stop = data.find(b"\r\n", begin, end + 2)
    digits = data[begin:stop]
    if not digits.isdigit() or len(digits) > _DIGITS_MAX or end > _HEAD_MAX_BYTES:
        return None
    return data[:begin] + data[stop:end], digits


def is_steady(names: Iterable[str]) -> bool:
    """Say whether a head of these headers, in lower case, may become familiar."""
    return _STEADY.issuperset(names)


class Familiar(Generic[T]):
    """What heads were read as, by their forms."""

    def __init__(self) -> None:
        self._heads: dict[bytes, T] = {}

    def get(self, form: bytes) -> T | None:
        """Return what a head of this form was read as, if one was."""
        return self._heads.get(form)

    def learn(self, form: bytes, meaning: T) -> None:
        """Remember it, unless it is known: what was read once stays the same object."""
        if form in self._heads:
            return
        if len(self._heads) >= _HEADS_MAX:
            self._heads.clear()
        self._heads[form] = meaning
