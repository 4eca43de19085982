"""The published ConfigMaps of one namespace, as the API server lists and then changes them."""

import asyncio
import secrets
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus

import aiohttp
from kubernetes.aio.client import ApiClient, Configuration
from kubernetes.aio.config import ConfigException, load_incluster_config, load_kube_config

from pointsman_contract import labels
from pointsman_mirror import hearing
from pointsman_mirror.hearing import Cause, Event, Fault, Listed, Trouble

# A dial that an outage swallowed must not outlast the outage by much.
CONNECT_TIMEOUT_S = 3.0
LIST_TIMEOUT_S = 30.0
# The API server ends each watch; spread, lest routers that started together return together.
WATCH_BOUNDS_S = (240, 300)
# A stream that ends sooner, without a word, was refused rather than finished.
SHORTEST_STREAM_S = 1.0
# An object of the largest size, every character of it escaped, fits several times over.
LINE_MAX_BYTES = 32 * 1024 * 1024
# Short, since the most frequent fault is a watch that the API server had to end.
RETRY_FIRST_S = 0.2


@dataclass(frozen=True, slots=True)
class Source:
    """Where to ask, and how patiently."""

    namespace: str
    kubeconfig: str
    """Path of a kubeconfig; empty for the service account of the pod."""
    page_size: int
    silence_s: float
    retry_max_s: float


@dataclass(frozen=True, slots=True)
class _Api:
    client: ApiClient
    source: Source


async def events(source: Source) -> AsyncGenerator[Event, None]:
    """Yield what becomes known, for ever: first the whole set, then each change to it.

    Whatever goes wrong ends in a pause, fresh credentials and a new list: only a list tells what
    was deleted while nobody listened.
    """
    failures = 0
    while True:
        try:
            async with _connected(source) as api, aclosing(_session(api)) as session:
                async for event in session:
                    if not isinstance(event, Listed):
                        failures = 0
                    yield event
        except Fault as fault:
            failures += 1
            jittered_s = pause(failures, source.retry_max_s, secrets.SystemRandom().random())
            retry_in_s = max(jittered_s, fault.retry_after_s)
            yield Trouble(fault.cause, fault.message, retry_in_s)
            await asyncio.sleep(retry_in_s)


def pause(failures: int, max_s: float, jitter: float) -> float:
    """Return how long to wait after the n-th failure in a row; `jitter` lies within 0 and 1."""
    doubled_s = RETRY_FIRST_S * 2.0 ** min(failures - 1, 30)
    return min(doubled_s, max_s) * (1 + jitter) / 2


@asynccontextmanager
async def _connected(source: Source) -> AsyncIterator[_Api]:
    configuration = Configuration()
    try:
        if source.kubeconfig:
            await load_kube_config(  # type: ignore[no-untyped-call]  # the library's
                source.kubeconfig, client_configuration=configuration, persist_config=False
            )
        else:
            # It reads the projected token again each minute, long before the old one expires.
            load_incluster_config(  # type: ignore[no-untyped-call]  # the library's
                client_configuration=configuration
            )
        client = ApiClient(configuration)
    except Exception as exc:
        # The loader stumbles over a malformed file in whatever line of its own comes first.
        raise Fault(Cause.CONFIGURATION, _said(exc)) from exc
    client.user_agent = "pointsman-mirror"
    async with client:
        yield _Api(client, source)


async def _session(api: _Api) -> AsyncGenerator[Event, None]:
    page = await _page(api, "")
    items = dict(page.items)
    while page.more:
        page = await _page(api, page.more)
        items |= page.items
    yield Listed(items)
    version = page.version
    now_s = asyncio.get_running_loop().time
    while True:
        opened_s, heard = now_s(), False
        async with aclosing(_stream(api, version)) as lines:
            async for line in lines:
                version, change = hearing.change(line)
                heard = True
                yield change
        if not heard and now_s() - opened_s < SHORTEST_STREAM_S:
            raise Fault(Cause.CLOSED, "the API server ended a watch at once")


async def _page(api: _Api, more: str) -> hearing.Page:
    query = {"limit": str(api.source.page_size)} | ({"continue": more} if more else {})
    patience = aiohttp.ClientTimeout(total=LIST_TIMEOUT_S, connect=CONNECT_TIMEOUT_S)
    async with _answer(api, query, patience) as answer:
        return hearing.page(await answer.read())


async def _stream(api: _Api, version: str) -> AsyncGenerator[bytes, None]:
    shortest_s, longest_s = WATCH_BOUNDS_S
    query = {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "resourceVersion": version,
        "timeoutSeconds": str(shortest_s + secrets.randbelow(longest_s - shortest_s)),
    }
    # Bookmarks come about once a minute: a stream without any is dead, whatever TCP believes.
    patience = aiohttp.ClientTimeout(
        total=None, connect=CONNECT_TIMEOUT_S, sock_read=api.source.silence_s
    )
    async with _answer(api, query, patience) as answer:
        pending = bytearray()
        while chunk := await answer.content.readany():
            searched = len(pending)
            pending += chunk
            while (end := pending.find(b"\n", searched)) >= 0:
                yield bytes(pending[:end])
                del pending[: end + 1]
                searched = 0
            if len(pending) > LINE_MAX_BYTES:
                raise Fault(Cause.MALFORMED, f"an event is larger than {LINE_MAX_BYTES} bytes")


@asynccontextmanager
async def _answer(
    api: _Api, query: dict[str, str], patience: aiohttp.ClientTimeout
) -> AsyncIterator[aiohttp.ClientResponse]:
    try:
        method, url, headers, _, _ = await api.client.param_serialize(
            "GET",
            "/api/v1/namespaces/{namespace}/configmaps",
            path_params={"namespace": api.source.namespace},
            query_params=[("labelSelector", labels.SELECTOR), *query.items()],
            header_params={"Accept": "application/json"},
            auth_settings=["BearerToken"],
        )
    except (ConfigException, OSError) as exc:
        raise Fault(Cause.CONFIGURATION, _said(exc)) from exc
    try:
        called = await api.client.call_api(method, url, headers, _request_timeout=patience)
        answer: aiohttp.ClientResponse = called.response
        try:
            if answer.status != HTTPStatus.OK:
                retry_after = answer.headers.get("Retry-After")
                raise hearing.refusal(answer.status, await answer.read(), retry_after)
            yield answer
        finally:
            # Not given back: nobody will read the rest of a watch.
            answer.close()
    except aiohttp.SocketTimeoutError as exc:
        raise Fault(Cause.SILENT, f"no word within {patience.sock_read} s") from exc
    except (aiohttp.ClientError, OSError) as exc:
        raise Fault(Cause.UNREACHABLE, _said(exc)) from exc


def _said(exc: Exception) -> str:
    return f"{type(exc).__name__}: {exc}".removesuffix(": ")
