"""From `kubectl apply` to a tool's result: operator, mirror and router on a real API server."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from bench import agents, stack
from bench.cluster_api import (
    CONFIG_MAP,
    MCP_SERVER,
    MCP_VIEW,
    ClusterApi,
    mcp_server,
    mcp_view,
)
from bench.controlplane import ControlPlane
from bench.operating import view_said
from bench.peers import Peer
from bench.stack import Stack
from bench.waiting import until

SOON_S = 10.0


@pytest.fixture
def product(
    control_plane: ControlPlane, crd: Path, release_namespace: str, tmp_path: Path
) -> Iterator[Stack]:
    with stack.running(
        control_plane.kubeconfig, release_namespace, tmp_path / "servers"
    ) as running:
        yield running


async def _until_listed(url: str, *names: str) -> None:
    async def listed() -> bool:
        return set(names) <= set(await agents.tools(url))

    await until(listed, SOON_S, f"{names} are listed")


async def _until_ready(
    cluster: ClusterApi, namespace: str, name: str, status: str, reason: str
) -> dict[str, Any]:
    async def said() -> dict[str, Any] | None:
        found = await cluster.get(MCP_SERVER, name, namespace)
        conditions = {
            condition["type"]: condition
            for condition in found.get("status", {}).get("conditions", [])
        }
        ready = conditions.get("Ready", {})
        current = ready.get("observedGeneration") == found["metadata"]["generation"]
        right = (ready.get("status"), ready.get("reason")) == (status, reason)
        return found if current and right else None

    return await until(said, SOON_S, f"{name} says Ready={status}, {reason}")


@pytest.mark.parametrize("mode", agents.MODES)
async def test_an_applied_server_is_callable_and_kubectl_says_so(
    product: Stack,
    control_plane: ControlPlane,
    cluster: ClusterApi,
    namespace: str,
    sdk_server: Peer,
    mode: str,
) -> None:
    body = mcp_server("maths", namespace, url=sdk_server.url, allowedTools=["add", "fail"])
    control_plane.kubectl("apply", "-f", "-", stdin=yaml.safe_dump(body))
    await _until_listed(product.url, "maths.add")
    await _until_ready(cluster, namespace, "maths", "True", "Ready")

    listed = await agents.tools(product.url, mode)
    result = await agents.call(product.url, "maths.add", {"a": 2, "b": 3}, mode)
    shown = control_plane.kubectl("get", "mcpservers", "-n", namespace).splitlines()

    assert sorted(listed) == ["maths.add", "maths.fail"]
    assert result.content[0].text == "5"
    assert shown[0].split() == ["NAME", "READY", "TOOLS", "PREFIX", "REASON", "AGE"]
    assert shown[1].split()[:5] == ["maths", "True", "2", "maths", "Ready"]


async def test_an_applied_view_offers_its_part_and_follows_labels_and_edits(
    product: Stack, cluster: ClusterApi, namespace: str, sdk_server: Peer
) -> None:
    body = mcp_server("viewed", namespace, url=sdk_server.url, allowedTools=["add", "fail"])
    body["metadata"]["labels"] = {"team": "support"}
    await cluster.create(MCP_SERVER, body)
    wish = {"servers": {"selector": {"matchLabels": {"team": "support"}}}, "tools": ["viewed.a*"]}
    await cluster.create(MCP_VIEW, mcp_view("desk", namespace, **wish))
    told = await view_said(cluster, "desk", namespace, Ready="True Ready")
    url = f"{product.url}/views/{namespace}/desk"

    listed = await agents.tools(url)
    result = await agents.call(url, "viewed.add", {"a": 2, "b": 3})
    assert list(listed) == ["viewed.add"]
    assert result.content[0].text == "5"
    assert (told["status"]["toolCount"], told["status"]["serverCount"]) == (1, 1)

    await cluster.patch(MCP_VIEW, "desk", {"spec": {"names": "Bare"}}, namespace)
    await _until_listed(url, "add")
    await cluster.patch(MCP_SERVER, "viewed", {"metadata": {"labels": {"team": None}}}, namespace)
    await view_said(cluster, "desk", namespace, Ready="False NoServers")

    async def nothing_is_listed() -> bool:
        return not await agents.tools(url)

    await until(nothing_is_listed, SOON_S)
    await _until_listed(product.url, "viewed.add", "viewed.fail")


async def test_edits_and_deletion_reach_agents(
    product: Stack, cluster: ClusterApi, namespace: str, sdk_server: Peer
) -> None:
    await cluster.apply(
        MCP_SERVER, mcp_server("edited", namespace, url=sdk_server.url, allowedTools=["add"])
    )
    await _until_listed(product.url, "edited.add")

    await cluster.apply(
        MCP_SERVER,
        mcp_server("edited", namespace, url=sdk_server.url, allowedTools=["echo"], prefix="fresh"),
    )
    await _until_listed(product.url, "fresh.echo")
    assert "edited.add" not in await agents.tools(product.url)

    await cluster.delete(MCP_SERVER, "edited", namespace)

    async def gone() -> bool:
        return "fresh.echo" not in await agents.tools(product.url)

    await until(gone, SOON_S)


async def test_a_suspended_servers_calls_say_so(
    product: Stack, cluster: ClusterApi, namespace: str, sdk_server: Peer
) -> None:
    fields = {"url": sdk_server.url, "allowedTools": ["add"]}
    await cluster.apply(MCP_SERVER, mcp_server("paused", namespace, **fields))
    await _until_listed(product.url, "paused.add")

    await cluster.apply(MCP_SERVER, mcp_server("paused", namespace, **fields, suspend=True))

    async def refused() -> dict[str, Any] | None:
        answer = await agents.post(product.url, agents.legacy_call("paused.add"))
        error: dict[str, Any] | None = json.loads(answer.body).get("error")
        return error

    error = await until(refused, SOON_S)
    found = await _until_ready(cluster, namespace, "paused", "False", "Suspended")

    assert error["data"] == {"reason": "suspended"}
    conditions = {each["type"]: each["status"] for each in found["status"]["conditions"]}
    assert conditions["Published"] == "True"


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        pytest.param({"allowedTools": []}, "NoToolsAllowed", id="C01 nothing is allowed"),
        pytest.param({"allowedTools": ["ADD"]}, "NoToolsMatched", id="C07 another case"),
        pytest.param({"url": "http://127.0.0.1:1/mcp"}, "NotDiscovered", id="nobody listens"),
    ],
)
async def test_a_server_without_a_callable_tool_says_why(
    product: Stack,
    cluster: ClusterApi,
    namespace: str,
    sdk_server: Peer,
    fields: dict[str, Any],
    reason: str,
) -> None:
    spec = {"url": sdk_server.url, "allowedTools": ["*"]} | fields
    await cluster.apply(MCP_SERVER, mcp_server("quiet", namespace, **spec))

    found = await _until_ready(cluster, namespace, "quiet", "False", reason)

    assert found["status"].get("toolCount", 0) == 0


async def test_two_claims_of_one_prefix_the_older_holds_it_and_the_other_names_it(
    product: Stack, cluster: ClusterApi, namespace: str, sdk_server: Peer
) -> None:
    spec = {"url": sdk_server.url, "allowedTools": ["*"], "prefix": "shared"}
    await cluster.apply(MCP_SERVER, mcp_server("first", namespace, **spec))
    await _until_ready(cluster, namespace, "first", "True", "Ready")
    await cluster.apply(MCP_SERVER, mcp_server("second", namespace, **spec))

    found = await _until_ready(cluster, namespace, "second", "False", "NotAccepted")

    [accepted] = [each for each in found["status"]["conditions"] if each["type"] == "Accepted"]
    assert accepted["reason"] == "PrefixConflict"
    assert f"{namespace}/first" in accepted["message"]
    assert "shared.add" in await agents.tools(product.url)


async def test_an_agent_loses_nothing_while_the_api_server_is_away(
    own_control_plane: ControlPlane, sdk_server: Peer, tmp_path: Path
) -> None:
    control_plane = own_control_plane
    with (
        control_plane.namespace("tenant") as tenant,
        control_plane.namespace("release") as release,
        stack.running(control_plane.kubeconfig, release, tmp_path / "servers") as product,
    ):
        body = mcp_server("steady", tenant, url=sdk_server.url, allowedTools=["*"])
        control_plane.kubectl("apply", "-f", "-", stdin=yaml.safe_dump(body))
        await _until_listed(product.url, "steady.add")

        await asyncio.to_thread(control_plane.stop)
        during = await agents.call(product.url, "steady.add", {"a": 1, "b": 1})
        await asyncio.to_thread(product.mirror.kill)
        without_mirror = await agents.call(product.url, "steady.add", {"a": 1, "b": 2})
        control_plane.start()

    assert during.content[0].text == "2"
    assert without_mirror.content[0].text == "3"


async def test_what_is_published_is_only_the_servers_own(
    product: Stack,
    cluster: ClusterApi,
    namespace: str,
    release_namespace: str,
    sdk_server: Peer,
) -> None:
    await cluster.apply(
        MCP_SERVER, mcp_server("one", namespace, url=sdk_server.url, allowedTools=["*"])
    )
    await _until_listed(product.url, "one.add")

    published = await cluster.list(CONFIG_MAP, release_namespace, "pointsman.dev/meta=v1")

    assert [list(each["data"]) for each in published] == [["meta.json"]]
    assert json.loads(published[0]["data"]["meta.json"])["namespace"] == namespace
