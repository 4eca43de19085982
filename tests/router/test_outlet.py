"""What is written of one answer, and what no longer."""

import asyncio
import time
from collections.abc import Awaitable, Callable

import pytest

from bench.mcpport import PATIENT
from pointsman_router.httpbytes import LAST_CHUNK, USUAL, Scribe, Spoken
from pointsman_router.outlet import Outlet, Pulse
from pointsman_router.respond import Response

NOTICE = b'{"jsonrpc":"2.0","method":"notifications/progress"}'
ANSWER = b'{"jsonrpc":"2.0","id":1,"result":{}}'
HTTP_1_0 = Spoken(is_http_1_0=True, is_head=False, keeps=False)


class Line:
    """The connection of an agent that a test has read or stop reading."""

    def __init__(self) -> None:
        self.left: Callable[[], object] | None = None
        self.is_open = True
        self.unread_bytes = 0
        self.written = b""
        self._has_room = asyncio.Event()

    def put(self, data: bytes) -> None:
        self.written += data

    async def room(self) -> None:
        await self._has_room.wait()

    def cut(self) -> None:
        self.is_open = False
        self._has_room.set()

    def date(self) -> bytes:
        return b""

    def stall(self) -> None:
        self.unread_bytes = len(self.written)

    def read(self) -> None:
        self.unread_bytes = 0
        self._has_room.set()


async def silence(_: Line, outlet: Outlet) -> None:
    """Look at an outlet when it has said nothing for long."""
    outlet.beat(time.perf_counter() + 2 * PATIENT.silence_s)


async def a_late_reader(line: Line, outlet: Outlet) -> None:
    """Look at an outlet when its agent has just read what had waited for it for long."""
    line.stall()
    reading = asyncio.create_task(outlet.read())
    await asyncio.sleep(0)
    line.read()
    await silence(line, outlet)
    await reading


async def a_late_notice(_: Line, outlet: Outlet) -> None:
    """Have something come that was to be told before the answer."""
    await outlet.say(NOTICE)


@pytest.mark.parametrize(
    "then", [silence, a_late_reader, a_late_notice], ids=lambda it: it.__name__
)
@pytest.mark.parametrize(
    ("notices", "spoken", "end"),
    [
        pytest.param(0, USUAL, ANSWER, id="whole"),
        pytest.param(1, USUAL, LAST_CHUNK, id="a stream"),
        pytest.param(1, HTTP_1_0, b"data: " + ANSWER + b"\n\n", id="a stream to HTTP 1.0"),
    ],
)
async def test_nothing_is_written_behind_an_answer_that_is_finished(
    notices: int,
    spoken: Spoken,
    end: bytes,
    then: Callable[[Line, Outlet], Awaitable[None]],
) -> None:
    line, pulse = Line(), Pulse(PATIENT)
    outlet = Outlet(line, Scribe("pointsman"), pulse, spoken, time.perf_counter())
    outlet.begin(streams=True, leaving_cancels=False)
    for _ in range(notices):
        await outlet.say(NOTICE)
    outlet.settle()
    outlet.end(Response(200, ANSWER))
    answered = line.written
    await then(line, outlet)

    assert line.written == answered
    assert answered.endswith(end)
    assert answered.count(NOTICE) == notices
    assert not pulse.waiting
