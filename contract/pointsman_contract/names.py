"""What a tool is called: prefixes, dotted names, client-safe names, and which names are shown."""

import hashlib
import re
import unicodedata
from dataclasses import dataclass

from pointsman_contract import hiddentext

PREFIX_PATTERN = r"[a-z][a-z0-9]*(_[a-z0-9]+)*"
PREFIX_MAX_LENGTH = 32

# Of a tool's or a prompt's own name: twice what MCP advises. It is remembered after the tool is
# gone, in three forms and by the ten thousand.
OWN_MAX_LENGTH = 256
# The longest name that leads anywhere: one of these behind a prefix.
DOTTED_MAX_LENGTH = PREFIX_MAX_LENGTH + 1 + OWN_MAX_LENGTH

# The largest model APIs refuse longer ones, and with one name the whole list.
LISTED_MAX_LENGTH = 64
LISTED_MAX_LENGTH_BOUNDS = (32, 128)

_HASH_LENGTH = 8
_PREFIX = re.compile(PREFIX_PATTERN, re.ASCII)
_NOT_IN_PREFIX = re.compile(r"[^a-z0-9]+", re.ASCII)
_NOT_SAFE = re.compile(r"[^A-Za-z0-9_-]", re.ASCII)

# Characters that show nothing although Unicode files them as letters or marks, or not at all:
# fillers, variation selectors, tags. A filter on control and format characters alone misses them.
INVISIBLE = hiddentext.FILLERS | frozenset(
    map(chr, (*range(0x180B, 0x180E), 0x180F, *range(0xFE00, 0xFE10), *range(0xE0000, 0xE1000)))
)
_UNSHOWN_CATEGORIES = frozenset(["Cc", "Cf", "Cs", "Zl", "Zp"])


class NoPrefix(ValueError):
    """A name holds nothing from which a prefix could be made."""


@dataclass(frozen=True, slots=True)
class Names:
    """Every name that leads to one tool of one server."""

    dotted: str
    """The canonical name: always callable, of any length."""
    listed: str
    """The dotted name as lists show it: shortened where the canonical one is too long."""
    safe: str
    """The same tool in letters, digits, `_` and `-` alone."""

    @property
    def each(self) -> tuple[str, str, str]:
        """All of them; some may be equal."""
        return self.dotted, self.listed, self.safe


def of(prefix: str, tool: str, *, max_length: int = LISTED_MAX_LENGTH) -> Names:
    """Return the names of `tool` behind `prefix`; they depend on nothing else."""
    whole = dotted(prefix, tool)
    return Names(
        dotted=whole,
        listed=_shortened(whole, whole, max_length),
        safe=_shortened(f"{prefix}__{_safe(tool)}", whole, max_length),
    )


def bare(tool: str, *, max_length: int = LISTED_MAX_LENGTH) -> str:
    """Return the name of `tool` where it needs no prefix, in the same letters as a safe one."""
    return _shortened(_safe(tool), tool, max_length)


def dotted(prefix: str, tool: str) -> str:
    """Return the canonical name of `tool` behind `prefix`."""
    return f"{prefix}.{tool}"


def prefix_from(name: str) -> str:
    """Return the prefix that a server called `name` has unless it asks for another.

    Raises NoPrefix where `name` holds no ASCII letter or digit.
    """
    prefix = _NOT_IN_PREFIX.sub("_", name.lower()).strip("_")
    if not prefix:
        raise NoPrefix(name)
    if prefix[0].isdigit():
        prefix = f"s_{prefix}"
    if len(prefix) <= PREFIX_MAX_LENGTH:
        return prefix
    head = prefix[: PREFIX_MAX_LENGTH - _HASH_LENGTH - 1].rstrip("_")
    return f"{head}_{_hash(name)}"


def is_prefix(text: str) -> bool:
    """Say whether `text` may stand in front of tools' names."""
    return len(text) <= PREFIX_MAX_LENGTH and _PREFIX.fullmatch(text) is not None


def is_exposable(tool: str) -> bool:
    """Say whether a tool of this name may be shown: not empty, and nothing in it hides."""
    return bool(tool) and not any(
        unicodedata.category(character) in _UNSHOWN_CATEGORIES or character in INVISIBLE
        for character in tool
    )


def _safe(tool: str) -> str:
    mapped = _NOT_SAFE.sub("_", tool)
    return tool if mapped == tool else f"{mapped}_{_hash(tool)}"


def _shortened(name: str, dotted: str, max_length: int) -> str:
    if len(name) <= max_length:
        return name
    return f"{name[: max_length - _HASH_LENGTH - 1]}_{_hash(dotted)}"


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_LENGTH]
