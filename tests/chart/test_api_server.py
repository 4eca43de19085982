"""Whether a real API server takes what the chart renders, and keeps what is the users'."""

import json
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import yaml

from bench import controlplane, helm
from bench.cluster_api import Body, mcp_server
from bench.controlplane import CommandFailed, ControlPlane
from bench.waiting import wait_until
from chart import rendering
from chart.rendering import Rendering

_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CRD = f"{_CRDS}/mcpservers.pointsman.dev"
CRDS = (CRD, f"{_CRDS}/mcpviews.pointsman.dev")
RESTRICTED = {"pod-security.kubernetes.io/enforce": "restricted"}
URL = "http://good.example/mcp"


def _restrict(control_plane: ControlPlane, namespace: str) -> None:
    labels = [f"{name}={value}" for name, value in RESTRICTED.items()]
    control_plane.kubectl("label", "namespace", namespace, *labels)


@pytest.fixture(scope="module")
def restricted(control_plane: ControlPlane, crd: Path) -> Iterator[str]:
    """A namespace that takes only pods by the strictest standard, beside those watched."""
    made = []
    for name in ("team-a", "team-b"):
        control_plane.request("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        made.append(name)
    with control_plane.namespace("restricted") as name:
        _restrict(control_plane, name)
        yield name
    for name in made:
        control_plane.request("DELETE", f"/api/v1/namespaces/{name}")


def _rendered(name: str, namespace: str) -> Rendering:
    return rendering.render("-f", str(rendering.COMBINATIONS[name]), namespace=namespace)


def _try(control_plane: ControlPlane, *bodies: Body) -> str:
    """What the API server would make of these objects, by its strictest reading."""
    documents = {"apiVersion": "v1", "kind": "List", "items": list(bodies)}
    return control_plane.kubectl(
        *("apply", "--server-side", "--force-conflicts", "--dry-run=server"),
        *("--validate=strict", "--output=name", "--filename=-"),
        stdin=json.dumps(documents),
    )


def _pods(rendered: Rendering, namespace: str) -> list[Body]:
    """A pod of each Deployment, as its controller would make it."""
    return [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {**template["metadata"], "name": "pod", "namespace": namespace},
            "spec": template["spec"],
        }
        for template in (body["spec"]["template"] for body in rendered.of_kind("Deployment"))
    ]


def _accounts(control_plane: ControlPlane, rendered: Rendering, namespace: str) -> None:
    """Make the accounts that pods ask for."""
    for component in ("operator", "router"):
        account = {"metadata": {"name": rendered.pod(component)["serviceAccountName"]}}
        with suppress(CommandFailed):  # there already
            control_plane.request(
                "POST", f"/api/v1/namespaces/{namespace}/serviceaccounts", account
            )


@pytest.mark.parametrize("name", rendering.COMBINATIONS)
def test_every_object_is_taken_as_it_is(
    control_plane: ControlPlane, restricted: str, name: str
) -> None:
    objects = _rendered(name, restricted).objects

    taken = _try(control_plane, *objects).split()

    assert len(taken) == len(objects)


def test_an_object_with_a_mistake_would_not_be_taken(
    control_plane: ControlPlane, restricted: str
) -> None:
    (budget,) = _rendered("default", restricted).of_kind("PodDisruptionBudget")
    wrong = {**budget, "spec": {**budget["spec"], "unhealthyPodEviction": "AlwaysAllow"}}

    with pytest.raises(CommandFailed, match="unhealthyPodEviction"):
        _try(control_plane, wrong)


@pytest.mark.parametrize("name", rendering.COMBINATIONS)
def test_every_pod_is_admitted_by_the_strictest_standard(
    control_plane: ControlPlane, restricted: str, name: str
) -> None:
    rendered = _rendered(name, restricted)
    _accounts(control_plane, rendered, restricted)

    for pod in _pods(rendered, restricted):
        assert _try(control_plane, pod) == "pod/pod\n"


@pytest.mark.parametrize(
    ("loosened", "complaint"),
    [
        pytest.param({"readOnlyRootFilesystem": True}, "allowPrivilegeEscalation", id="silence"),
        pytest.param({"privileged": True}, "privileged", id="privileged"),
    ],
)
def test_a_pod_that_may_more_would_not_be_admitted(
    control_plane: ControlPlane, restricted: str, loosened: Body, complaint: str
) -> None:
    rendered = _rendered("default", restricted)
    _accounts(control_plane, rendered, restricted)
    pod, _ = json.loads(json.dumps(_pods(rendered, restricted)))
    pod["spec"]["containers"][0]["securityContext"] = loosened

    with pytest.raises(CommandFailed, match=f'violates PodSecurity "restricted.*{complaint}'):
        _try(control_plane, pod)


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A cluster on which nobody has installed anything."""
    with controlplane.running(tmp_path_factory.mktemp("bare")) as running:
        yield running


@pytest.fixture
def home(bare: ControlPlane) -> Iterator[str]:
    """A namespace for a release; nothing of it is left for the next test."""
    with bare.namespace("home") as name:
        _restrict(bare, name)
        yield name
        with suppress(helm.HelmFailed):
            helm.run("uninstall", helm.RELEASE, "--namespace", name, kubeconfig=bare.kubeconfig)
        for crd in CRDS:
            with suppress(CommandFailed):
                bare.request("DELETE", crd)
        wait_until(lambda: not any(_is_there(bare, crd) for crd in CRDS), 15, "the CRDs are gone")


def _helm(
    cluster: ControlPlane,
    verb: str,
    namespace: str,
    *arguments: str | Path,
    chart: Path = helm.CHART,
) -> str:
    what = [helm.RELEASE] if verb == "uninstall" else [helm.RELEASE, chart, *rendering.IMAGE]
    return helm.run(
        verb, *what, "--namespace", namespace, *arguments, kubeconfig=cluster.kubeconfig
    )


def _is_there(cluster: ControlPlane, path: str) -> bool:
    try:
        cluster.request("GET", path)
    except CommandFailed as failed:
        if ": 404 " not in str(failed):
            raise
        return False
    return True


def _serve(cluster: ControlPlane, namespace: str, **spec: object) -> None:
    """Apply an McpServer, as soon as the kind is served as it is now."""
    body = json.dumps(mcp_server("github", namespace, url=URL, **spec))

    def is_applied() -> str:
        return cluster.kubectl("apply", "--server-side", "--filename=-", stdin=body)

    wait_until(is_applied, 15, "the McpServer is applied", ignoring=(CommandFailed,))


def _servers(cluster: ControlPlane, namespace: str) -> list[str]:
    path = f"/apis/pointsman.dev/v1alpha1/namespaces/{namespace}/mcpservers"
    return [one["metadata"]["name"] for one in cluster.request("GET", path)["items"]]


def test_installing_makes_pods_that_only_want_a_node(bare: ControlPlane, home: str) -> None:
    said = _helm(bare, "install", home)
    _serve(bare, home)

    assert "STATUS: deployed" in said
    assert f"http://pointsman.{home}.svc/mcp" in said

    def phases() -> list[str] | None:
        pods = bare.request("GET", f"/api/v1/namespaces/{home}/pods")["items"]
        return [pod["status"]["phase"] for pod in pods] if len(pods) == 3 else None

    assert wait_until(phases, 30, "an operator and two routers") == ["Pending"] * 3
    assert _servers(bare, home) == ["github"]


def test_an_upgrade_changes_the_crd_that_is_served_and_keeps_every_server(
    bare: ControlPlane, home: str, tmp_path: Path
) -> None:
    _helm(bare, "install", home)
    _serve(bare, home)
    with pytest.raises(CommandFailed, match="301"):
        bare.kubectl(
            *("apply", "--server-side", "--filename=-"),
            stdin=json.dumps(mcp_server("late", home, url=URL, timeoutSeconds=301)),
        )
    newer = shutil.copytree(helm.CHART, tmp_path / "pointsman")
    path = newer / "files" / "mcpserver.yaml"
    crd = yaml.safe_load(path.read_text())
    spec = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    assert spec["properties"]["timeoutSeconds"]["maximum"] == 300
    spec["properties"]["timeoutSeconds"]["maximum"] = 301
    path.write_text(yaml.safe_dump(crd))

    _helm(bare, "upgrade", home, chart=newer)

    _serve(bare, home, timeoutSeconds=301)
    assert _servers(bare, home) == ["github"]


def test_uninstalling_leaves_the_users_resources_and_installing_again_takes_them_up(
    bare: ControlPlane, home: str
) -> None:
    _helm(bare, "install", home)
    _serve(bare, home)

    _helm(bare, "uninstall", home, "--wait")

    assert all(_is_there(bare, crd) for crd in CRDS)
    assert _servers(bare, home) == ["github"]
    left = bare.kubectl(
        *("get", "deployments,services,pdb,roles,rolebindings", "--output=name"),
        *("--namespace", home),
    )
    assert left == ""
    clusterwide = bare.kubectl("get", "clusterroles,clusterrolebindings", "--output=name")
    assert "pointsman" not in clusterwide

    assert "STATUS: deployed" in _helm(bare, "install", home)
    assert _servers(bare, home) == ["github"]


def test_a_second_release_stands_beside_the_first(bare: ControlPlane, home: str) -> None:
    _helm(bare, "install", home)
    with bare.namespace("second") as second:
        with pytest.raises(helm.HelmFailed, match=r"mcp(servers|views)\.pointsman\.dev"):
            _helm(bare, "install", second)
        with suppress(helm.HelmFailed):  # what is left of the attempt
            _helm(bare, "uninstall", second)

        said = _helm(bare, "install", second, "--set", "crds.install=false")
        _helm(bare, "uninstall", second)

    assert "STATUS: deployed" in said
    assert f"clusterrole.rbac.authorization.k8s.io/{home}:pointsman-operator" in bare.kubectl(
        "get", "clusterroles", "--output=name"
    )
