"""What an approval changes, by what a report or a resource says."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from bench.reporting_router import SINCE
from pointsman import approvable, approval
from pointsman.approvable import Approvable, NothingTold
from pointsman.approval import NotApproved
from pointsman_contract.meta import Policy
from pointsman_contract.report import Report, ServerReport, printable
from pointsman_operator import spec

SERVED, WAITING, OLD = (f"sha256:{digit * 64}" for digit in "123")


def tool(name: str, digest: str = SERVED) -> dict[str, str]:
    return {
        "name": name,
        "exposedName": f"github.{name}",
        "safeName": f"github__{name}",
        "digest": digest,
    }


def waiting(name: str, digest: str | None = WAITING) -> dict[str, str]:
    entry = {"name": name, "reason": "DefinitionChanged", "message": "approve it"}
    return entry | ({"digest": digest} if digest else {})


def left_out(name: str) -> dict[str, str]:
    return {"name": name, "reason": "InvalidSchema", "message": "inputSchema must be an object"}


def report(server: str = "tools/github", **members: Any) -> Report:
    plain = {"id": server, "state": "Serving", "since": SINCE}
    entry = ServerReport.model_validate(plain | members)
    return Report(instance="r", started_at=SINCE, catalogue="0", servers=(entry,))


def resource(
    approved: dict[str, str] | None = None,
    policy: str | None = None,
    generation: int = 1,
    **status: Any,
) -> bytes:
    definitions = {"approved": approved, "policy": policy}
    body = {
        "apiVersion": "pointsman.dev/v1alpha1",
        "kind": "McpServer",
        "metadata": {
            "name": "github",
            "namespace": "tools",
            "generation": generation,
            "managedFields": [{"x": None}],
        },
        "spec": {"url": "http://h/", "definitions": definitions},
        "status": {"observedGeneration": 1, **status} if status else {},
    }
    return json.dumps(body).encode()


def ready(reason: str, message: str = "") -> dict[str, Any]:
    return {"conditions": [{"type": "Ready", "reason": reason, "message": message}]}


def reported(**members: Any) -> Approvable:
    return approvable.reported(report(**members), "tools/github")


def patch(found: Approvable, *names: str, **how: Any) -> Any:
    return json.loads(approval.decide(found, names, **how).patch)["spec"]["definitions"]


def told(found: Approvable, *names: str, **how: Any) -> list[str]:
    return list(approval.told(approval.decide(found, names, **how)))


def refusal(found: Approvable, *names: str, **how: Any) -> str:
    with pytest.raises(NotApproved) as refused:
        approval.decide(found, names, **how)
    return str(refused.value)


def test_every_tool_that_is_served_or_waits_is_approved_as_it_is_now() -> None:
    found = reported(
        tools=[tool("search")],
        skippedTools=[waiting("create"), left_out("broken")],
        flaggedTools=[waiting("search", SERVED)],
    )

    assert patch(found) == {"approved": {"create": WAITING, "search": SERVED}}


def test_only_what_is_named_is_approved() -> None:
    found = reported(tools=[tool("search"), tool("list")], skippedTools=[waiting("create")])

    assert patch(found, "create", "search", "create") == {
        "approved": {"create": WAITING, "search": SERVED}
    }


def test_a_policy_is_part_of_the_patch_where_one_is_wished() -> None:
    found = reported(tools=[tool("search")])

    assert patch(found, policy=Policy.ENFORCE) == {
        "approved": {"search": SERVED},
        "policy": "Enforce",
    }


def test_a_resource_is_read_with_its_status() -> None:
    found = approvable.stated(
        resource(tools=[tool("search")], skippedTools=[waiting("create"), left_out("broken")])
    )

    assert found.server == "tools/github"
    assert patch(found) == {"approved": {"create": WAITING, "search": SERVED}}


@pytest.mark.parametrize("prunes", [False, True], ids=["left", "taken out"])
def test_what_is_not_offered_is_taken_out_only_where_that_is_wished(prunes: bool) -> None:
    before = {"search": SERVED, "gone": OLD, "broken": OLD}
    found = approvable.stated(
        resource(before, "Enforce", tools=[tool("search")], skippedTools=[left_out("broken")])
    )

    expected = {"search": SERVED} | ({"gone": None} if prunes else {})
    assert patch(found, prunes=prunes) == {"approved": expected}


def test_a_router_and_the_resource_are_read_together() -> None:
    truncated = approvable.stated(
        resource({"search": OLD}, "Warn", tools=[tool("search")], toolsTruncated=True)
    )

    found = approvable.both(truncated, report(tools=[tool("search"), tool("list")]))

    assert patch(found) == {"approved": {"list": SERVED, "search": SERVED}}
    assert told(found)[1:3] == [
        "  list: 111111111111, new",
        "  search: 333333333333 -> 111111111111",
    ]


def test_a_person_is_told_what_changes_and_how_to_apply_it() -> None:
    found = approvable.stated(
        resource(
            {"search": SERVED, "create": OLD, "gone": OLD},
            "Warn",
            tools=[tool("search"), tool("list")],
            skippedTools=[waiting("create")],
        )
    )

    assert told(found, policy=Policy.ENFORCE) == [
        "tools/github: 3 definitions to approve",
        "  create: 333333333333 -> 222222222222",
        "  list: 111111111111, new",
        "  search: 111111111111, as before",
        "  gone: not offered (not allowed, or gone), still approved (--prune takes it out)",
        "policy: Warn -> Enforce",
        (
            "to apply it, pipe it into: kubectl patch mcpserver github --namespace tools"
            " --type merge --patch-file /dev/stdin"
        ),
    ]


def test_where_the_resource_is_not_known_it_is_told_what_is_served_and_what_waits() -> None:
    found = reported(tools=[tool("search")], skippedTools=[waiting("create")])

    assert told(found)[:3] == [
        "tools/github: 2 definitions to approve",
        "  create: 222222222222, left out so far",
        "  search: 111111111111, served",
    ]


def test_an_approval_that_does_not_matter_yet_says_so() -> None:
    found = approvable.stated(resource(tools=[tool("search")]))

    assert told(found)[2] == (
        "policy: Off, so that no approval matters (--policy Enforce, or Warn, changes that)"
    )
    assert told(found, policy=Policy.WARN)[2] == "policy: Off -> Warn"


def test_a_server_of_a_file_is_approved_in_its_file() -> None:
    found = approvable.reported(report("github", tools=[tool("search")]), "github")

    assert told(found)[-1] == "the server is one of a file: write there what is under spec"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        pytest.param(
            "serach",
            "no tool serach of tools/github is served or waits for approval: did you mean search?",
            id="a name misspelled",
        ),
        pytest.param(
            "x",
            ("no tool x of tools/github is served or waits for approval: there are create, search"),
            id="a name like no other",
        ),
        pytest.param(
            "github.search",
            ("github.search is what agents call the tool search of tools/github: name it search"),
            id="the name that agents use",
        ),
        pytest.param(
            "broken",
            "broken of tools/github is left out, and not for its definition: InvalidSchema",
            id="a tool that is left out for another reason",
        ),
    ],
)
def test_a_tool_that_cannot_be_approved_is_refused_with_what_was_meant(
    name: str, said: str
) -> None:
    found = reported(tools=[tool("search")], skippedTools=[waiting("create"), left_out("broken")])

    assert refusal(found, "search", name) == said


@pytest.mark.parametrize(
    "status",
    [
        pytest.param({"tools": [tool("search")], "toolsTruncated": True}, id="tools cut short"),
        pytest.param(
            {"tools": [tool("search")], "skippedTools": [waiting(f"t{n}") for n in range(50)]},
            id="as many left out as a status holds",
        ),
        pytest.param({"tools": [tool("search"), {"name": "list"}]}, id="a tool without its digest"),
        pytest.param({"tools": [tool("search")], "observedGeneration": 0}, id="of before a change"),
        pytest.param({"tools": [tool("search")], **ready("NoRouter")}, id="no router"),
        pytest.param({"tools": [tool("search")], **ready("Progressing")}, id="routers on the way"),
    ],
)
def test_a_status_that_holds_a_part_approves_what_is_named_and_never_everything(
    status: dict[str, Any],
) -> None:
    found = approvable.stated(resource({"gone": OLD}, **status))

    assert patch(found, "search") == {"approved": {"search": SERVED}}
    assert "gone" not in " ".join(told(found, "search"))
    for refused in (
        refusal(found),
        refusal(found, "search", prunes=True),
        refusal(found, "elsewhere"),
    ):
        assert "holds" in refused
        assert "--status URL" in refused


def test_a_resource_that_was_changed_is_not_read_by_the_status_of_before() -> None:
    found = approvable.stated(resource(generation=2, tools=[tool("search")]))

    assert refusal(found) == (
        "the status of tools/github holds what was seen before the resource was changed: ask a"
        " router, with --status URL of its admin port"
    )


@pytest.mark.parametrize("asks", [False, True], ids=["by the status", "by one router"])
def test_nothing_is_pruned_while_the_routers_differ(asks: bool) -> None:
    differing = ready("Ready", "1 tool; routers differ: only r1 offers gone")
    found = approvable.stated(
        resource({"search": OLD, "gone": OLD}, "Warn", tools=[tool("search")], **differing)
    )
    if asks:
        found = approvable.both(found, report(tools=[tool("search")]))

    assert "take nothing out before they agree" in refusal(found, prunes=True)
    assert patch(found) == {"approved": {"search": SERVED}}
    assert "gone" not in " ".join(told(found))


@pytest.mark.parametrize(("generation", "is_behind"), [(1, True), (2, False), (3, False)])
def test_nothing_is_pruned_by_a_router_that_serves_the_resource_of_before(
    generation: int, is_behind: bool
) -> None:
    changed = approvable.stated(
        resource({"search": OLD, "allowed-now": OLD}, "Warn", 2, tools=[tool("search")])
    )
    found = approvable.both(changed, report(generation=generation, tools=[tool("search")]))

    assert patch(found, "search") == {"approved": {"search": SERVED}}
    assert ("allowed-now" in " ".join(told(found, "search"))) is not is_behind
    if is_behind:
        for refused in (
            refusal(found),
            refusal(found, "search", prunes=True),
            refusal(found, "allowed-now"),
        ):
            assert "the router serves tools/github as it was before it was changed" in refused
    else:
        assert patch(found, prunes=True)["approved"] == {"search": SERVED, "allowed-now": None}


@pytest.mark.parametrize("name", ["x" * 121, "x" * 128, "soft\u00adhyphen"])
def test_what_is_left_out_stays_approved_however_its_name_is_shown(name: str) -> None:
    found = approvable.stated(
        resource(
            {name: OLD}, "Warn", tools=[tool("search")], skippedTools=[left_out(printable(name))]
        )
    )

    assert patch(found, prunes=True) == {"approved": {"search": SERVED}}
    assert refusal(found, name).endswith(
        "of tools/github is left out, and not for its definition: InvalidSchema"
    )


LONG = "x" * 129


@pytest.mark.parametrize("waits", [False, True], ids=["served", "waiting"])
def test_a_name_that_no_resource_can_hold_is_left_out_of_the_patch_and_told(waits: bool) -> None:
    served = [tool("search")] if waits else [tool("search"), tool(LONG)]
    found = reported(tools=served, skippedTools=[waiting(LONG)] if waits else [])

    assert patch(found) == {"approved": {"search": SERVED}}
    said = f"  {LONG}: not approved, its name must hold 1 to 128 characters"
    assert said in told(found)
    assert refusal(found, "search", LONG) == (
        f"{LONG} of tools/github cannot be approved: its name must hold 1 to 128 characters"
    )


def test_where_no_name_can_be_held_nothing_is_approved() -> None:
    assert "must hold 1 to 128 characters" in refusal(reported(tools=[tool(LONG)]))


def test_nothing_is_pruned_by_a_report_alone() -> None:
    found = reported(tools=[tool("search")])

    assert "pipe in the resource" in refusal(found, prunes=True)


def test_no_more_is_approved_than_a_resource_may_hold() -> None:
    found = reported(tools=[tool(f"t{n}") for n in range(501)])

    assert refusal(found).startswith("501 tools would be approved, and at most 500 can be")
    assert len(patch(found, *(f"t{n}" for n in range(500)))["approved"]) == 500


def test_what_stays_approved_counts_unless_it_is_pruned() -> None:
    before = {f"old{n}": OLD for n in range(500)}
    found = approvable.stated(resource(before, tools=[tool("search")]))

    assert refusal(found).startswith("501 tools")
    assert patch(found, prunes=True)["approved"]["search"] == SERVED


def test_what_is_no_digest_is_never_approved() -> None:
    assert "is none" in refusal(reported(tools=[tool("search", "sha256:1")]))


@pytest.mark.parametrize(
    ("servers", "said"),
    [
        pytest.param(["tools/github"], "did you mean tools/github?", id="one that is near"),
        pytest.param(["a/b"], "there are a/b", id="another"),
        pytest.param([], "it knows none", id="none"),
    ],
)
def test_a_server_that_a_router_does_not_know_is_named_with_those_that_it_does(
    servers: Sequence[str], said: str
) -> None:
    known = Report(
        instance="r",
        started_at=SINCE,
        catalogue="0",
        servers=tuple(report(server).servers[0] for server in servers),
    )

    with pytest.raises(NothingTold) as refused:
        approvable.reported(known, "tools/githbu")

    assert str(refused.value) == f"the router knows no server tools/githbu: {said}"


def test_a_server_without_a_tool_says_why() -> None:
    with pytest.raises(NothingTold) as refused:
        reported(state="Skipped", reason="Unreachable", message="connection refused")

    assert str(refused.value) == (
        "no tool of tools/github is served or waits for approval: connection refused"
    )


@pytest.mark.parametrize(
    ("status", "said"),
    [
        pytest.param({}, "the resource has no status yet", id="no status"),
        pytest.param(
            {"conditions": [{"type": "Accepted"}, {"type": "Ready", "message": "no router"}]},
            "no router",
            id="not ready",
        ),
    ],
)
def test_a_resource_without_a_tool_says_why(status: dict[str, Any], said: str) -> None:
    with pytest.raises(NothingTold) as refused:
        approvable.stated(resource(**status))

    assert str(refused.value) == (
        f"no tool of tools/github is served or waits for approval: {said}"
    )


@pytest.mark.parametrize(
    ("piped", "said"),
    [
        pytest.param(b"", "what was piped in is not JSON", id="nothing"),
        pytest.param(b"kind: McpServer\n", "what was piped in is not JSON", id="YAML"),
        pytest.param(b"[]", "what was piped in is no McpServer", id="a list"),
        pytest.param(b'{"kind": "List"}', "what was piped in is no McpServer", id="a List"),
        pytest.param(
            b'{"kind": "McpServer"}',
            "what was piped in is no sound McpServer: metadata must be an object with a name",
            id="no metadata",
        ),
        pytest.param(
            resource({"a": "x"}),
            "what was piped in is no sound McpServer: spec.definitions.approved[a] must be sha256:",
            id="a digest that is none",
        ),
    ],
)
def test_what_is_no_resource_is_refused_with_what_to_pipe_in(piped: bytes, said: str) -> None:
    with pytest.raises(NothingTold) as refused:
        approvable.stated(piped)

    assert said in str(refused.value)


def test_entries_of_another_shape_are_passed_over() -> None:
    found = approvable.stated(
        resource(tools=[5, None, {"digest": SERVED}, tool("search")], skippedTools={"x": 1})
    )

    assert patch(found) == {"approved": {"search": SERVED}}


NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12)


@given(st.dictionaries(NAMES, st.sampled_from([SERVED, WAITING]), min_size=1, max_size=8))
def test_a_patch_means_the_same_to_readers_of_json_and_of_yaml(digests: dict[str, str]) -> None:
    found = reported(tools=[tool(name, digest) for name, digest in digests.items()])

    spelled = approval.decide(found, ()).patch

    read = json.loads(spelled)
    assert read == yaml.safe_load(spelled)
    asked = {"metadata": {"name": "github"}, "spec": {"url": "http://h/", **read["spec"]}}
    assert spec.parse(asked).definitions.approved == digests
