"""The MCP port: HTTP requests in, the answers of the rooms behind it out."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Protocol

from aiohttp import web

from pointsman_router import heads, refusals, respond
from pointsman_router.agentline import Connection, Written
from pointsman_router.catalogue import Catalogue
from pointsman_router.express import Express, Flight
from pointsman_router.foreseen import is_steady
from pointsman_router.heads import Heard
from pointsman_router.httpbytes import USUAL, Scribe
from pointsman_router.jsonrpc import Batch, Request
from pointsman_router.outlet import Outlet, Pulse
from pointsman_router.reception import Policy, Read, Reception
from pointsman_router.relay import Relay
from pointsman_router.respond import Outcome, Response
from pointsman_router.upstream import Calls

# After the last answer an agent may just be sending its next request on the same connection.
_QUIET_S = 0.25
_LOG = logging.getLogger(__name__)


class Meter(Protocol):
    """What is counted of agents' requests."""

    def began(self) -> None:
        """Count a request that came in."""

    def ended(self, method: str | None, outcome: Outcome, seconds: float) -> None:
        """Count its end; `method` may be anything that an agent wrote."""

    def called(self, server: str, seconds: float) -> None:
        """Count one call to an upstream."""


class Door:
    """Serves the newest snapshot to agents."""

    def __init__(
        self,
        policy: Policy,
        relay: Relay,
        pulse: Pulse,
        *,
        current: Callable[[], Catalogue],
        calls: Callable[[str, str | None], Calls | None],
        meter: Meter,
    ) -> None:
        self._relay = relay
        self._pulse = pulse
        self._meter = meter
        self._scribe = Scribe(policy.server_name)
        self._reception = Reception(policy, current)
        self._written = {keeps: Written(keeps=keeps) for keeps in (True, False)}
        self._express = Express(self, calls=calls, current=current, server_info=relay.identity.info)
        self._in_flight = 0
        self._is_ending = False
        self._idle = asyncio.Event()

    async def serve(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request, whatever it is."""
        begun = time.perf_counter()
        self._begin()
        connection = request.protocol
        assert isinstance(connection, Connection), "port.listen makes no other"
        outlet = Outlet(connection, self._scribe, self._pulse, heads.spoken(request), begun)
        return self._written[await self._serve(request, outlet, connection, begun)]

    def quick(self, connection: Connection, data: bytes) -> bool:
        """Take the request that `data` is, if it is a whole one and its head is familiar."""
        heard = self._reception.hear(data)
        if heard is None:
            return False
        self._begin()
        if self._is_ending or not self._take(connection, heard):
            connection.run(self._quick(connection, heard, time.perf_counter()))
        return True

    def land(self, flight: Flight, answer: bytes) -> None:
        """Answer a call that needed no task."""
        line, begun = flight.line, flight.begun
        seconds = time.perf_counter() - begun.begun_s
        self._meter.called(flight.foreseen.server, seconds)
        self._end("tools/call", Outcome.OK, seconds)
        begun.by.done(begun)
        line.put(self._scribe.whole(Response(200, answer), USUAL, line.date()))
        if line.unread_bytes:
            outlet = Outlet(line, self._scribe, self._pulse, USUAL, begun.begun_s)
            line.run(_read(outlet, line))
        else:
            line.answered(keeps=True)

    def carry(self, flight: Flight) -> None:
        """Carry a call to its answer in a task."""
        begun = flight.begun
        task = flight.line.run(self._quick(flight.line, flight.heard, begun.begun_s, flight))
        task.add_done_callback(lambda _: begun.by.drop(begun))

    async def _quick(
        self, connection: Connection, heard: Heard, begun_s: float, flight: Flight | None = None
    ) -> None:
        keeps = False
        try:
            outlet = Outlet(connection, self._scribe, self._pulse, USUAL, begun_s)
            keeps = await self._serve(heard, outlet, connection, begun_s, flight)
        finally:
            connection.answered(keeps=keeps)

    def _take(self, connection: Connection, heard: Heard) -> bool:
        try:
            return self._express.take(connection, heard)
        except Exception:  # whatever it is, a task answers it
            _LOG.exception("a call could not go without a task")
            return False

    def _begin(self) -> None:
        self._meter.began()
        self._in_flight += 1

    def _end(self, method: str | None, outcome: Outcome, seconds: float) -> None:
        self._meter.ended(method, outcome, seconds)
        self._in_flight -= 1
        if self._is_ending and not self._in_flight:
            self._idle.set()

    async def _serve(
        self,
        asked: web.BaseRequest | Heard,
        outlet: Outlet,
        connection: Connection,
        begun_s: float,
        flight: Flight | None = None,
    ) -> bool:
        method, outcome = None, Outcome.LEFT
        read: Read | Response | None = None
        try:
            if isinstance(asked, Heard):
                read = self._reception.understand(asked, outlet, flight)
            else:
                read = await self._reception.read(asked, outlet)
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
            self._end(method, outcome, time.perf_counter() - begun_s)
        keeps = outlet.end(response, closes=self._is_ending)
        if not isinstance(asked, Heard):
            self._reception.learn(asked, connection, read)
        elif outcome is Outcome.OK and flight is None and isinstance(read, Read):
            self._foresee(asked, read)
        await outlet.read()
        return keeps

    def leave(self) -> None:
        """Have every answer close its connection from now on.

        One that is idle is not to be closed at once: an agent may be writing on it just now.
        """
        self._is_ending = True
        self._express.hand_over_all()

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

    def _foresee(self, heard: Heard, read: Read) -> None:
        """Remember what the next call like this one comes to."""
        request, visit = read.parsed, read.visit
        if isinstance(request, Request) and request.method == "tools/call" and is_steady(request):
            self._express.learn(heard, visit.catalogue, lambda: self._relay.foresee(request, visit))

    async def _answer(self, read: Read) -> Response:
        if isinstance(read.parsed, Batch):
            return await self._relay.batch(read.parsed, read.visit)
        return await self._relay.message(read.parsed, read.visit)


async def _read(outlet: Outlet, connection: Connection) -> None:
    """Let an agent read its answer before it sends the next request."""
    try:
        await outlet.read()
    finally:
        connection.answered(keeps=True)
