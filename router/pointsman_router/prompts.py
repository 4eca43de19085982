"""Which prompt's name leads where, and what a list of prompts shows."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pointsman_contract import names, rawjson
from pointsman_contract.report import ToolReason, printable
from pointsman_router import entrylines
from pointsman_router.entries import Entries, Entry
from pointsman_router.leftout import LeftOut
from pointsman_router.listing import Form, Line


@dataclass(frozen=True, slots=True)
class Route:
    """Where a prompt is asked for."""

    server: str
    prompt: str
    """The prompt's own name, as its upstream spells it."""
    timeout_s: float


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt, ready to be shown if nobody else claims its names."""

    route: Route
    names: names.Names
    line: Line
    """Its line under its own name."""


@dataclass(frozen=True, slots=True)
class Holding:
    """The prompts of one server."""

    server: str
    prompts: tuple[Prompt, ...] = ()
    skipped: tuple[LeftOut, ...] = ()

    @property
    def bare(self) -> Mapping[str, Route]:
        """Where the prompts' own names lead, on the endpoint of this server alone."""
        return {prompt.route.prompt: prompt.route for prompt in self.prompts}

    @property
    def lines(self) -> tuple[Line, ...]:
        """The list of that endpoint."""
        return _in_order((prompt.line for prompt in self.prompts), Form.BARE)


@dataclass(frozen=True, slots=True)
class Table:
    """Where every prompt's name leads."""

    routes: Mapping[str, Route]
    lines: Mapping[Form, tuple[Line, ...]]
    """In order of the names of each form."""
    collisions: Mapping[str, tuple[LeftOut, ...]]
    """What of each server is missing from a list because others claim its name too."""


def hold(server: str, prefix: str, timeout_s: float, offered: Entries, max_length: int) -> Holding:
    """Return the prompts of one server, rendered; it depends on no other server."""
    return Holding(
        server,
        tuple(_prompt(server, prefix, timeout_s, entry, max_length) for entry in offered.entries),
        offered.skipped,
    )


def table(holdings: Iterable[Holding]) -> Table:
    """Return where the prompts' names lead: a name claimed twice leads nowhere."""
    claimed = [prompt for holding in holdings for prompt in holding.prompts]
    claimants: defaultdict[str, set[Route]] = defaultdict(set)
    for prompt in claimed:
        for name in prompt.names.each:
            claimants[name].add(prompt.route)
    lines: dict[Form, list[Line]] = {Form.DOTTED: [], Form.SAFE: []}
    collisions: defaultdict[str, list[LeftOut]] = defaultdict(list)
    for prompt in claimed:
        for form, name in ((Form.DOTTED, prompt.names.listed), (Form.SAFE, prompt.names.safe)):
            if len(claimants[name]) == 1:
                lines[form].append(Line({form: name}, prompt.line.rest))
            else:
                collisions[prompt.route.server].append(_collision(prompt.route.prompt, name))
    return Table(
        {name: route for name, routes in claimants.items() if len(routes) == 1 for route in routes},
        {form: _in_order(shown, form) for form, shown in lines.items()},
        {server: tuple(left_out) for server, left_out in collisions.items()},
    )


def _prompt(server: str, prefix: str, timeout_s: float, entry: Entry, max_length: int) -> Prompt:
    origin = {entrylines.PROMPT_KEY: rawjson.quote(entry.name)}
    members = entrylines.marked(entry, server, origin)
    del members["name"]
    rest = {
        revision: b"," + object_[1:] for revision, object_ in entrylines.rendered(members).items()
    }
    return Prompt(
        Route(server, entry.name, timeout_s),
        names.of(prefix, entry.name, max_length=max_length),
        Line({Form.BARE: entry.name}, rest),
    )


def _collision(prompt: str, name: str) -> LeftOut:
    return LeftOut(
        prompt,
        ToolReason.NAME_COLLISION,
        f"another prompt claims the name {printable(name)} too: change spec.prefix of one",
    )


def _in_order(lines: Iterable[Line], form: Form) -> tuple[Line, ...]:
    return tuple(sorted(lines, key=lambda line: line.names[form].encode()))
