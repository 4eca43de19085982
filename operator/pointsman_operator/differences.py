"""How one router's tools of a server differ from the other routers'."""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence, Set

from pointsman_contract.report import ExposedTool, ServerReport, printable

_Offered = Mapping[str, ExposedTool]


def between(said: Sequence[tuple[str, ServerReport]]) -> str | None:
    """Return the first thing that one router shows otherwise, and how many more; None for none.

    `said`: what each router, by its name, says of the server.
    """
    _, first = said[0]
    if all(entry.tools == first.tools for _, entry in said):
        return None
    by_tool: dict[str, dict[str, ExposedTool]] = {}
    for router, entry in said:
        for tool in entry.tools:
            by_tool.setdefault(tool.name, {})[router] = tool
    routers = {router for router, _ in said}
    found = [phrase for name in sorted(by_tool) if (phrase := _about(name, by_tool[name], routers))]
    if not found:
        return None
    return found[0] if len(found) == 1 else f"{found[0]}, and {len(found) - 1} more"


def _about(name: str, offered: _Offered, routers: Set[str]) -> str | None:
    tool = printable(name)
    if without := routers - offered.keys():
        return f"{printable(min(without))} does not offer {tool}"
    names = {router: (one.exposed_name, one.safe_name) for router, one in offered.items()}
    if len(set(names.values())) > 1:
        odd = odd_one(names)
        return f"{printable(odd)} offers {tool} as {printable(offered[odd].exposed_name)}"
    digests = {router: one.digest for router, one in offered.items()}
    if len(set(digests.values())) > 1:
        return f"{printable(odd_one(digests))} has another definition of {tool}"
    return None


def odd_one(values: Mapping[str, Hashable]) -> str:
    """Return the router whose value the fewest have; of equals, the first by name."""
    counts = Counter(values.values())
    return min(values, key=lambda router: (counts[values[router]], router))
