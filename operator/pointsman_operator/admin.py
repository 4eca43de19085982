"""The operator's own port: whether it lives, whether it is ready, what it has counted."""

from collections.abc import Callable

from aiohttp import web
from prometheus_client import exposition

from pointsman_operator.metrics import Metrics
from pointsman_operator.workqueue import WorkQueue


def app(is_ready: Callable[[], bool], queue: WorkQueue, metrics: Metrics) -> web.Application:
    """Return the application that answers /livez, /readyz and /metrics."""

    async def livez(_: web.Request) -> web.Response:
        return web.Response(text="alive\n")

    async def readyz(_: web.Request) -> web.Response:
        if is_ready():
            return web.Response(text="ready\n")
        return web.Response(status=503, text="not everything has been listed yet\n")

    async def counted(_: web.Request) -> web.Response:
        metrics.queue_depth.set(queue.depth)
        return web.Response(
            body=exposition.generate_latest(metrics.registry),
            headers={"Content-Type": exposition.CONTENT_TYPE_LATEST},
        )

    application = web.Application()
    application.add_routes(
        [web.get("/livez", livez), web.get("/readyz", readyz), web.get("/metrics", counted)]
    )
    return application
