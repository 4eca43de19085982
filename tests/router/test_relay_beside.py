"""Prompts, resources and completions, as agents of either era get them."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from bench import mcpport
from bench.catalogues import Known, built, definition, server
from bench.listed_beside import described
from bench.mcpport import Answer, McpPort
from bench.mcpstage import CAPABILITIES, LEGACY, MODERN, SERVER_INFO, VERSION, rpc
from bench.scripted_link import Script, ScriptedLink, answers
from pointsman_contract.meta import Exposed
from pointsman_router import offer
from pointsman_router.entrycheck import Kind
from pointsman_router.offer import Finding, Listing
from pointsman_router.upstream import Result, RpcError, Trouble, trouble

LISTED = Listing(
    (definition("search"),),
    "2025-11-25",
    ttl_ms=5,
    private=True,
    prompts=(described(Kind.PROMPT, "ask", icons=[]), described(Kind.PROMPT, "tell")),
    resources=(described(Kind.RESOURCE, "test://a"), described(Kind.RESOURCE, "test://b")),
    templates=(described(Kind.TEMPLATE, "row://{n}"),),
)
CATALOGUE = built(
    Known(server("tools/github", expose=tuple(Exposed)), Finding(offer.read(LISTED), None))
)
ONE = "/mcp/servers/tools/github"
PROMPT = Result(b'{"messages":[],"x":1.0}')
CONTENTS = Result(b'{"contents":[{"uri":"test://a","text":"a"}]}')
ASKS = Result(
    b'{"resultType":"input_required","inputRequests":{"a":{"method":"sampling/createMessage"}},'
    b'"requestState":"s"}'
)
NAMED_BY = {"prompts/get": "name", "resources/read": "uri"}


@asynccontextmanager
async def serving(
    script: Script, *, page_size: int = 100
) -> AsyncIterator[tuple[McpPort, ScriptedLink]]:
    link = ScriptedLink(script)
    async with mcpport.serving(CATALOGUE, page_size=page_size) as port:
        port.links["tools/github"] = link
        yield port, link


async def ask(
    port: McpPort, version: str, method: str, path: str = "/mcp", **params: Any
) -> Answer:
    headers: dict[str, str | None] = {"MCP_Protocol_Version": version}
    if version == MODERN:
        params = {"_meta": {VERSION: MODERN, CAPABILITIES: {"sampling": {}}}, **params}
        headers["Mcp_Method"] = method
        if (member := NAMED_BY.get(method)) and member in params:
            headers["Mcp_Name"] = params[member]
    return await port.post(rpc(method, json.dumps(params)), path, **headers)


ERAS = pytest.mark.parametrize("version", [*LEGACY, MODERN])


# --- lists


@ERAS
async def test_lists_show_what_every_server_has(version: str) -> None:
    async with serving(answers(PROMPT)) as (port, _):
        prompts = (await ask(port, version, "prompts/list")).document["result"]
        safe = (await ask(port, version, "prompts/list", "/mcp?names=safe")).document["result"]
        bare = (await ask(port, version, "prompts/list", ONE)).document["result"]
        uris = (await ask(port, version, "resources/list")).document["result"]
        templates = (await ask(port, version, "resources/templates/list", ONE)).document["result"]

    assert [one["name"] for one in prompts["prompts"]] == ["github.ask", "github.tell"]
    assert [one["name"] for one in safe["prompts"]] == ["github__ask", "github__tell"]
    assert [one["name"] for one in bare["prompts"]] == ["ask", "tell"]
    assert [one["uri"] for one in uris["resources"]] == ["test://a", "test://b"]
    assert [one["uriTemplate"] for one in templates["resourceTemplates"]] == ["row://{n}"]
    assert all(each["_meta"]["pointsman.dev/catalogue"] for each in (prompts, uris, templates))
    assert ("icons" in prompts["prompts"][0]) == (version in ("2025-11-25", MODERN))


@pytest.mark.parametrize(
    "method", ["tools/list", "prompts/list", "resources/list", "resources/templates/list"]
)
async def test_a_list_is_as_good_as_the_shortest_lived_of_its_upstreams(method: str) -> None:
    async with serving(answers(PROMPT)) as (port, _):
        result = (await ask(port, MODERN, method)).document["result"]

    assert (result["ttlMs"], result["cacheScope"]) == (5, "private")


@pytest.mark.parametrize(
    ("method", "member", "known_by"),
    [
        ("prompts/list", "prompts", "name"),
        ("resources/list", "resources", "uri"),
    ],
)
async def test_lists_come_in_pages_with_cursors_of_their_own(
    method: str, member: str, known_by: str
) -> None:
    async with serving(answers(PROMPT), page_size=1) as (port, _):
        first = (await ask(port, MODERN, method)).document["result"]
        second = (await ask(port, MODERN, method, cursor=first["nextCursor"])).document["result"]
        foreign = await ask(port, MODERN, "tools/list", cursor=first["nextCursor"])
        nonsense = await ask(port, MODERN, method, cursor="x")
        number = await ask(port, MODERN, method, cursor=1)

    assert first[member][0][known_by] < second[member][0][known_by]
    assert "nextCursor" not in second
    for refused in (foreign, nonsense, number):
        assert refused.verdict == (200, -32602)


# --- what they lead to


@ERAS
@pytest.mark.parametrize(
    ("path", "name"), [("/mcp", "github.ask"), ("/mcp", "github__ask"), (ONE, "ask")]
)
async def test_a_prompt_is_got_under_each_of_its_names(version: str, path: str, name: str) -> None:
    async with serving(answers(PROMPT)) as (port, link):
        got = await ask(port, version, "prompts/get", path, name=name, arguments={"a": "b"})

    (call,) = link.calls
    assert got.document["result"]["messages"] == []
    assert b'"x":1.0' in got.body
    assert call.method == "prompts/get"
    assert call.params == {"name": b'"ask"', "arguments": b'{"a": "b"}'}
    assert call.capabilities == (b'{"sampling":{}}' if version == MODERN else b"{}")


@ERAS
@pytest.mark.parametrize("uri", ["test://a", "row://7"], ids=["listed", "of a template"])
async def test_a_resource_is_read_where_its_uri_leads(version: str, uri: str) -> None:
    async with serving(answers(CONTENTS)) as (port, link):
        read = await ask(port, version, "resources/read", uri=uri)
        bare = await ask(port, version, "resources/read", ONE, uri=uri)

    assert read.document["result"]["contents"] == [{"uri": "test://a", "text": "a"}]
    assert bare.body == read.body
    assert [call.params for call in link.calls] == [{"uri": json.dumps(uri).encode()}] * 2
    assert ("ttlMs" in read.document["result"]) == (version == MODERN)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        pytest.param(b"", (0, "private"), id="nothing"),
        pytest.param(b',"ttlMs":7,"cacheScope":"public"', (7, "public"), id="both"),
        pytest.param(b',"ttlMs":-1,"cacheScope":"public"', (0, "private"), id="a negative time"),
        pytest.param(b',"ttlMs":7,"cacheScope":""', (0, "private"), id="an empty scope"),
    ],
)
async def test_a_modern_agent_learns_how_long_it_may_keep_what_it_read(
    said: bytes, expected: tuple[int, str]
) -> None:
    async with serving(answers(Result(b'{"contents":[]%b}' % said))) as (port, _):
        result = (await ask(port, MODERN, "resources/read", uri="test://a")).document["result"]

    assert (result["ttlMs"], result["cacheScope"]) == expected
    assert result["resultType"] == "complete"
    assert result["_meta"][SERVER_INFO]["name"] == "pointsman"


@ERAS
@pytest.mark.parametrize(
    ("reference", "own"),
    [
        ({"type": "ref/prompt", "name": "github.ask"}, {"type": "ref/prompt", "name": "ask"}),
        (
            {"type": "ref/resource", "uri": "row://{n}"},
            {"type": "ref/resource", "uri": "row://{n}"},
        ),
        ({"type": "ref/resource", "uri": "test://a"}, {"type": "ref/resource", "uri": "test://a"}),
    ],
    ids=["of a prompt", "of a template", "of a resource"],
)
async def test_a_completion_is_asked_where_its_reference_leads(
    version: str, reference: dict[str, str], own: dict[str, str]
) -> None:
    argument = {"name": "n", "value": "1"}
    async with serving(answers(Result(b'{"completion":{"values":[]}}'))) as (port, link):
        done = await ask(port, version, "completion/complete", ref=reference, argument=argument)

    (call,) = link.calls
    assert done.document["result"]["completion"] == {"values": []}
    assert call.params.keys() == {"ref", "argument"}
    assert json.loads(call.params["ref"]) == own
    assert json.loads(call.params["argument"]) == argument


@pytest.mark.parametrize(
    ("method", "params"),
    [("prompts/get", {"name": "github.ask"}), ("resources/read", {"uri": "test://a"})],
)
async def test_input_that_is_asked_for_passes_between_the_two(
    method: str, params: dict[str, str]
) -> None:
    async with serving(answers(ASKS, PROMPT)) as (port, link):
        asked = await ask(port, MODERN, method, **params)
        await ask(port, MODERN, method, **params, inputResponses={"a": {}}, requestState="s")
        told = await ask(port, "2025-11-25", method, **params)

    assert asked.document["result"]["resultType"] == "input_required"
    assert "ttlMs" not in asked.document["result"]
    assert link.calls[1].params["requestState"] == b'"s"'
    assert told.verdict == (200, None)


async def test_a_completion_asks_for_no_input() -> None:
    reference = {"type": "ref/prompt", "name": "github.ask"}
    async with serving(answers(ASKS)) as (port, _):
        told = await ask(
            port,
            MODERN,
            "completion/complete",
            ref=reference,
            argument={"name": "a", "value": ""},
        )

    assert told.verdict == (200, -32603)


async def test_a_legacy_agent_is_told_that_input_was_asked_for() -> None:
    async with serving(answers(ASKS)) as (port, _):
        told = await ask(port, "2025-11-25", "prompts/get", name="github.ask")

    assert told.verdict == (200, -32603)


async def test_an_older_agent_gets_no_kind_of_content_that_it_does_not_know() -> None:
    link = b'{"type":"resource_link","uri":"test://a","name":"n"}'
    prompt = Result(b'{"messages":[{"role":"user","content":%b}]}' % link)
    async with serving(answers(prompt)) as (port, _):
        old = await ask(port, "2025-03-26", "prompts/get", name="github.ask")
        new = await ask(port, "2025-11-25", "prompts/get", name="github.ask")

    (message,) = old.document["result"]["messages"]
    assert message == {"role": "user", "content": {"type": "text", "text": "test://a"}}
    assert link in new.body


# --- what leads nowhere


UNKNOWN = [
    pytest.param("prompts/get", {"name": "github.search"}, -32602, id="a tool's name"),
    pytest.param("prompts/get", {"name": "ask"}, -32602, id="a bare name among all"),
    pytest.param("prompts/get", {}, -32602, id="no name"),
    pytest.param("prompts/get", {"name": "github.ask", "arguments": []}, -32602, id="a list"),
    pytest.param("resources/read", {}, -32602, id="no uri"),
    pytest.param("completion/complete", {}, -32602, id="no reference"),
    pytest.param(
        "completion/complete",
        {"ref": {"type": "ref/prompt", "name": "x"}, "argument": {"name": "n", "value": ""}},
        -32602,
        id="a reference to an unknown prompt",
    ),
    pytest.param(
        "completion/complete",
        {"ref": {"type": "ref/resource", "uri": "x://"}, "argument": {"name": "n", "value": ""}},
        -32602,
        id="a reference to an unknown template",
    ),
]


@pytest.mark.parametrize(("method", "params", "code"), UNKNOWN)
async def test_what_leads_nowhere_reaches_nobody(
    method: str, params: dict[str, Any], code: int
) -> None:
    async with serving(answers(PROMPT)) as (port, link):
        refused = await ask(port, "2025-11-25", method, **params)

    assert refused.verdict == (200, code)
    assert link.calls == []


@ERAS
async def test_an_unknown_uri_is_named_in_the_error_in_the_code_of_the_era(version: str) -> None:
    async with serving(answers(CONTENTS)) as (port, link):
        refused = await ask(port, version, "resources/read", uri="test://nothing")

    assert refused.verdict == (200, -32602 if version == MODERN else -32002)
    assert refused.document["error"]["data"] == {"uri": "test://nothing"}
    assert link.calls == []


async def test_a_header_that_names_another_prompt_is_refused() -> None:
    params = {"name": "github.ask", "_meta": {VERSION: MODERN, CAPABILITIES: {}}}
    sent = {"MCP_Protocol_Version": MODERN, "Mcp_Method": "prompts/get", "Mcp_Name": "github.tell"}
    async with serving(answers(PROMPT)) as (port, _):
        refused = await port.post(rpc("prompts/get", json.dumps(params)), "/mcp", **sent)

    assert refused.verdict == (400, -32020)


# --- trouble


@ERAS
@pytest.mark.parametrize(
    ("met", "code", "executed"),
    [
        pytest.param(trouble.refused(), -32010, "no", id="unreachable"),
        pytest.param(trouble.late(1.0), -32011, "unknown", id="late"),
        pytest.param(trouble.violation("x"), -32012, "unknown", id="in violation"),
        pytest.param(trouble.throttled(None), -32013, "no", id="throttled"),
        pytest.param(trouble.too_large(1), -32014, "unknown", id="too large"),
    ],
)
async def test_an_upstreams_trouble_is_an_error_with_the_refusal_as_its_data(
    version: str, met: Trouble, code: int, executed: str
) -> None:
    async with serving(answers(met)) as (port, _):
        told = await ask(port, version, "prompts/get", name="github.ask")

    assert told.verdict == (200, code)
    data = told.document["error"]["data"]
    assert (data["code"], data["server"], data["executed"]) == (code, "tools/github", executed)


@pytest.mark.parametrize(
    ("version", "method", "code", "expected"),
    [
        pytest.param("2025-11-25", "prompts/get", -32602, (200, -32602), id="bad arguments"),
        pytest.param(MODERN, "prompts/get", -32021, (400, -32021), id="a capability, modern"),
        pytest.param("2025-11-25", "prompts/get", -32021, (200, -32603), id="one, legacy"),
        pytest.param(MODERN, "prompts/get", -32042, (200, -32603), id="of the other era"),
        pytest.param(MODERN, "completion/complete", -32601, (200, -32601), id="no completions"),
        pytest.param(MODERN, "prompts/get", 7, (200, 7), id="a code of its own"),
    ],
)
async def test_an_upstreams_own_error_is_relayed_in_the_codes_of_the_era(
    version: str, method: str, code: int, expected: tuple[int, int]
) -> None:
    params_of: dict[str, dict[str, Any]] = {
        "prompts/get": {"name": "github.ask"},
        "resources/read": {"uri": "test://a"},
        "completion/complete": {
            "ref": {"type": "ref/prompt", "name": "github.ask"},
            "argument": {"name": "n", "value": ""},
        },
    }
    raw = b'{"code":%d,"message":"why","data":{"uri":"test://a","n":1.0}}' % code
    async with serving(answers(RpcError(code, "why", raw))) as (port, _):
        told = await ask(port, version, method, **params_of[method])

    assert told.verdict == expected
    assert told.document["error"]["message"] == "why"
    assert b'"data":{"uri":"test://a","n":1.0}' in told.body


@pytest.mark.parametrize(
    ("version", "said_by_modern", "code", "expected"),
    [
        pytest.param(MODERN, True, -32602, -32602, id="between modern ones"),
        pytest.param(MODERN, False, -32002, -32602, id="of a legacy one to a modern agent"),
        pytest.param("2025-11-25", True, -32602, -32002, id="of a modern one to a legacy agent"),
        pytest.param("2025-11-25", False, -32002, -32002, id="between legacy ones"),
        pytest.param(MODERN, True, -32002, -32602, id="a code that its own era has no more"),
        pytest.param(MODERN, False, -32602, -32602, id="other faults, of a legacy one"),
        pytest.param("2025-11-25", False, -32602, -32602, id="other faults, between legacy ones"),
    ],
)
async def test_an_unknown_resource_is_told_in_the_code_of_the_agents_era(
    version: str, said_by_modern: bool, code: int, expected: int
) -> None:
    raw = b'{"code":%d,"message":"why","data":{"uri":"test://a"}}' % code
    error = RpcError(code, "why", raw, is_modern=said_by_modern)
    async with serving(answers(error)) as (port, _):
        told = await ask(port, version, "resources/read", uri="test://a")

    assert told.verdict == (200, expected)
    assert told.document["error"] == {
        "code": expected,
        "message": "why",
        "data": {"uri": "test://a"},
    }


REFERENCE = {
    "ref": {"type": "ref/prompt", "name": "github.ask"},
    "argument": {"name": "n", "value": ""},
}


@pytest.mark.parametrize(
    ("method", "params", "code", "is_listed_again"),
    [
        pytest.param("prompts/get", {"name": "github.ask"}, -32602, True, id="a prompt"),
        pytest.param("resources/read", {"uri": "test://a"}, -32602, True, id="a resource, modern"),
        pytest.param("resources/read", {"uri": "test://a"}, -32002, True, id="a resource, legacy"),
        pytest.param("completion/complete", REFERENCE, -32602, True, id="what is referred to"),
        pytest.param("prompts/get", {"name": "github.ask"}, -32603, False, id="another error"),
    ],
)
async def test_an_upstream_that_knows_no_more_what_it_listed_is_listed_again(
    method: str, params: dict[str, Any], code: int, is_listed_again: bool
) -> None:
    raw = b'{"code":%d,"message":"why"}' % code
    async with serving(answers(RpcError(code, "why", raw))) as (port, _):
        await ask(port, MODERN, method, **params)

    assert port.nudged == (["tools/github"] if is_listed_again else [])


async def test_an_error_that_is_too_large_to_pass_on_is_named() -> None:
    raw = b'{"code":-32002,"message":"why","data":"%b"}' % (b"x" * 65 * 1024)
    async with serving(answers(RpcError(-32002, "why", raw))) as (port, _):
        told = await ask(port, MODERN, "resources/read", uri="test://a")

    assert told.verdict == (200, -32602)
    assert len(told.body) < 1024
    assert "error -32002: why" in told.document["error"]["message"]


async def test_a_request_that_is_refused_for_its_headers_is_asked_once_more() -> None:
    wrong = RpcError(-32020, "mismatch", b'{"code":-32020,"message":"mismatch"}', untaken=True)
    async with serving(answers(wrong, PROMPT)) as (port, _):
        told = await ask(port, MODERN, "prompts/get", name="github.ask")
    async with serving(answers(wrong)) as (port, link):
        again = await ask(port, MODERN, "prompts/get", name="github.ask")

    assert told.verdict == (200, None)
    assert again.verdict == (200, -32012)
    assert len(link.calls) == 2


async def test_a_server_that_just_left_is_an_error_too() -> None:
    async with serving(answers(PROMPT)) as (port, _):
        port.links.clear()
        told = await ask(port, MODERN, "resources/read", uri="test://a")

    assert told.verdict == (200, -32010)
