"""The real MCP servers that the tests and benchmarks call, each in a process of its own."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from bench import ports, tools
from bench.processes import Program

_PEERS = Path(__file__).resolve().parent.parent / "peers"
# Keeps whatever Node serves on the loopback interface.
LOOPBACK_PRELOAD = _PEERS / "loopback.cjs"
# A busy machine needs seconds to import an SDK.
_START_TIMEOUT_S = 60.0


class Peer:
    """One MCP server over Streamable HTTP that can go away and come back on its port.

    What comes back has forgotten every session. Use it as a context manager.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        port: int,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.port = port
        self.url = f"http://{ports.LOOPBACK}:{port}/mcp"
        self.program = Program(name, command, environment=environment)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.program.__exit__(kind, error, trace)

    def start(self) -> None:
        """Start it; returns when it accepts connections."""
        self.program.start()
        self.program.wait_for_port(self.port, _START_TIMEOUT_S)

    def kill(self) -> None:
        """End it at once, its connections with it."""
        self.program.kill()

    def restart(self) -> None:
        """Kill it and start it on the same port: every session is lost."""
        self.kill()
        self.start()


def sdk_server(*options: str, port: int = 0) -> Peer:
    """A server on `mcp` 2.x; options: --sessionless, --json, --era legacy, --pages N, --name X."""
    port = port or ports.free_port()
    script = str(_PEERS / "sdk2_server.py")
    return Peer("sdk_server", [sys.executable, script, "--port", str(port), *options], port)


def sdk1_server(*options: str, port: int = 0) -> Peer:
    """A server on `mcp` 1.x, with sessions and event streams; options: --sessionless, --json."""
    port = port or ports.free_port()
    script = str(_PEERS / "sdk1_server.py")
    command = [str(tools.mcp1_python()), script, "--port", str(port), *options]
    return Peer("sdk1_server", command, port)


def everything_server(*, port: int = 0) -> Peer:
    """The reference server from npm, kept on the loopback interface."""
    port = port or ports.free_port()
    node, script = str(tools.node()), str(tools.everything_script())
    command = [node, "--require", str(LOOPBACK_PRELOAD), script, "streamableHttp"]
    return Peer("everything_server", command, port, {"PORT": str(port)})


def fixture(*options: str, port: int = 0) -> Peer:
    """What the conformance suite wants of a server; options: --sessionless, --json, --era ERA."""
    port = port or ports.free_port()
    command = [sys.executable, "-m", "peers.fixture", "--port", str(port), *options]
    return Peer("fixture", command, port, {"PYTHONPATH": str(_PEERS.parent)})
