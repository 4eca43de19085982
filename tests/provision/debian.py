"""Which Debian packages the tests need, and how they come onto the machine."""

import os
import shutil
import subprocess
from pathlib import Path

from bench import tools
from provision import run

_LIST = Path(__file__).resolve().parent.parent / "cluster" / "debian-packages"
# Nothing that is there is touched: a container engine may need its own version of the same.
_INSTALL = ("install", "--yes", "--quiet", "--no-install-recommends", "--no-upgrade", "--no-remove")
# What the page's pictures are written in stands beside it.
_BROWSER = ("chromium", "fonts-liberation")
_UNATTENDED = {"DEBIAN_FRONTEND": "noninteractive"}


def missing() -> tuple[str, ...]:
    """The packages whose programs are not on this machine."""
    done = subprocess.run([_LIST, "--missing"], capture_output=True, text=True, check=True)
    return tuple(done.stdout.split())


def renew_list() -> None:
    """Tell apt of the newest packages, where that may be done."""
    apt = shutil.which("apt-get")
    if os.geteuid() == 0 and apt is not None:
        run.command("Debian packages: list", [apt, "update", "--quiet"], environment=_UNATTENDED)


def provide() -> bool:
    """Install what a node misses, as root where apt is; whether all is there in the end."""
    wanted = missing()
    return not wanted or (_install(*wanted) and not missing())


def provide_browser() -> bool:
    """Install a browser where there is none, as `provide` does; whether one is there in the end."""
    return tools.browser() is not None or (_install(*_BROWSER) and tools.browser() is not None)


def _install(*wanted: str) -> bool:
    apt = shutil.which("apt-get")
    if os.geteuid() != 0 or apt is None:
        run.say(f"Debian packages: left out, only root can apt-get install {' '.join(wanted)}")
        return False
    try:
        renew_list()
        run.command("Debian packages", [apt, *_INSTALL, *wanted], environment=_UNATTENDED)
    except run.StepFailed as failed:
        run.say(f"Debian packages: left out, {failed}")
        return False
    return True
