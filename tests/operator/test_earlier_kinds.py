"""Resources that the API server took when less was forbidden, and a kind that comes and goes."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from bench import controlplane, processes
from bench.cluster_api import CRD, MCP_SERVER, connected, mcp_server
from bench.controlplane import ControlPlane
from bench.operating import AGENT, Operating, conditions, happened, operating, publishes, said
from bench.processes import Program
from bench.reporting_router import reporting, serving
from bench.waiting import until
from pointsman_contract import labels

_CRD = Path(__file__).resolve().parents[2] / "crds" / "mcpserver.yaml"
_BOUNDS = frozenset(
    [
        *("x-kubernetes-validations", "x-kubernetes-list-type", "x-kubernetes-list-map-keys"),
        *("pattern", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"),
        *("maxProperties", "enum"),
    ]
)


@pytest.fixture(scope="module")
def shared_control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A control plane on which the kind may come and go."""
    with controlplane.running(tmp_path_factory.mktemp("kinds")) as running:
        yield running


@pytest.fixture
def own_control_plane(shared_control_plane: ControlPlane) -> ControlPlane:
    """The same with the CRD as it is, and without resources of a test before."""
    shared_control_plane.kubectl("delete", "--ignore-not-found", "--wait=true", "-f", _CRD)
    controlplane.install(shared_control_plane, _CRD)
    return shared_control_plane


GOOD = "http://good.example/mcp"


def _boundless(value: Any) -> Any:
    match value:
        case dict():
            return {key: _boundless(inner) for key, inner in value.items() if key not in _BOUNDS}
        case list():
            return [_boundless(inner) for inner in value]
        case _:
            return value


def _lax() -> str:
    """The kind as it would be without any rule on the spec."""
    document: dict[str, Any] = yaml.safe_load(_CRD.read_text())
    schema = document["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    del schema["x-kubernetes-validations"]
    schema["properties"]["spec"] = _boundless(schema["properties"]["spec"])
    return json.dumps(document)


async def test_what_is_bad_and_stored_is_told_what_to_change_and_costs_nobody_else(
    own_control_plane: ControlPlane,
) -> None:
    own_control_plane.kubectl(
        "apply", "--server-side", "--force-conflicts", "-f", "-", stdin=_lax()
    )
    bad: dict[str, tuple[dict[str, Any], str, str]] = {
        "userinfo": ({"url": "http://user:canary@h/"}, "InvalidUrl", "spec.url must "),
        "star": ({"url": GOOD, "allowedTools": ["*", "x"]}, "InvalidSpec", "spec.allowedTools "),
        "late": ({"url": GOOD, "timeoutSeconds": 0}, "InvalidSpec", "spec.timeoutSeconds "),
        "future": ({"url": GOOD, "protocol": "Future"}, "InvalidSpec", "spec.protocol "),
        "bare": ({"url": GOOD, "expose": []}, "InvalidSpec", "spec.expose "),
        "long": ({"url": GOOD, "prefix": "a" * 33}, "InvalidSpec", "spec.prefix "),
        "mute": ({"url": GOOD, "tools": [{"name": "a"}]}, "InvalidSpec", "spec.tools[0] "),
        "lax": ({"url": GOOD, "definitions": {"policy": "Ask"}}, "InvalidSpec", "spec.definitions"),
        "either": (
            {"url": GOOD, "service": {"name": "a", "port": 80}},
            "InvalidSpec",
            "spec.service must ",
        ),
        "nowhere": ({"allowedTools": ["*"]}, "InvalidUrl", "spec.url must "),
        "a.dot": ({"url": GOOD}, "InvalidSpec", "metadata.name must "),
    }
    with own_control_plane.namespace("release") as release:
        async with connected(own_control_plane.kubeconfig) as api:
            with operating(own_control_plane.kubeconfig, release) as operator:
                for name, (spec, _, _) in bad.items():
                    await api.create(MCP_SERVER, mcp_server(name, "default", **spec))
                good = mcp_server("good", "default", url=GOOD, allowedTools=["*"])
                await api.create(MCP_SERVER, good)
                told = {
                    name: await said(api, name, "default", Accepted=f"False {reason}")
                    for name, (_, reason, _) in bad.items()
                }
                await said(api, "good", "default", Published="True Published")
                await publishes(api, release, "good")
                mark = own_control_plane.audit.mark()
                await api.patch(MCP_SERVER, "userinfo", {"spec": {"url": GOOD}}, "default")
                await said(api, "userinfo", "default", Accepted="True Accepted")
                await publishes(api, release, "good", "userinfo")
                output = operator.program.output

            written = {one.name for one in own_control_plane.audit.writes(mark, agent=AGENT)}

    for name, (_, _, words) in bad.items():
        message = told[name]["status"]["conditions"][0]["message"]
        assert message.startswith(words)
        assert set(conditions(told[name]).values()) - {"False NotAccepted"} == {
            f"False {bad[name][1]}"
        }
    assert "canary" not in json.dumps([one["status"] for one in told.values()]) + output
    assert written <= {
        "",
        "userinfo",
        labels.REGISTER_NAME,
        labels.config_map_name("default", "userinfo"),
    }


async def test_a_resource_that_turns_bad_is_published_no_longer(
    own_control_plane: ControlPlane,
) -> None:
    own_control_plane.kubectl(
        "apply", "--server-side", "--force-conflicts", "-f", "-", stdin=_lax()
    )
    with own_control_plane.namespace("release") as release:
        async with connected(own_control_plane.kubeconfig) as api:
            with operating(own_control_plane.kubeconfig, release):
                good = mcp_server("github", "default", url=GOOD, allowedTools=["*"])
                await api.create(MCP_SERVER, good)
                await publishes(api, release, "github")
                await api.patch(MCP_SERVER, "github", {"spec": {"url": "ftp://x/"}}, "default")
                told = await said(api, "github", "default", Accepted="False InvalidUrl")
                await publishes(api, release)

    assert {one["observedGeneration"] for one in told["status"]["conditions"]} == {2}
    assert told["status"]["toolCount"] == 0
    assert "prefix" not in told["status"]


def _older() -> str:
    """The kind as it was before definitions had digests and tools could be flagged."""
    document: dict[str, Any] = yaml.safe_load(_CRD.read_text())
    schema = document["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    said_of_server = schema["properties"]["status"]["properties"]
    for field in ("flaggedTools", "flaggedToolsTruncated", "skippedToolsTruncated"):
        del said_of_server[field]
    for listed in ("tools", "skippedTools"):
        del said_of_server[listed]["items"]["properties"]["digest"]
    return json.dumps(document)


def _warnings(operator: Operating) -> list[str]:
    warnings = [line["message"] for line in operator.log if line["level"] == "WARNING"]
    return [warning for warning in warnings if "McpServer CRD" in warning]


HELD = {"name": "z", "reason": "DefinitionChanged", "message": "m", "digest": "sha256:1"}
FLAGGED = HELD | {"name": "y"}


async def test_on_an_older_kind_a_status_says_what_that_can_hold_and_the_rest_is_told(
    own_control_plane: ControlPlane,
) -> None:
    plane = own_control_plane
    plane.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=_older())
    with plane.namespace("release") as release, plane.namespace("tenant") as tenant:
        async with connected(plane.kubeconfig) as api, reporting("r1") as router:
            with operating(
                plane.kubeconfig, release, router.url, WATCH_NAMESPACES=tenant
            ) as operator:
                spec = {"url": GOOD, "allowedTools": ["*"]}
                made = await api.create(MCP_SERVER, mcp_server("github", tenant, **spec))
                uid = made["metadata"]["uid"]
                entry = serving(f"{tenant}/github", uid, "a", skippedTools=[HELD])
                await router.reports(entry)
                told = await said(api, "github", tenant, Ready="True Ready")
                await happened(api, "github", tenant, "Published", "DefinitionChanged", "Ready")
                mark = plane.audit.mark()
                flagged = serving(
                    *(f"{tenant}/github", uid, "a"), skippedTools=[HELD], flaggedTools=[FLAGGED]
                )
                await router.reports(flagged)
                *_, change = await happened(
                    api,
                    "github",
                    tenant,
                    "Published",
                    "DefinitionChanged",
                    "Ready",
                    "DefinitionChanged",
                )
                written = plane.audit.writes(mark, agent=AGENT, resource="mcpservers")
                failed = await operator.metric(
                    "pointsman_operator_reconciles_total", outcome="failed"
                )
                warnings = _warnings(operator)

    status = told["status"]
    assert [tool["name"] for tool in status["tools"]] == ["a"]
    assert status["skippedTools"] == [{key: HELD[key] for key in ("name", "reason", "message")}]
    assert "the definition of y" in change["note"]
    assert written == ()
    assert failed == 0
    assert len(warnings) == 1
    assert "apply the chart's CRDs" in warnings[0]


async def test_an_older_kind_that_is_brought_up_to_date_is_used(
    own_control_plane: ControlPlane,
) -> None:
    plane = own_control_plane
    plane.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=_older())
    with plane.namespace("release") as release, plane.namespace("tenant") as tenant:
        async with connected(plane.kubeconfig) as api, reporting("r1") as router:
            with operating(
                plane.kubeconfig, release, router.url, WATCH_NAMESPACES=tenant, RESYNC_SECONDS="1"
            ) as operator:
                spec = {"url": GOOD, "allowedTools": ["*"]}
                made = await api.create(MCP_SERVER, mcp_server("github", tenant, **spec))
                uid = made["metadata"]["uid"]
                await router.reports(serving(f"{tenant}/github", uid, "a", flaggedTools=[HELD]))
                await said(api, "github", tenant, Ready="True Ready")
                await operator.resynced()
                await operator.resynced()
                warnings = _warnings(operator)
                plane.kubectl("apply", "--server-side", "--force-conflicts", "-f", _CRD)

                async def says_all() -> Any:
                    status = (await api.get(MCP_SERVER, "github", tenant))["status"]
                    return status if "flaggedTools" in status else None

                status = await until(says_all, deadline_s=30, what="the status has everything")

    assert len(warnings) == 1
    assert status["flaggedTools"] == [HELD]
    assert status["tools"][0]["digest"] == "sha256:0"


async def test_without_the_kind_the_operator_ends_and_says_so(
    own_control_plane: ControlPlane,
) -> None:
    own_control_plane.kubectl("delete", "-f", _CRD, "--wait=true")
    environment = {
        "KUBECONFIG": str(own_control_plane.kubeconfig),
        "POINTSMAN_OPERATOR_NAMESPACE": "default",
        "POINTSMAN_OPERATOR_ADMIN_HOST": "127.0.0.1",
        "POINTSMAN_OPERATOR_ADMIN_PORT": "0",
    }
    command = processes.python("pointsman_operator")
    with Program("operator", command, environment=environment) as program:
        status = await program.ends(30)

        assert status == 1
        assert "install the CRD" in program.output


async def test_while_the_kind_is_unknown_what_was_published_stays(
    own_control_plane: ControlPlane,
) -> None:
    with own_control_plane.namespace("release") as release:
        async with connected(own_control_plane.kubeconfig) as api:
            with operating(own_control_plane.kubeconfig, release) as operator:
                good = mcp_server("github", "default", url=GOOD, allowedTools=["*"])
                await api.create(MCP_SERVER, good)
                kept = await publishes(api, release, "github")
                await operator.end()
                # Nobody sees the resources go: the kind vanishes with them.
                await api.delete(CRD, "mcpservers.pointsman.dev")
                await until(lambda: _is_gone(own_control_plane), deadline_s=60)
                operator.program.start()
                status = await operator.program.ends(30)

                assert status == 1
                assert await publishes(api, release, "github") == kept

                own_control_plane.kubectl("apply", "--server-side", "-f", _CRD)
                own_control_plane.kubectl(
                    "wait", "--for=condition=Established", "--timeout=30s", "-f", _CRD
                )
                await until(lambda: _is_served(own_control_plane), deadline_s=30)
                await operator.begin()
                await publishes(api, release, deadline_s=30)


def _is_gone(control_plane: ControlPlane) -> bool:
    return not control_plane.kubectl("get", "crd", "-o", "name").strip()


def _is_served(control_plane: ControlPlane) -> bool:
    return "mcpservers" in control_plane.kubectl("api-resources", "--api-group=pointsman.dev")


async def test_a_kind_that_vanishes_under_it_ends_the_operator(
    own_control_plane: ControlPlane,
) -> None:
    with (
        own_control_plane.namespace("release") as release,
        operating(own_control_plane.kubeconfig, release) as operator,
    ):
        own_control_plane.kubectl("delete", "-f", _CRD, "--wait=true")
        status = await operator.program.ends(60)

    assert status == 1
