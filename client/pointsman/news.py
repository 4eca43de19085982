"""What a router's report says: every server in a table, every view, and later what is new."""

from collections.abc import Iterable, Iterator, Sequence

from pointsman.notices import Notice
from pointsman_contract.report import ExposedTool, Report, ServerReport, State, ViewReport

COLUMNS = ("SERVER", "STATE", "PREFIX", "TOOLS", "REASON")
SAFE = "safe"

# More names than this in a line say less.
NAMES_SHOWN = 8
# More names of one server than this make no table.
TOOLS_SHOWN = 12

_Cell = tuple[str, str]
_GOOD, _BAD, _PLAIN = "green", "red", ""


def rows(report: Report, names: str | None) -> Iterable[Sequence[_Cell]]:
    """Yield one row for each server, its tools by the form of their names that is listed."""
    for server in report.servers:
        style = _GOOD if server.state is State.SERVING else _BAD
        yield (
            (server.id, _PLAIN),
            (server.state, style),
            (server.prefix or "", _PLAIN),
            (_tools(server, names), _PLAIN),
            (_said(server), style),
        )


def since(old: Report, new: Report) -> Iterator[Notice]:
    """Yield a line for each server that came, went or stands otherwise, and for a new fault.

    A server that has just come and is not listed yet is told once it is.
    """
    before = {server.id: server for server in old.servers}
    if new.fault and new.fault != old.fault:
        yield Notice(new.fault, is_good=False)
    for server in new.servers:
        known = before.pop(server.id, None)
        if known is None and server.state is State.PENDING:
            continue
        if known is None or _meaning(known) != _meaning(server):
            is_good = server.state is State.SERVING
            yield Notice(f"{server.id}: {_standing(server)}{_difference(known, server)}", is_good)
    for gone in before:
        yield Notice(f"{gone}: gone", is_good=True)


def views(old: Report | None, new: Report, url: str) -> Iterator[Notice]:
    """Yield a line for each view that came, went or stands otherwise; `url` is the router's."""
    before = {view.id: view for view in old.views} if old else {}
    for view in new.views:
        known = before.pop(view.id, None)
        said = _of_view(view, url)
        if known is None or _of_view(known, url) != said:
            is_good = view.state is State.SERVING and view.tool_count > 0
            yield Notice(f"view {view.id}: {said}", is_good)
    for gone in before:
        yield Notice(f"view {gone}: gone", is_good=True)


def _of_view(view: ViewReport, url: str) -> str:
    if view.state is not State.SERVING:
        return view.message or str(view.state)
    parts = [f"{_counted(view.tool_count)} at {url}/views/{view.id}"]
    if view.unmatched_servers:
        parts.append(f"not served: {_some(list(view.unmatched_servers))}")
    if view.unmatched_tools:
        parts.append(f"no tool matches {_some(list(view.unmatched_tools))}")
    return "; ".join(parts)


def _counted(tools: int) -> str:
    return f"{tools} tool{'' if tools == 1 else 's'}"


def _standing(server: ServerReport) -> str:
    tools = _counted(server.tool_count)
    said = _said(server)
    match server.state:
        case State.SERVING:
            return f"{tools}, {said}" if said else tools
        case State.STALE:
            return f"{tools} as last listed, {said}"
        case State.PENDING | State.SKIPPED | State.SUSPENDED:
            return said or str(server.state)


def _some(names: list[str]) -> str:
    more = len(names) - NAMES_SHOWN
    return ", ".join(names[:NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _said(server: ServerReport) -> str:
    return ": ".join(part for part in (server.reason, server.message) if part)


def _meaning(server: ServerReport) -> tuple[object, ...]:
    return (server.state, server.reason, server.message, server.prefix, server.tools)


def _difference(old: ServerReport | None, new: ServerReport) -> str:
    was = {tool.exposed_name: tool.digest for tool in old.tools} if old else {}
    now = {tool.exposed_name: tool.digest for tool in new.tools}
    parts = (
        ("new", [name for name in now if name not in was]),
        ("changed", [name for name in now if was.get(name, now[name]) != now[name]]),
        ("gone", [name for name in was if name not in now]),
    )
    said = "; ".join(f"{word}: {_some(names)}" for word, names in parts if names)
    return f" ({said})" if said else ""


def _tools(server: ServerReport, names: str | None) -> str:
    shown = [_name(tool, names) for tool in server.tools[:TOOLS_SHOWN]]
    more = server.tool_count - len(shown)
    return "\n".join([*shown, *([f"and {more} more"] if more > 0 else [])])


def _name(tool: ExposedTool, names: str | None) -> str:
    return tool.safe_name if names == SAFE else tool.exposed_name
