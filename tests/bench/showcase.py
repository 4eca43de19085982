"""Upstreams in every state that a router tells apart, good ones and hostile ones."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import behaviours, ports
from bench.legacy_server import LegacyServer
from bench.raw_upstream import Behaviour, RawUpstream
from bench.registered import register

OVERRIDE = "\u202e"
TAG = "\U000e0041"
SCRIPT = "<script>document.title = 'owned'</script><img src=x onerror=\"document.title='owned'\">"
LONG = "a_tool_whose_name_goes_on_" * 4
_TEXT = {"type": "string"}


@dataclass(frozen=True, slots=True)
class Showcase:
    """What stands, and what of it may be taken down."""

    metrics: RawUpstream
    directory: Path
    hostile: RawUpstream

    def add_hostile(self) -> None:
        """Register the server whose every text is written to do harm."""
        _lay(self.directory, "untrusted", "hostile", self.hostile.url())


def described(
    name: str, description: str, required: tuple[str, ...] = (), /, **properties: Any
) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"name": name, "description": description, "inputSchema": schema}


GITHUB = [
    described(
        "search_issues",
        "Search issues and pull requests.\nThe query is GitHub's own: `is:open label:bug`.",
        ("query",),
        query={"type": "string", "description": "What to look for, in GitHub's own words"},
        sort={"type": "string", "enum": ["created", "updated", "comments"]},
        per_page={"type": "integer", "minimum": 1, "maximum": 100, "default": 30},
    )
    | {"title": "Search issues"},
    described(
        "get_issue",
        "Return one issue with its comments.",
        ("number", "repository"),
        repository=_TEXT,
        number={"type": "integer"},
    ),
    described(
        "create_issue", "Open an issue.", ("title",), repository=_TEXT, title=_TEXT, body=_TEXT
    ),
    # Left out: two of one name, one that takes no object, one whose name nobody can read.
    described("merge", "Merge a pull request."),
    described("merge", "Merge two branches."),
    {"name": "list_labels", "description": "List labels.", "inputSchema": {"type": "array"}},
    described("delete" + TAG, "Delete a repository."),
]
POSTGRES = [
    described("query", "Run one read-only statement.", ("sql",), sql=_TEXT),
    described("list_tables", "List the tables of a schema.", schema=_TEXT),
]
METRICS = [
    described("range_query", "Evaluate a PromQL expression over a time.", ("expr",), expr=_TEXT)
]
HOSTILE = [
    described("innocent", f"Harmless. {SCRIPT}", note={"type": "string", "default": SCRIPT}),
    described("reorders", "Shows a default.", path={"type": "string", "default": f"{OVERRIDE}txt"}),
    described("greets", "שלום: says hello, from right to left.", שם=_TEXT),
    described(LONG, "Its name does not fit a line, and " + "neitherdoesthis" * 20),
]


@asynccontextmanager
async def standing(directory: Path) -> AsyncIterator[Showcase]:
    """Lay every server but the hostile one into the directory, and run all upstreams."""
    async with AsyncExitStack() as stack:

        async def up(behaviour: Behaviour) -> RawUpstream:
            return await stack.enter_async_context(RawUpstream(behaviour))

        github = LegacyServer(GITHUB, name="github-mcp-server")
        github.on["tools/call"] = behaviours.closes()
        metrics = await up(LegacyServer(METRICS, name="prometheus-mcp"))
        refusing = behaviours.responds(401, headers={"WWW-Authenticate": "Bearer"})
        nowhere = stack.enter_context(ports.refusing_port())
        _lay(directory, "dev", "github", (await up(github)).url())
        _lay(
            directory,
            "ops",
            "postgres",
            (await up(LegacyServer(POSTGRES, name="postgres-mcp"))).url(),
            allowedTools=["query", "list_tables", "explain_plan"],
        )
        _lay(directory, "dev", "metrics", metrics.url())
        _lay(directory, "dev", "wiki", (await up(refusing)).url())
        _lay(directory, "ops", "warehouse", f"http://{ports.LOOPBACK}:{nowhere}/mcp")
        _lay(directory, "ops", "ledger", f"http://{ports.LOOPBACK}:{nowhere}/mcp", suspend=True)
        _lay(directory, "ops", "drafts", metrics.url(), allowedTools=[])
        hostile = await up(LegacyServer(HOSTILE, name=f"{SCRIPT}{OVERRIDE}"))
        yield Showcase(metrics, directory, hostile)


def _lay(directory: Path, namespace: str, name: str, url: str, /, **fields: object) -> None:
    register(directory, f"{namespace}.{name}", url, name=name, namespace=namespace, **fields)
