"""One connection to an upstream: a request goes, its answer comes, and nothing else may."""

import asyncio
import math
import select
from collections.abc import Callable, Sequence
from enum import Enum, auto
from typing import Protocol, cast

from pointsman_router.upstream import trouble
from pointsman_router.upstream.framing import Broken, Framing
from pointsman_router.upstream.limits import Limits
from pointsman_router.upstream.trouble import Trouble

NEVER = math.inf


class Owner(Protocol):
    """Who has to know what becomes of a connection."""

    def kept(self, connection: "Connection") -> None:
        """It may serve again."""

    def ended(self, connection: "Connection") -> None:
        """It is gone."""

    def expect(self, due_s: float) -> None:
        """Call `overdue` no earlier than then, by the loop's clock."""


class State(Enum):
    """What a connection is there for."""

    IDLE = auto()
    AWAITED = auto()
    """A request was sent; what comes is its answer."""
    DRAINED = auto()
    """The answer was found; its stream has to end before the connection may serve again."""
    ENDED = auto()


class Connection(asyncio.Protocol):
    """A connection that takes one request at a time and ends itself at any surprise."""

    def __init__(self, owner: Owner, limits: Limits) -> None:
        self._owner = owner
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._poll = select.poll()
        self._waiter: asyncio.Future[None] | None = None
        self._watch: Callable[[], None] | None = None
        self._trouble: Trouble | None = None
        self._wanted_bytes = 0
        self._patience_s: float | None = None
        self._is_paused = False
        self._drained_at = 0
        self.answer = Framing(limits)
        """What has come of the answer; to be read while one is awaited."""
        self.state = State.IDLE
        self.due_s = NEVER
        """When its state has lasted too long, by the loop's clock."""

    @property
    def transport(self) -> asyncio.Transport:
        """What it writes to."""
        assert self._transport is not None, "it was dialled"
        return self._transport

    @property
    def is_whole(self) -> bool:
        """Whether all of the answer has come."""
        return self.answer.is_complete

    @property
    def is_lost(self) -> bool:
        """Whether no more will come, and why is known."""
        return self._trouble is not None

    def is_quiet(self) -> bool:
        """Say whether nothing came while it was idle, neither an answer nor its end."""
        return (
            self.state is State.IDLE
            and not self.transport.is_closing()
            and self._loop.time() < self.due_s
            and not self._poll.poll(0)
        )

    def send(self, parts: Sequence[bytes], first_byte_s: float | None) -> None:
        """Send a whole request; what comes from now on is its answer."""
        self.answer.begin()
        self.state = State.AWAITED
        self._wanted_bytes = 0
        self._be_patient(first_byte_s)
        if len(parts) == 1:
            self.transport.write(parts[0])
        else:
            self.transport.writelines(parts)

    def send_watched(self, request: bytes, watch: Callable[[], None]) -> None:
        """Send a whole request; `watch` is called at all news of its answer until `unwatch`."""
        self._watch = watch
        self.send((request,), None)

    def unwatch(self) -> None:
        """Leave the answer to whoever waits for it."""
        self._watch = None

    def want(self, wanted_bytes: int) -> None:
        """Hold so much of the body, and have nobody told before it is more, or all."""
        self._wanted_bytes = wanted_bytes
        if self._is_paused and self.answer.held_bytes <= self._most_bytes:
            self._read_on()

    async def head(self) -> None:
        """Wait for the head of the answer; raises Trouble."""
        if not self.answer.has_head and self._trouble is None:
            await self._news()
        self._be_patient(None)
        if not self.answer.has_head:
            self._complain()

    async def more(self, wanted_bytes: int, pause_s: float | None) -> None:
        """Wait until more of the body is held than that, or all that is left; raises Trouble.

        Without `pause_s` the upstream may be silent for ever.
        """
        answer = self.answer
        self.want(wanted_bytes)
        if self.is_whole or answer.held_bytes > wanted_bytes:
            return
        if self._trouble is None:
            self._be_patient(pause_s)
            await self._news()
            self._be_patient(None)
        if answer.held_bytes <= wanted_bytes and not self.is_whole:
            self._complain()

    def part(self, *, trusted: bool, may_drain: bool) -> None:
        """Be done with the answer: serve again where it was the right one, else end."""
        if not trusted or self._trouble is not None or self.state is not State.AWAITED:
            self.abort()
        elif self.answer.is_complete:
            self._keep()
        elif may_drain:
            self.state = State.DRAINED
            self._drained_at = self.answer.size - self.answer.held_bytes
            self.due_s = self._loop.time() + self._limits.drain_s
            self._owner.expect(self.due_s)
            self._drain()
        else:
            self.abort()

    def abort(self) -> None:
        """End it at once; whoever waits for its answer is told."""
        if self.state is State.ENDED:
            return
        if self.state is State.AWAITED and self._trouble is None:
            self._trouble = trouble.lost()
        self.state = State.ENDED
        if self._transport is not None:
            self._transport.abort()
        self._wake()

    def overdue(self) -> None:
        """Give up what has lasted too long."""
        if self.state is not State.AWAITED:
            self.abort()
        elif self.answer.has_head:
            self._fail(trouble.stalled(self._patience_s or 0.0))
        else:
            self._fail(trouble.late(self._patience_s or 0.0))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Be open."""
        # uvloop's transports are one by what they do, not by their class.
        self._transport = cast(asyncio.Transport, transport)
        if self.state is State.ENDED:  # it spoke while TLS was being agreed on
            self.transport.abort()
        else:
            self._poll.register(transport.get_extra_info("socket").fileno(), select.POLLIN)

    def data_received(self, data: bytes) -> None:
        """Take what came; unasked, it ends the connection."""
        if self.state is State.IDLE:
            self.abort()
        if self.state is State.ENDED:
            return
        answer = self.answer
        had_head = answer.has_head
        try:
            answer.feed(data)
        except Broken as exc:
            self._fail(trouble.violation(str(exc)))
            return
        if self.state is State.DRAINED:
            self._drain()
            return
        if answer.held_bytes > self._most_bytes and not answer.is_complete:
            self._is_paused = True
            self.transport.pause_reading()
        if not answer.has_head:
            return  # the time for it runs on
        if answer.is_complete or not had_head or answer.held_bytes > self._wanted_bytes:
            self._wake()
        elif self._patience_s is not None:
            self.due_s = self._loop.time() + self._patience_s

    def eof_received(self) -> None:
        """Take the orderly end; the transport closes itself."""
        if self.state is State.AWAITED and self.answer.end():
            self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        """Take the end; what had not come of an answer will not."""
        if self.state is State.AWAITED and not self.answer.is_complete:
            begun = self.answer.has_head or self.answer.received_bytes
            broken_off = trouble.violation("its answer broke off before the end")
            self._fail(broken_off if begun else trouble.lost())
        self.state = State.ENDED
        self._owner.ended(self)

    @property
    def _most_bytes(self) -> int:
        """How much may be held before the upstream is read no further."""
        return max(self._wanted_bytes, self._limits.held_max_bytes)

    async def _news(self) -> None:
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _complain(self) -> None:
        if self._trouble is not None:
            raise self._trouble

    def _wake(self) -> None:
        if self._watch is not None:
            self._watch()
        elif self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _be_patient(self, patience_s: float | None) -> None:
        self._patience_s = patience_s
        if patience_s is None:
            self.due_s = NEVER
        else:
            self.due_s = self._loop.time() + patience_s
            self._owner.expect(self.due_s)

    def _read_on(self) -> None:
        self._is_paused = False
        if not self.transport.is_closing():
            self.transport.resume_reading()

    def _fail(self, met: Trouble) -> None:
        self._trouble = met
        self.abort()

    def _drain(self) -> None:
        self.answer.take()
        if self._is_paused:
            self._read_on()
        if self.answer.is_complete:
            self._keep()
        elif self.answer.size - self._drained_at > self._limits.drain_max_bytes:
            self.abort()

    def _keep(self) -> None:
        transport = self.transport
        if (
            not self.answer.is_reusable
            or transport.is_closing()
            # It answered before it had read all of the request.
            or transport.get_write_buffer_size()
        ):
            self.abort()
            return
        if self._is_paused:
            self._read_on()
        self.state = State.IDLE
        self.due_s = self._loop.time() + self._limits.keepalive_s
        self._owner.expect(self.due_s)
        self._owner.kept(self)
