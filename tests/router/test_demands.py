"""What of a description some clients cannot read, and with it lose the whole list."""

import pytest
from hypothesis import example, given
from pydantic_core import from_json

from bench import spelled
from bench.spelled import Whole
from pointsman_router import demands

LONGEST = b"9" * demands.WHOLE_NUMBER_MAX_DIGITS


def read_by_the_python_sdks(description: bytes) -> bool:
    try:
        from_json(description)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize(
    ("description", "complaint"),
    [
        pytest.param(rb'{"description":"cut \ud83d"}', "surrogate pair", id="cut at its end"),
        pytest.param(rb'{"a":"\ud83d and more"}', "surrogate pair", id="cut and gone on"),
        pytest.param(rb'{"a":"\uDE00"}', "surrogate pair", id="the second half alone"),
        pytest.param(rb'{"a":"\ude00\ud83d"}', "surrogate pair", id="the wrong way round"),
        pytest.param(rb'{"a":"\ud83d\ud83d\ude00"}', "surrogate pair", id="a half before a pair"),
        pytest.param(rb'{"a":"\\\ud83d"}', "surrogate pair", id="behind a backslash"),
        pytest.param(rb'{"_meta":{"x":["\ud83d"]}}', "surrogate pair", id="deep inside"),
        pytest.param(rb'{"\ud83d":1}', "surrogate pair", id="in a key"),
        pytest.param(b'{"a":9%b}' % LONGEST, "4300 digits", id="a long number"),
        pytest.param(b'{"a": -9%b}' % LONGEST, "4300 digits", id="a long negative number"),
        pytest.param(b'{"a":[1,\n9%b.5]}' % LONGEST, "4300 digits", id="a long one with a point"),
        pytest.param(b'{"a":9%be1}' % LONGEST, "4300 digits", id="a long one with an exponent"),
    ],
)
def test_what_some_clients_cannot_read_is_named(description: bytes, complaint: str) -> None:
    found = demands.unreadable(description)

    assert found is not None
    assert complaint in found
    assert not read_by_the_python_sdks(description)


@pytest.mark.parametrize(
    "description",
    [
        pytest.param(rb'{"a":"\ud83d\ude00 \uD83D\uDE00"}', id="whole pairs"),
        pytest.param(rb'{"a":"\\ud83d"}', id="an escape that is a text"),
        pytest.param(rb'{"a":"\ud7ff\ue000\n"}', id="neighbours of surrogates"),
        pytest.param(b'{"a":%b,"b":-%b}' % (LONGEST, LONGEST), id="the longest numbers"),
        pytest.param(b'{"a":"\\": 9%b"}' % LONGEST, id="digits in a string"),
        pytest.param(b'{"a":0.9%b,"b":1e400}' % LONGEST, id="a long fraction"),
    ],
)
def test_what_only_looks_like_it_is_read(description: bytes) -> None:
    assert demands.unreadable(description) is None
    assert read_by_the_python_sdks(description)


@given(spelled.objects(with_half_pairs=True))
@example(Whole(rb'{"a":"\\\\\ud83d"}', []))
def test_the_python_sdks_read_all_other_json(whole: Whole) -> None:
    assert (demands.unreadable(whole.data) is None) is read_by_the_python_sdks(whole.data)


@pytest.mark.parametrize(
    ("raw", "kept"),
    [
        pytest.param(b'{ "a" : null, "b" : 1 }', b'{"b":1}', id="a member"),
        pytest.param(b'[{"a":null},{ "b":1}]', b'[{},{ "b":1}]', id="in one of a list"),
        pytest.param(b'[ { "a" : "null" } ]', b'[ { "a" : "null" } ]', id="a text"),
        pytest.param(b'{ "a": [null, {"b":null}] }', b'{ "a": [null, {"b":null}] }', id="deeper"),
        pytest.param(b'"null"', b'"null"', id="no object"),
    ],
)
def test_a_member_that_is_null_is_none_and_nothing_else_changes(raw: bytes, kept: bytes) -> None:
    assert demands.without_null(raw) == kept
