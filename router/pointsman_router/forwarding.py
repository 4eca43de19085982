"""One call on its way over an upstream, and what its agent is told meanwhile."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from pointsman_contract import rawjson
from pointsman_router import errors, failures, jsonrpc, refusals, respond, translation
from pointsman_router.eras import Revision
from pointsman_router.failures import Failure
from pointsman_router.jsonrpc import RpcError
from pointsman_router.outgoing import Forward
from pointsman_router.outlet import Outlet
from pointsman_router.recent import Recent
from pointsman_router.refusals import Code
from pointsman_router.respond import Asker, Response
from pointsman_router.upstream import Begun, Call, Listener, Notice, Result, Trouble

# What is unknown to an upstream is told in these; so are other faults, and a listing is cheap.
_MAYBE_GONE = frozenset([jsonrpc.INVALID_PARAMS, refusals.RESOURCE_NOT_FOUND])


class Link(Protocol):
    """The way to one server."""

    async def call(self, call: Call, listener: Listener | None = None) -> Result | RpcError:
        """Return what the upstream answers, and tell what it says before; raises Trouble."""


class Meter(Protocol):
    """What is counted of calls to upstreams."""

    def called(self, server: str, seconds: float) -> None:
        """Count one call to an upstream."""

    def failed(self, server: str, reason: str) -> None:
        """Count one call that an upstream's trouble kept from its result."""


@dataclass(frozen=True, slots=True)
class NotTaken:
    """An upstream did not execute a call: its headers were not those that its list demands."""

    error: RpcError


class Forwarding:
    """Carries calls over the links to their upstreams."""

    def __init__(
        self,
        *,
        link: Callable[[str, str | None], Link | None],
        nudge: Callable[[str], None],
        meter: Meter,
        recent: Recent | None = None,
    ) -> None:
        self._link = link
        self._nudge = nudge
        self._meter = meter
        self._recent = recent

    async def carry(
        self,
        forward: Forward,
        asker: Asker,
        outlet: Outlet | None,
        *,
        url: str | None,
        streams: bool,
        begun: Begun | None = None,
    ) -> Response | NotTaken:
        """Return what the call came to; without an outlet nothing is told before.

        `url`: where the snapshot that it was decided by has the upstream; it goes nowhere else.
        `streams`: the agent takes a stream. That a modern one leaves is a cancellation; a legacy
        one's call runs on. `begun`: the call was sent already.
        """
        server = forward.route.server
        begun_s = begun.begun_s if begun else time.perf_counter()
        link = begun or self._link(server, url)
        if link is None:
            return self._failed(failures.gone(server), forward, asker)
        if outlet is None:
            return self._told(await self._called(link, forward, None, begun_s), forward, asker)
        is_modern = asker.revision is Revision.MODERN
        outlet.begin(streams=streams, leaving_cancels=is_modern)
        try:
            listener = _listener(forward, asker, outlet) if streams else None
            reply = await self._called(link, forward, listener, begun_s)
        except asyncio.CancelledError:
            if not outlet.is_given_up:
                raise
            return respond.refused(refusals.draining(), asker.id)
        finally:
            outlet.settle()
        return self._told(reply, forward, asker)

    def failed_again(self, forward: Forward, not_taken: NotTaken, asker: Asker) -> Response:
        """Tell of a call that its upstream did not take, although its list is new."""
        server = forward.route.server
        if not forward.calls_tool:
            wrong = failures.violation(server, "it refuses the headers that it demands")
            return self._failed(wrong, forward, asker)
        return respond.upstream_error(server, not_taken.error, asker)

    async def _called(
        self, link: Link, forward: Forward, listener: Listener | None, begun_s: float
    ) -> Result | RpcError | Trouble:
        try:
            return await link.call(forward.call, listener)
        except Trouble as trouble:
            return trouble
        finally:
            self._meter.called(forward.route.server, time.perf_counter() - begun_s)

    def _told(
        self, reply: Result | RpcError | Trouble, forward: Forward, asker: Asker
    ) -> Response | NotTaken:
        server = forward.route.server
        match reply:
            case Result(raw):
                try:
                    return respond.relayed(
                        raw,
                        asker,
                        is_plain=forward.is_plain,
                        method=forward.call.method,
                        declared=forward.call.capabilities,
                    )
                except translation.CannotBeTold as why:
                    untold = respond.untold if forward.calls_tool else errors.untold
                    return untold(server, str(why), asker)
                except rawjson.Malformed:
                    wrong = failures.violation(server, "its result is not a JSON object")
                    return self._failed(wrong, forward, asker)
            case RpcError() as error:
                if error.code == Code.HEADER_MISMATCH and error.untaken:
                    return NotTaken(error)
                if error.code in _MAYBE_GONE:
                    # It may have dropped what its list still named.
                    self._nudge(server)
                if not forward.calls_tool:
                    return errors.relayed(server, error, forward.call.method, asker)
                return respond.upstream_error(server, error, asker, is_resumed=forward.is_resumed)
            case Trouble() as trouble:
                return self._failed(_failure(server, trouble), forward, asker)

    def _failed(self, failure: Failure, forward: Forward, asker: Asker) -> Response:
        self._meter.failed(failure.server, failure.reason)
        if self._recent is not None:
            self._recent.add(failure.server, "call", failure.reason, failure.message)
        if not forward.calls_tool:
            return errors.failed(failure, asker)
        return respond.failed(failure, asker)


def _listener(forward: Forward, asker: Asker, outlet: Outlet) -> Listener | None:
    if forward.token is None and forward.call.log_level is None:
        return None

    async def hear(notice: Notice) -> None:
        try:
            told = translation.notice(notice, asker.revision, forward.token)
        except rawjson.Malformed:
            return  # what cannot be read is about nothing
        if told is not None:
            await outlet.say(told)

    return hear


def _failure(server: str, trouble: Trouble) -> Failure:
    if trouble.busy:
        return failures.busy(server, trouble.message)
    if trouble.too_large:
        return failures.too_large(server, trouble.message)
    return failures.troubled(
        server, trouble.reason, trouble.message, trouble.executed, trouble.retry_after_ms
    )
