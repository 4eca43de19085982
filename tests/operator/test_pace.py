"""When the next write to one object may come."""

import pytest

from pointsman_operator.pace import Pace
from pointsman_operator.settling import Settling
from pointsman_operator.status import Counts


def test_a_change_after_a_pause_waits_for_nothing() -> None:
    pace = Pace()

    assert pace.after_change("a", 100.0) == 100.0
    pace.wrote("a", 100.0, repair=False)
    assert pace.after_change("a", 101.0) == 101.0


def test_a_change_soon_after_a_write_waits_until_there_is_quiet() -> None:
    pace = Pace()
    pace.wrote("a", 100.0, repair=False)

    assert pace.after_change("a", 100.1) == pytest.approx(100.35)
    assert pace.after_change("a", 100.3) == pytest.approx(100.55)


def test_changes_that_never_stop_are_written_once_a_second() -> None:
    pace = Pace()
    writes: list[float] = []
    due_s: float | None = None
    for tick in range(601):
        now_s = tick / 10
        if due_s is not None and due_s <= now_s:
            writes.append(now_s)
            pace.wrote("a", now_s, repair=False)
            due_s = None
        due_s = pace.after_change("a", now_s)

    assert 55 <= len(writes) <= 61


def test_one_key_does_not_wait_for_another() -> None:
    pace = Pace()
    pace.wrote("a", 100.0, repair=True)

    assert pace.after_change("b", 100.0) == 100.0
    assert pace.repair_allowed("b", 100.0) == 100.0


def test_a_first_repair_is_made_at_once_and_the_next_ten_seconds_later() -> None:
    pace = Pace()
    pace.wrote("a", 90.0, repair=False)

    assert pace.repair_allowed("a", 100.0) == 100.0
    pace.wrote("a", 100.0, repair=True)
    assert pace.repair_allowed("a", 100.5) == 110.0
    assert pace.repair_allowed("a", 111.0) == 111.0


def test_what_is_forgotten_starts_anew() -> None:
    pace = Pace()
    pace.wrote("a", 100.0, repair=True)
    pace.forget("a")

    assert pace.after_change("a", 100.0) == 100.0
    assert pace.repair_allowed("a", 100.0) == 100.0


def test_counts_settle_ten_seconds_after_they_last_changed() -> None:
    settling = Settling()

    assert settling.look("a", Counts(0, 3), 100.0) == 110.0
    assert settling.look("a", Counts(3, 3), 105.0) == 115.0
    assert settling.look("a", Counts(3, 3), 112.0) == 115.0
    assert settling.look("b", Counts(3, 3), 112.0) == 122.0


def test_counts_of_what_is_forgotten_settle_anew() -> None:
    settling = Settling()
    settling.look("a", Counts(3, 3), 100.0)
    settling.forget("a")

    assert settling.look("a", Counts(3, 3), 105.0) == 115.0
