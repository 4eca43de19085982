"""What the cache holds already: a stamp for each provided thing, and one lock for all."""

import fcntl
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Store:
    """The folder of provided things."""

    directory: Path

    def place(self, name: str) -> Path:
        """The folder of one provided thing."""
        return self.directory / name

    def holds(self, name: str, recipe: str) -> bool:
        """Whether that thing is there and was made by this recipe."""
        stamp = self._stamp(name)
        return stamp.is_file() and stamp.read_text() == recipe and self.place(name).is_dir()

    def forget(self, name: str) -> None:
        """Note that the thing is about to change: until it is `kept`, it is not there."""
        self._stamp(name).unlink(missing_ok=True)

    def keep(self, name: str, recipe: str) -> None:
        """Note that the thing is complete."""
        self._stamp(name).write_text(recipe)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """One provisioning at a time: a second one waits, and then finds everything there."""
        (self.directory / ".stamps").mkdir(parents=True, exist_ok=True)
        with (self.directory / ".provision.lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                print("provision: waiting for another run to end ...", flush=True)
                fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _stamp(self, name: str) -> Path:
        return self.directory / ".stamps" / name


def recipe(*parts: str | Path) -> str:
    """What a thing is made from, as one hash: words, and the content of files."""
    digest = hashlib.sha256()
    for part in parts:
        content = part.read_bytes() if isinstance(part, Path) else part.encode()
        digest.update(b"%d:" % len(content) + content)
    return digest.hexdigest()
