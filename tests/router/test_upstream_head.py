"""What the head of an answer says is bounded before anybody acts on it."""

from datetime import UTC, datetime

import pytest

from pointsman_router.upstream import head, trouble
from pointsman_router.upstream.trouble import Trouble

NOW = datetime(2026, 10, 1, 12, 0, 0, tzinfo=UTC)


def read(**headers: str) -> head.Head:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    raw = {name.encode(): value.encode() for name, value in named.items()}
    return head.read(200, raw, lambda: NOW)


@pytest.mark.parametrize(
    ("value", "expected_ms"),
    [
        pytest.param("5", 5000, id="seconds"),
        pytest.param(" 0 ", 0, id="none"),
        pytest.param("1000000000", 60_000, id="years"),
        pytest.param("9" * 5000, 60_000, id="thousands of digits"),
        pytest.param("Thu, 01 Oct 2026 12:00:09 GMT", 9000, id="a date"),
        pytest.param("Thu, 01 Oct 2026 11:00:00 GMT", 0, id="a date gone by"),
        pytest.param("Fri, 01 Oct 2027 12:00:00 GMT", 60_000, id="a date next year"),
        pytest.param("soon", None, id="garbage"),
        pytest.param("-5", None, id="a negative number"),
        pytest.param("1.5", None, id="a fraction"),
        pytest.param("Thu, 99 Oct 2026 12:00:09 GMT", None, id="no date"),
        pytest.param("\u0665", None, id="a digit of another script"),
        pytest.param("Fri, 01 Oct 99999999999 12:00:00 GMT", None, id="a year beyond all clocks"),
        pytest.param(f"Fri, {10**20} Oct 2027 12:00:00 GMT", None, id="a day beyond all numbers"),
    ],
)
def test_retry_after_is_a_bounded_wait_or_nothing(value: str, expected_ms: int | None) -> None:
    assert read(retry_after=value).retry_after_ms == expected_ms


@pytest.mark.parametrize(
    ("headers", "readable"),
    [
        pytest.param({"content_type": "application/json"}, True, id="plain"),
        pytest.param({"content_type": "Application/JSON; Charset=UTF-8"}, True, id="UTF-8"),
        pytest.param({"content_type": 'application/json;charset="utf-8"'}, True, id="quoted"),
        pytest.param({"content_type": "application/json; charset=utf-16"}, False, id="UTF-16"),
        pytest.param({"content_encoding": "gzip"}, False, id="gzip"),
        pytest.param({"content_encoding": "identity"}, True, id="identity"),
    ],
)
def test_only_plain_utf_8_is_read(headers: dict[str, str], readable: bool) -> None:
    assert read(**headers).readable is readable


def test_the_media_type_has_no_case_and_no_parameters() -> None:
    assert read(content_type=" Text/Event-Stream ; charset=utf-8").media_type == head.EVENT_STREAM
    assert read().media_type == ""


@pytest.mark.parametrize(
    ("number", "reason", "executed", "says"),
    [
        (301, "UpstreamHttpError", "unknown", "put the final address into url"),
        (401, "UpstreamAuthRequired", "no", "credentials"),
        (403, "UpstreamAuthRequired", "no", "allow"),
        (404, "UpstreamHttpError", "no", "check the path in url"),
        (405, "UpstreamHttpError", "no", "405"),
        (413, "UpstreamHttpError", "no", "413"),
        (415, "UpstreamHttpError", "no", "415"),
        (418, "UpstreamHttpError", "unknown", "418"),
        (421, "UpstreamHttpError", "unknown", "hosts that it allows"),
        (429, "UpstreamThrottled", "no", "429"),
        (503, "UpstreamHttpError", "unknown", "503"),
    ],
)
def test_a_status_says_whether_the_request_was_taken_and_what_to_do(
    number: int, reason: str, executed: str, says: str
) -> None:
    met = trouble.status(number)

    assert (met.reason, met.executed, met.status) == (reason, executed, number)
    assert says in met.message


def test_an_upstreams_text_is_quoted_briefly_and_printably() -> None:
    met = trouble.rpc_error("tools/list", -1, "line\nbreak\x1b[31m" + "x" * 500)

    assert isinstance(met, Trouble)
    assert met.message.isprintable()
    assert len(met.message) < 200
