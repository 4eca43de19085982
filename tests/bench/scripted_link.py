"""A way to a server whose every step a test decides."""

import asyncio
from collections.abc import Awaitable, Callable

from pointsman_router.jsonrpc import RpcError
from pointsman_router.upstream import Call, Listener, Notice, Result, Trouble

OK = Result(b'{"content":[]}')
Script = Callable[[Call, "Tell"], Awaitable[Result | RpcError]]
Tell = Callable[[Notice], Awaitable[None]]


async def _nobody(_: Notice) -> None:
    """Hear what nobody asked for."""


class ScriptedLink:
    """Follows a script for each call, and remembers what was asked and what became of it."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self.calls: list[Call] = []
        self.heard_by: list[Listener | None] = []
        self.cancelled = 0
        self.ended = 0

    async def call(self, call: Call, listener: Listener | None = None) -> Result | RpcError:
        self.calls.append(call)
        self.heard_by.append(listener)
        try:
            return await self._script(call, listener or _nobody)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.ended += 1


def answers(*replies: Result | RpcError | Trouble) -> Script:
    """Give these answers, one a call, the last one for ever."""
    left = list(replies)

    async def script(call: Call, tell: Tell) -> Result | RpcError:
        reply = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(reply, Trouble):
            raise reply
        return reply

    return script


def tells(*notices: Notice, then: Result | RpcError = OK) -> Script:
    """Say these things, then answer."""

    async def script(call: Call, tell: Tell) -> Result | RpcError:
        for notice in notices:
            await tell(notice)
        return then

    return script


def waits(event: asyncio.Event, *notices: Notice, then: Result | RpcError = OK) -> Script:
    """Say these things, and answer once the event is set."""

    async def script(call: Call, tell: Tell) -> Result | RpcError:
        for notice in notices:
            await tell(notice)
        await event.wait()
        return then

    return script


def progress(number: int, **more: bytes) -> Notice:
    """A notice of progress, as a link hands it on."""
    return Notice("notifications/progress", {"progress": b"%d" % number, **more})


def logged(text: bytes) -> Notice:
    """A log message, as a link hands it on."""
    return Notice("notifications/message", {"level": b'"info"', "data": text})
