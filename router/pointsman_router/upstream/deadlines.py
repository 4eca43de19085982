"""Which calls have waited long enough: one timer for all that are under way."""

import asyncio
import math
from types import TracebackType

# A loop's clock counts milliseconds; a timer may be that much early.
_EARLY_S = 0.001


class Deadline:
    """The time that the task inside has; when it is over, TimeoutError is raised."""

    __slots__ = ("_all", "_cancelling", "_task", "due_s", "is_over")

    def __init__(self, all_: "Deadlines", due_s: float) -> None:
        self._all = all_
        self.due_s = due_s
        self.is_over = False

    def __enter__(self) -> None:
        self._task = self._all.add(self)
        self._cancelling = self._task.cancelling()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._all.discard(self)
        # Whoever cancelled the task beside us is not to be hidden.
        if (
            self.is_over
            and self._task.uncancel() <= self._cancelling
            and kind is asyncio.CancelledError
        ):
            raise TimeoutError from error

    def end(self) -> None:
        """Have the task end what it waits for."""
        self.is_over = True
        self._task.cancel()


class Deadlines:
    """Looks when the first of them is due, never earlier. Needs a running loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[Deadline, None] = {}
        self._look: asyncio.TimerHandle | None = None
        self._look_at_s = math.inf

    def within(self, limit_s: float) -> Deadline:
        """Return a context that the current task has to leave in time."""
        return Deadline(self, self._loop.time() + limit_s)

    def add(self, deadline: Deadline) -> "asyncio.Task[object]":
        """Look at a deadline from now on; return the current task, whose it is."""
        self._waiting[deadline] = None
        if deadline.due_s < self._look_at_s:
            self._expect(deadline.due_s)
        # Named, the loop needs not be looked for.
        task = asyncio.current_task(self._loop)
        assert task is not None, "only a task can be made to end"
        return task

    def discard(self, deadline: Deadline) -> None:
        """Look at it no longer."""
        self._waiting.pop(deadline, None)

    def close(self) -> None:
        """Look no more."""
        if self._look is not None:
            self._look.cancel()

    def _expect(self, due_s: float) -> None:
        if self._look is not None:
            self._look.cancel()
        self._look_at_s = due_s
        self._look = self._loop.call_at(due_s, self._end_overdue)

    def _end_overdue(self) -> None:
        self._look, self._look_at_s = None, math.inf
        now_s = self._loop.time()
        for deadline in tuple(self._waiting):
            if deadline.due_s <= now_s:
                self.discard(deadline)
                deadline.end()
        if self._waiting:
            self._expect(max(min(one.due_s for one in self._waiting), now_s + _EARLY_S))
