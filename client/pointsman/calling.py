"""One call of one tool: what is sent, and what its result says to a person."""

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Never

from pointsman import envelope, rawjson
from pointsman.agent import Agent

# How alike a listed name must be to be taken for what was meant.
NEAR = 0.7


class NoArguments(ValueError):
    """The text is no JSON object; the message says where it stops being one."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What there is to read of a result."""

    text: str
    has_failed: bool


def arguments(text: str) -> str:
    """Return the JSON object that `text` spells, spelled as it was; raises NoArguments."""
    try:
        text.encode()
        value = json.loads(text, parse_constant=_no_constant)
    except json.JSONDecodeError as exc:
        where = f"line {exc.lineno}, column {exc.colno}"
        raise NoArguments(f"the arguments are no JSON: {exc.msg} ({where})") from None
    except (ValueError, RecursionError):
        raise NoArguments("the arguments are no JSON") from None
    if not isinstance(value, dict):
        raise NoArguments('the arguments must be a JSON object, like {"text": "hello"}')
    return text.strip()


async def call(agent: Agent, name: str, sent: str) -> str:
    """Return the result as it came; a refusal of an unknown name tells those that are near."""
    try:
        return await agent.call(name, sent)
    except envelope.Refused as refused:
        if refused.code != envelope.INVALID_PARAMS or not (near := await _nearest(agent, name)):
            raise
        message = f"{refused.message}. Did you mean {near}?"
        raise envelope.Refused(refused.code, message) from None


def has_failed(result: str) -> bool:
    """Say whether a result is none: the tool failed, or asks for what it cannot get here."""
    return outcome(result).has_failed


def outcome(result: str) -> Outcome:
    """Return the texts of a result; for what is no text, a line that says what it is.

    Where nothing of it is for reading, the structured content, as it was spelled.
    """
    members = rawjson.members(result)
    if rawjson.load(members.get("resultType", "null")) == "input_required":
        return Outcome("the tool asks for input, which this command cannot give", has_failed=True)
    blocks = rawjson.load(members.get("content", "[]"))
    lines = [_line(block) for block in (blocks if isinstance(blocks, list) else ())]
    text = "\n".join(lines) if lines else members.get("structuredContent", "")
    return Outcome(text, has_failed=members.get("isError") == "true")


async def _nearest(agent: Agent, name: str) -> str | None:
    listed = [rawjson.load(tool) for tool in await agent.tools()]
    names = [str(tool.get("name")) for tool in listed if isinstance(tool, Mapping)]
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
