"""A router without a mirror and without an operator reads ConfigMaps that the kubelet mounts."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from bench.waiting import wait_until
from e2e import pods
from e2e.conftest import EXAMPLES_NAMESPACE
from e2e.live import CommandFailed, Live, Pod

NAMESPACE = "pointsman-by-hand"
# The kubelet looks once a minute, a half more by jitter, and its cache takes its time too.
KUBELET_S = 150.0


def _config_map(*allowed: str) -> dict[str, Any]:
    meta = {"url": f"http://clock.{EXAMPLES_NAMESPACE}.svc:8080/mcp", "allowedTools": allowed}
    return pods.config_map(NAMESPACE, "clock", {"meta.json": json.dumps(meta)})


def _router(image: str) -> dict[str, Any]:
    return pods.pod(
        NAMESPACE,
        "router",
        image,
        [{"name": "clock", "configMap": {"name": "clock"}}],
        args=["pointsman_router"],
        env=[{"name": "POINTSMAN_ROUTER_ALLOWED_HOSTS", "value": "*"}],
        readinessProbe={"httpGet": {"path": "/readyz", "port": 9090}, "periodSeconds": 1},
        volumeMounts=[{"name": "clock", "mountPath": "/var/run/pointsman/servers/clock"}],
    )


@pytest.fixture
def address(live: Live, examples: tuple[str, ...]) -> Iterator[str]:
    live.apply(pods.namespace(NAMESPACE))
    try:
        live.apply(_config_map("*"), _router(live.image))
        wait = ("--namespace", NAMESPACE, "--for=condition=Ready", "--timeout=60s")
        live.kubectl("wait", "pod/router", *wait)
        ip = live.get("pod", "router", "--namespace", NAMESPACE)["status"]["podIP"]
        yield f"http://{ip}:8080/mcp"
    finally:
        live.kubectl("delete", "namespace", NAMESPACE, "--wait", "--timeout=90s")


def test_mounted_config_maps_are_served_and_an_edit_is_seen(
    live: Live, agent: Pod, address: str
) -> None:
    def listed() -> list[str]:
        tools: list[str] = json.loads(agent.python("/agent/ask.py", "auto", address))["tools"]
        return tools

    wait_until(lambda: listed() == ["clock.convert", "clock.now"], 30, "both tools are listed")
    live.apply(_config_map("now"))

    wait_until(
        lambda: listed() == ["clock.now"],
        KUBELET_S,
        "the edited ConfigMap is served",
        ignoring=(CommandFailed,),
        every_s=0.5,
    )
