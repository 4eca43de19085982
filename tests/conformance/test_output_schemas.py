"""No output schema that legacy agents are shown costs a real client its list."""

import itertools
import json
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench import tools
from pointsman_router import compilable, toolcheck

_SCRIPT = Path(__file__).resolve().parents[1] / "peers" / "clients" / "compile.mjs"
_NUMBERS = (
    *("maximum", "minimum", "exclusiveMaximum", "exclusiveMinimum", "multipleOf", "maxLength"),
    *("minLength", "maxItems", "minItems", "maxProperties", "minProperties"),
)
_OTHERS = (
    *("not", "if", "then", "else", "items", "additionalItems", "prefixItems", "contains"),
    *("additionalProperties", "propertyNames", "unevaluatedProperties", "unevaluatedItems"),
    *("anyOf", "oneOf", "allOf", "required", "enum", "const", "uniqueItems", "nullable"),
    *("properties", "patternProperties", "dependencies", "dependentSchemas", "$defs"),
    *("definitions", "format", "pattern", "$id", "id", "$anchor", "$dynamicAnchor"),
    *("$dynamicRef", "$schema", "$comment", "$async", "discriminator", "formatMinimum"),
    *("minContains", "default", "title", "examples", "contentEncoding", "x-own"),
)
_VALUES: tuple[object, ...] = (
    *(None, True, False, 0, 1, 1.5, "a", "#", "1a", "a b", "email", "https://x/y", "(?i)a"),
    *([], ["a"], [{}], [True], {}, {"x": 1}, {"x": {}}, {"x": ["y"]}, {"(?i)": {"type": "null"}}),
)
_PIECES = (
    *("a", "-", "^", "$", ".", "*", "+", "?", "{", "}", "{2}", "{2,}", "{2,1}", "(", ")", "(?:"),
    *("(?=", "(?!", "(?<=", "(?<!", "(?i)", "(?P<x>", "(?<x>", "[", "]", "[^", "[a-z]", "[z-a]"),
    *(r"[\w-.]", "[a-", r"\d", r"\b", r"\-", r"\.", r"\/", r"\x41", r"\u0041", r"\u{1F600}"),
    *(r"\u{110000}", r"\0", r"\00", r"\1", r"\Z", "\\", "|", "é", "😀", "[😀-😁]", "[[", "[]"),
    *(r"\cA", "\n", "\u2028", r"[\b]", r"[\B]", r"\ud83d\ude00", "1", ",", r"\p{L}"),
)


def _schemas() -> Iterator[dict[str, Any]]:
    for keyword, value in itertools.product((*_NUMBERS, *_OTHERS), _VALUES):
        yield {"type": "object", keyword: value}
        yield {"type": "object", "properties": {"a": {keyword: value}}}
        yield {"type": "object", "properties": {"a": {"type": "string", keyword: value}}}
    for reference in ("#", "#/properties/a", "#/$defs/b", "#q", "https://x/y", "y.json"):
        defs = {"b": {"$anchor": "q"}, "c": {"$id": "https://x/y"}}
        yield {"type": "object", "properties": {"a": {"$ref": reference}}}
        yield {"type": "object", "properties": {"a": {"$ref": reference}}, "$defs": defs}
        yield {"type": "object", "properties": {"a": {"$ref": reference}}, "$defs": {"b": {}}}
    yield {"type": "object", "$defs": {"a": {"$anchor": "q"}, "b": {"$anchor": "q"}}}
    yield {"$id": "https://x/y", "type": "object", "properties": {"a": {"$id": "https://x/y"}}}
    chance = random.Random(1)
    for _ in range(20_000):
        pattern = "".join(chance.choice(_PIECES) for _ in range(chance.randint(1, 6)))
        yield {"type": "object", "properties": {"a": {"pattern": pattern}}}
        yield {"type": "object", "patternProperties": {pattern: {"type": "null"}}}


def test_whatever_is_said_to_compile_is_compiled_by_a_strict_client() -> None:
    shown = [
        schema
        for schema in _schemas()
        if toolcheck.problem(_members(schema)) is None and compilable.compiles(_spelled(schema))
    ]
    done = subprocess.run(
        [str(tools.node()), str(_SCRIPT)],
        cwd=tools.directory() / "clients",
        input="\n".join(map(json.dumps, shown)),
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    )

    compiled = json.loads(done.stdout)
    lost = [schema for schema, good in zip(shown, compiled, strict=True) if not good]
    assert len(shown) > 4_000
    assert lost == []


def _members(schema: object) -> dict[str, bytes]:
    return {"name": b'"x"', "inputSchema": b'{"type":"object"}', "outputSchema": _spelled(schema)}


def _spelled(schema: object) -> bytes:
    return json.dumps(schema).encode()
