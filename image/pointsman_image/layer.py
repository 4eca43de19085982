"""A folder as an image layer: the same bytes for the same files."""

import gzip
import hashlib
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast


@dataclass(frozen=True, slots=True)
class Layer:
    """A compressed layer in a file; both digests are hexadecimal SHA-256."""

    path: Path
    digest: str
    content_digest: str
    size: int


def pack(root: Path, target: Path, level: int) -> Layer:
    """Write everything under the root, as root's own and in order of the names."""
    with target.open("wb") as file:
        compressed = _Digesting(file)
        with gzip.GzipFile("", "wb", level, compressed, mtime=0) as zipped:
            content = _Digesting(zipped)
            # A stream is only written to.
            stream = cast("IO[bytes]", content)
            with tarfile.open(fileobj=stream, mode="w|", format=tarfile.PAX_FORMAT) as archive:
                for path in sorted(root.rglob("*")):
                    archive.add(path, str(path.relative_to(root)), recursive=False, filter=_ours)
    return Layer(
        target, compressed.digest.hexdigest(), content.digest.hexdigest(), target.stat().st_size
    )


def _ours(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mtime = int(entry.mtime)
    return entry


class _Digesting:
    """A file being written whose bytes are digested on the way."""

    def __init__(self, file: IO[bytes] | gzip.GzipFile) -> None:
        self.digest = hashlib.sha256()
        self._file = file

    def write(self, data: bytes) -> int:
        self.digest.update(data)
        return self._file.write(data)

    def flush(self) -> None:
        self._file.flush()
