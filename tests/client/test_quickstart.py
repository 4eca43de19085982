"""What a person gets who has just cloned the repository."""

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench import agents, ports
from bench.processes import Program
from bench.waiting import until, wait_until
from client.descendants import descendants, running

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "quickstart"
START_S = 60.0
END_S = 10.0
TARGETS = ["help", "run", "kind", "kind-down", "check", "test", "e2e", "screenshots", "fmt", "lock"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The files of the quickstart with ports that nobody else has."""
    folder = tmp_path / "quickstart"
    folder.mkdir()
    for path in EXAMPLES.glob("*.yaml"):
        text = re.sub(r":91\d\d/", f":{ports.free_port()}/", path.read_text())
        (folder / path.name).write_text(text)
    return folder


@contextmanager
def quickstart(folder: Path) -> Iterator[Program]:
    program = Program("quickstart", command(folder), cwd=ROOT, environment=environment(folder))
    with program:
        wait_until(lambda: "\ntry\n" in program.output or not program.is_running, START_S)
        yield program


def command(folder: Path) -> list[str]:
    script = str(ROOT / "examples" / "run.py")
    return [sys.executable, script, str(folder), "--port", str(ports.free_port())]


def environment(folder: Path) -> dict[str, str]:
    temporary = folder.parent / "temporary"
    temporary.mkdir()
    return {"TMPDIR": str(temporary)}


async def test_the_quickstart_serves_the_allowed_tools_of_both_examples(folder: Path) -> None:
    with quickstart(folder) as program:
        url = re.search(r"http://\S+/mcp", program.output)
        assert url is not None
        listed = await agents.tools(url[0])
        added = await agents.call(url[0], "notes.add", {"text": "buy milk"})
        found = await agents.call(url[0], "notes.find", {"words": "MILK"})
        there = await agents.call(
            url[0],
            "clock.convert",
            {"time": "2026-07-28T09:00", "from_zone": "Europe/Zurich", "to_zone": "Asia/Tokyo"},
        )

    assert set(listed) == {"clock.convert", "clock.now", "notes.add", "notes.find"}
    assert not added.is_error
    assert found.content[0].text == "buy milk"
    assert there.content[0].text == "2026-07-28T16:00+09:00"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
async def test_the_end_of_the_quickstart_leaves_nothing_running(
    folder: Path, number: signal.Signals
) -> None:
    with quickstart(folder) as program:
        below = descendants(program.pid)
        program.send(number)
        await program.ends()

        # Two servers, the command and its router.
        assert len(below) == 4
        await until(lambda: not any(running(pid) for pid in below), END_S)
        await until(lambda: not list((folder.parent / "temporary").iterdir()), END_S)


async def test_the_quickstart_ends_with_whoever_started_it(folder: Path) -> None:
    # As make does: a starter that was killed outright tells nobody.
    starter = f"{shlex.join(command(folder))}; true"
    program = Program("starter", ["sh", "-c", starter], environment=environment(folder))
    with program:
        wait_until(lambda: "\ntry\n" in program.output or not program.is_running, START_S)
        below = descendants(program.pid)
        os.kill(program.pid, signal.SIGKILL)

        assert len(below) == 5
        await until(lambda: not any(running(pid) for pid in below), END_S)


def test_a_port_of_the_examples_that_is_taken_is_told(folder: Path) -> None:
    file = folder / "notes.yaml"
    with ports.taken_port() as port:
        file.write_text(re.sub(r":\d+/", f":{port}/", file.read_text()))
        with quickstart(folder) as program:
            status = program.wait()
            said = program.output

    assert status == 1
    assert said == f"Port {port} is taken. Free it, or name another one in {file}.\n"


def test_a_file_that_is_broken_from_the_start_is_told_and_costs_its_own_server(
    folder: Path,
) -> None:
    file = folder / "notes.yaml"
    file.write_text("spec: [")
    with quickstart(folder) as program:
        said = program.output

    assert f"{file}:1: Unreadable: not YAML" in said
    assert "clock.now" in said


def test_make_names_every_command_and_none_is_a_file() -> None:
    listed = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True)
    phony = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)

    assert phony is not None
    assert phony[1].split() == TARGETS
    assert [line.split()[1] for line in listed.stdout.splitlines()] == TARGETS


def test_the_fast_tests_that_make_check_names_are_there() -> None:
    planned = subprocess.run(
        ["make", "--dry-run", "check"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    named = re.findall(r"tests/\w+/test_\w+\.py", planned.stdout)

    assert named != []
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_ci_runs_the_test_command_and_nothing_else(tmp_path: Path) -> None:
    make = tmp_path / "make"
    make.write_text(f'#!/bin/sh\necho "$PWD $@" >> {tmp_path}/calls\n')
    make.chmod(0o755)

    subprocess.run(
        [ROOT / ".ci" / "run"],
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}"},
        cwd="/",
        check=True,
        capture_output=True,
    )

    assert (tmp_path / "calls").read_text() == f"{ROOT} test\n"
