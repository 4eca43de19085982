"""What is told of files as they change."""

import pytest

from pointsman import notices
from pointsman.documents import read
from pointsman.judgement import Fault, File, judge
from pointsman.notices import Notice

WRONG = File("a.yaml", read(b"{apiVersion: pointsman.dev/v1alpha1, kind: Server}"))
GOOD = File("a.yaml", read(b"{apiVersion: v1, kind: Server}"))
BROKEN = File("a.yaml", fault=Fault("not YAML", 3))
HELD = File("a.yaml", GOOD.documents, fault=Fault("not YAML", 3))
OTHER = File("b.yaml")


def now_wrong(before: list[File], after: list[File]) -> list[Notice]:
    return list(notices.wrong(judge(before).verdicts, judge(after).verdicts, after))


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        pytest.param([], [GOOD], [], id="a good file that comes"),
        pytest.param(
            [GOOD],
            [WRONG],
            [Notice("a.yaml:1: InvalidSpec: kind must be McpServer or McpView", is_good=False)],
            id="a mistake that is new",
        ),
        pytest.param([WRONG], [WRONG, OTHER], [], id="a mistake that is known"),
        pytest.param(
            [WRONG], [GOOD], [Notice("a.yaml: in order again", is_good=True)], id="a mistake mended"
        ),
        pytest.param([WRONG], [], [], id="a wrong file that goes"),
        pytest.param(
            [GOOD], [HELD], [Notice("a.yaml:3: Unreadable: not YAML", is_good=False)], id="a break"
        ),
    ],
)
def test_a_mistake_is_told_when_it_comes_and_when_it_is_mended(
    before: list[File], after: list[File], told: list[Notice]
) -> None:
    assert now_wrong(before, after) == told


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        pytest.param([], [GOOD], "a.yaml: added", id="a file that comes"),
        pytest.param([GOOD], [], "a.yaml: removed", id="a file that goes"),
        pytest.param([GOOD], [WRONG], "a.yaml: changed", id="a file that says something else"),
        pytest.param(
            [GOOD],
            [HELD],
            "a.yaml: unreadable, so what it said before stays in force",
            id="a file that breaks",
        ),
        pytest.param(
            [BROKEN],
            [File("a.yaml", fault=Fault("not UTF-8"))],
            "a.yaml: changed",
            id="a file that never said anything and breaks otherwise",
        ),
    ],
)
def test_a_change_of_a_file_is_told_in_a_line(
    before: list[File], after: list[File], told: str
) -> None:
    assert [notice.text for notice in notices.changed(before, after)] == [told]


def test_files_that_stay_as_they_are_are_not_news() -> None:
    assert list(notices.changed([GOOD, OTHER], [GOOD, OTHER])) == []
