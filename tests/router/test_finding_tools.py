"""What agents find and call at an endpoint that lists two tools in place of all others."""

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from msgspec import structs

from bench import expressway, mcpport, spelled
from bench.catalogues import Known, built, built_of, definition, found, server
from bench.expressway import Expressway, Peer, Takes, running, told_by
from bench.legacy_server import LegacyServer
from bench.mcpport import Answer, McpPort
from bench.mcpstage import CAPABILITIES, CATALOGUE, MODERN, VERSION, Stage, names, rpc, text
from bench.modern_server import ModernServer
from bench.spelled import Whole
from bench.waiting import until
from pointsman_contract import rawjson
from pointsman_contract.report import ServerReason
from pointsman_router import dispatch
from pointsman_router.catalogue import Catalogue
from pointsman_router.dispatch import Decision, EchoListed
from pointsman_router.endpoints import Endpoint
from pointsman_router.eras import Revision
from pointsman_router.jsonrpc import Request
from pointsman_router.listing import Form
from pointsman_router.metatools import Offered
from pointsman_router.outgoing import Forward
from pointsman_router.refusals import Refusal
from pointsman_router.searching import Searching

DISCOVER = "/mcp?discover=1"
OF_ONE = "/mcp/servers/tools/github?discover=1"
BOTH = ["search_tools", "call_tool"]
SAFE = Endpoint(Form.SAFE, discover=True)
DOTTED = Endpoint(Form.DOTTED, discover=True)
ONE = Endpoint(Form.BARE, "tools/github", discover=True)
REGION = {"type": "string", "x-mcp-header": "Region"}
HEADED = definition("headed", inputSchema={"type": "object", "properties": {"region": REGION}})
WITH_HEADERS = built_of(server("tools/github", timeout_s=7), found("search", HEADED))


def tool_call(name: str, arguments: Any, *, meta: Any = None, id_: str = "1") -> bytes:
    params = {"name": name, "arguments": arguments} | ({"_meta": meta} if meta else {})
    return rpc("tools/call", json.dumps(params), id_=id_)


async def search(port: McpPort, query: Any = "search", path: str = DISCOVER, **more: Any) -> Answer:
    return await port.post(tool_call("search_tools", {"query": query, **more}), path)


async def call(port: McpPort, name: str, arguments: Any = None, path: str = DISCOVER) -> Answer:
    inner = {"name": name} | ({"arguments": arguments} if arguments is not None else {})
    return await port.post(tool_call("call_tool", inner), path)


def found_by(answer: Answer) -> list[str]:
    """The names of the tools that a search found."""
    return [tool["name"] for tool in json.loads(text(answer))["tools"]]


# --- the list


@pytest.mark.parametrize("path", [DISCOVER, f"{DISCOVER}&names=safe", OF_ONE])
async def test_two_tools_are_listed_in_place_of_all_others(stage: Stage, path: str) -> None:
    answer = await stage.port.post(rpc("tools/list"), path)

    assert names(answer) == BOTH
    assert answer.document["result"]["_meta"] == {"pointsman.dev/catalogue": CATALOGUE.revision}
    assert "nextCursor" not in answer.document["result"]


async def test_elsewhere_everything_is_listed_and_neither_of_them_is_there(stage: Stage) -> None:
    answer = await stage.port.post(rpc("tools/list"))
    called = [await stage.port.post(tool_call(name, {"query": "a"})) for name in BOTH]

    assert names(answer) == ["github.read", "github.search"]
    assert [each.verdict for each in called] == [(200, -32602), (200, -32602)]


def test_a_page_behind_the_two_is_none() -> None:
    request = Request(b"1", "tools/list", {"cursor": b'"x"'})

    assert isinstance(dispatch.decide(CATALOGUE, SAFE, request, Revision.MODERN, 1), Refusal)


def test_the_list_stays_whatever_can_be_found_but_says_of_which_catalogue_it_is() -> None:
    request = Request(b"1", "tools/list", {})
    other = built(Known(server(), found("other")))

    listed = [dispatch.decide(of, SAFE, request, Revision.MODERN, 1) for of in (CATALOGUE, other)]

    assert listed == [Offered(CATALOGUE.revision), Offered(other.revision)]


async def test_where_nothing_is_registered_there_is_the_echo_and_nothing_to_search() -> None:
    async with mcpport.serving(built()) as port:
        listed = await port.post(rpc("tools/list"), DISCOVER)
        echoed = await port.post(tool_call("echo", {"text": "hello"}), DISCOVER)
        others = [await port.post(tool_call(name, {"query": "a"}), DISCOVER) for name in BOTH]

    assert names(listed) == ["echo"]
    assert text(echoed) == "hello"
    assert [other.verdict for other in others] == [(200, -32602), (200, -32602)]
    request = Request(b"1", "tools/list", {})
    assert isinstance(dispatch.decide(built(), SAFE, request, Revision.MODERN, 1), EchoListed), (
        "the same as without"
    )


# --- the search


async def test_a_search_returns_what_the_list_of_the_endpoint_shows(stage: Stage) -> None:
    for path, whole in (
        (DISCOVER, "/mcp"),
        (f"{DISCOVER}&names=safe", "/mcp?names=safe"),
        (OF_ONE, "/mcp/servers/tools/github"),
    ):
        listed = await stage.port.post(rpc("tools/list"), whole)
        answer = await search(stage.port, "search read delete", path)

        told = json.loads(text(answer))
        by_name = {tool["name"]: tool for tool in listed.document["result"]["tools"]}
        assert {tool["name"]: tool for tool in told["tools"]} == by_name
        assert told["total"] == len(by_name) == 2
        assert told["catalogue"] == CATALOGUE.revision


async def test_what_is_not_allowed_is_not_found(stage: Stage) -> None:
    answer = await search(stage.port, "delete")

    assert json.loads(text(answer))["tools"] == []
    assert "hint" in json.loads(text(answer))


@pytest.mark.parametrize("revision", ["2025-03-26", "2025-06-18", "2025-11-25"])
async def test_structure_is_told_to_whoever_knows_it(stage: Stage, revision: str) -> None:
    body = tool_call("search_tools", {"query": "search"})

    answer = await stage.port.post(body, DISCOVER, MCP_Protocol_Version=revision)

    result = answer.document["result"]
    structure = result.pop("structuredContent", None)
    assert result.keys() == {"content"}
    assert structure == (None if revision == "2025-03-26" else json.loads(text(answer)))


async def test_a_search_that_makes_no_sense_is_a_result_that_says_why(stage: Stage) -> None:
    answer = await search(stage.port, "", limit=5)

    assert answer.verdict == (200, None)
    assert answer.document["result"]["isError"] is True
    assert "query" in text(answer)


async def test_the_limit_is_kept(stage: Stage) -> None:
    answer = await search(stage.port, "github", limit=1)

    assert len(found_by(answer)) == 1
    assert json.loads(text(answer))["total"] == 2


async def test_several_searches_in_one_array_are_answered_in_one() -> None:
    async with mcpport.serving(CATALOGUE) as port:
        searches = [
            tool_call("search_tools", {"query": q}, id_=i)
            for q, i in (("read", "1"), ("search", "2"))
        ]
        answer = await port.post(b"[%b]" % b",".join(searches), DISCOVER)

    results = [json.loads(each["result"]["content"][0]["text"]) for each in answer.document]
    assert [[tool["name"] for tool in each["tools"]] for each in results] == [
        ["github.read"],
        ["github.search"],
    ]


async def test_whoever_searches_after_a_change_finds_what_is_new(stage: Stage) -> None:
    before = await search(stage.port, "compile")
    stage.port.catalogues.put(built(Known(server("tools/github"), found("search", "compile"))))
    after = await search(stage.port, "compile")

    assert (found_by(before), found_by(after)) == ([], ["github.compile"])


async def test_a_search_that_outlasts_the_router_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def never(*_: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(Searching, "find", never)
    async with mcpport.serving(CATALOGUE) as port, port.connected() as agent:
        await agent.send(port.request(tool_call("search_tools", {"query": "a"}), DISCOVER))
        await until(lambda: port.pulse.waiting)
        await port.drain(0.01)
        answer = await agent.answer()

    assert answer.verdict == (503, -32016)


async def test_a_search_that_fails_costs_itself_and_tells_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def fails(*_: object) -> None:
        raise RuntimeError("database disk image is malformed")

    monkeypatch.setattr(Searching, "find", fails)
    async with mcpport.serving(CATALOGUE) as port:
        answer = await search(port)
        listed = await port.post(rpc("tools/list"), DISCOVER)

    assert answer.verdict == (200, -32603)
    assert b"malformed" not in answer.body
    assert names(listed) == BOTH


# --- the call


async def test_what_was_found_is_called_by_its_name(stage: Stage) -> None:
    for path in (DISCOVER, f"{DISCOVER}&names=safe", OF_ONE):
        (name,) = found_by(await search(stage.port, "search", path))
        answer = await call(stage.port, name, {"n": 1}, path)
        assert answer.verdict == (200, None)

    assert [each.message["params"]["name"] for each in stage.calls] == ["search"] * 3
    assert [each.message["params"]["arguments"] for each in stage.calls] == [{"n": 1}] * 3


async def test_a_tool_is_called_directly_as_ever(stage: Stage) -> None:
    answer = await stage.port.post(tool_call("github.read", {"n": 1}), DISCOVER)

    assert answer.verdict == (200, None)
    assert [each.message["params"]["name"] for each in stage.calls] == ["read"]


@pytest.mark.parametrize(
    "name",
    ["github.delete", "github.nothing", "nobody.search", "call_tool", "search_tools", "read"],
)
async def test_who_is_unknown_directly_is_unknown_through_another_tool(
    stage: Stage, name: str
) -> None:
    direct = await stage.port.post(tool_call(name, {"n": 1}))
    through = await call(stage.port, name, {"n": 1})

    assert through.document == direct.document
    assert through.verdict == (200, -32602)
    assert stage.calls == ()


async def test_a_call_that_makes_no_sense_is_a_result_that_says_why(stage: Stage) -> None:
    answer = await stage.port.post(
        tool_call("call_tool", {"name": "github.read", "n": 1}), DISCOVER
    )

    assert answer.document["result"]["isError"] is True
    assert "arguments" in text(answer)
    assert stage.calls == ()


@pytest.mark.parametrize("view", [SAFE, ONE], ids=["everything", "one server"])
@pytest.mark.parametrize("revision", [Revision.V2025_11_25, Revision.MODERN])
@given(whole=spelled.objects())
def test_a_call_is_decided_as_if_it_came_directly(
    view: Endpoint, revision: Revision, whole: Whole
) -> None:
    arguments = whole.data.strip(b" \t\r\n")
    meta = (
        b'{"progressToken":"t","vendor.example/x":[1.0],"io.modelcontextprotocol/logLevel":"info"}'
    )
    name = b'"search"' if view is ONE else b'"github.search"'
    direct = {"name": name, "arguments": arguments, "_meta": meta, "requestState": b'"s"'}
    inner = rawjson.assemble({"name": name, "arguments": arguments})

    one = decided(direct, view, revision)
    other = decided(direct | {"name": b'"call_tool"', "arguments": inner}, view, revision)

    assert isinstance(one, Forward)
    assert isinstance(other, Forward)
    assert other.by_arguments
    assert structs.replace(other, by_arguments=False) == one
    assert other.call.params["arguments"] == arguments


def decided(
    params: dict[str, bytes], view: Endpoint, revision: Revision, of: Catalogue = CATALOGUE
) -> Decision:
    return dispatch.decide(of, view, Request(b"1", "tools/call", params), revision, 100)


@pytest.mark.parametrize(
    "known",
    [
        Known(server("tools/github", out=ServerReason.SUSPENDED, allowed=["search"])),
        Known(server("tools/github", allowed=["read"]), found("search")),
    ],
    ids=["suspended", "no longer allowed"],
)
def test_what_became_of_a_tool_is_told_as_it_is_directly(known: Known) -> None:
    gone = built(known, previous=CATALOGUE)
    direct = {"name": b'"github.search"', "arguments": b"{}"}
    through = {"name": b'"call_tool"', "arguments": b'{"name":"github.search"}'}

    one, other = (decided(params, SAFE, Revision.MODERN, gone) for params in (direct, through))

    assert isinstance(one, Refusal)
    assert one.data is not None
    assert other == one


def test_a_servers_own_tool_of_that_name_is_found_and_called_through_it() -> None:
    made = built_of(server("tools/github"), found("call_tool"))
    through = {"name": b'"call_tool"', "arguments": b'{"name":"call_tool","arguments":{"a":1}}'}

    forward = decided(through, ONE, Revision.MODERN, made)

    assert isinstance(forward, Forward)
    assert forward.call.params == {"name": b'"call_tool"', "arguments": b'{"a":1}'}


# --- modern agents


async def modern(
    port: McpPort, name: str, arguments: Any, path: str = DISCOVER, **headers: str | None
) -> Answer:
    meta = {VERSION: MODERN, CAPABILITIES: {}}
    sent = {"MCP_Protocol_Version": MODERN, "Mcp_Method": "tools/call", "Mcp_Name": name}
    return await port.post(tool_call(name, arguments, meta=meta), path, **(sent | headers))


async def test_a_modern_agent_names_the_tool_that_it_calls_in_the_header(stage: Stage) -> None:
    inner = {"name": "github.search", "arguments": {}}

    right = await modern(stage.port, "call_tool", inner)
    wrong = await modern(stage.port, "call_tool", inner, Mcp_Name="github.search")
    searched = await modern(stage.port, "search_tools", {"query": "read"})

    assert right.verdict == (200, None)
    assert wrong.verdict == (400, -32020)
    assert found_by(searched) == ["github.read"]
    result = searched.document["result"]
    assert result["resultType"] == "complete"
    assert result["structuredContent"] == json.loads(text(searched))


@pytest.mark.parametrize("revision", [Revision.V2025_11_25, Revision.MODERN])
def test_headers_repeat_for_the_upstream_what_no_agent_can_repeat(revision: Revision) -> None:
    inner = b'{"name":"github.headed","arguments":{"region":"eu"}}'
    params = {"name": b'"call_tool"', "arguments": inner}
    request = Request(b"1", "tools/call", params)

    forward = dispatch.decide(WITH_HEADERS, DOTTED, request, revision, 1, lambda _: ())

    assert isinstance(forward, Forward)
    assert forward.call.headers == (("Mcp-Param-Region", "eu"),)
    assert forward.call.timeout_s == 7.0


def test_whoever_calls_such_a_tool_directly_has_to_repeat_them_as_ever() -> None:
    request = Request(
        b"1", "tools/call", {"name": b'"github.headed"', "arguments": b'{"region":"eu"}'}
    )

    refusal = dispatch.decide(WITH_HEADERS, DOTTED, request, Revision.MODERN, 1, lambda _: ())

    assert isinstance(refusal, Refusal)
    assert refusal.code == -32020


# --- calls that need no task


@pytest.fixture
def takes(monkeypatch: pytest.MonkeyPatch) -> Takes:
    return expressway.recorded(monkeypatch)


def spelled_legacy(way: Expressway, name: str, arguments: str) -> bytes:
    params = f'{{"name":"{name}","arguments":{arguments}}}'
    body = f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}'
    return way.port.request(body.encode(), DISCOVER, MCP_Protocol_Version="2025-11-25")


def spelled_modern(way: Expressway, name: str, arguments: str) -> bytes:
    meta = f'{{"{VERSION}":"{MODERN}","{CAPABILITIES}":{{}}}}'
    params = f'{{"name":"{name}","arguments":{arguments},"_meta":{meta}}}'
    body = f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}'
    said = {"MCP_Protocol_Version": MODERN, "Mcp_Method": "tools/call", "Mcp_Name": name}
    return way.port.request(body.encode(), DISCOVER, **said)


@pytest.mark.parametrize("spell", [spelled_legacy, spelled_modern], ids=["legacy", "modern"])
@pytest.mark.parametrize("make", [LegacyServer, ModernServer], ids=["legacy peer", "modern peer"])
async def test_calls_of_different_tools_through_one_go_to_different_tools(
    takes: Takes, spell: Any, make: type[Peer]
) -> None:
    wanted = ["search", "search", "search", "search", "read", "lists", "search", "read"]
    async with running(takes, make()) as way, way.port.connected() as agent:
        for name in wanted:
            inner = f'{{"name":"github.{name}","arguments":{{"n":1.0}}}}'
            answer = await told_by(agent, spell(way, "call_tool", inner))
            assert answer.status == 200

        called = [each.message["params"]["name"] for each in way.calls]

    assert called == wanted
    assert takes.taken
    assert not any(takes.taken)


async def test_between_them_a_direct_call_needs_no_task_as_ever(takes: Takes) -> None:
    async with running(takes) as way, way.port.connected() as agent:
        direct = spelled_legacy(way, "github.search", "{}")
        through = spelled_legacy(way, "call_tool", '{"name":"github.read","arguments":{}}')
        found_there = spelled_legacy(way, "search_tools", '{"query":"read"}')
        for request in (
            direct,
            through,
            found_there,
            direct,
            through,
            found_there,
            direct,
            through,
        ):
            await told_by(agent, request)

        called = [each.message["params"]["name"] for each in way.calls]

    assert called == ["search", "read", "search", "read", "search", "read"]
    assert takes.landed == takes.taken.count(True) == 1
