"""The view.json document: a named subset of the servers of one namespace, for one kind of agent."""

import hashlib
from enum import StrEnum
from typing import Annotated, Self

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from pointsman_contract import document, labels, names
from pointsman_contract.document import Part, items

SCHEMA_VERSION = 1
# As of a server's meta: half of what a ConfigMap may hold.
MAX_BYTES = 256 * 1024
# As many servers as one namespace holds of them in practice, and a tenth of a thousand's names.
SERVERS_MAX = 500
PATTERNS_MAX = 500
# A dotted name of the longest prefix and the longest tool.
PATTERN_MAX_LENGTH = names.PREFIX_MAX_LENGTH + 1 + 128
EVERYTHING = "*"

KNOWN_FEATURES: frozenset[str] = frozenset()
_NULLABLE = frozenset(["namespace", "uid", "generation"])
_IDENTITY = frozenset(["schemaVersion", "name", "namespace", "uid", "generation", "requires"])


class NameForm(StrEnum):
    """By which names a view lists its tools."""

    PREFIXED = "Prefixed"
    """As the whole catalogue does."""
    BARE = "Bare"
    """By the tools' own names, where only one of its servers has each."""


class Discovery(StrEnum):
    """How agents of a view find their tools."""

    LIST = "List"
    SEARCH = "Search"
    """By `search_tools` and `call_tool`, in place of the list."""


class InvalidView(ValueError):
    """The document is invalid as a whole; the message names the field and its bounds."""


Pattern = Annotated[
    str,
    Field(min_length=1, max_length=PATTERN_MAX_LENGTH, pattern=r"^[^\x00-\x1f\x7f-\x9f*]*\*?\z"),
]
ServerName = Annotated[str, Field(min_length=1, max_length=253)]


class ViewMeta(Part):
    """One view, as published."""

    schema_version: Annotated[int, Field(ge=SCHEMA_VERSION, le=SCHEMA_VERSION)] = SCHEMA_VERSION
    name: str = Field(min_length=1, max_length=63)
    namespace: str | None = Field(default=None, pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\z")
    uid: str | None = Field(default=None, max_length=128)
    generation: int | None = Field(default=None, ge=0)
    servers: Annotated[
        tuple[ServerName, ...], BeforeValidator(items), Field(max_length=SERVERS_MAX)
    ] = ()
    """Names of servers in the view's own namespace; none where it states none: it is empty then."""
    tools: Annotated[
        tuple[Pattern, ...], BeforeValidator(items), Field(max_length=PATTERNS_MAX)
    ] = ()
    """Exposed names, in either form, exact or with one `*` at the end; none where it has none."""
    names: Annotated[NameForm, Field(strict=False)] = NameForm.PREFIXED
    discovery: Annotated[Discovery, Field(strict=False)] = Discovery.LIST
    requires: Annotated[tuple[str, ...], BeforeValidator(items)] = ()

    @property
    def id(self) -> str:
        """The view's identity: `namespace/name`, or the bare name of a lone file."""
        return labels.server_id(self.namespace, self.name)

    @property
    def server_ids(self) -> tuple[str, ...]:
        """The identities of its servers, each once; none is of another namespace."""
        named = dict.fromkeys(name for name in self.servers if "/" not in name)
        return tuple(labels.server_id(self.namespace, name) for name in named)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not labels.is_dns_label(self.name):
            raise ValueError("name must be a DNS label: it is part of an URL's path")
        return self


def load(data: bytes, *, folder: str) -> ViewMeta:
    """Return the view that `data` holds; `folder` names it where the document does not.

    Raises InvalidView for anything but a document of this schema, whole and well-formed.
    """
    try:
        given = document.members(data, max_bytes=MAX_BYTES, nullable=_NULLABLE)
    except document.NoDocument as exc:
        raise InvalidView(str(exc)) from None
    given.setdefault("name", folder)
    if document.unknown_features(given, KNOWN_FEATURES):
        # What the rest means is for a newer reader to say; this one only has to know who it is.
        given = {key: value for key, value in given.items() if key in _IDENTITY}
    try:
        return ViewMeta.model_validate(given, by_alias=True, by_name=False)
    except ValidationError as exc:
        raise InvalidView(document.complaint(exc)) from None


def dump(view: ViewMeta) -> bytes:
    """Return the document of `view`: byte-identical for an equal one."""
    members = view.model_dump(by_alias=True, exclude_none=True)
    members["servers"] = sorted(view.servers)
    members["tools"] = sorted(view.tools)
    if not view.requires:
        del members["requires"]
    return document.spell(members)


def digest(view: ViewMeta) -> str:
    """Return what tells two documents apart: which of them a router has in force."""
    return hashlib.sha256(dump(view)).hexdigest()[:16]


def matches(patterns: tuple[str, ...], *called: str) -> bool:
    """Say whether one of `patterns` matches one of the names of a tool."""
    return any(
        name.startswith(pattern[:-1]) if pattern.endswith(EVERYTHING) else name == pattern
        for pattern in patterns
        for name in called
    )
