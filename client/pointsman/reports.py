"""The newest report of a router, followed as it changes."""

import asyncio
from collections.abc import AsyncIterator
from http import HTTPStatus

import aiohttp

from pointsman_contract import report
from pointsman_contract.report import Report

# How long one question may stay unanswered while nothing changes.
WAIT_S = 20
# On top of it, for the answer itself.
SLACK_S = 5.0
RETRY_S = 0.5


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
