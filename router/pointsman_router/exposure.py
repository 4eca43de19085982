"""What one server shows of its upstream's offer, what it leaves out, and why."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pointsman_contract import digest, names
from pointsman_contract.meta import Exposed, Meta
from pointsman_contract.report import (
    ExposedTool,
    ServerInfo,
    ServerReason,
    SkippedTool,
    State,
)
from pointsman_router import beside, flags, registry, ruling, toolcheck
from pointsman_router.beside import Shown
from pointsman_router.entrycheck import Kind
from pointsman_router.leads import Lead
from pointsman_router.leftout import LeftOut
from pointsman_router.listing import Form, Line
from pointsman_router.offer import Finding, Offer, Tool
from pointsman_router.paramheaders import Annotation
from pointsman_router.registry import Server, Skip
from pointsman_router.ruling import Ruling

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
    lead: Lead | None = field(default=None, compare=False)
    """What a tool's names lead to here: it leads nowhere else for what agents read."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One tool that may be shown, if nobody else claims its names."""

    tool: Tool
    names: names.Names
    exposed: ExposedTool
    digest_line: digest.Line
    """How the revision sees it: by what its upstream says of it, and what its owner makes of it."""


@dataclass(frozen=True, slots=True)
class Unapproved:
    """One tool that is left out until a person approves its definition."""

    server: str
    names: names.Names
    is_changed: bool
    """Whether another definition of it was approved."""


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
    flagged: tuple[SkippedTool, ...] = ()
    """What somebody should know of tools that are served."""
    noted: tuple[SkippedTool, ...] = ()
    """What of that does not depend on other servers."""
    unapproved: Mapping[str, Unapproved] = field(default_factory=dict)
    """By the tools' own names."""
    withheld: frozenset[str] = frozenset()
    """Every name of the tools that a suspended server names, whether it was ever listed or not."""
    beside: Shown | None = None
    """What it shows beside tools, where that is exposed."""

    @property
    def tools(self) -> tuple[ExposedTool, ...]:
        """The tools that agents see: those that at least one form of the common list shows."""
        return tuple(candidate.exposed for candidate in self._seen)

    @property
    def listed(self) -> Mapping[str, str]:
        """The names of its tools by the dotted names that lists show where only one claims them."""
        return _listed(self.candidates)

    @property
    def digest_lines(self) -> Iterator[digest.Line]:
        """How the revision sees the tools that agents can call, whether a list shows them or not.

        One whose listed names others claim too can be, by its whole name or where it needs none.
        """
        return (candidate.digest_line for candidate in self.candidates)

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
    found = ruling.ruled(meta, offer) if is_exposed else Ruling()
    shown = beside.shown(server.id, meta, offer, found.served, max_length)
    state, skip = State.SERVING, _refused(offer)
    if finding.trouble:
        state, skip = State.STALE, finding.trouble
    elif not found.served and (is_exposed or shown is None or shown.is_empty):
        state, skip = State.SKIPPED, _nothing_shown(meta, offer, found.left_out)
    timeout_s = float(meta.timeout_seconds)
    candidates = tuple(
        _candidate(server.id, tool, meta.prefix, max_length) for tool in found.served
    )
    return Exposure(
        server,
        finding,
        state,
        *_said(skip, server.fault),
        candidates=candidates,
        skipped=(*(tool.told for tool in found.left_out), *(shown.skipped if shown else ())),
        unmatched=found.unmatched,
        bare={tool.name: _route(server, tool, timeout_s) for tool in found.served},
        noted=(*(tool.told for tool in found.flagged), *flags.alone(_listed(candidates))),
        unapproved={
            tool: Unapproved(
                server.id, names.of(meta.prefix, tool, max_length=max_length), is_changed
            )
            for tool, is_changed in found.unapproved.items()
        },
        beside=shown,
    )


def _route(server: Server, tool: Tool, timeout_s: float) -> Route:
    schema = dict(tool.members).get("outputSchema")
    is_plain = schema is None or toolcheck.has_object_root(schema)
    lead = Lead(server.id, tool.name, tool.reads, tool.digest)
    return Route(server.id, tool.name, timeout_s, tool.annotations, is_plain, lead)


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
    return frozenset(name for found in called for name in found.each)


def _listed(candidates: Iterable[Candidate]) -> Mapping[str, str]:
    return {candidate.names.listed: candidate.tool.name for candidate in candidates}


def _candidate(server: str, tool: Tool, prefix: str, max_length: int) -> Candidate:
    called = names.of(prefix, tool.name, max_length=max_length)
    read = tool.digest if tool.worded is None else f"{tool.digest}+{tool.worded}"
    return Candidate(
        tool,
        called,
        ExposedTool(
            name=tool.name,
            exposed_name=called.listed,
            safe_name=called.safe,
            digest=tool.digest,
        ),
        digest.Line(called.listed, server, tool.name, read),
    )
