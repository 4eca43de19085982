"""A rolling restart of the routers costs no agent a call."""

import json
import time

from bench.waiting import wait_until
from e2e import figures
from e2e.live import ADDRESS, NAMESPACE, RELEASE, Live, Pod, answer_of

RATE = 120
CALLS = 3000
REPLICAS = 2
ROUTERS = "app.kubernetes.io/component=router"


def _routers(live: Live) -> set[str]:
    found = live.get("pods", "--namespace", NAMESPACE, "--selector", ROUTERS)
    return {pod["metadata"]["uid"] for pod in found["items"]}


def test_a_rolling_restart_under_load_fails_no_call(
    live: Live, agent: Pod, examples: tuple[str, ...]
) -> None:
    deployment = f"deployment/{RELEASE}-router"
    before = _routers(live)
    assert len(before) == REPLICAS

    with agent.talking("/agent/calls.py", ADDRESS, str(RATE), str(CALLS)) as load:
        assert load.stdout is not None
        assert load.stdout.readline() == "calling\n"
        begun = time.time()
        live.kubectl("rollout", "restart", deployment, "--namespace", NAMESPACE)
        live.kubectl("rollout", "status", deployment, "--namespace", NAMESPACE, "--timeout=3m")
        # The last old pod serves on after the rollout is complete: the load outlives it.
        wait_until(lambda: not before & _routers(live), 120, "the old routers are gone")
        ended = time.time()
        said = json.loads(answer_of(load))

    figures.measured["rolling restart"] = said | {"restart_s": round(ended - begun, 1)}
    assert said["failed"] == 0, said
    assert said["good"] >= CALLS
    assert said["good"] / (said["ended"] - said["begun"]) >= 100
    assert said["begun"] <= begun
    assert said["ended"] >= ended
