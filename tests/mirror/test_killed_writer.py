"""What a reader finds after the writer was killed at any moment."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mirror import reader
from mirror.endless_writer import SERVERS, numbered
from pointsman_mirror.disk import Directory

KILLS = 100
# A generation of this size takes a few milliseconds, so that moments within this time fall into
# every step of several generations.
LATEST_KILL_S = 0.05
TESTS = Path(__file__).resolve().parent.parent


@pytest.fixture
def writers(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "mirror.endless_writer", str(tmp_path)]
    environment = os.environ | {"PYTHONPATH": str(TESTS)}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        yield process


def killed_once(writers: subprocess.Popen[str], after_s: float) -> None:
    assert writers.stdin is not None
    assert writers.stdout is not None
    writers.stdin.write("go\n")
    writers.stdin.flush()
    child = int(writers.stdout.readline())
    time.sleep(after_s)  # the moment of the fault, not a wait for an outcome
    os.kill(child, signal.SIGKILL)
    assert writers.stdout.readline() == "ended\n"


def numbers(files: reader.Files) -> set[bytes]:
    return {text.partition(b'"number": ')[2].partition(b",")[0] for text in files.values()}


def test_a_writer_killed_at_a_hundred_moments_leaves_only_whole_generations(
    writers: subprocess.Popen[str], tmp_path: Path
) -> None:
    moments = random.Random(103)
    Directory(tmp_path).publish(numbered(0))
    unfinished = 0
    for _ in range(KILLS):
        killed_once(writers, moments.uniform(0, LATEST_KILL_S))
        found = reader.read(tmp_path)

        assert len(found) == SERVERS
        assert len(numbers(found)) == 1
        unfinished += any(
            not (tmp_path / name / ".complete").exists() for name in reader.generations(tmp_path)
        )

    # Were it never caught writing, the test would show nothing.
    assert unfinished > KILLS // 4


def test_what_killed_writers_leave_behind_is_removed_by_the_next(
    writers: subprocess.Popen[str], tmp_path: Path
) -> None:
    moments = random.Random(96)
    for _ in range(10):
        killed_once(writers, moments.uniform(0, LATEST_KILL_S))
    (tmp_path / "..data_tmp").unlink(missing_ok=True)
    (tmp_path / "..data_tmp").symlink_to("..gen-never-finished")
    before = os.readlink(tmp_path / "..data")

    after = Directory(tmp_path).publish(numbered(1)).target

    assert reader.generations(tmp_path) == sorted({before, after})
    assert sorted(os.listdir(tmp_path)) == sorted({"..data", before, after})
