"""How a benchmark is asked for its figures, and how it tells them."""

import argparse
import json
from collections.abc import Callable, Mapping

Figures = Mapping[str, float | int | bool]


def tell(title: str, measure: Callable[[], Figures]) -> None:
    """Measure and print: one JSON object with `--json`, else a line for each figure."""
    parser = argparse.ArgumentParser(description=title)
    parser.add_argument("--json", action="store_true", help="one JSON object of named figures")
    as_json = parser.parse_args().json
    figures = measure()
    if as_json:
        print(json.dumps(dict(figures)))
        return
    for name, value in figures.items():
        print(f"{name:<24} {value}")
