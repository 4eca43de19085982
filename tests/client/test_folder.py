"""When a change in a folder counts."""

import os
from pathlib import Path

import pytest

from client.command import good
from pointsman.documents import MAX_BYTES
from pointsman.folder import Folder, Look


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "a.yaml").write_text(good("a"))
    return tmp_path


def settled(folder: Folder) -> Look:
    """What counts once two looks have found the same."""
    folder.look()
    return folder.look()


def names(look: Look) -> list[str]:
    return [Path(file.name).name for file in look.files]


def test_the_first_look_counts_at_once(path: Path) -> None:
    look = Folder(path).look()

    assert names(look) == ["a.yaml"]
    assert look.fault is None


def test_a_file_counts_once_it_has_been_seen_twice_alike(path: Path) -> None:
    folder = Folder(path)
    folder.look()
    (path / "b.yaml").write_text("half: [")
    at_first = names(folder.look())
    (path / "b.yaml").write_text(good("b"))
    meanwhile = names(folder.look())

    assert at_first == meanwhile == ["a.yaml"]
    assert names(folder.look()) == ["a.yaml", "b.yaml"]
    assert folder.look().files[1].fault is None


def test_a_file_that_is_moved_away_for_a_moment_never_went(path: Path) -> None:
    folder = Folder(path)
    before = folder.look()
    (path / "a.yaml").rename(path / "a.yaml~")
    meanwhile = folder.look()
    (path / "a.yaml~").rename(path / "a.yaml")

    assert meanwhile == settled(folder) == before


def test_a_file_that_is_removed_is_gone(path: Path) -> None:
    folder = Folder(path)
    folder.look()
    (path / "a.yaml").unlink()

    assert settled(folder).files == ()


def test_a_file_that_breaks_keeps_what_it_said_and_says_why(path: Path) -> None:
    folder = Folder(path)
    before = folder.look().files[0]
    (path / "a.yaml").write_text("a: [")
    after = settled(folder).files[0]

    assert after.documents == before.documents
    assert after.fault is not None
    assert after.fault.line == 1


def test_a_file_that_is_repaired_says_what_it_says_now(path: Path) -> None:
    folder = Folder(path)
    (path / "a.yaml").write_text("a: [")
    settled(folder)
    (path / "a.yaml").write_text("a: 1")
    (file,) = settled(folder).files

    assert file.fault is None
    assert file.documents[0].value == {"a": 1}


def test_an_edit_that_keeps_size_and_time_is_seen(path: Path) -> None:
    file = path / "a.yaml"
    folder = Folder(path)
    folder.look()
    before = file.stat()
    file.write_text(good("z"))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert "'name': 'z'" in str(settled(folder).files[0].documents[0].value)


@pytest.mark.parametrize("name", ["a.txt", ".hidden.yaml", "a.yaml~", ".a.yaml.swp", "a.yamlx"])
def test_what_is_no_file_of_ours_is_passed_over(path: Path, name: str) -> None:
    (path / name).write_text(good("b"))

    assert names(Folder(path).look()) == ["a.yaml"]


def test_what_is_no_regular_file_is_passed_over_without_waiting_for_it(path: Path) -> None:
    os.mkfifo(path / "pipe.yaml")
    (path / "folder.yaml").mkdir()
    (path / "dangling.yaml").symlink_to(path / "nowhere")

    assert names(Folder(path).look()) == ["a.yaml"]


def test_files_below_are_passed_over_as_kubectl_passes_them_over(path: Path) -> None:
    (path / "below").mkdir()
    (path / "below" / "b.yaml").write_text(good("b"))

    assert names(Folder(path).look()) == ["a.yaml"]


def test_a_file_without_end_is_read_to_the_limit(path: Path) -> None:
    with (path / "b.yaml").open("wb") as sparse:
        sparse.truncate(1 << 34)

    (fault,) = [file.fault for file in Folder(path).look().files if file.fault]

    assert fault.message == f"the file is larger than {MAX_BYTES // 1024**2} MiB"


def test_a_folder_that_vanishes_keeps_what_was_there_and_says_so(path: Path) -> None:
    folder = Folder(path)
    before = folder.look()
    path.rename(path.with_name("elsewhere"))
    after = settled(folder)

    assert after.files == before.files
    assert after.fault == f"{path} cannot be read: No such file or directory"
