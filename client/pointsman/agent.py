"""An agent's view of a router: the tools that it lists, and what calling one brings."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit, urlunsplit

import aiohttp

from pointsman import envelope, listing
from pointsman.envelope import Question
from pointsman.listing import Tool
from pointsman_contract import rawjson

MCP_PATH = "/mcp"

# A router on this machine or in this cluster accepts at once, or is not there.
CONNECT_TIMEOUT_S = 5.0
# Longer than the longest deadline that a server may have, so that the router's own words arrive.
ANSWER_TIMEOUT_S = 330.0
# More than any router lets through; a stream without end stops here.
ANSWER_MAX_BYTES = 256 * 1024 * 1024
# A list that goes on for longer never ends.
MAX_PAGES = 1000


class NotReached(Exception):
    """There is no router at the address; the message says what is there instead."""


class InvalidAddress(ValueError):
    """The address is none; the message says what to change."""


def address(url: str, names: str | None = None) -> str:
    """Return where `url` has its MCP endpoint, asking for one form of names where one is given.

    Raises InvalidAddress.
    """
    try:
        parts = urlsplit(url)
        has_port = parts.port is None or parts.port > 0
    except ValueError:
        raise InvalidAddress(f"{url!r} is no URL") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or not has_port:
        raise InvalidAddress(f"{url!r} must look like http://127.0.0.1:8080{MCP_PATH}")
    path = parts.path if parts.path not in ("", "/") else MCP_PATH
    query = _asking_for(names, parts.query) if names else parts.query
    return urlunsplit((parts.scheme, parts.netloc, path, query, ""))


def _asking_for(names: str, query: str) -> str:
    """Return a query that asks for one form of names, and whatever else it asked before."""
    others = [pair for pair in query.split("&") if pair and pair.partition("=")[0] != "names"]
    return "&".join([*others, f"names={names}"])


class Agent:
    """One caller of one router, without a session: every request stands alone."""

    def __init__(self, url: str, version: str) -> None:
        self._url = url
        self._version = version
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        timeout = aiohttp.ClientTimeout(total=ANSWER_TIMEOUT_S, sock_connect=CONNECT_TIMEOUT_S)
        self._session = aiohttp.ClientSession(timeout=timeout)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._session:
            await self._session.close()

    async def tools(self) -> list[Tool]:
        """Return every listed tool; raises NotReached, NoAnswer, Refused."""
        found: list[Tool] = []
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            answer = await self._ask(envelope.list_tools(self._version, cursor))
            try:
                page = listing.page(answer)
            except rawjson.Malformed:
                raise envelope.NoAnswer("a list without tools") from None
            found += page.tools
            if page.next_cursor is None:
                return found
            if page.next_cursor == cursor:
                break
            cursor = page.next_cursor
        raise envelope.NoAnswer("a list that does not end")

    async def call(self, name: str, arguments: bytes) -> bytes:
        """Return the result of a tool as the JSON that came; raises as `tools` does."""
        return await self._ask(envelope.call_tool(self._version, name, arguments))

    async def _ask(self, question: Question) -> bytes:
        if self._session is None:
            raise RuntimeError("use it as a context manager")
        with told():
            async with self._session.post(
                self._url, data=question.body, headers=question.headers, allow_redirects=False
            ) as response:
                body = await whole(response)
                return envelope.result(response.status, response.content_type, body)


@contextmanager
def told() -> Iterator[None]:
    """Tell what went wrong on the wire in a sentence: raises NotReached, NoAnswer."""
    try:
        yield
    except aiohttp.ClientConnectorCertificateError as exc:
        raise envelope.NoAnswer("its certificate is not trusted here") from exc
    except aiohttp.ClientSSLError as exc:
        raise envelope.NoAnswer("it does not speak TLS: is it http:// instead?") from exc
    except aiohttp.ClientConnectorError as exc:
        raise NotReached(f"nothing answers ({_cause(exc)})") from exc
    except TimeoutError as exc:
        raise NotReached("no answer in time") from exc
    except (aiohttp.ClientError, ValueError) as exc:
        raise NotReached("the connection broke, or what answers is no HTTP server") from exc


async def whole(response: aiohttp.ClientResponse) -> bytes:
    """Return the body of an answer; raises NoAnswer where it does not end."""
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > ANSWER_MAX_BYTES:
            raise envelope.NoAnswer(f"an answer of more than {ANSWER_MAX_BYTES} bytes")
    return bytes(body)


def _cause(error: aiohttp.ClientConnectorError) -> str:
    number = error.os_error.errno
    return os.strerror(number).lower() if number and number > 0 else "no such host"
