"""How long a router stands still while the lists of a thousand servers are renewed."""

import asyncio
import json
import statistics
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import changing_upstreams
import listening_agent
from changing_upstreams import change
from figures import Figures
from listening_agent import Agent

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from bench import directories  # noqa: E402 - found by the line above
from bench.ports import LOOPBACK, free_port  # noqa: E402
from bench.processes import Program  # noqa: E402
from bench.waiting import until  # noqa: E402

_START_S = 120.0
_EVERY_S = 0.005
_Metas = Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class Pause:
    """The longest pause of a while, in milliseconds."""

    wall: float
    own: float
    """At most as much as the whole router took of the processor meanwhile."""
    loop: float
    """At most as much as the loop's own thread took of it."""
    ping: float
    """How much longer than usual an agent waited for an answer."""


@dataclass(frozen=True, slots=True)
class _Phase:
    """Something that makes the router renew its lists, and how its end is known."""

    name: str
    disturb: Callable[[], object]
    last: str
    """The server that is looked at; the others come before it or beside it."""
    version: int
    """Which list it has then."""


async def measure(directory: Path, port: int, servers: int, watched_s: float) -> Figures:
    """Renew everything in each way that there is, and watch the loop from inside and outside."""
    metas = {f"bench.{_name(number)}": _meta(port, number) for number in range(servers)}
    directories.generation(directory, metas)
    late, last = directory.with_name("late"), _name(servers - 1)
    amended = _amended(metas)
    phases = (
        _Phase("quiet", lambda: None, last, 0),
        _Phase("one changes", lambda: change(port, [f"/modern/{last}/mcp"]), last, 1),
        _Phase("all change", lambda: change(port, None), last, 2),
        _Phase("generation", lambda: directories.generation(directory, amended), "newcomer", 1),
        _Phase("addresses", lambda: directories.generation(directory, _moved(amended)), last, 0),
    )
    found: dict[str, Pause] = {}
    with _watched_router(directory, late) as url:
        async with AsyncExitStack() as opened:
            await opened.enter_async_context(listening_agent.at(url))
            # Not by the whole list: to read twenty megabytes of it would be felt here.
            await until(lambda: _has(url, phases[0]), _START_S, "everything is listed")
            pings = await opened.enter_async_context(_pinged(url))
            for phase in phases:
                await asyncio.sleep(watched_s)
                began_s = time.monotonic()
                await asyncio.to_thread(phase.disturb)
                await until(
                    lambda phase=phase: _has(url, phase),  # type: ignore[misc] # its only argument
                    _START_S,
                    phase.name,
                )
                await asyncio.sleep(watched_s)
                found[phase.name] = _pause(late, pings, began_s)
    for name, each in found.items():
        print(f"{name:<12} {each}", file=sys.stderr)
    return _worst(found)


def _worst(found: Mapping[str, Pause]) -> Figures:
    busy = [each for name, each in found.items() if name != "quiet"]
    return {
        "pause_ms": round(max(each.wall for each in busy), 1),
        "pause_own_ms": round(max(each.own for each in busy), 1),
        "pause_quiet_ms": round(found["quiet"].wall, 1),
        "ping_over_median_ms": round(max(each.ping for each in busy), 1),
    }


def _name(number: int) -> str:
    return f"s{number:04}"


def _meta(port: int, number: int) -> bytes:
    name = _name(number)
    url = f"http://{LOOPBACK}:{port}/modern/{name}/mcp"
    return directories.document(url=url, name=name, namespace="bench")


def _amended(metas: _Metas) -> _Metas:
    """Every meta says something else, one server is gone and one has come."""
    changed = {
        folder: json.dumps({**json.loads(meta), "timeoutSeconds": 61}).encode()
        for folder, meta in metas.items()
    }
    first, *_ = changed
    new = json.loads(changed.pop(first)) | {"name": "newcomer"}
    return {**changed, "bench.newcomer": json.dumps(new).encode()}


def _moved(metas: _Metas) -> _Metas:
    """Every upstream is at another address."""
    return {
        folder: meta.replace(b"/modern/s", b"/modern/moved-s") for folder, meta in metas.items()
    }


async def _has(url: str, phase: _Phase) -> bool:
    at = f"{url}/servers/bench/{phase.last}"
    async with listening_agent.at(at, listening=False) as agent:
        answer = json.loads(await agent.raw("tools/list"))
    tools = answer.get("result", {}).get("tools", [])
    versions = {changing_upstreams.version_of(tool) for tool in tools}
    return len(tools) == changing_upstreams.TOOLS and versions == {phase.version}


def _pause(late: Path, pings: list[tuple[float, float]], since_s: float) -> Pause:
    """The longest pause since then, as the loop and as an agent saw it."""
    lines = [tuple(map(float, line.split())) for line in late.read_text().splitlines()]
    ticks = [each for at_s, *each in lines if at_s >= since_s]
    waited = [took_s for at_s, took_s in pings if at_s >= since_s]
    return Pause(
        wall=max((late_s for late_s, _, _ in ticks), default=0.0) * 1000,
        own=max((min(late_s, took_s) for late_s, took_s, _ in ticks), default=0.0) * 1000,
        loop=max((min(late_s, took_s) for late_s, _, took_s in ticks), default=0.0) * 1000,
        ping=(max(waited) - statistics.median(waited)) * 1000 if waited else 0.0,
    )


@contextmanager
def _watched_router(directory: Path, late: Path) -> Iterator[str]:
    port, admin = free_port(), free_port()
    settings = {
        "DIRECTORY": str(directory),
        "HOST": LOOPBACK,
        "PORT": str(port),
        "ADMIN_HOST": LOOPBACK,
        "ADMIN_PORT": str(admin),
        "LINGER_SECONDS": "0",
    }
    environment = {f"POINTSMAN_ROUTER_{name}": value for name, value in settings.items()}
    late.touch()
    script = Path(__file__).with_name("watched_router.py")
    command = [sys.executable, str(script), str(late)]
    with Program("router", command, environment=environment) as program:
        program.wait_for_url(f"http://{LOOPBACK}:{admin}/readyz", _START_S)
        yield f"http://{LOOPBACK}:{port}/mcp"


@asynccontextmanager
async def _pinged(url: str) -> AsyncIterator[list[tuple[float, float]]]:
    """Ask again and again; when each answer came, and after how long."""
    found: list[tuple[float, float]] = []

    async def go(agent: Agent) -> None:
        while True:
            began_s = time.monotonic()
            await agent.raw("server/discover")
            found.append((time.monotonic(), time.monotonic() - began_s))
            await asyncio.sleep(_EVERY_S)

    async with listening_agent.at(url, listening=False) as agent:
        going = asyncio.create_task(go(agent))
        try:
            yield found
        finally:
            going.cancel()
            await asyncio.gather(going, return_exceptions=True)
