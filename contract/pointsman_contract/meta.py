"""The meta.json document: what the operator publishes about one server, and the router reads."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Self

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from pointsman_contract import document, hiddentext, labels, names
from pointsman_contract.document import Part, items

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
# `definitions` restricts under Enforce, `tools` where it hides one.
DEFINITIONS = "definitions"
TOOLS = "tools"
KNOWN_FEATURES: frozenset[str] = frozenset([EXPOSE, DEFINITIONS, TOOLS])

# Overrides of one server; as many as tools can be allowed by name.
OVERRIDES_MAX = ALLOWED_TOOLS_MAX
APPROVED_MAX = ALLOWED_TOOLS_MAX
# A heading, and what a model can use: the longest descriptions of well-kept servers are half that.
TITLE_MAX_LENGTH = 200
DESCRIPTION_MAX_LENGTH = 4096
DIGEST_PATTERN = r"^sha256:[0-9a-f]{64}\z"

# Where null says the same as an absent field.
_NULLABLE = frozenset(
    ["namespace", "uid", "generation", "url", "allowedTools", "prefix", "definitions", "tools"]
)
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


class Policy(StrEnum):
    """What becomes of a tool whose definition nobody approved."""

    OFF = "Off"
    """It is served like any other."""
    WARN = "Warn"
    """It is served, and the status says so."""
    ENFORCE = "Enforce"
    """It is left out."""


class InvalidMeta(ValueError):
    """The document is invalid as a whole; the message names the field and its bounds."""


ToolName = Annotated[
    str,
    Field(min_length=1, max_length=TOOL_NAME_MAX_LENGTH, pattern=r"^[^\x00-\x1f\x7f-\x9f]*\z"),
]


class Definitions(Part):
    """Which definitions of tools somebody approved, and what becomes of the others."""

    policy: Annotated[Policy, Field(strict=False)] = Policy.OFF
    approved: Annotated[
        dict[ToolName, Annotated[str, Field(pattern=DIGEST_PATTERN)]],
        Field(max_length=APPROVED_MAX),
    ] = Field(default_factory=dict)
    """The digest of its definition, by the tool's own name."""


class Override(Part):
    """What agents read about one tool in place of what its upstream wrote."""

    name: ToolName
    title: str | None = Field(default=None, min_length=1, max_length=TITLE_MAX_LENGTH)
    description: str | None = Field(default=None, min_length=1, max_length=DESCRIPTION_MAX_LENGTH)
    hide: bool = False
    """Leave the tool out, whatever is allowed."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        for field, text in (("title", self.title), ("description", self.description)):
            if text and (hidden := hiddentext.first_hidden(text)):
                raise ValueError(f"{field} must hold no hidden character such as {hidden}")
        return self


class Meta(Part):
    """One server, as published."""

    schema_version: Annotated[int, Field(ge=SCHEMA_VERSION, le=SCHEMA_VERSION)] = SCHEMA_VERSION
    name: str = Field(min_length=1, max_length=253)
    namespace: str | None = Field(default=None, pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\z")
    uid: str | None = Field(default=None, max_length=128)
    generation: int | None = Field(default=None, ge=0)
    url: str = ""
    allowed_tools: Annotated[
        tuple[ToolName, ...], BeforeValidator(items), Field(max_length=ALLOWED_TOOLS_MAX)
    ] = ()
    prefix: str
    # Not strict: a document has words, not members of an enumeration.
    protocol: Annotated[Protocol, Field(strict=False)] = Protocol.AUTO
    expose: Annotated[
        tuple[Annotated[Exposed, Field(strict=False)], ...],
        BeforeValidator(items),
        Field(min_length=1, max_length=len(Exposed)),
    ] = (Exposed.TOOLS,)
    timeout_seconds: int = Field(
        default=TIMEOUT_DEFAULT_S, ge=TIMEOUT_BOUNDS_S[0], le=TIMEOUT_BOUNDS_S[1]
    )
    suspend: bool = False
    definitions: Definitions = Field(default_factory=Definitions)
    tools: Annotated[
        tuple[Override, ...], BeforeValidator(items), Field(max_length=OVERRIDES_MAX)
    ] = ()
    """By unique names."""
    requires: Annotated[tuple[str, ...], BeforeValidator(items)] = ()
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

    @property
    def restrictions(self) -> tuple[str, ...]:
        """The features without which a reader would show more than is wished."""
        return tuple(restrictions(self.expose, self.definitions.policy, self.tools))

    def exposes(self, what: Exposed) -> bool:
        """Say whether agents may see what the upstream has of this."""
        return what in self.expose

    @model_validator(mode="after")
    def _check(self) -> Self:
        if "/" in self.name or not names.is_exposable(self.name):
            raise ValueError("name must hold no / and no control or hidden character")
        if len({override.name for override in self.tools}) < len(self.tools):
            raise ValueError("tools must not hold a name twice")
        if not names.is_prefix(self.prefix):
            raise ValueError(
                f"prefix must match {names.PREFIX_PATTERN} and hold at most"
                f" {names.PREFIX_MAX_LENGTH} characters"
            )
        return self


def restrictions(
    expose: Iterable[Exposed], policy: Policy, overrides: Iterable[Override]
) -> Iterable[str]:
    """Return the features that a reader of such a meta must know; sorted."""
    if policy is Policy.ENFORCE:
        yield DEFINITIONS
    if Exposed.TOOLS not in expose:
        yield EXPOSE
    if any(override.hide for override in overrides):
        yield TOOLS


def load(data: bytes, *, folder: str) -> Meta:
    """Return the meta that `data` holds; `folder` names the server where the document does not.

    Raises InvalidMeta for anything but a document of this schema, whole and well-formed. An `url`
    is not judged here: an invalid one costs the server, not the file.
    """
    try:
        given = document.members(data, max_bytes=MAX_BYTES, nullable=_NULLABLE)
    except document.NoDocument as exc:
        raise InvalidMeta(str(exc)) from None
    given.setdefault("name", folder)
    if "prefix" not in given and isinstance(name := given["name"], str):
        try:
            given["prefix"] = names.prefix_from(name)
        except names.NoPrefix:
            raise InvalidMeta("name: holds no letter or digit to make a prefix from") from None
    if document.unknown_features(given, KNOWN_FEATURES):
        # What the rest means is for a newer reader to say; this one only has to know who it is.
        given = {key: value for key, value in given.items() if key in _IDENTITY}
    try:
        return Meta.model_validate(given, by_alias=True, by_name=False)
    except ValidationError as exc:
        raise InvalidMeta(document.complaint(exc)) from None


def dump(meta: Meta) -> bytes:
    """Return the document of `meta`: byte-identical for an equal server."""
    members = meta.model_dump(by_alias=True, exclude=set(_UNPUBLISHED), exclude_none=True)
    members["allowedTools"] = sorted(meta.allowed_tools)
    members["expose"] = sorted(meta.expose)
    if members["expose"] == [Exposed.TOOLS]:
        del members["expose"]
    if meta.definitions.policy is Policy.OFF:
        del members["definitions"]
    members["tools"] = [_override(each) for each in sorted(meta.tools, key=lambda each: each.name)]
    if not meta.tools:
        del members["tools"]
    if not meta.requires:
        del members["requires"]
    return document.spell(members)


def _override(override: Override) -> dict[str, object]:
    members = override.model_dump(by_alias=True, exclude_none=True)
    if not override.hide:
        del members["hide"]
    return members
