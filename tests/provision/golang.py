"""Which programs in Go the tests need, each built from a go.sum of ours."""

import os
import shutil
from pathlib import Path

from provision import run, toolchains
from provision.store import Store, recipe


def provide(store: Store, name: str, source: Path, what: str) -> None:
    """Build the program in that folder, unless it is there already."""
    made_from = recipe(*sorted(source.iterdir()))
    if store.holds(name, made_from):
        run.say(f"{what}: there already")
        return
    store.forget(name)
    place = store.place(name)
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    go = toolchains.go(store)
    run.command(
        f"{what}: building",
        [go, "build", "-mod=readonly", "-trimpath", "-o", place / "client", "."],
        cwd=source,
        environment={
            "CGO_ENABLED": "0",
            "GOTOOLCHAIN": "local",
            "PATH": f"{go.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        },
    )
    store.keep(name, made_from)
