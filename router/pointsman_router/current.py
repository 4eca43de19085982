"""The newest value of something that is replaced and never edited."""

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Current(Generic[T]):
    """A cell with one writer: whoever reads it keeps what it read, whatever comes after."""

    def __init__(self, first: T) -> None:
        self._value = first
        self._listeners: list[Callable[[], None]] = []

    def get(self) -> T:
        """Return the newest value."""
        return self._value

    def put(self, value: T) -> None:
        """Replace the value, and tell every listener."""
        self._value = value
        for listener in self._listeners:
            listener()

    def on_change(self, listener: Callable[[], None]) -> None:
        """Have `listener` called, in the writer's thread, after every replacement."""
        self._listeners.append(listener)
