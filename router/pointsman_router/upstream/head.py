"""What the head of an upstream's answer says of the answer."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from pointsman_router.upstream.trouble import RETRY_AFTER_MAX_MS

EVENT_STREAM = "text/event-stream"
JSON = "application/json"
_UTF8 = frozenset(["", "utf-8", "utf8", "us-ascii"])


@dataclass(frozen=True, slots=True)
class Head:
    """What an answer says of itself."""

    status: int
    media_type: str
    """In lower case, without parameters; empty where none was given."""
    readable: bool
    """Whether the body is neither coded nor in another charset than UTF-8."""
    session_id: str | None
    retry_after_ms: int | None


def read(status: int, headers: Mapping[str, str], now: datetime) -> Head:
    """Return what an answer says of itself; `headers` is looked up without regard to case."""
    kind, _, parameters = headers.get("Content-Type", "").partition(";")
    charset = _charset(parameters)
    coding = headers.get("Content-Encoding", "identity").strip().lower()
    return Head(
        status=status,
        media_type=kind.strip().lower(),
        readable=coding in ("", "identity") and charset in _UTF8,
        session_id=headers.get("Mcp-Session-Id"),
        retry_after_ms=_retry_after_ms(headers.get("Retry-After"), now),
    )


def _charset(parameters: str) -> str:
    for parameter in parameters.split(";"):
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset":
            return value.strip().strip('"').lower()
    return ""


def _retry_after_ms(value: str | None, now: datetime) -> int | None:
    """Return the wait that a `Retry-After` asks for, bounded; None where it makes no sense."""
    if value is None:
        return None
    text = value.strip()
    if text.isascii() and text.isdigit():
        wait_s = min(float(text), RETRY_AFTER_MAX_MS / 1000)
    else:
        try:
            then = parsedate_to_datetime(text)
        except (ValueError, OverflowError):
            return None
        wait_s = (then.replace(tzinfo=then.tzinfo or UTC) - now).total_seconds()
    return max(0, min(int(wait_s * 1000), RETRY_AFTER_MAX_MS))
