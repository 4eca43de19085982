"""What the images are made from, downloaded before a test makes one."""

import os
import subprocess
import sys
from pathlib import Path

from provision import debian, run

_BUILD = Path(__file__).resolve().parents[2] / "image" / "build"
# What it answers on a machine that can make none.
_NOT_HERE = 3
_NAME = "pointsman.test/examples:dev"


def provide() -> None:
    """Make both images once, if this machine can: what seldom changes is kept."""
    # By this interpreter, as the tests do: it has a pip, and what is kept is kept for it.
    command: list[str | Path] = [sys.executable, _BUILD, "--examples", "--name", _NAME, os.devnull]
    status = subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode
    if status == _NOT_HERE:
        run.say("images: left out, this machine can make none")
    elif status != 0:
        debian.renew_list()  # apt may know of versions only that are gone
        run.command("images", command)
