"""Which absence in the directory means what, and which documents stay in force meanwhile."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from pointsman_contract import labels
from pointsman_contract.meta import Meta
from pointsman_contract.report import printable
from pointsman_contract.view import ViewMeta

# How the mirror names the folder of a server, and that of a view: two DNS labels, and a word.
_PUBLISHED = re.compile(r"([a-z0-9-]{1,63})\.([a-z0-9-]{1,63})(?:\.view)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Good:
    """The file holds a meta."""

    meta: Meta


@dataclass(frozen=True, slots=True)
class GoodView:
    """The file holds a view."""

    view: ViewMeta


@dataclass(frozen=True, slots=True)
class Bad:
    """The file is there and invalid as a whole, or may not be read."""

    message: str
    of_view: bool = False
    """Whether it would be a view; what cannot be told is a server's."""


@dataclass(frozen=True, slots=True)
class Absent:
    """The folder is there, its file is not."""

    message: str


File: TypeAlias = Good | GoodView | Bad | Absent


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
    """One folder of the directory that is a server's."""

    id: str
    """The server's identity as its last good file states it, else as the folder's name does."""
    meta: Meta | None
    """The last good one; None where there never was one."""
    fault: str | None = None
    """Why the file that is there now is not in force."""


@dataclass(frozen=True, slots=True)
class ViewEntry:
    """One folder of the directory that is a view's."""

    id: str
    """As a server's."""
    view: ViewMeta | None
    """The last good one; None where there never was one."""
    fault: str | None = None
    """Why the file that is there now is not in force."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The documents in force."""

    entries: Mapping[str, Entry] = field(default_factory=dict)
    """Those of servers, by folder, in order."""
    fault: str | None = None
    """Why the last good set is held, or, where none was loaded, why there is none."""
    loaded: bool = False
    """Whether the directory was ever readable as a whole."""
    views: Mapping[str, ViewEntry] = field(default_factory=dict)
    """By folder, in order; none of the servers' folders."""

    @property
    def folders(self) -> Mapping[str, Entry | ViewEntry]:
        """Everything that is in force, by folder."""
        return {**self.entries, **self.views}


def settle(previous: Reading, seen: Seen) -> Reading:
    """Return what is in force after the directory looked like `seen`.

    | seen                                           | in force                                |
    |------------------------------------------------|-----------------------------------------|
    | not readable as a whole                        | all that was; before any set: nothing   |
    | nothing, after a set with something            | all that was: more likely fault than wish |
    | nothing, in a finished generation              | nothing: all was removed on purpose     |
    | nothing, at the start                          | nothing                                 |
    | a folder is gone, others are there             | not that one: removed on purpose        |
    | a folder is there, its good file is bad or gone | its last good document, with the fault  |
    | a folder that never had a file                 | nothing                                 |
    | a bad file that never was good                 | no document, with the fault             |
    | a good file of the other kind                  | that one                                |
    """
    match seen:
        case Broken(message):
            return replace(previous, fault=message)
        case Folders(files, complete):
            before = previous.folders
            found = {
                folder: entry
                for folder in sorted(files)
                if (entry := _entry(folder, files[folder], before.get(folder), complete))
            }
            if before and not found and not complete:
                return replace(
                    previous,
                    fault="the directory is empty: the last good servers and views stay in force"
                    " until it holds one again",
                )
            return Reading(
                {folder: entry for folder, entry in found.items() if isinstance(entry, Entry)},
                None,
                loaded=True,
                views={
                    folder: entry for folder, entry in found.items() if isinstance(entry, ViewEntry)
                },
            )


def _entry(
    folder: str, file: File, before: Entry | ViewEntry | None, complete: bool
) -> Entry | ViewEntry | None:
    match file:
        case Good(meta):
            return Entry(meta.id, meta)
        case GoodView(view):
            return ViewEntry(view.id, view)
        case Bad(message, of_view):
            if held := _held(before, message):
                return held
            return (ViewEntry if of_view else Entry)(_id(folder, complete), None, message)
        case Absent(message):
            return _held(before, message)


def _held(before: Entry | ViewEntry | None, message: str) -> Entry | ViewEntry | None:
    """Return the last good document of a folder, with what is wrong with the one there now."""
    match before:
        case Entry(meta=Meta()) | ViewEntry(view=ViewMeta()):
            return replace(before, fault=message)
        case _:
            return None


def _id(folder: str, complete: bool) -> str:
    published = _PUBLISHED.fullmatch(folder) if complete else None
    if published:
        return labels.server_id(published[1], published[2])
    return printable(folder)
