"""Which messages lead nowhere, and what their senders are told."""

import asyncio

import pytest

from bench.catalogues import Known, built, found, server
from bench.mcpstage import (
    CATALOGUE,
    GITHUB,
    Stage,
    call,
    rpc,
)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(b"", (400, -32700), id="J01 nothing"),
        pytest.param(b"{", (400, -32700), id="J01 a brace"),
        pytest.param(call() + b"x", (400, -32700), id="J01 a letter behind it"),
        pytest.param(b"\xef\xbb\xbf" + call(), (400, -32700), id="J02 a byte order mark"),
        pytest.param(call().decode().encode("utf-16"), (400, -32700), id="J02 UTF-16"),
        pytest.param(
            call(arguments='{"a":"ü"}').replace(b"\xc3", b""), (400, -32700), id="J02 half a letter"
        ),
        pytest.param(call("\ud800"), (200, -32602), id="J03 half a surrogate pair"),
        pytest.param(call(arguments='{"a":NaN}'), (400, -32700), id="J04 NaN"),
        pytest.param(call(arguments='{"a":Infinity}'), (400, -32700), id="J04 an infinity"),
        pytest.param(b"[" * 2000, (400, -32700), id="J05 2,000 levels"),
        pytest.param(
            rpc("tools/call", '{"name":"github.search"}', id_="null"), (400, -32600), id="J08 null"
        ),
        pytest.param(call(id_="1.5"), (400, -32600), id="J08 1.5"),
        pytest.param(call(id_="true"), (400, -32600), id="J08 true"),
        pytest.param(call(id_="{}"), (400, -32600), id="J08 an object"),
        pytest.param(
            rpc("tools/call", '{"name":"github.search"}', id_=None), (400, -32600), id="J09 no id"
        ),
        pytest.param(b'{"jsonrpc":"2.0","id":1,"method":5}', (400, -32600), id="J11 a method of 5"),
        pytest.param(rpc("nobody/knows"), (200, -32601), id="J11 an unknown method"),
        pytest.param(rpc("server/discover"), (200, -32601), id="J11 a modern method"),
        pytest.param(
            rpc("tools/call", '{"name":"github.search","name":"github.search"}'),
            (400, -32600),
            id="J13 name twice",
        ),
        pytest.param(
            rpc("tools/call", '{"name":"github.search","Name":"github.delete"}'),
            (400, -32600),
            id="J14 Name beside name",
        ),
        pytest.param(
            rpc("tools/call", '{"name":"github.search","Arguments":{}}'),
            (400, -32600),
            id="J14 Arguments",
        ),
        pytest.param(rpc("tools/call", "{}"), (200, -32602), id="J15 no name"),
        pytest.param(rpc("tools/call"), (200, -32602), id="J15 no params"),
        pytest.param(rpc("tools/call", '{"name":5}'), (200, -32602), id="J15 a number"),
        pytest.param(call(""), (200, -32602), id="J15 an empty name"),
        pytest.param(call("x" * 3000), (200, -32602), id="J15 a long name"),
        pytest.param(call("github.search\x00"), (200, -32602), id="J15 NUL"),
        pytest.param(call("github.nobody"), (200, -32602), id="J16 unknown"),
        pytest.param(call("github.delete"), (200, -32602), id="J16 not allowed"),
        pytest.param(call("github..search"), (200, -32602), id="J19 two dots"),
        pytest.param(call("GitHub.search"), (200, -32602), id="J19 capitals"),
        pytest.param(call("github%2Esearch"), (200, -32602), id="J19 an escape"),
        pytest.param(call("search"), (200, -32602), id="J20 the bare name"),
        pytest.param(call(arguments="[]"), (200, -32602), id="J21 a list"),
        pytest.param(call(arguments='"{}"'), (200, -32602), id="J21 a string"),
        pytest.param(b'{"jsonrpc":"2.0","id":1,"result":{}}', (400, -32600), id="J27 a response"),
        pytest.param(
            rpc("notifications/tools/list_changed", id_=None), (400, -32600), id="J27 a notice"
        ),
        pytest.param(rpc("tools/list", '{"cursor":"x"}'), (200, -32602), id="J29 a cursor"),
        pytest.param(rpc("initialize", '{"protocolVersion":5}'), (200, -32602), id="J32 version 5"),
    ],
)
@pytest.mark.parametrize("revision", [None, "2025-11-25"], ids=["unstated", "newest"])
async def test_what_leads_nowhere_is_refused_and_reaches_no_upstream(
    stage: Stage, body: bytes, expected: tuple[int, int], revision: str | None
) -> None:
    answer = await stage.port.post(body, MCP_Protocol_Version=revision)

    assert answer.verdict == expected
    assert len(answer.body) < 1024
    assert not stage.upstream.received


async def test_j05_deep_nesting_blocks_nobody(stage: Stage) -> None:
    async with asyncio.timeout(1):
        both = await asyncio.gather(stage.port.post(b"[" * 4000), stage.port.post(rpc("ping")))

    assert [answer.verdict for answer in both] == [(400, -32700), (200, None)]


@pytest.mark.parametrize("id_", ["0", "9223372036854775807", '"a"', '""', r'"\ud800"', "-1"])
async def test_j08_an_id_comes_back_digit_by_digit(stage: Stage, id_: str) -> None:
    for body in (rpc("ping", id_=id_), call(id_=id_), call("nobody", id_=id_)):
        answer = await stage.port.post(body)

        assert answer.body.startswith(b'{"jsonrpc":"2.0","id":' + id_.encode() + b",")


@pytest.mark.parametrize(
    ("body", "id_"),
    [(b'{"jsonrpc":"2.0","id":7,"method":5}', 7), (b'{"jsonrpc":"2.0","id":true}', None)],
)
async def test_an_id_that_could_be_read_is_repeated_in_a_refusal(
    stage: Stage, body: bytes, id_: int | None
) -> None:
    assert (await stage.port.post(body)).document["id"] == id_


@pytest.mark.parametrize("path", ["/mcp", "/mcp?names=safe", "/mcp/servers/tools/github"])
async def test_j16_unknown_and_not_allowed_are_the_same_bytes(stage: Stage, path: str) -> None:
    without = built(Known(GITHUB, found("search", "read")))
    for name in ("github.delete", "github__delete", "delete"):
        there = await stage.port.post(call(name), path)
        stage.port.catalogues.put(without)
        not_there = await stage.port.post(call(name), path)
        stage.port.catalogues.put(CATALOGUE)

        assert there.verdict == (200, -32602)
        assert there.body == not_there.body
        assert there.headers.keys() == not_there.headers.keys()
    assert not stage.upstream.received


async def test_j18_a_name_that_went_says_so(stage: Stage) -> None:
    stage.port.catalogues.put(built(Known(server("tools/other"), None), previous=CATALOGUE))
    answer = await stage.port.post(call())
    stage.port.catalogues.put(CATALOGUE)

    assert answer.document["error"] == {
        "code": -32602,
        "message": "Unknown tool: github.search",
        "data": {"reason": "removed"},
    }
