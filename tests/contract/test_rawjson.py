"""How an object is cut into its members without a byte being changed."""

import json
import time
from contextlib import suppress
from typing import Any, Never

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bench import spelled
from bench.spelled import Whole
from pointsman_contract import rawjson, strictjson
from pointsman_contract.rawjson import Malformed


def read(data: bytes) -> list[tuple[str, bytes]]:
    """What every door does: check once, then cut."""
    return rawjson.pairs(rawjson.check(data))


def _no_constant(spelling: str) -> Never:
    raise ValueError(spelling)


def meaning(data: bytes | str) -> Any:
    """What the standard library reads; raises ValueError for what is not JSON."""
    text = data if isinstance(data, str) else data.decode("utf-8")
    if text.startswith("\ufeff"):
        raise ValueError("BOM")
    return json.loads(text, parse_constant=_no_constant, parse_int=str, parse_float=str)


@given(spelled.objects())
def test_each_member_is_the_exact_slice_that_was_sent(whole: Whole) -> None:
    assert read(whole.data) == whole.parts


@given(spelled.objects(with_half_pairs=True))
def test_half_surrogate_pairs_change_nothing_about_that(whole: Whole) -> None:
    assert read(whole.data) == whole.parts


@given(spelled.arrays(with_half_pairs=True))
def test_each_item_is_the_exact_slice_that_was_sent(whole: Whole) -> None:
    assert rawjson.items(rawjson.check(whole.data)) == [item for _, item in whole.parts]


@given(spelled.objects())
def test_a_half_pair_beside_the_members_leaves_them_as_they_are(whole: Whole) -> None:
    opened = whole.data.index(b"{") + 1
    half = rb'"half":"\udcff"' + (b"," if whole.parts else b"")

    cut = read(whole.data[:opened] + half + whole.data[opened:])

    assert cut == [("half", rb'"\udcff"'), *whole.parts]


@given(spelled.objects())
def test_members_are_the_pairs_unless_a_name_is_there_twice(whole: Whole) -> None:
    names = [name for name, _ in whole.parts]
    if len(set(names)) == len(names):
        assert rawjson.members(whole.data) == dict(whole.parts)
    else:
        with pytest.raises(Malformed, match="twice"):
            rawjson.members(whole.data)


PATCHES = [
    *(b"", b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b"\\u", b"\\ud800", b"NaN", b"-", b"0"),
    *(b".", b"e", b" ", b"\x00", b"\x1f", b"\x7f", b"\xff", b"\xc3\xa4"),
]


@st.composite
def nearly_json(draw: st.DrawFn) -> bytes:
    """Objects and arrays with one part cut, doubled or replaced."""
    data = draw(st.one_of(spelled.objects(), spelled.arrays())).data
    begin = draw(st.integers(0, len(data)))
    end = draw(st.integers(begin, min(len(data), begin + 3)))
    patch = draw(st.sampled_from(PATCHES))
    return data[:begin] + patch + data[end:]


@given(st.one_of(nearly_json(), st.binary(max_size=12)))
@example(b"")
@example(b" ")
@example(b'{"a":1} {"b":2}')
@example(rb'{"a":"\ud800"}x')
@example(rb'{"a":"\ud800",}')
@example(rb'{"a" "\ud800"}')
@example(rb'{"a":"\ud800"')
@example(rb'{"a":"\ud800","b":-Infinity}')
@example(rb'["\ud800",]')
@example(rb'["\ud800" "b"]')
def test_what_is_accepted_is_what_the_standard_library_accepts(data: bytes) -> None:
    try:
        value = meaning(data)
    except ValueError:
        value = None

    if isinstance(value, dict):
        assert {name: meaning(part) for name, part in read(data)} == value
    else:
        with pytest.raises(Malformed):
            read(data)
    if isinstance(value, list):
        assert [meaning(item) for item in rawjson.items(rawjson.check(data))] == value
    else:
        with pytest.raises(Malformed):
            rawjson.items(rawjson.check(data))


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b'\xef\xbb\xbf{"a":1}', id="J02 a byte order mark"),
        pytest.param('{"a":1}'.encode("utf-16"), id="J02 UTF-16 with a mark"),
        pytest.param('{"a":1}'.encode("utf-16-le"), id="J02 UTF-16 without one"),
        pytest.param('{"a":"ü"}'.encode("latin-1"), id="J02 Latin-1"),
        pytest.param(b'{"a":"\xed\xa0\x80"}', id="J02 a surrogate as three bytes"),
        pytest.param(b'{"a":"\xc0\x80"}', id="J02 an overlong NUL"),
        pytest.param(b'{"a":1}\x00', id="a NUL behind the object"),
        pytest.param(b'{"a":NaN}', id="J04 NaN"),
        pytest.param(b'{"a":[Infinity]}', id="J04 an infinity inside"),
        pytest.param(rb'{"h":"\ud800","a":NaN}', id="J04 NaN beside half a pair"),
        pytest.param(b'{"a":01}', id="a leading zero"),
        pytest.param(b'{"a":"\n"}', id="a raw line feed in a string"),
        pytest.param(b'{"a":{"b":"\t"}}', id="a raw tab further inside"),
        pytest.param(b"{'a':1}", id="single quotes"),
        pytest.param(b'{"a":1,}', id="a comma too many"),
        pytest.param(b'{"a":1/**/}', id="a comment"),
        pytest.param(b'{"a":1}{"a":1}', id="two objects"),
        pytest.param(b"null", id="null"),
        pytest.param(b"[]", id="an array"),
    ],
)
def test_what_is_no_object_is_malformed(data: bytes) -> None:
    with pytest.raises(Malformed):
        read(data)


@pytest.mark.parametrize(
    ("data", "complaint"),
    [(b"\xef\xbb\xbf{}", "byte order mark"), (b'"\xff"', "UTF-8"), (b"[" * 65, "64 levels")],
)
def test_the_check_says_why_bytes_may_not_be_cut_up(data: bytes, complaint: str) -> None:
    with pytest.raises(Malformed, match=complaint):
        rawjson.check(data)


@pytest.mark.parametrize(
    "number",
    ["9007199254740993", "1.0", "1", "-0", "-0.0", "1e400", "1E+05", "0.10", "9" * 5000],
    ids=lambda number: number if len(number) < 20 else "5,000 digits",
)
@pytest.mark.parametrize(
    "beside", [b"", rb',"h":"\ud800"'], ids=["alone", "beside half a surrogate pair"]
)
def test_a_number_keeps_its_spelling(number: str, beside: bytes) -> None:
    cut = dict(read(b'{"n":' + number.encode() + beside + b"}"))

    assert cut["n"] == number.encode()


@pytest.mark.parametrize(("levels", "passes"), [(64, True), (65, False), (100_000, False)], ids=str)
@pytest.mark.parametrize("opening", ["[", '{"a":'], ids=["arrays", "objects"])
def test_nesting_is_bounded(opening: str, levels: int, passes: bool) -> None:
    inner = opening * (levels - 1) + "1" + {"[": "]", '{"a":': "}"}[opening] * (levels - 1)
    data = f'{{"deep":{inner}}}'.encode()

    if passes:
        assert read(data) == [("deep", inner.encode())]
    else:
        with pytest.raises(Malformed, match="64 levels"):
            read(data)


def test_brackets_in_strings_are_no_levels() -> None:
    text = r'"[[[\"{{{\\"'
    data = f'{{"a":[{",".join([text] * 200)}]}}'.encode()

    assert len(read(data)) == 1


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"[" * 1_000_000, id="J05 a million brackets"),
        pytest.param(b"[" + b"[]," * 333_000 + b"1]", id="a third of a million empty arrays"),
        pytest.param(b'["' + rb"\"" * 500_000 + b'"' + b",[]" * 99 + b"]", id="escapes"),
        pytest.param(b'["' + rb"\\" * 500_000 + b'"' + b",[]" * 99 + b"]", id="backslashes"),
    ],
)
def test_judging_a_mebibyte_blocks_nobody_for_long(data: bytes) -> None:
    begun = time.process_time()
    with suppress(Malformed):
        rawjson.check(data)

    assert time.process_time() - begun < 0.25


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b'{"a":1,"a":2}', id="J13 as spelled"),
        pytest.param(rb'{"a":1,"\u0061":2}', id="J13 one of them escaped"),
        pytest.param(rb'{"\ud800":1,"\uD800":2}', id="J13 half a pair"),
        pytest.param(rb'{"a":1,"h":"\ud800","a":1}', id="J13 beside half a pair"),
    ],
)
def test_a_name_given_twice_is_seen_twice(data: bytes) -> None:
    assert len(rawjson.pairs(data)) > len(dict(rawjson.pairs(data)))
    with pytest.raises(Malformed, match="twice"):
        rawjson.members(data)


@given(spelled.strings(with_half_pairs=True))
def test_a_string_says_what_it_spells(data: str) -> None:
    assert rawjson.string(data.encode()) == json.loads(data)


@given(spelled.values(with_half_pairs=True).filter(lambda value: not value.startswith('"')))
def test_nothing_else_is_a_string(data: str) -> None:
    with pytest.raises(Malformed):
        rawjson.string(data.encode())


def test_nothing_is_no_string() -> None:
    with pytest.raises(Malformed):
        rawjson.string(b"")


@given(spelled.texts(with_half_pairs=True))
def test_every_text_has_a_spelling(text: str) -> None:
    assert rawjson.string(rawjson.quote(text)) == spelled.joined(text)


@given(spelled.objects(with_half_pairs=True))
def test_what_was_cut_can_be_put_together_again(whole: Whole) -> None:
    assembled = rawjson.assemble(rawjson.pairs(whole.data))

    assert rawjson.pairs(assembled) == whole.parts


@given(spelled.values())
def test_the_kind_of_a_value_is_its_first_character(value: str) -> None:
    assert rawjson.kind(b" \t\r\n" + value.encode()) == value[0]


@pytest.mark.parametrize("padding", [0, 20_000], ids=["short", "long"])
@pytest.mark.parametrize(
    ("data", "flat"),
    [
        pytest.param(b"", True, id="nothing"),
        pytest.param(b"[" * 64 + b"]" * 64, True, id="64 levels"),
        pytest.param(b"[" * 65 + b"]" * 65, False, id="65 levels"),
        pytest.param(b'{"a":[' * 32 + b"]}" * 32, True, id="64 of both kinds"),
        pytest.param(b'{"a":[' * 32 + b"[]" + b"]}" * 32, False, id="65 of both kinds"),
        pytest.param(b"[" + b",".join([b"[]"] * 63) + b"]", True, id="64 side by side"),
        pytest.param(b"[" + b",".join([b"{}"] * 64) + b"]", False, id="65 side by side"),
        pytest.param(b'"' + b"[" * 65 + b'"', False, id="65 in a string"),
        pytest.param(b"]" * 100 + b"}" * 100, True, id="only closing ones"),
    ],
)
def test_what_has_at_most_64_brackets_is_flat(data: bytes, flat: bool, padding: int) -> None:
    assert rawjson.is_flat(data + b" " * padding) is flat
    assert rawjson.is_flat(b" " * padding + data) is flat


@given(
    st.lists(st.sampled_from([b"[", b"{", b"]", b"}", b'"', b"\\", b"a"]), max_size=140).map(
        b"".join
    ),
    st.sampled_from([0, 20_000]),
)
def test_what_is_flat_is_never_nested_too_deeply(data: bytes, padding: int) -> None:
    whole = data + b" " * padding

    assert rawjson.is_flat(whole) == (whole.count(b"[") + whole.count(b"{") <= rawjson.MAX_DEPTH)
    if rawjson.is_flat(whole):
        assert strictjson.depth(whole) <= rawjson.MAX_DEPTH


@given(spelled.objects(with_half_pairs=True))
def test_the_names_are_those_of_the_members_each_once(whole: Whole) -> None:
    found = rawjson.names(whole.data)

    if found is None:
        assert b"\\u" in whole.data
    else:
        assert sorted(found) == sorted({name for name, _ in whole.parts})


@given(spelled.objects())
def test_without_half_pairs_the_names_are_always_known(whole: Whole) -> None:
    assert rawjson.names(whole.data) is not None


@given(st.one_of(nearly_json(), st.binary(max_size=12)))
def test_what_is_no_object_has_no_names(data: bytes) -> None:
    try:
        is_object = isinstance(meaning(data), dict)
    except ValueError:
        is_object = False

    if not is_object:
        with suppress(Malformed):
            rawjson.check(data)
            assert rawjson.names(data) is None
