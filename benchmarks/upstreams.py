"""The upstreams of a benchmark as one process: the healthy, the silent and the deaf.

python upstreams.py HEALTHY SILENT DEAF prints their ports as one JSON object and serves on.
"""

import asyncio
import contextlib
import json
import socket
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from bench import behaviours, ports
from bench.legacy_server import LegacyServer, tool
from bench.raw_upstream import Behaviour, RawUpstream

TOOLS = 5
# Full with this many who knock: the kernel keeps a little more than it is told.
_KNOCKS = 4


async def serve(healthy: int, silent: int, deaf: int) -> None:
    """Serve until the process ends."""
    async with contextlib.AsyncExitStack() as stack:

        async def listening(behaviour: Behaviour) -> int:
            return (await stack.enter_async_context(RawUpstream(behaviour))).port

        tools = [tool(f"tool-{number}", "A tool of a benchmark") for number in range(TOOLS)]
        found = {
            "healthy": [await listening(LegacyServer(tools)) for _ in range(healthy)],
            "silent": [await listening(behaviours.hangs()) for _ in range(silent)],
            "deaf": [deaf_port(stack) for _ in range(deaf)],
        }
        print(json.dumps(found), flush=True)
        await asyncio.Event().wait()


def deaf_port(stack: contextlib.ExitStack | contextlib.AsyncExitStack) -> int:
    """The port of a listener whose backlog is full, so that the kernel drops whoever knocks."""
    listener = stack.enter_context(socket.socket())
    listener.bind((ports.LOOPBACK, 0))
    listener.listen(0)
    for _ in range(_KNOCKS):
        knocking = stack.enter_context(socket.socket())
        knocking.setblocking(False)
        knocking.connect_ex(listener.getsockname())
    return int(listener.getsockname()[1])


if __name__ == "__main__":
    asyncio.run(serve(*map(int, sys.argv[1:])))
