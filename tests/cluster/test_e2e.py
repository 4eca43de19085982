"""However `make e2e` ends, its cluster ends with it, and its status says how it went."""

import json
import os
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress

import pytest

from bench.waiting import wait_until
from cluster.machine import SCRIPTS, Machine


def is_clean(machine: Machine) -> bool:
    """Whether neither a cluster nor a file of the run is left."""
    return machine.world["clusters"] == {} and not any((machine.folder / "scratch").iterdir())


@pytest.mark.parametrize(("options", "status"), [((), 1), (("--if-able",), 0)])
def test_where_no_cluster_can_be_had_it_says_what_one_needs(
    machine: Machine, options: tuple[str, ...], status: int
) -> None:
    machine.has()

    done = machine.run("e2e", *options)

    assert done.returncode == status
    assert "e2e: left out" in done.stdout
    assert "  docker: " in done.stdout
    assert is_clean(machine)


@pytest.mark.parametrize("fails", ["kind create", "docker build", "kind load"])
def test_a_failed_step_shows_what_it_said(machine: Machine, fails: str) -> None:
    machine.begins(fails=fails)

    done = machine.run("e2e", "--if-able")

    assert done.returncode == 1
    assert "engine: failed, as it was to" in done.stderr
    assert "failed: kind's cluster up" in done.stderr
    assert is_clean(machine)


def test_a_failed_test_shows_the_cluster(machine: Machine) -> None:
    done = machine.run("e2e", "--if-able", "-k", "rolling")

    assert done.returncode == 1
    assert "1 error" in done.stdout
    assert "get pods --all-namespaces" in done.stdout
    assert "green" not in done.stdout
    assert is_clean(machine)


def test_a_cluster_that_does_not_end_is_no_good_end(machine: Machine) -> None:
    machine.begins(fails="kind delete")

    done = machine.run("e2e", "--if-able", "--collect-only")

    assert done.returncode == 1
    assert "failed: kind's cluster down" in done.stderr


@pytest.mark.parametrize(
    ("tell", "number"),
    [
        pytest.param(os.kill, signal.SIGTERM, id="told alone"),
        pytest.param(os.killpg, signal.SIGINT, id="Ctrl-C, which all its programs hear"),
    ],
)
def test_a_run_that_is_told_to_end_leaves_nothing(
    machine: Machine, tell: Callable[[int, int], None], number: int
) -> None:
    machine.begins(hangs="docker build")
    run = subprocess.Popen(
        [SCRIPTS / "e2e"],
        env=machine.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )

    def builds() -> bool:
        return machine.calls()[-1].startswith("docker build")

    try:
        wait_until(builds, what="it builds", ignoring=(IndexError, json.JSONDecodeError))
        tell(run.pid, number)

        assert run.wait(timeout=30) == -number
        assert is_clean(machine)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(run.pid, signal.SIGKILL)
