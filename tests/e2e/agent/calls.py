"""A load of calls at a fixed rate, each answer checked; none is tried again.

python calls.py URL RATE LEAST

Prints a line once calls succeed, and JSON when standard input has ended and LEAST calls were made.
Half of the calls keep their connections, as agents do; half open one each, as scripts do.
"""

import asyncio
import json
import sys
import time
from collections import Counter
from dataclasses import dataclass, field

import aiohttp
from wire import Wrong, call

TIMEOUT = aiohttp.ClientTimeout(total=30)


@dataclass(slots=True)
class Tally:
    good: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    begun: float = field(default_factory=time.time)


async def one(session: aiohttp.ClientSession, url: str, number: int, tally: Tally) -> None:
    # No other call of the same time has this result.
    moment = f"2026-01-01T{number // 60 % 24:02}:{number % 60:02}"
    arguments = {"time": f"{moment}:00", "from_zone": "UTC", "to_zone": "UTC"}
    begun = time.monotonic()
    try:
        text = await call(session, url, "clock.convert", arguments)
        if not text.startswith(moment):
            raise Wrong(f"{moment} became {text[:80]}")
        tally.good += 1
    except (Wrong, aiohttp.ClientError, TimeoutError, ValueError) as error:
        fresh = session.connector is not None and session.connector.force_close
        where = "its own" if fresh else "a kept"
        tally.failed[f"on {where} connection: {type(error).__name__}: {error}"[:240]] += 1
    tally.seconds.append(time.monotonic() - begun)


async def load(url: str, rate: float, least: int) -> Tally:
    loop = asyncio.get_running_loop()
    ended = loop.run_in_executor(None, sys.stdin.read)
    keeping = aiohttp.ClientSession(timeout=TIMEOUT)
    opening = aiohttp.ClientSession(
        timeout=TIMEOUT, connector=aiohttp.TCPConnector(force_close=True)
    )
    async with keeping, opening:
        await one(keeping, url, 0, warm := Tally())
        if warm.failed:
            raise SystemExit(f"no call succeeds: {warm.failed}")
        tally, begun, number = Tally(), loop.time(), 0
        print("calling", flush=True)
        async with asyncio.TaskGroup() as calls:
            while number < least or not ended.done():
                number += 1
                calls.create_task(one((keeping, opening)[number % 2], url, number, tally))
                await asyncio.sleep(max(0.0, begun + number / rate - loop.time()))
    return tally


def main(url: str, rate: str, least: str) -> None:
    tally = asyncio.run(load(url, float(rate), int(least)))
    seconds = sorted(tally.seconds)
    print(
        json.dumps(
            {
                "good": tally.good,
                "failed": sum(tally.failed.values()),
                "failures": dict(tally.failed.most_common(5)),
                "begun": tally.begun,
                "ended": time.time(),
                "p50_s": seconds[len(seconds) // 2],
                "p99_s": seconds[len(seconds) * 99 // 100],
                "max_s": seconds[-1],
            }
        )
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
