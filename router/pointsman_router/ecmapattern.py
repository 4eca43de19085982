"""Whether a regular expression is one that ECMAScript reads, which JSON Schema means by `pattern`.

What is rare counts as none: whoever asks loses little by a wrong no, and a list by a wrong yes.
"""

import re
from collections.abc import Iterator

_SYNTAX = r"[\^$\\.*+?()[\]{}|/]"
_CODE = r"x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|u\{0*(?:10|[0-9A-Fa-f])?[0-9A-Fa-f]{1,4}\}"
_ESCAPE = rf"\\(?:[dDwWsSfnrtv]|0(?![0-9])|{_SYNTAX}|{_CODE})"
_TOKEN = re.compile(
    rf"""
    (?P<edge>[\^$]|\\[bB])
    |(?P<look>\(\?<?[=!])
    |(?P<group>\((?:\?:)?(?!\?))
    |(?P<close>\))
    |(?P<bar>\|)
    |(?P<repeat>(?:[*+?]|\{{(?P<least>\d{{1,9}})(?:,(?P<most>\d{{1,9}})?)?\}})\??)
    |(?P<set>\[\^?(?P<members>(?:{_ESCAPE}|\\[b-]|[^\\\]])*)\])
    |(?P<atom>{_ESCAPE}|[^\\^$*+?()[\]{{}}|])
    """,
    re.VERBOSE | re.ASCII | re.DOTALL,
)
_MEMBER = re.compile(rf"{_ESCAPE}|\\[b-]|[^\\]", re.ASCII | re.DOTALL)
_CONTROLS = {"f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "b": "\b", "0": "\0"}


def is_portable(pattern: str) -> bool:
    """Say whether a reader of ECMAScript's expressions takes it in its Unicode-aware mode."""
    at, may_repeat = 0, False
    looks: list[bool] = []  # of each open group
    while at < len(pattern):
        token = _TOKEN.match(pattern, at)
        if token is None:
            return False
        at = token.end()
        match token.lastgroup:
            case "group" | "look" as kind:
                looks.append(kind == "look")
                may_repeat = False
            case "close":
                if not looks:
                    return False
                may_repeat = not looks.pop()
            case "repeat":
                if not may_repeat or _shrinks(token["least"], token["most"]):
                    return False
                may_repeat = False
            case "set":
                if not _are_in_order(token["members"]):
                    return False
                may_repeat = True
            case "atom":
                may_repeat = True
            case _:
                may_repeat = False
    return not looks


def _shrinks(least: str | None, most: str | None) -> bool:
    return bool(least and most) and int(least or 0) > int(most or 0)


def _are_in_order(members: str) -> bool:
    """Say whether every range in a set goes from a character to one that is not before it."""
    found = list(_ordinals(members))
    at = 0
    while at < len(found):
        if at + 2 < len(found) and found[at + 1] == "-":
            first, last = found[at], found[at + 2]
            if not (isinstance(first, int | str) and isinstance(last, int | str)):
                return False
            if _ordinal(first) > _ordinal(last):
                return False
            at += 2
        at += 1
    return True


def _ordinals(members: str) -> Iterator[int | str | None]:
    """Yield each member: a bare character, the number of an escaped one, None for a whole class."""
    for member in _MEMBER.findall(members):
        if not member.startswith("\\"):
            yield member
        elif member[1] in "dDwWsS":
            yield None
        elif member[1] in "xu":
            yield int(member[2:].strip("{}"), 16)
        else:
            yield ord(_CONTROLS.get(member[1], member[1]))


def _ordinal(member: int | str) -> int:
    return member if isinstance(member, int) else ord(member)
