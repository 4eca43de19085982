"""An upstream behind a proxy is reached through it, and only one that is not exempt."""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from bench import answers, behaviours, ports
from bench.connect_proxy import CONNECTED, ConnectProxy
from bench.links import QUICK
from bench.raw_upstream import RawUpstream
from pointsman_router.upstream import Dialler, Trouble, egress
from pointsman_router.upstream.egress import Egress
from pointsman_router.upstream.exchange import Wire
from pointsman_router.upstream.pool import Attempt

LIMITS = replace(QUICK, resolve_s=0.3, connect_s=0.3, tls_s=0.3, tunnel_s=0.3)
ANSWER = behaviours.sends(answers.http(200, b"{}"))


@contextlib.asynccontextmanager
async def wired(url: str, port: int, *exempt: str) -> AsyncIterator[Wire]:
    dialler = Dialler(LIMITS, egress=Egress(ports.LOOPBACK, port, exempt))
    wire = Wire(url, dialler, LIMITS, user_agent="pointsman/1.2.3")
    try:
        yield wire
    finally:
        await wire.close()


async def asked(wire: Wire, attempt: Attempt | None = None) -> bytes:
    async with wire.post(b'{"id":1}', {}, attempt or Attempt()) as answer:
        body = await answer.body(1000)
        answer.trust()
        return body


async def test_an_upstream_is_reached_through_the_proxy_which_looks_its_name_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def look_up(host: str, *_: object, **__: object) -> list[tuple[object, ...]]:
        raise socket.gaierror(f"nobody asks for {host}")

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    async with (
        RawUpstream(ANSWER) as upstream,
        ConnectProxy(upstream.port) as proxy,
        wired("http://peer.example.com:8443/mcp?a=1", proxy.port) as wire,
    ):
        found = [await asked(wire) for _ in range(3)]

    assert found == [b"{}"] * 3
    assert proxy.asked == [
        b"CONNECT peer.example.com:8443 HTTP/1.1\r\nHost: peer.example.com:8443\r\n\r\n"
    ]
    assert {one.target for one in upstream.received} == {"/mcp?a=1"}
    assert {one.header("host") for one in upstream.received} == {"peer.example.com:8443"}


async def test_a_host_that_is_exempt_is_reached_without_the_proxy() -> None:
    async with (
        RawUpstream(ANSWER) as upstream,
        ConnectProxy(upstream.port) as proxy,
        wired(upstream.url(), proxy.port, "127.0.0.0/8") as wire,
    ):
        found = await asked(wire)

    assert found == b"{}"
    assert proxy.asked == []


async def test_tls_is_with_the_upstream_and_not_with_the_proxy() -> None:
    async with (
        RawUpstream(ANSWER) as upstream,
        ConnectProxy(upstream.port) as proxy,
        wired("https://peer.example.com/mcp", proxy.port) as wire,
    ):
        with pytest.raises(Trouble, match="speaks https") as error:
            await asked(wire)

    assert (error.value.reason, error.value.executed) == ("TlsFailed", "no")
    assert proxy.asked[0].startswith(b"CONNECT peer.example.com:443 ")


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        pytest.param(b"HTTP/1.1 403 Forbidden\r\n\r\n", "answers HTTP 403", id="a refusal"),
        pytest.param(b"HTTP/1.1 407 Who?\r\n\r\n", "answers HTTP 407", id="credentials wanted"),
        pytest.param(b"HTTP/1.0 502 Bad\r\n\r\n<p>", "answers HTTP 502", id="no way"),
        pytest.param(b"SSH-2.0-x\r\n\r\n", "does not answer", id="no proxy"),
        pytest.param(b"", "does not answer", id="silence"),
        pytest.param(b"x" * 100_000, "does not answer", id="noise"),
        pytest.param(CONNECTED + b"HTTP/1.1 200 OK\r\n\r\n", "does not answer", id="too much"),
    ],
)
async def test_a_proxy_that_does_not_connect_says_so_and_nothing_was_sent(
    answer: bytes, says: str
) -> None:
    attempt = Attempt()
    async with (
        RawUpstream(ANSWER) as upstream,
        ConnectProxy(upstream.port, answer) as proxy,
        wired("http://peer.example.com/mcp", proxy.port) as wire,
    ):
        with pytest.raises(Trouble, match=says) as error:
            await asked(wire, attempt)
        left = wire.open_connections

    assert (error.value.reason, error.value.executed) == ("Unreachable", "no")
    assert "example" not in error.value.message
    assert not attempt.sent
    assert left == 0
    assert upstream.received == []


async def test_a_proxy_that_is_not_there_is_told_apart_from_the_upstream() -> None:
    with ports.refusing_port() as port:
        async with wired("http://peer.example.com/mcp", port) as wire:
            with pytest.raises(Trouble, match="the egress proxy takes no connection") as error:
                await asked(wire)

    assert (error.value.reason, error.value.executed) == ("Unreachable", "no")


async def test_a_proxy_that_hangs_up_has_not_connected() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    server = await asyncio.start_server(serve, ports.LOOPBACK, 0)
    async with (
        server,
        wired("http://peer.example.com/mcp", server.sockets[0].getsockname()[1]) as wire,
    ):
        with pytest.raises(Trouble, match="does not answer"):
            await asked(wire)


@pytest.mark.parametrize(
    ("rule", "host", "exempt"),
    [
        pytest.param("github-mcp.tools.svc", "github-mcp.tools.svc", True, id="a name"),
        pytest.param("github-mcp.tools.svc", "GitHub-MCP.tools.svc.", True, id="case, final dot"),
        pytest.param(".svc", "github-mcp.tools.svc", True, id="a suffix"),
        pytest.param("svc", "github-mcp.tools.svc", True, id="a suffix without its dot"),
        pytest.param(".svc", "svc", True, id="the suffix itself"),
        pytest.param("svc", "github-mcp.toolsvc", False, id="half a label"),
        pytest.param("tools.svc", "svc", False, id="above the suffix"),
        pytest.param("*", "example.com", True, id="everything"),
        pytest.param("10.0.0.0/8", "10.1.2.3", True, id="a network"),
        pytest.param("10.0.0.0/8", "11.1.2.3", False, id="beside a network"),
        pytest.param("10.1.2.3", "10.1.2.3", True, id="an address"),
        pytest.param("2.3", "10.1.2.3", False, id="half an address"),
        pytest.param("::1", "::1", True, id="an IPv6 address"),
        pytest.param("[::1]", "::1", True, id="an IPv6 address in brackets"),
        pytest.param("fd00::/8", "fd12::1", True, id="an IPv6 network"),
        pytest.param("10.0.0.0/8", "fd12::1", False, id="another family"),
        pytest.param("10.0.0.0/8", "example.com", False, id="a name is in no network"),
    ],
)
def test_what_is_exempt_is_a_host_what_lies_below_it_or_a_network(
    rule: str, host: str, exempt: bool
) -> None:
    assert Egress("proxy", 3128, (rule,)).leads_to(host) is not exempt


def test_the_context_of_a_tunnel_verifies_as_any_other() -> None:
    context = Dialler(egress=Egress("proxy", 3128))._context

    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("http://proxy.example.com:3128", ("proxy.example.com", 3128)),
        ("http://10.0.0.1:3128/", ("10.0.0.1", 3128)),
        ("http://[fd00::1]:3128", ("fd00::1", 3128)),
        ("http://proxy", ("proxy", 80)),
    ],
)
def test_a_proxy_is_named_by_its_address(text: str, found: tuple[str, int]) -> None:
    assert egress.through(egress.proxy(text), ()) == Egress(*found)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("proxy:3128", id="no scheme"),
        pytest.param("https://proxy:3128", id="TLS"),
        pytest.param("socks5://proxy:3128", id="SOCKS"),
        pytest.param("http://user:secret@proxy:3128", id="credentials"),
        pytest.param("http://proxy:3128/path", id="a path"),
        pytest.param("http://proxy:3128?a", id="a query"),
        pytest.param("http://", id="no host"),
    ],
)
def test_anything_else_is_no_proxy_and_is_not_repeated(text: str) -> None:
    with pytest.raises(ValueError, match="must") as error:
        egress.proxy(text)

    assert "secret" not in str(error.value)


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        pytest.param("10.0.0.0/99", "must hold .* networks .* not 10.0.0.0/99", id="no network"),
        pytest.param("http://a.corp", "must hold .* not http://a.corp", id="a URL"),
        pytest.param("a.corp:http", "must hold .* not a.corp:http", id="a port's name"),
        pytest.param("*corp", r"must hold .* not \*corp", id="half a label"),
        pytest.param("10.*", r"must hold .* 10.0.0.0/8.* not 10.\*", id="half an address"),
        pytest.param("[fd00::]/8", r"must hold .* not \[fd00::\]/8", id="brackets in a network"),
        pytest.param(
            "*.corp", r"\*.corp: write corp, .* below it too", id="a star for what is below"
        ),
        pytest.param("*.corp:80", r"\*.corp:80: write corp, .* below it", id="a star and a port"),
        pytest.param("a.corp:80", "a.corp:80: write a.corp, .* every port", id="a name's port"),
        pytest.param(".corp:80", ".corp:80: write .corp, .* every port", id="a suffix' port"),
        pytest.param("10.0.0.1:80", "10.0.0.1:80: write 10.0.0.1, .* port", id="an address' port"),
        pytest.param("[::1]:80", r"\[::1\]:80: write \[::1\], .* port", id="an IPv6 address' port"),
        pytest.param("*:80", r"\*:80: write \*, .* every port", id="every host's port"),
    ],
)
def test_a_rule_that_no_host_would_meet_is_refused_with_what_to_write(rule: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        egress.rules(f"localhost, {rule}, .svc")


@pytest.mark.parametrize(
    "rule",
    ["*", "corp", ".corp", "a_b.corp.", "10.0.0.1", "10.0.0.0/8", "::1", "[::1]", "fd00::/8"],
)
def test_a_rule_that_hosts_may_meet_stands_as_it_was_written(rule: str) -> None:
    assert egress.rules(f"{rule}, localhost") == (rule, "localhost")


def test_no_proxy_is_the_way_out_where_none_is_named() -> None:
    assert egress.through(egress.proxy(""), ["*"]) is None
