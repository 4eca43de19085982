"""What streams that stay open hold in a router's memory."""

import asyncio
import resource
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

import mcp_load
from counting_upstream import HOLD
from figures import Figures
from load import Asked
from proxies import Proxy

STREAMS = 1000
# One server may have 64 calls under way: the streams of calls are spread.
SERVERS = 25
SETTINGS = {"SUBSCRIPTIONS_MAX": str(STREAMS)}
_AT_A_TIME = 50
_OPEN_S = 30.0


class NoStream(Exception):
    """What was asked for as a stream was answered otherwise."""


def measure(proxy: Proxy) -> Figures:
    """Open streams of both kinds, one kind after the other, and weigh the router."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return asyncio.run(_measure(proxy))


async def _measure(proxy: Proxy) -> Figures:
    idle_mib = proxy.rss_mib()
    found: dict[str, float | int | bool | str | None] = {"idle_rss_mib": round(idle_mib, 1)}
    for name, asked in (("listen", _listens(proxy.url)), ("call", _calls(proxy.url))):
        async with AsyncExitStack() as streams:
            await _open_all(asked, streams)
            found[f"{name}_streams"] = STREAMS
            found[f"{name}_streams_mib"] = round(proxy.rss_mib() - idle_mib, 1)
    return found


def _listens(url: str) -> Callable[[int], bytes]:
    method = "subscriptions/listen"
    params = {"notifications": {"toolsListChanged": True}}

    def asked(number: int) -> bytes:
        body = mcp_load.message(method, params, "modern", number)
        headers = tuple(mcp_load.headers(method, "modern").items())
        return Asked(url, (body,), headers).requests()[0]

    return asked


def _calls(url: str) -> Callable[[int], bytes]:
    method = "tools/call"

    def asked(number: int) -> bytes:
        name = f"server_{number % SERVERS}.{HOLD}"
        params = {"name": name, "arguments": {}, "_meta": {"progressToken": number}}
        body = mcp_load.message(method, params, "modern", number)
        headers = (*mcp_load.headers(method, "modern").items(), ("Mcp-Name", name))
        return Asked(url, (body,), headers).requests()[0]

    return asked


async def _open_all(asked: Callable[[int], bytes], streams: AsyncExitStack) -> None:
    gate = asyncio.Semaphore(_AT_A_TIME)

    async def one(number: int) -> None:
        async with gate, asyncio.timeout(_OPEN_S):
            await _open(asked(number), streams)

    waiting: list[Awaitable[None]] = [one(number) for number in range(STREAMS)]
    await asyncio.gather(*waiting)


async def _open(request: bytes, streams: AsyncExitStack) -> None:
    host, _, port = _host(request).rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    streams.callback(writer.close)
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    if b"text/event-stream" not in head.lower():
        raise NoStream(head.decode(errors="replace"))
    # What an agent is told first: only now everything that a stream holds is there.
    await reader.readuntil(b"data:")


def _host(request: bytes) -> str:
    (line,) = [one for one in request.split(b"\r\n") if one.startswith(b"Host: ")]
    return line.removeprefix(b"Host: ").decode()
