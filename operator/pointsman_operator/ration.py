"""How many Events one resource may have."""

from dataclasses import dataclass, replace

from pointsman_operator.events import Event, EventReason

# What somebody has to do something about is not eaten up by what goes to and fro.
_WEIGHTY = frozenset([EventReason.DEFINITION_CHANGED, EventReason.PREFIX_CONFLICT])


@dataclass(slots=True)
class _Account:
    left: float
    counted_s: float
    last: Event | None = None
    last_s: float = 0.0
    withheld: int = 0


class Ration:
    """What each resource has left of its Events; times are of one monotonic clock.

    Events that somebody has to do something about have an account of their own.
    """

    def __init__(self, *, burst: int, interval_s: float) -> None:
        self._burst = burst
        self._interval_s = interval_s
        self._accounts: dict[tuple[str, bool], _Account] = {}

    def take(self, key: str, event: Event, now_s: float) -> Event | None:
        """Return `event` as it may be written now; None if it may not.

        It says how many before it could not be written.
        """
        account = self._accounts.setdefault(
            (key, event.reason in _WEIGHTY), _Account(self._burst, now_s)
        )
        in_a_row = account.last == event and not account.withheld
        if in_a_row and now_s - account.last_s < self._interval_s:
            return None
        earned = (now_s - account.counted_s) / self._interval_s
        account.left = min(float(self._burst), account.left + earned)
        account.counted_s = now_s
        if account.left < 1:
            account.withheld += 1
            return None
        account.left -= 1
        account.last, account.last_s = event, now_s
        withheld, account.withheld = account.withheld, 0
        if not withheld:
            return event
        return replace(event, note=f"{event.note} (events left out before this one: {withheld})")

    def forget(self, key: str) -> None:
        """Note that the resource is gone for good."""
        for is_weighty in (False, True):
            self._accounts.pop((key, is_weighty), None)
