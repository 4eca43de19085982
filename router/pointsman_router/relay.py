"""One message of an agent carried to its answer, over an upstream where it needs one."""

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from pointsman_contract import rawjson
from pointsman_router import admission, dispatch, failures, jsonrpc, refusals, respond
from pointsman_router.admission import Head
from pointsman_router.catalogue import Catalogue
from pointsman_router.dispatch import Forward, View
from pointsman_router.eras import Revision, legacy, modern
from pointsman_router.failures import Failure
from pointsman_router.jsonrpc import Batch, Message, Notification, RpcError
from pointsman_router.refusals import Refusal
from pointsman_router.respond import Asker, Identity, Response
from pointsman_router.upstream import Link, Result, ToolCall, Trouble

# More messages in one array are no conversation, and each may cost a call.
BATCH_MAX = 50

_log = logging.getLogger(__name__)


class Meter(Protocol):
    """What is counted of calls to upstreams."""

    def called(self, server: str, seconds: float) -> None:
        """Count one call to an upstream."""

    def failed(self, server: str, reason: str) -> None:
        """Count one call that an upstream's trouble kept from its result."""


@dataclass(frozen=True, slots=True)
class Visit:
    """What one HTTP request brings beside its body, and the snapshot that it is served from."""

    catalogue: Catalogue
    view: View
    head: Head
    headers: modern.Headers


class Relay:
    """Answers messages out of a snapshot and the links behind it."""

    def __init__(
        self,
        identity: Identity,
        *,
        page_size: int,
        link: Callable[[str], Link | None],
        nudge: Callable[[str], None],
        meter: Meter,
    ) -> None:
        self._identity = identity
        self._page_size = page_size
        self._link = link
        self._nudge = nudge
        self._meter = meter

    async def batch(self, batch: Batch, visit: Visit) -> Response:
        """Answer an array: each request in it on its own, all in one array."""
        if wrong := admission.accept_problem(visit.head, modern=False):
            return respond.refused(wrong)
        stated = visit.headers.version[0] if visit.headers.version else None
        speaks_modern = modern.is_meant(visit.headers, {})
        if speaks_modern or not batch.elements or not legacy.takes_batches(legacy.in_force(stated)):
            return respond.refused(refusals.no_batch())
        if len(batch.elements) > BATCH_MAX:
            return respond.refused(refusals.batch_too_long(BATCH_MAX))
        answers = await asyncio.gather(
            *(self._element(element, visit) for element in batch.elements)
        )
        bodies = [answer.body for answer in answers if answer.body]
        return Response(200, b"[" + b",".join(bodies) + b"]") if bodies else respond.accepted()

    async def message(self, message: Message, visit: Visit) -> Response:
        """Answer one message."""
        speaks_modern = modern.is_meant(visit.headers, message.params)
        if wrong := admission.accept_problem(visit.head, modern=speaks_modern):
            return _refused(wrong, message)
        if speaks_modern:
            return await self._modern(message, visit)
        return await self._legacy(message, visit)

    async def _element(self, element: bytes, visit: Visit) -> Response:
        try:
            message = jsonrpc.message(element)
        except jsonrpc.NotAMessage as wrong:
            return respond.refused(refusals.not_a_message(wrong), wrong.id)
        return await self._legacy(message, visit)

    async def _modern(self, message: Message, visit: Visit) -> Response:
        if isinstance(message, Notification):
            problem = modern.notification_problem(visit.headers, message)
            return _noted(problem or dispatch.take_note(message))
        if wrong := modern.problem(visit.headers, message):
            return _refused(wrong, message)
        return await self._decided(message, Revision.MODERN, visit)

    async def _legacy(self, message: Message, visit: Visit) -> Response:
        if isinstance(message, Notification):
            return _noted(dispatch.take_note(message))
        stated = visit.headers.version[0] if visit.headers.version else None
        return await self._decided(message, legacy.in_force(stated), visit)

    async def _decided(
        self, request: jsonrpc.Request, revision: Revision, visit: Visit
    ) -> Response:
        try:
            match dispatch.decide(visit.catalogue, visit.view, request, revision, self._page_size):
                case Refusal() as refusal:
                    return _refused(refusal, request)
                case Forward() as forward:
                    return await self._forward(forward, Asker(request.id, revision, self._identity))
                case answer:
                    return respond.answered(answer, Asker(request.id, revision, self._identity))
        except Exception:  # whatever it is, it costs this one request
            _log.exception("a request failed inside the router", extra={"method": request.method})
            return _refused(refusals.internal(), request)

    async def _forward(self, forward: Forward, asker: Asker) -> Response:
        server = forward.route.server
        link = self._link(server)
        if link is None:
            return self._failed(failures.gone(server), asker)
        begun = time.perf_counter()
        try:
            reply = await link.call(
                ToolCall(
                    name=forward.route.tool,
                    arguments=forward.arguments,
                    meta=forward.meta,
                    timeout_s=forward.route.timeout_s,
                )
            )
        except Trouble as trouble:
            return self._failed(_failure(server, trouble), asker)
        finally:
            self._meter.called(server, time.perf_counter() - begun)
        match reply:
            case Result(raw):
                try:
                    return respond.relayed(raw, asker)
                except rawjson.Malformed:
                    wrong = failures.violation(server, "its result is not a JSON object")
                    return self._failed(wrong, asker)
            case RpcError() as error:
                if error.code == jsonrpc.INVALID_PARAMS:
                    # It may have dropped a tool that its list still named.
                    self._nudge(server)
                return respond.upstream_error(server, error, asker)

    def _failed(self, failure: Failure, asker: Asker) -> Response:
        self._meter.failed(failure.server, failure.reason)
        return respond.failed(failure, asker)


def _failure(server: str, trouble: Trouble) -> Failure:
    if trouble.busy:
        return failures.busy(server, trouble.message)
    if trouble.too_large:
        return failures.too_large(server, trouble.message)
    return failures.troubled(
        server, trouble.reason, trouble.message, trouble.executed, trouble.retry_after_ms
    )


def _refused(refusal: Refusal, message: Message) -> Response:
    id_ = b"null" if isinstance(message, Notification) else message.id
    return respond.refused(refusal, id_)


def _noted(refusal: Refusal | None) -> Response:
    return respond.refused(refusal) if refusal else respond.accepted()
