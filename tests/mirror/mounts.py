"""File systems of a program's own, by a mount namespace that needs no privilege where allowed."""

import os
import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

_UNSHARE = ("unshare", "--user", "--map-root-user", "--mount")


@cache
def _refusal() -> str:
    try:
        tried = subprocess.run(
            [*_UNSHARE, "mount", "-t", "tmpfs", "none", tempfile.gettempdir()],
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
    except FileNotFoundError:
        return "unshare is not installed"
    return tried.stderr.strip() if tried.returncode else ""


def demand() -> None:
    """Skip the test where this machine allows no mount namespaces."""
    if refusal := _refusal():
        pytest.skip(f"needs a mount namespace: {refusal}")


def on_a_small_volume(command: Sequence[str], directory: Path, size: str) -> list[str]:
    """The command, with a volume of this size at the directory that it alone sees."""
    mount = shlex.join(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(directory)])
    return [*_UNSHARE, "sh", "-c", f"{mount} && exec {shlex.join(command)}"]


def in_a_pod(command: Sequence[str], account: Path) -> list[str]:
    """The command, with a folder mounted where pods find their service account."""
    home = "/var/run/secrets/kubernetes.io/serviceaccount"
    steps = [
        ["mount", "-t", "tmpfs", "none", os.path.realpath("/var/run")],
        ["mkdir", "-p", home],
        ["mount", "--bind", str(account), home],
    ]
    mounts = " && ".join(shlex.join(step) for step in steps)
    return [*_UNSHARE, "sh", "-c", f"{mounts} && exec {shlex.join(command)}"]


def seen_by(pid: int, path: Path) -> Path:
    """The same path as that process sees it."""
    return Path(f"/proc/{pid}/root") / path.relative_to("/")


def remount(pid: int, directory: Path, mode: str) -> None:
    """Make the volume of a process `ro` or `rw`."""
    enter = ["nsenter", "--target", str(pid), "--user", "--mount", "--preserve-credentials"]
    mount = ["mount", "-o", f"remount,{mode}", str(directory)]
    subprocess.run([*enter, *mount], check=True, timeout=10)
