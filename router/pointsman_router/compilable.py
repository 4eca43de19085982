"""Whether strict clients can make a validator of an output schema.

Some make one of every tool's as soon as they list, and lose the whole list by one that they cannot
make. What is listed to them is judged by what Ajv 8 compiles, without looking at its meta-schema.
"""

import re
from collections.abc import Callable, Mapping
from urllib.parse import unquote

from pointsman_router import demands, ecmapattern, toolcheck
from pointsman_router.demands import JSON

_ANCHOR = re.compile(r"[a-z_][-a-z0-9._]*", re.ASCII | re.IGNORECASE)


def compiles(raw: bytes) -> bool:
    """Say whether the schema, which is a sound one, can be compiled by all; a wrong no is mild."""
    root = demands.value(raw)
    anchors: set[str] = set()
    ending: set[str] = set()
    pending = [root]
    while pending:
        schema = pending.pop()
        if isinstance(schema, bool):
            continue
        if not isinstance(schema, dict) or not _is_usual(schema, is_root=schema is root):
            return False
        for name in ("$anchor", "$dynamicAnchor"):
            anchor = schema.get(name)
            if isinstance(anchor, str):
                if anchor in anchors or not _ANCHOR.fullmatch(anchor) or "$ref" in schema:
                    return False
                anchors.add(anchor)
        if not _ends(schema, root, ending):
            return False
        pending.extend(toolcheck.inner_schemas(schema))
    return True


def _is_usual(schema: Mapping[str, JSON], *, is_root: bool) -> bool:
    if not is_root and "$id" in schema:
        return False  # what its references lead to would have to be followed as it is resolved
    if "nullable" in schema and ("type" not in schema or schema["nullable"] is not True):
        return False
    return (
        all(isinstance(schema[keyword], of) for keyword, of in _TYPES.items() if keyword in schema)
        and all(judge(schema[keyword]) for keyword, judge in _JUDGES.items() if keyword in schema)
        and _UNUSUAL.isdisjoint(schema)
    )


def _ends(schema: Mapping[str, JSON], root: JSON, ending: set[str]) -> bool:
    """Say whether its reference leads to what is none at last; those that do are in `ending`."""
    passed: set[str] = set()
    reference = schema.get("$ref")
    while isinstance(reference, str) and reference not in ending:
        if reference in passed:
            return False
        passed.add(reference)
        target = _at(reference, root)
        reference = target.get("$ref") if isinstance(target, dict) else None
    ending |= passed
    return True


def _at(reference: str, root: JSON) -> JSON:
    """Return what a reference leads to; None where that is nothing, or the name of an anchor."""
    try:
        return toolcheck.at(unquote(reference[1:]), root)
    except LookupError:
        return None


def _are_some(value: JSON) -> bool:
    return isinstance(value, list) and bool(value)


def _is_pattern(value: JSON) -> bool:
    return isinstance(value, str) and ecmapattern.is_portable(value)


def _has_patterns(value: JSON) -> bool:
    return isinstance(value, dict) and all(map(ecmapattern.is_portable, value))


def _is_local(value: JSON) -> bool:
    return isinstance(value, str) and value.startswith("#")


_NUMBERS = ("maximum", "minimum", "exclusiveMaximum", "exclusiveMinimum", "multipleOf")
_COUNTS = tuple(
    f"{bound}{of}" for bound in ("max", "min") for of in ("Length", "Items", "Properties")
)
_SCHEMAS = (
    *("not", "if", "then", "else", "additionalItems", "contains"),
    *("additionalProperties", "propertyNames"),
)
_TYPES: Mapping[str, type | tuple[type, ...]] = {
    **dict.fromkeys((*_NUMBERS, *_COUNTS), float),
    **dict.fromkeys(_SCHEMAS, (dict, bool)),
    **dict.fromkeys(("anyOf", "oneOf", "allOf", "required"), list),
    **dict.fromkeys(("properties", "dependencies"), dict),
    **dict.fromkeys(("$id", "format"), str),
    "items": (dict, bool, list),
    "uniqueItems": bool,
}
_JUDGES: Mapping[str, Callable[[JSON], bool]] = {
    "enum": _are_some,
    "pattern": _is_pattern,
    "patternProperties": _has_patterns,
    "$ref": _is_local,
}
# The first is of draft 4, the second Ajv's own; the others belong to formats that it may not know.
_UNUSUAL = frozenset(
    [
        *("id", "$async", "formatMinimum", "formatMaximum"),
        *("formatExclusiveMinimum", "formatExclusiveMaximum"),
    ]
)
