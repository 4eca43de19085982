"""What an upstream may do with a request, from answering it to every way of not doing so."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Final

from bench import answers
from bench.raw_upstream import Behaviour, Received, Wire


class _SameId:
    """Stands for the id of the request that is being answered."""


SAME: Final = _SameId()


def results_in(value: object, *, rpc_id: object = SAME, **options: str) -> Behaviour:
    """A JSON-RPC result as JSON; another `rpc_id` makes it an answer to somebody else."""
    return _answers(lambda request: answers.result(_id(rpc_id, request), value), 200, options)


def errs(
    code: int, message: str, data: object = None, *, status: int = 200, rpc_id: object = SAME
) -> Behaviour:
    """A JSON-RPC error with that HTTP status."""
    return _answers(
        lambda request: answers.error(_id(rpc_id, request), code, message, data), status, {}
    )


def responds(
    status: int,
    body: bytes = b"",
    content_type: str = "text/html",
    headers: Mapping[str, str] | None = None,
) -> Behaviour:
    """A plain HTTP answer: a redirect, a 401, a 503 with a page, a 202, a body of garbage."""
    return sends(answers.http(status, body, content_type, headers))


def streams(
    value: object,
    *,
    newline: str = "\n",
    data_lines: int = 1,
    before: bytes = b"",
    after: bytes = b"",
    piece: int = 0,
    rpc_id: object = SAME,
) -> Behaviour:
    """A JSON-RPC result as an event stream.

    `before` and `after` are bytes of the stream around the answer: comments, a BOM, other
    events. `piece` sends the stream in chunks of that many bytes.
    """

    async def behave(request: Received, wire: Wire) -> None:
        message = answers.result(_id(rpc_id, request), value)
        body = before + answers.event(message, newline=newline, data_lines=data_lines) + after
        pieces = answers.in_pieces(body, piece) if piece else [body]
        await wire.send(answers.http_in_chunks(200, pieces))

    return behave


def sends(data: bytes) -> Behaviour:
    """These bytes, and the connection stays open."""

    async def behave(request: Received, wire: Wire) -> None:
        await wire.send(data)

    return behave


def sends_and_closes(data: bytes = b"") -> Behaviour:
    """These bytes, and then FIN."""

    async def behave(request: Received, wire: Wire) -> None:
        await wire.send(data)
        await wire.finish()

    return behave


def sends_and_resets(data: bytes = b"") -> Behaviour:
    """These bytes, and then RST."""

    async def behave(request: Received, wire: Wire) -> None:
        await wire.send(data)
        wire.reset()

    return behave


def sends_and_hangs(data: bytes = b"") -> Behaviour:
    """These bytes, and then nothing, for as long as the caller stays."""

    async def behave(request: Received, wire: Wire) -> None:
        await wire.send(data)
        await wire.hang()

    return behave


def hangs() -> Behaviour:
    """Never a byte."""
    return sends_and_hangs()


def closes() -> Behaviour:
    """FIN without a byte of an answer."""
    return sends_and_closes()


def cuts(value: object, keep: int, *, length_stated: bool = True) -> Behaviour:
    """A JSON result of which only the first `keep` bytes come before FIN."""

    async def behave(request: Received, wire: Wire) -> None:
        body = answers.result(request.rpc_id, value)
        whole = answers.http(200, body)
        if not length_stated:
            whole = whole.replace(b"Content-Length: %d\r\n" % len(body), b"Connection: close\r\n")
        await wire.send(whole[: len(whole) - len(body) + keep])
        await wire.finish()

    return behave


def drips(value: object, every_s: float) -> Behaviour:
    """A right answer, one byte at a time."""

    async def behave(request: Received, wire: Wire) -> None:
        for byte in answers.http(200, answers.result(request.rpc_id, value)):
            await wire.send(bytes([byte]))
            await asyncio.sleep(every_s)

    return behave


def floods(piece: bytes, content_type: str = answers.JSON) -> Behaviour:
    """A body that never ends, in chunks, for as long as the caller reads."""

    async def behave(request: Received, wire: Wire) -> None:
        head = answers.http_in_chunks(200, [], content_type).removesuffix(answers.LAST_CHUNK)
        await wire.send(head)
        while True:
            await wire.send(answers.chunk(piece))

    return behave


def held(gate: asyncio.Event, then: Behaviour) -> Behaviour:
    """The other behaviour, but only once the test opens the gate."""

    async def behave(request: Received, wire: Wire) -> None:
        await gate.wait()
        await then(request, wire)

    return behave


def in_turn(*behaviours: Behaviour) -> Behaviour:
    """The first for the first request, and so on; the last one for all that follow."""
    left: list[Behaviour] = list(behaviours)

    async def behave(request: Received, wire: Wire) -> None:
        chosen = left.pop(0) if len(left) > 1 else left[0]
        await chosen(request, wire)

    return behave


def by_method(on: Mapping[str, Behaviour], otherwise: Behaviour) -> Behaviour:
    """One behaviour for each JSON-RPC method, and one for all others."""

    async def behave(request: Received, wire: Wire) -> None:
        await on.get(request.rpc_method, otherwise)(request, wire)

    return behave


def loses_session_by_404() -> Behaviour:
    """ "I do not know this session", as the transport wants it said."""
    return errs(-32600, "Session not found", status=404, rpc_id="server-error")


def loses_session_by_400() -> Behaviour:
    """ "I do not know this session", as some servers say it."""
    message = "Bad Request: No valid session ID provided"
    return errs(-32000, message, status=400, rpc_id=None)


def _answers(
    message: Callable[[Received], bytes], status: int, headers: Mapping[str, str]
) -> Behaviour:
    async def behave(request: Received, wire: Wire) -> None:
        await wire.send(answers.http(status, message(request), headers=headers))

    return behave


def _id(rpc_id: object, request: Received) -> object:
    return request.rpc_id if rpc_id is SAME else rpc_id
