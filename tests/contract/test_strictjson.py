"""Which JSON the doors accept: less than `json` does, and never anything else."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pointsman_contract import strictjson
from pointsman_contract.strictjson import NotStrictJSON

LIMIT = 10_000

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=20,
)
# Texts that are JSON but for a little: where parsers differ, they differ here.
PIECES = st.sampled_from(
    (
        *("{", "}", "[", "]", ":", ",", '"a"', '"b"', '"\\u0061"', '"\\ud83d\\ude00"', '"\\ud83d"'),
        *("1", "-0", "1e400", "1.0", "01", "+1", ".5", "NaN", "-Infinity", "true", "null", "nul"),
        *("//", "\ufeff", "\x00", "\t", " ", "\n", "'a'", '"', "\\", "é"),
    )
)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        pytest.param(b"", "is not JSON", id="nothing"),
        pytest.param(b"{", "is not JSON", id="half an object"),
        pytest.param(b"{} {}", "is not JSON", id="two values"),
        pytest.param(b"{'a': 1}", "is not JSON", id="single quotes"),
        pytest.param(b'{"a": 1,}', "is not JSON", id="a trailing comma"),
        pytest.param(b'{"a": 01}', "is not JSON", id="a leading zero"),
        pytest.param(b'"\x01"', "is not JSON", id="a control character in a string"),
        pytest.param(b"[1]\x00", "is not JSON", id="a null byte at the end"),
        pytest.param(b'"' + b"9" * 5000, "is not JSON", id="a string without an end"),
        pytest.param(b"9" * 5000, "is not JSON", id="a number of 5,000 digits"),
        pytest.param(b"\xef\xbb\xbf{}", "byte order mark", id="a byte order mark"),
        pytest.param('"a"'.encode("utf-16"), "byte order mark", id="UTF-16 with its mark"),
        pytest.param('"a"'.encode("utf-16-le"), "is not JSON", id="UTF-16 without"),
        pytest.param('"a"'.encode("utf-32-be"), "is not JSON", id="UTF-32"),
        pytest.param('"é"'.encode("latin-1"), "is not UTF-8", id="Latin-1"),
        pytest.param(b'"\xed\xa0\x80"', "is not UTF-8", id="a surrogate in UTF-8"),
        pytest.param(b'"\xc0\xaf"', "is not UTF-8", id="an overlong form"),
        pytest.param(b'{"a": 1, "a": 1}', "a key twice", id="a key twice"),
        pytest.param(b'[{"x": {"a": 1, "a": 2}}]', "a key twice", id="a key twice, deep inside"),
        pytest.param(b'{"a": 1, "\\u0061": 2}', "a key twice", id="a key twice, once escaped"),
        pytest.param(b"[NaN]", "NaN", id="NaN"),
        pytest.param(b"[Infinity]", "Infinity", id="infinity"),
        pytest.param(b"[-Infinity]", "-Infinity", id="negative infinity"),
        pytest.param(b"[1e400]", "too large", id="a number that overflows"),
        pytest.param(b"[-1e400]", "too large", id="a negative number that overflows"),
        pytest.param(b'"\\ud83d"', "surrogate", id="half of a pair"),
        pytest.param(b'"\\ude00\\ud83d"', "surrogate", id="a pair the wrong way round"),
        pytest.param(b'{"\\ud83d": 1}', "surrogate", id="half of a pair as key"),
        pytest.param(b"[" * 65 + b"]" * 65, "deeper than 64", id="65 levels"),
        pytest.param(b"[" * 9_000, "deeper than 64", id="9,000 levels without an end"),
        pytest.param(b'{"a":' * 65 + b"1" + b"}" * 65, "deeper than 64", id="65 objects"),
        pytest.param(b'"' + b"x" * LIMIT + b'"', "larger than 10000 bytes", id="too long"),
    ],
)
def test_what_is_refused_is_refused_with_its_reason(data: bytes, why: str) -> None:
    with pytest.raises(NotStrictJSON, match=why):
        strictjson.loads(data, max_bytes=LIMIT)


@pytest.mark.parametrize(
    ("data", "value"),
    [
        pytest.param(b' \r\n\t{"a" : [ ] } \n', {"a": []}, id="white space around"),
        pytest.param(b'"\\ud83d\\ude00"', "\U0001f600", id="a whole pair, escaped"),
        pytest.param('"\U0001f600"'.encode(), "\U0001f600", id="a character of four bytes"),
        pytest.param('"\ufeff"'.encode(), "\ufeff", id="a byte order mark inside a string"),
        pytest.param(b'"\\u0000"', "\x00", id="an escaped null"),
        pytest.param(b"[" * 64 + b"]" * 64, None, id="64 levels"),
        pytest.param(b'"' + b"[{" * 500 + b'\\"[["', "[{" * 500 + '"[[', id="brackets in a string"),
        pytest.param(b'"\\\\"', "\\", id="an escaped backslash before the end"),
        pytest.param(b'[{"a": 1}, {"a": 1}]', [{"a": 1}, {"a": 1}], id="one key in two objects"),
        pytest.param(b"1" * 300, int("1" * 300), id="a number of 300 digits"),
        pytest.param(b"null", None, id="null"),
    ],
)
def test_what_is_unusual_but_right_is_accepted(data: bytes, value: strictjson.JSON) -> None:
    found = strictjson.loads(data, max_bytes=LIMIT)

    assert value is None or found == value


@given(VALUES)
def test_every_value_that_can_be_written_is_read_back(value: strictjson.JSON) -> None:
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False, indent=1)):
        assert strictjson.loads(text.encode(), max_bytes=1_000_000) == value


@given(
    st.binary(max_size=40) | st.lists(PIECES, max_size=12).map(lambda all_: "".join(all_).encode())
)
@example(b'{"a":1,"a":1}')
def test_nothing_is_accepted_that_json_refuses_or_reads_otherwise(data: bytes) -> None:
    try:
        found = strictjson.loads(data, max_bytes=LIMIT)
    except NotStrictJSON:
        return

    assert found == json.loads(data)
    json.dumps(found, allow_nan=False, ensure_ascii=False).encode()


@given(VALUES, st.data())
def test_a_text_cut_short_is_never_taken_for_another_object(
    value: strictjson.JSON, data: st.DataObject
) -> None:
    text = json.dumps({"value": value}).encode()
    end = data.draw(st.integers(0, len(text) - 1))
    with pytest.raises(NotStrictJSON):
        strictjson.loads(text[:end], max_bytes=1_000_000)


def nesting(value: strictjson.JSON) -> int:
    match value:
        case list():
            return 1 + max(map(nesting, value), default=0)
        case dict():
            return 1 + max(map(nesting, value.values()), default=0)
        case _:
            return 0


@given(VALUES)
def test_depth_is_how_deeply_a_value_nests(value: strictjson.JSON) -> None:
    assert strictjson.depth(json.dumps(value).encode()) == nesting(value)


@given(st.binary(max_size=60))
def test_depth_can_be_asked_of_anything(data: bytes) -> None:
    assert 0 <= strictjson.depth(data) <= len(data)


def test_a_complaint_never_repeats_what_the_text_held() -> None:
    secret = b'{"token": "hunter2", "token": "hunter2"}'
    with pytest.raises(NotStrictJSON) as refused:
        strictjson.loads(secret, max_bytes=LIMIT)

    assert "hunter2" not in str(refused.value)
    assert refused.value.__cause__ is None
