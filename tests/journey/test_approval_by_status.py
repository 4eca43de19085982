"""Approving by a resource's status alone, as kubectl prints it."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench import stack
from bench.cluster_api import MCP_SERVER, ClusterApi, mcp_server
from bench.controlplane import ControlPlane
from bench.peers import Peer
from bench.stack import Stack
from bench.waiting import until
from client.command import run


@pytest.fixture
def product(
    control_plane: ControlPlane, crd: Path, release_namespace: str, tmp_path: Path
) -> Iterator[Stack]:
    with stack.running(
        control_plane.kubeconfig, release_namespace, tmp_path / "servers"
    ) as running:
        yield running


async def test_a_status_says_as_much_as_a_router(
    product: Stack,
    control_plane: ControlPlane,
    cluster: ClusterApi,
    namespace: str,
    sdk_server: Peer,
) -> None:
    fields = {"url": sdk_server.url, "allowedTools": ["add", "echo"]}
    await cluster.create(MCP_SERVER, mcp_server("pinned", namespace, **fields))

    async def told() -> bool:
        found = await cluster.get(MCP_SERVER, "pinned", namespace)
        return bool(found.get("status", {}).get("toolCount") == 2)

    await until(told, 20.0, "the status counts both tools")
    where = ("-n", namespace, "-o", "json")
    kept = control_plane.kubectl("get", "mcpserver", "pinned", *where)

    by_status = await asyncio.to_thread(run, "approve", "-", stdin=kept)
    by_router = await asyncio.to_thread(
        run, "approve", f"{namespace}/pinned", "--status", product.router_admin
    )

    assert by_status.stdout == by_router.stdout
    assert json.loads(by_status.stdout)["spec"]["definitions"]["approved"].keys() == {
        "add",
        "echo",
    }
