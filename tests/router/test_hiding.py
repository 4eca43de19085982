"""Which of a tool's texts hide something, wherever an upstream may have put it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import spelled
from bench.catalogues import OBJECT
from bench.spelled import Whole
from pointsman_contract import hiddentext
from pointsman_router import hiding
from pointsman_router.hiding import Hidden

HIDES = "Adds.\u202e"


def spelt(**members: object) -> dict[str, bytes]:
    """A tool's members, in ASCII."""
    whole = {"name": "add", "inputSchema": OBJECT} | members
    return {name: json.dumps(value).encode() for name, value in whole.items()}


def schema(**members: object) -> dict[str, object]:
    return {"type": "object"} | members


@pytest.mark.parametrize(
    ("members", "member"),
    [
        pytest.param({"title": HIDES}, "title", id="the title"),
        pytest.param({"annotations": {"title": HIDES}}, "annotations.title", id="the hinted title"),
        pytest.param({"description": HIDES}, "description", id="the description"),
        *(
            pytest.param({member: within}, member, id=f"{member}: {where}")
            for member in ("inputSchema", "outputSchema")
            for where, within in {
                "its title": schema(title=HIDES),
                "its description": schema(description=HIDES),
                "a property": schema(properties={"a": {"description": HIDES}}),
                "a property of that name": schema(properties={"title": {"title": HIDES}}),
                "a property called default": schema(properties={"default": {"title": HIDES}}),
                "a definition": schema(**{"$defs": {"x": {"title": HIDES}}}),
                "an older definition": schema(definitions={"examples": {"title": HIDES}}),
                "a pattern": schema(patternProperties={"^a": {"title": HIDES}}),
                "an item": schema(properties={"a": {"items": {"description": HIDES}}}),
                "a choice": schema(anyOf=[OBJECT, {"allOf": [{"title": HIDES}]}]),
                "a condition": schema(**{"if": {}, "else": {"title": HIDES}}),
                "a dependency": schema(dependencies={"a": {"title": HIDES}}),
                "a keyword that nobody knows": schema(**{"x-more": [{"description": HIDES}]}),
            }.items()
        ),
    ],
)
def test_what_hides_is_found_in_each_text_that_models_read(
    members: dict[str, object], member: str
) -> None:
    assert hiding.found(spelt(**members)) == (Hidden(member, "U+202E"),)


@pytest.mark.parametrize(
    "members",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"title": "Größe", "description": "\tA\n👩‍🔬 ⚙️"}, id="what people write"),
        pytest.param({"annotations": {"vendor": HIDES}}, id="another hint"),
        pytest.param({"_meta": {"title": HIDES}, "icons": [{"src": HIDES}]}, id="other members"),
        pytest.param({"inputSchema": schema(default={"title": HIDES})}, id="a default"),
        pytest.param({"inputSchema": schema(const={"title": HIDES})}, id="a constant"),
        pytest.param({"inputSchema": schema(enum=[{"title": HIDES}])}, id="one of some values"),
        pytest.param({"inputSchema": schema(examples=[{"title": HIDES}])}, id="an example"),
        pytest.param({"inputSchema": schema(pattern="[\x00-\x1f]")}, id="a pattern"),
        pytest.param({"description": r"\b\u202e is written out"}, id="an escape that is a text"),
    ],
)
def test_what_is_no_title_or_description_does_not_count(members: dict[str, object]) -> None:
    assert hiding.found(spelt(**members)) == ()


@pytest.mark.parametrize(
    ("raw", "code_point"),
    [
        pytest.param(rb'"a\u202eb"', "U+202E", id="escaped"),
        pytest.param('"a\u202eb"'.encode(), "U+202E", id="as it is"),
        pytest.param(rb'"a\u202E"', "U+202E", id="in capitals"),
        pytest.param(rb'"\udb40\udc41"', "U+E0041", id="as a surrogate pair"),
        pytest.param(rb'"a\u0007"', "U+0007", id="an escaped control character"),
        pytest.param(rb'"a\b"', "U+0008", id="a short escape"),
        pytest.param(rb'"a\f"', "U+000C", id="another short escape"),
        pytest.param(b'"a\x7f"', "U+007F", id="delete"),
    ],
)
def test_it_is_found_however_json_spells_it(raw: bytes, code_point: str) -> None:
    for member in ("title", "description"):
        assert hiding.found({member: raw}) == (Hidden(member, code_point),)
    inside = b'{"type":"object","properties":{"a":{"\\u0074itle":%b}}}' % raw
    assert hiding.found({"inputSchema": inside}) == (Hidden("inputSchema", code_point),)


def test_one_of_two_texts_of_a_name_is_enough() -> None:
    twice = rb'{"type":"object","description":"a\u200bb","description":"ab"}'
    hints = rb'{"title":"a\u200bb","title":"ab"}'

    assert hiding.found({"inputSchema": twice, "annotations": hints}) == (
        Hidden("annotations.title", "U+200B"),
        Hidden("inputSchema", "U+200B"),
    )


def test_every_member_is_told_once_and_nothing_of_it_is_repeated() -> None:
    found = hiding.found(
        spelt(title="\u200b\u202e", description="\u202e", inputSchema=schema(title="\u3164"))
    )

    assert [each.told for each in found] == [
        "title (U+200B)",
        "description (U+202E)",
        "a title or description in inputSchema (U+3164)",
    ]


@given(st.text(), st.booleans())
def test_a_text_is_judged_by_its_characters_and_not_by_its_spelling(
    text: str, in_ascii: bool
) -> None:
    raw = json.dumps(text, ensure_ascii=in_ascii).encode("utf-8", "surrogatepass")
    expected = hiddentext.first_hidden(text)

    assert [each.code_point for each in hiding.found({"title": raw})] == (
        [expected] if expected else []
    )


@given(spelled.objects(with_half_pairs=True))
def test_anything_that_is_json_can_be_looked_through(whole: Whole) -> None:
    found = hiding.found({"annotations": whole.data, "inputSchema": whole.data})

    assert {each.member for each in found} <= {"annotations.title", "inputSchema"}
