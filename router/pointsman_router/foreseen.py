"""What is known of a call before it comes: all that neither its id nor its arguments decide."""

from dataclasses import dataclass

from msgspec import structs

from pointsman_router import listing, metakeys
from pointsman_router.eras import Revision
from pointsman_router.exposure import Route
from pointsman_router.jsonrpc import Request
from pointsman_router.outgoing import Forward
from pointsman_router.upstream.asking import Call
from pointsman_router.upstream.wording import OPEN_ARGUMENTS

# What every call of one agent says alike; other keys may be new each time.
_STEADY = frozenset(
    [
        metakeys.PROTOCOL_VERSION,
        metakeys.CLIENT_INFO,
        metakeys.CLIENT_CAPABILITIES,
        metakeys.LOG_LEVEL,
        listing.CATALOGUE_KEY,
    ]
)


@dataclass(frozen=True, slots=True)
class Foreseen:
    """A call of which only the id and the arguments are open."""

    server: str
    call: Call
    revision: Revision
    is_plain: bool


def is_steady(request: Request) -> bool:
    """Say whether the next call may say the same of itself."""
    return _STEADY.issuperset(request.meta or ())


def foreseen(request: Request, forward: Forward, revision: Revision) -> Foreseen | None:
    """Return what the next call like `request` comes to, if that is certain."""
    route = forward.route
    if not isinstance(route, Route) or route.annotations or forward.is_resumed:
        return None
    if forward.by_arguments:
        return None
    if not is_steady(request):
        return None
    params = {**forward.call.params, "arguments": OPEN_ARGUMENTS}
    call = structs.replace(forward.call, params=params)
    return Foreseen(route.server, call, revision, forward.is_plain)
