"""Programs under test start, speak, end and never stay behind."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bench import ports
from bench.processes import Program, ProgramFailed
from bench.waiting import NotInTime, until, wait_until

_TESTS = Path(__file__).resolve().parent.parent
SLEEPER = [sys.executable, "-c", "import time; print('up'); time.sleep(600)"]
STUBBORN = [
    sys.executable,
    "-c",
    "import signal, time; signal.signal(15, signal.SIG_IGN); print('up'); time.sleep(600)",
]


def test_a_program_sees_only_the_environment_it_was_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("POINTSMAN_ROUTER_PORT", "1")
    show = [sys.executable, "-c", "import os; print(sorted(k for k in os.environ if 'POINT' in k))"]

    with Program("show", show, environment={"POINTSMAN_OTHER": "2"}) as program:
        program.wait()

        assert program.output == "['POINTSMAN_OTHER']\n"


def test_output_of_both_streams_is_kept_in_order() -> None:
    script = "import sys; print('out', flush=True); print('err', file=sys.stderr)"
    with Program("speaker", [sys.executable, "-c", script]) as program:
        program.wait()

        assert program.output == "out\nerr\n"


def test_an_orderly_end_is_asked_for_first() -> None:
    with Program("sleeper", SLEEPER) as program:
        wait_until(lambda: "up" in program.output)

        assert program.stop() == -signal.SIGTERM


def test_a_program_that_ignores_the_request_is_killed() -> None:
    with Program("stubborn", STUBBORN) as program:
        wait_until(lambda: "up" in program.output)

        assert program.stop(grace_s=0.2) == -signal.SIGKILL


def test_a_program_that_ends_while_it_is_waited_for_fails_at_once_with_its_output() -> None:
    script = "print('no such setting'); raise SystemExit(3)"
    with (
        Program("short", [sys.executable, "-c", script]) as program,
        pytest.raises(ProgramFailed, match=r"short ended with 3\nno such setting"),
    ):
        program.wait_for_url("http://127.0.0.1:1/", deadline_s=30)


async def test_a_program_that_serves_is_waited_for_and_has_memory() -> None:
    port = ports.free_port()
    serve = [sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1"]
    with Program("server", serve, cwd=_TESTS / "bench") as program:
        await program.answers(f"http://127.0.0.1:{port}/ports.py")

        assert 1 < program.rss_mib < 500


def test_a_program_can_be_started_again_after_its_end() -> None:
    with Program("sleeper", SLEEPER) as program:
        first = program.pid
        program.kill()
        program.start()

        assert program.is_running
        assert program.pid != first


def test_a_program_ends_with_a_test_run_that_is_killed() -> None:
    script = (
        "import sys\n"
        "from bench.processes import Program\n"
        "from bench.waiting import wait_until\n"
        "child = 'import time; print(1); time.sleep(600)'\n"
        "program = Program('child', [sys.executable, '-c', child])\n"
        "program.start()\n"
        "wait_until(lambda: program.output)\n"  # before it runs, it is not tied yet
        "print(program.pid, flush=True)\n"
        "program.wait(600)\n"
    )
    run = subprocess.Popen(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": str(_TESTS)},
        stdout=subprocess.PIPE,
        text=True,
    )
    with run:
        assert run.stdout is not None
        pid = int(run.stdout.readline())
        run.kill()

    wait_until(lambda: not Path(f"/proc/{pid}").exists(), what="the child is gone")


def test_a_refusing_port_refuses_and_a_taken_one_listens() -> None:
    with ports.refusing_port() as refusing, ports.taken_port() as taken:
        assert not ports.listens(refusing)
        assert ports.listens(taken)


async def test_waiting_ends_with_the_first_truthy_value() -> None:
    values = iter([0, None, "", "here"])

    assert await until(lambda: next(values), every_s=0) == "here"


async def test_waiting_in_vain_says_for_what_and_what_was_seen_last() -> None:
    with pytest.raises(NotInTime, match=r"not in 0\.1 s: seven; last seen: \[\]"):
        await until(list, deadline_s=0.1, what="seven")


async def test_waiting_passes_over_the_errors_it_was_told_of_and_no_others() -> None:
    def fails() -> bool:
        raise LookupError("not yet")

    with pytest.raises(NotInTime, match="not yet"):
        await until(fails, deadline_s=0.1, ignoring=(LookupError,))
    with pytest.raises(LookupError):
        await until(fails, deadline_s=0.1)
