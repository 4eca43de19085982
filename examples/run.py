"""What `make run` starts: the example servers, and a router over the files that name them.

python examples/run.py [FOLDER [OPTION…]]

A server of examples/servers is started where FOLDER, by default examples/quickstart, has a file
of its name, on the port that the file names. The options are those of `pointsman local`.
"""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import yaml

from pointsman import tether

EXAMPLES = Path(__file__).resolve().parent
HOST = "127.0.0.1"

LISTEN_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 10.0
LOOK_EVERY_S = 0.1


def main(folder: str, *options: str) -> int:
    """Run everything until the end is wished, or until it ends by itself."""
    servers = wanted(Path(folder))
    taken = [(script, port) for script, port in servers.items() if listens(port)]
    for script, port in taken:
        file = Path(folder) / f"{script.stem}.yaml"
        print(f"Port {port} is taken. Free it, or name another one in {file}.")
    if taken:
        return 1
    wished = threading.Event()

    def end(*_: object) -> None:
        if wished.is_set():
            # Whoever asks twice does not want to wait: what runs underneath ends by itself.
            os._exit(1)
        wished.set()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)
    starter = os.getppid()
    with ExitStack() as everything:
        for script, port in servers.items():
            server = Program(str(script), str(port))
            everything.callback(server.stop)
            if not server.listens(port, wished):
                return 0 if wished.is_set() else 1
        router = Program("pointsman", "local", folder, *options)
        everything.callback(router.stop)
        # A starter that was killed outright tells nobody.
        while router.status is None and not wished.wait(LOOK_EVERY_S) and os.getppid() == starter:
            pass
        return router.status or 0


class Program:
    """A program that ends with this one, however this one ends."""

    def __init__(self, program: str, *arguments: str) -> None:
        self._name = program
        self._process = subprocess.Popen(  # noqa: S603 - a program of ours
            tether.command(program, *arguments),
            stdin=subprocess.PIPE,
            # Ctrl-C is for this program, which then ends the others in order.
            start_new_session=True,
        )

    @property
    def status(self) -> int | None:
        """Its exit status, once it has one."""
        return self._process.poll()

    def listens(self, port: int, wished: threading.Event) -> bool:
        """Wait until it accepts connections; False where it ends, or the end is wished, before."""
        deadline = time.monotonic() + LISTEN_TIMEOUT_S
        while not wished.wait(LOOK_EVERY_S) and self.status is None:
            if listens(port):
                return True
            if time.monotonic() > deadline:
                print(f"{self._name} does not listen on port {port}")
                break
        return False

    def stop(self) -> None:
        """End it."""
        self._process.terminate()
        try:
            self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def wanted(folder: Path) -> dict[Path, int]:
    """The scripts to be started, each with the port that its file names."""
    ports: dict[Path, int] = {}
    for script in sorted((EXAMPLES / "servers").glob("*.py")):
        try:
            text = (folder / f"{script.stem}.yaml").read_text()
            url = urlsplit(yaml.safe_load(text)["spec"]["url"])
            port = url.port if url.hostname == HOST else None
        except (OSError, ValueError, TypeError, KeyError, yaml.YAMLError):
            continue  # no file, or one of which `pointsman local` says what is wrong
        if port:
            ports[script] = port
    return ports


def listens(port: int) -> bool:
    """Whether somebody accepts connections on the port."""
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) == 0


if __name__ == "__main__":
    sys.exit(main(*(sys.argv[1:] or [os.path.relpath(EXAMPLES / "quickstart")])))
