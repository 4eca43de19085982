"""When a tool answers for the first time.

python watch.py URL      for each tool's name on standard input: a line with the time of day
"""

import asyncio
import sys
import time

import aiohttp
from wire import Wrong, call

# Far below what is measured; a tighter loop would only take the processor from the product.
EVERY_S = 0.01
# Longer than anything that could still be called a change; then there is no answer to wait for.
WITHIN_S = 60.0
ARGUMENTS = {"time": "2026-07-28T09:00:00", "from_zone": "UTC", "to_zone": "UTC"}


async def watch(url: str) -> None:
    loop = asyncio.get_running_loop()
    async with aiohttp.ClientSession() as session:
        while tool := (await loop.run_in_executor(None, sys.stdin.readline)).strip():
            print("watching", flush=True)
            print(await first_answer(session, url, tool), flush=True)


async def first_answer(session: aiohttp.ClientSession, url: str, tool: str) -> float:
    async with asyncio.timeout(WITHIN_S):
        while True:
            if await answers(session, url, tool):
                return time.time()
            await asyncio.sleep(EVERY_S)


async def answers(session: aiohttp.ClientSession, url: str, tool: str) -> bool:
    try:
        await call(session, url, tool, ARGUMENTS)
    except Wrong:
        return False
    return True


if __name__ == "__main__":
    asyncio.run(watch(sys.argv[1]))
