"""The MCP port: HTTP requests in, the answers of the rooms behind it out."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec
from aiohttp import web

from pointsman_router import admission, familiar, heads, jsonrpc, port, refusals, respond
from pointsman_router.admission import Hosts
from pointsman_router.agentline import Connection, Written
from pointsman_router.catalogue import Catalogue
from pointsman_router.familiar import Familiar
from pointsman_router.heads import Admitted, Meaning
from pointsman_router.httpbytes import USUAL, Scribe
from pointsman_router.jsonrpc import Batch, Message
from pointsman_router.listing import Form
from pointsman_router.outlet import Outlet, Pulse
from pointsman_router.refusals import Refusal
from pointsman_router.relay import Relay, Visit
from pointsman_router.respond import Outcome, Response

# Agents send the same few heads all the time; whoever sends others only costs himself.
_KNOWN_HEADS_MAX = 256
# After the last answer an agent may just be sending its next request on the same connection.
_QUIET_S = 0.25
_LOG = logging.getLogger(__name__)


class Meter(Protocol):
    """What is counted of agents' requests."""

    def began(self) -> None:
        """Count a request that came in."""

    def ended(self, method: str | None, outcome: Outcome, seconds: float) -> None:
        """Count its end; `method` may be anything that an agent wrote."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What the door demands before it reads a message, and what it calls itself."""

    hosts: Hosts
    default_form: Form
    body_max_bytes: int
    body_s: float
    server_name: str


class _Heard(msgspec.Struct, frozen=True):
    """A request whose head is known by its bytes."""

    meaning: Meaning
    body: bytes


class _Read(msgspec.Struct, frozen=True):
    """What one HTTP request asks."""

    parsed: Message | Batch
    visit: Visit


class Door:
    """Serves the newest snapshot to agents."""

    def __init__(
        self,
        policy: Policy,
        relay: Relay,
        pulse: Pulse,
        *,
        current: Callable[[], Catalogue],
        meter: Meter,
    ) -> None:
        self._policy = policy
        self._relay = relay
        self._pulse = pulse
        self._current = current
        self._meter = meter
        self._scribe = Scribe(policy.server_name)
        self._known: dict[object, Admitted] = {}
        self._familiar: Familiar[Meaning] = Familiar()
        self._written = {keeps: Written(keeps=keeps) for keeps in (True, False)}
        self._in_flight = 0
        self._is_ending = False
        self._idle = asyncio.Event()

    async def serve(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request, whatever it is."""
        begun = time.perf_counter()
        connection = request.protocol
        assert isinstance(connection, Connection), "port.listen makes no other"
        outlet = Outlet(connection, self._scribe, self._pulse, heads.spoken(request), begun)
        return self._written[await self._serve(request, outlet, connection, begun)]

    def quick(self, connection: Connection, data: bytes) -> Coroutine[Any, Any, None] | None:
        """Answer the request that `data` is, if it is a whole one and its head is familiar."""
        found = familiar.cut(data, self._policy.body_max_bytes)
        if found is None:
            return None
        meaning = self._familiar.get(found.form)
        return self._quick(connection, _Heard(meaning, found.body)) if meaning else None

    async def _quick(self, connection: Connection, heard: _Heard) -> None:
        keeps = False
        begun = time.perf_counter()
        try:
            outlet = Outlet(connection, self._scribe, self._pulse, USUAL, begun)
            keeps = await self._serve(heard, outlet, connection, begun)
        finally:
            connection.answered(keeps=keeps)

    async def _serve(
        self, asked: web.BaseRequest | _Heard, outlet: Outlet, connection: Connection, begun: float
    ) -> bool:
        method, outcome = None, Outcome.LEFT
        read: _Read | Response | None = None
        self._meter.began()
        self._in_flight += 1
        try:
            if isinstance(asked, _Heard):
                read = self._understood(asked.meaning, asked.body, outlet)
            else:
                read = await self._read(asked, outlet)
            if isinstance(read, Response):
                response = read
            else:
                method = read.parsed.method if not isinstance(read.parsed, Batch) else None
                response = await self._answer(read)
            outcome = response.outcome
        except Exception:  # whatever it is, it costs this one request
            _LOG.exception("a request failed inside the router")
            response = respond.refused(refusals.internal())
            outcome = Outcome.FAILED
        finally:
            self._meter.ended(method, outcome, time.perf_counter() - begun)
            self._in_flight -= 1
            if self._is_ending and not self._in_flight:
                self._idle.set()
        keeps = outlet.end(response, closes=self._is_ending)
        if not isinstance(asked, _Heard):
            self._learn(asked, connection, read)
        await outlet.read()
        return keeps

    def leave(self) -> None:
        """Have every answer close its connection from now on.

        One that is idle is not to be closed at once: an agent may be writing on it just now.
        """
        self._is_ending = True

    async def drain(
        self, limit_s: float, emptied: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        """Let what is in flight end, and then give it up; before, wait until `emptied` returns."""
        self.leave()
        try:
            async with asyncio.timeout(limit_s):
                if emptied is not None:
                    await emptied()
                await asyncio.sleep(min(_QUIET_S, limit_s / 2))
                while self._in_flight:
                    self._idle.clear()
                    await self._idle.wait()
        except TimeoutError:
            for outlet in self._pulse.waiting:
                outlet.give_up()

    async def _read(self, request: web.BaseRequest, outlet: Outlet) -> _Read | Response:
        admitted = self._admitted(request)
        if isinstance(admitted, Refusal):
            return respond.refused(admitted)
        catalogue = self._current()
        view = admitted.view
        if view.server is not None and view.server not in catalogue.exposures:
            return respond.refused(refusals.no_such_path())
        body = await self._body(request)
        if isinstance(body, Refusal):
            return respond.refused(body)
        meaning = heads.meaning(admitted, request.headers)
        return self._understood(meaning, body, outlet, heads.trace(request.headers))

    def _understood(
        self,
        meaning: Meaning,
        body: bytes,
        outlet: Outlet,
        trace: tuple[tuple[str, str], ...] = (),
    ) -> _Read | Response:
        catalogue, admitted = self._current(), meaning.admitted
        view = admitted.view
        if view.server is not None and view.server not in catalogue.exposures:
            return respond.refused(refusals.no_such_path())
        try:
            parsed = jsonrpc.parse(body)
        except jsonrpc.NotAMessage as wrong:
            return respond.refused(refusals.not_a_message(wrong), wrong.id)
        visit = Visit(
            catalogue, view, admitted.accepted, meaning.headers, outlet, meaning.sent, trace
        )
        return _Read(parsed, visit)

    def _learn(
        self, request: web.BaseRequest, connection: Connection, read: _Read | Response | None
    ) -> None:
        """Remember a head that was read, if it is one that may come again."""
        head = connection.parsed(request)
        if head is None or not isinstance(read, _Read) or heads.spoken(request) is not USUAL:
            return
        form = familiar.form(head)
        if form is None or not familiar.is_steady(name.lower() for name in request.headers):
            return
        visit = read.visit
        admitted = Admitted(visit.view, visit.accepted)
        self._familiar.learn(form, heads.meaning(admitted, request.headers))

    async def _answer(self, read: _Read) -> Response:
        if isinstance(read.parsed, Batch):
            return await self._relay.batch(read.parsed, read.visit)
        return await self._relay.message(read.parsed, read.visit)

    def _admitted(self, request: web.BaseRequest) -> Admitted | Refusal:
        key = heads.usual_key(request)
        if key is not None and (admitted := self._known.get(key)):
            return admitted
        head = heads.head(request)
        view = admission.admit(head, self._policy.hosts, self._policy.default_form)
        if isinstance(view, Refusal):
            return view
        admitted = Admitted(view, admission.accepted(head.accept))
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
