"""What is remembered of failures, and what pushes what out."""

import pytest

from pointsman_contract.report import ServerReason
from pointsman_router import recent
from pointsman_router.recent import Recent


@pytest.fixture
def kept() -> Recent:
    """A memory in a time that grows with each failure."""
    times = iter(range(1000))
    return Recent(lambda: f"t{next(times)}")


def test_the_newest_failure_comes_first_with_its_time(kept: Recent) -> None:
    kept.add("a", "listing", ServerReason.TIMEOUT, "it took too long")
    kept.add("b", "call", ServerReason.UNREACHABLE, "it is gone")

    newest, oldest = kept.failures
    assert (newest.at, newest.server, newest.doing) == ("t1", "b", "call")
    assert (oldest.at, oldest.reason, oldest.message) == ("t0", "Timeout", "it took too long")


def test_what_fails_again_in_the_same_words_is_counted_and_moves_up(kept: Recent) -> None:
    kept.add("a", "listing", "Timeout", "late")
    kept.add("b", "listing", "Timeout", "late")
    kept.add("a", "listing", "Timeout", "late")

    assert [(each.server, each.at, each.times) for each in kept.failures] == [
        ("a", "t2", 2),
        ("b", "t1", 1),
    ]


@pytest.mark.parametrize(
    ("doing", "reason", "message"),
    [("call", "Timeout", "late"), ("listing", "TlsFailed", "late"), ("listing", "Timeout", "x")],
    ids=["another request", "another reason", "other words"],
)
def test_what_differs_is_remembered_on_its_own(
    kept: Recent, doing: str, reason: str, message: str
) -> None:
    kept.add("a", "listing", "Timeout", "late")
    kept.add("a", "call" if doing == "call" else "listing", reason, message)

    assert [each.times for each in kept.failures] == [1, 1]


def test_one_server_in_ever_new_words_pushes_only_itself_out(kept: Recent) -> None:
    kept.add("quiet", "listing", "Timeout", "late")
    for number in range(200):
        kept.add("loud", "call", "UpstreamHttpError", f"error {number}")

    assert [each.message for each in kept.failures] == [
        *(f"error {number}" for number in range(199, 199 - recent.OF_ONE_SERVER_MAX, -1)),
        "late",
    ]


def test_of_many_servers_the_last_failures_are_remembered(kept: Recent) -> None:
    for number in range(recent.KEPT_MAX + 7):
        kept.add(f"s{number}", "listing", "Timeout", "late")

    assert len(kept.failures) == recent.KEPT_MAX
    assert kept.failures[-1].server == "s7"


def test_a_message_is_told_printable_and_cut(kept: Recent) -> None:
    kept.add("a", "call", "Timeout", "\x1b[31m\u202e" + "x" * 1000)

    (failure,) = kept.failures
    assert failure.message.startswith("·[31m·xxx")
    assert len(failure.message) == recent.MESSAGE_MAX_LENGTH


def test_what_was_handed_out_stays_what_it_was(kept: Recent) -> None:
    kept.add("a", "listing", "Timeout", "late")
    before = kept.failures
    kept.add("a", "listing", "Timeout", "late")

    assert [each.times for each in before] == [1]
