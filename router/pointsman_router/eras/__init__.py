"""The revisions of the protocol: an enumerated set, compared for membership, never as dates."""

from enum import StrEnum


class Revision(StrEnum):
    """One revision that the router speaks."""

    V2024_11_05 = "2024-11-05"
    V2025_03_26 = "2025-03-26"
    V2025_06_18 = "2025-06-18"
    V2025_11_25 = "2025-11-25"
    MODERN = "2026-07-28"


# 2024-11-05 names another transport; spoken over this one it is served like its successor.
LEGACY = frozenset(Revision) - {Revision.MODERN}
_LEGACY_BY_NAME = {revision.value: revision for revision in LEGACY}
LEGACY_NEWEST = Revision.V2025_11_25
# What an absent MCP-Protocol-Version header means.
LEGACY_UNSTATED = Revision.V2025_03_26


def legacy_named(text: str) -> Revision | None:
    """Return the legacy revision that `text` names, if it names one."""
    return _LEGACY_BY_NAME.get(text)
