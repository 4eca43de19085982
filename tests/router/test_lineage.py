"""Where names led is known for as long as agents may choose from what a list showed then."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointsman_router import lineage
from pointsman_router.exposure import Route
from pointsman_router.lineage import KEPT_S, Lead, Lineage, UnknownRevision

Table = Mapping[str, Route]


def table(**leads: str) -> Table:
    """Names, and what agents read where they lead: `server:digest`."""
    return {
        name: Route(server, name, 60.0, reads=reads)
        for name, (server, _, reads) in (
            (name, said.partition(":")) for name, said in leads.items()
        )
    }


@dataclass
class History:
    """Catalogues, one after the other."""

    lineage: Lineage = field(default_factory=Lineage)
    table: Table = field(default_factory=dict)

    def then(self, revision: str, at_s: float = 0.0, **leads: str) -> "History":
        return self.shows(revision, leads, at_s)

    def shows(self, revision: str, leads: Mapping[str, str], at_s: float = 0.0) -> "History":
        new = table(**leads)
        moved = lineage.moves(None, self.table, new)
        self.lineage = lineage.advanced(self.lineage, revision, moved, at_s)
        self.table = new
        return self

    def led(self, revision: str, name: str = "a") -> Lead | None:
        now = lineage.lead(self.table.get(name))
        return lineage.at(self.lineage, revision, (None, name), now)

    def knows(self, revision: str) -> bool:
        try:
            self.led(revision)
        except UnknownRevision:
            return False
        return True

    def is_same(self, revision: str, name: str = "a") -> bool:
        return self.led(revision, name) == lineage.lead(self.table.get(name))


def test_a_name_led_where_the_list_of_that_time_said() -> None:
    history = History().then("1", a="x:1").then("2", a="x:2", b="y:1").then("3", b="y:1")

    assert [history.led(revision, "a") for revision in "123"] == [
        Lead("x", "a", "1"),
        Lead("x", "a", "2"),
        None,
    ]
    assert [history.led(revision, "b") for revision in "123"] == [None, *[Lead("y", "b", "1")] * 2]


def test_what_comes_back_as_it_was_has_not_changed() -> None:
    history = History().then("1", a="x:1").then("2", b="x:1").then("3", a="x:1", b="y:1")

    assert history.is_same("1", "a")
    assert not history.is_same("2", "a")
    assert not history.is_same("1", "b")


def test_a_revision_that_returns_is_as_new_as_it_is_now() -> None:
    # The revision does not see a name that no list shows.
    history = History().then("1", a="x:1", unlisted="x:1").then("2", a="x:2", unlisted="x:2")
    history.then("1", a="x:1", unlisted="x:2")

    assert history.is_same("1", "a")
    assert history.is_same("1", "unlisted")
    assert not history.is_same("2", "a")
    assert history.is_same("2", "unlisted")


def test_the_first_catalogue_is_the_oldest_that_is_known() -> None:
    history = History().then("1", a="x:1")

    assert history.knows("1")
    assert not history.knows("0")
    assert history.lineage.moves == 0


def test_a_revision_is_known_for_a_day_after_it_was_in_force_and_no_longer() -> None:
    history = History().then("1", a="x:1").then("2", at_s=9 * KEPT_S, a="x:2")
    after_long = history.knows("1")
    history.then("3", at_s=10 * KEPT_S - 1, a="x:3")
    after_a_day = history.knows("1")
    history.then("3", at_s=10 * KEPT_S, a="x:3")

    assert after_long
    assert after_a_day
    assert not history.knows("1")
    assert history.knows("2")
    assert history.lineage.moves == 1


def test_what_nobody_can_ask_about_is_not_remembered() -> None:
    history = History().then("1", a="x:1")
    for number in range(2, 50):
        history.then(str(number), at_s=number * KEPT_S, a=f"x:{number}")

    assert len(history.lineage.seen) == 2
    assert history.lineage.moves == sum(map(len, history.lineage.led.values())) == 1


def test_of_too_many_revisions_the_oldest_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lineage, "REVISIONS_MAX", 3)
    history = History()
    for number in range(1, 6):
        history.then(str(number), a=f"x:{number}")

    assert [history.knows(str(number)) for number in range(1, 6)] == [False, False, *[True] * 3]
    assert history.lineage.moves == 2


def test_of_too_many_moves_the_oldest_are_forgotten_and_so_are_those_who_would_ask(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lineage, "MOVES_MAX", 3)
    history = History().then("1", a="x:1").then("2", a="x:2", b="x:1").then("3", a="x:3", b="x:1")
    before = [history.knows(revision) for revision in "123"]
    history.then("4", a="x:4", b="x:1")

    assert before == [True] * 3
    assert [history.knows(revision) for revision in "1234"] == [False, True, True, True]
    assert history.lineage.moves == 2
    history.shows("5", dict.fromkeys("abcdef", "y:1"))
    assert [history.knows(revision) for revision in "12345"] == [*[False] * 4, True]
    assert history.lineage.moves == 0


def test_another_route_object_to_the_same_is_no_move() -> None:
    first, second = table(a="x:1", b="x:1"), table(a="x:1", b="x:2")

    assert list(lineage.moves("s", first, first)) == []
    assert list(lineage.moves("s", first, second)) == [(("s", "b"), Lead("x", "b", "1"))]
    assert dict(lineage.moves(None, first, {})) == {
        (None, "a"): Lead("x", "a", "1"),
        (None, "b"): Lead("x", "b", "1"),
    }


LEADS = st.dictionaries(st.sampled_from("abc"), st.sampled_from(["x:1", "x:2", "y:1"]))


@given(st.lists(LEADS, min_size=1, max_size=12))
def test_a_call_passes_exactly_where_its_name_leads_to_what_the_named_list_showed(
    worlds: list[dict[str, str]],
) -> None:
    history = History()
    shown: dict[str, dict[str, str]] = {}
    for world in worlds:
        # Equal content has an equal revision.
        revision = repr(sorted(world.items()))
        shown[revision] = world
        history.shows(revision, world)

    for revision, world in shown.items():
        for name in "abc":
            assert history.is_same(revision, name) == (world.get(name) == worlds[-1].get(name))


@given(st.lists(st.tuples(LEADS, st.sampled_from([1.0, KEPT_S / 2, KEPT_S])), max_size=10))
def test_whatever_is_forgotten_no_known_revision_is_wrong_about_a_name(
    steps: list[tuple[dict[str, str], float]],
) -> None:
    history, now_s = History(), 0.0
    shown: dict[str, dict[str, str]] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lineage, "REVISIONS_MAX", 4)
        patch.setattr(lineage, "MOVES_MAX", 5)
        for world, passing_s in steps:
            now_s += passing_s
            revision = repr(sorted(world.items()))
            shown[revision] = world
            history.shows(revision, world, now_s)

            assert history.knows(revision)
            assert history.lineage.moves <= 5
            assert len(history.lineage.seen) <= 4
            for known in history.lineage.seen:
                for name in "abc":
                    assert history.is_same(known, name) == (
                        shown[known].get(name) == world.get(name)
                    )
