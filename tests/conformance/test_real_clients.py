"""Real clients, in every mode that they have, list and call through the router."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bench import peers, stack, tools
from bench.directories import lay
from bench.waiting import wait_until
from conformance.agent import listed

PREFIX = "fixture."
LEGACY, MODERN = "2025-11-25", "2026-07-28"
_CLIENTS = Path(__file__).resolve().parents[1] / "peers" / "clients"
_RUN_S = 60.0


@dataclass(frozen=True, slots=True)
class Client:
    """How a client is started, before the URL and the prefix, and what it is known to tell."""

    command: Callable[[], Sequence[str | Path]]
    mode: str = ""
    era: str | None = None
    """What it speaks with a router of both eras, where it can say so."""
    tells: tuple[str, ...] = ("isError", "steps")
    folder: Callable[[], Path] | None = None


def _python(script: str, generation: int) -> Callable[[], Sequence[str | Path]]:
    return lambda: [tools.clients_python(generation), _CLIENTS / script]


def _sdk2() -> Sequence[str | Path]:
    return [sys.executable, _CLIENTS / "sdk2.py"]


def _typescript() -> Sequence[str | Path]:
    return [tools.node(), _CLIENTS / "client.mjs"]


def _packages() -> Path:
    return tools.directory() / "clients"


CLIENTS = {
    "mcp 2 by itself": Client(_sdk2, "auto", MODERN),
    "mcp 2 told to be legacy": Client(_sdk2, "legacy", LEGACY),
    "mcp 1": Client(_python("sdk1.py", 1), era=LEGACY),
    "langchain-mcp-adapters": Client(_python("langchain.py", 1), tells=()),
    "openai-agents": Client(_python("openai_agents.py", 2), tells=("isError",)),
    "fastmcp by itself": Client(_python("fast.py", 2), "auto"),
    "fastmcp told to be legacy": Client(_python("fast.py", 2), "legacy"),
    "TypeScript 1": Client(_typescript, "v1", LEGACY, folder=_packages),
    "TypeScript 2 by itself": Client(_typescript, "v2-legacy", LEGACY, folder=_packages),
    "TypeScript 2 told to negotiate": Client(_typescript, "v2-auto", MODERN, folder=_packages),
    "Go": Client(lambda: [tools.go_client()], era=MODERN),
}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where agents find the fixture's tools among those of others."""
    directory = tmp_path_factory.mktemp("servers")
    with peers.fixture() as fixture, peers.sdk_server() as other:
        lay(directory, "fixture", url=fixture.url)
        lay(directory, "other", url=other.url)
        with stack.router(directory) as (_, address, _admin):
            wait_until(
                lambda: {"fixture.add", "other.add"} <= set(listed(address)), 30, "all are listed"
            )
            yield address


@pytest.mark.parametrize("name", CLIENTS)
def test_a_real_client_lists_calls_and_hears_of_progress(name: str, url: str) -> None:
    client = CLIENTS[name]

    seen = _run(client, url)

    assert {"fixture.add", "other.add"} <= set(seen["tools"])
    assert len(seen["tools"]) == len(set(seen["tools"]))
    assert seen["sum"] in ("5", "5.0")
    assert {fact: seen[fact] for fact in client.tells} == {
        fact: _EXPECTED[fact] for fact in client.tells
    }
    assert seen.get("era") == client.era


_EXPECTED: Mapping[str, object] = {"isError": True, "steps": 3}


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspector_lists_and_calls(era: str, url: str, tmp_path: Path) -> None:
    configuration = tmp_path / "inspector.json"
    server = {"type": "streamable-http", "url": url, "protocolEra": era}
    configuration.write_text(json.dumps({"mcpServers": {"router": server}}))

    def inspector(*arguments: str) -> "subprocess.CompletedProcess[str]":
        script = tools.npm_file("clients", ".bin/mcp-inspector")
        chosen = ["--cli", "--config", str(configuration), "--server", "router"]
        return _ran([tools.node(), script, *chosen, "--format", "json", *arguments], _packages())

    tool = ["--method", "tools/call", "--tool-name"]
    welcome = inspector("--method", "initialize")
    names = inspector("--method", "tools/list")
    added = inspector(*tool, "fixture.add", "--tool-arg", "a=2", "--tool-arg", "b=3")
    failing = inspector(*tool, "fixture.test_error_handling")

    assert (LEGACY if era == "legacy" else MODERN) in welcome.stdout, welcome.stderr
    assert {"fixture.add", "other.add"} <= {
        tool["name"] for tool in json.loads(names.stdout)["result"]["tools"]
    }
    assert json.loads(added.stdout)["result"]["content"] == [{"type": "text", "text": "5"}]
    # What it leaves with where a tool says of itself that it failed.
    assert failing.returncode == 5


def _run(client: Client, url: str) -> dict[str, Any]:
    mode = [client.mode] if client.mode else []
    folder = client.folder() if client.folder else None
    done = _ran([*client.command(), url, PREFIX, *mode], folder)
    assert done.returncode == 0, done.stderr[-4000:]
    seen: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return seen


def _ran(command: Sequence[str | Path], folder: Path | None) -> "subprocess.CompletedProcess[str]":
    # The inspector asks for a keychain otherwise.
    environment = {**os.environ, "MCP_INSPECTOR_SECRET_STORE": "memory"}
    return subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=_RUN_S,
        check=False,
    )
