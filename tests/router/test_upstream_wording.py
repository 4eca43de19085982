"""A request that was spelled once is spelled the same with another id and other arguments."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import spelled
from bench.spelled import Whole
from pointsman_contract import rawjson
from pointsman_router.upstream import messages, wording
from pointsman_router.upstream.era import Modern
from pointsman_router.upstream.wording import OPEN_ARGUMENTS, OPEN_ID

TERMS = Modern()
HEAD = b"POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: "


def body(id_: str, name: str, arguments: bytes, meta: bytes | None) -> bytes:
    named = {"name": rawjson.quote(name), "arguments": arguments}
    return messages.request(id_, "tools/call", messages.params(named, meta))


@given(
    spelled.texts(),
    spelled.objects(with_half_pairs=True),
    st.none() | spelled.objects(with_half_pairs=True),
)
def test_it_is_the_request_that_would_be_spelled_anew(
    name: str, arguments: Whole, meta: Whole | None
) -> None:
    raw_meta = meta.data if meta else None
    worded = wording.worded(TERMS, HEAD, body(OPEN_ID, name, OPEN_ARGUMENTS, raw_meta))

    for id_, raw in (("7", b"{}"), (messages.new_id(), arguments.data)):
        whole = body(id_, name, raw, raw_meta)
        assert worded.spelled(id_, raw) == HEAD + b"%d\r\n\r\n" % len(whole) + whole
    assert worded.terms is TERMS


def test_arguments_that_hold_the_marks_stay_what_they_are() -> None:
    arguments = b'{"a":%b,"b":"%b"}' % (OPEN_ARGUMENTS, OPEN_ID.encode())
    worded = wording.worded(TERMS, HEAD, body(OPEN_ID, "a", OPEN_ARGUMENTS, None))

    assert worded.spelled("7", arguments).endswith(body("7", "a", arguments, None))


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(body("7", "a", OPEN_ARGUMENTS, None), id="no open id"),
        pytest.param(body(OPEN_ID, "a", b"{}", None), id="no open arguments"),
        pytest.param(b"%b%b" % (OPEN_ARGUMENTS, OPEN_ID.encode()), id="in another order"),
    ],
)
def test_a_request_without_its_open_places_is_not_taken_for_one(data: bytes) -> None:
    with pytest.raises(AssertionError, match="both places"):
        wording.worded(TERMS, HEAD, data)
