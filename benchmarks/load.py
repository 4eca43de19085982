"""Load on an HTTP port: as much as it takes, or at a fixed rate."""

import asyncio
import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import cast
from urllib.parse import urlsplit

import httptools

# No answer takes that long on one machine; what does is lost.
_ANSWER_S = 20.0


@dataclass(frozen=True, slots=True)
class Asked:
    """What is sent, one body after the other in turn."""

    url: str
    bodies: tuple[bytes, ...]
    headers: tuple[tuple[str, str], ...] = ()
    by_body: tuple[tuple[tuple[str, str], ...], ...] = ()
    """More headers, for each body its own."""

    def requests(self) -> list[bytes]:
        """The bytes of one request for each body."""
        parts = urlsplit(self.url)
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        return [
            _request(target, parts.netloc, (*self.headers, *more), body)
            for body, more in zip(
                self.bodies, self.by_body or ((),) * len(self.bodies), strict=True
            )
        ]


@dataclass(frozen=True, slots=True)
class Load:
    """What came of it, as its sender saw it."""

    answered: int
    wrong: int
    """Answers with another status than 200, and connections that broke."""
    seconds: float
    p50_ms: float
    p99_ms: float

    @property
    def per_s(self) -> float:
        """Answers a second."""
        return self.answered / self.seconds


def wrk() -> str | None:
    """Where wrk is, if it is here."""
    return shutil.which("wrk")


def closed(asked: Asked, *, connections: int, seconds: float) -> Load:
    """As many requests as these connections take, each waiting for its answer."""
    program = wrk()
    if program is None:
        return asyncio.run(_closed(asked, connections, seconds))
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(_lua(asked.requests()))
        script.flush()
        seconds_text = f"{max(1, round(seconds))}s"
        command = [program, "-t1", f"-c{connections}", f"-d{seconds_text}", "--latency"]
        done = subprocess.run(
            [*command, "-s", script.name, asked.url], capture_output=True, text=True, check=True
        )
    said = json.loads(done.stdout.splitlines()[-1])
    return Load(
        answered=said["requests"],
        wrong=said["wrong"],
        seconds=said["us"] / 1e6,
        p50_ms=said["p50_us"] / 1000,
        p99_ms=said["p99_us"] / 1000,
    )


def at_rate(asked: Asked, *, per_s: float, seconds: float) -> Load:
    """Requests at that rate, whether answers come or not."""
    return asyncio.run(_at_rate(asked, per_s, seconds))


def _request(
    target: str, host: str, headers: Sequence[tuple[str, str]] | Mapping[str, str], body: bytes
) -> bytes:
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    lines = [f"POST {target} HTTP/1.1", f"Host: {host}", *(f"{k}: {v}" for k, v in pairs)]
    lines += [f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode() + body


def _lua(requests: Sequence[bytes]) -> str:
    quoted = ",".join('"' + "".join(f"\\{byte:03}" for byte in one) + '"' for one in requests)
    return f"""
local requests = {{{quoted}}}
local turn = 0
function request()
  turn = turn % #requests + 1
  return requests[turn]
end
function done(summary, latency)
  local e = summary.errors
  io.write(string.format(
    '{{"requests":%d,"us":%d,"wrong":%d,"p50_us":%d,"p99_us":%d}}\\n',
    summary.requests, summary.duration, e.connect + e.read + e.write + e.status + e.timeout,
    latency:percentile(50), latency:percentile(99)))
end
"""


class _Client(asyncio.Protocol):
    """One connection, one request at a time; tells when each answer is there."""

    def __init__(self, told: Callable[["_Client", bool], None]) -> None:
        self._told = told
        self.sent_s = 0.0
        self.is_open = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._parser = httptools.HttpResponseParser(self)
        self.is_open = True

    def send(self, request: bytes) -> None:
        self.sent_s = time.perf_counter()
        self._transport.write(request)

    def close(self) -> None:
        self.is_open = False
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_complete(self) -> None:
        self._told(self, self._parser.get_status_code() == 200)

    def connection_lost(self, error: Exception | None) -> None:
        if self.is_open:
            self.is_open = False
            self._told(self, False)


class _Tally:
    def __init__(self) -> None:
        self.took_s: list[float] = []
        self.wrong = 0

    def count(self, client: _Client, right: bool) -> None:
        if right:
            self.took_s.append(time.perf_counter() - client.sent_s)
        else:
            self.wrong += 1

    def load(self, seconds: float) -> Load:
        ordered = sorted(self.took_s) or [0.0]
        return Load(
            answered=len(self.took_s),
            wrong=self.wrong,
            seconds=seconds,
            p50_ms=ordered[len(ordered) // 2] * 1000,
            p99_ms=ordered[int(len(ordered) * 0.99)] * 1000,
        )


def _dialler(url: str, told: Callable[[_Client, bool], None]) -> Callable[[], Awaitable[_Client]]:
    host, _, port = urlsplit(url).netloc.partition(":")

    async def dial() -> _Client:
        _, client = await asyncio.get_running_loop().create_connection(
            lambda: _Client(told), host, int(port)
        )
        return client

    return dial


async def _closed(asked: Asked, connections: int, seconds: float) -> Load:
    tally, requests = _Tally(), cycle(asked.requests())
    end_s = time.perf_counter() + seconds

    def told(client: _Client, right: bool) -> None:
        if time.perf_counter() < end_s:
            tally.count(client, right)
            if client.is_open:
                client.send(next(requests))

    dial = _dialler(asked.url, told)
    clients = [await dial() for _ in range(connections)]
    begun_s = time.perf_counter()
    end_s = begun_s + seconds
    for client in clients:
        client.send(next(requests))
    await asyncio.sleep(seconds)
    for client in clients:
        client.close()
    return tally.load(seconds)


async def _at_rate(asked: Asked, per_s: float, seconds: float) -> Load:
    tally, requests = _Tally(), cycle(asked.requests())
    idle: list[_Client] = []
    every: list[_Client] = []
    due = round(per_s * seconds)
    all_there = asyncio.Event()

    def told(client: _Client, right: bool) -> None:
        tally.count(client, right)
        if client.is_open:
            idle.append(client)
        if len(tally.took_s) + tally.wrong == due:
            all_there.set()

    dial = _dialler(asked.url, told)

    async def one() -> None:
        client = await dial()
        every.append(client)
        client.send(next(requests))

    begun_s = time.perf_counter()
    async with asyncio.TaskGroup() as dialling:
        for number in range(due):
            wait_s = begun_s + number / per_s - time.perf_counter()
            if wait_s > 0:
                await asyncio.sleep(wait_s)
            # A connection that is gone is no idle one: nothing is sent into the void.
            while idle and not idle[-1].is_open:
                idle.pop()
            if idle:
                idle.pop().send(next(requests))
            else:
                dialling.create_task(one())
    async with asyncio.timeout(_ANSWER_S):
        await all_there.wait()
    took_s = time.perf_counter() - begun_s
    for client in every:
        client.close()
    return tally.load(took_s)
