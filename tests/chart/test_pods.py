"""Whether the pods are safe, and start and end in order."""

import math

import pytest

from chart import rendering

each_combination = pytest.mark.parametrize("name", rendering.COMBINATIONS)

TOKEN_MOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
IN_A_POD = {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"}
# What the router needs after its calls have ended: 3 s for sessions, 1 s for its admin port.
FAREWELL_S = 4


@each_combination
def test_no_container_has_a_right_that_it_does_not_need(name: str) -> None:
    for container in rendering.combination(name).containers():
        assert container.body["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }


@each_combination
@pytest.mark.parametrize("component", ["operator", "router"])
def test_no_pod_runs_as_root_or_shares_anything_of_its_node(name: str, component: str) -> None:
    pod = rendering.combination(name).pod(component)

    assert pod["securityContext"] == {
        "runAsNonRoot": True,
        "runAsUser": 65532,
        "runAsGroup": 65532,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert pod.keys() & {"hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace"} == set()
    assert all(volume.keys() <= {"name", "projected", "emptyDir"} for volume in pod["volumes"])


@each_combination
def test_only_the_operator_and_the_mirror_see_a_token(name: str) -> None:
    rendered = rendering.combination(name)
    with_token = {
        container.name
        for container in rendered.containers()
        if any(mount["mountPath"] == TOKEN_MOUNT for mount in container.mounts.values())
        or "token" in container.mounts
    }

    assert with_token == {"operator", "mirror"}
    assert not any(rendered.pod(one)["automountServiceAccountToken"] for one in _COMPONENTS)
    assert not any(
        account["automountServiceAccountToken"] for account in rendered.of_kind("ServiceAccount")
    )


@each_combination
@pytest.mark.parametrize("component", ["operator", "router"])
def test_the_token_expires_and_comes_with_what_a_client_needs(name: str, component: str) -> None:
    (volume,) = [
        volume
        for volume in rendering.combination(name).pod(component)["volumes"]
        if volume["name"] == "token"
    ]
    token, authority, namespace = volume["projected"]["sources"]

    assert token == {"serviceAccountToken": {"path": "token", "expirationSeconds": 3600}}
    assert authority["configMap"] == {
        "name": "kube-root-ca.crt",
        "items": [{"key": "ca.crt", "path": "ca.crt"}],
    }
    assert namespace["downwardAPI"]["items"] == [
        {"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}
    ]


@each_combination
@pytest.mark.parametrize("component", ["operator", "router"])
def test_no_service_puts_a_variable_into_a_pod(name: str, component: str) -> None:
    assert rendering.combination(name).pod(component)["enableServiceLinks"] is False


@each_combination
def test_no_container_can_take_all_memory_or_is_promised_none(name: str) -> None:
    for container in rendering.combination(name).containers():
        resources = container.body["resources"]

        assert resources["limits"].keys() >= {"memory"}
        assert resources["requests"].keys() == {"cpu", "memory"}


def test_a_router_has_all_its_memory_from_the_start_and_may_use_any_idle_core() -> None:
    resources = rendering.combination("default").container("router").body["resources"]

    assert resources["requests"]["memory"] == resources["limits"]["memory"] == "512Mi"
    assert "cpu" not in resources["limits"]


@pytest.mark.parametrize(
    ("settings", "image"),
    [
        pytest.param((), "r.example/p:0.1.0", id="the chart's own version"),
        pytest.param(("image.tag=1.2",), "r.example/p:1.2", id="tag"),
        pytest.param(
            ("image.tag=1.2", f"image.digest=sha256:{'a' * 64}"),
            f"r.example/p@sha256:{'a' * 64}",
            id="the digest wins",
        ),
    ],
)
def test_every_container_runs_the_image_that_was_named(
    settings: tuple[str, ...], image: str
) -> None:
    values = [part for one in settings for part in ("--set-string", one)]
    rendered = rendering.render("--set", "image.repository=r.example/p", *values)

    assert {container.body["image"] for container in rendered.containers()} == {image}


@each_combination
def test_each_container_runs_its_own_program_and_nothing_else_is_said(name: str) -> None:
    containers = list(rendering.combination(name).containers())

    assert {one.name: one.body["args"] for one in containers} == {
        "operator": ["pointsman_operator"],
        "mirror": ["pointsman_mirror"],
        "router": ["pointsman_router"],
    }
    assert not any("command" in one.body for one in containers)


@each_combination
def test_the_router_starts_only_after_the_mirrors_first_generation(name: str) -> None:
    rendered = rendering.combination(name)
    mirror, router = rendered.container("mirror"), rendered.container("router")

    assert mirror.goes_on
    assert mirror.body["startupProbe"]["httpGet"] == {"path": "/readyz", "port": "mirror-admin"}
    # Not ready would take the router out of service, which serves on without it.
    assert "readinessProbe" not in mirror.body
    directory = mirror.environment["POINTSMAN_MIRROR_DIRECTORY"]
    assert router.environment["POINTSMAN_ROUTER_DIRECTORY"] == directory
    assert mirror.mounts["servers"] == {"name": "servers", "mountPath": directory}
    assert router.mounts == {
        "servers": {"name": "servers", "mountPath": directory, "readOnly": True}
    }


@each_combination
def test_the_files_lie_in_memory_that_the_mirror_has(name: str) -> None:
    rendered = rendering.combination(name)
    (volume,) = [one for one in rendered.pod("router")["volumes"] if one["name"] == "servers"]
    resources = rendered.container("mirror").body["resources"]
    size, request, limit = map(
        _mib, (volume["emptyDir"]["sizeLimit"], *(resources[one]["memory"] for one in _BOUNDS))
    )

    assert volume["emptyDir"]["medium"] == "Memory"
    assert size + request <= limit


@each_combination
@pytest.mark.parametrize("program", ["operator", "mirror", "router"])
def test_probes_ask_the_port_that_the_program_opens(name: str, program: str) -> None:
    container = rendering.combination(name).container(program)
    probes = {
        kind: container.body[kind]["httpGet"]
        for kind in ("startupProbe", "livenessProbe", "readinessProbe")
        if kind in container.body
    }
    (asked,) = {probe["port"] for probe in probes.values()}

    opened = container.environment[f"POINTSMAN_{program.upper()}_ADMIN_PORT"]
    assert str(container.ports[asked]) == opened
    paths = {kind: probe["path"] for kind, probe in probes.items()}
    # The mirror's start ends with its first generation; the others are to be asked at once, since
    # they are alive long before they are ready.
    assert paths == (
        {"startupProbe": "/readyz", "livenessProbe": "/livez"}
        if program == "mirror"
        else {"startupProbe": "/livez", "livenessProbe": "/livez", "readinessProbe": "/readyz"}
    )


@pytest.mark.parametrize(
    ("program", "start_s"),
    [
        pytest.param("operator", 60, id="operator"),
        # So long it may wait for the API server.
        pytest.param("mirror", 600, id="mirror"),
        pytest.param("router", 60, id="router"),
    ],
)
def test_a_program_is_given_time_before_it_is_started_anew(program: str, start_s: int) -> None:
    body = rendering.combination("default").container(program).body
    start, alive = body["startupProbe"], body["livenessProbe"]

    assert start["periodSeconds"] == 1
    assert start["failureThreshold"] == start_s
    assert alive["periodSeconds"] * alive["failureThreshold"] == 30


@pytest.mark.parametrize(
    ("linger_s", "drain_s", "grace_s"),
    [
        pytest.param("5", "40", 60, id="defaults"),
        pytest.param("0", "0", 15, id="no patience"),
        pytest.param("30", "300.5", 346, id="long, and no whole number"),
        pytest.param("120", "600", 735, id="the longest"),
    ],
)
def test_a_pod_is_given_the_time_that_its_router_takes_to_end(
    linger_s: str, drain_s: str, grace_s: int
) -> None:
    rendered = rendering.render(
        *rendering.IMAGE,
        *("--set-json", f"router.settings.lingerSeconds={linger_s}"),
        *("--set-json", f"router.settings.drainSeconds={drain_s}"),
    )

    assert rendered.pod("router")["terminationGracePeriodSeconds"] == grace_s


@each_combination
def test_drain_times_add_up(name: str) -> None:
    rendered = rendering.combination(name)
    router = rendered.container("router")
    patience_s = sum(
        float(router.environment[f"POINTSMAN_ROUTER_{one}_SECONDS"]) for one in ("LINGER", "DRAIN")
    )
    grace_s = rendered.pod("router")["terminationGracePeriodSeconds"]

    assert math.ceil(patience_s) + FAREWELL_S < grace_s <= patience_s + 16
    # A preStop would take its time before SIGTERM, out of the same budget.
    assert "lifecycle" not in router.body


def test_no_router_goes_before_another_is_ready_and_two_operators_never_write() -> None:
    rendered = rendering.combination("default")
    router = rendered.component("Deployment", "router")["spec"]
    operator = rendered.component("Deployment", "operator")["spec"]

    assert router["replicas"] == 2
    assert router["strategy"] == {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1},
    }
    assert (operator["replicas"], operator["strategy"]) == (1, {"type": "Recreate"})


@pytest.mark.parametrize("number", [0, 1, 5])
def test_there_are_as_many_routers_as_one_wants(number: int) -> None:
    rendered = rendering.with_values(f"router.replicas={number}")

    assert rendered.component("Deployment", "router")["spec"]["replicas"] == number


def test_an_autoscaler_may_have_the_replicas() -> None:
    router = rendering.with_values("router.replicas=null").component("Deployment", "router")

    assert "replicas" not in router["spec"]


@each_combination
def test_a_single_router_never_blocks_the_drain_of_its_node(name: str) -> None:
    for budget in rendering.combination(name).of_kind("PodDisruptionBudget"):
        assert budget["spec"].keys() & {"minAvailable", "maxUnavailable"} == {"maxUnavailable"}
        assert budget["spec"]["maxUnavailable"] not in (0, "0%")
        assert budget["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow"


def test_routers_keep_to_different_nodes_where_they_can() -> None:
    (spread,) = rendering.combination("default").pod("router")["topologySpreadConstraints"]
    labels = rendering.combination("default").component("Deployment", "router")["spec"]["template"]

    assert spread["topologyKey"] == "kubernetes.io/hostname"
    assert spread["whenUnsatisfiable"] == "ScheduleAnyway"
    # Those of the rollout before do not count.
    assert spread["matchLabelKeys"] == ["pod-template-hash"]
    assert spread["labelSelector"]["matchLabels"] == labels["metadata"]["labels"]


def test_a_spread_of_ones_own_replaces_it_and_keeps_its_selector() -> None:
    rendered = rendering.combination("everything")
    (of_routers,) = rendered.pod("router")["topologySpreadConstraints"]
    (of_operator,) = rendered.pod("operator")["topologySpreadConstraints"]

    assert of_routers["labelSelector"] == {"matchLabels": {"example.com/team": "platform"}}
    assert (
        of_operator["labelSelector"]
        == rendered.component("Deployment", "operator")["spec"]["selector"]
    )


_COMPONENTS = ("operator", "router")
_BOUNDS = ("requests", "limits")


def _mib(quantity: str) -> int:
    assert quantity.endswith(("Mi", "Gi"))
    return int(quantity[:-2]) * (1024 if quantity.endswith("Gi") else 1)
