"""What each view lists, and where its names lead."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pointsman_contract import digest, labels, names, view
from pointsman_contract.view import Discovery, NameForm
from pointsman_router import departed
from pointsman_router.departed import Memory
from pointsman_router.exposure import Candidate, Exposure, Route
from pointsman_router.listing import Form, Line
from pointsman_router.registry import NamedView

# Of each view: a hundred of them remember as much as the whole catalogue does.
DEPARTED_MAX = 1_000
_FORMS = (Form.DOTTED, Form.SAFE)


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
    def called(self) -> tuple[str, str, str]:
        """Its names in the whole catalogue."""
        return _called(self.candidate)


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
        made = old if old is not None and is_kept else _made(named, of, routes, max_length)
        tables[id_] = _remembering(made, old, suspended, now_s)
    return tables


def became(table: Table, name: str) -> str | None:
    """Return what became of a name that this view once listed: `suspended`, `removed`, or None."""
    return departed.reason(table.departed, name, None)


def _servers(named: NamedView, exposures: Mapping[str, Exposure]) -> tuple[Exposure, ...]:
    if named.meta is None or named.skip:
        return ()
    ids = dict.fromkeys(
        labels.server_id(named.meta.namespace, name)
        for name in named.meta.servers
        # It would spell the identity of a server of another namespace.
        if "/" not in name
    )
    return tuple(exposures[id_] for id_ in ids if id_ in exposures)


def _same(some: Sequence[Exposure], others: Sequence[Exposure]) -> bool:
    return len(some) == len(others) and all(a is b for a, b in zip(some, others, strict=True))


def _made(
    named: NamedView, of: tuple[Exposure, ...], routes: Mapping[str, Route], max_length: int
) -> Table:
    meta = named.meta
    if meta is None or named.skip:
        return Table(named, of, dict.fromkeys(_FORMS, ()), {}, digest.revision(()))
    tools = [tool for exposure in of for tool in _matching(exposure, meta.tools)]
    led = {name: routes[name] for tool in tools for name in tool.called if name in routes}
    if meta.names is NameForm.BARE:
        bare = _bare(tools, max_length)
        tools = [_renamed(tool, bare[tool]) if tool in bare else tool for tool in tools]
        led |= {name: tool.route for tool, name in bare.items()}
    there = {exposure.server.meta.name for exposure in of if exposure.server.meta}
    return Table(
        named,
        of,
        lines={form: _sorted(tools, form) for form in _FORMS},
        routes=led,
        revision=digest.revision(map(_revised, tools)),
        document=view.digest(meta),
        tool_count=len(tools),
        schema_bytes=sum(tool.candidate.tool.size_bytes for tool in tools),
        unmatched_servers=tuple(sorted(set(meta.servers) - there)),
        unmatched_tools=tuple(_unmatched(meta.tools, tools)),
    )


def _matching(exposure: Exposure, patterns: Sequence[str]) -> Iterator[_Tool]:
    """Return those of a server's tools that a list of the whole catalogue shows, and that match."""
    # As `view.matches` does, at the pace that five hundred patterns and a server's tools need.
    whole = {pattern for pattern in patterns if not pattern.endswith(view.EVERYTHING)}
    begins = tuple(pattern[:-1] for pattern in patterns if pattern.endswith(view.EVERYTHING))
    for candidate in exposure.candidates:
        line = exposure.lines[candidate.tool.name]
        if not any(form in line.names for form in _FORMS):
            continue
        if any(name in whole or name.startswith(begins) for name in _called(candidate)):
            yield _Tool(candidate, line, exposure.bare[candidate.tool.name])


def _unmatched(patterns: Iterable[str], tools: Iterable[_Tool]) -> Iterator[str]:
    known = sorted({name for tool in tools for name in tool.called})
    for pattern in sorted(set(patterns)):
        begin = pattern.removesuffix(view.EVERYTHING)
        at = bisect_left(known, begin)
        if at == len(known) or not view.matches((pattern,), known[at]):
            yield pattern


def _bare(tools: Iterable[_Tool], max_length: int) -> Mapping[_Tool, str]:
    """Return the tools' own names, where nothing else in the view goes by the same one.

    A prefixed name goes before: it stays what it is, whatever another server calls its tools.
    """
    claims: defaultdict[str, set[_Tool]] = defaultdict(set)
    own = {tool: names.bare(tool.route.tool, max_length=max_length) for tool in tools}
    for tool, name in own.items():
        for claimed in (name, *tool.called):
            claims[claimed].add(tool)
    return {tool: name for tool, name in own.items() if len(claims[name]) == 1}


def _renamed(tool: _Tool, name: str) -> _Tool:
    return replace(tool, line=replace(tool.line, names=dict.fromkeys(_FORMS, name)))


def _called(candidate: Candidate) -> tuple[str, str, str]:
    called = candidate.names
    return called.dotted, called.listed, called.safe


def _sorted(tools: Iterable[_Tool], form: Form) -> tuple[Line, ...]:
    lines = (tool.line for tool in tools if form in tool.line.names)
    return tuple(sorted(lines, key=lambda line: line.names[form].encode()))


def _revised(tool: _Tool) -> digest.Line:
    listed = tool.line.names.get(Form.DOTTED) or tool.candidate.names.listed
    return digest.Line(listed, tool.route.server, tool.route.tool, tool.candidate.exposed.digest)


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
