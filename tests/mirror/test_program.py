"""How the mirror starts, refuses to start, and ends."""

import signal
import sys
from pathlib import Path

import pytest

from bench import ports
from bench.processes import Program, python
from bench.waiting import wait_until
from mirror import running
from pointsman_mirror import settings

TESTS = Path(__file__).resolve().parent.parent


def ended(*arguments: str, **environ: str) -> tuple[int, str]:
    with Program("mirror", python("pointsman_mirror", *arguments), environment=environ) as program:
        return program.wait(), program.output


def test_help_prints_every_variable_with_its_default_and_meaning() -> None:
    status, output = ended("--help")

    assert status == 0
    assert settings.table() in output


def test_bad_settings_are_all_named_and_end_it_with_status_2() -> None:
    status, output = ended(POINTSMAN_MIRROR_DIRECTORY="here", POINTSMAN_MIRROR_PORT="1")

    assert status == 2
    assert [line.partition(":")[0] for line in output.splitlines()] == [
        "POINTSMAN_MIRROR_NAMESPACE",
        "POINTSMAN_MIRROR_DIRECTORY",
        "KUBECONFIG",
        "POINTSMAN_MIRROR_PORT",
    ]


def test_an_argument_is_refused_with_a_hint() -> None:
    status, output = ended("serve")

    assert status == 2
    assert "--help" in output


def test_a_port_that_is_taken_ends_it_with_a_line_that_says_so(tmp_path: Path) -> None:
    with ports.taken_port() as port:
        status, output = ended(
            KUBECONFIG=str(tmp_path / "none"),
            POINTSMAN_MIRROR_NAMESPACE="release",
            POINTSMAN_MIRROR_DIRECTORY=str(tmp_path),
            POINTSMAN_MIRROR_ADMIN_HOST=ports.LOOPBACK,
            POINTSMAN_MIRROR_ADMIN_PORT=str(port),
        )

    assert status == 1
    assert "admin port" in output


async def test_without_a_first_list_it_lives_and_is_not_ready_and_says_why(tmp_path: Path) -> None:
    with running.running(tmp_path / "none", "release", tmp_path / "servers") as mirror:
        await mirror.program.answers(f"{mirror.admin}/livez")
        await mirror.program.answers(f"{mirror.admin}/readyz", status=503)
        status, text = await mirror.ask("/readyz")

    assert status == 503
    assert text.startswith("no generation yet: Configuration: ")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda each: each.name)
def test_a_second_signal_ends_it_at_once(number: signal.Signals) -> None:
    command = [sys.executable, "-m", "mirror.stubborn"]
    with Program("mirror", command, environment={"PYTHONPATH": str(TESTS)}) as program:
        wait_until(lambda: "runs" in program.output)
        program.send(number)
        wait_until(lambda: "asked" in program.output)
        still_running = program.is_running
        program.send(number)

        assert still_running
        assert program.wait() == -number
