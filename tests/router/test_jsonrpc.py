"""Which bytes are a message, and what is said of those that are none."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import spelled
from bench.spelled import Whole
from pointsman_contract import rawjson
from pointsman_router import jsonrpc
from pointsman_router.jsonrpc import (
    INVALID_REQUEST,
    PARSE_ERROR,
    Batch,
    NotAMessage,
    Notification,
    Request,
)


def message(**members: bytes) -> bytes:
    """A request `ping` with these members instead."""
    whole = {"jsonrpc": b'"2.0"', "id": b"1", "method": b'"ping"'} | members
    return rawjson.assemble({name: value for name, value in whole.items() if value})


def refused(body: bytes) -> NotAMessage:
    with pytest.raises(NotAMessage) as caught:
        jsonrpc.parse(body)
    assert caught.value.message.isprintable()
    assert len(caught.value.message) < 100
    return caught.value


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="J01 nothing"),
        pytest.param(b" \r\n", id="J01 blanks"),
        pytest.param(b"{", id="J01 a brace"),
        pytest.param(b"[", id="J01 a bracket"),
        pytest.param(b"hello", id="J01 words"),
        pytest.param(message() + b"x", id="J01 a letter behind it"),
        pytest.param(message() + message(), id="J01 two messages"),
        pytest.param(message() + b"," + message(), id="J01 two messages and a comma"),
        pytest.param(b"1,2", id="J01 two numbers and a comma"),
        pytest.param(b"[]]", id="J01 a bracket too many"),
        pytest.param(b"\xef\xbb\xbf" + message(), id="J02 a byte order mark"),
        pytest.param(message().decode().encode("utf-16"), id="J02 UTF-16"),
        pytest.param(message().decode().encode("utf-16-be"), id="J02 UTF-16 without a mark"),
        pytest.param(message(params=b'{"a":"\xff"}'), id="J02 invalid UTF-8"),
        pytest.param(message(params=b'{"a":"\xed\xa0\x80"}'), id="J02 an encoded surrogate"),
        pytest.param(message(params=b'{"a":NaN}'), id="J04 NaN"),
        pytest.param(message(params=b'{"a":[-Infinity]}'), id="J04 an infinity"),
        pytest.param(message(params=rb'{"a":NaN,"b":"\ud800"}'), id="J04 beside half a pair"),
        pytest.param(b"[NaN]", id="J04 NaN in an array"),
        pytest.param(b"[" * 100_000, id="J05 100,000 levels without an end"),
        pytest.param(
            message(params=b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
            id="J05 100,000 levels",
        ),
    ],
)
def test_what_is_no_json_is_a_parse_error(body: bytes) -> None:
    wrong = refused(body)

    assert (wrong.code, wrong.id) == (PARSE_ERROR, b"null")


@pytest.mark.parametrize(
    ("body", "echoed"),
    [
        pytest.param(b"1", b"null", id="a number"),
        pytest.param(b'"ping"', b"null", id="a string"),
        pytest.param(b"null", b"null", id="null"),
        pytest.param(message(id=b"null"), b"null", id="J08 id null"),
        pytest.param(message(id=b"1.5"), b"null", id="J08 id 1.5"),
        pytest.param(message(id=b"1.0"), b"null", id="J08 id 1.0"),
        pytest.param(message(id=b"1e3"), b"null", id="J08 id 1e3"),
        pytest.param(message(id=b"true"), b"null", id="J08 id true"),
        pytest.param(message(id=b"{}"), b"null", id="J08 id an object"),
        pytest.param(message(id=b"[1]"), b"null", id="J08 id a list"),
        pytest.param(message(id=b'"' + b"x" * 2000 + b'"'), b"null", id="J08 id of 2,000 letters"),
        pytest.param(message(method=b"5"), b"1", id="J11 a method that is a number"),
        pytest.param(message(method=b"null"), b"1", id="J11 a method that is null"),
        pytest.param(message(method=b""), b"1", id="J11 no method"),
        pytest.param(message(jsonrpc=b""), b"1", id="no version"),
        pytest.param(message(jsonrpc=b'"1.0"'), b"1", id="another version"),
        pytest.param(message(jsonrpc=b"2.0"), b"1", id="the version as a number"),
        pytest.param(message(params=b"[]"), b"1", id="params that are a list"),
        pytest.param(message(params=b'"x"'), b"1", id="params that are a string"),
        pytest.param(
            message(params=b'{"name":"a","arguments":{},"name":"b"}'), b"1", id="J13 name twice"
        ),
        pytest.param(
            message(params=rb'{"name":"b","n\u0061me":"a"}'), b"1", id="J13 one name escaped"
        ),
        pytest.param(message()[:-1] + b',"method":"tools/call"}', b"1", id="J13 method twice"),
        pytest.param(message(Method=b'"tools/call"'), b"1", id="J14 Method beside method"),
        pytest.param(message(PARAMS=b"{}"), b"1", id="J14 PARAMS"),
        pytest.param(
            message()[:-1] + ',"param\u017f":{}}'.encode(), b"1", id="J14 params with a long s"
        ),
        pytest.param(message(result=b"{}", method=b""), b"null", id="J27 a result"),
        pytest.param(message(error=b"{}", method=b""), b"null", id="J27 an error"),
        pytest.param(message(result=b"{}"), b"null", id="J27 a result beside a method"),
        pytest.param(message(error=b"{}"), b"null", id="J27 an error beside a method"),
        pytest.param(
            message(result=b"{}", method=b"", id=b'"a"'), b"null", id="J27 a result with its id"
        ),
    ],
)
def test_json_that_is_no_message_is_an_invalid_request(body: bytes, echoed: bytes) -> None:
    wrong = refused(body)

    assert (wrong.code, wrong.id) == (INVALID_REQUEST, echoed)


@pytest.mark.parametrize(
    "id_",
    [
        b"0",
        b"7",
        b"-1",
        b"9223372036854775807",
        b"9007199254740993",
        b"9" * 100,
        b'""',
        b'"1"',
        b'"server-discover-probe-1"',
        b'"listen:0"',
        rb'"\u0061\/\ud800"',
        '"ü😀"'.encode(),
    ],
    ids=lambda id_: id_.decode()[:30],
)
def test_j08_an_id_is_echoed_digit_by_digit(id_: bytes) -> None:
    request = jsonrpc.parse(message(id=id_))

    assert isinstance(request, Request)
    assert request.id == id_
    assert jsonrpc.response(request.id, b"{}") == b'{"jsonrpc":"2.0","id":' + id_ + b',"result":{}}'


def test_a_message_without_an_id_wants_no_answer() -> None:
    assert jsonrpc.parse(message(id=b"", params=b'{"a":1}')) == Notification("ping", {"a": b"1"})


def test_a_request_may_come_without_params() -> None:
    assert jsonrpc.parse(message()) == Request(b"1", "ping", {})


def test_unknown_members_of_the_envelope_are_nobodys_business() -> None:
    assert jsonrpc.parse(message(trace=b"[1]", Vendor=b"{}")) == Request(b"1", "ping", {})


def test_members_may_come_in_any_order_and_with_any_blanks() -> None:
    body = b'\r\n{ "params" : { "a" : 1 } ,\t"method":"ping", "id": 1 ,"jsonrpc":"2.0"}\n'

    assert jsonrpc.parse(body) == Request(b"1", "ping", {"a": b"1"})


@given(spelled.objects(with_half_pairs=True))
def test_params_keep_every_byte(whole: Whole) -> None:
    names = [name for name, _ in whole.parts]
    if len(set(names)) < len(names):
        assert refused(message(params=whole.data.strip())).code == INVALID_REQUEST
    else:
        request = jsonrpc.parse(message(params=whole.data.strip()))

        assert request == Request(b"1", "ping", dict(whole.parts))


@pytest.mark.parametrize(
    "argument",
    [
        pytest.param(rb'"\ud800"', id="J03 half a surrogate pair"),
        pytest.param(b"1e400", id="J04 a number beyond any float"),
        pytest.param(b"[" * 60 + b"]" * 60, id="J05 60 levels"),
        pytest.param(b'{"a":1,"a":2}', id="a member twice, deeper than the router decides"),
    ],
)
def test_legal_json_is_let_in_as_it_came(argument: bytes) -> None:
    request = jsonrpc.parse(message(params=b'{"arguments":{"x":' + argument + b"}}"))

    assert isinstance(request, Request)
    assert request.params["arguments"] == b'{"x":' + argument + b"}"


@given(spelled.arrays(with_half_pairs=True))
def test_j06_an_array_is_a_batch_of_what_it_holds(whole: Whole) -> None:
    assert jsonrpc.parse(whole.data) == Batch([item for _, item in whole.parts])


@given(st.one_of(st.binary(max_size=30), spelled.values(with_half_pairs=True).map(str.encode)))
def test_any_bytes_are_a_message_or_refused(body: bytes) -> None:
    code = None
    try:
        jsonrpc.parse(body)
    except NotAMessage as wrong:
        code = wrong.code

    assert code in (None, PARSE_ERROR, INVALID_REQUEST)


@pytest.mark.parametrize(
    ("name", "clash"),
    [
        ("name", None),
        ("Name", "name"),
        ("NAME", "name"),
        ("argument\u017f", "arguments"),
        ("_Meta", "_meta"),
        ("names", None),
        ("name ", None),
        ("na\u0307me", None),
    ],
)
def test_j14_a_known_name_in_another_case_is_a_clash(name: str, clash: str | None) -> None:
    known = frozenset(["name", "arguments", "_meta"])

    assert jsonrpc.case_clash({name: b"1"}, known) == clash


def test_an_error_carries_its_code_its_words_and_its_data() -> None:
    plain = jsonrpc.error_response(b'"a"', -32602, 'no "such" tool \ud800')
    full = jsonrpc.error_response(b"1", -32022, "no", b'{"supported": []}')

    assert json.loads(plain) == {
        "jsonrpc": "2.0",
        "id": "a",
        "error": {"code": -32602, "message": 'no "such" tool \ud800'},
    }
    assert full.endswith(b'"data":{"supported": []}}}')
