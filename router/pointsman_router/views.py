"""What each view lists, and where its names lead."""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pointsman_contract import digest, names, view
from pointsman_contract.view import Discovery, NameForm, ViewMeta
from pointsman_router import barenames, departed, lineage, metatools
from pointsman_router.departed import Memory
from pointsman_router.exposure import Candidate, Exposure, Route, Unapproved
from pointsman_router.lineage import Lineage
from pointsman_router.listing import Form, Line
from pointsman_router.registry import NamedView

# Of each view: a hundred of them remember as much as the whole catalogue does.
DEPARTED_MAX = 1_000
_FORMS = (Form.DOTTED, Form.SAFE)
_NO_NAMES: Mapping[Form, str] = {}


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
    lineage: Lineage = field(default_factory=Lineage, compare=False)
    """What its agents may have chosen from before."""

    @property
    def searches(self) -> bool:
        """Whether its agents search for tools instead of listing them."""
        meta = None if self.named.skip else self.named.meta
        return meta is not None and meta.discovery is Discovery.SEARCH


@dataclass(frozen=True, slots=True, eq=False)
class _Tool:
    """One tool of a view; equal to itself alone."""

    candidate: Candidate
    line: Line
    route: Route

    @property
    def key(self) -> barenames.Key:
        """Of which server it is which tool."""
        return self.route.server, self.route.tool

    @property
    def called(self) -> tuple[str, str, str]:
        """Its names in the whole catalogue."""
        return _names(self.candidate.names)


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
    for id_, named in registered.items():
        old, of = before.get(id_), _servers(named, exposures)
        # Whether others claim one of its names too shows in the exposure of a tool's server.
        is_kept = old is not None and old.named == named and _same(old.of, of)
        made = (
            old
            if old is not None and is_kept
            else _made(named, of, routes, old.routes if old else {}, max_length)
        )
        tables[id_] = _following(_remembering(made, old, suspended, now_s), old, now_s)
    return tables


def became(table: Table, name: str) -> str | None:
    """Return what became of a name that this view once listed: `suspended`, `removed`, or None."""
    return departed.reason(table.departed, name, None)


def _servers(named: NamedView, exposures: Mapping[str, Exposure]) -> tuple[Exposure, ...]:
    if named.meta is None or named.skip:
        return ()
    return tuple(exposures[id_] for id_ in named.meta.server_ids if id_ in exposures)


def _same(some: Sequence[Exposure], others: Sequence[Exposure]) -> bool:
    return len(some) == len(others) and all(a is b for a, b in zip(some, others, strict=True))


def _made(
    named: NamedView,
    of: tuple[Exposure, ...],
    routes: Mapping[str, Route],
    led_before: Mapping[str, Route],
    max_length: int,
) -> Table:
    meta = named.meta
    if meta is None or named.skip:
        return Table(named, of, dict.fromkeys(_FORMS, ()), {}, digest.revision(()))
    patterns = _Patterns(meta.tools)
    tools = [tool for exposure in of for tool in _matching(exposure, patterns)]
    waiting = [
        (tool, each)
        for exposure in of
        for tool, each in exposure.unapproved.items()
        if patterns.match(_names(each.names))
    ]
    led = {name: routes[name] for tool in tools for name in tool.called if name in routes}
    if meta.names is NameForm.BARE:
        bare = barenames.of(
            {tool.key: tool.candidate.names for tool in tools},
            of,
            lambda called: patterns.match(_names(called)),
            led_before,
            taken=_taken(meta),
            max_length=max_length,
        )
        tools = [_renamed(tool, bare[tool.key]) if tool.key in bare else tool for tool in tools]
        led |= {
            name: tool.route for tool in tools for name in bare.get(tool.key, _NO_NAMES).values()
        }
    there = {exposure.server.meta.name for exposure in of if exposure.server.meta}
    return Table(
        named,
        of,
        lines={form: _sorted(tools, form) for form in _FORMS},
        routes=led,
        revision=digest.revision(_revised(tool) for tool in tools),
        document=view.digest(meta),
        tool_count=len(tools),
        schema_bytes=sum(tool.candidate.tool.size_bytes for tool in tools),
        unmatched_servers=tuple(sorted(set(meta.servers) - there)),
        unmatched_tools=tuple(_unmatched(meta.tools, tools)),
        unapproved={
            name: each
            for tool, each in waiting
            for name in (*_names(each.names), *_own_where(meta, tool, max_length).values())
            if name not in led
        },
    )


class _Patterns:
    """What `view.matches` does, at the pace that five hundred patterns and many tools need."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._whole = {each for each in patterns if not each.endswith(view.EVERYTHING)}
        self._begins = tuple(each[:-1] for each in patterns if each.endswith(view.EVERYTHING))

    def match(self, called: Iterable[str]) -> bool:
        return any(name in self._whole or name.startswith(self._begins) for name in called)


def _matching(exposure: Exposure, patterns: _Patterns) -> Iterator[_Tool]:
    """Return those of a server's tools that a list of the whole catalogue shows, and that match."""
    for candidate in exposure.candidates:
        line = exposure.lines[candidate.tool.name]
        if not any(form in line.names for form in _FORMS):
            continue
        if patterns.match(_names(candidate.names)):
            yield _Tool(candidate, line, exposure.bare[candidate.tool.name])


def _unmatched(patterns: Iterable[str], tools: Iterable[_Tool]) -> Iterator[str]:
    known = sorted({name for tool in tools for name in tool.called})
    for pattern in sorted(set(patterns)):
        begin = pattern.removesuffix(view.EVERYTHING)
        at = bisect_left(known, begin)
        if at == len(known) or not view.matches((pattern,), known[at]):
            yield pattern


def _taken(meta: ViewMeta) -> Collection[str]:
    """Return the names that are no tool's own where agents search for tools."""
    return metatools.NAMES if meta.discovery is Discovery.SEARCH else ()


def _own_where(meta: ViewMeta, tool: str, max_length: int) -> Mapping[Form, str]:
    return barenames.own(tool, max_length) if meta.names is NameForm.BARE else _NO_NAMES


def _renamed(tool: _Tool, called: Mapping[Form, str]) -> _Tool:
    return replace(tool, line=replace(tool.line, names=called))


def _names(called: names.Names) -> tuple[str, str, str]:
    return called.dotted, called.listed, called.safe


def _sorted(tools: Iterable[_Tool], form: Form) -> tuple[Line, ...]:
    lines = (tool.line for tool in tools if form in tool.line.names)
    return tuple(sorted(lines, key=lambda line: line.names[form].encode()))


def _revised(tool: _Tool) -> digest.Line:
    """Return how the revision sees a tool: as that of the whole catalogue does."""
    line = tool.candidate.digest_line
    return replace(line, listed=tool.line.names.get(Form.DOTTED, line.listed))


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
    return replace(made, lineage=lineage.advanced(before, made.revision, moved, now_s))
