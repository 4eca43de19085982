"""The directory that readers follow: whole generations, and the link that names one of them."""

import os
import secrets
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pointsman_mirror.layout import COMPLETE, File, Generation

LINK = "..data"
GENERATION_PREFIX = "..gen-"

_NEW_LINK = "..data_tmp"


class NotWritten(Exception):
    """A generation could not be written; the one before it stays in force."""


@dataclass(frozen=True, slots=True)
class InForce:
    """The generation that readers see."""

    target: str
    """What the link names."""
    written_at_s: float
    """When it was completed, in seconds of the epoch."""


class Directory:
    """A directory with one writer.

    Nothing is flushed to the medium: a killed process loses no written page, and after a crash of
    the machine what lies there is trusted only once it has been read back and found equal to what
    is asked for. A flush per file would cost a large generation seconds, and protect nothing more.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def in_force(self) -> InForce | None:
        """Return the finished generation that the link names, if there is one."""
        try:
            target = os.readlink(self._path / LINK)
            finished = (self._path / target / COMPLETE).stat()
        except OSError:
            return None
        is_ours = target.startswith(GENERATION_PREFIX) and "/" not in target
        return InForce(target, finished.st_mtime) if is_ours else None

    def publish(self, generation: Generation) -> InForce:
        """Put `generation` in force; one that is in force already is left alone.

        Raises NotWritten, and readers go on with what they had.
        """
        before = self.in_force()
        if before and self._holds(before.target, generation.files):
            self._sweep(keep={before.target})
            return before
        target = f"{GENERATION_PREFIX}{secrets.token_hex(8)}"
        kept = {before.target} if before else set()
        try:
            self._sweep(keep=kept)
            written_at_s = self._write(target, generation.files)
            self._swap(target)
        except OSError as exc:
            # What is left of the attempt may be the very bytes that the next one lacks.
            self._sweep(keep=kept)
            raise NotWritten(f"{exc.filename or self._path}: {exc.strerror}") from exc
        # A reader may have opened the one before and not finished.
        self._sweep(keep={target, *kept})
        return InForce(target, written_at_s)

    def _write(self, target: str, files: tuple[File, ...]) -> float:
        folder = self._path / target
        folder.mkdir(parents=True)
        for file in files:
            path = folder / file.path
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(file.content)
        return (folder / COMPLETE).stat().st_mtime

    def _swap(self, target: str) -> None:
        new = self._path / _NEW_LINK
        new.unlink(missing_ok=True)
        new.symlink_to(target)
        new.replace(self._path / LINK)

    def _holds(self, target: str, files: tuple[File, ...]) -> bool:
        folder = self._path / target
        try:
            return {entry.name for entry in os.scandir(folder)} == {
                file.path.partition("/")[0] for file in files
            } and all((folder / file.path).read_bytes() == file.content for file in files)
        except OSError:
            return False

    def _sweep(self, keep: set[str]) -> None:
        with suppress(OSError):
            for entry in list(os.scandir(self._path)):
                if entry.name.startswith(GENERATION_PREFIX) and entry.name not in keep:
                    shutil.rmtree(entry.path, ignore_errors=True)
