"""Who is asked what could be approved: a router, or the resource that was piped in."""

import sys

from pointsman import approvable, reports
from pointsman.approvable import Approvable


async def of_router(server: str, url: str) -> Approvable:
    """Return what the router whose admin port is at `url` knows of `server`.

    Raises NothingTold, and what `reports.once` raises.
    """
    return approvable.reported(await reports.once(url), server)


async def of_resource(url: str | None) -> Approvable:
    """Return what the resource that is piped in says, or a router of it where `url` is given.

    Raises as `of_router` does.
    """
    resource = approvable.stated(sys.stdin.buffer.read())
    return approvable.both(resource, await reports.once(url)) if url else resource
