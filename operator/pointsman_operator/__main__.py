"""The operator as a program: built from its settings, ended by a signal."""

import asyncio
import logging
import os
import signal
import socket
import sys
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from aiohttp import web

from pointsman_contract.environment import InvalidSettings
from pointsman_contract.register import InvalidRegister
from pointsman_operator import access, admin, apierrors, logs, settings
from pointsman_operator.claims import Claims
from pointsman_operator.cluster import Cluster, log_in
from pointsman_operator.fleet import Fleet
from pointsman_operator.intake import Intake
from pointsman_operator.metrics import Metrics
from pointsman_operator.narrator import Narrator
from pointsman_operator.pace import Pace
from pointsman_operator.ration import Ration
from pointsman_operator.registrar import Registrar
from pointsman_operator.resync import Resync
from pointsman_operator.settings import Settings
from pointsman_operator.steward import Means, Steward
from pointsman_operator.store import Store
from pointsman_operator.watching import Deaf, Scope, Watches
from pointsman_operator.workqueue import WorkQueue

_USAGE_ERROR = 2
# Requests here are probes: whoever is slower has given up.
_CLOSE_TIMEOUT_S = 1.0
# What is being written when the end comes is written to its end.
_DRAIN_S = 10.0
# Events that still wait then: the status has said it all.
_TOLD_S = 2.0
# An API server that is not there yet is waited for, not crashed upon.
_BEGIN_RETRY_S = 1.0


def main() -> None:
    """Run the operator until a signal ends it."""
    sys.exit(run(sys.argv[1:], os.environ))


def run(arguments: list[str], environ: Mapping[str, str]) -> int:
    """Return the exit status of an operator started with these arguments in this environment."""
    if arguments in (["--help"], ["-h"]):
        print("usage: python -m pointsman_operator\n\nSet in the environment:\n")  # noqa: T201
        print(settings.table())  # noqa: T201
        return 0
    if arguments:
        print("takes no arguments; --help lists its variables", file=sys.stderr)  # noqa: T201
        return _USAGE_ERROR
    try:
        chosen = settings.load(environ, pod_namespace=_pod_namespace())
    except InvalidSettings as exc:
        print(exc, file=sys.stderr)  # noqa: T201
        return _USAGE_ERROR
    return asyncio.run(_serve(chosen, logs.begin()))


async def _serve(chosen: Settings, logger: logging.Logger) -> int:
    operator = _Operator(chosen, logger)
    running = asyncio.ensure_future(operator.run())
    _end_on_signal(running)
    try:
        with suppress(asyncio.CancelledError):
            await running
    except _Hopeless as exc:
        logger.error("%s", exc)
        return 1
    except Deaf as exc:
        logger.error("a watch ended; whoever runs us starts us again", extra={"why": str(exc)})
        return 1
    except Exception:
        logger.exception("ended by a fault of its own")
        return 1
    logger.info("ended")
    return 0


class _Hopeless(Exception):
    """Nothing that we could wait for makes this work."""


class _Operator:
    """Every part, and how they are joined."""

    def __init__(self, chosen: Settings, logger: logging.Logger) -> None:
        self._chosen = chosen
        self._logger = logger
        self._metrics = Metrics()
        self._queue = WorkQueue()
        store = Store()
        pace = Pace(
            repair_interval_s=chosen.repair_interval_s, settled_after_s=chosen.settled_after_s
        )
        claims = Claims(timedelta(seconds=chosen.prefix_grace_s))
        self._cluster = Cluster(
            chosen.identification, namespace=chosen.namespace, watched=chosen.watched
        )
        intake = Intake(store, claims, self._queue, pace, clock=_now)
        self._fleet = Fleet(
            chosen.routers,
            intake.routers_changed,
            logger,
            views_changed=intake.views_changed,
        )
        registrar = Registrar(
            self._cluster,
            claims,
            intake,
            self._queue,
            self._metrics,
            namespace=chosen.namespace,
            clock=_now,
            logger=logger,
        )
        self._resync = Resync(
            self._cluster,
            intake,
            registrar,
            self._metrics,
            interval_s=chosen.resync_s,
            logger=logger,
        )
        self._narrator = Narrator(
            self._cluster,
            Ration(burst=chosen.event_burst, interval_s=chosen.event_interval_s),
            self._metrics,
            instance=socket.gethostname(),
            clock=_now,
            logger=logger,
        )
        self._steward = Steward(
            Means(
                store=store,
                claims=claims,
                intake=intake,
                queue=self._queue,
                pace=pace,
                cluster=self._cluster,
                fleet=self._fleet,
                registrar=registrar,
                narrator=self._narrator,
                metrics=self._metrics,
            ),
            namespace=chosen.namespace,
            clock=_now,
            logger=logger,
        )
        self._watches = Watches(
            Scope(chosen.namespace, chosen.watched, chosen.silence_s),
            intake,
            log_in=lambda: log_in(chosen.identification),
            gap=self._resync.gap,
            views=self._resync.views,
        )

    async def run(self) -> None:
        """Work until cancelled; raises _Hopeless, Deaf."""
        runner = web.AppRunner(
            admin.app(lambda: self._resync.is_done, self._queue, self._metrics),
            access_log=None,
            shutdown_timeout=_CLOSE_TIMEOUT_S,
        )
        await runner.setup()
        try:
            await self._open(runner)
            await self._begin()
            await self._work()
        finally:
            await runner.cleanup()
            await self._cluster.close()

    async def _open(self, runner: web.AppRunner) -> None:
        site = web.TCPSite(runner, self._chosen.admin_host, self._chosen.admin_port)
        try:
            await site.start()
        except OSError as exc:
            raise _Hopeless(f"the admin port cannot be opened: {exc.strerror}") from exc
        where = {"namespace": self._chosen.namespace, "admin": runner.addresses[0][:2]}
        self._logger.info("serving", extra=where)

    async def _begin(self) -> None:
        while True:
            try:
                await self._resync.begin()
            except apierrors.NotFound as exc:
                # The framework would be ready now, and deaf for ever.
                raise _Hopeless(
                    "the API server knows no McpServer: install the CRD (crds/mcpserver.yaml)"
                ) from exc
            except (apierrors.ApiError, InvalidRegister) as exc:
                self._logger.warning("the start has to wait", extra={"why": str(exc)})
            else:
                return
            await asyncio.sleep(_BEGIN_RETRY_S)

    async def _work(self) -> None:
        workers = [
            asyncio.create_task(self._queue.work(self._steward.handle))
            for _ in range(self._chosen.workers)
        ]
        this = asyncio.current_task()
        assert this is not None, "runs in a task"
        ears = [
            asyncio.create_task(self._watches.run(started=lambda: _end_on_signal(this))),
            asyncio.create_task(self._resync.run()),
            asyncio.create_task(self._fleet.run()),
        ]
        telling = asyncio.create_task(self._narrator.run())
        try:
            done, _ = await asyncio.wait([*workers, *ears], return_when=asyncio.FIRST_EXCEPTION)
            for task in done:
                task.result()
        finally:
            for ear in ears:
                ear.cancel()
            self._queue.close()
            await asyncio.wait([*workers, *ears], timeout=_DRAIN_S)
            self._narrator.close()
            await asyncio.wait([telling], timeout=_TOLD_S)
            for task in (*workers, telling):
                task.cancel()


def _end_on_signal(running: "asyncio.Future[None]") -> None:
    loop = asyncio.get_running_loop()

    def end() -> None:
        running.cancel()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_DFL)

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end)


def _now() -> datetime:
    return datetime.now(UTC)


def _pod_namespace() -> str:
    try:
        return Path(access.NAMESPACE_PATH).read_text(encoding="ascii").strip()
    except OSError:
        return ""


if __name__ == "__main__":
    main()
