"""What of a snapshot is shown to a person, and how much of it at once."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from msgspec import UNSET, Raw, structs

from pointsman_contract import overview
from pointsman_contract.overview import Failure, LeftOut, Next, Overview, Server, Totals, View
from pointsman_contract.report import ExposedTool, Report, ServerReport, SkippedTool
from pointsman_router import listed
from pointsman_router.catalogue import Catalogue
from pointsman_router.listing import Line

# A screen or two of servers in one part.
SERVERS_MAX = 100
# What a person scrolls through, and what is written within a tenth of a second.
TOOLS_MAX = 200
DEFINITIONS_MAX_BYTES = 512 * 1024
# Of one server's tools that are left out, flagged or not there; more have one reason in common.
LEFT_OUT_MAX = 200
# So few tools are shown although nobody asked for one server.
FEW_TOOLS = 30
VIEWS_MAX = 100
# Longer than a server's id and a tool's name together.
FILTER_MAX_LENGTH = 400


@dataclass(frozen=True, slots=True)
class Moment:
    """What a router knows at one moment: report and catalogue are of one snapshot."""

    catalogue: Catalogue
    report: Report | None
    failures: tuple[Failure, ...] = ()
    unready: str | None = None


@dataclass(frozen=True, slots=True)
class Wish:
    """What somebody wants to see of it."""

    filter: str = ""
    """Words that all have to be met, in any case of their letters."""
    server: str | None = None
    """The only server to be shown."""
    tools: bool = False
    """Whether tools are wanted however many there are."""
    after: Next | None = None
    """What was shown already."""

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the filter, as they are compared."""
        return tuple(self.filter.casefold().split())


@dataclass(frozen=True, slots=True)
class _Match:
    """One server, and what of it the filter leaves."""

    entry: ServerReport
    tools: Sequence[ExposedTool]
    skipped: Sequence[SkippedTool]
    flagged: Sequence[SkippedTool]
    unmatched: Sequence[str]

    @property
    def size(self) -> int:
        """How much there is to be shown."""
        kinds: tuple[Sequence[object], ...] = (self.skipped, self.flagged, self.unmatched)
        return len(self.tools) + sum(len(each) for each in kinds)


def build(moment: Moment, wish: Wish) -> Overview:
    """Return what is to be shown: no server where the only one that is wanted is not there."""
    report = moment.report
    matches = [
        match
        for entry in (report.servers if report else ())
        if wish.server in (None, entry.id) and (match := _match(entry, moment, wish.words))
    ]
    is_detailed = (
        wish.tools or wish.server is not None or sum(each.size for each in matches) <= FEW_TOOLS
    )
    servers, following = _part(matches, moment, wish.after, is_detailed=is_detailed)
    is_whole = wish.server is None and wish.after is None
    return Overview(
        totals=_totals(report),
        matching=len(matches),
        instance=report.instance if report else None,
        started_at=report.started_at if report else None,
        catalogue=report.catalogue if report else None,
        fault=report.fault if report else None,
        unready=moment.unready,
        echo=moment.catalogue.echo,
        servers=servers,
        views=tuple(_views(report, wish.words))[:VIEWS_MAX] if report and is_whole else (),
        failures=tuple(
            failure
            for failure in moment.failures
            if wish.server in (None, failure.server)
            and _holds(wish.words, failure.server, failure.reason, failure.message)
        ),
        next=following,
    )


def _match(entry: ServerReport, moment: Moment, words: Sequence[str]) -> _Match | None:
    """Return what of a server all words are met in; None where that is nothing."""
    own = (entry.id, entry.state, entry.reason or "", entry.message or "", entry.prefix or "")
    # Where the server meets them all, so does all of it.
    missing = [word for word in words if not _holds([word], *own)]
    if not missing:
        return _Match(
            entry,
            entry.tools,
            entry.skipped_tools,
            entry.flagged_tools,
            entry.unmatched_allowed_tools,
        )
    exposure = moment.catalogue.exposures.get(entry.id)
    lines = exposure.lines if exposure else {}
    found = _Match(
        entry,
        [tool for tool in entry.tools if _is_met(missing, tool, lines.get(tool.name))],
        [tool for tool in entry.skipped_tools if _holds(missing, tool.name, tool.reason)],
        [tool for tool in entry.flagged_tools if _holds(missing, tool.name, tool.reason)],
        [name for name in entry.unmatched_allowed_tools if _holds(missing, name)],
    )
    return found if found.size else None


def _is_met(words: Sequence[str], tool: ExposedTool, line: Line | None) -> bool:
    named = (tool.exposed_name, tool.safe_name, tool.name)
    return _holds(words, *named) or (line is not None and _holds(words, *named, listed.title(line)))


def _holds(words: Iterable[str], *texts: str) -> bool:
    lowered = "\n".join(texts).casefold()
    return all(word in lowered for word in words)


@dataclass(slots=True)
class _Space:
    """How much of a part is still free."""

    tools: int = TOOLS_MAX
    definition_bytes: int = DEFINITIONS_MAX_BYTES

    def take(self, size_bytes: int) -> None:
        self.tools -= 1
        self.definition_bytes -= size_bytes

    @property
    def is_left(self) -> bool:
        return self.tools > 0 and self.definition_bytes > 0


def _part(
    matches: Sequence[_Match], moment: Moment, after: Next | None, *, is_detailed: bool
) -> tuple[tuple[Server, ...], Next | None]:
    """Return the servers of the part behind `after`, and where the next part begins."""
    servers: list[Server] = []
    space = _Space()
    for match in matches:
        id_ = match.entry.id
        told = after.after_tools if after and id_ == after.after else None
        if after and id_ <= after.after and told is None:
            continue
        if len(servers) == SERVERS_MAX or not space.is_left:
            return tuple(servers), Next(servers[-1].id)
        if not is_detailed:
            servers.append(_server(match))
            continue
        begin = told or 0
        wanted = match.tools[begin:]
        shown = _told(match.entry, wanted, moment, space)
        servers.append(_detailed(match, shown, space, is_continued=told is not None))
        if len(shown) < len(wanted):
            return tuple(servers), Next(id_, begin + len(shown))
    return tuple(servers), None


def _told(
    entry: ServerReport, tools: Iterable[ExposedTool], moment: Moment, space: _Space
) -> list[overview.Tool]:
    """Return as many tools as there is space for."""
    exposure = moment.catalogue.exposures.get(entry.id)
    shown: list[overview.Tool] = []
    for tool in tools:
        if not space.is_left:
            break
        line = exposure.lines.get(tool.name) if exposure else None
        said = listed.read(line) if line else listed.NOTHING
        space.take(len(said.input_schema) + len(said.output_schema or b""))
        shown.append(
            overview.Tool(
                name=tool.name,
                exposed_name=tool.exposed_name,
                safe_name=tool.safe_name,
                digest=tool.digest,
                title=said.title,
                description=said.description,
                input_schema=Raw(said.input_schema),
                output_schema=Raw(said.output_schema) if said.output_schema else UNSET,
            )
        )
    return shown


def _server(match: _Match) -> Server:
    """Return what is said of a server in any case."""
    entry = match.entry
    info = entry.server_info
    return Server(
        id=entry.id,
        state=entry.state,
        since=entry.since,
        generation=entry.generation,
        reason=entry.reason,
        message=entry.message,
        prefix=entry.prefix,
        protocol_version=entry.protocol_version,
        server_info=overview.ServerInfo(info.name, info.version) if info else None,
        tool_count=entry.tool_count,
        schema_bytes=entry.schema_bytes,
        skipped=_by_reason(entry.skipped_tools),
        flagged=_by_reason(entry.flagged_tools),
    )


def _detailed(
    match: _Match, tools: Iterable[overview.Tool], space: _Space, *, is_continued: bool
) -> Server:
    """Return what is said of a server whose tools are shown; what is left out is said once."""
    server = structs.replace(_server(match), is_detailed=True, tools=tuple(tools))
    if is_continued:
        return server
    skipped = tuple(_left_out(match.skipped))[:LEFT_OUT_MAX]
    flagged = tuple(_left_out(match.flagged))[: LEFT_OUT_MAX - len(skipped)]
    unmatched = tuple(match.unmatched)[: LEFT_OUT_MAX - len(skipped) - len(flagged)]
    told = len(skipped) + len(flagged) + len(unmatched)
    space.tools -= told
    return structs.replace(
        server,
        skipped_tools=skipped,
        flagged_tools=flagged,
        unmatched_allowed_tools=unmatched,
        untold=len(match.skipped) + len(match.flagged) + len(match.unmatched) - told,
    )


def _left_out(tools: Iterable[SkippedTool]) -> Iterator[LeftOut]:
    return (LeftOut(tool.name, tool.reason, tool.message, tool.digest) for tool in tools)


def _by_reason(tools: Iterable[SkippedTool]) -> dict[str, int]:
    return dict(sorted(Counter(tool.reason for tool in tools).items()))


def _views(report: Report, words: Sequence[str]) -> Iterator[View]:
    return (
        View(
            id=view.id,
            state=view.state,
            since=view.since,
            message=view.message,
            tool_count=view.tool_count,
            schema_bytes=view.schema_bytes,
            unmatched_servers=view.unmatched_servers[:LEFT_OUT_MAX],
            unmatched_tools=view.unmatched_tools[:LEFT_OUT_MAX],
        )
        for view in report.views
        if _holds(words, view.id, view.state, view.message or "")
    )


def _totals(report: Report | None) -> Totals:
    entries = report.servers if report else ()
    return Totals(
        states=Counter(entry.state for entry in entries),
        tools=sum(entry.tool_count for entry in entries),
        schema_bytes=sum(entry.schema_bytes for entry in entries),
        skipped=sum(len(entry.skipped_tools) for entry in entries),
        flagged=sum(len(entry.flagged_tools) for entry in entries),
        views=len(report.views) if report else 0,
    )
