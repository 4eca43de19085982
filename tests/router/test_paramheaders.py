"""Which arguments a header repeats, and when it does not say the same."""

import json
from typing import Any

import pytest

from bench.catalogues import definition, offered
from pointsman_router import paramheaders
from pointsman_router.paramheaders import InvalidAnnotation, Mismatch

REGION = {"type": "string", "x-mcp-header": "Region"}
PRIORITY = {"type": "integer", "x-mcp-header": "Priority"}
DRY = {"type": "boolean", "x-mcp-header": "Dry-Run"}
DEEP = {"type": "object", "properties": {"tenant": {"type": "string", "x-mcp-header": "Tenant"}}}
SCHEMA = {
    "type": "object",
    "properties": {"region": REGION, "priority": PRIORITY, "dry": DRY, "deep": DEEP},
}


def of(schema: Any) -> tuple[paramheaders.Annotation, ...]:
    return paramheaders.annotations(json.dumps(schema).encode())


def properties(**described: Any) -> Any:
    return {"type": "object", "properties": described}


def test_properties_alone_lead_to_what_a_header_repeats() -> None:
    assert {(each.header, each.path) for each in of(SCHEMA)} == {
        ("Mcp-Param-Region", ("region",)),
        ("Mcp-Param-Priority", ("priority",)),
        ("Mcp-Param-Dry-Run", ("dry",)),
        ("Mcp-Param-Tenant", ("deep", "tenant")),
    }


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param({"type": "object"}, id="none"),
        pytest.param(properties(**{"x-mcp-header": {"type": "string"}}), id="a name like it"),
        pytest.param(
            properties(a={"type": "object", "default": {"x-mcp-header": "A"}}), id="a default"
        ),
        pytest.param(properties(a={"enum": [{"x-mcp-header": "A"}]}), id="a value of an enum"),
    ],
)
def test_what_only_looks_like_an_annotation_is_none(schema: Any) -> None:
    assert of(schema) == ()


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param(properties(a=REGION | {"x-mcp-header": ""}), id="an empty name"),
        pytest.param(properties(a=REGION | {"x-mcp-header": "a b"}), id="a blank"),
        pytest.param(properties(a=REGION | {"x-mcp-header": "a:b"}), id="a colon"),
        pytest.param(properties(a=REGION | {"x-mcp-header": "ü"}), id="no ASCII"),
        pytest.param(properties(a=REGION | {"x-mcp-header": "a\r\nb"}), id="a line break"),
        pytest.param(properties(a=REGION | {"x-mcp-header": 5}), id="a number for a name"),
        pytest.param(properties(a=REGION, b=REGION), id="a name twice"),
        pytest.param(
            properties(a=REGION, b=REGION | {"x-mcp-header": "REGION"}), id="a name in capitals"
        ),
        pytest.param(properties(a=REGION | {"type": "number"}), id="a number"),
        pytest.param(properties(a=REGION | {"type": "object"}), id="an object"),
        pytest.param(properties(a=REGION | {"type": ["string", "null"]}), id="two types"),
        pytest.param(properties(a={"x-mcp-header": "A"}), id="no type"),
        pytest.param({"type": "object", "x-mcp-header": "A"}, id="the root"),
        pytest.param(properties(a={"type": "array", "items": REGION}), id="items"),
        pytest.param({"type": "object", "$defs": {"a": REGION}}, id="a definition"),
        pytest.param({"type": "object", "anyOf": [properties(a=REGION)]}, id="anyOf"),
        pytest.param({"type": "object", "additionalProperties": REGION}, id="any other property"),
    ],
)
def test_an_annotation_for_which_no_header_may_be_sent_is_invalid(schema: Any) -> None:
    with pytest.raises(InvalidAnnotation):
        of(schema)


def test_an_escaped_keyword_is_one_too() -> None:
    escaped = json.dumps(properties(a=REGION)).replace("x-mcp", "\\u0078-mcp").encode()

    assert [each.header for each in paramheaders.annotations(escaped)] == ["Mcp-Param-Region"]


def test_an_invalid_annotation_costs_its_tool_alone() -> None:
    bad = definition("bad", inputSchema=properties(a=REGION | {"type": "number"}))
    offer = offered("good", bad)

    assert [tool.name for tool in offer.tools] == ["good"]
    assert [(tool.name, tool.reason) for tool in offer.skipped] == [
        ("bad", "InvalidHeaderAnnotation")
    ]


def mismatch(arguments: str, **sent: str | tuple[str, ...]) -> Mismatch | None:
    headers = {
        f"Mcp-Param-{name.replace('_', '-')}".lower(): (value,) if isinstance(value, str) else value
        for name, value in sent.items()
    }
    return paramheaders.mismatch(
        of(SCHEMA), arguments.encode(), lambda name: headers.get(name.lower(), ())
    )


@pytest.mark.parametrize(
    ("arguments", "sent"),
    [
        pytest.param("{}", {}, id="nothing on both sides"),
        pytest.param('{"region":null}', {}, id="null counts as absent"),
        pytest.param('{"other":"x"}', {}, id="what no header repeats"),
        pytest.param('{"region":"us-west1"}', {"Region": "us-west1"}, id="a string"),
        pytest.param('{"region":"us-west1"}', {"Region": " us-west1\t"}, id="blanks around"),
        pytest.param('{"region":"ü"}', {"Region": "=?base64?w7w=?="}, id="base64"),
        pytest.param('{"region":"a"}', {"Region": "=?base64?YQ==?="}, id="base64 without need"),
        pytest.param(r'{"region":"\u00fc"}', {"Region": "=?base64?w7w=?="}, id="an escape"),
        pytest.param('{"priority":5}', {"Priority": "5"}, id="an integer"),
        pytest.param('{"priority":5}', {"Priority": "5.0"}, id="another spelling of it"),
        pytest.param('{"priority":5.0}', {"Priority": "5"}, id="a decimal that is one"),
        pytest.param('{"priority":-0}', {"Priority": "0"}, id="minus zero"),
        pytest.param(
            '{"priority":9007199254740993}', {"Priority": "9007199254740993"}, id="2^53+1"
        ),
        pytest.param('{"dry":true}', {"Dry_Run": "true"}, id="true"),
        pytest.param('{"dry":false}', {"Dry_Run": "false"}, id="false"),
        pytest.param('{"deep":{"tenant":"a"}}', {"Tenant": "a"}, id="a member of a member"),
        pytest.param('{"deep":5}', {}, id="a member of what has none"),
        pytest.param('{"region":{"a":1}}', {}, id="what no header can say"),
    ],
)
def test_headers_that_say_what_the_body_says_are_let_in(
    arguments: str, sent: dict[str, str]
) -> None:
    assert mismatch(arguments, **sent) is None


@pytest.mark.parametrize(
    ("arguments", "sent"),
    [
        pytest.param('{"region":"us-west1"}', {}, id="a header is missing"),
        pytest.param("{}", {"Region": "us-west1"}, id="an argument is missing"),
        pytest.param('{"region":null}', {"Region": "null"}, id="null has no header"),
        pytest.param('{"region":"us-west1"}', {"Region": "us-east1"}, id="another value"),
        pytest.param('{"region":"us-west1"}', {"Region": "US-WEST1"}, id="another case"),
        pytest.param('{"region":"a"}', {"Region": ("a", "a")}, id="a header twice"),
        pytest.param('{"region":"a"}', {"Region": "=?base64?!?="}, id="no base64"),
        pytest.param('{"region":"5"}', {"Region": "5.0"}, id="a string is no number"),
        pytest.param(
            '{"priority":9007199254740993}', {"Priority": "9007199254740992"}, id="2^53 for 2^53+1"
        ),
        pytest.param('{"priority":5}', {"Priority": "five"}, id="no number"),
        pytest.param('{"priority":5}', {"Priority": "1e9999999999"}, id="a vast exponent"),
        pytest.param('{"dry":true}', {"Dry_Run": "True"}, id="another spelling of true"),
        pytest.param('{"dry":true}', {"Dry_Run": "1"}, id="one for true"),
        pytest.param('{"deep":{"tenant":"a"}}', {"Tenant": "b"}, id="a member of a member"),
        pytest.param('{"region":"a","region":"b"}', {"Region": "b"}, id="a member twice"),
        pytest.param('{"region":["a"]}', {"Region": "a"}, id="what no header can say"),
    ],
)
def test_headers_that_say_something_else_are_named(
    arguments: str, sent: dict[str, str | tuple[str, ...]]
) -> None:
    found = mismatch(arguments, **sent)

    assert found is not None
    assert found.header.startswith("Mcp-Param-")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("{}", {}),
        ('{"region":"us-west1","priority":5,"dry":true}', None),
        ('{"region":"ü"}', {"Mcp-Param-Region": "=?base64?w7w=?="}),
        ('{"region":null,"priority":[1]}', {}),
        ('{"deep":{"tenant":"x y"}}', {"Mcp-Param-Tenant": "x y"}),
        (r'{"region":"\ud800"}', {}),
        ('{"region":"a","region":"b"}', {}),
    ],
)
def test_an_upstream_gets_the_headers_that_the_arguments_make(
    arguments: str, expected: dict[str, str] | None
) -> None:
    plain = {"Mcp-Param-Region": "us-west1", "Mcp-Param-Priority": "5", "Mcp-Param-Dry-Run": "true"}

    made = dict(paramheaders.headers(of(SCHEMA), arguments.encode()))

    assert made == (plain if expected is None else expected)
