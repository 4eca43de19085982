"""Which call is proposed for a first try."""

from typing import Any

import jsonschema  # type: ignore[import-untyped] # it has no types
import pytest

from pointsman import sample
from pointsman.listing import Tool


def one(property_schema: Any, **more: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"it": property_schema}, "required": ["it"], **more}
    return sample.arguments(schema)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        pytest.param({"type": "string"}, "hello", id="a text"),
        pytest.param({"type": "string", "format": "date"}, "2026-01-31", id="a date"),
        pytest.param({"type": "string", "examples": ["x", "y"]}, "x", id="the schema's example"),
        pytest.param({"enum": ["low", "high"]}, "low", id="one of a choice"),
        pytest.param({"const": 7}, 7, id="the only value"),
        pytest.param({"type": "string", "default": "d"}, "d", id="the default"),
        pytest.param({"type": "integer", "minimum": 5}, 5, id="a number with a bound"),
        pytest.param({"type": "boolean"}, True, id="a choice of two"),
        pytest.param({"type": ["null", "string"]}, None, id="several types"),
        pytest.param({"anyOf": [{"type": "integer"}, {"type": "null"}]}, 1, id="alternatives"),
        pytest.param({"type": "array", "items": {"type": "string"}}, [], id="a list"),
        pytest.param(
            {"type": "object", "properties": {"a": {"type": "number"}}, "required": ["a"]},
            {"a": 1},
            id="an object",
        ),
        pytest.param(True, "hello", id="anything"),
    ],
)
def test_a_required_argument_gets_a_value_that_fits(schema: Any, value: object) -> None:
    assert one(schema) == {"it": value}
    jsonschema.validate(value, schema)


def test_a_definition_is_looked_up() -> None:
    assert one({"$ref": "#/$defs/Unit"}, **{"$defs": {"Unit": {"enum": ["m"]}}}) == {"it": "m"}


def test_a_schema_that_refers_to_itself_ends() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/N"}}, "required": ["next"]}

    assert one({"$ref": "#/$defs/N"}, **{"$defs": {"N": node}}).keys() == {"it"}


def test_an_optional_argument_is_left_out() -> None:
    assert sample.arguments({"type": "object", "properties": {"it": {"type": "string"}}}) == {}


@pytest.mark.parametrize(
    "schema", [None, True, [], {"required": "x"}, {"required": ["a"], "properties": []}]
)
def test_a_schema_that_is_none_proposes_no_more_than_a_text(schema: object) -> None:
    assert set(sample.arguments(schema).values()) <= {"hello"}


def tool(name: str, *required: str, only_reads: bool = False) -> Tool:
    schema = {"type": "object", "required": list(required)}
    return Tool(b"{}", name, None, "", only_reads, schema)


@pytest.mark.parametrize(
    ("tools", "command"),
    [
        pytest.param([], None, id="no tool"),
        pytest.param([tool("a.b")], "pointsman call a.b", id="a tool that asks for nothing"),
        pytest.param(
            [tool("a.b", "it")],
            """pointsman call a.b '{"it": "hello"}'""",
            id="a tool that asks for something",
        ),
        pytest.param(
            [tool("a", "x", "y"), tool("c", "x"), tool("b", "x")],
            """pointsman call b '{"x": "hello"}'""",
            id="the tool that asks for the least, by name",
        ),
        pytest.param(
            [tool("a"), tool("b", "x", only_reads=True)],
            """pointsman call b '{"x": "hello"}'""",
            id="a tool that only reads before all others",
        ),
        pytest.param([tool("it's; ls")], "pointsman call 'it'\"'\"'s; ls'", id="a hostile name"),
    ],
)
def test_the_call_to_try_is_a_shell_command(tools: list[Tool], command: str | None) -> None:
    assert sample.call(tools, "pointsman", None) == command


def test_the_call_to_try_names_an_address_that_is_not_the_usual_one() -> None:
    assert sample.call([tool("a.b")], "p", "http://x/mcp?a&b") == (
        "p call a.b --url 'http://x/mcp?a&b'"
    )
