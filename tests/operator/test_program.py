"""The operator as a program: its port, its log, its beginning and its end."""

import signal
from pathlib import Path

import pytest

from bench import ports, processes
from bench.cluster_api import MCP_SERVER, ClusterApi, mcp_server
from bench.controlplane import ControlPlane
from bench.kubeconfig import Access, write
from bench.operating import operating, said
from bench.processes import Program
from bench.waiting import until

pytestmark = pytest.mark.usefixtures("crd")


def program(kubeconfig: Path, release: str, **settings: str) -> Program:
    environment = {
        "KUBECONFIG": str(kubeconfig),
        "POINTSMAN_OPERATOR_NAMESPACE": release,
        "POINTSMAN_OPERATOR_ADMIN_HOST": ports.LOOPBACK,
        **{f"POINTSMAN_OPERATOR_{name}": value for name, value in settings.items()},
    }
    command = processes.python("pointsman_operator")
    return Program("operator", command, environment=environment)


async def test_its_port_tells_health_and_figures(
    control_plane: ControlPlane, cluster: ClusterApi, namespace: str, release_namespace: str
) -> None:
    with operating(
        control_plane.kubeconfig, release_namespace, WATCH_NAMESPACES=namespace
    ) as operator:
        body = mcp_server("github", namespace, url="http://good.example/", allowedTools=["*"])
        await cluster.create(MCP_SERVER, body)
        await said(cluster, "github", namespace, Published="True Published")

        assert await operator.ask("/livez") == (200, "alive\n")
        assert await operator.ask("/readyz") == (200, "ready\n")
        assert (await operator.ask("/other"))[0] == 404
        figures = {
            kind: await operator.metric("pointsman_operator_api_writes_total", kind=kind)
            for kind in ("configmap", "status", "register")
        }
        assert figures == {"configmap": 1, "status": 1, "register": 1}
        assert await operator.metric("pointsman_operator_queue_depth") == 0
        assert await operator.metric("pointsman_operator_last_resync_timestamp_seconds") > 0
        assert await operator.metric("pointsman_operator_reconciles_total", outcome="written") >= 1
        assert await operator.metric("pointsman_operator_reconciles_total", outcome="failed") == 0
        assert {"time", "level", "logger", "message"} <= operator.log[0].keys()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_it_in_order(
    control_plane: ControlPlane, namespace: str, release_namespace: str, number: signal.Signals
) -> None:
    with operating(
        control_plane.kubeconfig, release_namespace, WATCH_NAMESPACES=namespace
    ) as operator:
        operator.program.send(number)

        assert await operator.program.ends(5) == 0
        assert operator.log[-1]["message"] == "ended"


async def test_it_waits_for_an_api_server_that_is_not_there_yet_alive_and_not_ready(
    tmp_path: Path,
) -> None:
    port = ports.free_port()
    admin = f"http://{ports.LOOPBACK}:{port}"
    with ports.refusing_port() as nobody:
        away = Access(f"https://{ports.LOOPBACK}:{nobody}", "", "token")
        path = write(tmp_path / "kubeconfig", away)
        with program(path, "default", ADMIN_PORT=str(port)) as operator:
            await operator.answers(f"{admin}/livez")
            await operator.answers(f"{admin}/readyz", status=503)
            await until(lambda: "the start has to wait" in operator.output)

            assert operator.is_running
            operator.send(signal.SIGTERM)
            assert await operator.ends(5) == 0


async def test_credentials_that_are_not_there_yet_are_waited_for_too(
    control_plane: ControlPlane, release_namespace: str, tmp_path: Path
) -> None:
    path, port = tmp_path / "kubeconfig", ports.free_port()
    settings = {"ADMIN_PORT": str(port), "WATCH_NAMESPACES": release_namespace}
    with program(path, release_namespace, **settings) as operator:
        await until(lambda: "no usable credentials" in operator.output)
        path.write_text(control_plane.kubeconfig.read_text())

        await operator.answers(f"http://{ports.LOOPBACK}:{port}/readyz")


async def test_a_port_that_is_taken_ends_it_at_once(
    control_plane: ControlPlane, release_namespace: str
) -> None:
    with (
        ports.taken_port() as taken,
        program(control_plane.kubeconfig, release_namespace, ADMIN_PORT=str(taken)) as operator,
    ):
        assert await operator.ends() == 1
        assert "the admin port cannot be opened" in operator.output
