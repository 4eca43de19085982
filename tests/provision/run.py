"""How a provisioning step runs a command and tells a person about it."""

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path


class StepFailed(Exception):
    """A step did not succeed; the message names it."""


def say(words: str) -> None:
    """Tell the person who waits."""
    print(f"provision: {words}", flush=True)


def command(
    doing: str,
    arguments: Sequence[str | Path],
    *,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> None:
    """Run a command whose own output is worth seeing, and say how long it took."""
    begin = time.monotonic()
    say(f"{doing} ...")
    try:
        subprocess.run(
            [str(argument) for argument in arguments],
            cwd=cwd,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError) as error:
        raise StepFailed(f"{doing}: {error}") from error
    say(f"{doing}: done in {time.monotonic() - begin:.0f} s")
