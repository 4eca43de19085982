"""Which virtual environments the tests need beside their own, each from a hashed lock file."""

import shutil
import sys
from pathlib import Path

from provision import run
from provision.store import Store, recipe


def provide(store: Store, name: str, lock: Path, what: str) -> None:
    """Make the environment that this lock file describes, unless it is there already."""
    made_from = recipe(lock, sys.version)
    if store.holds(name, made_from):
        run.say(f"{what}: there already")
        return
    store.forget(name)
    place = store.place(name)
    shutil.rmtree(place, ignore_errors=True)
    run.command(f"{what}: making an environment", [sys.executable, "-m", "venv", str(place)])
    pip = [str(place / "bin" / "python"), "-m", "pip", "install", "--quiet"]
    options = ["--disable-pip-version-check", "--require-hashes", "--requirement", str(lock)]
    run.command(f"{what}: installing from {lock.name}", [*pip, *options])
    store.keep(name, made_from)
