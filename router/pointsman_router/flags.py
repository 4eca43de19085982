"""What somebody should know of names that are served although they may be mistaken."""

from collections.abc import Collection, Mapping, Sequence

from pointsman_contract.report import SkippedTool, ToolReason, printable
from pointsman_router import confusables


def alone(tools: Mapping[str, str]) -> tuple[SkippedTool, ...]:
    """Return what to tell of one server's tools, which go by the names that lists show."""
    found = confusables.likenesses(tools)
    return tuple(
        _like(tool, found[listed]) if listed in found else _disguised(tool)
        for listed, tool in tools.items()
        if listed in found or confusables.is_disguised(tool)
    )


def beside(tools: Mapping[str, str], of_others: Collection[str]) -> tuple[SkippedTool, ...]:
    """Return what to tell of them for the names that lists show of other servers' tools."""
    found = confusables.likenesses([*tools, *of_others])
    foreign = {
        listed: [name for name in found.get(listed, ()) if name not in tools] for listed in tools
    }
    return tuple(_like(tools[listed], names) for listed, names in foreign.items() if names)


def _like(tool: str, names: Sequence[str]) -> SkippedTool:
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return _flag(tool, f"looks like {printable(names[0])}{more}")


def _disguised(tool: str) -> SkippedTool:
    return _flag(tool, f"mixes scripts, and reads like {printable(confusables.plain(tool))}")


def _flag(tool: str, what: str) -> SkippedTool:
    return SkippedTool(
        name=printable(tool),
        reason=ToolReason.CONFUSABLE_NAME,
        message=f"its name {what}: rename it upstream, or hide it with spec.tools",
    )
