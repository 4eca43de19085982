"""One message of an agent carried to its answer, over an upstream where it needs one."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec
from msgspec import structs

from pointsman_router import admission, dispatch, jsonrpc, refusals, respond
from pointsman_router.admission import Accepted
from pointsman_router.catalogue import Catalogue
from pointsman_router.dispatch import Listen
from pointsman_router.endpoints import Endpoint
from pointsman_router.eras import Revision, legacy, modern
from pointsman_router.failures import Failure
from pointsman_router.foreseen import Foreseen, foreseen
from pointsman_router.forwarding import Forwarding, NotTaken
from pointsman_router.jsonrpc import Batch, Message, Notification, Request
from pointsman_router.metatools import Found, Search
from pointsman_router.outgoing import Forward
from pointsman_router.outlet import Outlet
from pointsman_router.paramheaders import Sent
from pointsman_router.refusals import Refusal
from pointsman_router.respond import Asker, Identity, Response
from pointsman_router.subscriptions import Subscriptions
from pointsman_router.upstream import Begun

# More messages in one array are no conversation, and each may cost a call.
BATCH_MAX = 50

_log = logging.getLogger(__name__)

T = TypeVar("T")


class Visit(msgspec.Struct, frozen=True):
    """What one HTTP request brings beside its body, and the snapshot that it is served from."""

    catalogue: Catalogue
    endpoint: Endpoint
    accepted: Accepted
    headers: modern.Headers
    outlet: Outlet
    sent: Sent = dispatch.no_headers
    trace: tuple[tuple[str, str], ...] = ()
    begun: Begun | None = None
    """Its call, where that was sent already."""


class Relay:
    """Answers messages out of a snapshot and the links behind it.

    `renewed` lists a server again, and returns the snapshot that holds its list. `search` looks
    for tools among those that an endpoint lists.
    """

    def __init__(
        self,
        identity: Identity,
        *,
        page_size: int,
        forwarding: Forwarding,
        renewed: Callable[[str], Awaitable[Catalogue]],
        subscriptions: Subscriptions,
        search: Callable[[Catalogue, Endpoint, Search], Awaitable[Found]],
    ) -> None:
        self.identity = identity
        self._page_size = page_size
        self._forwarding = forwarding
        self._renewed = renewed
        self._subscriptions = subscriptions
        self._search = search

    async def batch(self, batch: Batch, visit: Visit) -> Response:
        """Answer an array: each request in it on its own, all in one array."""
        if wrong := admission.accept_problem(visit.accepted, modern=False):
            return respond.refused(wrong)
        stated = _stated(visit)
        speaks_modern = modern.is_meant(visit.headers, {})
        if speaks_modern or not batch.elements or not legacy.takes_batches(legacy.in_force(stated)):
            return respond.refused(refusals.no_batch())
        if len(batch.elements) > BATCH_MAX:
            return respond.refused(refusals.batch_too_long(BATCH_MAX))
        # One array holds all answers: nothing can be told before the last of them.
        elements = asyncio.gather(*(self._element(element, visit) for element in batch.elements))
        answers = await _waited(elements, visit.outlet, streams=False, leaving_cancels=False)
        if answers is None:
            return respond.refused(refusals.draining())
        bodies = [answer.body for answer in answers if answer.body]
        return Response(200, b"[" + b",".join(bodies) + b"]") if bodies else respond.accepted()

    async def message(self, message: Message, visit: Visit) -> Response:
        """Answer one message."""
        speaks_modern = modern.is_meant(visit.headers, message.meta)
        if wrong := admission.accept_problem(visit.accepted, modern=speaks_modern):
            return _refused(wrong, message)
        if speaks_modern:
            return await self._modern(message, visit)
        return await self._legacy(message, visit)

    def foresee(self, request: Request, visit: Visit) -> Foreseen | None:
        """Return what is known of the next call like this one, which was just answered."""
        revision = Revision.MODERN
        if not modern.is_meant(visit.headers, request.meta):
            revision = legacy.in_force(_stated(visit))
        elif modern.problem(visit.headers, request):
            return None
        match self._decide(request, revision, visit):
            case Forward() as forward:
                return foreseen(request, forward, revision)
            case _:
                return None

    async def _element(self, element: bytes, visit: Visit) -> Response:
        try:
            message = jsonrpc.message(element)
        except jsonrpc.NotAMessage as wrong:
            return respond.refused(refusals.not_a_message(wrong), wrong.id)
        if message.method == "initialize":
            # 2025-03-26, Lifecycle: nothing else may come before its answer.
            return _refused(refusals.invalid_request("initialize goes alone."), message)
        return await self._legacy(message, visit, in_batch=True)

    async def _modern(self, message: Message, visit: Visit) -> Response:
        if isinstance(message, Notification):
            problem = modern.notification_problem(visit.headers, message)
            return _noted(problem or dispatch.take_note(message))
        if wrong := modern.problem(visit.headers, message):
            return _refused(wrong, message)
        return await self._decided(message, Revision.MODERN, visit)

    async def _legacy(self, message: Message, visit: Visit, *, in_batch: bool = False) -> Response:
        if isinstance(message, Notification):
            return _noted(dispatch.take_note(message))
        revision = legacy.in_force(_stated(visit))
        return await self._decided(message, revision, visit, in_batch=in_batch)

    async def _decided(
        self,
        request: Request,
        revision: Revision,
        visit: Visit,
        *,
        in_batch: bool = False,
    ) -> Response:
        asker = Asker(request.id, revision, self.identity)
        try:
            match self._decide(request, revision, visit):
                case Refusal() as refusal:
                    return _refused(refusal, request)
                case Failure() as failure:
                    return respond.failed(failure, asker)
                case Forward() as forward:
                    came = await self._carry(forward, asker, visit, in_batch)
                    if isinstance(came, NotTaken):
                        return await self._again(request, asker, visit, forward, came, in_batch)
                    return came
                case Listen() as listen:
                    return await self._subscriptions.serve(
                        listen, visit.endpoint, asker, visit.outlet
                    )
                case Search() as search:
                    found = await self._meanwhile(
                        self._search(visit.catalogue, visit.endpoint, search),
                        asker,
                        visit,
                        in_batch,
                    )
                    if found is None:
                        return respond.refused(refusals.draining(), asker.id)
                    return respond.answered(found, asker)
                case answer:
                    return respond.answered(answer, asker)
        except Exception:  # whatever it is, it costs this one request
            _log.exception("a request failed inside the router", extra={"method": request.method})
            return _refused(refusals.internal(), request)

    def _decide(self, request: Request, revision: Revision, visit: Visit) -> dispatch.Decision:
        return dispatch.decide(
            visit.catalogue, visit.endpoint, request, revision, self._page_size, visit.sent
        )

    async def _carry(
        self, forward: Forward, asker: Asker, visit: Visit, in_batch: bool
    ) -> Response | NotTaken:
        if visit.trace:
            call = structs.replace(forward.call, trace=visit.trace)
            forward = structs.replace(forward, call=call)
        return await self._forwarding.carry(
            forward,
            asker,
            None if in_batch else visit.outlet,
            url=visit.catalogue.url(forward.route.server),
            streams=_streams(asker, visit),
            begun=visit.begun,
        )

    async def _again(
        self,
        request: Request,
        asker: Asker,
        visit: Visit,
        forward: Forward,
        refused: NotTaken,
        in_batch: bool,
    ) -> Response:
        """Decide a call anew that its upstream did not take: what it was built from is old."""
        newest = await self._meanwhile(self._renewed(forward.route.server), asker, visit, in_batch)
        if newest is None:
            return respond.refused(refusals.draining(), asker.id)
        renewed = structs.replace(visit, catalogue=newest, begun=None)
        match self._decide(request, asker.revision, renewed):
            case Refusal() as refusal:
                return _refused(refusal, request)
            case Failure() as failure:
                return respond.failed(failure, asker)
            case Forward() as second:
                came = await self._carry(second, asker, renewed, in_batch)
                if isinstance(came, NotTaken):
                    return self._forwarding.failed_again(second, came, asker)
                return came
            case _:
                return self._forwarding.failed_again(forward, refused, asker)

    async def _meanwhile(
        self, awaited: Awaitable[T], asker: Asker, visit: Visit, in_batch: bool
    ) -> T | None:
        """Return what was awaited for one request; None where the router ends before it comes."""
        if in_batch:
            return await awaited
        return await _waited(
            awaited,
            visit.outlet,
            streams=_streams(asker, visit),
            leaving_cancels=asker.revision is Revision.MODERN,
        )


async def _waited(
    awaited: Awaitable[T], outlet: Outlet, *, streams: bool, leaving_cancels: bool
) -> T | None:
    """Return what was awaited; None where the router ends before it comes."""
    outlet.begin(streams=streams, leaving_cancels=leaving_cancels)
    try:
        return await awaited
    except asyncio.CancelledError:
        if not outlet.is_given_up:
            raise
        return None
    finally:
        outlet.settle()


def _stated(visit: Visit) -> str | None:
    """Return the revision that the headers name, if they name one."""
    return visit.headers.version[0] if visit.headers.version else None


def _streams(asker: Asker, visit: Visit) -> bool:
    """Say whether the agent takes a stream."""
    return asker.revision is Revision.MODERN or visit.accepted.names_stream


def _refused(refusal: Refusal, message: Message) -> Response:
    id_ = b"null" if isinstance(message, Notification) else message.id
    return respond.refused(refusal, id_)


def _noted(refusal: Refusal | None) -> Response:
    return respond.refused(refusal) if refusal else respond.accepted()
