"""The router's report: what it serves of each server, what it left out, and why."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, ClassVar

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
    """Why one tool is left out while its siblings are served."""

    INVALID_NAME = "InvalidName"
    DUPLICATE_NAME = "DuplicateName"
    NAME_COLLISION = "NameCollision"
    INVALID_SCHEMA = "InvalidSchema"
    INVALID_HEADER_ANNOTATION = "InvalidHeaderAnnotation"
    HIDDEN_TEXT = "HiddenText"
    DEFINITION_CHANGED = "DefinitionChanged"
    TOO_LARGE = "TooLarge"


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
    """One tool left out."""

    name: str
    reason: str
    message: str


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
    unmatched_allowed_tools: tuple[str, ...] = ()
    schema_bytes: Annotated[int, Field(ge=0)] = 0
    since: str
    """When this server's entry last changed (RFC 3339)."""


class Report(_Document):
    """Everything one router serves."""

    instance: str
    started_at: str
    catalogue: str
    fault: str | None = None
    """Why the last good set of servers is held although the directory says otherwise."""
    servers: tuple[ServerReport, ...] = ()


class Change(_Document):
    """What is different since a report that the asker has."""

    instance: str
    started_at: str
    catalogue: str
    fault: str | None = None
    changed: tuple[ServerReport, ...] = ()
    removed: tuple[str, ...] = ()


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
    before = {server.id: server for server in old.servers}
    after = {server.id for server in new.servers}
    return Change(
        instance=new.instance,
        started_at=new.started_at,
        catalogue=new.catalogue,
        fault=new.fault,
        changed=tuple(server for server in new.servers if before.get(server.id) != server),
        removed=tuple(server.id for server in old.servers if server.id not in after),
    )


def apply(report: Report, change: Change) -> Report:
    """Return `report` after `change`."""
    servers = {server.id: server for server in report.servers}
    servers |= {server.id: server for server in change.changed}
    for gone in change.removed:
        servers.pop(gone, None)
    return Report(
        instance=change.instance,
        started_at=change.started_at,
        catalogue=change.catalogue,
        fault=change.fault,
        servers=_sorted(servers.values()),
    )


def _sorted(servers: Iterable[ServerReport]) -> tuple[ServerReport, ...]:
    return tuple(sorted(servers, key=lambda server: server.id))
