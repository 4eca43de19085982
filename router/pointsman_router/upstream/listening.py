"""When one upstream says that its list changed, on a stream of its own."""

import asyncio
from collections.abc import Callable, Iterable
from http import HTTPStatus

from pointsman_contract import rawjson
from pointsman_contract.meta import Exposed
from pointsman_contract.rawjson import Malformed
from pointsman_router import metakeys
from pointsman_router.upstream import messages, modern, trouble
from pointsman_router.upstream.desk import Turns
from pointsman_router.upstream.era import Modern, Session, Terms
from pointsman_router.upstream.exchange import Answer, Wire
from pointsman_router.upstream.head import EVENT_STREAM
from pointsman_router.upstream.limits import Limits
from pointsman_router.upstream.messages import Notification, Request, Response
from pointsman_router.upstream.pool import Attempt
from pointsman_router.upstream.rpc import Rpc
from pointsman_router.upstream.sse import Parser, TooLong
from pointsman_router.upstream.trouble import Trouble

_METHOD = "subscriptions/listen"
_ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
# What says that there is no such stream, rather than that it failed.
_NOT_OFFERED = frozenset([404, 405, 501])


class _Deaf(Exception):
    """The upstream tells nobody about changes."""


class Listening:
    """The stream of changes of one upstream, kept as long as that makes sense.

    A change only calls `tell`, and so do a stream's beginning and its end: what happened without
    one is unknown.
    """

    def __init__(
        self,
        wire: Wire,
        rpc: Rpc,
        limits: Limits,
        *,
        myself: modern.Self,
        tell: Callable[[], None],
        turns: Turns,
        exposes: Iterable[Exposed] = (Exposed.TOOLS,),
    ) -> None:
        self._wire = wire
        self._rpc = rpc
        self._limits = limits
        self._myself = myself
        self._tell = tell
        self._turns = turns
        self._exposed = frozenset(each.lower() for each in exposes)
        self._deaf: Terms | None = None
        self._heard: Terms | None = None
        self._task: asyncio.Task[None] | None = None
        self._is_live = False
        self._failures = 0
        self._not_before_s = 0.0

    @property
    def is_open(self) -> bool:
        """Whether there is a stream, or one is being opened."""
        return self._task is not None

    def attend(self, terms: Terms) -> None:
        """Open a stream where these terms promise one and none is open, but not too often."""
        if self._task is not None and self._heard is not terms:
            self._task.cancel()
            self._task = None
        if self._task is not None or not self._wanted(terms) or self._deaf is terms:
            return
        if asyncio.get_running_loop().time() >= self._not_before_s:
            self._heard, self._is_live = terms, False
            self._task = asyncio.create_task(self._listen(terms))

    def leave(self, terms: Terms) -> None:
        """End the stream where it is one of these terms: they are over."""
        if self._task is not None and self._heard is terms:
            self._task.cancel()
            self._task = None

    async def close(self) -> None:
        """End the stream."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
            self._task = None

    async def _listen(self, terms: Terms) -> None:
        begun_s = asyncio.get_running_loop().time()
        try:
            match terms:
                case Modern():
                    await self._subscribe(self._wanted(terms))
                case Session():
                    await self._follow(terms)
        except _Deaf:
            self._deaf = terms
        except (Trouble, TimeoutError, TooLong, Malformed):
            pass  # the list is asked for at intervals anyway
        if self._heard is terms:
            self._ended(begun_s)

    def _ended(self, begun_s: float) -> None:
        self._task = None
        now_s = asyncio.get_running_loop().time()
        first_s, most_s = self._limits.listening_pause_s
        if now_s - begun_s >= self._limits.steady_s:
            self._failures = 0
        else:
            self._not_before_s = now_s + min(most_s, first_s * 2.0 ** min(self._failures, 16))
            self._failures += 1
        if self._is_live:
            self._tell()

    def _wanted(self, terms: Terms) -> frozenset[str]:
        """Return of which lists changes are worth hearing of, and will be told."""
        told = terms.tells_beside | {"tools"} if terms.tells_changes else terms.tells_beside
        return told & self._exposed

    async def _subscribe(self, wanted: frozenset[str]) -> None:
        """Follow what a modern upstream sends in answer to a request for it."""
        id_ = messages.new_id()
        kinds = {f"{of}ListChanged": b"true" for of in sorted(wanted)}
        params = {"notifications": rawjson.assemble(kinds)}
        body = messages.request(id_, _METHOD, messages.params(params, self._myself.idle_meta))
        async with (
            asyncio.timeout(self._limits.first_byte_s) as limit,
            self._wire.post(body, self._myself.headers(_METHOD, params), Attempt()) as answer,
        ):
            _demand_stream(answer)
            acknowledged = False

            def take(message: messages.Message) -> bool:
                nonlocal acknowledged
                match message:
                    case Notification(method, raw) if _is_for(id_, raw):
                        if method == _ACKNOWLEDGED and not acknowledged:
                            _demand_any(kinds, raw)
                            acknowledged = True
                            self._keep(limit)
                        elif acknowledged and _is_change(method, wanted):
                            self._tell()
                    case Request():
                        raise trouble.violation("it asks on a stream of changes")
                    case Notification() | Response():
                        pass
                return isinstance(message, Response)

            await self._read(answer, take)

    async def _follow(self, session: Session) -> None:
        """Follow the stream that a legacy upstream keeps beside all requests."""
        async with (
            asyncio.timeout(self._limits.first_byte_s) as limit,
            self._wire.get(session.headers, Attempt()) as answer,
        ):
            _demand_stream(answer)
            wanted = self._wanted(session)
            self._keep(limit)

            def take(message: messages.Message) -> bool:
                match message:
                    case Notification(method) if _is_change(method, wanted):
                        self._tell()
                    case Request() as request:
                        self._rpc.answer(request, session)
                    case Notification() | Response():
                        pass
                return False

            await self._read(answer, take)

    def _keep(self, limit: asyncio.Timeout) -> None:
        limit.reschedule(asyncio.get_running_loop().time() + self._limits.listening_s)
        self._is_live = True
        self._tell()

    async def _read(self, answer: Answer, take: Callable[[messages.Message], bool]) -> None:
        """Have each message taken, to the end of the stream or until one was the last."""
        parser = Parser(
            line_max_bytes=self._limits.change_max_bytes,
            event_max_bytes=self._limits.change_max_bytes,
        )
        async for chunk in answer.chunks():
            await self._turns.next()
            for event in parser.feed(chunk):
                if event.name == "message" and event.data and take(messages.read(event.data)):
                    return


def _demand_stream(answer: Answer) -> None:
    head = answer.head
    if head.status in _NOT_OFFERED:
        raise _Deaf
    if head.status != HTTPStatus.OK:
        raise trouble.status(head.status)
    if head.media_type != EVENT_STREAM or not head.readable:
        raise trouble.senseless("its stream of changes is none")


def _is_for(id_: str, params: bytes) -> bool:
    meta = rawjson.members(rawjson.members(params).get("_meta", b"{}"))
    raw = meta.get(metakeys.SUBSCRIPTION_ID, b"null")
    return rawjson.kind(raw) == '"' and rawjson.string(raw) == id_


def _is_change(method: str, wanted: Iterable[str]) -> bool:
    return any(method == f"notifications/{of}/list_changed" for of in wanted)


def _demand_any(kinds: Iterable[str], params: bytes) -> None:
    honoured = rawjson.members(rawjson.members(params).get("notifications", b"{}"))
    if not any(honoured.get(kind) == b"true" for kind in kinds):
        raise _Deaf
