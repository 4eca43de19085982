"""What a request at the MCP port asks: its head let in, its body read, its message parsed."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import msgspec
from aiohttp import web

from pointsman_router import (
    admission,
    dispatch,
    endpoints,
    familiar,
    heads,
    jsonrpc,
    port,
    refusals,
    respond,
)
from pointsman_router.admission import Hosts
from pointsman_router.agentline import Connection
from pointsman_router.catalogue import Catalogue
from pointsman_router.express import Flight
from pointsman_router.familiar import Familiar
from pointsman_router.heads import Admitted, Heard, Meaning
from pointsman_router.httpbytes import USUAL
from pointsman_router.jsonrpc import Batch, Message
from pointsman_router.listing import Form
from pointsman_router.outlet import Outlet
from pointsman_router.refusals import Refusal
from pointsman_router.relay import Visit
from pointsman_router.respond import Response

# Agents send the same few heads all the time; whoever sends others only costs himself.
_KNOWN_HEADS_MAX = 256


@dataclass(frozen=True, slots=True)
class Policy:
    """What the door demands before it reads a message, and what it calls itself."""

    hosts: Hosts
    default_form: Form
    body_max_bytes: int
    body_s: float
    server_name: str


class Read(msgspec.Struct, frozen=True):
    """What one HTTP request asks."""

    parsed: Message | Batch
    visit: Visit


class Reception:
    """Reads requests, and remembers the heads of those that may come again."""

    def __init__(self, policy: Policy, current: Callable[[], Catalogue]) -> None:
        self._policy = policy
        self._current = current
        self._known: dict[object, Admitted] = {}
        self._familiar: Familiar[Meaning] = Familiar()

    def hear(self, data: bytes) -> Heard | None:
        """Return the request that `data` is, if it is a whole one and its head is familiar."""
        found = familiar.cut(data, self._policy.body_max_bytes)
        meaning = self._familiar.get(found.form) if found else None
        return Heard(meaning, found.body) if found and meaning else None

    def understand(self, heard: Heard, outlet: Outlet, flight: Flight | None) -> Read | Response:
        """Return what such a request asks, or the answer to one that asks nothing.

        `flight`: its call was sent already, and goes by the snapshot that it was sent from.
        """
        return self._understood(heard.meaning, heard.body, outlet, flight=flight)

    async def read(self, request: web.BaseRequest, outlet: Outlet) -> Read | Response:
        """Return what any request asks, or the answer to one that asks nothing."""
        admitted = self._admitted(request)
        if isinstance(admitted, Refusal):
            return respond.refused(admitted)
        if not endpoints.is_there(self._current(), admitted.endpoint):
            return respond.refused(refusals.no_such_path())
        body = await self._body(request)
        if isinstance(body, Refusal):
            return respond.refused(body)
        meaning = heads.meaning(admitted, request.headers)
        return self._understood(meaning, body, outlet, trace=heads.trace(request.headers))

    def learn(
        self, request: web.BaseRequest, connection: Connection, read: Read | Response | None
    ) -> None:
        """Remember a head that was read, if it is one that may come again."""
        head = connection.parsed(request)
        if head is None or not isinstance(read, Read) or heads.spoken(request) is not USUAL:
            return
        form = familiar.form(head)
        if form is None or not familiar.is_steady(name.lower() for name in request.headers):
            return
        visit = read.visit
        # No steady head repeats an argument.
        admitted = Admitted(visit.endpoint, visit.accepted)
        self._familiar.learn(form, Meaning(admitted, visit.headers, dispatch.no_headers))

    def _understood(
        self,
        meaning: Meaning,
        body: bytes,
        outlet: Outlet,
        *,
        trace: tuple[tuple[str, str], ...] = (),
        flight: Flight | None = None,
    ) -> Read | Response:
        catalogue, begun = self._current(), None
        if flight is not None:
            catalogue, begun = flight.catalogue, flight.begun
        admitted = meaning.admitted
        endpoint = admitted.endpoint
        if not endpoints.is_there(catalogue, endpoint):
            return respond.refused(refusals.no_such_path())
        try:
            parsed = jsonrpc.parse(body)
        except jsonrpc.NotAMessage as wrong:
            return respond.refused(refusals.not_a_message(wrong), wrong.id)
        visit = Visit(
            catalogue,
            endpoint,
            admitted.accepted,
            meaning.headers,
            outlet,
            meaning.sent,
            trace,
            begun,
        )
        return Read(parsed, visit)

    def _admitted(self, request: web.BaseRequest) -> Admitted | Refusal:
        key = heads.usual_key(request)
        if key is not None and (admitted := self._known.get(key)):
            return admitted
        head = heads.head(request)
        endpoint = admission.admit(head, self._policy.hosts, self._policy.default_form)
        if isinstance(endpoint, Refusal):
            return endpoint
        admitted = Admitted(endpoint, admission.accepted(head.accept))
        if key is not None:
            if len(self._known) >= _KNOWN_HEADS_MAX:
                self._known.clear()
            self._known[key] = admitted
        return admitted

    async def _body(self, request: web.BaseRequest) -> bytes | Refusal:
        limit_bytes = self._policy.body_max_bytes
        if (request.content_length or 0) > limit_bytes:
            return refusals.body_too_large(limit_bytes)
        content = request.content
        if content.is_eof() and content.exception() is None:
            body = content.read_nowait()
            return body if len(body) <= limit_bytes else refusals.body_too_large(limit_bytes)
        await port.expect(request)
        try:
            async with asyncio.timeout(self._policy.body_s):
                return await request.read()
        except web.HTTPRequestEntityTooLarge:
            return refusals.body_too_large(limit_bytes)
        except (ConnectionError, web.RequestPayloadError):
            return refusals.body_broken_off()
        except TimeoutError:
            return refusals.body_too_slow(self._policy.body_s)
