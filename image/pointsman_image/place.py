"""Where the checkout and the cache are, and how old the checkout is."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]


def cache(environ: Mapping[str, str]) -> Path:
    """The folder that keeps what was downloaded or made once."""
    tools = environ.get("POINTSMAN_TOOLS")
    return (Path(tools) if tools else Path.home() / ".cache" / "pointsman" / "tools") / "image"


def epoch(environ: Mapping[str, str]) -> int:
    """SOURCE_DATE_EPOCH, else the time of the last commit, else (without Git) 0."""
    if given := environ.get("SOURCE_DATE_EPOCH"):
        return int(given)
    try:
        said = subprocess.run(
            ["git", "log", "-1", "--format=%ct"],
            cwd=PROJECT,
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError:
        return 0
    return int(said.stdout) if said.returncode == 0 else 0
