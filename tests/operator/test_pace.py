"""When the next write to one object may come."""

import pytest

from pointsman_operator.pace import Pace
from pointsman_operator.status import Counts


def a_pace() -> Pace:
    return Pace(repair_interval_s=10.0, settled_after_s=10.0)


def test_a_change_after_a_pause_waits_for_nothing() -> None:
    pace = a_pace()

    assert pace.after_change("a", 100.0) == 100.0
    pace.wrote("a", 100.0)
    assert pace.after_change("a", 101.0) == 101.0


def test_a_change_soon_after_a_write_waits_until_there_is_quiet() -> None:
    pace = a_pace()
    pace.wrote("a", 100.0)

    assert pace.after_change("a", 100.1) == pytest.approx(100.35)
    assert pace.after_change("a", 100.3) == pytest.approx(100.55)


def test_changes_that_never_stop_are_written_once_a_second() -> None:
    pace = a_pace()
    writes: list[float] = []
    due_s: float | None = None
    for tick in range(601):
        now_s = tick / 10
        if due_s is not None and due_s <= now_s:
            writes.append(now_s)
            pace.wrote("a", now_s)
            due_s = None
        due_s = pace.after_change("a", now_s)

    assert 55 <= len(writes) <= 61


def test_one_key_does_not_wait_for_another() -> None:
    pace = a_pace()
    pace.wrote("a", 100.0)
    pace.repaired("a", 100.0)

    assert pace.after_change("b", 100.0) == 100.0
    assert pace.repair_allowed("b", 100.0) == 100.0


def test_new_words_of_the_same_trouble_are_written_at_once_and_then_every_five_minutes() -> None:
    pace = a_pace()

    assert pace.rewording_allowed("a", 100.0) == 100.0
    pace.reworded("a", 100.0)
    assert pace.rewording_allowed("a", 101.0) == 400.0
    assert pace.rewording_allowed("b", 101.0) == 101.0
    assert pace.rewording_allowed("a", 500.0) == 500.0


def test_a_first_repair_is_made_at_once_and_the_next_ten_seconds_later() -> None:
    pace = a_pace()
    pace.wrote("a", 90.0)

    assert pace.repair_allowed("a", 100.0) == 100.0
    pace.wrote("a", 100.0)
    pace.repaired("a", 100.0)
    assert pace.repair_allowed("a", 100.5) == 110.0
    assert pace.repair_allowed("a", 111.0) == 111.0


def test_only_what_was_in_force_before_can_be_repaired() -> None:
    pace = a_pace()

    assert not pace.is_repair("a", "one")
    pace.in_force("a", "one")
    assert pace.is_repair("a", "one")
    assert not pace.is_repair("a", "another")
    assert not pace.is_repair("b", "one")


def test_what_is_forgotten_starts_anew() -> None:
    pace = a_pace()
    pace.wrote("a", 100.0)
    pace.repaired("a", 100.0)
    pace.forget("a")

    assert pace.after_change("a", 100.0) == 100.0
    assert pace.repair_allowed("a", 100.0) == 100.0


def test_counts_settle_ten_seconds_after_they_last_changed() -> None:
    pace = a_pace()

    assert pace.settled("a", Counts(0, 3), 100.0) == 110.0
    assert pace.settled("a", Counts(3, 3), 105.0) == 115.0
    assert pace.settled("a", Counts(3, 3), 112.0) == 115.0
    assert pace.settled("b", Counts(3, 3), 112.0) == 122.0


def test_counts_of_what_is_forgotten_settle_anew() -> None:
    pace = a_pace()
    pace.settled("a", Counts(3, 3), 100.0)
    pace.forget("a")

    assert pace.settled("a", Counts(3, 3), 105.0) == 115.0


def test_routers_that_differ_are_waited_for_and_then_differ_whatever_else_changes() -> None:
    pace = a_pace()

    assert pace.differs("a", True, 100.0) == 110.0
    assert pace.differs("a", True, 108.0) == 110.0
    assert pace.differs("a", False, 109.0) is None
    assert pace.differs("a", True, 109.5) == 119.5
    assert pace.differs("b", False, 109.5) is None
