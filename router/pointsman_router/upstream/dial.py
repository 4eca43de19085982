"""How a connection to an upstream is opened: name, address, proxy, TLS, each in its own time."""

import asyncio
import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

from pointsman_router import hostnames
from pointsman_router.upstream import trouble
from pointsman_router.upstream.egress import Egress
from pointsman_router.upstream.limits import Limits
from pointsman_router.upstream.tunnel import Tunnel

P = TypeVar("P", bound=asyncio.BaseProtocol)

# A name service that is silent holds a thread per name for as long as the C library likes; names
# beyond these wait, since a router that starts asks for those of all its servers at once.
_LOOK_UPS_MAX = 64
# Of a name with many addresses, as many as get a fair share of the time to connect.
_ADDRESSES_MAX = 4

_CERTIFICATE = {
    9: "the upstream's certificate is not valid yet",
    10: "the upstream's certificate has expired",
    18: "the upstream's certificate is self-signed",
    19: "the upstream's certificate is signed by an unknown authority",
    20: "the upstream's certificate is signed by an unknown authority",
    21: "the upstream's certificate is signed by an unknown authority",
    62: "the upstream's certificate is for another host than that in url",
    64: "the upstream's certificate is for another host than that in url",
}
"""What OpenSSL's verification codes mean for whoever wrote the url."""


class Dialler:
    """Opens connections for every link; a name that does not resolve holds up only itself."""

    def __init__(
        self,
        limits: Limits | None = None,
        *,
        trust: ssl.SSLContext | None = None,
        egress: Egress | None = None,
    ) -> None:
        self._limits = limits or Limits()
        self._trust = trust
        self._egress = egress
        self._look_ups: dict[tuple[str, int], asyncio.Future[Sequence[str]]] = {}
        self._places = asyncio.Semaphore(_LOOK_UPS_MAX)

    async def dial(self, host: str, port: int, *, secure: bool, protocol: Callable[[], P]) -> P:
        """Return the connected protocol; raises Trouble, and then no byte of a request left."""
        if self._egress is not None and self._egress.leads_to(host):
            plain = await self._tunnel(self._egress, host, port)
            if not secure:
                opened = protocol()
                plain.set_protocol(opened)
                opened.connection_made(plain)
                return opened
        else:
            addresses = await self._resolve(host, port)
            if not secure:
                return (await self._connect(addresses, port, protocol))[1]
            plain, _ = await self._connect(addresses, port, asyncio.Protocol)
        return await self._encrypt(plain, protocol(), host)

    @property
    def _context(self) -> ssl.SSLContext:
        # Built for the first https url: reading the system's authorities takes a while.
        if self._trust is None:
            self._trust = ssl.create_default_context()
        return self._trust

    async def _connect(
        self, addresses: Sequence[str], port: int, protocol: Callable[[], P]
    ) -> tuple[asyncio.Transport, P]:
        loop = asyncio.get_running_loop()
        end_s = loop.time() + self._limits.connect_s
        silent = False
        for left, address in zip(range(len(addresses), 0, -1), addresses, strict=True):
            try:
                async with asyncio.timeout((end_s - loop.time()) / left) as share:
                    # The loop makes the socket: uvloop may close one of ours twice.
                    return await loop.create_connection(protocol, address, port)
            except OSError:
                silent = silent or share.expired()
        raise trouble.no_connection(self._limits.connect_s) if silent else trouble.refused()

    async def _tunnel(self, egress: Egress, host: str, port: int) -> asyncio.Transport:
        """Return a connection of the proxy's to the upstream, over which nothing came yet."""
        try:
            addresses = await self._resolve(egress.host, egress.port)
            plain, tunnel = await self._connect(addresses, egress.port, Tunnel)
        except trouble.Trouble as met:
            raise trouble.no_proxy(fleeting=met.fleeting) from None
        try:
            async with asyncio.timeout(self._limits.tunnel_s):
                await tunnel.open(host, port)
        except TimeoutError:
            plain.abort()
            raise trouble.no_tunnel(None) from None
        except BaseException:
            plain.abort()
            raise
        return plain

    async def _encrypt(self, plain: asyncio.Transport, protocol: P, host: str) -> P:
        try:
            encrypted = await asyncio.get_running_loop().start_tls(
                plain,
                protocol,
                self._context,
                server_hostname=host.removesuffix("."),
                ssl_handshake_timeout=self._limits.tls_s,
            )
        except ssl.SSLCertVerificationError as exc:
            why = _CERTIFICATE.get(exc.verify_code, "the upstream's certificate is not trusted")
            raise trouble.tls_failed(why) from exc
        except OSError as exc:
            raise trouble.tls_failed(
                "the handshake failed: check that the port in url speaks https"
            ) from exc
        if encrypted is None:
            raise trouble.tls_failed("the handshake failed: the connection was lost")
        protocol.connection_made(encrypted)
        return protocol

    async def _resolve(self, host: str, port: int) -> Sequence[str]:
        if hostnames.is_address(host):
            return [host]
        try:
            async with asyncio.timeout(self._limits.resolve_s):
                addresses = await asyncio.shield(await self._look_up(host, port))
        except TimeoutError:
            raise trouble.unresolved() from None
        if not addresses:
            raise trouble.unresolved()
        return addresses[:_ADDRESSES_MAX]

    async def _look_up(self, host: str, port: int) -> asyncio.Future[Sequence[str]]:
        """Return the look-up of this name that is under way, begun now if none is."""
        if (host, port) not in self._look_ups:
            await self._places.acquire()
            if (host, port) not in self._look_ups:
                return self._begin(host, port)
            self._places.release()
        return self._look_ups[host, port]

    def _begin(self, host: str, port: int) -> asyncio.Future[Sequence[str]]:
        """Ask the name service in a thread that neither others nor the program's end wait for."""
        loop = asyncio.get_running_loop()
        pending: asyncio.Future[Sequence[str]] = loop.create_future()
        self._look_ups[host, port] = pending

        def settle(found: Sequence[str]) -> None:
            del self._look_ups[host, port]
            self._places.release()
            if not pending.done():
                pending.set_result(found)

        def ask() -> None:
            found = _ask(host, port)
            with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile
                loop.call_soon_threadsafe(settle, found)

        try:
            threading.Thread(target=ask, name="look-up", daemon=True).start()
        except RuntimeError:  # the machine has no thread to spare
            settle(())
        return pending


def _ask(host: str, port: int) -> Sequence[str]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return ()
    return tuple(str(address[0]) for *_, address in found)
