"""What people are told of a resource in Events, on a real API server."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from bench import operator_rights
from bench.cluster_api import EVENT, MCP_SERVER, Body, ClusterApi, mcp_server
from bench.controlplane import ControlPlane
from bench.operating import AGENT, Operating, events, happened, operating, publishes, said
from bench.reporting_router import reporting, serving
from bench.waiting import until
from pointsman_contract.report import State

pytestmark = pytest.mark.usefixtures("crd")

URL = "http://good.example/mcp"
UNREACHABLE = {"state": State.SKIPPED, "reason": "Unreachable", "message": "no answer"}


async def create(cluster: ClusterApi, name: str, namespace: str, **spec: Any) -> Body:
    spec = {"url": URL, "allowedTools": ["*"], **spec}
    return await cluster.create(MCP_SERVER, mcp_server(name, namespace, **spec))


def entry(of: Body, *tools: str, **members: Any) -> Any:
    metadata = of["metadata"]
    server = f"{metadata['namespace']}/{metadata['name']}"
    return serving(server, metadata["uid"], *tools, **members)


async def told(operator: Operating) -> float:
    return await operator.metric("pointsman_operator_api_writes_total", kind="event")


async def test_transitions_are_events_on_the_resource(
    control_plane: ControlPlane, cluster: ClusterApi, namespace: str, release_namespace: str
) -> None:
    async with reporting("r1") as router:
        with operating(
            control_plane.kubeconfig, release_namespace, router.url, WATCH_NAMESPACES=namespace
        ) as operator:
            made = await create(cluster, "github", namespace)
            await happened(cluster, "github", namespace, "Published")
            await router.reports(entry(made, "search"))
            await happened(cluster, "github", namespace, "Published", "Ready")
            await router.reports(entry(made, **UNREACHABLE))
            found = await happened(cluster, "github", namespace, "Published", "Ready", "NotReady")
            written = await told(operator)

    uid = made["metadata"]["uid"]
    assert written == 3
    assert {one["regarding"]["uid"] for one in found} == {uid}
    assert [one["type"] for one in found] == ["Normal", "Normal", "Warning"]
    assert found[-1]["note"] == "Unreachable: no answer"
    assert {one["reportingController"] for one in found} == {"pointsman.dev/operator"}
    # What `kubectl describe` and `kubectl get events` show goes by the older form.
    older = [
        one
        for one in await cluster.list(EVENT, namespace)
        if one["involvedObject"].get("uid") == uid
    ]
    listed = control_plane.kubectl("get", "events", "-n", namespace)
    described = control_plane.kubectl("describe", "mcpserver", "github", "-n", namespace)
    assert {one["reason"] for one in older} == {"Published", "Ready", "NotReady"}
    assert "mcpserver/github" in listed
    assert "Unreachable: no answer" in listed
    assert "Unreachable: no answer" in described


async def test_a_rival_and_a_changed_definition_are_events(
    control_plane: ControlPlane, cluster: ClusterApi, namespace: str, release_namespace: str
) -> None:
    flag = {"name": "a", "reason": "DefinitionChanged", "message": "m", "digest": "sha256:1"}
    made = await create(cluster, "github", namespace)
    async with reporting("r1", entry(made, "a")) as router:
        with operating(
            control_plane.kubeconfig, release_namespace, router.url, WATCH_NAMESPACES=namespace
        ):
            await happened(cluster, "github", namespace, "Published", "Ready")
            await create(cluster, "rival", namespace, prefix="github")
            (conflict,) = await happened(cluster, "rival", namespace, "PrefixConflict")
            await router.reports(entry(made, "a", flaggedTools=[flag]))
            *_, change = await happened(
                cluster, "github", namespace, "Published", "Ready", "DefinitionChanged"
            )

    assert conflict["type"] == change["type"] == "Warning"
    assert "github" in conflict["note"]
    assert change["note"].startswith("the definition of a is not approved, and is served")


async def test_a_restart_tells_nothing(
    control_plane: ControlPlane, cluster: ClusterApi, namespace: str, release_namespace: str
) -> None:
    made = [await create(cluster, f"server-{number}", namespace) for number in range(5)]
    async with reporting("r1", *(entry(one, "a") for one in made)) as router:
        with operating(
            control_plane.kubeconfig, release_namespace, router.url, WATCH_NAMESPACES=namespace
        ) as operator:
            for one in made:
                name = one["metadata"]["name"]
                await happened(cluster, name, namespace, "Published", "Ready")
            await operator.end()
            mark = control_plane.audit.mark()
            await operator.begin()
            await operator.looked_at(len(made))
            written = await told(operator)

    assert control_plane.audit.writes(mark, agent=AGENT, resource="events") == ()
    assert written == 0


async def test_a_server_that_flaps_fills_no_history(
    control_plane: ControlPlane, cluster: ClusterApi, namespace: str, release_namespace: str
) -> None:
    made = await create(cluster, "github", namespace)
    async with reporting("r1", entry(made, "a")) as router:
        with operating(
            control_plane.kubeconfig,
            release_namespace,
            router.url,
            WATCH_NAMESPACES=namespace,
            EVENT_BURST="3",
            EVENT_INTERVAL_SECONDS="3600",
        ) as operator:
            for _ in range(3):
                await said(cluster, "github", namespace, Ready="True Ready")
                await router.reports(entry(made, **UNREACHABLE))
                await said(cluster, "github", namespace, Ready="False NotDiscovered")
                await router.reports(entry(made, "a"))
            await said(cluster, "github", namespace, Ready="True Ready")
            written = await told(operator)
            found = await events(cluster, "github", namespace)

    assert written == 3
    assert [one["reason"] for one in found] == ["Published", "Ready", "NotReady"]


async def test_an_operator_that_may_write_no_event_does_everything_else(
    control_plane: ControlPlane, cluster: ClusterApi, namespace: str, release_namespace: str
) -> None:
    rights = _without_events(control_plane, release_namespace, namespace)
    names = [f"server-{number}" for number in range(5)]
    with operating(rights, release_namespace, WATCH_NAMESPACES=namespace) as operator:
        for name in names:
            await create(cluster, name, namespace)
        for name in names:
            await said(cluster, name, namespace, Ready="False NoRouter")
        await until(lambda: _all_tried(operator, 2 * len(names)))
        failed = await operator.metric("pointsman_operator_reconciles_total", outcome="failed")
        log = operator.log

    assert failed == 0
    assert [one["level"] for one in log if "Event" in str(one)] == ["WARNING"]
    assert await events(cluster, names[0], namespace) == []


async def _all_tried(operator: Operating, number: int) -> bool:
    return await told(operator) >= number


def _without_events(control_plane: ControlPlane, release: str, tenant: str) -> Path:
    path = control_plane.kubeconfig_of(release, operator_rights.ACCOUNT)
    rules = [one for one in operator_rights.RESOURCES if one["resources"] != ["events"]]
    allow = operator_rights.allow
    allow(control_plane, release, "config-maps", operator_rights.CONFIG_MAPS, account_in=release)
    allow(control_plane, tenant, "resources", rules, account_in=release)
    return path


async def test_a_namespace_that_goes_takes_no_event_and_costs_nothing(
    control_plane: ControlPlane, cluster: ClusterApi, namespace: str, release_namespace: str
) -> None:
    with (
        control_plane.namespace("leaving") as leaving,
        operating(
            control_plane.kubeconfig, release_namespace, WATCH_NAMESPACES=f"{namespace},{leaving}"
        ) as operator,
    ):
        body = mcp_server("held", leaving, url=URL, allowedTools=["*"])
        body["metadata"]["finalizers"] = ["example.com/held"]
        await cluster.create(MCP_SERVER, body)
        await happened(cluster, "held", leaving, "Published", "NotReady")
        await asyncio.to_thread(control_plane.request, "DELETE", f"/api/v1/namespaces/{leaving}")
        await until(lambda: _is_deleted(cluster, "held", leaving), deadline_s=30)
        before = await told(operator)
        suspended = {"spec": {"suspend": True}}
        await cluster.patch(MCP_SERVER, "held", suspended, leaving)
        await said(cluster, "held", leaving, Ready="False Suspended")
        await until(lambda: _all_tried(operator, int(before) + 2))
        await create(cluster, "other", namespace)
        await publishes(cluster, release_namespace, "held", "other")
        await happened(cluster, "other", namespace, "Published", "NotReady")
        failed = await operator.metric("pointsman_operator_reconciles_total", outcome="failed")
        await cluster.patch(MCP_SERVER, "held", {"metadata": {"finalizers": []}}, leaving)

    assert failed == 0


async def _is_deleted(cluster: ClusterApi, name: str, namespace: str) -> bool:
    found = await cluster.get(MCP_SERVER, name, namespace)
    return "deletionTimestamp" in found["metadata"]
