"""The mirror as a program: built from its settings, ended by a signal."""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from aiohttp import web

from pointsman_contract.environment import InvalidSettings
from pointsman_mirror import admin, logs, settings, watch
from pointsman_mirror.disk import Directory
from pointsman_mirror.metrics import Metrics
from pointsman_mirror.mirroring import Mirror
from pointsman_mirror.settings import Settings

_POD_NAMESPACE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
_USAGE_ERROR = 2
# Requests here are probes: whoever is slower has given up.
_CLOSE_TIMEOUT_S = 1.0


def main() -> None:
    """Run the mirror until a signal ends it."""
    sys.exit(run(sys.argv[1:], os.environ))


def run(arguments: list[str], environ: Mapping[str, str]) -> int:
    """Return the exit status of a mirror started with these arguments in this environment."""
    if arguments in (["--help"], ["-h"]):
        print("usage: python -m pointsman_mirror\n\nSet in the environment:\n")  # noqa: T201
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
    return asyncio.run(serve(chosen, logs.begin()))


async def serve(chosen: Settings, logger: logging.Logger) -> int:
    """Mirror until SIGTERM or SIGINT; a second one ends the process at once."""
    metrics = Metrics()
    mirror = Mirror(Directory(chosen.directory), metrics, logger)
    source = watch.Source(
        namespace=chosen.namespace,
        kubeconfig=chosen.kubeconfig,
        page_size=chosen.page_size,
        silence_s=chosen.silence_s,
        retry_max_s=chosen.retry_max_s,
    )
    runner = web.AppRunner(
        admin.app(mirror, metrics), access_log=None, shutdown_timeout=_CLOSE_TIMEOUT_S
    )
    await runner.setup()
    try:
        site = web.TCPSite(runner, chosen.admin_host, chosen.admin_port)
        try:
            await site.start()
        except OSError as exc:
            logger.error("the admin port cannot be opened", extra={"detail": str(exc)})
            return 1
        logger.info(
            "mirroring",
            extra={
                "namespace": chosen.namespace,
                "directory": str(chosen.directory),
                "admin": runner.addresses[0][:2],
            },
        )
        mirroring = asyncio.ensure_future(mirror.run(watch.events(source)))
        _end_on_signal(mirroring)
        with suppress(asyncio.CancelledError):
            await mirroring
    except Exception:
        logger.exception("ended by a fault of its own")
        return 1
    finally:
        await runner.cleanup()
    logger.info("ended")
    return 0


def _end_on_signal(running: asyncio.Future[None]) -> None:
    loop = asyncio.get_running_loop()

    def end() -> None:
        running.cancel()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_DFL)

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end)


def _pod_namespace() -> str:
    try:
        return _POD_NAMESPACE.read_text().strip()
    except OSError:
        return ""


if __name__ == "__main__":
    main()
