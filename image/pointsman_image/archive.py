"""An image as one file that containerd and Docker load."""

import hashlib
import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pointsman_image.layer import Layer

_MEDIA = "application/vnd.oci.image"


@dataclass(frozen=True, slots=True)
class Config:
    """How a container of the image starts, and what the image says of itself."""

    user: str
    entrypoint: Sequence[str]
    environment: Mapping[str, str]
    labels: Mapping[str, str]
    architecture: str
    epoch: int


def write(target: Path, name: str, config: Config, layers: Sequence[Layer]) -> str:
    """Write the archive of the image `name` (with its tag); return the image's digest."""
    with tarfile.open(target, "w") as archive:
        described = []
        for layer in layers:
            path = f"blobs/sha256/{layer.digest}"
            if path not in archive.getnames():
                archive.add(layer.path, path, filter=_nobodys)
            described.append(_descriptor("layer.v1.tar+gzip", layer.digest, layer.size))
        settings = _blob(archive, "config.v1+json", _config(config, layers))
        manifest = _blob(
            archive,
            "manifest.v1+json",
            {
                "schemaVersion": 2,
                "mediaType": f"{_MEDIA}.manifest.v1+json",
                "config": settings,
                "layers": described,
            },
        )
        digest = str(manifest["digest"])
        named = {
            "io.containerd.image.name": name,
            "org.opencontainers.image.ref.name": name.rpartition(":")[2],
        }
        index = {"schemaVersion": 2, "manifests": [{**manifest, "annotations": named}]}
        # What `docker load` reads, before version 25 only this.
        docker = {
            "Config": f"blobs/sha256/{_hex(settings)}",
            "RepoTags": [name],
            "Layers": [f"blobs/sha256/{layer.digest}" for layer in layers],
        }
        _add(archive, "index.json", _encoded(index))
        _add(archive, "manifest.json", _encoded([docker]))
        _add(archive, "oci-layout", _encoded({"imageLayoutVersion": "1.0.0"}))
    return digest


def _config(config: Config, layers: Sequence[Layer]) -> object:
    created = datetime.fromtimestamp(config.epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "created": created,
        "architecture": config.architecture,
        "os": "linux",
        "config": {
            "User": config.user,
            "Entrypoint": list(config.entrypoint),
            "Env": [f"{name}={value}" for name, value in config.environment.items()],
            "WorkingDir": "/",
            "Labels": dict(config.labels),
        },
        "rootfs": {
            "type": "layers",
            "diff_ids": [f"sha256:{layer.content_digest}" for layer in layers],
        },
    }


def _descriptor(kind: str, digest: str, size: int) -> dict[str, object]:
    return {"mediaType": f"{_MEDIA}.{kind}", "digest": f"sha256:{digest}", "size": size}


def _hex(descriptor: Mapping[str, object]) -> str:
    return str(descriptor["digest"]).removeprefix("sha256:")


def _blob(archive: tarfile.TarFile, kind: str, content: object) -> dict[str, object]:
    data = _encoded(content)
    digest = hashlib.sha256(data).hexdigest()
    _add(archive, f"blobs/sha256/{digest}", data)
    return _descriptor(kind, digest, len(data))


def _add(archive: tarfile.TarFile, path: str, data: bytes) -> None:
    entry = tarfile.TarInfo(path)
    entry.size = len(data)
    archive.addfile(entry, io.BytesIO(data))


def _encoded(content: object) -> bytes:
    return json.dumps(content, sort_keys=True).encode()


def _nobodys(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mtime = 0
    entry.mode = 0o644
    return entry
