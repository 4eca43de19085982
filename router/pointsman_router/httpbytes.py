"""The bytes of an HTTP answer, whole or as a stream of events."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from http import HTTPStatus

from pointsman_router.respond import Response

_JSON_TYPE = b"Content-Type: application/json\r\n"
# Neither a cache nor a proxy may hold an event back, or change it.
_STREAM_HEADERS = (
    b"Content-Type: text/event-stream\r\n"
    b"Cache-Control: no-cache, no-transform\r\n"
    b"X-Accel-Buffering: no\r\n"
)
_PHRASES = {status.value: status.phrase for status in HTTPStatus}

COMMENT = b":\n\n"
LAST_CHUNK = b"0\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Spoken:
    """How an agent's request wants its answer framed."""

    is_http_1_0: bool
    is_head: bool
    """Whether it asked for the head alone."""
    keeps: bool
    """Whether the connection lasts."""

    @property
    def connection(self) -> bytes:
        """The header line that says so, where it has to be said."""
        if not self.keeps:
            return b"Connection: close\r\n"
        return b"Connection: keep-alive\r\n" if self.is_http_1_0 else b""

    @property
    def takes_chunks(self) -> bool:
        """Whether a body of unknown length ends without the connection."""
        return not self.is_http_1_0


USUAL = Spoken(is_http_1_0=False, is_head=False, keeps=True)


@dataclass(frozen=True, slots=True)
class Scribe:
    """Writes answers in the name of one installation."""

    server: str
    _ok: bytes = field(init=False)

    def __post_init__(self) -> None:
        """Spell what begins nearly every answer once."""
        object.__setattr__(self, "_ok", self._begin(200) + _JSON_TYPE)

    def whole(self, response: Response, spoken: Spoken, date: bytes) -> bytes:
        """Return an answer with its length; `date` is a whole header line."""
        body = response.body
        if response.status == 200 and spoken is USUAL and not response.headers and body:
            return b"%b%bContent-Length: %d\r\n\r\n%b" % (self._ok, date, len(body), body)
        return b"".join(
            (
                self._begin(response.status),
                _JSON_TYPE if body else b"",
                *_lines(response.headers),
                spoken.connection,
                date,
                b"Content-Length: %d\r\n\r\n" % len(body),
                b"" if spoken.is_head else body,
            )
        )

    def stream(self, spoken: Spoken, date: bytes) -> bytes:
        """Return the head of a stream of events."""
        framing = b"Transfer-Encoding: chunked\r\n" if spoken.takes_chunks else b""
        ends = spoken.connection if spoken.takes_chunks else b"Connection: close\r\n"
        return b"".join((self._begin(200), _STREAM_HEADERS, framing, ends, date, b"\r\n"))

    def _begin(self, status: int) -> bytes:
        line = f"HTTP/1.1 {status} {_PHRASES.get(status, '')}\r\nServer: {self.server}\r\n"
        return line.encode("latin-1", "replace")


def event(message: bytes) -> bytes:
    """Return the event that carries a message.

    Line breaks stand only between a message's tokens, where a blank means the same.
    """
    if b"\n" in message or b"\r" in message:
        message = message.replace(b"\r", b" ").replace(b"\n", b" ")
    return b"event: message\ndata: " + message + b"\n\n"


def chunk(data: bytes) -> bytes:
    """Return data as one chunk."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def _lines(headers: Iterable[tuple[str, str]]) -> Iterable[bytes]:
    return [f"{name}: {value}\r\n".encode("latin-1", "replace") for name, value in headers]
