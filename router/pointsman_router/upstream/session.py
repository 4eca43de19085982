"""The terms in force with one upstream: found once for all, and anew when an answer says so."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

from pointsman_contract.meta import Protocol
from pointsman_router.jsonrpc import RpcError
from pointsman_router.upstream import era, trouble
from pointsman_router.upstream.era import Modern, Session, Terms
from pointsman_router.upstream.messages import Result
from pointsman_router.upstream.opening import Opener
from pointsman_router.upstream.pool import Attempt
from pointsman_router.upstream.rpc import Answered, Ask, Lost, Rpc
from pointsman_router.upstream.tenure import Tenure
from pointsman_router.upstream.trouble import Trouble


class Standing:
    """The terms in force; whoever finds them lost shares the next ones with all others.

    `part` is told of each session that is over, once no request is out in it any more, unless
    the upstream has forgotten it.
    """

    def __init__(
        self,
        rpc: Rpc,
        opener: Opener,
        *,
        protocol: Protocol,
        revise_s: float,
        part: Callable[[Session], None],
    ) -> None:
        self._rpc = rpc
        self._opener = opener
        self._may_change_era = protocol is Protocol.AUTO
        self._revise_s = revise_s
        self._part = part
        self._revise_at_s = 0.0
        self.tenure: Tenure | None = None
        """The terms in force, if any are."""
        self._opening: asyncio.Task[Tenure] | None = None

    @property
    def current(self) -> Terms | None:
        """The terms, if any are in force."""
        return self.tenure.terms if self.tenure else None

    async def get(self) -> Terms:
        """Return the terms, found now if need be; raises Trouble about nothing sent yet."""
        return (self.tenure or await self._found()).terms

    async def _found(self) -> Tenure:
        if self.tenure is not None:
            return self.tenure
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
        tenure = earlier.tenure if earlier else self.tenure or await self._found()
        try:
            answered = await self._ask(tenure, build, attempt)
        except Trouble as met:
            if self._may_change_era and era.is_doubtful(tenure.terms, met):
                self._replace(tenure, None)
            raise
        if isinstance(answered, Answered) and not self._is_refused(tenure.terms, answered):
            return answered.outcome, False
        self._replace(tenure, None)
        attempt.transport = None
        new = await self._found()
        if isinstance(answered, Answered) and type(new.terms) is type(tenure.terms):
            return answered.outcome, True
        match await self._ask(new, build, attempt):
            case Answered(outcome):
                return outcome, True
            case Lost():
                raise trouble.session_lost()

    def leave(self, tenure: Tenure) -> None:
        """Take one request less as out in those terms."""
        tenure.out -= 1
        if tenure.is_over:
            self._part_if_idle(tenure)

    async def revise(self) -> None:
        """Ask an upstream of the legacy era now and then whether it has moved on.

        Its session works on, and hides that.
        """
        tenure = self.tenure
        now_s = asyncio.get_running_loop().time()
        if tenure is None or not isinstance(tenure.terms, Session):
            return
        if not self._may_change_era or now_s < self._revise_at_s:
            return
        self._revise_at_s = now_s + self._revise_s
        if isinstance(found := await self._opener.probe(), Modern):
            self._replace(tenure, found)

    async def close(self) -> None:
        """Give up opening, and part from what is in force."""
        if self._opening is not None:
            self._opening.cancel()
            await asyncio.wait([self._opening])
        left, self.tenure = self.tenure, None
        if left is not None and isinstance(left.terms, Session):
            self._part(left.terms)

    async def _ask(
        self, tenure: Tenure, build: Callable[[Terms], Ask], attempt: Attempt
    ) -> Answered | Lost:
        tenure.out += 1
        try:
            answered = await self._rpc.ask(build(tenure.terms), tenure.terms, attempt)
            match answered:
                case Lost():
                    tenure.is_lost = True
                case Answered(RpcError() as error) if isinstance(tenure.terms, Modern):
                    told = replace(error, is_modern=True)
                    return Answered(told, answered.session_id, answered.status)
            return answered
        finally:
            self.leave(tenure)

    def _is_refused(self, terms: Terms, answered: Answered) -> bool:
        return self._may_change_era and era.is_refused(terms, answered.status, answered.outcome)

    def _replace(self, old: Tenure, new: Terms | None) -> None:
        """Put other terms, or none, in the place of those, unless that was done already."""
        if self.tenure is old:
            self.tenure = Tenure(new) if new else None
            old.is_over = True
            self._part_if_idle(old)

    def _part_if_idle(self, old: Tenure) -> None:
        # To end a session would end what is still being answered in it.
        if not old.out and not old.is_lost and isinstance(old.terms, Session):
            self._part(old.terms)

    async def _open(self) -> Tenure:
        try:
            self.tenure = Tenure(await self._opener.open())
            self._revise_at_s = asyncio.get_running_loop().time() + self._revise_s
            return self.tenure
        finally:
            self._opening = None


def _look_at(opening: asyncio.Task[Tenure]) -> None:
    """Retrieve what opening came to, in case that nobody waits any more."""
    if not opening.cancelled():
        opening.exception()
