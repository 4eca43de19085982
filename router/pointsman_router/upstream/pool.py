"""Which connection a request to an upstream gets, and what became of its sending."""

import asyncio
import contextlib
from dataclasses import dataclass

import msgspec

from pointsman_router.upstream import trouble
from pointsman_router.upstream.connection import NEVER, Connection, State
from pointsman_router.upstream.dial import Dialler
from pointsman_router.upstream.limits import Limits
from pointsman_router.upstream.tenure import Tenure

# Deadlines lie seconds ahead: looking for them more often would only cost.
_LOOK_S = 0.05


class Sent(msgspec.Struct, frozen=True):
    """A request that was sent without a task to wait for its answer."""

    id: str
    tenure: Tenure
    connection: Connection


@dataclass(slots=True)
class Attempt:
    """What became of one sending; the transport is there from the first byte that may have left."""

    transport: asyncio.Transport | None = None
    earlier: Sent | None = None
    """The sending itself, where it was made before: only its answer is to be read."""

    @property
    def sent(self) -> bool:
        """Whether anything of the request may have left."""
        return self.transport is not None


def of(sent: Sent) -> Attempt:
    """Return the attempt that reads the answer to what was sent."""
    return Attempt(sent.connection.transport, sent)


class Pool:
    """The connections to one address; the newest idle one serves first. Needs a running loop.

    Calls are bounded before they come here: the pool never makes one wait for another.
    """

    def __init__(
        self, dialler: Dialler, limits: Limits, *, host: str, port: int, secure: bool
    ) -> None:
        self._dialler = dialler
        self._limits = limits
        self._host = host
        self._port = port
        self._secure = secure
        self._loop = asyncio.get_running_loop()
        self._all: set[Connection] = set()
        self._idle: list[Connection] = []
        self._answered: list[Connection] = []
        self._is_closed = False
        self._emptied = asyncio.Event()
        self._look: asyncio.TimerHandle | None = None
        self._look_at_s = NEVER

    @property
    def open_connections(self) -> int:
        """How many connections are open, idle ones included."""
        return sum(one.state is not State.ENDED for one in self._all)

    def idle(self) -> Connection | None:
        """Return a connection that is open and silent, if there is one."""
        while self._idle:
            connection = self._idle.pop()
            if connection.is_quiet():
                return connection
            connection.abort()
        return None

    async def dial(self) -> Connection:
        """Return a new connection; raises Trouble, and then no byte of a request left."""
        connection = await self._dialler.dial(
            self._host,
            self._port,
            secure=self._secure,
            protocol=lambda: Connection(self, self._limits),
        )
        # What is readable here already may be TLS's own.
        if connection.state is State.ENDED or connection.transport.is_closing():
            connection.abort()
            raise trouble.lost().unsent()
        # Not before: uvloop tells a protocol nothing of its end where dialling was cancelled.
        self._all.add(connection)
        if self._is_closed:
            connection.abort()
            raise trouble.closed()
        return connection

    async def close(self) -> None:
        """Close every connection, and wait until they are."""
        self._is_closed = True
        if self._look is not None:
            self._look.cancel()
        for connection in self._all:
            connection.abort()
        while self._all:
            self._emptied.clear()
            await self._emptied.wait()

    def kept(self, connection: Connection) -> None:
        """Have a connection serve again."""
        if self._is_closed:
            connection.abort()
        else:
            self._idle.append(connection)

    def part(self, connection: Connection, *, trusted: bool) -> None:
        """Be done with an answer; `trusted`: it was the right one."""
        connection.part(trusted=trusted, may_drain=connection.is_whole or self._may_drain)

    def part_soon(self, connection: Connection) -> None:
        """Be done with a right answer in the loop's next turn, when it has read what else came.

        An upstream that ends its connections behind an answer, and does not say so, may have ended
        this one: no other request is to be lost on it.
        """
        if not self._answered:
            self._loop.call_soon(self._part_from_answered)
        self._answered.append(connection)

    def _part_from_answered(self) -> None:
        answered, self._answered = self._answered, []
        for connection in answered:
            self.part(connection, trusted=True)

    @property
    def _may_drain(self) -> bool:
        """Whether the end of one more stream may be waited for."""
        return sum(one.state is State.DRAINED for one in self._all) < self._limits.drains_max

    def ended(self, connection: Connection) -> None:
        """Forget a connection that is gone."""
        self._all.discard(connection)
        with contextlib.suppress(ValueError):
            self._idle.remove(connection)
        if not self._all:
            self._emptied.set()

    def expect(self, due_s: float) -> None:
        """Look for what is overdue no earlier than then: one timer serves all connections."""
        if due_s < self._look_at_s and not self._is_closed:
            if self._look is not None:
                self._look.cancel()
            self._look_at_s = due_s
            self._look = self._loop.call_at(due_s, self._end_overdue)

    def _end_overdue(self) -> None:
        self._look, self._look_at_s = None, NEVER
        now_s = self._loop.time()
        for connection in tuple(self._all):
            if connection.due_s <= now_s:
                connection.due_s = NEVER
                connection.overdue()
        next_s = min((one.due_s for one in self._all), default=NEVER)
        if next_s < NEVER:
            self.expect(max(next_s, now_s + _LOOK_S))
