"""How texts travel in headers, there and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointsman_router import headervalues


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("us-west1", "us-west1"),
        ("a b", "a b"),
        ("", ""),
        (" a", "=?base64?IGE=?="),
        ("a\t", "=?base64?YQk=?="),
        ("a\r\nX: y", "=?base64?YQ0KWDogeQ==?="),
        ("ü", "=?base64?w7w=?="),
        ("=?base64?YQ==?=", "=?base64?PT9iYXNlNjQ/WVE9PT89?="),
        ("=?base64?", "=?base64?"),
        ("YQ==?=", "YQ==?="),
    ],
)
def test_a_text_goes_as_it_is_where_it_can(text: str, value: str) -> None:
    assert headervalues.encode(text) == value
    assert headervalues.decode(value) == text


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("=?base64?!?=", id="no base64"),
        pytest.param("=?base64?YQ?=", id="no padding"),
        pytest.param("=?base64?YR==?=", id="bits that say nothing"),
        pytest.param("=?base64?_w==?=", id="another alphabet"),
        pytest.param("=?base64?/w==?=", id="no UTF-8"),
        pytest.param("=?base64?Y Q==?=", id="a blank inside"),
        pytest.param("=?base64?ü?=", id="no ASCII"),
    ],
)
def test_an_encoding_that_is_not_canonical_spells_nothing(value: str) -> None:
    assert headervalues.decode(value) is None


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_every_text_comes_back(text: str) -> None:
    value = headervalues.encode(text)

    assert headervalues.decode(value) == text
    assert value.isascii()
    assert value.isprintable()
    assert value == value.strip()
