"""What every layout of the directory means, whole and broken: the rows M about sets."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.directories import URL, Follower, Mount, document, generation, lay, reason, served

GOOD = document()


def test_m13_a_complete_generation_without_a_server_removes_it(tmp_path: Path) -> None:
    generation(tmp_path, {"tools.a": GOOD, "tools.b": GOOD})
    follower = Follower(tmp_path)
    follower.look()
    generation(tmp_path, {"tools.b": GOOD})

    assert served(follower.look()) == {"tools.b"}


def test_m13_a_complete_generation_without_any_server_removes_all_and_echoes(
    tmp_path: Path,
) -> None:
    generation(tmp_path, {"tools.a": GOOD})
    follower = Follower(tmp_path)
    follower.look()
    generation(tmp_path, {})
    registry = follower.look()

    assert registry.fault is None
    assert registry.echo


def _dangle(directory: Path) -> None:
    (directory / "..data").unlink()
    (directory / "..data").symlink_to("..gen-nowhere")


def _lead_outside(directory: Path) -> None:
    outside = directory.parent / "outside"
    lay(outside, "evil")
    (directory / "..data").unlink()
    (directory / "..data").symlink_to(outside)


def _link_to_a_file(directory: Path) -> None:
    (directory / "..gen-file").write_bytes(b"")
    (directory / "..data").unlink()
    (directory / "..data").symlink_to("..gen-file")


def _unlinked(directory: Path) -> None:
    (directory / "..data").unlink()


def _folder_for_link(directory: Path) -> None:
    (directory / "..data").unlink()
    (directory / "..data").mkdir()


SET_FAULTS = [
    pytest.param(lambda at: generation(at, {}, b""), id="M15-no-mark"),
    pytest.param(lambda at: generation(at, {"a": GOOD}, b" "), id="M15-mark-empty"),
    pytest.param(lambda at: generation(at, {"a": GOOD}, b"{"), id="M15-mark-no-JSON"),
    pytest.param(lambda at: generation(at, {"a": GOOD}, b'{"servers": 2}'), id="M15-too-few"),
    pytest.param(lambda at: generation(at, {"a": GOOD}, b'{"servers": 0}'), id="M15-too-many"),
    pytest.param(lambda at: generation(at, {"a": GOOD}, b'{"servers": true}'), id="M15-bool"),
    pytest.param(lambda at: generation(at, {"a": GOOD}, b'{"servers": "1"}'), id="M15-string"),
    pytest.param(lambda at: generation(at, {"a": GOOD}, b"1"), id="M15-number-alone"),
    pytest.param(
        lambda at: generation(at, {"a": GOOD}, b'{"servers": 1, "views": 1}'), id="view-missing"
    ),
    pytest.param(
        lambda at: generation(at, {"a": GOOD}, b'{"servers": 1}', views={"x.v.view": b"{}"}),
        id="view-uncounted",
    ),
    pytest.param(
        lambda at: generation(at, {"a": GOOD}, b'{"servers": 1, "views": false}'),
        id="views-no-number",
    ),
    pytest.param(
        lambda at: generation(at, {"a": GOOD}, b'{"servers": 1, "views": null}'), id="views-null"
    ),
    pytest.param(lambda at: generation(at, {"a": GOOD}, b"[" * 4096), id="M15-mark-too-large"),
    pytest.param(_dangle, id="M16-dangling"),
    pytest.param(_lead_outside, id="link-to-outside"),
    pytest.param(_link_to_a_file, id="link-to-a-file"),
    pytest.param(_unlinked, id="link-gone-generations-there"),
    pytest.param(_folder_for_link, id="folder-in-place-of-the-link"),
]


@pytest.mark.parametrize("spoil", SET_FAULTS)
def test_a_fault_of_the_set_holds_all_until_the_next_whole_one(
    spoil: Callable[[Path], object], tmp_path: Path
) -> None:
    directory = tmp_path / "servers"
    generation(directory, {"tools.a": GOOD, "tools.b": GOOD})
    follower = Follower(directory)
    follower.look()
    spoil(directory)
    held = follower.look()

    assert served(held) == {"tools.a", "tools.b"}
    assert held.fault
    if (directory / "..data").is_dir() and not (directory / "..data").is_symlink():
        (directory / "..data").rmdir()
    generation(directory, {"tools.b": GOOD})
    healed = follower.look()
    assert served(healed) == {"tools.b"}
    assert healed.fault is None


@pytest.mark.parametrize("spoil", SET_FAULTS)
def test_a_fault_of_the_set_at_the_start_is_neither_echo_nor_a_set(
    spoil: Callable[[Path], object], tmp_path: Path
) -> None:
    directory = tmp_path / "servers"
    generation(directory, {"tools.a": GOOD})
    spoil(directory)
    registry = Follower(directory).look()

    assert not registry.loaded
    assert not registry.echo
    assert registry.fault
    assert str(directory) in registry.fault


def test_f89_a_directory_that_is_not_there_is_named_with_its_errno(tmp_path: Path) -> None:
    registry = Follower(tmp_path / "nowhere").look()

    assert registry.fault
    assert str(tmp_path / "nowhere") in registry.fault
    assert "ENOENT" in registry.fault
    assert not registry.loaded


def test_m21_an_empty_directory_is_echo_at_the_start_and_a_fault_after_a_good_set(
    tmp_path: Path,
) -> None:
    follower = Follower(tmp_path)
    at_the_start = follower.look()
    path = lay(tmp_path, "github")
    follower.look()
    path.unlink()
    path.parent.rmdir()
    after_a_good_set = follower.look()

    assert at_the_start.loaded
    assert at_the_start.echo
    assert served(after_a_good_set) == {"github"}
    assert after_a_good_set.fault


def test_f88_a_mount_that_vanishes_takes_nothing_along(tmp_path: Path) -> None:
    directory = tmp_path / "servers"
    lay(directory, "github")
    follower = Follower(directory)
    follower.look()
    directory.rename(tmp_path / "away")
    gone = follower.look()
    (tmp_path / "away").rename(directory)
    back = follower.look()

    assert served(gone) == {"github"}
    assert gone.fault
    assert "ENOENT" in gone.fault
    assert back.fault is None


def test_a_generation_of_the_mirror_is_read(tmp_path: Path) -> None:
    generation(tmp_path, {"tools.github": document(name="github", namespace="tools")})

    assert served(Follower(tmp_path).look()) == {"tools/github"}


def test_a_generation_that_is_completed_later_is_taken_then(tmp_path: Path) -> None:
    target = generation(tmp_path, {"a": GOOD}, b"")
    follower = Follower(tmp_path)
    before = follower.look()
    (target / ".complete").write_bytes(b'{"servers": 1}')
    after = follower.look()

    assert not before.loaded
    assert served(after) == {"a"}


def test_a_projected_volume_needs_no_mark_of_completeness(tmp_path: Path) -> None:
    mount = Mount(tmp_path)
    mount.write({"a/meta.json": GOOD, "b/meta.json": GOOD})
    follower = Follower(tmp_path)
    first = follower.look()
    mount.write({"b/meta.json": GOOD})
    second = follower.look()

    assert served(first) == {"a", "b"}
    assert served(second) == {"b"}


def test_a_projected_volume_that_is_emptied_is_held(tmp_path: Path) -> None:
    mount = Mount(tmp_path)
    mount.write({"a/meta.json": GOOD})
    follower = Follower(tmp_path)
    follower.look()
    mount.write({})

    held = follower.look()
    assert served(held) == {"a"}
    assert held.fault


def test_one_mounted_config_map_per_folder_is_read_through_its_own_link(tmp_path: Path) -> None:
    a, b = Mount(tmp_path / "a"), Mount(tmp_path / "b")
    a.write({"meta.json": document(url=f"{URL}/1")})
    b.write({"meta.json": GOOD})
    follower = Follower(tmp_path)
    first = follower.look()
    a.write({"meta.json": document(url=f"{URL}/2")})
    second = follower.look()

    assert first.targets["a"].url == f"{URL}/1"
    assert second.targets["a"].url == f"{URL}/2"
    assert served(second) == {"a", "b"}


def test_an_optional_config_map_comes_late_and_is_held_when_its_object_goes(
    tmp_path: Path,
) -> None:
    lay(tmp_path, "b")
    mount = Mount(tmp_path / "a")
    follower = Follower(tmp_path)
    mount.write({})
    before = follower.look()
    mount.write({"meta.json": GOOD})
    there = follower.look()
    mount.write({})
    gone = follower.look()

    assert served(before) == {"b"}
    assert served(there) == {"a", "b"}
    assert served(gone) == {"a", "b"}
    assert gone.servers["a"].fault


def test_m29_what_is_no_server_raises_no_alarm(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("hello")
    (tmp_path / "meta.json").write_bytes(GOOD)
    (tmp_path / ".git").mkdir()
    lay(tmp_path, ".hidden")
    (tmp_path / "empty").mkdir()
    (tmp_path / "lost+found").mkdir(mode=0)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "todo.txt").write_text("later")
    registry = Follower(tmp_path).look()

    assert not registry.servers
    assert registry.fault is None
    assert registry.echo


def test_m27_servers_of_which_none_is_usable_are_no_echo(tmp_path: Path) -> None:
    lay(tmp_path, "one", url="http://user@up.example/")
    lay(tmp_path, "two", requires=["from-the-future"])
    registry = Follower(tmp_path).look()

    assert not registry.targets
    assert not registry.echo
    assert all(server.skip for server in registry.servers.values())


def test_m22_servers_of_which_none_has_an_url_are_echo(tmp_path: Path) -> None:
    lay(tmp_path, "one", url="")
    lay(tmp_path, "two", b"{}")
    registry = Follower(tmp_path).look()

    assert registry.echo
    assert [reason(server) for server in registry.servers.values()] == ["NoUrl", "NoUrl"]


def test_no_descriptor_is_left_open_by_any_fault(tmp_path: Path) -> None:
    directory = tmp_path / "servers"
    generation(directory, {"a": GOOD, "b": b"{"})
    follower = Follower(directory)
    follower.look()
    before = len(os.listdir("/proc/self/fd"))
    for spoil in (_dangle, _lead_outside, _unlinked):
        follower.look()
        spoil(directory)
        follower.look()
        generation(directory, {"a": GOOD, "b": b"{"})

    assert len(os.listdir("/proc/self/fd")) == before
