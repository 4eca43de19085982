"""The router as a program: built from its settings, drained by a signal."""

import asyncio
import gc
import logging
import os
import signal
import sys
import uuid
from collections.abc import Mapping
from contextlib import AsyncExitStack, suppress
from datetime import UTC, datetime
from functools import partial
from importlib import metadata

import aiohttp.http_parser
import uvloop
from aiohttp import web
from prometheus_client import CollectorRegistry

from pointsman_contract.environment import InvalidSettings
from pointsman_contract.report import Report
from pointsman_router import admission, allocator, catalogue, logs, port, settings
from pointsman_router.admin import Admin
from pointsman_router.belief import Rhythm
from pointsman_router.current import Current
from pointsman_router.discovery import Discovery
from pointsman_router.door import Door
from pointsman_router.forwarding import Forwarding
from pointsman_router.metrics import Metrics
from pointsman_router.outlet import Pace, Pulse
from pointsman_router.recent import Recent
from pointsman_router.reception import Policy
from pointsman_router.refresh import Refresh
from pointsman_router.relay import Relay
from pointsman_router.reporting import Self
from pointsman_router.respond import Identity
from pointsman_router.searching import Searching
from pointsman_router.settings import Settings
from pointsman_router.source import Source
from pointsman_router.subscriptions import Subscriptions
from pointsman_router.upstream import Desk, Dialler, Link, egress

_USAGE_ERROR = 2
# Requests at the admin port are probes and polls, which draining ends.
_ADMIN_CLOSE_S = 1.0
# The last answers on their way to agents.
_FLUSH_S = 2.0
# What is left of sessions and connections when all calls have ended.
_FAREWELL_S = 3.0

# A call makes some hundred objects and hardly a cycle: at the interpreter's own pace a tenth of its
# time goes into looking for one.
_GARBAGE = (20_000, 20, 20)
# While a thread makes a snapshot, the loop waits so long for each of its turns: at the
# interpreter's own 5 ms they add up to pauses that agents feel.
_TURN_S = 0.0005

_LOG = logging.getLogger("pointsman_router")


def main() -> None:
    """Run the router until a signal ends it."""
    sys.exit(run(sys.argv[1:], os.environ))


def run(arguments: list[str], environ: Mapping[str, str]) -> int:
    """Return the exit status of a router started with these arguments in this environment."""
    if arguments in (["--help"], ["-h"]):
        print("usage: python -m pointsman_router\n\nSet in the environment:\n")  # noqa: T201
        print(settings.table())  # noqa: T201
        return 0
    if arguments:
        print("takes no arguments; --help lists its variables", file=sys.stderr)  # noqa: T201
        return _USAGE_ERROR
    try:
        chosen = settings.load(environ)
    except InvalidSettings as exc:
        print(exc, file=sys.stderr)  # noqa: T201
        return _USAGE_ERROR
    logs.begin()
    gc.set_threshold(*_GARBAGE)
    sys.setswitchinterval(_TURN_S)
    allocator.keep()
    if aiohttp.http_parser.HttpRequestParser is aiohttp.http_parser.HttpRequestParserPy:
        # It lets requests through that two parsers read differently.
        _LOG.error("aiohttp's C parser is missing: unset AIOHTTP_NO_EXTENSIONS")
        return 1
    return uvloop.run(serve(chosen))


async def serve(chosen: Settings) -> int:
    """Serve until SIGTERM or SIGINT, then drain; a second one ends the process at once."""
    ended = asyncio.Event()
    signals = _Signals(ended)
    catalogues = Current(catalogue.empty())
    reports: Current[Report | None] = Current(None)
    stirred = asyncio.Event()
    metrics = Metrics(reports.get)
    recent = Recent(_now)
    version = metadata.version("pointsman")
    desk = Desk()
    dialler = Dialler(egress=egress.through(chosen.egress_proxy, chosen.no_proxy))
    discovery = Discovery(
        connect=partial(Link, dialler=dialler, desk=desk, version=version),
        desk=desk,
        changed=stirred.set,
        meter=metrics,
        recent=recent,
        rhythm=Rhythm(refresh_s=chosen.refresh_s, keep_s=chosen.stale_s),
    )
    refresh = Refresh(
        source=Source(
            str(chosen.directory),
            link_poll_s=chosen.link_poll_s,
            files_poll_s=chosen.files_poll_s,
        ),
        discovery=discovery,
        stirred=stirred,
        catalogues=catalogues,
        reports=reports,
        myself=Self(uuid.uuid4().hex, _now()),
        max_length=chosen.listed_max_length,
    )
    series = CollectorRegistry()
    series.register(metrics)
    admin = Admin(
        catalogues=catalogues,
        reports=reports,
        recent=recent,
        unready=lambda: refresh.unready,
        metrics=series,
        allowed_hosts=chosen.admin_allowed_hosts,
    )
    subscriptions = Subscriptions(
        catalogues.get, streams_max=chosen.streams_max, pause_s=chosen.notify_s
    )
    catalogues.on_change(subscriptions.changed)
    searching = Searching(catalogues.get)
    catalogues.on_change(searching.changed)
    relay = Relay(
        Identity(chosen.server_name, version, ttl_ms=int(chosen.refresh_s * 1000)),
        page_size=chosen.page_size,
        forwarding=Forwarding(
            link=discovery.link, nudge=discovery.nudge, meter=metrics, recent=recent
        ),
        renewed=refresh.renewed,
        subscriptions=subscriptions,
        search=searching.find,
    )
    pulse = Pulse(Pace(silence_s=chosen.silence_s, stall_s=chosen.stall_s))
    door = Door(
        _policy(chosen), relay, pulse, current=catalogues.get, calls=discovery.calls, meter=metrics
    )
    async with AsyncExitStack() as stack:
        stack.callback(searching.close)
        try:
            await _listen(stack, admin.application(), chosen.admin_host, chosen.admin_port)
            refreshing = asyncio.create_task(refresh.run())
            stack.push_async_callback(_end, refreshing, discovery)
            agents = await port.listen(
                door.serve,
                chosen.host,
                chosen.port,
                quick=door.quick,
                name=chosen.server_name,
                body_max_bytes=chosen.body_max_bytes,
                close_s=_FLUSH_S,
            )
            stack.push_async_callback(agents.close)
            _LOG.info("agents are served", extra={"address": agents.addresses[0][:2]})
        except OSError as exc:
            _LOG.error("a port cannot be opened", extra={"detail": exc.strerror})
            return 1
        waiting = asyncio.create_task(ended.wait())
        await asyncio.wait([waiting, refreshing], return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if refreshing.done():
            _LOG.error("refreshing ended by itself", exc_info=refreshing.exception())
            return 1
        admin.drain()
        # Whoever balances load learns of SIGTERM late; until then requests come and are served.
        linger_s = chosen.linger_s if signals.first is signal.SIGTERM else 0.0
        _LOG.info("draining", extra={"linger_s": linger_s, "drain_s": chosen.drain_s})
        door.leave()
        await asyncio.sleep(linger_s)
        await agents.refuse_connections()
        subscriptions.end()
        if not linger_s:
            agents.close_idle()  # nobody sends these agents elsewhere
        await door.drain(chosen.drain_s, agents.emptied)
    _LOG.info("ended")
    return 0


def _policy(chosen: Settings) -> Policy:
    return Policy(
        hosts=admission.hosts(chosen.allowed_hosts),
        default_form=chosen.listed_names,
        body_max_bytes=chosen.body_max_bytes,
        body_s=chosen.body_s,
        server_name=chosen.server_name,
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


class _Signals:
    """The first signal begins the end; the next one is that of an unprepared process."""

    def __init__(self, ended: asyncio.Event) -> None:
        self.first: signal.Signals | None = None
        self._ended = ended
        self._loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            self._loop.add_signal_handler(number, self._end, number)

    def _end(self, number: signal.Signals) -> None:
        self.first = number
        self._ended.set()
        for handled in (signal.SIGTERM, signal.SIGINT):
            self._loop.remove_signal_handler(handled)
            signal.signal(handled, signal.SIG_DFL)


async def _listen(stack: AsyncExitStack, admin: web.Application, host: str, port_: int) -> None:
    runner = web.AppRunner(admin, access_log=None, shutdown_timeout=_ADMIN_CLOSE_S)
    await runner.setup()
    stack.push_async_callback(runner.cleanup)
    await web.TCPSite(runner, host, port_).start()
    _LOG.info("the admin port is open", extra={"address": runner.addresses[0][:2]})


async def _end(refreshing: asyncio.Task[None], discovery: Discovery) -> None:
    refreshing.cancel()
    with suppress(asyncio.CancelledError, Exception):
        await refreshing
    with suppress(TimeoutError):
        await asyncio.wait_for(discovery.close(), _FAREWELL_S)


if __name__ == "__main__":
    main()
