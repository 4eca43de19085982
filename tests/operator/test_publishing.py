"""What the operator makes of resources, on a real API server."""

import json
from typing import Any

import pytest

from bench import operator_rights
from bench.cluster_api import CONFIG_MAP, MCP_SERVER, ClusterApi, config_map, mcp_server
from bench.controlplane import ControlPlane
from bench.operating import (
    AGENT,
    OURS,
    condition,
    conditions,
    happened,
    operating,
    published,
    publishes,
    said,
)
from bench.spellings import LONGEST_URL
from bench.waiting import until
from pointsman_contract import labels

pytestmark = pytest.mark.usefixtures("crd")

URL = "http://good.example/mcp"
WIDEST_TOOLS = ["\U0001f600" * 127 + chr(0x10000 + number) for number in range(500)]


def server(name: str, namespace: str, **spec: Any) -> dict[str, Any]:
    return mcp_server(name, namespace, **{"url": URL, "allowedTools": ["*"], **spec})


async def test_a_resource_is_published_and_says_so(
    control_plane: ControlPlane, cluster: ClusterApi, namespace: str, release_namespace: str
) -> None:
    with operating(control_plane.kubeconfig, release_namespace, WATCH_NAMESPACES=namespace):
        made = await cluster.create(MCP_SERVER, server("github", namespace))
        told = await said(cluster, "github", namespace, Published="True Published")

    name = labels.config_map_name(namespace, "github")
    kept = await cluster.get(CONFIG_MAP, name, release_namespace)
    uid = made["metadata"]["uid"]
    assert kept["data"].keys() == {"meta.json"}
    assert json.loads(kept["data"]["meta.json"]) == {
        "schemaVersion": 1,
        "name": "github",
        "namespace": namespace,
        "uid": uid,
        "generation": 1,
        "url": URL,
        "allowedTools": ["*"],
        "prefix": "github",
        "protocol": "Auto",
        "timeoutSeconds": 60,
        "suspend": False,
    }
    assert kept["metadata"]["labels"] == {
        "app.kubernetes.io/managed-by": "pointsman",
        "pointsman.dev/meta": "v1",
        "pointsman.dev/server-name": "github",
        "pointsman.dev/server-namespace": namespace,
    }
    assert kept["metadata"]["annotations"] == {
        "pointsman.dev/server-uid": uid,
        "pointsman.dev/server-generation": "1",
    }
    assert "ownerReferences" not in kept["metadata"]
    assert "finalizers" not in told["metadata"]
    assert conditions(told) == {
        "Accepted": "True Accepted",
        "Published": "True Published",
        "Discovered": "Unknown NoRouter",
        "Ready": "False NoRouter",
    }
    assert told["status"]["configMapRef"] == {"name": name}
    assert told["status"]["prefix"] == "github"
    assert told["status"]["observedGeneration"] == 1
    assert all(one["observedGeneration"] == 1 for one in told["status"]["conditions"])


async def test_people_see_the_columns_of_the_contract(
    control_plane: ControlPlane, cluster: ClusterApi, namespace: str, release_namespace: str
) -> None:
    with operating(control_plane.kubeconfig, release_namespace, WATCH_NAMESPACES=namespace):
        await cluster.create(MCP_SERVER, server("github", namespace))
        await said(cluster, "github", namespace, Ready="False NoRouter")

    plain = control_plane.kubectl("get", "mcp", "-n", namespace).splitlines()
    wide = control_plane.kubectl("get", "mcpservers", "-n", namespace, "-o", "wide").splitlines()
    explained = control_plane.kubectl("explain", "mcpserver.spec.allowedTools")
    assert plain[0].split() == ["NAME", "READY", "TOOLS", "PREFIX", "REASON", "AGE"]
    assert plain[1].split()[:5] == ["github", "False", "0", "github", "NoRouter"]
    assert wide[0].split()[6:] == ["URL", "SERVICE", "PROTOCOL", "ROUTERS"]
    assert URL in wide[1]
    assert "NoToolsAllowed" in explained


async def test_a_service_is_published_as_one_of_the_resources_own_namespace(
    control_plane: ControlPlane, cluster: ClusterApi, namespace: str, release_namespace: str
) -> None:
    spec = {"service": {"name": "github-mcp", "port": 8080}, "allowedTools": ["*"]}
    with operating(control_plane.kubeconfig, release_namespace, WATCH_NAMESPACES=namespace):
        await cluster.create(MCP_SERVER, mcp_server("github", namespace, **spec))
        await publishes(cluster, release_namespace, "github")

    document = (await published(cluster, release_namespace))["github"]
    wide = control_plane.kubectl("get", "mcpservers", "-n", namespace, "-o", "wide").splitlines()
    assert document["url"] == f"http://github-mcp.{namespace}.svc:8080/mcp"
    assert "github-mcp" in wide[1].split()


async def test_what_an_owner_says_of_tools_is_published_until_it_hides_something(
    control_plane: ControlPlane, cluster: ClusterApi, namespace: str, release_namespace: str
) -> None:
    approved = {"add": f"sha256:{'0' * 64}"}
    spec = {
        "definitions": {"policy": "Enforce", "approved": approved},
        "tools": [{"name": "add", "title": "Add"}],
    }
    with operating(control_plane.kubeconfig, release_namespace, WATCH_NAMESPACES=namespace):
        await cluster.create(MCP_SERVER, server("worded", namespace, **spec))
        await publishes(cluster, release_namespace, "worded")
        document = (await published(cluster, release_namespace))["worded"]
        change = {"spec": {"tools": [{"name": "add", "title": "Add\u202e"}]}}
        await cluster.patch(MCP_SERVER, "worded", change, namespace)
        told = await said(cluster, "worded", namespace, Accepted="False InvalidSpec")
        await publishes(cluster, release_namespace)

    assert document["definitions"] == {"policy": "Enforce", "approved": approved}
    assert document["tools"] == [{"name": "add", "title": "Add"}]
    assert document["requires"] == ["definitions"]
    assert condition(told, "Accepted")["message"] == (
        "spec.tools[0].title must not hold a hidden character such as U+202E"
    )


async def test_a_change_is_published_under_its_generation(
    control_plane: ControlPlane, cluster: ClusterApi, namespace: str, release_namespace: str
) -> None:
    with operating(control_plane.kubeconfig, release_namespace, WATCH_NAMESPACES=namespace):
        await cluster.create(MCP_SERVER, server("github", namespace))
        await publishes(cluster, release_namespace, "github")
        change = {"spec": {"prefix": "gh", "suspend": True}}
        await cluster.patch(MCP_SERVER, "github", change, namespace)
        told = await said(cluster, "github", namespace, Ready="False Suspended")

    document = (await published(cluster, release_namespace))["github"]
    assert (document["generation"], document["prefix"], document["suspend"]) == (2, "gh", True)
    assert told["status"]["observedGeneration"] == 2
    assert conditions(told)["Published"] == "True Published"


async def test_a_resource_that_allows_no_tool_is_published_and_says_what_to_do(
    control_plane: ControlPlane, cluster: ClusterApi, namespace: str, release_namespace: str
) -> None:
    with operating(control_plane.kubeconfig, release_namespace, WATCH_NAMESPACES=namespace):
        await cluster.create(MCP_SERVER, mcp_server("github", namespace, url=URL))
        told = await said(cluster, "github", namespace, Ready="False NoToolsAllowed")

    assert conditions(told)["Published"] == "True Published"
    assert "spec.allowedTools" in condition(told, "Ready")["message"]


async def test_a_deleted_resource_is_published_no_longer(
    control_plane: ControlPlane, cluster: ClusterApi, namespace: str, release_namespace: str
) -> None:
    with operating(control_plane.kubeconfig, release_namespace, WATCH_NAMESPACES=namespace):
        for name in ("github", "slack"):
            await cluster.create(MCP_SERVER, server(name, namespace))
        await publishes(cluster, release_namespace, "github", "slack")
        await cluster.delete(MCP_SERVER, "github", namespace)
        await publishes(cluster, release_namespace, "slack", deadline_s=2)


async def test_a_resource_that_becomes_too_large_loses_its_config_map_and_costs_nobody_else(
    control_plane: ControlPlane, cluster: ClusterApi, namespace: str, release_namespace: str
) -> None:
    with operating(control_plane.kubeconfig, release_namespace, WATCH_NAMESPACES=namespace) as one:
        await cluster.create(MCP_SERVER, server("large", namespace))
        await cluster.create(MCP_SERVER, server("other", namespace))
        await publishes(cluster, release_namespace, "large", "other")
        change = {"spec": {"url": LONGEST_URL, "allowedTools": WIDEST_TOOLS}}
        await cluster.patch(MCP_SERVER, "large", change, namespace)
        told = await said(cluster, "large", namespace, Accepted="False TooLarge")
        await publishes(cluster, release_namespace, "other")
        failed = await one.metric("pointsman_operator_reconciles_total", outcome="failed")

    assert "spec.allowedTools" in condition(told, "Accepted")["message"]
    assert {one["status"] for one in told["status"]["conditions"]} == {"False"}
    assert "configMapRef" not in told["status"]
    assert failed == 0


EVERY_PLANE = [f"plane {plane} {chr(plane * 0x10000 + 0xF600)}" for plane in range(17)]
ODD_NAMES = ["a b", "\u00fc", '"\\', "\u00a0\u00ad", "\u2028\u2029", "\ufeff", "\ufffe\uffff"]


async def test_tool_names_of_every_plane_are_published_as_they_are(
    control_plane: ControlPlane, cluster: ClusterApi, namespace: str, release_namespace: str
) -> None:
    names = [*EVERY_PLANE, *ODD_NAMES]
    with operating(control_plane.kubeconfig, release_namespace, WATCH_NAMESPACES=namespace):
        await cluster.create(MCP_SERVER, server("odd", namespace, allowedTools=["a"]))
        await publishes(cluster, release_namespace, "odd")
        await cluster.patch(MCP_SERVER, "odd", {"spec": {"allowedTools": names}}, namespace)

        async def holds_them() -> bool:
            document = (await published(cluster, release_namespace))["odd"]
            return bool(document["allowedTools"] == sorted(names))

        await until(holds_them)


async def test_a_resource_in_the_release_namespace_owns_its_config_map(
    control_plane: ControlPlane, cluster: ClusterApi, release_namespace: str
) -> None:
    with operating(control_plane.kubeconfig, release_namespace, WATCH_NAMESPACES=release_namespace):
        made = await cluster.create(MCP_SERVER, server("github", release_namespace))
        await publishes(cluster, release_namespace, "github")

    (kept,) = await cluster.list(CONFIG_MAP, release_namespace, OURS)
    assert kept["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "pointsman.dev/v1alpha1",
            "kind": "McpServer",
            "name": "github",
            "uid": made["metadata"]["uid"],
        }
    ]


async def test_what_is_somebody_elses_is_left_as_it_is(
    control_plane: ControlPlane, cluster: ClusterApi, namespace: str, release_namespace: str
) -> None:
    name = labels.config_map_name(namespace, "github")
    foreign = await cluster.create(CONFIG_MAP, config_map(name, release_namespace, {"a": "b"}))
    with operating(
        control_plane.kubeconfig,
        release_namespace,
        WATCH_NAMESPACES=namespace,
        RESYNC_SECONDS="1",
    ) as one:
        await cluster.create(MCP_SERVER, server("github", namespace))
        told = await said(cluster, "github", namespace, Accepted="False NameConflict")
        await happened(cluster, "github", namespace, "NotReady")
        mark = control_plane.audit.mark()
        resyncs = await one.metric("pointsman_operator_last_resync_timestamp_seconds")

        async def was_resynced() -> bool:
            now = await one.metric("pointsman_operator_last_resync_timestamp_seconds")
            return now > resyncs + 1.5

        await until(was_resynced)
        assert await cluster.get(CONFIG_MAP, name, release_namespace) == foreign
        assert control_plane.audit.writes(mark, agent=AGENT) == ()
        assert name in condition(told, "Accepted")["message"]

        await cluster.delete(CONFIG_MAP, name, release_namespace)
        await said(cluster, "github", namespace, Accepted="True Accepted")
        await publishes(cluster, release_namespace, "github")


async def test_an_unknown_field_leaves_no_trace(
    control_plane: ControlPlane, cluster: ClusterApi, namespace: str, release_namespace: str
) -> None:
    body = server("github", namespace, bearerToken="canary", headers={"Authorization": "canary"})
    body["metadata"]["labels"] = {"pointsman.dev/meta": "canary"}
    body["metadata"]["annotations"] = {"a": "canary", "b": "x" * 200_000}
    with operating(control_plane.kubeconfig, release_namespace, WATCH_NAMESPACES=namespace) as one:
        await cluster.create(MCP_SERVER, body)
        told = await said(cluster, "github", namespace, Published="True Published")
        output = one.program.output

    (kept,) = await cluster.list(CONFIG_MAP, release_namespace, OURS)
    assert "canary" not in json.dumps([kept, told["status"], told["spec"], output])


async def test_only_the_namespaces_that_are_to_be_watched_are_served(
    control_plane: ControlPlane, cluster: ClusterApi, namespace: str, release_namespace: str
) -> None:
    with (
        control_plane.namespace("other") as second,
        control_plane.namespace("unwatched") as unwatched,
        operating(
            control_plane.kubeconfig, release_namespace, WATCH_NAMESPACES=f"{namespace},{second}"
        ),
    ):
        await cluster.create(MCP_SERVER, server("unseen", unwatched))
        await cluster.create(MCP_SERVER, server("first", namespace))
        await cluster.create(MCP_SERVER, server("second", second))
        await publishes(cluster, release_namespace, "first", "second")

        assert conditions(await cluster.get(MCP_SERVER, "unseen", unwatched)) == {}


@pytest.mark.parametrize("everywhere", [True, False], ids=["everywhere", "in one namespace"])
async def test_its_role_is_all_that_it_needs(
    control_plane: ControlPlane,
    cluster: ClusterApi,
    namespace: str,
    release_namespace: str,
    everywhere: bool,
) -> None:
    tenant = "" if everywhere else namespace
    rights = operator_rights.grant(control_plane, release_namespace, tenant)
    mark = control_plane.audit.mark()
    with operating(rights, release_namespace, WATCH_NAMESPACES=tenant, RESYNC_SECONDS="1"):
        await cluster.create(MCP_SERVER, server("github", namespace))
        await said(cluster, "github", namespace, Published="True Published")
        await cluster.patch(MCP_SERVER, "github", {"spec": {"suspend": True}}, namespace)
        await said(cluster, "github", namespace, Ready="False Suspended")
        (kept,) = await cluster.list(CONFIG_MAP, release_namespace, OURS)
        spoilt = {"data": {"x": "y"}}
        await cluster.patch(CONFIG_MAP, kept["metadata"]["name"], spoilt, release_namespace)

        async def is_right() -> bool:
            (found,) = await cluster.list(CONFIG_MAP, release_namespace, OURS)
            return bool(found["data"].keys() == {"meta.json"})

        await until(is_right)
        await cluster.delete(MCP_SERVER, "github", namespace)
        await publishes(cluster, release_namespace)

    user = f"system:serviceaccount:{release_namespace}:{operator_rights.ACCOUNT}"
    asked = control_plane.audit.since(mark, user=user)
    assert asked
    assert [one for one in asked if one.status in (401, 403)] == []
    assert {one.resource for one in asked if one.resource} == {
        *("configmaps", "events", "mcpservers", "mcpviews"),
    }
