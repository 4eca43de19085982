"""The operator as a real process, and what the cluster shows of its work."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
from prometheus_client.parser import text_string_to_metric_families

from bench import ports, processes, stack
from bench.cluster_api import (
    CONFIG_MAP,
    MCP_SERVER,
    MCP_VIEW,
    NEW_EVENT,
    Body,
    ClusterApi,
    Kind,
)
from bench.processes import Program
from bench.waiting import until

OURS = "pointsman.dev/meta=v1"
VIEWS = "pointsman.dev/meta=view-v1"
AGENT = "pointsman-operator"


@dataclass(frozen=True, slots=True)
class Operating:
    """One operator and its admin port."""

    program: Program
    admin: str

    async def restart(self) -> None:
        """End it and start it again; it has listed everything afterwards."""
        await self.end()
        await self.begin()

    async def end(self) -> None:
        """End it as Kubernetes does."""
        status = await asyncio.to_thread(self.program.stop)
        assert status == 0, self.program.output

    async def begin(self) -> None:
        """Start it again."""
        self.program.start()
        await self.program.answers(f"{self.admin}/readyz", 30)

    async def ask(self, path: str) -> tuple[int, str]:
        """The status and text at a path of its admin port."""
        async with aiohttp.ClientSession() as session, session.get(self.admin + path) as answer:
            return answer.status, await answer.text()

    async def metric(self, name: str, **labels: str) -> float:
        """The sum of its metric over the series with these labels."""
        _, text = await self.ask("/metrics")
        return sum(
            sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
            if sample.name == name and labels.items() <= sample.labels.items()
        )

    async def looked_at(self, number: int) -> None:
        """Wait until at least so many keys were looked at since its start, and none is due."""

        async def all_are() -> bool:
            looks = await self.metric("pointsman_operator_reconciles_total")
            return looks >= number and await self.metric("pointsman_operator_queue_depth") == 0

        await until(all_are)

    async def resynced(self) -> None:
        """Wait until it has listed everything once more."""
        name = "pointsman_operator_last_resync_timestamp_seconds"
        before = await self.metric(name)

        async def again() -> bool:
            return await self.metric(name) > before

        await until(again)

    @property
    def log(self) -> list[Mapping[str, Any]]:
        """Every line of its log; each must be a JSON object."""
        return [json.loads(line) for line in self.program.output.splitlines()]


@contextmanager
def operating(
    kubeconfig: Path, release: str, *routers: str, **settings: str
) -> Iterator[Operating]:
    """An operator that publishes into `release`, until the block ends.

    Settings go by the variable's name without its prefix.
    """
    with stack.operator(kubeconfig, release, routers=",".join(routers), **settings) as (
        program,
        admin,
    ):
        yield Operating(program, admin)


@asynccontextmanager
async def operating_through(
    kubeconfig: Path, release: str, **settings: str
) -> AsyncIterator[Operating]:
    """The same for a kubeconfig that leads through this very event loop."""
    admin = ports.free_port()
    environment = {
        "NAMESPACE": release,
        "ADMIN_HOST": ports.LOOPBACK,
        "ADMIN_PORT": str(admin),
    } | settings
    program = Program(
        "operator",
        processes.python("pointsman_operator"),
        environment={
            "KUBECONFIG": str(kubeconfig),
            **{f"POINTSMAN_OPERATOR_{name}": value for name, value in environment.items()},
        },
    )
    with program:
        operator = Operating(program, f"http://{ports.LOOPBACK}:{admin}")
        try:
            await program.answers(f"{operator.admin}/readyz", 30)
            yield operator
        finally:
            await asyncio.to_thread(program.stop)


def conditions(server: Body | None) -> dict[str, str]:
    """What a resource's status says of each condition: `{"Ready": "True Ready", …}`."""
    said = (server or {}).get("status", {}).get("conditions", [])
    return {one["type"]: f"{one['status']} {one['reason']}" for one in said}


def condition(server: Body, kind: str) -> Mapping[str, Any]:
    """One condition of a resource, whole."""
    (found,) = [one for one in server["status"]["conditions"] if one["type"] == kind]
    assert isinstance(found, dict)
    return found


async def said(
    api: ClusterApi, name: str, namespace: str, deadline_s: float = 10.0, **expected: str
) -> Body:
    """The resource once its conditions are as expected: `Ready="True Ready"`."""
    return await _said(MCP_SERVER, api, name, namespace, deadline_s, expected)


async def view_said(
    api: ClusterApi, name: str, namespace: str, deadline_s: float = 10.0, **expected: str
) -> Body:
    """The same of a view."""
    return await _said(MCP_VIEW, api, name, namespace, deadline_s, expected)


async def _said(
    kind: Kind,
    api: ClusterApi,
    name: str,
    namespace: str,
    deadline_s: float,
    expected: Mapping[str, str],
) -> Body:
    async def as_expected() -> Body | None:
        found = await api.find(kind, name, namespace)
        return found if expected.items() <= conditions(found).items() else None

    return await until(as_expected, deadline_s, f"{name} says {expected}")


async def happened(
    api: ClusterApi, name: str, namespace: str, *reasons: str, deadline_s: float = 10.0
) -> list[Body]:
    """The Events about a resource, in the order of their times, once they have these reasons."""

    async def as_expected() -> list[Body] | None:
        found = await events(api, name, namespace)
        return found if [one["reason"] for one in found] == list(reasons) else None

    return await until(as_expected, deadline_s, f"{name} has Events {reasons}")


async def events(api: ClusterApi, name: str, namespace: str) -> list[Body]:
    """Every Event about a resource, in the order of their times."""
    found = [
        one
        for one in await api.list(NEW_EVENT, namespace)
        if (one["regarding"]["kind"], one["regarding"]["name"]) == ("McpServer", name)
    ]
    return sorted(found, key=lambda one: str(one["eventTime"]))


async def published(api: ClusterApi, release: str) -> dict[str, dict[str, Any]]:
    """Every document that is published in `release`, by the server's name."""
    return await _published(api, release, OURS, "meta.json")


async def views_published(api: ClusterApi, release: str) -> dict[str, dict[str, Any]]:
    """Every view's document that is published in `release`, by its name."""
    return await _published(api, release, VIEWS, "view.json")


async def _published(
    api: ClusterApi, release: str, label: str, key: str
) -> dict[str, dict[str, Any]]:
    maps = await api.list(CONFIG_MAP, release, label)
    documents = [json.loads(one["data"][key]) for one in maps]
    return {document["name"]: document for document in documents}


async def publishes(
    api: ClusterApi, release: str, *names: str, deadline_s: float = 10.0
) -> dict[str, dict[str, Any]]:
    """The documents in `release` once exactly the servers of these names are published."""

    async def as_expected() -> dict[str, dict[str, Any]] | None:
        found = await published(api, release)
        return (found or {"": {}}) if found.keys() == set(names) else None

    found = await until(as_expected, deadline_s, f"{sorted(names)} are published")
    return {name: document for name, document in found.items() if name}
