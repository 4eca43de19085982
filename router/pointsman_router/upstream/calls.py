"""The calls at one upstream: their places, their deadlines, and how one begins without a task."""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pointsman_router.failures import Executed
from pointsman_router.jsonrpc import RpcError
from pointsman_router.upstream import asking, glance, messages, modern, pool, trouble, wording
from pointsman_router.upstream.asking import Call, Listener
from pointsman_router.upstream.bulkhead import Bulkhead
from pointsman_router.upstream.deadlines import Deadlines
from pointsman_router.upstream.era import Modern, Session, Terms
from pointsman_router.upstream.exchange import Wire
from pointsman_router.upstream.glance import Glance
from pointsman_router.upstream.limits import Limits
from pointsman_router.upstream.messages import Notification, Result
from pointsman_router.upstream.pool import Attempt, Sent
from pointsman_router.upstream.rpc import Ask, Hearing, Rpc
from pointsman_router.upstream.session import Standing
from pointsman_router.upstream.throttle import Throttle
from pointsman_router.upstream.trouble import Trouble
from pointsman_router.upstream.wording import Wording


@dataclass(slots=True)
class Begun:
    """A call that was sent, and that nobody waits for yet."""

    by: "Calls"
    sent: Sent
    worded: Wording
    begun_s: float
    """By `perf_counter`."""
    is_taken: bool = False
    """Whether somebody sees to its end."""

    async def call(self, call: Call, listener: Listener | None = None) -> Result | RpcError:
        """Wait for what the upstream answers, as for any call; raises Trouble."""
        return await self.by.call(call, listener, self)


class Calls:
    """Carries calls over one wire. Needs a running loop.

    `tell_renewal` is called where one of them found that the upstream began anew.
    """

    def __init__(
        self,
        wire: Wire,
        rpc: Rpc,
        standing: Standing,
        limits: Limits,
        *,
        myself: modern.Self,
        throttle: Throttle,
        tell_renewal: Callable[[], None],
    ) -> None:
        self._wire = wire
        self._rpc = rpc
        self._standing = standing
        self._limits = limits
        self._myself = myself
        self._throttle = throttle
        self._tell_renewal = tell_renewal
        self._bulkhead = Bulkhead(limits)
        self._deadlines = Deadlines()
        self._in_flight = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self.is_closed = False
        """Whether no more calls are taken."""
        self.foreign_notices = 0
        """How many notices of progress belonged to no call on whose stream they came."""

    def begin(
        self, call: Call, arguments: bytes, worded: Wording | None, watch: Callable[[], None]
    ) -> Begun | None:
        """Send a call at once if terms, a place and a connection are there for it; else None.

        `call` holds the mark of open arguments; `worded` is what an earlier one was worded as.
        `watch` is called whenever the answer has got further, and when it never will. What was
        begun has to be passed to `done`, `call` or `drop`.
        """
        tenure = self._standing.tenure
        if tenure is None or self.is_closed or self._throttle.is_on:
            return None
        if worded is None or worded.terms is not tenure.terms:
            worded = self._worded(call, tenure.terms)
        if not self._bulkhead.take():
            return None
        connection = self._wire.idle()
        if connection is None:
            self._bulkhead.leave()
            return None
        id_ = self._rpc.new_id()
        connection.send_watched(worded.spelled(id_, arguments), watch)
        self._enter()
        tenure.out += 1
        return Begun(self, Sent(id_, tenure, connection), worded, time.perf_counter())

    def glance(self, begun: Begun) -> bytes | Glance:
        """Return the result of what was begun, if it has come and is a usual one."""
        return glance.at(begun.sent, self._limits)

    def done(self, begun: Begun) -> None:
        """Be done with a call whose answer was the right one."""
        begun.is_taken = True
        self._wire.done(begun.sent.connection)
        self._standing.leave(begun.sent.tenure)
        self._leave(has_place=True)

    def drop(self, begun: Begun) -> None:
        """Give a call up, unless it was taken over."""
        if not begun.is_taken:
            begun.is_taken = True
            begun.sent.connection.abort()
            self._standing.leave(begun.sent.tenure)
            self._leave(has_place=True)

    async def call(
        self, call: Call, listener: Listener | None = None, begun: Begun | None = None
    ) -> Result | RpcError:
        """Return what the upstream answers to a call, or to one that has `begun`; raises Trouble.

        A call that may have been taken is never sent again. The listener is told what comes
        before the answer. Cancelled: the agent has left, and the upstream learns of it.
        """
        if begun is None:
            attempt, limit_s, has_place = Attempt(), call.timeout_s, False
            self.demand_open()
            self._enter()
        else:
            attempt, has_place = pool.of(begun.sent), True
            limit_s = call.timeout_s - (time.perf_counter() - begun.begun_s)
            begun.is_taken = True
        try:
            with self._deadlines.within(limit_s):
                if not has_place:
                    if not self._bulkhead.take():
                        await self._bulkhead.wait()
                    has_place = True
                return await self._ask(call, listener, attempt)
        except TimeoutError:
            executed = Executed.UNKNOWN if attempt.sent else Executed.NO
            raise trouble.late(call.timeout_s, executed) from None
        except Trouble as met:
            self._throttle.heed(met)
            raise
        finally:
            if attempt.earlier is not None:  # nobody came to read its answer
                attempt.earlier.connection.abort()
            if begun is not None:
                self._standing.leave(begun.sent.tenure)
            self._leave(has_place=has_place)

    def demand_open(self) -> None:
        """Raise Trouble where nothing may be asked of the upstream now."""
        if self.is_closed:
            raise trouble.closed()
        self._throttle.demand_off()

    def refuse(self) -> None:
        """Take no more calls."""
        self.is_closed = True

    async def settled(self) -> None:
        """Return once none is under way."""
        await self._idle.wait()

    def close(self) -> None:
        """Look at no deadline any more."""
        self._deadlines.close()

    async def _ask(
        self, call: Call, listener: Listener | None, attempt: Attempt
    ) -> Result | RpcError:
        token = messages.new_id() if call.wants_progress and listener else None

        async def hear(said: Notification) -> None:
            notice = asking.notice(said.method, said.params, token=token, log_level=call.log_level)
            if notice is not None and listener is not None:
                await listener(notice)
            elif said.method == asking.PROGRESS:
                self.foreign_notices += 1

        def build(terms: Terms) -> Ask:
            return self._asked(call, terms, token, hear if listener is not None else None)

        outcome, renewed = await self._standing.ask(build, attempt)
        if renewed:
            self._tell_renewal()
        return outcome

    def _asked(self, call: Call, terms: Terms, token: str | None, hearing: Hearing | None) -> Ask:
        headers: Mapping[str, str]
        params = call.params
        match terms:
            case Session():
                # It never asked for input.
                params = {k: v for k, v in params.items() if k not in asking.RESUMING}
                meta = messages.meta(call.meta, token)
                headers = {**terms.headers, **dict(call.trace)} if call.trace else terms.headers
            case Modern():
                meta = self._myself.meta(
                    call.capabilities, log_level=call.log_level, token=token, others=call.meta
                )
                headers = self._myself.headers(
                    call.method, call.params, (*call.headers, *call.trace)
                )
        return Ask(
            call.method,
            messages.params(params, meta),
            headers,
            max_bytes=self._limits.body_max_bytes,
            hearing=hearing,
        )

    def _worded(self, call: Call, terms: Terms) -> Wording:
        asked = self._asked(call, terms, None, None)
        body = messages.request(wording.OPEN_ID, asked.method, asked.params)
        return wording.worded(terms, self._wire.posting(asked.headers), body)

    def _enter(self) -> None:
        self._in_flight += 1
        self._idle.clear()

    def _leave(self, *, has_place: bool) -> None:
        if has_place:
            self._bulkhead.leave()
        self._in_flight -= 1
        if not self._in_flight:
            self._idle.set()
