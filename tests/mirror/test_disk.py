"""What readers see of the directory while generations come, go and fail."""

import json
import os
import resource
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from mirror import reader
from mirror.endless_writer import numbered
from mirror.published import document
from pointsman_mirror import layout
from pointsman_mirror.disk import Directory, NotWritten
from pointsman_mirror.layout import Published

NOBODY = 65534


def generation(*names: str, **members: object) -> layout.Generation:
    return layout.build(
        Published(name, "tools", name, document("tools", name, **members)) for name in names
    )


def test_the_link_names_a_generation_beside_it_with_its_mark_of_completion(tmp_path: Path) -> None:
    in_force = Directory(tmp_path).publish(generation("github", "search"))

    assert os.readlink(tmp_path / "..data") == in_force.target
    assert in_force.target.startswith("..gen-")
    assert "/" not in in_force.target
    assert json.loads((tmp_path / "..data" / ".complete").read_bytes()) == {
        "servers": 2,
        "views": 0,
    }
    assert sorted(reader.read(tmp_path)) == ["tools.github", "tools.search"]


def test_the_mark_of_completion_is_written_after_everything_else(tmp_path: Path) -> None:
    target = Directory(tmp_path).publish(numbered(1)).target
    written_ns = {
        path.name if path.name == ".complete" else str(path): path.stat().st_mtime_ns
        for path in (tmp_path / target).rglob("*")
        if path.is_file()
    }

    assert written_ns.pop(".complete") >= max(written_ns.values())


def test_a_missing_directory_is_made(tmp_path: Path) -> None:
    Directory(tmp_path / "var" / "servers").publish(generation("github"))

    assert list(reader.read(tmp_path / "var" / "servers")) == ["tools.github"]


def test_equal_content_leaves_the_generation_in_force_also_after_a_restart(tmp_path: Path) -> None:
    directory = Directory(tmp_path)
    first = directory.publish(generation("github", "search"))

    assert directory.publish(generation("search", "github")) == first
    assert Directory(tmp_path).publish(generation("github", "search")) == first
    assert Directory(tmp_path).in_force() == first
    assert reader.generations(tmp_path) == [first.target]


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(generation("github"), id="a server less"),
        pytest.param(generation("github", "search", "zoo"), id="a server more"),
        pytest.param(generation("github", "search", suspend=True), id="a changed document"),
        pytest.param(generation(), id="none left"),
    ],
)
def test_other_content_becomes_a_new_generation(changed: layout.Generation, tmp_path: Path) -> None:
    first = Directory(tmp_path).publish(generation("github", "search"))
    second = Directory(tmp_path).publish(changed)

    assert second.target != first.target
    assert len(reader.read(tmp_path)) == changed.servers
    assert Directory(tmp_path).in_force() == second


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda folder: (folder / ".complete").unlink(), id="no mark"),
        pytest.param(lambda folder: (folder / ".complete").write_text(""), id="an empty mark"),
        pytest.param(
            lambda folder: (folder / "tools.github" / "meta.json").write_text(""),
            id="an emptied file",
        ),
        pytest.param(
            lambda folder: (folder / "tools.github" / "meta.json").unlink(), id="a lost file"
        ),
        pytest.param(lambda folder: shutil.rmtree(folder / "tools.github"), id="a lost folder"),
        pytest.param(lambda folder: (folder / "tools.evil").mkdir(), id="a folder too many"),
        pytest.param(shutil.rmtree, id="nothing left"),
    ],
)
def test_a_damaged_generation_is_replaced_though_nothing_else_is_asked_for(
    damage: Callable[[Path], object], tmp_path: Path
) -> None:
    asked = generation("github", "search")
    first = Directory(tmp_path).publish(asked)
    damage(tmp_path / first.target)

    second = Directory(tmp_path).publish(asked)

    assert second.target != first.target
    assert sorted(reader.read(tmp_path)) == ["tools.github", "tools.search"]


def test_the_generation_before_stays_for_whoever_is_still_reading_it(tmp_path: Path) -> None:
    directory = Directory(tmp_path)
    targets = [directory.publish(generation("github", number=number)).target for number in range(5)]

    assert reader.generations(tmp_path) == sorted(targets[-2:])


@pytest.mark.parametrize(
    "target",
    [
        pytest.param("..gen-gone", id="a generation that is gone"),
        pytest.param("..2026_01_01", id="what a kubelet would write"),
        pytest.param("../elsewhere", id="a folder elsewhere"),
    ],
)
def test_a_link_that_names_no_generation_of_ours_is_replaced(target: str, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / ".complete").write_text('{"servers": 0}')
    directory = tmp_path / "servers"
    directory.mkdir()
    (directory / "..data").symlink_to(target)
    before = Directory(directory).in_force()

    Directory(directory).publish(generation("github"))

    assert before is None
    assert list(reader.read(directory)) == ["tools.github"]
    assert list(elsewhere.iterdir()) == [elsewhere / ".complete"]


def test_strangers_in_the_directory_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "lost+found").mkdir()
    (tmp_path / "note.txt").write_text("mine")

    Directory(tmp_path).publish(generation("github"))
    Directory(tmp_path).publish(generation())

    assert (tmp_path / "lost+found").is_dir()
    assert (tmp_path / "note.txt").read_text() == "mine"


def test_a_reader_never_meets_half_a_generation_or_two_mixed(tmp_path: Path) -> None:
    reads, swaps = 1500, 50
    Directory(tmp_path).publish(numbered(0, servers=10))
    enough = threading.Event()

    def write() -> None:
        directory = Directory(tmp_path)
        for number in range(1, 1_000_000):
            if enough.is_set():
                return
            directory.publish(numbered(number, servers=10))

    writer = threading.Thread(target=write)
    writer.start()
    seen: set[object] = set()
    done = 0
    try:
        # A slow disk gives few swaps to so many reads.
        while done < reads or len(seen) < swaps:
            done += 1
            found = reader.documents(tmp_path)
            numbers = {whole["number"] for whole in found.values() if isinstance(whole, dict)}

            assert len(found) == 10
            assert len(numbers) == 1
            seen |= numbers
    finally:
        enough.set()
        writer.join()


@contextmanager
def a_full_volume(_: Path) -> Iterator[None]:
    """Every file may grow to 1,000 bytes and no further, as on a volume that fills up."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextmanager
def a_read_only_volume(directory: Path) -> Iterator[None]:
    """Nothing may be made in the directory; the superuser, who may always, steps down."""
    superuser = os.geteuid() == 0
    directory.chmod(0o555)
    if superuser:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if superuser:
            os.seteuid(0)
        directory.chmod(0o755)


@contextmanager
def a_link_that_cannot_move(directory: Path) -> Iterator[None]:
    """Something stands where the new link has to be made."""
    (directory / "..data_tmp").mkdir()
    try:
        yield
    finally:
        (directory / "..data_tmp").rmdir()


@pytest.fixture
def volume() -> Iterator[Path]:
    """A directory that every user may reach."""
    with tempfile.TemporaryDirectory() as path:
        Path(path).chmod(0o755)
        yield Path(path)


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(a_full_volume, id="full"),
        pytest.param(a_read_only_volume, id="read-only"),
        pytest.param(a_link_that_cannot_move, id="in the way"),
    ],
)
def test_a_generation_that_cannot_be_written_leaves_the_one_before_in_force(
    fault: Callable[[Path], AbstractContextManager[None]], volume: Path
) -> None:
    directory = Directory(volume)
    first = directory.publish(generation("github"))
    larger = generation("github", "search", pad="x" * 5000)
    with fault(volume), pytest.raises(NotWritten) as refused:
        directory.publish(larger)

    assert directory.in_force() == first
    assert list(reader.read(volume)) == ["tools.github"]
    assert reader.generations(volume) == [first.target]
    assert str(volume) in str(refused.value)

    second = directory.publish(larger)

    assert sorted(reader.read(volume)) == ["tools.github", "tools.search"]
    assert second.written_at_s >= first.written_at_s
