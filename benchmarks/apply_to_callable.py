"""How long a change of an McpServer takes to reach agents, and to be reported.

On a real API server, with operator, mirror and router as three processes: 50 times, a resource
gets another prefix; measured are the seconds until a tool answers under its new name at /mcp, and
until the resource says Ready for that change.
"""

import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path

import aiohttp
from figures import Figures, tell

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from bench import cluster_api, controlplane, peers, stack  # noqa: E402 - found by the line above
from bench.cluster_api import MCP_SERVER, ClusterApi, mcp_server  # noqa: E402
from bench.waiting import until  # noqa: E402

CHANGES = 50
DEADLINE_S = 30.0
# Far below what is measured; a tighter loop would only take the processor from the product.
CALL_EVERY_S = 0.01
STATUS_EVERY_S = 0.03


def measure() -> Figures:
    """Run everything and return the figures."""
    with (
        tempfile.TemporaryDirectory() as folder,
        controlplane.running(Path(folder) / "control-plane") as control_plane,
        peers.sdk_server("--sessionless", "--json") as upstream,
    ):
        controlplane.install_all(control_plane)
        with (
            control_plane.namespace("tenant") as tenant,
            control_plane.namespace("release") as release,
            stack.running(control_plane.kubeconfig, release, Path(folder) / "servers") as running,
        ):
            return asyncio.run(
                _changes(control_plane.kubeconfig, tenant, upstream.url, running.url)
            )


async def _changes(kubeconfig: Path, tenant: str, upstream: str, url: str) -> Figures:
    callable_s: list[float] = []
    ready_s: list[float] = []
    async with cluster_api.connected(kubeconfig) as api, aiohttp.ClientSession() as agent:
        for number in range(CHANGES + 1):
            prefix = f"change{number}"
            body = mcp_server("subject", tenant, url=upstream, allowedTools=["*"], prefix=prefix)
            begun = time.perf_counter()
            applied = await api.apply(MCP_SERVER, body)
            generation = applied["metadata"]["generation"]
            took = await asyncio.gather(
                _seconds_until_callable(agent, url, f"{prefix}.add", begun),
                _seconds_until_ready(api, tenant, generation, begun),
            )
            if number:  # the first one creates the resource; it is no change
                callable_s.append(took[0])
                ready_s.append(took[1])
    return {
        "callable_p50_s": round(statistics.median(callable_s), 3),
        "callable_max_s": round(max(callable_s), 3),
        "ready_p50_s": round(statistics.median(ready_s), 3),
        "ready_max_s": round(max(ready_s), 3),
    }


async def _seconds_until_callable(
    agent: aiohttp.ClientSession, url: str, tool: str, begun: float
) -> float:
    request = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": tool, "arguments": {"a": 2, "b": 3}},
    }

    async def answered() -> bool:
        async with agent.post(url, json=request) as response:
            answer = await response.json()
        return "result" in answer and not answer["result"].get("isError")

    await until(answered, DEADLINE_S, f"{tool} is callable", every_s=CALL_EVERY_S)
    return time.perf_counter() - begun


async def _seconds_until_ready(
    api: ClusterApi, tenant: str, generation: int, begun: float
) -> float:
    async def ready() -> bool:
        found = await api.get(MCP_SERVER, "subject", tenant)
        conditions = found.get("status", {}).get("conditions", [])
        return any(
            condition["type"] == "Ready"
            and condition["status"] == "True"
            and condition["observedGeneration"] == generation
            for condition in conditions
        )

    await until(ready, DEADLINE_S, "Ready=True", every_s=STATUS_EVERY_S)
    return time.perf_counter() - begun


if __name__ == "__main__":
    tell(__doc__, measure)
