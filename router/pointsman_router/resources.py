"""Whose a URI is, and what the lists of resources and templates show.

| a URI                                        | leads to                                        |
|----------------------------------------------|-------------------------------------------------|
| listed, or named by a tool, of one server    | that server, whatever others' templates say     |
| the same of several                          | nowhere; each of them is told                   |
| listed, but left out                         | nowhere                                         |
| spelled as clients normalise a listed one    | the listed one                                  |
| none of these, in the templates of one       | that server                                     |
| in the templates of several, or of none      | nowhere                                         |
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from pointsman_contract import names, rawjson
from pointsman_contract.report import ToolReason
from pointsman_router import entrycheck, entrylines, uritemplate
from pointsman_router.entries import Entries, Entry
from pointsman_router.eras import Revision
from pointsman_router.leftout import LeftOut
from pointsman_router.uritemplate import Template


@dataclass(frozen=True, slots=True)
class Route:
    """Where a resource is read, and by which of its spellings."""

    server: str
    uri: str
    timeout_s: float


@dataclass(frozen=True, slots=True)
class Suspended:
    """Whose it is, while nothing of that server is exposed."""

    server: str


Owner = Route | Suspended


@dataclass(frozen=True, slots=True)
class Line:
    """One resource or template, ready to be listed under its own URI."""

    uri: str
    renderings: Mapping[Revision, bytes]

    def render(self, revision: Revision) -> bytes:
        """Return the entry as JSON."""
        return self.renderings[entrylines.variant(revision)]


@dataclass(frozen=True, slots=True)
class Pattern:
    """A template, and whether what it stands for may be read: not where it is left out."""

    template: Template
    is_shown: bool


@dataclass(frozen=True, slots=True)
class Holding:
    """The resources and templates of one server; kept, they hold its URIs while it is suspended."""

    server: str
    timeout_s: float
    resources: tuple[Line, ...] = ()
    templates: tuple[Line, ...] = ()
    patterns: tuple[Pattern, ...] = ()
    spellings: Mapping[str, str | None] = field(default_factory=dict)
    """Every URI that it claims, and that by which it knows it; None: it leads nowhere."""
    skipped: tuple[LeftOut, ...] = ()
    suspended: bool = False

    @property
    def texts(self) -> Mapping[str, str | None]:
        """Every template that it claims, as `spellings` has the URIs."""
        return {
            pattern.template.text: pattern.template.text if pattern.is_shown else None
            for pattern in self.patterns
        }

    def owner(self, uri: str) -> Owner:
        """Return this server as the owner of `uri`."""
        if self.suspended:
            return Suspended(self.server)
        return Route(self.server, uri, self.timeout_s)


@dataclass(frozen=True, slots=True)
class Table:
    """Where every URI leads."""

    owners: Mapping[str, Owner | None]
    """By every URI that somebody claims; None: it leads nowhere, templates or not."""
    patterns: Mapping[str, tuple[tuple[Pattern, Holding], ...]]
    """By scheme."""
    template_owners: Mapping[str, Owner | None]
    """By the templates' own texts."""
    resources: tuple[Line, ...]
    templates: tuple[Line, ...]
    collisions: Mapping[str, tuple[LeftOut, ...]]
    """What each server claims that others claim too."""

    @property
    def routes(self) -> Mapping[str, Route]:
        """Where URIs lead; not those that only a template stands for."""
        return {uri: owner for uri, owner in self.owners.items() if isinstance(owner, Route)}


def hold(
    server: str,
    timeout_s: float,
    resources: Entries,
    templates: Entries,
    named: Iterable[str] = (),
) -> Holding:
    """Return what one server claims, rendered; it depends on no other server.

    `named` are URIs that its tools name: they may be read although no list shows them.
    """
    return Holding(
        server,
        timeout_s,
        resources=tuple(_line(server, entry) for entry in resources.entries),
        templates=tuple(_line(server, entry) for entry in templates.entries),
        patterns=tuple(_patterns(templates)),
        spellings=_spellings(resources, named),
        skipped=(*resources.skipped, *templates.skipped),
    )


def table(holdings: Iterable[Holding]) -> Table:
    """Return where URIs lead: one that several servers claim leads nowhere."""
    everybody = tuple(holdings)
    uris = _claimants((holding, holding.spellings) for holding in everybody)
    texts = _claimants((holding, holding.texts) for holding in everybody)
    patterns: defaultdict[str, list[tuple[Pattern, Holding]]] = defaultdict(list)
    for holding in everybody:
        for pattern in holding.patterns:
            patterns[pattern.template.scheme].append((pattern, holding))
    shown = [holding for holding in everybody if not holding.suspended]
    collisions = {
        holding.server: (
            *(_collision(uri, "resource") for uri in _shared(holding.spellings, uris)),
            *(_collision(text, "template") for text in _shared(holding.texts, texts)),
        )
        for holding in everybody
    }
    return Table(
        owners=_owners(uris),
        patterns={scheme: tuple(found) for scheme, found in patterns.items()},
        template_owners=_owners(texts),
        resources=_in_order(
            line for each in shown for line in each.resources if len(uris[line.uri]) == 1
        ),
        templates=_in_order(
            line for each in shown for line in each.templates if len(texts[line.uri]) == 1
        ),
        collisions={server: told for server, told in collisions.items() if told},
    )


def find(table: Table, uri: str) -> Owner | None:
    """Return whose `uri` is; None where it leads nowhere."""
    if uri in table.owners:
        return table.owners[uri]
    if len(uri) > entrycheck.URI_MAX_LENGTH:
        return None
    near = [
        (pattern, holding)
        for pattern, holding in table.patterns.get(uritemplate.scheme_of(uri), ())
        if uri.startswith(pattern.template.head)
    ]
    if not near:
        return None
    spelled = uritemplate.spelled(uri)
    matching = [claim for claim in near if uritemplate.stands_for(claim[0].template, spelled)]
    if len({holding.server for _, holding in matching}) != 1:
        return None
    return next((holding.owner(uri) for pattern, holding in matching if pattern.is_shown), None)


def find_template(table: Table, text: str) -> Owner | None:
    """Return whose completions a template or a URI gets; None where it leads nowhere."""
    if text in table.template_owners:
        return table.template_owners[text]
    return find(table, text)


def named_by(meta: bytes) -> str | None:
    """Return the resource that a tool's `_meta` names as its user interface, if one."""
    try:
        members = dict(rawjson.pairs(meta))
        inside = dict(rawjson.pairs(members["ui"])) if "ui" in members else {}
        uri = rawjson.string(inside.get("resourceUri", members.get("ui/resourceUri", b"null")))
    except rawjson.Malformed:
        return None
    return uri if names.is_exposable(uri) and len(uri) <= entrycheck.URI_MAX_LENGTH else None


_Spellings = Mapping[str, str | None]
_Claimants = Mapping[str, list[tuple[Holding, str | None]]]


def _line(server: str, entry: Entry) -> Line:
    return Line(entry.name, entrylines.rendered(entrylines.marked(entry, server)))


def _patterns(templates: Entries) -> Iterator[Pattern]:
    shown = {entry.name for entry in templates.entries}
    for text in sorted(templates.spelled):
        with suppress(uritemplate.InvalidTemplate):
            yield Pattern(uritemplate.parse(text), text in shown)


def _spellings(resources: Entries, named: Iterable[str]) -> _Spellings:
    listed = [entry.name for entry in resources.entries]
    spellings: dict[str, str | None] = dict.fromkeys(resources.spelled)
    spellings |= {uri: uri for uri in listed}
    alike: defaultdict[str, list[str]] = defaultdict(list)
    for uri in listed:
        alike[entrycheck.as_url(uri) or uri].append(uri)
    for url, uris in alike.items():
        spellings.setdefault(url, uris[0] if len(uris) == 1 else None)
    for uri in named:
        spellings.setdefault(uri, uri)
    return spellings


def _claimants(claims: Iterable[tuple[Holding, _Spellings]]) -> _Claimants:
    claimants: defaultdict[str, list[tuple[Holding, str | None]]] = defaultdict(list)
    for holding, spellings in claims:
        for spelling, own in spellings.items():
            claimants[spelling].append((holding, own))
    return claimants


def _owners(claimants: _Claimants) -> Mapping[str, Owner | None]:
    return {spelling: _owner(claims) for spelling, claims in claimants.items()}


def _owner(claims: Sequence[tuple[Holding, str | None]]) -> Owner | None:
    holding, own = claims[0]
    return holding.owner(own) if len(claims) == 1 and own is not None else None


def _shared(spellings: _Spellings, claimants: _Claimants) -> list[str]:
    """Return what of a server's own others claim too, in whichever spelling."""
    return sorted(
        {own or spelling for spelling, own in spellings.items() if len(claimants[spelling]) > 1}
    )


def _collision(name: str, what: str) -> LeftOut:
    return LeftOut(
        name,
        ToolReason.NAME_COLLISION,
        f"another server has this {what} too, so it leads nowhere: expose only one of them",
    )


def _in_order(lines: Iterable[Line]) -> tuple[Line, ...]:
    return tuple(sorted(lines, key=lambda line: line.uri.encode()))
