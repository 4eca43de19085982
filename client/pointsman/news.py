"""What a router's report says that the one before did not."""

from collections.abc import Iterator
from dataclasses import dataclass

from pointsman_contract.report import Report, ServerReport, State

# More names than this say less.
NAMES_SHOWN = 8


@dataclass(frozen=True, slots=True)
class News:
    """One line about one server, or about all of them."""

    text: str
    is_good: bool


def since(old: Report | None, new: Report) -> tuple[News, ...]:
    """Return what changed between two reports, or everything where there is no older one."""
    return tuple(_since(old, new))


def standing(server: ServerReport) -> str:
    """Return how a server stands, in a few words."""
    tools = f"{server.tool_count} tool{'' if server.tool_count == 1 else 's'}"
    said = ": ".join(part for part in (server.reason, server.message) if part)
    match server.state:
        case State.SERVING:
            return f"{tools}, {said}" if said else tools
        case State.STALE:
            return f"{tools} as last listed, {said}"
        case State.PENDING | State.SKIPPED | State.SUSPENDED:
            return said or str(server.state)


def some(names: list[str]) -> str:
    """Return the first of `names`, and how many more there are."""
    more = len(names) - NAMES_SHOWN
    return ", ".join(names[:NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _since(old: Report | None, new: Report) -> Iterator[News]:
    before = {server.id: server for server in old.servers} if old else {}
    if new.fault and (old is None or new.fault != old.fault):
        yield News(new.fault, is_good=False)
    for server in new.servers:
        known = before.pop(server.id, None)
        if known is None or _meaning(known) != _meaning(server):
            is_good = server.state is State.SERVING
            yield News(f"{server.id}: {standing(server)}{_difference(known, server)}", is_good)
    for gone in before:
        yield News(f"{gone}: gone", is_good=True)


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
    said = "; ".join(f"{word}: {some(names)}" for word, names in parts if names)
    return f" ({said})" if said else ""
