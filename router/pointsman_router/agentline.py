"""One connection of an agent's, and the answers that go out on it."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, Protocol, cast

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.web_protocol import RequestHandler

from pointsman_router import refusals, respond
from pointsman_router.respond import Response

# Agents pause between two calls; a connection that outlives the pause spares them a new one.
KEEPALIVE_S = 75
# What may wait for an agent to read it before whatever writes has to wait: a thousand streams of
# agents that stopped reading fit into the pod.
UNREAD_MAX_BYTES = 64 * 1024
# What an agent may send ahead while a request of its own is answered.
_AHEAD_MAX_BYTES = 64 * 1024
# A longer head is not kept to see whether it comes again.
_HEAD_MAX_BYTES = 8 * 1024
_HTTP_1_1 = (1, 1)

_LOG = logging.getLogger(__name__)


class Quick(Protocol):
    """Who answers requests that need no parser."""

    def __call__(self, connection: "Connection", data: bytes, /) -> bool:
        """Take the request that `data` is, and call `answered` at its end; False: take nothing."""


class Connection(RequestHandler):
    """One connection of an agent's.

    Each request that comes while none is under way is offered to `quick` first, as the bytes that
    it is; what `quick` does not take goes through the HTTP parser. That one stands between two
    messages whenever `quick` is asked, or else it is not asked.
    """

    def __init__(
        self,
        server: web.Server,
        name: str,
        date: Callable[[], bytes],
        quick: "Quick",
        **options: Any,
    ) -> None:
        super().__init__(server, **options)
        self._server_name = name
        self._quick = quick
        self._is_busy = False
        self._task: asyncio.Task[None] | None = None
        self._ahead = b""
        # What the parser got since it last stood between two messages; None: nobody knows.
        self._parsed_bytes: int | None = 0
        self._parsed_begin = b""
        self._read: asyncio.Event | None = None
        self.left: Callable[[], object] | None = None
        """Called when the agent is gone."""
        self.date = date

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Bound what is written ahead of the agent's reading."""
        super().connection_made(transport)
        # uvloop's transports are one by what they do, not by their class.
        cast(asyncio.WriteTransport, transport).set_write_buffer_limits(high=UNREAD_MAX_BYTES)

    def data_received(self, data: bytes) -> None:
        """Take what came."""
        if self._is_busy:
            self._ahead += data
            if len(self._ahead) > _AHEAD_MAX_BYTES and self.transport is not None:
                self.transport.pause_reading()
            return
        waiter = self._waiter
        if (
            waiter is not None
            and self._parsed_bytes == 0
            and not (waiter.done() or self._close or self._force_close or self._upgraded)
        ):
            self._is_busy = self._request_in_progress = True
            if self._quick(self, data):
                return
            self._is_busy = self._request_in_progress = False
        if self._parsed_bytes is not None:
            self._parsed_bytes += len(data)
            if len(self._parsed_begin) < _HEAD_MAX_BYTES:
                self._parsed_begin += data
        super().data_received(data)

    def run(self, answering: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        """Answer the request that `quick` took in a task; it ends with the connection."""
        self._task = asyncio.Task(answering, loop=self._loop, name="request")
        return self._task

    def answered(self, *, keeps: bool) -> None:
        """End a request that `quick` took; `keeps`: the connection may carry another."""
        self._task = None
        keeps = keeps and not (self._close or self._force_close)
        if self._ahead and keeps and self.transport is not None:
            # Not before its turn: what was just answered is to be put away first.
            self._loop.call_soon(self._read_ahead)
            return
        self._is_busy = self._request_in_progress = False
        waiter = self._handler_waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)
        if self.transport is None:
            return
        if not keeps:
            self.force_close()
            return
        self._next_keepalive_close_time = self._loop.time() + KEEPALIVE_S

    def _read_ahead(self) -> None:
        self._is_busy = self._request_in_progress = False
        if self.transport is None:
            return
        ahead, self._ahead = self._ahead, b""
        if len(ahead) > _AHEAD_MAX_BYTES:
            self.transport.resume_reading()
        self.data_received(ahead)

    def parsed(self, request: web.BaseRequest) -> bytes | None:
        """Return the head of a request that the parser has read to its end, and nothing behind it.

        None where it may have read more, or waits for more.
        """
        count, begin = self._parsed_bytes, self._parsed_begin
        self._parsed_bytes, self._parsed_begin = None, b""
        end = begin.find(b"\r\n\r\n")
        headers = request.headers
        if (
            count is None
            or end < 0
            or request.version != _HTTP_1_1
            or request.method == "CONNECT"
            or "Transfer-Encoding" in headers
            or "Upgrade" in headers
            or count != end + 4 + (request.content_length or 0)
        ):
            return None
        self._parsed_bytes = 0
        head = begin[: end + 4]
        # One line for each header that was read: nobody saw another end in these bytes.
        lines = head.count(b"\r\n")
        is_plain = lines == head.count(b"\n") == head.count(b"\r") == len(request.raw_headers) + 2
        return head if is_plain else None

    async def shutdown(self, timeout: float | None = 15.0) -> None:  # noqa: ASYNC109 - aiohttp's
        """End the connection, and give up what is under way after `timeout` seconds."""
        await super().shutdown(timeout)
        if self._is_busy and self._task is None and self.left is not None:
            self.left()
            await asyncio.sleep(0)  # a task that has not begun could not end what it took over
        if self._task is not None:
            self._task.cancel()

    def _process_keepalive(self) -> None:
        if not self._is_busy:
            super()._process_keepalive()
        else:
            self._keepalive_handle = self._loop.call_later(KEEPALIVE_S, self._process_keepalive)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Tell whoever works for the agent that it is gone."""
        super().connection_lost(exc)
        if self._read is not None:
            self._read.set()
        left, self.left = self.left, None
        if left is not None:
            left()

    def resume_writing(self) -> None:
        """Tell whoever waits that the agent reads again."""
        super().resume_writing()
        if self._read is not None:
            self._read.set()

    def resume_reading(self, resume_parser: bool = True) -> None:
        """Read on after a pause; without one there is nothing to resume, on every request twice."""
        if self._reading_paused:
            super().resume_reading(resume_parser)

    @property
    def is_open(self) -> bool:
        """Whether the agent is still there."""
        return self.transport is not None

    @property
    def unread_bytes(self) -> int:
        """How much waits for an agent that has stopped reading; 0: it reads."""
        if self.transport is None or not self.writing_paused:
            return 0
        return self.transport.get_write_buffer_size()

    def put(self, data: bytes) -> None:
        """Write; on a closed connection that is nothing."""
        if self.transport is not None:
            self.transport.write(data)

    async def room(self) -> None:
        """Return once the agent has read enough, or is gone."""
        while self.transport is not None and self.writing_paused:
            self._read = asyncio.Event()
            await self._read.wait()
        self._read = None

    def close_if_idle(self) -> None:
        """Close the connection unless a request is on it."""
        if not (self._request_in_progress or self._messages):
            self.force_close()

    def cut(self) -> None:
        """Drop the connection, and whatever was not read."""
        if self.transport is not None:
            self.transport.abort()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answer what the HTTP parser refused, in words of ours, and close."""
        _LOG.info("a connection sent what is no HTTP request", extra={"peer": request.remote})
        refused: Response = respond.refused(refusals.no_request())
        response = web.Response(
            status=refused.status,
            body=refused.body,
            headers={"Server": self._server_name},
            content_type=respond.JSON_TYPE,
        )
        response.force_close()
        return response


class Written(web.StreamResponse):
    """An answer that was written to its connection already."""

    def __init__(self, *, keeps: bool) -> None:  # the base's own state is never looked at
        self._keeps = keeps

    @property
    def keep_alive(self) -> bool:
        """Whether the connection may carry another."""
        return self._keeps

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        """Do nothing: the head is out."""
        return None

    async def write_eof(self, data: bytes = b"") -> None:
        """Do nothing: the body is out."""
