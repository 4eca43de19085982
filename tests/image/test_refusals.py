"""What image/build says where it can make no image."""

import os
import subprocess
import sys
from pathlib import Path

from image.archives import Archive

_BUILD = Path(__file__).resolve().parents[2] / "image" / "build"


def build(target: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, _BUILD, "--name", "pointsman.test/it:dev", *options, target],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_machine_without_debians_tools_is_told_of_the_containerfile(tmp_path: Path) -> None:
    done = build(tmp_path / "image.tar", PATH=str(tmp_path))

    assert done.returncode == 3
    assert done.stderr.startswith("image/build: apt-get, dpkg, dpkg-deb: not there. ")
    assert "Containerfile" in done.stderr
    assert not (tmp_path / "image.tar").exists()


def test_offline_what_would_be_downloaded_is_named(product: Archive, tmp_path: Path) -> None:
    # Asked for after the image itself, which is skipped where no Debian 12 is.
    assert product.path.is_file()

    done = build(tmp_path / "image.tar", "--offline", POINTSMAN_TOOLS=str(tmp_path))

    assert done.returncode == 4
    assert "python3.11-minimal" in done.stderr
    assert not (tmp_path / "image.tar").exists()
