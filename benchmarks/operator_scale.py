"""What the operator needs for 1,000 McpServers, and what it does to a cluster that it knows.

On a real API server, without a router: how long a cold start takes to publish everything and to
say so, what it weighs then, how fast a deleted and an edited ConfigMap are right again, what a
restart writes, and what is left of servers that were deleted while nobody looked.
"""

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
from figures import Figures, tell

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from bench import cluster_api, controlplane, processes  # noqa: E402 - found by the line above
from bench.cluster_api import CONFIG_MAP, MCP_SERVER, Body, ClusterApi, mcp_server  # noqa: E402
from bench.controlplane import ControlPlane  # noqa: E402
from bench.ports import free_port  # noqa: E402
from bench.processes import Program  # noqa: E402
from bench.waiting import until  # noqa: E402

SERVERS = 1000
NAMESPACES = 10
DELETED = 500
REPAIRS = 10
# At a time: what an API server of a laptop answers without a queue.
CONCURRENT = 16
DEADLINE_S = 300.0
# After a start nothing that the operator would do of its own accord comes later than this.
QUIET_S = 15.0
OURS = "pointsman.dev/meta=v1"


def measure() -> Figures:
    """Run everything and return the figures."""
    with (
        tempfile.TemporaryDirectory() as folder,
        controlplane.running(Path(folder) / "control-plane") as control_plane,
    ):
        controlplane.install_all(control_plane)
        with control_plane.namespace("release") as release:
            port = free_port()
            operator = Program(
                "operator",
                processes.python("pointsman_operator"),
                environment={
                    "KUBECONFIG": str(control_plane.kubeconfig),
                    "POINTSMAN_OPERATOR_NAMESPACE": release,
                    "POINTSMAN_OPERATOR_ADMIN_HOST": "127.0.0.1",
                    "POINTSMAN_OPERATOR_ADMIN_PORT": str(port),
                },
            )
            return asyncio.run(_Run(control_plane, release, operator, port).figures())


@dataclass(frozen=True, slots=True)
class _Run:
    control_plane: ControlPlane
    release: str
    operator: Program
    port: int

    async def figures(self) -> Figures:
        async with cluster_api.connected(self.control_plane.kubeconfig) as api:
            await _together(self._create(api, number) for number in range(NAMESPACES))
            converge_s, rss_mib, repair_max_s = await self._cold(api)
            restart_writes = await self._warm()
            orphans = await self._deleted_meanwhile(api)
        return {
            "converge_s": round(converge_s, 2),
            "restart_writes": restart_writes,
            "rss_mib": round(rss_mib, 1),
            "repair_max_s": round(repair_max_s, 3),
            "orphans": orphans,
        }

    async def _create(self, api: ClusterApi, number: int) -> None:
        namespace = f"tenant-{number}"
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
        await api.create(cluster_api.NAMESPACE, body)
        for server in range(SERVERS // NAMESPACES):
            name = f"server-{number}-{server}"
            url = f"http://{name}.{namespace}.svc:8080/mcp"
            await api.create(MCP_SERVER, mcp_server(name, namespace, url=url, allowedTools=["*"]))

    async def _cold(self, api: ClusterApi) -> tuple[float, float, float]:
        begun_s = time.perf_counter()
        async with self._running():
            await until(
                lambda: self._is_right(api), DEADLINE_S, "everything is published", every_s=0.5
            )
            converge_s = time.perf_counter() - begun_s
            rss_mib = self.operator.rss_mib
            published = await api.list(CONFIG_MAP, self.release, OURS)
            repairs = [await self._deletion(api, body) for body in published[:REPAIRS]]
            repairs += [await self._edit(api, body) for body in published[-REPAIRS:]]
            return converge_s, max(rss_mib, self.operator.rss_mib), max(repairs)

    async def _is_right(self, api: ClusterApi) -> bool:
        servers = await api.list(MCP_SERVER)
        if not all(_says_published(server) for server in servers):
            return False
        published = await api.list(CONFIG_MAP, self.release, OURS)
        wished = {server["metadata"]["uid"]: server for server in servers}
        documents = [json.loads(body["data"]["meta.json"]) for body in published]
        return len(documents) == len(servers) == SERVERS and all(
            (document["url"], document["generation"])
            == (
                wished[document["uid"]]["spec"]["url"],
                wished[document["uid"]]["metadata"]["generation"],
            )
            for document in documents
        )

    async def _deletion(self, api: ClusterApi, body: Body) -> float:
        begun_s = time.perf_counter()
        await api.delete(CONFIG_MAP, body["metadata"]["name"], self.release)
        return await self._repaired(api, body, begun_s)

    async def _edit(self, api: ClusterApi, body: Body) -> float:
        spoilt = {"data": {"meta.json": "{}", "stranger": "x"}}
        begun_s = time.perf_counter()
        await api.patch(CONFIG_MAP, body["metadata"]["name"], spoilt, self.release)
        return await self._repaired(api, body, begun_s)

    async def _repaired(self, api: ClusterApi, body: Body, begun_s: float) -> float:
        async def is_right() -> bool:
            found = await api.find(CONFIG_MAP, body["metadata"]["name"], self.release)
            return found is not None and found["data"] == body["data"]

        await until(is_right, DEADLINE_S, "the ConfigMap is right again", every_s=0.01)
        return time.perf_counter() - begun_s

    async def _warm(self) -> int:
        mark = self.control_plane.audit.mark()
        async with self._running():
            await until(self._has_looked_at_all, DEADLINE_S, "everything was looked at")
            await asyncio.sleep(QUIET_S)
        return len(self.control_plane.audit.writes(mark, agent="pointsman-operator"))

    async def _has_looked_at_all(self) -> bool:
        async with aiohttp.ClientSession(f"http://127.0.0.1:{self.port}") as session:
            text = await (await session.get("/metrics")).text()
        values = {
            name: float(value)
            for name, value in (
                line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#")
            )
        }
        looks = sum(
            value
            for name, value in values.items()
            if name.startswith("pointsman_operator_reconciles_total")
        )
        return looks >= SERVERS and values["pointsman_operator_queue_depth"] == 0

    async def _deleted_meanwhile(self, api: ClusterApi) -> int:
        servers = await api.list(MCP_SERVER)
        await _together(
            self._delete(api, servers[first:DELETED:CONCURRENT]) for first in range(CONCURRENT)
        )
        async with self._running():
            await until(self._has_left(api, SERVERS - DELETED), DEADLINE_S, "orphans are swept")
        living = {server["metadata"]["uid"] for server in await api.list(MCP_SERVER)}
        left = await api.list(CONFIG_MAP, self.release, OURS)
        return sum(json.loads(body["data"]["meta.json"])["uid"] not in living for body in left)

    def _has_left(self, api: ClusterApi, number: int) -> Callable[[], Awaitable[bool]]:
        async def has_left() -> bool:
            return len(await api.list(CONFIG_MAP, self.release, OURS)) == number

        return has_left

    async def _delete(self, api: ClusterApi, servers: Iterable[Body]) -> None:
        for server in servers:
            metadata = server["metadata"]
            await api.delete(MCP_SERVER, metadata["name"], metadata["namespace"])

    @asynccontextmanager
    async def _running(self) -> AsyncIterator[None]:
        self.operator.start()
        try:
            await self.operator.answers(f"http://127.0.0.1:{self.port}/readyz", DEADLINE_S)
            yield
        finally:
            await asyncio.to_thread(self.operator.stop)


def _says_published(server: Body) -> bool:
    status = server.get("status", {})
    return status.get("observedGeneration") == server["metadata"]["generation"] and any(
        (condition["type"], condition["status"]) == ("Published", "True")
        for condition in status["conditions"]
    )


async def _together(jobs: Iterable[Awaitable[None]]) -> None:
    await asyncio.gather(*jobs)


if __name__ == "__main__":
    tell("The operator with 1,000 McpServers", measure)
