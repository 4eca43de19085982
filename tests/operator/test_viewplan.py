"""What has to be written so that the cluster is as a view asks, and what its status says."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.admission import view
from bench.reporting_router import SINCE
from pointsman_contract import view as contract
from pointsman_contract.report import State, ViewReport
from pointsman_operator import manifests, seen, viewmanifests, viewplan, viewstatus
from pointsman_operator.conditions import Refused
from pointsman_operator.consensus import Finding
from pointsman_operator.manifests import JSON
from pointsman_operator.reconcile import Apply, Cleanse, Create, Remove, Replace
from pointsman_operator.seen import ConfigMap, ViewResource
from pointsman_operator.statement import Statement
from pointsman_operator.status import Truth
from pointsman_operator.viewplan import ViewPlan, ViewSituation
from pointsman_operator.viewspec import View
from pointsman_operator.viewstatus import ViewStatus

RELEASE = "release"
NOW = "2026-01-01T00:00:00Z"
LIVING = frozenset(["u-1", "u-other"])
NEIGHBOURS: Mapping[str, Mapping[str, str]] = {
    "github": {"team": "support"},
    "notes": {"team": "support", "old": ""},
    "other": {},
}
SUPPORT = {"selector": {"matchLabels": {"team": "support"}}}


def asked(generation: int = 1, uid: str = "u-1", **spec: Any) -> JSON:
    one = view("desk", **{"tools": ["*"], **spec})
    one["metadata"] |= {
        "namespace": "tools",
        "uid": uid,
        "generation": generation,
        "resourceVersion": "10",
        "creationTimestamp": NOW,
    }
    return one


def resource(generation: int = 1, uid: str = "u-1", **spec: Any) -> ViewResource:
    return seen.view(asked(generation, uid, **spec))


def meta_of(of: ViewResource) -> contract.ViewMeta:
    assert isinstance(of.wish, View)
    return viewmanifests.meta_of(of.wish, viewplan.servers_of(of.wish, NEIGHBOURS))


def published(of: ViewResource, **changes: Any) -> ConfigMap:
    """What lies in the cluster once `of` is published, with members changed."""
    manifest = viewmanifests.manifest_of(meta_of(of), namespace=RELEASE)
    written: dict[str, Any] = dict(manifests.body_of(manifest))
    metadata = {**written["metadata"], "uid": "cm-1", "resourceVersion": "20"}
    metadata |= changes.pop("metadata", {})
    return seen.config_map({**written, **changes, "metadata": metadata})


def plan(one: ViewResource | None, observed: ConfigMap | None = None, **changes: Any) -> ViewPlan:
    plain = ViewSituation(
        resource=one,
        neighbours=NEIGHBOURS,
        observed=observed,
        publishes_living=observed is not None and observed.resource_uid in LIVING,
        statements=[],
        lasts=False,
        failure=None,
        namespace=RELEASE,
        now=NOW,
    )
    return viewplan.plan(replace(plain, **changes))


def conditions(status: ViewStatus | None) -> dict[str, str]:
    assert status is not None
    return {str(one.type): f"{one.truth} {one.reason}" for one in status.conditions}


def message(status: ViewStatus | None, kind: str = "Ready") -> str:
    assert status is not None
    (found,) = [one.message for one in status.conditions if one.type == kind]
    return found


def entry(of: ViewResource, **members: Any) -> ViewReport:
    """What a router reports of a view that it serves."""
    plain = {
        "id": of.identity.id,
        "uid": of.identity.uid,
        "generation": of.identity.generation,
        "digest": contract.digest(meta_of(of)),
        "state": State.SERVING,
        "toolCount": 2,
        "schemaBytes": 300,
        "since": SINCE,
    }
    return ViewReport.model_validate(plain | members)


def says(router: str, one: ViewReport | None, **more: Any) -> Statement[ViewReport]:
    return Statement(router, **{"answers": True, **more}, entry=one)


ONE = resource()
RIGHT = published(ONE)
UNLABELLED: dict[str, Any] = {"labels": {}}
FOREIGN = published(ONE, metadata={"annotations": {}, "labels": {}})
ANOTHERS = published(ONE, metadata={"annotations": {"pointsman.dev/view-uid": "u-other"}})
ORPHAN = published(ONE, metadata={"annotations": {"pointsman.dev/view-uid": "u-dead"}})
ADDED = published(
    ONE, metadata={"annotations": {**RIGHT.annotations, "pointsman.dev/server-uid": "u-other"}}
)


def test_a_view_is_published_as_the_contract_says() -> None:
    write = plan(resource(servers=SUPPORT, tools=["b.*", "a.x"], names="Bare")).write

    assert isinstance(write, Create)
    body: Any = manifests.body_of(write.manifest)
    assert body["metadata"]["name"].startswith("mcpview-desk-")
    assert body["metadata"]["namespace"] == RELEASE
    assert body["metadata"]["labels"] == {
        "app.kubernetes.io/managed-by": "pointsman",
        "pointsman.dev/meta": "view-v1",
        "pointsman.dev/view-name": "desk",
        "pointsman.dev/view-namespace": "tools",
    }
    assert body["metadata"]["annotations"] == {
        "pointsman.dev/view-uid": "u-1",
        "pointsman.dev/view-generation": "1",
    }
    assert "ownerReferences" not in body["metadata"]
    assert body["data"].keys() == {"view.json"}
    assert json.loads(body["data"]["view.json"]) == {
        "schemaVersion": 1,
        "name": "desk",
        "namespace": "tools",
        "uid": "u-1",
        "generation": 1,
        "servers": ["github", "notes"],
        "tools": ["a.x", "b.*"],
        "names": "Bare",
        "discovery": "List",
    }


def test_a_view_in_the_release_namespace_owns_its_config_map() -> None:
    write = plan(ONE, namespace="tools").write

    assert isinstance(write, Create)
    assert write.manifest.owner == {
        "apiVersion": "pointsman.dev/v1alpha1",
        "kind": "McpView",
        "name": "desk",
        "uid": "u-1",
    }


def test_named_servers_are_published_whether_they_are_there_or_not() -> None:
    assert meta_of(resource(servers={"names": ["gone", "github"]})).servers == ("github", "gone")


def test_selected_servers_are_those_whose_labels_match() -> None:
    assert meta_of(resource(servers=SUPPORT)).servers == ("github", "notes")
    assert meta_of(resource(servers={"selector": {}})).servers == ("github", "notes", "other")
    expression = {"key": "old", "operator": "DoesNotExist"}
    fresh = {"selector": {"matchExpressions": [expression]}}
    assert meta_of(resource(servers=fresh)).servers == ("github", "other")


@pytest.mark.parametrize(
    ("observed", "deed"),
    [
        pytest.param(None, Create, id="nothing there"),
        pytest.param(RIGHT, None, id="all right"),
        pytest.param(published(ONE, data={"view.json": "{}"}), Apply, id="edited"),
        pytest.param(published(ONE, data={}), Apply, id="emptied"),
        pytest.param(published(ONE, metadata=UNLABELLED), Apply, id="its labels stripped"),
        pytest.param(
            published(ONE, metadata={"labels": {"pointsman.dev/meta": "v1"}}),
            Apply,
            id="labelled as a server's",
        ),
        pytest.param(
            published(ONE, data={"view.json": "{}", "meta.json": "{}"}), Cleanse, id="a key added"
        ),
        pytest.param(published(ONE, immutable=True), Replace, id="made immutable"),
        pytest.param(ADDED, None, id="an annotation of a server's added"),
        pytest.param(ORPHAN, Replace, id="what a dead view of that name left"),
        pytest.param(FOREIGN, None, id="somebody else's"),
        pytest.param(ANOTHERS, None, id="what another living view is said to own"),
    ],
)
def test_an_accepted_view_is_published(observed: ConfigMap | None, deed: type | None) -> None:
    write = plan(ONE, observed).write

    assert (None if write is None else type(write)) is deed


@pytest.mark.parametrize(
    ("observed", "deed"),
    [
        pytest.param(None, None, id="nothing there"),
        pytest.param(ORPHAN, Remove, id="what it left"),
        pytest.param(ANOTHERS, None, id="what a living view is said to own"),
        pytest.param(FOREIGN, None, id="somebody else's"),
    ],
)
def test_of_a_view_that_is_gone_nothing_of_ours_stays(
    observed: ConfigMap | None, deed: type | None
) -> None:
    write = plan(None, observed).write

    assert (None if write is None else type(write)) is deed


def test_a_name_that_is_taken_is_told_and_left() -> None:
    found = plan(ONE, FOREIGN)

    assert found.write is None
    assert conditions(found.status) == {
        "Accepted": "False NameConflict",
        "Published": "False NotAccepted",
        "Ready": "False NotAccepted",
    }
    assert ONE.config_map in message(found.status, "Accepted")


def test_a_view_whose_spec_is_wrong_is_published_no_longer() -> None:
    wrong = resource(servers={})
    found = plan(wrong, RIGHT)

    assert isinstance(found.write, Remove)
    assert conditions(found.status)["Accepted"] == "False InvalidSpec"
    assert message(found.status, "Accepted").startswith("spec.servers must")


def test_of_more_servers_than_a_view_holds_it_publishes_none() -> None:
    many: dict[str, dict[str, str]] = {f"s{number}": {} for number in range(501)}
    everything = resource(servers={"selector": {}})

    found = plan(everything, RIGHT, neighbours=many)

    assert isinstance(found.write, Remove)
    assert conditions(found.status)["Accepted"] == "False TooLarge"
    assert "takes 501 servers" in message(found.status, "Accepted")
    assert found.status == replace(
        ViewStatus(generation=1), conditions=found.status.conditions if found.status else ()
    )


def test_a_document_that_nobody_would_read_is_not_published() -> None:
    # Escaped, as JSON may be, they would be more: the document is not.
    wide = [chr(0x1F600) * 160 + chr(0x10000 + number) for number in range(500)]

    found = plan(resource(tools=wide), RIGHT)

    assert isinstance(found.write, Remove)
    assert conditions(found.status)["Accepted"] == "False TooLarge"
    assert message(found.status, "Accepted").startswith("spec.tools makes")


def test_a_view_that_every_router_serves_is_ready() -> None:
    one = resource(servers={"names": ["github", "gone"]}, tools=["github.*", "x.*"])
    lacking = {"unmatchedServers": ["gone"], "unmatchedTools": ["x.*"]}
    statements = [says("r1", entry(one, **lacking)), says("r2", entry(one, toolCount=3))]

    found = plan(one, published(one), statements=statements).status

    assert conditions(found) == {
        "Accepted": "True Accepted",
        "Published": "True Published",
        "Ready": "True Ready",
    }
    assert message(found) == "agents find 2 tools at /mcp/views/tools/desk"
    assert found is not None
    assert viewstatus.dump(found) | {"conditions": []} == {
        "observedGeneration": 1,
        "conditions": [],
        "toolCount": 2,
        "schemaBytes": 300,
        "serverCount": 2,
        "unmatchedServers": ["gone"],
        "unmatchedTools": ["x.*"],
        "configMapRef": {"name": one.config_map},
    }
    assert viewstatus.load(viewstatus.dump(found)) == found


@pytest.mark.parametrize(
    ("statements", "ready", "told"),
    [
        pytest.param([], "False NoRouter", "no router is known", id="no router"),
        pytest.param(
            [says("r1", entry(ONE), answers=False)],
            "False NoRouter",
            "no router answers",
            id="dead",
        ),
        pytest.param(
            [says("r1", entry(ONE)), says("r2", None)],
            "False Progressing",
            "router r2",
            id="one has not got it",
        ),
        pytest.param(
            [says("r1", entry(ONE)), says("r2", entry(ONE, digest="older"))],
            "False Progressing",
            "router r2",
            id="one has an older document",
        ),
        pytest.param(
            [says("r1", entry(ONE, uid="u-before"))],
            "False Progressing",
            "router r1",
            id="one has another view of that name",
        ),
        pytest.param(
            [says("r1", entry(ONE)), says("r2", None, young=True)],
            "True Ready",
            "",
            id="one begins",
        ),
        pytest.param(
            [says("r1", entry(ONE)), says("r2", entry(ONE, toolCount=0), young=True)],
            "True Ready",
            "agents find 2 tools",
            id="one begins, and has listed no server yet",
        ),
        pytest.param(
            [says("r1", entry(ONE)), says("r2", entry(ONE, toolCount=1), young=True)],
            "True Ready",
            "agents find 2 tools",
            id="one begins, and has listed some servers",
        ),
        pytest.param(
            [says("r1", entry(ONE)), says("r2", entry(ONE, digest="older"), young=True)],
            "False Progressing",
            "router r2",
            id="one begins with an older document",
        ),
        pytest.param(
            [says("r1", entry(ONE, toolCount=1), young=True)],
            "True Ready",
            "agents find 1 tool at",
            id="the only one begins",
        ),
        pytest.param(
            [says("r1", None, young=True)],
            "False Progressing",
            "only began",
            id="the only one begins, and knows nothing yet",
        ),
        pytest.param(
            [says("r1", entry(ONE, toolCount=0, unmatchedServers=["github"]))],
            "False NoServers",
            "none of its servers is served: github",
            id="no server is there",
        ),
        pytest.param(
            [says("r1", entry(ONE)), says("r2", entry(ONE, toolCount=0, unmatchedTools=["*"]))],
            "False NoTools",
            "spec.tools",
            id="one finds no tool",
        ),
        pytest.param(
            [says("r1", entry(ONE, state="Skipped", digest=None, toolCount=0, message="no good"))],
            "False NotServed",
            "no good",
            id="one cannot use it",
        ),
    ],
)
def test_what_the_routers_say_is_what_the_view_says(
    statements: list[Statement[ViewReport]], ready: str, told: str
) -> None:
    found = plan(ONE, RIGHT, statements=statements).status

    assert conditions(found)["Ready"] == ready
    assert told in message(found)


def test_a_router_that_holds_older_views_says_why() -> None:
    late = says("r1", None, fault="the directory cannot be read")

    found = plan(ONE, RIGHT, statements=[late]).status

    assert message(found) == (
        "router r1 does not serve this document yet: the directory cannot be read"
    )


@pytest.mark.parametrize(
    ("discovery", "count", "is_told"),
    [("List", 40, False), ("List", 41, True), ("List", 129, True), ("Search", 129, False)],
)
def test_more_tools_than_clients_take_are_told_where_they_are_listed(
    discovery: str, count: int, is_told: bool
) -> None:
    one = resource(discovery=discovery)
    found = plan(one, published(one), statements=[says("r1", entry(one, toolCount=count))]).status

    assert conditions(found)["Ready"] == "True Ready"
    assert ("some clients take at most 40" in message(found)) == is_told


@pytest.mark.parametrize(
    ("spec", "ready", "field"),
    [
        pytest.param({"tools": []}, "False NoTools", "spec.tools", id="no tool is named"),
        pytest.param(
            {"servers": {"names": []}}, "False NoServers", "spec.servers.names", id="no server"
        ),
        pytest.param(
            {"servers": {"selector": {"matchLabels": {"team": "none"}}}},
            "False NoServers",
            "spec.servers.selector",
            id="no server is selected",
        ),
    ],
)
def test_what_the_spec_decides_is_said_without_waiting_for_routers(
    spec: dict[str, Any], ready: str, field: str
) -> None:
    found = plan(resource(**spec), statements=None)

    assert isinstance(found.write, Create)
    assert conditions(found.status)["Ready"] == ready
    assert field in message(found.status)


HELD = "router r1 still serves what was published before, and agents can call that there"


@pytest.mark.parametrize(
    ("spec", "told", "done"),
    [
        pytest.param({"tools": []}, f"{HELD}; spec.tools is empty", "NoTools", id="no tool"),
        pytest.param(
            {"servers": {"names": []}},
            f"{HELD}; spec.servers.names is empty",
            "NoServers",
            id="no server",
        ),
    ],
)
def test_a_view_is_empty_only_once_no_router_shows_tools_in_it(
    spec: dict[str, Any], told: str, done: str
) -> None:
    emptied = replace(resource(2, **spec), status=_served().status)
    late, without = says("r1", entry(ONE, toolCount=3)), says("r1", entry(ONE, toolCount=0))
    held = plan(emptied, statements=[late]).status
    gone = plan(emptied, statements=[without]).status
    assert held is not None
    assert gone is not None

    assert conditions(held)["Ready"] == "False Progressing"
    assert message(held).startswith(told)
    assert held.content.tool_count == 3
    assert plan(replace(emptied, status=held), statements=None).status is None
    assert conditions(gone)["Ready"] == f"False {done}"
    assert gone.content.tool_count == 0


def test_what_was_said_stays_while_routers_learn_that_no_server_is_selected_any_more() -> None:
    selecting = resource(servers=SUPPORT)
    emptied: dict[str, Any] = {"neighbours": {}, "statements": [says("r1", entry(selecting))]}

    shortly = plan(_served(of=selecting), **emptied).status
    lasting = plan(_served(of=selecting), **emptied, lasts=True).status

    assert message(shortly) == "agents find 2 tools at /mcp/views/tools/desk"
    assert message(lasting).startswith(f"{HELD}; spec.servers.selector takes no")


def test_of_a_refused_view_that_a_router_still_serves_that_is_said() -> None:
    wrong = replace(resource(2, servers={}), status=_served().status)
    held = plan(wrong, statements=[says("r1", entry(ONE))]).status
    gone = plan(wrong, statements=[says("r1", None)]).status
    assert held is not None

    assert conditions(held)["Ready"] == "False NotAccepted"
    assert message(held) == f"the view is not accepted, but {HELD}"
    assert held.content.tool_count == 2
    assert plan(replace(wrong, status=held), statements=None).status is None
    assert message(gone) == "the view is not accepted"


def test_before_routers_were_heard_nothing_new_is_said_of_them() -> None:
    first = plan(ONE, RIGHT, statements=None).status
    served = plan(ONE, RIGHT, statements=[says("r1", entry(ONE))]).status
    assert served is not None

    assert "Ready" not in conditions(first)
    assert plan(replace(ONE, status=served), RIGHT, statements=None).status is None


def test_while_routers_learn_of_a_change_the_last_numbers_stay() -> None:
    served = plan(ONE, RIGHT, statements=[says("r1", entry(ONE))]).status
    assert served is not None
    changed = replace(resource(2, tools=["github.*"]), status=served)

    found = plan(changed, published(changed), statements=[says("r1", entry(ONE))]).status

    assert conditions(found)["Ready"] == "False Progressing"
    assert found is not None
    assert found.content == served.content


def _served(*statements: Statement[ViewReport], of: ViewResource = ONE) -> ViewResource:
    """The view as it is once its status says what the routers say."""
    found = plan(of, published(of), statements=statements or [says("r1", entry(of))]).status
    assert found is not None
    return replace(of, status=found)


def test_while_routers_take_up_a_server_that_came_what_was_said_stays_until_that_lasts() -> None:
    selecting = resource(servers=SUPPORT)
    before = _served(of=selecting)
    grown = {**NEIGHBOURS, "new": {"team": "support"}}
    takes = {"neighbours": grown, "statements": [says("r1", entry(selecting))]}

    shortly = plan(before, published(before), **takes)
    lasting = plan(before, published(before), **takes, lasts=True)

    assert isinstance(shortly.write, Apply)
    assert shortly.is_unsettled
    assert shortly.status is not None
    assert shortly.status.server_count == 3
    assert conditions(shortly.status)["Ready"] == "True Ready"
    assert conditions(lasting.status)["Ready"] == "False Progressing"


@pytest.mark.parametrize(
    ("before", "statement"),
    [
        pytest.param(ONE, says("r1", entry(ONE, digest="older")), id="nothing was said yet"),
        pytest.param(
            replace(resource(2), status=_served().status),
            says("r1", entry(resource(2), digest="older")),
            id="something was said of the generation before",
        ),
        pytest.param(
            _served(says("r1", entry(ONE, toolCount=0, unmatchedServers=["github"]))),
            says("r1", entry(ONE, digest="older")),
            id="no server was there",
        ),
        pytest.param(_served(), says("r1", entry(ONE, uid="u-old")), id="another view is served"),
        pytest.param(_served(), says("r1", None), id="none is served"),
    ],
)
def test_what_routers_take_up_is_said_at_once_where_nothing_else_is_true(
    before: ViewResource, statement: Statement[ViewReport]
) -> None:
    found = plan(before, published(before), statements=[statement]).status

    assert conditions(found)["Ready"] == "False Progressing"


@pytest.mark.parametrize(
    ("fewest", "ready"),
    [
        pytest.param(2, "agents find 2 tools at /mcp/views/tools/desk", id="one finds fewer"),
        pytest.param(
            0,
            "no entry of spec.tools matches a tool that its servers offer now",
            id="one finds none",
        ),
    ],
)
def test_routers_that_find_other_numbers_of_tools_are_told_apart_once_that_lasts(
    fewest: int, ready: str
) -> None:
    statements = [
        *(says("r3", entry(ONE, toolCount=5)), says("r2", entry(ONE, toolCount=5))),
        says("r1", entry(ONE, toolCount=fewest)),
    ]
    shortly = plan(ONE, RIGHT, statements=statements)
    lasting = plan(ONE, RIGHT, statements=statements, lasts=True)

    assert shortly.is_unsettled
    assert message(shortly.status) == ready
    assert message(lasting.status) == f"{ready}; routers differ: r2 finds 5"
    assert not plan(ONE, RIGHT, statements=[statements[0]]).is_unsettled


def test_routers_that_find_other_tools_of_equal_number_are_told_apart_once_that_lasts() -> None:
    statements = [
        *(says("r3", entry(ONE, revision="1")), says("r2", entry(ONE, revision="2"))),
        *(says("r1", entry(ONE, revision="1")), says("r4", entry(ONE))),
    ]
    shortly = plan(ONE, RIGHT, statements=statements)
    lasting = plan(ONE, RIGHT, statements=statements, lasts=True)
    ready = "agents find 2 tools at /mcp/views/tools/desk"

    assert shortly.is_unsettled
    assert message(shortly.status) == ready
    assert message(lasting.status) == (
        f"{ready}; routers differ: r2 finds other tools, or other definitions of them"
    )
    assert not plan(ONE, RIGHT, statements=[statements[0], statements[3]]).is_unsettled


@pytest.mark.parametrize(
    "said",
    [
        pytest.param([None, None], id="none has got it"),
        pytest.param(
            [entry(ONE, state="Skipped", digest=None, toolCount=0, message=text) for text in "ab"],
            id="none can use it",
        ),
        pytest.param([entry(ONE, toolCount=count) for count in (1, 4, 4)], id="they differ"),
    ],
)
def test_the_order_in_which_routers_were_found_decides_nothing(
    said: list[ViewReport | None],
) -> None:
    statements = [says(f"r{number}", one) for number, one in enumerate(said)]
    one, other = (
        plan(ONE, RIGHT, statements=asked_so, lasts=True).status
        for asked_so in (statements, statements[::-1])
    )

    assert one == other


def test_a_config_map_that_cannot_be_written_is_told() -> None:
    failure = Finding(Truth.FALSE, "Forbidden", "the operator may not write it")
    found = plan(ONE, failure=failure).status

    assert conditions(found)["Published"] == "False Forbidden"
    assert found is not None
    assert found.config_map is None


def test_of_what_is_missing_at_most_fifty_are_named() -> None:
    names = [f"s{number:03}" for number in range(60)]
    one = resource(servers={"names": names})
    lacking = entry(one, toolCount=0, unmatchedServers=names, unmatchedTools=["*"])

    found = plan(one, published(one), statements=[says("r1", lacking)]).status

    assert found is not None
    assert found.content.unmatched_servers == tuple(names[:50])
    assert message(found) == "none of its servers is served: s000, s001, s002 and 57 more"


_OBSERVED = st.sampled_from(
    [None, RIGHT, FOREIGN, ANOTHERS, ORPHAN, ADDED, published(ONE, data={}), published(resource(7))]
)
_RESOURCES = st.sampled_from(
    [ONE, resource(2, tools=[]), resource(servers={}), resource(servers=SUPPORT)]
)


@given(_RESOURCES, _OBSERVED)
def test_a_second_look_writes_nothing(one: ViewResource, observed: ConfigMap | None) -> None:
    first = plan(one, observed)
    match first.write:
        case Remove():
            observed = None
        case None:
            pass
        case _:
            assert not isinstance(one.wish, Refused)
            observed = published(one)
    known = one if first.status is None else replace(one, status=first.status)

    assert plan(known, observed, now="2027-01-01T00:00:00Z") == ViewPlan(None, None)


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {"serverCount": "x", "unmatchedTools": "y", "unmatchedServers": [1]},
        {"toolCount": {}},
    ],
)
def test_a_status_of_another_shape_was_never_stated(value: Any) -> None:
    assert viewstatus.load(value) == ViewStatus()
