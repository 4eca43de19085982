"""What the head of a request says, as the HTTP parser has read it."""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
from aiohttp import web
from multidict import CIMultiDictProxy, istr

from pointsman_router.admission import Accepted, Head
from pointsman_router.endpoints import Endpoint
from pointsman_router.eras import modern
from pointsman_router.httpbytes import USUAL, Spoken
from pointsman_router.paramheaders import Sent

_HTTP_1_1 = (1, 1)
_TRACE_HEADERS = tuple(istr(name) for name in ("traceparent", "tracestate", "baggage"))
_VERSION, _METHOD, _NAME = (
    istr(name) for name in (modern.VERSION_HEADER, modern.METHOD_HEADER, modern.NAME_HEADER)
)
_HOST, _ORIGIN, _TYPE, _ACCEPT = map(istr, ("Host", "Origin", "Content-Type", "Accept"))


@dataclass(frozen=True, slots=True)
class Admitted:
    """What follows from a head that was let in."""

    endpoint: Endpoint
    accepted: Accepted


@dataclass(frozen=True, slots=True, eq=False)
class Meaning:
    """What a whole head comes to: that of a request as nearly all are. Equal to itself alone."""

    admitted: Admitted
    headers: modern.Headers
    sent: Sent


class Heard(msgspec.Struct, frozen=True):
    """A request whose head is known by its bytes."""

    meaning: Meaning
    body: bytes


def usual_key(request: web.BaseRequest) -> object | None:
    """Return all of a head that decides whether it is let in; None for an unusual one."""
    headers = request.headers
    if request.method != "POST" or _ORIGIN in headers:
        return None
    return (
        tuple(headers.getall(_HOST, ())),
        request.raw_path,
        headers.get(_TYPE, ""),
        tuple(headers.getall(_ACCEPT, ())),
    )


def head(request: web.BaseRequest) -> Head:
    """Return what of a head decides whether the body is read."""
    headers = request.headers
    return Head(
        verb=request.method,
        target=request.raw_path,
        hosts=tuple(headers.getall(_HOST, ())),
        origins=tuple(headers.getall(_ORIGIN, ())),
        content_type=headers.get(_TYPE, ""),
        accept=tuple(headers.getall(_ACCEPT, ())),
    )


def meaning(admitted: Admitted, headers: CIMultiDictProxy[str]) -> Meaning:
    """Return what the headers of a request that was let in come to."""

    def sent(name: str) -> Sequence[str]:
        return headers.getall(name, ())

    # The HTTP parser has stripped the blanks around every value.
    said = modern.Headers(
        tuple(headers.getall(_VERSION, ())),
        tuple(headers.getall(_METHOD, ())),
        tuple(headers.getall(_NAME, ())),
    )
    return Meaning(admitted, said, sent)


def trace(headers: CIMultiDictProxy[str]) -> tuple[tuple[str, str], ...]:
    """Return the headers by which an agent traces its requests."""
    return tuple(
        (name, headers[name])
        for name in _TRACE_HEADERS
        if name in headers and headers[name].isascii()
    )


def spoken(request: web.BaseRequest) -> Spoken:
    """Return how an answer has to be framed."""
    is_http_1_0 = request.version < _HTTP_1_1
    if request.keep_alive and not is_http_1_0 and request.method != "HEAD":
        return USUAL
    return Spoken(is_http_1_0, request.method == "HEAD", request.keep_alive)
