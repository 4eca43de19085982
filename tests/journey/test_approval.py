"""From what a router sees to what a resource approves: the patch, as kubectl applies it."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench import agents, stack
from bench.cluster_api import MCP_SERVER, ClusterApi, mcp_server
from bench.controlplane import ControlPlane
from bench.operating import published
from bench.peers import Peer
from bench.stack import Stack
from bench.waiting import until
from client.command import run

SOON_S = 10.0
OLD = f"sha256:{'0' * 64}"
# A name that YAML reads otherwise than JSON where it is escaped.
GONE = "gone \U0001f600"


@pytest.fixture
def product(
    control_plane: ControlPlane, crd: Path, release_namespace: str, tmp_path: Path
) -> Iterator[Stack]:
    with stack.running(
        control_plane.kubeconfig, release_namespace, tmp_path / "servers"
    ) as running:
        yield running


async def _approved(*arguments: str, stdin: str = "") -> tuple[str, list[str]]:
    """The patch that a call of the command prints, and the lines that it tells a person."""
    result = await asyncio.to_thread(run, "approve", *arguments, stdin=stdin)
    assert result.exit_code == 0, result.stderr
    return result.stdout, result.stderr.splitlines()


def _apply(control_plane: ControlPlane, patch: str, name: str, namespace: str) -> None:
    """What the command says to do."""
    where = ("mcpserver", name, "--namespace", namespace)
    control_plane.kubectl(
        "patch", *where, "--type", "merge", "--patch-file", "/dev/stdin", stdin=patch
    )


async def test_what_a_router_sees_is_approved_and_published_by_a_patch(
    product: Stack,
    control_plane: ControlPlane,
    cluster: ClusterApi,
    namespace: str,
    release_namespace: str,
    sdk_server: Peer,
) -> None:
    fields: dict[str, Any] = {
        "url": sdk_server.url,
        "allowedTools": ["add", "echo"],
        "definitions": {"policy": "Warn", "approved": {"add": OLD, GONE: OLD}},
    }
    await cluster.create(MCP_SERVER, mcp_server("pinned", namespace, **fields))
    where = ("-n", namespace, "-o", "json")

    async def listed() -> bool:
        return {"pinned.add", "pinned.echo"} <= set(await agents.tools(product.url))

    await until(listed, SOON_S, "both tools are listed")
    named, _ = await _approved(f"{namespace}/pinned", "add", "--status", product.router_admin)
    _apply(control_plane, named, "pinned", namespace)
    between = control_plane.kubectl("get", "mcpserver", "pinned", *where)

    async def is_taken_up() -> bool:
        asked = ("approve", "-", "--status", product.router_admin)
        return (await asyncio.to_thread(run, *asked, stdin=between)).exit_code == 0

    await until(is_taken_up, SOON_S, "the router serves what the patch made")
    patch, told = await _approved(
        *("-", "--status", product.router_admin, "--prune", "--policy", "Enforce"), stdin=between
    )
    _apply(control_plane, patch, "pinned", namespace)
    kept = json.loads(control_plane.kubectl("get", "mcpserver", "pinned", *where))
    definitions = kept["spec"]["definitions"]

    async def is_published() -> bool:
        document = (await published(cluster, release_namespace))["pinned"]
        return bool(document.get("definitions") == definitions)

    await until(is_published, SOON_S, "what is approved is published")
    await until(listed, SOON_S, "both tools are listed")
    first = json.loads(between)["spec"]["definitions"]["approved"]
    assert first.keys() == {"add", GONE}
    assert first["add"] != OLD
    assert definitions["policy"] == "Enforce"
    assert definitions["approved"].keys() == {"add", "echo"}
    assert definitions["approved"]["add"] == first["add"]
    assert [line.rpartition(", ")[2] for line in told[1:4]] == ["as before", "new", "taken out"]
    assert told[4] == "policy: Warn -> Enforce"
