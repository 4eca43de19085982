"""The MCP port: HTTP requests in, the answers of the rooms behind it out."""

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from aiohttp import web

from pointsman_router import admission, jsonrpc, port, refusals, respond
from pointsman_router.admission import Head, Hosts
from pointsman_router.catalogue import Catalogue
from pointsman_router.eras import modern
from pointsman_router.jsonrpc import Batch
from pointsman_router.listing import Form
from pointsman_router.refusals import Refusal
from pointsman_router.relay import Relay, Visit
from pointsman_router.respond import Outcome, Response

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


class Door:
    """Serves the newest snapshot to agents."""

    def __init__(
        self, policy: Policy, relay: Relay, *, current: Callable[[], Catalogue], meter: Meter
    ) -> None:
        self._policy = policy
        self._relay = relay
        self._current = current
        self._meter = meter

    async def serve(self, request: web.BaseRequest) -> web.Response:
        """Answer one request, whatever it is."""
        begun = time.perf_counter()
        method, outcome = None, Outcome.FAILED
        self._meter.began()
        try:
            method, response = await self._respond(request)
            outcome = response.outcome
        except Exception:  # whatever it is, it costs this one request
            _LOG.exception("a request failed inside the router")
            response = respond.refused(refusals.internal())
        finally:
            self._meter.ended(method, outcome, time.perf_counter() - begun)
        return port.http(response, server=self._policy.server_name)

    async def _respond(self, request: web.BaseRequest) -> tuple[str | None, Response]:
        head = _head(request)
        view = admission.admit(head, self._policy.hosts, self._policy.default_form)
        if isinstance(view, Refusal):
            return None, respond.refused(view)
        catalogue = self._current()
        if view.server is not None and view.server not in catalogue.exposures:
            return None, respond.refused(refusals.no_such_path())
        body = await self._body(request)
        if isinstance(body, Refusal):
            return None, respond.refused(body)
        try:
            parsed = jsonrpc.parse(body)
        except jsonrpc.NotAMessage as wrong:
            return None, respond.refused(refusals.not_a_message(wrong), wrong.id)
        visit = Visit(catalogue, view, head, _modern_headers(request))
        if isinstance(parsed, Batch):
            return None, await self._relay.batch(parsed, visit)
        return parsed.method, await self._relay.message(parsed, visit)

    async def _body(self, request: web.BaseRequest) -> bytes | Refusal:
        limit_bytes = self._policy.body_max_bytes
        if (request.content_length or 0) > limit_bytes:
            return refusals.body_too_large(limit_bytes)
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


def _head(request: web.BaseRequest) -> Head:
    headers = request.headers
    return Head(
        verb=request.method,
        target=request.raw_path,
        hosts=tuple(headers.getall("Host", ())),
        origins=tuple(headers.getall("Origin", ())),
        content_type=headers.get("Content-Type", ""),
        accept=tuple(headers.getall("Accept", ())),
    )


def _modern_headers(request: web.BaseRequest) -> modern.Headers:
    return modern.Headers(
        *(
            tuple(value.strip(" \t") for value in request.headers.getall(name, ()))
            for name in (modern.VERSION_HEADER, modern.METHOD_HEADER, modern.NAME_HEADER)
        )
    )
