"""What each view lists, and where its names lead."""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pointsman_contract import digest, view
from pointsman_contract.names import Names
from pointsman_contract.view import Discovery, NameForm, ViewMeta
from pointsman_router import barenames, departed, lineage, listing, metatools, shares
from pointsman_router.departed import Memory
from pointsman_router.exposure import Exposure, Route, Unapproved
from pointsman_router.lineage import Lineage
from pointsman_router.listing import Form, Line
from pointsman_router.registry import NamedView
from pointsman_router.shares import FORMS, Listed, Patterns, Share, Tool

# Of each view: a hundred of them remember as much as the whole catalogue does.
DEPARTED_MAX = 1_000
# Of revisions and of moves, of each view too: its servers' names move in the whole as well.
LINEAGE_MAX = 1_000


@dataclass(frozen=True, slots=True)
class Table:
    """One view as agents see it: what is listed is what can be called."""

    named: NamedView
    of: tuple[Exposure, ...]
    """Those of its servers that are there."""
    lines: Mapping[Form, tuple[Line, ...]]
    routes: Mapping[str, Route]
    revision: str
    """Of this list alone: what changes elsewhere does not change it."""
    document: str | None = None
    """The digest of the document in force."""
    tool_count: int = 0
    schema_bytes: int = 0
    """How much context its definitions cost."""
    unmatched_servers: tuple[str, ...] = ()
    unmatched_tools: tuple[str, ...] = ()
    departed: Memory = field(default_factory=dict)
    unapproved: Mapping[str, Unapproved] = field(default_factory=dict)
    """Every name of the tools that it would show if they were approved."""
    withheld: frozenset[str] = frozenset()
    """Every name that only a suspension hides, whether it was ever listed or not."""
    lineage: Lineage = field(default_factory=Lineage, compare=False)
    """What its agents may have chosen from before."""
    shares: Mapping[str, Share] = field(default_factory=dict, compare=False, repr=False)
    """What the next one need not make anew, by server."""
    renamed: Mapping[Tool, Tool] = field(default_factory=dict, compare=False, repr=False)
    """Those of its tools that go by their own names."""

    @property
    def searches(self) -> bool:
        """Whether its agents search for tools instead of listing them."""
        meta = None if self.named.skip else self.named.meta
        return meta is not None and meta.discovery is Discovery.SEARCH


def build(
    registered: Mapping[str, NamedView],
    exposures: Mapping[str, Exposure],
    routes: Mapping[str, Route],
    before: Mapping[str, Table],
    *,
    suspended: Collection[str],
    max_length: int,
    now_s: float,
) -> Mapping[str, Table]:
    """Return the table of each view; one of `before` that nothing has changed for stays.

    `exposures` and `routes` are those of the whole catalogue: no view shows or reaches more.
    """
    tables: dict[str, Table] = {}
    making = _Making(routes, max_length, _still(before.values(), exposures))
    for id_, named in registered.items():
        old, of = before.get(id_), _servers(named, exposures)
        # Whether others claim one of its names too shows in the exposure of a tool's server.
        is_kept = old is not None and old.named == named and _same(old.of, of)
        made = old if old is not None and is_kept else _made(named, of, old, making)
        tables[id_] = _following(_remembering(made, old, suspended, now_s), old, now_s)
    return tables


def became(table: Table, name: str) -> str | None:
    """Return what became of a name that leads nowhere in a view: `suspended`, `removed`, or None.

    That a server is suspended is known of each tool that it names, also where none was ever listed.
    """
    if reason := departed.reason(table.departed, name, None):
        return reason
    return departed.SUSPENDED if name in table.withheld else None


def _servers(named: NamedView, exposures: Mapping[str, Exposure]) -> tuple[Exposure, ...]:
    if named.meta is None or named.skip:
        return ()
    return tuple(exposures[id_] for id_ in named.meta.server_ids if id_ in exposures)


def _same(some: Sequence[Exposure], others: Sequence[Exposure]) -> bool:
    return len(some) == len(others) and all(a is b for a, b in zip(some, others, strict=True))


@dataclass(frozen=True, slots=True)
class _Making:
    """What all tables of one snapshot are made with."""

    routes: Mapping[str, Route]
    max_length: int
    listed: dict[str, Listed]
    """What is known of servers already; the first view of one adds it."""

    def of(self, exposure: Exposure) -> Listed:
        """Return what a list of the whole catalogue shows of a server."""
        id_ = exposure.server.id
        if id_ not in self.listed:
            self.listed[id_] = shares.listed(exposure, self.routes)
        return self.listed[id_]


def _still(before: Iterable[Table], exposures: Mapping[str, Exposure]) -> dict[str, Listed]:
    return {
        id_: share.listed
        for table in before
        for id_, share in table.shares.items()
        if exposures.get(id_) is share.listed.exposure
    }


def _made(named: NamedView, of: tuple[Exposure, ...], old: Table | None, making: _Making) -> Table:
    meta = named.meta
    if meta is None or named.skip:
        return Table(named, of, dict.fromkeys(FORMS, ()), {}, digest.revision(()))
    before = old or Table(named, (), dict.fromkeys(FORMS, ()), {}, "")
    patterns = Patterns(meta.tools)

    def matches(called: Names) -> bool:
        return patterns.match(called.each)

    is_asked_as_before = before.named.meta is not None and before.named.meta.tools == meta.tools
    taken = {
        exposure.server.id: shares.share(
            making.of(exposure),
            patterns,
            before.shares.get(exposure.server.id) if is_asked_as_before else None,
        )
        for exposure in of
    }
    tools = [tool for share in taken.values() for tool in share.tools]
    renamed: Mapping[Tool, Tool] = {}
    if meta.names is NameForm.BARE:
        bare = barenames.of(
            {tool.key: tool.candidate.names for tool in tools},
            of,
            matches,
            before.routes,
            taken=_taken(meta),
            max_length=making.max_length,
        )
        renamed = {
            tool: before.renamed.get(tool) or shares.renamed(tool, bare[tool.key])
            for tool in tools
            if tool.key in bare
        }
        tools = [renamed.get(tool, tool) for tool in tools]
    led = {name: tool.route for tool in tools for name in tool.leads}
    there = {exposure.server.meta.name for exposure in of if exposure.server.meta}
    return Table(
        named,
        of,
        lines={form: _sorted(tools, at, before.lines[form]) for at, form in enumerate(FORMS)},
        routes=led,
        revision=digest.revision(tool.revised for tool in tools),
        document=view.digest(meta),
        tool_count=len(tools),
        schema_bytes=sum(tool.candidate.tool.size_bytes for tool in tools),
        unmatched_servers=tuple(sorted(set(meta.servers) - there)),
        unmatched_tools=tuple(_unmatched(meta.tools, tools)),
        unapproved={
            name: each
            for exposure in of
            for tool, each in exposure.unapproved.items()
            if matches(each.names)
            for name in _all(meta, tool, each.names, making.max_length)
            if name not in led
        },
        withheld=frozenset(
            name
            for exposure in of
            for (_, tool), called in barenames.suspended(exposure, matches, making.max_length)
            for name in _all(meta, tool, called, making.max_length)
            if name not in led
        ),
        shares=taken,
        renamed=renamed,
    )


def _unmatched(patterns: Iterable[str], tools: Sequence[Tool]) -> Iterator[str]:
    asked = sorted(set(patterns))
    if tools and asked == [view.EVERYTHING]:
        return
    known = sorted({name for tool in tools for name in tool.called})
    for pattern in asked:
        begin = pattern.removesuffix(view.EVERYTHING)
        at = bisect_left(known, begin)
        if at == len(known) or not view.matches((pattern,), known[at]):
            yield pattern


def _taken(meta: ViewMeta) -> Collection[str]:
    """Return the names that are no tool's own where agents search for tools."""
    return metatools.NAMES if meta.discovery is Discovery.SEARCH else ()


def _all(meta: ViewMeta, tool: str, called: Names, max_length: int) -> Iterator[str]:
    """Return every name by which a view might show a tool."""
    yield from called.each
    if meta.names is NameForm.BARE:
        yield from barenames.own(tool, max_length).values()


def _sorted(tools: Iterable[Tool], at: int, before: tuple[Line, ...]) -> tuple[Line, ...]:
    shown = [tool for tool in tools if tool.order[at]]
    shown.sort(key=lambda tool: tool.order[at])
    return listing.unless_same(before, tuple([tool.line for tool in shown]))


def _remembering(made: Table, old: Table | None, suspended: Collection[str], now_s: float) -> Table:
    """Return `made` with what is remembered of names that the view had before."""
    if old is None or (made is old and not old.departed):
        return made
    memory = departed.remembered(
        old.departed,
        old.routes,
        made.routes,
        suspended={each.server.id for each in made.of}.intersection(suspended),
        now_s=now_s,
        at_most=DEPARTED_MAX,
    )
    return made if memory == made.departed else replace(made, departed=memory)


def _following(made: Table, old: Table | None, now_s: float) -> Table:
    """Return `made` with what its agents may have chosen from before."""
    if made is old:
        return made
    led = old.routes if old else {}
    before = old.lineage if old else Lineage()
    moved = lineage.moves(None, led, made.routes)
    return replace(
        made,
        lineage=lineage.advanced(
            before,
            made.revision,
            moved,
            now_s,
            revisions_max=LINEAGE_MAX,
            moves_max=LINEAGE_MAX,
        ),
    )
