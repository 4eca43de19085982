"""An operator that is newer than the kinds and rights it finds, and views that come and go."""

from collections.abc import Iterator
from contextlib import suppress

import pytest

from bench import controlplane, operator_rights
from bench.cluster_api import CRD, MCP_SERVER, MCP_VIEW, ClusterApi, connected, mcp_server, mcp_view
from bench.controlplane import CommandFailed, ControlPlane
from bench.operating import Operating, operating, publishes, said, view_said, views_published
from bench.waiting import until, wait_until

KIND = "mcpviews.pointsman.dev"
_SERVERS = [
    {"apiGroups": ["pointsman.dev"], "resources": ["mcpservers"], "verbs": ["list", "watch"]},
    {"apiGroups": ["pointsman.dev"], "resources": ["mcpservers/status"], "verbs": ["patch"]},
]
_VIEWS = [
    {"apiGroups": ["pointsman.dev"], "resources": ["mcpviews"], "verbs": ["list", "watch"]},
    {"apiGroups": ["pointsman.dev"], "resources": ["mcpviews/status"], "verbs": ["patch"]},
]


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A control plane on which the kind of views may come and go; servers' is there."""
    with controlplane.running(tmp_path_factory.mktemp("views")) as running:
        controlplane.install(running, controlplane.MCP_SERVER)
        yield running


@pytest.fixture
def without_views(plane: ControlPlane) -> ControlPlane:
    """The same without the kind of views."""
    with suppress(CommandFailed):  # not there
        plane.request("DELETE", CRD.path(name=KIND))

    wait_until(lambda: _is_unknown(plane), 30, "no view is served")
    return plane


def _is_unknown(plane: ControlPlane) -> bool:
    try:
        plane.request("GET", MCP_VIEW.path())
    except CommandFailed as failed:
        return ": 404 " in str(failed)
    return False


async def _serve_both(api: ClusterApi, namespace: str) -> None:
    body = mcp_server("github", namespace, url="http://good.example/mcp", allowedTools=["*"])
    await api.create(MCP_SERVER, body)
    await _make_view(api, namespace)


async def _make_view(api: ClusterApi, namespace: str) -> None:
    view = mcp_view("desk", namespace, servers={"selector": {}}, tools=["*"])
    await api.create(MCP_VIEW, view)


def _warnings(operator: Operating) -> list[str]:
    return [str(line["message"]) for line in operator.log if "McpView" in str(line["message"])]


async def test_without_the_kind_servers_are_served_and_views_as_soon_as_it_is_there(
    without_views: ControlPlane,
) -> None:
    plane = without_views
    with plane.namespace("tenant") as tenant, plane.namespace("release") as release:
        async with connected(plane.kubeconfig) as api:
            with operating(
                plane.kubeconfig, release, WATCH_NAMESPACES=tenant, RESYNC_SECONDS="1"
            ) as operator:
                body = mcp_server("github", tenant, url="http://good.example/mcp")
                await api.create(MCP_SERVER, body)
                await said(api, "github", tenant, Published="True Published")
                await operator.resynced()
                (warning,) = _warnings(operator)

                controlplane.install(plane, controlplane.MCP_VIEW)
                await _make_view(api, tenant)
                await view_said(api, "desk", tenant, Published="True Published")
                change = {"spec": {"servers": {"selector": None, "names": ["other"]}}}
                await api.patch(MCP_VIEW, "desk", change, tenant)

                async def has_followed() -> bool:
                    found = await views_published(api, release)
                    return bool(found["desk"]["servers"] == ["other"])

                await until(has_followed, what="a change of the view is published")

    assert "crds/mcpview.yaml" in warning


async def test_without_a_right_to_views_servers_are_served_and_published_views_stay(
    without_views: ControlPlane,
) -> None:
    plane = without_views
    controlplane.install(plane, controlplane.MCP_VIEW)
    with plane.namespace("tenant") as tenant, plane.namespace("release") as release:
        account = plane.kubeconfig_of(release, operator_rights.ACCOUNT)
        rules = {"config-maps": operator_rights.CONFIG_MAPS, "servers": _SERVERS, "views": _VIEWS}
        for name, granted in rules.items():
            where = release if name == "config-maps" else tenant
            operator_rights.allow(plane, where, name, granted, account_in=release)
        settings = {"WATCH_NAMESPACES": tenant, "RESYNC_SECONDS": "1"}
        async with connected(plane.kubeconfig) as api:
            with operating(account, release, **settings) as operator:
                await _serve_both(api, tenant)
                await view_said(api, "desk", tenant, Published="True Published")
                kept = await views_published(api, release)
                await operator.end()
                operator_rights.withdraw(plane, tenant, "views")
                await api.delete(MCP_VIEW, "desk", tenant)
                await operator.begin()
                await api.patch(MCP_SERVER, "github", {"spec": {"suspend": True}}, tenant)
                await said(api, "github", tenant, Ready="False Suspended")
                await operator.resynced()

                assert await views_published(api, release) == kept
                (warning,) = _warnings(operator)
                assert "mcpviews/status" in warning

                operator_rights.allow(plane, tenant, "views", _VIEWS, account_in=release)

                async def is_gone() -> bool:
                    return await views_published(api, release) == {}

                await until(is_gone, what="what lost its view is taken away")
                await publishes(api, release, "github")


async def test_views_that_outlive_their_kind_stay_and_are_named(
    without_views: ControlPlane,
) -> None:
    plane = without_views
    controlplane.install(plane, controlplane.MCP_VIEW)
    with plane.namespace("tenant") as tenant, plane.namespace("release") as release:
        settings = {"WATCH_NAMESPACES": tenant, "RESYNC_SECONDS": "1"}
        async with connected(plane.kubeconfig) as api:
            with operating(plane.kubeconfig, release, **settings) as operator:
                await _serve_both(api, tenant)
                await view_said(api, "desk", tenant, Published="True Published")
                await operator.end()
                await api.delete(CRD, KIND)
                await until(lambda: _is_unknown(plane), deadline_s=30, what="the kind is gone")
                await operator.begin()
                for _ in range(4):
                    await operator.resynced()
                told = [line for line in operator.log if "still published" in str(line)]
                left = await views_published(api, release)

    assert [line["views"] for line in told] == [f"{tenant}/desk"]
    assert told[0]["number"] == 1
    assert list(left) == ["desk"]


async def test_a_kind_that_vanishes_takes_its_views_and_ends_the_operator_that_is_started_again(
    without_views: ControlPlane,
) -> None:
    plane = without_views
    controlplane.install(plane, controlplane.MCP_VIEW)
    with plane.namespace("tenant") as tenant, plane.namespace("release") as release:
        async with connected(plane.kubeconfig) as api:
            with operating(plane.kubeconfig, release, WATCH_NAMESPACES=tenant) as operator:
                await _serve_both(api, tenant)
                await view_said(api, "desk", tenant, Published="True Published")
                await api.delete(CRD, KIND)
                status = await operator.program.ends(60)
                left = await views_published(api, release)
                await operator.begin()
                await api.patch(MCP_SERVER, "github", {"spec": {"suspend": True}}, tenant)
                await said(api, "github", tenant, Ready="False Suspended")

    assert status == 1
    assert left == {}
