"""What all listings have to share: room for large pages, places to read offers, and turns."""

import asyncio

# 32 MiB of pages at most, at 2 MiB each.
_LARGE_PAGES = 16
# Reading an offer whole takes up to 24 times its bytes, for a moment.
_READING = 2


class Turns:
    """One after the other, and others' turn between two: a thousand at once would be a pause."""

    def __init__(self) -> None:
        self._taken = asyncio.Lock()

    async def next(self) -> None:
        """Return when it is one's turn."""
        async with self._taken:
            await asyncio.sleep(0)


class Desk:
    """Only an upstream that really sends a lot takes anything of it; one that hangs takes none."""

    def __init__(self) -> None:
        self.large_pages = asyncio.Semaphore(_LARGE_PAGES)
        self.reading = asyncio.Semaphore(_READING)
        self.turns = Turns()
