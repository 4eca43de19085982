"""What several routers' words about one server come to."""

import json
from typing import Any

import pytest

from pointsman_contract.report import ServerReport, State
from pointsman_operator.consensus import Consensus, reach
from pointsman_operator.spec import Identity
from pointsman_operator.statement import Statement
from pointsman_operator.status import Counts, Remark, Status, Tool, dump

SERVER = Identity("tools", "github", "u-1", 3)


def entry(state: State = State.SERVING, *, tools: tuple[str, ...] = ("a",), **members: Any) -> Any:
    served = [
        {"name": name, "exposedName": f"gh.{name}", "safeName": f"gh__{name}", "digest": "d"}
        for name in (tools if state in (State.SERVING, State.STALE) else ())
    ]
    known = {
        "id": "tools/github",
        "uid": "u-1",
        "generation": 3,
        "state": state,
        "tools": served,
        "toolCount": len(served),
        "since": "2026-01-01T00:00:00Z",
    }
    return ServerReport.model_validate(known | members)


def says(router: str, word: Any, *, young: bool = False) -> Statement[ServerReport]:
    return Statement(router, answers=True, young=young, entry=word)


def silent(router: str) -> Statement[ServerReport]:
    return Statement(router, answers=False, entry=entry())


def reached(*statements: Statement[ServerReport]) -> Consensus:
    return reach(SERVER, statements)


@pytest.mark.parametrize(
    ("statements", "discovered", "ready", "counts"),
    [
        pytest.param([], "Unknown NoRouter", "False NoRouter", (0, 0), id="no router at all"),
        pytest.param(
            [silent("r1"), silent("r2")],
            "Unknown NoRouter",
            "False NoRouter",
            (0, 2),
            id="none that answers",
        ),
        pytest.param(
            [says("r1", entry())], "True Discovered", "True Ready", (1, 1), id="one that serves"
        ),
        pytest.param(
            [says("r1", entry()), says("r2", entry()), silent("r3")],
            "True Discovered",
            "True Ready",
            (2, 3),
            id="F73 two that serve, one that hangs",
        ),
        pytest.param(
            [says("r1", entry()), says("r2", entry(generation=2))],
            None,
            "False Progressing",
            (1, 2),
            id="F73 one with an older generation",
        ),
        pytest.param(
            [says("r1", entry()), says("r2", None)],
            None,
            "False Progressing",
            (1, 2),
            id="one that does not know the server",
        ),
        pytest.param(
            [says("r1", entry(uid="u-0"))],
            None,
            "False Progressing",
            (0, 1),
            id="one that serves a former resource of that name",
        ),
        pytest.param(
            [says("r1", entry(generation=4))],
            "True Discovered",
            "True Ready",
            (1, 1),
            id="one that is ahead of us",
        ),
        pytest.param(
            [says("r1", entry(State.PENDING))],
            "Unknown Pending",
            "False NotDiscovered",
            (1, 1),
            id="one that has not listed the upstream",
        ),
        pytest.param(
            [says("r1", entry()), says("r2", entry(State.PENDING), young=True)],
            "True Discovered",
            "True Ready",
            (1, 2),
            id="one that serves, one that has only begun",
        ),
        pytest.param(
            [says("r1", entry()), says("r2", None, young=True)],
            "True Discovered",
            "True Ready",
            (1, 2),
            id="one that serves, one that has not read its directory yet",
        ),
        pytest.param(
            [says("r1", entry(State.PENDING), young=True)],
            "Unknown NoRouter",
            "False NoRouter",
            (0, 1),
            id="only one, which has only begun",
        ),
        pytest.param(
            [says("r1", entry(State.SKIPPED, reason="Unreachable"))],
            "False Unreachable",
            "False NotDiscovered",
            (1, 1),
            id="an upstream that cannot be reached",
        ),
        pytest.param(
            [says("r1", entry()), says("r2", entry(State.SKIPPED, reason="Timeout"))],
            "False Timeout",
            "False NotDiscovered",
            (2, 2),
            id="an upstream that one of two cannot reach",
        ),
        pytest.param(
            [says("r1", entry(State.STALE, reason="Unreachable"))],
            "False Unreachable",
            "False Stale",
            (1, 1),
            id="an upstream that can no longer be reached",
        ),
        pytest.param(
            [says("r1", entry(State.SKIPPED, reason="NoToolsMatched"))],
            "True Discovered",
            "False NoToolsMatched",
            (1, 1),
            id="C08 none of the allowed tools is there",
        ),
        pytest.param(
            [says("r1", entry(State.SKIPPED, reason="NoTools"))],
            "True Discovered",
            "False NoTools",
            (1, 1),
            id="an upstream without tools",
        ),
        pytest.param(
            [says("r1", entry(tools=()))],
            "True Discovered",
            "False NoTools",
            (1, 1),
            id="an upstream whose every tool is left out",
        ),
        pytest.param(
            [says("r1", entry(State.SKIPPED, reason="NoToolsAllowed"))],
            "False NoToolsAllowed",
            "False NoToolsAllowed",
            (1, 1),
            id="C01 no tool allowed",
        ),
        pytest.param(
            [says("r1", entry(State.SUSPENDED, reason="Suspended"))],
            "False Suspended",
            "False Suspended",
            (1, 1),
            id="C27 suspended",
        ),
        pytest.param(
            [says("r1", entry(State.SKIPPED, reason="not a word!"))],
            "False Pending",
            "False NotDiscovered",
            (1, 1),
            id="a reason that is no word",
        ),
    ],
)
def test_routers_words_come_to(
    statements: list[Statement[ServerReport]],
    discovered: str | None,
    ready: str,
    counts: tuple[int, int],
) -> None:
    consensus = reached(*statements)
    said = consensus.discovered

    assert (said and f"{said.truth} {said.reason}") == discovered
    assert f"{consensus.ready.truth} {consensus.ready.reason}" == ready
    assert consensus.counts == Counts(*counts)


@pytest.mark.parametrize(
    ("statements", "words"),
    [
        pytest.param([], "no router is known", id="none is known"),
        pytest.param([silent("r1")], "no router answers", id="none answers"),
        pytest.param(
            [silent("r1"), says("r2", None, young=True)], "only began", id="one only began"
        ),
        pytest.param(
            [says("r1", entry(State.PENDING), young=True), says("r2", None, young=True)],
            "only began",
            id="all only began",
        ),
    ],
)
def test_routers_that_answer_and_only_began_are_not_said_to_be_silent(
    statements: list[Statement[ServerReport]], words: str
) -> None:
    consensus = reached(*statements)

    assert consensus.discovered is not None
    assert words in consensus.discovered.message
    assert words in consensus.ready.message


def test_routers_that_let_agents_call_it_are_told_and_which_of_them_have_something_else() -> None:
    old, stale = says("r2", entry(generation=2)), says("r3", entry(State.STALE, generation=2))
    now, away = says("r1", entry()), says("r4", entry(State.SUSPENDED, generation=2))
    consensus = reached(stale, now, away, says("r5", None), silent("r6"), old)

    assert consensus.serving == (now, old, stale)
    assert consensus.outdated == (old, stale)
    assert reached(now).serving == (now,)
    assert reached(now).outdated == ()


def test_while_nothing_new_can_be_said_the_lists_stay() -> None:
    assert reached(silent("r1")).lists is None
    assert reached(says("r1", entry(generation=2))).lists is None


def test_a_router_that_differs_is_named() -> None:
    consensus = reached(
        says("r1", entry()), says("r2", entry(State.SKIPPED, reason="Timeout", message="too late"))
    )

    assert consensus.discovered is not None
    assert consensus.discovered.message == "router r2 says: too late"
    assert consensus.ready.message == "router r2 says: too late"


def test_a_router_that_lags_is_named() -> None:
    assert "r2" in reached(says("r1", entry()), says("r2", entry(generation=2))).ready.message


def test_where_all_agree_none_is_named() -> None:
    word = entry(State.SKIPPED, reason="Timeout", message="too late")

    assert reached(says("r1", word), says("r2", word)).ready.message == "too late"


def test_agents_see_the_tools_that_every_router_serves() -> None:
    lists = reached(says("r1", entry(tools=("a", "b"))), says("r2", entry(tools=("b", "c")))).lists

    assert lists is not None
    assert lists.tools == (Tool("b", "gh.b", "gh__b", "d"),)
    assert lists.tool_count == 1
    assert not lists.truncated


def test_whatever_any_router_leaves_out_is_listed() -> None:
    skip = {"name": "x", "reason": "InvalidSchema", "message": "m"}
    other = {"name": "y", "reason": "TooLarge", "message": "n"}
    lists = reached(
        says("r1", entry(skippedTools=[skip], unmatchedAllowedTools=["b"])),
        says("r2", entry(skippedTools=[skip, other], unmatchedAllowedTools=["a", "b"])),
    ).lists

    assert lists is not None
    assert lists.skipped == (Remark("x", "InvalidSchema", "m"), Remark("y", "TooLarge", "n"))
    assert lists.unmatched == ("a", "b")


@pytest.mark.parametrize(
    ("other", "message"),
    [
        pytest.param(
            entry(reason="UpstreamRpcError", message="no prompts"), "; no prompts", id="all say it"
        ),
        pytest.param(entry(), "; router r1 says: no prompts", id="one says it"),
    ],
)
def test_what_is_wrong_with_a_server_that_serves_is_told_beside_that(
    other: Any, message: str
) -> None:
    word = entry(reason="UpstreamRpcError", message="no prompts")
    consensus = reached(says("r1", word), says("r2", other))

    assert consensus.discovered is not None
    assert consensus.discovered.message == f"the routers have listed the upstream{message}"
    assert str(consensus.ready.reason) == "Ready"


def test_what_the_upstream_says_of_itself_is_shown() -> None:
    lists = reached(
        says(
            "r1",
            entry(
                protocolVersion="2025-11-25",
                serverInfo={"name": "Git\x1b[31mHub", "version": "1"},
                schemaBytes=5,
            ),
        )
    ).lists

    assert lists is not None
    assert (lists.protocol_version, lists.schema_bytes) == ("2025-11-25", 5)
    assert (lists.server_name, lists.server_version) == ("Git·[31mHub", "1")


@pytest.mark.parametrize(
    ("number", "length", "shown"),
    [
        pytest.param(500, 8, 500, id="as many as are listed"),
        pytest.param(501, 8, 500, id="one more"),
        pytest.param(500, 300, 169, id="more bytes than are kept"),
    ],
)
def test_long_lists_are_cut_and_say_so(number: int, length: int, shown: int) -> None:
    names = tuple(f"{index:0{length}}" for index in range(number))
    lists = reached(says("r1", entry(tools=names))).lists

    assert lists is not None
    assert lists.tool_count == number
    assert len(lists.tools) == shown
    assert lists.truncated == (shown < number)
    spelled = json.dumps(dump(Status(lists=lists))["tools"], separators=(",", ":"))
    assert len(spelled) <= 160 * 1024


def test_no_more_than_fifty_skipped_tools_are_listed() -> None:
    skips = [{"name": f"t{n:03}", "reason": "TooLarge", "message": "m"} for n in range(60)]
    lists = reached(says("r1", entry(skippedTools=skips))).lists

    assert lists is not None
    assert len(lists.skipped) == 50
    assert lists.skipped_truncated
    fifty = reached(says("r1", entry(skippedTools=skips[:50]))).lists
    assert fifty is not None
    assert not fifty.skipped_truncated


@pytest.mark.parametrize(
    ("name", "reason", "told"),
    [
        pytest.param("a\u3000b\ue000", "DefinitionChanged", "a\u3000b\ue000", id="what waits"),
        pytest.param("x" * 128, "DefinitionChanged", "x" * 128, id="the longest that may wait"),
        pytest.param("x" * 300, "DefinitionChanged", "x" * 255 + "…", id="what is too long"),
        pytest.param("a\x1bb", "DefinitionChanged", "a·b", id="what no router tells so"),
        pytest.param("a\u3000b", "InvalidSchema", "a·b", id="what does not wait"),
    ],
)
def test_what_waits_for_approval_is_named_letter_by_letter(
    name: str, reason: str, told: str
) -> None:
    remark = {"name": name, "reason": reason, "message": "m", "digest": "sha256:1"}
    lists = reached(says("r1", entry(skippedTools=[remark]))).lists

    assert lists is not None
    assert [each.name for each in lists.skipped] == [told]


@pytest.mark.parametrize("field", ["skippedTools", "flaggedTools"])
def test_what_waits_to_be_approved_is_listed_first_and_lost_to_no_other_remark(field: str) -> None:
    others = [{"name": f"t{n:03}", "reason": "ConfusableName", "message": "m"} for n in range(60)]
    late = {"name": "t059", "reason": "DefinitionChanged", "message": "m", "digest": "sha256:1"}
    members: dict[str, Any] = {field: [*others, late, WAITING]}
    lists = reached(says("r1", entry(**members))).lists

    assert lists is not None
    listed = lists.skipped or lists.flagged
    assert [remark.name for remark in listed] == ["t059", "x", *(f"t{n:03}" for n in range(48))]
    assert {remark.reason for remark in listed[:2]} == {"DefinitionChanged"}


@pytest.mark.parametrize("field", ["skippedTools", "flaggedTools"])
def test_a_changed_definition_is_not_hidden_by_tools_that_were_never_approved(field: str) -> None:
    waiting = [{**WAITING, "name": name} for name in (*(f"a{n:02}" for n in range(50)), "search")]
    members: dict[str, Any] = {field: waiting}
    one = says("r1", entry(**members))
    lists = reach(SERVER, [one], {"search": "sha256:0"}).lists

    assert lists is not None
    listed = lists.skipped or lists.flagged
    assert [remark.name for remark in listed] == ["search", *(f"a{n:02}" for n in range(49))]
    assert (lists.skipped_truncated, lists.flagged_truncated) == (
        field == "skippedTools",
        field == "flaggedTools",
    )


def redefined() -> Any:
    """An entry whose tool has another definition."""
    one = entry()
    return one.model_copy(update={"tools": (one.tools[0].model_copy(update={"digest": "e"}),)})


WAITING = {"name": "x", "reason": "DefinitionChanged", "message": "m", "digest": "sha256:1"}


@pytest.mark.parametrize(
    ("one", "two"),
    [
        pytest.param(entry(tools=("a", "b")), entry(tools=("b", "a")), id="orders of one list"),
        pytest.param(entry(tools=("a",)), entry(tools=("a", "b")), id="lists"),
        pytest.param(entry(), redefined(), id="definitions"),
        pytest.param(
            entry(skippedTools=[WAITING]),
            entry(skippedTools=[{**WAITING, "digest": "sha256:2"}]),
            id="definitions that wait",
        ),
        pytest.param(
            entry(flaggedTools=[WAITING]),
            entry(flaggedTools=[{**WAITING, "reason": "ConfusableName"}]),
            id="remarks",
        ),
        pytest.param(
            entry(protocolVersion="2025-11-25", serverInfo={"name": "n", "version": "1"}),
            entry(protocolVersion="2026-07-28", serverInfo={"name": "n", "version": "2"}),
            id="upstreams",
        ),
        pytest.param(entry(schemaBytes=5), entry(schemaBytes=7), id="sizes"),
        pytest.param(
            entry(State.SKIPPED, reason="Timeout", message="late"),
            entry(State.SKIPPED, reason="Unreachable", message="gone"),
            id="reasons",
        ),
    ],
)
def test_the_order_in_which_routers_are_asked_decides_nothing(one: Any, two: Any) -> None:
    first, second = says("r1", one), says("r2", two)
    lists = [reached(first, second).lists, reached(second, first).lists]

    assert lists[0] == lists[1]
    assert reached(first, second).difference == reached(second, first).difference


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(
            [entry(State.PENDING, reason="Unreachable", message=text) for text in "ab"],
            id="neither has listed it",
        ),
        pytest.param([entry(uid="u-9"), None], id="neither has got it"),
        pytest.param([entry(message=text) for text in "ab"], id="both serve it and complain"),
    ],
)
def test_the_order_in_which_routers_were_found_decides_nothing(words: list[Any]) -> None:
    statements = [says(f"r{number}", word) for number, word in enumerate(words)]

    assert reached(*statements) == reached(*statements[::-1])


def test_a_tool_with_two_definitions_is_listed_without_either() -> None:
    lists = reached(says("r1", entry()), says("r2", redefined())).lists

    assert lists is not None
    assert lists.tools == (Tool("a", "gh.a", "gh__a"),)


def test_what_an_upstream_says_of_itself_to_some_routers_only_is_not_shown() -> None:
    lists = reached(
        says("r1", entry(protocolVersion="2025-11-25", schemaBytes=5)),
        says("r2", entry(protocolVersion="2026-07-28", schemaBytes=7)),
    ).lists

    assert lists is not None
    assert (lists.protocol_version, lists.schema_bytes) == (None, 7)


def test_what_somebody_should_know_of_tools_is_listed_with_what_waits_to_be_approved() -> None:
    odd = {"name": "b", "reason": "ConfusableName", "message": "looks like\x07 a"}
    lists = reached(
        says("r1", entry(flaggedTools=[WAITING])), says("r2", entry(flaggedTools=[odd]))
    )

    assert lists.lists is not None
    assert lists.lists.flagged == (
        Remark("x", "DefinitionChanged", "m", "sha256:1"),
        Remark("b", "ConfusableName", "looks like· a"),
    )


def test_no_more_than_fifty_flagged_tools_are_listed() -> None:
    flags = [{"name": f"t{n:03}", "reason": "ConfusableName", "message": "m"} for n in range(60)]
    lists = reached(says("r1", entry(flaggedTools=flags))).lists

    assert lists is not None
    assert len(lists.flagged) == 50


@pytest.mark.parametrize(
    ("statements", "difference"),
    [
        pytest.param(
            [says("r1", entry(tools=("a", "b"))), says("r2", entry())],
            "r2 does not offer b",
            id="both can be called",
        ),
        pytest.param(
            [says("r1", entry(tools=("a", "b"))), says("r2", entry(State.STALE))],
            None,
            id="one cannot, and is named for that",
        ),
        pytest.param(
            [says("r1", entry(tools=("a", "b"))), silent("r2")], None, id="one does not answer"
        ),
        pytest.param(
            [says("r1", entry()), says("r2", entry(tools=("b",), generation=2))],
            None,
            id="one has an older generation",
        ),
        pytest.param(
            [says("r1", entry()), says("r2", entry(State.PENDING), young=True)],
            None,
            id="one has only begun",
        ),
    ],
)
def test_routers_that_all_can_be_called_are_compared(
    statements: list[Statement[ServerReport]], difference: str | None
) -> None:
    assert reached(*statements).difference == difference


def test_a_router_of_several_without_any_tool_is_named() -> None:
    consensus = reached(says("r1", entry()), says("r2", entry(tools=())))

    assert str(consensus.ready.reason) == "NoTools"
    assert consensus.ready.message.startswith("router r2 says: ")


@pytest.mark.parametrize(
    ("statements", "is_counted"),
    [
        pytest.param([says("r1", entry())], True, id="it serves"),
        pytest.param([says("r1", None)], True, id="it had its time"),
        pytest.param([silent("r1")], True, id="it does not answer"),
        pytest.param(
            [says("r1", entry()), says("r2", None, young=True)], False, id="it has only begun"
        ),
        pytest.param(
            [says("r1", entry(State.PENDING), young=True)], False, id="it is the only one"
        ),
        pytest.param(
            [Statement("r1", answers=False, young=True)], True, id="it began and went silent"
        ),
        pytest.param([says("r1", entry(), young=True)], True, id="it began and serves already"),
    ],
)
def test_routers_are_counted_when_each_had_its_time(
    statements: list[Statement[ServerReport]], is_counted: bool
) -> None:
    assert reached(*statements).is_counted is is_counted


def test_why_a_router_lags_is_told_where_it_says_so() -> None:
    late = Statement("r2", answers=True, entry=entry(generation=2), fault="no\x07 directory")

    assert reached(says("r1", entry()), late).ready.message == (
        "router r2 does not serve this generation yet: no· directory"
    )
