"""A server asked directly and through the router says the same, field for field."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from bench import agents, peers, stack
from bench.directories import lay
from bench.waiting import wait_until
from conformance.agent import has_asked

MODERN = "2026-07-28"
REVISIONS = ("2025-03-26", "2025-06-18", "2025-11-25", MODERN)
_META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "comparison", "version": "1"},
}
# What a router may say of itself.
_OURS = ("pointsman.dev/", "io.modelcontextprotocol/")
# What a revision before 2025-06-18 and 2025-11-25 knows nothing of.
_LATER: Mapping[str, frozenset[str]] = {
    "2025-03-26": frozenset({"structuredContent", "outputSchema", "title", "icons", "_meta"}),
    "2025-06-18": frozenset({"icons"}),
}
CALLS = {
    "echo": (
        '{"big":9007199254740993,"huge":123456789012345678901234567890,"float":1.0,"small":1e-7,'
        '"null":null,"list":[],"object":{},"nested":[{"a":[1,[2,[3]]]}],"":"empty key",'
        '"text":"\\u2028 \\u00e9 \\ud83d\\ude00 \\"q\\" \\\\"}'
    ),
    "add": '{"a":2,"b":3}',
    "blob": '{"length":300000}',
    "test_simple_text": "{}",
    "test_image_content": "{}",
    "test_audio_content": "{}",
    "test_embedded_resource": "{}",
    "test_multiple_content_types": "{}",
    "test_error_handling": "{}",
    "test_tool_with_progress": "{}",
    "json_schema_2020_12_tool": '{"who":"x"}',
}


class Spelled(str):
    """A number as it is written: 1.0 is not 1."""


@pytest.fixture(scope="module")
def addresses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """The fixture without sessions, and the router in front of it."""
    directory = tmp_path_factory.mktemp("servers")
    with peers.fixture("--sessionless") as fixture:
        # Asked in the agent's own era: the SDK spells numbers in another way in each.
        lay(directory, "legacy", url=fixture.url, protocol="Legacy")
        lay(directory, "modern", url=fixture.url, protocol="Modern")
        with stack.router(directory) as (_, url, admin):
            wait_until(lambda: has_asked(admin), 30, "the fixture was listed")
            yield fixture.url, url


@pytest.mark.parametrize("revision", REVISIONS)
async def test_every_listed_tool_is_as_its_server_describes_it(
    revision: str, addresses: tuple[str, str]
) -> None:
    direct, through = addresses
    asked = {tool["name"]: tool for tool in (await _ask(direct, "tools/list", revision))["tools"]}
    listed = {tool["name"]: tool for tool in (await _ask(through, "tools/list", revision))["tools"]}

    assert {_prefix(revision) + name for name in asked} == {
        name for name in listed if name.startswith(_prefix(revision))
    }
    assert {
        name: _bare(listed[_prefix(revision) + name] | {"name": name}, revision) for name in asked
    } == {name: _bare(tool, revision) for name, tool in asked.items()}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("revision", REVISIONS)
async def test_a_result_is_as_its_server_gave_it(
    revision: str, name: str, addresses: tuple[str, str]
) -> None:
    direct, through = addresses
    given = await _ask(direct, "tools/call", revision, name, CALLS[name])
    relayed = await _ask(through, "tools/call", revision, _prefix(revision) + name, CALLS[name])

    assert _bare(relayed, revision) == _bare(given, revision)


def _prefix(revision: str) -> str:
    return "modern." if revision == MODERN else "legacy."


async def _ask(
    url: str, method: str, revision: str, name: str = "", arguments: str = "{}"
) -> dict[str, Any]:
    members = [f'"name":{json.dumps(name)},"arguments":{arguments}'] if name else []
    headers = {"MCP_Protocol_Version": revision}
    if revision == MODERN:
        members.append(f'"_meta":{json.dumps(_META)}')
        headers |= {"Mcp_Method": method} | ({"Mcp_Name": name} if name else {})
    body = f'{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{",".join(members)}}}}}'
    answer = await agents.post(url, body.encode(), **headers)
    message = answer.body.decode()
    if answer.headers["Content-Type"].startswith("text/event-stream"):
        data = [line[5:] for line in message.split("\n") if line.startswith("data:")]
        message = next(line for line in reversed(data) if line.strip())
    found: dict[str, Any] = json.loads(message, parse_int=Spelled, parse_float=Spelled)["result"]
    return found


def _bare(members: dict[str, Any], revision: str) -> dict[str, Any]:
    """Without what a router may say, and what the revision does not know of."""
    kept = {
        name: value
        for name, value in members.items()
        if name not in _LATER.get(revision, ()) and name != "_meta"
    }
    meta = {
        key: value
        for key, value in (members.get("_meta") or {}).items()
        if not key.startswith(_OURS)
    }
    return kept | ({"_meta": meta} if meta and "_meta" not in _LATER.get(revision, ()) else {})
