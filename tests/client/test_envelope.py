"""How a question to a router is spelled, and what counts as an answer."""

import json

import pytest

from pointsman import envelope
from pointsman.envelope import NoAnswer, Refused


def test_a_call_repeats_itself_in_its_headers() -> None:
    question = envelope.call_tool("1.2", "a.b", b'{"x":1.0}')

    assert dict(question.headers) == {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": "a.b",
    }
    assert b'"arguments":{"x":1.0}' in question.body
    assert json.loads(question.body)["params"]["_meta"] == {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "pointsman", "version": "1.2"},
    }


@pytest.mark.parametrize(
    ("name", "spelled"),
    [
        pytest.param("a.b", "a.b", id="plain"),
        pytest.param("files/read.all v2", "files/read.all v2", id="with a blank inside"),
        pytest.param(" a", "=?base64?IGE=?=", id="a blank at the edge"),
        pytest.param("é", "=?base64?w6k=?=", id="beyond ASCII"),
        pytest.param("a\nb", "=?base64?YQpi?=", id="a line break"),
        pytest.param("", "=?base64??=", id="empty"),
        pytest.param("=?base64?YQ==?=", "=?base64?PT9iYXNlNjQ/WVE9PT89?=", id="like the marker"),
    ],
)
def test_a_name_in_a_header_survives_it(name: str, spelled: str) -> None:
    assert dict(envelope.call_tool("1", name, b"{}").headers)["Mcp-Name"] == spelled


def test_the_next_page_is_asked_for_by_its_cursor() -> None:
    body = json.loads(envelope.list_tools("1", 'a"b').body)

    assert body["params"]["cursor"] == 'a"b'


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        pytest.param("application/json; charset=utf-8", '{"result": {"a":1.0} ,"id":1}', id="JSON"),
        pytest.param("text/event-stream", 'data: {"id":1,"result":{"a":1.0}}\n\n', id="a stream"),
        pytest.param(
            "text/event-stream", 'data: {"id":1,"result":{"a":1.0}}', id="a stream without its end"
        ),
        pytest.param(
            "text/event-stream",
            '\ufeff: hi\rdata: {"method":"x"}\r\r'
            'event: message\rdata:{"id":1,\rdata:"result":{"a":1.0}}\r\r',
            id="a stream with everything",
        ),
    ],
)
def test_a_result_is_taken_out_as_it_is_spelled(kind: str, body: str) -> None:
    assert envelope.result(200, kind, body.encode()) == b'{"a":1.0}'


def test_an_error_is_raised_with_its_code_whatever_the_status() -> None:
    body = b'{"id":null,"error":{"code":-32602,"message":"no","data":{}}}'

    with pytest.raises(Refused, match="no") as caught:
        envelope.result(400, "application/json", body)

    assert caught.value.code == -32602


@pytest.mark.parametrize(
    ("data", "said"),
    [
        pytest.param("", "no", id="nothing"),
        pytest.param(',"data":{"reason":"suspended"}', "no: suspended", id="a reason"),
        pytest.param(',"data":["suspended"]', "no", id="a list"),
    ],
)
def test_an_error_is_told_with_the_reason_that_it_gives(data: str, said: str) -> None:
    body = f'{{"id":1,"error":{{"code":-32602,"message":"no"{data}}}}}'

    with pytest.raises(Refused) as caught:
        envelope.result(200, "application/json", body.encode())

    assert caught.value.message == said


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"[]", id="a list"),
        pytest.param(b"{", id="an object cut off"),
        pytest.param(b"\xff", id="bytes that are not UTF-8"),
        pytest.param(b'{"jsonrpc":"2.0"}', id="neither result nor error"),
        pytest.param(b'{"error":5}', id="an error that is none"),
        pytest.param(b'{"result":5}', id="a result that is no object"),
        pytest.param(b'{"result":{"a":1,"a":2}}', id="a result with a member twice"),
        pytest.param(b'{"a":1}{"a":1}', id="two objects"),
        pytest.param(b'{"result":' + b"[" * 9999, id="a deep answer"),
    ],
)
def test_anything_else_is_no_answer(body: bytes) -> None:
    with pytest.raises(NoAnswer, match="HTTP 200, application/json, but no MCP answer"):
        envelope.result(200, "application/json", body)


@pytest.mark.parametrize(
    ("raw", "meant"),
    [
        pytest.param(b'{"a":[1.0,"\\ud83d"]}', {"a": [1.0, "\ud83d"]}, id="a value"),
        pytest.param(None, None, id="nothing"),
        pytest.param(b"9" * 5000, None, id="a number of more digits than can be read"),
    ],
)
def test_a_part_means_what_it_spells(raw: bytes | None, meant: object) -> None:
    assert envelope.meaning(raw) == meant
