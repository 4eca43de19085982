"""How a tethered program ends."""

import signal
import subprocess
from pathlib import Path

import pytest

from pointsman import tether

PROGRAM = """\
import os, signal, sys, time

def end(*_):
    os.write(1, b"told to end\\n")  # print may be at work when the signal comes
    sys.exit(3)

signal.signal(signal.SIGTERM, end)
print("started with", sys.argv[1:], flush=True)
threshold = time.monotonic() + 60
while time.monotonic() < threshold:
    time.sleep(0.05)
"""


@pytest.fixture
def script(tmp_path: Path) -> str:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return str(path)


def start(program: str, *arguments: str, cwd: Path | None = None) -> subprocess.Popen[str]:
    return subprocess.Popen(
        tether.command(program, *arguments),
        cwd=cwd,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_program_runs_with_its_arguments_as_if_alone(script: str) -> None:
    with start(script, "a", "--b") as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        process.wait()

    assert said == "started with ['a', '--b']\n"
    assert process.returncode == 3


def test_a_program_whose_starter_is_gone_is_told_to_end(script: str) -> None:
    # The starter's death closes the pipe, whatever it died of.
    with start(script) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.readline()
        process.stdin.close()
        said = process.stdout.readline()

    assert said == "told to end\n"
    assert process.returncode == 3


def test_a_module_that_lies_where_it_is_run_is_not_taken_for_ours(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("raise SystemExit('the wrong one')")

    with start("pointsman", "--version", cwd=tmp_path) as process:
        status = process.wait()

    assert status == 0
