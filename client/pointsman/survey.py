"""Everything that a router shows, in lines for a terminal."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import msgspec

from pointsman import envelope
from pointsman_contract.overview import Failure, LeftOut, Overview, Server, Tool, Totals, View
from pointsman_contract.report import State, printable

# As much of a description's first line as says what a tool is for.
SAYS_MAX_LENGTH = 160
# Beyond so many arguments only the schema tells.
ARGUMENTS_MAX = 12
_KIB = 1024

_STYLES = {State.SERVING: "green", State.STALE: "yellow", State.SKIPPED: "red"}
_DOING = {"listing": "listed", "call": "called"}


@dataclass(frozen=True, slots=True)
class Line:
    """One line, or several that belong together, and how it is marked."""

    text: str = ""
    style: str = ""


def lines(seen: Overview, *, schemas: bool) -> Iterator[Line]:
    """Yield all that there is to say; with `schemas` each tool's whole input schema."""
    yield from _router(seen)
    for server in seen.servers:
        yield Line()
        yield from _server(server, schemas=schemas)
    if not seen.servers:
        yield Line()
        yield Line("no server matches" if seen.totals.servers else "no servers")
    if seen.views:
        yield Line()
        shown, there = len(seen.views), seen.totals.views
        yield Line("views" if shown == there else f"views: {shown} of {there}", "bold")
        for view in seen.views:
            yield from _view(view)
    yield Line()
    yield Line("last errors" if seen.failures else "no errors", "bold" if seen.failures else "")
    for failure in seen.failures:
        yield from _failure(failure)


def as_json(seen: Overview) -> str:
    """Return the overview for programs."""
    return msgspec.json.format(msgspec.json.encode(seen), indent=2).decode() + "\n"


def _router(seen: Overview) -> Iterator[Line]:
    yield Line(f"router {_shown(seen.instance or 'without a catalogue yet')}", "bold")
    known = (("since", _time(seen.started_at)), ("catalogue", seen.catalogue))
    if said := ", ".join(f"{name} {_shown(value)}" for name, value in known if value):
        yield Line(said)
    if seen.unready:
        yield Line(f"not ready: {_shown(seen.unready)}", "red")
    if seen.fault:
        yield Line(f"the last good set of servers is held: {_shown(seen.fault)}", "yellow")
    yield Line(_counts(seen.totals))


def _counts(totals: Totals) -> str:
    states = ", ".join(
        f"{totals.states[state]} {state}" for state in State if totals.states.get(state)
    )
    parts = [
        _plural(totals.servers, "server") + (f" ({states})" if states else ""),
        _much(totals.tools, totals.schema_bytes),
        *([f"{totals.skipped} left out"] if totals.skipped else []),
        *([f"{totals.flagged} flagged"] if totals.flagged else []),
        *([_plural(totals.views, "view")] if totals.views else []),
    ]
    return "; ".join(parts)


def _server(server: Server, *, schemas: bool) -> Iterator[Line]:
    yield Line(f"{_shown(server.id)}  {server.state}", f"bold {_STYLES.get(server.state, '')}")
    if why := ": ".join(_shown(said) for said in (server.reason, server.message) if said):
        yield Line(f"  {why}", _STYLES.get(server.state, ""))
    info = server.server_info
    known = (
        ("prefix", server.prefix),
        ("protocol", server.protocol_version),
        ("calls itself", f"{info.name} {info.version}" if info else None),
        ("since", _time(server.since)),
    )
    facts = [f"{name} {_shown(value)}" for name, value in known if value]
    yield Line("  " + ", ".join([_much(server.tool_count, server.schema_bytes), *facts]), "dim")
    for tool in server.tools:
        yield from _tool(tool, schemas=schemas)
    yield from _left_out("left out", server.skipped_tools, "red")
    yield from _left_out("served, and flagged", server.flagged_tools, "yellow")
    if server.unmatched_allowed_tools:
        yield Line("  named in allowedTools or tools, but not there", "bold")
        yield from (Line(f"    {_shown(name)}") for name in server.unmatched_allowed_tools)
    if server.untold:
        yield Line(f"  and {server.untold} more: narrow the filter", "dim")


def _tool(tool: Tool, *, schemas: bool) -> Iterator[Line]:
    yield Line(f"  {_shown(tool.exposed_name)}  {_shown(tool.safe_name)}", "bold")
    if says := _first_line(tool.description) or tool.title:
        yield Line(f"    {_shown(says, SAYS_MAX_LENGTH)}")
    if schemas:
        yield Line(f"    {tool.digest}", "dim")
        for line in msgspec.json.format(bytes(tool.input_schema), indent=2).decode().split("\n"):
            yield Line(f"    {line}", "dim")
    else:
        yield Line(f"    ({_arguments(envelope.meaning(bytes(tool.input_schema)))})", "dim")


def _arguments(schema: object) -> str:
    """Return what a call takes: `query: string, limit?: integer`."""
    members = schema if isinstance(schema, Mapping) else {}
    required, properties = members.get("required"), members.get("properties")
    needed = required if isinstance(required, list) else []
    known = properties if isinstance(properties, Mapping) else {}
    said = [
        f"{_shown(str(name))}{'' if name in needed else '?'}: {_type(schema)}"
        for name, schema in list(known.items())[:ARGUMENTS_MAX]
    ]
    more = len(known) - len(said)
    return ", ".join([*said, *([f"and {more} more"] if more > 0 else [])])


def _type(schema: object) -> str:
    kind = schema.get("type") if isinstance(schema, Mapping) else None
    kinds = kind if isinstance(kind, list) else [kind]
    return _shown("|".join(each if isinstance(each, str) else "any" for each in kinds) or "any")


def _left_out(title: str, tools: Iterable[LeftOut], style: str) -> Iterator[Line]:
    told = [
        f"    {_shown(tool.name) or 'without a name'}  {_shown(tool.reason)}: "
        f"{_shown(tool.message)}{f' ({_shown(tool.digest)})' if tool.digest else ''}"
        for tool in tools
    ]
    if told:
        yield Line(f"  {title}", "bold")
        yield from (Line(each, style) for each in told)


def _view(view: View) -> Iterator[Line]:
    style = _STYLES.get(view.state, "")
    much = _much(view.tool_count, view.schema_bytes)
    yield Line(f"  {_shown(view.id)}  {view.state}  {much}", style)
    if view.message:
        yield Line(f"    {_shown(view.message)}", style)
    for what, names in (
        ("named, but no server", view.unmatched_servers),
        ("patterns that match no tool", view.unmatched_tools),
    ):
        if names:
            yield Line(f"    {what}: {', '.join(_shown(name) for name in names)}", "yellow")


def _failure(failure: Failure) -> Iterator[Line]:
    times = f", {failure.times} times" if failure.times > 1 else ""
    yield Line(
        f"  {_time(failure.at)}  {_shown(failure.server)}  {_shown(failure.reason)}"
        f" while it was {_DOING[failure.doing]}{times}"
    )
    yield Line(f"    {_shown(failure.message)}", "dim")


def _first_line(description: str) -> str:
    return description.strip().partition("\n")[0].strip()


def _shown(text: str, max_length: int = 400) -> str:
    return printable(text, max_length)


def _time(text: str | None) -> str:
    return f"{text.replace('T', ' ').removesuffix('Z').removesuffix('+00:00')} UTC" if text else ""


def _much(tools: int, schema_bytes: int) -> str:
    if not tools:
        return "no tools"
    size = f"{schema_bytes / _KIB:.1f} KiB" if schema_bytes >= _KIB else f"{schema_bytes} bytes"
    return f"{_plural(tools, 'tool')}, {size}"


def _plural(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
