"""Which of several servers has a prefix, on a real API server, across restarts and absences."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from bench import api_proxy
from bench.cluster_api import CONFIG_MAP, MCP_SERVER, Body, ClusterApi, config_map, mcp_server
from bench.controlplane import ControlPlane
from bench.operating import (
    AGENT,
    condition,
    operating,
    operating_through,
    publishes,
    said,
)
from bench.processes import Program, python
from bench.waiting import until
from pointsman_contract import labels, register

pytestmark = pytest.mark.usefixtures("crd")


def server(name: str, namespace: str, **spec: Any) -> Body:
    spec = {"url": "http://good.example/mcp", "allowedTools": ["*"], **spec}
    return mcp_server(name, namespace, **spec)


def by_age(made: list[Body]) -> list[str]:
    """The names of resources in the order in which they are to have a prefix."""
    metadata = [one["metadata"] for one in made]
    metadata.sort(key=lambda one: (one["creationTimestamp"], one["uid"]))
    return [one["name"] for one in metadata]


async def registered(cluster: ClusterApi, release: str) -> dict[str, str]:
    found = await cluster.find(CONFIG_MAP, labels.REGISTER_NAME, release)
    if found is None:
        return {}
    claims = register.load(found["data"][register.DATA_KEY])
    return {
        prefix: f"{claim.server}{' (gone)' if claim.released_at else ''}"
        for prefix, claim in claims.items()
    }


async def until_registered(cluster: ClusterApi, release: str, **expected: str) -> None:
    async def as_expected() -> bool:
        return await registered(cluster, release) == expected

    await until(as_expected, what=f"the register holds {expected}")


async def test_the_older_of_two_has_the_prefix_and_the_other_is_told_who(
    control_plane: ControlPlane, cluster: ClusterApi, namespace: str, release_namespace: str
) -> None:
    with operating(control_plane.kubeconfig, release_namespace, WATCH_NAMESPACES=namespace):
        await cluster.create(MCP_SERVER, server("first", namespace, prefix="p"))
        await said(cluster, "first", namespace, Published="True Published")
        await cluster.create(MCP_SERVER, server("second", namespace, prefix="p"))
        told = await said(cluster, "second", namespace, Accepted="False PrefixConflict")
        await publishes(cluster, release_namespace, "first")

    assert condition(told, "Accepted")["message"] == (
        f"spec.prefix must be set to another prefix: p belongs to {namespace}/first"
    )
    assert "prefix" not in told["status"]


async def test_one_name_in_two_namespaces_is_one_prefix(
    control_plane: ControlPlane, cluster: ClusterApi, namespace: str, release_namespace: str
) -> None:
    with (
        control_plane.namespace("second") as second,
        operating(
            control_plane.kubeconfig, release_namespace, WATCH_NAMESPACES=f"{namespace},{second}"
        ),
    ):
        await cluster.create(MCP_SERVER, server("github", namespace))
        await said(cluster, "github", namespace, Published="True Published")
        await cluster.create(MCP_SERVER, server("github", second))
        told = await said(cluster, "github", second, Accepted="False PrefixConflict")
        assert "spec.prefix" in condition(told, "Accepted")["message"]

        await cluster.patch(MCP_SERVER, "github", {"spec": {"prefix": "other"}}, second)
        await said(cluster, "github", second, Published="True Published")


async def test_the_same_server_has_the_prefix_after_every_restart(
    control_plane: ControlPlane, cluster: ClusterApi, namespace: str, release_namespace: str
) -> None:
    # Made in one second, so that age alone does not tell them apart.
    made = [
        await cluster.create(MCP_SERVER, server(name, namespace, prefix="p"))
        for name in ("c", "a", "b")
    ]
    oldest = min(
        made, key=lambda one: (one["metadata"]["creationTimestamp"], one["metadata"]["uid"])
    )
    holder = oldest["metadata"]["name"]
    with operating(
        control_plane.kubeconfig, release_namespace, WATCH_NAMESPACES=namespace
    ) as operator:
        for _ in range(5):
            await publishes(cluster, release_namespace, holder)
            await until_registered(cluster, release_namespace, p=f"{namespace}/{holder}")
            await operator.restart()


async def test_a_holder_that_comes_back_in_time_has_its_prefix_again(
    control_plane: ControlPlane, cluster: ClusterApi, namespace: str, release_namespace: str
) -> None:
    with operating(
        control_plane.kubeconfig, release_namespace, WATCH_NAMESPACES=namespace
    ) as operator:
        await cluster.create(MCP_SERVER, server("first", namespace, prefix="p"))
        await said(cluster, "first", namespace, Published="True Published")
        await cluster.create(MCP_SERVER, server("second", namespace, prefix="p"))
        await said(cluster, "second", namespace, Accepted="False PrefixConflict")
        await operator.end()
        await cluster.delete(MCP_SERVER, "first", namespace)
        await operator.begin()
        await until_registered(cluster, release_namespace, p=f"{namespace}/first (gone)")
        await publishes(cluster, release_namespace)
        told = await said(cluster, "second", namespace, Accepted="False PrefixConflict")

        await cluster.create(MCP_SERVER, server("first", namespace, prefix="p"))
        await said(cluster, "first", namespace, Published="True Published")
        await publishes(cluster, release_namespace, "first")
        await until_registered(cluster, release_namespace, p=f"{namespace}/first")

    assert "which is gone and may come back until 20" in condition(told, "Accepted")["message"]


@pytest.mark.parametrize(
    "restarted", [False, True], ids=["while the operator runs", "while it is down"]
)
async def test_after_the_grace_time_the_next_one_has_the_prefix(
    control_plane: ControlPlane,
    cluster: ClusterApi,
    namespace: str,
    release_namespace: str,
    restarted: bool,
) -> None:
    settings = {"WATCH_NAMESPACES": namespace, "PREFIX_GRACE_SECONDS": "2"}
    with operating(control_plane.kubeconfig, release_namespace, **settings) as operator:
        await cluster.create(MCP_SERVER, server("first", namespace, prefix="p"))
        await said(cluster, "first", namespace, Accepted="True Accepted")
        waiting = []
        for name in ("second", "third"):
            waiting.append(await cluster.create(MCP_SERVER, server(name, namespace, prefix="p")))
            await said(cluster, name, namespace, Accepted="False PrefixConflict")
        heir, other = by_age(waiting)
        await cluster.delete(MCP_SERVER, "first", namespace)
        await until_registered(cluster, release_namespace, p=f"{namespace}/first (gone)")
        if restarted:
            await operator.restart()

        await said(cluster, heir, namespace, 7.0, Published="True Published")
        await publishes(cluster, release_namespace, heir)
        await until_registered(cluster, release_namespace, p=f"{namespace}/{heir}")

        async def other_is_told() -> bool:
            found = await cluster.get(MCP_SERVER, other, namespace)
            return f"{namespace}/{heir}" in condition(found, "Accepted")["message"]

        await until(other_is_told)


async def test_a_prefix_that_is_given_up_is_kept_for_a_while_too(
    control_plane: ControlPlane, cluster: ClusterApi, namespace: str, release_namespace: str
) -> None:
    settings = {"WATCH_NAMESPACES": namespace, "PREFIX_GRACE_SECONDS": "2"}
    with operating(control_plane.kubeconfig, release_namespace, **settings):
        await cluster.create(MCP_SERVER, server("first", namespace, prefix="p"))
        await said(cluster, "first", namespace, Published="True Published")
        await cluster.create(MCP_SERVER, server("second", namespace, prefix="p"))
        await said(cluster, "second", namespace, Accepted="False PrefixConflict")
        await cluster.patch(MCP_SERVER, "first", {"spec": {"prefix": "q"}}, namespace)
        await until_registered(
            cluster, release_namespace, p=f"{namespace}/first (gone)", q=f"{namespace}/first"
        )
        await publishes(cluster, release_namespace, "first", "second")


async def test_no_name_leads_anywhere_before_the_register_says_so(
    control_plane: ControlPlane, cluster: ClusterApi, namespace: str, release_namespace: str
) -> None:
    with operating(control_plane.kubeconfig, release_namespace, WATCH_NAMESPACES=namespace):
        await cluster.create(MCP_SERVER, server("github", namespace))
        await said(cluster, "github", namespace, Published="True Published")
    written = {
        one["metadata"]["name"]: int(one["metadata"]["resourceVersion"])
        for one in await cluster.list(CONFIG_MAP, release_namespace)
    }

    assert await registered(cluster, release_namespace) == {"github": f"{namespace}/github"}
    name = labels.config_map_name(namespace, "github")
    assert written[labels.REGISTER_NAME] < written[name]


async def test_a_register_that_was_deleted_is_written_again(
    control_plane: ControlPlane, cluster: ClusterApi, namespace: str, release_namespace: str
) -> None:
    settings = {"WATCH_NAMESPACES": namespace, "RESYNC_SECONDS": "1"}
    with operating(control_plane.kubeconfig, release_namespace, **settings):
        await cluster.create(MCP_SERVER, server("github", namespace))
        await said(cluster, "github", namespace, Published="True Published")
        await cluster.delete(CONFIG_MAP, labels.REGISTER_NAME, release_namespace)
        await until_registered(cluster, release_namespace, github=f"{namespace}/github")
        spoilt = {"data": {register.DATA_KEY: "{"}}
        await cluster.patch(CONFIG_MAP, labels.REGISTER_NAME, spoilt, release_namespace)

        async def is_right() -> bool:
            return await registered(cluster, release_namespace) == {"github": f"{namespace}/github"}

        await until(is_right, ignoring=(register.InvalidRegister,))


async def test_a_register_that_is_read_late_decides_nothing_anew(
    control_plane: ControlPlane,
    cluster: ClusterApi,
    namespace: str,
    release_namespace: str,
    tmp_path: Path,
) -> None:
    async with api_proxy.before(control_plane.kubeconfig) as proxy:
        path = proxy.kubeconfig(tmp_path / "kubeconfig")
        settings = {"WATCH_NAMESPACES": namespace, "RESYNC_SECONDS": "1"}
        async with operating_through(path, release_namespace, **settings) as operator:
            await cluster.create(MCP_SERVER, server("old", namespace))
            await said(cluster, "old", namespace, Published="True Published")
            reading = proxy.hold(
                lambda asked: labels.REGISTER_NAME in asked.query.get("fieldSelector", ""),
                answered=True,
            )
            async with asyncio.timeout(10):
                await reading.is_held.wait()
            mark = control_plane.audit.mark()
            await cluster.create(MCP_SERVER, server("new", namespace, prefix="p"))

            async def is_known() -> bool:
                name = "pointsman_operator_reconciles_total"
                return await operator.metric(name, outcome="deferred") >= 1

            await until(is_known)
            await cluster.patch(MCP_SERVER, "old", {"spec": {"prefix": "p"}}, namespace)
            await said(cluster, "old", namespace, Accepted="False PrefixConflict")
            reading.may_go_on.set()
            await said(cluster, "new", namespace, Published="True Published")
            await operator.resynced()
            deleted = [
                one.name
                for one in control_plane.audit.writes(mark, agent=AGENT, resource="configmaps")
                if one.verb == "delete"
            ]

    assert deleted == [labels.config_map_name(namespace, "old")]


async def test_a_register_of_somebody_else_is_left_as_it_is_and_holds_up_only_what_is_new(
    control_plane: ControlPlane, cluster: ClusterApi, namespace: str, release_namespace: str
) -> None:
    settings = {"WATCH_NAMESPACES": namespace, "RESYNC_SECONDS": "1"}
    with operating(control_plane.kubeconfig, release_namespace, **settings) as operator:
        await cluster.create(MCP_SERVER, server("before", namespace))
        await said(cluster, "before", namespace, Published="True Published")
        await operator.resynced()
        theirs = config_map(labels.REGISTER_NAME, release_namespace, {"x": "y"})
        await cluster.delete(CONFIG_MAP, labels.REGISTER_NAME, release_namespace)
        kept = await cluster.create(CONFIG_MAP, theirs)
        await operator.resynced()
        await cluster.create(MCP_SERVER, server("after", namespace))
        told = await said(cluster, "after", namespace, Published="False ApiError")
        await operator.resynced()

        assert await cluster.get(CONFIG_MAP, labels.REGISTER_NAME, release_namespace) == kept
        assert labels.REGISTER_NAME in condition(told, "Published")["message"]
        await publishes(cluster, release_namespace, "before")
        await cluster.delete(CONFIG_MAP, labels.REGISTER_NAME, release_namespace)
        await said(cluster, "after", namespace, Published="True Published")


async def test_a_register_whose_label_was_taken_away_is_ours_nevertheless(
    control_plane: ControlPlane, cluster: ClusterApi, namespace: str, release_namespace: str
) -> None:
    settings = {"WATCH_NAMESPACES": namespace, "RESYNC_SECONDS": "1"}
    with operating(control_plane.kubeconfig, release_namespace, **settings):
        await cluster.create(MCP_SERVER, server("github", namespace))
        await said(cluster, "github", namespace, Published="True Published")
        bare = {"metadata": {"labels": None}}
        await cluster.patch(CONFIG_MAP, labels.REGISTER_NAME, bare, release_namespace)

        async def is_labelled() -> bool:
            found = await cluster.get(CONFIG_MAP, labels.REGISTER_NAME, release_namespace)
            kept = found["metadata"].get("labels")
            return bool(kept == {labels.MANAGED_BY: labels.MANAGER})

        await until(is_labelled)


@pytest.mark.parametrize(
    ("data", "metadata"),
    [
        pytest.param({register.DATA_KEY: "{"}, {labels.MANAGED_BY: labels.MANAGER}, id="spoilt"),
        pytest.param({}, {labels.MANAGED_BY: labels.MANAGER}, id="emptied"),
        pytest.param({register.DATA_KEY: "{}"}, {}, id="somebody else's"),
    ],
)
async def test_by_a_register_that_cannot_be_trusted_nothing_is_decided(
    control_plane: ControlPlane,
    cluster: ClusterApi,
    namespace: str,
    release_namespace: str,
    data: dict[str, str],
    metadata: dict[str, str],
) -> None:
    body = config_map(labels.REGISTER_NAME, release_namespace, data, labels=metadata)
    kept = await cluster.create(CONFIG_MAP, body)
    await cluster.create(MCP_SERVER, server("github", namespace))
    environment = {
        "KUBECONFIG": str(control_plane.kubeconfig),
        "POINTSMAN_OPERATOR_NAMESPACE": release_namespace,
        "POINTSMAN_OPERATOR_WATCH_NAMESPACES": namespace,
        "POINTSMAN_OPERATOR_ADMIN_HOST": "127.0.0.1",
        "POINTSMAN_OPERATOR_ADMIN_PORT": "0",
    }
    with Program("operator", python("pointsman_operator"), environment=environment) as program:
        await until(lambda: "the start has to wait" in program.output)

        assert await cluster.get(CONFIG_MAP, labels.REGISTER_NAME, release_namespace) == kept
        await cluster.delete(CONFIG_MAP, labels.REGISTER_NAME, release_namespace)
        await publishes(cluster, release_namespace, "github")
