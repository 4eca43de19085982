"""What of one server's lists is the same on every router."""

import json
from collections.abc import Container, Iterable, Sequence
from typing import TypeVar

from pointsman_contract import names
from pointsman_contract.report import (
    ExposedTool,
    ServerReport,
    SkippedTool,
    ToolReason,
    printable,
)
from pointsman_operator.status import Lists, Remark, Tool

# How much of the lists a resource carries: what is still read by a person, fetched by every
# `kubectl get`, and far from what the API server stores of one object (1.5 MiB).
TOOLS_MAX = 500
TOOLS_MAX_BYTES = 160 * 1024
REMARKS_MAX = 50
UNMATCHED_MAX = 500
NAME_MAX_LENGTH = 256
MESSAGE_MAX_LENGTH = 512

# The names of a tool's fields, quotes and commas: what an entry costs besides its texts.
_FIELDS = '"name":,"exposedName":,"safeName":,"digest":,'

_Value = TypeVar("_Value")


def lists(entries: Sequence[ServerReport], approved: Container[str] = ()) -> Lists:
    """Return what agents see and what they do not, whichever router they reach.

    `approved`: names of tools of which somebody approved a definition.
    """
    tools = _tools(entries)
    shown = _bounded(tools)
    skipped = _remarks((entry.skipped_tools for entry in entries), approved)
    flagged = _remarks((entry.flagged_tools for entry in entries), approved)
    unmatched = {name for entry in entries for name in entry.unmatched_allowed_tools}
    version = _agreed([entry.protocol_version for entry in entries])
    info = _agreed([entry.server_info for entry in entries])
    return Lists(
        tool_count=len(tools),
        tools=shown,
        truncated=len(shown) < len(tools),
        skipped=skipped[:REMARKS_MAX],
        skipped_truncated=len(skipped) > REMARKS_MAX,
        flagged=flagged[:REMARKS_MAX],
        flagged_truncated=len(flagged) > REMARKS_MAX,
        unmatched=tuple(sorted(unmatched)[:UNMATCHED_MAX]),
        protocol_version=version,
        server_name=printable(info.name) if info else None,
        server_version=printable(info.version) if info else None,
        # What agents pay at most.
        schema_bytes=max(entry.schema_bytes for entry in entries),
    )


def _tools(entries: Sequence[ServerReport]) -> list[Tool]:
    # Reports share what is equal, which is nearly always everything.
    distinct = {id(entry.tools): entry.tools for entry in entries}.values()
    first, *others = [{_names(tool): tool.digest for tool in tools} for tools in distinct]
    return sorted(
        (
            Tool(*names, digest if all(other[names] == digest for other in others) else None)
            for names, digest in first.items()
            if all(names in other for other in others)
        ),
        key=lambda tool: (tool.exposed_name, tool.name),
    )


def _names(tool: ExposedTool) -> tuple[str, str, str]:
    return tool.name, tool.exposed_name, tool.safe_name


def _remarks(said: Iterable[Sequence[SkippedTool]], approved: Container[str]) -> tuple[Remark, ...]:
    by_name: dict[str, Remark] = {}
    for tools in said:
        for tool in tools:
            remark = Remark(
                _remarked_name(tool),
                tool.reason,
                printable(tool.message, MESSAGE_MAX_LENGTH),
                tool.digest,
            )
            # Which router is asked first must not decide what is said.
            by_name[tool.name] = min(remark, by_name.get(tool.name, remark), key=_order)
    # An upstream that adds tools must not hide by them that it changed what agents relied on.
    ordered = sorted(
        by_name, key=lambda name: (_is_lighter(by_name[name]), name not in approved, name)
    )
    return tuple(by_name[name] for name in ordered)


def _remarked_name(tool: SkippedTool) -> str:
    # What waits is approved by its name, letter by letter.
    waits = tool.reason == ToolReason.DEFINITION_CHANGED
    if waits and len(tool.name) <= NAME_MAX_LENGTH and names.is_exposable(tool.name):
        return tool.name
    return printable(tool.name, NAME_MAX_LENGTH)


def _order(remark: Remark) -> tuple[bool, str, str, str]:
    return _is_lighter(remark), remark.reason, remark.message, remark.digest or ""


def _is_lighter(remark: Remark) -> bool:
    # What waits for somebody's approval must not get lost among what only is to be known.
    return remark.reason != ToolReason.DEFINITION_CHANGED


def _agreed(values: Sequence[_Value | None]) -> _Value | None:
    first, *others = values
    return first if all(other == first for other in others) else None


def _bounded(tools: Sequence[Tool]) -> tuple[Tool, ...]:
    if len(tools) <= TOOLS_MAX and sum(map(_most_bytes, tools)) <= TOOLS_MAX_BYTES:
        return tuple(tools)
    room = TOOLS_MAX_BYTES
    shown: list[Tool] = []
    for tool in tools[:TOOLS_MAX]:
        room -= len(json.dumps(_texts(tool), ensure_ascii=False).encode()) + len(_FIELDS)
        if room < 0:
            break
        shown.append(tool)
    return tuple(shown)


def _most_bytes(tool: Tool) -> int:
    """Return what a tool costs if each of its characters is spelled in the longest way."""
    return sum(map(len, _texts(tool))) * len(r"\u0000") + len(_FIELDS) + 2 * len(_texts(tool))


def _texts(tool: Tool) -> tuple[str, str, str, str]:
    return tool.name, tool.exposed_name, tool.safe_name, tool.digest or ""
