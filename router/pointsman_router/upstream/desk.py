"""What all listings have to share: room for large pages, and places to read offers."""

import asyncio

# 32 MiB of pages at most, at 2 MiB each.
_LARGE_PAGES = 16
# Reading an offer whole takes up to 24 times its bytes, for a moment.
_READING = 2


class Desk:
    """Only an upstream that really sends a lot takes anything of it; one that hangs takes none."""

    def __init__(self) -> None:
        self.large_pages = asyncio.Semaphore(_LARGE_PAGES)
        self.reading = asyncio.Semaphore(_READING)
