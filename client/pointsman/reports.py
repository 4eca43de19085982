"""The newest report of a router, once or followed as it changes."""

import asyncio
from collections.abc import AsyncIterator
from http import HTTPStatus
from urllib.parse import urlsplit

import aiohttp

from pointsman import agent, envelope
from pointsman_contract import report
from pointsman_contract.report import Report

# How long one question may stay unanswered while nothing changes.
WAIT_S = 20
# On top of it, for the answer itself.
SLACK_S = 5.0
RETRY_S = 0.5
# A router that does not wait for news answers at once; a large report takes its time on the way.
ONCE_TIMEOUT_S = 30.0


async def once(url: str) -> Report:
    """Return the report of the router whose admin port `url` names, with or without a path.

    Raises InvalidAddress, NotReached, NoAnswer.
    """
    parts = urlsplit(agent.address(url))
    timeout = aiohttp.ClientTimeout(total=ONCE_TIMEOUT_S, sock_connect=agent.CONNECT_TIMEOUT_S)
    with agent.told():
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.get(
                f"{parts.scheme}://{parts.netloc}/status", allow_redirects=False
            ) as response,
        ):
            body = await agent.whole(response)
    try:
        if response.status == HTTPStatus.OK:
            return _newest(None, body)
    except ValueError:
        pass
    raise envelope.NoAnswer(
        f"HTTP {response.status}, {response.content_type}, but no report: is this a router's admin"
        " port?"
    )


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
