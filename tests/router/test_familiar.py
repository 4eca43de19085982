"""A head that was met before needs no parser, and means what it meant then."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from aiohttp.web_protocol import RequestHandler

from bench import mcpport
from bench.catalogues import Known, built, found, server
from bench.mcpport import BODY_MAX_BYTES, McpPort
from bench.waiting import until
from pointsman_router import familiar
from pointsman_router.jsonrpc import RpcError
from pointsman_router.upstream import Call, Listener, Result

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
CALL = b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"github.search"}}'
CATALOGUE = built(Known(server("tools/github"), found("search")))
HEAD = b"POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nAccept: b\r\n\r\n"


class Parsed:
    """What went through the parser."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> Parsed:
    seen = Parsed()
    parse = RequestHandler.data_received

    def data_received(self: RequestHandler, data: bytes) -> None:
        seen.pieces.append(data)
        parse(self, data)

    monkeypatch.setattr(RequestHandler, "data_received", data_received)
    return seen


@pytest.fixture
async def known() -> AsyncIterator[McpPort]:
    """A port that knows the usual head; each connection to it has carried requests."""
    async with mcpport.serving(CATALOGUE, familiar=True) as serving:
        yield serving


class Held:
    """A link whose call ends when it may."""

    def __init__(self) -> None:
        self.calls = 0
        self.may_end = asyncio.Event()

    async def call(self, call: Call, listener: Listener | None = None) -> Result | RpcError:
        self.calls += 1
        await self.may_end.wait()
        return Result(b'{"content":[]}')


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        pytest.param(b"Host: a", b"Host: b", False, id="another host"),
        pytest.param(b"Length: 2", b"Length: 17", True, id="another length"),
        pytest.param(b"Length: 2", b"length: 2", False, id="another spelling"),
        pytest.param(b"Accept: b", b"Accept: b2", False, id="another digit elsewhere"),
        pytest.param(b"POST", b"PUT", False, id="another verb"),
    ],
)
def test_heads_have_one_form_if_only_the_length_differs(
    one: bytes, other: bytes, is_same: bool
) -> None:
    form = familiar.form(HEAD)

    assert form is not None
    assert (familiar.form(HEAD.replace(one, other)) == form) is is_same


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(HEAD + b"{", id="a byte is missing"),
        pytest.param(HEAD + b"{} ", id="a byte too many"),
        pytest.param(HEAD[:-2], id="no end of the head"),
        pytest.param(HEAD.replace(b"2", b"+2") + b"{}", id="a signed length"),
        pytest.param(HEAD.replace(b": 2", b":  2") + b"{}", id="a blank too many"),
        pytest.param(HEAD.replace(b": 2", b": 2 ") + b"{}", id="a blank behind"),
        pytest.param(HEAD.replace(b"2", b"") + b"{}", id="no length"),
        pytest.param(HEAD.replace(b"Content-Length: 2\r\n", b"") + b"{}", id="no such header"),
        pytest.param(HEAD.replace(b"2", b"1" * 30) + b"{}", id="a huge length"),
        pytest.param(
            HEAD.replace(b"2", b"%d" % (BODY_MAX_BYTES + 1)) + b"x" * (BODY_MAX_BYTES + 1),
            id="a body over the limit",
        ),
        pytest.param(b"", id="nothing"),
    ],
)
def test_what_is_not_exactly_one_request_is_not_cut(data: bytes) -> None:
    assert familiar.cut(data, BODY_MAX_BYTES) is None


def test_a_whole_request_is_cut_into_the_form_of_its_head_and_its_body() -> None:
    found = familiar.cut(HEAD + b"{}", BODY_MAX_BYTES)

    assert found is not None
    assert (found.form, found.body) == (familiar.form(HEAD), b"{}")


@pytest.mark.parametrize("name", ["authorization", "cookie", "origin", "traceparent", "expect"])
def test_heads_that_hold_secrets_or_differ_each_time_are_not_kept(name: str) -> None:
    assert not familiar.is_steady(["host", name])


async def test_a_familiar_request_is_answered_without_the_parser(
    known: McpPort, parsed: Parsed
) -> None:
    async with known.connected() as agent:
        parsed.pieces.clear()
        for body in (PING, PING.replace(b"1,", b"100,")):
            await agent.send(known.request(body))
            assert (await agent.answer()).document["result"] == {}

    assert parsed.pieces == []


async def test_a_request_with_another_head_goes_through_the_parser_and_the_next_one_does_not(
    known: McpPort, parsed: Parsed
) -> None:
    async with known.connected() as agent:
        parsed.pieces.clear()
        other = known.request(PING, Authorization="Bearer x")
        for data in (other, known.request(PING), other):
            await agent.send(data)
            assert (await agent.answer()).document["result"] == {}

    assert parsed.pieces == [other, other]


async def test_familiar_bytes_behind_the_begin_of_a_request_are_part_of_that_one(
    known: McpPort, parsed: Parsed
) -> None:
    async with known.connected() as agent:
        parsed.pieces.clear()
        await agent.send(b"GET /elsewhere HTTP/1.1\r\nX-Begun: ")
        await until(lambda: parsed.pieces)
        await agent.send(known.request(PING))

        assert (await agent.answer()).status == 404


async def test_two_familiar_requests_in_one_piece_are_both_answered(known: McpPort) -> None:
    async with known.connected() as agent:
        await agent.send(known.request(PING) + known.request(PING.replace(b"1,", b"2,")))
        ids = [(await agent.answer()).document["id"] for _ in range(2)]

        assert ids == [1, 2]


async def test_what_is_sent_ahead_of_an_answer_is_answered_after_it(known: McpPort) -> None:
    link = known.links["tools/github"] = Held()
    async with known.connected() as agent:
        await agent.send(known.request(CALL))
        await until(lambda: link.calls)
        await agent.send(known.request(PING)[:30])
        await agent.send(known.request(PING)[30:])
        link.may_end.set()
        ids = [(await agent.answer()).document["id"] for _ in range(2)]

        assert ids == [2, 1]


async def test_a_familiar_request_in_flight_is_waited_for_when_the_router_ends(
    known: McpPort,
) -> None:
    link = known.links["tools/github"] = Held()
    async with known.connected() as agent:
        await agent.send(known.request(CALL))
        await until(lambda: link.calls)
        draining = asyncio.create_task(known.drain(5.0))
        await asyncio.sleep(0)
        link.may_end.set()
        answer = await agent.answer()
        await draining

        assert answer.document["id"] == 2
        assert answer.headers["connection"] == "close"
        assert await agent.is_closed()


async def test_an_unknown_server_is_refused_though_its_head_is_familiar(known: McpPort) -> None:
    path = "/mcp/servers/tools/github"
    async with known.connected() as agent:
        await agent.send(known.request(PING, path))
        before = await agent.answer()
        known.catalogues.put(built())
        await agent.send(known.request(PING, path))
        after = await agent.answer()

        assert (before.status, after.status) == (200, 404)


def test_what_a_head_was_read_as_stays_the_same_object() -> None:
    heads: familiar.Familiar[object] = familiar.Familiar()
    first = object()
    heads.learn(b"form", first)
    heads.learn(b"form", object())

    assert heads.get(b"form") is first
