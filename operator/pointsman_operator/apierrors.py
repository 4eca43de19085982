"""How the API server says no, each way with what follows from it."""

import json
from collections.abc import Mapping

from pointsman_contract.report import printable

# A server that asks for more would leave its objects unattended for longer than a person waits.
RETRY_AFTER_MAX_S = 300.0


class ApiError(Exception):
    """The API server did not do what it was asked; trying again may help."""

    retry_after_s: float | None = None
    """How long it asks to be left alone."""


class Forbidden(ApiError):
    """The operator's role does not allow it."""


class NotFound(ApiError):
    """There is no such object, or no such kind."""


class Conflict(ApiError):
    """The object is not what it was taken for: look again."""


class Gone(ApiError):
    """What the request continues from is forgotten: begin again."""


class Refused(ApiError):
    """The request is not acceptable as it is."""


class Undeclared(ApiError):
    """The kind, as it is installed, does not know a field of the request."""


class TooManyRequests(ApiError):
    """Come back later."""


class Unavailable(ApiError):
    """The API server cannot be reached, or is not itself."""


# So an apply is refused, with a status that says that the fault is the server's.
_UNDECLARED = "field not declared in schema"

_BY_STATUS: Mapping[int, type[ApiError]] = {
    401: Forbidden,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    429: TooManyRequests,
}


def of(status: int, retry_after: str | None, answer: bytes) -> ApiError:
    """Return the error that an HTTP `status` of at least 400 stands for."""
    message = _message(answer)
    kind = _BY_STATUS.get(status, Unavailable if status >= 500 else Refused)
    if _UNDECLARED in message:
        kind = Undeclared
    error = kind(f"HTTP {status}: {printable(message, 300)}")
    if retry_after is not None and retry_after.isdecimal():
        error.retry_after_s = min(float(retry_after), RETRY_AFTER_MAX_S)
    return error


def _message(answer: bytes) -> str:
    try:
        status = json.loads(answer)
    except ValueError:
        return "no reason given"
    message = status.get("message") if isinstance(status, dict) else None
    return message if isinstance(message, str) else "no reason given"
