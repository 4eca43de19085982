"""What failed with upstreams lately, each way to fail once."""

from collections.abc import Callable
from typing import Literal

from msgspec import structs

from pointsman_contract.overview import Failure
from pointsman_contract.report import printable

# More than a person reads, and less than a page has to be long for.
KEPT_MAX = 50
# One upstream that fails in ever new words pushes the others' failures out no further than this.
OF_ONE_SERVER_MAX = 5
# Messages are ours, with at most 120 characters of an upstream's in them.
MESSAGE_MAX_LENGTH = 400


class Recent:
    """The last failures; one that is met again in the same words is counted and moves up.

    `now` gives the time as RFC 3339.
    """

    def __init__(self, now: Callable[[], str]) -> None:
        self._now = now
        self._kept: dict[tuple[str, str, str, str], Failure] = {}

    def add(
        self, server: str, doing: Literal["listing", "call"], reason: str, message: str
    ) -> None:
        """Remember that an upstream failed."""
        failure = Failure(
            at=self._now(),
            server=server,
            doing=doing,
            reason=str(reason),
            message=printable(message, MESSAGE_MAX_LENGTH),
        )
        key = (failure.server, failure.doing, failure.reason, failure.message)
        if before := self._kept.pop(key, None):
            failure = structs.replace(failure, times=before.times + 1)
        self._kept[key] = failure
        self._forget(server)

    @property
    def failures(self) -> tuple[Failure, ...]:
        """What is remembered, the newest first."""
        return tuple(reversed(self._kept.values()))

    def _forget(self, server: str) -> None:
        of_server = [key for key in self._kept if key[0] == server]
        if len(of_server) > OF_ONE_SERVER_MAX:
            del self._kept[of_server[0]]
        elif len(self._kept) > KEPT_MAX:
            del self._kept[next(iter(self._kept))]
