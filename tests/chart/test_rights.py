"""Whether operator and mirror use every right that the chart grants them, and miss none."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bench import helm
from bench.cluster_api import (
    CONFIG_MAP,
    MCP_SERVER,
    MCP_VIEW,
    Body,
    ClusterApi,
    config_map,
    mcp_server,
    mcp_view,
)
from bench.controlplane import ControlPlane
from bench.operating import operating, publishes, said
from bench.waiting import until
from chart import rendering
from chart.grants import Right, rights
from chart.rendering import Rendering
from mirror import running
from pointsman_contract import labels

pytestmark = pytest.mark.usefixtures("crd")

GROUPS = {
    **dict.fromkeys(["mcpservers", "mcpviews"], "pointsman.dev"),
    "configmaps": "",
    "events": "events.k8s.io",
}
OPERATOR, ROUTER = "pointsman-operator", "pointsman-router"


@dataclass(frozen=True, slots=True)
class Release:
    """An installation, and what it granted."""

    namespace: str
    tenant: str
    installed: Rendering

    def granted(self, account: str) -> set[Right]:
        """What an account of it may do."""
        return rights(self.installed, self.namespace, account)


@pytest.fixture(params=["the whole cluster", "one namespace"])
def release(
    request: pytest.FixtureRequest, control_plane: ControlPlane, namespace: str
) -> Iterator[Release]:
    """The chart, installed for all namespaces and for one."""
    watched = json.dumps({"the whole cluster": [], "one namespace": [namespace]}[request.param])
    with control_plane.namespace("release") as home:
        where = ("--namespace", home)
        helm.run(
            *("install", helm.RELEASE, helm.CHART, *where, *rendering.IMAGE),
            *("--set", "crds.install=false", "--set-json", f"watchNamespaces={watched}"),
            kubeconfig=control_plane.kubeconfig,
        )
        try:
            manifest = helm.run(
                "get", "manifest", helm.RELEASE, *where, kubeconfig=control_plane.kubeconfig
            )
            yield Release(home, namespace, rendering.read(manifest))
        finally:
            helm.run("uninstall", helm.RELEASE, *where, kubeconfig=control_plane.kubeconfig)


def server(name: str, namespace: str, **spec: Any) -> Body:
    return mcp_server(
        name, namespace, **{"url": "http://good.example/mcp", "allowedTools": ["*"], **spec}
    )


async def test_what_is_granted_is_what_is_used_and_nothing_else_is_asked_for(
    control_plane: ControlPlane, cluster: ClusterApi, release: Release, tmp_path: Path
) -> None:
    mark = control_plane.audit.mark()
    environment = release.installed.container("operator").environment
    watched = environment.get("POINTSMAN_OPERATOR_WATCH_NAMESPACES", "")
    kubeconfigs = {
        account: control_plane.kubeconfig_of(release.namespace, account)
        for account in (OPERATOR, ROUTER)
    }
    settings = {"WATCH_NAMESPACES": watched, "RESYNC_SECONDS": "1", "REPAIR_SECONDS": "0"}
    with (
        running.running(kubeconfigs[ROUTER], release.namespace, tmp_path) as mirror,
        operating(kubeconfigs[OPERATOR], release.namespace, **settings) as operator,
    ):
        await mirror.is_ready()
        await _live(cluster, release)
        if not watched:
            await _live_beside_the_operator(cluster, release.namespace)
        await operator.resynced()
        folder = f"{release.tenant}.other"
        await mirror.shows(folder)

    for account in (OPERATOR, ROUTER):
        granted = release.granted(account)
        used = _used(control_plane, mark, release.namespace, account)
        covering = {right for right in granted for one in used if right.covers(one)}

        assert {one for one in used if not any(right.covers(one) for right in granted)} == set()
        assert covering == granted
        assert granted


async def _live(cluster: ClusterApi, release: Release) -> None:
    """Everything that may become of servers and their ConfigMaps."""
    home, tenant = release.namespace, release.tenant
    name = labels.config_map_name(tenant, "github")

    async def is_right() -> bool:
        found = await cluster.find(CONFIG_MAP, name, home)
        return found is not None and found["data"].keys() == {"meta.json"}

    await cluster.create(MCP_SERVER, server("github", tenant))
    await cluster.create(MCP_SERVER, server("other", tenant))
    await said(cluster, "github", tenant, Published="True Published")
    await cluster.create(MCP_SERVER, server("rival", tenant, prefix="github"))
    await said(cluster, "rival", tenant, Accepted="False PrefixConflict")
    await cluster.patch(MCP_SERVER, "github", {"spec": {"suspend": True}}, tenant)
    await said(cluster, "github", tenant, Ready="False Suspended")
    await cluster.patch(CONFIG_MAP, name, {"data": {"stranger": "x"}}, home)
    await until(is_right, what="an edited ConfigMap is right again")
    await cluster.delete(CONFIG_MAP, name, home)
    await until(is_right, what="a deleted ConfigMap is there again")
    orphan = config_map(
        *("orphan", home, {"meta.json": "{}"}),
        labels={labels.META: labels.META_VERSION},
        annotations={labels.SERVER_UID: "no-such-uid"},
    )
    await cluster.create(CONFIG_MAP, orphan)
    await _until_gone(cluster, "orphan", home)
    await _live_with_a_view(cluster, release)
    await cluster.delete(MCP_SERVER, "rival", tenant)
    await cluster.delete(MCP_SERVER, "github", tenant)
    await publishes(cluster, home, "other")


async def _live_with_a_view(cluster: ClusterApi, release: Release) -> None:
    name = labels.view_config_map_name(release.tenant, "desk")

    async def is_published() -> bool:
        found = await cluster.find(CONFIG_MAP, name, release.namespace)
        view = await cluster.get(MCP_VIEW, "desk", release.tenant)
        return found is not None and "status" in view

    view = mcp_view("desk", release.tenant, servers={"selector": {}}, tools=["*"])
    await cluster.create(MCP_VIEW, view)
    await until(is_published, what="a view is published and says so")
    await cluster.delete(MCP_VIEW, "desk", release.tenant)
    await _until_gone(cluster, name, release.namespace)


async def _live_beside_the_operator(cluster: ClusterApi, home: str) -> None:
    """A server in the release's own namespace is its ConfigMap's owner, which takes no right."""
    await cluster.create(MCP_SERVER, server("neighbour", home))
    await said(cluster, "neighbour", home, Published="True Published")
    name = labels.config_map_name(home, "neighbour")
    kept = await cluster.get(CONFIG_MAP, name, home)
    assert [owner["kind"] for owner in kept["metadata"]["ownerReferences"]] == ["McpServer"]
    await cluster.delete(MCP_SERVER, "neighbour", home)
    await _until_gone(cluster, name, home)


async def _until_gone(cluster: ClusterApi, name: str, namespace: str) -> None:
    async def is_gone() -> bool:
        return await cluster.find(CONFIG_MAP, name, namespace) is None

    await until(is_gone, what=f"{name} is gone")


def _used(control_plane: ControlPlane, mark: int, namespace: str, account: str) -> set[Right]:
    """Every right that an account has made use of, by the API server's own log."""
    user = f"system:serviceaccount:{namespace}:{account}"
    asked = control_plane.audit.since(mark, user=user)
    assert [one for one in asked if one.status in (401, 403)] == []
    found = set()
    for one in asked:
        if not one.resource:  # which kinds there are, which every account may ask
            assert one.verb == "get"
            continue
        resource = f"{one.resource}/{one.subresource}".removesuffix("/")
        # An apply that makes the object takes leave to create it as well.
        verbs = {one.verb} | ({"create"} if (one.verb, one.status) == ("patch", 201) else set())
        found |= {
            Right(one.namespace, GROUPS.get(one.resource, "?"), resource, verb) for verb in verbs
        }
    return found
