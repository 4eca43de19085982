"""A call hears of itself and of nothing else."""

import pytest

from pointsman_router.upstream import asking
from pointsman_router.upstream.asking import Notice

PROGRESS = b'{"progressToken":"ours","progress":0.50,"total":9007199254740993,"x":{}}'


@pytest.mark.parametrize(
    ("method", "params", "expected"),
    [
        pytest.param(
            "notifications/progress",
            PROGRESS,
            {"progress": b"0.50", "total": b"9007199254740993", "x": b"{}"},
            id="progress of this call",
        ),
        pytest.param(
            "notifications/progress",
            b'{"progressToken":"\\u006furs","progress":1}',
            {"progress": b"1"},
            id="our token in another spelling",
        ),
        pytest.param(
            "notifications/progress", b'{"progressToken":"theirs"}', None, id="a foreign token"
        ),
        pytest.param("notifications/progress", b'{"progressToken":7}', None, id="a number"),
        pytest.param("notifications/progress", b"{}", None, id="no token"),
        pytest.param("notifications/progress", b"[]", None, id="no object"),
        pytest.param(
            "notifications/progress",
            b'{"progressToken":"ours","progressToken":"ours"}',
            None,
            id="a token twice",
        ),
        pytest.param(
            "notifications/message",
            b'{"level":"error","data":1e400}',
            {"level": b'"error"', "data": b"1e400"},
            id="a message of a higher level",
        ),
        pytest.param(
            "notifications/message",
            b'{"level":"warning"}',
            {"level": b'"warning"'},
            id="that level",
        ),
        pytest.param("notifications/message", b'{"level":"info"}', None, id="a lower level"),
        pytest.param(
            "notifications/message", b'{"level":"loud"}', {"level": b'"loud"'}, id="no known level"
        ),
        pytest.param("notifications/message", b"7", None, id="a message that is none"),
        pytest.param("notifications/tools/list_changed", b"{}", None, id="anything else"),
    ],
)
def test_what_is_said_on_the_stream_of_a_call(
    method: str, params: bytes, expected: dict[str, bytes] | None
) -> None:
    found = asking.notice(method, params, token="ours", log_level=b'"warning"')

    assert found == (None if expected is None else Notice(method, expected))


def test_who_asks_for_nothing_hears_nothing() -> None:
    said = [("notifications/progress", PROGRESS), ("notifications/message", b'{"level":"alert"}')]

    heard = [asking.notice(*one, token=None, log_level=None) for one in said]

    assert heard == [None, None]
