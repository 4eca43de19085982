"""The router's report: what it serves of each server, what it left out, and why."""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Annotated, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from pydantic_core import from_json

# How much of a foreign text may travel on into a status or onto a terminal.
FOREIGN_TEXT_MAX_LENGTH = 120


class State(StrEnum):
    """What a router does with a server's tools."""

    SERVING = "Serving"
    STALE = "Stale"
    PENDING = "Pending"
    SKIPPED = "Skipped"
    SUSPENDED = "Suspended"


class ServerReason(StrEnum):
    """Why a whole server is left out, or what is wrong with it although it is served."""

    INVALID_META = "InvalidMeta"
    NEEDS_NEWER_ROUTER = "NeedsNewerRouter"
    OAUTH_UNSUPPORTED = "OAuthUnsupported"
    CREDENTIAL_UNSUPPORTED = "CredentialUnsupported"
    NO_URL = "NoUrl"
    INVALID_URL = "InvalidUrl"
    DESTINATION_DENIED = "DestinationDenied"
    PREFIX_CONFLICT = "PrefixConflict"
    SUSPENDED = "Suspended"
    NO_TOOLS_ALLOWED = "NoToolsAllowed"
    NO_TOOLS_MATCHED = "NoToolsMatched"
    PENDING = "Pending"
    UNREACHABLE = "Unreachable"
    TIMEOUT = "Timeout"
    TLS_FAILED = "TlsFailed"
    UPSTREAM_HTTP_ERROR = "UpstreamHttpError"
    UPSTREAM_AUTH_REQUIRED = "UpstreamAuthRequired"
    UPSTREAM_THROTTLED = "UpstreamThrottled"
    UPSTREAM_RPC_ERROR = "UpstreamRpcError"
    PROTOCOL_VIOLATION = "ProtocolViolation"
    UNSUPPORTED_PROTOCOL = "UnsupportedProtocol"
    NO_TOOLS = "NoTools"
    LIST_TOO_LARGE = "ListTooLarge"
    CURSOR_LOOP = "CursorLoop"


class ToolReason(StrEnum):
    """Why one tool is left out while its siblings are served, or flagged although it is served."""

    INVALID_NAME = "InvalidName"
    DUPLICATE_NAME = "DuplicateName"
    NAME_COLLISION = "NameCollision"
    INVALID_SCHEMA = "InvalidSchema"
    INVALID_HEADER_ANNOTATION = "InvalidHeaderAnnotation"
    HIDDEN_TEXT = "HiddenText"
    DEFINITION_CHANGED = "DefinitionChanged"
    TOO_LARGE = "TooLarge"
    HIDDEN_BY_OWNER = "HiddenByOwner"
    CONFUSABLE_NAME = "ConfusableName"


def printable(text: str, max_length: int = FOREIGN_TEXT_MAX_LENGTH) -> str:
    """Return what may be shown of a foreign text: printable, on one line, cut to `max_length`."""
    shown = "".join(character if character.isprintable() else "·" for character in text)
    return shown if len(shown) <= max_length else f"{shown[: max_length - 1]}…"


class _Document(BaseModel):
    """A part of the report: camelCase on the wire, unknown members ignored."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True, extra="ignore", alias_generator=to_camel, populate_by_name=True
    )


class ExposedTool(_Document):
    """One tool that agents see."""

    name: str
    exposed_name: str
    safe_name: str
    digest: str


class SkippedTool(_Document):
    """One tool left out, or flagged."""

    name: str
    reason: str
    message: str
    digest: str | None = None
    """Of the definition that waits to be approved, where that is the reason."""


class ServerInfo(_Document):
    """What an upstream calls itself."""

    name: str
    version: str


class ServerReport(_Document):
    """One server, as this router serves it."""

    id: str
    uid: str | None = None
    generation: int | None = None
    state: State
    reason: str | None = None
    message: str | None = None
    prefix: str | None = None
    protocol_version: str | None = None
    server_info: ServerInfo | None = None
    tool_count: Annotated[int, Field(ge=0)] = 0
    tools: tuple[ExposedTool, ...] = ()
    skipped_tools: tuple[SkippedTool, ...] = ()
    flagged_tools: tuple[SkippedTool, ...] = ()
    """Tools that are served, and of which somebody should know something."""
    unmatched_allowed_tools: tuple[str, ...] = ()
    schema_bytes: Annotated[int, Field(ge=0)] = 0
    since: str
    """When this server's entry last changed (RFC 3339)."""


class ViewReport(_Document):
    """One view, as this router serves it."""

    id: str
    uid: str | None = None
    generation: int | None = None
    digest: str | None = None
    """Of the document in force (`view.digest`): which servers it names, too, is part of it."""
    state: State
    """Serving, or Skipped where the document cannot be used."""
    message: str | None = None
    revision: str | None = None
    """Of what agents find in it, as the list's `_meta` has it."""
    tool_count: Annotated[int, Field(ge=0)] = 0
    schema_bytes: Annotated[int, Field(ge=0)] = 0
    unmatched_servers: tuple[str, ...] = ()
    """Servers that it names and that are not there."""
    unmatched_tools: tuple[str, ...] = ()
    """Patterns that match no tool."""
    since: str
    """When this view's entry last changed (RFC 3339)."""


class Report(_Document):
    """Everything one router serves."""

    instance: str
    started_at: str
    catalogue: str
    fault: str | None = None
    """Why the last good set of servers is held although the directory says otherwise."""
    servers: tuple[ServerReport, ...] = ()
    views: tuple[ViewReport, ...] = ()


class Change(_Document):
    """What is different since a report that the asker has."""

    instance: str
    started_at: str
    catalogue: str
    fault: str | None = None
    changed: tuple[ServerReport, ...] = ()
    removed: tuple[str, ...] = ()
    changed_views: tuple[ViewReport, ...] = ()
    removed_views: tuple[str, ...] = ()


def load(data: bytes) -> Report | Change:
    """Return the report or change that a router answered; raises ValueError for anything else."""
    members = from_json(data)
    if isinstance(members, dict) and "changed" in members:
        return Change.model_validate(members)
    if isinstance(members, dict) and "servers" in members:
        return Report.model_validate(members)
    raise ValueError("neither a report nor a change of one")


def dump(document: Report | Change) -> bytes:
    """Return the JSON of a report or a change."""
    return document.model_dump_json(by_alias=True, exclude_none=True).encode()


def difference(old: Report, new: Report) -> Change:
    """Return what turns `old` into `new`."""
    servers = _difference(old.servers, new.servers)
    views = _difference(old.views, new.views)
    return Change(
        instance=new.instance,
        started_at=new.started_at,
        catalogue=new.catalogue,
        fault=new.fault,
        changed=servers[0],
        removed=servers[1],
        changed_views=views[0],
        removed_views=views[1],
    )


def apply(report: Report, change: Change) -> Report:
    """Return `report` after `change`."""
    return Report(
        instance=change.instance,
        started_at=change.started_at,
        catalogue=change.catalogue,
        fault=change.fault,
        servers=_applied(report.servers, change.changed, change.removed),
        views=_applied(report.views, change.changed_views, change.removed_views),
    )


_Entry = TypeVar("_Entry", ServerReport, ViewReport)


def _difference(
    old: Iterable[_Entry], new: Sequence[_Entry]
) -> tuple[tuple[_Entry, ...], tuple[str, ...]]:
    before = {entry.id: entry for entry in old}
    after = {entry.id for entry in new}
    changed = tuple(entry for entry in new if before.get(entry.id) != entry)
    return changed, tuple(id_ for id_ in before if id_ not in after)


def _applied(
    old: Iterable[_Entry], changed: Iterable[_Entry], removed: Iterable[str]
) -> tuple[_Entry, ...]:
    entries: dict[str, _Entry] = {entry.id: entry for entry in old}
    entries |= {entry.id: entry for entry in changed}
    for gone in removed:
        entries.pop(gone, None)
    ordered: list[_Entry] = [entries[id_] for id_ in sorted(entries)]
    return tuple(ordered)
