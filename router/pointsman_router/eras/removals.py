"""What an agent of each revision cannot know, and is therefore not told.

Everything else passes as it came: the value of a member that stays is never touched.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pointsman_router.eras import Revision


@dataclass(frozen=True, slots=True)
class Unknown:
    """Members by name, and kinds of content, that one revision lacks."""

    result: frozenset[str]
    """Of every result."""
    tool: frozenset[str]
    """Of a tool in a list."""
    block: frozenset[str]
    """Of a block of content."""
    links: bool
    """Whether a `resource_link` is a text with its URI."""
    reserved_meta: bool
    """Whether the protocol's own keys of `_meta` are removed."""
    plain_structure: bool
    """Whether structure is an object or absent, in schemas and in results."""


_MODERN = Unknown(
    frozenset(), frozenset(), frozenset(), links=False, reserved_meta=False, plain_structure=False
)
_NEWER_THAN_2025_11_25 = frozenset(["resultType", "ttlMs", "cacheScope"])
# The router offers no tasks to anyone; before this revision a strict reader refuses even the word.
_NEWER_THAN_2025_06_18 = frozenset(["icons", "execution"])

_V2025_11_25 = Unknown(
    _NEWER_THAN_2025_11_25,
    frozenset(),
    frozenset(),
    links=False,
    reserved_meta=True,
    plain_structure=True,
)
_V2025_06_18 = Unknown(
    _NEWER_THAN_2025_11_25,
    _NEWER_THAN_2025_06_18,
    frozenset(["icons"]),
    links=False,
    reserved_meta=True,
    plain_structure=True,
)
_V2025_03_26 = Unknown(
    _NEWER_THAN_2025_11_25 | {"structuredContent"},
    _NEWER_THAN_2025_06_18 | {"title", "outputSchema"},
    frozenset(["icons"]),
    links=True,
    reserved_meta=True,
    plain_structure=True,
)

UNKNOWN: Mapping[Revision, Unknown] = {
    Revision.MODERN: _MODERN,
    Revision.V2025_11_25: _V2025_11_25,
    Revision.V2025_06_18: _V2025_06_18,
    Revision.V2025_03_26: _V2025_03_26,
    Revision.V2024_11_05: _V2025_03_26,
}
