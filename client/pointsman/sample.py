"""Which tool one might try first, and with which arguments."""

import json
import shlex
from collections.abc import Iterable, Mapping

from pointsman.listing import Tool

_BY_TYPE: Mapping[str, object] = {
    "string": "hello",
    "integer": 1,
    "number": 1,
    "boolean": True,
    "array": [],
    "object": {},
    "null": None,
}
_BY_FORMAT = {
    "date": "2026-01-31",
    "date-time": "2026-01-31T12:00:00Z",
    "email": "someone@example.com",
    "time": "12:00:00Z",
    "uri": "https://example.com",
    "uuid": "00000000-0000-4000-8000-000000000000",
}
# A schema may refer to itself.
_MAX_DEPTH = 4


def call(tools: Iterable[Tool], command: str, url: str | None) -> str | None:
    """Return a shell command that calls one of `tools`; None where there is none.

    A tool that says it only reads comes first, then the one that asks for the least. `url` is
    named where the command needs it.
    """
    choices = [_choice(tool) for tool in tools]
    if not choices:
        return None
    address = f" --url {shlex.quote(url)}" if url else ""
    return f"{command} call {min(choices)[-1]}{address}"


def arguments(schema: object) -> dict[str, object]:
    """Return a value for each required property: the schema's own example where it gives one."""
    return _object(schema, schema, _MAX_DEPTH)


def _choice(tool: Tool) -> tuple[bool, int, str]:
    proposed = arguments(tool.input_schema)
    words = [shlex.quote(tool.name)]
    if proposed:
        words.append(shlex.quote(json.dumps(proposed, ensure_ascii=False)))
    return not tool.only_reads, len(proposed), " ".join(words)


def _object(schema: object, root: object, depth: int) -> dict[str, object]:
    required, properties = _list(schema, "required"), _mapping(schema, "properties")
    return {str(name): _value(properties.get(str(name)), root, depth - 1) for name in required}


def _value(schema: object, root: object, depth: int) -> object:
    if not isinstance(schema, Mapping) or depth <= 0:
        return _BY_TYPE["string"]
    if examples := _examples(schema):
        return examples[0]
    for alternatives in ("anyOf", "oneOf", "allOf"):
        if schemas := _list(schema, alternatives):
            return _value(schemas[0], root, depth - 1)
    if isinstance(reference := schema.get("$ref"), str):
        return _value(_referred(reference, root), root, depth - 1)
    kinds = _list(schema, "type") or [schema.get("type")]
    match kinds[0]:
        case "object":
            return _object(schema, root, depth)
        case "string":
            return _BY_FORMAT.get(str(schema.get("format")), _BY_TYPE["string"])
        case "integer" | "number":
            return schema.get("minimum", _BY_TYPE["integer"])
        case kind:
            return _BY_TYPE.get(str(kind), _BY_TYPE["string"])


def _examples(schema: Mapping[object, object]) -> list[object]:
    given = [schema[key] for key in ("const", "default") if key in schema]
    return given or _list(schema, "examples") or _list(schema, "enum")


def _referred(reference: str, root: object) -> object:
    found = root
    for part in reference.removeprefix("#/").split("/"):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def _list(schema: object, member: str) -> list[object]:
    value = schema.get(member) if isinstance(schema, Mapping) else None
    return value if isinstance(value, list) else []


def _mapping(schema: object, member: str) -> Mapping[object, object]:
    value = schema.get(member) if isinstance(schema, Mapping) else None
    return value if isinstance(value, Mapping) else {}
