"""The terms in force with one upstream: found once for all, and anew when an answer says so."""

import asyncio
from collections.abc import Callable

from pointsman_contract.meta import Protocol
from pointsman_router.jsonrpc import RpcError
from pointsman_router.upstream import era, trouble
from pointsman_router.upstream.era import Modern, Session, Terms
from pointsman_router.upstream.messages import Result
from pointsman_router.upstream.opening import Opener
from pointsman_router.upstream.pool import Attempt
from pointsman_router.upstream.rpc import Answered, Ask, Lost, Rpc
from pointsman_router.upstream.trouble import Trouble


class Standing:
    """The terms in force; whoever finds them lost shares the next ones with all others."""

    def __init__(self, rpc: Rpc, opener: Opener, *, protocol: Protocol, revise_s: float) -> None:
        self._rpc = rpc
        self._opener = opener
        self._may_change_era = protocol is Protocol.AUTO
        self._revise_s = revise_s
        self._revise_at_s = 0.0
        self._current: Terms | None = None
        self._opening: asyncio.Task[Terms] | None = None

    @property
    def current(self) -> Terms | None:
        """The terms, if any are in force."""
        return self._current

    async def get(self) -> Terms:
        """Return the terms, found now if need be; raises Trouble about nothing sent yet."""
        if self._current is not None:
            return self._current
        if self._opening is None:
            self._opening = asyncio.create_task(self._open())
            self._opening.add_done_callback(_look_at)
        try:
            return await asyncio.shield(self._opening)
        except Trouble as met:
            # One error for each who waits: an exception carries the trace of its raiser.
            raise met.unsent() from None

    async def ask(
        self, build: Callable[[Terms], Ask], attempt: Attempt
    ) -> tuple[Result | RpcError, bool]:
        """Return the answer, and whether the terms were renewed for it; raises Trouble.

        A request goes out a second time only where its answer says that it was not taken: the
        session is unknown, or it was refused for its era, and the upstream's is another one now.
        """
        earlier = attempt.earlier
        terms = earlier.terms if earlier else self._current or await self.get()
        try:
            answered = await self._rpc.ask(build(terms), terms, attempt)
        except Trouble as met:
            if self._may_change_era and era.is_doubtful(terms, met):
                self._replace(terms, None)
            raise
        if isinstance(answered, Answered) and not self._is_refused(terms, answered):
            return answered.outcome, False
        self._replace(terms, None)
        attempt.transport = None
        new = await self.get()
        if isinstance(answered, Answered) and type(new) is type(terms):
            return answered.outcome, True
        match await self._rpc.ask(build(new), new, attempt):
            case Answered(outcome):
                return outcome, True
            case Lost():
                raise trouble.session_lost()

    async def revise(self) -> None:
        """Ask an upstream of the legacy era now and then whether it has moved on.

        Its session works on, and hides that.
        """
        terms = self._current
        now_s = asyncio.get_running_loop().time()
        if not self._may_change_era or not isinstance(terms, Session) or now_s < self._revise_at_s:
            return
        self._revise_at_s = now_s + self._revise_s
        if isinstance(found := await self._opener.probe(), Modern):
            self._replace(terms, found)

    async def close(self) -> Terms | None:
        """Give up opening; return the terms that are left to be ended."""
        if self._opening is not None:
            self._opening.cancel()
            await asyncio.wait([self._opening])
        left, self._current = self._current, None
        return left

    def _is_refused(self, terms: Terms, answered: Answered) -> bool:
        return self._may_change_era and era.is_refused(terms, answered.status, answered.outcome)

    def _replace(self, old: Terms, new: Terms | None) -> None:
        """Put other terms, or none, in the place of those, unless that was done already."""
        if self._current is old:
            self._current = new

    async def _open(self) -> Terms:
        try:
            self._current = await self._opener.open()
            self._revise_at_s = asyncio.get_running_loop().time() + self._revise_s
            return self._current
        finally:
            self._opening = None


def _look_at(opening: asyncio.Task[Terms]) -> None:
    """Retrieve what opening came to, in case that nobody waits any more."""
    if not opening.cancelled():
        opening.exception()
