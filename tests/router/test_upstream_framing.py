"""Which bytes are an answer, where it ends, and whether its connection may serve again."""

import contextlib
import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import answers
from pointsman_router.upstream.framing import Broken, Framing
from pointsman_router.upstream.limits import KIB, Limits

LIMITS = Limits()
BODY = b'{"jsonrpc":"2.0","id":1,"result":{}}'
WHOLE = answers.http(200, BODY)
CHUNKED = answers.http_in_chunks(200, [BODY[:7], BODY[7:]], answers.JSON)
UP_TO_THE_END = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"
INTERIM = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\nContent-Type: text/html\r\n\r\n"


def fed(*data: bytes, limits: Limits = LIMITS) -> Framing:
    framing = Framing(limits)
    for one in data:
        framing.feed(one)
    return framing


def ended(*data: bytes) -> Framing:
    framing = fed(*data)
    framing.end()
    return framing


def chunked(raw: bytes, version: str = "1.1", headers: bytes = b"") -> bytes:
    return b"HTTP/%b 200 OK\r\n%bTransfer-Encoding: chunked\r\n\r\n%b" % (
        version.encode(),
        headers,
        raw,
    )


def headed(line: bytes, body: bytes = BODY) -> bytes:
    return b"HTTP/1.1 200 OK\r\n%b\r\nContent-Length: %d\r\n\r\n%b" % (line, len(body), body)


IN_CHUNKS = b"%x\r\n%b\r\n0\r\n\r\n" % (len(BODY), BODY)


@pytest.mark.parametrize(
    ("framing", "reusable"),
    [
        pytest.param(fed(WHOLE), True, id="a stated length"),
        pytest.param(fed(CHUNKED), True, id="chunks"),
        pytest.param(fed(*(bytes([one]) for one in WHOLE)), True, id="a length, byte by byte"),
        pytest.param(fed(*(bytes([one]) for one in CHUNKED)), True, id="chunks, byte by byte"),
        pytest.param(
            fed(chunked(b"%x;a=b\r\n%b\r\n0\r\nX: 1\r\n\r\n" % (len(BODY), BODY))),
            True,
            id="an extension and a trailer",
        ),
        pytest.param(
            fed(chunked(b"%x\r\n%b\r\n0\r\nContent-Type: text/html\r\n\r\n" % (len(BODY), BODY))),
            True,
            id="a trailer named like a header",
        ),
        pytest.param(fed(INTERIM + WHOLE), True, id="an interim answer in one piece"),
        pytest.param(fed(INTERIM, INTERIM, WHOLE), True, id="interim answers in pieces"),
        pytest.param(
            fed(b"HTTP/1.1 100 Continue\r\nContent-Length: 9\r\n\r\n" + WHOLE),
            True,
            id="an interim answer that states a length",
        ),
        pytest.param(fed(headed(b"X:\r\ny: \r\nZ: \xff")), True, id="empty and odd headers"),
        pytest.param(fed(headed(b"connection: CLOSE")), False, id="a connection to be closed"),
        pytest.param(
            fed(headed(b"Connection: keep-alive\r\nConnection: close")), False, id="both at once"
        ),
        pytest.param(fed(WHOLE.replace(b"/1.1", b"/1.0")), False, id="HTTP 1.0 with a length"),
        pytest.param(
            fed(headed(b"Connection: keep-alive").replace(b"/1.1", b"/1.0")),
            True,
            id="HTTP 1.0 kept alive",
        ),
        pytest.param(
            fed(chunked(IN_CHUNKS, "1.0", b"Connection: keep-alive\r\n")),
            False,
            id="HTTP 1.0 in chunks",
        ),
        pytest.param(ended(UP_TO_THE_END + BODY), False, id="ended by FIN"),
        pytest.param(ended(UP_TO_THE_END, BODY), False, id="ended by FIN, in pieces"),
        pytest.param(
            ended(UP_TO_THE_END.replace(b"/1.1", b"/1.0") + BODY), False, id="1.0 ended by FIN"
        ),
        pytest.param(fed(WHOLE + WHOLE), False, id="a second answer behind it"),
        pytest.param(fed(WHOLE + b"HT"), False, id="the beginning of a second answer"),
        pytest.param(fed(WHOLE + b"garbage"), False, id="garbage behind it"),
        pytest.param(fed(headed(b"Connection: close") + b"x"), False, id="garbage after close"),
        pytest.param(
            fed(headed(b"Upgrade: h2c\r\nConnection: upgrade")), True, id="an upgrade offered"
        ),
    ],
)
def test_every_legal_answer_is_whole_and_is_reused_only_when_it_may_be(
    framing: Framing, reusable: bool
) -> None:
    assert framing.is_complete
    assert framing.status == 200
    assert b"".join(framing.take()) == BODY
    assert framing.headers.get(b"content-type") in {b"application/json", None}
    assert framing.is_reusable is reusable


@pytest.mark.parametrize("status", [204, 304])
def test_an_answer_that_has_no_body_ends_with_its_head(status: int) -> None:
    framing = fed(b"HTTP/1.1 %d Odd\r\nX: y\r\n\r\n" % status)

    assert framing.is_complete
    assert framing.is_reusable
    assert framing.take() == []


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(WHOLE[:-1], id="short of its length"),
        pytest.param(CHUNKED[:-1], id="within the last chunk"),
        pytest.param(CHUNKED[:-5], id="before the last chunk"),
        pytest.param(WHOLE[:30], id="within the head"),
        pytest.param(INTERIM, id="after an interim answer"),
    ],
)
def test_a_connections_end_completes_no_answer_that_says_where_it_ends(data: bytes) -> None:
    framing = fed(data)

    assert framing.end() is False
    assert not framing.is_complete


def test_an_answer_ended_by_the_connection_is_not_complete_before() -> None:
    framing = fed(UP_TO_THE_END + BODY)

    assert not framing.is_complete
    assert framing.end() is True
    assert framing.is_complete


@pytest.mark.parametrize(
    ("data", "says"),
    [
        pytest.param(b"garbage\r\n\r\n", "not HTTP", id="garbage"),
        pytest.param(b"\r\n" + WHOLE, "not HTTP", id="a line before it"),
        pytest.param(b"POST / HTTP/1.1\r\n\r\n", "not HTTP", id="a request"),
        pytest.param(WHOLE.replace(b"HTTP/1.1", b"RTSP/1.0"), "not HTTP", id="RTSP"),
        pytest.param(WHOLE.replace(b"HTTP/1.1", b"ICE/1.0"), "not HTTP", id="ICE"),
        pytest.param(WHOLE.replace(b"/1.1", b"/2.0"), "not HTTP", id="HTTP 2.0"),
        pytest.param(WHOLE.replace(b"/1.1", b"/0.9"), "not HTTP", id="HTTP 0.9"),
        pytest.param(WHOLE.replace(b"/1.1", b"/1.2"), "not HTTP", id="HTTP 1.2"),
        pytest.param(WHOLE.replace(b"200", b"099"), "not HTTP", id="status 99"),
        pytest.param(WHOLE.replace(b"200", b"2000"), "not HTTP", id="a status of four digits"),
        pytest.param(b"\x16\x03\x01\x02\x00", "not HTTP", id="TLS"),
        pytest.param(WHOLE.replace(b"\r\n", b"\n"), "not HTTP", id="bare line feeds"),
        pytest.param(headed(b"X: a\r\n b"), "not HTTP", id="a folded header"),
        pytest.param(headed(b"X: a\0b"), "not HTTP", id="NUL in a header"),
        pytest.param(headed(b"X : a"), "not HTTP", id="a blank before the colon"),
        pytest.param(headed(b": a"), "not HTTP", id="a header without a name"),
        pytest.param(headed(b"Content-Length: 3"), "not HTTP", id="two lengths"),
        pytest.param(headed(b"Transfer-Encoding: chunked"), "not HTTP", id="length and chunks"),
        pytest.param(WHOLE.replace(b"Length: ", b"Length: -"), "not HTTP", id="a negative length"),
        pytest.param(WHOLE.replace(b"Length: ", b"Length: +"), "not HTTP", id="a signed length"),
        pytest.param(
            WHOLE.replace(b"Length: ", b"Length: " + b"9" * 30), "not HTTP", id="a vast length"
        ),
        pytest.param(chunked(b"zz\r\n"), "not HTTP", id="a bad chunk size"),
        pytest.param(chunked(b"f" * 17 + b"\r\n"), "not HTTP", id="a vast chunk size"),
        pytest.param(chunked(b"2\n{}\n0\n\n"), "not HTTP", id="chunks with bare line feeds"),
        pytest.param(chunked(b"-2\r\n{}\r\n"), "not HTTP", id="a negative chunk size"),
        pytest.param(
            chunked(IN_CHUNKS).replace(b"chunked", b"gzip"), "coding", id="coded on the way"
        ),
        pytest.param(
            chunked(IN_CHUNKS).replace(b"chunked", b"gzip, chunked"), "coding", id="coded, chunked"
        ),
        pytest.param(
            chunked(IN_CHUNKS).replace(b"chunked", b"identity"), "coding", id="identity on the way"
        ),
        pytest.param(
            chunked(IN_CHUNKS, headers=b"Transfer-Encoding: chunked\r\n"),
            "coding",
            id="chunked twice",
        ),
        pytest.param(
            b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
            "changes the protocol",
            id="101",
        ),
        pytest.param(
            b"HTTP/1.1 101 Switching\r\n\r\n" + WHOLE, "changes the protocol", id="101 of a sort"
        ),
        pytest.param(INTERIM * 17 + WHOLE, "put off", id="interim answers without end"),
        pytest.param(headed(b"X: " + b"a" * 8 * KIB), "too long", id="a header over 8 KiB"),
        pytest.param(
            WHOLE.replace(b"OK", b"O" * 9 * KIB), "too long", id="a status line over 8 KiB"
        ),
        pytest.param(
            headed(b"\r\n".join([b"X: " + b"a" * 7 * KIB] * 10)), "too large", id="a 70 KiB head"
        ),
        pytest.param(headed(b"\r\n".join([b"X: a"] * 2000)), "too many", id="2,000 headers"),
        pytest.param(
            chunked(b"0\r\n" + b"X: a\r\n" * 2000 + b"\r\n"), "too many", id="2,000 trailers"
        ),
    ],
)
@pytest.mark.parametrize("in_pieces", [False, True], ids=["at once", "in pieces"])
def test_what_is_no_answer_is_refused_with_its_mistake(
    data: bytes, says: str, in_pieces: bool
) -> None:
    with pytest.raises(Broken, match=says):
        fed(*(answers.in_pieces(data, 5) if in_pieces else [data]))


@pytest.mark.parametrize(
    ("before", "piece"),
    [
        pytest.param(b"HTTP/1.1 200 ", b"O" * 1000, id="a status line"),
        pytest.param(b"HTTP/1.1 200 OK\r\nX: ", b"a" * 1000, id="a header"),
        pytest.param(chunked(b"1;x="), b"a" * 1000, id="a chunk's extension"),
        pytest.param(chunked(b"0\r\nX: "), b"a" * 1000, id="a trailer"),
    ],
)
def test_what_never_ends_is_refused_before_it_costs_much(before: bytes, piece: bytes) -> None:
    framing = fed(before)
    for _ in range(LIMITS.head_max_bytes // len(piece) - 1):
        with contextlib.suppress(Broken):
            framing.feed(piece)

    with pytest.raises(Broken):
        framing.feed(piece * 2)


def test_the_bounds_of_a_head_are_those_that_were_set() -> None:
    strict = replace(LIMITS, headers_max=2, header_line_max_bytes=40, head_max_bytes=70)

    assert fed(headed(b"X: a"), limits=strict).is_complete
    for line in (b"X: a\r\nY: b", b"X: " + b"a" * 40):
        with pytest.raises(Broken):
            fed(headed(line), limits=strict)


def test_the_first_of_two_equal_headers_counts() -> None:
    framing = fed(headed(b"Content-Type: application/json\r\ncontent-type: text/html"))

    assert framing.headers[b"content-type"] == b"application/json"


def test_one_answer_after_another_is_read_on_its_own() -> None:
    framing = Framing(LIMITS)
    seen = []
    for whole in (WHOLE, CHUNKED, INTERIM + WHOLE, headed(b"Retry-After: 7"), WHOLE):
        framing.begin()
        framing.feed(whole)
        seen.append((b"".join(framing.take()), framing.is_reusable, len(framing.headers)))

    assert seen == [(BODY, True, 2)] * 5


@given(
    body=st.binary(max_size=300),
    cuts=st.lists(st.integers(0, 500), max_size=6),
    shape=st.sampled_from(["length", "chunks", "end"]),
)
def test_an_answer_is_the_same_wherever_the_network_cuts_it(
    body: bytes, cuts: list[int], shape: str
) -> None:
    whole = {
        "length": answers.http(200, body),
        "chunks": answers.http_in_chunks(200, answers.in_pieces(body, 7)),
        "end": UP_TO_THE_END + body,
    }[shape]
    edges = [0, *sorted(min(cut, len(whole)) for cut in cuts), len(whole)]
    pieces = [whole[start:end] for start, end in itertools.pairwise(edges)]
    framing = fed(*filter(None, pieces))
    by_fin = framing.end()

    assert b"".join(framing.take()) == body
    assert framing.is_complete
    assert (by_fin, framing.is_reusable) == (shape == "end", shape != "end")


@given(st.binary(min_size=1, max_size=200), st.binary(max_size=50))
def test_no_bytes_make_anything_but_an_answer_or_a_mistake(head: bytes, tail: bytes) -> None:
    for data in (head, b"HTTP/1.1 200 OK\r\n" + head, chunked(head) + tail):
        framing = Framing(LIMITS)
        with contextlib.suppress(Broken):
            framing.feed(data)

        assert framing.size == sum(map(len, framing.take()))
        assert framing.has_head or not framing.is_complete
