"""Whether whoever installs is told what is true for this installation, and what to do next."""

import functools
import re

import pytest
import yaml

from bench import helm
from chart import rendering

each_combination = pytest.mark.parametrize("name", rendering.COMBINATIONS)


@functools.cache
def _notes(name: str) -> str:
    return helm.notes("-f", rendering.COMBINATIONS[name])


@each_combination
def test_the_address_for_agents_is_the_services(name: str) -> None:
    rendered = rendering.combination(name)
    (service,) = [one for one in rendered.of_kind("Service") if "clusterIP" not in one["spec"]]
    port = service["spec"]["ports"][0]["port"]
    authority = f"{service['metadata']['name']}.agents.svc{'' if port == 80 else f':{port}'}"

    assert f"\n  http://{authority}/mcp\n" in _notes(name)


@pytest.mark.parametrize(
    ("hosts", "told"),
    [
        pytest.param("null", "are refused until router.allowedHosts has the host", id="no host"),
        pytest.param(
            '["a.example"]',
            "are refused unless they name a host of router.allowedHosts.",
            id="some host",
        ),
        pytest.param('["a.example", "*"]', None, id="any host"),
    ],
)
@pytest.mark.parametrize("kind", ["ClusterIP", "NodePort", "LoadBalancer"])
def test_whether_calls_from_outside_are_answered_is_told(
    kind: str, hosts: str, told: str | None
) -> None:
    values = ("--set", f"service.type={kind}", "--set-json", f"router.allowedHosts={hosts}")
    text = " ".join(helm.notes(*rendering.IMAGE, *values).split())
    outside = kind != "ClusterIP" and told is not None

    assert (f"outside the cluster (service.type: {kind}) {told}" in text) == outside
    assert ("outside the cluster" in text) == outside


@each_combination
def test_the_form_of_the_names_is_the_one_that_is_listed(name: str) -> None:
    form = rendering.combination(name).container("router").environment["POINTSMAN_ROUTER_NAMES"]
    shown = {"safe": "github__search", "dotted": "github.search"}[form]

    assert f"It lists tools in the form {shown}" in _notes(name)
    assert "The largest model APIs refuse a dot" in _notes(name).replace(
        "since the largest", "The largest"
    )


@each_combination
def test_the_example_would_be_served(name: str) -> None:
    watched = rendering.merged(rendering.COMBINATIONS[name]).get("watchNamespaces", [])
    example = re.search(r"^ +apiVersion: .*?(?=\n\n)", _notes(name), re.MULTILINE | re.DOTALL)
    assert example is not None
    server = yaml.safe_load(example[0])

    assert server["kind"] == "McpServer"
    assert server["metadata"]["namespace"] in (watched or ["agents"])
    assert ("McpServers of these namespaces are served" in _notes(name)) == bool(watched)
    assert (f"\n     {', '.join(watched)}\n" in _notes(name)) == bool(watched)


@each_combination
def test_each_command_names_what_is_there(name: str) -> None:
    rendered = rendering.combination(name)
    text = _notes(name)
    router = rendered.component("Deployment", "router")["metadata"]["name"]
    port = rendered.container("router").environment["POINTSMAN_ROUTER_PORT"]
    (service,) = [one for one in rendered.of_kind("Service") if "clusterIP" not in one["spec"]]
    forwarded = f"service/{service['metadata']['name']} 8080:{service['spec']['ports'][0]['port']}"

    assert f"kubectl -n agents exec deployment/{router} -c router -- " in text
    assert f"pointsman tools http://localhost:{port}/mcp\n" in text
    assert f"kubectl -n agents port-forward {forwarded}\n" in text
    assert "kubectl get mcpservers --all-namespaces" in text
    assert "/mcp/views/NAMESPACE/NAME\n" in text


@each_combination
def test_what_uninstalling_leaves_is_told_as_it_is(name: str) -> None:
    crds = rendering.combination(name).of_kind(rendering.CRD)
    kept = not crds or "annotations" in crds[0]["metadata"]

    assert ("`helm uninstall` leaves the CRDs, every McpServer" in _notes(name)) == kept
    assert ("takes the CRDs, and with them every McpServer" in _notes(name)) == (not kept)
    assert ("The CRDs are not part of this release" in _notes(name)) == (not crds)
    assert ("Upgrade them before the operator" in _notes(name)) == (not crds)


@each_combination
def test_missing_rights_are_told(name: str) -> None:
    granted = bool(rendering.combination(name).of_kind("Role"))

    assert ("The chart granted no rights" in _notes(name)) == (not granted)


@each_combination
def test_the_lines_are_short_enough_for_a_terminal(name: str) -> None:
    lines = _notes(name).splitlines()

    assert [line for line in lines if len(line) > 100 or line != line.rstrip()] == []
    assert len(lines) < 60
