"""What is believed of an upstream follows from its listings, and from nothing else."""

from collections.abc import Collection, Sequence
from dataclasses import replace

import pytest

from bench.catalogues import definition
from bench.listed_beside import described
from pointsman_contract.meta import Exposed
from pointsman_contract.report import ServerReason
from pointsman_router import belief, offer
from pointsman_router.belief import Belief, Rhythm
from pointsman_router.entrycheck import Kind
from pointsman_router.offer import Finding, Listing, Offer
from pointsman_router.registry import Skip

RHYTHM = Rhythm()
DAY_S = 24 * 3600.0
DOWN = Skip(ServerReason.UNREACHABLE, "down")
LATE = Skip(ServerReason.TIMEOUT, "late")


def offering(*names: str) -> Offer:
    tools = tuple(b'{"name":"%b","inputSchema":{"type":"object"}}' % n.encode() for n in names)
    return offer.read(Listing(tools, "2025-11-25"))


FULL, OTHER, EMPTY = offering("a", "b"), offering("a"), offering()
UNUSABLE = offer.read(Listing((b"{}",), "2025-11-25"))
Step = tuple[float, Offer | Skip]


def after(*steps: Step, since: Belief | None = None) -> Belief:
    """What is believed after these listings, each at its time."""
    believed = since or Belief()
    for at_s, outcome in steps:
        if isinstance(outcome, Offer):
            believed = belief.listed(believed, outcome, at_s, RHYTHM)
        else:
            believed = belief.failed(believed, outcome, at_s, RHYTHM)
    return believed


@pytest.mark.parametrize(
    ("steps", "offered", "reason"),
    [
        pytest.param([], None, None, id="nothing yet"),
        pytest.param([(0, FULL)], FULL, None, id="a list"),
        pytest.param([(0, EMPTY)], EMPTY, None, id="empty from the start"),
        pytest.param([(0, DOWN)], None, "Unreachable", id="a failure"),
        pytest.param([(0, DOWN), (1, LATE)], None, "Timeout", id="another failure"),
        pytest.param([(0, DOWN), (1, FULL)], FULL, None, id="healed"),
        pytest.param([(0, FULL), (60, OTHER)], OTHER, None, id="another list"),
        pytest.param([(0, FULL), (60, DOWN)], FULL, "Unreachable", id="stale"),
        pytest.param([(0, FULL), (60, DOWN), (61, FULL)], FULL, None, id="stale no more"),
        pytest.param([(0, FULL), (DAY_S - 1, DOWN)], FULL, "Unreachable", id="stale for a day"),
        pytest.param([(0, FULL), (DAY_S, DOWN)], None, "Unreachable", id="longer than a day"),
        pytest.param(
            [(0, FULL), (DAY_S, FULL), (DAY_S + 9, DOWN)], FULL, "Unreachable", id="confirmed since"
        ),
        pytest.param(
            [(0, FULL), (DAY_S, EMPTY)],
            FULL,
            "NoTools",
            id="empty, though not failing, after a day",
        ),
        pytest.param([(0, FULL), (60, EMPTY)], FULL, "NoTools", id="empty once"),
        pytest.param([(0, FULL), (60, EMPTY), (70, EMPTY)], FULL, "NoTools", id="empty twice"),
        pytest.param(
            [(0, FULL), (60, EMPTY), (70, EMPTY), (80, EMPTY)], EMPTY, None, id="empty three times"
        ),
        pytest.param(
            [(0, FULL), (60, EMPTY), (61, EMPTY), (62, EMPTY), (69, EMPTY)],
            FULL,
            "NoTools",
            id="empty often within ten seconds",
        ),
        pytest.param(
            [(0, FULL), (60, EMPTY), (70, DOWN), (80, EMPTY), (90, EMPTY)],
            EMPTY,
            None,
            id="empty, with a failure between",
        ),
        pytest.param(
            [(0, FULL), (60, EMPTY), (70, FULL), (80, EMPTY), (90, EMPTY)],
            FULL,
            "NoTools",
            id="empty, with a full list between",
        ),
        pytest.param([(0, FULL), (60, UNUSABLE)], UNUSABLE, None, id="unusable tools are not none"),
        pytest.param([(0, EMPTY), (60, EMPTY)], EMPTY, None, id="empty again"),
        pytest.param([(0, EMPTY), (60, FULL)], FULL, None, id="empty, then full"),
    ],
)
def test_belief_after_listings(
    steps: Sequence[Step], offered: Offer | None, reason: str | None
) -> None:
    believed = after(*steps)

    assert believed.finding.offer == offered
    assert believed.reason == reason


@pytest.mark.parametrize(
    ("steps", "left_s"),
    [
        pytest.param([], None, id="nothing yet"),
        pytest.param([(0, FULL)], None, id="a list"),
        pytest.param([(0, FULL), (60, EMPTY)], None, id="a doubt"),
        pytest.param([(0, DOWN)], None, id="nothing to keep"),
        pytest.param([(0, FULL), (60, DOWN)], DAY_S - 100, id="a failure"),
        pytest.param([(0, FULL), (60, DOWN), (90, LATE)], DAY_S - 100, id="another failure"),
        pytest.param([(0, FULL), (50, FULL), (60, DOWN)], DAY_S - 50, id="confirmed since"),
        pytest.param([(0, FULL), (60, DOWN), (90, FULL)], None, id="healed"),
    ],
)
def test_an_offer_ends_a_day_after_it_was_confirmed_unless_it_is_again(
    steps: Sequence[Step], left_s: float | None
) -> None:
    believed = after(*steps)

    assert belief.keeps_s(believed, 100.0, RHYTHM) == left_s
    assert belief.outlived(believed, 100.0, RHYTHM) is believed
    ended = belief.outlived(believed, 100.0 + (left_s or 0.0), RHYTHM)
    kept = believed.finding.offer if left_s is None else None
    assert ended.finding == Finding(kept, believed.finding.trouble)


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param([(0, FULL), (60, offering("a", "b"))], id="an equal list"),
        pytest.param([(0, FULL), (60, offering("b", "a"))], id="the same tools in another order"),
        pytest.param(
            [(0, DOWN), (1, Skip(ServerReason.UNREACHABLE, "down"))], id="the same trouble"
        ),
        pytest.param([(0, FULL), (60, DOWN), (61, DOWN)], id="the same trouble beside an offer"),
        pytest.param([(0, FULL), (60, EMPTY), (70, EMPTY)], id="the same doubt"),
    ],
)
def test_what_changes_nothing_leaves_the_same_finding(steps: Sequence[Step]) -> None:
    before = after(*steps[:-1])

    assert after(steps[-1], since=before).finding is before.finding


# --- lists beside the tools


NO = Skip(ServerReason.UPSTREAM_RPC_ERROR, "no")


def beside(*prompts: str, refused: bool = False, tool: str = "a", uri: str = "test://a") -> Offer:
    """An offer of a tool, a resource and these prompts, unless their list is refused."""
    return offer.read(
        Listing(
            (definition(tool),),
            "2025-11-25",
            prompts=tuple(described(Kind.PROMPT, name) for name in prompts),
            resources=(described(Kind.RESOURCE, uri),),
            refused={Kind.PROMPT: NO} if refused else {},
        )
    )


def names(offered: Offer | None) -> list[str]:
    """What all lists of an offer show."""
    assert offered is not None
    beside_tools = (offered.prompts, offered.resources, offered.templates)
    return [
        *(tool.name for tool in offered.tools),
        *(entry.name for each in beside_tools for entry in each.entries),
    ]


PROMPTS, NO_PROMPTS, REFUSED = beside("ask"), beside(), beside(refused=True)


@pytest.mark.parametrize(
    ("steps", "prompts", "reason"),
    [
        pytest.param([(0, REFUSED)], [], None, id="refused from the start"),
        pytest.param([(0, PROMPTS), (60, REFUSED)], ["ask"], None, id="refused"),
        pytest.param(
            [(0, PROMPTS), (60, REFUSED), (DAY_S + 60, REFUSED)],
            ["ask"],
            None,
            id="refused for a day",
        ),
        pytest.param(
            [(0, PROMPTS), (60, REFUSED), (DAY_S, REFUSED), (DAY_S + 61, REFUSED)],
            [],
            None,
            id="refused for longer than a day",
        ),
        pytest.param(
            [(0, PROMPTS), (60, REFUSED), (DAY_S, PROMPTS), (DAY_S + 61, REFUSED)],
            ["ask"],
            None,
            id="refused, listed, refused",
        ),
        pytest.param(
            [(0, PROMPTS), (60, REFUSED), (120, beside("tell"))], ["tell"], None, id="listed again"
        ),
        pytest.param(
            [(0, PROMPTS), (60, REFUSED), (120, NO_PROMPTS)],
            ["ask"],
            None,
            id="refused, then empty",
        ),
        pytest.param([(0, REFUSED), (60, NO_PROMPTS)], [], None, id="never any, then empty"),
        pytest.param([(0, PROMPTS), (60, REFUSED), (61, DOWN)], ["ask"], "Unreachable", id="stale"),
    ],
)
def test_prompts_whose_list_is_refused_stay_for_a_day(
    steps: Sequence[Step], prompts: list[str], reason: str | None
) -> None:
    believed = after(*steps)

    assert believed.finding.offer is not None
    assert [entry.name for entry in believed.finding.offer.prompts.entries] == prompts
    assert believed.reason == reason


def test_what_comes_beside_a_refused_list_is_taken() -> None:
    other = beside(tool="b", uri="test://b", refused=True)

    offered = after((0, PROMPTS), (60, other)).finding.offer

    assert offered is not None
    assert [tool.name for tool in offered.tools] == ["b"]
    assert [entry.name for entry in offered.resources.entries] == ["test://b"]
    assert offered.refused == {Kind.PROMPT: NO}


def test_what_stays_is_good_for_nobody_else_and_for_no_longer_than_before() -> None:
    shy = replace(PROMPTS, private=True, ttl_ms=5)

    kept = after((0, shy), (60, replace(REFUSED, ttl_ms=9))).finding.offer
    gone = after((0, shy), (60, REFUSED), (DAY_S + 61, REFUSED)).finding.offer

    assert kept is not None
    assert (kept.private, kept.ttl_ms) == (True, 5)
    assert gone is not None
    assert (gone.private, gone.ttl_ms) == (False, None)


def test_a_list_that_is_refused_again_changes_nothing() -> None:
    before = after((0, PROMPTS), (60, REFUSED))

    assert after((120, beside(refused=True)), since=before).finding is before.finding


NEWER = beside(tool="b", uri="test://b")


@pytest.mark.parametrize(
    ("steps", "prompts"),
    [
        pytest.param([(60, NEWER)], ["ask"], id="empty once"),
        pytest.param([(60, NEWER), (61, NEWER), (62, NEWER)], ["ask"], id="empty within seconds"),
        pytest.param([(60, NEWER), (70, NEWER), (80, NEWER)], [], id="empty three times"),
        pytest.param(
            [(60, NEWER), (70, NEWER), (71, beside("tell")), (80, NEWER)],
            ["tell"],
            id="empty, with some between",
        ),
        pytest.param(
            [(60, NEWER), (70, EMPTY), (80, NEWER)], [], id="empty, with nothing at all between"
        ),
    ],
)
def test_a_list_that_comes_empty_is_doubted_by_itself(
    steps: Sequence[Step], prompts: list[str]
) -> None:
    believed = after((0, PROMPTS), *steps)

    assert names(believed.finding.offer) == ["b", *prompts, "test://b"]
    assert believed.finding.trouble is None


def test_a_doubted_list_is_told_of_and_asked_for_soon_until_it_is_believed() -> None:
    doubted = after((0, PROMPTS), (60, NEWER))
    gone = after((70, NEWER), (80, NEWER), since=doubted)

    assert doubted.finding.offer is not None
    (told,) = doubted.finding.offer.refused.items()
    assert (told[0], told[1].reason) == (Kind.PROMPT, "NoTools")
    assert "lists no prompts" in told[1].message
    assert belief.wait_s(doubted, RHYTHM, lambda: 0.0, None) == 10
    assert gone.finding.offer == NEWER
    assert belief.wait_s(gone, RHYTHM, lambda: 0.5, None) == 60


def test_tools_that_are_doubted_keep_nothing_else_from_coming() -> None:
    without = offer.read(
        Listing((), "2025-11-25", resources=(described(Kind.RESOURCE, "test://b"),))
    )

    believed = after((0, beside()), (60, without))

    assert names(believed.finding.offer) == ["a", "test://b"]
    assert believed.finding.trouble is not None
    assert "lists no tools" in believed.finding.trouble.message
    assert believed.listed_at_s == 0


def test_an_upstream_of_prompts_alone_that_lists_nothing_is_stale() -> None:
    asking = offer.read(Listing((), "2025-11-25", prompts=(described(Kind.PROMPT, "ask"),)))

    believed = after((0, asking), (60, EMPTY))

    assert names(believed.finding.offer) == ["ask"]
    assert believed.reason == "NoTools"


# --- an upstream that is asked in another way


@pytest.mark.parametrize(
    ("exposes", "shown"),
    [
        pytest.param(Exposed, ["a", "ask", "test://a"], id="everything"),
        pytest.param([Exposed.TOOLS], ["a"], id="tools"),
        pytest.param([Exposed.PROMPTS], ["ask"], id="prompts"),
        pytest.param([Exposed.RESOURCES], ["test://a"], id="resources"),
    ],
)
def test_what_is_still_exposed_stays_and_nothing_else(
    exposes: Collection[Exposed], shown: list[str]
) -> None:
    known = after((0, PROMPTS), (60, DOWN))

    asked = belief.asked_otherwise(known, exposes)

    assert names(asked.finding.offer) == shown
    assert asked.reason == "Unreachable"
    assert asked.listed_at_s == 0


def test_what_is_no_longer_asked_for_is_no_list_that_came_empty() -> None:
    asked = belief.asked_otherwise(after((0, PROMPTS)), [Exposed.TOOLS])

    believed = after((60, OTHER), since=asked)

    assert believed.finding == Finding(OTHER, None)


def test_a_refusal_goes_with_what_is_no_longer_exposed() -> None:
    asked = belief.asked_otherwise(after((0, REFUSED)), [Exposed.TOOLS])

    assert asked.finding.offer is not None
    assert not asked.finding.offer.refused


def test_an_empty_list_is_not_confirmed_by_what_another_question_brings() -> None:
    doubted = after((0, FULL), (60, EMPTY), (70, EMPTY))

    asked = belief.asked_otherwise(doubted, [Exposed.TOOLS])
    believed = after((80, EMPTY), (90, EMPTY), since=asked)

    assert believed.finding == Finding(FULL, doubted.finding.trouble)
    assert after((100, EMPTY), since=believed).finding == Finding(EMPTY, None)


def test_nothing_known_stays_nothing_known() -> None:
    asked = belief.asked_otherwise(after((0, DOWN)), [Exposed.TOOLS])

    assert asked.finding == Finding(None, DOWN)


def waits(outcome: Offer | Skip, count: int, chance: float = 1.0) -> list[float]:
    """How long is waited after each of so many equal outcomes in a row."""
    found = []
    believed = Belief()
    for at_s in range(count):
        believed = after((at_s, outcome), since=believed)
        found.append(belief.wait_s(believed, RHYTHM, lambda: chance, None))
    return found


def test_failures_are_asked_about_ever_more_rarely_up_to_a_minute() -> None:
    assert waits(DOWN, 9) == [1, 2, 4, 8, 16, 32, 60, 60, 60]


def test_the_wait_after_a_failure_is_any_part_of_its_bound() -> None:
    assert waits(DOWN, 3, chance=0.5) == [0.5, 1, 2]
    assert waits(DOWN, 2000)[-1] == 60


def test_a_success_forgets_the_failures() -> None:
    healed = after((0, DOWN), (1, DOWN), (2, FULL), (3, DOWN))

    assert belief.wait_s(healed, RHYTHM, lambda: 1.0, None) == 1


@pytest.mark.parametrize(("chance", "expected_s"), [(0.0, 48), (0.5, 60), (1.0, 72)])
def test_a_refresh_is_a_fifth_early_or_late(chance: float, expected_s: float) -> None:
    assert waits(FULL, 1, chance) == [expected_s]


@pytest.mark.parametrize(
    "reason",
    [
        ServerReason.UPSTREAM_AUTH_REQUIRED,
        ServerReason.UNSUPPORTED_PROTOCOL,
        ServerReason.LIST_TOO_LARGE,
        ServerReason.CURSOR_LOOP,
    ],
)
def test_what_only_a_person_can_repair_is_asked_about_slowly(reason: ServerReason) -> None:
    assert waits(Skip(reason, ""), 2, chance=0.5) == [60, 60]


@pytest.mark.parametrize(("chance", "expected_s"), [(0.0, 10), (1.0, 12)])
def test_a_doubted_empty_list_is_asked_about_after_ten_seconds(
    chance: float, expected_s: float
) -> None:
    doubted = after((0, FULL), (60, EMPTY))

    assert belief.wait_s(doubted, RHYTHM, lambda: chance, None) == expected_s


def test_an_upstream_is_left_alone_for_as_long_as_it_asks() -> None:
    throttled = after((0, Skip(ServerReason.UPSTREAM_THROTTLED, "")))

    assert belief.wait_s(throttled, RHYTHM, lambda: 1.0, 7000) == 7
    assert belief.wait_s(throttled, RHYTHM, lambda: 1.0, 10) == 1
