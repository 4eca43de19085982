"""What is no plain, readable file is neither followed nor waited for."""

import os
import socket
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bench.directories import URL, Follower, document, lay, reason, served
from pointsman_contract.report import ServerReason

GOOD = document()


_NOBODY = 65534


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _folder(path: Path) -> None:
    path.mkdir()


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as bound:
        here = os.open(path.parent, os.O_RDONLY)
        try:  # the path itself may be longer than a socket's name may be
            bound.bind(f"/proc/self/fd/{here}/{path.name}")
        finally:
            os.close(here)


def _link_outside(path: Path) -> None:
    outside = path.parent.parent.parent / "outside.json"
    outside.write_bytes(document(name="stolen"))
    path.symlink_to(outside)


def _dangling_link(path: Path) -> None:
    path.symlink_to("nowhere.json")


def _link_to_zero(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _device(path: Path) -> None:
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5))  # zero: it never ends
    except PermissionError:
        pytest.skip("only root can make a device")


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(2 << 30)


OBJECTS = [
    pytest.param(_pipe, id="pipe"),
    pytest.param(_folder, id="folder"),
    pytest.param(_socket, id="socket"),
    pytest.param(_device, id="device"),
    pytest.param(_link_outside, id="link-to-outside"),
    pytest.param(_dangling_link, id="dangling-link"),
    pytest.param(_link_to_zero, id="link-to-a-device"),
    pytest.param(_sparse, id="M08-2-GiB-sparse"),
]


@pytest.mark.parametrize("make", OBJECTS)
def test_m28_f91_what_is_no_plain_file_is_bad_without_being_waited_for(
    make: Callable[[Path], None], tmp_path: Path
) -> None:
    directory = tmp_path / "servers"
    held = lay(directory, "held", url=f"{URL}/good")
    lay(directory, "other")
    (directory / "never").mkdir()
    follower = Follower(directory)
    follower.look()
    held.unlink()
    make(held)
    make(directory / "never" / "meta.json")
    began_s = time.monotonic()
    registry = follower.look()
    took_s = time.monotonic() - began_s

    assert took_s < 0.2
    assert served(registry) == {"held", "other"}
    assert registry.servers["held"].fault
    assert reason(registry.servers["never"]) is ServerReason.INVALID_META


def test_m28_a_folder_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    directory = tmp_path / "servers"
    lay(directory, "other")
    lay(tmp_path / "outside", "evil")
    (directory / "evil").symlink_to(tmp_path / "outside" / "evil")
    registry = Follower(directory).look()

    assert served(registry) == {"other"}
    assert reason(registry.servers["evil"]) is ServerReason.INVALID_META


@pytest.fixture
def unprivileged() -> Iterator[Path]:
    """A directory, and rights that end where a mode says so: root may read everything."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        user = os.geteuid()
        if user == 0:
            os.chown(directory, _NOBODY, _NOBODY)
            os.seteuid(_NOBODY)
        try:
            yield directory
        finally:
            os.seteuid(user)


def test_m28_a_file_that_may_not_be_read_is_held_until_it_may(unprivileged: Path) -> None:
    path = lay(unprivileged, "github")
    follower = Follower(unprivileged)
    follower.look()
    path.chmod(0)
    forbidden = follower.look().servers["github"]
    path.chmod(0o644)
    allowed = follower.look().servers["github"]

    assert forbidden.meta
    assert forbidden.fault
    assert "EACCES" in forbidden.fault
    assert allowed.fault is None


def test_f88_a_directory_that_may_not_be_read_holds_all(unprivileged: Path) -> None:
    directory = unprivileged / "servers"
    lay(directory, "github")
    follower = Follower(directory)
    follower.look()
    directory.chmod(0)
    held = follower.look()
    directory.chmod(0o755)

    assert served(held) == {"github"}
    assert held.fault
    assert "EACCES" in held.fault


def test_a_folder_that_may_not_be_entered_is_reported(unprivileged: Path) -> None:
    lay(unprivileged, "github")
    (unprivileged / "github").chmod(0)
    registry = Follower(unprivileged).look()
    (unprivileged / "github").chmod(0o755)

    skip = registry.servers["github"].skip
    assert skip
    assert "EACCES" in skip.message
