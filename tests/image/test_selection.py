"""Which files and which packages the image takes."""

import re
import tomllib
from pathlib import Path

import pytest

from pointsman_image import debian, needed, wheels

_ROOT = Path(__file__).resolve().parents[2]
LOCK = """\
one==1.0 \\
    --hash=sha256:aa
    # via
    #   pointsman (pyproject.toml)
two[extra]==2.0 \\
    --hash=sha256:bb
three-more==3.0.post1 \\
    --hash=sha256:cc \\
    --hash=sha256:dd
"""


def lock(name: str) -> dict[str, str]:
    return wheels.pinned((_ROOT / "requirements" / f"{name}.txt").read_text())


@pytest.mark.parametrize(
    ("path", "is_taken"),
    [
        ("usr/bin/python3.11", True),
        ("usr/lib/python3.11/asyncio/__init__.py", True),
        ("usr/lib/x86_64-linux-gnu/libssl.so.3", True),
        ("usr/lib/python3.11/lib-dynload/_sqlite3.cpython-311-x86_64-linux-gnu.so", True),
        ("usr/lib/python3.11/lib-dynload/_dbm.cpython-311-x86_64-linux-gnu.so", False),
        ("usr/share/doc/libc6/copyright", True),
        ("usr/share/doc/libgcc-s1", True),
        ("usr/bin/perl", False),
        ("usr/sbin/update-ca-certificates", False),
        ("etc/profile.d/something.sh", False),
        ("usr/share/doc/libc6/changelog.gz", False),
        ("usr/share/man/man1/python3.11.1.gz", False),
        ("usr/lib/python3.11/ensurepip/__init__.py", False),
        ("usr/lib/python3.11/test/support/__init__.py", False),
        ("usr/lib/x86_64-linux-gnu/gconv/UTF-16.so", False),
    ],
)
def test_of_a_debian_package_only_what_python_needs_is_taken(path: str, is_taken: bool) -> None:
    assert needed.of_debian(path) is is_taken


@pytest.mark.parametrize(
    ("path", "is_taken"),
    [
        ("kopf/__init__.py", True),
        ("uvloop/loop.cpython-311-x86_64-linux-gnu.so", True),
        ("tzdata/zoneinfo/Europe/Zurich", True),
        ("kopf-1.0.dist-info/METADATA", True),
        ("kopf-1.0.dist-info/licenses/LICENSE", True),
        ("bin/kopf", False),
        ("uvloop/loop.pyx", False),
        ("some/tests/test_it.py", False),
        ("kopf-1.0.dist-info/RECORD", False),
        ("kopf/__pycache__/__init__.cpython-311.pyc", False),
    ],
)
def test_of_a_wheel_everything_but_tests_and_sources_of_extensions_is_taken(
    path: str, is_taken: bool
) -> None:
    assert needed.of_wheels(path) is is_taken


def test_a_lock_names_each_package_with_its_version() -> None:
    assert wheels.pinned(LOCK) == {"one": "1.0", "two": "2.0", "three-more": "3.0.post1"}


def test_what_another_lock_has_is_left_out_with_its_hashes() -> None:
    assert wheels.without(LOCK, "one==1.0 \\\n    --hash=sha256:aa\n") == LOCK[LOCK.index("two") :]
    assert wheels.without(LOCK, LOCK) == ""


@pytest.mark.parametrize("name", ["image", "examples-image", "image-build"])
def test_the_image_has_the_versions_that_are_tested(name: str) -> None:
    tested = lock("dev")

    assert {package: tested.get(package) for package in lock(name)} == lock(name)


def test_the_examples_add_to_the_libraries_and_change_none() -> None:
    assert lock("image").items() <= lock("examples-image").items()


def test_the_image_has_every_library_that_the_project_names() -> None:
    about = tomllib.loads((_ROOT / "pyproject.toml").read_text())["project"]
    extras = about["optional-dependencies"]
    wanted = [
        *about["dependencies"],
        *(each for extra in ("operator", "mirror", "router", "client") for each in extras[extra]),
    ]
    names = {re.split(r"[\[<>=!~ ]", requirement)[0].lower() for requirement in wanted}

    assert names - {"pointsman"} <= lock("image").keys()


def test_a_package_is_known_by_its_files_name() -> None:
    package = debian.Package("libcrypt1_1%3a4.4.33-2_amd64.deb", "00")

    assert (package.name, package.version) == ("libcrypt1", "1:4.4.33-2")
