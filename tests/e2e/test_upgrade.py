"""What upgrades change and what an uninstall leaves."""

import json
import shutil
from pathlib import Path

import yaml

from bench.waiting import wait_until
from e2e.conftest import EXAMPLES_NAMESPACE, SERVERS, step, until_ready
from e2e.live import ADDRESS, CHART, NAMESPACE, RELEASE, Live, Pod

KIND = "mcpservers.pointsman.dev"
TOOLS = ["clock__convert", "clock__now", "notes__add", "notes__find"]
FIND = '{"words": "milk"}'


def _columns(live: Live) -> list[str]:
    version = live.get("crd", KIND)["spec"]["versions"][0]
    return [column["name"] for column in version["additionalPrinterColumns"]]


def _agent_calls(agent: Pod) -> None:
    said = json.loads(agent.python("/agent/ask.py", "auto", ADDRESS, "notes__find", FIND))
    assert (said["tools"], said["error"]) == (TOOLS, False), said


def _resources(live: Live) -> dict[str, str]:
    found = live.get("mcpservers", "--namespace", EXAMPLES_NAMESPACE)
    return {one["metadata"]["name"]: one["metadata"]["uid"] for one in found["items"]}


def test_an_upgrade_changes_the_kind_and_keeps_every_resource(
    live: Live, agent: Pod, examples: tuple[str, ...], tmp_path: Path
) -> None:
    before = _resources(live)
    chart = tmp_path / "pointsman"
    shutil.copytree(CHART, chart)
    kind = chart / "files" / "mcpserver.yaml"
    document = yaml.safe_load(kind.read_text())
    column = {"name": "Timeout", "type": "integer", "jsonPath": ".spec.timeoutSeconds"}
    document["spec"]["versions"][0]["additionalPrinterColumns"].append(column)
    kind.write_text(yaml.safe_dump(document))
    try:
        live.install(chart)

        assert "Timeout" in _columns(live)
        assert _resources(live) == before
        for name in SERVERS:
            until_ready(live, name)
        _agent_calls(agent)
    finally:
        live.install()
    assert "Timeout" not in _columns(live)


def test_an_uninstall_leaves_the_users_resources_and_a_new_install_serves_them(
    live: Live, agent: Pod, examples: tuple[str, ...]
) -> None:
    before = _resources(live)
    with step("helm uninstall --wait"):
        live.helm("uninstall", RELEASE, "--wait", "--timeout=2m")
    try:
        assert _resources(live) == before
        assert live.get("deployments", "--namespace", EXAMPLES_NAMESPACE)["items"]
        wait_until(lambda: not live.get("pods", "--namespace", NAMESPACE)["items"], 90)
    finally:
        live.install()
    assert _resources(live) == before
    for name in SERVERS:
        until_ready(live, name)
    _agent_calls(agent)
