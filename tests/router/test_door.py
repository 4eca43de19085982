"""What the MCP port does with a request as HTTP, whoever sends it and however."""

import asyncio
import logging
from collections.abc import AsyncIterator

import pytest

from bench import mcpport
from bench.catalogues import Known, built, found, server
from bench.mcpport import BODY_MAX_BYTES, Answer, McpPort
from bench.waiting import until
from pointsman_contract.report import ServerReason
from pointsman_router.respond import Outcome

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
LIST = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
MODERN = "2026-07-28"
CATALOGUE = built(
    Known(server("tools/github"), found("search")),
    Known(server("lone"), found("search")),
    Known(server("tools/asleep", out=ServerReason.SUSPENDED)),
)


@pytest.fixture(params=[False, True], ids=["a new head", "behind familiar heads"])
async def port(request: pytest.FixtureRequest) -> AsyncIterator[McpPort]:
    """The port; whatever a test did to it, it still serves afterwards."""
    async with mcpport.serving(CATALOGUE, familiar=request.param) as serving:
        yield serving
        assert (await serving.post(PING)).document["result"] == {}
        assert serving.meter.in_flight == 0


def names(answer: Answer) -> list[str]:
    return [tool["name"] for tool in answer.document["result"]["tools"]]


def head(port: McpPort, line: str, *headers: str) -> bytes:
    """The head of a request, line by line, nothing added but a Host of ours."""
    return "\r\n".join([line, f"Host: localhost:{port.port}", *headers, "", ""]).encode()


TYPED = "Content-Type: application/json"
LENGTH = f"Content-Length: {len(PING)}"


async def test_a_request_is_answered_as_json(port: McpPort) -> None:
    answer = await port.post(PING)

    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.body == b'{"jsonrpc":"2.0","id":1,"result":{}}'


@pytest.mark.parametrize("verb", ["GET", "DELETE", "PUT", "PATCH", "OPTIONS", "TRACE"])
async def test_h01_h02_only_post_is_served(port: McpPort, verb: str) -> None:
    answer = await port.exchange(head(port, f"{verb} /mcp HTTP/1.1"))

    assert answer.verdict == (405, -32600)
    assert answer.headers["allow"] == "POST"


@pytest.mark.parametrize("verb", ["FOO", "CONNECT", "PRI"])
async def test_h02_stranger_verbs_are_refused(port: McpPort, verb: str) -> None:
    answer = await port.exchange(head(port, f"{verb} localhost:80 HTTP/1.1"))

    assert answer.status in (400, 405)


@pytest.mark.parametrize(
    "target",
    ["/x", "//mcp", "/mcp/../x", "/x/../mcp", "/mcp%2f", "/", "/mcp//"],
)
async def test_h03_any_other_path_is_not_found(port: McpPort, target: str) -> None:
    answer = await port.post(PING, target)

    assert answer.verdict == (404, -32600)
    assert "location" not in answer.headers


async def test_h03_a_slash_at_the_end_is_no_other_path(port: McpPort) -> None:
    assert (await port.post(LIST, "/mcp/")).body == (await port.post(LIST)).body


@pytest.mark.parametrize(
    ("path", "listed"),
    [
        ("/mcp", ["github.search", "lone.search"]),
        ("/mcp?names=dotted", ["github.search", "lone.search"]),
        ("/mcp?names=safe", ["github__search", "lone__search"]),
        ("/mcp/servers/tools/github", ["search"]),
        ("/mcp/servers/tools/github/", ["search"]),
        ("/mcp/servers/lone", ["search"]),
        ("/mcp/servers/tools/asleep", []),
    ],
)
async def test_every_endpoint_lists_what_it_offers(
    port: McpPort, path: str, listed: list[str]
) -> None:
    assert names(await port.post(LIST, path)) == listed


@pytest.mark.parametrize(
    "path",
    [
        *("/mcp/servers/tools/nobody", "/mcp/servers/github", "/mcp/servers/tools%2Fgithub"),
        *("/mcp/servers//lone", "/mcp/servers/TOOLS/github", "/mcp/servers/%zz%ff"),
        *("/mcp/servers/..", "/mcp/servers/http:/evil.example", "/mcp/servers/tools/github/x"),
    ],
)
async def test_the_endpoint_of_an_unknown_server_is_not_found(port: McpPort, path: str) -> None:
    assert (await port.post(LIST, path)).verdict == (404, -32600)


@pytest.mark.parametrize(
    "content_type", [None, "", "text/plain", "application/jsonp", "multipart/form-data"]
)
async def test_h04_a_body_must_be_said_to_be_json(port: McpPort, content_type: str | None) -> None:
    assert (await port.post(PING, Content_Type=content_type)).verdict == (415, -32600)


@pytest.mark.parametrize(
    ("accept", "legacy", "modern"),
    [
        ("application/json, text/event-stream", 200, 200),
        ("*/*", 200, 200),
        (None, 200, 406),
        ("application/json", 200, 406),
        ("text/event-stream", 406, 406),
        ("text/html", 406, 406),
    ],
)
async def test_h05_an_agent_must_be_able_to_take_the_answer(
    port: McpPort, accept: str | None, legacy: int, modern: int
) -> None:
    described = (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{'
        b'"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
        b'"io.modelcontextprotocol/clientCapabilities":{}}}}'
    )
    headers = {"MCP_Protocol_Version": MODERN, "Mcp_Method": "tools/list"}

    assert (await port.post(LIST, Accept=accept)).status == legacy
    assert (await port.post(described, Accept=accept, **headers)).status == modern
    assert (await port.post(b"[" + LIST + b"]", Accept=accept)).status == legacy


# --- how much, how long


def padded(length: int) -> bytes:
    return PING + b" " * (length - len(PING))


async def test_h07_a_body_may_have_the_limit_and_not_a_byte_more(port: McpPort) -> None:
    assert (await port.post(padded(BODY_MAX_BYTES))).status == 200

    answer = await port.post(padded(BODY_MAX_BYTES + 1))

    assert answer.verdict == (413, -32600)
    assert str(BODY_MAX_BYTES) in answer.document["error"]["message"]


async def test_h07_a_length_over_the_limit_is_refused_before_a_byte_came(port: McpPort) -> None:
    async with asyncio.timeout(mcpport.BODY_S / 2):
        answer = await port.exchange(port.request(b"", Content_Length=str(10**12)))

    assert answer.verdict == (413, -32600)


def chunked(*chunks: bytes, end: bytes = b"0\r\n\r\n") -> bytes:
    return b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks) + end


@pytest.mark.parametrize(
    ("size", "status"), [(BODY_MAX_BYTES, 200), (BODY_MAX_BYTES + 1, 413), (100_000, 413)]
)
async def test_h07_chunks_are_counted_by_their_bytes(port: McpPort, size: int, status: int) -> None:
    body = padded(size)
    pieces = [body[at : at + 100] for at in range(0, size, 100)]

    answer = await port.exchange(
        head(port, "POST /mcp HTTP/1.1", TYPED, "Transfer-Encoding: chunked") + chunked(*pieces)
    )

    assert answer.status == status


@pytest.mark.parametrize(
    "begun",
    [
        pytest.param((LENGTH.replace("40", "400"), PING), id="H07 a length that promises too much"),
        pytest.param((LENGTH, b""), id="H07 no body at all"),
        pytest.param(
            ("Transfer-Encoding: chunked", chunked(PING, end=b"")), id="H07 chunks without an end"
        ),
    ],
)
async def test_a_body_that_does_not_come_is_not_waited_for_long(
    port: McpPort, begun: tuple[str, bytes]
) -> None:
    length, body = begun
    async with port.connected() as connection:
        await connection.send(head(port, "POST /mcp HTTP/1.1", TYPED, length) + body)
        answer = await connection.answer()

        assert answer.verdict == (408, -32600)
        assert await connection.is_closed()


async def test_h07_a_length_that_promises_too_little_ends_the_connection(port: McpPort) -> None:
    async with port.connected() as connection:
        await connection.send(port.request(PING, Content_Length="10"))

        assert (await connection.answer()).status == 400
        assert await connection.is_closed()


async def test_an_agent_may_hang_up_in_the_middle_of_its_body(
    port: McpPort, caplog: pytest.LogCaptureFixture
) -> None:
    async with port.connected() as connection:
        await connection.send(port.request(PING, Content_Length="400"))
    await until(lambda: port.meter.ended_with, what="the request has ended")

    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


@pytest.mark.parametrize(
    ("headers", "rest"),
    [
        pytest.param((LENGTH, "Transfer-Encoding: chunked"), chunked(PING), id="length and chunks"),
        pytest.param((LENGTH, LENGTH), PING, id="two lengths"),
        pytest.param((LENGTH, "Content-Length: 1"), PING, id="two lengths that differ"),
        pytest.param(("Content-Length: +40",), PING, id="a length with a sign"),
        pytest.param(("Content-Length: -1",), PING, id="a negative length"),
        pytest.param(("Transfer-Encoding: gzip",), PING, id="a coding that is none"),
        pytest.param(("Host: localhost", LENGTH), PING, id="two hosts"),
        pytest.param((f"{LENGTH}\nX: y",), PING, id="a bare line feed"),
        pytest.param(("X : y", LENGTH), PING, id="a blank before the colon"),
        pytest.param(("X: y\r\n z", LENGTH), PING, id="a folded header"),
        pytest.param(("X: y\x00z", LENGTH), PING, id="NUL in a header"),
        pytest.param(tuple(f"X-{n}: y" for n in range(5000)), b"", id="5,000 headers"),
        pytest.param((f"X: {'y' * 9000}", LENGTH), PING, id="a header of 9,000 bytes"),
        pytest.param(("Mcp-Name: a\x07b", LENGTH), PING, id="H14 a control character"),
        pytest.param((TYPED, LENGTH), PING, id="two types"),
    ],
)
async def test_h08_a_head_that_two_readers_could_read_differently_is_refused(
    port: McpPort, headers: tuple[str, ...], rest: bytes
) -> None:
    async with port.connected() as connection:
        await connection.send(head(port, "POST /mcp HTTP/1.1", TYPED, *headers) + rest)
        answer = await connection.answer()

        assert answer.status == 400
        assert len(answer.body) < 1024
        assert await connection.is_closed()


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"POST /mcp HTTP/1.1\r\nContent-Length: 0\r\n\r\n", id="H08 no host"),
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 9, id="TLS"),
        pytest.param(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", id="HTTP/2"),
        pytest.param(b"POST /mcp HTTP/9.9\r\nHost: localhost\r\n\r\n", id="a version of tomorrow"),
        pytest.param(b"\x00" * 100 + b"\r\n\r\n", id="zeroes"),
        pytest.param(
            b"POST /\xff HTTP/1.1\r\nHost: localhost\r\n\r\n", id="a path that is no ASCII"
        ),
        pytest.param(b"POST /" + b"x" * 9000 + b" HTTP/1.1\r\n\r\n", id="a path of 9,000 bytes"),
    ],
)
async def test_what_is_no_request_is_refused(port: McpPort, data: bytes) -> None:
    async with port.connected() as connection:
        await connection.send(data)

        assert (await connection.answer()).status == 400
        assert await connection.is_closed()


# --- who


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "127.0.0.1", "", "evil.example:80"]
)
async def test_h09_a_host_that_is_not_ours_is_misdirected(port: McpPort, host: str) -> None:
    assert (await port.post(PING, Host=host)).verdict == (421, -32600)


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "file://"])
async def test_h10_a_page_of_another_origin_may_not_ask(port: McpPort, origin: str) -> None:
    assert (await port.post(PING, Origin=origin)).verdict == (403, -32600)


async def test_h10_several_origins_are_none(port: McpPort) -> None:
    twice = ("Origin: http://localhost", "Origin: http://localhost")

    answer = await port.exchange(head(port, "POST /mcp HTTP/1.1", TYPED, LENGTH, *twice) + PING)

    assert answer.verdict == (403, -32600)


async def test_no_header_of_an_agent_picks_anything(port: McpPort) -> None:
    plain = await port.post(LIST)

    answer = await port.post(
        LIST,
        X_Forwarded_Host="evil.example",
        X_Forwarded_Proto="https",
        X_Original_URL="/mcp/servers/lone",
        Forwarded="host=evil.example",
        mcp_init_host="evil.example",
        router_key="x",
        x_mcp_authorized="true",
        X_HTTP_Method_Override="DELETE",
        Authorization="Bearer x",
        Mcp_Session_Id="guessed",
    )

    assert answer.body == plain.body
    assert answer.headers.keys() == plain.headers.keys()


@pytest.mark.parametrize("session", ["x", "", "a" * 4000, "../../etc"])
async def test_h16_a_session_is_neither_needed_nor_issued(port: McpPort, session: str) -> None:
    opening = (
        b'{"jsonrpc":"2.0","id":1,"method":"initialize",'
        b'"params":{"protocolVersion":"2025-11-25","capabilities":{}}}'
    )
    for body in (opening, LIST):
        answer = await port.post(body, Mcp_Session_Id=session)

        assert answer.verdict == (200, None)
        assert "mcp-session-id" not in answer.headers


@pytest.mark.parametrize("protocol", ["websocket", "h2c"])
async def test_h20_nobody_is_upgraded(port: McpPort, protocol: str) -> None:
    answer = await port.post(PING, Connection="Upgrade", Upgrade=protocol)

    assert answer.verdict == (200, None)


async def test_h21_pipelined_requests_are_answered_in_order(port: McpPort) -> None:
    async with port.connected() as connection:
        for number in range(200):
            await connection.send(port.request(PING.replace(b"1,", b"%d," % number)))
        ids = [(await connection.answer()).document["id"] for _ in range(200)]

    assert ids == list(range(200))


async def test_a_connection_is_kept_for_the_next_request(port: McpPort) -> None:
    async with port.connected() as connection:
        for body in (PING, b"{", LIST, b"[]", PING):
            await connection.send(port.request(body))
            await connection.answer()
        await connection.send(port.request(PING))

        assert (await connection.answer()).status == 200


async def test_a_body_is_not_unpacked(port: McpPort) -> None:
    assert (await port.post(b"\x1f\x8b\x08\x00", Content_Encoding="gzip")).verdict == (400, -32700)


# --- mistakes of our own


class Broken:
    """A cell that cannot be read."""

    def get(self, *_: object) -> None:
        raise RuntimeError("secret detail of a library")


@pytest.mark.parametrize("part", ["catalogues", "links"])
async def test_a_mistake_of_ours_costs_one_request_and_tells_nothing(
    port: McpPort, part: str, caplog: pytest.LogCaptureFixture
) -> None:
    call = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"github.search"}}'
    whole = getattr(port, part)
    setattr(port, part, Broken())
    answer = await port.post(call)
    setattr(port, part, whole)

    assert answer.verdict == (200, -32603)
    assert answer.document["error"]["message"] == ("The router failed to answer; its log says why.")
    assert "secret detail" in caplog.text
    assert port.meter.ended_with[-1][1] is Outcome.FAILED


@pytest.mark.parametrize(
    ("body", "ended"),
    [
        (PING, ("ping", Outcome.OK)),
        (b"{", (None, Outcome.REJECTED)),
        (LIST.replace(b"tools", b"tolls"), ("tolls/list", Outcome.ERROR)),
        (b"[" + PING + b"]", (None, Outcome.OK)),
        (b'{"jsonrpc":"2.0","method":"ping"}', ("ping", Outcome.REJECTED)),
    ],
)
async def test_every_request_is_counted_once_with_its_outcome(
    port: McpPort, body: bytes, ended: tuple[str | None, Outcome]
) -> None:
    await port.post(body)

    assert port.meter.ended_with == [ended]


@pytest.mark.parametrize(
    "head",
    [
        pytest.param(
            b"POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n",
            id="two lengths",
        ),
        pytest.param(
            b"POST /mcp HTTP/1.1\r\nHost: a\r\nsecret-canary\r\n", id="a header without a colon"
        ),
        pytest.param(b"canary\r\n", id="no request line"),
        pytest.param(
            b"POST /mcp HTTP/1.1\r\nHost: a\r\nX: " + b"canary" * 2000 + b"\r\n",
            id="a header of 12,000 bytes",
        ),
    ],
)
async def test_h08_bytes_that_are_no_request_are_answered_in_our_words(
    port: McpPort, head: bytes
) -> None:
    async with port.connected() as connection:
        await connection.send(head + b"\r\n")
        answer = await connection.answer()
        closed = await connection.is_closed()

    assert answer.verdict == (400, -32600)
    assert b"canary" not in answer.body
    assert answer.headers["server"] == "pointsman"
    assert closed


async def test_an_agent_that_waits_for_leave_to_send_its_body_gets_it(port: McpPort) -> None:
    body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    request = port.request(body, Expect="100-continue")
    head, _, _ = request.partition(b"\r\n\r\n")
    async with port.connected() as connection:
        await connection.send(head + b"\r\n\r\n")
        leave = await connection.answer()
        await connection.send(body)
        answer = await connection.answer()

    assert leave.status == 100
    assert answer.document["result"] == {}
