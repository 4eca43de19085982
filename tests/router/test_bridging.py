"""What passes between an agent and an upstream of either era, and what is asked twice."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from bench import mcpport
from bench.catalogues import Known, built, definition, found, server
from bench.mcpport import Answer, McpPort
from bench.mcpstage import CAPABILITIES, LEGACY, MODERN, VERSION, rpc, text
from bench.scripted_link import OK, Script, ScriptedLink, answers
from pointsman_router import outgoing
from pointsman_router.exposure import Route
from pointsman_router.jsonrpc import Request
from pointsman_router.refusals import Refusal
from pointsman_router.upstream import Result, RpcError

REGION = {"type": "string", "x-mcp-header": "Region"}
HEADED = definition("headed", inputSchema={"type": "object", "properties": {"region": REGION}})
LISTS = definition("lists", outputSchema={"type": "array"})
GITHUB = server("tools/github")
CATALOGUE = built(Known(GITHUB, found("search", HEADED, LISTS)))
MISMATCH = RpcError(-32020, "mismatch", b'{"code":-32020,"message":"mismatch"}', untaken=True)
WISH = b'{"a":{"method":"elicitation/create","params":{"n":1.0}}}'
ASKS = b'{"resultType":"input_required","inputRequests":%b,"requestState":"s"}' % WISH


@asynccontextmanager
async def bridging(script: Script) -> AsyncIterator[tuple[McpPort, ScriptedLink]]:
    link = ScriptedLink(script)
    async with mcpport.serving(CATALOGUE) as port:
        port.links["tools/github"] = link
        yield port, link


async def modern(
    port: McpPort,
    name: str = "github.search",
    *,
    arguments: Any = None,
    capabilities: Any = None,
    more: dict[str, Any] | None = None,
    **headers: str | None,
) -> Answer:
    described = {VERSION: MODERN, CAPABILITIES: capabilities or {}}
    params = {"name": name, "arguments": arguments or {}, "_meta": described, **(more or {})}
    sent: dict[str, str | None] = {
        "MCP_Protocol_Version": MODERN,
        "Mcp_Method": "tools/call",
        "Mcp_Name": name,
    }
    return await port.post(rpc("tools/call", json.dumps(params)), "/mcp", **(sent | headers))


async def modern_at(port: McpPort, path: str, name: str) -> Answer:
    params = {"name": name, "arguments": {}, "_meta": {VERSION: MODERN, CAPABILITIES: {}}}
    headers = {"MCP_Protocol_Version": MODERN, "Mcp_Method": "tools/call", "Mcp_Name": name}
    return await port.post(rpc("tools/call", json.dumps(params)), path, **headers)


async def legacy(
    port: McpPort, name: str = "github.search", arguments: str = "{}", version: str = "2025-11-25"
) -> Answer:
    params = f'{{"name":"{name}","arguments":{arguments}}}'
    return await port.post(rpc("tools/call", params), MCP_Protocol_Version=version)


# --- input that an upstream asks for


async def test_a_request_for_input_and_its_answer_pass_verbatim() -> None:
    async with bridging(answers(Result(ASKS), OK)) as (port, link):
        asked = await modern(port, capabilities={"elicitation": {}})
        responses = {"a": {"action": "accept", "content": {"n": 1.0}}}
        done = await modern(port, more={"inputResponses": responses, "requestState": "s"})

    assert asked.document["result"]["resultType"] == "input_required"
    assert b'"inputRequests":%b,"requestState":"s"' % WISH in asked.body
    assert done.document["result"]["resultType"] == "complete"
    assert json.loads(link.calls[1].params["inputResponses"]) == responses
    assert link.calls[1].params["requestState"] == b'"s"'
    assert "requestState" not in link.calls[0].params


@pytest.mark.parametrize(
    ("capabilities", "wish"),
    [
        pytest.param({}, WISH, id="nothing was declared"),
        pytest.param({"sampling": {}}, WISH, id="something else was declared"),
        pytest.param({"elicitation": {}}, b'{"a":{"method":"weird/thing"}}', id="no kind of input"),
        pytest.param({"elicitation": {}}, b'{"a":{}}', id="no method"),
        pytest.param({"elicitation": {}}, b"[]", id="no object"),
    ],
)
async def test_input_that_the_agent_did_not_offer_is_not_asked_for(
    capabilities: dict[str, Any], wish: bytes
) -> None:
    raw = b'{"resultType":"input_required","inputRequests":%b,"requestState":"s"}' % wish
    async with bridging(answers(Result(raw))) as (port, _):
        answer = await modern(port, capabilities=capabilities)

    assert answer.document["result"]["isError"] is True
    assert answer.document["result"]["resultType"] == "complete"
    assert b"inputRequests" not in answer.body


def test_a_state_without_end_is_refused_before_it_is_sent() -> None:
    state = b'"%b"' % (b"s" * 70_000)
    request = Request(b"1", "tools/call", {"requestState": state})

    refusal = outgoing.forward(Route("tools/github", "search", 1.0), request, b"{}", is_modern=True)

    assert isinstance(refusal, Refusal)
    assert refusal.code == -32602
    assert "requestState" in refusal.message


@pytest.mark.parametrize("version", LEGACY)
async def test_a_legacy_agent_is_told_that_input_was_asked_for(version: str) -> None:
    async with bridging(answers(Result(ASKS))) as (port, _):
        answer = await legacy(port, version=version)

    assert answer.document["result"]["isError"] is True
    assert "input" in text(answer)
    assert "requestState" not in answer.body.decode()


async def test_a_legacy_agent_cannot_take_up_a_call() -> None:
    async with bridging(answers(OK)) as (port, link):
        await port.post(rpc("tools/call", '{"name":"github.search","requestState":"s"}'))

    assert link.calls[0].params.keys() == {"name", "arguments"}


@pytest.mark.parametrize(
    ("declared", "sent"),
    [
        ({}, {}),
        ({"sampling": {"tools": {}}}, {"sampling": {"tools": {}}}),
        (
            {"roots": {"listChanged": True}, "extensions": {"x/tasks": {}}, "elicitation": {}},
            {"roots": {"listChanged": True}, "elicitation": {}},
        ),
    ],
    ids=["none", "one", "what is not relayed"],
)
async def test_an_upstream_learns_what_this_agent_can_do_on_this_request(
    declared: Any, sent: Any
) -> None:
    async with bridging(answers(OK)) as (port, link):
        await modern(port, capabilities=declared)
        await modern(port)
        await legacy(port)

    assert [json.loads(call.capabilities) for call in link.calls] == [sent, {}, {}]


async def test_a_missing_capability_is_an_error_to_whom_it_is_said_and_a_result_to_others() -> None:
    raw = b'{"code":-32021,"message":"no","data":{"requiredCapabilities":{"sampling":{}}}}'
    async with bridging(answers(RpcError(-32021, "no", raw))) as (port, _):
        new = await modern(port)
        old = await legacy(port)

    assert new.verdict == (400, -32021)
    assert new.document["error"]["data"] == {"requiredCapabilities": {"sampling": {}}}
    assert old.document["result"]["isError"] is True
    assert "-32021" in text(old)


@pytest.mark.parametrize("member", ["requestState", "inputResponses"])
@pytest.mark.parametrize("code", [-32602, -32603, -32000])
async def test_an_error_to_a_call_that_was_taken_up_is_an_error(member: str, code: int) -> None:
    raw = b'{"code":%d,"message":"state","data":{"n":1.0}}' % code
    async with bridging(answers(RpcError(code, "state", raw))) as (port, _):
        taken_up = await modern(port, more={member: "x"})
        fresh = await modern(port)

    assert taken_up.verdict == (200, code)
    assert raw in taken_up.body
    assert fresh.document["result"]["isError"] is True


# --- headers that repeat arguments


async def test_a_modern_agent_has_to_repeat_what_the_exposed_schema_demands() -> None:
    async with bridging(answers(OK)) as (port, link):
        wrong = [
            await modern(port, "github.headed", arguments={"region": "a"}),
            await modern(port, "github.headed", arguments={"region": "a"}, Mcp_Param_Region="b"),
            await modern(port, "github.headed", Mcp_Param_Region="b"),
        ]
        right = await modern(
            port, "github.headed", arguments={"region": "a"}, mcp_PARAM_region=" a "
        )
        unknown = await modern(port, Mcp_Param_Region="x")

    assert [answer.verdict for answer in wrong] == [(400, -32020)] * 3
    assert [answer.document["id"] for answer in wrong] == [1, 1, 1]
    assert right.document["result"]["content"] == []
    assert unknown.document["result"]["content"] == []
    assert [call.headers for call in link.calls] == [(("Mcp-Param-Region", "a"),), ()]


async def test_a_legacy_agents_arguments_make_headers_too() -> None:
    async with bridging(answers(OK)) as (port, link):
        await legacy(port, "github.headed", '{"region":"ü"}')

    assert link.calls[0].headers == (("Mcp-Param-Region", "=?base64?w7w=?="),)


async def test_a_call_that_was_not_taken_is_decided_anew_from_a_new_list_and_sent_once_more() -> (
    None
):
    other = definition(
        "headed",
        inputSchema={
            "type": "object",
            "properties": {"region": {"type": "string", "x-mcp-header": "Zone"}},
        },
    )
    async with bridging(answers(MISMATCH, OK)) as (port, link):
        port.on_renewal = lambda: port.catalogues.put(built(Known(GITHUB, found(other))))
        answer = await legacy(port, "github.headed", '{"region":"a"}')

    assert answer.document["result"] == {"content": []}
    assert port.renewed == ["tools/github"]
    assert [call.headers for call in link.calls] == [
        (("Mcp-Param-Region", "a"),),
        (("Mcp-Param-Zone", "a"),),
    ]


async def test_a_call_that_is_not_taken_twice_is_not_sent_again() -> None:
    async with bridging(answers(MISMATCH)) as (port, link):
        answer = await modern(port)

    assert len(link.calls) == 2
    assert answer.document["result"]["isError"] is True
    assert "-32020" in text(answer)


async def test_a_call_that_may_have_been_taken_is_never_sent_again_whatever_its_error() -> None:
    taken = RpcError(MISMATCH.code, MISMATCH.message, MISMATCH.raw)
    async with bridging(answers(taken, OK)) as (port, link):
        answer = await modern(port)

    assert len(link.calls) == 1
    assert answer.document["result"]["isError"] is True


async def test_a_tool_that_is_gone_from_the_new_list_is_unknown() -> None:
    async with bridging(answers(MISMATCH)) as (port, link):
        port.on_renewal = lambda: port.catalogues.put(built(Known(GITHUB, found("other"))))
        answer = await legacy(port)

    assert answer.verdict == (200, -32602)
    assert len(link.calls) == 1


async def test_a_call_that_names_its_list_is_not_sent_by_a_new_one_that_shows_another_tool() -> (
    None
):
    other = definition("headed", title="Another")
    named = {"pointsman.dev/catalogue": CATALOGUE.revision}
    params = {"name": "github.headed", "arguments": {"region": "a"}, "_meta": named}
    async with bridging(answers(MISMATCH, OK)) as (port, link):
        port.on_renewal = lambda: port.catalogues.put(
            built(Known(GITHUB, found(other)), previous=CATALOGUE)
        )
        answer = await port.post(rpc("tools/call", json.dumps(params)))

    assert answer.document["result"]["_meta"]["pointsman.dev/refusal"]["code"] == -32015
    assert len(link.calls) == 1


async def test_a_server_that_is_gone_from_the_new_list_has_no_tools() -> None:
    async with bridging(answers(MISMATCH)) as (port, link):
        port.on_renewal = lambda: port.catalogues.put(built())
        answer = await modern_at(port, "/mcp/servers/tools/github", "search")

    assert answer.verdict == (200, -32602)
    assert len(link.calls) == 1


# --- what else differs


async def test_structure_is_not_shown_where_its_schema_is_not() -> None:
    result = Result(b'{"content":[],"structuredContent":{"n":1}}')
    async with bridging(answers(result)) as (port, _):
        new = await modern(port, "github.lists")
        old = await legacy(port, "github.lists")

    assert "structuredContent" in new.document["result"]
    assert old.document["result"] == {"content": []}


async def test_trace_context_goes_on_as_headers() -> None:
    async with bridging(answers(OK)) as (port, link):
        await modern(port, traceparent="00-a-b-01", baggage="k=v")
        await legacy(port)

    assert link.calls[0].trace == (("traceparent", "00-a-b-01"), ("baggage", "k=v"))
    assert link.calls[1].trace == ()


@pytest.mark.parametrize(
    ("method", "member"),
    [
        ("prompts/list", "prompts"),
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
    ],
)
async def test_lists_that_nobody_contributes_to_are_empty_in_both_eras(
    method: str, member: str
) -> None:
    described = json.dumps({"_meta": {VERSION: MODERN, CAPABILITIES: {}}})
    async with bridging(answers(OK)) as (port, _):
        old = await port.post(rpc(method), MCP_Protocol_Version="2025-11-25")
        new = await port.post(
            rpc(method, described), MCP_Protocol_Version=MODERN, Mcp_Method=method
        )
        beyond = await port.post(rpc(method, '{"cursor":"x"}'))

    assert old.document["result"] == {
        member: [],
        "_meta": {"pointsman.dev/catalogue": CATALOGUE.revision},
    }
    assert new.document["result"][member] == []
    assert new.document["result"].keys() >= {"ttlMs", "cacheScope", "resultType"}
    assert beyond.verdict == (200, -32602)


@pytest.mark.parametrize("params", ["{}", '{"level":5}', '{"level":"loud"}'])
async def test_a_log_level_that_is_none_is_refused(params: str) -> None:
    async with bridging(answers(OK)) as (port, _):
        answer = await port.post(rpc("logging/setLevel", params))

    assert answer.verdict == (200, -32602)


async def test_a_log_level_may_be_set_by_legacy_agents_alone() -> None:
    async with bridging(answers(OK)) as (port, _):
        old = await port.post(rpc("logging/setLevel", '{"level":"debug"}'))
        new = await port.post(
            rpc("logging/setLevel", json.dumps({"_meta": {VERSION: MODERN, CAPABILITIES: {}}})),
            MCP_Protocol_Version=MODERN,
            Mcp_Method="logging/setLevel",
        )

    assert old.document["result"] == {}
    assert new.verdict == (404, -32601)
