"""A small MCP server: notes that last as long as it runs.

python examples/servers/notes.py [PORT [HOST]]
"""

import sys
from typing import Annotated

from mcp.server import MCPServer
from mcp_types import ToolAnnotations
from pydantic import Field

server = MCPServer("notes", log_level="WARNING")
notes: list[str] = []

Text = Annotated[str, Field(description="What to remember.", examples=["buy milk"])]
Words = Annotated[str, Field(description="What the note must contain.", examples=["milk"])]


@server.tool(annotations=ToolAnnotations(destructive_hint=False))
def add(text: Text) -> str:
    """Write a note."""
    notes.append(text)
    return f"note {len(notes)}: {text}"


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def find(words: Words) -> list[str]:
    """Find the notes that contain some words."""
    return [note for note in notes if words.casefold() in note.casefold()]


@server.tool(annotations=ToolAnnotations(destructive_hint=True))
def clear() -> str:
    """Forget every note."""
    count = len(notes)
    notes.clear()
    return f"{count} forgotten"


if __name__ == "__main__":
    given = dict(zip(("port", "host"), sys.argv[1:], strict=False))
    address, port = given.get("host", "127.0.0.1"), int(given.get("port", "9102"))
    server.run("streamable-http", host=address, port=port)
