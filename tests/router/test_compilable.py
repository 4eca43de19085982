"""Which output schemas strict clients can make a validator of."""

import json

import pytest

from pointsman_router import compilable, ecmapattern

EVERYDAY = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$id": "https://example.com/weather",
    "type": "object",
    "required": ["at", "days"],
    "additionalProperties": False,
    "properties": {
        "at": {"type": "string", "format": "date-time", "pattern": r"^\d{4}-\d{2}"},
        "id": {"type": ["string", "null"], "minLength": 1, "maxLength": 40},
        "days": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/day"}},
        "kind": {"enum": ["short", "long"], "description": "how much is told"},
        "note": {"type": "string", "nullable": True},
        "more": {"anyOf": [{"const": 1}, {"not": {"type": "null"}}, True]},
    },
    "patternProperties": {"^x-": {"type": "number", "exclusiveMinimum": 0, "maximum": 1.5}},
    "$defs": {"day": {"$anchor": "day", "type": "object", "uniqueItems": True}},
}


def compiles(schema: object) -> bool:
    return compilable.compiles(json.dumps(schema).encode())


def test_what_servers_usually_write_compiles() -> None:
    assert compiles(EVERYDAY)


@pytest.mark.parametrize(
    "inner",
    [
        pytest.param({"exclusiveMinimum": True}, id="a flag of draft 4"),
        pytest.param({"id": "x"}, id="an id of draft 4"),
        pytest.param({"minimum": "1"}, id="a bound that is a string"),
        pytest.param({"pattern": "(?i)abc"}, id="a pattern in Python's spelling"),
        pytest.param({"pattern": 5}, id="a pattern that is none"),
        pytest.param({"patternProperties": {"(?P<x>a)": {}}}, id="such a pattern of names"),
        pytest.param({"enum": []}, id="no value"),
        pytest.param({"enum": "a"}, id="values that are no list"),
        pytest.param({"required": True}, id="required as a flag"),
        pytest.param({"nullable": True}, id="nullable without a type"),
        pytest.param({"type": "null", "nullable": False}, id="null that is not nullable"),
        pytest.param({"$ref": "https://example.com/s.json"}, id="a reference to the network"),
        pytest.param({"$ref": "#/properties/a"}, id="a reference to itself"),
        pytest.param({"$anchor": "q", "$ref": "#q"}, id="one by its anchor"),
        pytest.param({"$id": "https://example.com/part"}, id="a schema in it with an id"),
        pytest.param({"format": None}, id="a format that is none"),
        pytest.param({"$anchor": "1a"}, id="an anchor that is none"),
        pytest.param({"items": {"maxLength": "2"}}, id="deep within"),
    ],
)
def test_what_a_client_stumbles_over_does_not(inner: dict[str, object]) -> None:
    assert not compiles({"type": "object", "properties": {"a": inner}})


def test_an_anchor_that_stands_twice_does_not_compile() -> None:
    assert not compiles({"type": "object", "$defs": {"a": {"$anchor": "q"}, "b": {"$anchor": "q"}}})


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        "^a+$",
        "a|b",
        "(?:ab)*?",
        "(a)(b){2,3}",
        r"[\w.]+@[a-z-]+\.\w{2,}",
        r"[^\]]",
        "(?<!a)b(?=c)",
    ],
)
def test_a_pattern_that_ecmascript_reads_is_portable(pattern: str) -> None:
    assert ecmapattern.is_portable(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        *("(?i)a", "(?P<x>a)", "a++", "*", "a{2,1}", "a{b", "a}", "]", "(", ")", "(?=a)*", "^*"),
        *(r"\Z", r"a\-b", r"[\w-.]", "[z-a]", r"\00", r"\8", "\\", "[a", r"\u{110000}"),
    ],
)
def test_a_pattern_that_only_others_read_is_not(pattern: str) -> None:
    assert not ecmapattern.is_portable(pattern)
