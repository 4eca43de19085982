"""What a terminal shows of a router's overview."""

import json

import pytest
from msgspec import Raw

from pointsman import survey
from pointsman_contract.overview import (
    Failure,
    LeftOut,
    Overview,
    Server,
    ServerInfo,
    Tool,
    Totals,
    View,
)
from pointsman_contract.report import State

SCHEMA = {
    "type": "object",
    "properties": {
        "query": {"type": "string"},
        "limit": {"type": ["integer", "null"]},
        "any\x1b[1m": {"$ref": "#/$defs/x"},
    },
    "required": ["query"],
}


def tool(name: str = "search", schema: object = SCHEMA, description: str = "Finds.\nMore.") -> Tool:
    return Tool(
        name=name,
        exposed_name=f"github.{name}",
        safe_name=f"github__{name}",
        digest="sha256:0",
        input_schema=Raw(json.dumps(schema).encode()),
        description=description,
    )


SEEN = Overview(
    totals=Totals(
        {State.SERVING: 1, State.STALE: 1},
        tools=2,
        schema_bytes=3000,
        skipped=1,
        flagged=1,
        views=1,
    ),
    matching=2,
    instance="router-1",
    started_at="2026-01-01T00:00:00+00:00",
    catalogue="c" * 16,
    fault="/servers: ENOENT",
    unready="draining",
    servers=(
        Server(
            "tools/github",
            State.SERVING,
            "2026-01-01T00:00:05Z",
            prefix="github",
            protocol_version="2025-11-25",
            server_info=ServerInfo("up\x1b[31m", "1"),
            tool_count=1,
            schema_bytes=300,
            is_detailed=True,
            tools=(tool(),),
            skipped_tools=(LeftOut("merge", "DuplicateName", "listed twice"),),
            flagged_tools=(LeftOut("search", "DefinitionChanged", "not approved", "sha256:1"),),
            unmatched_allowed_tools=("explain",),
            untold=3,
        ),
        Server("tools/wiki", State.STALE, "t", reason="Unreachable", message="gone"),
    ),
    views=(View("tools/triage", State.SERVING, "t", tool_count=1, unmatched_tools=("x*",)),),
    failures=(Failure("2026-01-01T00:00:09Z", "tools/wiki", "listing", "Timeout", "late", 3),),
)


def text(seen: Overview = SEEN, *, schemas: bool = False) -> str:
    return "\n".join(line.text for line in survey.lines(seen, schemas=schemas))


def test_everything_that_a_router_shows_is_told() -> None:
    assert text() == "\n".join(
        [
            "router router-1",
            "since 2026-01-01 00:00:00 UTC, catalogue cccccccccccccccc",
            "not ready: draining",
            "the last good set of servers is held: /servers: ENOENT",
            "2 servers (1 Serving, 1 Stale); 2 tools, 2.9 KiB; 1 left out; 1 flagged; 1 view",
            "",
            "tools/github  Serving",
            (
                "  1 tool, 300 bytes, prefix github, protocol 2025-11-25, calls itself up·[31m 1,"
                " since 2026-01-01 00:00:05 UTC"
            ),
            "  github.search  github__search",
            "    Finds.",
            "    (query: string, limit?: integer|null, any·[1m?: any)",
            "  left out",
            "    merge  DuplicateName: listed twice",
            "  served, and flagged",
            "    search  DefinitionChanged: not approved (sha256:1)",
            "  named in allowedTools or tools, but not there",
            "    explain",
            "  and 3 more: narrow the filter",
            "",
            "tools/wiki  Stale",
            "  Unreachable: gone",
            "  no tools, since t UTC",
            "",
            "views",
            "  tools/triage  Serving  1 tool, 0 bytes",
            "    patterns that match no tool: x*",
            "",
            "last errors",
            "  2026-01-01 00:00:09 UTC  tools/wiki  Timeout while it was listed, 3 times",
            "    late",
        ]
    )


def test_views_that_are_not_shown_are_counted() -> None:
    told = text(Overview(totals=Totals(views=3), views=(View("a", State.SERVING, "t"),)))

    assert "views: 1 of 3" in told.splitlines()


def test_a_schema_is_told_whole_where_it_is_wished_with_the_digest() -> None:
    told = text(schemas=True)

    assert '      "properties": {\n        "query": {\n          "type": "string"' in told
    assert "sha256:0" in told
    assert "(query: string" not in told


def test_before_anything_was_read_that_is_told() -> None:
    told = text(Overview(totals=Totals(), unready="the directory has not been read yet"))

    assert told.splitlines() == [
        "router without a catalogue yet",
        "not ready: the directory has not been read yet",
        "0 servers; no tools",
        "",
        "no servers",
        "",
        "no errors",
    ]


def test_a_filter_that_leaves_nothing_is_told_apart_from_no_servers() -> None:
    assert "no server matches" in text(Overview(totals=Totals({State.SERVING: 1})))


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "object"}, "()"),
        ({"properties": [], "required": 5}, "()"),
        ({"properties": {"a": True, "b": {"type": []}}}, "(a?: any, b?: any)"),
        (
            {"properties": {f"p{number:02}": {"type": "string"} for number in range(14)}},
            "p11?: string, and 2 more)",
        ),
    ],
    ids=["none", "no schema", "no type", "many"],
)
def test_arguments_are_told_of_any_schema(schema: object, said: str) -> None:
    seen = Overview(
        totals=Totals(), servers=(Server("a", State.SERVING, "t", tools=(tool(schema=schema),)),)
    )

    assert said in text(seen)


def test_the_json_is_the_routers_own_document() -> None:
    told = json.loads(survey.as_json(SEEN))

    assert told["servers"][0]["tools"][0]["inputSchema"] == SCHEMA
    assert told["failures"][0]["times"] == 3
    assert "next" not in told
