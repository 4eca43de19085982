"""The wire to the upstreams: the only room that talks to them."""

from pointsman_router.jsonrpc import RpcError
from pointsman_router.upstream.asking import Call, Listener, Notice
from pointsman_router.upstream.calls import Begun, Calls
from pointsman_router.upstream.desk import Desk
from pointsman_router.upstream.dial import Dialler
from pointsman_router.upstream.glance import Glance
from pointsman_router.upstream.limits import Limits
from pointsman_router.upstream.link import Link
from pointsman_router.upstream.messages import Result
from pointsman_router.upstream.trouble import Trouble
from pointsman_router.upstream.wording import Wording

__all__ = [
    "Begun",
    "Call",
    "Calls",
    "Desk",
    "Dialler",
    "Glance",
    "Limits",
    "Link",
    "Listener",
    "Notice",
    "Result",
    "RpcError",
    "Trouble",
    "Wording",
]
