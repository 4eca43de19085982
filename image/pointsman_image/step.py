"""How a step of the build runs a program, and what it says when that fails."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path


class StepFailed(Exception):
    """The image cannot be made; the message says why, and what would help."""

    exit_status = 1


class NotHere(StepFailed):
    """No image can be made on this machine at all."""

    exit_status = 3


def output(
    arguments: Sequence[str | Path],
    *,
    helps: str = "",
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> str:
    """Return what a program prints, or fail with its own complaint."""
    command = [str(argument) for argument in arguments]
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **(environment or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        complaint = (done.stderr or done.stdout).strip()
        raise StepFailed(f"{' '.join(command[:4])} …: {complaint}\n{helps}".strip())
    return done.stdout
