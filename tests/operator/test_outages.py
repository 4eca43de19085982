"""What the operator makes of an API server that is away, forgetful, busy, silent or stubborn."""

import asyncio
import json
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from bench import api_proxy, operator_rights
from bench.api_proxy import ApiProxy, Asked
from bench.cluster_api import (
    CONFIG_MAP,
    MCP_SERVER,
    MCP_VIEW,
    SECRET,
    Body,
    ClusterApi,
    connected,
    mcp_server,
    mcp_view,
)
from bench.controlplane import ControlPlane
from bench.operating import (
    AGENT,
    operating,
    operating_through,
    published,
    publishes,
    said,
    view_said,
)
from bench.waiting import until
from pointsman_contract import labels

pytestmark = pytest.mark.usefixtures("crd")


def server(name: str, namespace: str, **spec: Any) -> Body:
    spec = {"url": "http://good.example/mcp", "allowedTools": ["*"], **spec}
    return mcp_server(name, namespace, **spec)


def writes(path: str, method: str = "") -> Callable[[Asked], bool]:
    """Requests that change what lies under a path."""

    def matches(asked: Asked) -> bool:
        changes = asked.method == method if method else asked.method != "GET"
        return changes and path in asked.path

    return matches


def watches(plural: str) -> Callable[[Asked], bool]:
    return lambda asked: asked.is_watch and asked.path.endswith(f"/{plural}")


async def test_an_api_server_that_was_away_is_worked_with_again(
    own_control_plane: ControlPlane,
) -> None:
    with own_control_plane.namespace("release") as release:
        async with connected(own_control_plane.kubeconfig) as api:
            with operating(own_control_plane.kubeconfig, release, RESYNC_SECONDS="1") as operator:
                await api.create(MCP_SERVER, server("before", "default"))
                await publishes(api, release, "before")
                await asyncio.to_thread(own_control_plane.stop)
                # A watch that is away for an instant proves nothing.
                await until(lambda: operator.program.output.count("a list has to wait") >= 2)
                assert operator.program.is_running
                await asyncio.to_thread(own_control_plane.start)
                await api.create(MCP_SERVER, server("after", "default"))
                await publishes(api, release, "before", "after", deadline_s=30)

                assert operator.program.is_running


async def test_what_changed_while_a_watch_was_cut_off_is_not_missed(
    own_control_plane: ControlPlane, tmp_path: Path
) -> None:
    names = [f"server-{number}" for number in range(100)]
    with own_control_plane.namespace("release") as release:
        async with (
            connected(own_control_plane.kubeconfig) as api,
            api_proxy.before(own_control_plane.kubeconfig) as proxy,
        ):
            for name in names:
                await api.create(MCP_SERVER, server(name, "default"))
            path = proxy.kubeconfig(tmp_path / "kubeconfig")
            async with operating_through(path, release):
                await publishes(api, release, *names, deadline_s=30)
                await proxy.stop()
                for name in names[:50]:
                    await api.delete(MCP_SERVER, name, "default")
                for name in names[50:]:
                    change = {"spec": {"timeoutSeconds": 7}}
                    await api.patch(MCP_SERVER, name, change, "default")
                await api.create(MCP_SERVER, server("new", "default"))
                # What the watch would go on from is forgotten, by etcd and by the API server.
                await asyncio.to_thread(_compact, own_control_plane)
                await asyncio.to_thread(own_control_plane.stop)
                await asyncio.to_thread(own_control_plane.start)
                await proxy.start()
                await publishes(api, release, *names[50:], "new", deadline_s=60)

                async def all_are_changed() -> bool:
                    found = await published(api, release)
                    return all(found[name]["timeoutSeconds"] == 7 for name in names[50:])

                await until(all_are_changed, 30)


def _compact(control_plane: ControlPlane) -> None:
    arguments = Path(f"/proc/{control_plane.pid('etcd')}/cmdline").read_bytes().split(b"\0")
    etcd = arguments[arguments.index(b"--listen-client-urls") + 1].decode()

    def ask(path: str, body: dict[str, Any]) -> dict[str, Any]:
        request = urllib.request.Request(etcd + path, json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=10) as answer:
            found: dict[str, Any] = json.load(answer)
            return found

    revision = ask("/v3/kv/range", {"key": "AA=="})["header"]["revision"]
    ask("/v3/kv/compaction", {"revision": revision, "physical": True})


async def test_an_error_in_a_watch_is_survived_or_ended_on(
    control_plane: ControlPlane,
    cluster: ClusterApi,
    namespace: str,
    release_namespace: str,
    tmp_path: Path,
) -> None:
    error = {"type": "ERROR", "object": {"kind": "Status", "code": 500, "message": "as it wants"}}
    async with api_proxy.before(control_plane.kubeconfig) as proxy:
        proxy.place(api_proxy.says(json.dumps(error)), watches("mcpservers"))
        path = proxy.kubeconfig(tmp_path / "kubeconfig")
        await cluster.create(MCP_SERVER, server("github", namespace))
        async with operating_through(
            path, release_namespace, WATCH_NAMESPACES=namespace
        ) as operator:
            assert await operator.program.ends(30) == 1
            mark = control_plane.audit.mark()
            await operator.begin()
            await publishes(cluster, release_namespace, "github", deadline_s=20)
            written = control_plane.audit.writes(mark, agent=AGENT, resource="configmaps")

    assert len(written) <= 2


async def test_an_api_server_that_asks_for_time_is_given_it_for_that_object_alone(
    control_plane: ControlPlane,
    cluster: ClusterApi,
    namespace: str,
    release_namespace: str,
    tmp_path: Path,
) -> None:
    async with api_proxy.before(control_plane.kubeconfig) as proxy:
        path = proxy.kubeconfig(tmp_path / "kubeconfig")
        async with operating_through(path, release_namespace, WATCH_NAMESPACES=namespace):
            await cluster.create(MCP_SERVER, server("first", namespace))
            await said(cluster, "first", namespace, Published="True Published")
            throttled = labels.config_map_name(namespace, "first")
            busy = api_proxy.refuses(429, Retry_After="3")
            proxy.place(busy, writes(f"/configmaps/{throttled}"))
            begin = len(proxy.asked)
            await cluster.patch(MCP_SERVER, "first", {"spec": {"timeoutSeconds": 7}}, namespace)
            await until(lambda: _attempts(proxy, throttled, begin))
            await cluster.patch(MCP_SERVER, "first", {"spec": {"timeoutSeconds": 8}}, namespace)
            await cluster.create(MCP_SERVER, server("other", namespace))
            await said(cluster, "other", namespace, 2.0, Published="True Published")
            await until(lambda: len(_attempts(proxy, throttled, begin)) >= 2)

    first, second = _attempts(proxy, throttled, begin)
    assert second.at_s - first.at_s >= 3
    assert (await published(cluster, release_namespace))["first"]["timeoutSeconds"] == 8


def _attempts(proxy: ApiProxy, name: str, begin: int) -> list[Asked]:
    return [one for one in proxy.asked[begin:] if writes(f"/configmaps/{name}")(one)]


async def test_a_silent_watch_is_opened_anew(
    control_plane: ControlPlane,
    cluster: ClusterApi,
    namespace: str,
    release_namespace: str,
    tmp_path: Path,
) -> None:
    async with api_proxy.before(control_plane.kubeconfig) as proxy:
        for plural in ("mcpservers", "mcpviews", "configmaps"):
            proxy.place(api_proxy.falls_silent(), watches(plural))
        path = proxy.kubeconfig(tmp_path / "kubeconfig")
        settings = {"WATCH_NAMESPACES": namespace, "SILENCE_SECONDS": "1"}
        async with operating_through(path, release_namespace, **settings):
            await until(lambda: [one for one in proxy.asked if one.is_watch])
            await cluster.create(MCP_SERVER, server("github", namespace))
            await publishes(cluster, release_namespace, "github")
            view = mcp_view("desk", namespace, servers={"names": ["github"]})
            await cluster.create(MCP_VIEW, view)
            await view_said(cluster, "desk", namespace, Published="True Published")


async def test_a_conflict_is_looked_into_and_written_again(
    control_plane: ControlPlane,
    cluster: ClusterApi,
    namespace: str,
    release_namespace: str,
    tmp_path: Path,
) -> None:
    async with api_proxy.before(control_plane.kubeconfig) as proxy:
        path = proxy.kubeconfig(tmp_path / "kubeconfig")
        async with operating_through(path, release_namespace, WATCH_NAMESPACES=namespace):
            await cluster.create(MCP_SERVER, server("github", namespace))
            await said(cluster, "github", namespace, Published="True Published")
            name = labels.config_map_name(namespace, "github")
            proxy.place(api_proxy.refuses(409), writes(f"/configmaps/{name}"), times=2)
            begin = len(proxy.asked)
            await cluster.patch(MCP_SERVER, "github", {"spec": {"timeoutSeconds": 7}}, namespace)

            async def is_published() -> bool:
                found = await published(cluster, release_namespace)
                return bool(found["github"]["timeoutSeconds"] == 7)

            await until(is_published, 2.0)

    assert len(_attempts(proxy, name, begin)) == 3


@pytest.mark.parametrize("status", [422, 403, 500])
async def test_a_status_that_is_refused_costs_neither_the_config_map_nor_another_server(
    control_plane: ControlPlane,
    cluster: ClusterApi,
    namespace: str,
    release_namespace: str,
    tmp_path: Path,
    status: int,
) -> None:
    async with api_proxy.before(control_plane.kubeconfig) as proxy:
        proxy.place(api_proxy.refuses(status), writes("/first/status"), times=2)
        path = proxy.kubeconfig(tmp_path / "kubeconfig")
        async with operating_through(
            path, release_namespace, WATCH_NAMESPACES=namespace
        ) as operator:
            await cluster.create(MCP_SERVER, server("first", namespace))
            await cluster.create(MCP_SERVER, server("other", namespace))
            await publishes(cluster, release_namespace, "first", "other", deadline_s=2)
            await said(cluster, "other", namespace, 2.0, Published="True Published")
            await said(cluster, "first", namespace, 15.0, Published="True Published")

            assert await operator.metric(
                "pointsman_operator_reconciles_total", outcome="failed"
            ) in (1, 2)


async def test_a_role_that_does_not_let_it_write_is_told_and_tried_again(
    control_plane: ControlPlane, cluster: ClusterApi, namespace: str, release_namespace: str
) -> None:
    rights = operator_rights.grant(control_plane, release_namespace, namespace)
    settings = {"WATCH_NAMESPACES": namespace}
    with operating(rights, release_namespace, **settings):
        await cluster.create(MCP_SERVER, server("github", namespace))
        await said(cluster, "github", namespace, Published="True Published")
        operator_rights.withdraw(control_plane, release_namespace, "config-maps")
        reading = [{**operator_rights.CONFIG_MAPS[0], "verbs": ["list", "watch"]}]
        operator_rights.allow(
            control_plane, release_namespace, "reading", reading, account_in=release_namespace
        )
        await cluster.patch(MCP_SERVER, "github", {"spec": {"timeoutSeconds": 7}}, namespace)
        await said(cluster, "github", namespace, Published="False Forbidden")
        operator_rights.allow(
            control_plane,
            release_namespace,
            "config-maps",
            operator_rights.CONFIG_MAPS,
            account_in=release_namespace,
        )
        await said(cluster, "github", namespace, 30.0, Published="True Published")

    assert (await published(cluster, release_namespace))["github"]["timeoutSeconds"] == 7


async def test_a_register_that_cannot_be_written_is_told_and_tried_at_leisure(
    control_plane: ControlPlane,
    cluster: ClusterApi,
    namespace: str,
    release_namespace: str,
    tmp_path: Path,
) -> None:
    async with api_proxy.before(control_plane.kubeconfig) as proxy:
        path = proxy.kubeconfig(tmp_path / "kubeconfig")
        settings = {"WATCH_NAMESPACES": namespace}
        async with operating_through(path, release_namespace, **settings):
            await cluster.create(MCP_SERVER, server("before", namespace))
            await said(cluster, "before", namespace, Published="True Published")
            proxy.place(api_proxy.refuses(403), writes(labels.REGISTER_NAME), times=3)
            begin = len(proxy.asked)
            await cluster.create(MCP_SERVER, server("after", namespace))
            await said(cluster, "after", namespace, Published="False Forbidden")
            assert (await published(cluster, release_namespace)).keys() == {"before"}

            await said(cluster, "after", namespace, 20.0, Published="True Published")
            attempts = [one for one in proxy.asked[begin:] if writes(labels.REGISTER_NAME)(one)]

    assert len(attempts) == 4
    assert attempts[-1].at_s - attempts[0].at_s > 0.7


async def test_what_is_published_already_is_said_to_be_whatever_becomes_of_the_register(
    control_plane: ControlPlane,
    cluster: ClusterApi,
    namespace: str,
    release_namespace: str,
    tmp_path: Path,
) -> None:
    async with api_proxy.before(control_plane.kubeconfig) as proxy:
        path = proxy.kubeconfig(tmp_path / "kubeconfig")
        settings = {"WATCH_NAMESPACES": namespace, "RESYNC_SECONDS": "1"}
        async with operating_through(path, release_namespace, **settings):
            await cluster.create(MCP_SERVER, server("github", namespace))
            before = await said(cluster, "github", namespace, Published="True Published")
            refused = writes(release_namespace, "POST")
            proxy.place(api_proxy.refuses(403), refused, times=3)
            begin = len(proxy.asked)
            await cluster.delete(CONFIG_MAP, labels.REGISTER_NAME, release_namespace)
            await until(lambda: len([one for one in proxy.asked[begin:] if refused(one)]) >= 4)
            after = await cluster.get(MCP_SERVER, "github", namespace)

    assert after["status"] == before["status"]
    assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]


async def test_what_goes_between_our_first_list_and_the_watch_is_not_missed(
    control_plane: ControlPlane,
    cluster: ClusterApi,
    namespace: str,
    release_namespace: str,
    tmp_path: Path,
) -> None:
    await cluster.create(MCP_SERVER, server("github", namespace))
    async with api_proxy.before(control_plane.kubeconfig) as proxy:
        path = proxy.kubeconfig(tmp_path / "kubeconfig")
        watching = proxy.hold(_second_list_of("mcpservers", proxy))
        async with operating_through(path, release_namespace, WATCH_NAMESPACES=namespace):
            await publishes(cluster, release_namespace, "github")
            async with asyncio.timeout(10):
                await watching.is_held.wait()
            await cluster.delete(MCP_SERVER, "github", namespace)
            watching.may_go_on.set()

            await publishes(cluster, release_namespace)


def _second_list_of(plural: str, proxy: ApiProxy) -> Callable[[Asked], bool]:
    """The framework's own: the first one is ours."""

    def matches(asked: Asked) -> bool:
        known = [one for one in proxy.asked if one.path.endswith(f"/{plural}")]
        return asked is known[-1] and len(known) == 2

    return matches


async def test_a_token_that_is_replaced_and_revoked_costs_nothing(
    control_plane: ControlPlane,
    cluster: ClusterApi,
    namespace: str,
    release_namespace: str,
    tmp_path: Path,
) -> None:
    operator_rights.grant(control_plane, release_namespace, namespace)
    tokens = tmp_path / "token"
    tokens.write_text(await _bound_token(cluster, control_plane, release_namespace, "one"))
    async with api_proxy.before(control_plane.kubeconfig) as proxy:
        path = _with_token_file(proxy.kubeconfig(tmp_path / "kubeconfig"), tokens)
        async with operating_through(
            path, release_namespace, WATCH_NAMESPACES=namespace
        ) as operator:
            await cluster.create(MCP_SERVER, server("before", namespace))
            await said(cluster, "before", namespace, Published="True Published")
            tokens.write_text(await _bound_token(cluster, control_plane, release_namespace, "two"))
            await cluster.delete(SECRET, "one", release_namespace)
            await proxy.stop()
            await proxy.start()
            await cluster.create(MCP_SERVER, server("after", namespace))
            await said(cluster, "after", namespace, 30.0, Published="True Published")
            await cluster.delete(MCP_SERVER, "before", namespace)
            await publishes(cluster, release_namespace, "after", deadline_s=30)

            assert operator.program.is_running


async def _bound_token(
    cluster: ClusterApi, control_plane: ControlPlane, namespace: str, secret: str
) -> str:
    body = {"metadata": {"name": secret, "namespace": namespace}}
    made = await cluster.create(SECRET, body)
    bound = {"apiVersion": "v1", "kind": "Secret", "name": secret, "uid": made["metadata"]["uid"]}
    accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    asked = {"spec": {"expirationSeconds": 3600, "boundObjectRef": bound}}
    path = f"{accounts}/{operator_rights.ACCOUNT}/token"
    answer = await asyncio.to_thread(control_plane.request, "POST", path, asked)
    token: str = answer["status"]["token"]
    return token


def _with_token_file(path: Path, tokens: Path) -> Path:
    document = yaml.safe_load(path.read_text())
    document["users"][0]["user"] = {"tokenFile": str(tokens)}
    path.write_text(yaml.safe_dump(document))
    return path
