"""What may be set about the operator."""

import pytest

from bench import processes
from pointsman_contract.environment import InvalidSettings
from pointsman_operator import settings
from pointsman_operator.access import InPod, Kubeconfig
from pointsman_operator.fleet import ByName

LEAST = {"POINTSMAN_OPERATOR_NAMESPACE": "release", "KUBECONFIG": "/k"}


def test_a_namespace_and_a_kubeconfig_are_enough() -> None:
    chosen = settings.load(LEAST)

    assert chosen.namespace == "release"
    assert chosen.identification == Kubeconfig("/k")
    assert (chosen.watched, chosen.routers) == ((), ())
    assert (chosen.admin_host, chosen.admin_port) == ("0.0.0.0", 9090)
    assert (chosen.resync_s, chosen.prefix_grace_s, chosen.workers) == (300, 3600, 8)
    assert (chosen.repair_interval_s, chosen.settled_after_s) == (10, 10)
    assert (chosen.event_burst, chosen.event_interval_s) == (10, 60)


def test_a_pod_knows_its_namespace_and_its_service_account() -> None:
    in_pod = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}

    chosen = settings.load(in_pod, pod_namespace="mine")

    assert chosen.namespace == "mine"
    assert chosen.identification == InPod("10.0.0.1", "443")


@pytest.mark.parametrize(
    ("text", "routers"),
    [
        pytest.param("http://a:9090", ("http://a:9090",), id="one"),
        pytest.param(
            " http://a:9090/ , http://[::1]:9090 ,, http://a:9090",
            ("http://a:9090", "http://[::1]:9090"),
            id="several, one of them twice",
        ),
        pytest.param(
            "dns://routers.release.svc:9090", ByName("routers.release.svc", 9090), id="by name"
        ),
    ],
)
def test_routers_are_addresses_or_one_name(text: str, routers: object) -> None:
    assert settings.load(LEAST | {"POINTSMAN_OPERATOR_ROUTERS": text}).routers == routers


@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param("NAMESPACE", "Release", id="no namespace"),
        pytest.param("WATCH_NAMESPACES", "a,B", id="one namespace of two"),
        pytest.param("ROUTERS", "a:9090", id="a router without scheme"),
        pytest.param("ROUTERS", "http://a,http://u:canary@b", id="a router with a password"),
        pytest.param("ROUTERS", "dns://a", id="a name without port"),
        pytest.param("ROUTERS", "dns://a:x", id="a name with a bad port"),
        pytest.param("ROUTERS", "dns://a:1,http://b", id="a name and an address"),
        pytest.param("ADMIN_PORT", "65536", id="no port"),
        pytest.param("ADMIN_HOST", "a b", id="no host"),
        pytest.param("RESYNC_SECONDS", "0", id="no time"),
        pytest.param("RESYNC_SECONDS", "nan", id="no number"),
        pytest.param("PREFIX_GRACE_SECONDS", "-1", id="a time before"),
        pytest.param("WORKERS", "3", id="too few workers"),
        pytest.param("WORKERS", "17", id="too many workers"),
        pytest.param("EVENT_BURST", "-1", id="fewer Events than none"),
        pytest.param("EVENT_INTERVAL_SECONDS", "0", id="Events without a pause"),
        pytest.param("ROUTER", "http://a:9090", id="a typo"),
    ],
)
def test_a_mistake_is_named_by_its_variable(name: str, text: str) -> None:
    with pytest.raises(InvalidSettings) as refusal:
        settings.load(LEAST | {f"POINTSMAN_OPERATOR_{name}": text})

    (mistake,) = refusal.value.mistakes
    assert mistake.startswith(f"POINTSMAN_OPERATOR_{name}: ")
    assert "canary" not in mistake


def test_all_mistakes_are_named_at_once() -> None:
    with pytest.raises(InvalidSettings) as refusal:
        settings.load({"POINTSMAN_OPERATOR_ADMIN_PORT": "x", "POINTSMAN_OPERATOR_RESYNC": "5"})

    assert [mistake.split(":")[0] for mistake in refusal.value.mistakes] == [
        "POINTSMAN_OPERATOR_NAMESPACE",
        "POINTSMAN_OPERATOR_ADMIN_PORT",
        "KUBECONFIG",
        "POINTSMAN_OPERATOR_RESYNC",
    ]
    assert "did you mean POINTSMAN_OPERATOR_RESYNC_SECONDS?" in str(refusal.value)


def test_help_shows_every_variable_with_its_default() -> None:
    with processes.Program("help", processes.python("pointsman_operator", "--help")) as program:
        assert program.wait() == 0

        for line in settings.table().splitlines():
            assert line in program.output
        for said in ("POINTSMAN_OPERATOR_RESYNC_SECONDS", "300", "KUBECONFIG", "all namespaces"):
            assert said in program.output


@pytest.mark.parametrize("arguments", [["--verbose"], []])
def test_bad_usage_ends_at_once_with_status_2(arguments: list[str]) -> None:
    command = processes.python("pointsman_operator", *arguments)
    with processes.Program("operator", command) as program:
        assert program.wait() == 2
