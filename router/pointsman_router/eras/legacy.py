"""The rules of the revisions that open with `initialize`."""

from collections.abc import Mapping

from pointsman_contract import rawjson
from pointsman_router import refusals
from pointsman_router.eras import LEGACY_NEWEST, LEGACY_UNSTATED, Revision, legacy_named
from pointsman_router.refusals import Refusal


def in_force(header: str | None) -> Revision:
    """Return the revision that a request is made in, by its MCP-Protocol-Version header.

    Without sessions nothing else binds a request to what `initialize` agreed on.
    """
    return (legacy_named(header) if header else None) or LEGACY_UNSTATED


def agreed(params: Mapping[str, bytes]) -> Revision | Refusal:
    """Answer an `initialize`: the revision asked for if it is legacy and served, else our newest.

    Never a modern one, also to an agent that asks for it: there is nothing to initialise then.
    """
    try:
        asked = rawjson.string(params.get("protocolVersion", b""))
    except rawjson.Malformed:
        return refusals.invalid_params("params.protocolVersion must be a string.")
    return legacy_named(asked) or LEGACY_NEWEST


def takes_batches(revision: Revision) -> bool:
    """Say whether a body may be an array of messages."""
    return revision in (Revision.V2024_11_05, Revision.V2025_03_26)
