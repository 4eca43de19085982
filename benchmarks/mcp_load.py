"""What the agents of a benchmark send, in either era."""

import json
import urllib.request
from collections.abc import Mapping, Sequence
from typing import Any

from load import Asked

MODERN, LEGACY = "2026-07-28", "2025-11-25"
ERAS = ("legacy", "modern")
# As agents do: about 110 bytes of call.
_ARGUMENTS = {"text": "a few words of a call"}
_HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
}
_META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "load", "version": "1"},
}


def calls(url: str, names: Sequence[str], era: str, more: Mapping[str, str] | None = None) -> Asked:
    """Calls of these tools in turn."""
    params = [{"name": name, "arguments": _ARGUMENTS} for name in names]
    asked = [message("tools/call", each, era) for each in params]
    named = tuple((("Mcp-Name", name),) if era == "modern" else () for name in names)
    return Asked(url, tuple(asked), tuple(headers("tools/call", era, more).items()), named)


def lists(url: str, era: str) -> Asked:
    """Lists of all tools."""
    return Asked(url, (message("tools/list", {}, era),), tuple(headers("tools/list", era).items()))


def message(method: str, params: Mapping[str, Any], era: str, id_: object = 1) -> bytes:
    """One request as JSON."""
    whole = {**params, "_meta": {**_META, **params.get("_meta", {})}} if era == "modern" else params
    return json.dumps({"jsonrpc": "2.0", "id": id_, "method": method, "params": whole}).encode()


def headers(method: str, era: str, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The headers of one request; a modern call's name comes on top."""
    version = MODERN if era == "modern" else LEGACY
    said = {**_HEADERS, "MCP-Protocol-Version": version, **(more or {})}
    return said | ({"Mcp-Method": method} if era == "modern" else {})


def ask(
    url: str, method: str, params: Mapping[str, Any], more: Mapping[str, str] | None = None
) -> tuple[dict[str, Any], Mapping[str, str]]:
    """Ask once, as a legacy agent; the answer and its headers by their names in lower case."""
    sent = urllib.request.Request(
        url, message(method, params, "legacy"), headers(method, "legacy", more)
    )
    with urllib.request.urlopen(sent, timeout=20) as answer:
        body = answer.read()
        found = {name.lower(): value for name, value in answer.headers.items()}
    if found.get("content-type", "").startswith("text/event-stream"):
        body = body.rpartition(b"data:")[2]
    return json.loads(body), found


def listed(url: str, more: Mapping[str, str] | None = None) -> list[str]:
    """The names of all tools."""
    found: list[str] = []
    params: dict[str, str] = {}
    while True:
        answer, _ = ask(url, "tools/list", params, more)
        page = answer.get("result", {})
        found += [tool["name"] for tool in page.get("tools", [])]
        if "nextCursor" not in page:
            return found
        params = {"cursor": page["nextCursor"]}


def handshake(url: str) -> dict[str, str]:
    """Initialize, and return the headers that every later request takes."""
    hello = {
        "protocolVersion": LEGACY,
        "capabilities": {},
        "clientInfo": {"name": "load", "version": "1"},
    }
    _, said = ask(url, "initialize", hello)
    session = said.get("mcp-session-id")
    return {"Mcp-Session-Id": session} if session else {}
