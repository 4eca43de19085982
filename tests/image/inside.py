"""A container of the image as a pod would have it: read-only, without a network, as nobody."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_USER = "65532:65532"
# Mounts of the command's own. Its network has not even a loopback that is up.
_ALONE = ("unshare", "--mount", "--net", "--propagation", "private", "--")
_ENTER = (
    'root=$1; shift; mount --bind "$root" "$root" && mount -o remount,bind,ro,nosuid "$root" '
    f'&& exec chroot --userspec={_USER} "$root" "$@"'
)


def why_not() -> str:
    """What keeps this machine from running something inside, if anything does."""
    missing = [name for name in ("unshare", "mount", "chroot") if shutil.which(name) is None]
    if missing:
        return f"{', '.join(missing)}: not there"
    if os.geteuid() != 0:
        return "only root may enter another root file system"
    tried = subprocess.run([*_ALONE, "true"], capture_output=True, text=True, check=False)
    return tried.stderr.strip() if tried.returncode else ""


@dataclass(frozen=True, slots=True)
class Inside:
    """A root file system to run commands in, with an image's environment and entry point."""

    root: Path
    entrypoint: tuple[str, ...]
    environment: Mapping[str, str]

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a command that is named by its path, or looked up by nobody."""
        return subprocess.run(
            [*_ALONE, "/bin/sh", "-euc", _ENTER, "sh", self.root, *command],
            env={**self.environment, "PATH": f"{self.environment['PATH']}:/usr/sbin:/sbin:/bin"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def start(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Start a container with these arguments."""
        return self.run(*self.entrypoint, *arguments)
