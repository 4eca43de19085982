"""What is said of names that agents once saw."""

import pytest
from hypothesis import given, settings

from bench.catalogues import NOW_S, Known, built, found, server
from bench.worlds import World, worlds
from pointsman_contract.report import ServerReason
from pointsman_router import catalogue, departed
from pointsman_router.catalogue import Catalogue
from pointsman_router.departed import DEPARTED_S

SERVING = Known(server(), found("search", "read"))
SUSPENDED = Known(server(out=ServerReason.SUSPENDED), None)
OTHER = Known(server("tools/other"), found("x"))


def over_time(*worlds: World, every_s: float = 1.0) -> Catalogue:
    """The catalogue after these worlds followed each other."""
    made = catalogue.empty()
    for number, world in enumerate(worlds):
        made = built(*world, now_s=NOW_S + number * every_s, previous=made)
    return made


def fates(made: Catalogue) -> dict[str, str]:
    return {name: gone.reason for name, gone in made.departed.items()}


BOTH_NAMES = ("github.search", "github__search", "github.read", "github__read")


def test_c27_the_names_of_a_suspended_server_say_so() -> None:
    assert fates(over_time([SERVING], [SUSPENDED])) == dict.fromkeys(BOTH_NAMES, "suspended")


def test_m13_the_names_of_a_removed_server_say_so() -> None:
    assert fates(over_time([SERVING, OTHER], [OTHER])) == dict.fromkeys(BOTH_NAMES, "removed")


def test_the_names_of_a_tool_that_left_or_is_no_longer_allowed_say_so() -> None:
    narrowed = Known(server(allowed=["read"]), SERVING.finding)
    shorter = Known(server(), found("read"))

    for world in ([narrowed], [shorter]):
        assert fates(over_time([SERVING], world)) == {
            "github.search": "removed",
            "github__search": "removed",
        }


def test_names_that_lead_somewhere_again_have_not_gone() -> None:
    assert fates(over_time([SERVING], [SUSPENDED], [SERVING])) == {}


def test_a_suspended_server_that_is_removed_is_removed() -> None:
    assert set(fates(over_time([SERVING], [SUSPENDED], [OTHER])).values()) == {"removed"}


def test_a_removed_server_that_comes_back_suspended_is_suspended() -> None:
    assert set(fates(over_time([SERVING], [], [SUSPENDED])).values()) == {"suspended"}


def test_a_name_is_forgotten_a_day_after_it_went_however_often_snapshots_are_made() -> None:
    hours = [[OTHER]] * 24

    assert len(over_time([SERVING], *hours, every_s=3600).departed) == 4
    assert not over_time([SERVING], *hours, [OTHER], every_s=3600).departed


def test_a_suspended_servers_names_are_known_for_as_long_as_it_is_suspended() -> None:
    week = over_time([SERVING], *[[SUSPENDED]] * 7, every_s=DEPARTED_S)

    assert fates(week) == dict.fromkeys(BOTH_NAMES, "suspended")


def test_the_memory_of_names_is_bounded_and_the_oldest_go_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(departed, "DEPARTED_MAX", 4)
    older, newer = Known(server("t/older"), found("x")), Known(server("t/newer"), found("x", "y"))

    made = over_time([older, newer], [newer], [])

    assert all(name.startswith("newer") for name in made.departed)
    assert len(made.departed) == 4


def test_an_upstream_that_renames_its_tools_fills_no_memory_with_long_names() -> None:
    renamed = [
        [Known(server(), found(*(f"{number}{letter}" + "x" * 60_000 for letter in "abc")))]
        for number in range(3)
    ]

    made = over_time(*renamed, [OTHER])

    assert sum(map(len, made.departed)) < 10_000
    assert made.lineage.moves < 10


@given(worlds(), worlds(), worlds())
@settings(max_examples=50)
def test_no_name_is_both_there_and_gone(first: World, second: World, third: World) -> None:
    made = over_time(first, second, third)

    assert not made.departed.keys() & made.routes.keys()
    once = built(*first).routes.keys() | built(*second).routes.keys()
    assert made.departed.keys() == once - made.routes.keys()
