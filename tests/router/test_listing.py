"""How a tool looks in each kind of list, and how a list is read page by page."""

import base64
import json
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.catalogues import OBJECT, definition, offered
from pointsman_contract import rawjson
from pointsman_router import listing
from pointsman_router.eras import LEGACY, Revision
from pointsman_router.listing import Form, Line, UnknownCursor
from pointsman_router.offer import Tool

ARRAY = {"type": "array", "items": OBJECT}
SHOWN = {Form.DOTTED: "github.add", Form.SAFE: "github__add", Form.BARE: "add"}


def tool(raw: bytes) -> Tool:
    (only,) = offered(raw).tools
    return only


def rendered(raw: bytes, revision: Revision, form: Form = Form.DOTTED) -> bytes:
    line = listing.line(tool(raw), "tools/github", SHOWN)
    (one,) = rawjson.items(listing.joined([line], form, revision))
    return one


def shown(raw: bytes, revision: Revision, form: Form = Form.DOTTED) -> dict[str, Any]:
    value = json.loads(rendered(raw, revision, form))
    assert isinstance(value, dict)
    return value


@pytest.mark.parametrize("revision", Revision)
@pytest.mark.parametrize("form", Form)
def test_a_tool_is_listed_under_the_name_of_the_form_and_says_where_it_is_from(
    revision: Revision, form: Form
) -> None:
    assert shown(definition("add", description="Adds."), revision, form) == {
        "name": SHOWN[form],
        "inputSchema": OBJECT,
        "description": "Adds.",
        "_meta": {"pointsman.dev/server": "tools/github", "pointsman.dev/tool": "add"},
    }


@pytest.mark.parametrize("revision", Revision)
def test_a_schema_is_listed_byte_for_byte(revision: Revision) -> None:
    schema = (
        rb'{ "type":"object", "$defs":{"a":{"$anchor":"A","const":1.0}},'
        rb' "properties":{"x":{"$ref":"#A"},"y":true,"z":{"default":"\/","maximum":1e300}} }'
    )
    more = rb',"vendor":[ -0 ],"description":"\ud83d\ude00"}'
    raw = b'{"name":"add","inputSchema":' + schema + more

    line = rendered(raw, revision)

    assert b'"inputSchema":' + schema in line
    assert b'"vendor":[ -0 ]' in line
    assert rb'"description":"\ud83d\ude00"' in line


EVERYTHING = definition(
    "add",
    title="Add",
    description="Adds.",
    annotations={"title": "Add", "readOnlyHint": True},
    icons=[{"src": "https://x.example/i.png"}],
    outputSchema=OBJECT,
    execution={"x": 1},
    vendor=1,
)


@pytest.mark.parametrize(
    ("revision", "unknown"),
    [
        (Revision.MODERN, set()),
        (Revision.V2025_11_25, set()),
        (Revision.V2025_06_18, {"icons", "execution"}),
        (Revision.V2025_03_26, {"icons", "execution", "title", "outputSchema"}),
        (Revision.V2024_11_05, {"icons", "execution", "title", "outputSchema"}),
    ],
)
def test_an_agent_sees_what_its_revision_knows(revision: Revision, unknown: set[str]) -> None:
    assert shown(EVERYTHING, revision).keys() == json.loads(EVERYTHING).keys() - unknown | {"_meta"}


@pytest.mark.parametrize("revision", Revision)
@pytest.mark.parametrize(
    "schema",
    [ARRAY, {}, {"anyOf": [OBJECT]}, {"type": ["object", "null"]}],
    ids=["a list", "anything", "one of some", "an object or null"],
)
def test_an_output_without_an_object_root_is_for_modern_agents_alone(
    revision: Revision, schema: object
) -> None:
    tool = shown(definition("add", outputSchema=schema), revision)

    assert tool.get("outputSchema") == (schema if revision is Revision.MODERN else None)


@pytest.mark.parametrize("revision", sorted(Revision))
def test_an_output_that_a_strict_client_cannot_compile_is_for_modern_agents_alone(
    revision: Revision,
) -> None:
    schema = OBJECT | {"properties": {"a": {"pattern": "(?i)a"}}}
    tool = shown(definition("add", outputSchema=schema), revision)

    assert tool.get("outputSchema") == (schema if revision is Revision.MODERN else None)


@pytest.mark.parametrize("revision", sorted(LEGACY - {Revision.V2024_11_05, Revision.V2025_03_26}))
def test_an_output_with_an_object_root_is_for_every_agent_that_knows_outputs(
    revision: Revision,
) -> None:
    assert shown(definition("add", outputSchema=OBJECT), revision)["outputSchema"] == OBJECT


def test_only_our_own_keys_of_its_meta_are_ours() -> None:
    meta = {
        "pointsman.dev/server": "forged/server",
        "pointsman.dev/refusal": {},
        "vendor.example/x": 1,
        "ui": "a",
    }

    assert shown(definition("add", _meta=meta), Revision.MODERN)["_meta"] == {
        "vendor.example/x": 1,
        "ui": "a",
        "pointsman.dev/server": "tools/github",
        "pointsman.dev/tool": "add",
    }


def test_equal_renderings_are_held_once() -> None:
    line = listing.line(tool(definition("add")), "tools/github", SHOWN)

    assert len({id(rest) for rest in line.rest.values()}) == 1


def lines(*names: str) -> list[Line]:
    """Lines in order of their names, as a catalogue holds them."""
    made = [
        listing.line(tool(definition(name)), "tools/x", dict.fromkeys(Form, name)) for name in names
    ]
    return sorted(made, key=lambda line: line.names[Form.DOTTED].encode())


def walk(pages: list[Line], size: int, form: Form = Form.DOTTED) -> list[str]:
    """The names that an agent sees which asks until there is no cursor."""
    seen: list[str] = []
    cursor = None
    while True:
        page = listing.page(pages, form, cursor, size)
        seen += [line.names[form] for line in page.lines]
        assert len(page.lines) <= size
        if page.next_cursor is None:
            return seen
        assert page.lines
        cursor = page.next_cursor


NAMES = st.text(
    st.characters(exclude_categories=("Cc", "Cf", "Cn", "Cs", "Zl", "Zp", "Mn", "Lo")), min_size=1
)


@given(st.sets(NAMES, max_size=20), st.integers(1, 8), st.sampled_from(Form))
def test_the_pages_together_are_the_list(names: set[str], size: int, form: Form) -> None:
    assert walk(lines(*names), size, form) == sorted(names, key=str.encode)


@given(st.sets(NAMES, min_size=2, max_size=20), st.data())
def test_a_list_goes_on_behind_the_last_name_after_the_catalogue_changed(
    names: set[str], data: st.DataObject
) -> None:
    size = data.draw(st.integers(1, len(names) - 1))
    first = listing.page(lines(*names), Form.DOTTED, None, size)
    changed = names - data.draw(st.sets(st.sampled_from(sorted(names)))) | data.draw(
        st.sets(NAMES, max_size=3)
    )
    last = first.lines[-1].names[Form.DOTTED]

    rest = listing.page(lines(*changed), Form.DOTTED, first.next_cursor, 100)

    assert [line.names[Form.DOTTED] for line in rest.lines] == [
        name for name in sorted(changed, key=str.encode) if name.encode() > last.encode()
    ]


def test_an_exact_page_is_the_last_one() -> None:
    assert listing.page(lines("a", "b"), Form.DOTTED, None, 2).next_cursor is None


def test_an_empty_list_is_one_page() -> None:
    page = listing.page([], Form.DOTTED, None, 2)

    assert (list(page.lines), page.next_cursor) == ([], None)


@pytest.mark.parametrize("length", [1, 128, 256])
def test_a_name_of_any_length_makes_a_cursor_that_works(length: int) -> None:
    names = [letter * length for letter in "aä😀"]

    assert walk(lines(*names), 1, Form.BARE) == names


def cursor() -> str:
    issued = listing.page(lines("aa", "bb", "cc"), Form.DOTTED, None, 1).next_cursor
    assert issued is not None
    return issued


def sealed(text: bytes) -> str:
    return base64.urlsafe_b64encode(zlib.crc32(text).to_bytes(4) + text).decode()


@pytest.mark.parametrize(
    ("foreign", "form"),
    [
        pytest.param("", Form.DOTTED, id="J29 empty"),
        pytest.param("garbage", Form.DOTTED, id="J29 garbage"),
        pytest.param("Z2FyYmFnZQ==", Form.DOTTED, id="J29 base64 of garbage"),
        pytest.param("2", Form.DOTTED, id="a number"),
        pytest.param("ä", Form.DOTTED, id="a letter beyond ASCII"),
        pytest.param("\ud800", Form.DOTTED, id="half a surrogate pair"),
        pytest.param("x" * 10_240, Form.DOTTED, id="J29 10 KiB"),
        pytest.param(cursor() + "A", Form.DOTTED, id="a letter too many"),
        pytest.param(cursor() + "\n", Form.DOTTED, id="a line feed too many"),
        pytest.param(f" {cursor()}", Form.DOTTED, id="a blank in front"),
        pytest.param(cursor(), Form.SAFE, id="of a list in the other form"),
        pytest.param(cursor(), Form.BARE, id="of a list of several servers"),
        pytest.param(sealed(b"DOTTED\naa"), Form.DOTTED, id="a form that is none"),
        *(
            pytest.param(cursor()[:length], Form.DOTTED, id=f"J29 cut to {length}")
            for length in range(len(cursor()))
        ),
    ],
)
def test_a_cursor_that_no_router_wrote_is_unknown(foreign: str, form: Form) -> None:
    with pytest.raises(UnknownCursor):
        listing.page(lines("aa", "bb", "cc"), form, foreign, 1)


@given(st.integers(0, len(cursor()) - 1), st.sampled_from("ABCxyz019-_=/+ "))
def test_a_cursor_with_a_letter_changed_is_unknown(position: int, letter: str) -> None:
    altered = cursor()[:position] + letter + cursor()[position + 1 :]
    if altered != cursor():
        with pytest.raises(UnknownCursor):
            listing.page(lines("aa", "bb", "cc"), Form.DOTTED, altered, 1)
