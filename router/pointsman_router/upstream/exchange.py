"""One HTTP request to an upstream and what comes back, over connections of its own."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from types import TracebackType
from urllib.parse import urlsplit

from pointsman_router.upstream import head, trouble
from pointsman_router.upstream.connection import Connection
from pointsman_router.upstream.dial import Dialler
from pointsman_router.upstream.head import EVENT_STREAM, JSON
from pointsman_router.upstream.limits import KIB, Limits
from pointsman_router.upstream.pool import Attempt, Pool

# A page up to this size is read without asking for room: waiting for room must cost only the few.
FREE_BYTES = 64 * KIB

# Of a stream, as much as is read in one go: in the shortest lines, that takes milliseconds.
_PIECE_BYTES = 16 * KIB
# A larger body is written beside its head: copying it would cost more than a second buffer.
_JOINED_MAX_BYTES = 64 * KIB
_PORTS = {"http": 80, "https": 443}
# Of spelled headers, as many as a server has tools that are much in use.
_LINES_MAX = 64


class Answer:
    """An answer whose head has come."""

    __slots__ = ("_connection", "_holds_room", "_limits", "_room", "head", "trusted")

    def __init__(
        self, connection: Connection, limits: Limits, room: asyncio.Semaphore | None
    ) -> None:
        self.head = head.read(connection.answer.status, connection.answer.headers, _now)
        self.trusted = False
        self._connection = connection
        self._limits = limits
        self._room = room
        self._holds_room = False

    def trust(self) -> None:
        """Say that the answer was the right one: its connection may serve again."""
        self.trusted = True

    @property
    def is_complete(self) -> bool:
        """Whether all of the body has come."""
        return self._connection.answer.is_complete

    async def body(self, max_bytes: int) -> bytes:
        """Return the whole body; raises Trouble."""
        connection, answer = self._connection, self._connection.answer
        if int(answer.headers.get(b"content-length", 0)) > max_bytes:
            raise trouble.too_large(max_bytes)
        while not answer.is_complete and answer.held_bytes <= max_bytes:
            free_bytes = max_bytes
            if self._room is not None and not self._holds_room:
                free_bytes = min(max_bytes, FREE_BYTES)
            await connection.more(free_bytes, self._limits.pause_s)
            await self.take_room(answer.held_bytes)
        if answer.held_bytes > max_bytes:
            raise trouble.too_large(max_bytes)
        await self.take_room(answer.held_bytes)
        return b"".join(answer.take())

    def chunks(self) -> AsyncIterator[bytes]:
        """Return the body as it comes, however long that takes; reading it raises Trouble."""
        return _Chunks(self, self._connection, self._limits.stream_max_bytes)

    async def take_room(self, total_bytes: int) -> None:
        """Wait until this much may be held."""
        if self._room is not None and not self._holds_room and total_bytes > FREE_BYTES:
            await self._room.acquire()
            self._holds_room = True

    def give_room(self) -> None:
        """Let others read large pages again."""
        if self._holds_room and self._room is not None:
            self._holds_room = False
            self._room.release()


class _Chunks:
    """The body of an answer, piece by piece; no generator, which would need a task to be ended."""

    __slots__ = ("_answer", "_at", "_connection", "_data", "_max_bytes", "_total_bytes")

    def __init__(self, answer: Answer, connection: Connection, max_bytes: int) -> None:
        self._answer = answer
        self._connection = connection
        self._max_bytes = max_bytes
        self._total_bytes = 0
        self._data = b""
        self._at = 0

    def __aiter__(self) -> "_Chunks":
        return self

    async def __anext__(self) -> bytes:
        if self._at < len(self._data):
            await asyncio.sleep(0)  # others' turn
        else:
            await self._connection.more(0, None)
            self._data, self._at = b"".join(self._connection.answer.take()), 0
            if not self._data:
                raise StopAsyncIteration
            await self._answer.take_room(self._total_bytes + len(self._data))
        start, self._at = self._at, self._at + _PIECE_BYTES
        piece = self._data[start : self._at]
        self._total_bytes += len(piece)
        if self._total_bytes > self._max_bytes:
            raise trouble.too_large(self._max_bytes)
        return piece


class _Exchange:
    """A request that is sent on entering, and done with on leaving."""

    __slots__ = (
        "_answer",
        "_attempt",
        "_connection",
        "_first_byte_s",
        "_limits",
        "_parts",
        "_pool",
        "_room",
    )

    def __init__(
        self,
        pool: Pool,
        limits: Limits,
        parts: Sequence[bytes],
        attempt: Attempt,
        first_byte_s: float | None,
        room: asyncio.Semaphore | None,
    ) -> None:
        self._pool = pool
        self._limits = limits
        self._parts = parts
        self._attempt = attempt
        self._first_byte_s = first_byte_s
        self._room = room
        self._connection: Connection | None = None
        self._answer: Answer | None = None

    async def __aenter__(self) -> Answer:
        attempt = self._attempt
        sent, attempt.earlier = attempt.earlier, None
        if sent is None:
            was_lost, attempt.transport = attempt.sent, None
            # Where one kept connection had ended on the other side, the others may have too.
            connection = (None if was_lost else self._pool.idle()) or await self._pool.dial()
            attempt.transport = connection.transport
        else:
            connection = sent.connection
            connection.unwatch()
        try:
            if sent is None:
                connection.send(self._parts, self._first_byte_s)
            await connection.head()
        except BaseException:
            connection.abort()
            raise
        self._connection = connection
        self._answer = Answer(connection, self._limits, self._room)
        return self._answer

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._answer is not None and self._connection is not None:
            self._answer.give_room()
            self._pool.part(self._connection, trusted=self._answer.trusted)


class Wire:
    """The connections to one upstream; nothing of them is shared with any other."""

    def __init__(self, url: str, dialler: Dialler, limits: Limits, *, user_agent: str) -> None:
        parts = urlsplit(url)
        host = parts.hostname or ""
        default = _PORTS[parts.scheme]
        port = parts.port or default
        self._limits = limits
        self._pool = Pool(dialler, limits, host=host, port=port, secure=parts.scheme == "https")
        named = f"[{host}]" if ":" in host else host.removesuffix(".")
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        common = (
            f" {target} HTTP/1.1\r\n"
            f"Host: {named if port == default else f'{named}:{port}'}\r\n"
            f"Accept: {JSON}, {EVENT_STREAM}\r\n"
            "Accept-Encoding: identity\r\n"
            f"User-Agent: {user_agent}\r\n"
        )
        self._posting = f"POST{common}Content-Type: {JSON}\r\n".encode("ascii")
        self._getting = f"GET{common}".encode("ascii")
        self._deleting = f"DELETE{common}".encode("ascii")
        self._lines: dict[int, tuple[Mapping[str, str], bytes]] = {}

    def post(
        self,
        body: bytes,
        headers: Mapping[str, str],
        attempt: Attempt,
        *,
        first_byte_s: float | None = None,
        room: asyncio.Semaphore | None = None,
    ) -> AbstractAsyncContextManager[Answer]:
        """Send one message; entering gives the answer once its head is there; raises Trouble.

        Without `trust` the connection is closed at the end.
        """
        top = b"%b%d\r\n\r\n" % (self.posting(headers), len(body))
        parts = (top + body,) if len(body) <= _JOINED_MAX_BYTES else (top, body)
        return _Exchange(self._pool, self._limits, parts, attempt, first_byte_s, room)

    def posting(self, headers: Mapping[str, str]) -> bytes:
        """Return the head of a message with these headers, up to the digits of its length."""
        return b"%b%bContent-Length: " % (self._posting, self._spelled(headers))

    def idle(self) -> Connection | None:
        """Return a connection that a request may be sent on at once, if there is one."""
        return self._pool.idle()

    def done(self, connection: Connection) -> None:
        """Be done with such a request, whose answer was the right one."""
        connection.unwatch()
        connection.answer.take()
        self._pool.part_soon(connection)

    def get(
        self, headers: Mapping[str, str], attempt: Attempt, *, first_byte_s: float | None = None
    ) -> AbstractAsyncContextManager[Answer]:
        """Ask for a stream, as `post` does with a message."""
        parts = (b"%b%b\r\n" % (self._getting, _lines(headers)),)
        return _Exchange(self._pool, self._limits, parts, attempt, first_byte_s, None)

    async def delete(self, headers: Mapping[str, str]) -> None:
        """Send a DELETE, whatever comes of it; raises Trouble."""
        parts = (b"%b%b\r\n" % (self._deleting, _lines(headers)),)
        limit_s = self._limits.farewell_s
        try:
            async with (
                asyncio.timeout(limit_s),
                _Exchange(self._pool, self._limits, parts, Attempt(), None, None),
            ):
                pass
        except TimeoutError:
            raise trouble.late(limit_s) from None

    def _spelled(self, headers: Mapping[str, str]) -> bytes:
        # The same few come again and again, as the same objects: they are replaced, never edited.
        known = self._lines.get(id(headers))
        if known is not None:
            return known[1]
        if len(self._lines) >= _LINES_MAX:
            self._lines.clear()
        lines = _lines(headers)
        self._lines[id(headers)] = headers, lines
        return lines

    async def close(self) -> None:
        """Close every connection."""
        await self._pool.close()

    @property
    def open_connections(self) -> int:
        """How many connections are open, idle ones included."""
        return self._pool.open_connections


def _lines(headers: Mapping[str, str]) -> bytes:
    """Return header lines; raises ValueError where a value would make another line."""
    text = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
    if not text.count("\r") == text.count("\n") == len(headers) or "\0" in text:
        raise ValueError("a header's value holds a line break")
    return text.encode("latin-1")


def _now() -> datetime:
    return datetime.now(UTC)
