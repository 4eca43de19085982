"""Which events the bytes of an event stream hold, however they are cut."""

from dataclasses import dataclass

_BOM = b"\xef\xbb\xbf"


class TooLong(ValueError):
    """A line or an event is over its bound, which is the argument."""

    def __init__(self, limit_bytes: int) -> None:
        super().__init__(limit_bytes)
        self.limit_bytes = limit_bytes


@dataclass(frozen=True, slots=True)
class Event:
    """One event; `id` and `retry` fields are for those who resume."""

    name: str
    data: bytes


class Parser:
    """Bytes in, events out; memory is bounded by the two limits."""

    def __init__(self, *, line_max_bytes: int, event_max_bytes: int) -> None:
        self._line_max_bytes = line_max_bytes
        self._event_max_bytes = event_max_bytes
        self._start: bytes | None = b""
        self._line = bytearray()
        self._after_cr = False
        self._name = ""
        self._data = bytearray()
        self._has_data = False
        self.lines = 0
        """How many lines have ended so far."""

    def feed(self, chunk: bytes) -> list[Event]:
        """Return the events that `chunk` completes; raises TooLong.

        An event that the stream's end leaves without its blank line is none.
        """
        if self._start is not None:
            self._start += chunk
            if len(self._start) < len(_BOM) and _BOM.startswith(self._start):
                return []
            chunk, self._start = self._start.removeprefix(_BOM), None
        return self._lines(chunk)

    def _lines(self, chunk: bytes) -> list[Event]:
        if not chunk:
            return []
        if self._after_cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]
        # A CR ends its line at once: whoever sends CR alone may send nothing more for long.
        self._after_cr = chunk.endswith(b"\r") if chunk else False
        ended = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        events: list[Event] = []
        for piece in ended[:-1]:
            self._grow(piece)
            self.lines += 1
            line = bytes(self._line)
            self._line.clear()
            if (event := self._field(line)) is not None:
                events.append(event)
        self._grow(ended[-1])
        return events

    def _grow(self, piece: bytes) -> None:
        if len(self._line) + len(piece) > self._line_max_bytes:
            raise TooLong(self._line_max_bytes)
        self._line += piece

    def _field(self, line: bytes) -> Event | None:
        if not line:
            return self._dispatch()
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        match name:
            case b"data":
                more = b"\n" + value if self._has_data else value
                if len(self._data) + len(more) > self._event_max_bytes:
                    raise TooLong(self._event_max_bytes)
                self._data += more
                self._has_data = True
            case b"event":
                self._name = value.decode("utf-8", "replace")
            case _:
                pass  # a comment (no name), or a field that nobody here needs
        return None

    def _dispatch(self) -> Event | None:
        event = Event(self._name or "message", bytes(self._data)) if self._has_data else None
        self._name = ""
        self._data.clear()
        self._has_data = False
        return event
