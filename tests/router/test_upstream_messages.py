"""A message to or from an upstream is JSON-RPC to the letter, and raw where it is not ours."""

import json
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bench import spelled
from pointsman_contract.rawjson import Malformed
from pointsman_router.jsonrpc import RpcError
from pointsman_router.upstream import messages
from pointsman_router.upstream.messages import Notification, Request, Response, Result

CALL = b'{"jsonrpc":"2.0","id":"x","result":'


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(
            b'{"jsonrpc":"2.0","id":"x","result":{"n":9007199254740993, "e":1e400}}',
            Response(b'"x"', Result(b'{"n":9007199254740993, "e":1e400}')),
            id="a result as it was spelled",
        ),
        pytest.param(
            b' {"error" : {"code":-1,"message":"no","data":[1.0]}, "id":null, "jsonrpc":"2.0"} ',
            Response(b"null", RpcError(-1, "no", b'{"code":-1,"message":"no","data":[1.0]}')),
            id="an error in another order",
        ),
        pytest.param(
            b'{"jsonrpc":"2.0","error":{"code":-32000}}',
            Response(None, RpcError(-32000, "", b'{"code":-32000}')),
            id="an error without id and message",
        ),
        pytest.param(
            b'{"jsonrpc":"2.0","id":0,"method":"ping","params":{}}',
            Request(b"0", "ping"),
            id="a request",
        ),
        pytest.param(
            b'{"jsonrpc":"2.0","method":"notifications/message","params":{"a":1}}',
            Notification("notifications/message", b'{"a":1}'),
            id="a notification",
        ),
        pytest.param(
            CALL + b'{"text":"half of a pair: \\ud800"}}',
            Response(b'"x"', Result(b'{"text":"half of a pair: \\ud800"}')),
            id="half of a surrogate pair",
        ),
    ],
)
def test_a_message_is_read(data: bytes, expected: messages.Message) -> None:
    assert messages.read(data) == expected


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"null", id="null"),
        pytest.param(b"[]", id="an array"),
        pytest.param(b"7", id="a number"),
        pytest.param(b"{}", id="an empty object"),
        pytest.param(b"<html>", id="no JSON"),
        pytest.param(CALL + b"{}} {}", id="two values"),
        pytest.param(CALL + b"{}", id="a cut object"),
        pytest.param(b"\xef\xbb\xbf" + CALL + b"{}}", id="a byte order mark"),
        pytest.param(CALL + b'{"n":NaN}}', id="NaN"),
        pytest.param(CALL + b'{"t":"\xff"}}', id="no UTF-8"),
        pytest.param(CALL + b'{"t":' + b"[" * 100_000 + b"]" * 100_000 + b"}}", id="bottomless"),
        pytest.param(CALL + b'{},"id":"y"}', id="an id twice"),
        pytest.param(b'{"id":"x","result":{}}', id="no version"),
        pytest.param(b'{"jsonrpc":"1.0","id":"x","result":{}}', id="another version"),
        pytest.param(CALL + b'{},"error":{"code":1}}', id="a result and an error"),
        pytest.param(b'{"jsonrpc":"2.0","id":"x"}', id="neither"),
        pytest.param(CALL + b"null}", id="a null result"),
        pytest.param(CALL + b"[1]}", id="an array result"),
        pytest.param(b'{"jsonrpc":"2.0","id":"x","error":"no"}', id="an error that is a string"),
        pytest.param(
            b'{"jsonrpc":"2.0","id":"x","error":{"code":"1"}}', id="a code that is a string"
        ),
        pytest.param(
            b'{"jsonrpc":"2.0","id":"x","method":"a","result":{}}', id="a request with a result"
        ),
        pytest.param(b'{"jsonrpc":"2.0","id":null,"method":"a"}', id="a request with a null id"),
        pytest.param(b'{"jsonrpc":"2.0","id":{},"method":"a"}', id="an id that is an object"),
        pytest.param(b'{"jsonrpc":"2.0","id":"' + b"x" * 2000 + b'","method":"a"}', id="a huge id"),
        pytest.param(b'{"jsonrpc":"2.0","id":1,"method":5}', id="a method that is a number"),
    ],
)
def test_anything_else_is_no_message(data: bytes) -> None:
    with pytest.raises(Malformed):
        messages.read(data)


@pytest.mark.parametrize(
    ("raw", "ours"),
    [
        pytest.param(b'"7"', True, id="ours"),
        pytest.param(b'"\\u0037"', True, id="ours in another spelling"),
        pytest.param(b"7", False, id="in another JSON type"),
        pytest.param(b'"8"', False, id="another"),
        pytest.param(b"null", False, id="null"),
        pytest.param(None, False, id="none"),
    ],
)
def test_only_an_answer_with_our_id_is_ours(raw: bytes | None, ours: bool) -> None:
    assert Response(raw, Result(b"{}")).answers("7") is ours


@pytest.mark.parametrize("new", [messages.new_id, messages.Ids().draw], ids=["new", "in store"])
def test_ids_do_not_repeat_and_hold_over_64_random_bits(new: Callable[[], str]) -> None:
    ids = {new() for _ in range(1000)}

    assert len(ids) == 1000
    assert {len(id_) for id_ in ids} == {24}  # 96 bits in base 16


def test_arguments_and_meta_go_as_they_came() -> None:
    arguments = b'{ "n":9007199254740993,"e":-0, "u":"\\ud83d\\ude00\\/" }'
    named = {"name": b'"a \\"b\\""', "arguments": arguments}
    params = messages.params(named, messages.meta({"vendor/x": b"1.0"}, None))

    assert params == b'{"name":"a \\"b\\"","arguments":%b,"_meta":{"vendor/x":1.0}}' % arguments
    assert messages.params({"name": b'"a"'}, messages.meta({}, None)) == b'{"name":"a"}'
    assert messages.meta({}, "t") == b'{"progressToken":"t"}'


def test_requests_and_replies_are_json_rpc() -> None:
    built = [
        messages.request("i", "tools/list", messages.params({"cursor": b'"c\\u0000"'}, None)),
        messages.notification("notifications/initialized"),
        messages.reply(Request(b'"p"', "ping")),
        messages.reply(Request(b"12", "sampling/createMessage")),
        messages.request("i", "initialize", messages.initialize_params("2025-11-25", "1.0")),
    ]

    assert [json.loads(one) for one in built] == [
        {"jsonrpc": "2.0", "id": "i", "method": "tools/list", "params": {"cursor": "c\x00"}},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": "p", "result": {}},
        {"jsonrpc": "2.0", "id": 12, "error": {"code": -32601, "message": "Method not found"}},
        {
            "jsonrpc": "2.0",
            "id": "i",
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "pointsman", "version": "1.0"},
            },
        },
    ]


ID = "0a1b"


def answer(**members: bytes) -> bytes:
    """An answer with these raw members instead; an empty one is left out."""
    whole = {"jsonrpc": b'"2.0"', "id": b'"0a1b"', "result": b'{"n": 1.0}'} | members
    return b"{%b}" % b",".join(b'"%b":%b' % (n.encode(), raw) for n, raw in whole.items() if raw)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(answer(), b'{"n": 1.0}', id="compact"),
        pytest.param(
            b'{"jsonrpc": "2.0", "id": "0a1b", "result": {"a": "b c"}}',
            b'{"a": "b c"}',
            id="blanks between the tokens",
        ),
        pytest.param(b'{"result":{},"id":"0a1b","jsonrpc":"2.0"}', b"{}", id="in another order"),
        pytest.param(answer(result=b"{}") + b"\n", b"{}", id="a line break behind it"),
        pytest.param(
            answer(result='{"t":"ü😀","n":9007199254740993,"e":1e400,"t":1}'.encode()),
            '{"t":"ü😀","n":9007199254740993,"e":1e400,"t":1}'.encode(),
            id="what readers would change",
        ),
    ],
)
def test_the_usual_result_is_read_as_it_was_spelled(data: bytes, expected: bytes) -> None:
    assert messages.usual_result(data, ID) == expected


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"[" + answer() + b"]", id="an array"),
        pytest.param(answer() + answer(), id="two answers"),
        pytest.param(b"\xef\xbb\xbf" + answer(), id="a byte order mark"),
        pytest.param(answer(id=b'"0a1c"'), id="another id"),
        pytest.param(answer(id=rb'"\u0030a1b"'), id="our id in another spelling"),
        pytest.param(answer(id=b"1"), id="a number for an id"),
        pytest.param(answer(id=b"null"), id="a null id"),
        pytest.param(answer(id=b""), id="no id"),
        pytest.param(answer(jsonrpc=b'"1.0"'), id="another version"),
        pytest.param(answer(jsonrpc=b""), id="no version"),
        pytest.param(answer(result=b"[]"), id="a list for a result"),
        pytest.param(answer(result=b"null"), id="a null result"),
        pytest.param(answer(result=b""), id="no result"),
        pytest.param(answer(error=b'{"code":1,"message":""}'), id="a result and an error"),
        pytest.param(answer(method=b'"ping"'), id="a request that is an answer"),
        pytest.param(answer(vendor=b"1"), id="a member beside them"),
        pytest.param(answer()[:-1] + b',"id":"0a1b"}', id="the id twice"),
        pytest.param(answer()[:-1] + b',"result":{}}', id="the result twice"),
        pytest.param(b'{"id":"      ",' + answer()[1:], id="another id, of blanks, before ours"),
        pytest.param(answer(result=rb'{"t":"\ud800"}'), id="half of a surrogate pair"),
        pytest.param(answer(result=b'{"t":"\xff"}'), id="no UTF-8"),
        pytest.param(answer(result=b'{"n":NaN}'), id="NaN"),
        pytest.param(answer(result=b'{"x":' + b"[" * 63 + b"]" * 63 + b"}"), id="65 levels"),
        pytest.param(b"\n" + answer(), id="a line feed before it"),
    ],
)
def test_any_other_answer_is_looked_at_member_by_member(data: bytes) -> None:
    assert messages.usual_result(data, ID) is None


@st.composite
def nearly_answers(draw: st.DrawFn) -> bytes:
    """Answers in many spellings, of which seldom something is missing, doubled or other."""
    raw = spelled.objects().map(lambda one: one.data.strip(b" \t\r\n"))
    members: dict[str, st.SearchStrategy[bytes]] = {
        "jsonrpc": st.sampled_from([b'"2.0"'] * 8 + [b'"1.0"', rb'"2\u002e0"']),
        "id": st.sampled_from([b'"0a1b"'] * 8 + [b'" "', rb'"0a1\u0062"', b"1", b"null"]),
        "result": raw | st.sampled_from([b"{}", b'{ "a" : " " }', b"[]", b'"{}"']),
    }
    names = draw(st.permutations(list(members)))
    fault = draw(st.integers(0, 11))
    if fault == 0:
        names = names[1:]
    elif fault == 1:
        names = [*names, draw(st.sampled_from([*members, "error", "method", "", " ", "ID"]))]
    blanks = draw(st.sampled_from([st.just(b""), st.sampled_from([b"", b" ", b" ", b"\t"])]))
    written = []
    for name in names:
        value = draw(members.get(name, st.sampled_from([b"1", b'" "', b'""', b"{}"])))
        written.append(
            b'%b"%b"%b:%b%b' % (draw(blanks), name.encode(), draw(blanks), draw(blanks), value)
        )
    return b"%b{%b%b}%b" % (draw(blanks), b",".join(written), draw(blanks), draw(blanks))


@given(nearly_answers())
@example(answer())
@example(answer(result=b'{"a":"     "}')[:-1] + b', "":1}')
def test_a_result_that_is_read_in_one_go_is_the_one_that_the_message_holds(data: bytes) -> None:
    result = messages.usual_result(data, ID)

    if result is not None:
        read = messages.read(data)
        assert read == Response(b'"0a1b"', Result(result))
        assert isinstance(read, Response)
        assert read.answers(ID)


@given(spelled.objects())
def test_every_result_that_common_writers_write_is_read_in_one_go(whole: spelled.Whole) -> None:
    raw = whole.data.strip(b" \t\r\n")

    assert messages.usual_result(answer(result=raw), ID) == raw
    assert messages.usual_result(b'{"jsonrpc": "2.0", "id": "0a1b", "result": %b}' % raw, ID) == raw
