"""Which connection a request to an upstream gets, and what became of its sending."""

import asyncio
import select
import weakref
from contextvars import ContextVar
from dataclasses import dataclass

import aiohttp
from aiohttp.client_proto import ResponseHandler

from pointsman_router.upstream.dial import Dialler
from pointsman_router.upstream.limits import Limits


@dataclass(slots=True)
class Attempt:
    """What became of one sending; the transport is there from the first byte that may have left."""

    transport: asyncio.Transport | None = None

    @property
    def sent(self) -> bool:
        """Whether anything of the request may have left."""
        return self.transport is not None


ATTEMPT: ContextVar[Attempt] = ContextVar("attempt")
"""The sending that asks for a connection: the client in between hands nothing through."""


class Pool(aiohttp.BaseConnector):
    """A pool that dials by our rules and looks at an idle connection before it is used again."""

    def __init__(self, dialler: Dialler, limits: Limits) -> None:
        # Calls are bounded before they come here; the pool itself must never make one wait.
        super().__init__(limit=0, keepalive_timeout=limits.keepalive_s)
        self._dialler = dialler
        self._used: weakref.WeakSet[ResponseHandler] = weakref.WeakSet()

    @property
    def open_connections(self) -> int:
        """How many connections are open, idle ones included."""
        return sum(protocol.is_connected() for protocol in self._used)

    async def connect(
        self,
        req: aiohttp.ClientRequest,
        traces: list[aiohttp.tracing.Trace],
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109 - named by aiohttp
    ) -> aiohttp.connector.Connection:
        """Return a connection that nothing has come over yet; raises Trouble."""
        while True:
            connection = await super().connect(req, traces, timeout)
            protocol = connection.protocol
            if protocol is not None and (protocol not in self._used or _is_quiet(protocol)):
                break
            connection.close()
        self._used.add(protocol)
        ATTEMPT.get().transport = connection.transport
        return connection

    async def _create_connection(
        self,
        req: aiohttp.ClientRequest,
        traces: list[aiohttp.tracing.Trace],
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109 - named by aiohttp
    ) -> ResponseHandler:
        key = req.connection_key
        return await self._dialler.dial(
            req.url.raw_host or "",
            key.port or (443 if key.is_ssl else 80),
            secure=key.is_ssl,
            protocol=self._factory,
        )


def _is_quiet(protocol: ResponseHandler) -> bool:
    """Say whether an idle connection has received nothing: neither an answer nor its end."""
    transport = protocol.transport
    if transport is None or transport.is_closing() or protocol.should_close:
        return False
    poll = select.poll()
    poll.register(transport.get_extra_info("socket").fileno(), select.POLLIN)
    return not poll.poll(0)
