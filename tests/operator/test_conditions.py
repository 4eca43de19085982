"""What a resource's status says, given what came of it and what it said before."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointsman_contract.report import ServerReport
from pointsman_operator import apierrors, budget, conditions, status
from pointsman_operator.conditions import Acceptance, Accepted, Outcome, Refused
from pointsman_operator.consensus import Consensus, Finding
from pointsman_operator.statement import Statement
from pointsman_operator.status import ConditionType, Counts, Lists, Remark, Status, Tool, Truth

MORNING, NOON = "2026-01-01T08:00:00Z", "2026-01-01T12:00:00Z"

LISTED = Lists(
    tool_count=2,
    tools=(Tool("a", "gh.a", "gh__a", "sha256:a"), Tool("b", "gh.b", "gh__b")),
    truncated=True,
    skipped=(
        Remark("x", "InvalidSchema", "why"),
        Remark("z", "DefinitionChanged", "m", "sha256:z"),
    ),
    skipped_truncated=True,
    flagged=(Remark("a", "ConfusableName", "looks like b"),),
    flagged_truncated=True,
    unmatched=("y",),
    protocol_version="2025-11-25",
    server_name="GitHub",
    server_version="1",
    schema_bytes=7,
)
SERVED = Consensus(
    Finding(Truth.TRUE, "Discovered", "listed"),
    Finding(Truth.TRUE, "Ready", "callable"),
    LISTED,
    Counts(1, 1),
)
PROGRESSING = Consensus(None, Finding(Truth.FALSE, "Progressing", "late"), None, Counts(0, 1))
NO_ROUTER = Consensus(
    Finding(Truth.UNKNOWN, "NoRouter", "none"),
    Finding(Truth.FALSE, "NoRouter", "none"),
    None,
    Counts(0, 0),
)
WITHOUT_TOOLS = replace(SERVED, ready=Finding(Truth.FALSE, "NoTools", "none"))
FORBIDDEN = Finding(Truth.FALSE, "Forbidden", "no right")
REFUSED = Refused(Acceptance.INVALID_URL, "spec.url must name a host")
ACCEPTED = Accepted(
    prefix="gh",
    config_map="mcp-github-0",
    suspended=False,
    exposes_tools=True,
    allows_nothing=False,
    failure=None,
    consensus=SERVED,
    counts=Counts(1, 1),
)


def compose(
    outcome: Outcome, previous: Status | None = None, *, generation: int = 1, now: str = MORNING
) -> Status:
    return conditions.compose(outcome, previous or Status(), generation=generation, now=now)


def said(one: Status) -> dict[str, str]:
    return {condition.type: f"{condition.truth} {condition.reason}" for condition in one.conditions}


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        pytest.param(
            ACCEPTED,
            ("True Accepted", "True Published", "True Discovered", "True Ready"),
            id="all is well",
        ),
        pytest.param(
            REFUSED,
            ("False InvalidUrl", "False NotAccepted", "False NotAccepted", "False NotAccepted"),
            id="refused",
        ),
        pytest.param(
            replace(ACCEPTED, consensus=NO_ROUTER),
            ("True Accepted", "True Published", "Unknown NoRouter", "False NoRouter"),
            id="no router",
        ),
        pytest.param(
            replace(ACCEPTED, consensus=PROGRESSING),
            ("True Accepted", "True Published", "Unknown Pending", "False Progressing"),
            id="not yet served",
        ),
        pytest.param(
            replace(ACCEPTED, suspended=True),
            ("True Accepted", "True Published", "True Discovered", "False Suspended"),
            id="suspended, and published",
        ),
        pytest.param(
            replace(ACCEPTED, allows_nothing=True, consensus=NO_ROUTER),
            ("True Accepted", "True Published", "Unknown NoRouter", "False NoToolsAllowed"),
            id="no tool allowed, whatever routers say",
        ),
        pytest.param(
            replace(ACCEPTED, exposes_tools=False, consensus=WITHOUT_TOOLS),
            ("True Accepted", "True Published", "True Discovered", "True Ready"),
            id="without tools, which nobody asked for",
        ),
        pytest.param(
            replace(ACCEPTED, consensus=WITHOUT_TOOLS),
            ("True Accepted", "True Published", "True Discovered", "False NoTools"),
            id="without tools, although they are exposed",
        ),
        pytest.param(
            replace(ACCEPTED, failure=FORBIDDEN, consensus=PROGRESSING),
            ("True Accepted", "False Forbidden", "Unknown Pending", "False Progressing"),
            id="not written",
        ),
    ],
)
def test_an_outcome_is_told_by_four_conditions(
    outcome: Outcome, expected: tuple[str, str, str, str]
) -> None:
    assert tuple(said(compose(outcome)).values()) == expected
    assert list(said(compose(outcome))) == ["Accepted", "Published", "Discovered", "Ready"]


def test_before_the_routers_are_heard_only_what_does_not_depend_on_them_is_said() -> None:
    unheard = replace(ACCEPTED, consensus=None, counts=None)

    assert said(compose(unheard)) == {"Accepted": "True Accepted", "Published": "True Published"}


def test_before_the_routers_are_heard_what_was_said_of_them_stays() -> None:
    before = compose(ACCEPTED)

    after = compose(replace(ACCEPTED, consensus=None, counts=None), before, now=NOON)

    assert after == before


def test_a_new_generation_is_spoken_of_before_the_routers_are_heard_of_it() -> None:
    before = compose(ACCEPTED)

    after = compose(replace(ACCEPTED, consensus=None, counts=None), before, generation=2, now=NOON)

    assert after.generation == 2
    assert [(c.type, c.generation) for c in after.conditions] == [
        ("Accepted", 2),
        ("Published", 2),
        ("Discovered", 1),
        ("Ready", 1),
    ]


def test_what_is_said_again_is_the_same_status() -> None:
    before = compose(ACCEPTED)

    assert compose(ACCEPTED, before, now=NOON) == before


def test_a_condition_remembers_since_when_it_holds() -> None:
    before = compose(replace(ACCEPTED, consensus=PROGRESSING))

    after = compose(ACCEPTED, before, now=NOON)

    assert {c.type: c.since for c in after.conditions} == {
        "Accepted": MORNING,
        "Published": MORNING,
        "Discovered": NOON,
        "Ready": NOON,
    }


def test_another_reason_alone_is_no_flip() -> None:
    before = compose(replace(ACCEPTED, consensus=NO_ROUTER))

    after = compose(replace(ACCEPTED, consensus=PROGRESSING), before, now=NOON)

    ready = after.condition(ConditionType.READY)
    assert ready is not None
    assert (ready.reason, ready.since) == ("Progressing", MORNING)


def test_while_a_new_generation_makes_its_way_agents_see_what_they_saw() -> None:
    before = compose(ACCEPTED)

    after = compose(replace(ACCEPTED, consensus=PROGRESSING), before, generation=2, now=NOON)

    assert after.lists == LISTED
    assert said(after)["Discovered"] == "True Discovered"
    assert said(after)["Ready"] == "False Progressing"


def test_of_a_refused_server_agents_see_nothing() -> None:
    after = compose(REFUSED, compose(ACCEPTED), generation=2, now=NOON)

    assert after.lists == Lists()
    assert (after.prefix, after.config_map, after.routers) == (None, None, None)


def test_a_server_that_is_accepted_again_is_not_said_to_be_refused_by_any_condition() -> None:
    refused = compose(REFUSED)

    after = compose(replace(ACCEPTED, consensus=PROGRESSING), refused, generation=2, now=NOON)

    assert "NotAccepted" not in " ".join(said(after).values())


def test_counts_that_have_not_settled_leave_those_before() -> None:
    before = compose(ACCEPTED)

    assert compose(replace(ACCEPTED, counts=None), before).routers == Counts(1, 1)
    assert compose(replace(ACCEPTED, counts=Counts(0, 2)), before).routers == Counts(0, 2)


def holding(router: str, *tools: str, fault: str | None = None) -> Statement[ServerReport]:
    """What a router says that serves an older generation."""
    served = [{"name": n, "exposedName": n, "safeName": n, "digest": "d"} for n in tools]
    members = {"id": "t/gh", "state": "Serving", "since": MORNING, "tools": served}
    return Statement(router, True, entry=ServerReport.model_validate(members), fault=fault)


STUCK = (holding("r2", "a", "b", fault="the disk is full"), holding("r3", "a", "b", "c"))
STUCK_TOLD = (
    "router r2 and 1 more still serve what was published before, and agents can call that there:"
    " the disk is full"
)


@pytest.mark.parametrize(
    ("change", "field", "reason"),
    [
        pytest.param({"suspended": True}, "spec.suspend is true", "Suspended", id="suspended"),
        pytest.param(
            {"allows_nothing": True},
            "spec.allowedTools allows none",
            "NoToolsAllowed",
            id="no tool allowed",
        ),
    ],
)
def test_no_tool_is_offered_only_once_no_router_serves_it_any_more(
    change: dict[str, bool], field: str, reason: str
) -> None:
    wished = replace(ACCEPTED, **change)  # type: ignore[arg-type] # only its flags
    late = replace(PROGRESSING, serving=STUCK, outdated=STUCK)
    before = compose(ACCEPTED)
    held = compose(replace(wished, consensus=late), before, generation=2, now=NOON)
    gone = compose(replace(wished, consensus=PROGRESSING), held, generation=2, now=NOON)

    assert said(held)["Ready"] == "False Progressing"
    assert ready_message(held) == f"{field}, but {STUCK_TOLD}"
    assert (held.lists.tool_count, [tool.name for tool in held.lists.tools]) == (2, ["a", "b"])
    assert said(gone)["Ready"] == f"False {reason}"
    assert gone.lists == Lists()


def test_of_a_refused_server_that_a_router_still_serves_that_is_said() -> None:
    late = replace(PROGRESSING, serving=STUCK[:1], outdated=STUCK[:1])
    held = compose(replace(REFUSED, consensus=late), compose(ACCEPTED), generation=2, now=NOON)
    unheard = compose(REFUSED, held, generation=2, now="later")
    gone = compose(replace(REFUSED, consensus=PROGRESSING), held, generation=2, now=NOON)

    assert said(held) == said(compose(REFUSED))
    assert ready_message(held) == (
        "the server is not accepted, but router r2 still serves what was published before, and"
        " agents can call that there: the disk is full"
    )
    assert held.lists.tool_count == 2
    assert unheard == held
    assert ready_message(gone) == "the server is not accepted"
    assert gone.lists == Lists()


def failing(words: str, reason: str = "UpstreamRpcError", ready: str = "NotDiscovered") -> Status:
    discovered = Finding(Truth.FALSE, reason, words)
    failed = replace(SERVED, discovered=discovered, ready=Finding(Truth.FALSE, ready, words))
    return compose(replace(ACCEPTED, consensus=failed))


@pytest.mark.parametrize(
    ("after", "is_reworded"),
    [
        pytest.param(failing("request 2 failed"), True, id="other words"),
        pytest.param(failing("request 1 failed"), False, id="the same"),
        pytest.param(failing("request 2 failed", "Timeout"), False, id="another trouble"),
        pytest.param(failing("request 2 failed", ready="Stale"), False, id="another consequence"),
        pytest.param(compose(ACCEPTED), False, id="no trouble"),
        pytest.param(
            replace(failing("request 2 failed"), routers=Counts(2, 2)), False, id="another count"
        ),
        pytest.param(
            replace(failing("request 2 failed"), generation=2), False, id="another generation"
        ),
    ],
)
def test_other_words_of_routers_for_the_same_are_told_from_news(
    after: Status, is_reworded: bool
) -> None:
    assert conditions.is_reworded(failing("request 1 failed"), after) is is_reworded


def test_the_operators_own_words_are_news() -> None:
    late = replace(PROGRESSING, ready=replace(PROGRESSING.ready, message="another is late"))
    before, after = (compose(replace(ACCEPTED, consensus=one)) for one in (PROGRESSING, late))

    assert not conditions.is_reworded(before, after)


DIFFERENCE = "r2 does not offer c"
OTHER = Lists(tool_count=1, tools=(Tool("b", "gh.b", "gh__b"),))
DIFFERING = replace(ACCEPTED, consensus=replace(SERVED, lists=OTHER, difference=DIFFERENCE))


def ready_message(one: Status) -> str:
    condition = one.condition(ConditionType.READY)
    assert condition is not None
    return condition.message


def test_a_difference_between_routers_that_passes_is_not_told() -> None:
    before = compose(ACCEPTED)

    assert compose(DIFFERING, before, now=NOON) == before


def test_a_difference_between_routers_that_lasts_is_told() -> None:
    after = compose(replace(DIFFERING, differs=True), compose(ACCEPTED), now=NOON)

    assert ready_message(after) == f"callable; routers differ: {DIFFERENCE}"
    assert said(after)["Ready"] == "True Ready"
    assert after.lists == OTHER


def test_after_a_restart_a_difference_that_was_told_stays_told() -> None:
    told = compose(replace(DIFFERING, differs=True))

    assert compose(DIFFERING, told, now=NOON) == told


def test_what_was_not_ready_is_ready_at_once_although_routers_differ() -> None:
    before = compose(replace(ACCEPTED, consensus=PROGRESSING))
    after = compose(DIFFERING, before, now=NOON)

    assert said(after)["Ready"] == "True Ready"
    assert ready_message(after) == "callable"
    assert after.lists == OTHER


@pytest.mark.parametrize("differs", [False, True])
def test_a_server_none_of_whose_tools_is_on_every_router_is_not_ready(differs: bool) -> None:
    nothing = replace(SERVED, lists=Lists(), difference=DIFFERENCE)
    before = compose(replace(ACCEPTED, consensus=PROGRESSING))
    after = compose(replace(ACCEPTED, consensus=nothing, differs=differs), before)

    assert said(after)["Ready"] == "False NoTools"
    assert ready_message(after) == (
        f"no tool is the same on every router; routers differ: {DIFFERENCE}"
    )


@pytest.mark.parametrize("count", [40, 41, 81, 129])
def test_more_tools_than_clients_take_are_told_and_change_nothing_else(count: int) -> None:
    many = replace(SERVED, lists=replace(LISTED, tool_count=count))
    before = compose(ACCEPTED)
    after = compose(replace(ACCEPTED, consensus=many), before, now=NOON)

    assert said(after) == said(before)
    assert [one.since for one in after.conditions] == [one.since for one in before.conditions]
    assert ready_message(after) == "; ".join(
        part for part in ("callable", budget.warning(count)) if part
    )


def test_what_could_not_be_written_is_not_said_to_be_published_there() -> None:
    assert compose(replace(ACCEPTED, failure=FORBIDDEN)).config_map is None
    assert compose(ACCEPTED).config_map == "mcp-github-0"


def test_no_message_is_longer_than_the_kind_takes() -> None:
    one = compose(Refused(Acceptance.INVALID_SPEC, "x" * 5000))

    assert max(len(condition.message) for condition in one.conditions) == 1024


def test_a_status_is_written_down_in_full() -> None:
    assert status.dump(compose(ACCEPTED)) == {
        "observedGeneration": 1,
        "conditions": [
            {
                "type": kind,
                "status": "True",
                "reason": reason,
                "message": message,
                "observedGeneration": 1,
                "lastTransitionTime": MORNING,
            }
            for kind, reason, message in (
                ("Accepted", "Accepted", "the spec is valid, and prefix gh is the server's own"),
                ("Published", "Published", "published as ConfigMap mcp-github-0"),
                ("Discovered", "Discovered", "listed"),
                ("Ready", "Ready", "callable"),
            )
        ],
        "prefix": "gh",
        "toolCount": 2,
        "tools": [
            {"name": "a", "exposedName": "gh.a", "safeName": "gh__a", "digest": "sha256:a"},
            {"name": "b", "exposedName": "gh.b", "safeName": "gh__b"},
        ],
        "toolsTruncated": True,
        "skippedTools": [
            {"name": "x", "reason": "InvalidSchema", "message": "why"},
            {"name": "z", "reason": "DefinitionChanged", "message": "m", "digest": "sha256:z"},
        ],
        "skippedToolsTruncated": True,
        "flaggedTools": [{"name": "a", "reason": "ConfusableName", "message": "looks like b"}],
        "flaggedToolsTruncated": True,
        "unmatchedAllowedTools": ["y"],
        "protocolVersion": "2025-11-25",
        "serverInfo": {"name": "GitHub", "version": "1"},
        "schemaBytes": 7,
        "routers": {"ready": 1, "total": 1},
        "configMapRef": {"name": "mcp-github-0"},
    }


@pytest.mark.parametrize(
    "one",
    [
        pytest.param(compose(ACCEPTED), id="accepted"),
        pytest.param(compose(REFUSED), id="refused"),
        pytest.param(compose(replace(ACCEPTED, consensus=None, counts=None)), id="unheard"),
        pytest.param(compose(replace(ACCEPTED, consensus=NO_ROUTER)), id="no router"),
    ],
)
def test_a_status_is_read_back_as_it_was_written(one: Status) -> None:
    assert status.load(status.dump(one)) == one


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=3),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(list(status.dump(compose(ACCEPTED)))), inner)
        ),
        max_leaves=8,
    )
)
def test_whatever_stands_in_a_status_is_read_as_one(value: object) -> None:
    assert isinstance(status.load(value), Status)


_FINDINGS = st.builds(
    Finding,
    st.sampled_from(Truth),
    st.sampled_from(["Discovered", "Pending", "Unreachable"]),
    st.text("ab", max_size=2),
)
_CONSENSUSES = st.none() | st.builds(
    Consensus,
    st.none() | _FINDINGS,
    _FINDINGS | st.just(PROGRESSING.ready),
    st.sampled_from([None, LISTED, Lists()]),
    st.just(Counts(1, 1)),
    st.booleans(),
    st.sampled_from([None, DIFFERENCE]),
    st.sampled_from([(), STUCK]),
    st.sampled_from([(), STUCK[:1]]),
)
_OUTCOMES = st.builds(
    Refused, st.sampled_from(Acceptance), st.text("ab", max_size=2), _CONSENSUSES
) | st.builds(
    Accepted,
    st.sampled_from(["p", "q"]),
    st.just("mcp-github-0"),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.none() | _FINDINGS,
    _CONSENSUSES,
    st.sampled_from([None, Counts(1, 1), Counts(0, 1)]),
    st.booleans(),
)


@given(st.lists(_OUTCOMES, max_size=4), _OUTCOMES)
def test_whatever_came_before_a_second_look_changes_nothing(
    history: list[Outcome], outcome: Outcome
) -> None:
    before = Status()
    for earlier in history:
        before = compose(earlier, before)
    once = compose(outcome, before, generation=2, now=NOON)

    assert compose(outcome, status.load(status.dump(once)), generation=2, now="later") == once


def test_an_older_kind_is_told_neither_digests_nor_what_is_flagged() -> None:
    said = status.dump(status.without_news(Status(lists=LISTED)))

    assert "digest" not in str(said)
    assert said == {
        key: value if key not in ("tools", "skippedTools") else _without_digests(value)
        for key, value in status.dump(Status(lists=LISTED)).items()
        if key not in ("skippedToolsTruncated", "flaggedTools", "flaggedToolsTruncated")
    }


def _without_digests(items: object) -> object:
    assert isinstance(items, list)
    return [{key: text for key, text in item.items() if key != "digest"} for item in items]


def test_a_field_that_the_kind_does_not_know_is_told_from_other_failures() -> None:
    unknown = b'{"message": "cannot: .status.tools[0].digest: field not declared in schema"}'

    assert type(apierrors.of(500, None, unknown)) is apierrors.Undeclared
    assert type(apierrors.of(500, None, b'{"message": "etcd"}')) is apierrors.Unavailable
