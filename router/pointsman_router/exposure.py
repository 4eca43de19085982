"""What one server shows of its upstream's offer, what it leaves out, and why."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pointsman_contract import names
from pointsman_contract.meta import Meta
from pointsman_contract.report import (
    ExposedTool,
    ServerInfo,
    ServerReason,
    SkippedTool,
    State,
    printable,
)
from pointsman_router.listing import Form, Line
from pointsman_router.offer import Finding, LeftOut, Offer, Tool
from pointsman_router.registry import Server, Skip

_PENDING = Skip(ServerReason.PENDING, "the upstream has not been listed yet")


@dataclass(frozen=True, slots=True)
class Route:
    """Where a call goes."""

    server: str
    tool: str
    """The tool's own name, as its upstream spells it."""
    timeout_s: float


@dataclass(frozen=True, slots=True)
class Candidate:
    """One tool that may be shown, if nobody else claims its names."""

    tool: Tool
    names: names.Names
    exposed: ExposedTool


@dataclass(frozen=True, slots=True)
class Exposure:
    """One server as agents see it: what is shown, what is left out, and why."""

    server: Server
    finding: Finding
    state: State
    reason: ServerReason | None = None
    message: str | None = None
    candidates: tuple[Candidate, ...] = ()
    skipped: tuple[SkippedTool, ...] = ()
    unmatched: tuple[str, ...] = ()
    lines: Mapping[str, Line] = field(default_factory=dict)
    """The lists' lines of its tools, by the tools' own names."""
    bare: Mapping[str, Route] = field(default_factory=dict)
    """Where its tools' own names lead, on the endpoint of this server alone."""
    withheld: frozenset[str] = frozenset()
    """Every name of the tools that a suspended server names, whether it was ever listed or not."""

    @property
    def tools(self) -> tuple[ExposedTool, ...]:
        """The tools that agents see: those that at least one form of the common list shows."""
        return tuple(candidate.exposed for candidate in self._seen)

    @property
    def schema_bytes(self) -> int:
        """How much context its definitions cost."""
        return sum(candidate.tool.size_bytes for candidate in self._seen)

    @property
    def protocol_version(self) -> str | None:
        """The revision negotiated with the upstream."""
        return self.finding.offer.protocol_version if self.finding.offer else None

    @property
    def server_info(self) -> ServerInfo | None:
        """What the upstream calls itself."""
        return self.finding.offer.server_info if self.finding.offer else None

    @property
    def _seen(self) -> Iterator[Candidate]:
        return (
            candidate
            for candidate in self.candidates
            if self.lines[candidate.tool.name].names.keys() - {Form.BARE}
        )


def judge(server: Server, finding: Finding, before: Exposure | None, max_length: int) -> Exposure:
    """Return what `server` shows; `before` itself where nothing that it depends on changed.

    Whether others claim its names is not known here.
    """
    if before and before.server == server and before.finding is finding:
        return before
    if server.meta is None or server.skip:
        skip = server.skip or _PENDING
        said = _said(skip, server.fault)
        if server.meta is None or skip.reason is not ServerReason.SUSPENDED:
            return Exposure(server, finding, State.SKIPPED, *said)
        withheld = _withheld(server.meta, max_length)
        return Exposure(server, finding, State.SUSPENDED, *said, withheld=withheld)
    if finding.offer is None:
        state = State.SKIPPED if finding.trouble else State.PENDING
        return Exposure(server, finding, state, *_said(finding.trouble or _PENDING, server.fault))
    return _offered(server, server.meta, finding, finding.offer, max_length)


def _offered(
    server: Server, meta: Meta, finding: Finding, offer: Offer, max_length: int
) -> Exposure:
    allowed = [
        tool for tool in offer.tools if meta.allows_every_tool or tool.name in meta.allowed_tools
    ]
    left_out = [
        tool for tool in offer.skipped if meta.allows_every_tool or tool.name in meta.allowed_tools
    ]
    unmatched: tuple[str, ...] = ()
    if not meta.allows_every_tool:
        known = {tool.name for tool in allowed} | {tool.name for tool in left_out}
        unmatched = tuple(sorted(set(meta.allowed_tools) - known))
    if finding.trouble:
        state, skip = State.STALE, finding.trouble
    elif allowed:
        state, skip = State.SERVING, None
    else:
        state, skip = State.SKIPPED, _nothing_shown(offer, left_out)
    return Exposure(
        server,
        finding,
        state,
        *_said(skip, server.fault),
        candidates=tuple(_candidate(tool, meta.prefix, max_length) for tool in allowed),
        skipped=tuple(
            SkippedTool(name=printable(tool.name), reason=tool.reason, message=tool.message)
            for tool in left_out
        ),
        unmatched=unmatched,
        bare={
            tool.name: Route(server.id, tool.name, float(meta.timeout_seconds)) for tool in allowed
        },
    )


def _nothing_shown(offer: Offer, left_out: Sequence[LeftOut]) -> Skip:
    if left_out:
        return Skip(ServerReason.NO_TOOLS, "every allowed tool was left out: see skippedTools")
    if offer.tools or offer.skipped:
        return Skip(
            ServerReason.NO_TOOLS_MATCHED,
            "allowedTools names no tool that the upstream lists; names are case-sensitive",
        )
    return Skip(ServerReason.NO_TOOLS, "the upstream lists no tools")


def _said(skip: Skip | None, fault: str | None) -> tuple[ServerReason | None, str | None]:
    """Return reason and message: a bad file is told of also where something else is wrong."""
    if skip and fault:
        return skip.reason, f"{skip.message}; {fault}"
    if fault:
        return ServerReason.INVALID_META, fault
    return (skip.reason, skip.message) if skip else (None, None)


def _withheld(meta: Meta, max_length: int) -> frozenset[str]:
    if meta.allows_every_tool:
        return frozenset()
    called = (names.of(meta.prefix, tool, max_length=max_length) for tool in meta.allowed_tools)
    return frozenset(name for each in called for name in (each.dotted, each.listed, each.safe))


def _candidate(tool: Tool, prefix: str, max_length: int) -> Candidate:
    called = names.of(prefix, tool.name, max_length=max_length)
    return Candidate(
        tool,
        called,
        ExposedTool(
            name=tool.name,
            exposed_name=called.listed,
            safe_name=called.safe,
            digest=tool.digest,
        ),
    )
