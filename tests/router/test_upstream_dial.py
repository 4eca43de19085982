"""A connection that cannot be opened says why, in time, and nothing was sent."""

import asyncio
import contextlib
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from bench import ports
from bench.connect_proxy import ConnectProxy
from bench.legacy_server import LegacyServer
from bench.links import QUICK, a_call, linked
from bench.raw_upstream import RawUpstream
from bench.waiting import until
from pointsman_router.upstream import Dialler, Result, Trouble
from pointsman_router.upstream.egress import Egress

LIMITS = replace(QUICK, resolve_s=0.3, connect_s=0.3, tls_s=0.3)
LookUp = Callable[..., list[tuple[object, ...]]]


async def dial(
    host: str, port: int, *, secure: bool = False, dialler: Dialler | None = None
) -> Trouble | None:
    """Why there is no connection; None where there is one."""
    try:
        protocol = await (dialler or Dialler(LIMITS)).dial(
            host, port, secure=secure, protocol=Closing
        )
    except Trouble as met:
        return met
    await protocol.closed.wait()
    return None


class Closing(asyncio.Protocol):
    """A protocol that ends its connection at once."""

    def __init__(self) -> None:
        self.closed = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed.set()


@pytest.fixture
async def listening() -> AsyncIterator[int]:
    """The port of a server that takes connections and says nothing."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            await reader.read()
        writer.close()

    async with await asyncio.start_server(serve, ports.LOOPBACK, 0) as server:
        yield server.sockets[0].getsockname()[1]


@pytest.fixture
def deaf() -> Iterator[int]:
    """A port whose backlog is full, so that the kernel drops whoever knocks."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind((ports.LOOPBACK, 0))
        listener.listen(0)
        for _ in range(4):
            knocking = stack.enter_context(socket.socket())
            knocking.setblocking(False)
            knocking.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]


def found(*addresses: tuple[str, int]) -> LookUp:
    return lambda *_, **__: [(socket.AF_INET, socket.SOCK_STREAM, 6, "", one) for one in addresses]


async def test_a_name_leads_to_its_addresses(listening: int) -> None:
    assert await dial("localhost", listening) is None


async def test_the_next_address_is_tried_where_one_refuses(
    listening: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ports.refusing_port() as refusing:
        both = found((ports.LOOPBACK, refusing), (ports.LOOPBACK, listening))
        monkeypatch.setattr(socket, "getaddrinfo", both)

        assert await dial("two.test", listening) is None


async def test_the_next_address_is_tried_where_one_is_silent(
    listening: int, deaf: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = found((ports.LOOPBACK, deaf), (ports.LOOPBACK, listening))
    monkeypatch.setattr(socket, "getaddrinfo", both)

    assert await dial("two.test", listening) is None


async def test_a_port_that_refuses_is_told_at_once() -> None:
    with ports.refusing_port() as port:
        begun = time.monotonic()
        met = await dial(ports.LOOPBACK, port)
        took = time.monotonic() - begun

    assert met is not None
    assert (met.reason, met.executed) == ("Unreachable", "no")
    assert "nothing accepts connections" in met.message
    assert took < 0.05


async def test_a_black_hole_costs_the_time_to_connect_and_no_more(deaf: int) -> None:
    begun = time.monotonic()
    met = await dial(ports.LOOPBACK, deaf)
    took = time.monotonic() - begun

    assert met is not None
    assert (met.reason, met.executed) == ("Unreachable", "no")
    assert "no connection within 0.3 s" in met.message
    assert took < 0.6


async def test_a_name_without_an_address_is_unreachable() -> None:
    met = await dial("no-such-host.invalid", 80, dialler=Dialler(replace(LIMITS, resolve_s=10)))

    assert met is not None
    assert (met.reason, met.executed) == ("Unreachable", "no")
    assert "invalid" not in met.message


async def test_a_silent_name_service_holds_one_thread_per_name_and_nobody_else(
    listening: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered = threading.Event()
    asked: list[str] = []

    def look_up(host: str, port: int, **_: object) -> list[tuple[object, ...]]:
        asked.append(host)
        if host == "silent.test":
            answered.wait(10)
        return found((ports.LOOPBACK, port))()

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    dialler = Dialler(LIMITS)
    silent = [dial("silent.test", listening, dialler=dialler) for _ in range(20)]
    met, beside = await asyncio.gather(
        asyncio.gather(*silent), dial("healthy.test", listening, dialler=dialler)
    )
    look_ups = asked.count("silent.test")
    answered.set()
    healed = await until(lambda: _connects("silent.test", listening, dialler))

    assert {(one.reason, one.executed) for one in met if one} == {("Unreachable", "no")}
    assert beside is None
    assert healed
    assert look_ups == 1


async def test_names_beyond_the_bound_on_threads_wait_for_their_turn(
    listening: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    bound = 64
    together = threading.Barrier(bound)
    asking: set[int] = set()
    most: list[int] = []

    def look_up(host: str, port: int, **_: object) -> list[tuple[object, ...]]:
        asking.add(threading.get_ident())
        together.wait(10)
        most.append(len(asking))
        asking.discard(threading.get_ident())
        return found((ports.LOOPBACK, port))()

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    dialler = Dialler(replace(LIMITS, resolve_s=10.0, connect_s=10.0))
    names = [f"s{number}.test" for number in range(2 * bound)]
    met = await asyncio.gather(*(dial(name, listening, dialler=dialler) for name in names))

    assert met == [None] * len(names)
    assert max(most) == bound


async def test_a_look_up_that_got_no_thread_does_not_spoil_the_next(
    listening: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none_left(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(socket, "getaddrinfo", found((ports.LOOPBACK, listening)))
    dialler = Dialler(LIMITS)
    with monkeypatch.context() as short:
        short.setattr(threading.Thread, "start", none_left)
        met = await dial("name.test", listening, dialler=dialler)
    later = await dial("name.test", listening, dialler=dialler)

    assert met is not None
    assert (met.reason, met.executed) == ("Unreachable", "no")
    assert later is None


async def _connects(host: str, port: int, dialler: Dialler) -> bool:
    return await dial(host, port, dialler=dialler) is None


@dataclass(frozen=True, slots=True)
class Certificate:
    """A self-signed certificate, which is its own authority."""

    path: Path
    key: Path

    @property
    def serving(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.path, self.key)
        return context

    @property
    def trusting(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.path))


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    folder = tmp_path_factory.mktemp("tls")
    made = Certificate(folder / "cert.pem", folder / "key.pem")
    options = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    files = ["-keyout", str(made.key), "-out", str(made.path)]
    subprocess.run(["openssl", "req", *options, *names, *files], check=True, capture_output=True)
    return made


@contextlib.asynccontextmanager
async def tls_in_front_of(port: int, certificate: Certificate) -> AsyncIterator[int]:
    """The port of a TLS server that passes everything on to another port."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        behind_reader, behind_writer = await asyncio.open_connection(ports.LOOPBACK, port)
        await asyncio.gather(pump(reader, behind_writer), pump(behind_reader, writer))

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                writer.write(data)
        writer.close()

    server = await asyncio.start_server(serve, ports.LOOPBACK, 0, ssl=certificate.serving)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def test_an_upstream_behind_tls_is_listed_and_called(certificate: Certificate) -> None:
    async with (
        RawUpstream(LegacyServer()) as upstream,
        tls_in_front_of(upstream.port, certificate) as port,
    ):
        dialler = Dialler(trust=certificate.trusting)
        async with linked(f"https://localhost:{port}/mcp", dialler=dialler) as link:
            await link.list()
            called = await link.call(a_call())

    assert isinstance(called, Result)
    assert upstream.received[0].header("host") == f"localhost:{port}"


async def test_an_upstream_behind_tls_is_called_through_a_proxy(certificate: Certificate) -> None:
    async with (
        RawUpstream(LegacyServer()) as upstream,
        tls_in_front_of(upstream.port, certificate) as port,
        ConnectProxy(port) as proxy,
    ):
        egress = Egress(ports.LOOPBACK, proxy.port)
        dialler = Dialler(trust=certificate.trusting, egress=egress)
        async with linked(f"https://localhost:{port}/mcp", dialler=dialler) as link:
            called = await link.call(a_call())

    assert isinstance(called, Result)
    assert proxy.asked[0].startswith(b"CONNECT localhost:%d " % port)


async def test_a_certificate_that_nobody_vouches_for_is_refused(
    certificate: Certificate, listening: int
) -> None:
    async with tls_in_front_of(listening, certificate) as port:
        met = await dial("localhost", port, secure=True)

    assert met is not None
    assert (met.reason, met.executed) == ("TlsFailed", "no")
    assert "self-signed" in met.message


async def test_a_certificate_for_another_host_is_refused(
    certificate: Certificate, listening: int
) -> None:
    dialler = Dialler(LIMITS, trust=certificate.trusting)
    async with tls_in_front_of(listening, certificate) as port:
        met = await dial(ports.LOOPBACK, port, secure=True, dialler=dialler)

    assert met is not None
    assert (met.reason, met.executed) == ("TlsFailed", "no")
    assert "another host" in met.message


async def test_a_handshake_that_is_never_answered_ends_in_time(listening: int) -> None:
    begun = time.monotonic()
    met = await dial("localhost", listening, secure=True)
    took = time.monotonic() - begun

    assert met is not None
    assert (met.reason, met.executed) == ("TlsFailed", "no")
    assert took < 0.9


async def test_a_port_that_does_not_speak_tls_says_so() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(serve, ports.LOOPBACK, 0) as server:
        met = await dial("localhost", server.sockets[0].getsockname()[1], secure=True)

    assert met is not None
    assert (met.reason, met.executed) == ("TlsFailed", "no")
    assert "speaks https" in met.message
