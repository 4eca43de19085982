"""An event stream means the same, however its bytes are cut and its lines end."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointsman_router.upstream.sse import Event, Parser, TooLong

BOM = b"\xef\xbb\xbf"


def parse(*chunks: bytes, line: int = 1000, event: int = 1000) -> list[Event]:
    parser = Parser(line_max_bytes=line, event_max_bytes=event)
    return [found for chunk in chunks for found in parser.feed(chunk)]


def message(data: str) -> Event:
    return Event("message", data.encode())


STREAMS = [
    pytest.param(b"data: a\n\ndata: b\n\n", ["a", "b"], id="line feeds"),
    pytest.param(
        b"data: a\r\n\r\ndata: b\r\n\r\n", ["a", "b"], id="carriage returns and line feeds"
    ),
    pytest.param(b"data: a\r\rdata: b\r\r", ["a", "b"], id="carriage returns alone"),
    pytest.param(b"data: a\r\n\ndata: b\r\r\n", ["a", "b"], id="every line end its own way"),
    pytest.param(BOM + b"data: a\n\n", ["a"], id="byte order mark"),
    pytest.param(b": hello\n\n:\ndata: a\n: between\n\n", ["a"], id="comments"),
    pytest.param(b"data: a\ndata: b\n\n", ["a\nb"], id="several data lines"),
    pytest.param(b"data:a\n\ndata:  b\n\n", ["a", " b"], id="no blank, and two"),
    pytest.param(b"data\n\n", [""], id="data without a colon"),
    pytest.param(b"data:\n\n", [""], id="empty data"),
    pytest.param(b"id: 1\nretry: 5\n\ndata: a\n\n", ["a"], id="priming event without data"),
    pytest.param(b"garbage\nfoo: bar\ndata: a\n\n", ["a"], id="unknown fields"),
    pytest.param(
        "data: grüße 世界 🚂\n\n".encode(), ["grüße 世界 🚂"], id="characters of many bytes"
    ),
    pytest.param(b"data: a\n\ndata: never ended\n", ["a"], id="no blank line at the end"),
    pytest.param(b"data: a\x00b\n\n", ["a\x00b"], id="a NUL"),
    pytest.param(b"\n\n\r\n\r\n", [], id="blank lines only"),
]


@pytest.mark.parametrize(("stream", "expected"), STREAMS)
def test_a_stream_is_read_alike_at_every_cut(stream: bytes, expected: list[str]) -> None:
    whole = [message(data) for data in expected]

    assert parse(stream) == whole
    assert parse(*(bytes([byte]) for byte in stream)) == whole
    for first in range(len(stream) + 1):
        for second in range(first, len(stream) + 1):
            assert parse(stream[:first], stream[first:second], stream[second:]) == whole


def test_an_event_may_have_another_name() -> None:
    assert parse(b"event: ping\ndata: a\n\ndata: b\n\n") == [
        Event("ping", b"a"),
        message("b"),
    ]


def test_a_name_without_data_is_no_event_and_names_none_after_it() -> None:
    assert parse(b"event: ping\n\ndata: b\n\n") == [message("b")]


@pytest.mark.parametrize(
    "chunks",
    [
        pytest.param([b"data: " + b"x" * 20], id="a line that does not end"),
        pytest.param([b"x" * 11, b"y" * 11], id="a line in two chunks"),
        pytest.param([b":" + b"x" * 30 + b"\n"], id="a comment"),
    ],
)
def test_a_line_over_its_bound_ends_the_stream(chunks: list[bytes]) -> None:
    with pytest.raises(TooLong) as error:
        parse(*chunks, line=20)

    assert error.value.limit_bytes == 20


@pytest.mark.parametrize(
    "stream",
    [
        pytest.param(b"data: 123456\ndata: 123456\n\n", id="long lines"),
        pytest.param(b"data:\n" * 12, id="empty lines, each with its line feed"),
    ],
)
def test_an_event_over_its_bound_ends_the_stream(stream: bytes) -> None:
    with pytest.raises(TooLong) as error:
        parse(stream, event=10)

    assert error.value.limit_bytes == 10


texts = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=20)
ends = st.sampled_from(["\n", "\r\n", "\r"])


@given(
    events=st.lists(st.tuples(st.lists(texts, min_size=1, max_size=3), ends), max_size=4),
    cuts=st.lists(st.integers(0, 400), max_size=6),
)
def test_what_is_written_is_read_back(events: list[tuple[list[str], str]], cuts: list[int]) -> None:
    stream = "".join(
        "".join(f"data: {line}{end}" for line in lines) + end for lines, end in events
    ).encode()
    places = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    chunks = [stream[a:b] for a, b in itertools.pairwise(places)]

    assert parse(*chunks) == [message("\n".join(lines)) for lines, _ in events]
