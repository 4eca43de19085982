"""Agents in a cluster call every allowed tool at the Service's name."""

import json

import pytest

from bench.waiting import wait_until
from e2e.conftest import EXAMPLES_NAMESPACE, SERVERS
from e2e.live import ADDRESS, NAMESPACE, RELEASE, Live, Pod

ADDRESSES = [
    pytest.param(ADDRESS, id="the short name"),
    pytest.param(f"http://{RELEASE}.{NAMESPACE}/mcp", id="service and namespace"),
    pytest.param(f"http://{RELEASE}.{NAMESPACE}.svc.cluster.local/mcp", id="the full name"),
]
MORNING = '{"time": "2026-07-28T09:00:00", "from_zone": "Europe/Zurich", "to_zone": "UTC"}'


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("address", ADDRESSES)
def test_an_agent_lists_the_allowed_tools_and_calls_one(
    agent: Pod, examples: tuple[str, ...], address: str, mode: str
) -> None:
    said = json.loads(agent.python("/agent/ask.py", mode, address, "clock__convert", MORNING))

    assert said == {
        "tools": ["clock__convert", "clock__now", "notes__add", "notes__find"],
        "error": False,
        "text": "2026-07-28T07:00+00:00",
    }


def test_the_command_line_in_the_image_calls_a_tool(agent: Pod, examples: tuple[str, ...]) -> None:
    said = agent.python("-m", "pointsman", "call", "--url", ADDRESS, "clock.convert", MORNING)

    assert "2026-07-28T07:00+00:00" in said


def test_kubectl_says_what_agents_see(live: Live, examples: tuple[str, ...]) -> None:
    table = live.kubectl("get", "mcpservers", "--namespace", EXAMPLES_NAMESPACE)

    rows = [line.split()[:5] for line in table.splitlines()]
    assert rows == [
        ["NAME", "READY", "TOOLS", "PREFIX", "REASON"],
        ["clock", "True", "2", "clock", "Ready"],
        ["notes", "True", "2", "notes", "Ready"],
    ]


@pytest.mark.parametrize("name", SERVERS)
def test_every_router_serves_every_server(live: Live, examples: tuple[str, ...], name: str) -> None:
    def counted() -> dict[str, int] | None:
        found = live.get("mcpserver", "--namespace", EXAMPLES_NAMESPACE, name)
        routers: dict[str, int] = found["status"].get("routers", {})
        return routers if routers.get("ready") == routers.get("total") == 2 else None

    assert wait_until(counted, 60, "both routers are counted", every_s=0.5)


def test_a_view_has_its_part_of_the_tools_at_its_own_address(
    live: Live, agent: Pod, examples: tuple[str, ...]
) -> None:
    live.kubectl(
        *("wait", "mcpview/reading", "--namespace", EXAMPLES_NAMESPACE),
        *("--for=condition=Ready", "--timeout=60s"),
    )
    view = f"{ADDRESS}/views/{EXAMPLES_NAMESPACE}/reading"

    said = json.loads(agent.python("/agent/ask.py", "auto", view, "clock__convert", MORNING))

    assert said["tools"] == ["clock__convert", "clock__now", "notes__find"]
    assert (said["error"], said["text"]) == (False, "2026-07-28T07:00+00:00")
