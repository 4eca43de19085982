"""What a hashed lock file names, and how it and our own wheel get into a folder."""

import re
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from pointsman_image import step

_PYTHON = "3.11"
# Debian 12's C library, and so every older one that a wheel may ask for.
_GLIBC_MINORS = range(36, 4, -1)
_MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}
_PINNED = re.compile(
    r"^(?P<name>[A-Za-z0-9._-]+)(?:\[.*?\])?==(?P<version>[^\s;\\]+)", re.MULTILINE
)


def pinned(lock: str) -> dict[str, str]:
    """Each package that a lock names, with its version."""
    return {each["name"]: each["version"] for each in _PINNED.finditer(lock)}


def without(lock: str, others: str) -> str:
    """The lock's entries that the other one has not."""
    have = pinned(others)
    entries = re.split(r"^(?=\S)", lock, flags=re.MULTILINE)
    return "".join(entry for entry in entries if not pinned(entry).keys() <= have.keys())


def fetch(lock: str, target: Path, tags: Sequence[str] = ()) -> None:
    """Download what the lock names into the folder."""
    _pip(lock, "download", ("--dest", target, *tags))


def install(lock: str, fetched: Path, target: Path, tags: Sequence[str] = ()) -> None:
    """Install what the lock names, and was fetched, into the folder."""
    offline = ("--no-index", "--find-links", fetched)
    _pip(lock, "install", ("--no-compile", "--target", target, *offline, *tags))


def tags(architecture: str) -> tuple[str, ...]:
    """The options that make pip choose for the image and not for the interpreter that runs it."""
    machine = _MACHINES.get(architecture)
    if machine is None:
        raise step.NotHere(f"The image is made for {' and '.join(_MACHINES)}, not {architecture}")
    return (
        "--implementation=cp",
        f"--python-version={_PYTHON}",
        *(f"--platform=manylinux_2_{minor}_{machine}" for minor in _GLIBC_MINORS),
        *(f"--platform=manylinux{old}_{machine}" for old in ("2014", "2010", "1")),
    )


def build(project: Path, backend: Path, target: Path, epoch: int) -> Path:
    """Build the project's wheel with a hatchling that lies in the folder `backend`."""
    step.output(
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", target],
        cwd=project,
        environment={"PYTHONPATH": str(backend), "SOURCE_DATE_EPOCH": str(epoch)},
    )
    (wheel,) = target.glob("*.whl")
    return wheel


def unpack(wheel: Path, target: Path) -> None:
    """Put the files of a pure wheel into the folder."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target)


def prune(folder: Path, needs: Callable[[str], bool]) -> None:
    """Remove what is not needed, and folders that are then empty."""
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_dir() and not path.is_symlink():
            if not any(path.iterdir()):
                path.rmdir()
        elif not needs(path.relative_to(folder).as_posix()):
            path.unlink()


def copy(source: Path, target: Path, needs: Callable[[str], bool]) -> None:
    """Put a folder's own files into another one."""
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    prune(target, needs)


def _pip(lock: str, does: str, options: Iterable[str | Path]) -> None:
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", does]
    only = ["--no-deps", "--require-hashes", "--only-binary", ":all:"]
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(lock)
        file.flush()
        step.output(
            [*pip, *only, *options, "--requirement", file.name],
            # Where it goes is said here, whatever a person is used to.
            environment={"PIP_USER": "0", "PIP_REQUIRE_VIRTUALENV": "0"},
            helps="It takes a pip, and a way to a package index.",
        )
