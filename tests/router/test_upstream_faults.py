"""What one exchange over the wire comes to when a connection does what it should not."""

import asyncio
import contextlib
import json
import random
import time
import tracemalloc
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import cast

import pytest

from bench import answers, behaviours
from bench.behaviours import responds, sends, sends_and_closes, sends_and_resets
from bench.links import QUICK
from bench.ports import LOOPBACK
from bench.raw_upstream import Behaviour, RawUpstream, Received
from bench.raw_upstream import Wire as Answering
from bench.waiting import until
from pointsman_router.upstream import Dialler, Limits, Trouble, pool
from pointsman_router.upstream.era import Modern
from pointsman_router.upstream.exchange import Wire
from pointsman_router.upstream.limits import KIB, MIB
from pointsman_router.upstream.pool import Attempt, Sent
from pointsman_router.upstream.tenure import Tenure

MAX_BYTES = 1 * MIB
LATE_S = 0.05


@contextlib.asynccontextmanager
async def wired(url: str, limits: Limits = QUICK) -> AsyncIterator[Wire]:
    wire = Wire(url, Dialler(limits), limits, user_agent="pointsman/1.2.3")
    try:
        yield wire
    finally:
        await wire.close()
    assert wire.open_connections == 0


def question(number: int) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": "m"}).encode()


async def asked(
    wire: Wire,
    number: int = 1,
    attempt: Attempt | None = None,
    *,
    first_byte_s: float | None = None,
) -> int:
    """The id in the answer; only the right one leaves the connection for the next."""
    async with wire.post(
        question(number), {}, attempt or Attempt(), first_byte_s=first_byte_s
    ) as answer:
        found = int(json.loads(await answer.body(MAX_BYTES))["id"])
        if found == number:
            answer.trust()
        return found


async def begun(wire: Wire, number: int) -> Attempt:
    """Send where nobody waits, if that may be at once, and wait for the first news of the answer.

    What follows has to find everything as if it had sent the request itself.
    """
    connection = wire.idle()
    if connection is None:
        return Attempt()
    news, body = asyncio.Event(), question(number)
    connection.send_watched(b"%b%d\r\n\r\n%b" % (wire.posting({}), len(body), body), news.set)
    await news.wait()
    return pool.of(Sent(str(number), Tenure(Modern()), connection))


in_both_lanes = pytest.mark.parametrize("waits", [True, False], ids=["waited for", "watched"])


async def says_its_number(request: Received, wire: Answering) -> None:
    await wire.send(answers.http(200, answers.result(request.rpc_id, {})))


async def trouble_of(asking: asyncio.Task[int] | asyncio.Future[int]) -> Trouble:
    with pytest.raises(Trouble) as error:
        await asking
    return error.value


VARIANTS: dict[str, Callable[[bytes], bytes]] = {
    "a stated length": lambda body: answers.http(200, body),
    "chunks": lambda body: answers.http_in_chunks(200, answers.in_pieces(body, 5), answers.JSON),
    "interim answers": lambda body: (
        b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n" + answers.http(200, body)
    ),
    "extensions and trailers": lambda body: (
        b"HTTP/1.1 200 OK\r\nTRANSFER-encoding: Chunked\r\n\r\n"
        b"%x;a=b\r\n%b\r\n0;c\r\nX: 1\r\n\r\n" % (len(body), body)
    ),
    "HTTP 1.0 kept alive": lambda body: (
        b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: %d\r\n\r\n%b"
        % (len(body), body)
    ),
    "HTTP 1.0 in chunks": lambda body: (
        b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    ),
    "to be closed": lambda body: answers.http(200, body, headers={"Connection": "close"}),
    "a surplus answer": lambda body: answers.http(200, body) + answers.http(200, b'{"id":-1}'),
    "surplus bytes": lambda body: answers.http(200, body) + b"HTTP/1.1 2",
}


@in_both_lanes
async def test_unusual_answers_one_after_another_are_each_the_right_one(waits: bool) -> None:
    count = 40 * len(VARIANTS)
    chance = random.Random(7)
    shapes = [chance.choice(list(VARIANTS.values())) for _ in range(count)]

    async def behave(request: Received, wire: Answering) -> None:
        await wire.send(shapes[int(request.message["id"])](answers.result(request.rpc_id, {})))

    async with RawUpstream(behave) as upstream, wired(upstream.url()) as wire:
        found = [
            await asked(wire, number, None if waits else await begun(wire, number))
            for number in range(count)
        ]

    assert found == list(range(count))
    assert len(upstream.received) == count
    assert 1 < upstream.connections < count


@in_both_lanes
@pytest.mark.parametrize(
    ("behaviour", "says"),
    [
        pytest.param(behaviours.closes(), "without an answer", id="FIN without a byte"),
        pytest.param(sends_and_resets(), "without an answer", id="RST without a byte"),
        pytest.param(sends_and_closes(b"HTTP/1.1 20"), "broke off", id="FIN inside the head"),
        pytest.param(
            sends_and_closes(b"HTTP/1.1 103 Early Hints\r\n\r\n"),
            "broke off",
            id="FIN after an interim answer",
        ),
        pytest.param(
            sends_and_closes(answers.http(200, b'{"id":1}')[:-1]), "broke off", id="FIN in a body"
        ),
        pytest.param(
            sends_and_resets(b"HTTP/1.1 200 OK\r\n\r\n" + b'{"id":1}'),
            "broke off",
            id="RST where FIN would be the end",
        ),
        pytest.param(sends(b"garbage\r\n\r\n"), "not HTTP", id="a garbage status line"),
        pytest.param(
            sends(answers.http_in_chunks(200, []).replace(b"0\r\n\r\n", b"zz\r\n")),
            "not HTTP",
            id="a bad chunk size",
        ),
        pytest.param(
            sends(answers.http(200, headers={"X": "a" * 64 * KIB})), "too l", id="a 64 KiB header"
        ),
        pytest.param(
            sends(answers.http(200, headers={f"X-{n}": "a" for n in range(100_000)})),
            "too many headers",
            id="100,000 headers",
        ),
        pytest.param(
            sends(b"HTTP/1.1 100 Continue\r\n\r\n" * 100_000), "put off", id="only interim answers"
        ),
        pytest.param(
            sends(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"),
            "changes the protocol",
            id="101",
        ),
    ],
)
async def test_a_broken_answer_is_told_at_once_and_its_connection_is_gone(
    behaviour: Behaviour, says: str, waits: bool
) -> None:
    async with RawUpstream(says_its_number) as upstream, wired(upstream.url()) as wire:
        await asked(wire, 0)
        upstream.behave(behaviour)
        begun_s = time.monotonic()
        attempt = Attempt() if waits else await begun(wire, 1)
        with pytest.raises(Trouble, match=says) as error:
            await asked(wire, attempt=attempt)
        took = time.monotonic() - begun_s
        left = wire.open_connections
        upstream.behave(says_its_number)
        after = await asked(wire, 2)

    assert error.value.executed == "unknown"
    assert attempt.sent
    assert took < 0.25  # both sides of it, on a busy machine
    assert left == 0
    assert after == 2
    assert len(upstream.received) == 3


async def test_nothing_was_sent_where_there_was_no_connection() -> None:
    attempt = Attempt()
    async with RawUpstream(says_its_number) as upstream, wired(upstream.url()) as wire:
        await upstream.stop()
        with pytest.raises(Trouble, match="nothing accepts") as error:
            await asked(wire, attempt=attempt)

    assert error.value.executed == "no"
    assert not attempt.sent


async def test_no_late_answer_and_none_unasked_reaches_anybody_in_a_thousand() -> None:
    chance = random.Random(12)
    late: set[asyncio.Task[None]] = set()

    async def behave(request: Received, wire: Answering) -> None:
        right = answers.http(200, answers.result(request.rpc_id, {}))
        wrong = answers.http(200, answers.result(-1, {}))
        match chance.randrange(4):
            case 0:
                await send(wire, right, LATE_S * chance.uniform(0.9, 2))
            case 1:
                await send(wire, right + wrong)
            case 2:  # unasked, while the connection may be idle or in use again
                await send(wire, right)
                sending = asyncio.create_task(send(wire, wrong, chance.uniform(0, 0.003)))
                late.add(sending)
                sending.add_done_callback(late.discard)
            case _:
                await send(wire, right)

    async def send(wire: Answering, data: bytes, after_s: float = 0.0) -> None:
        await asyncio.sleep(after_s)
        with contextlib.suppress(OSError, RuntimeError):  # it is closed already
            await wire.send(data)

    async def one(number: int) -> int | None:
        try:
            async with (
                asyncio.timeout(LATE_S),
                wire.post(question(number), {}, Attempt()) as answer,
            ):
                found = int(json.loads(await answer.body(MAX_BYTES))["id"])
                # An answer with another id closes its connection and reaches nobody.
                if found != number:
                    return None
                answer.trust()
                return found
        except TimeoutError:
            return None

    async def some(first: int) -> list[int | None]:
        return [await one(number) for number in range(first, first + 50)]

    async with RawUpstream(behave) as upstream, wired(upstream.url()) as wire:
        rounds = await asyncio.gather(*(some(first) for first in range(0, 1000, 50)))
        await until(lambda: not late)
        after = await asked(wire, 1000)

    found = [number for numbers in rounds for number in numbers]
    assert [one for at, one in enumerate(found) if one not in {at, None}] == []
    assert sum(one is not None for one in found) > 300
    assert after == 1000


async def test_an_idle_connection_that_received_anything_is_not_used_again() -> None:
    wires: list[Answering] = []

    async def behave(request: Received, wire: Answering) -> None:
        wires.append(wire)
        await says_its_number(request, wire)

    async with RawUpstream(behave) as upstream, wired(upstream.url()) as wire:
        for number in range(20):
            assert await asked(wire, number) == number
            # Nothing runs between this and the next request that could read it.
            wires[-1]._writer.transport.write(answers.http(200, b'{"id":-1}'))

    assert upstream.connections == 20


async def test_what_was_lost_on_a_kept_connection_goes_out_again_on_a_new_one() -> None:
    served = 0

    async def behave(request: Received, wire: Answering) -> None:
        nonlocal served
        served += 1
        if served == 3:  # the first that comes on a connection which served before
            wire.reset()
        else:
            await says_its_number(request, wire)

    async with RawUpstream(behave) as upstream, wired(upstream.url()) as wire:
        await asyncio.gather(asked(wire, 1), asked(wire, 2))
        attempt = Attempt()
        with pytest.raises(Trouble):
            await asked(wire, 3, attempt)

        assert await asked(wire, 3, attempt) == 3
    assert upstream.connections == 3


class _Closing(asyncio.Protocol):
    """A server that closes a connection some time after its answer, unless asked again before."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._closing: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if self._closing is not None:
            self._closing.cancel()
        number = json.loads(data.partition(b"\r\n\r\n")[2])["id"]
        self._transport.write(answers.http(200, answers.result(number, {})))
        self._closing = asyncio.get_running_loop().call_later(
            self._chance.uniform(0, 0.02), self._transport.close
        )


async def test_connections_that_a_server_closes_soon_cost_nothing_that_may_be_asked_again() -> None:
    chance = random.Random(11)
    count, at_once, tries = 10_000, 50, 2
    met: list[Trouble] = []

    async def one(wire: Wire, number: int) -> bool:
        attempt = Attempt()
        for _ in range(tries):
            try:
                return await asked(wire, number, attempt) == number
            except Trouble as trouble:
                met.append(trouble)
        return False

    async def some(wire: Wire, first: int) -> int:
        right = 0
        for number in range(first, first + count // at_once):
            await asyncio.sleep(chance.uniform(0, 0.02))
            right += await one(wire, number)
        return right

    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Closing(chance), LOOPBACK, 0)
    async with server, wired(f"http://{LOOPBACK}:{server.sockets[0].getsockname()[1]}/") as wire:
        firsts = range(0, count, count // at_once)
        right = sum(await asyncio.gather(*(some(wire, first) for first in firsts)))

    # What crosses the server's FIN on its way is lost once: how much does is the machine's matter.
    assert right == count
    assert {(one.reason, one.executed, one.fleeting) for one in met} <= {
        ("Unreachable", "unknown", True)
    }


async def test_after_a_roll_the_next_request_dials_anew_at_once() -> None:
    gate = asyncio.Event()
    async with (
        RawUpstream(behaviours.held(gate, says_its_number)) as upstream,
        wired(upstream.url()) as wire,
    ):
        asking = [asyncio.create_task(asked(wire, number)) for number in range(64)]
        await until(lambda: len(upstream.received) == 64)
        gate.set()
        await asyncio.gather(*asking)
        idle = wire.open_connections
        upstream.behave(behaviours.hangs())
        in_flight = [asyncio.create_task(asked(wire, number)) for number in range(32)]
        await until(lambda: len(upstream.received) == 96)
        await upstream.stop()
        upstream.behave(says_its_number)
        await upstream.start()
        begun = time.monotonic()
        found = await asked(wire, 7)
        took = time.monotonic() - begun
        met = [await trouble_of(one) for one in in_flight]

    assert idle == 64
    assert found == 7
    assert took < 0.1
    assert {(one.reason, one.executed) for one in met} == {("Unreachable", "unknown")}


@pytest.mark.parametrize(
    ("behaviour", "read_bytes"),
    [
        pytest.param(responds(200, b"x" * 5 * MIB, answers.JSON), 0, id="a stated length"),
        pytest.param(behaviours.floods(b"x" * 16 * KIB), MAX_BYTES, id="endless chunks"),
        pytest.param(
            sends_and_closes(b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 5 * MIB),
            MAX_BYTES,
            id="up to the connection's end",
        ),
    ],
)
async def test_a_body_over_the_cap_is_read_to_the_cap_and_no_further(
    behaviour: Behaviour, read_bytes: int
) -> None:
    async with RawUpstream(behaviour) as upstream, wired(upstream.url()) as wire:
        async with wire.post(question(1), {}, Attempt()) as answer:
            tracemalloc.start()
            try:
                with pytest.raises(Trouble, match="larger than") as error:
                    await answer.body(MAX_BYTES)
                held = tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()
        left = wire.open_connections

    assert error.value.too_large
    assert held < read_bytes + 6 * MIB  # what the stand-in is about to send among them
    assert left == 0


async def test_a_stream_that_nobody_takes_is_not_read_on() -> None:
    piece, count = b": x\n" * 16 * KIB, 400
    sent = 0

    async def behave(request: Received, wire: Answering) -> None:
        nonlocal sent
        await wire.send(answers.http_in_chunks(200, []).removesuffix(answers.LAST_CHUNK))
        for _ in range(count):
            await wire.send(answers.chunk(piece))
            sent += 1
        await wire.send(answers.LAST_CHUNK)

    async with RawUpstream(behave) as upstream, wired(upstream.url()) as wire:
        async with wire.post(question(1), {}, Attempt()) as answer:
            seen = await _settled(lambda: sent)
            received = 0
            async for chunk in answer.chunks():
                received += len(chunk)
            answer.trust()
        again = wire.open_connections

    assert seen * len(piece) < 16 * MIB  # the system's own buffers, on both sides
    assert received == count * len(piece)
    assert again == 1


async def _length(chunks: AsyncIterator[bytes]) -> int:
    return sum([len(chunk) async for chunk in chunks])


async def _settled(look: Callable[[], int]) -> int:
    """A number that has stopped to change."""
    seen = [-2, -1]

    def same() -> bool:
        seen.append(look())
        return seen[-1] == seen[-2] == seen[-3]

    await until(same)
    return seen[-1]


@pytest.mark.parametrize("size", [100, 1 * MIB], ids=["a little", "more than is held"])
async def test_a_stream_whose_wire_is_closed_ends_for_its_reader(size: int) -> None:
    behaviour = behaviours.sends_and_hangs(
        answers.http_in_chunks(200, [b"x" * size]).removesuffix(answers.LAST_CHUNK)
    )
    async with (
        RawUpstream(behaviour) as upstream,
        wired(upstream.url()) as wire,
        wire.post(question(1), {}, Attempt()) as answer,
    ):
        chunks = answer.chunks()
        await anext(chunks)
        await wire.close()
        with pytest.raises(Trouble) as error:
            await _length(chunks)

    assert (error.value.reason, error.value.executed) == ("Unreachable", "unknown")


async def test_a_stream_that_ends_a_little_later_leaves_its_connection() -> None:
    gate = asyncio.Event()

    async def behave(request: Received, wire: Answering) -> None:
        event = answers.event(answers.result(request.rpc_id, {}))
        whole = answers.http_in_chunks(200, [event])
        await wire.send(whole.removesuffix(answers.LAST_CHUNK))
        await gate.wait()
        await wire.send(answers.LAST_CHUNK)

    async with RawUpstream(behave) as upstream, wired(upstream.url()) as wire:
        for _ in range(3):
            gate.clear()
            async with wire.post(question(1), {}, Attempt()) as answer:
                async for _ in answer.chunks():
                    answer.trust()
                    break
            gate.set()
            await until(lambda: wire._pool._idle, every_s=0.001)

    assert upstream.connections == 1


@pytest.mark.parametrize(
    "rest",
    [
        pytest.param(answers.chunk(b": x\n" * 32 * KIB), id="too much more"),
        pytest.param(b"garbage\r\n", id="garbage"),
        pytest.param(b"", id="nothing"),
    ],
)
async def test_a_stream_that_does_not_end_behind_its_answer_loses_its_connection(
    rest: bytes,
) -> None:
    async def behave(request: Received, wire: Answering) -> None:
        event = answers.event(answers.result(request.rpc_id, {}))
        await wire.send(answers.http_in_chunks(200, [event]).removesuffix(answers.LAST_CHUNK))
        await wire.send(rest)

    limits = replace(QUICK, drain_s=0.1)
    async with RawUpstream(behave) as upstream, wired(upstream.url(), limits) as wire:
        async with wire.post(question(1), {}, Attempt()) as answer:
            async for _ in answer.chunks():
                answer.trust()
                break
        await until(lambda: wire.open_connections == 0, every_s=0.01)

    assert len(upstream.received) == 1


async def test_an_answer_before_the_request_was_read_is_heard_and_its_connection_dropped() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answers.http(413, b"{}"))
        await gate.wait()
        writer.close()

    gate = asyncio.Event()
    server = await asyncio.start_server(serve, LOOPBACK, 0, limit=64 * KIB)
    async with server, wired(f"http://{LOOPBACK}:{server.sockets[0].getsockname()[1]}/") as wire:
        async with wire.post(b"x" * 32 * MIB, {}, Attempt()) as answer:
            status, body = answer.head.status, await answer.body(MAX_BYTES)
            answer.trust()
        left = wire.open_connections
        gate.set()

    assert (status, body) == (413, b"{}")
    assert left == 0


async def test_a_first_byte_that_does_not_come_is_waited_for_so_long_and_no_longer() -> None:
    async with RawUpstream(behaviours.hangs()) as upstream, wired(upstream.url()) as wire:
        begun = time.monotonic()
        with pytest.raises(Trouble, match=r"no answer within 0\.2 s") as error:
            await asked(wire, first_byte_s=0.2)
        took = time.monotonic() - begun
        left = wire.open_connections

    assert (error.value.reason, error.value.executed) == ("Timeout", "unknown")
    assert 0.15 < took < 0.5
    assert left == 0


async def test_a_head_that_drips_is_not_waited_for_any_longer() -> None:
    async def behave(request: Received, wire: Answering) -> None:
        for one in answers.http(200, b"{}"):
            await wire.send(bytes([one]))
            await asyncio.sleep(0.02)

    async with RawUpstream(behave) as upstream, wired(upstream.url()) as wire:
        with pytest.raises(Trouble, match=r"no answer within 0\.2 s"):
            await asked(wire, first_byte_s=0.2)


async def test_a_caller_that_goes_takes_its_connection_along() -> None:
    async with RawUpstream(behaviours.hangs()) as upstream, wired(upstream.url()) as wire:
        asking = [asyncio.create_task(asked(wire, number)) for number in range(10)]
        await until(lambda: len(upstream.received) == 10)
        for one in asking:
            one.cancel()
        await asyncio.gather(*asking, return_exceptions=True)

        assert wire.open_connections == 0
        await until(lambda: upstream.open_connections == 0)


@pytest.mark.parametrize("turns", range(8))
async def test_callers_that_go_while_it_connects_leave_nothing_behind(turns: int) -> None:
    async with RawUpstream(behaviours.hangs()) as upstream, wired(upstream.url()) as wire:
        asking = [asyncio.create_task(asked(wire, number)) for number in range(50)]
        for _ in range(turns):
            await asyncio.sleep(0)
        for one in asking:
            one.cancel()
        await asyncio.gather(*asking, return_exceptions=True)

        assert wire.open_connections == 0
        await until(lambda: upstream.open_connections == 0)


async def test_a_wire_that_is_closed_tells_whoever_still_waits() -> None:
    async with RawUpstream(behaviours.hangs()) as upstream, wired(upstream.url()) as wire:
        asking = [asyncio.create_task(asked(wire, number)) for number in range(3)]
        await until(lambda: len(upstream.received) == 3)
        await wire.close()
        met = [await trouble_of(one) for one in asking]

    assert {(one.reason, one.executed) for one in met} == {("Unreachable", "unknown")}


async def test_a_wire_that_is_closed_lets_nothing_open() -> None:
    async with RawUpstream(says_its_number) as upstream, wired(upstream.url()) as wire:
        await asked(wire, 1)
        await wire.close()
        with pytest.raises(Trouble, match="removed"):
            await asked(wire, 2)

        assert wire.open_connections == 0


@pytest.mark.parametrize("value", ["a\r\nHost: b", "a\nb", "a\rb", "a\0b", "a\u0100"])
async def test_no_headers_value_makes_another_header(value: str) -> None:
    async with RawUpstream(says_its_number) as upstream, wired(upstream.url()) as wire:
        with pytest.raises(ValueError, match=r"line break|latin-1"):
            wire.post(question(1), {"Mcp-Name": value}, Attempt())

    assert upstream.received == []


@pytest.mark.parametrize(
    ("path", "target"),
    [("", "/"), ("/mcp", "/mcp"), ("?a=%41+b", "/?a=%41+b"), ("/a%2fb?", "/a%2fb")],
)
async def test_what_is_asked_for_is_spelled_as_in_the_url(path: str, target: str) -> None:
    async with RawUpstream(says_its_number) as upstream, wired(upstream.url(path)) as wire:
        await asked(wire)

    (request,) = upstream.received
    assert (request.method, request.target) == ("POST", target)
    assert request.header("host") == f"{LOOPBACK}:{upstream.port}"


async def test_a_stream_may_be_asked_for_without_a_message() -> None:
    event = answers.event(b"{}")
    behaviour = sends(answers.http_in_chunks(200, [event]))
    async with (
        RawUpstream(behaviour) as upstream,
        wired(upstream.url()) as wire,
        wire.get({"Mcp-Session-Id": "s"}, Attempt()) as answer,
    ):
        found = [chunk async for chunk in answer.chunks()]
        kind = answer.head.media_type

    assert found == [event]
    assert kind == answers.EVENT_STREAM
    (request,) = upstream.received
    assert (request.method, request.body) == ("GET", b"")
    assert request.header("content-type") is None
    assert request.header("mcp-session-id") == "s"
