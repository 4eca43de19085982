"""Where names led is known for as long as agents may choose from what a list showed then."""

import itertools
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from pointsman_router import lineage
from pointsman_router.exposure import Route
from pointsman_router.leads import Lead
from pointsman_router.lineage import KEPT_S, Lineage, Move, UnknownRevision

Table = Mapping[str, Route]


def table(**leads: str) -> Table:
    """Names, and what agents read where they lead: `server:digest`."""
    return {
        name: Route(server, name, 60.0, lead=Lead(server, name, reads, reads))
        for name, (server, _, reads) in (
            (name, said.partition(":")) for name, said in leads.items()
        )
    }


@dataclass
class History:
    """Catalogues, one after the other."""

    revisions_max: int = lineage.REVISIONS_MAX
    moves_max: int = lineage.MOVES_MAX
    lineage: Lineage = field(default_factory=Lineage)
    table: Table = field(default_factory=dict)

    def then(self, revision: str, at_s: float = 0.0, **leads: str) -> "History":
        return self.shows(revision, leads, at_s)

    def shows(self, revision: str, leads: Mapping[str, str], at_s: float = 0.0) -> "History":
        new = table(**leads)
        moved = lineage.moves(None, self.table, new)
        self.lineage = lineage.advanced(
            self.lineage,
            revision,
            moved,
            at_s,
            revisions_max=self.revisions_max,
            moves_max=self.moves_max,
        )
        self.table = new
        return self

    def led(self, revision: str, name: str = "a") -> Lead | None:
        return lineage.at(self.lineage, revision, (None, name), self.leads(name))

    def leads(self, name: str) -> Lead | None:
        route = self.table.get(name)
        return route.lead if route else None

    def knows(self, revision: str) -> bool:
        try:
            self.led(revision)
        except UnknownRevision:
            return False
        return True

    def is_same(self, revision: str, name: str = "a") -> bool:
        return self.led(revision, name) == self.leads(name)


def test_a_name_led_where_the_list_of_that_time_said() -> None:
    history = History().then("1", a="x:1").then("2", a="x:2", b="y:1").then("3", b="y:1")

    assert [history.led(revision, "a") for revision in "123"] == [
        Lead("x", "a", "1", "1"),
        Lead("x", "a", "2", "2"),
        None,
    ]
    assert [history.led(revision, "b") for revision in "123"] == [
        None,
        *[Lead("y", "b", "1", "1")] * 2,
    ]


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


def test_of_too_many_revisions_the_oldest_are_forgotten() -> None:
    history = History(revisions_max=3)
    for number in range(1, 6):
        history.then(str(number), a=f"x:{number}")

    assert [history.knows(str(number)) for number in range(1, 6)] == [False, False, *[True] * 3]
    assert history.lineage.moves == 2


def test_of_too_many_moves_those_of_who_moves_most_are_forgotten_and_nobody_elses() -> None:
    history = History(moves_max=20).then("0", a="x:0", b="x:0", c="y:0", d="y:0")
    for number in range(1, 100):
        history.then(str(number), a=f"x:{number}", b="x:0", c=f"y:{number > 2}", d="y:0")

    assert all(history.knows(str(number)) for number in range(100))
    assert history.is_same("99", "a")
    assert not any(history.is_same(str(number), "a") for number in range(99))
    for number in range(100):
        assert history.is_same(str(number), "b")
        assert history.is_same(str(number), "c") == (number > 2)
        assert history.is_same(str(number), "d")
    assert history.lineage.moves == sum(map(len, history.lineage.led.values())) <= 20


def test_one_change_that_moves_more_than_there_is_room_for_costs_nobody_else_anything() -> None:
    many = {f"n{number}": "x:1" for number in range(50)}
    history = History(moves_max=20).shows("1", many | {"a": "y:1", "b": "y:1"})
    history.shows("2", dict.fromkeys(many, "x:2") | {"a": "y:2", "b": "y:1"})

    assert history.knows("1")
    assert not history.is_same("1", "n7")
    assert history.led("1", "a") == Lead("y", "a", "1", "1")
    assert history.is_same("1", "b")
    assert history.is_same("2", "n7")
    assert history.lineage.moves == 1


def test_names_that_never_come_back_take_no_room_for_good() -> None:
    history = History(moves_max=20).then("0", a="y:0", new0="x:0")
    for number in range(1, 100):
        history.shows(str(number), {"a": "y:0", f"new{number}": "x:0"})

    assert all(history.is_same(str(number), "a") for number in range(100))
    assert not history.is_same("98", "new99")
    assert history.lineage.moves <= 20
    history.then("day", at_s=KEPT_S, a="y:0").then("next", at_s=3 * KEPT_S, a="y:0")
    assert history.lineage.forgotten == {}


def test_much_is_forgotten_in_little_time() -> None:
    first, second = (
        {f"n{number}": f"s{number % 1000}:{reads}" for number in range(100_000)} for reads in "12"
    )
    history = History(moves_max=1000).shows("1", first)
    began_s = time.process_time()
    history.shows("2", second)

    assert time.process_time() - began_s < 5
    assert history.lineage.moves <= 1000
    assert not any(history.is_same("1", name) for name in first)


def test_another_route_object_to_the_same_is_no_move() -> None:
    first, second = table(a="x:1", b="x:1"), table(a="x:1", b="x:2")

    assert list(lineage.moves("s", first, first)) == []
    assert list(lineage.moves("s", first, second)) == [
        Move(("s", "b"), Lead("x", "b", "1", "1"), "x")
    ]
    assert {move.key: move for move in lineage.moves(None, first, {"c": second["b"]})} == {
        (None, name): Move((None, name), to, "x")
        for name, to in (("a", first["a"].lead), ("b", first["b"].lead), ("c", None))
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
    history, now_s = History(revisions_max=4, moves_max=5), 0.0
    shown: dict[str, dict[str, str]] = {}
    for world, passing_s in steps:
        now_s += passing_s
        revision = repr(sorted(world.items()))
        shown[revision] = world
        history.shows(revision, world, now_s)

        assert history.knows(revision)
        assert history.lineage.moves == sum(map(len, history.lineage.led.values())) <= 5
        assert len(history.lineage.seen) <= 4
        for known, name in itertools.product(history.lineage.seen, world):
            was, leads = shown[known].get(name), world[name]
            # What is forgotten is taken for changed.
            assert not history.is_same(known, name) or was == leads
        assert all(history.is_same(revision, name) for name in "abc")
