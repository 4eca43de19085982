"""One call of one tool: what is sent, and what its result says to a person."""

import difflib
import json
from dataclasses import dataclass
from typing import Never

from pointsman import envelope
from pointsman.agent import Agent, NotReached
from pointsman_contract import rawjson

# How alike a listed name must be to be taken for what was meant.
NEAR = 0.7


class Unsendable(ValueError):
    """What was typed cannot be sent; the message says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What there is to read of a result."""

    text: str
    has_failed: bool
    """Whether the tool failed, or asks for what it cannot get here."""


def name(text: str) -> str:
    """Return `text` if a tool can have this name; raises Unsendable."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Unsendable("the name is not UTF-8") from None
    return text


def arguments(text: str) -> bytes:
    """Return the JSON object that `text` spells, spelled as it was; raises Unsendable."""
    try:
        spelled = text.strip().encode()
        value = json.loads(text, parse_constant=_no_constant, parse_int=str)
    except json.JSONDecodeError as exc:
        where = f"line {exc.lineno}, column {exc.colno}"
        raise Unsendable(f"the arguments are no JSON: {exc.msg} ({where})") from None
    except (ValueError, RecursionError):
        raise Unsendable("the arguments are no JSON") from None
    if not isinstance(value, dict):
        raise Unsendable('the arguments must be a JSON object, like {"text": "hello"}')
    return spelled


async def call(agent: Agent, name: str, sent: bytes) -> bytes:
    """Return the result as it came; a refusal of an unknown name tells those that are near."""
    try:
        return await agent.call(name, sent)
    except envelope.Refused as refused:
        if refused.code != envelope.INVALID_PARAMS or not (near := await _nearest(agent, name)):
            raise
        message = f"{refused.message}. Did you mean {near}?"
        raise envelope.Refused(refused.code, message) from None


def outcome(result: bytes) -> Outcome:
    """Return the texts of a result; for what is no text, a line that says what it is.

    Where nothing of it is for reading, the structured content, as it was spelled.
    """
    members = rawjson.members(result)
    if envelope.meaning(members.get("resultType")) == "input_required":
        return Outcome("the tool asks for input, which this command cannot give", has_failed=True)
    blocks = envelope.meaning(members.get("content"))
    lines = [_line(block) for block in (blocks if isinstance(blocks, list) else ())]
    text = "\n".join(lines) if lines else members.get("structuredContent", b"").decode()
    return Outcome(text, has_failed=members.get("isError") == b"true")


async def _nearest(agent: Agent, name: str) -> str | None:
    try:
        names = [tool.name for tool in await agent.tools()]
    except (NotReached, envelope.NoAnswer, envelope.Refused):
        return None
    near = difflib.get_close_matches(name, names, n=1, cutoff=NEAR)
    return near[0] if near and near[0] != name else None


def _no_constant(_: str) -> Never:
    raise ValueError("no JSON")


def _line(block: object) -> str:
    match block:
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": "resource", "resource": {"text": str(text)}}:
            return text
        case {"type": "resource", "resource": {"uri": uri, "blob": str(blob)}}:
            return f"[resource {uri}, {len(blob)} characters of base64]"
        case {"type": "resource_link", "uri": uri}:
            return f"[resource {uri}]"
        case {"type": kind, "data": str(data)}:
            return f"[{kind}, {len(data)} characters of base64]"
        case {"type": kind}:
            return f"[{kind}]"
        case _:
            return "[no content]"
