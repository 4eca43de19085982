"""What thirty hung upstreams of a hundred cost the others.

The router as a process of its own, over a plain directory: seventy servers answer, twenty accept
and never answer, ten do not even accept. How long until it is ready, how long a list takes while
the thirty hang, and whether every tool of the seventy can be called.
"""

import http.client
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from figures import Figures, tell

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from upstreams import TOOLS  # noqa: E402

from bench import processes  # noqa: E402 - found by the line above
from bench.ports import LOOPBACK, free_port  # noqa: E402
from bench.processes import Program  # noqa: E402
from bench.waiting import wait_until  # noqa: E402

HEALTHY, SILENT, DEAF = 70, 20, 10
LISTS = 1000
# So that the lists are spread over more than one try at each hung upstream.
PAUSE_S = 0.01
DEADLINE_S = 60.0
PROBE_S = 0.01
HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": "2025-11-25",
}


def measure() -> Figures:
    """Run everything and return the figures."""
    with tempfile.TemporaryDirectory() as folder, _upstreams() as found:
        directory = Path(folder)
        for kind, ports in found.items():
            for number, port in enumerate(ports):
                _register(directory, f"{kind}-{number}", port)
        port, admin_port = free_port(), free_port()
        environment = {
            "POINTSMAN_ROUTER_DIRECTORY": folder,
            "POINTSMAN_ROUTER_HOST": LOOPBACK,
            "POINTSMAN_ROUTER_PORT": str(port),
            "POINTSMAN_ROUTER_ADMIN_HOST": LOOPBACK,
            "POINTSMAN_ROUTER_ADMIN_PORT": str(admin_port),
        }
        begun_s = time.perf_counter()
        router = Program("router", processes.python("pointsman_router"), environment=environment)
        with router:
            wait_until(
                lambda: _is_ready(admin_port), DEADLINE_S, "the router is ready", every_s=PROBE_S
            )
            ready_s = time.perf_counter() - begun_s
            with closing(http.client.HTTPConnection(LOOPBACK, port, timeout=10)) as connection:
                list_p99_ms = _list_p99_ms(connection)
                names = {name for name in _listed(connection) if name.startswith("healthy_")}
                callable_ = sum(_calls(connection, name) for name in names)
    return {
        "ready_s": round(ready_s, 2),
        "list_p99_ms": round(list_p99_ms, 2),
        "healthy_callable": callable_ == len(names) == HEALTHY * TOOLS,
    }


@contextmanager
def _upstreams() -> Iterator[dict[str, list[int]]]:
    script = Path(__file__).with_name("upstreams.py")
    command = [sys.executable, str(script), str(HEALTHY), str(SILENT), str(DEAF)]
    with Program("upstreams", command) as program:
        wait_until(lambda: program.output.endswith("}\n"), DEADLINE_S, "the upstreams listen")
        yield json.loads(program.output)


def _register(directory: Path, name: str, port: int) -> None:
    folder = directory / name
    folder.mkdir()
    meta = {"url": f"http://{LOOPBACK}:{port}/mcp", "allowedTools": ["*"]}
    (folder / "meta.json").write_text(json.dumps(meta))


def _is_ready(port: int) -> bool:
    try:
        with closing(http.client.HTTPConnection(LOOPBACK, port, timeout=2)) as connection:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
    except OSError:
        return False


def _list_p99_ms(connection: http.client.HTTPConnection) -> float:
    took_ms = []
    for _ in range(LISTS):
        begun_s = time.perf_counter()
        _post(connection, "tools/list", {})
        took_ms.append((time.perf_counter() - begun_s) * 1000)
        time.sleep(PAUSE_S)
    return sorted(took_ms)[int(LISTS * 0.99)]


def _listed(connection: http.client.HTTPConnection) -> Iterator[str]:
    cursor: dict[str, Any] = {}
    while True:
        page = _ask(connection, "tools/list", cursor)["result"]
        yield from (tool["name"] for tool in page["tools"])
        if "nextCursor" not in page:
            return
        cursor = {"cursor": page["nextCursor"]}


def _calls(connection: http.client.HTTPConnection, name: str) -> bool:
    answer = _ask(connection, "tools/call", {"name": name, "arguments": {"text": name}})
    text = answer.get("result", {}).get("content", [{}])[0].get("text", "")
    return name in text and not answer["result"].get("isError")


def _ask(
    connection: http.client.HTTPConnection, method: str, params: dict[str, Any] | None = None
) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(_post(connection, method, params or {}))
    return answer


def _post(connection: http.client.HTTPConnection, method: str, params: dict[str, Any]) -> bytes:
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    connection.request("POST", "/mcp", json.dumps(message), HEADERS)
    answer = connection.getresponse()
    body = answer.read()
    if answer.status != http.HTTPStatus.OK:
        raise RuntimeError(f"{method} was answered with {answer.status}")
    return body


if __name__ == "__main__":
    tell(__doc__ or "", measure)
