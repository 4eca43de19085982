"""The image's own interpreter, run from outside it."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from pointsman_image import step

# So that nothing is checked at a start: the file system is read-only, and the layer is the check.
_MODE = "unchecked-hash"


def command(root: Path) -> list[str | Path]:
    """What starts the interpreter of a root file system, with its own libraries."""
    (loader,) = root.glob("usr/lib/*-linux-gnu/ld-linux-*.so.*")
    return [loader, "--library-path", loader.parent, root / "usr/bin/python3.11"]


def compile_all(root: Path, folders: Sequence[tuple[Path, Path]]) -> None:
    """Byte-compile folders, each given with the root under which the image will show it.

    Each in a process of its own, one file after the other: what a compiler has seen before shows
    in its output, and the output must be the same in every build.
    """
    environment = {
        "PATH": os.defpath,
        "PYTHONHOME": str(root / "usr"),
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    running = [
        subprocess.Popen(
            [
                *(*command(root), "-S", "-m", "compileall", "-q", "-f"),
                *("--invalidation-mode", _MODE, "-s", shown_from, "-p", "/", folder),
            ],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for folder, shown_from in folders
    ]
    said = [process.communicate()[0] for process in running]
    if any(process.returncode for process in running):
        raise step.StepFailed(f"not everything compiles:\n{''.join(said)}")
