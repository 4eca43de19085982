"""What becomes of an upstream's list: each tool usable, or left out with a reason."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import spelled
from bench.catalogues import OBJECT, definition, offered
from pointsman_contract.report import ToolReason
from pointsman_router import offer
from pointsman_router.leftout import LeftOut
from pointsman_router.offer import TOOL_MAX_BYTES, Listing, Offer, Tool

GOOD = definition("good")


def odd(raw: bytes) -> LeftOut | Tool:
    """What becomes of a tool between two good ones, which it must not cost."""
    made = offered(GOOD, raw, definition("well"))
    served = [tool for tool in made.tools if tool.name in ("good", "well")]
    others: list[LeftOut | Tool] = [tool for tool in made.tools if tool not in served]
    others += made.skipped

    assert len(served) == 2
    assert len(others) == 1
    return others[0]


def changed(**members: object) -> bytes:
    return json.dumps({"name": "odd", "inputSchema": OBJECT} | members).encode()


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        pytest.param(b'{"inputSchema":{"type":"object"}}', "InvalidName", id="R01 no name"),
        pytest.param(definition(""), "InvalidName", id="R01 an empty name"),
        pytest.param(changed(name=None), "InvalidName", id="a name that is null"),
        pytest.param(changed(name=5), "InvalidName", id="a name that is a number"),
        pytest.param(definition("a\x07b"), "InvalidName", id="R02 a control character"),
        pytest.param(definition("a\nb"), "InvalidName", id="R02 a line feed"),
        pytest.param(definition("a\u202eb"), "InvalidName", id="R02 an override of direction"),
        pytest.param(definition("a\u200bb"), "InvalidName", id="R02 a zero-width space"),
        pytest.param(definition("a\ufe0fb"), "InvalidName", id="R02 a variation selector"),
        pytest.param(definition("a\ud800b"), "InvalidName", id="R02 half a surrogate pair"),
        pytest.param(definition("a\u3164b"), "InvalidName", id="R02 a filler"),
        pytest.param(definition("a\U000e0041b"), "InvalidName", id="R02 a tag"),
        pytest.param(definition("a\U000e0fffb"), "InvalidName", id="R02 an unassigned tag"),
        pytest.param(b'{"name":"odd"}', "InvalidSchema", id="R01 no inputSchema"),
        pytest.param(changed(inputSchema=None), "InvalidSchema", id="R01 inputSchema null"),
        pytest.param(changed(inputSchema={}), "InvalidSchema", id="R01 inputSchema of no type"),
        pytest.param(changed(title=5), "InvalidSchema", id="a title that is a number"),
        pytest.param(changed(_meta=5), "InvalidSchema", id="a _meta that is a number"),
        pytest.param(
            changed(annotations={"readOnlyHint": "yes"}), "InvalidSchema", id="a hint in words"
        ),
        pytest.param(
            changed(outputSchema={"type": "object", "$ref": "#/$defs/x"}),
            "InvalidSchema",
            id="an output with a dangling reference",
        ),
        pytest.param(
            changed(inputSchema={"type": "object", "properties": {"a": {"type": "int"}}}),
            "InvalidSchema",
            id="P13 a type nobody knows",
        ),
        pytest.param(
            b'{"name":"odd","inputSchema":{"type":"object"},"inputSchema":{"type":"object"}}',
            "InvalidSchema",
            id="a member twice",
        ),
        pytest.param(changed(inputSchema=[]), "InvalidSchema", id="inputSchema that is a list"),
        pytest.param(changed(outputSchema=5), "InvalidSchema", id="outputSchema that is a number"),
        *(
            pytest.param(
                changed(inputSchema=OBJECT | {"properties": {"a": {"type": type_} | header}}),
                "InvalidHeaderAnnotation",
                id=f"a header {what}",
            )
            for what, type_, header in (
                ("with a blank", "string", {"x-mcp-header": "a b"}),
                ("without a name", "string", {"x-mcp-header": ""}),
                ("that is no text", "string", {"x-mcp-header": 5}),
                ("for an object", "object", {"x-mcp-header": "A"}),
            )
        ),
        pytest.param(
            changed(description="cut \ud83d"), "InvalidSchema", id="half a surrogate pair"
        ),
        pytest.param(changed(**{"\ud83d": 1}), "InvalidSchema", id="half a pair in a key"),
        pytest.param(
            b'{"name":"odd","inputSchema":{"type":"object","maxProperties":%b}}' % (b"9" * 5000),
            "InvalidSchema",
            id="a number that Python cannot read",
        ),
        pytest.param(
            changed(icons=[{"src": "x", "sizes": "48x48"}]),
            "InvalidSchema",
            id="an icon's sizes that are a word",
        ),
        pytest.param(
            changed(inputSchema=OBJECT | {"required": True}),
            "InvalidSchema",
            id="a whole input that is required",
        ),
        pytest.param(b"null", "InvalidSchema", id="null for a tool"),
        pytest.param(b'["odd"]', "InvalidSchema", id="a list for a tool"),
        pytest.param(b'"odd"', "InvalidSchema", id="a string for a tool"),
        pytest.param(
            changed(description="x" * TOOL_MAX_BYTES), "TooLarge", id="R06 too large a definition"
        ),
    ],
)
def test_a_bad_tool_costs_only_itself(raw: bytes, reason: str) -> None:
    left_out = odd(raw)

    assert isinstance(left_out, LeftOut)
    assert left_out.reason == reason
    assert left_out.message.isprintable()
    assert len(left_out.name) <= 120


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(definition("a b"), id="R02 a blank in the name"),
        pytest.param(definition("a/b"), id="R02 a slash"),
        pytest.param(definition("😀"), id="R02 an emoji"),
        pytest.param(definition("x" * 200), id="R02 200 characters"),
        pytest.param(definition("x" * 256), id="R02 the longest name"),
        pytest.param(definition(".a."), id="R02 dots at the ends"),
        pytest.param(changed(description=None), id="a description that is null"),
        pytest.param(
            changed(inputSchema={"type": "object", "properties": {"a": True}}),
            id="a property that is true",
        ),
        pytest.param(changed(outputSchema={"type": "array"}), id="an output that is a list"),
        pytest.param(
            changed(description=f"<!-- {'x' * 30_000} \u2028 -->\t\r\n"),
            id="R06 a long description with comments",
        ),
        pytest.param(
            changed(annotations={"readOnlyHint": True, "idempotentHint": True}), id="R09 hints"
        ),
        pytest.param(changed(execution={"taskSupport": "required"}), id="an offer of tasks"),
        pytest.param(changed(description="x" * (TOOL_MAX_BYTES - 200)), id="R06 just small enough"),
    ],
)
def test_an_odd_but_valid_tool_is_offered(raw: bytes) -> None:
    tool = odd(raw)

    assert isinstance(tool, Tool)
    assert tool.name == json.loads(raw)["name"]
    assert tool.size_bytes == len(raw)


def test_a_definition_keeps_every_byte_of_its_members() -> None:
    members = {
        "name": rb'"\u006fdd"',
        "inputSchema": rb'{ "$defs":{"a":{"$anchor":"A","const":1.0}} ,"type":"object",'
        rb'"properties":{"x":{"$ref":"#A"},"y":true,"z":{"default":"\/\u00fc","maximum":1e300}} }',
        "vendor": b'{"b":-0,"a":[ ] }',
        "description": rb'"\ud83d\ude00 <b>"',
    }
    raw = b"{" + b" , ".join(b'"%b" : %b' % (k.encode(), v) for k, v in members.items()) + b"}"

    tool = odd(raw)

    assert isinstance(tool, Tool)
    assert tool.name == "odd"
    assert dict(tool.members) == members


def test_what_no_client_may_see_is_not_offered() -> None:
    tool = odd(changed(title=None, _meta=None, execution={"taskSupport": "required"}))

    assert isinstance(tool, Tool)
    assert dict(tool.members).keys() == {"name", "inputSchema"}


@pytest.mark.parametrize("times", [2, 3])
def test_r03_a_name_listed_more_than_once_is_nobodys(times: int) -> None:
    twins = [changed(title=str(number)) for number in range(times)]

    made = offered(twins[0], GOOD, *twins[1:])

    assert [tool.name for tool in made.tools] == ["good"]
    assert [(tool.name, tool.reason) for tool in made.skipped] == [("odd", "DuplicateName")]


@pytest.mark.parametrize(
    "invalid",
    [
        pytest.param(changed(title=5), id="R03 its schema invalid"),
        pytest.param(changed(description="x" * TOOL_MAX_BYTES), id="R03 too large"),
        pytest.param(b'{"name":"odd","title":"a","title":"b"}', id="R03 a member of it twice"),
    ],
)
@pytest.mark.parametrize("first", ["valid", "invalid"])
def test_r03_a_valid_tool_is_not_told_from_an_invalid_one_of_its_name(
    invalid: bytes, first: str
) -> None:
    twins = [changed(), invalid] if first == "valid" else [invalid, changed()]

    made = offered(GOOD, *twins)

    assert [tool.name for tool in made.tools] == ["good"]
    assert [(tool.name, tool.reason) for tool in made.skipped] == [("odd", "DuplicateName")]


def test_tools_whose_names_say_nothing_are_each_left_out_for_that() -> None:
    made = offered(definition(""), definition(""), b"{}", b"{}", GOOD)

    assert [tool.reason for tool in made.skipped] == ["InvalidName"] * 4


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        pytest.param(b'{"name":"odd","title":"a","title":"b"}', "odd", id="another member"),
        pytest.param(rb'{"title":"a","title":"b","name":"\u006fdd"}', "odd", id="escaped"),
        pytest.param(b'{"name":"odd","name":"odd"}', "", id="the name itself"),
        pytest.param(rb'{"name":"odd","n\u0061me":"pay"}', "", id="the name in two spellings"),
        pytest.param(b'{"name":5,"title":"a","title":"b"}', "", id="a name that is no text"),
        pytest.param(b'{"name":"\\u202e","title":"a","title":"b"}', "", id="one that hides"),
        pytest.param(b'{"title":"a","title":"b"}', "", id="no name"),
    ],
)
def test_a_tool_with_a_member_twice_is_told_by_the_name_that_it_has_once(
    raw: bytes, name: str
) -> None:
    made = offered(raw, GOOD)

    assert [(tool.name, tool.reason) for tool in made.skipped] == [(name, "InvalidSchema")]


def test_a_name_that_is_too_long_costs_its_tool_and_nobody_else() -> None:
    long = "x" * 257

    made = offered(definition(long), definition(long), GOOD)

    assert [tool.name for tool in made.tools] == ["good"]
    assert [(tool.reason, tool.message) for tool in made.skipped] == [
        ("InvalidName", "the tool's name must hold at most 256 characters")
    ] * 2
    assert {len(tool.told.name) for tool in made.skipped} == {120}


def test_names_are_compared_exactly() -> None:
    names = ["add", "Add", "add ", "a\u0308dd", "\u00e4dd"]

    assert {tool.name for tool in offered(*names).tools} == set(names)


def test_the_order_of_the_list_does_not_matter() -> None:
    tools = [definition(name) for name in "cab"] + [definition("a"), b'{"name":"z"}', b"1"]

    assert offered(*tools) == offered(*reversed(tools))


@pytest.mark.parametrize(
    "spelling",
    [
        pytest.param(b'{"inputSchema":{"type":"object"},"name":"odd"}', id="another order"),
        pytest.param(b'{ "name" : "odd", "inputSchema":{"type": "object" }}', id="other blanks"),
        pytest.param(rb'{"name":"\u006fdd","inputSchema":{"type":"object"}}', id="an escape"),
        pytest.param(changed(icons=[{"src": "x"}], _meta={"a": 1}), id="icons and _meta"),
    ],
)
def test_what_defines_a_tool_is_not_how_it_is_written(spelling: bytes) -> None:
    tool, plain = odd(spelling), odd(changed())

    assert isinstance(tool, Tool)
    assert isinstance(plain, Tool)
    assert tool.digest == plain.digest
    assert tool.digest.startswith("sha256:")


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(changed(title="t"), id="a title"),
        pytest.param(changed(description="d"), id="a description"),
        pytest.param(changed(annotations={"readOnlyHint": True}), id="a hint"),
        pytest.param(changed(outputSchema=OBJECT), id="an output"),
        pytest.param(
            b'{"name":"odd","inputSchema":{"type":"object","maxProperties":1.0}}', id="a number"
        ),
        pytest.param(
            b'{"name":"odd","inputSchema":{"type":"object","maxProperties":1}}',
            id="the same number in another spelling",
        ),
    ],
)
def test_another_definition_has_another_digest(other: bytes) -> None:
    digests = {
        tool.digest
        for raw in (
            other,
            changed(),
            b'{"name":"odd","inputSchema":{"type":"object","maxProperties":1e0}}',
        )
        if isinstance(tool := odd(raw), Tool)
    }

    assert len(digests) == 3


WHOLE = {
    "name": "odd",
    "description": "é",
    "inputSchema": OBJECT | {"properties": {"a": {"type": "string"}, "b": {"type": "string"}}},
    "icons": [{"src": "x", "theme": "dark"}],
    "_meta": {"a": 1, "b": {"c": 2, "d": 3}},
}


def turned(value: Any) -> Any:
    """The same value, the members of each object in the opposite order."""
    if isinstance(value, dict):
        return {key: turned(member) for key, member in reversed(value.items())}
    return [turned(item) for item in value] if isinstance(value, list) else value


def beside(*tools: object, entry: object = None) -> Offer:
    raw = tuple(json.dumps(tool, ensure_ascii=False).encode() for tool in tools)
    prompts = (json.dumps(entry).encode(),) if entry else ()
    return offer.read(Listing(raw, "2025-11-25", prompts=prompts))


def test_what_is_only_spelled_otherwise_stays_as_it_was_known() -> None:
    ask = {"name": "ask", "arguments": [{"name": "a", "required": True}], "x": {"y": 1, "z": 2}}
    known = beside(WHOLE, entry=ask)

    again = beside(turned(WHOLE), entry=turned(ask))

    assert again != known
    assert again.spelled_as(known) == known


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"description": "e"}, id="its definition"),
        pytest.param({"icons": [{"src": "y", "theme": "dark"}]}, id="an icon"),
        pytest.param({"_meta": {"a": 1, "b": {"c": 2, "d": 4}}}, id="its _meta"),
        pytest.param({"more": 1}, id="a member that nobody knows"),
    ],
)
def test_what_agents_see_otherwise_is_as_it_came(changes: dict[str, object]) -> None:
    again = beside(turned(WHOLE | changes))

    assert again.spelled_as(beside(WHOLE)) == again


def test_a_prompt_that_changed_is_as_it_came() -> None:
    again = beside(entry={"name": "ask", "title": "B"})

    assert again.spelled_as(beside(entry={"name": "ask", "title": "A"})) == again


@given(
    st.lists(
        st.one_of(
            spelled.values(with_half_pairs=True).map(str.encode),
            spelled.objects(with_half_pairs=True).map(lambda whole: whole.data),
            st.sampled_from(["a", "b", "c\u200b", "a"]).map(definition),
        ),
        max_size=5,
    )
)
def test_every_tool_is_offered_or_left_out_with_a_reason(tools: list[bytes]) -> None:
    made: Offer = offer.read(Listing(tuple(tools), "2025-11-25"))
    counted = len(made.tools) + sum(
        sum(raw == definition(tool.name) for raw in tools)
        if tool.reason == ToolReason.DUPLICATE_NAME
        else 1
        for tool in made.skipped
    )

    assert counted == len(tools)
    assert len({tool.name for tool in made.tools}) == len(made.tools)
