"""How agents of both eras open, list, and send several messages at once."""

import base64
import json
from typing import Any

import pytest

from bench import mcpport
from bench.catalogues import built
from bench.mcpstage import (
    CAPABILITIES,
    CATALOGUE,
    LEGACY,
    MODERN,
    SERVER_INFO,
    VERSION,
    Stage,
    call,
    modern,
    names,
    rpc,
    text,
)
from pointsman_router import relay

# --- the legacy era


@pytest.mark.parametrize(
    ("asked", "agreed"),
    [
        *((revision, revision) for revision in LEGACY),
        ("2024-11-05", "2024-11-05"),
        (MODERN, "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ],
)
async def test_j32_initialize_agrees_on_a_legacy_revision(
    stage: Stage, asked: str, agreed: str
) -> None:
    opening = rpc("initialize", f'{{"protocolVersion":"{asked}","capabilities":{{}}}}')

    twice = [await stage.port.post(opening), await stage.port.post(opening)]
    noted = await stage.port.post(rpc("notifications/initialized", id_=None))

    assert [answer.document["result"]["protocolVersion"] for answer in twice] == [agreed, agreed]
    assert twice[0].document["result"]["capabilities"]["tools"] == {"listChanged": False}
    assert (noted.status, noted.body) == (202, b"")


@pytest.mark.parametrize("revision", [None, "2025-03-26"])
async def test_j06_an_array_is_answered_by_an_array(stage: Stage, revision: str | None) -> None:
    elements = [
        rpc("ping", id_='"a"'),
        rpc("notifications/initialized", id_=None),
        call(id_="7", arguments='{"n":1.0}'),
        call("github.delete", id_="8"),
        b"5",
        b'{"jsonrpc":"2.0","id":true,"method":"ping"}',
        call(id_="7"),
    ]

    answer = await stage.port.post(
        b"[" + b" , ".join(elements) + b"]", MCP_Protocol_Version=revision
    )

    assert answer.status == 200
    assert [
        (element["id"], element.get("error", {}).get("code")) for element in answer.document
    ] == [("a", None), (7, None), (8, -32602), (None, -32600), (None, -32600), (7, None)]
    assert len(stage.calls) == 2


async def test_j06_an_array_of_notices_alone_is_acknowledged(stage: Stage) -> None:
    notice = rpc("notifications/initialized", id_=None)

    answer = await stage.port.post(b"[" + notice + b"," + notice + b"]")

    assert (answer.status, answer.body) == (202, b"")


@pytest.mark.parametrize(
    ("body", "revision"),
    [
        pytest.param(b"[]", None, id="empty"),
        *(
            pytest.param(b"[%b]" % rpc("ping"), revision, id=f"under {revision}")
            for revision in ("2025-06-18", "2025-11-25", MODERN, "2031-01-01", "garbage")
        ),
        pytest.param(b"[" + b",".join([b"1"] * (relay.BATCH_MAX + 1)) + b"]", None, id="too many"),
    ],
)
async def test_j06_any_other_array_is_refused(
    stage: Stage, body: bytes, revision: str | None
) -> None:
    answer = await stage.port.post(body, MCP_Protocol_Version=revision)

    assert answer.verdict == (400, -32600)


async def test_an_array_holds_no_beginning(stage: Stage) -> None:
    hello = rpc("initialize", '{"protocolVersion":"2025-03-26","capabilities":{}}', id_="1")
    answer = await stage.port.post(b"[" + hello + b"," + rpc("ping", id_="2") + b"]")

    refused, pinged = answer.document
    assert refused["error"]["code"] == -32600
    assert pinged["result"] == {}


async def test_t25_an_array_opens_no_way_around_what_is_allowed(stage: Stage) -> None:
    answer = await stage.port.post(
        b"[" + call("github.delete") + b"," + call("delete") + b"," + call("github__delete") + b"]"
    )

    assert {element["error"]["code"] for element in answer.document} == {-32602}
    assert not stage.upstream.received


# --- the modern era


async def test_a_modern_agent_discovers_what_it_then_lists(stage: Stage) -> None:
    discovered = (await modern(stage.port, "server/discover")).document["result"]
    listed = (await modern(stage.port, "tools/list")).document["result"]

    assert discovered["supportedVersions"] == [MODERN]
    assert "tools" in discovered["capabilities"]
    assert [tool["name"] for tool in listed["tools"]] == ["github.read", "github.search"]
    for result in (discovered, listed):
        assert result["resultType"] == "complete"
        assert result["ttlMs"] >= 0
        assert result["cacheScope"] in ("public", "private")
        assert result["_meta"][SERVER_INFO] == {"name": "pointsman", "version": "1.2.3"}


@pytest.mark.parametrize(
    ("method", "params", "headers", "expected"),
    [
        pytest.param(
            "tools/list", {}, {"MCP_Protocol_Version": None}, (400, -32020), id="H13 no version"
        ),
        pytest.param(
            "tools/list",
            {},
            {"MCP_Protocol_Version": "2025-11-25"},
            (400, -32020),
            id="H13 another version",
        ),
        pytest.param(
            "tools/list",
            {"_meta": {VERSION: "2027-01-01", CAPABILITIES: {}}},
            {"MCP_Protocol_Version": "2027-01-01"},
            (400, -32022),
            id="H13 a version that is not served",
        ),
        pytest.param("tools/list", {}, {"Mcp_Method": None}, (400, -32020), id="H14 no method"),
        pytest.param(
            "tools/list", {}, {"Mcp_Method": "tools/call"}, (400, -32020), id="H14 another method"
        ),
        pytest.param(
            "tools/call",
            {"name": "github.search"},
            {"Mcp_Name": None},
            (400, -32020),
            id="H14 no name",
        ),
        pytest.param(
            "tools/call",
            {"name": "github.search"},
            {"Mcp_Name": "github.read"},
            (400, -32020),
            id="H14 another name",
        ),
        pytest.param(
            "tools/call",
            {"name": "github.delete"},
            {"Mcp_Name": "github.search"},
            (400, -32020),
            id="H14 T25 an allowed name in the header alone",
        ),
        pytest.param("tools/list", {"_meta": {}}, {}, (400, -32602), id="J24 an empty _meta"),
        pytest.param(
            "tools/list", {"_meta": {VERSION: MODERN}}, {}, (400, -32602), id="J24 no capabilities"
        ),
        pytest.param("nobody/knows", {}, {}, (404, -32601), id="J11 an unknown method"),
        pytest.param("ping", {}, {}, (404, -32601), id="J11 ping"),
        pytest.param("initialize", {}, {}, (404, -32601), id="J11 initialize"),
        pytest.param("tools/call", {"name": "github.delete"}, {}, (200, -32602), id="J16"),
        pytest.param("tools/call", {"name": "search"}, {}, (200, -32602), id="J20"),
        pytest.param("tools/list", {"cursor": "x"}, {}, (200, -32602), id="J29"),
    ],
)
async def test_a_modern_request_falls_off_the_ladder_where_it_is_wrong(
    stage: Stage,
    method: str,
    params: dict[str, Any],
    headers: dict[str, str | None],
    expected: tuple[int, int],
) -> None:
    answer = await modern(stage.port, method, params, **headers)

    assert answer.verdict == expected
    assert answer.document["id"] == 1
    assert not stage.upstream.received


async def test_h14_a_header_twice_is_a_mismatch(stage: Stage) -> None:
    params = json.dumps({"_meta": {VERSION: MODERN, CAPABILITIES: {}}})
    request = stage.port.request(
        rpc("tools/list", params), MCP_Protocol_Version=MODERN, Mcp_Method="tools/list"
    )

    answer = await stage.port.exchange(
        request.replace(b"Mcp-Method: ", b"Mcp-Method: tools/list\r\nMcp-Method: ")
    )

    assert answer.verdict == (400, -32020)


async def test_h14_a_name_may_come_in_base64(stage: Stage) -> None:
    encoded = base64.b64encode(b"github.search").decode()

    answer = await modern(
        stage.port,
        "tools/call",
        {"name": "github.search"},
        Mcp_Name=f" =?base64?{encoded}?=\t",
    )

    assert text(answer) == "search {}"


async def test_h15_h16_what_is_not_a_header_of_the_era_is_ignored(stage: Stage) -> None:
    answer = await modern(
        stage.port,
        "tools/call",
        {"name": "github.search"},
        Mcp_Param_Region="x",
        Mcp_Session_Id="x",
    )

    assert text(answer) == "search {}"
    assert "mcp-session-id" not in answer.headers


async def test_modern_notices_are_acknowledged_in_a_version_that_is_served(stage: Stage) -> None:
    notice = rpc("notifications/cancelled", '{"requestId":1}', id_=None)

    served = await stage.port.post(notice, MCP_Protocol_Version=MODERN)
    unserved = await stage.port.post(notice, MCP_Protocol_Version="2031-01-01")

    assert (served.status, served.body) == (202, b"")
    assert unserved.verdict == (400, -32022)
    assert unserved.document["error"]["data"]["supported"] == [MODERN]


# --- pages and echo


@pytest.mark.parametrize("path", ["/mcp", "/mcp?names=safe", "/mcp/servers/tools/github"])
async def test_j29_pages_of_one_replica_are_continued_by_another(path: str) -> None:
    seen: list[str] = []
    cursor = "null"
    async with (
        mcpport.serving(CATALOGUE, page_size=1) as one,
        mcpport.serving(CATALOGUE, page_size=1) as other,
    ):
        for port in (one, other, one):
            answer = await port.post(rpc("tools/list", f'{{"cursor":{cursor}}}'), path)
            seen += names(answer)
            if "nextCursor" not in answer.document["result"]:
                break
            cursor = json.dumps(answer.document["result"]["nextCursor"])
        whole = await one.post(rpc("tools/list"), path)

    assert len(seen) == 2
    assert names(whole) == seen[:1]


async def test_where_nothing_is_registered_echo_answers_in_both_eras() -> None:
    async with mcpport.serving(built()) as port:
        listed = await port.post(rpc("tools/list"))
        echoed = await port.post(call("echo", r'{"text":"\u00fc \/"}'))
        wrong = await port.post(call("echo"))
        new = await modern(port, "tools/call", {"name": "echo", "arguments": {"text": "hi"}})

    assert names(listed) == ["echo"]
    assert rb'"\u00fc \/"' in echoed.body
    assert text(echoed) == "ü /"
    assert wrong.document["result"]["isError"] is True
    assert text(new) == "hi"
