"""What was made or downloaded once and is kept, each thing by what it was made from."""

import fcntl
import hashlib
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pointsman_image import step

# Enough for two checkouts, or for going back and forth between two states of one.
_KEPT_OF_A_KIND = 2
_COMPLETE = "complete"
# Of a recipe's hexadecimal digits: enough that no two are the same.
_NAMED_BY = 16


class NotKept(step.StepFailed):
    """Something would have to be downloaded, and may not be."""

    exit_status = 4


@dataclass(frozen=True, slots=True)
class Cache:
    """The folder of kept things; offline, what was to be downloaded is there or is missed."""

    directory: Path
    offline: bool = False

    def downloads(self, what: str) -> None:
        """Refuse the download where there may be none."""
        if self.offline:
            raise NotKept(f"{what}: not in {self.directory} yet")

    def folder(self, kind: str, recipe: str, fill: Callable[[Path], None]) -> Path:
        """The kept folder of that kind and recipe, filled first where it is not there."""
        place = self.directory / f"{kind}-{recipe[:_NAMED_BY]}"
        if not (place / _COMPLETE).is_file():
            shutil.rmtree(place, ignore_errors=True)
            (place / "root").mkdir(parents=True)
            fill(place / "root")
        (place / _COMPLETE).touch()
        self._forget_older(kind)
        return place / "root"

    @contextmanager
    def alone(self) -> Iterator[None]:
        """One build at a time: a second one waits, and then finds everything there."""
        self.directory.mkdir(parents=True, exist_ok=True)
        with (self.directory / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _forget_older(self, kind: str) -> None:
        # Not what other kinds add to the name: `examples` is no older `examples-wheels`.
        complete = self.directory.glob(f"{kind}-{'[0-9a-f]' * _NAMED_BY}/{_COMPLETE}")
        newest_last = sorted(complete, key=lambda path: path.stat().st_mtime)
        for old in newest_last[:-_KEPT_OF_A_KIND]:
            shutil.rmtree(old.parent)


def recipe(*words: str, files: Iterable[Path] = ()) -> str:
    """What a thing is made from, as one hash: words, and files with their names."""
    digest = hashlib.sha256()
    named = ((f"{path.parent.name}/{path.name}", path) for path in sorted(files))
    for part in [*words, *(part for pair in named for part in pair)]:
        content = part.read_bytes() if isinstance(part, Path) else part.encode()
        digest.update(b"%d:" % len(content) + content)
    return digest.hexdigest()
