"""What is in the image, and what is not."""

import json
import re
import stat
import subprocess
from pathlib import Path

import pytest

from image.archives import Archive

COMPRESSED_MAX_MIB = 120


def test_it_is_small_enough(product: Archive, examples: Archive) -> None:
    print(f"compressed: {product.compressed_mib:.1f} MiB")
    print(f"compressed, with the examples: {examples.compressed_mib:.1f} MiB")

    assert product.compressed_mib <= COMPRESSED_MAX_MIB
    assert examples.compressed_mib <= COMPRESSED_MAX_MIB


def test_every_blob_is_what_it_is_called(product: Archive, examples: Archive) -> None:
    assert product.broken() == []
    assert examples.broken() == []


def test_it_is_loaded_by_its_full_name(product: Archive) -> None:
    assert product.index["annotations"] == {
        "io.containerd.image.name": "pointsman.test/it:dev",
        "org.opencontainers.image.ref.name": "dev",
    }


def test_it_starts_a_module_as_nobody(product: Archive) -> None:
    assert product.config["config"]["User"] == "65532:65532"
    assert product.config["config"]["Entrypoint"] == ["/usr/bin/python3", "-m"]


def test_the_examples_are_the_programs_and_one_more_layer(
    product: Archive, examples: Archive
) -> None:
    assert examples.layer_digests[:-1] == product.layer_digests


def test_everything_is_roots_and_only_tmp_is_for_everybody(examples: Archive) -> None:
    others = {
        member.name: stat.filemode(member.mode)
        for member in examples.members()
        if not member.issym() and member.mode & (stat.S_ISUID | stat.S_ISGID | stat.S_IWOTH)
    }

    assert {(member.uid, member.gid) for member in examples.members()} == {(0, 0)}
    assert others == {"tmp": "?rwxrwxrwt"}


def test_the_only_programs_are_python_and_the_command_line(root: Path) -> None:
    programs = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*")
        if path.is_file()
        and not path.is_symlink()
        and path.stat().st_mode & 0o111
        and not re.search(r"\.so(\.\d+)*$", path.name)
    }

    assert programs == {"usr/bin/python3.11", "usr/local/bin/pointsman"}


@pytest.mark.parametrize(
    "name",
    ["ensurepip", "hatchling", "idlelib", "pip", "setuptools", "tests", "tkinter"],
)
def test_nothing_is_there_that_installs_or_tests(root: Path, name: str) -> None:
    assert sorted(root.rglob(name)) + sorted(root.rglob(f"{name}-*.dist-info")) == []


def test_every_shared_library_is_there_that_another_file_needs(root: Path) -> None:
    (loader,) = root.glob("usr/lib/*-linux-gnu/ld-linux-*.so.*")
    files = [path for path in root.rglob("*") if path.is_file() and not path.is_symlink()]
    linked = [path for path in files if path != loader and _is_elf(path)]

    foreign = {
        f"{path.relative_to(root)}: {line.strip()}"
        for path in linked
        for line in _needed(loader, path)
        if "=>" in line and f"=> {root}/" not in line
    }

    assert len(linked) > 50
    assert foreign == set()


def test_everything_is_compiled_and_no_start_asks_whether_it_still_is(root: Path) -> None:
    sources = [path for path in root.rglob("*.py") if path.parent.name != "bin"]
    compiled = {
        path: path.parent / "__pycache__" / f"{path.stem}.cpython-311.pyc" for path in sources
    }
    # PEP 552: a hash stands in the header, and nobody is to compare it.
    unchecked = (1).to_bytes(4, "little")

    assert len(sources) > 1000
    assert [path for path, pyc in compiled.items() if not pyc.is_file()] == []
    assert {pyc.read_bytes()[4:8] for pyc in compiled.values()} == {unchecked}


def test_a_scanner_finds_every_debian_package(root: Path) -> None:
    folder = root / "var/lib/dpkg/status.d"
    said = {path.name: dict(_fields(path.read_text())) for path in folder.iterdir()}
    inventory = json.loads((root / "usr/share/pointsman/base.json").read_text())["debian"]

    found = {name: fields["Version"] for name, fields in said.items()}
    assert found == inventory
    assert {fields["Package"] for fields in said.values()} == set(inventory)


def _fields(control: str) -> list[tuple[str, str]]:
    lines = (line for line in control.splitlines() if line[:1] not in ("", " "))
    return [(name, value) for name, _, value in (line.partition(": ") for line in lines)]


def test_it_says_what_is_in_it(root: Path) -> None:
    said = {
        part: json.loads((root / f"usr/share/pointsman/{part}.json").read_text())
        for part in ("base", "code")
    }
    distributions = {
        re.sub(r"[-_.]+", "-", path.name.split("-")[0]).lower()
        for path in (root / "opt/pointsman/lib").glob("*.dist-info")
    }

    assert said["base"]["python"].keys() | said["code"]["python"].keys() == distributions
    assert {"libc6", "libssl3", "python3.11-minimal"} <= said["base"]["debian"].keys()


def test_the_licence_of_every_debian_package_is_there(root: Path) -> None:
    packages = json.loads((root / "usr/share/pointsman/base.json").read_text())["debian"]

    licences = {name: root / "usr/share/doc" / name / "copyright" for name in packages}

    assert {name for name, path in licences.items() if not path.is_file()} == set()


def _is_elf(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def _needed(loader: Path, path: Path) -> list[str]:
    listed = subprocess.run(
        [loader, "--inhibit-cache", "--library-path", loader.parent, "--list", path],
        capture_output=True,
        text=True,
        check=False,
    )
    if "statically linked" in listed.stdout + listed.stderr:
        return []
    assert listed.returncode == 0, f"{path}: {listed.stderr}"
    return listed.stdout.splitlines()
