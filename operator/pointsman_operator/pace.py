"""When the next write to one object may come."""

from dataclasses import dataclass

# An object that is written once a second is current enough for everybody who reads it, and an
# editor in a loop must not become load on the API server and on every mirror.
WRITE_INTERVAL_S = 1.0
# One change after a pause is not held up: what waits is only a change in a burst.
QUIET_S = 0.25
# Somebody who undoes our repairs gets one answer in this time; everybody else is repaired at once.
REPAIR_INTERVAL_S = 10.0


@dataclass(slots=True)
class _Last:
    written_s: float | None = None
    repaired_s: float | None = None


class Pace:
    """The last writes to each object; times are of one monotonic clock."""

    def __init__(self) -> None:
        self._last: dict[str, _Last] = {}

    def after_change(self, key: str, now_s: float) -> float:
        """Return when a change of `key` that is seen now may be worked on."""
        written_s = self._of(key).written_s
        if written_s is None or now_s - written_s >= WRITE_INTERVAL_S:
            return now_s
        return min(now_s + QUIET_S, written_s + WRITE_INTERVAL_S)

    def repair_allowed(self, key: str, now_s: float) -> float:
        """Return when what others did to `key` may be undone."""
        repaired_s = self._of(key).repaired_s
        return now_s if repaired_s is None else max(now_s, repaired_s + REPAIR_INTERVAL_S)

    def wrote(self, key: str, now_s: float, *, repair: bool) -> None:
        """Note a write to `key`."""
        last = self._last.setdefault(key, _Last())
        last.written_s = now_s
        if repair:
            last.repaired_s = now_s

    def forget(self, key: str) -> None:
        """Note that `key` is gone for good."""
        self._last.pop(key, None)

    def _of(self, key: str) -> _Last:
        return self._last.get(key) or _Last()
