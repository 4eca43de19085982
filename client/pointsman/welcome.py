"""What is shown of a router that has just become ready: its servers, and a call to try."""

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence

from pointsman import rawjson, sample
from pointsman_contract.report import ExposedTool, Report, ServerReport, State

COLUMNS = ("SERVER", "STATE", "PREFIX", "TOOLS", "REASON")
SAFE = "safe"

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
            (": ".join(part for part in (server.reason, server.message) if part), style),
        )


def call(tools: Sequence[str], command: str, url: str | None) -> str | None:
    """Return a shell command that calls one of `tools`, JSON as listed; None where there is none.

    A tool that says it only reads comes first, then the one that asks for the least. `url` is
    named where the command needs it.
    """
    choices = [_call(tool) for raw in tools if isinstance(tool := rawjson.load(raw), Mapping)]
    if not choices:
        return None
    address = f" --url {shlex.quote(url)}" if url else ""
    return f"{command} call {min(choices)[-1]}{address}"


def _call(tool: Mapping[str, object]) -> tuple[bool, int, str]:
    annotations = tool.get("annotations")
    only_reads = isinstance(annotations, Mapping) and annotations.get("readOnlyHint") is True
    arguments = sample.arguments(tool.get("inputSchema"))
    words = [shlex.quote(str(tool.get("name")))]
    if arguments:
        words.append(shlex.quote(json.dumps(arguments, ensure_ascii=False)))
    return not only_reads, len(arguments), " ".join(words)


def _tools(server: ServerReport, names: str | None) -> str:
    shown = [_name(tool, names) for tool in server.tools[:TOOLS_SHOWN]]
    more = server.tool_count - len(shown)
    return "\n".join([*shown, *([f"and {more} more"] if more > 0 else [])])


def _name(tool: ExposedTool, names: str | None) -> str:
    return tool.safe_name if names == SAFE else tool.exposed_name
