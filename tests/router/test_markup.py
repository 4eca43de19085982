"""No text breaks out of HTML, and none hides in it."""

import html
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointsman_contract import hiddentext
from pointsman_router.markup import Html, element, foreign, visible


def test_an_element_holds_its_children_and_attributes() -> None:
    made = element("p", "a ", element("b", "c"), None, class_="x", aria_label="y", hidden=True)

    assert made == '<p class="x" aria-label="y" hidden>a <b>c</b></p>'


def test_an_attribute_that_is_not_wished_is_absent() -> None:
    assert element("input", value=None, disabled=False, maxlength=5) == '<input maxlength="5">'


@pytest.mark.parametrize("text", ["<script>", "a & b", '"onload=', "</bdi>", "&lt;"])
def test_text_stays_text(text: str) -> None:
    made = element("p", text, title=text)

    assert made.count("<") == 2
    assert html.unescape(made[made.index(">") + 1 : made.rindex("<")]) == text
    assert f'title="{html.escape(text)}"' in made


@given(st.text())
def test_no_text_breaks_out_or_hides(text: str) -> None:
    shown = visible(text)
    bare = re.sub(r'<span class="unseen">U\+[0-9A-F]{4,6}</span>', "", shown)

    assert "<" not in bare
    assert ">" not in bare
    assert '"' not in bare
    assert hiddentext.first_hidden(html.unescape(bare)) is None
    assert shown.encode().decode() == shown


@given(st.text(st.characters(categories=["L", "N", "P", "Zs"], max_codepoint=0x2FF)))
def test_what_people_write_is_shown_as_it_is(text: str) -> None:
    assert html.unescape(visible(text)) == text


@pytest.mark.parametrize(
    "text",
    ["👩‍👩‍👧‍👦 ❤️", "שלום \u200fa", "می‌خواهم", "a\nb\tc"],
    ids=["emoji", "marks", "joiner", "layout"],
)
def test_what_has_a_meaning_is_not_marked(text: str) -> None:
    assert visible(text) == text


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("a\u202eb", "U+202E"),
        ("a\x1bb", "U+001B"),
        ("a\U000e0041b", "U+E0041"),
        ("a\u3164b", "U+3164"),
        ("a\ufe0fb", "U+FE0F"),
        ("a\u2028b", "U+2028"),
        ("a\ud83db", "U+D83D"),
    ],
)
def test_what_nobody_sees_is_named_in_its_place(text: str, seen: str) -> None:
    assert visible(text) == f'a<span class="unseen">{seen}</span>b'


def test_a_foreign_text_is_isolated_from_what_stands_around_it() -> None:
    assert foreign("שלום <b>") == "<bdi>שלום &lt;b&gt;</bdi>"


def test_what_is_html_already_stays_so() -> None:
    assert element("p", Html("<b>x</b>")) == "<p><b>x</b></p>"


def test_a_text_of_nothing_but_marks_costs_what_its_length_does() -> None:
    def cost_s(marks: int) -> float:
        text = "a\u200f" * marks + "א"
        begun_s = time.process_time()
        visible(text)
        return time.process_time() - begun_s

    # Sixteen times for sixteen times as much, or two hundred and fifty-six.
    assert min(cost_s(8000) for _ in range(3)) < 100 * min(cost_s(500) for _ in range(3))
