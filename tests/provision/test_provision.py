"""What is provided is found, what is not is named together with the way to get it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench import tools
from provision.store import Store, recipe

_TESTS = Path(__file__).resolve().parent.parent


@pytest.fixture
def empty_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("POINTSMAN_TOOLS", str(tmp_path / "tools"))
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path / "tools"


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o755)
    return path


@pytest.mark.parametrize(
    ("look_up", "named"),
    [
        pytest.param(lambda: tools.control_plane_binary("etcd"), "etcd", id="a binary"),
        pytest.param(tools.node, r"Node >= 22\.19", id="Node"),
        pytest.param(tools.everything_script, "server-everything", id="the npm package"),
        pytest.param(tools.suite_script, "@modelcontextprotocol/conformance", id="the suite"),
        pytest.param(tools.go_client, "the client in Go", id="a client that is built"),
        pytest.param(tools.mcp1_python, "mcp 1.x", id="the other SDK"),
    ],
)
def test_what_is_missing_is_named_with_the_command_that_provides_it(
    look_up: object, named: str, empty_cache: Path
) -> None:
    assert callable(look_up)
    with pytest.raises(tools.NotProvided, match=rf"{named}.*is not provided: run `make test`"):
        look_up()


def test_envtest_assets_come_before_the_cache(
    monkeypatch: pytest.MonkeyPatch, empty_cache: Path, tmp_path: Path
) -> None:
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path / "assets"))
    ready = program(tmp_path / "assets" / "etcd")
    program(empty_cache / "etcd")
    built = program(empty_cache / "kube-controller-manager")

    assert tools.control_plane_binary("etcd") == ready
    assert tools.control_plane_binary("kube-controller-manager") == built


def test_a_thing_is_there_only_when_it_was_finished_by_the_same_recipe(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.place("thing").mkdir()
    with store.locked():
        begun = store.holds("thing", "recipe 1")
        store.keep("thing", "recipe 1")

    assert not begun
    assert store.holds("thing", "recipe 1")
    assert not store.holds("thing", "recipe 2")


def test_a_thing_about_to_change_is_not_there_until_it_is_finished(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.place("thing").mkdir()
    with store.locked():
        store.keep("thing", "recipe")
        store.forget("thing")

    assert not store.holds("thing", "recipe")


def test_a_recipe_changes_with_the_content_of_its_files(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    lock.write_text("one")
    before = recipe(lock, "3.11")
    lock.write_text("two")

    assert recipe(lock, "3.11") != before
    assert recipe("ab", "c") != recipe("a", "bc")


def test_a_second_run_finds_everything_there() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "provision"],
        env={**os.environ, "PYTHONPATH": str(_TESTS)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "building" not in done.stdout
    assert done.stdout.splitlines()[-1].startswith("provision: all there")


def test_a_failed_step_is_named_and_ends_the_run_with_an_error(tmp_path: Path) -> None:
    occupied = tmp_path / "occupied"
    occupied.write_text("a file where the cache should be")

    done = subprocess.run(
        [sys.executable, "-m", "provision"],
        env={**os.environ, "PYTHONPATH": str(_TESTS), "POINTSMAN_TOOLS": str(occupied)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 1
    assert "provision: FAILED: " in done.stderr
    assert str(occupied) in done.stderr
