"""The pods of the release: when they are ready, and what they take."""

import json
from typing import Any

import pytest

from bench.waiting import wait_until
from e2e import figures
from e2e.live import ADDRESS, NAMESPACE, RELEASE, CommandFailed, Live, Pod, answer_of

ROUTERS = "app.kubernetes.io/component=router"
RATE = 20
# One a second. A router that waits for nothing starts within the first.
PROBES = 3
MIB = {"Mi": 1, "Gi": 1024}
# What is resident of the first process of a container, in KiB.
RESIDENT = 'print(next(line for line in open("/proc/1/status") if line[:6] == "VmRSS:").split()[1])'


def _routers(live: Live) -> dict[str, dict[str, Any]]:
    found = live.get("pods", "--namespace", NAMESPACE, "--selector", ROUTERS)
    return {pod["metadata"]["name"]: pod for pod in found["items"]}


def _ready(pod: dict[str, Any]) -> bool:
    conditions = {one["type"]: one["status"] for one in pod["status"].get("conditions", [])}
    return conditions.get("Ready") == "True"


def test_a_router_starts_only_once_its_mirror_has_what_is_published(
    live: Live, agent: Pod, examples: tuple[str, ...]
) -> None:
    before = set(_routers(live))
    with agent.talking("/agent/calls.py", ADDRESS, str(RATE), "0") as load:
        assert load.stdout is not None
        assert load.stdout.readline() == "calling\n"
        binding = ("rolebinding", f"{RELEASE}-router", "--namespace", NAMESPACE)
        live.kubectl("delete", *binding)
        try:
            live.kubectl("delete", "pod", min(before), "--namespace", NAMESPACE)

            def refused() -> str | None:
                late = [name for name in _routers(live) if name not in before]
                heard = late and "is forbidden" in _log(live, late[0])
                return late[0] if heard and _failed_probes(live, late[0]) >= PROBES else None

            late = wait_until(refused, 60, "the new pod's mirror may not list", every_s=0.5)
            pod = _routers(live)[late]
            assert not _ready(pod)
            assert [one["state"].keys() for one in pod["status"]["containerStatuses"]] == [
                {"waiting"}
            ]
        finally:
            live.install()
        wait_until(
            lambda: [_ready(pod) for pod in _routers(live).values()] == [True, True],
            90,
            "two routers are ready",
        )
        said = json.loads(answer_of(load))

    assert said["failed"] == 0, said


def _log(live: Live, pod: str) -> str:
    try:
        return live.kubectl("logs", pod, "--namespace", NAMESPACE, "--container", "mirror")
    except CommandFailed:  # it has not begun
        return ""


def _failed_probes(live: Live, pod: str) -> int:
    about = f"involvedObject.name={pod},reason=Unhealthy"
    found = live.get("events", "--namespace", NAMESPACE, "--field-selector", about)
    return sum(event.get("count") or 1 for event in found["items"])


@pytest.mark.parametrize(
    ("component", "container"),
    [("operator", "operator"), ("router", "mirror"), ("router", "router")],
)
def test_a_program_at_rest_is_within_what_it_requests(
    live: Live, examples: tuple[str, ...], component: str, container: str
) -> None:
    deployment = live.get("deployment", f"{RELEASE}-{component}", "--namespace", NAMESPACE)
    spec = deployment["spec"]["template"]["spec"]
    containers = [*spec["containers"], *spec.get("initContainers", [])]
    wish = next(one["resources"] for one in containers if one["name"] == container)
    requested = wish["requests"]["memory"]

    resident = live.kubectl(
        *("exec", "--namespace", NAMESPACE, f"deployment/{RELEASE}-{component}"),
        *("--container", container, "--", "python3", "-c", RESIDENT),
    )

    mib = int(resident) / 1024
    figures.measured[f"{container} at rest"] = {"resident_mib": round(mib, 1)}
    assert mib <= int(requested[:-2]) * MIB[requested[-2:]]
