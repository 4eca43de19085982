"""A router whose event loop is watched: it runs as always, and writes down how long each tick took.

python watched_router.py FILE takes its settings from the environment, as the router does. A line of
FILE is one tick that came late: when it came (by the machine's monotonic clock), how late, how much
processor the whole process took meanwhile, and how much of that the loop's own thread, all in
seconds. What a tick was late without taking processor, somebody else had.
"""

import asyncio
import os
import sys
import time
from pathlib import Path

from pointsman_router import __main__ as router
from pointsman_router.settings import Settings

TICK_S = 0.005
# Less is no pause, and not worth a line.
_LATE_S = 0.010


async def _watch(file: Path) -> None:
    with file.open("a", buffering=1) as lines:
        due_s, taken = time.monotonic() + TICK_S, _taken_s()
        while True:
            await asyncio.sleep(TICK_S)
            now_s, took = time.monotonic(), _taken_s()
            if (late_s := now_s - due_s) > _LATE_S:
                whole_s, loop_s = took[0] - taken[0], took[1] - taken[1]
                lines.write(f"{now_s:.6f} {late_s:.6f} {whole_s:.6f} {loop_s:.6f}\n")
            due_s, taken = now_s + TICK_S, took


def _taken_s() -> tuple[float, float]:
    return time.process_time(), time.thread_time()


def main(file: Path) -> int:
    """Run the router under watch; return its exit status."""
    serve = router.serve

    async def watched(chosen: Settings) -> int:
        watching = asyncio.create_task(_watch(file))
        try:
            return await serve(chosen)
        finally:
            watching.cancel()

    router.serve = watched
    return router.run([], os.environ)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
