"""One question to a router in the modern revision, and what came back."""

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from pointsman_contract import rawjson

REVISION = "2026-07-28"
INVALID_PARAMS = -32602

_META = {
    "io.modelcontextprotocol/protocolVersion": REVISION,
    "io.modelcontextprotocol/clientCapabilities": {},
}
_ID = b"1"
_LINE_END = re.compile(r"\r\n|\r|\n")
_MARKER = ("=?base64?", "?=")


class NoAnswer(Exception):
    """What came back is no answer; the message says what it was."""


class Refused(Exception):
    """The router's answer is an error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


@dataclass(frozen=True, slots=True)
class Question:
    """One POST."""

    headers: tuple[tuple[str, str], ...]
    body: bytes


def list_tools(version: str, cursor: str | None = None) -> Question:
    """Return the question for one page of tools."""
    named = {} if cursor is None else {"cursor": rawjson.quote(cursor)}
    return _question(version, "tools/list", named)


def call_tool(version: str, name: str, arguments: bytes) -> Question:
    """Return the question that calls a tool; `arguments` are JSON, sent on as they are spelled."""
    params = {"name": rawjson.quote(name), "arguments": arguments}
    return _question(version, "tools/call", params, (("Mcp-Name", _header_value(name)),))


def result(status: int, content_type: str, body: bytes) -> bytes:
    """Return the result that an HTTP answer holds, a JSON object; raises NoAnswer or Refused."""
    kind = content_type.partition(";")[0].strip().lower()
    try:
        message = _in_stream(body) if kind == "text/event-stream" else _message(body)
        if (error := message.get("error")) is not None:
            raise _refused(error)
        if (found := message.get("result")) is not None:
            rawjson.members(found)
            return found
    except (UnicodeDecodeError, rawjson.Malformed):
        pass
    raise NoAnswer(f"HTTP {status}, {kind or 'without a content type'}, but no MCP answer")


def meaning(raw: bytes | None) -> object:
    """Return the value that a part of an answer spells; None where there is none to read."""
    try:
        return json.loads(raw or b"null")
    except ValueError:
        # A number of more digits than Python reads: others may have a use for it.
        return None


def _question(
    version: str,
    method: str,
    params: Mapping[str, bytes],
    headers: tuple[tuple[str, str], ...] = (),
) -> Question:
    client = {"io.modelcontextprotocol/clientInfo": {"name": "pointsman", "version": version}}
    message = {
        "jsonrpc": rawjson.quote("2.0"),
        "id": _ID,
        "method": rawjson.quote(method),
        "params": rawjson.assemble({**params, "_meta": json.dumps(_META | client).encode()}),
    }
    return Question(
        headers=(
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
            ("MCP-Protocol-Version", REVISION),
            ("Mcp-Method", method),
            *headers,
        ),
        body=rawjson.assemble(message),
    )


def _header_value(text: str) -> str:
    opening, closing = _MARKER
    is_plain = text.isascii() and text.isprintable() and text == text.strip() != ""
    if is_plain and not (text.startswith(opening) and text.endswith(closing)):
        return text
    return f"{opening}{base64.b64encode(text.encode()).decode()}{closing}"


def _message(data: bytes) -> Mapping[str, bytes]:
    return rawjson.members(rawjson.check(data))


def _in_stream(body: bytes) -> Mapping[str, bytes]:
    """Return the response among the events of a stream; notifications before it are passed over."""
    data: list[str] = []
    for line in [*_LINE_END.split(body.decode("utf-8-sig")), ""]:
        name, _, value = line.partition(":")
        if name == "data":
            data.append(value.removeprefix(" "))
        elif not line and data:
            message = _message("\n".join(data).encode())
            if "result" in message or "error" in message:
                return message
            data = []
    return {}


def _refused(raw: bytes) -> Refused:
    members = rawjson.members(raw)
    code, message = meaning(members.get("code")), meaning(members.get("message"))
    said = message if isinstance(message, str) else "without a message"
    data = meaning(members.get("data"))
    if isinstance(data, Mapping) and isinstance(reason := data.get("reason"), str):
        said = f"{said}: {reason}"
    return Refused(code if isinstance(code, int) else 0, said)
