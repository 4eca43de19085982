"""One question to a router in the modern revision, and what came back."""

import base64
import json
import re
from dataclasses import dataclass

from pointsman import rawjson

REVISION = "2026-07-28"
INVALID_PARAMS = -32602

_META = {
    "io.modelcontextprotocol/protocolVersion": REVISION,
    "io.modelcontextprotocol/clientCapabilities": {},
}
_ID = 1
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
    named = {} if cursor is None else {"cursor": json.dumps(cursor)}
    return _question(version, "tools/list", named)


def call_tool(version: str, name: str, arguments: str) -> Question:
    """Return the question that calls a tool; `arguments` are JSON, sent on as they are spelled."""
    params = {"name": json.dumps(name, ensure_ascii=False), "arguments": arguments}
    return _question(version, "tools/call", params, (("Mcp-Name", _header_value(name)),))


def result(status: int, content_type: str, body: bytes) -> str:
    """Return the JSON of the result that an HTTP answer holds; raises NoAnswer or Refused."""
    kind = content_type.partition(";")[0].strip().lower()
    try:
        text = body.decode("utf-8")
        message = _in_stream(text) if kind == "text/event-stream" else rawjson.members(text)
        if (error := message.get("error")) is not None:
            raise _refused(error)
        if (found := message.get("result")) is not None:
            return found
    except (UnicodeDecodeError, rawjson.NotJSON):
        pass
    raise NoAnswer(f"HTTP {status}, {kind or 'without a content type'}, but no MCP answer")


def _question(
    version: str, method: str, params: dict[str, str], headers: tuple[tuple[str, str], ...] = ()
) -> Question:
    client = {"io.modelcontextprotocol/clientInfo": {"name": "pointsman", "version": version}}
    members = {**params, "_meta": json.dumps(_META | client)}
    joined = ",".join(f"{json.dumps(name)}:{value}" for name, value in members.items())
    body = f'{{"jsonrpc":"2.0","id":{_ID},"method":{json.dumps(method)},"params":{{{joined}}}}}'
    return Question(
        headers=(
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
            ("MCP-Protocol-Version", REVISION),
            ("Mcp-Method", method),
            *headers,
        ),
        body=body.encode("utf-8"),
    )


def _header_value(text: str) -> str:
    opening, closing = _MARKER
    is_plain = text.isascii() and text.isprintable() and text == text.strip() != ""
    if is_plain and not (text.startswith(opening) and text.endswith(closing)):
        return text
    return f"{opening}{base64.b64encode(text.encode()).decode()}{closing}"


def _in_stream(text: str) -> dict[str, str]:
    """Return the response among the events of a stream; notifications before it are passed over."""
    data: list[str] = []
    for line in [*_LINE_END.split(text.removeprefix("\ufeff")), ""]:
        name, _, value = line.partition(":")
        if name == "data":
            data.append(value.removeprefix(" "))
        elif not line and data:
            message = rawjson.members("\n".join(data))
            if "result" in message or "error" in message:
                return message
            data = []
    return {}


def _refused(raw: str) -> Refused:
    members = rawjson.members(raw)
    code = rawjson.load(members.get("code", "null"))
    message = rawjson.load(members.get("message", "null"))
    return Refused(
        code if isinstance(code, int) else 0,
        message if isinstance(message, str) else "without a message",
    )
