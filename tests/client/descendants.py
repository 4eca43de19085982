"""Which processes a program has started, and whether they still run."""

from pathlib import Path

_ENDED = ("Z", "X")


def descendants(pid: int) -> list[int]:
    """The processes that `pid` started, and those that they started."""
    found = [int(child) for child in _children(pid)]
    return [*found, *(below for child in found for below in descendants(child))]


def running(pid: int) -> bool:
    """Whether the process is there, and not merely waiting to be buried."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return status.rpartition(")")[2].split()[0] not in _ENDED


def _children(pid: int) -> list[str]:
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [child for task in tasks for child in task.read_text().split()]
