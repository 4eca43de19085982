"""How the documents that the operator publishes are spelled, read, and complained about."""

import json
from collections.abc import Collection, Mapping
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from pointsman_contract import strictjson
from pointsman_contract.strictjson import JSON


class NoDocument(ValueError):
    """The file holds nothing that could be one; the message says why."""


class Part(BaseModel):
    """A part of a document, or all of it: camelCase, unknown members ignored."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True, strict=True, extra="ignore", alias_generator=to_camel, populate_by_name=True
    )


def items(value: object) -> object:
    """Return a list as a strict model takes it."""
    return tuple(value) if isinstance(value, list) else value


def members(data: bytes, *, max_bytes: int, nullable: Collection[str]) -> dict[str, JSON]:
    """Return the members of the object that `data` spells; raises NoDocument.

    `nullable`: where null says the same as an absent member.
    """
    try:
        value = strictjson.loads(data, max_bytes=max_bytes)
    except strictjson.NotStrictJSON as exc:
        raise NoDocument(f"the file {exc}") from None
    if not isinstance(value, dict):
        raise NoDocument("the file holds no JSON object")
    return {key: each for key, each in value.items() if each is not None or key not in nullable}


def unknown_features(given: Mapping[str, JSON], known: Collection[str]) -> bool:
    """Say whether a document demands a newer reader: what it says else is not for this one."""
    requires = given.get("requires")
    return isinstance(requires, list) and any(
        isinstance(name, str) and name not in known for name in requires
    )


def spell(document: Mapping[str, object]) -> bytes:
    """Return the canonical spelling: byte-identical for equal members."""
    text = json.dumps(document, sort_keys=True, indent=2, ensure_ascii=False)
    return f"{text}\n".encode()


_WORDS = {
    "tuple_type": "must be a list",
    "string_type": "must be a string",
    "int_type": "must be a whole number",
    "bool_type": "must be true or false",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "enum": "must be {expected}",
    "too_short": "must hold at least {min_length} items",
    "too_long": "must hold at most {max_length} items",
    "string_too_short": "must not be empty",
    "string_too_long": "must hold at most {max_length} characters",
    "string_pattern_mismatch": "must match {pattern}",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "value_error": "{error}",
}


def complaint(error: ValidationError) -> str:
    """Return the first thing that is wrong, by the name of its field."""
    first = error.errors(include_url=False, include_input=False)[0]
    field = "".join(
        f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"]
    ).removeprefix(".")
    words = _WORDS.get(first["type"], first["msg"]).format(**first.get("ctx", {}))
    return f"{field}: {words}" if field else words
