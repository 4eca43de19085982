"""Which URIs a template stands for, by the standard and by those who write them."""

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from mcp.shared.uri_template import UriTemplate

from pointsman_router import uritemplate
from pointsman_router.uritemplate import InvalidTemplate, Run, Template


def stands_for(template: str, uri: str) -> bool:
    return uritemplate.stands_for(uritemplate.parse(template), uritemplate.spelled(uri))


@pytest.mark.parametrize(
    ("template", "uri"),
    [
        pytest.param("test://a", "test://a", id="no expression"),
        pytest.param("test://{id}", "test://5", id="a value at the end"),
        pytest.param("test://{id}/data", "test://5/data", id="a value in the middle"),
        pytest.param("test://{id}/data", "test://data/data", id="a value like what follows"),
        pytest.param("test://{id}", "test://", id="no value at the end"),
        pytest.param("test://{id}/data", "test:///data", id="no value in the middle"),
        pytest.param("test://{a}{b}", "test://xy", id="two values side by side"),
        pytest.param("test://{a}-{b}", "test://x-y-z", id="a value with what divides them"),
        pytest.param("test://{a,b}", "test://x,y", id="two values in one expression"),
        pytest.param("test://{id:3}", "test://abc", id="a value cut to a length"),
        pytest.param("test://{id}", "test://a%2Fb", id="an encoded slash"),
        pytest.param("test://{id}", "test://a b", id="a blank that nobody encoded"),
        pytest.param("test://{id}", "test://größe", id="letters beyond ASCII"),
        pytest.param("file://{+path}", "file:///a/b?c#d", id="a reserved value"),
        pytest.param("file:///{/parts*}", "file:////a/b/c", id="segments"),
        pytest.param("file:///x{/parts*}", "file:///x", id="no segment"),
        pytest.param("test://x{.ext}", "test://x.tar.gz", id="labels"),
        pytest.param("test://x{;a,b}", "test://x;a=1;b", id="parameters"),
        pytest.param("test://x{?q,lang}", "test://x?q=a&lang=b", id="a query"),
        pytest.param("test://x{?q}", "test://x", id="a query without a value"),
        pytest.param("test://x?a=1{&q}", "test://x?a=1&q=2", id="more of a query"),
        pytest.param("test://x{#part}", "test://x#a/b", id="a fragment"),
        pytest.param("test://{user-id}", "test://5", id="a name that the standard does not know"),
    ],
)
def test_a_template_stands_for_what_it_can_become(template: str, uri: str) -> None:
    assert stands_for(template, uri)


@pytest.mark.parametrize(
    ("template", "uri"),
    [
        pytest.param("test://a", "test://b", id="another text"),
        pytest.param("test://a", "test://ab", id="more behind it"),
        pytest.param("test://a", "xtest://a", id="more in front of it"),
        pytest.param("test://{id}", "test://a/b", id="two segments for a value"),
        pytest.param("test://{id}", "test://a?b", id="a query behind a value"),
        pytest.param("test://{id}", "TEST://a", id="a scheme in capitals"),
        pytest.param("test://{id}/data", "test://5/datum", id="another end"),
        pytest.param("test://{a}-{b}", "test://xy", id="nothing that divides"),
        pytest.param("test://x{/id}", "test://x/a/b", id="two segments where one may be"),
        pytest.param("test://x{?q}", "test://x&q=1", id="another mark in front of a query"),
    ],
)
def test_and_for_nothing_else(template: str, uri: str) -> None:
    assert not stands_for(template, uri)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("{+url}", id="anything at all"),
        pytest.param("{scheme}://x", id="any scheme"),
        pytest.param("/a/{id}", id="a path alone"),
        pytest.param("test://{", id="no end"),
        pytest.param("test://{id", id="no end behind a name"),
        pytest.param("test://}", id="no beginning"),
        pytest.param("test://{id}}", id="one end too many"),
        pytest.param("test://{{id}}", id="braces in braces"),
        pytest.param("test://{}", id="no name"),
        pytest.param("test://{+}", id="an operator alone"),
        pytest.param("test://{a,}", id="a comma too many"),
        pytest.param("test://{*}", id="a modifier alone"),
        pytest.param("test://{|x}", id="a reserved operator"),
        pytest.param("test://" + "{a}" * 33, id="33 expressions"),
        pytest.param("test://" + "a" * 512, id="519 characters"),
    ],
)
def test_what_is_no_template_is_refused(text: str) -> None:
    with pytest.raises(InvalidTemplate):
        uritemplate.parse(text)


_TEXTS = st.text("ab/-.?", max_size=4)
_EXPRESSIONS = st.builds(
    "{{{}{}}}".format,
    st.sampled_from(["", "+", "#", ".", "/", ";", "?", "&"]),
    st.sampled_from(["a", "a,b", "a*", "/a"]).filter(lambda names: names != "/a"),
)
_TEMPLATES = st.lists(_TEXTS | _EXPRESSIONS, max_size=5).map(lambda parts: "t:" + "".join(parts))


def _pattern(template: Template) -> re.Pattern[str]:
    """The same, as the backtracking engine has it: too slow for foreign texts, right for short."""

    def of(part: str | Run) -> str:
        if isinstance(part, str):
            return re.escape(part)
        inside = f"[^{re.escape(part.stops)}]" if part.stops else r"[\s\S]"
        return f"(?:{re.escape(part.opening)}{inside}*)?"

    return re.compile(re.escape(template.head) + "".join(map(of, template.parts)))


@given(_TEMPLATES, st.text("ab/-.?#;&=,", max_size=12))
def test_another_engine_agrees(text: str, rest: str) -> None:
    template = uritemplate.parse(text)
    uri = f"t:{rest}"

    assert stands_for(text, uri) == bool(_pattern(template).fullmatch(uri))


_NAMED = st.lists(
    _TEXTS
    | st.builds(
        lambda operator, name: f"{{{operator}{name}}}",
        st.sampled_from(["", "+", "#", ".", "/", ";", "?", "&"]),
        st.sampled_from(["a", "b", "c"]),
    ),
    max_size=4,
).map(lambda parts: "t:" + "".join(parts))


@given(_NAMED, st.fixed_dictionaries({name: st.text(min_size=1, max_size=5) for name in "abc"}))
def test_what_the_official_sdk_makes_of_a_template_leads_back_to_it(
    text: str, values: dict[str, str]
) -> None:
    try:
        official = UriTemplate.parse(text)
    except ValueError:
        assume(False)

    assert stands_for(text, official.expand(values))


@given(_NAMED, st.text("ab/-.?#;&=,%2F", max_size=12))
def test_what_a_server_on_the_official_sdk_understands_reaches_it(text: str, rest: str) -> None:
    try:
        official = UriTemplate.parse(text)
    except ValueError:
        assume(False)
    understood = official.match(f"t:{rest}") is not None

    assert stands_for(text, f"t:{rest}") or not understood


def test_no_spelling_costs_more_than_its_length() -> None:
    hostile = "t:" + "{a}a" * 32
    uri = "t:" + "a" * 2000

    # A backtracking engine would not come back from the first.
    assert stands_for(hostile, uri)
    assert not stands_for(hostile, uri + "/")
