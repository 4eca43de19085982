"""The bytes of HTTP answers, JSON-RPC messages and event streams, right or wrong on purpose."""

import json
from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus

JSON = "application/json"
EVENT_STREAM = "text/event-stream"


def http(
    status: int,
    body: bytes = b"",
    content_type: str = JSON,
    headers: Mapping[str, str] | None = None,
) -> bytes:
    """A whole answer with its Content-Length; an empty content type leaves the header out."""
    lines = {"Content-Length": str(len(body)), **(headers or {})}
    return _head(status, content_type, lines) + body


def http_in_chunks(
    status: int,
    pieces: Iterable[bytes],
    content_type: str = EVENT_STREAM,
    headers: Mapping[str, str] | None = None,
) -> bytes:
    """A whole answer in chunks, cut exactly where the pieces are."""
    lines = {"Transfer-Encoding": "chunked", **(headers or {})}
    return _head(status, content_type, lines) + b"".join(map(chunk, pieces)) + LAST_CHUNK


LAST_CHUNK = b"0\r\n\r\n"


def chunk(piece: bytes) -> bytes:
    """One chunk."""
    return b"%x\r\n%b\r\n" % (len(piece), piece)


def result(rpc_id: object, value: object) -> bytes:
    """A JSON-RPC result."""
    return _json({"jsonrpc": "2.0", "id": rpc_id, "result": value})


def error(rpc_id: object, code: int, message: str, data: object = None) -> bytes:
    """A JSON-RPC error."""
    described = {"code": code, "message": message} | ({} if data is None else {"data": data})
    return _json({"jsonrpc": "2.0", "id": rpc_id, "error": described})


def notification(method: str, params: object = None) -> bytes:
    """A JSON-RPC notification."""
    return _json({"jsonrpc": "2.0", "method": method, **({"params": params} if params else {})})


def event(
    message: bytes, *, newline: str = "\n", data_lines: int = 1, name: str = "message"
) -> bytes:
    """One event of a stream that carries a message, cut into that many `data:` lines.

    A message is cut only where JSON allows a line break, before one of its commas.
    """
    parts = _cut(message.decode(), data_lines)
    lines = [f"event: {name}"] if name else []
    lines += [f"data: {part}" for part in parts]
    return (newline.join(lines) + newline + newline).encode()


def in_pieces(data: bytes, size: int) -> Sequence[bytes]:
    """The same bytes in pieces of that size, which may split a character or a line end."""
    return [data[start : start + size] for start in range(0, len(data), size)]


def _cut(message: str, lines: int) -> list[str]:
    parts = message.split(", ", lines - 1)
    return [*(f"{part}," for part in parts[:-1]), parts[-1]]


def _head(status: int, content_type: str, headers: Mapping[str, str]) -> bytes:
    phrase = HTTPStatus(status).phrase if status in set(HTTPStatus) else "Odd"
    lines = [f"HTTP/1.1 {status} {phrase}"]
    if content_type:
        lines.append(f"Content-Type: {content_type}")
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def _json(message: object) -> bytes:
    return json.dumps(message, ensure_ascii=False).encode()
