"""Which names of tools the clients and model APIs of the field accept, and what they make of them.

A client that puts something in front has less room: `names.maxLength` is lowered for it.
"""

import re
from dataclasses import dataclass

from pointsman_contract import names

# As most people call it in their client's configuration.
_SERVER = "pointsman"


@dataclass(frozen=True, slots=True)
class Client:
    """One consumer of lists."""

    name: str
    pattern: re.Pattern[str]
    max_length: int = names.LISTED_MAX_LENGTH
    """Of the whole name, what the client puts in front included."""
    before: str = ""
    """What the client puts in front of a listed name."""

    @property
    def listed_max_length(self) -> int:
        """The setting with which every listed name fits."""
        return min(names.LISTED_MAX_LENGTH, self.max_length - len(self.before))

    def passes_on(self, name: str) -> str:
        """Return what the model's API gets to see of a listed name."""
        return f"{self.before}{name.replace('.', '_')}"


def _client(name: str, pattern: str, max_length: int = 64, before: str = "") -> Client:
    whole = re.compile(rf"(?=.{{1,{max_length}}}\Z){pattern}", re.ASCII | re.DOTALL)
    return Client(name, whole, max_length, before)


_PLAIN = "[a-zA-Z0-9_-]+"

CLIENTS = (
    _client("the SDK clients", "[A-Za-z0-9._-]+", 128),
    _client("langchain-mcp-adapters", _PLAIN),
    _client("langchain-mcp-adapters with prefixes", _PLAIN, before=f"{_SERVER}_"),
    _client("openai-agents", _PLAIN),
    _client("Anthropic API", _PLAIN),
    _client("Claude Desktop and claude.ai", _PLAIN),
    _client("Claude Code", _PLAIN, before=f"mcp__{_SERVER}__"),
    _client("OpenAI, Azure, Groq, DeepSeek", _PLAIN),
    _client("Bedrock Converse", _PLAIN),
    _client("Gemini API", "[A-Za-z_][A-Za-z0-9_.:-]*"),
    _client("Gemini CLI", "[A-Za-z_][A-Za-z0-9_.:-]*", 63, f"mcp_{_SERVER}_"),
    _client("Codex CLI", _PLAIN, before=f"mcp__{_SERVER}__"),
    _client("VS Code and IntelliJ", _PLAIN, before=f"mcp_{_SERVER}_"),
    _client("Copilot CLI", _PLAIN, before=f"{_SERVER}-"),
    _client("Cursor", _PLAIN, 60, f"{_SERVER}_"),
    _client("Grok CLI", "(?!_)[a-zA-Z0-9_-]+"),
)
