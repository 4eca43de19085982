"""The YAML files that lie in a folder now, and what each said when it last made sense."""

import os
import stat
from dataclasses import dataclass, replace
from pathlib import Path

from pointsman import documents
from pointsman.documents import Unreadable
from pointsman.judgement import Fault, File

# What `kubectl apply -f FOLDER` reads, which does not look into folders below either.
SUFFIXES = frozenset([".yaml", ".yml", ".json"])


@dataclass(frozen=True, slots=True)
class Look:
    """What there is to read."""

    files: tuple[File, ...] = ()
    """In the order of their names."""
    fault: str | None = None
    """Why the folder as a whole cannot be read; what was there before still counts."""


_Stamp = tuple[int, int, int, int]


def read(path: Path) -> File:
    """Return what the file at `path` says, or why it says nothing."""
    try:
        with path.open("rb") as file:
            data = file.read(documents.MAX_BYTES + 1)
        return File(str(path), documents.read(data))
    except OSError as exc:
        return File(str(path), fault=Fault(f"cannot be read: {exc.strerror}"))
    except Unreadable as exc:
        return File(str(path), fault=Fault(exc.message, exc.line))


class Folder:
    """One folder, looked at again and again.

    Editors empty a file before they fill it, and move it away before they write it anew. So a
    change counts once two looks have found the same.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: dict[str, _Stamp] | None = None
        self._read: dict[str, _Stamp] = {}
        self._files: dict[str, File] = {}

    def look(self) -> Look:
        """Return what there is; a file that makes no sense now keeps what it said before."""
        try:
            stamps = _stamps(self._path)
        except OSError as exc:
            return Look(self._ordered(), fault=f"{self._path} cannot be read: {exc.strerror}")
        seen, self._seen = self._seen, stamps
        for name in {*stamps, *self._files}:
            stamp = stamps.get(name)
            is_settled = seen is None or seen.get(name) == stamp
            if is_settled and self._read.get(name) != stamp:
                self._take(name, stamp)
        return Look(self._ordered())

    def _take(self, name: str, stamp: _Stamp | None) -> None:
        if stamp is None:
            del self._read[name], self._files[name]
            return
        file = read(self._path / name)
        before = self._files.get(name)
        if file.fault and before:
            file = replace(file, documents=before.documents)
        self._read[name], self._files[name] = stamp, file

    def _ordered(self) -> tuple[File, ...]:
        return tuple(self._files[name] for name in sorted(self._files))


def _stamps(path: Path) -> dict[str, _Stamp]:
    stamps: dict[str, _Stamp] = {}
    with os.scandir(path) as entries:
        for entry in entries:
            if entry.name.startswith(".") or Path(entry.name).suffix not in SUFFIXES:
                continue
            try:
                found = entry.stat()
            except OSError:
                continue
            if stat.S_ISREG(found.st_mode):
                stamps[entry.name] = (
                    found.st_ino,
                    found.st_ctime_ns,
                    found.st_mtime_ns,
                    found.st_size,
                )
    return stamps
