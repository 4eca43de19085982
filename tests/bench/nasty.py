"""Nasty names, read off a few bytes: quick enough for a hundred thousand examples.

What generates bytes generates names, and simpler bytes make simpler names.
"""

import re
from collections.abc import Callable, Iterator

from hypothesis import settings
from hypothesis import strategies as st

from pointsman_contract import names

# A thousand of each property in the suite; as many as a profile asks for where that is more.
THOROUGH = settings(max_examples=max(1000, settings().max_examples))

LENGTHS = st.integers(*names.LISTED_MAX_LENGTH_BOUNDS)
SAFE = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)

# Two tools whose shortened names are equal behind the prefix `p`: the hash is the same by chance.
TWINS = (f"{'x' * 60}9346", f"{'x' * 60}166524")
# They nest, begin each other, hold hashes, and are as long as can be.
PREFIXES = (
    *("p", "web", "web_scraper", "web_scraper_2", "a", "a_b", "a_b_c", "b_c", "s_7zip", "x9"),
    *(names.prefix_from("web-scraper-of-a-team-with-a-long-name"), "q" * 32, "web_a"),
)

_LONGEST = 128
_PIECES = (
    *("a", "b", "add", "Add", "ADD", "scraper", "web", "get", "7", "123_tool", "x", "_", "__"),
    *("-", "--", ".", "..", " ", "  ", "/", ":", "é", "e\u0301", "\u0430", "\uff41", "ß", "\u0131"),
    *("\u212a", "日本", "😀", "👩\u200d💻", "\u200b", "\u202e", "\n", "\x00", "\x7f", "\ud800"),
    *("p.", "p__", "web.", "web__", "web_scraper.", "web_scraper__", "scraper__", "scraper."),
    *("_2e7336dc", "_cdfb51ce", "t" * 20, "t" * 52, "t" * 64, "t" * 100, '"', "\\", "%2e"),
    *("\u3164", "\ufe0f"),
)
_ODD = (*TWINS, "", "t" * 128, "t" * 127 + "u", "😀" * 32, "x.", "__x", "a" * 53, "a" * 54)

Pick = Callable[[int], int]


def picking(data: bytes) -> Pick:
    """What picks a number below another one, byte by byte; behind the last there are zeros."""
    left = iter(data)
    return lambda below: next(left, 0) % below


def tool_names(pick: Pick, prefix: str, number: int) -> list[str]:
    """So many names of tools behind a prefix; some are called as another one is listed."""
    found: list[str] = []
    for _ in range(number):
        kind = pick(10)
        if kind == 9:
            found.append(_ODD[pick(len(_ODD))])
        elif kind == 8 and found:
            looks = list(_looks(prefix, found[-1]))
            found.append(looks[pick(len(looks))])
        else:
            pieces = (_PIECES[pick(len(_PIECES))] for _ in range(1 + kind % 3))
            found.append("".join(pieces)[:_LONGEST])
    return found


def _looks(prefix: str, tool: str) -> Iterator[str]:
    for length in (64, 32, _LONGEST):
        called = names.of(prefix, tool, max_length=length)
        yield called.safe.removeprefix(f"{prefix}__")
        yield called.listed.removeprefix(f"{prefix}.")


def _prefix(pick: Pick) -> str:
    if pick(2):
        return PREFIXES[pick(len(PREFIXES))]
    return names.prefix_from("".join("abz09_-.é A"[pick(11)] for _ in range(1 + pick(40))) + "a")


def _named(data: bytes) -> tuple[str, str]:
    pick = picking(data)
    prefix = _prefix(pick)
    return prefix, tool_names(pick, prefix, 1)[0]


def _all_named(data: bytes) -> list[tuple[str, str]]:
    pick = picking(data)
    prefixes = [_prefix(pick) for _ in range(1 + pick(3))]
    return [(prefix, tool) for prefix in prefixes for tool in tool_names(pick, prefix, pick(10))]


_ANY_TOOL = st.text(st.characters(), min_size=1, max_size=20)
"""Lone surrogates included: a name may come from a document that holds them."""
NAMED = st.binary(min_size=32, max_size=32).map(_named)
"""A prefix, and a tool behind it."""
ALL_NAMED = st.binary(min_size=96, max_size=96).map(_all_named)
"""Many of them."""
TOOLS = st.one_of(NAMED.map(lambda named: named[1]), _ANY_TOOL)
