"""What an upstream lists of its prompts, resources or templates, and what could never be shown."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from pointsman_contract import digest, names, rawjson
from pointsman_contract.report import ToolReason
from pointsman_router import demands, entrycheck
from pointsman_router.entrycheck import KNOWN_BY, Kind
from pointsman_router.leftout import LeftOut

# What is larger is no description but a burden on every model's context.
ENTRY_MAX_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Entry:
    """One prompt, resource or template as its upstream described it."""

    name: str
    """What it is known by: its name, its URI, its template."""
    members: tuple[tuple[str, bytes], ...]
    """Name and JSON of each member, as received, `null` where it is not allowed left out."""
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Entries:
    """An upstream's entries of one kind, each either usable or left out with a reason."""

    kind: Kind
    entries: tuple[Entry, ...] = ()
    """In order of their names."""
    skipped: tuple[LeftOut, ...] = ()
    spelled: frozenset[str] = frozenset()
    """Every name that the upstream wrote, also where it is left out."""

    def spelled_as(self, known: "Entries") -> "Entries":
        """Return these, and as `known` has it what is spelled otherwise and is the same."""
        before = {entry.name: entry for entry in known.entries}
        entries = (_spelled_as(entry, before.get(entry.name)) for entry in self.entries)
        return replace(self, entries=tuple(entries))


def read(kind: Kind, raws: Iterable[bytes]) -> Entries:
    """Return what a list of this kind, page after page, comes to: no entry costs its siblings."""
    named = [_read(kind, raw) for raw in raws]
    # An invalid one counts too: nobody can tell which of the two is meant.
    count = Counter(name for name, _ in named if name is not None)
    twice = {name for name, number in count.items() if number > 1}
    once = [entry for name, entry in named if name not in twice]
    skipped = [entry for entry in once if isinstance(entry, LeftOut)]
    skipped += [
        LeftOut(name, ToolReason.DUPLICATE_NAME, f"the upstream lists this {kind} more than once")
        for name in twice
    ]
    return Entries(
        kind,
        entries=tuple(
            sorted(
                (entry for entry in once if isinstance(entry, Entry)), key=lambda each: each.name
            )
        ),
        skipped=tuple(sorted(skipped, key=lambda each: (each.name, each.reason))),
        spelled=frozenset(count),
    )


def _spelled_as(entry: Entry, known: Entry | None) -> Entry:
    if known is None or not digest.same(dict(entry.members), dict(known.members)):
        return entry
    return known


def _read(kind: Kind, raw: bytes) -> tuple[str | None, Entry | LeftOut]:
    """Return the name, where one can be read and could be exposed, and what becomes of the rest."""
    key = KNOWN_BY[kind]
    try:
        members = rawjson.members(raw)
    except rawjson.Malformed:
        complaint = f"the {kind} is no object with unique members"
        return None, LeftOut("", ToolReason.INVALID_SCHEMA, complaint)
    try:
        name = rawjson.string(members.get(key, b"null"))
    except rawjson.Malformed:
        return None, LeftOut("", ToolReason.INVALID_NAME, f"the {kind}'s {key} must be a string")
    if not names.is_exposable(name):
        complaint = f"the {kind}'s {key} must not be empty or hold control or hidden characters"
        return None, LeftOut(name, ToolReason.INVALID_NAME, complaint)
    return name, _judged(kind, name, members, raw)


def _judged(kind: Kind, name: str, members: Mapping[str, bytes], raw: bytes) -> Entry | LeftOut:
    if len(raw) > ENTRY_MAX_BYTES:
        too_large = f"the {kind}'s description is larger than {ENTRY_MAX_BYTES} bytes"
        return LeftOut(name, ToolReason.TOO_LARGE, too_large)
    if wrong := entrycheck.address_problem(kind, name):
        return LeftOut(name, ToolReason.INVALID_NAME, f"the {kind}'s {wrong}")
    if wrong := demands.unreadable(raw):
        return LeftOut(name, ToolReason.INVALID_SCHEMA, f"the {kind}'s description {wrong}")
    kept = entrycheck.normalised(kind, members)
    if wrong := entrycheck.problem(kind, kept):
        return LeftOut(name, ToolReason.INVALID_SCHEMA, f"the {kind}'s {wrong}")
    return Entry(name, tuple(kept.items()), len(raw))
