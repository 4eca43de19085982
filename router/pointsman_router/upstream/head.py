"""What the head of an upstream's answer says of the answer."""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from pointsman_router.upstream.trouble import RETRY_AFTER_MAX_MS

EVENT_STREAM = "text/event-stream"
JSON = "application/json"
_UTF8 = frozenset(["", "utf-8", "utf8", "us-ascii"])
# Upstreams spell their types in a few ways, over and over.
_KINDS_KEPT = 128


@dataclass(frozen=True, slots=True)
class Head:
    """What an answer says of itself."""

    status: int
    media_type: str
    """In lower case, without parameters; empty where none was given."""
    readable: bool
    """Whether the body is neither coded nor in another charset than UTF-8."""
    session_id: str | None = None
    retry_after_ms: int | None = None


def read(status: int, headers: Mapping[bytes, bytes], now: Callable[[], datetime]) -> Head:
    """Return what an answer says of itself; the names of `headers` are in lower case."""
    kind = _kind(status, headers.get(b"content-type", b""), headers.get(b"content-encoding", b""))
    session_id = headers.get(b"mcp-session-id")
    retry_after = headers.get(b"retry-after")
    if session_id is None and retry_after is None:
        return kind
    return replace(
        kind,
        session_id=None if session_id is None else session_id.decode("latin-1"),
        retry_after_ms=None if retry_after is None else _retry_after_ms(retry_after, now()),
    )


@functools.lru_cache(_KINDS_KEPT)
def _kind(status: int, content_type: bytes, content_encoding: bytes) -> Head:
    media_type, _, parameters = content_type.decode("latin-1").partition(";")
    coding = content_encoding.strip().lower()
    return Head(
        status=status,
        media_type=media_type.strip().lower(),
        readable=coding in (b"", b"identity") and _charset(parameters) in _UTF8,
    )


def _charset(parameters: str) -> str:
    for parameter in parameters.split(";"):
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset":
            return value.strip().strip('"').lower()
    return ""


def _retry_after_ms(value: bytes, now: datetime) -> int | None:
    """Return the wait that a `Retry-After` asks for, bounded; None where it makes no sense."""
    text = value.decode("latin-1").strip()
    if text.isascii() and text.isdigit():
        wait_s = min(float(text), RETRY_AFTER_MAX_MS / 1000)
    else:
        try:
            then = parsedate_to_datetime(text)
        except (ValueError, OverflowError):
            return None
        wait_s = (then.replace(tzinfo=then.tzinfo or UTC) - now).total_seconds()
    return max(0, min(int(wait_s * 1000), RETRY_AFTER_MAX_MS))
