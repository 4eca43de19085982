"""Whether a tool's description would cost a strict client its whole list.

The check is structural and bounded: a schema is never evaluated, no reference is fetched.
"""

from collections.abc import Iterator, Mapping
from urllib.parse import unquote

from pointsman_contract import rawjson
from pointsman_router import demands
from pointsman_router.demands import JSON, Wrong

# Optional members that clients type without null: present with a value, or not present.
_OPTIONAL = ("title", "description", "outputSchema", "annotations", "icons", "_meta")
_JUDGED = frozenset(["inputSchema", *_OPTIONAL])
# What is looked into for more of them.
_NESTED = ("annotations", "icons")
_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
_TYPES = frozenset(["array", "boolean", "integer", "null", "number", "object", "string"])
_SCHEMA = (
    "additionalItems",
    "additionalProperties",
    "contains",
    "contentSchema",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
)
_SCHEMA_LISTS = ("allOf", "anyOf", "items", "oneOf", "prefixItems")
_SCHEMA_MAPS = ("$defs", "definitions", "dependentSchemas", "patternProperties", "properties")


def normalised(members: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the members without what no client may see.

    That is `null` where the protocol types a member as optional, and the offer of tasks, which
    the router does not relay.
    """
    kept = {
        name: value
        for name, value in members.items()
        if not (name in _OPTIONAL and value == b"null")
    }
    for name in _NESTED:
        if name in kept:
            kept[name] = demands.without_null(kept[name])
    if (execution := kept.pop("execution", None)) and rawjson.kind(execution) == "{":
        rest = [pair for pair in rawjson.pairs(execution) if pair[0] != "taskSupport"]
        if rest:
            kept["execution"] = rawjson.assemble(rest)
    return kept


def problem(members: Mapping[str, bytes]) -> str | None:
    """Return what is wrong with the tool that these members describe, or None.

    The text names the member; it repeats nothing that the upstream wrote.
    """
    try:
        values = {name: demands.value(members[name]) for name in _JUDGED & members.keys()}
        _check_plain(values)
        _check_input(values.get("inputSchema"))
        if "outputSchema" in values:
            _check_output(values["outputSchema"])
    except Wrong as wrong:
        return str(wrong)
    except (ValueError, RecursionError):
        return "the tool's description is no JSON"
    return None


def has_object_root(schema: bytes) -> bool:
    """Say whether an output schema describes an object, as every legacy revision demands."""
    try:
        return rawjson.string(dict(rawjson.pairs(schema)).get("type", b"")) == "object"
    except rawjson.Malformed:
        return False


def inner_schemas(schema: dict[str, JSON], where: str = "the schema") -> Iterator[JSON]:
    """Yield the schemas right inside `schema`; values that only look like some are none."""
    for keyword in _SCHEMA:
        if keyword in schema and not isinstance(schema[keyword], list):
            yield schema[keyword]
    for keyword in _SCHEMA_LISTS:
        if isinstance(inner := schema.get(keyword, []), list):
            yield from inner
        elif keyword != "items":
            raise Wrong(f"{where} holds a {keyword} that is no list")
    for keyword in _SCHEMA_MAPS:
        inner = schema.get(keyword, {})
        if not isinstance(inner, dict):
            raise Wrong(f"{where} holds {keyword} that is no object")
        yield from inner.values()


def _check_plain(values: Mapping[str, JSON]) -> None:
    demands.check_strings(values, ("title", "description"))
    if not isinstance(values.get("_meta", {}), dict):
        raise Wrong("_meta must be an object")
    annotations = values.get("annotations", {})
    if not isinstance(annotations, dict):
        raise Wrong("annotations must be an object")
    for hint in _HINTS:
        if not isinstance(annotations.get(hint, True), bool):
            raise Wrong(f"annotations.{hint} must be true or false")
    demands.check_strings(annotations, ("title",), "annotations.")
    demands.check_icons(values.get("icons", []))


def _check_input(schema: JSON) -> None:
    if not isinstance(schema, dict) or schema.get("type") != "object":
        raise Wrong('inputSchema must be an object with "type": "object"')
    _check_root(schema, "inputSchema")


def _check_output(schema: JSON) -> None:
    if not isinstance(schema, dict):
        raise Wrong("outputSchema must be an object")
    _check_root(schema, "outputSchema")


def _check_root(schema: dict[str, JSON], where: str) -> None:
    # Further inside it may be a flag.
    if isinstance(schema.get("required"), bool):
        raise Wrong(f"{where}.required must be a list of names")
    _check_schema(schema, where)


def _check_schema(root: dict[str, JSON], where: str) -> None:
    anchors: set[str] = set()
    references: list[tuple[str, dict[str, JSON]]] = []
    pending: list[tuple[JSON, dict[str, JSON]]] = [(root, root)]
    while pending:
        schema, resource = pending.pop()
        if isinstance(schema, bool):
            continue
        if not isinstance(schema, dict):
            raise Wrong(f"{where} holds something that is no schema where one must be")
        if isinstance(schema.get("$id"), str):
            resource = schema
        _check_keywords(schema, where)
        anchors.update(
            anchor
            for name in ("$anchor", "$dynamicAnchor")
            if isinstance(anchor := schema.get(name), str)
        )
        if isinstance(reference := schema.get("$ref"), str) and reference.startswith("#"):
            references.append((unquote(reference[1:]), resource))
        pending.extend((inner, resource) for inner in inner_schemas(schema, where))
    for reference, resource in references:
        if reference not in anchors and not any(_points(reference, at) for at in (root, resource)):
            raise Wrong(f"{where} holds a $ref that leads nowhere")


def _check_keywords(schema: dict[str, JSON], where: str) -> None:
    types = schema.get("type", [])
    if not all(
        isinstance(name, str) and name in _TYPES
        for name in (types if isinstance(types, list) else [types])
    ):
        raise Wrong(f"{where} holds a type that JSON Schema does not know")
    required = schema.get("required", [])
    # Before draft 4 `required` was a flag, and lenient readers still take it.
    if not isinstance(required, bool) and not (
        isinstance(required, list) and all(isinstance(name, str) for name in required)
    ):
        raise Wrong(f"{where} holds a required that is no list of names")


def at(pointer: str, root: JSON) -> JSON:
    """Return what a JSON pointer leads to in `root`; raises LookupError where that is nothing."""
    if pointer and not pointer.startswith("/"):
        raise LookupError(pointer)
    target = root
    for token in pointer.split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        if isinstance(target, dict):
            target = target[name]
        elif isinstance(target, list) and name.isdecimal():
            target = target[int(name)]
        else:
            raise LookupError(pointer)
    return target


def _points(pointer: str, root: JSON) -> bool:
    try:
        at(pointer, root)
    except LookupError:
        return False
    return True
