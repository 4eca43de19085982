"""One prompt, resource or template in a list: rendered once for each revision."""

from collections.abc import Mapping

from pointsman_contract import labels, rawjson
from pointsman_router import metakeys
from pointsman_router.entries import Entry
from pointsman_router.eras import LEGACY_NEWEST, Revision
from pointsman_router.eras.removals import UNKNOWN
from pointsman_router.listing import SERVER_KEY

PROMPT_KEY = f"{labels.GROUP}/prompt"

_DIFFERENT = (Revision.MODERN, LEGACY_NEWEST, Revision.V2025_06_18, Revision.V2025_03_26)
# What came together with a member of an entry, inside of members that are older.
_CAME_INSIDE = {"title": {"arguments": "title", "annotations": "lastModified"}}

_Members = Mapping[str, bytes]


def rendered(members: _Members) -> Mapping[Revision, bytes]:
    """Return the object of these members as an agent of each revision that differs may see it."""
    results: dict[Revision, bytes] = {}
    for revision in _DIFFERENT:
        object_ = rawjson.assemble(_known(members, revision))
        # Equal renderings share their bytes.
        results[revision] = next((old for old in results.values() if old == object_), object_)
    return results


def marked(entry: Entry, server: str, own: _Members | None = None) -> dict[str, bytes]:
    """Return the members of `entry`, its origin in its `_meta`, and there nothing else of ours."""
    members = dict(entry.members)
    meta = rawjson.pairs(members["_meta"]) if "_meta" in members else []
    kept = {key: value for key, value in meta if not metakeys.is_ours(key)}
    members["_meta"] = rawjson.assemble(
        kept | {SERVER_KEY: rawjson.quote(server)} | dict(own or {})
    )
    return members


def variant(revision: Revision) -> Revision:
    """Return whose rendering an agent of `revision` gets."""
    return Revision.V2025_03_26 if revision is Revision.V2024_11_05 else revision


def _known(members: _Members, revision: Revision) -> _Members:
    unknown = UNKNOWN[revision]
    kept = {name: raw for name, raw in members.items() if name not in unknown.tool}
    for name in unknown.tool & _CAME_INSIDE.keys():
        for outer, inner in _CAME_INSIDE[name].items():
            if outer in kept:
                kept[outer] = _without(inner, kept[outer])
    if unknown.reserved_meta:
        meta = rawjson.pairs(kept["_meta"])
        if any(metakeys.is_reserved(key) for key, _ in meta):
            kept["_meta"] = rawjson.assemble(
                (key, value) for key, value in meta if not metakeys.is_reserved(key)
            )
    return kept


def _without(unknown: str, raw: bytes) -> bytes:
    """Return an object, or a list of them, without a member; anything else is nobody's business."""
    match rawjson.kind(raw):
        case "[":
            return b"[" + b",".join(_without(unknown, item) for item in rawjson.items(raw)) + b"]"
        case "{":
            pairs = rawjson.pairs(raw)
            kept = [pair for pair in pairs if pair[0] != unknown]
            return raw if len(kept) == len(pairs) else rawjson.assemble(kept)
        case _:
            return raw
