"""How a benchmark is asked for its figures, and how it tells them."""

import argparse
import json
from collections.abc import Callable, Mapping

Figures = Mapping[str, float | int | bool | str | None]


def tell(title: str, measure: Callable[[], Figures]) -> None:
    """Measure and print: one JSON object with `--json`, else a line for each figure."""
    chosen = parser(title).parse_args()
    show(measure(), as_json=chosen.json)


def parser(title: str) -> argparse.ArgumentParser:
    """What every benchmark can be asked."""
    made = argparse.ArgumentParser(description=title)
    made.add_argument("--json", action="store_true", help="one JSON object of named figures")
    return made


def show(figures: Figures, *, as_json: bool) -> None:
    """Print figures for a program, or for a person."""
    if as_json:
        print(json.dumps(dict(figures)))
        return
    for name, value in figures.items():
        print(f"{name:<32} {'-' if value is None else value}")
