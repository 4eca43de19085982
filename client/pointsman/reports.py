"""The newest report of a router, once or followed as it changes."""

import asyncio
from collections.abc import AsyncIterator
from http import HTTPStatus
from urllib.parse import urlsplit

import aiohttp

from pointsman import agent
from pointsman_contract import report
from pointsman_contract.report import Report

# How long one question may stay unanswered while nothing changes.
WAIT_S = 20
# On top of it, for the answer itself.
SLACK_S = 5.0
RETRY_S = 0.5
# A router that does not wait for news answers at once; a large report takes its time on the way.
ONCE_TIMEOUT_S = 30.0

_HINT = "is a router's admin port there? `kubectl port-forward` brings one here"


class NotReported(Exception):
    """What is at the address reports nothing; the message names it, and what it does instead."""


async def once(url: str) -> Report:
    """Return the report of the router at `url` as it is now; raises NotReported, InvalidAddress."""
    asked = f"{_address(url)}/status"
    timeout = aiohttp.ClientTimeout(total=ONCE_TIMEOUT_S)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.get(asked, allow_redirects=False) as response,
        ):
            status, body = response.status, await response.read()
        if status == HTTPStatus.OK:
            return _newest(None, body)
        problem = f"HTTP {status}, but no report"
    except aiohttp.ClientConnectorError as exc:
        problem = f"nothing answers ({agent.cause(exc)})"
    except TimeoutError:
        problem = "no answer in time"
    except aiohttp.ClientError:
        problem = "the connection broke, or what answers is no HTTP server"
    except ValueError:
        problem = "what it answers is no report"
    raise NotReported(f"{url}: {problem}; {_HINT}")


async def follow(session: aiohttp.ClientSession, admin_url: str) -> AsyncIterator[Report]:
    """Yield the router's report, and each later one that says something else."""
    newest: Report | None = None
    tag: str | None = None
    timeout = aiohttp.ClientTimeout(total=WAIT_S + SLACK_S)
    while True:
        asked = {"since": tag, "wait": str(WAIT_S)} if tag else {}
        try:
            async with session.get(
                f"{admin_url}/status", params=asked, timeout=timeout
            ) as response:
                if response.status == HTTPStatus.NOT_MODIFIED:
                    continue
                newest = _newest(newest, await response.read())
                tag = response.headers.get("ETag")
        except (aiohttp.ClientError, TimeoutError, ValueError):
            newest = tag = None
            await asyncio.sleep(RETRY_S)
        else:
            yield newest


def _newest(known: Report | None, body: bytes) -> Report:
    answer = report.load(body)
    if isinstance(answer, Report):
        return answer
    if known is None:
        raise ValueError("a change of a report that is not known")
    return report.apply(known, answer)


def _address(url: str) -> str:
    try:
        parts = urlsplit(url)
        is_one = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        is_one = False
    if not is_one:
        raise agent.InvalidAddress(f"{url!r} must look like http://127.0.0.1:9090")
    return url.rstrip("/").removesuffix("/status")
