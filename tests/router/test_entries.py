"""What of an upstream's prompts, resources and templates may be listed, and how it then looks."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import Prompt, Resource, ResourceTemplate
from pydantic import BaseModel, ValidationError

from bench.listed_beside import described, offered
from pointsman_contract import rawjson
from pointsman_router import entrylines
from pointsman_router.entries import Entries
from pointsman_router.entrycheck import Kind
from pointsman_router.eras import Revision

NAMES = {Kind.PROMPT: "ask", Kind.RESOURCE: "test://a", Kind.TEMPLATE: "test://{a}"}
PEERS: dict[Kind, type[BaseModel]] = {
    Kind.PROMPT: Prompt,
    Kind.RESOURCE: Resource,
    Kind.TEMPLATE: ResourceTemplate,
}


def one(kind: Kind, **members: object) -> Entries:
    return offered(kind, described(kind, NAMES[kind], **members))


def reasons(found: Entries) -> list[tuple[str, str]]:
    return [(left_out.name, str(left_out.reason)) for left_out in found.skipped]


@pytest.mark.parametrize("kind", Kind)
def test_what_is_listed_keeps_every_byte_of_its_values(kind: Kind) -> None:
    raw = (
        b'{"vendor":[1e400,9007199254740993,"\\u2028"],'
        + described(kind, NAMES[kind], description="d")[1:]
    )

    (entry,) = offered(kind, raw).entries

    assert entry.members == tuple(rawjson.pairs(raw))
    assert entry.size_bytes == len(raw)


@pytest.mark.parametrize(
    ("kind", "members"),
    [
        pytest.param(Kind.PROMPT, {"title": 5}, id="a title that is a number"),
        pytest.param(Kind.PROMPT, {"description": []}, id="a description that is a list"),
        pytest.param(Kind.PROMPT, {"_meta": 5}, id="meta that is a number"),
        pytest.param(Kind.PROMPT, {"arguments": {}}, id="arguments that are an object"),
        pytest.param(Kind.PROMPT, {"arguments": ["a"]}, id="an argument that is a string"),
        pytest.param(Kind.PROMPT, {"arguments": [{}]}, id="an argument without a name"),
        pytest.param(
            Kind.PROMPT, {"arguments": [{"name": "a", "required": "yes"}]}, id="required a word"
        ),
        pytest.param(
            Kind.PROMPT, {"arguments": [{"name": "a", "title": 5}]}, id="an argument's title"
        ),
        pytest.param(Kind.PROMPT, {"icons": [{}]}, id="an icon without a source"),
        pytest.param(Kind.PROMPT, {"icons": {"src": "x"}}, id="icons that are an object"),
        pytest.param(Kind.PROMPT, {"icons": [{"src": "x", "sizes": "any"}]}, id="sizes a word"),
        pytest.param(Kind.PROMPT, {"icons": [{"src": "x", "theme": "blue"}]}, id="a blue theme"),
        pytest.param(Kind.PROMPT, {"icons": [{"src": "x", "theme": []}]}, id="a theme that is []"),
        pytest.param(Kind.RESOURCE, {"name": None}, id="no name"),
        pytest.param(Kind.RESOURCE, {"name": 5}, id="a name that is a number"),
        pytest.param(Kind.RESOURCE, {"mimeType": 5}, id="a type that is a number"),
        pytest.param(Kind.RESOURCE, {"size": 1.5}, id="half a byte"),
        pytest.param(Kind.RESOURCE, {"size": True}, id="a size that is true"),
        pytest.param(Kind.RESOURCE, {"size": "5"}, id="a size that is a string"),
        pytest.param(Kind.RESOURCE, {"annotations": []}, id="annotations that are a list"),
        pytest.param(Kind.RESOURCE, {"annotations": {"audience": ["x"]}}, id="another audience"),
        pytest.param(Kind.RESOURCE, {"annotations": {"audience": [{}]}}, id="an odd audience"),
        pytest.param(Kind.RESOURCE, {"annotations": {"audience": "user"}}, id="no list of them"),
        pytest.param(Kind.RESOURCE, {"annotations": {"priority": 2}}, id="a priority of 2"),
        pytest.param(
            Kind.RESOURCE, {"annotations": {"lastModified": "yesterday"}}, id="a time that is none"
        ),
        pytest.param(Kind.TEMPLATE, {"name": None}, id="a template without a name"),
    ],
)
def test_what_would_cost_a_strict_client_the_list_is_left_out(
    kind: Kind, members: dict[str, object]
) -> None:
    found = offered(kind, described(kind, NAMES[kind], **members), NAMES[kind] + "b")

    assert reasons(found) == [(NAMES[kind], "InvalidSchema")]
    assert [entry.name for entry in found.entries] == [NAMES[kind] + "b"]
    assert found.spelled == {NAMES[kind], NAMES[kind] + "b"}


@pytest.mark.parametrize("kind", Kind)
def test_meta_with_a_number_that_go_cannot_hold_is_left_out(kind: Kind) -> None:
    raw = described(kind, NAMES[kind], _meta={"a": 7}).replace(b"7", b"1e400")

    assert reasons(offered(kind, raw)) == [(NAMES[kind], "InvalidSchema")]


def test_a_size_that_no_reader_can_hold_is_left_out() -> None:
    raw = described(Kind.RESOURCE, "test://a", size=7).replace(b"7", b"1e999")

    assert reasons(offered(Kind.RESOURCE, raw)) == [("test://a", "InvalidSchema")]


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize(
    "member",
    [
        pytest.param(rb'"vendor":{"a":"\ud83d"}', id="half a surrogate pair"),
        pytest.param(rb'"\ud83d":1', id="half a pair in a key"),
        pytest.param(b'"vendor":%b' % (b"9" * 5000), id="a number that Python cannot read"),
    ],
)
def test_what_costs_readers_the_whole_list_wherever_it_stands_is_left_out(
    kind: Kind, member: bytes
) -> None:
    raw = b"{" + member + b"," + described(kind, NAMES[kind])[1:]

    assert reasons(offered(kind, raw)) == [(NAMES[kind], "InvalidSchema")]


@pytest.mark.parametrize(
    ("kind", "name", "shown"),
    [
        pytest.param(Kind.PROMPT, "", "", id="an empty name"),
        pytest.param(Kind.PROMPT, "a\u200bb", "a\u200bb", id="a hidden character"),
        pytest.param(Kind.PROMPT, "x" * 257, "x" * 257, id="257 characters"),
        pytest.param(Kind.RESOURCE, "a", "a", id="a relative URI"),
        pytest.param(Kind.RESOURCE, "1:a", "1:a", id="no scheme"),
        pytest.param(Kind.RESOURCE, "http://", "http://", id="no host"),
        pytest.param(Kind.RESOURCE, "test://a\n", "test://a\n", id="a line break"),
        pytest.param(
            Kind.RESOURCE, "test://" + "a" * 2042, "test://" + "a" * 2042, id="2,049 characters"
        ),
        pytest.param(Kind.TEMPLATE, "test://{", "test://{", id="half an expression"),
        pytest.param(Kind.TEMPLATE, "{+any}", "{+any}", id="a template for everything"),
    ],
)
def test_a_name_that_cannot_be_shown_or_asked_for_is_left_out(
    kind: Kind, name: str, shown: str
) -> None:
    assert reasons(offered(kind, name)) == [(shown, "InvalidName")]


def test_the_longest_name_of_a_prompt_is_listed() -> None:
    (entry,) = offered(Kind.PROMPT, "x" * 256).entries

    assert entry.name == "x" * 256


def test_what_is_listed_twice_is_left_out_whatever_else_is_wrong_with_it() -> None:
    broken = described(Kind.RESOURCE, "test://a", size="5")

    found = offered(Kind.RESOURCE, "test://a", "test://b", broken)

    assert reasons(found) == [("test://a", "DuplicateName")]
    assert [entry.name for entry in found.entries] == ["test://b"]


def test_what_is_too_large_is_left_out() -> None:
    found = one(Kind.PROMPT, description="x" * 65536)

    assert reasons(found) == [("ask", "TooLarge")]


@pytest.mark.parametrize("raw", [b"5", b"[]", b'{"name":"a","name":"b"}', b'{"uri":5}'])
def test_what_has_no_name_is_left_out_without_one(raw: bytes) -> None:
    found = offered(Kind.RESOURCE, raw)

    assert [name for name, _ in reasons(found)] == [""]
    assert found.spelled == frozenset()


def test_null_where_it_is_not_allowed_is_removed_and_nothing_else() -> None:
    (entry,) = one(
        Kind.PROMPT,
        title=None,
        vendor=None,
        arguments=[{"name": "a", "description": None, "vendor": 1}],
        icons=[{"src": "x", "mimeType": None}],
    ).entries

    assert dict(entry.members) == {
        "name": b'"ask"',
        "vendor": b"null",
        "arguments": b'[{"name":"a","vendor":1}]',
        "icons": b'[{"src":"x"}]',
    }


_ODD: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, 5, 0.5, 1e300, "x", "dark", "user", "2026-01-01T00:00:00Z", [], {}]
)
_OBJECTS = st.dictionaries(
    st.sampled_from(
        [
            *("name", "title", "description", "required", "src", "mimeType", "sizes", "theme"),
            *("audience", "priority", "lastModified"),
        ]
    ),
    _ODD | st.lists(_ODD, max_size=2),
    max_size=4,
)
_MEMBERS = st.dictionaries(
    st.sampled_from(
        [
            *("name", "title", "description", "arguments", "icons", "_meta", "mimeType", "size"),
            "annotations",
        ]
    ),
    _ODD | _OBJECTS | st.lists(_OBJECTS | _ODD, max_size=2),
    max_size=4,
)


@given(st.sampled_from(Kind), _MEMBERS)
def test_what_is_listed_is_read_by_the_official_sdk(kind: Kind, members: dict[str, Any]) -> None:
    # What a prompt is known by is its name.
    members = {**members, "name": "ask"} if kind is Kind.PROMPT else members
    found = one(kind, **members)

    for entry in found.entries:
        for rendered in entrylines.rendered(entrylines.marked(entry, "s")).values():
            try:
                PEERS[kind].model_validate_json(rendered)
            except ValidationError as refusal:
                pytest.fail(f"{rendered!r}: {refusal}")
    assert len(found.entries) + len(found.skipped) == 1


def test_an_agent_is_told_only_what_its_revision_knows() -> None:
    (entry,) = one(
        Kind.PROMPT,
        title="T",
        icons=[{"src": "x"}],
        arguments=[{"name": "a", "title": "A"}],
        _meta={"vendor": 1, "io.modelcontextprotocol/x": 2, "pointsman.dev/server": "forged"},
    ).entries

    rendered = entrylines.rendered(entrylines.marked(entry, "tools/github"))

    meta = {"vendor": 1, "io.modelcontextprotocol/x": 2, "pointsman.dev/server": "tools/github"}
    whole = {
        "name": "ask",
        "title": "T",
        "icons": [{"src": "x"}],
        "arguments": [{"name": "a", "title": "A"}],
        "_meta": meta,
    }
    legacy = {**whole, "_meta": {"vendor": 1, "pointsman.dev/server": "tools/github"}}
    assert json.loads(rendered[Revision.MODERN]) == whole
    assert json.loads(rendered[Revision.V2025_11_25]) == legacy
    del legacy["icons"]
    assert json.loads(rendered[Revision.V2025_06_18]) == legacy
    del legacy["title"]
    legacy["arguments"] = [{"name": "a"}]
    assert json.loads(rendered[Revision.V2025_03_26]) == legacy
    assert entrylines.variant(Revision.V2024_11_05) is Revision.V2025_03_26


def test_what_every_revision_sees_alike_is_kept_once() -> None:
    (entry,) = one(Kind.RESOURCE).entries

    rendered = entrylines.rendered(entrylines.marked(entry, "tools/github"))

    assert len({id(each) for each in rendered.values()}) == 1
