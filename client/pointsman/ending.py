"""The wish to end a program that runs until told otherwise, and what is dropped then."""

import asyncio
import signal
from collections.abc import Callable, Coroutine
from typing import TypeVar

T = TypeVar("T")

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stop:
    """A person's wish to end: the first time in order, the second time at once."""

    def __init__(self) -> None:
        self._wished = asyncio.Event()
        self._at_once: Callable[[], None] = lambda: None
        for number in SIGNALS:
            asyncio.get_running_loop().add_signal_handler(number, self._wish)

    async def wished(self) -> None:
        """Return once the end is wished."""
        await self._wished.wait()

    def on_second(self, at_once: Callable[[], None]) -> None:
        """Say what ends everything at once."""
        self._at_once = at_once

    def _wish(self) -> None:
        if self._wished.is_set():
            self._at_once()
        self._wished.set()


async def first_of(*work: Coroutine[object, object, T]) -> T:
    """Return what the first of `work` to be done brings, or its error; the others end.

    Of several that are done at once, the one named first counts.
    """
    tasks = [asyncio.ensure_future(each) for each in work]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return next(task for task in tasks if task.done()).result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
