"""The mirror's own port: whether it lives, whether it is ready, what it has counted."""

from aiohttp import web
from prometheus_client import exposition

from pointsman_mirror.metrics import Metrics
from pointsman_mirror.mirroring import Mirror


def app(mirror: Mirror, metrics: Metrics) -> web.Application:
    """Return the application that answers /livez, /readyz and /metrics."""

    async def livez(_: web.Request) -> web.Response:
        return web.Response(text="alive\n")

    async def readyz(_: web.Request) -> web.Response:
        if mirror.is_ready:
            return web.Response(text="ready\n")
        return web.Response(status=503, text=f"no generation yet: {mirror.lack}\n")

    async def counted(_: web.Request) -> web.Response:
        return web.Response(
            body=exposition.generate_latest(metrics.registry),
            headers={"Content-Type": exposition.CONTENT_TYPE_LATEST},
        )

    application = web.Application()
    application.add_routes(
        [web.get("/livez", livez), web.get("/readyz", readyz), web.get("/metrics", counted)]
    )
    return application
