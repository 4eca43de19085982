"""What becomes of ConfigMaps that somebody else changed, or that nobody needs any more."""

import asyncio
import base64
import uuid
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bench.cluster_api import CONFIG_MAP, MCP_SERVER, Body, ClusterApi, Refused, mcp_server
from bench.controlplane import ControlPlane
from bench.operating import AGENT, OURS, operating, published, publishes, said
from bench.waiting import until
from pointsman_contract import labels

pytestmark = pytest.mark.usefixtures("crd")

# What the product promises, with room for a busy machine.
REPAIRED_S = 2.0


def server(name: str, namespace: str, **spec: Any) -> Body:
    spec = {"url": "http://good.example/mcp", "allowedTools": ["*"], **spec}
    return mcp_server(name, namespace, **spec)


def essence(body: Body | None) -> Any:
    """What of a ConfigMap is ours."""
    if body is None:
        return None
    metadata = body["metadata"]
    kept = {key: metadata.get(key, {}) for key in ("labels", "annotations")}
    return {**kept, "data": body.get("data"), "binary": body.get("binaryData")}


@dataclass(frozen=True, slots=True)
class Served:
    """Where an operator that several tests share reads and writes."""

    tenant: str
    release: str

    @staticmethod
    def new_name() -> str:
        return f"server-{uuid.uuid4().hex[:8]}"


@pytest.fixture(scope="module")
def served(control_plane: ControlPlane, crd: Path) -> Iterator[Served]:
    """An operator at work for the tests that each need no more than a server of their own."""
    with (
        control_plane.namespace("tenant") as tenant,
        control_plane.namespace("release") as release,
        operating(control_plane.kubeconfig, release, WATCH_NAMESPACES=tenant),
    ):
        yield Served(tenant, release)


Spoil = Callable[[ClusterApi, str, str], Awaitable[object]]


async def _delete(api: ClusterApi, name: str, namespace: str) -> None:
    await api.delete(CONFIG_MAP, name, namespace)


def _patches(patch: Body) -> Spoil:
    async def spoil(api: ClusterApi, name: str, namespace: str) -> None:
        await api.patch(CONFIG_MAP, name, patch, namespace)

    return spoil


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(_delete, id="F58 deleted"),
        pytest.param(_patches({"data": {"meta.json": "{}"}}), id="F59 edited"),
        pytest.param(_patches({"data": None}), id="F59 emptied"),
        pytest.param(_patches({"data": {"stranger": "x"}}), id="F59 a key added"),
        pytest.param(
            _patches({"data": {"meta.json": "{}", "stranger": "x"}}),
            id="F59 edited, a key added",
        ),
        pytest.param(
            _patches({"binaryData": {"stranger": base64.b64encode(b"x").decode()}}),
            id="F59 binary data added",
        ),
        pytest.param(
            _patches({"metadata": {"labels": {labels.META: None}}}), id="F59 the label stripped"
        ),
        pytest.param(_patches({"metadata": {"labels": None}}), id="F59 all labels stripped"),
        pytest.param(
            _patches({"metadata": {"labels": {labels.SERVER_NAME: "other"}}}),
            id="F59 label edited",
        ),
        pytest.param(
            _patches({"metadata": {"annotations": {labels.SERVER_GENERATION: "9"}}}),
            id="F59 an annotation edited",
        ),
        pytest.param(
            _patches({"immutable": True, "data": {"meta.json": "{}"}}), id="F59 made immutable"
        ),
    ],
)
async def test_what_somebody_changed_is_right_again_at_once(
    cluster: ClusterApi, served: Served, spoil: Spoil
) -> None:
    made = await cluster.create(MCP_SERVER, server(served.new_name(), served.tenant))
    one = made["metadata"]["name"]
    name = labels.config_map_name(served.tenant, one)
    await said(cluster, one, served.tenant, Published="True Published")
    right = essence(await cluster.get(CONFIG_MAP, name, served.release))
    await spoil(cluster, name, served.release)

    async def is_right() -> bool:
        return bool(essence(await cluster.find(CONFIG_MAP, name, served.release)) == right)

    await until(is_right, REPAIRED_S, "the ConfigMap is right again")
    await said(cluster, one, served.tenant, Published="True Published")


async def test_what_strangers_hang_on_it_besides_stays(
    control_plane: ControlPlane, cluster: ClusterApi, namespace: str, release_namespace: str
) -> None:
    name = labels.config_map_name(namespace, "github")
    theirs = {"metadata": {"labels": {"theirs": "x"}, "annotations": {"theirs": "y"}}}
    with operating(control_plane.kubeconfig, release_namespace, WATCH_NAMESPACES=namespace):
        await cluster.create(MCP_SERVER, server("github", namespace))
        await publishes(cluster, release_namespace, "github")
        await cluster.patch(CONFIG_MAP, name, theirs, release_namespace)
        await cluster.patch(MCP_SERVER, "github", {"spec": {"prefix": "gh"}}, namespace)

        async def is_changed() -> Body | None:
            found = await cluster.get(CONFIG_MAP, name, release_namespace)
            return found if '"prefix": "gh"' in found["data"]["meta.json"] else None

        metadata = (await until(is_changed))["metadata"]
        assert metadata["labels"]["theirs"] == "x"
        assert metadata["annotations"]["theirs"] == "y"


async def test_somebody_who_never_gives_up_is_answered_only_so_often(
    control_plane: ControlPlane, cluster: ClusterApi, namespace: str, release_namespace: str
) -> None:
    name = labels.config_map_name(namespace, "github")
    settings = {"WATCH_NAMESPACES": namespace, "REPAIR_SECONDS": "3"}
    with operating(control_plane.kubeconfig, release_namespace, **settings):
        for one in ("github", "other"):
            await cluster.create(MCP_SERVER, server(one, namespace))
            await said(cluster, one, namespace, Published="True Published")
        mark = control_plane.audit.mark()
        loop = asyncio.get_running_loop()
        end_s = loop.time() + 4.0
        edits = 0
        while loop.time() < end_s:
            edits += 1
            spoilt = {"data": {"meta.json": f"{edits}", "stranger": "x"}}
            await cluster.patch(CONFIG_MAP, name, spoilt, release_namespace)
            await asyncio.sleep(0.05)  # an editor's pace
        other = {"spec": {"prefix": "another"}}
        await cluster.patch(MCP_SERVER, "other", other, namespace)

        another = labels.config_map_name(namespace, "other")

        async def is_published() -> bool:
            found = await cluster.get(CONFIG_MAP, another, release_namespace)
            return '"prefix": "another"' in found["data"]["meta.json"]

        await until(is_published, REPAIRED_S)
        writes = control_plane.audit.writes(mark, agent=AGENT, resource="configmaps")

    assert edits > 20
    assert len([one for one in writes if one.name == name]) == 2


async def test_changes_that_never_stop_are_published_once_a_second_and_the_last_one_wins(
    control_plane: ControlPlane, cluster: ClusterApi, namespace: str, release_namespace: str
) -> None:
    with operating(control_plane.kubeconfig, release_namespace, WATCH_NAMESPACES=namespace):
        await cluster.create(MCP_SERVER, server("github", namespace))
        await said(cluster, "github", namespace, Published="True Published")
        mark = control_plane.audit.mark()
        for number in range(30):
            change = {"spec": {"timeoutSeconds": 100 + number}}
            await cluster.patch(MCP_SERVER, "github", change, namespace)
            await asyncio.sleep(0.1)  # an editor's pace

        async def last_one_won() -> bool:
            document = (await published(cluster, release_namespace))["github"]
            return bool(document["timeoutSeconds"] == 129)

        await until(last_one_won)
        name = labels.config_map_name(namespace, "github")
        writes = control_plane.audit.writes(mark, agent=AGENT, resource="configmaps")

    assert len([one for one in writes if one.name == name]) <= 5


async def test_a_restart_writes_nothing(
    control_plane: ControlPlane, cluster: ClusterApi, namespace: str, release_namespace: str
) -> None:
    names = [f"server-{number}" for number in range(20)]
    with operating(
        control_plane.kubeconfig, release_namespace, WATCH_NAMESPACES=namespace
    ) as operator:
        for name in names:
            await cluster.create(MCP_SERVER, server(name, namespace))
        clash = server("clash", namespace, prefix="server_1")
        await cluster.create(MCP_SERVER, clash)
        await said(cluster, "clash", namespace, Accepted="False PrefixConflict")
        for name in names:
            await said(cluster, name, namespace, Published="True Published")
        await operator.end()
        mark = control_plane.audit.mark()
        await operator.begin()
        await operator.looked_at(len(names) + 1)

        assert control_plane.audit.writes(mark, agent=AGENT) == ()
        assert await operator.metric("pointsman_operator_api_writes_total") == 0


async def test_what_was_deleted_while_nobody_looked_is_swept(
    control_plane: ControlPlane, cluster: ClusterApi, namespace: str, release_namespace: str
) -> None:
    with operating(
        control_plane.kubeconfig, release_namespace, WATCH_NAMESPACES=namespace
    ) as operator:
        for name in ("a", "b", "c"):
            await cluster.create(MCP_SERVER, server(name, namespace))
        before = await publishes(cluster, release_namespace, "a", "b", "c")
        await operator.end()
        await cluster.delete(MCP_SERVER, "a", namespace)
        await cluster.delete(MCP_SERVER, "b", namespace)
        again = await cluster.create(MCP_SERVER, server("b", namespace))
        with pytest.raises(Refused):
            await cluster.get(MCP_SERVER, "a", namespace)
        await operator.begin()

        async def are_right() -> bool:
            found = await published(cluster, release_namespace)
            return found.keys() == {"b", "c"} and found["b"]["uid"] == again["metadata"]["uid"]

        await until(are_right)
        assert (await published(cluster, release_namespace))["c"] == before["c"]


async def test_an_orphan_is_taken_away_and_a_stranger_is_not(
    control_plane: ControlPlane, cluster: ClusterApi, namespace: str, release_namespace: str
) -> None:
    def labelled(name: str, uid: str | None) -> Body:
        annotations = {} if uid is None else {labels.SERVER_UID: uid}
        metadata = {
            "name": name,
            "namespace": release_namespace,
            "labels": {labels.META: labels.META_VERSION},
            "annotations": annotations,
        }
        return {"metadata": metadata, "data": {"meta.json": "{}"}}

    with operating(control_plane.kubeconfig, release_namespace, WATCH_NAMESPACES=namespace):
        made = await cluster.create(MCP_SERVER, server("github", namespace))
        await said(cluster, "github", namespace, Published="True Published")
        await cluster.create(CONFIG_MAP, labelled("nobodys", None))
        await cluster.create(CONFIG_MAP, labelled("copy", made["metadata"]["uid"]))
        await cluster.create(CONFIG_MAP, labelled("orphan", "no-such-uid"))

        async def orphan_is_gone() -> bool:
            return await cluster.find(CONFIG_MAP, "orphan", release_namespace) is None

        await until(orphan_is_gone)
        found = {
            one["metadata"]["name"]
            for one in await cluster.list(CONFIG_MAP, release_namespace, OURS)
        }
        assert found == {"nobodys", "copy", labels.config_map_name(namespace, "github")}


async def test_two_operators_do_not_fight(
    control_plane: ControlPlane, cluster: ClusterApi, namespace: str, release_namespace: str
) -> None:
    settings = {"WATCH_NAMESPACES": namespace, "RESYNC_SECONDS": "1"}
    names = [f"server-{number}" for number in range(10)]
    with (
        operating(control_plane.kubeconfig, release_namespace, **settings) as one,
        operating(control_plane.kubeconfig, release_namespace, **settings) as two,
    ):
        for name in names:
            await cluster.create(MCP_SERVER, server(name, namespace))
            await said(cluster, name, namespace, Published="True Published")
        await publishes(cluster, release_namespace, *names)
        await one.resynced()
        await two.resynced()
        mark = control_plane.audit.mark()
        await one.resynced()
        await two.resynced()
        assert control_plane.audit.writes(mark, agent=AGENT) == ()

        before = await _versions(cluster, release_namespace)
        await cluster.patch(MCP_SERVER, "server-0", {"spec": {"prefix": "gh"}}, namespace)
        await said(cluster, "server-0", namespace, Published="True Published")
        await one.resynced()
        await two.resynced()
        after = await _versions(cluster, release_namespace)
        changed = {name for name in after if after[name] != before[name]}
        assert changed == {labels.config_map_name(namespace, "server-0")}

        await asyncio.to_thread(one.program.kill)
        await cluster.delete(MCP_SERVER, "server-1", namespace)
        await publishes(cluster, release_namespace, *(set(names) - {"server-1"}))


async def _versions(cluster: ClusterApi, release: str) -> dict[str, str]:
    maps = await cluster.list(CONFIG_MAP, release, OURS)
    return {one["metadata"]["name"]: one["metadata"]["resourceVersion"] for one in maps}


async def test_a_tenants_namespace_goes_without_being_held_up(
    control_plane: ControlPlane, cluster: ClusterApi, namespace: str, release_namespace: str
) -> None:
    with (
        control_plane.namespace("leaving") as leaving,
        operating(
            control_plane.kubeconfig,
            release_namespace,
            WATCH_NAMESPACES=f"{namespace},{leaving}",
        ),
    ):
        await cluster.create(MCP_SERVER, server("stays", namespace))
        await cluster.create(MCP_SERVER, server("leaves", leaving))
        await publishes(cluster, release_namespace, "stays", "leaves")
        await asyncio.to_thread(control_plane.request, "DELETE", f"/api/v1/namespaces/{leaving}")
        await publishes(cluster, release_namespace, "stays", deadline_s=30)

        async def namespace_is_gone() -> bool:
            path = f"/api/v1/namespaces/{leaving}"
            found = await asyncio.to_thread(_find, control_plane, path)
            return not found

        await until(namespace_is_gone, deadline_s=60)


def _find(control_plane: ControlPlane, path: str) -> bool:
    listed = control_plane.request("GET", "/api/v1/namespaces")["items"]
    return any(path.endswith(f"/{one['metadata']['name']}") for one in listed)


async def test_a_release_namespace_that_goes_leaves_no_hot_loop(
    control_plane: ControlPlane, cluster: ClusterApi, namespace: str, release_namespace: str
) -> None:
    with operating(
        control_plane.kubeconfig, release_namespace, WATCH_NAMESPACES=namespace
    ) as operator:
        await cluster.create(MCP_SERVER, server("github", namespace))
        await publishes(cluster, release_namespace, "github")
        path = f"/api/v1/namespaces/{release_namespace}"
        await asyncio.to_thread(control_plane.request, "DELETE", path)
        await said(cluster, "github", namespace, 60, Published="False Forbidden")
        mark = control_plane.audit.mark()
        await asyncio.sleep(3)  # a rate needs a time
        writes = control_plane.audit.writes(mark, agent=AGENT)

        assert len(writes) <= 5
        assert operator.program.is_running
