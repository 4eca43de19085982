"""The router that runs underneath, on ports that were free."""

import asyncio
import os
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

import aiohttp

from pointsman import ports, tether

ADMIN_HOST = "127.0.0.1"

# Importing takes half a second on a slow machine, and every server has one chance of 3 s.
READY_TIMEOUT_S = 20.0
# A call in flight may finish; whoever pressed Ctrl-C does not wait longer.
DRAIN_S = 3.0
# What closing sessions with upstreams takes on top.
STOP_TIMEOUT_S = DRAIN_S + 4.0
# Between a look at a port and its use, others may take it.
START_TRIES = 5
LOG_LINES_KEPT = 20
LOG_LINE_MAX_BYTES = 1024 * 1024

_PROGRAM = "pointsman_router"
_PROBE_EVERY_S = 0.05


class NotStarted(Exception):
    """The router does not run; the message holds what it said."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What the router is asked for."""

    directory: Path
    host: str
    port: int
    names: str | None = None
    """Which form of names it lists; None for its own default."""


class Router:
    """One router, from its start to its end."""

    def __init__(self, process: asyncio.subprocess.Process, port: int, admin_port: int) -> None:
        self.port = port
        self.admin_url = f"http://{ADMIN_HOST}:{admin_port}"
        self._process = process
        self._log: deque[str] = deque(maxlen=LOG_LINES_KEPT)
        self._reading: asyncio.Task[None] | None = None

    def read_log(self, tell: Callable[[str], None]) -> None:
        """Pass on what it logs from now on."""
        self._reading = asyncio.create_task(self._read(tell))

    @property
    def last_words(self) -> str:
        """The end of its log."""
        return "\n".join(self._log)

    @property
    def has_ended(self) -> bool:
        """Whether it runs no more."""
        return self._process.returncode is not None

    async def ends(self) -> int:
        """Return its exit status once it has ended and everything it said has been read."""
        status = await self._process.wait()
        if self._reading:
            await asyncio.wait({self._reading})
        return status

    async def is_ready(self, session: aiohttp.ClientSession) -> bool:
        """Say whether it answers agents with what it has found."""
        try:
            async with session.get(f"{self.admin_url}/readyz") as response:
                return response.status == HTTPStatus.OK
        except (aiohttp.ClientError, TimeoutError):
            return False

    async def stop(self) -> None:
        """End it: it may finish what it does, for a moment."""
        with suppress(ProcessLookupError):
            self._process.terminate()
        try:
            async with asyncio.timeout(STOP_TIMEOUT_S):
                await self.ends()
        except TimeoutError:
            self.kill()
            await self.ends()

    def kill(self) -> None:
        """End it at once."""
        with suppress(ProcessLookupError):
            self._process.kill()

    async def _read(self, tell: Callable[[str], None]) -> None:
        if self._process.stderr is None:
            return
        async for line in self._process.stderr:
            text = line.decode(errors="replace").rstrip()
            self._log.append(text)
            tell(text)


async def start(
    wish: Wish,
    environ: Mapping[str, str],
    session: aiohttp.ClientSession,
    tell: Callable[[str], None],
) -> Router:
    """Return a router that is ready, on the first free port from the wished one on.

    Raises NotStarted, or NoFreePort.
    """
    for _ in range(START_TRIES):
        port = ports.first_free(wish.host, wish.port)
        admin_port = ports.any_free(ADMIN_HOST)
        process = await asyncio.create_subprocess_exec(
            *tether.command(_PROGRAM),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            limit=LOG_LINE_MAX_BYTES,
            env={**environ, **_settings(wish, port, admin_port)},
            # Ctrl-C is for whoever started it, who then ends it.
            start_new_session=True,
        )
        router = Router(process, port, admin_port)
        router.read_log(tell)
        try:
            if await _becomes_ready(router, session):
                return router
            await router.ends()
        except BaseException:
            router.kill()
            raise
        if ports.is_free(wish.host, port) and ports.is_free(ADMIN_HOST, admin_port):
            break
    raise NotStarted(f"the router did not start:\n{router.last_words}")


async def _becomes_ready(router: Router, session: aiohttp.ClientSession) -> bool:
    try:
        async with asyncio.timeout(READY_TIMEOUT_S):
            while not router.has_ended:
                if await router.is_ready(session):
                    return True
                await asyncio.sleep(_PROBE_EVERY_S)
    except TimeoutError:
        raise NotStarted(
            f"the router was not ready within {READY_TIMEOUT_S:g} s:\n{router.last_words}"
        ) from None
    return False


def _settings(wish: Wish, port: int, admin_port: int) -> dict[str, str]:
    settings = {
        "DIRECTORY": os.fspath(wish.directory),
        "HOST": wish.host,
        "PORT": str(port),
        "ADMIN_HOST": ADMIN_HOST,
        "ADMIN_PORT": str(admin_port),
        # No load balancer has to learn of its end first.
        "LINGER_SECONDS": "0",
        "DRAIN_SECONDS": f"{DRAIN_S:g}",
    }
    if wish.names:
        settings["NAMES"] = wish.names
    return {f"POINTSMAN_ROUTER_{name}": value for name, value in settings.items()}
