"""Where an answer begins and ends in the bytes of a connection."""

from http import HTTPStatus

import httptools

from pointsman_router.upstream.limits import Limits

_OURS = frozenset(
    [
        b"content-encoding",
        b"content-length",
        b"content-type",
        b"mcp-session-id",
        b"retry-after",
        b"transfer-encoding",
    ]
)
"""The headers that anybody here looks at; what else comes is only counted."""
# The colon and the line end.
_LINE_BYTES = 4
# The parser takes RTSP and ICE for an answer too; only one of the three begins so.
_HTTP = ord("H")
_VERSIONS = frozenset(["1.0", "1.1"])
# RFC 9110, 15: these have no body, whatever their head says.
_BODILESS = frozenset([HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED])
# Plain numbers: comparing with an enum's members costs more than all else in a head.
_LEAST, _FINAL, _SWITCHING = 100, 200, 101


class Broken(Exception):
    """The bytes are no HTTP answer, or one over a bound; `str` says what is wrong with it."""


class Framing:
    """What has come of one answer after another; bytes go in by `feed`, and FIN by `end`."""

    __slots__ = (
        "_fault",
        "_fields",
        "_head_bytes",
        "_head_max_bytes",
        "_headers_max",
        "_interims",
        "_interims_max",
        "_line_max_bytes",
        "_parser",
        "_until_end",
        "has_head",
        "headers",
        "held_bytes",
        "is_complete",
        "is_reusable",
        "pieces",
        "received_bytes",
        "size",
        "status",
    )

    def __init__(self, limits: Limits) -> None:
        self._head_max_bytes = limits.head_max_bytes
        self._line_max_bytes = limits.header_line_max_bytes
        self._headers_max = limits.headers_max
        self._interims_max = limits.interims_max
        self._parser = httptools.HttpResponseParser(self)
        self.begin()

    def begin(self) -> None:
        """Expect the next answer."""
        self.status = 0
        self.headers: dict[bytes, bytes] = {}
        """Of `_OURS`, in lower case, the first of each."""
        self.pieces: list[bytes] = []
        """Of the body, what has not been taken yet."""
        self.held_bytes = 0
        """Of the body, how much that is."""
        self.size = 0
        """Of the body, how much has come."""
        self.received_bytes = 0
        """Since the head or the last piece of the body, how much was neither; before, of all."""
        self.has_head = False
        self.is_complete = False
        self.is_reusable = False
        """Whether the connection may serve again: it says so, and nothing follows the answer."""
        self._until_end = False
        self._fields = 0
        self._head_bytes = 0
        self._interims = 0
        self._fault = ""

    def feed(self, data: bytes) -> None:
        """Take what came next; raises Broken."""
        if not self.received_bytes and not self.has_head and data[0] != _HTTP:
            raise Broken("its answer is not HTTP")
        size = self.size
        self.received_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            if not self.is_complete:
                raise Broken(self._fault or "its answer is not HTTP") from None
            # Something follows that nobody asked for; the answer before it is none the worse.
            self.is_reusable = False
        if self.size != size:
            self.received_bytes = 0
        elif self.received_bytes > self._head_max_bytes and not self.is_complete:
            # A head, a chunk's extension or trailers without an end.
            raise Broken("its answer has a head that is too large")

    def end(self) -> bool:
        """Take the orderly end of the connection; return whether it completes the answer."""
        if self._until_end and not self.is_complete:
            self.is_complete = True
            return True
        return False

    @property
    def held(self) -> bytes:
        """Of the body, what has not been taken yet."""
        pieces = self.pieces
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def take(self) -> list[bytes]:
        """Return what has come of the body since the last time."""
        pieces, self.pieces, self.held_bytes = self.pieces, [], 0
        return pieces

    def on_message_begin(self) -> None:
        """Called by the parser where a status line begins."""
        if self.is_complete:
            self._refuse("it answers what was not asked")

    def on_status(self, reason: bytes) -> None:
        """Called by the parser for the words behind a status, perhaps piece by piece."""
        self._head_bytes += len(reason)
        if self._head_bytes > self._line_max_bytes and not self._fields:
            self._refuse("its answer has a header that is too long")

    def on_header(self, name: bytes, value: bytes) -> None:
        """Called by the parser for each header and trailer."""
        line_bytes = len(name) + len(value) + _LINE_BYTES
        self._fields += 1
        self._head_bytes += line_bytes
        if line_bytes > self._line_max_bytes:
            self._refuse("its answer has a header that is too long")
        if self._fields > self._headers_max:
            self._refuse("its answer has too many headers")
        if self._head_bytes > self._head_max_bytes:
            self._refuse("its answer has a head that is too large")
        name = name.lower()
        if name not in _OURS or self.has_head:
            return
        if name not in self.headers:
            self.headers[name] = value
        elif name == b"transfer-encoding":
            self._refuse("its answer is sent in a coding that was not asked for")

    def on_headers_complete(self) -> None:
        """Called by the parser at the end of a head, that of an interim answer too."""
        status = self._parser.get_status_code()
        if self._parser.get_http_version() not in _VERSIONS or status < _LEAST:
            self._refuse("its answer is not HTTP")
        if status < _FINAL:
            self._interims += 1
            if status == _SWITCHING:
                self._refuse("it changes the protocol")
            if self._interims > self._interims_max:
                self._refuse("its answer is put off again and again")
            self.headers.clear()
            return
        coding = self.headers.get(b"transfer-encoding")
        if coding is not None:
            if coding.strip().lower() != b"chunked":
                self._refuse("its answer is sent in a coding that was not asked for")
        elif b"content-length" not in self.headers:
            self._until_end = status not in _BODILESS
        self.status = status
        self.has_head = True

    def on_body(self, piece: bytes) -> None:
        """Called by the parser for each piece of a body."""
        self.pieces.append(piece)
        self.held_bytes += len(piece)
        self.size += len(piece)

    def on_message_complete(self) -> None:
        """Called by the parser at the end of an answer, of an interim one too."""
        if not self.has_head:
            return
        self.is_complete = True
        # RFC 9112, 6.1: what 1.0 says of chunks is not to be relied on.
        self.is_reusable = self._parser.should_keep_alive() and not (
            b"transfer-encoding" in self.headers and self._parser.get_http_version() == "1.0"
        )

    def _refuse(self, fault: str) -> None:
        self._fault = fault
        raise Broken(fault)
