"""How fresh, how steady and how equal lists are, and what renewing them costs everybody else.

| figure                 | of what                                                               |
|------------------------|-----------------------------------------------------------------------|
| `notified_s`           | the slowest of twenty changes of an upstream, from its own notice      |
|                        | until an agent that was told of it holds the new list                  |
| `pause_ms`             | the longest that a router's event loop stood still while the snapshot  |
|                        | of 1,000 servers with 20 tools of 1 KiB was made anew                  |
| `revisions_equal`      | whether three routers over one directory list the same bytes           |
| `flap_changes_per_min` | how often an agent is told of changes by upstreams that are up for a   |
|                        | second and down for a second, and whose tools stay listed throughout   |
"""

import asyncio
import json
import random
import statistics
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import AsyncExitStack, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import changing_upstreams
import listening_agent
import pauses
import uvloop
from changing_upstreams import change
from figures import Figures, parser, show
from listening_agent import Agent

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from bench import directories, stack  # noqa: E402 - found by the line above
from bench.legacy_server import LegacyServer, tool  # noqa: E402
from bench.modern_server import ModernServer  # noqa: E402
from bench.ports import LOOPBACK  # noqa: E402
from bench.processes import Program  # noqa: E402
from bench.raw_upstream import RawUpstream  # noqa: E402
from bench.waiting import until, wait_until  # noqa: E402

_START_S = 60.0
_CHANGE_S = 20.0


@dataclass(frozen=True, slots=True)
class Size:
    """How much is measured."""

    servers: int = 1000
    changes: int = 20
    flapping_s: float = 120.0
    watched_s: float = 3.0


QUICK = Size(servers=100, changes=6, flapping_s=12.0, watched_s=1.0)


class Vanished(Exception):
    """A tool left the list although its upstream only came and went."""


async def measure(size: Size) -> Figures:
    """Run everything and return the figures."""
    with tempfile.TemporaryDirectory() as folder, upstreams() as port:
        found: dict[str, float | int | bool | str | None] = {}
        found |= await _notified(Path(folder) / "notified", port, size)
        found |= await pauses.measure(Path(folder) / "pauses", port, size.servers, size.watched_s)
        found |= await _equal(Path(folder) / "equal", port, size)
        found |= await _flapping(Path(folder) / "flapping", size)
    return found


# From an upstream to an agent.


async def _notified(directory: Path, port: int, size: Size) -> Figures:
    """Change two servers, one of each era, at times that fit nothing; some soon after another."""
    chance = random.Random(1)
    paths = {era: f"/{era}/notified/mcp" for era in ("legacy", "modern")}
    for era, path in paths.items():
        directories.lay(directory, era, url=f"http://{LOOPBACK}:{port}{path}")
    took_s = []
    with stack.router(directory) as (_, url, _):
        async with listening_agent.at(url) as agent:
            await until(lambda: _has(agent, {"legacy.tool_00", "modern.tool_00"}), what="both")
            await asyncio.sleep(2.0)  # both streams of changes are open by then
            for number in range(size.changes):
                era = ("legacy", "modern")[number % 2]
                took_s.append(await _reaches(agent, port, paths[era], f"{era}.tool_00"))
                await asyncio.sleep(chance.choice([0.0, 0.05, 0.3, 0.7, 1.2]))
    told = [round(each, 3) for each in took_s]
    print(f"changes reached the agent after {told} s", file=sys.stderr)
    return {
        "notified_s": round(max(took_s), 3),
        "notified_p50_s": round(statistics.median(took_s), 3),
    }


async def _reaches(agent: Agent, port: int, path: str, name: str) -> float:
    """Change a server, and return after how long the agent that was told holds the new list."""
    before = changing_upstreams.version_of((await agent.tools())[name])
    sent = await asyncio.to_thread(change, port, [path])
    while True:
        async with asyncio.timeout(_CHANGE_S):
            await agent.next_change()
        if changing_upstreams.version_of((await agent.tools())[name]) > before:
            return time.monotonic() - sent


async def _has(agent: Agent, names: set[str]) -> bool:
    return names <= (await agent.tools()).keys()


# Three routers.


async def _equal(directory: Path, port: int, size: Size) -> Figures:
    """Compare three routers: at first, after a change, and after one of them began anew."""
    for number in range(20):
        path = f"/{('legacy', 'modern')[number % 2]}/equal-{number}/mcp"
        directories.lay(directory, f"equal-{number}", url=f"http://{LOOPBACK}:{port}{path}")
    changed = ["/legacy/equal-0/mcp", "/modern/equal-1/mcp"]
    with ExitStack() as opened:
        routers = [opened.enter_context(stack.router(directory)) for _ in range(3)]
        equal = [await _agree(routers, 0)]
        await asyncio.sleep(2.0)  # every stream of changes is open by then
        await asyncio.to_thread(change, port, changed)
        equal.append(await _agree(routers, 1))
        program, _, admin = routers[0]
        program.stop()
        program.start()
        program.wait_for_url(f"{admin}/readyz", _START_S)
        equal.append(await _agree(routers, 1))
    return {"revisions_equal": all(equal)}


async def _agree(routers: list[tuple[Program, str, str]], version: int) -> bool:
    """Wait until every router has the list of that version; say whether all say the same."""
    said = []
    for _, url, admin in routers:
        await until(
            lambda url=url: _is_at(url, version),  # type: ignore[misc] # its only argument
            _CHANGE_S,
            f"version {version}",
        )
        revision = (await asyncio.to_thread(_report, admin))["catalogue"]
        lists = []
        for form in ("dotted", "safe"):
            async with listening_agent.at(f"{url}?names={form}", listening=False) as agent:
                lists.append(await agent.raw("tools/list"))
        said.append((revision, *lists))
    return all(each == said[0] for each in said) and said[0][1] != said[0][2]


def _report(admin: str) -> dict[str, Any]:
    with urllib.request.urlopen(f"{admin}/status", timeout=20) as answer:
        found: dict[str, Any] = json.load(answer)
    return found


async def _is_at(url: str, version: int) -> bool:
    async with listening_agent.at(f"{url}?names=dotted", listening=False) as agent:
        tools = await agent.tools()
    found = [tools.get(name) for name in ("equal_0.tool_00", "equal_1.tool_00")]
    return len(tools) == 20 * changing_upstreams.TOOLS and all(
        tool and changing_upstreams.version_of(tool) == version for tool in found
    )


# Upstreams that come and go.


async def _flapping(directory: Path, size: Size) -> Figures:
    """Let upstreams come and go, and hear what an agent is told of it."""
    legacy, modern = (
        LegacyServer([tool("stays")]),
        ModernServer([tool("stays")], tells_changes=True),
    )
    async with AsyncExitStack() as opened:
        ups = [await opened.enter_async_context(RawUpstream(each)) for each in (legacy, modern)]
        for name, up in zip(("legacy", "modern"), ups, strict=True):
            directories.lay(directory, name, url=up.url())
        wanted = {"legacy.stays", "modern.stays"}
        _, url, _ = opened.enter_context(stack.router(directory))
        agent = await opened.enter_async_context(listening_agent.at(url))
        await until(lambda: _has(agent, wanted), what="both servers are listed")
        await asyncio.sleep(2.0)  # the last notice of their coming is told by then
        began_s = time.monotonic()
        flapping = asyncio.create_task(_come_and_go(ups, legacy))
        while time.monotonic() - began_s < size.flapping_s:
            if not wanted <= (await agent.tools()).keys():
                raise Vanished
            await asyncio.sleep(0.1)
        flapping.cancel()
        await asyncio.gather(flapping, return_exceptions=True)
        heard = sum(at_s >= began_s for at_s in agent.heard_at_s)
    return {"flap_changes_per_min": round(heard * 60 / size.flapping_s, 2)}


async def _come_and_go(ups: list[RawUpstream], legacy: LegacyServer) -> None:
    while True:
        await asyncio.gather(*(up.stop() for up in ups))
        legacy.forget_sessions()
        await asyncio.sleep(1.0)
        await asyncio.gather(*(up.start() for up in ups))
        await asyncio.sleep(1.0)


# The upstreams that change.


@contextmanager
def upstreams() -> Iterator[int]:
    """Run the upstreams that change when they are told to; their port."""
    script = Path(__file__).with_name("changing_upstreams.py")
    with Program("upstreams", [sys.executable, str(script)]) as program:
        wait_until(lambda: program.output.endswith("\n"), _START_S, "the upstreams listen")
        yield int(program.output)


if __name__ == "__main__":
    made = parser(__doc__ or "")
    made.add_argument("--quick", action="store_true", help="a tenth of everything")
    chosen = made.parse_args()
    show(uvloop.run(measure(QUICK if chosen.quick else Size())), as_json=chosen.json)
