"""Whether what looks for the pods finds them, by selectors, Services and names."""

import pytest

from bench.cluster_api import Body
from chart import rendering
from chart.rendering import Rendering
from pointsman_contract import labels
from pointsman_operator import settings as operator_settings
from pointsman_operator.fleet import ByName
from pointsman_router import admission

each_combination = pytest.mark.parametrize("name", rendering.COMBINATIONS)

IN_A_POD = {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"}
_COMPONENTS = ("operator", "router")


@each_combination
def test_each_selector_finds_exactly_its_pods(name: str) -> None:
    rendered = rendering.combination(name)
    pods = {
        one: rendered.component("Deployment", one)["spec"]["template"]["metadata"]["labels"]
        for one in _COMPONENTS
    }
    selectors = {
        f"{body['kind']} {body['metadata']['name']}": (
            body["metadata"]["labels"]["app.kubernetes.io/component"],
            body["spec"]["selector"].get("matchLabels", body["spec"]["selector"]),
        )
        for kind in ("Deployment", "Service", "PodDisruptionBudget")
        for body in rendered.of_kind(kind)
    }

    assert len(selectors) >= 4
    for where, (component, selector) in selectors.items():
        found = {one for one, labels in pods.items() if selector.items() <= labels.items()}

        assert found == {component}, where


@each_combination
def test_no_selector_finds_the_pods_of_another_release(name: str) -> None:
    values = ("-f", str(rendering.COMBINATIONS[name]))
    ours, theirs = rendering.render(*values), rendering.render(*values, release="other")

    for component in _COMPONENTS:
        selector = ours.component("Deployment", component)["spec"]["selector"]["matchLabels"]
        for each in _COMPONENTS:
            labels = theirs.component("Deployment", each)["spec"]["template"]["metadata"]["labels"]

            assert not selector.items() <= labels.items()


@each_combination
def test_agents_reach_the_routers_port_by_the_services_name(name: str) -> None:
    rendered = rendering.combination(name)
    service, _ = _services(rendered)
    (port,) = service["spec"]["ports"]
    router = rendered.container("router")

    assert str(router.ports[port["targetPort"]]) == router.environment["POINTSMAN_ROUTER_PORT"]
    assert port["port"] == (8081 if name == "everything" else 80)
    assert port["appProtocol"] == "http"


@each_combination
def test_the_router_answers_to_every_name_of_its_service_and_of_a_forwarded_port(
    name: str,
) -> None:
    rendered = rendering.combination(name)
    values = rendering.merged(rendering.COMBINATIONS[name])
    service, _ = _services(rendered)
    own, domain = service["metadata"]["name"], values.get("clusterDomain", "cluster.local")
    allowed = rendered.container("router").environment["POINTSMAN_ROUTER_ALLOWED_HOSTS"]
    hosts = admission.hosts(allowed.split(","))

    for answered in [
        *(own, f"{own}.agents", f"{own}.agents.svc", f"{own}.agents.svc.{domain}"),
        *("localhost:8080", "127.0.0.1:8080", "[::1]:8080", f"{own}.agents.svc:8080"),
        *values.get("router", {}).get("allowedHosts", []),
    ]:
        assert hosts.answers(answered), answered
    for refused in ("rebound.example", f"{own}.other", f"{own}.agents.svc.rebound.example"):
        assert not hosts.answers(refused), refused


@each_combination
def test_the_operator_asks_every_ready_router_by_the_headless_service(name: str) -> None:
    rendered = rendering.combination(name)
    _, headless = _services(rendered)
    (port,) = headless["spec"]["ports"]
    environment = rendered.container("operator").environment
    router = rendered.container("router")

    # The bare name: the first of the pod's search domains is its own namespace's, in any cluster.
    assert operator_settings.load({**environment, **IN_A_POD}).routers == ByName(
        headless["metadata"]["name"], port["port"]
    )
    # Addresses of pods are resolved: no port is translated on the way.
    assert port["port"] == router.ports[port["targetPort"]]
    assert "publishNotReadyAddresses" not in headless["spec"]


@pytest.mark.parametrize("release", ["r" * 53, "a.b", f"{'r' * 49}.x"])
def test_any_release_makes_names_of_services(release: str) -> None:
    rendered = rendering.with_values(release=release)
    names = {body["metadata"]["name"] for body in rendered.of_kind("Service")}
    names |= {body["metadata"]["name"] for body in rendered.of_kind("Deployment")}

    assert len(names) == 4
    assert [name for name in names if not labels.is_dns_label(name)] == []


def _services(rendered: Rendering) -> tuple[Body, Body]:
    """The Service for agents and the headless one."""
    by_address = {body["spec"].get("clusterIP"): body for body in rendered.of_kind("Service")}
    return by_address[None], by_address["None"]
