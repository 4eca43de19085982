"""What a resource says of the routers that serve it, on a real API server."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest

from bench.cluster_api import MCP_SERVER, Body, ClusterApi, mcp_server
from bench.controlplane import ControlPlane
from bench.operating import (
    AGENT,
    Operating,
    condition,
    conditions,
    events,
    happened,
    operating,
    published,
    said,
)
from bench.reporting_router import ReportingRouter, reporting, serving
from bench.waiting import until
from pointsman_contract.report import State

pytestmark = pytest.mark.usefixtures("crd")


async def create(cluster: ClusterApi, name: str, namespace: str, **spec: Any) -> Body:
    spec = {"url": "http://good.example/mcp", "allowedTools": ["*"], **spec}
    return await cluster.create(MCP_SERVER, mcp_server(name, namespace, **spec))


def entry(of: Body, *tools: str, **members: Any) -> Any:
    metadata = of["metadata"]
    generation = members.pop("generation", metadata["generation"])
    server = f"{metadata['namespace']}/{metadata['name']}"
    return serving(server, metadata["uid"], *tools, generation=generation, **members)


async def until_counted(cluster: ClusterApi, name: str, namespace: str, **counts: int) -> None:
    async def is_counted() -> bool:
        found = await cluster.get(MCP_SERVER, name, namespace)
        return bool(found.get("status", {}).get("routers") == counts)

    await until(is_counted, deadline_s=20, what=f"{name} says routers {counts}")


async def test_a_server_that_the_routers_serve_is_ready(
    control_plane: ControlPlane, cluster: ClusterApi, namespace: str, release_namespace: str
) -> None:
    async with reporting("r1") as one, reporting("r2") as two:
        with operating(
            control_plane.kubeconfig,
            release_namespace,
            one.url,
            two.url,
            WATCH_NAMESPACES=namespace,
            SETTLED_SECONDS="2",
        ):
            made = await create(cluster, "github", namespace)
            await said(cluster, "github", namespace, Ready="False Progressing")
            served = entry(
                made,
                "search",
                "fetch",
                skippedTools=[{"name": "bad", "reason": "InvalidSchema", "message": "why"}],
                flaggedTools=[
                    {
                        "name": "fetch",
                        "reason": "DefinitionChanged",
                        "message": "m",
                        "digest": "sha256:0",
                    }
                ],
                unmatchedAllowedTools=["gone"],
                protocolVersion="2025-11-25",
                serverInfo={"name": "GitHub", "version": "1.2"},
                schemaBytes=1234,
            )
            await one.reports(served)
            await two.reports(served)
            told = await said(
                cluster, "github", namespace, Ready="True Ready", Discovered="True Discovered"
            )

            assert told["status"]["toolCount"] == 2
            assert told["status"]["tools"] == [
                {
                    "name": name,
                    "exposedName": f"p.{name}",
                    "safeName": f"p__{name}",
                    "digest": "sha256:0",
                }
                for name in ("fetch", "search")
            ]
            assert told["status"]["skippedTools"] == [
                {"name": "bad", "reason": "InvalidSchema", "message": "why"}
            ]
            assert told["status"]["flaggedTools"] == [
                {
                    "name": "fetch",
                    "reason": "DefinitionChanged",
                    "message": "m",
                    "digest": "sha256:0",
                }
            ]
            assert told["status"]["unmatchedAllowedTools"] == ["gone"]
            assert told["status"]["protocolVersion"] == "2025-11-25"
            assert told["status"]["serverInfo"] == {"name": "GitHub", "version": "1.2"}
            assert told["status"]["schemaBytes"] == 1234
            await until_counted(cluster, "github", namespace, ready=2, total=2)

    wide = control_plane.kubectl("get", "mcp", "-n", namespace, "-o", "wide").splitlines()[1]
    columns = wide.split()
    assert columns[:5] == ["github", "True", "2", "github", "Ready"]
    assert columns[6:] == ["http://good.example/mcp", "2025-11-25", "2"]


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        pytest.param(
            {"state": State.SKIPPED, "reason": "Unreachable", "message": "no answer"},
            {"Discovered": "False Unreachable", "Ready": "False NotDiscovered"},
            id="an upstream that cannot be reached",
        ),
        pytest.param(
            {"state": State.SKIPPED, "reason": "NoToolsMatched", "unmatchedAllowedTools": ["ADD"]},
            {"Discovered": "True Discovered", "Ready": "False NoToolsMatched"},
            id="C07, C08 no allowed tool is there",
        ),
        pytest.param(
            {"state": State.PENDING},
            {"Discovered": "Unknown Pending", "Ready": "False NotDiscovered"},
            id="an upstream not yet listed",
        ),
        pytest.param(
            {"state": State.STALE, "reason": "Timeout", "message": "too late"},
            {"Discovered": "False Timeout", "Ready": "False Stale"},
            id="an upstream that was lost",
        ),
        pytest.param(
            {"state": State.SKIPPED, "reason": "NoTools"},
            {"Discovered": "True Discovered", "Ready": "False NoTools"},
            id="an upstream without tools",
        ),
    ],
)
async def test_what_keeps_a_server_from_being_ready_is_told(
    control_plane: ControlPlane,
    cluster: ClusterApi,
    namespace: str,
    release_namespace: str,
    members: dict[str, Any],
    expected: dict[str, str],
) -> None:
    made = await create(cluster, "github", namespace)
    async with reporting("r1", entry(made, **members)) as router:
        with operating(
            control_plane.kubeconfig, release_namespace, router.url, WATCH_NAMESPACES=namespace
        ):
            told = await said(cluster, "github", namespace, 10.0, **expected)

    if message := members.get("message"):
        assert condition(told, "Ready")["message"] == message
    assert told["status"].get("unmatchedAllowedTools", []) == members.get(
        "unmatchedAllowedTools", []
    )


async def test_of_three_routers_one_hangs_and_one_lags_and_no_other_server_waits(
    control_plane: ControlPlane, cluster: ClusterApi, namespace: str, release_namespace: str
) -> None:
    async with reporting("r1") as good, reporting("r2") as late, reporting("r3") as hung:
        hung.hangs = True
        with operating(
            control_plane.kubeconfig,
            release_namespace,
            *(router.url for router in (good, late, hung)),
            WATCH_NAMESPACES=namespace,
            SETTLED_SECONDS="0.5",
        ):
            made = await create(cluster, "github", namespace)
            other = await create(cluster, "other", namespace)
            await good.reports(entry(made, "a"), entry(other, "b"))
            await late.reports(entry(made, "a", generation=0), entry(other, "b"))
            await said(cluster, "other", namespace, 10.0, Ready="True Ready")
            told = await said(cluster, "github", namespace, Ready="False Progressing")
            assert condition(told, "Ready")["message"] == (
                f"router {late.name} does not serve this generation yet"
            )
            await until_counted(cluster, "github", namespace, ready=1, total=3)


async def until_ready_says(
    cluster: ClusterApi, name: str, namespace: str, message: str, deadline_s: float = 10.0
) -> Body:
    """The resource once its Ready condition has that message."""

    async def as_expected() -> Body | None:
        found = await cluster.get(MCP_SERVER, name, namespace)
        return found if condition(found, "Ready")["message"] == message else None

    return await until(as_expected, deadline_s, f"{name} says {message}")


async def test_routers_that_differ_for_long_are_told_apart_and_shortly_are_not(
    control_plane: ControlPlane, cluster: ClusterApi, namespace: str, release_namespace: str
) -> None:
    made = [await create(cluster, name, namespace) for name in ("github", "slack")]
    github, slack = (entry(one, "a", "b") for one in made)
    async with (
        reporting("r1", github, slack) as one,
        reporting("r2", github, slack) as two,
        _operating_on(
            control_plane, namespace, release_namespace, one, two, settled_s=3
        ) as operator,
    ):
        for name in ("github", "slack"):
            await said(cluster, name, namespace, Ready="True Ready")
            await until_counted(cluster, name, namespace, ready=2, total=2)
        await happened(cluster, "slack", namespace, "Published", "Ready")
        await happened(cluster, "github", namespace, "Published", "Ready")
        writes = await status_writes(operator)
        await one.also_reports(entry(made[1], "a", "b", "c"))
        await two.also_reports(entry(made[1], "a", "b", "c"))
        await said(cluster, "slack", namespace, Ready="True Ready")
        await two.also_reports(entry(made[0], "a"))
        alone = f"agents can call its tools; routers differ: {two.name} does not offer b"
        told = await until_ready_says(cluster, "github", namespace, alone)
        listed = await cluster.get(MCP_SERVER, "slack", namespace)
        written = await status_writes(operator) - writes
        await one.also_reports(entry(made[0], "a"))
        healed = await until_ready_says(cluster, "github", namespace, "agents can call its tools")

    assert [tool["name"] for tool in told["status"]["tools"]] == ["a"]
    assert told["status"]["toolCount"] == 1
    assert conditions(told)["Ready"] == "True Ready"
    assert listed["status"]["toolCount"] == 3
    assert condition(listed, "Ready")["message"] == "agents can call its tools"
    assert written == 2
    assert healed["status"]["tools"] == told["status"]["tools"]


async def status_writes(operator: Operating) -> float:
    return await operator.metric("pointsman_operator_api_writes_total", kind="status")


@asynccontextmanager
async def _operating_on(
    control_plane: ControlPlane,
    namespace: str,
    release: str,
    *routers: ReportingRouter,
    settled_s: float,
) -> AsyncIterator[Operating]:
    with operating(
        control_plane.kubeconfig,
        release,
        *(router.url for router in routers),
        WATCH_NAMESPACES=namespace,
        SETTLED_SECONDS=str(settled_s),
    ) as operator:
        yield operator


async def test_a_router_that_begins_anew_is_not_counted_before_it_had_its_time(
    control_plane: ControlPlane, cluster: ClusterApi, namespace: str, release_namespace: str
) -> None:
    made = [await create(cluster, f"server-{number}", namespace) for number in range(3)]
    served = [entry(one, "a") for one in made]
    pending = [entry(one, state=State.PENDING) for one in made]
    async with (
        reporting("r1", *served) as one,
        reporting("r2", *served) as two,
        _operating_on(
            control_plane, namespace, release_namespace, one, two, settled_s=1
        ) as operator,
    ):
        for server in made:
            await until_counted(cluster, server["metadata"]["name"], namespace, ready=2, total=2)
        new = await create(cluster, "new", namespace)
        await said(cluster, "new", namespace, Ready="False Progressing")
        looks = await operator.metric("pointsman_operator_reconciles_total")
        before = await cluster.list(MCP_SERVER, namespace)
        await two.is_replaced("r2-anew")
        await until(lambda: _is_known(two, "r2-anew-0"))
        await two.reports(*pending)
        await until(lambda: _is_known(two, "r2-anew-1"))
        await operator.looked_at(int(looks) + len(made))
        await one.also_reports(entry(new, "a"))
        await said(cluster, "new", namespace, Ready="True Ready")
        meanwhile = await cluster.list(MCP_SERVER, namespace)
        await two.reports(*served, entry(new, "a"))
        await until_counted(cluster, "new", namespace, ready=2, total=2)
        after = await cluster.list(MCP_SERVER, namespace)

    names = {server["metadata"]["name"] for server in made}
    kept = [
        {one["metadata"]["name"]: one["metadata"]["resourceVersion"] for one in found}
        for found in (before, meanwhile, after)
    ]
    assert [{name: found[name] for name in names} for found in kept[1:]] == [
        {name: kept[0][name] for name in names}
    ] * 2


async def test_a_server_with_more_tools_than_clients_take_says_so_and_stays_ready(
    control_plane: ControlPlane, cluster: ClusterApi, namespace: str, release_namespace: str
) -> None:
    made = await create(cluster, "github", namespace)
    tools = [f"tool-{number}" for number in range(97)]
    async with reporting("r1", entry(made, *tools[:40])) as router:
        with operating(
            control_plane.kubeconfig, release_namespace, router.url, WATCH_NAMESPACES=namespace
        ):
            before = await said(cluster, "github", namespace, Ready="True Ready")
            await router.reports(entry(made, *tools))
            warning = (
                "agents can call its tools; 97 tools: some clients take at most 40 or 80 of them:"
                " allow fewer, or give agents a view"
            )
            after = await until_ready_says(cluster, "github", namespace, warning)
            happenings = await events(cluster, "github", namespace)

    times = [condition(told, "Ready")["lastTransitionTime"] for told in (before, after)]
    assert condition(before, "Ready")["message"] == "agents can call its tools"
    assert after["status"]["toolCount"] == 97
    assert times[0] == times[1]
    assert [one["reason"] for one in happenings] == ["Published", "Ready"]


async def test_a_restart_among_routers_writes_nothing(
    control_plane: ControlPlane, cluster: ClusterApi, namespace: str, release_namespace: str
) -> None:
    made = [await create(cluster, f"server-{number}", namespace) for number in range(5)]
    served = [entry(one, "a") for one in made]
    async with reporting("r1", *served) as one, reporting("r2", *served) as two:
        with operating(
            control_plane.kubeconfig,
            release_namespace,
            one.url,
            two.url,
            WATCH_NAMESPACES=namespace,
            SETTLED_SECONDS="0.5",
        ) as operator:
            for server in made:
                await said(cluster, server["metadata"]["name"], namespace, Ready="True Ready")

            async def all_are_counted() -> bool:
                found = await cluster.list(MCP_SERVER, namespace)
                return all("routers" in server["status"] for server in found)

            await until(all_are_counted, deadline_s=15)
            await operator.end()
            mark = control_plane.audit.mark()
            await operator.begin()
            await until(lambda: _have_answered(one, two, polls=2), deadline_s=30)

            assert control_plane.audit.writes(mark, agent=AGENT) == ()


def _is_known(router: ReportingRouter, tag: str) -> bool:
    """Whether the operator has what a router reported under that tag."""
    return router.polls[-1].get("since") == f'"{tag}"'


def _have_answered(*routers: ReportingRouter, polls: int) -> bool:
    return all(
        len([poll for poll in router.polls if "since" not in poll]) >= polls for router in routers
    )


async def test_an_error_that_is_worded_anew_each_time_is_written_once_in_a_while(
    control_plane: ControlPlane, cluster: ClusterApi, namespace: str, release_namespace: str
) -> None:
    made = await create(cluster, "github", namespace)

    def failing(number: int) -> Any:
        return entry(
            *(made,), state=State.SKIPPED, reason="UpstreamRpcError", message=f"request {number}"
        )

    async with reporting("r1", failing(0)) as router:
        with operating(
            control_plane.kubeconfig, release_namespace, router.url, WATCH_NAMESPACES=namespace
        ) as operator:
            await said(cluster, "github", namespace, Discovered="False UpstreamRpcError")
            await until_counted(cluster, "github", namespace, ready=1, total=1)
            await router.reports(failing(1))

            async def is_reworded() -> bool:
                found = await cluster.get(MCP_SERVER, "github", namespace)
                return bool(condition(found, "Discovered")["message"] == "request 1")

            await until(is_reworded, deadline_s=30)
            mark = control_plane.audit.mark()
            for number in range(2, 5):
                looks = await operator.metric(LOOKS)
                await router.reports(failing(number))
                await until(partial(_has_looked, operator, looks), deadline_s=30)
            await router.reports(entry(made, "a"))
            await said(cluster, "github", namespace, Ready="True Ready")
            written = control_plane.audit.writes(mark, agent=AGENT, resource="mcpservers")

    assert len(written) == 1


LOOKS = "pointsman_operator_reconciles_total"


async def _has_looked(operator: Operating, looks: float) -> bool:
    return await operator.metric(LOOKS) > looks


async def test_until_a_silent_router_was_waited_for_nothing_new_is_said_of_reports(
    control_plane: ControlPlane, cluster: ClusterApi, namespace: str, release_namespace: str
) -> None:
    made = await create(cluster, "github", namespace)
    async with reporting("r1", entry(made, "a")) as router:
        with operating(
            control_plane.kubeconfig, release_namespace, router.url, WATCH_NAMESPACES=namespace
        ) as operator:
            ready = await said(cluster, "github", namespace, Ready="True Ready")
            await operator.end()
            router.hangs = True
            await operator.begin()
            new = await create(cluster, "new", namespace)
            unheard = await said(cluster, "new", namespace, Published="True Published")
            assert conditions(unheard).keys() == {"Accepted", "Published"}
            still = await cluster.get(MCP_SERVER, "github", namespace)
            assert still["status"] == ready["status"]

            told = await said(cluster, "github", namespace, Ready="False NoRouter")
            assert told["status"]["toolCount"] == 1
            assert condition(told, "Discovered")["status"] == "Unknown"
            await said(cluster, "new", namespace, Ready="False NoRouter")
            assert new["metadata"]["name"] in await published(cluster, release_namespace)


async def test_odd_names_of_an_upstream_reach_the_status_as_they_are(
    control_plane: ControlPlane, cluster: ClusterApi, namespace: str, release_namespace: str
) -> None:
    odd = ["\U0001f600", "a\u0085b", "\ufffe", "\U0010ffff", '"\\', "\u2028"]
    made = await create(cluster, "github", namespace)
    skipped = [{"name": "x\x1b[31m", "reason": "InvalidName", "message": "hidden\x07"}]
    word = entry(made, *odd, skippedTools=skipped, unmatchedAllowedTools=odd)
    async with reporting("r1", word) as router:
        with operating(
            control_plane.kubeconfig, release_namespace, router.url, WATCH_NAMESPACES=namespace
        ):
            told = await said(cluster, "github", namespace, Ready="True Ready")

    assert {tool["name"] for tool in told["status"]["tools"]} == set(odd)
    assert set(told["status"]["unmatchedAllowedTools"]) == set(odd)
    assert told["status"]["skippedTools"] == [
        {"name": "x\u00b7[31m", "reason": "InvalidName", "message": "hidden\u00b7"}
    ]


async def test_long_lists_are_cut_and_say_so_and_changed_definitions_are_not_lost(
    control_plane: ControlPlane, cluster: ClusterApi, namespace: str, release_namespace: str
) -> None:
    approved = {"policy": "Warn", "approved": {"tool-0999": f"sha256:{'0' * 64}"}}
    made = await create(cluster, "github", namespace, definitions=approved)
    tools = [f"tool-{number:04}" for number in range(1000)]
    flags = [{"name": name, "reason": "DefinitionChanged", "message": "m"} for name in tools]
    skips = [{"name": f"x{name}", "reason": "TooLarge", "message": "m"} for name in tools]
    word = entry(made, *tools, flaggedTools=flags, skippedTools=skips)
    async with reporting("r1", word) as router:
        with operating(
            control_plane.kubeconfig, release_namespace, router.url, WATCH_NAMESPACES=namespace
        ):
            told = await said(cluster, "github", namespace, Ready="True Ready")

    assert told["status"]["toolCount"] == 1000
    assert len(told["status"]["tools"]) == 500
    assert told["status"]["toolsTruncated"] is True
    assert told["status"]["flaggedTools"][0]["name"] == "tool-0999"
    for listed in ("flaggedTools", "skippedTools"):
        assert len(told["status"][listed]) == 50
        assert told["status"][f"{listed}Truncated"] is True


async def test_a_condition_changes_its_time_only_when_it_flips(
    control_plane: ControlPlane, cluster: ClusterApi, namespace: str, release_namespace: str
) -> None:
    made = await create(cluster, "github", namespace)
    unreachable = {"state": State.SKIPPED, "reason": "Unreachable", "message": "m"}
    async with reporting("r1", entry(made, **unreachable)) as router:
        with operating(
            control_plane.kubeconfig, release_namespace, router.url, WATCH_NAMESPACES=namespace
        ):
            before = await said(cluster, "github", namespace, Discovered="False Unreachable")
            await router.reports(entry(made, **{**unreachable, "reason": "Timeout"}))
            after = await said(cluster, "github", namespace, Discovered="False Timeout")
            times = [
                {one["type"]: one["lastTransitionTime"] for one in told["status"]["conditions"]}
                for told in (before, after)
            ]

    assert times[0] == times[1]


async def test_a_status_that_somebody_edits_is_right_again(
    control_plane: ControlPlane, cluster: ClusterApi, namespace: str, release_namespace: str
) -> None:
    made = await create(cluster, "github", namespace)
    async with reporting("r1", entry(made, "a")) as router:
        with operating(
            control_plane.kubeconfig, release_namespace, router.url, WATCH_NAMESPACES=namespace
        ):
            right = (await said(cluster, "github", namespace, Ready="True Ready"))["status"]
            spoilt = {"status": {"toolCount": 7, "prefix": "other", "tools": [], "conditions": []}}
            await cluster.patch(MCP_SERVER, "github", spoilt, namespace, subresource="status")
            again = (await said(cluster, "github", namespace, Ready="True Ready"))["status"]

    for one in (*right["conditions"], *again["conditions"]):
        del one["lastTransitionTime"]
    assert again == right
