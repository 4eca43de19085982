"""The meta.json document: what the operator publishes about one server, and the router reads."""

import json
from enum import StrEnum
from typing import Annotated, ClassVar, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator
from pydantic.alias_generators import to_camel

from pointsman_contract import labels, names, strictjson

SCHEMA_VERSION = 1
# Half of what a ConfigMap may hold leaves room for its metadata, and no honest meta comes near.
MAX_BYTES = 256 * 1024
EVERY_TOOL = "*"
TIMEOUT_DEFAULT_S = 60
TIMEOUT_BOUNDS_S = (1, 300)
ALLOWED_TOOLS_MAX = 500
TOOL_NAME_MAX_LENGTH = 128

# Features that restrict what agents may do; a reader that lacks one must not serve the server.
# `expose` restricts where it leaves out the tools, which a reader without it would show.
EXPOSE = "expose"
KNOWN_FEATURES: frozenset[str] = frozenset([EXPOSE])

# Where null says the same as an absent field.
_NULLABLE = frozenset(["namespace", "uid", "generation", "url", "allowedTools", "prefix"])
_IDENTITY = frozenset(
    ["schemaVersion", "name", "namespace", "uid", "generation", "prefix", "requires"]
)
_UNPUBLISHED = frozenset(["issuer", "bearer_from_env"])


class Protocol(StrEnum):
    """Which era of MCP is spoken to an upstream."""

    AUTO = "Auto"
    """The upstream's own, found out by asking."""
    LEGACY = "Legacy"
    MODERN = "Modern"


class Exposed(StrEnum):
    """What of an upstream agents may see."""

    TOOLS = "Tools"
    RESOURCES = "Resources"
    """And their templates."""
    PROMPTS = "Prompts"


class InvalidMeta(ValueError):
    """The document is invalid as a whole; the message names the field and its bounds."""


def _items(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


ToolName = Annotated[
    str,
    Field(min_length=1, max_length=TOOL_NAME_MAX_LENGTH, pattern=r"^[^\x00-\x1f\x7f-\x9f]*\z"),
]


class Meta(BaseModel):
    """One server, as published."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True, strict=True, extra="ignore", alias_generator=to_camel, populate_by_name=True
    )

    schema_version: Annotated[int, Field(ge=SCHEMA_VERSION, le=SCHEMA_VERSION)] = SCHEMA_VERSION
    name: str = Field(min_length=1, max_length=253)
    namespace: str | None = Field(default=None, pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\z")
    uid: str | None = Field(default=None, max_length=128)
    generation: int | None = Field(default=None, ge=0)
    url: str = ""
    allowed_tools: Annotated[
        tuple[ToolName, ...], BeforeValidator(_items), Field(max_length=ALLOWED_TOOLS_MAX)
    ] = ()
    prefix: str
    # Not strict: a document has words, not members of an enumeration.
    protocol: Annotated[Protocol, Field(strict=False)] = Protocol.AUTO
    expose: Annotated[
        tuple[Annotated[Exposed, Field(strict=False)], ...],
        BeforeValidator(_items),
        Field(min_length=1, max_length=len(Exposed)),
    ] = (Exposed.TOOLS,)
    timeout_seconds: int = Field(
        default=TIMEOUT_DEFAULT_S, ge=TIMEOUT_BOUNDS_S[0], le=TIMEOUT_BOUNDS_S[1]
    )
    suspend: bool = False
    requires: Annotated[tuple[str, ...], BeforeValidator(_items)] = ()
    # The older, hand-written form: recognised only to be left out with a reason.
    issuer: str = ""
    bearer_from_env: str = ""

    @property
    def id(self) -> str:
        """The server's identity."""
        return labels.server_id(self.namespace, self.name)

    @property
    def allows_every_tool(self) -> bool:
        """Whether the upstream's whole offer is allowed."""
        return self.allowed_tools == (EVERY_TOOL,)

    def exposes(self, what: Exposed) -> bool:
        """Say whether agents may see what the upstream has of this."""
        return what in self.expose

    @model_validator(mode="after")
    def _check(self) -> Self:
        if "/" in self.name or not names.is_exposable(self.name):
            raise ValueError("name must hold no / and no control or hidden character")
        if not names.is_prefix(self.prefix):
            raise ValueError(
                f"prefix must match {names.PREFIX_PATTERN} and hold at most"
                f" {names.PREFIX_MAX_LENGTH} characters"
            )
        return self


def load(data: bytes, *, folder: str) -> Meta:
    """Return the meta that `data` holds; `folder` names the server where the document does not.

    Raises InvalidMeta for anything but a document of this schema, whole and well-formed. An `url`
    is not judged here: an invalid one costs the server, not the file.
    """
    try:
        members = strictjson.loads(data, max_bytes=MAX_BYTES)
    except strictjson.NotStrictJSON as exc:
        raise InvalidMeta(f"the file {exc}") from None
    if not isinstance(members, dict):
        raise InvalidMeta("the file holds no JSON object")
    given = {
        key: value for key, value in members.items() if value is not None or key not in _NULLABLE
    }
    given.setdefault("name", folder)
    if "prefix" not in given and isinstance(name := given["name"], str):
        try:
            given["prefix"] = names.prefix_from(name)
        except names.NoPrefix:
            raise InvalidMeta("name: holds no letter or digit to make a prefix from") from None
    if _needs_newer(given.get("requires")):
        # What the rest means is for a newer reader to say; this one only has to know who it is.
        given = {key: value for key, value in given.items() if key in _IDENTITY}
    try:
        return Meta.model_validate(given, by_alias=True, by_name=False)
    except ValidationError as exc:
        raise InvalidMeta(_complaint(exc)) from None


def _needs_newer(requires: object) -> bool:
    return isinstance(requires, list) and any(
        isinstance(name, str) and name not in KNOWN_FEATURES for name in requires
    )


def dump(meta: Meta) -> bytes:
    """Return the document of `meta`: byte-identical for an equal server."""
    members = meta.model_dump(by_alias=True, exclude=set(_UNPUBLISHED), exclude_none=True)
    members["allowedTools"] = sorted(meta.allowed_tools)
    members["expose"] = sorted(meta.expose)
    if members["expose"] == [Exposed.TOOLS]:
        del members["expose"]
    if not meta.requires:
        del members["requires"]
    text = json.dumps(members, sort_keys=True, indent=2, ensure_ascii=False)
    return f"{text}\n".encode()


_WORDS = {
    "tuple_type": "must be a list",
    "string_type": "must be a string",
    "int_type": "must be a whole number",
    "bool_type": "must be true or false",
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


def _complaint(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    field = "".join(f"[{part}]" if isinstance(part, int) else part for part in first["loc"])
    words = _WORDS.get(first["type"], first["msg"]).format(**first.get("ctx", {}))
    return f"{field}: {words}" if field else words
