"""What the operator makes of views, on a real API server."""

from typing import Any

import pytest

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
from bench.operating import (
    AGENT,
    VIEWS,
    condition,
    conditions,
    operating,
    publishes,
    view_said,
    views_published,
)
from bench.reporting_router import reporting, serving_view
from bench.waiting import until
from pointsman_contract import labels, view

pytestmark = pytest.mark.usefixtures("crd")


def server(name: str, namespace: str, **its_labels: str) -> Body:
    body = mcp_server(name, namespace, url="http://good.example/mcp", allowedTools=["*"])
    body["metadata"]["labels"] = its_labels
    return body


def desk(namespace: str, **spec: Any) -> Body:
    named = {"servers": {"names": ["github", "notes"]}, "tools": ["github.*"]}
    return mcp_view("desk", namespace, **{**named, **spec})


def support(namespace: str) -> Body:
    return desk(namespace, servers={"selector": {"matchLabels": {"team": "support"}}})


async def until_published(cluster: ClusterApi, release: str, *servers: str) -> dict[str, Any]:
    """The document of the one view once it names these servers."""

    async def as_expected() -> dict[str, Any] | None:
        found = (await views_published(cluster, release)).get("desk")
        return found if found and found["servers"] == list(servers) else None

    return await until(as_expected, what=f"desk is published with {servers}")


async def until_gone(cluster: ClusterApi, release: str) -> None:
    async def is_gone() -> bool:
        return await cluster.list(CONFIG_MAP, release, VIEWS) == []

    await until(is_gone, what="no view is published")


async def test_a_view_is_published_and_says_so(
    control_plane: ControlPlane, cluster: ClusterApi, namespace: str, release_namespace: str
) -> None:
    with operating(control_plane.kubeconfig, release_namespace, WATCH_NAMESPACES=namespace):
        made = await cluster.create(MCP_VIEW, desk(namespace))
        told = await view_said(cluster, "desk", namespace, Ready="False NoRouter")

    name = labels.view_config_map_name(namespace, "desk")
    kept = await cluster.get(CONFIG_MAP, name, release_namespace)
    uid = made["metadata"]["uid"]
    loaded = view.load(kept["data"]["view.json"].encode(), folder="x")
    assert kept["data"].keys() == {"view.json"}
    assert (loaded.id, loaded.uid, loaded.generation) == (f"{namespace}/desk", uid, 1)
    assert (loaded.servers, loaded.tools) == (("github", "notes"), ("github.*",))
    assert kept["metadata"]["labels"] == {
        "app.kubernetes.io/managed-by": "pointsman",
        "pointsman.dev/meta": "view-v1",
        "pointsman.dev/view-name": "desk",
        "pointsman.dev/view-namespace": namespace,
    }
    assert kept["metadata"]["annotations"] == {
        "pointsman.dev/view-uid": uid,
        "pointsman.dev/view-generation": "1",
    }
    assert "finalizers" not in told["metadata"]
    assert conditions(told) == {
        "Accepted": "True Accepted",
        "Published": "True Published",
        "Ready": "False NoRouter",
    }
    assert told["status"]["configMapRef"] == {"name": name}
    assert told["status"]["serverCount"] == 2
    assert told["status"]["observedGeneration"] == 1


async def test_a_selector_follows_the_labels_of_servers(
    control_plane: ControlPlane, cluster: ClusterApi, namespace: str, release_namespace: str
) -> None:
    with operating(control_plane.kubeconfig, release_namespace, WATCH_NAMESPACES=namespace):
        await cluster.create(MCP_VIEW, support(namespace))
        told = await view_said(cluster, "desk", namespace, Ready="False NoServers")
        assert "spec.servers.selector" in condition(told, "Ready")["message"]
        await cluster.create(MCP_SERVER, server("github", namespace, team="support"))
        await cluster.create(MCP_SERVER, server("sales", namespace, team="sales"))
        await until_published(cluster, release_namespace, "github")
        await cluster.create(MCP_SERVER, server("notes", namespace, team="support"))
        await until_published(cluster, release_namespace, "github", "notes")
        change = {"metadata": {"labels": {"team": None}}}
        await cluster.patch(MCP_SERVER, "github", change, namespace)
        await until_published(cluster, release_namespace, "notes")
        await cluster.delete(MCP_SERVER, "notes", namespace)
        document = await until_published(cluster, release_namespace)

    assert document["generation"] == 1


async def test_a_server_of_another_namespace_is_in_no_view(
    control_plane: ControlPlane, cluster: ClusterApi, namespace: str, release_namespace: str
) -> None:
    with (
        control_plane.namespace("other") as other,
        operating(
            control_plane.kubeconfig, release_namespace, WATCH_NAMESPACES=f"{namespace},{other}"
        ),
    ):
        await cluster.create(MCP_SERVER, server("far", other, team="support"))
        await publishes(cluster, release_namespace, "far")
        await cluster.create(MCP_VIEW, support(namespace))
        told = await view_said(cluster, "desk", namespace, Ready="False NoServers")
        assert told["status"]["serverCount"] == 0
        await cluster.create(MCP_SERVER, server("near", namespace, team="support"))
        await until_published(cluster, release_namespace, "near")


async def test_a_change_is_published_under_its_generation_and_a_deletion_takes_it_away(
    control_plane: ControlPlane, cluster: ClusterApi, namespace: str, release_namespace: str
) -> None:
    with operating(control_plane.kubeconfig, release_namespace, WATCH_NAMESPACES=namespace):
        await cluster.create(MCP_VIEW, desk(namespace))
        await until_published(cluster, release_namespace, "github", "notes")
        change = {"spec": {"servers": {"names": ["notes"]}, "names": "Bare"}}
        await cluster.patch(MCP_VIEW, "desk", change, namespace)
        document = await until_published(cluster, release_namespace, "notes")
        await cluster.delete(MCP_VIEW, "desk", namespace)
        await until_gone(cluster, release_namespace)

    assert (document["generation"], document["names"]) == (2, "Bare")


async def test_a_view_and_a_server_of_one_name_are_two_objects(
    control_plane: ControlPlane, cluster: ClusterApi, namespace: str, release_namespace: str
) -> None:
    with operating(control_plane.kubeconfig, release_namespace, WATCH_NAMESPACES=namespace):
        await cluster.create(MCP_SERVER, server("desk", namespace))
        await cluster.create(MCP_VIEW, desk(namespace))
        await until_published(cluster, release_namespace, "github", "notes")
        await publishes(cluster, release_namespace, "desk")
        await cluster.delete(MCP_SERVER, "desk", namespace)
        await publishes(cluster, release_namespace)

        await until_published(cluster, release_namespace, "github", "notes")


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"data": {"view.json": "{}"}}, id="edited"),
        pytest.param({"data": {"stranger": "x"}}, id="with a key added"),
        pytest.param({"metadata": {"labels": {"pointsman.dev/meta": None}}}, id="unlabelled"),
        pytest.param({"metadata": {"labels": {"pointsman.dev/meta": "v1"}}}, id="a server's"),
        pytest.param(None, id="deleted"),
    ],
)
async def test_what_somebody_did_to_its_config_map_is_right_again(
    control_plane: ControlPlane,
    cluster: ClusterApi,
    namespace: str,
    release_namespace: str,
    change: Body | None,
) -> None:
    name = labels.view_config_map_name(namespace, "desk")
    with operating(control_plane.kubeconfig, release_namespace, WATCH_NAMESPACES=namespace):
        await cluster.create(MCP_VIEW, desk(namespace))
        await view_said(cluster, "desk", namespace, Published="True Published")
        right = await cluster.get(CONFIG_MAP, name, release_namespace)

        if change is None:
            await cluster.delete(CONFIG_MAP, name, release_namespace)
        else:
            await cluster.patch(CONFIG_MAP, name, change, release_namespace)

        async def is_right() -> bool:
            found = await cluster.find(CONFIG_MAP, name, release_namespace)
            return (
                found is not None
                and found["data"] == right["data"]
                and found["metadata"]["labels"] == right["metadata"]["labels"]
                and found["metadata"]["resourceVersion"] != right["metadata"]["resourceVersion"]
            )

        await until(is_right, what="its ConfigMap is right again")


async def test_a_restart_writes_nothing_and_takes_away_what_lost_its_view_meanwhile(
    control_plane: ControlPlane, cluster: ClusterApi, namespace: str, release_namespace: str
) -> None:
    async with reporting("r1") as router:
        with operating(
            control_plane.kubeconfig, release_namespace, router.url, WATCH_NAMESPACES=namespace
        ) as operator:
            await cluster.create(MCP_SERVER, server("github", namespace, team="support"))
            made = await cluster.create(MCP_VIEW, support(namespace))
            document = await until_published(cluster, release_namespace, "github")
            digest = view.digest(view.ViewMeta.model_validate(document, strict=False))
            await router.reports_views(
                serving_view(f"{namespace}/desk", made["metadata"]["uid"], digest, tools=2)
            )
            await view_said(cluster, "desk", namespace, Ready="True Ready")
            mark = control_plane.audit.mark()
            await operator.restart()
            await operator.looked_at(3)
            name = labels.view_config_map_name(namespace, "desk")
            writes = control_plane.audit.writes(mark, agent=AGENT)
            assert [one for one in writes if one.resource == "mcpviews" or one.name == name] == []

            await operator.end()
            await cluster.delete(MCP_VIEW, "desk", namespace)
            await operator.begin()
            await until_gone(cluster, release_namespace)


async def test_a_view_says_what_agents_find_in_it_on_every_router(
    control_plane: ControlPlane, cluster: ClusterApi, namespace: str, release_namespace: str
) -> None:
    async with reporting("r1") as one, reporting("r2") as two:
        with operating(
            control_plane.kubeconfig,
            release_namespace,
            one.url,
            two.url,
            WATCH_NAMESPACES=namespace,
        ):
            made = await cluster.create(MCP_VIEW, desk(namespace))
            await view_said(cluster, "desk", namespace, Ready="False Progressing")
            document = await until_published(cluster, release_namespace, "github", "notes")
            published = view.ViewMeta.model_validate(document, strict=False)
            identity = (f"{namespace}/desk", made["metadata"]["uid"], view.digest(published))
            await one.reports_views(serving_view(*identity, tools=3))
            lacking = serving_view(*identity, tools=2, unmatchedServers=["notes"])
            await two.reports_views(lacking)
            told = await view_said(cluster, "desk", namespace, Ready="True Ready")

            assert told["status"]["toolCount"] == 2
            assert told["status"]["serverCount"] == 2
            assert told["status"]["unmatchedServers"] == ["notes"]
            address = f"/mcp/views/{namespace}/desk"
            assert condition(told, "Ready")["message"] == f"agents find 2 tools at {address}"

            await two.reports_views()
            await view_said(cluster, "desk", namespace, Ready="False Progressing")


async def test_what_routers_take_up_or_differ_about_is_told_once_it_lasts(
    control_plane: ControlPlane, cluster: ClusterApi, namespace: str, release_namespace: str
) -> None:
    async def serve(*numbers: int, servers: tuple[str, ...]) -> None:
        document = await until_published(cluster, release_namespace, *servers)
        digest = view.digest(view.ViewMeta.model_validate(document, strict=False))
        for router, number in zip(routers, numbers, strict=True):
            await router.reports_views(
                serving_view(f"{namespace}/desk", document["uid"], digest, tools=number)
            )

    async def until_ready_says(message: str) -> None:
        async def does() -> bool:
            found = await cluster.get(MCP_VIEW, "desk", namespace)
            said = found.get("status", {}).get("conditions", [])
            return message in [one["message"] for one in said]

        await until(does, what=message)

    async def has_two_servers() -> Body | None:
        found = await cluster.get(MCP_VIEW, "desk", namespace)
        return found if found["status"].get("serverCount") == 2 else None

    settings = {"WATCH_NAMESPACES": namespace, "SETTLED_SECONDS": "2"}
    finds = f"agents find 1 tool at /mcp/views/{namespace}/desk"
    async with reporting("r1") as one, reporting("r2") as two:
        routers = (one, two)
        urls = (one.url, two.url)
        with operating(control_plane.kubeconfig, release_namespace, *urls, **settings):
            await cluster.create(MCP_SERVER, server("github", namespace, team="support"))
            await cluster.create(MCP_VIEW, support(namespace))
            await serve(1, 1, servers=("github",))
            await until_ready_says(finds)
            await cluster.create(MCP_SERVER, server("notes", namespace, team="support"))
            taking_up = await until(has_two_servers, what="the view has both")
            await view_said(cluster, "desk", namespace, Ready="False Progressing")
            await serve(1, 3, servers=("github", "notes"))
            await until_ready_says(f"{finds}; routers differ: {two.name} finds 3")
            await serve(1, 1, servers=("github", "notes"))
            await until_ready_says(finds)

    assert conditions(taking_up)["Ready"] == "True Ready"


async def test_what_is_somebody_elses_is_left_as_it_is(
    control_plane: ControlPlane, cluster: ClusterApi, namespace: str, release_namespace: str
) -> None:
    name = labels.view_config_map_name(namespace, "desk")
    foreign = await cluster.create(CONFIG_MAP, config_map(name, release_namespace, {"a": "b"}))
    with operating(control_plane.kubeconfig, release_namespace, WATCH_NAMESPACES=namespace):
        await cluster.create(MCP_VIEW, desk(namespace))
        told = await view_said(cluster, "desk", namespace, Accepted="False NameConflict")
        assert await cluster.get(CONFIG_MAP, name, release_namespace) == foreign
        assert name in condition(told, "Accepted")["message"]

        await cluster.delete(CONFIG_MAP, name, release_namespace)
        await view_said(cluster, "desk", namespace, Accepted="True Accepted")
        await until_published(cluster, release_namespace, "github", "notes")


async def test_a_view_in_the_release_namespace_owns_its_config_map(
    control_plane: ControlPlane, cluster: ClusterApi, release_namespace: str
) -> None:
    with operating(control_plane.kubeconfig, release_namespace, WATCH_NAMESPACES=release_namespace):
        made = await cluster.create(MCP_VIEW, desk(release_namespace))
        await until_published(cluster, release_namespace, "github", "notes")

    (kept,) = await cluster.list(CONFIG_MAP, release_namespace, VIEWS)
    assert kept["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "pointsman.dev/v1alpha1",
            "kind": "McpView",
            "name": "desk",
            "uid": made["metadata"]["uid"],
        }
    ]


async def test_people_see_the_columns_of_the_contract(
    control_plane: ControlPlane, cluster: ClusterApi, namespace: str, release_namespace: str
) -> None:
    with operating(control_plane.kubeconfig, release_namespace, WATCH_NAMESPACES=namespace):
        await cluster.create(MCP_VIEW, desk(namespace))
        await view_said(cluster, "desk", namespace, Ready="False NoRouter")

    plain = control_plane.kubectl("get", "mcpv", "-n", namespace).splitlines()
    wide = control_plane.kubectl("get", "mcpviews", "-n", namespace, "-o", "wide").splitlines()
    assert plain[0].split() == ["NAME", "READY", "TOOLS", "REASON", "AGE"]
    assert plain[1].split()[:4] == ["desk", "False", "0", "NoRouter"]
    assert wide[0].split()[5:] == ["SERVERS", "NAMES", "DISCOVERY"]
    assert wide[1].split()[5:] == ["2", "Prefixed", "List"]
