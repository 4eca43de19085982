"""Which tools would cost a strict client its whole list, and which only look as if they would."""

import json

import pytest
from hypothesis import given

from bench import spelled
from bench.catalogues import OBJECT
from bench.spelled import Whole
from pointsman_contract import rawjson
from pointsman_router import toolcheck


def judged(**members: object) -> str | None:
    """What is wrong with a tool of these members, as the rooms around ask it."""
    raw = {name: json.dumps(value).encode() for name, value in members.items()}
    return toolcheck.problem(toolcheck.normalised({"name": b'"x"', **raw}))


def with_property(schema: object) -> dict[str, object]:
    return {"type": "object", "properties": {"a": schema}}


@pytest.mark.parametrize(
    ("schema", "complaint"),
    [
        pytest.param({}, "inputSchema", id="R01 an object of no type"),
        pytest.param(None, "inputSchema", id="R01 null"),
        pytest.param({"type": "array"}, "inputSchema", id="R01 an array root"),
        pytest.param({"type": ["object", "null"]}, "inputSchema", id="a list of root types"),
        pytest.param(True, "inputSchema", id="true"),
        pytest.param("object", "inputSchema", id="a string"),
        pytest.param([], "inputSchema", id="a list"),
        pytest.param(with_property({"type": "int"}), "type", id="P13 a type nobody knows"),
        pytest.param(with_property({"type": None}), "type", id="a type that is null"),
        pytest.param(with_property({"type": ["string", "int"]}), "type", id="one of two types"),
        pytest.param(
            {"type": "object", "properties": {"a": {}, "required": ["a"]}},
            "no schema",
            id="P13 required inside properties",
        ),
        pytest.param(with_property("string"), "no schema", id="P13 a property that is a string"),
        pytest.param(with_property(None), "no schema", id="a property that is null"),
        pytest.param({"type": "object", "properties": []}, "properties", id="properties a list"),
        pytest.param({"type": "object", "required": "a"}, "required", id="required a string"),
        pytest.param({"type": "object", "required": [1]}, "required", id="required a number"),
        pytest.param(with_property({"anyOf": {}}), "anyOf", id="anyOf an object"),
        pytest.param(
            with_property({"items": {"type": "text"}}), "type", id="a wrong type within items"
        ),
        pytest.param(
            with_property({"$ref": "#/$defs/gone"}), "$ref", id="a pointer that leads nowhere"
        ),
        pytest.param(with_property({"$ref": "#gone"}), "$ref", id="an anchor that nobody set"),
        pytest.param(
            {"type": "object", "$defs": {"a": {"$ref": "#/$defs/b/0"}, "b": {}}},
            "$ref",
            id="a pointer through an object as if it were a list",
        ),
    ],
)
def test_a_tool_whose_input_is_no_schema_is_left_out(schema: object, complaint: str) -> None:
    found = judged(inputSchema=schema)

    assert found is not None
    assert complaint in found


def test_a_tool_without_an_input_schema_is_left_out() -> None:
    assert judged() == 'inputSchema must be an object with "type": "object"'


@pytest.mark.parametrize(
    ("members", "complaint"),
    [
        pytest.param({"title": 5}, "title", id="a title that is a number"),
        pytest.param({"description": ["a"]}, "description", id="a description that is a list"),
        pytest.param({"_meta": 5}, "_meta", id="a _meta that is a number"),
        pytest.param({"_meta": []}, "_meta", id="a _meta that is a list"),
        pytest.param({"annotations": "safe"}, "annotations", id="annotations that are a string"),
        pytest.param(
            {"annotations": {"readOnlyHint": "yes"}}, "readOnlyHint", id="a hint in words"
        ),
        pytest.param(
            {"annotations": {"idempotentHint": 1}}, "idempotentHint", id="a hint in digits"
        ),
        pytest.param({"annotations": {"title": 1}}, "annotations.title", id="a numbered title"),
        pytest.param({"icons": {}}, "icons", id="icons that are an object"),
        pytest.param({"icons": [{"sizes": ["any"]}]}, "icons", id="an icon without a source"),
        pytest.param({"icons": ["x"]}, "icons", id="an icon that is a string"),
        pytest.param({"icons": [{"src": 5}]}, "src", id="an icon's source that is a number"),
        pytest.param(
            {"icons": [{"src": "x", "sizes": "48x48"}]}, "icons.sizes", id="sizes that are a word"
        ),
        pytest.param({"icons": [{"src": "x", "sizes": [48]}]}, "icons.sizes", id="sizes in digits"),
        pytest.param(
            {"icons": [{"src": "x", "mimeType": 5}]}, "icons.mimeType", id="an icon's type"
        ),
        pytest.param({"icons": [{"src": "x", "theme": "blue"}]}, "icons.theme", id="a blue theme"),
        *(
            pytest.param(
                {member: {"type": "object", "required": flag}},
                f"{member}.required must be a list of names",
                id=f"{member}.required {flag}",
            )
            for member in ("inputSchema", "outputSchema")
            for flag in (True, False)
        ),
        pytest.param({"outputSchema": []}, "outputSchema", id="an output that is a list"),
        pytest.param(
            {"outputSchema": with_property({"$ref": "#/$defs/x"})},
            "outputSchema holds a $ref",
            id="an output whose pointer leads nowhere",
        ),
    ],
)
def test_a_tool_with_a_member_of_the_wrong_type_is_left_out(
    members: dict[str, object], complaint: str
) -> None:
    found = judged(**{"inputSchema": OBJECT, **members})

    assert found is not None
    assert complaint in found


WRONG = {"type": "int"}


@pytest.mark.parametrize(
    "schema",
    [
        *(
            {keyword: WRONG}
            for keyword in (
                *("additionalItems", "additionalProperties", "contains", "else", "if", "items"),
                *("not", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"),
            )
        ),
        *({keyword: [True, WRONG]} for keyword in ("allOf", "anyOf", "items", "oneOf")),
        {"prefixItems": [WRONG]},
        *(
            {keyword: {"a": {}, "b": WRONG}}
            for keyword in (
                *("$defs", "definitions", "dependentSchemas", "patternProperties", "properties"),
            )
        ),
    ],
    ids=str,
)
def test_a_mistake_is_found_wherever_a_schema_may_hold_another(schema: dict[str, object]) -> None:
    assert judged(inputSchema={"type": "object", **schema}) is not None
    assert judged(inputSchema=with_property({"items": schema})) is not None


def nested(levels: int) -> dict[str, object]:
    schema: dict[str, object] = {"type": "string"}
    for _ in range(levels):
        schema = {"items": schema}
    return schema


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param({"type": "object"}, id="P12 no properties"),
        pytest.param({"type": "object", "additionalProperties": False}, id="P12 closed and empty"),
        pytest.param({"type": "object", "additionalProperties": OBJECT}, id="P12 a free-form map"),
        pytest.param(with_property(True), id="a property that may be anything"),
        pytest.param(with_property(False), id="a property that may not be"),
        pytest.param(with_property({}), id="a property nobody describes"),
        pytest.param(with_property({"type": ["string", "null"]}), id="several types"),
        pytest.param(with_property({"type": "string", "required": True}), id="required as a flag"),
        pytest.param(with_property({"enum": [None, 1, "a"]}), id="an enumeration with null"),
        pytest.param(with_property({"const": {"type": "nobody's"}}), id="a constant like a schema"),
        pytest.param(with_property({"default": {"type": 5}}), id="a default like a schema"),
        pytest.param(with_property({"x-vendor": {"type": 5}}), id="a vendor's own keyword"),
        pytest.param(with_property({"items": [{"type": "string"}, True]}), id="a tuple of items"),
        pytest.param(with_property({"prefixItems": [{}], "items": False}), id="a closed tuple"),
        pytest.param(
            {
                "type": "object",
                "properties": {"a": {"$ref": "#/$defs/a"}},
                "$defs": {"a": {"type": "string"}},
            },
            id="a definition",
        ),
        pytest.param(
            {
                "type": "object",
                "properties": {"a": {"$ref": "#/definitions/a"}},
                "definitions": {"a": {}},
            },
            id="a definition of the older kind",
        ),
        pytest.param(
            {
                "type": "object",
                "properties": {"a": {"$ref": "#here"}},
                "$defs": {"x": {"$anchor": "here", "type": "string"}},
            },
            id="an anchor",
        ),
        pytest.param(
            {
                "type": "object",
                "properties": {"a": {"$ref": "#here"}},
                "$defs": {"x": {"$dynamicAnchor": "here"}},
            },
            id="a dynamic anchor",
        ),
        pytest.param(
            {
                "type": "object",
                "properties": {"a": {"$ref": "#/$defs/A%20%5Bof%20b%5D"}},
                "$defs": {"A [of b]": {}},
            },
            id="a pointer with escapes of its URI",
        ),
        pytest.param(
            {
                "type": "object",
                "properties": {"a": {"$ref": "#/$defs/a~1b~0c"}},
                "$defs": {"a/b~c": {}},
            },
            id="a pointer with escapes of its own",
        ),
        pytest.param(
            {
                "type": "object",
                "properties": {"a": {"$ref": "#/properties/b/anyOf/1"}, "b": {"anyOf": [{}, {}]}},
            },
            id="a pointer into a list",
        ),
        pytest.param(
            {
                "type": "object",
                "properties": {"a": {"$ref": "#/vendor/a"}},
                "vendor": {"a": {"type": "string"}},
            },
            id="a pointer into what is no keyword",
        ),
        pytest.param(
            {
                "type": "object",
                "properties": {
                    "a": {"$id": "a", "$ref": "#/$defs/in", "$defs": {"in": {"type": "string"}}}
                },
            },
            id="a pointer from an embedded resource into itself",
        ),
        pytest.param(with_property({"$ref": "#"}), id="R07 a schema that holds itself"),
        pytest.param(
            with_property({"$ref": "http://169.254.169.254/x"}), id="R07 a network reference"
        ),
        pytest.param(with_property({"$ref": "other.json#/a"}), id="a relative reference"),
        pytest.param(
            with_property({"type": "string", "pattern": "^(a+)+$"}), id="R07 a ruinous pattern"
        ),
        pytest.param(
            {
                "type": "object",
                "$defs": {
                    f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(18)
                }
                | {"d18": {}},
            },
            id="R07 eighteen doublings",
        ),
        pytest.param(with_property(nested(25)), id="deep nesting"),
        pytest.param(with_property({"maximum": 10**300}), id="a number of many digits"),
    ],
)
def test_a_valid_schema_is_no_problem(schema: object) -> None:
    assert judged(inputSchema=schema) is None
    assert judged(inputSchema=OBJECT, outputSchema=schema) is None


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param({"type": "array", "items": OBJECT}, id="a list"),
        pytest.param({"type": "string"}, id="a string"),
        pytest.param({"anyOf": [{"type": "string"}, OBJECT]}, id="one of two"),
        pytest.param({}, id="anything"),
    ],
)
def test_an_output_may_have_any_root(schema: object) -> None:
    assert judged(inputSchema=OBJECT, outputSchema=schema) is None
    assert not toolcheck.has_object_root(json.dumps(schema).encode())


@pytest.mark.parametrize(
    "schema",
    [b'{"type":"object"}', b'{ "x":1, "type" : "object" }', rb'{"type":"\u006fbject"}'],
    ids=["plainly", "with blanks", "with an escape"],
)
def test_an_object_root_is_seen_however_it_is_spelled(schema: bytes) -> None:
    assert toolcheck.has_object_root(schema)


@pytest.mark.parametrize("member", ["inputSchema", "outputSchema", "_meta"])
@pytest.mark.parametrize(
    ("number", "complaint"),
    [
        pytest.param(b"1e400", "numbers must be below 1.8e308", id="a large exponent"),
        pytest.param(b"-1e309", "numbers must be below 1.8e308", id="a negative one"),
        pytest.param(b"9" * 309, "numbers must be below 1.8e308", id="309 digits"),
        pytest.param(b"9" * 308, None, id="308 digits"),
        pytest.param(b"1.7976931348623157e+308", None, id="the largest double"),
        pytest.param(b"1e-400", None, id="one below any double"),
    ],
)
def test_a_number_that_go_cannot_hold_is_a_problem(
    member: str, number: bytes, complaint: str | None
) -> None:
    members = {"inputSchema": b'{"type":"object"}'}
    members[member] = b'{"type":"object","x":[%b]}' % number

    assert toolcheck.problem(members) == complaint


@pytest.mark.parametrize(
    "name", ["title", "description", "outputSchema", "annotations", "icons", "_meta", "execution"]
)
def test_null_in_place_of_an_optional_member_is_no_member(name: str) -> None:
    members = {"name": b'"x"', "inputSchema": b'{"type":"object"}'}

    assert toolcheck.normalised({**members, name: b"null"}) == members


def test_a_null_that_no_rule_is_about_stays() -> None:
    members = {"inputSchema": b'{"default":null}', "vendor": b"null", "_meta": b'{"a":null}'}

    assert toolcheck.normalised(members) == members


def test_a_hint_that_is_null_is_no_hint() -> None:
    members = {"annotations": b'{ "title":null,"readOnlyHint" : true,"openWorldHint":null}'}

    assert toolcheck.normalised(members) == {"annotations": b'{"readOnlyHint":true}'}


def test_a_member_of_an_icon_that_is_null_is_none() -> None:
    members = {"icons": b'[{"src":"x","sizes":null,"mimeType": null,"theme":null,"v":[null]}]'}

    assert toolcheck.normalised(members) == {"icons": b'[{"src":"x","v":[null]}]'}


@pytest.mark.parametrize(
    ("execution", "left"),
    [(b'{"taskSupport":"optional"}', None), (b'{"taskSupport":"required","x": 1}', b'{"x":1}')],
    ids=["alone", "beside something else"],
)
def test_tasks_are_not_offered_on(execution: bytes, left: bytes | None) -> None:
    assert toolcheck.normalised({"execution": execution}).get("execution") == left


@given(spelled.objects(with_half_pairs=True))
def test_what_needs_no_change_keeps_every_byte(whole: Whole) -> None:
    members = {f"x{name}": value for name, value in whole.parts}

    assert toolcheck.normalised(members) == members


@given(spelled.objects(with_half_pairs=True), spelled.values(with_half_pairs=True))
def test_any_json_gets_an_opinion(schema: Whole, other: str) -> None:
    rest = rawjson.assemble([("type", b'"object"'), *schema.parts])
    for name in ("annotations", "execution", "_meta", "icons", "outputSchema", "title"):
        kept = toolcheck.normalised({"inputSchema": rest, name: other.encode()})

        assert isinstance(toolcheck.problem(kept), str | None)
