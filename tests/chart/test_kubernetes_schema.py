"""Whether mistakes in an object are found, and named by their place."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from bench.cluster_api import Body
from chart import kubernetes_schema, rendering


def _at(path: str, value: object) -> Callable[[Body], None]:
    """A change that sets what is at a path; None takes it away."""
    *way, last = path.split(".")

    def change(body: Body) -> None:
        target: Any = body
        for step in way:
            target = target[int(step)] if isinstance(target, list) else target[step]
        if value is None:
            del target[last]
        else:
            target[last] = value

    return change


_POD = "spec.template.spec"


@pytest.mark.parametrize(
    ("path", "value", "problem"),
    [
        pytest.param("spec.replica", 2, "spec.replica: ", id="unknown field"),
        pytest.param(
            f"{_POD}.containers.0.livenessProbe.httpGet.pth",
            "/",
            f"{_POD}.containers.0.livenessProbe.httpGet.pth: ",
            id="unknown field deep inside",
        ),
        pytest.param(
            f"{_POD}.containers.0.image_pull_policy",
            "Never",
            f"{_POD}.containers.0.image_pull_policy: ",
            id="a field as Python spells it",
        ),
        pytest.param("spec.replicas", "2", "spec.replicas: ", id="a number as text"),
        pytest.param(
            f"{_POD}.containers.0.env.0.value",
            9090,
            f"{_POD}.containers.0.env.0.value: ",
            id="a text as number",
        ),
        pytest.param(
            f"{_POD}.enableServiceLinks",
            "false",
            f"{_POD}.enableServiceLinks: ",
            id="a truth as text",
        ),
        pytest.param(f"{_POD}.containers", {}, f"{_POD}.containers: ", id="a list as mapping"),
        pytest.param("spec.selector", None, "spec.selector: ", id="missing field"),
        pytest.param(
            f"{_POD}.containers.0.ports.0.containerPort",
            None,
            f"{_POD}.containers.0.ports.0.containerPort: ",
            id="missing field deep inside",
        ),
        pytest.param("apiVersion", "apps/v1beta1", "apps/v1beta1 ", id="version of old"),
        pytest.param("kind", "Deploment", "apps/v1 Deploment ", id="unknown kind"),
    ],
)
def test_a_mistake_is_named_by_its_place(path: str, value: object, problem: str) -> None:
    body = copy.deepcopy(rendering.combination("default").component("Deployment", "router"))
    assert kubernetes_schema.problems(body) == []
    _at(path, value)(body)

    (found,) = kubernetes_schema.problems(body)

    assert found.startswith(problem)
