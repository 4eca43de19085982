"""What a router shows a person: every server with its tools and their schemas, and what failed."""

from collections.abc import Mapping
from typing import Literal

import msgspec
from msgspec import UNSET, Raw, UnsetType

from pointsman_contract.report import State


class _Part(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A part of the overview: camelCase on the wire, unknown members ignored."""


class Tool(_Part, frozen=True):
    """One tool that agents see, as it is listed to them."""

    name: str
    exposed_name: str
    safe_name: str
    digest: str
    input_schema: Raw
    title: str | None = None
    description: str = ""
    output_schema: Raw | UnsetType = UNSET


class LeftOut(_Part, frozen=True):
    """One tool that is left out, or flagged although it is served."""

    name: str
    reason: str
    message: str
    digest: str | None = None


class ServerInfo(_Part, frozen=True):
    """What an upstream calls itself."""

    name: str
    version: str


class Server(_Part, frozen=True):
    """One server, as this router serves it."""

    id: str
    state: State
    since: str
    """When what is said of it last changed (RFC 3339)."""
    generation: int | None = None
    reason: str | None = None
    message: str | None = None
    prefix: str | None = None
    protocol_version: str | None = None
    server_info: ServerInfo | None = None
    tool_count: int = 0
    schema_bytes: int = 0
    skipped: Mapping[str, int] = msgspec.field(default_factory=dict)
    """How many of its tools are left out, by reason."""
    flagged: Mapping[str, int] = msgspec.field(default_factory=dict)
    """How many of its tools are served and flagged, by reason."""
    is_detailed: bool = False
    """Whether what follows is told: where it is not, the counts say what there is."""
    tools: tuple[Tool, ...] = ()
    skipped_tools: tuple[LeftOut, ...] = ()
    flagged_tools: tuple[LeftOut, ...] = ()
    unmatched_allowed_tools: tuple[str, ...] = ()
    untold: int = 0
    """How many left out, flagged or unmatched tools are not told, for there are too many."""


class View(_Part, frozen=True):
    """One view, as this router serves it."""

    id: str
    state: State
    since: str
    message: str | None = None
    tool_count: int = 0
    schema_bytes: int = 0
    unmatched_servers: tuple[str, ...] = ()
    unmatched_tools: tuple[str, ...] = ()


class Failure(_Part, frozen=True):
    """What failed with one upstream, however often it has failed in the same way."""

    at: str
    """When it was last met (RFC 3339)."""
    server: str
    doing: Literal["listing", "call"]
    reason: str
    message: str
    times: int = 1


class Totals(_Part, frozen=True):
    """How much there is in all, whatever is shown of it."""

    states: Mapping[State, int] = msgspec.field(default_factory=dict)
    """How many servers are in each state."""
    tools: int = 0
    schema_bytes: int = 0
    skipped: int = 0
    flagged: int = 0
    views: int = 0

    @property
    def servers(self) -> int:
        """How many servers there are."""
        return sum(self.states.values())


class Next(_Part, frozen=True):
    """Where the next part begins: behind a server, or within it, behind so many of its tools.

    They are counted, for a name may be longer than an address can hold.
    """

    after: str
    after_tools: int | None = None


class Overview(_Part, frozen=True):
    """Everything that a router shows, or one part of it; all of it of one moment."""

    totals: Totals
    matching: int = 0
    """How many servers the filter leaves."""
    instance: str | None = None
    """None before the router has read its directory."""
    started_at: str | None = None
    catalogue: str | None = None
    fault: str | None = None
    """Why the last good set of servers is held although the directory says otherwise."""
    unready: str | None = None
    """Why agents should not come."""
    echo: bool = False
    """Whether agents see the one tool `echo`, for there is no server."""
    servers: tuple[Server, ...] = ()
    views: tuple[View, ...] = ()
    failures: tuple[Failure, ...] = ()
    """The newest first."""
    next: Next | None = None


def load(data: bytes) -> Overview:
    """Return the overview that a router answered; raises ValueError for anything else."""
    return msgspec.json.decode(data, type=Overview)


def dump(overview: Overview) -> bytes:
    """Return the JSON of an overview."""
    return msgspec.json.encode(overview)
