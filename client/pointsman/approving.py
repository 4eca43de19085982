"""Who is asked what could be approved: a router, or the resource that was piped in."""

import sys

from pointsman import approvable, reports
from pointsman.approvable import Approvable

DEFAULT_URL = "http://127.0.0.1:9090"
PIPED_IN = "-"


async def find(server: str, url: str | None) -> Approvable:
    """Return what could be approved of `server`; raises NothingTold, NotReported, InvalidAddress.

    `url` is a router's admin port; None asks the default one, or nobody but the resource.
    """
    if server != PIPED_IN:
        return approvable.reported(await reports.once(url or DEFAULT_URL), server)
    resource = approvable.stated(sys.stdin.buffer.read())
    return approvable.both(resource, await reports.once(url)) if url else resource
