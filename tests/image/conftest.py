"""The images as a node gets them, and what is in them."""

import subprocess
import sys
from pathlib import Path

import pytest

from bench.tools import NotProvided
from image import inside
from image.archives import Archive
from image.inside import Inside

_BUILD = Path(__file__).resolve().parents[2] / "image" / "build"
# What it answers where no Debian 12 is under it, and where it would have to download.
_NOT_HERE = 3
_NOT_KEPT = 4


@pytest.fixture(scope="session")
def product(tmp_path_factory: pytest.TempPathFactory) -> Archive:
    """The image of the programs."""
    return _built(tmp_path_factory.mktemp("product") / "image.tar")


@pytest.fixture(scope="session")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Archive:
    """The image that has the example servers as well."""
    return _built(tmp_path_factory.mktemp("examples") / "image.tar", "--examples")


@pytest.fixture(scope="session")
def root(product: Archive, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The root file system of the programs' containers."""
    return _unpacked(product, tmp_path_factory.mktemp("root"))


@pytest.fixture(scope="session")
def container(product: Archive, root: Path) -> Inside:
    """A container of the programs."""
    return _container(product, root)


@pytest.fixture(scope="session")
def examples_container(examples: Archive, tmp_path_factory: pytest.TempPathFactory) -> Inside:
    """A container of the example servers."""
    return _container(examples, _unpacked(examples, tmp_path_factory.mktemp("examples-root")))


def _built(target: Path, *options: str) -> Archive:
    done = subprocess.run(
        [sys.executable, _BUILD, "--offline", "--name", "pointsman.test/it:dev", *options, target],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == _NOT_HERE:
        pytest.skip(done.stderr.strip())
    if done.returncode == _NOT_KEPT:
        raise NotProvided("what the image is made from")
    assert done.returncode == 0, done.stderr
    return Archive(target)


def _unpacked(archive: Archive, root: Path) -> Path:
    root.chmod(0o755)
    archive.unpack(root)
    return root


def _container(archive: Archive, root: Path) -> Inside:
    if reason := inside.why_not():
        pytest.skip(reason)
    settings = archive.config["config"]
    environment = dict(pair.split("=", 1) for pair in settings["Env"])
    return Inside(root, tuple(settings["Entrypoint"]), environment)
