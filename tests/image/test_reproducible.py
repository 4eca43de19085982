"""The same inputs make the same image."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bench import tools
from image.archives import Archive
from pointsman_image import assembly, layer

_ROOT = Path(__file__).resolve().parents[2]
_ROOTFS = _ROOT / "image" / "rootfs"
# Compiling a standard library and all libraries, on a busy machine.
_REBUILD_TIMEOUT_S = 600


@pytest.mark.timeout(_REBUILD_TIMEOUT_S)
def test_a_root_made_elsewhere_from_the_same_files_is_the_same_image(
    examples: Archive, tmp_path: Path
) -> None:
    # Only what was downloaded: every part is made anew, at another place, under another mask.
    cache = tmp_path / "tools" / "image"
    cache.mkdir(parents=True)
    for downloaded in ("debian", *(f"{name}-wheels-*" for name in ("build", "examples", "image"))):
        for kept in (tools.directory() / "image").glob(downloaded):
            shutil.copytree(kept, cache / kept.name, copy_function=os.link)
    done = subprocess.run(
        [sys.executable, _ROOTFS, tmp_path / "parts", "base", "code", "examples"],
        env={**os.environ, "POINTSMAN_TOOLS": str(tmp_path / "tools"), "PIP_NO_INDEX": "1"},
        cwd=tmp_path,
        umask=0o077,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr

    packed = [
        layer.pack(tmp_path / "parts" / part, tmp_path / f"{part}.tar.gz", assembly.LEVEL)
        for part in ("base", "code", "examples")
    ]

    assert [f"sha256:{made.digest}" for made in packed] == examples.layer_digests


def test_a_later_commit_changes_only_the_layer_of_our_code(
    product: Archive, tmp_path: Path
) -> None:
    target = tmp_path / "later.tar"
    subprocess.run(
        [sys.executable, _ROOT / "image/build", "--offline", "--name", "later.test/it:1", target],
        env={**os.environ, "SOURCE_DATE_EPOCH": "2000000000"},
        check=True,
        capture_output=True,
    )
    later = Archive(target)

    assert later.layer_digests[0] == product.layer_digests[0]
    assert later.layer_digests[1] != product.layer_digests[1]
    assert later.config["created"] == "2033-05-18T03:33:20Z"
