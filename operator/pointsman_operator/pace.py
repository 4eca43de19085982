"""When the next write to one object may come."""

from dataclasses import dataclass

from pointsman_operator.status import Counts

# An object that is written once a second is current enough for everybody who reads it, and an
# editor in a loop must not become load on the API server and on every mirror.
WRITE_INTERVAL_S = 1.0
# One change after a pause is not held up: what waits is only a change in a burst.
QUIET_S = 0.25
# An upstream that fails is listed about once a minute by each router, and may word its error anew
# each time: its status still costs the API server next to nothing, and is a few minutes old.
REWORD_INTERVAL_S = 300.0


@dataclass(slots=True)
class _Object:
    written_s: float | None = None
    repaired_s: float | None = None
    document: str | None = None
    counts: Counts | None = None
    counted_s: float = 0.0
    differs_since_s: float | None = None
    reworded_s: float | None = None


class Pace:
    """What is remembered of each object for it; times are of one monotonic clock."""

    def __init__(self, *, repair_interval_s: float, settled_after_s: float) -> None:
        self._repair_interval_s = repair_interval_s
        self._settled_after_s = settled_after_s
        self._objects: dict[str, _Object] = {}

    def after_change(self, key: str, now_s: float) -> float:
        """Return when a change of `key` that is seen now may be worked on."""
        known = self._objects.get(key)
        if known is None or known.written_s is None:
            return now_s
        if now_s - known.written_s >= WRITE_INTERVAL_S:
            return now_s
        return min(now_s + QUIET_S, known.written_s + WRITE_INTERVAL_S)

    def wrote(self, key: str, now_s: float) -> None:
        """Note a write to `key`."""
        self._of(key).written_s = now_s

    def in_force(self, key: str, document: str | None) -> None:
        """Note which document `key` is known to have held: its digest, None for none."""
        self._of(key).document = document

    def is_repair(self, key: str, document: str) -> bool:
        """Say whether writing this document only undoes what others did to it."""
        known = self._objects.get(key)
        return known is not None and known.document == document

    def repair_allowed(self, key: str, now_s: float) -> float:
        """Return when what others did to `key` may be undone."""
        known = self._objects.get(key)
        if known is None or known.repaired_s is None:
            return now_s
        return max(now_s, known.repaired_s + self._repair_interval_s)

    def repaired(self, key: str, now_s: float) -> None:
        """Note that what others did to `key` is being undone."""
        self._of(key).repaired_s = now_s

    def rewording_allowed(self, key: str, now_s: float) -> float:
        """Return when a status of which only routers' words changed may be written."""
        known = self._objects.get(key)
        if known is None or known.reworded_s is None:
            return now_s
        return max(now_s, known.reworded_s + REWORD_INTERVAL_S)

    def reworded(self, key: str, now_s: float) -> None:
        """Note that such a status was written."""
        self._of(key).reworded_s = now_s

    def settled(self, key: str, counts: Counts, now_s: float) -> float:
        """Return when `counts` of routers will have stood still for long enough, if they do."""
        known = self._of(key)
        if known.counts != counts:
            known.counts, known.counted_s = counts, now_s
        return known.counted_s + self._settled_after_s

    def differs(self, key: str, differs: bool, now_s: float) -> float | None:
        """Return when routers will have differed about `key` for long enough; None if they agree.

        Another difference is the same disagreement: one that changes for ever is told too.
        """
        known = self._of(key)
        if not differs:
            known.differs_since_s = None
            return None
        if known.differs_since_s is None:
            known.differs_since_s = now_s
        return known.differs_since_s + self._settled_after_s

    def forget(self, key: str) -> None:
        """Note that `key` is gone for good."""
        self._objects.pop(key, None)

    def _of(self, key: str) -> _Object:
        return self._objects.setdefault(key, _Object())
