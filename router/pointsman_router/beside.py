"""What is shown beside tools: of one server, and of all of them together."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pointsman_contract import digest
from pointsman_contract.meta import Exposed, Meta
from pointsman_contract.report import SkippedTool
from pointsman_router import prompts, resources
from pointsman_router.eras import Revision
from pointsman_router.listing import Form
from pointsman_router.offer import Offer, Tool


@dataclass(frozen=True, slots=True)
class Shown:
    """The prompts, resources and templates of one server."""

    prompt_holding: prompts.Holding
    resource_holding: resources.Holding
    own_resources: resources.Table
    """Where URIs lead on the endpoint of this server alone."""

    @property
    def is_empty(self) -> bool:
        """Whether no list shows any of it."""
        return not (
            self.prompt_holding.prompts
            or self.resource_holding.resources
            or self.resource_holding.templates
        )

    @property
    def skipped(self) -> tuple[SkippedTool, ...]:
        """What of it is left out, whatever others show."""
        return tuple(
            out.told for out in (*self.prompt_holding.skipped, *self.resource_holding.skipped)
        )


@dataclass(frozen=True, slots=True)
class Together:
    """What all servers show beside tools, and where it leads."""

    of: tuple[Shown, ...]
    prompt_table: prompts.Table
    resource_table: resources.Table
    lines: tuple[digest.Line, ...]
    """As the revision of a catalogue sees it."""


def shown(
    server: str, meta: Meta, offer: Offer, allowed: Iterable[Tool], max_length: int
) -> Shown | None:
    """Return what a server shows beside its tools; None where nothing is to be exposed."""
    if meta.expose == (Exposed.TOOLS,):
        return None
    timeout_s = float(meta.timeout_seconds)
    held_prompts = prompts.Holding(server)
    if meta.exposes(Exposed.PROMPTS):
        held_prompts = prompts.hold(server, meta.prefix, timeout_s, offer.prompts, max_length)
    held = resources.Holding(server, timeout_s)
    if meta.exposes(Exposed.RESOURCES):
        named = _named(allowed)
        held = resources.hold(server, timeout_s, offer.resources, offer.templates, named)
    return Shown(held_prompts, held, resources.table([held]))


def withheld(before: Shown) -> Shown:
    """Return what a suspended server still claims: its URIs lead to nobody else meanwhile."""
    if before.resource_holding.suspended:
        return before
    held = replace(before.resource_holding, suspended=True)
    return Shown(prompts.Holding(held.server), held, resources.table([held]))


def together(everybody: Iterable[Shown | None], before: Together | None = None) -> Together:
    """Return what these show together; `before` itself where they are the same."""
    of = tuple(shown for shown in everybody if shown is not None)
    if before and _same(of, before.of):
        return before
    prompt_table = prompts.table(shown.prompt_holding for shown in of)
    resource_table = resources.table(shown.resource_holding for shown in of)
    return Together(of, prompt_table, resource_table, tuple(_lines(prompt_table, resource_table)))


def collisions(of: Together, server: str) -> tuple[SkippedTool, ...]:
    """Return what of a server is missing because others claim it too."""
    found = (
        of.prompt_table.collisions.get(server, ()),
        of.resource_table.collisions.get(server, ()),
    )
    return tuple(out.told for each in found for out in each)


def _named(allowed: Iterable[Tool]) -> list[str]:
    metas = (dict(tool.members).get("_meta") for tool in allowed)
    uris = (resources.named_by(meta) for meta in metas if meta is not None)
    return [uri for uri in uris if uri is not None]


def _same(some: Sequence[Shown], others: Sequence[Shown]) -> bool:
    return len(some) == len(others) and all(a is b for a, b in zip(some, others, strict=True))


def _lines(prompt_table: prompts.Table, resource_table: resources.Table) -> Iterable[digest.Line]:
    for prompt in prompt_table.lines[Form.DOTTED]:
        name = prompt.names[Form.DOTTED]
        route = prompt_table.routes[name]
        yield digest.Line(name, route.server, route.prompt, _digest(prompt.rest[Revision.MODERN]))
    for owners, lines in (
        (resource_table.owners, resource_table.resources),
        (resource_table.template_owners, resource_table.templates),
    ):
        for line in lines:
            owner = owners[line.uri]
            server = owner.server if owner else ""
            shown = _digest(line.renderings[Revision.MODERN])
            yield digest.Line(line.uri, server, line.uri, shown)


def _digest(rendered: bytes) -> str:
    return f"sha256:{hashlib.sha256(rendered).hexdigest()}"
