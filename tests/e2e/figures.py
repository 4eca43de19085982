"""What the tests measured on this cluster, for a person who reads the run."""

import json
import sys

measured: dict[str, dict[str, float]] = {}
_told: list[str] = []


def tell(seconds: float, what: str) -> None:
    """Note how long a step took."""
    _told.append(f"{seconds:7.1f} s  {what}")


def say() -> None:
    """Print the steps noted since the last time; where pytest captures, nobody would see it."""
    while _told:
        print(_told.pop(0), file=sys.__stdout__, flush=True)


def lines() -> list[str]:
    """What was measured, a line each."""
    return [f"{name}: {json.dumps(figures)}" for name, figures in measured.items()]
