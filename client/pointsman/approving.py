"""Who is asked what could be approved: a router, or the resource that was piped in."""

import sys

from pointsman import approvable, reports
from pointsman.approvable import Approvable

PIPED_IN = "-"


async def find(server: str, url: str | None, usual_url: str) -> Approvable:
    """Return what could be approved of `server`; raises NothingTold, NotReported, InvalidAddress.

    A router is asked at `url`, its admin port, else at the usual one; for a resource that is piped
    in only where `url` is given.
    """
    if server != PIPED_IN:
        return approvable.reported(await reports.once(url or usual_url), server)
    resource = approvable.stated(sys.stdin.buffer.read())
    return approvable.both(resource, await reports.once(url)) if url else resource
