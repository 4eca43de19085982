"""What becomes of a call at an upstream that does anything but answer it as it should."""

import asyncio
import json
import time
from dataclasses import replace

import pytest

from bench import answers, behaviours, ports
from bench.behaviours import errs, responds, results_in, sends_and_closes, streams
from bench.legacy_server import LegacyServer
from bench.links import QUICK, Lane, a_call, linked
from bench.raw_upstream import Behaviour, RawUpstream, Received, Wire
from pointsman_router.jsonrpc import RpcError
from pointsman_router.upstream import Limits, Link, Result, Trouble

pytestmark = pytest.mark.usefixtures("lane")

RESULT = {"content": [{"type": "text", "text": "grüße 世界"}], "n": 9007199254740993}
FOUND = Result(json.dumps(RESULT, ensure_ascii=False).encode())
DEADLINE_S = 0.4
SMALL = replace(
    QUICK,
    body_max_bytes=20_000,
    line_max_bytes=5_000,
    event_max_bytes=10_000,
    events_max=50,
    pause_s=0.2,
)


def calls(behaviour: Behaviour, *, sessions: bool = True) -> LegacyServer:
    return LegacyServer(on={"tools/call": behaviour}, sessions=sessions)


def deep(levels: int) -> bytes:
    return b'{"jsonrpc":"2.0","id":1,"result":{"x":' + b"[" * levels + b"]" * levels + b"}}"


def coded(coding: str) -> Behaviour:
    return results_in(RESULT, **{"Content-Encoding": coding})


def json_body(body: bytes) -> Behaviour:
    return responds(200, body, answers.JSON)


def typed(content_type: str) -> Behaviour:
    async def behave(request: Received, wire: Wire) -> None:
        body = answers.result(request.rpc_id, RESULT)
        await wire.send(answers.http(200, body, content_type))

    return behave


def with_id(make: str) -> Behaviour:
    """An answer whose id is the request's, spelled by a template."""

    async def behave(request: Received, wire: Wire) -> None:
        id_ = make.format(json.dumps(request.rpc_id))
        body = b'{"jsonrpc":"2.0",%b"result":{}}' % id_.encode()
        await wire.send(answers.http(200, body))

    return behave


def both_or_neither(members: bytes) -> Behaviour:
    async def behave(request: Received, wire: Wire) -> None:
        id_ = json.dumps(request.rpc_id).encode()
        await wire.send(answers.http(200, b'{"jsonrpc":"2.0","id":%b%b}' % (id_, members)))

    return behave


def http_1_0() -> Behaviour:
    async def behave(request: Received, wire: Wire) -> None:
        body = answers.result(request.rpc_id, RESULT)
        await wire.send(b"HTTP/1.0 200 OK\r\ncontent-TYPE: application/json\r\n\r\n" + body)
        await wire.finish()

    return behave


def interim() -> Behaviour:
    async def behave(request: Received, wire: Wire) -> None:
        body = answers.result(request.rpc_id, RESULT)
        hints = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"
        await wire.send(hints + answers.http(200, body))

    return behave


def chunk_extensions_and_trailers() -> Behaviour:
    async def behave(request: Received, wire: Wire) -> None:
        body = answers.result(request.rpc_id, RESULT)
        head = answers.http_in_chunks(200, [], answers.JSON).removesuffix(answers.LAST_CHUNK)
        chunk = b"%x;name=value\r\n%b\r\n" % (len(body), body)
        await wire.send(head + chunk + b"0\r\nX-Trailer: 1\r\n\r\n")

    return behave


PROGRESS = answers.event(answers.notification("notifications/progress", {"progress": 1}))
OTHER = answers.event(b"not json", name="heartbeat")


@pytest.mark.parametrize(
    ("behaviour", "needs_task"),
    [
        pytest.param(results_in(RESULT), False, id="JSON"),
        pytest.param(http_1_0(), False, id="HTTP 1.0 ended by FIN"),
        pytest.param(interim(), False, id="interim answers"),
        pytest.param(chunk_extensions_and_trailers(), False, id="chunk extensions and trailers"),
        pytest.param(streams(RESULT), False, id="event stream"),
        pytest.param(streams(RESULT, newline="\r\n"), False, id="event stream with CRLF"),
        pytest.param(streams(RESULT, newline="\r"), False, id="event stream with CR"),
        pytest.param(streams(RESULT, piece=1), True, id="event stream byte by byte"),
        pytest.param(streams(RESULT, before=b"\xef\xbb\xbf: hi\n\n"), False, id="BOM and comment"),
        pytest.param(streams(RESULT, before=b"id: 1\ndata:\n\n"), False, id="priming event"),
        pytest.param(streams(RESULT, before=PROGRESS * 3), True, id="notifications before"),
        pytest.param(streams(RESULT, before=OTHER, after=OTHER), False, id="other events around"),
        pytest.param(streams(RESULT, after=PROGRESS), False, id="something after the answer"),
    ],
)
async def test_every_right_answer_arrives_and_the_next_call_works(
    behaviour: Behaviour, needs_task: bool, lane: Lane
) -> None:
    async with RawUpstream(calls(behaviour)) as upstream, linked(upstream.url()) as link:
        first = await link.call(a_call())
        second = await link.call(a_call())

    assert first == second == FOUND
    assert len(upstream.requests("tools/call")) == 2
    assert (lane.begun > 0) is not lane.waits
    assert lane.done == (0 if needs_task else lane.begun)


async def test_a_result_in_several_data_lines_is_the_same_json() -> None:
    async with (
        RawUpstream(calls(streams(RESULT, data_lines=3))) as upstream,
        linked(upstream.url()) as link,
    ):
        found = await link.call(a_call())

    assert isinstance(found, Result)
    assert json.loads(found.raw) == RESULT


UNKNOWN, NO = "unknown", "no"
VIOLATION = "ProtocolViolation"


@pytest.mark.parametrize(
    ("behaviour", "reason", "executed"),
    [
        pytest.param(behaviours.hangs(), "Timeout", UNKNOWN, id="reads and never answers"),
        pytest.param(behaviours.drips(RESULT, 0.01), "Timeout", UNKNOWN, id="a byte at a time"),
        pytest.param(behaviours.closes(), "Unreachable", UNKNOWN, id="FIN without a byte"),
        pytest.param(
            behaviours.sends_and_resets(), "Unreachable", UNKNOWN, id="RST without a byte"
        ),
        pytest.param(
            behaviours.sends_and_resets(answers.http(200, b"{}")[:-1]),
            VIOLATION,
            UNKNOWN,
            id="RST after half a body",
        ),
        pytest.param(behaviours.cuts(RESULT, 20), VIOLATION, UNKNOWN, id="FIN short of the length"),
        pytest.param(
            behaviours.cuts(RESULT, 20, length_stated=False),
            VIOLATION,
            UNKNOWN,
            id="FIN inside the JSON, no length",
        ),
        pytest.param(
            sends_and_closes(answers.http_in_chunks(200, [PROGRESS])),
            VIOLATION,
            UNKNOWN,
            id="event stream without the answer",
        ),
        pytest.param(
            sends_and_closes(answers.http_in_chunks(200, [PROGRESS])[:-8]),
            VIOLATION,
            UNKNOWN,
            id="event stream cut",
        ),
        pytest.param(sends_and_closes(b"garbage\r\n\r\n"), VIOLATION, UNKNOWN, id="no HTTP"),
        pytest.param(
            sends_and_closes(answers.http(200, b"{}", headers={"X": "a" * 70_000})),
            VIOLATION,
            UNKNOWN,
            id="a header of 70 KiB",
        ),
        pytest.param(
            sends_and_closes(
                answers.http(200, b"{}", headers={f"X-{n}": "a" for n in range(2000)})
            ),
            VIOLATION,
            UNKNOWN,
            id="2,000 headers",
        ),
        pytest.param(
            sends_and_closes(answers.http_in_chunks(200, []).replace(b"0\r\n\r\n", b"zz\r\n")),
            VIOLATION,
            UNKNOWN,
            id="a bad chunk size",
        ),
        pytest.param(responds(202, b"", ""), VIOLATION, UNKNOWN, id="202 to a request"),
        pytest.param(responds(204, b"", ""), VIOLATION, UNKNOWN, id="204 to a request"),
        pytest.param(json_body(b""), VIOLATION, UNKNOWN, id="an empty body"),
        pytest.param(json_body(b"null"), VIOLATION, UNKNOWN, id="null"),
        pytest.param(json_body(b"[]"), VIOLATION, UNKNOWN, id="an array"),
        pytest.param(json_body(b"7"), VIOLATION, UNKNOWN, id="a number"),
        pytest.param(json_body(b"Oops"), VIOLATION, UNKNOWN, id="no JSON"),
        pytest.param(json_body(deep(5_000)), VIOLATION, UNKNOWN, id="5,000 levels"),
        pytest.param(
            json_body(answers.notification("notifications/progress")),
            VIOLATION,
            UNKNOWN,
            id="a notification for an answer",
        ),
        pytest.param(responds(200, b"<html>"), VIOLATION, UNKNOWN, id="HTML"),
        pytest.param(typed(""), VIOLATION, UNKNOWN, id="no content type"),
        pytest.param(typed("application/json; charset=utf-16"), VIOLATION, UNKNOWN, id="UTF-16"),
        pytest.param(coded("gzip"), VIOLATION, UNKNOWN, id="gzip unasked"),
        pytest.param(coded("br"), VIOLATION, UNKNOWN, id="brotli unasked"),
        pytest.param(with_id('"id":"x",'), VIOLATION, UNKNOWN, id="a foreign id"),
        pytest.param(with_id('"id":null,'), VIOLATION, UNKNOWN, id="a null id"),
        pytest.param(with_id(""), VIOLATION, UNKNOWN, id="no id"),
        pytest.param(with_id('"id":[{}],'), VIOLATION, UNKNOWN, id="our id in an array"),
        pytest.param(with_id('"id":{0},"id":{0},'), VIOLATION, UNKNOWN, id="our id twice"),
        pytest.param(
            streams(RESULT, rpc_id="somebody else's"), VIOLATION, UNKNOWN, id="a foreign event"
        ),
        pytest.param(streams(RESULT, rpc_id=0), VIOLATION, UNKNOWN, id="an event with id 0"),
        pytest.param(
            both_or_neither(b',"result":{},"error":{"code":1,"message":""}'),
            VIOLATION,
            UNKNOWN,
            id="a result and an error",
        ),
        pytest.param(both_or_neither(b""), VIOLATION, UNKNOWN, id="neither"),
        pytest.param(both_or_neither(b',"result":[]'), VIOLATION, UNKNOWN, id="no object"),
        pytest.param(
            streams(RESULT, before=b"data: garbage\n\n"), VIOLATION, UNKNOWN, id="a garbage event"
        ),
        pytest.param(
            streams(RESULT, before=PROGRESS * 51), VIOLATION, UNKNOWN, id="too many events"
        ),
        pytest.param(
            streams(RESULT, before=b"data\n\n" * 51), VIOLATION, UNKNOWN, id="too many empty events"
        ),
        pytest.param(
            responds(307, b"", "", {"Location": "http://127.0.0.1:1/mcp/"}),
            "UpstreamHttpError",
            UNKNOWN,
            id="a redirect",
        ),
        pytest.param(
            responds(401, b"", "", {"WWW-Authenticate": "Bearer"}),
            "UpstreamAuthRequired",
            NO,
            id="401",
        ),
        pytest.param(errs(-32000, "no", status=403), "UpstreamAuthRequired", NO, id="403"),
        pytest.param(responds(405), "UpstreamHttpError", NO, id="405"),
        pytest.param(responds(413), "UpstreamHttpError", NO, id="413"),
        pytest.param(responds(415), "UpstreamHttpError", NO, id="415"),
        pytest.param(responds(429), "UpstreamThrottled", NO, id="429"),
        pytest.param(responds(400), "UpstreamHttpError", UNKNOWN, id="400 with HTML"),
        pytest.param(responds(500), "UpstreamHttpError", UNKNOWN, id="500"),
        pytest.param(errs(-32603, "x", status=500), "UpstreamHttpError", UNKNOWN, id="500, JSON"),
        pytest.param(responds(502, b"<h1>"), "UpstreamHttpError", UNKNOWN, id="502"),
        pytest.param(responds(503), "UpstreamHttpError", UNKNOWN, id="503"),
        pytest.param(responds(504), "UpstreamHttpError", UNKNOWN, id="504"),
    ],
)
async def test_a_call_that_fails_was_sent_once_and_costs_no_other_call(
    behaviour: Behaviour, reason: str, executed: str
) -> None:
    healthy = LegacyServer()
    async with (
        RawUpstream(calls(behaviour)) as upstream,
        RawUpstream(healthy) as neighbour,
        linked(upstream.url(), SMALL) as link,
        linked(neighbour.url()) as other,
    ):
        with pytest.raises(Trouble) as error:
            await link.call(a_call(timeout_s=DEADLINE_S))
        beside = await other.call(a_call())
        upstream.behave(calls(results_in(RESULT), sessions=False))
        after = await link.call(a_call())

    met = error.value
    assert (met.reason, met.executed) == (reason, executed)
    assert isinstance(beside, Result)
    assert after == FOUND
    assert len(upstream.requests("tools/call")) == 2  # the spoilt one and the one after
    assert met.message.isprintable()
    assert len(met.message) < 250
    for secret in ("127.0.0.1", str(upstream.port), "Oops", "<h", "Errno", "aiohttp"):
        assert secret not in met.message


@pytest.mark.parametrize(
    ("piece", "reason", "says"),
    [
        pytest.param(b": x\n" * 1000, "ProtocolViolation", "too many lines", id="short comments"),
        pytest.param(
            b":" + b"x" * 3_000 + b"\n",
            "ListTooLarge",
            "larger than 60000 bytes",
            id="long comments",
        ),
    ],
)
async def test_an_event_stream_of_nothing_but_noise_is_given_up(
    piece: bytes, reason: str, says: str
) -> None:
    limits = replace(SMALL, stream_lines_max=5_000, stream_max_bytes=60_000)
    behaviour = behaviours.floods(piece, answers.EVENT_STREAM)
    async with RawUpstream(calls(behaviour)) as upstream, linked(upstream.url(), limits) as link:
        with pytest.raises(Trouble) as error:
            await link.call(a_call())

    assert error.value.reason == reason
    assert says in error.value.message
    assert error.value.executed == UNKNOWN


@pytest.mark.parametrize(
    "behaviour",
    [
        pytest.param(results_in({"x": "y" * 30_000}), id="stated length"),
        pytest.param(behaviours.floods(b" " * 4096), id="endless chunks"),
        pytest.param(streams({"x": "y" * 6_000}), id="a long line"),
        pytest.param(
            streams({"x": ["y" * 3_000] * 4}, before=b"data: " + b"x" * 4_000 + b"\n" * 1),
            id="a long event",
        ),
        pytest.param(
            behaviours.floods(b"x" * 4096, answers.EVENT_STREAM), id="a line without an end"
        ),
    ],
)
async def test_an_answer_over_the_cap_is_not_read_to_its_end(behaviour: Behaviour) -> None:
    async with RawUpstream(calls(behaviour)) as upstream, linked(upstream.url(), SMALL) as link:
        with pytest.raises(Trouble) as error:
            await link.call(a_call())

    assert error.value.too_large
    assert error.value.executed == UNKNOWN


@pytest.mark.parametrize(
    ("behaviour", "limits"),
    [
        pytest.param(
            streams(RESULT, before=b": x\n" * 101), replace(QUICK, stream_lines_max=100), id="lines"
        ),
        pytest.param(
            streams(RESULT, before=b": x\n" * 101), replace(QUICK, stream_max_bytes=400), id="bytes"
        ),
        pytest.param(
            streams(RESULT, before=b":" + b"x" * 3_000 + b"\n"),
            replace(QUICK, body_max_bytes=3_000),
            id="one line",
        ),
        pytest.param(
            streams(RESULT, before=b"event: x\n" + b"data: %b\n" % (b"x" * 600) * 6 + b"\n"),
            replace(QUICK, body_max_bytes=3_000),
            id="one event",
        ),
    ],
)
async def test_a_short_stream_may_be_over_a_lower_cap(behaviour: Behaviour, limits: Limits) -> None:
    async with RawUpstream(calls(behaviour)) as upstream, linked(upstream.url(), limits) as link:
        with pytest.raises(Trouble) as error:
            await link.call(a_call())

    assert error.value.executed == UNKNOWN
    assert len(upstream.requests("tools/call")) == 1


@pytest.mark.parametrize(
    ("behaviour", "code"),
    [
        pytest.param(errs(-32602, "Unknown tool: greet"), -32602, id="with 200"),
        pytest.param(errs(-32050, "no", {"why": [1.0]}, status=400), -32050, id="with 400"),
        pytest.param(errs(-32050, "no", status=400, rpc_id=None), -32050, id="400, null id"),
        pytest.param(errs(-32050, "no", status=422, rpc_id="server-error"), -32050, id="422"),
    ],
)
async def test_an_upstreams_own_error_is_its_answer(behaviour: Behaviour, code: int) -> None:
    async with RawUpstream(calls(behaviour)) as upstream, linked(upstream.url()) as link:
        found = await link.call(a_call())

    assert isinstance(found, RpcError)
    assert found.code == code
    assert json.loads(found.raw)["code"] == code


async def test_a_deadline_ends_a_call_in_time_and_frees_its_connection() -> None:
    async with (
        RawUpstream(calls(behaviours.hangs())) as upstream,
        linked(upstream.url()) as link,
    ):
        await link.list()
        begun = time.monotonic()
        with pytest.raises(Trouble, match=r"within 0\.4 s"):
            await link.call(a_call(timeout_s=DEADLINE_S))
        took = time.monotonic() - begun

        assert DEADLINE_S <= took < DEADLINE_S + 0.25
        assert link.open_connections == 0


async def test_a_stall_inside_a_body_is_noticed_before_the_deadline() -> None:
    stalls = behaviours.sends_and_hangs(answers.http(200, b"{}")[:-1])
    async with RawUpstream(calls(stalls)) as upstream, linked(upstream.url(), SMALL) as link:
        with pytest.raises(Trouble, match=r"paused for 0\.2 s") as error:
            await link.call(a_call())

    assert (error.value.reason, error.value.executed) == ("Timeout", UNKNOWN)


async def test_an_event_stream_may_be_silent_up_to_the_deadline() -> None:
    gate = asyncio.Event()

    async def behave(request: Received, wire: Wire) -> None:
        head, _, rest = answers.http_in_chunks(200, [b": hi\n"]).partition(answers.LAST_CHUNK)
        await wire.send(head)
        await gate.wait()
        event = answers.event(answers.result(request.rpc_id, RESULT))
        await wire.send(answers.chunk(event) + answers.LAST_CHUNK + rest)

    async with RawUpstream(calls(behave)) as upstream, linked(upstream.url(), SMALL) as link:
        asyncio.get_running_loop().call_later(SMALL.pause_s * 1.5, gate.set)
        found = await link.call(a_call())

    assert found == FOUND


async def test_a_refused_connection_is_refused_at_once_and_nothing_was_executed() -> None:
    with ports.refusing_port() as port:
        async with linked(f"http://127.0.0.1:{port}/mcp") as link:
            begun = time.monotonic()
            with pytest.raises(Trouble) as error:
                await link.call(a_call())
            took = time.monotonic() - begun

    assert (error.value.reason, error.value.executed) == ("Unreachable", NO)
    assert took < 0.5
    assert str(port) not in error.value.message


async def test_a_throttled_upstream_is_left_alone_for_as_long_as_it_asked() -> None:
    throttles = responds(429, headers={"Retry-After": "30"})
    async with RawUpstream(calls(throttles)) as upstream, linked(upstream.url()) as link:
        met = [await trouble_of(link) for _ in range(3)]

    assert [one.reason for one in met] == ["UpstreamThrottled"] * 3
    assert [one.executed for one in met] == [NO] * 3
    assert met[0].retry_after_ms == 30_000
    assert 29_000 < (met[1].retry_after_ms or 0) <= 30_001
    assert len(upstream.requests("tools/call")) == 1


async def trouble_of(link: Link) -> Trouble:
    with pytest.raises(Trouble) as error:
        await link.call(a_call())
    return error.value
