"""At the port, a call whose tool is not what its agent chose is answered, and goes nowhere."""

import json
from typing import Any

import pytest

from bench import expressway
from bench.catalogues import Known, built, definition, found, server
from bench.expressway import CATALOGUE, GITHUB, SERVER, Spell, Takes, Told, legacy, modern, running
from bench.mcpport import McpPort
from bench.mcpstage import LEGACY, SERVER_INFO, rpc
from bench.mcpstage import modern as ask_modern
from pointsman_contract.meta import Definitions, Policy
from pointsman_router.catalogue import Catalogue
from pointsman_router.respond import Outcome

KEY = "pointsman.dev/catalogue"
TOOLS = ("search", "read")
SAME = built(Known(GITHUB, found(*TOOLS, "new")), previous=CATALOGUE)
OTHER = built(Known(GITHUB, found(definition("search", title="Other"), "read")), previous=CATALOGUE)
PINNED = built(
    Known(
        server(SERVER, timeout_s=1, definitions=Definitions(policy=Policy.ENFORCE)), found(*TOOLS)
    ),
    previous=CATALOGUE,
)
REFUSAL = {
    "code": -32015,
    "reason": "DefinitionChanged",
    "server": SERVER,
    "retryable": False,
    "executed": "no",
}


@pytest.fixture
def takes(monkeypatch: pytest.MonkeyPatch) -> Takes:
    return expressway.recorded(monkeypatch)


def naming(revision: str) -> dict[str, Spell]:
    """How agents spell a call that names a revision."""

    def spell_legacy(port: McpPort) -> bytes:
        return legacy(port, meta=f'{{"{KEY}":"{revision}"}}')

    def spell_modern(port: McpPort) -> bytes:
        return modern(port, more=f', "{KEY}": "{revision}"')

    return {"legacy": spell_legacy, "modern": spell_modern}


def refused(result: dict[str, Any]) -> str:
    """What a model reads of such a refusal."""
    assert result["isError"] is True
    assert result["_meta"]["pointsman.dev/refusal"] == REFUSAL
    (block,) = result["content"]
    assert block["type"] == "text"
    assert isinstance(block["text"], str)
    return block["text"]


def result_of(answer: Told) -> dict[str, Any]:
    assert answer.status == 200
    result = json.loads(answer.body)["result"]
    assert isinstance(result, dict)
    return result


@pytest.mark.parametrize("revision", LEGACY)
@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/mcp", "github.search"),
        ("/mcp?names=safe", "github__search"),
        ("/mcp/servers/tools/github", "search"),
    ],
)
async def test_legacy_agents_are_told_in_a_result(
    takes: Takes, revision: str, path: str, name: str
) -> None:
    params = json.dumps({"name": name, "arguments": {}, "_meta": {KEY: CATALOGUE.revision}})
    async with running(takes) as way:
        told = []
        for snapshot in (OTHER, PINNED, SAME):
            way.port.catalogues.put(snapshot)
            answer = await way.port.post(
                rpc("tools/call", params), path, MCP_Protocol_Version=revision
            )
            told.append(answer.document["result"])

    assert "List or search the tools again" in refused(told[0])
    assert "a person has approved it" in refused(told[1])
    assert "resultType" not in told[0]
    assert told[2]["content"][0]["text"].startswith("search")
    assert len(way.calls) == 1
    assert KEY not in way.calls[0].message["params"].get("_meta", {})


async def test_modern_agents_are_told_in_a_complete_result(takes: Takes) -> None:
    async with running(takes) as way:
        way.port.catalogues.put(PINNED)
        answer = await ask_modern(
            way.port, "tools/call", {"name": "github.search", "arguments": {}}
        )

    result = answer.document["result"]
    assert result["resultType"] == "complete"
    assert "Nothing was executed" in refused(result)
    assert result["_meta"][SERVER_INFO]["name"] == "pointsman"
    assert not way.calls
    assert way.port.meter.ended_with == [("tools/call", Outcome.REFUSED)]
    assert way.port.meter.failures == []


async def test_one_refused_call_of_an_array_costs_only_itself(takes: Takes) -> None:
    def one(id_: str, revision: str) -> str:
        params = json.dumps({"name": "github.search", "_meta": {KEY: revision}})
        return rpc("tools/call", params, id_=id_).decode()

    body = f"[{one('1', CATALOGUE.revision)},{one('2', OTHER.revision)}]".encode()
    async with running(takes) as way:
        way.port.catalogues.put(OTHER)
        answer = await way.port.post(body, MCP_Protocol_Version="2025-03-26")

    first, second = answer.document
    refused(first["result"])
    assert "isError" not in second["result"]
    assert len(way.calls) == 1


async def test_a_revision_that_is_no_string_is_an_error(takes: Takes) -> None:
    params = f'{{"name":"github.search","_meta":{{"{KEY}":5}}}}'
    async with running(takes) as way:
        answer = await way.port.post(rpc("tools/call", params))

    assert answer.verdict == (200, -32602)
    assert not way.calls


# --- without a task


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_calls_that_name_their_list_need_no_task_and_are_refused_once_it_is_no_more(
    takes: Takes, era: str
) -> None:
    request = naming(CATALOGUE.revision)[era]
    async with running(takes) as way, way.port.connected() as agent:
        asked = request(way.port)
        await way.warm(agent, asked)
        usual = await way.ask(agent, asked)
        landed, taken = takes.landed, []
        answers = []
        for snapshot in (SAME, OTHER, PINNED, CATALOGUE):
            way.port.catalogues.put(snapshot)
            answers.append([await way.ask(agent, asked) for _ in range(4)])
            taken.append(takes.taken[-4:])
        calls = len(way.calls)

    assert landed == 2
    assert taken[0] == taken[3] == [False, True, True, True]
    assert taken[1] == taken[2] == [False] * 4
    assert {each.body for each in (*answers[0], *answers[3])} == {usual.body}
    assert {each.body for each in answers[1]} == {answers[1][0].body}
    assert "List or search the tools again" in result_of(answers[1][0])["content"][0]["text"]
    assert "a person has approved it" in result_of(answers[2][0])["content"][0]["text"]
    assert calls == 4 + 8


@pytest.mark.parametrize("era", ["legacy", "modern"])
@pytest.mark.parametrize(
    ("snapshot", "revision"),
    [
        pytest.param(OTHER, CATALOGUE.revision, id="an older list"),
        pytest.param(CATALOGUE, "0" * 16, id="an unknown list"),
        pytest.param(PINNED, PINNED.revision, id="a tool that waits"),
    ],
)
async def test_a_refused_call_is_never_foreseen(
    takes: Takes, era: str, snapshot: Catalogue, revision: str
) -> None:
    async with running(takes) as way, way.port.connected() as agent:
        plain = legacy(way.port) if era == "legacy" else modern(way.port)
        if snapshot is not PINNED:
            way.port.catalogues.put(snapshot)
            await way.warm(agent, plain)
        way.port.catalogues.put(snapshot)
        before, calls = len(takes.taken), len(way.calls)
        for _ in range(5):
            result = result_of(await way.ask(agent, naming(revision)[era](way.port)))
            assert result["_meta"]["pointsman.dev/refusal"] == REFUSAL
        offered = takes.taken[before:]

    assert len(way.calls) == calls
    assert offered
    assert not any(offered)
