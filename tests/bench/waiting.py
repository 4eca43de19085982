"""How a test waits: for an outcome, with a deadline, never for a time."""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar, overload

T = TypeVar("T")

EVERY_S = 0.05


class NotInTime(AssertionError):
    """What was waited for did not come; the message holds what was last seen instead."""


class _Watch:
    """One wait: what was seen last, and whether its time is over."""

    def __init__(self, deadline_s: float, what: str) -> None:
        self._what = what
        self._deadline_s = deadline_s
        self._end = time.monotonic() + deadline_s
        self._seen = "nothing yet"

    def saw(self, value: object) -> None:
        self._seen = repr(value)
        if time.monotonic() >= self._end:
            raise NotInTime(f"not in {self._deadline_s:g} s: {self._what}; last seen: {self._seen}")


@overload
async def until(
    probe: Callable[[], Awaitable[T | None]],
    deadline_s: float = 10.0,
    what: str = "",
    *,
    ignoring: tuple[type[Exception], ...] = (),
    every_s: float = EVERY_S,
) -> T: ...
@overload
async def until(
    probe: Callable[[], T | None],
    deadline_s: float = 10.0,
    what: str = "",
    *,
    ignoring: tuple[type[Exception], ...] = (),
    every_s: float = EVERY_S,
) -> T: ...
async def until(
    probe: Callable[[], object],
    deadline_s: float = 10.0,
    what: str = "",
    *,
    ignoring: tuple[type[Exception], ...] = (),
    every_s: float = EVERY_S,
) -> object:
    """The first truthy value of `probe`, a plain or an async callable, or `NotInTime`.

    Exceptions named in `ignoring` count as "not yet"; any other ends the wait at once.
    """
    watch = _Watch(deadline_s, what or _name(probe))
    while True:
        try:
            value = probe()
            if inspect.isawaitable(value):
                value = await value
        except ignoring as error:
            watch.saw(error)
        else:
            if value:
                return value
            watch.saw(value)
        await asyncio.sleep(every_s)


def wait_until(
    probe: Callable[[], T | None],
    deadline_s: float = 10.0,
    what: str = "",
    *,
    ignoring: tuple[type[Exception], ...] = (),
    every_s: float = EVERY_S,
) -> T:
    """The first truthy value of `probe` for tests and fixtures that are not async."""
    watch = _Watch(deadline_s, what or _name(probe))
    while True:
        try:
            value = probe()
        except ignoring as error:
            watch.saw(error)
        else:
            if value:
                return value
            watch.saw(value)
        time.sleep(every_s)


def _name(probe: Callable[..., object]) -> str:
    return getattr(probe, "__qualname__", repr(probe))
