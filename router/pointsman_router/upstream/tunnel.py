"""How a proxy is asked to connect, before anything else is said."""

import asyncio
from http import HTTPStatus
from typing import cast

from pointsman_router.upstream import trouble
from pointsman_router.upstream.limits import KIB

_HEAD_MAX_BYTES = 64 * KIB
_END = b"\r\n\r\n"


class Tunnel(asyncio.Protocol):
    """A connection to a proxy until the proxy has connected."""

    def __init__(self) -> None:
        self._answered: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()
        self._received = b""
        self._transport: asyncio.Transport | None = None

    async def open(self, host: str, port: int) -> None:
        """Have the proxy connect; raises Trouble."""
        assert self._transport is not None, "it is connected"
        target = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        request = f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n"
        self._transport.write(request.encode("ascii"))
        number = await self._answered
        if number != HTTPStatus.OK:
            raise trouble.no_tunnel(number)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Be connected to the proxy."""
        # uvloop's transports are one by what they do, not by their class.
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Take a piece of the proxy's answer."""
        self._received += data
        head, end, surplus = self._received.partition(_END)
        if end or len(self._received) > _HEAD_MAX_BYTES:
            number = _status(head)
            # What an upstream says unasked would be taken for its answer.
            self._settle(None if surplus and number == HTTPStatus.OK else number)

    def connection_lost(self, exc: Exception | None) -> None:
        """Be refused without a word."""
        self._settle(None)

    def _settle(self, number: int | None) -> None:
        if not self._answered.done():
            self._answered.set_result(number)


def _status(head: bytes) -> int | None:
    """Return the status in an answer's head."""
    version, _, rest = head.partition(b" ")
    number = rest[:3]
    return int(number) if version.startswith(b"HTTP/1.") and number.isdigit() else None
