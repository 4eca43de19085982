"""What of each server a view takes, as far as that is the same from one snapshot to the next."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pointsman_contract import digest, view
from pointsman_router.exposure import Candidate, Exposure, Route
from pointsman_router.listing import Form, Line

FORMS = (Form.DOTTED, Form.SAFE)
"""In which a view lists its tools."""


@dataclass(frozen=True, slots=True, eq=False)
class Tool:
    """One tool as a view shows it; equal to itself alone."""

    candidate: Candidate
    line: Line
    route: Route
    called: tuple[str, str, str]
    """Its names in the whole catalogue."""
    leads: tuple[str, ...]
    """The names that lead to it."""
    order: tuple[bytes, ...]
    """What puts it in its place in each form of list; nothing where that does not show it."""
    revised: digest.Line
    """How the revision sees it: as that of the whole catalogue does."""

    @property
    def key(self) -> tuple[str, str]:
        """Of which server it is which tool."""
        return self.route.server, self.route.tool


@dataclass(frozen=True, slots=True)
class Listed:
    """What a list of the whole catalogue shows of one server; the same for every view."""

    exposure: Exposure
    tools: tuple[Tool, ...]


def listed(exposure: Exposure, routes: Mapping[str, Route]) -> Listed:
    """Return what a list of the whole catalogue shows of a server; `routes` are that one's."""
    return Listed(exposure, tuple(_tools(exposure, routes)))


@dataclass(frozen=True, slots=True)
class Share:
    """What a view takes of one server."""

    listed: Listed
    tools: tuple[Tool, ...]


class Patterns:
    """What `view.matches` does, at the pace that five hundred patterns and many tools need."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._whole = {each for each in patterns if not each.endswith(view.EVERYTHING)}
        self._begins = tuple(each[:-1] for each in patterns if each.endswith(view.EVERYTHING))

    def match(self, called: Iterable[str]) -> bool:
        """Say whether one of the patterns matches one of the names of a tool."""
        return any(name in self._whole or name.startswith(self._begins) for name in called)


def _tools(exposure: Exposure, routes: Mapping[str, Route]) -> Iterator[Tool]:
    """Return those of a server's tools that a list of the whole catalogue shows."""
    for candidate in exposure.candidates:
        line = exposure.lines[candidate.tool.name]
        order = _order(line)
        if any(order):
            called = candidate.names.each
            yield Tool(
                candidate,
                line,
                exposure.bare[candidate.tool.name],
                called,
                tuple(name for name in dict.fromkeys(called) if name in routes),
                order,
                candidate.digest_line,
            )


def share(listed: Listed, patterns: Patterns, before: Share | None) -> Share:
    """Return what of a server matches; `before` itself where that is known of it already."""
    if before and before.listed is listed:
        return before
    matching = tuple(tool for tool in listed.tools if patterns.match(tool.called))
    # Views that show all of a server hold its tools in common.
    return Share(listed, listed.tools if len(matching) == len(listed.tools) else matching)


def renamed(tool: Tool, called: Mapping[Form, str]) -> Tool:
    """Return a tool as a view shows it that lists it by these names."""
    line = replace(tool.line, names=called)
    return replace(
        tool,
        line=line,
        leads=(*tool.leads, *called.values()),
        order=_order(line),
        revised=tool.revised._replace(listed=called[Form.DOTTED]),
    )


def _order(line: Line) -> tuple[bytes, ...]:
    return tuple(line.names.get(form, "").encode() for form in FORMS)
