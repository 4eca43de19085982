"""Directories of servers as people, kubelet and mirror lay them out, and one reader of them."""

import json
import os
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pointsman_contract.report import ServerReason
from pointsman_router import registry
from pointsman_router.metafiles import MetaFiles
from pointsman_router.reading import Reading, settle
from pointsman_router.registry import Registry, Server

URL = "http://upstream.example:8080/mcp"


def document(**members: Any) -> bytes:
    """A meta.json: good, with every tool allowed, unless `members` says otherwise."""
    return json.dumps({"url": URL, "allowedTools": ["*"], **members}).encode()


def lay(directory: Path, folder: str, content: bytes | None = None, **members: Any) -> Path:
    """Write one server's file by hand; `content` as it is, or a document of `members`."""
    path = directory / folder / "meta.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(document(**members) if content is None else content)
    return path


def lay_view(directory: Path, folder: str, content: bytes | None = None, **members: Any) -> Path:
    """Write one view's file by hand, as `lay` does a server's."""
    path = directory / folder / "view.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(json.dumps(members).encode() if content is None else content)
    return path


def generation(
    directory: Path,
    files: Mapping[str, bytes],
    complete: bytes | None = None,
    *,
    views: Mapping[str, bytes] | None = None,
) -> Path:
    """Write a generation as the mirror does and swap it in; `complete` replaces the right mark."""
    target = directory / f"..gen-{secrets.token_hex(8)}"
    target.mkdir(parents=True)
    for folder, content in files.items():
        lay(target, folder, content)
    for folder, content in (views or {}).items():
        lay_view(target, folder, content)
    counted = {"servers": len(files)} | ({} if views is None else {"views": len(views)})
    mark = json.dumps(counted).encode() if complete is None else complete
    if mark:
        (target / ".complete").write_bytes(mark)
    _swap(directory, target.name)
    return target


class Mount:
    """A mount, renewed as kubelet's AtomicWriter renews it: the old folder goes at once."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        directory.mkdir(parents=True, exist_ok=True)

    def write(self, files: Mapping[str, bytes]) -> Path:
        """Replace the mount's files, by path, with these; return the folder that holds them."""
        old = self._directory / "..data"
        before = os.readlink(old) if old.is_symlink() else None
        target = self._directory / f"..2026_01_01_00_00_00.{secrets.token_hex(5)}"
        for path, content in files.items():
            (target / path).parent.mkdir(parents=True, exist_ok=True)
            (target / path).write_bytes(content)
        target.mkdir(exist_ok=True)
        _swap(self._directory, target.name)
        shown = {path.partition("/")[0] for path in files}
        for name in shown:
            if not (self._directory / name).is_symlink():
                (self._directory / name).symlink_to(f"..data/{name}")
        for entry in self._directory.iterdir():
            if not entry.name.startswith("..") and entry.name not in shown:
                entry.unlink()
        if before:
            shutil.rmtree(self._directory / before)
        return target


class Follower:
    """Reads a directory look by look, and remembers what is in force."""

    def __init__(self, directory: Path) -> None:
        self._files = MetaFiles(str(directory))
        self.reading = Reading()

    def look(self) -> Registry:
        """Look at everything once."""
        seen = self._files.look()
        assert seen is not None
        self.reading = settle(self.reading, seen)
        return registry.build(self.reading)


def served(registry: Registry) -> set[str]:
    """The servers that discovery is to contact."""
    return set(registry.targets)


def reason(server: Server) -> ServerReason | None:
    """Why a server is left out."""
    return server.skip.reason if server.skip else None


def _swap(directory: Path, target: str) -> None:
    new = directory / "..data_tmp"
    new.symlink_to(target)
    new.replace(directory / "..data")
