"""A call that is read in one go is the call that its bytes spell, and no other."""

import json
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bench import spelled
from bench.spelled import Whole
from pointsman_contract import names, rawjson
from pointsman_router import jsonrpc, usualcall
from pointsman_router.jsonrpc import Request
from pointsman_router.usualcall import UsualCall

META = b'{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}'


def compact(members: dict[str, bytes]) -> bytes:
    return b"{%b}" % b",".join(b'"%b":%b' % (name.encode(), raw) for name, raw in members.items())


def whole(write: Callable[[dict[str, bytes]], bytes] = compact, **members: bytes) -> bytes:
    """A call with these raw members of the envelope instead; an empty one is left out."""
    envelope = {
        "jsonrpc": b'"2.0"',
        "id": b"1",
        "method": b'"tools/call"',
        "params": b'{"name":"a","arguments":{}}',
    } | members
    return write({name: raw for name, raw in envelope.items() if raw})


def body(**members: bytes) -> bytes:
    """A compact call with these raw members of params instead."""
    params = {"name": b'"a.b"', "arguments": b"{}"} | members
    return whole(params=compact(params))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(body(), UsualCall(b"1", "a.b", b"{}", b""), id="without _meta"),
        pytest.param(body(_meta=META), UsualCall(b"1", "a.b", b"{}", META), id="with _meta"),
        pytest.param(
            b'{"params":{"arguments":{},"name":"a"},"method":"tools/call","jsonrpc":"2.0","id":"x"}',
            UsualCall(b'"x"', "a", b"{}", b""),
            id="another order",
        ),
        pytest.param(
            b'{"jsonrpc": "2.0", "id": "a b", "method": "tools/call", "params": '
            b'{"name": "a", "arguments": {"t": "c d"}, "_meta": {"k": " "}}}',
            UsualCall(b'"a b"', "a", b'{"t": "c d"}', b'{"k": " "}'),
            id="blanks between the tokens",
        ),
        pytest.param(
            body(arguments=rb'{"n":9007199254740993,"e":1e400,"s":"\u00fc\/","a":1,"a":2}'),
            UsualCall(
                b"1", "a.b", rb'{"n":9007199254740993,"e":1e400,"s":"\u00fc\/","a":1,"a":2}', b""
            ),
            id="arguments that readers would change",
        ),
        pytest.param(
            body(arguments='{"s":"ü😀"}'.encode()),
            UsualCall(b"1", "a.b", '{"s":"ü😀"}'.encode(), b""),
            id="arguments in UTF-8",
        ),
        pytest.param(
            body() + b"\r\n", UsualCall(b"1", "a.b", b"{}", b""), id="a line break behind it"
        ),
    ],
)
def test_the_usual_spellings_are_read(data: bytes, expected: UsualCall) -> None:
    assert usualcall.read(data) == expected


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"[" + whole() + b"]", id="an array"),
        pytest.param(whole() + b"x", id="a letter behind it"),
        pytest.param(whole() + whole(), id="two calls"),
        pytest.param(b"\xef\xbb\xbf" + whole(), id="a byte order mark"),
        pytest.param(whole(id=b""), id="no id"),
        pytest.param(whole(id=b"null"), id="id null"),
        pytest.param(whole(id=b"1.0"), id="id 1.0"),
        pytest.param(whole(id=b"1e3"), id="id 1e3"),
        pytest.param(whole(id=b"[1]"), id="id a list"),
        pytest.param(whole(id=b'"%b"' % (b"x" * 2000)), id="id of 2,000 letters"),
        pytest.param(whole(jsonrpc=b'"1.0"'), id="another version"),
        pytest.param(whole(method=b'"tools/list"'), id="another method"),
        pytest.param(whole(method=rb'"tools\/call"'), id="an escape in the method"),
        pytest.param(whole(Method=b'"tools/list"'), id="Method beside method"),
        pytest.param(whole(result=b"{}"), id="a result beside it"),
        pytest.param(whole(trace=b"1"), id="a member beside it"),
        pytest.param(whole()[:-1] + b',"id":2}', id="id twice"),
        pytest.param(whole()[:-1] + b',"id":1}', id="the same id twice"),
        pytest.param(whole()[:-1] + b',"method":"tools/call"}', id="method twice"),
        pytest.param(whole().replace(b'"id"', rb'"\u0069d"'), id="an escape in a name"),
        pytest.param(body(Name=b'"a.c"'), id="Name beside name"),
        pytest.param(body()[:-2] + b',"name":"a.c"}}', id="name twice"),
        pytest.param(body()[:-2] + b',"arguments":{"a":1}}}', id="arguments twice"),
        pytest.param(body(_meta=META)[:-2] + b',"_meta":{}}}', id="_meta twice"),
        pytest.param(body(inputResponses=b"{}"), id="input that was asked for"),
        pytest.param(body(requestState=b'""'), id="a state to take up"),
        pytest.param(body(name=rb'"\u0061"'), id="an escape in the tool's name"),
        pytest.param(body(name='"ü"'.encode()), id="a name that is not ASCII"),
        pytest.param(
            body(name=b'"%b"' % (b"x" * (names.DOTTED_MAX_LENGTH + 1))), id="too long a name"
        ),
        pytest.param(body(name=b"5"), id="a name that is a number"),
        pytest.param(body(arguments=b"[]"), id="arguments in a list"),
        pytest.param(body(arguments=b"null"), id="null for arguments"),
        pytest.param(whole(params=b'{"name":"a"}'), id="no arguments"),
        pytest.param(whole(params=b'["a",{}]'), id="params in a list"),
        pytest.param(body(arguments=rb'{"s":"\ud800"}'), id="half a surrogate pair"),
        pytest.param(body(arguments=b'{"s":"\xff"}'), id="no UTF-8"),
        pytest.param(body(arguments=b'{"n":NaN}'), id="NaN"),
        pytest.param(body(arguments=b'{"n":01}'), id="a leading zero"),
        pytest.param(body(arguments=b'{"x":' + b"[" * 64 + b"]" * 64 + b"}"), id="67 levels"),
        pytest.param(
            body(arguments=b'{"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}"), id="100,000 levels"
        ),
        pytest.param(body(arguments=b'{"x":"%b"}' % (b"y" * 70_000)), id="70,000 bytes"),
        pytest.param(body(_meta=b'{"x":"%b"}' % (b"y" * 1100)), id="_meta of 1,100 bytes"),
        pytest.param(b"\n" + body(), id="a line feed before it"),
        pytest.param(body(name=b'"a b"'), id="a blank in the name"),
        pytest.param(
            body(name=b'"       "')[:-1] + b',"id":2}',
            id="id twice, and as many blanks in the name",
        ),
        pytest.param(body().replace(b",", b",\t"), id="tabs between the tokens"),
        pytest.param(
            body(name=b'"a b"').replace(b",", b", "), id="blanks in the name and between the tokens"
        ),
    ],
)
def test_any_other_spelling_is_left_to_whoever_reads_them_all(data: bytes) -> None:
    assert usualcall.read(data) is None


def mostly(usual: list[str], *odd: str) -> st.SearchStrategy[str]:
    """One of the usual spellings, seldom one of the others: two of those hide what each does."""
    return st.sampled_from(usual * (1 + 16 * len(odd) // len(usual)) + list(odd))


IDS = mostly(["1", "-0", '"1"', '""', '" "', '"a b"', r'"\u0061"', '"ü"'], "1.0", "null")
NAMES = mostly(['"a"', '"a.b"', '""', '"a b"'], '"ü"', r'"\/"', r'"\u0020"', '" "', "1")
OBJECTS = mostly(
    ["{}", '{"a":1}', '{ "a" : " " }', '{"a":1,"a":2}'], r'{"s":"\ud800"}', "[]", "null", '"{}"'
)
VALUES = OBJECTS | spelled.objects().map(lambda one: one.data.decode().strip(" \t\r\n"))


@st.composite
def objects_of(draw: st.DrawFn, members: dict[str, st.SearchStrategy[str]]) -> str:
    """An object of these members, of which seldom one is missing, doubled or spelled otherwise."""
    names = draw(st.permutations(list(members)))
    fault = draw(st.integers(0, 11))
    if fault == 0:
        names = names[1:]
    elif fault == 1:
        names = [*names, draw(st.sampled_from([*members, "extra", "", " "]))]
    blanks = draw(st.sampled_from([st.just(""), st.sampled_from(["", " "]), mostly([" "], "\t")]))
    odd = draw(st.integers(-20, 1))
    written = []
    for at, name in enumerate(names):
        spelling = json.dumps(name)
        if at == odd:
            spelling = draw(st.sampled_from([spelling.upper(), rf'"\u{ord(name[:1] or " "):04x}"']))
        value = draw(members.get(name, st.sampled_from(["1", '" "', '""', "{}"])))
        written.append(f"{draw(blanks)}{spelling}{draw(blanks)}:{draw(blanks)}{value}")
    return f"{draw(blanks)}{{{','.join(written)}{draw(blanks)}}}"


@st.composite
def nearly_usual(draw: st.DrawFn) -> bytes:
    """Calls in every spelling, and what is nearly one."""
    params = {"name": NAMES, "arguments": VALUES} | (
        {"_meta": OBJECTS} if draw(st.booleans()) else {}
    )
    envelope = {
        "jsonrpc": mostly(['"2.0"'], '"2\\u002e0"', '"2.00"'),
        "id": IDS,
        "method": mostly(['"tools/call"'], r'"tools\/call"', '"tools/list"'),
        "params": objects_of(params),
    }
    return draw(objects_of(envelope)).encode()


@given(nearly_usual())
@example(body())
@example(body(name=b'" "').replace(b":", b": "))
@example(body(name='"ü"'.encode()).replace(b'"id":', b'"id": '))
@example(body(_meta=b'""'))
@example(whole(id=b'" "')[:-1] + b',"id":""}')
def test_what_is_read_in_one_go_is_what_the_door_reads(data: bytes) -> None:
    call = usualcall.read(data)

    if call is not None:
        meta = {"_meta": call.meta} if call.meta else {}
        name = b'"%b"' % call.name.encode()
        params = {"name": name, "arguments": call.arguments} | meta
        assert jsonrpc.parse(data) == Request(call.id, "tools/call", params)
        assert call.id in data
        assert call.arguments in data


@given(
    st.integers().map(str) | spelled.strings(),
    st.from_regex(r"[a-zA-Z0-9_.-]{1,64}", fullmatch=True),
    spelled.objects(),
    st.sampled_from([b"", b"{}", META, b'{"a": " "}']),
    st.sampled_from([(b",", b":"), (b", ", b": ")]),
)
def test_every_call_that_common_writers_write_is_read(
    id_: str, name: str, arguments: Whole, meta: bytes, marks: tuple[bytes, bytes]
) -> None:
    comma, colon = marks

    def written(members: dict[str, bytes]) -> bytes:
        pairs = ((name.encode(), value) for name, value in members.items())
        return b"{%b}" % comma.join(b'"%b"%b%b' % (name, colon, value) for name, value in pairs)

    raw = arguments.data.strip(b" \t\r\n")
    params = {"name": rawjson.quote(name), "arguments": raw} | ({"_meta": meta} if meta else {})
    data = whole(id=id_.encode(), params=written(params), write=written)

    assert usualcall.read(data) == UsualCall(id_.encode(), name, raw, meta)
