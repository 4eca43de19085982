"""What one server shows of its upstream's offer, what it leaves out, and why."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pointsman_contract import names
from pointsman_contract.meta import Exposed, Meta
from pointsman_contract.report import (
    ExposedTool,
    ServerInfo,
    ServerReason,
    SkippedTool,
    State,
)
from pointsman_router import beside, registry, toolcheck
from pointsman_router.beside import Shown
from pointsman_router.entrycheck import Kind
from pointsman_router.leftout import LeftOut
from pointsman_router.listing import Form, Line
from pointsman_router.offer import Finding, Offer, Tool
from pointsman_router.paramheaders import Annotation
from pointsman_router.registry import Server, Skip

_PENDING = Skip(ServerReason.PENDING, "the upstream has not been listed yet")


@dataclass(frozen=True, slots=True)
class Route:
    """Where a call goes."""

    server: str
    tool: str
    """The tool's own name, as its upstream spells it."""
    timeout_s: float
    annotations: tuple[Annotation, ...] = ()
    """The arguments that headers repeat."""
    is_plain: bool = True
    """Whether its structured results are objects, as legacy agents demand."""


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
    beside: Shown | None = None
    """What it shows beside tools, where that is exposed."""

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
            claimed = _still_claimed(server.meta, before) if server.meta else None
            return Exposure(server, finding, State.SKIPPED, *said, beside=claimed)
        return Exposure(
            server,
            finding,
            State.SUSPENDED,
            *said,
            withheld=_withheld(server.meta, max_length),
            beside=beside.withheld(before.beside) if before and before.beside else None,
        )
    if finding.offer is None:
        state = State.SKIPPED if finding.trouble else State.PENDING
        return Exposure(
            server,
            finding,
            state,
            *_said(finding.trouble or _PENDING, server.fault),
            beside=_still_claimed(server.meta, before),
        )
    return _offered(server, server.meta, finding, finding.offer, max_length)


def _still_claimed(meta: Meta, before: Exposure | None) -> beside.Shown | None:
    """Return the URIs that were a server's and lead to nobody else until it is listed anew."""
    if before and before.beside and meta.exposes(Exposed.RESOURCES):
        return beside.withheld(before.beside)
    return None


def _offered(
    server: Server, meta: Meta, finding: Finding, offer: Offer, max_length: int
) -> Exposure:
    is_exposed = meta.exposes(Exposed.TOOLS)
    allowed = [tool for tool in offer.tools if is_exposed and _allows(meta, tool.name)]
    left_out = [tool for tool in offer.skipped if is_exposed and _allows(meta, tool.name)]
    unmatched: tuple[str, ...] = ()
    if is_exposed and not meta.allows_every_tool:
        known = {tool.name for tool in allowed} | {tool.name for tool in left_out}
        unmatched = tuple(sorted(set(meta.allowed_tools) - known))
    shown = beside.shown(server.id, meta, offer, allowed, max_length)
    state, skip = State.SERVING, _refused(offer)
    if finding.trouble:
        state, skip = State.STALE, finding.trouble
    elif not allowed and (is_exposed or shown is None or shown.is_empty):
        state, skip = State.SKIPPED, _nothing_shown(meta, offer, left_out)
    return Exposure(
        server,
        finding,
        state,
        *_said(skip, server.fault),
        candidates=tuple(_candidate(tool, meta.prefix, max_length) for tool in allowed),
        skipped=(*(tool.told for tool in left_out), *(shown.skipped if shown else ())),
        unmatched=unmatched,
        bare={tool.name: _route(server, tool, float(meta.timeout_seconds)) for tool in allowed},
        beside=shown,
    )


def _allows(meta: Meta, tool: str) -> bool:
    return meta.allows_every_tool or tool in meta.allowed_tools


def _route(server: Server, tool: Tool, timeout_s: float) -> Route:
    schema = dict(tool.members).get("outputSchema")
    is_plain = schema is None or toolcheck.has_object_root(schema)
    return Route(server.id, tool.name, timeout_s, tool.annotations, is_plain)


def _refused(offer: Offer) -> Skip | None:
    """Return what is wrong with a server of which some lists did not come."""
    if not offer.refused:
        return None
    first, *_ = offer.refused.values()
    told = (_also_kept(offer, kind, why.message) for kind, why in sorted(offer.refused.items()))
    return Skip(first.reason, "; ".join(told))


def _also_kept(offer: Offer, kind: Kind, message: str) -> str:
    shown = {Kind.PROMPT: offer.prompts, Kind.RESOURCE: offer.resources}
    kept = shown.get(kind, offer.templates).entries
    return f"{message}; the {kind}s that it listed before stay" if kept else message


def _nothing_shown(meta: Meta, offer: Offer, left_out: Sequence[LeftOut]) -> Skip:
    why, refused = _nothing_listed(meta, offer, left_out), _refused(offer)
    if refused is None:
        return why
    if not meta.exposes(Exposed.TOOLS):
        return refused
    return Skip(why.reason, f"{why.message}; {refused.message}")


def _nothing_listed(meta: Meta, offer: Offer, left_out: Sequence[LeftOut]) -> Skip:
    if not meta.exposes(Exposed.TOOLS):
        return Skip(
            ServerReason.NO_TOOLS_MATCHED, "the upstream lists nothing of what expose names"
        )
    if not meta.allowed_tools:
        return registry.no_tools_allowed()
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
    if meta.allows_every_tool or not meta.exposes(Exposed.TOOLS):
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
