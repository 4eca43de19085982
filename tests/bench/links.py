"""The router's wire to one upstream, opened for a test and looked at for leaks afterwards."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from bench.waiting import until
from pointsman_contract import rawjson
from pointsman_contract.meta import Exposed, Protocol
from pointsman_router.registry import Target
from pointsman_router.upstream import Call, Desk, Dialler, Limits, Link

# No test waits for what only real networks need.
QUICK = replace(Limits(), retry_pause_s=(0.0, 0.0))
_OWNERS = ("pointsman_router", "aiohttp")


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
    link = Link(
        Target("tools/peer", url, protocol, frozenset(exposes)),
        dialler=dialler or Dialler(limits),
        desk=desk or Desk(),
        version="1.2.3",
        limits=limits,
    )
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
