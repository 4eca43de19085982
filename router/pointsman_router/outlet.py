"""One answer on its way to an agent: whole, or a stream once something comes before it."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from pointsman_router import httpbytes
from pointsman_router.httpbytes import Scribe, Spoken
from pointsman_router.respond import Response

# A timer for each request would cost more than most of what it waits for.
_PERIOD_S = 1.0


class Line(Protocol):
    """The connection that an answer goes out on."""

    left: Callable[[], object] | None
    """Called when the agent is gone."""

    @property
    def is_open(self) -> bool:
        """Whether the agent is still there."""

    @property
    def unread_bytes(self) -> int:
        """How much of what was written waits for an agent that does not read it; 0: it reads."""

    def put(self, data: bytes) -> None:
        """Write; on a closed line that is nothing."""

    async def room(self) -> None:
        """Return once the agent has read enough, or is gone."""

    def cut(self) -> None:
        """Drop the connection, and whatever was not read."""

    def date(self) -> bytes:
        """Return the header line that says what time it is."""


@dataclass(frozen=True, slots=True)
class Pace:
    """For how long an answer may say nothing, and an agent read nothing."""

    silence_s: float
    stall_s: float


class Pulse:
    """Looks now and then at every answer that takes long; no answer has a timer of its own."""

    def __init__(self, pace: Pace) -> None:
        self.pace = pace
        self._waiting: dict[Outlet, None] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._period_s = min(_PERIOD_S, pace.silence_s / 4, pace.stall_s / 4)

    @property
    def waiting(self) -> tuple["Outlet", ...]:
        """The answers that are looked at."""
        return tuple(self._waiting)

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop in which it all happens; looking for it each time would cost a system call."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        return self._loop

    def add(self, outlet: "Outlet") -> None:
        """Look at an answer from now on."""
        self._waiting[outlet] = None
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._period_s, self._beat)

    def discard(self, outlet: "Outlet") -> None:
        """Look at it no longer."""
        self._waiting.pop(outlet, None)

    def _beat(self) -> None:
        self._timer = None
        if not self._waiting:
            return
        self._timer = asyncio.get_running_loop().call_later(self._period_s, self._beat)
        now_s = time.perf_counter()
        for outlet in tuple(self._waiting):
            outlet.beat(now_s)


class Outlet:
    """Where the answer to one request goes.

    It is a stream from the first message that comes before the answer, or after a silence; until
    then its HTTP status is open.
    """

    def __init__(
        self, line: Line, scribe: Scribe, pulse: Pulse, spoken: Spoken, begun_s: float
    ) -> None:
        self._line = line
        self._scribe = scribe
        self._pulse = pulse
        self._spoken = spoken
        self._wrote_s = begun_s
        self._task: asyncio.Task[object] | None = None
        self._may_stream = False
        self._unread_bytes = 0
        self._unread_since_s = begun_s
        self.is_stream = False
        self.is_given_up = False
        """Whether the router ends before the answer: what waits for one was cancelled."""

    def begin(self, *, streams: bool, leaving_cancels: bool) -> None:
        """Wait for an upstream in this task; it is cancelled when the router gives up.

        `streams`: the agent takes a stream. `leaving_cancels`: that it leaves is a cancellation.
        """
        self._may_stream = streams
        self._task = asyncio.current_task(self._pulse.loop)
        self._pulse.add(self)
        if leaving_cancels and self._task is not None:
            self._line.left = self._task.cancel
            if not self._line.is_open:
                self._task.cancel()

    def settle(self) -> None:
        """Wait no longer."""
        self._line.left = None
        self._pulse.discard(self)
        if self.is_given_up and self._task is not None:
            self._task.uncancel()

    def give_up(self) -> None:
        """Cancel what waits: the router ends."""
        if self._task is not None and not self.is_given_up:
            self.is_given_up = True
            self._task.cancel()

    @property
    def may_stream(self) -> bool:
        """Whether what comes before the answer can be told."""
        return self._may_stream

    async def say(self, message: bytes) -> None:
        """Send a message before the answer; return once the agent has read enough of it."""
        if not self._may_stream or not self._line.is_open:
            return
        if not self.is_stream:
            self._commit()
        self._put(httpbytes.event(message))
        if self._line.unread_bytes:
            await self._line.room()

    def end(self, response: Response, *, closes: bool = False) -> bool:
        """Send the answer; return whether the connection may carry another.

        `closes`: it may not, whatever the agent would like.
        """
        self._may_stream = False
        if self.is_stream:
            self._put(httpbytes.event(response.body), last=True)
            return self._spoken.keeps and self._spoken.takes_chunks and not closes
        spoken = self._spoken
        if spoken.keeps and (closes or response.closes):
            spoken = replace(spoken, keeps=False)
        self._line.put(self._scribe.whole(response, spoken, self._line.date()))
        return spoken.keeps

    async def read(self) -> None:
        """Return once the agent has read enough of an answer that was sent; cut one that stalls."""
        if not self._line.unread_bytes:
            return
        self._pulse.add(self)
        try:
            await self._line.room()
        finally:
            self._pulse.discard(self)

    def beat(self, now_s: float) -> None:
        """Look at what takes long: show that the router lives, or cut whoever reads nothing."""
        unread_bytes = self._line.unread_bytes
        if unread_bytes:
            if unread_bytes != self._unread_bytes:
                self._unread_bytes, self._unread_since_s = unread_bytes, now_s
            elif now_s - self._unread_since_s >= self._pulse.pace.stall_s:
                self._line.cut()
            return
        self._unread_bytes = 0
        if not self._may_stream or now_s - self._wrote_s < self._pulse.pace.silence_s:
            return
        if not self.is_stream:
            self._commit()
        self._put(httpbytes.COMMENT)

    def _commit(self) -> None:
        self.is_stream = True
        self._line.put(self._scribe.stream(self._spoken, self._line.date()))

    def _put(self, data: bytes, *, last: bool = False) -> None:
        self._wrote_s = time.perf_counter()
        if self._spoken.takes_chunks:
            data = httpbytes.chunk(data) + (httpbytes.LAST_CHUNK if last else b"")
        self._line.put(data)
