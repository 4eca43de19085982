"""What the operator needs for 1,000 McpServers, and what it does to a cluster that it knows.

On a real API server, with a mirror and three routers over its directory, and one upstream that
stands for all: how long a cold start takes until everything is published, and until each resource
says that its 20 tools can be called on all three; what the operator weighs then; what it writes
when one of the routers, and when it itself, is restarted; how fast a deleted and an edited
ConfigMap are right again; what is left of servers that were deleted while nobody looked.
"""

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
from counting_upstream import TOOLS
from figures import Figures, tell

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from bench import cluster_api, controlplane, processes, stack  # noqa: E402 - by the line above
from bench.cluster_api import CONFIG_MAP, MCP_SERVER, Body, ClusterApi, mcp_server  # noqa: E402
from bench.controlplane import ControlPlane  # noqa: E402
from bench.ports import free_port  # noqa: E402
from bench.processes import Program  # noqa: E402
from bench.waiting import until, wait_until  # noqa: E402

SERVERS = 1000
NAMESPACES = 10
DELETED = 500
REPAIRS = 10
ROUTERS = 3
# At a time: what an API server of a laptop answers without a queue.
CONCURRENT = 16
DEADLINE_S = 300.0
# After a start nothing that the operator would do of its own accord comes later than this.
QUIET_S = 15.0
# A router is new for 30 s, and counts of routers have to stand still for 10 s.
ROUTERS_QUIET_S = 45.0
OURS = "pointsman.dev/meta=v1"
STATUS_WRITES = 'pointsman_operator_api_writes_total{kind="status"}'


def measure() -> Figures:
    """Run everything and return the figures."""
    with (
        tempfile.TemporaryDirectory() as folder,
        controlplane.running(Path(folder) / "control-plane") as control_plane,
    ):
        controlplane.install_all(control_plane)
        with ExitStack() as running:
            release = running.enter_context(control_plane.namespace("release"))
            directory = Path(folder) / "servers"
            running.enter_context(stack.mirror(control_plane.kubeconfig, release, directory))
            routers = [running.enter_context(stack.router(directory)) for _ in range(ROUTERS)]
            upstream = running.enter_context(
                Program(
                    "upstream",
                    [sys.executable, Path(__file__).with_name("counting_upstream.py")],
                )
            )
            wait_until(lambda: upstream.output.endswith("\n"), DEADLINE_S, "the upstream listens")
            port = free_port()
            operator = Program(
                "operator",
                processes.python("pointsman_operator"),
                environment={
                    "KUBECONFIG": str(control_plane.kubeconfig),
                    "POINTSMAN_OPERATOR_NAMESPACE": release,
                    "POINTSMAN_OPERATOR_ROUTERS": ",".join(admin for *_, admin in routers),
                    "POINTSMAN_OPERATOR_ADMIN_HOST": "127.0.0.1",
                    "POINTSMAN_OPERATOR_ADMIN_PORT": str(port),
                },
            )
            upstream_url = f"http://127.0.0.1:{upstream.output.strip()}/modern"
            restarted, _, admin = routers[-1]
            run = _Run(control_plane, release, operator, port, upstream_url, restarted, admin)
            return asyncio.run(run.figures())


@dataclass(frozen=True, slots=True)
class _Run:
    control_plane: ControlPlane
    release: str
    operator: Program
    port: int
    upstream: str
    router: Program
    """The one that is restarted."""
    router_admin: str

    async def figures(self) -> Figures:
        async with cluster_api.connected(self.control_plane.kubeconfig) as api:
            await _together(self._create(api, number) for number in range(NAMESPACES))
            figures = await self._cold(api)
            restart_writes = await self._warm()
            orphans = await self._deleted_meanwhile(api)
        return {**figures, "restart_writes": restart_writes, "orphans": orphans}

    async def _create(self, api: ClusterApi, number: int) -> None:
        namespace = f"tenant-{number}"
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
        await api.create(cluster_api.NAMESPACE, body)
        for server in range(SERVERS // NAMESPACES):
            name = f"server-{number}-{server}"
            url = f"{self.upstream}/{name}/mcp"
            await api.create(MCP_SERVER, mcp_server(name, namespace, url=url, allowedTools=["*"]))

    async def _cold(self, api: ClusterApi) -> Figures:
        begun_s = time.perf_counter()
        async with self._running():
            await until(
                lambda: self._is_right(api), DEADLINE_S, "everything is published", every_s=1.0
            )
            converge_s = time.perf_counter() - begun_s
            await until(_all(api, _says_ready), DEADLINE_S, "everything is ready", every_s=1.0)
            ready_s = time.perf_counter() - begun_s
            await until(_all(api, _says_routers), DEADLINE_S, "routers are counted", every_s=1.0)
            rss_mib = self.operator.rss_mib
            routers_restart_writes = await self._router_restarts()
            rss_mib = max(rss_mib, self.operator.rss_mib)
            published = await api.list(CONFIG_MAP, self.release, OURS)
            repairs = [await self._deletion(api, body) for body in published[:REPAIRS]]
            repairs += [await self._edit(api, body) for body in published[-REPAIRS:]]
            rss_mib = max(rss_mib, self.operator.rss_mib)
            await until(_all(api, _says_routers), DEADLINE_S, "all is as it was", every_s=1.0)
            await asyncio.sleep(QUIET_S)
        return {
            "converge_s": round(converge_s, 2),
            "ready_s": round(ready_s, 2),
            "routers_restart_writes": routers_restart_writes,
            "rss_mib": round(rss_mib, 1),
            "repair_max_s": round(max(repairs), 3),
        }

    async def _router_restarts(self) -> int:
        before = (await self._metrics())[STATUS_WRITES]
        await asyncio.to_thread(self.router.stop)
        self.router.start()
        await self.router.answers(f"{self.router_admin}/readyz", DEADLINE_S)
        await asyncio.sleep(ROUTERS_QUIET_S)
        return int((await self._metrics())[STATUS_WRITES] - before)

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

    async def _metrics(self) -> dict[str, float]:
        async with aiohttp.ClientSession(f"http://127.0.0.1:{self.port}") as session:
            text = await (await session.get("/metrics")).text()
        return {
            name: float(value)
            for name, value in (
                line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#")
            )
        }

    async def _has_looked_at_all(self) -> bool:
        values = await self._metrics()
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
    return _says(server, "Published")


def _says_ready(server: Body) -> bool:
    return _says(server, "Ready") and server["status"]["toolCount"] == TOOLS


def _says_routers(server: Body) -> bool:
    counted = {"ready": ROUTERS, "total": ROUTERS}
    return _says_ready(server) and server["status"].get("routers") == counted


def _says(server: Body, kind: str) -> bool:
    status = server.get("status", {})
    return status.get("observedGeneration") == server["metadata"]["generation"] and any(
        (condition["type"], condition["status"]) == (kind, "True")
        for condition in status["conditions"]
    )


def _all(api: ClusterApi, says: Callable[[Body], bool]) -> Callable[[], Awaitable[bool]]:
    async def do() -> bool:
        return all(map(says, await api.list(MCP_SERVER)))

    return do


async def _together(jobs: Iterable[Awaitable[None]]) -> None:
    await asyncio.gather(*jobs)


if __name__ == "__main__":
    tell("The operator with 1,000 McpServers and three routers", measure)
