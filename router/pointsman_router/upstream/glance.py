"""What has come of an answer that no task waits for: a usual result, or something to look into."""

from datetime import UTC, datetime
from enum import Enum, auto
from http import HTTPStatus

from pointsman_router.upstream import head, messages
from pointsman_router.upstream.framing import Framing
from pointsman_router.upstream.head import EVENT_STREAM, JSON
from pointsman_router.upstream.limits import KIB, Limits
from pointsman_router.upstream.pool import Sent
from pointsman_router.upstream.sse import Parser, TooLong

# Of a stream, as much, and in as many pieces, as may be looked at again with each of them.
_STREAM_MAX_BYTES = 64 * KIB
_PIECES_MAX = 16


class Glance(Enum):
    """What a look at an answer may come to beside its result."""

    EARLY = auto()
    """Not enough has come; the next news may tell."""
    UNUSUAL = auto()
    """Somebody has to wait for it and read it, from its first byte."""


def at(sent: Sent, limits: Limits) -> bytes | Glance:
    """Return the result that has come, if it is the usual one; nothing is taken of the answer."""
    connection, answer = sent.connection, sent.connection.answer
    if connection.is_lost:
        return Glance.UNUSUAL
    if not answer.has_head:
        return Glance.EARLY
    told = head.read(answer.status, answer.headers, _now)
    if told.status != HTTPStatus.OK or not told.readable:
        return Glance.UNUSUAL
    if told.media_type == EVENT_STREAM:
        connection.want(answer.held_bytes)
        return _in_stream(answer, sent.id, limits)
    most_bytes = min(limits.at_once_max_bytes, limits.body_max_bytes)
    if told.media_type != JSON or answer.held_bytes > most_bytes:
        return Glance.UNUSUAL
    if not answer.is_complete:
        if int(answer.headers.get(b"content-length", 0)) > most_bytes:
            return Glance.UNUSUAL
        connection.want(most_bytes)
        return Glance.EARLY
    body = answer.held
    if not messages.is_read_at_once(body, limits):
        return Glance.UNUSUAL
    return messages.usual_result(body, sent.id) or Glance.UNUSUAL


def _in_stream(answer: Framing, id_: str, limits: Limits) -> bytes | Glance:
    if answer.held_bytes > min(_STREAM_MAX_BYTES, limits.stream_max_bytes):
        return Glance.UNUSUAL
    if len(answer.pieces) > _PIECES_MAX:
        return Glance.UNUSUAL
    parser = Parser(
        line_max_bytes=min(limits.line_max_bytes, limits.body_max_bytes),
        event_max_bytes=min(limits.event_max_bytes, limits.body_max_bytes),
    )
    try:
        events = parser.feed(answer.held)
    except TooLong:
        return Glance.UNUSUAL
    if len(events) > limits.events_max or parser.lines > limits.stream_lines_max:
        return Glance.UNUSUAL
    for event in events:
        # Some streams begin with an event that only names where to resume.
        if event.data and event.name == "message":
            return messages.usual_result(event.data, id_) or Glance.UNUSUAL
    return Glance.UNUSUAL if answer.is_complete else Glance.EARLY


def _now() -> datetime:
    return datetime.now(UTC)
