"""How many Events one resource may have."""

import itertools

from pointsman_operator.events import Event, EventReason
from pointsman_operator.ration import Ration

READY, NOT_READY = Event(EventReason.READY, "yes"), Event(EventReason.NOT_READY, "no")
CHANGED = Event(EventReason.DEFINITION_CHANGED, "other")
CONFLICT = Event(EventReason.PREFIX_CONFLICT, "taken")


def a_ration(burst: int = 3) -> Ration:
    return Ration(burst=burst, interval_s=60.0)


def test_what_happens_at_once_is_told_until_the_burst_is_used_up() -> None:
    ration = a_ration()
    told = [ration.take("a", one, 100.0) for one in (READY, NOT_READY, READY, NOT_READY)]

    assert told == [READY, NOT_READY, READY, None]
    assert ration.take("b", READY, 100.0) == READY


def test_what_flaps_is_told_once_an_interval_with_the_number_of_what_was_left_out() -> None:
    ration = a_ration()
    told = [
        (second, one)
        for second in range(600)
        if (one := ration.take("a", (READY, NOT_READY)[second % 2], float(second)))
    ]

    assert [second for second, _ in told[:3]] == [0, 1, 2]
    assert all(later - sooner >= 60 for (sooner, _), (later, _) in itertools.pairwise(told[3:]))
    assert 3 + 600 // 60 - 1 <= len(told) <= 3 + 600 // 60
    assert told[4][1].note.endswith(" (events left out before this one: 59)")
    assert all(one.note.startswith(("yes", "no")) for _, one in told)


def test_the_same_in_a_row_is_told_once_an_interval_and_costs_nothing() -> None:
    ration = a_ration()
    told = [ration.take("a", READY, float(second)) for second in range(121)]

    assert [second for second, one in enumerate(told) if one] == [0, 60, 120]
    assert {one for one in told if one} == {READY}


def test_after_a_quiet_time_there_is_a_burst_again_and_no_more() -> None:
    ration = a_ration(burst=2)
    for one in (READY, NOT_READY, READY):
        ration.take("a", one, 0.0)
    later = [ration.take("a", one, 1000.0) for one in (NOT_READY, READY, NOT_READY)]

    assert [one is not None for one in later] == [True, True, False]


def test_without_a_burst_nothing_is_told() -> None:
    ration = a_ration(burst=0)

    assert [ration.take("a", READY, second * 100.0) for second in range(5)] == [None] * 5


def test_what_flaps_takes_nothing_from_what_somebody_has_to_do_something_about() -> None:
    ration = a_ration(burst=1)
    told = [ration.take("a", one, 0.0) for one in (READY, NOT_READY, CHANGED, CONFLICT)]
    ration.forget("a")

    assert told == [READY, None, CHANGED, None]
    assert ration.take("a", CONFLICT, 0.0) == CONFLICT


def test_a_resource_that_is_gone_is_forgotten() -> None:
    ration = a_ration(burst=1)
    ration.take("a", READY, 0.0)
    assert ration.take("a", NOT_READY, 0.0) is None
    ration.forget("a")

    assert ration.take("a", NOT_READY, 0.0) == NOT_READY
