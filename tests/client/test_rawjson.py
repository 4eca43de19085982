"""How a JSON text is cut without being respelled."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointsman import rawjson
from pointsman.rawjson import NotJSON

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(st.dictionaries(st.text(), VALUES), st.sampled_from([None, 1]))
def test_members_are_cut_out_whole(value: dict[str, object], indent: int | None) -> None:
    cut = rawjson.members(json.dumps(value, indent=indent))

    assert {name: json.loads(member) for name, member in cut.items()} == value


@given(st.lists(VALUES), st.sampled_from([None, 1]))
def test_items_are_cut_out_whole(value: list[object], indent: int | None) -> None:
    assert [json.loads(item) for item in rawjson.items(json.dumps(value, indent=indent))] == value


def test_every_part_keeps_its_spelling() -> None:
    assert rawjson.members(' { "a" : 1.0e5 , "b":["\\u00e9", "\\ud83d"] } ') == {
        "a": "1.0e5",
        "b": '["\\u00e9", "\\ud83d"]',
    }


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        '{"a"}',
        '{"a":}',
        '{"a":1,}',
        "{1:2}",
        '{"a":1}x',
        '{"a":1 "b":2}',
        "[" * 9999,
    ],
)
def test_what_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(NotJSON):
        rawjson.members(text)


@pytest.mark.parametrize("text", ["", "{}", "[", "[1,]", "[1 2]", "[1]]"])
def test_what_is_no_array_is_refused(text: str) -> None:
    with pytest.raises(NotJSON):
        rawjson.items(text)
