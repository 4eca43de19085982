"""One JSON-RPC request to an upstream, and the one answer that belongs to it."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus

import msgspec

from pointsman_contract.rawjson import Malformed
from pointsman_router.jsonrpc import RpcError
from pointsman_router.upstream import era, messages, trouble
from pointsman_router.upstream.desk import Turns
from pointsman_router.upstream.era import Modern, Session, Terms
from pointsman_router.upstream.exchange import Answer, Wire
from pointsman_router.upstream.head import EVENT_STREAM, JSON
from pointsman_router.upstream.limits import Limits
from pointsman_router.upstream.messages import Notification, Response, Result
from pointsman_router.upstream.pool import Attempt
from pointsman_router.upstream.sse import Parser, TooLong
from pointsman_router.upstream.trouble import Trouble

Hearing = Callable[[Notification], Awaitable[None]]
"""Who is told what an upstream says before its answer; awaiting it is back-pressure."""


class Ask(msgspec.Struct, frozen=True):
    """A request that is to be sent, and how much patience it deserves."""

    method: str
    params: bytes
    headers: Mapping[str, str]
    max_bytes: int
    first_byte_s: float | None = None
    harmless: bool = False
    """It has no effect upstream: it may be sent again after its connection was lost."""
    room: asyncio.Semaphore | None = None
    """What large answers have to share."""
    turns: Turns | None = None
    """In which what comes is read, where a thousand may come at once."""
    hearing: Hearing | None = None


class Answered(msgspec.Struct, frozen=True):
    """The answer, and the session that the upstream names with it."""

    outcome: Result | RpcError
    session_id: str | None
    status: int


@dataclass(frozen=True, slots=True)
class Lost:
    """The upstream does not know the session, so that it did not take the request."""


class Rpc:
    """Requests over one wire, each answered on its own exchange and by its own id."""

    def __init__(self, wire: Wire, limits: Limits) -> None:
        self._wire = wire
        self._limits = limits
        self._ids = messages.Ids()
        self._replies: set[asyncio.Task[None]] = set()
        self._farewells: set[asyncio.Task[None]] = set()

    async def ask(self, ask: Ask, terms: Terms | None, attempt: Attempt) -> Answered | Lost:
        """Send a request in these terms, or in none yet, and return its answer; raises Trouble.

        It is sent once, except where nothing of it can have left, or where it is harmless and
        only its connection failed. Cancelled, it tells a legacy upstream that nobody waits.
        """
        left = self._limits.retries
        while True:
            try:
                return await self._once(ask, terms, attempt)
            except Trouble as met:
                if not met.fleeting or left <= 0 or (attempt.sent and not ask.harmless):
                    raise
            if attempt.sent:
                left -= 1
                await asyncio.sleep(random.uniform(*self._limits.retry_pause_s))  # noqa: S311
            else:
                left = 0

    def new_id(self) -> str:
        """Return an id for a request."""
        return self._ids.draw()

    async def tell(self, method: str, session: Session) -> None:
        """Send a notification; raises Trouble unless it was taken."""
        async with self._wire.post(
            messages.notification(method),
            session.headers,
            Attempt(),
            first_byte_s=self._limits.first_byte_s,
        ) as answer:
            if not _is_success(answer.head.status):
                raise trouble.status(answer.head.status, answer.head.retry_after_ms)
            if not await answer.body(self._limits.drain_max_bytes):
                answer.trust()

    def answer(self, request: messages.Request, session: Session | None) -> None:
        """Answer the upstream's own request beside the call: it may be what the call waits for.

        Raises Trouble where it asks too much.
        """
        if len(self._replies) >= self._limits.replies_max:
            raise trouble.violation("it asks more than it waits to be told")
        self._send_beside(messages.reply(request), session, self._replies)

    async def close(self) -> None:
        """Give up what is still being told beside the calls."""
        beside = self._replies | self._farewells
        for task in beside:
            task.cancel()
        await asyncio.gather(*beside, return_exceptions=True)

    async def _once(self, ask: Ask, terms: Terms | None, attempt: Attempt) -> Answered | Lost:
        id_ = attempt.earlier.id if attempt.earlier else self._ids.draw()
        try:
            return await self._exchange(id_, ask, terms, attempt)
        except asyncio.CancelledError:
            # Closing the stream says it to a modern upstream, and nothing to a legacy one.
            if attempt.sent and isinstance(terms, Session):
                self._call_off(id_, terms)
            raise

    async def _exchange(
        self, id_: str, ask: Ask, terms: Terms | None, attempt: Attempt
    ) -> Answered | Lost:
        async with self._wire.post(
            messages.request(id_, ask.method, ask.params),
            ask.headers,
            attempt,
            first_byte_s=ask.first_byte_s,
            room=ask.room,
        ) as answer:
            head = answer.head
            outcome: Result | RpcError
            if head.status != HTTPStatus.OK:
                refusal = await self._refusal(answer, terms)
                if isinstance(refusal, Lost):
                    return refusal
                outcome = refusal
            else:
                if not head.readable:
                    raise trouble.senseless("its answer is coded, or not in UTF-8")
                response = await self._response(answer, ask, terms)
                if not response.answers(id_):
                    raise trouble.senseless("its answer belongs to another request")
                outcome = response.outcome
            answer.trust()
            return Answered(outcome, head.session_id, head.status)

    async def _refusal(self, answer: Answer, terms: Terms | None) -> RpcError | Lost:
        """Read an answer whose status says no: an error in it belongs to its exchange."""
        number = answer.head.status
        if _is_success(number):
            raise trouble.senseless(f"it answers a request with HTTP {number}")
        said_no = trouble.status(number, answer.head.retry_after_ms)
        session = terms if isinstance(terms, Session) else None
        if number == HTTPStatus.NOT_FOUND and session and session.id:
            return Lost()
        if not _may_carry_error(number) or answer.head.media_type != JSON:
            raise said_no
        try:
            message = messages.read(await answer.body(self._limits.drain_max_bytes))
        except (Malformed, Trouble):
            raise said_no from None
        match message:
            case Response(_, RpcError() as error):
                if session and session.id and era.is_about_session(number, error):
                    return Lost()
                return replace(error, untaken=number == HTTPStatus.BAD_REQUEST)
            case _:
                raise said_no

    async def _response(self, answer: Answer, ask: Ask, terms: Terms | None) -> Response:
        if answer.head.media_type == EVENT_STREAM:
            return await self._from_stream(answer, ask, terms)
        if answer.head.media_type != JSON:
            raise trouble.senseless("its answer is neither JSON nor an event stream")
        message = await self._read(await answer.body(ask.max_bytes), ask)
        if not isinstance(message, Response):
            raise trouble.senseless("its answer is no JSON-RPC response")
        return message

    async def _from_stream(self, answer: Answer, ask: Ask, terms: Terms | None) -> Response:
        parser = Parser(
            line_max_bytes=min(self._limits.line_max_bytes, ask.max_bytes),
            event_max_bytes=min(self._limits.event_max_bytes, ask.max_bytes),
        )
        count = 0
        try:
            async for chunk in answer.chunks():
                events = parser.feed(chunk)
                if parser.lines > self._limits.stream_lines_max:
                    raise trouble.violation("its event stream has too many lines")
                for event in events:
                    count += 1
                    if count > self._limits.events_max:
                        raise trouble.violation("its event stream has too many events")
                    if event.name != "message" or not event.data:
                        continue
                    match await self._read(event.data, ask):
                        case Response() as response:
                            return response
                        case messages.Request() as request:
                            if isinstance(terms, Modern):
                                raise trouble.violation("it asks on the stream of an answer")
                            self.answer(request, terms)
                        case Notification() as said:
                            if ask.hearing is not None:
                                await ask.hearing(said)
        except TooLong as exc:
            raise trouble.too_large(exc.limit_bytes) from None
        raise trouble.violation("its event stream ended without the answer")

    async def _read(self, data: bytes, ask: Ask) -> messages.Message:
        if ask.turns is not None:
            await ask.turns.next()
        try:
            if messages.is_read_at_once(data, self._limits):
                return messages.read(data)
            return await asyncio.to_thread(messages.read, data)
        except Malformed:
            raise trouble.senseless("its answer is no JSON-RPC message") from None

    def _call_off(self, id_: str, session: Session) -> None:
        if len(self._farewells) < self._limits.replies_max:
            self._send_beside(messages.cancelled(id_), session, self._farewells)

    def _send_beside(
        self, message: bytes, session: Session | None, tasks: set[asyncio.Task[None]]
    ) -> None:
        task = asyncio.create_task(self._deliver(message, session))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    async def _deliver(self, message: bytes, session: Session | None) -> None:
        try:
            async with (
                asyncio.timeout(self._limits.reply_s),
                self._wire.post(message, session.headers if session else {}, Attempt()) as answer,
            ):
                if not await answer.body(self._limits.drain_max_bytes):
                    answer.trust()
        except (Trouble, TimeoutError):
            pass  # whom it was for waits or gives up by itself


def _is_success(status: int) -> bool:
    return HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES


def _may_carry_error(status: int) -> bool:
    """Say whether a status leaves the last word to a JSON-RPC error in the body."""
    return HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR and status not in (
        HTTPStatus.UNAUTHORIZED,
        HTTPStatus.FORBIDDEN,
        HTTPStatus.PROXY_AUTHENTICATION_REQUIRED,
        HTTPStatus.REQUEST_TIMEOUT,
        HTTPStatus.TOO_MANY_REQUESTS,
    )
