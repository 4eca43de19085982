"""What a router lists: its tools, page by page, as a table or as they came."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pointsman import envelope
from pointsman_contract import rawjson

COLUMNS = ("TOOL", "SERVER", "DESCRIPTION")

# What fits beside two names on a wide terminal, and says what a tool is for.
DESCRIPTION_MAX_LENGTH = 100

_SERVER_KEY = "pointsman.dev/server"


@dataclass(frozen=True, slots=True)
class Tool:
    """One listed tool."""

    raw: bytes
    """Its JSON, as it came."""
    name: str
    server: str | None
    """Which server it belongs to, where the router says so."""
    description: str
    only_reads: bool
    """Whether it says of itself that it changes nothing."""
    input_schema: object


@dataclass(frozen=True, slots=True)
class Page:
    """One part of a list."""

    tools: tuple[Tool, ...]
    next_cursor: str | None
    """What the next part is asked for by; None behind the last one."""


def page(result: bytes) -> Page:
    """Return what the result of one `tools/list` holds; raises Malformed."""
    members = rawjson.members(result)
    following = envelope.meaning(members.get("nextCursor"))
    return Page(
        tuple(_tool(item) for item in rawjson.items(members.get("tools", b""))),
        following if isinstance(following, str) else None,
    )


def rows(tools: Iterable[Tool]) -> Iterable[Sequence[tuple[str, str]]]:
    """Yield one row for each tool: its name, its server, what it is for."""
    for tool in tools:
        yield (tool.name, "bold"), (tool.server or "-", ""), (_first_line(tool.description), "dim")


def as_json(tools: Iterable[Tool]) -> str:
    """Return the tools as they were listed, one a line, in one object."""
    lines = b",\n".join(tool.raw for tool in tools).decode()
    return f'{{"tools":[\n{lines}\n]}}\n' if lines else '{"tools":[]}\n'


def _tool(raw: bytes) -> Tool:
    members = rawjson.members(raw)
    description = envelope.meaning(members.get("description"))
    meta = envelope.meaning(members.get("_meta"))
    server = meta.get(_SERVER_KEY) if isinstance(meta, Mapping) else None
    annotations = envelope.meaning(members.get("annotations"))
    return Tool(
        raw=raw,
        name=rawjson.string(members.get("name", b"")),
        server=server if isinstance(server, str) else None,
        description=description if isinstance(description, str) else "",
        only_reads=isinstance(annotations, Mapping) and annotations.get("readOnlyHint") is True,
        input_schema=envelope.meaning(members.get("inputSchema")),
    )


def _first_line(description: str) -> str:
    line = description.strip().split("\n", 1)[0].strip()
    is_short = len(line) <= DESCRIPTION_MAX_LENGTH
    return line if is_short else f"{line[: DESCRIPTION_MAX_LENGTH - 1]}…"
