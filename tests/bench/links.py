"""The router's wire to one upstream, opened for a test and looked at for leaks afterwards."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any

from msgspec import structs

from bench.waiting import until
from pointsman_contract import rawjson
from pointsman_contract.meta import Exposed, Protocol
from pointsman_router.registry import Target
from pointsman_router.upstream import (
    Begun,
    Call,
    Desk,
    Dialler,
    Glance,
    Limits,
    Link,
    Listener,
    Result,
    RpcError,
    Trouble,
)
from pointsman_router.upstream.wording import OPEN_ARGUMENTS

# No test waits for what only real networks need.
QUICK = replace(Limits(), retry_pause_s=(0.0, 0.0))
_OWNERS = ("pointsman_router", "aiohttp")
# After so long a call that no task waits for gets one.
_QUICK_S = 0.05


class Lane:
    """The way of a test's calls: each in a task, or without one as long as nothing is unusual."""

    def __init__(self, *, waits: bool) -> None:
        self.waits = waits
        self.begun = 0
        """How many calls were sent without a task."""
        self.done = 0
        """How many of them were answered without one."""


class _Unwaited(Link):
    """A link whose calls are begun, looked at and handed over as the MCP port does it."""

    lane: Lane

    async def call(self, call: Call, listener: Listener | None = None) -> Result | RpcError:
        if call.wants_progress or call.headers or call.trace or "arguments" not in call.params:
            return await super().call(call, listener)
        await self._open()
        open_call = structs.replace(call, params={**call.params, "arguments": OPEN_ARGUMENTS})
        found: asyncio.Future[bytes | Glance] = asyncio.get_running_loop().create_future()
        begun: Begun | None = None

        def look() -> None:
            if found.done():
                return
            assert begun is not None, "nothing comes while it is sent"
            glanced = self.calls.glance(begun)
            if isinstance(glanced, bytes):
                self.calls.done(begun)
                self.lane.done += 1
            if glanced is not Glance.EARLY:
                found.set_result(glanced)

        begun = self.calls.begin(open_call, call.params["arguments"], None, look)
        if begun is None:
            return await super().call(call, listener)
        self.lane.begun += 1
        try:
            await asyncio.wait([found], timeout=_QUICK_S)
        except asyncio.CancelledError:
            if not begun.is_taken:
                # Whoever carries a call whose agent is gone takes it over, and is cancelled then.
                task = asyncio.current_task()
                assert task is not None
                task.cancel()
                await self.calls.call(call, listener, begun)
            raise
        if found.done() and isinstance(result := found.result(), bytes):
            return Result(result)
        found.cancel()
        return await self.calls.call(call, listener, begun)

    async def _open(self) -> None:
        """Have terms and a connection, as there are where an earlier call was answered."""
        # What keeps it from opening is told by the call itself.
        with suppress(Trouble, TimeoutError):
            self.calls.demand_open()
            async with asyncio.timeout(_QUICK_S):
                await self._standing.get()


_lane = Lane(waits=True)


def take(lane: Lane) -> None:
    """Have the calls of links that are made from now on go that way."""
    global _lane  # noqa: PLW0603 - a fixture sets it, so that tests need not hand it around
    _lane = lane


@asynccontextmanager
async def linked(
    url: str,
    limits: Limits = QUICK,
    *,
    protocol: Protocol = Protocol.LEGACY,
    exposes: Iterable[Exposed] = (Exposed.TOOLS,),
    dialler: Dialler | None = None,
    desk: Desk | None = None,
) -> AsyncIterator[Link]:
    """A link that leaves neither a connection nor a task behind.

    It asks nobody for the era unless told to: most tests count what a legacy server gets.
    """
    before = working()
    link = (Link if _lane.waits else _Unwaited)(
        Target("tools/peer", url, protocol, frozenset(exposes)),
        dialler=dialler or Dialler(limits),
        desk=desk or Desk(),
        version="1.2.3",
        limits=limits,
    )
    if isinstance(link, _Unwaited):
        link.lane = _lane
    try:
        yield link
    finally:
        await link.close()
    assert link.open_connections == 0
    await until(lambda: working() <= before, what="every task of the link has ended")


def a_call(
    name: str = "greet",
    arguments: bytes = b"{}",
    *,
    meta: Mapping[str, bytes] | None = None,
    timeout_s: float = 10.0,
    **more: Any,
) -> Call:
    """A call, with whatever the test does not care about."""
    params = {"name": rawjson.quote(name), "arguments": arguments}
    return Call("tools/call", params, meta or {}, timeout_s, **more)


def working() -> set[asyncio.Task[object]]:
    """The tasks of the router and of its HTTP client."""
    return {task for task in asyncio.all_tasks() if _owner(task)}


def _owner(task: asyncio.Task[object]) -> bool:
    code = getattr(task.get_coro(), "cr_code", None)
    return code is not None and any(owner in code.co_filename for owner in _OWNERS)
