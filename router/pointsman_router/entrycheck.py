"""Whether the description of a prompt, resource or template would cost a client its whole list."""

import re
from collections.abc import Mapping
from enum import StrEnum

from pydantic_core import Url

from pointsman_contract import names
from pointsman_contract.meta import Exposed
from pointsman_router import demands, uritemplate
from pointsman_router.demands import JSON, Wrong

# As long as the address of an upstream may be.
URI_MAX_LENGTH = 2048


class Kind(StrEnum):
    """What is listed beside tools."""

    PROMPT = "prompt"
    RESOURCE = "resource"
    TEMPLATE = "template"


# The member by which each is known.
KNOWN_BY = {Kind.PROMPT: "name", Kind.RESOURCE: "uri", Kind.TEMPLATE: "uriTemplate"}

# As what each is exposed.
EXPOSED_AS = {
    Kind.PROMPT: Exposed.PROMPTS,
    Kind.RESOURCE: Exposed.RESOURCES,
    Kind.TEMPLATE: Exposed.RESOURCES,
}

# Optional members that clients type without null: present with a value, or not present.
_OPTIONAL = {
    Kind.PROMPT: frozenset(["title", "description", "arguments", "icons", "_meta"]),
    Kind.RESOURCE: frozenset(
        ["title", "description", "mimeType", "size", "annotations", "icons", "_meta"]
    ),
    Kind.TEMPLATE: frozenset(["title", "description", "mimeType", "annotations", "icons", "_meta"]),
}
# What is looked into for more of them.
_NESTED = ("annotations", "arguments", "icons")
_ROLES = frozenset(["assistant", "user"])
# As the TypeScript clients demand it; the others take any text.
_TIME = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)",
    re.ASCII,
)


def normalised(kind: Kind, members: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the members without `null` where the protocol types one as optional."""
    kept = {
        name: value
        for name, value in members.items()
        if not (name in _OPTIONAL[kind] and value == b"null")
    }
    for name in _NESTED:
        if name in kept and name in _OPTIONAL[kind]:
            kept[name] = demands.without_null(kept[name])
    return kept


def problem(kind: Kind, members: Mapping[str, bytes]) -> str | None:
    """Return what is wrong with the entry that these members describe, or None.

    The text names the member; it repeats nothing that the upstream wrote.
    """
    judged = _OPTIONAL[kind] | {"name"}
    try:
        values = {name: demands.value(members[name]) for name in judged & members.keys()}
        _check_texts(values)
        demands.check_icons(values.get("icons", []))
        _check_arguments(values.get("arguments", []))
        _check_annotations(values.get("annotations", {}))
        size = values.get("size", 0.0)
        if not isinstance(size, float) or not size.is_integer():
            raise Wrong("size must be a whole number")
    except Wrong as wrong:
        return str(wrong)
    except (ValueError, RecursionError):
        return "the description is no JSON"
    return None


def address_problem(kind: Kind, address: str) -> str | None:
    """Return what is wrong with what an entry is known by: `name`, `uri`, `uriTemplate`."""
    match kind:
        case Kind.PROMPT:
            if len(address) > names.OWN_MAX_LENGTH:
                return f"name must hold at most {names.OWN_MAX_LENGTH} characters"
            return None
        case Kind.TEMPLATE:
            try:
                uritemplate.parse(address)
            except uritemplate.InvalidTemplate as invalid:
                return f"uriTemplate {invalid}"
            return None
        case Kind.RESOURCE:
            if len(address) > URI_MAX_LENGTH:
                return f"uri must hold at most {URI_MAX_LENGTH} characters"
            return "uri must be an absolute URI" if as_url(address) is None else None


def as_url(uri: str) -> str | None:
    """Return how clients of the older Python SDK spell `uri`; None where they refuse the list."""
    try:
        return str(Url(uri))
    except ValueError:
        return None


def _check_texts(values: Mapping[str, JSON]) -> None:
    if not isinstance(values.get("name"), str):
        raise Wrong("name must be a string")
    demands.check_strings(values, ("title", "description", "mimeType"))
    if not isinstance(values.get("_meta", {}), dict):
        raise Wrong("_meta must be an object")


def _check_arguments(arguments: JSON) -> None:
    for argument in demands.objects(arguments, "arguments"):
        if not isinstance(argument.get("name"), str):
            raise Wrong("each of arguments must have a name")
        demands.check_strings(argument, ("title", "description"), "arguments.")
        if not isinstance(argument.get("required", True), bool):
            raise Wrong("arguments.required must be true or false")


def _check_annotations(annotations: JSON) -> None:
    if not isinstance(annotations, dict):
        raise Wrong("annotations must be an object")
    audience = annotations.get("audience", [])
    if not isinstance(audience, list) or not all(
        isinstance(role, str) and role in _ROLES for role in audience
    ):
        raise Wrong("annotations.audience must be a list of user or assistant")
    priority = annotations.get("priority", 0.0)
    if not isinstance(priority, float) or not 0 <= priority <= 1:
        raise Wrong("annotations.priority must be a number from 0 to 1")
    modified = annotations.get("lastModified", "1970-01-01T00:00Z")
    if not isinstance(modified, str) or not _TIME.fullmatch(modified):
        raise Wrong("annotations.lastModified must be a time with its offset (ISO 8601)")
