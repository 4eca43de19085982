"""What became of the names and URIs that agents once saw, for as long as that is remembered."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

# For how long a name that agents once saw is answered with what became of it; those of a suspended
# server are for as long as it is.
DEPARTED_S = 24 * 3600
# A bound on the memory of each kind of name; the oldest are forgotten first.
DEPARTED_MAX = 100_000
# Of URIs, any of which may be as long as twenty names.
DEPARTED_URIS_MAX = 10_000

SUSPENDED, REMOVED = "suspended", "removed"


class Leading(Protocol):
    """Where a name leads."""

    @property
    def server(self) -> str:
        """The server to which it leads."""


@dataclass(frozen=True, slots=True)
class Departed:
    """What became of a name that agents once saw."""

    reason: str
    """`suspended` or `removed`."""
    server: str
    until_s: float


Memory = Mapping[str, Departed]
_Led = TypeVar("_Led", bound=Leading)


def remembered(
    before: Memory,
    led: Mapping[str, _Led],
    leads: Mapping[str, _Led],
    *,
    suspended: Collection[str],
    now_s: float,
    at_most: int,
) -> Memory:
    """Return what is remembered of names that `led` somewhere, or before that, and do no more.

    `leads` is where names lead now, `suspended` are the servers whose departure may not last.
    """
    gone = {
        name: Departed(REMOVED, route.server, now_s + DEPARTED_S)
        for name, route in led.items()
        if name not in leads
    }
    known = [
        (name, departed)
        for name, departed in (*before.items(), *gone.items())
        if name not in leads and (departed.until_s > now_s or departed.server in suspended)
    ]
    return {
        name: replace(departed, reason=SUSPENDED if departed.server in suspended else REMOVED)
        for name, departed in known[-at_most:]
    }


def reason(memory: Memory, name: str, server: str | None) -> str | None:
    """Return what became of a name; `server` is the only one of which that may be said, if one."""
    departed = memory.get(name)
    return departed.reason if departed and server in (None, departed.server) else None
