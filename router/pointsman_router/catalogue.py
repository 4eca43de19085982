"""Which name leads where, and what every list shows."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType

from pointsman_contract import digest, names
from pointsman_contract.report import ServerReason, SkippedTool, State, ToolReason, printable
from pointsman_router import alike, beside, departed, exposure, lineage, listing, views
from pointsman_router.alike import Groups
from pointsman_router.beside import Together
from pointsman_router.departed import Memory
from pointsman_router.exposure import Exposure, Route, Unapproved
from pointsman_router.lineage import Lineage
from pointsman_router.listing import Form, Line
from pointsman_router.offer import Finding
from pointsman_router.registry import Registry
from pointsman_router.views import Table


@dataclass(frozen=True, slots=True)
class Catalogue:
    """One snapshot of everything that agents can list and call."""

    revision: str
    echo: bool
    routes: Mapping[str, Route]
    exposures: Mapping[str, Exposure]
    lines: Mapping[Form, tuple[Line, ...]]
    departed: Memory
    """Of the tools."""
    withheld: Mapping[str, str]
    """Every name that only a suspension hides, and of which server; `*` names none."""
    beside: Together
    """What is shown beside tools, and where it leads."""
    ttl_ms: int | None = None
    """How long the shortest-lived of the upstreams' lists is good; None where none says."""
    private: bool = False
    """Whether an upstream says that its list is not for everybody."""
    fault: str | None = None
    departed_prompts: Memory = field(default_factory=dict)
    departed_uris: Memory = field(default_factory=dict)
    views: Mapping[str, Table] = field(default_factory=dict)
    """By id."""
    unapproved: Mapping[str, Unapproved] = field(default_factory=dict)
    """Every name of the tools that wait to be approved."""
    look_alike: Groups = field(default_factory=dict)
    """Of the servers that look like each other."""
    lineage: Lineage = field(default_factory=Lineage, compare=False)
    """What agents may have chosen from before; two that show the same are equal whatever it was."""

    def url(self, server: str) -> str | None:
        """Return where this snapshot has the upstream of a server."""
        exposure = self.exposures.get(server)
        return exposure.server.meta.url if exposure and exposure.server.meta else None


def empty() -> Catalogue:
    """Return the catalogue before anything was read: nothing to list, nothing to call."""
    lines: Mapping[Form, tuple[Line, ...]] = {Form.DOTTED: (), Form.SAFE: ()}
    revision = digest.revision(())
    return Catalogue(revision, False, {}, {}, lines, {}, {}, beside.together(()))


def build(
    registry: Registry,
    findings: Mapping[str, Finding],
    *,
    max_length: int,
    now_s: float,
    previous: Catalogue | None = None,
) -> Catalogue:
    """Return the snapshot that these servers and their offers make.

    What of `previous` still holds is taken over as it is; the result is the same without it, but
    for the memory of departed names. `now_s` is any clock that only goes forward.
    """
    before = previous or empty()
    judged = {
        server.id: exposure.judge(
            server, findings.get(server.id, _NOTHING), before.exposures.get(server.id), max_length
        )
        for server in registry.servers.values()
    }
    owners = _owners(judged.values())
    shown_beside = beside.together((shown.beside for shown in judged.values()), before.beside)
    look_alike = alike.groups(judged.values(), before.look_alike)
    told = alike.told(look_alike)
    exposures = {
        id_: _resolved(shown, owners, beside.collisions(shown_beside, id_), told.get(id_, ()))
        for id_, shown in judged.items()
    }
    offers = [shown.finding.offer for shown in exposures.values() if shown.finding.offer]
    routes = {
        name: exposures[server].bare[tool]
        for name, claimants in owners.items()
        if len(claimants) == 1
        for server, tool in claimants
    }
    suspended = _suspended(registry)
    revision = digest.revision(
        (
            *(line for shown in exposures.values() for line in shown.digest_lines),
            *shown_beside.lines,
        )
    )
    remembered = partial(departed.remembered, suspended=suspended, now_s=now_s)
    return Catalogue(
        revision=revision,
        echo=registry.echo,
        routes=MappingProxyType(routes),
        exposures=MappingProxyType(exposures),
        lines={
            form: listing.unless_same(before.lines[form], _sorted_lines(exposures.values(), form))
            for form in (Form.DOTTED, Form.SAFE)
        },
        departed=remembered(before.departed, before.routes, routes, at_most=departed.DEPARTED_MAX),
        withheld={name: id_ for id_, shown in exposures.items() for name in sorted(shown.withheld)},
        beside=shown_beside,
        ttl_ms=min((each.ttl_ms for each in offers if each.ttl_ms is not None), default=None),
        private=any(each.private for each in offers),
        fault=registry.fault,
        departed_prompts=remembered(
            before.departed_prompts,
            before.beside.prompt_table.routes,
            shown_beside.prompt_table.routes,
            at_most=departed.DEPARTED_MAX,
        ),
        departed_uris=remembered(
            before.departed_uris,
            before.beside.resource_table.routes,
            shown_beside.resource_table.routes,
            at_most=departed.DEPARTED_URIS_MAX,
        ),
        views=views.build(
            registry.views,
            exposures,
            routes,
            before.views,
            suspended=suspended,
            max_length=max_length,
            now_s=now_s,
        ),
        unapproved={
            name: waiting
            for shown in exposures.values()
            for waiting in shown.unapproved.values()
            for name in waiting.names.each
        },
        look_alike=look_alike,
        lineage=lineage.advanced(
            before.lineage, revision, _moves(before, routes, exposures), now_s
        ),
    )


def became(catalogue: Catalogue, name: str, server: str | None = None) -> str | None:
    """Return what became of the tool whose name leads nowhere: `suspended`, `removed`, or None.

    `server` is the only one, on its own endpoint, where `name` is the tool's own. A suspended
    server's calls say so on a replica that never listed it, too, for every tool that it names.
    """
    common = _common_name(catalogue, name, server)
    if common is None:
        return None
    if reason := departed.reason(catalogue.departed, common, server):
        return reason
    withheld_by = catalogue.withheld.get(common)
    return departed.SUSPENDED if withheld_by and server in (None, withheld_by) else None


def prompt_became(catalogue: Catalogue, name: str, server: str | None = None) -> str | None:
    """Return what became of the prompt whose name leads nowhere, as `became` does of a tool."""
    common = _common_name(catalogue, name, server)
    return departed.reason(catalogue.departed_prompts, common, server) if common else None


def uri_became(
    catalogue: Catalogue, uri: str, server: str | None = None, owner: str | None = None
) -> str | None:
    """Return what became of the resource whose URI leads nowhere, as `became` does of a tool.

    `owner` is the server that still claims it, if one does. What only a template stood for was
    never written down, so that nothing is known of it once that is gone.
    """
    claiming = catalogue.exposures.get(owner) if owner else None
    if claiming and claiming.state is State.SUSPENDED:
        return departed.SUSPENDED
    return departed.reason(catalogue.departed_uris, uri, server)


def _common_name(catalogue: Catalogue, name: str, server: str | None) -> str | None:
    """Return by which name everybody knows what goes by `name` on the endpoint of a server."""
    if server is None:
        return name
    exposure = catalogue.exposures.get(server)
    meta = exposure.server.meta if exposure else None
    return names.dotted(meta.prefix, name) if meta else None


def _suspended(registry: Registry) -> frozenset[str]:
    return frozenset(
        id_
        for id_, server in registry.servers.items()
        if server.skip and server.skip.reason is ServerReason.SUSPENDED
    )


def _moves(
    before: Catalogue, routes: Mapping[str, Route], exposures: Mapping[str, Exposure]
) -> Iterator[lineage.Move]:
    """Yield what moved since `before`, on the common endpoint and on that of each server."""
    yield from lineage.moves(None, before.routes, routes)
    for id_ in before.exposures.keys() | exposures.keys():
        old, new = before.exposures.get(id_), exposures.get(id_)
        if old is not new:
            yield from lineage.moves(id_, old.bare if old else {}, new.bare if new else {})


_NOTHING = Finding(None, None)
_Owners = Mapping[str, set[tuple[str, str]]]


def _owners(exposures: Iterable[Exposure]) -> _Owners:
    owners: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
    for shown in exposures:
        for candidate in shown.candidates:
            claimant = (shown.server.id, candidate.tool.name)
            for name in candidate.names.each:
                owners[name].add(claimant)
    return owners


def _resolved(
    judged: Exposure,
    owners: _Owners,
    of_others: Sequence[SkippedTool],
    looks_alike: Sequence[SkippedTool],
) -> Exposure:
    """Return `judged` with its lines: a name that others claim too is shown in no list."""
    lines: dict[str, Line] = {}
    collisions = list(of_others)
    for candidate in judged.candidates:
        tool = candidate.tool
        shown = {Form.BARE: tool.name}
        for form, name in (
            (Form.DOTTED, candidate.names.listed),
            (Form.SAFE, candidate.names.safe),
        ):
            if len(owners[name]) == 1:
                shown[form] = name
            else:
                collisions.append(_collision(tool.name, name))
        old = judged.lines.get(tool.name)
        lines[tool.name] = (
            old if old and old.names == shown else listing.line(tool, judged.server.id, shown)
        )
    kept = (tool for tool in judged.skipped if tool.reason != ToolReason.NAME_COLLISION)
    skipped, flagged = (*kept, *collisions), (*judged.noted, *looks_alike)
    if (lines, skipped, flagged) == (judged.lines, judged.skipped, judged.flagged):
        return judged
    return replace(judged, lines=lines, skipped=skipped, flagged=flagged)


def _collision(tool: str, name: str) -> SkippedTool:
    return SkippedTool(
        name=printable(tool),
        reason=ToolReason.NAME_COLLISION,
        message=f"another tool claims the name {printable(name)} too: change spec.prefix of one",
    )


def _sorted_lines(exposures: Iterable[Exposure], form: Form) -> tuple[Line, ...]:
    shown = (line for shown in exposures for line in shown.lines.values() if form in line.names)
    return tuple(sorted(shown, key=lambda line: line.names[form].encode()))
