"""An image archive, read as a container runtime reads it."""

import gzip
import hashlib
import json
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Archive:
    """An OCI image in a file."""

    path: Path

    @cached_property
    def index(self) -> dict[str, Any]:
        """What it says of the one image that it holds."""
        (described,) = self._json("index.json")["manifests"]
        return dict(described)

    @property
    def digest(self) -> str:
        """The image's digest."""
        return str(self.index["digest"])

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """The image's manifest."""
        return self._json(_blob(self.digest))

    @cached_property
    def config(self) -> dict[str, Any]:
        """How its containers start, and which layers they get."""
        return self._json(_blob(self.manifest["config"]["digest"]))

    @property
    def layer_digests(self) -> list[str]:
        """The layers' digests, lowest first."""
        return [layer["digest"] for layer in self.manifest["layers"]]

    @property
    def compressed_mib(self) -> float:
        """What a node downloads."""
        return float(sum(layer["size"] for layer in self.manifest["layers"])) / (1 << 20)

    def broken(self) -> list[str]:
        """Name the blobs that are not what they are called."""
        blobs = [self.manifest["config"], *self.manifest["layers"], self.index]
        wrong = [blob["digest"] for blob in blobs if not self._is(blob["digest"], blob["size"])]
        pairs = zip(self.layer_digests, self.config["rootfs"]["diff_ids"], strict=True)
        return wrong + [diff for layer, diff in pairs if diff != _sha256(self._layer(layer))]

    def members(self) -> Iterator[tarfile.TarInfo]:
        """Yield each entry of each layer, lowest layer first."""
        for digest in self.layer_digests:
            with tarfile.open(self._layer(digest)) as layer:
                yield from layer

    def unpack(self, root: Path) -> None:
        """Lay the layers over each other."""
        for digest in self.layer_digests:
            with tarfile.open(self._layer(digest)) as layer:
                layer.extractall(root, filter="fully_trusted")

    def _layer(self, digest: str) -> Path:
        unzipped = self.path.with_suffix(f".{digest.removeprefix('sha256:')[:12]}")
        if not unzipped.is_file():
            unzipped.write_bytes(gzip.decompress(self._read(_blob(digest))))
        return unzipped

    def _is(self, digest: str, size: int) -> bool:
        data = self._read(_blob(digest))
        return len(data) == size and f"sha256:{hashlib.sha256(data).hexdigest()}" == digest

    def _json(self, path: str) -> dict[str, Any]:
        content = json.loads(self._read(path))
        assert isinstance(content, dict)
        return content

    def _read(self, path: str) -> bytes:
        with tarfile.open(self.path) as archive:
            file = archive.extractfile(path)
            assert file is not None
            return file.read()


def _blob(digest: str) -> str:
    return digest.replace("sha256:", "blobs/sha256/")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"
