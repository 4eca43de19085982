"""A message to or from an upstream is JSON-RPC to the letter, and raw where it is not ours."""

import json
from collections.abc import Callable

import pytest

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
