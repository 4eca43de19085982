"""What of the chart was agreed on once, and how it is agreed on anew.

`PYTHONPATH=tests .venv/bin/python -m chart.golden_files` writes every file that is compared with
what the chart makes now; look at the difference before it is committed.
"""

from collections.abc import Callable
from pathlib import Path

import yaml

from bench import helm
from chart import rendering

FOLDER = Path(__file__).parent / "golden"
CRDS = Path(__file__).resolve().parents[2] / "crds"
CRD_FILES = ("mcpserver.yaml", "mcpview.yaml")
RENEW = "renew with `PYTHONPATH=tests .venv/bin/python -m chart.golden_files`"


def objects() -> str:
    """Every object of the defaults but the CRDs, which have a test of their own."""
    found = [
        one for one in rendering.combination("default").objects if one["kind"] != rendering.CRD
    ]
    found.sort(key=lambda one: (one["kind"], one["metadata"]["name"]))
    return yaml.safe_dump_all(found, sort_keys=True, width=100)


def notes() -> str:
    """What an installation with the defaults tells."""
    return helm.notes("-f", rendering.COMBINATIONS["default"])


FILES: dict[Path, Callable[[], str]] = {
    FOLDER / "default.yaml": objects,
    FOLDER / "default-notes.txt": notes,
    **{helm.CHART / "files" / name: (CRDS / name).read_text for name in CRD_FILES},
}


if __name__ == "__main__":
    for path, text in FILES.items():
        path.write_text(text())
