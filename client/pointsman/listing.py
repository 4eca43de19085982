"""The tools of a router, as a table or as JSON."""

from collections.abc import Iterable, Mapping, Sequence

from pointsman import rawjson

COLUMNS = ("TOOL", "SERVER", "DESCRIPTION")

# What fits beside two names on a wide terminal, and says what a tool is for.
DESCRIPTION_MAX_LENGTH = 100

_SERVER_KEY = "pointsman.dev/server"


def rows(tools: Iterable[str]) -> Iterable[Sequence[tuple[str, str]]]:
    """Yield one row for each tool, given as JSON: its name, its server, what it is for."""
    for raw in tools:
        tool = rawjson.load(raw)
        if isinstance(tool, Mapping):
            meta = tool.get("_meta")
            server = meta.get(_SERVER_KEY) if isinstance(meta, Mapping) else None
            yield (
                (str(tool.get("name")), "bold"),
                (str(server or "-"), ""),
                (_first_line(tool.get("description")), "dim"),
            )


def as_json(tools: Iterable[str]) -> str:
    """Return the tools as they were listed, one a line, in one object."""
    lines = ",\n".join(tools)
    return f'{{"tools":[\n{lines}\n]}}\n' if lines else '{"tools":[]}\n'


def _first_line(description: object) -> str:
    text = description.strip() if isinstance(description, str) else ""
    line = text.split("\n", 1)[0].strip()
    is_short = len(line) <= DESCRIPTION_MAX_LENGTH
    return line if is_short else f"{line[: DESCRIPTION_MAX_LENGTH - 1]}…"
