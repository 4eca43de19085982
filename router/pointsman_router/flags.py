"""What somebody should know of names that are served although they may be mistaken."""

from collections.abc import Mapping

from pointsman_contract.report import SkippedTool, ToolReason, printable
from pointsman_router import confusables
from pointsman_router.confusables import Likeness


def alone(tools: Mapping[str, str]) -> tuple[SkippedTool, ...]:
    """Return what to tell of one server's tools, which go by the names that lists show."""
    found = confusables.likenesses({listed: listed for listed in tools})
    return tuple(
        _like(tool, found[listed]) if listed in found else _disguised(tool)
        for listed, tool in tools.items()
        if listed in found or confusables.is_disguised(tool)
    )


def beside(tools: Mapping[str, Mapping[str, str]]) -> Mapping[str, tuple[SkippedTool, ...]]:
    """Return what to tell of each server's tools for the names that lists show of the others'."""
    found = confusables.likenesses(
        {listed: server for server, shown in tools.items() for listed in shown}
    )
    return {
        server: tuple(
            _like(tool, found[listed]) for listed, tool in shown.items() if listed in found
        )
        for server, shown in tools.items()
    }


def _like(tool: str, likeness: Likeness) -> SkippedTool:
    more = f" and {likeness.count - 1} more" if likeness.count > 1 else ""
    return _flag(tool, f"looks like {printable(likeness.first)}{more}")


def _disguised(tool: str) -> SkippedTool:
    return _flag(tool, f"mixes scripts, and reads like {printable(confusables.plain(tool))}")


def _flag(tool: str, what: str) -> SkippedTool:
    return SkippedTool(
        name=printable(tool),
        reason=ToolReason.CONFUSABLE_NAME,
        message=f"its name {what}: rename it upstream, or hide it with spec.tools",
    )
