"""Which counts of routers have stood still long enough to be written down."""

from dataclasses import dataclass

from pointsman_operator.status import Counts

# A rollout changes the counts of every resource several times within seconds.
SETTLED_AFTER_S = 10.0


@dataclass(frozen=True, slots=True)
class _Since:
    counts: Counts
    since_s: float


class Settling:
    """The counts of each resource, and since when they are so; times are of one clock."""

    def __init__(self) -> None:
        self._last: dict[str, _Since] = {}

    def look(self, key: str, counts: Counts, now_s: float) -> float:
        """Note `counts` and return when they will have settled, should they stay so."""
        last = self._last.get(key)
        if last is None or last.counts != counts:
            last = self._last[key] = _Since(counts, now_s)
        return last.since_s + SETTLED_AFTER_S

    def forget(self, key: str) -> None:
        """Note that `key` is gone for good."""
        self._last.pop(key, None)
