"""Which absence in the directory means what, and which metas stay in force meanwhile."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from pointsman_contract import labels
from pointsman_contract.meta import Meta
from pointsman_contract.report import printable

# How the mirror names a server's folder: two DNS labels.
_PUBLISHED = re.compile(r"([a-z0-9-]{1,63})\.([a-z0-9-]{1,63})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Good:
    """The file holds a meta."""

    meta: Meta


@dataclass(frozen=True, slots=True)
class Bad:
    """The file is there and invalid as a whole, or may not be read."""

    message: str


@dataclass(frozen=True, slots=True)
class Absent:
    """The folder is there, its meta.json is not."""

    message: str


File: TypeAlias = Good | Bad | Absent


@dataclass(frozen=True, slots=True)
class Folders:
    """The directory could be read as a whole: what lies in each folder, by the folder's name."""

    files: Mapping[str, File]
    complete: bool
    """A finished generation of the mirror: nobody meant what it lacks, not even the last one."""


@dataclass(frozen=True, slots=True)
class Broken:
    """The directory could not be read as a whole: nothing may be concluded from it."""

    message: str


Seen: TypeAlias = Folders | Broken


@dataclass(frozen=True, slots=True)
class Entry:
    """One folder of the directory."""

    id: str
    """The server's identity as its last good file states it, else as the folder's name does."""
    meta: Meta | None
    """The last good one; None where there never was one."""
    fault: str | None = None
    """Why the file that is there now is not in force."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The metas in force."""

    entries: Mapping[str, Entry] = field(default_factory=dict)
    """By folder, in order."""
    fault: str | None = None
    """Why the last good set is held, or, where none was loaded, why there is none."""
    loaded: bool = False
    """Whether the directory was ever readable as a whole."""


def settle(previous: Reading, seen: Seen) -> Reading:
    """Return what is in force after the directory looked like `seen`.

    | seen                                           | in force                                |
    |------------------------------------------------|-----------------------------------------|
    | not readable as a whole                        | all that was; before any set: nothing   |
    | no server, after a set with servers            | all that was: more likely fault than wish |
    | no server, in a finished generation            | no server: all were removed on purpose  |
    | no server, at the start                        | no server                               |
    | a folder is gone, others are there             | not that one: removed on purpose        |
    | a folder is there, its good file is bad or gone | its last good meta, with the fault      |
    | a folder that never had a file                 | no server                               |
    | a bad file that never was good                 | a server without meta, with the fault   |
    """
    match seen:
        case Broken(message):
            return replace(previous, fault=message)
        case Folders(files, complete):
            entries = {
                folder: entry
                for folder in sorted(files)
                if (entry := _entry(folder, files[folder], previous.entries.get(folder), complete))
            }
            if previous.entries and not entries and not complete:
                return replace(
                    previous,
                    fault="the directory is empty: the last good servers stay in force"
                    " until it holds one again",
                )
            return Reading(entries, None, loaded=True)


def _entry(folder: str, file: File, before: Entry | None, complete: bool) -> Entry | None:
    held = before.meta if before else None
    match file:
        case Good(meta):
            return Entry(meta.id, meta)
        case Bad(message):
            return Entry(held.id if held else _id(folder, complete), held, message)
        case Absent(message):
            return Entry(held.id, held, message) if held else None


def _id(folder: str, complete: bool) -> str:
    published = _PUBLISHED.fullmatch(folder) if complete else None
    if published:
        return labels.server_id(published[1], published[2])
    return printable(folder)
