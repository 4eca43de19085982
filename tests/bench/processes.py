"""A program under test as a real process, with its output, its memory and its end."""

import asyncio
import http.client
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from bench import ports
from bench.waiting import wait_until

# Nothing else of the environment reaches a program: a developer's own settings decide no test.
_INHERITED = ("HOME", "LANG", "PATH", "TMPDIR", "SSL_CERT_FILE")
_PROBE_TIMEOUT_S = 2.0


class ProgramFailed(AssertionError):
    """The program ended, or did not end, against expectation; the message holds its output."""


class Program:
    """One program that never outlives the test run, even one ended by SIGKILL.

    Use it as a context manager. Start it in the main thread: with the thread that started it,
    the kernel ends it.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str | Path],
        *,
        environment: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> None:
        self.name = name
        self._command = [str(part) for part in command]
        inherited = {key: os.environ[key] for key in _INHERITED if key in os.environ}
        self._environment = {**inherited, "PYTHONUNBUFFERED": "1", **(environment or {})}
        self._cwd = cwd
        self._process: subprocess.Popen[bytes] | None = None
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed in __exit__

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
        if error is not None:
            error.add_note(f"output of {self.name}:\n{self.output[-4000:]}")
        self._log.close()

    def start(self) -> None:
        """Start it, or start it again after it has ended."""
        if self.is_running:
            raise ProgramFailed(f"{self.name} runs already")
        tie = shutil.which("setpriv")
        self._process = subprocess.Popen(
            [tie, "--pdeathsig", "KILL", *self._command] if tie else self._command,
            env=self._environment,
            cwd=self._cwd,
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C at the terminal is for the test run, which ends this
        )

    @property
    def is_running(self) -> bool:
        """Whether it has been started and has not ended."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """The process id, also of one that has ended."""
        return self._started.pid

    @property
    def output(self) -> str:
        """Everything it has written to its standard output and error so far."""
        return os.pread(self._log.fileno(), 1 << 30, 0).decode(errors="replace")

    @property
    def rss_mib(self) -> float:
        """Its resident memory now, in MiB."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
        raise ProgramFailed(f"{self.name} has no memory: it has ended")

    def send(self, number: signal.Signals, *, to_group: bool = False) -> None:
        """Send a signal to it, or to it and its children, as Ctrl-C at a terminal does."""
        if self.is_running:
            (os.killpg if to_group else os.kill)(self.pid, number)

    def wait(self, deadline_s: float = 10.0) -> int:
        """Its exit status; negative for the number of a signal."""
        try:
            return self._started.wait(deadline_s)
        except subprocess.TimeoutExpired:
            raise ProgramFailed(
                f"{self.name} did not end in {deadline_s:g} s\n{self.output[-4000:]}"
            ) from None

    async def ends(self, deadline_s: float = 10.0) -> int:
        """Its exit status, awaited without holding up the event loop."""
        return await asyncio.to_thread(self.wait, deadline_s)

    def stop(self, grace_s: float = 10.0) -> int | None:
        """End it: SIGTERM, and SIGKILL when that is not heeded in time. Its exit status."""
        if self._process is None:
            return None
        self.send(signal.SIGTERM)
        try:
            return self._process.wait(grace_s)
        except subprocess.TimeoutExpired:
            return self.kill()

    def kill(self) -> int:
        """End it at once, with SIGKILL to it and its children."""
        self.send(signal.SIGKILL, to_group=True)
        return self._started.wait()

    def wait_for_url(self, url: str, deadline_s: float = 15.0, *, status: int = 200) -> None:
        """Return when a GET of the URL has that status; fail at once if the program ends."""
        wait_until(
            lambda: self._answers(url, status), deadline_s, f"{self.name}: {status} at {url}"
        )

    async def answers(self, url: str, deadline_s: float = 15.0, *, status: int = 200) -> None:
        """`wait_for_url` without holding up the event loop."""
        await asyncio.to_thread(self.wait_for_url, url, deadline_s, status=status)

    def wait_for_port(self, port: int, deadline_s: float = 15.0) -> None:
        """Return when it accepts connections; fail at once if the program ends."""
        wait_until(lambda: self._listens(port), deadline_s, f"{self.name} listens on {port}")

    @property
    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise ProgramFailed(f"{self.name} was never started")
        return self._process

    def _insist(self) -> None:
        if not self.is_running:
            status = self._started.returncode
            raise ProgramFailed(f"{self.name} ended with {status}\n{self.output[-4000:]}")

    def _listens(self, port: int) -> bool:
        self._insist()
        return ports.listens(port)

    def _answers(self, url: str, status: int) -> bool:
        self._insist()
        return _status_of(url) == status


def python(module: str, *arguments: str) -> list[str]:
    """The command that runs a module of ours with the interpreter of the tests."""
    return [sys.executable, "-m", module, *arguments]


def _status_of(url: str) -> int | None:
    """The status of one GET; None while nothing answers."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(
        parts.hostname or ports.LOOPBACK, parts.port or 80, timeout=_PROBE_TIMEOUT_S
    )
    try:
        connection.request("GET", f"{parts.path or '/'}?{parts.query}".rstrip("?"))
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()
