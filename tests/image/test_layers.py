"""What a layer and an archive are, whatever is in them."""

import os
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from image.archives import Archive
from pointsman_image import archive, layer, parts
from pointsman_image.archive import Config

NOBODY = 65534


def tree(root: Path, names: list[str]) -> Path:
    """A small root whose files were made in this order."""
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"this is {name}")
    (root / "link").symlink_to(min(names))
    return root


def test_neither_the_order_nor_the_owner_nor_the_mask_of_files_shows(tmp_path: Path) -> None:
    one = tree(tmp_path / "one", ["a/first", "b/second"])
    other = tree(tmp_path / "other", ["b/second", "a/first"])
    (other / "a").chmod(0o700)
    (other / "b/second").chmod(0o600)
    if os.geteuid() == 0:
        os.chown(other / "a/first", NOBODY, NOBODY)
    for root in (one, other):
        parts.settle(root, 1_000_000_000)

    packed = [layer.pack(root, tmp_path / f"{root.name}.gz", 6) for root in (one, other)]

    assert packed[0].digest == packed[1].digest
    assert packed[0].content_digest == packed[1].content_digest


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda root: (root / "a/first").write_text("other"), id="content"),
        pytest.param(lambda root: (root / "a/first").rename(root / "a/x"), id="name"),
        pytest.param(lambda root: (root / "a/first").chmod(0o755), id="right to run"),
        pytest.param(lambda root: (root / "link").unlink(), id="link"),
    ],
)
def test_every_change_of_a_file_shows(tmp_path: Path, change: Callable[[Path], object]) -> None:
    one = tree(tmp_path / "one", ["a/first", "b/second"])
    other = tree(tmp_path / "other", ["a/first", "b/second"])
    change(other)
    for root in (one, other):
        parts.settle(root, 0)

    packed = [layer.pack(root, tmp_path / f"{root.name}.gz", 6) for root in (one, other)]

    assert packed[0].content_digest != packed[1].content_digest


def test_an_archive_says_how_its_containers_start(tmp_path: Path) -> None:
    packed = layer.pack(tree(tmp_path / "root", ["a", "b"]), tmp_path / "layer.gz", 1)
    config = Config(
        user="7:8",
        entrypoint=("/a",),
        environment={"B": "c"},
        labels={"d": "e"},
        architecture="amd64",
        epoch=0,
    )

    digest = archive.write(tmp_path / "image.tar", "registry.test:5000/a/b:c", config, [packed])

    read = Archive(tmp_path / "image.tar")
    assert read.digest == digest
    assert read.broken() == []
    assert read.index["annotations"]["org.opencontainers.image.ref.name"] == "c"
    assert read.config["config"] == {
        "User": "7:8",
        "Entrypoint": ["/a"],
        "Env": ["B=c"],
        "Labels": {"d": "e"},
        "WorkingDir": "/",
    }
    with tarfile.open(tmp_path / "image.tar") as written:
        assert {member.mtime for member in written} == {0}
