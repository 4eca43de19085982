"""When a program that runs until told otherwise ends."""

import asyncio
import os
import signal

import pytest

from bench.waiting import until
from pointsman import ending
from pointsman.ending import Stop


@pytest.mark.parametrize("number", ending.SIGNALS)
async def test_the_first_signal_asks_for_an_orderly_end_and_the_second_for_one_at_once(
    number: signal.Signals,
) -> None:
    at_once: list[str] = []
    stop = Stop()
    stop.on_second(lambda: at_once.append("now"))

    os.kill(os.getpid(), number)
    await stop.wished()
    after_one = list(at_once)
    os.kill(os.getpid(), number)
    await until(lambda: at_once, what="the second signal is heeded")

    assert after_one == []
    assert at_once == ["now"]


async def test_what_is_done_first_ends_the_others() -> None:
    ended = asyncio.Event()

    async def endless() -> str:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return "never"

    async def quick() -> str:
        return "done"

    assert await ending.first_of(endless(), quick()) == "done"
    assert ended.is_set()


async def test_of_two_that_are_done_at_once_the_first_counts() -> None:
    # Else a router that has just started would be lost, and outlive the command.
    async def called(name: str) -> str:
        return name

    assert await ending.first_of(called("a"), called("b")) == "a"


async def test_the_error_of_what_is_done_first_is_raised() -> None:
    async def fails() -> None:
        raise LookupError("why")

    with pytest.raises(LookupError, match="why"):
        await ending.first_of(asyncio.sleep(60), fails())
