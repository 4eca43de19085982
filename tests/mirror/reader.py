"""A reader as the directory's promise asks for one: whole generations, and nothing else."""

import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path

Files = Mapping[str, bytes]

_TRIES = 1000


class Broken(AssertionError):
    """What the link names is no whole generation."""


def read(directory: Path) -> Files:
    """Every document by folder, all of one generation; Broken if it is not whole.

    The generation is opened once, by descriptor; what vanishes meanwhile is read again, and an
    answer counts only if the link names the same generation afterwards.
    """
    for _ in range(_TRIES):
        target = os.readlink(directory / "..data")
        try:
            folder = os.open(directory / target, os.O_DIRECTORY | os.O_NOFOLLOW)
        except FileNotFoundError:
            continue
        try:
            found = _generation(folder)
        except FileNotFoundError as gone:
            if os.readlink(directory / "..data") == target:
                raise Broken(f"{target} is in force and lacks {gone.filename}") from None
            continue
        except Broken:
            if os.readlink(directory / "..data") == target:
                raise
            continue  # it was being removed while it was read
        finally:
            os.close(folder)
        if os.readlink(directory / "..data") == target:
            return found
    raise Broken(f"no generation stood still in {_TRIES} tries")


def documents(directory: Path) -> Mapping[str, object]:
    """Every document, decoded; nothing where no generation is in force yet."""
    try:
        return {folder: json.loads(text) for folder, text in read(directory).items()}
    except FileNotFoundError:
        return {}


def generations(directory: Path) -> list[str]:
    """The names of all generations that lie there, in force or not."""
    return sorted(name for name in os.listdir(directory) if name.startswith("..gen-"))


def _generation(folder: int) -> Files:
    names = sorted(name for name in os.listdir(folder) if name != ".complete")
    views = sum(name.endswith(".view") for name in names)
    found = {name: _content(f"{name}/{_file(name)}", folder) for name in names}
    stated = json.loads(_content(".complete", folder))
    if stated != {"servers": len(found) - views, "views": views}:
        raise Broken(f".complete states {stated}, and {len(found)} folders are there")
    return found


def _file(folder: str) -> str:
    return "view.json" if folder.endswith(".view") else "meta.json"


def _content(path: str, folder: int) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=folder)
    with open(descriptor, "rb") as file:
        assert stat.S_ISREG(os.fstat(file.fileno()).st_mode), path
        return file.read()
