"""One HTTP request to an upstream and what comes back, over connections of its own."""

import asyncio
import contextlib
import io
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime

import aiohttp
from yarl import URL

from pointsman_router.upstream import head, trouble
from pointsman_router.upstream.dial import Dialler
from pointsman_router.upstream.head import EVENT_STREAM, JSON
from pointsman_router.upstream.limits import KIB, Limits
from pointsman_router.upstream.pool import ATTEMPT, Attempt, Pool

# A page up to this size is read without asking for room: waiting for room must cost only the few.
FREE_BYTES = 64 * KIB

_NO_TIMEOUT = aiohttp.ClientTimeout(total=None, sock_connect=None)
# Of a stream, as much as is read in one go: in the shortest lines, that takes milliseconds.
_PIECE_BYTES = 16 * KIB
# Above this size aiohttp wants a file, which it writes in pieces.
_LARGE_BYTES = 1024 * KIB
_GONE = (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError, ConnectionError)


class Answer:
    """An answer whose head has come."""

    def __init__(
        self,
        response: aiohttp.ClientResponse,
        limits: Limits,
        room: asyncio.Semaphore | None,
    ) -> None:
        self.head = head.read(response.status, response.headers, datetime.now(UTC))
        self.trusted = False
        self._response = response
        self._limits = limits
        self._room = room
        self._holds_room = False

    def trust(self) -> None:
        """Say that the answer was the right one: its connection may serve again."""
        self.trusted = True

    async def body(self, max_bytes: int) -> bytes:
        """Return the whole body; raises Trouble."""
        if (self._response.content_length or 0) > max_bytes:
            raise trouble.too_large(max_bytes)
        parts = bytearray()
        while chunk := await self._in_time(self._limits.pause_s):
            parts += chunk
            if len(parts) > max_bytes:
                raise trouble.too_large(max_bytes)
            await self._take_room(len(parts))
        return bytes(parts)

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body as it comes, however long that takes; raises Trouble."""
        total = 0
        while chunk := await self._read():
            total += len(chunk)
            if total > self._limits.stream_max_bytes:
                raise trouble.too_large(self._limits.stream_max_bytes)
            await self._take_room(total)
            yield chunk[:_PIECE_BYTES]
            for start in range(_PIECE_BYTES, len(chunk), _PIECE_BYTES):
                await asyncio.sleep(0)
                yield chunk[start : start + _PIECE_BYTES]

    def give_room(self) -> None:
        """Let others read large pages again."""
        if self._holds_room and self._room is not None:
            self._holds_room = False
            self._room.release()

    @property
    def is_complete(self) -> bool:
        """Whether the body has been read to its end."""
        return self._response.content.at_eof()

    async def drain(self, max_bytes: int) -> bool:
        """Read what may follow; return whether the end came within `max_bytes`."""
        left = max_bytes
        while left >= 0 and (chunk := await self._read()):
            left -= len(chunk)
        return self.is_complete

    async def _take_room(self, total: int) -> None:
        if self._room is not None and not self._holds_room and total > FREE_BYTES:
            await self._room.acquire()
            self._holds_room = True

    async def _in_time(self, pause_s: float) -> bytes:
        try:
            async with asyncio.timeout(pause_s):
                return await self._read()
        except TimeoutError:
            raise trouble.stalled(pause_s) from None

    async def _read(self) -> bytes:
        try:
            return await self._response.content.readany()
        except (aiohttp.ClientError, OSError) as exc:
            raise trouble.violation("its answer broke off before the end") from exc


class Wire:
    """The connections to one upstream; nothing of them is shared with any other."""

    def __init__(self, url: str, dialler: Dialler, limits: Limits, *, user_agent: str) -> None:
        self._url = URL(url, encoded=True)
        self._limits = limits
        self._pool = Pool(dialler, limits)
        self._client = aiohttp.ClientSession(
            connector=self._pool,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=_NO_TIMEOUT,
            auto_decompress=False,
            headers={
                "Accept": f"{JSON}, {EVENT_STREAM}",
                "Accept-Encoding": "identity",
                "User-Agent": user_agent,
            },
        )
        self._drains: set[asyncio.Task[bool]] = set()

    @contextlib.asynccontextmanager
    async def post(
        self,
        body: bytes,
        headers: Mapping[str, str],
        attempt: Attempt,
        *,
        first_byte_s: float | None = None,
        room: asyncio.Semaphore | None = None,
    ) -> AsyncIterator[Answer]:
        """Send one message; yields the answer once its head is there; raises Trouble.

        Without `trust` the connection is closed at the end.
        """
        data = body if len(body) <= _LARGE_BYTES else io.BytesIO(body)
        response = await self._request("POST", data, headers, attempt, first_byte_s)
        answer = Answer(response, self._limits, room)
        try:
            yield answer
        finally:
            answer.give_room()
            self._part(answer, response, attempt)

    async def delete(self, headers: Mapping[str, str]) -> None:
        """Send a DELETE, whatever comes of it; raises Trouble."""
        response = await self._request("DELETE", None, headers, Attempt(), self._limits.farewell_s)
        response.close()

    async def close(self) -> None:
        """Close every connection."""
        for task in self._drains:
            task.cancel()
        await asyncio.gather(*self._drains, return_exceptions=True)
        await self._client.close()

    @property
    def open_connections(self) -> int:
        """How many connections are open, idle ones included."""
        return self._pool.open_connections

    async def _request(
        self,
        method: str,
        data: bytes | io.BytesIO | None,
        headers: Mapping[str, str],
        attempt: Attempt,
        first_byte_s: float | None,
    ) -> aiohttp.ClientResponse:
        content = {"Content-Type": JSON} if data is not None else {}
        attempt.transport = None
        token = ATTEMPT.set(attempt)
        try:
            async with asyncio.timeout(first_byte_s):
                return await self._client.request(
                    method,
                    self._url,
                    data=data,
                    headers={**content, **headers},
                    allow_redirects=False,
                )
        except TimeoutError:
            raise trouble.late(first_byte_s or 0.0) from None
        except _GONE as exc:
            raise trouble.lost() from exc
        except (aiohttp.ClientError, ValueError) as exc:
            raise trouble.violation("its answer is not HTTP") from exc
        finally:
            ATTEMPT.reset(token)

    def _part(self, answer: Answer, response: aiohttp.ClientResponse, attempt: Attempt) -> None:
        if answer.trusted and answer.is_complete:
            return  # its connection is back in the pool already
        if not answer.trusted or len(self._drains) >= self._limits.drains_max:
            _drop(response, attempt)
            return

        def ended(task: asyncio.Task[bool]) -> None:
            self._drains.discard(task)
            if task.cancelled() or not task.result():
                _drop(response, attempt)

        task = asyncio.create_task(self._drain(answer))
        self._drains.add(task)
        task.add_done_callback(ended)

    async def _drain(self, answer: Answer) -> bool:
        """Return whether an event stream ended soon behind its answer."""
        try:
            async with asyncio.timeout(self._limits.drain_s):
                return await answer.drain(self._limits.drain_max_bytes)
        except (trouble.Trouble, TimeoutError):
            return False


def _drop(response: aiohttp.ClientResponse, attempt: Attempt) -> None:
    # The pool may have it back already, when the whole answer was there at once.
    response.close()
    if attempt.transport is not None:
        attempt.transport.abort()
