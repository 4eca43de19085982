"""The way to one server: what discovery lists and the door calls through."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus

from pointsman_router.failures import Executed
from pointsman_router.jsonrpc import METHOD_NOT_FOUND, RpcError
from pointsman_router.offer import Listing
from pointsman_router.registry import Target
from pointsman_router.upstream import messages, pages, session, trouble
from pointsman_router.upstream.bulkhead import Bulkhead
from pointsman_router.upstream.desk import Desk
from pointsman_router.upstream.dial import Dialler
from pointsman_router.upstream.exchange import Wire
from pointsman_router.upstream.limits import Limits
from pointsman_router.upstream.messages import Result
from pointsman_router.upstream.pool import Attempt
from pointsman_router.upstream.rpc import Answered, Ask, Lost, Rpc
from pointsman_router.upstream.session import Sessions
from pointsman_router.upstream.trouble import Trouble


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call, as the upstream is to get it."""

    name: str
    arguments: bytes
    meta: bytes | None
    timeout_s: float


class Link:
    """The wire to one server: its connections, its session, its bounds. Needs a running loop."""

    def __init__(
        self,
        target: Target,
        *,
        dialler: Dialler,
        desk: Desk,
        version: str,
        limits: Limits | None = None,
    ) -> None:
        self._limits = limits or Limits()
        self._desk = desk
        self._wire = Wire(target.url, dialler, self._limits, user_agent=f"pointsman/{version}")
        self._rpc = Rpc(self._wire, self._limits)
        self._sessions = Sessions(lambda: session.negotiate(self._rpc, self._limits, version))
        self._bulkhead = Bulkhead(self._limits)
        self._throttled_until = 0.0
        self._in_flight = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._is_closed = False
        self._on_renewal: Callable[[], None] = lambda: None

    def on_renewal(self, tell: Callable[[], None]) -> None:
        """Have `tell` called when a call found its session lost: the upstream began anew."""
        self._on_renewal = tell

    @property
    def open_connections(self) -> int:
        """How many connections are open, idle ones included."""
        return self._wire.open_connections

    async def list_tools(self) -> Listing:
        """Return all pages of the upstream's tools; raises Trouble, and then nothing was kept."""
        self._demand_open()
        try:
            async with asyncio.timeout(self._limits.listing_s):
                return await self._list()
        except TimeoutError:
            raise trouble.late(self._limits.listing_s) from None
        except Trouble as met:
            self._heed(met)
            raise

    async def call(self, call: ToolCall) -> Result | RpcError:
        """Return what the upstream answers to a call; raises Trouble.

        A call that may have been taken is never sent again.
        """
        self._demand_open()
        attempt = Attempt()
        self._in_flight += 1
        self._idle.clear()
        try:
            async with asyncio.timeout(call.timeout_s), self._bulkhead:
                return await self._call(call, attempt)
        except TimeoutError:
            executed = Executed.UNKNOWN if attempt.sent else Executed.NO
            raise trouble.late(call.timeout_s, executed) from None
        except Trouble as met:
            self._heed(met)
            raise
        finally:
            self._in_flight -= 1
            if not self._in_flight:
                self._idle.set()

    async def close(self) -> None:
        """Let the calls in flight end, end the session, close the connections; never raises.

        Cancelled, it closes the connections at once.
        """
        self._is_closed = True
        try:
            await self._idle.wait()
            left = await self._sessions.close()
            if left is not None and left.id is not None:
                await self._wire.delete(left.headers)
        except Trouble:
            pass  # a session that cannot be ended ends by itself
        finally:
            await self._sessions.close()
            await self._rpc.close()
            await self._wire.close()

    async def _call(self, call: ToolCall, attempt: Attempt) -> Result | RpcError:
        ask = Ask(
            "tools/call",
            messages.call_params(call.name, call.arguments, call.meta),
            max_bytes=self._limits.body_max_bytes,
        )
        outcome, renewed = await self._ask(ask, attempt)
        if renewed:
            self._on_renewal()
        return outcome

    async def _list(self) -> Listing:
        async def page(params: bytes) -> Result | RpcError:
            ask = Ask(
                pages.METHOD,
                params,
                max_bytes=self._limits.page_max_bytes,
                first_byte_s=self._limits.first_byte_s,
                harmless=True,
                room=self._desk.large_pages,
            )
            return (await self._ask(ask, Attempt()))[0]

        listed = await pages.every(page, self._limits)
        agreed = await self._sessions.get()
        if isinstance(listed, RpcError):
            if agreed.offers_tools or listed.code != METHOD_NOT_FOUND:
                raise trouble.rpc_error(pages.METHOD, listed.code, listed.message)
            listed = ()  # a server of prompts and resources
        return Listing(listed, agreed.revision, agreed.server_info)

    async def _ask(self, ask: Ask, attempt: Attempt) -> tuple[Result | RpcError, bool]:
        """Return the answer, and whether the session was renewed for it."""
        agreed = await self._sessions.get()
        answered = await self._rpc.ask(ask, agreed, attempt)
        if isinstance(answered, Answered):
            return answered.outcome, False
        self._sessions.forget(agreed)
        attempt.transport = None
        answered = await self._rpc.ask(ask, await self._sessions.get(), attempt)
        match answered:
            case Answered(outcome):
                return outcome, True
            case Lost():
                raise trouble.session_lost()

    def _demand_open(self) -> None:
        if self._is_closed:
            raise trouble.closed()
        wait_s = self._throttled_until - asyncio.get_running_loop().time()
        if wait_s > 0:
            raise trouble.throttled(int(wait_s * 1000) + 1)

    def _heed(self, met: Trouble) -> None:
        """Leave an upstream alone for as long as it asked."""
        if met.status == HTTPStatus.TOO_MANY_REQUESTS and met.retry_after_ms:
            until = asyncio.get_running_loop().time() + met.retry_after_ms / 1000
            self._throttled_until = max(self._throttled_until, until)
