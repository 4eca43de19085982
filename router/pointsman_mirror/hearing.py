"""What an answer of the API server means: the whole set, one change of it, or a fault."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus
from typing import TypeAlias

from pointsman_mirror import layout

# An asked-for pause is honoured up to this; a mistaken one must not stop the mirror for a day.
RETRY_AFTER_MAX_S = 60.0
# Enough for the API server's sentence on who may not do what; the rest of a message is a stack.
MESSAGE_MAX_LENGTH = 300

Item: TypeAlias = layout.Published | layout.Skipped


class Cause(StrEnum):
    """What kept the API server's word from us."""

    CONFIGURATION = "Configuration"
    UNREACHABLE = "Unreachable"
    UNAUTHORIZED = "Unauthorized"
    FORBIDDEN = "Forbidden"
    THROTTLED = "Throttled"
    EXPIRED = "Expired"
    SILENT = "Silent"
    CLOSED = "Closed"
    API_ERROR = "ApiError"
    MALFORMED = "Malformed"


class Fault(Exception):
    """The set can be followed no longer; only a new list makes up for what was missed."""

    def __init__(self, cause: Cause, message: str, retry_after_s: float = 0.0) -> None:
        super().__init__(message)
        self.cause = cause
        self.message = message[:MESSAGE_MAX_LENGTH]
        self.retry_after_s = retry_after_s


@dataclass(frozen=True, slots=True)
class Page:
    """A part of the whole set."""

    items: Mapping[str, Item]
    """By object name."""
    version: str
    """From where a watch continues this list."""
    more: str
    """What the next part is asked for with; empty after the last."""


@dataclass(frozen=True, slots=True)
class Listed:
    """The whole set: what is not in it is gone."""

    items: Mapping[str, Item]


@dataclass(frozen=True, slots=True)
class Changed:
    """One object came or changed."""

    object_name: str
    item: Item


@dataclass(frozen=True, slots=True)
class Gone:
    """One object was deleted, or is no longer ours to mirror."""

    object_name: str


@dataclass(frozen=True, slots=True)
class Unchanged:
    """Nothing happened, and the API server said so."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """The set is not followed now; a `Listed` comes once it is again."""

    cause: Cause
    message: str
    retry_in_s: float


Event: TypeAlias = Listed | Changed | Gone | Unchanged | Trouble


def page(body: bytes) -> Page:
    """Return what one answer to a list holds; raises Fault."""
    answer = _object(body)
    items, metadata = answer.get("items"), answer.get("metadata")
    if not isinstance(items, list) or not isinstance(metadata, dict):
        raise Fault(Cause.MALFORMED, "the answer to a list is no list")
    return Page(
        items=dict(_named(item) for item in items),
        version=str(metadata.get("resourceVersion", "")),
        more=str(metadata.get("continue") or ""),
    )


def change(line: bytes) -> tuple[str, Changed | Gone | Unchanged]:
    """Return the version that one line of a watch leads to, and what it says; raises Fault."""
    body = _object(line)
    kind, item = body.get("type"), body.get("object")
    if not isinstance(item, dict):
        raise Fault(Cause.MALFORMED, "an event holds no object")
    if kind == "ERROR":
        code = item.get("code")
        raise _refusal(code if isinstance(code, int) else HTTPStatus.INTERNAL_SERVER_ERROR, item)
    metadata = item.get("metadata")
    version = metadata.get("resourceVersion") if isinstance(metadata, dict) else None
    if not isinstance(version, str):
        raise Fault(Cause.MALFORMED, "an event holds no resourceVersion")
    match kind:
        case "BOOKMARK":
            return version, Unchanged()
        case "ADDED" | "MODIFIED":
            return version, Changed(*_named(item))
        case "DELETED":
            return version, Gone(_named(item)[0])
        case _:
            raise Fault(Cause.MALFORMED, f"an event is of the unknown type {kind!r}")


def refusal(status: int, body: bytes, retry_after: str | None) -> Fault:
    """Return the fault that an HTTP status other than 200 stands for."""
    try:
        said = json.loads(body)
    except ValueError:
        said = None
    return _refusal(status, said if isinstance(said, dict) else {}, retry_after or "")


_CAUSES: Mapping[int, Cause] = {
    HTTPStatus.UNAUTHORIZED: Cause.UNAUTHORIZED,
    HTTPStatus.FORBIDDEN: Cause.FORBIDDEN,
    HTTPStatus.TOO_MANY_REQUESTS: Cause.THROTTLED,
    HTTPStatus.GONE: Cause.EXPIRED,
}


def _refusal(status: int, said: Mapping[str, object], retry_after: str = "") -> Fault:
    seconds = int(retry_after) if retry_after.isascii() and retry_after.isdigit() else 0
    return Fault(
        _CAUSES.get(status, Cause.API_ERROR),
        f"{status} {said.get('message') or 'without a message'}",
        min(seconds, RETRY_AFTER_MAX_S),
    )


def _named(item: object) -> tuple[str, Item]:
    metadata = item.get("metadata") if isinstance(item, dict) else None
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not isinstance(item, dict) or not isinstance(name, str):
        raise Fault(Cause.MALFORMED, "an object has no name")
    return name, layout.from_config_map(item)


def _object(text: bytes) -> Mapping[str, object]:
    try:
        body = json.loads(text)
    except ValueError as exc:
        raise Fault(Cause.MALFORMED, "an answer is no JSON") from exc
    if not isinstance(body, dict):
        raise Fault(Cause.MALFORMED, "an answer is no JSON object")
    return body
