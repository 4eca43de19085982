"""A directory of servers and views as a hand would make it: one folder each, with its file."""

import json
import shutil
from pathlib import Path


def register(directory: Path, called: str, url: str, /, **fields: object) -> Path:
    """Write one server's meta.json, whole; every tool is allowed unless `fields` say otherwise."""
    folder = directory / called
    folder.mkdir(parents=True, exist_ok=True)
    document = {"url": url, "allowedTools": ["*"]} | fields
    write(folder / "meta.json", json.dumps(document))
    return folder


def view(directory: Path, called: str, /, **fields: object) -> Path:
    """Write one view's view.json, whole; it offers bare names unless `fields` say otherwise."""
    folder = directory / called
    folder.mkdir(parents=True, exist_ok=True)
    write(folder / "view.json", json.dumps({"names": "Bare"} | fields))
    return folder


def write(path: Path, text: str) -> None:
    """Replace a file's content in one step, so that nobody reads half of it."""
    draft = path.with_suffix(".draft")
    draft.write_text(text)
    draft.rename(path)


def unregister(directory: Path, name: str) -> None:
    """Remove one server, or one view."""
    shutil.rmtree(directory / name)
