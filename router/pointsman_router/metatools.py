"""The two tools that stand for a long list: how they are described, called and answered."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pointsman_contract import names, rawjson
from pointsman_contract.report import printable
from pointsman_router import listing
from pointsman_router.eras import Revision
from pointsman_router.eras.removals import UNKNOWN
from pointsman_router.listing import Form, Good, Line

SEARCH = "search_tools"
CALL = "call_tool"

# What a model writes to find something; a longer text is no query.
QUERY_MAX_LENGTH = 256
# A model that finds nothing among so many tools needs other words rather than more tools.
LIMIT_MAX = 20
LIMIT = 5
# More would fill the context that a search is to spare. The largest tool fits four times.
FOUND_MAX_BYTES = 256 * 1024

_WHOLE = re.compile(rb"[0-9]{1,9}")
_TRY = (
    "No tool matches. Try other words: what is to be done (create, list, send), what it is done to "
    "(issue, file, message), or the name of a service."
)
_SEARCH_TOOL = {
    "title": "Search tools",
    "description": "Finds tools. Many tools can be called here, and this list does not show them: "
    "search before you say that something cannot be done. Returns the tools that match best, the "
    "best first, each with its name, description and inputSchema, and as total how many match. "
    f"Call one of them with {CALL}.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "query": {
                "type": "string",
                "minLength": 1,
                "maxLength": QUERY_MAX_LENGTH,
                "description": "A few words for what is to be done and to what, such as "
                "'create github issue', or a tool's name. Any of the words may match.",
            },
            "limit": {
                "type": "integer",
                "minimum": 1,
                "maximum": LIMIT_MAX,
                "default": LIMIT,
                "description": "How many tools are returned at most.",
            },
        },
        "required": ["query"],
        "additionalProperties": False,
    },
    "annotations": {"readOnlyHint": True, "openWorldHint": False},
}
_CALL_TOOL = {
    "title": "Call a tool",
    "description": f"Calls a tool that {SEARCH} found, and returns what that tool returns.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "name": {
                "type": "string",
                "minLength": 1,
                "maxLength": names.DOTTED_MAX_LENGTH,
                "description": f"The tool's name, exactly as {SEARCH} returned it.",
            },
            "arguments": {
                "type": "object",
                "description": "The tool's own arguments, as its inputSchema demands them.",
            },
        },
        "required": ["name"],
        "additionalProperties": False,
    },
    "annotations": {"readOnlyHint": False, "destructiveHint": True, "openWorldHint": True},
}
_TOOLS: Mapping[str, Mapping[str, object]] = {SEARCH: _SEARCH_TOOL, CALL: _CALL_TOOL}
NAMES = frozenset(_TOOLS)


@dataclass(frozen=True, slots=True)
class Offered:
    """The list that shows these two alone; it stays the same whatever can be found."""

    revision: str
    """The catalogue's, of what can be found."""
    good: Good = listing.EVER_GOOD


@dataclass(frozen=True, slots=True)
class Search:
    """A search for tools."""

    query: str
    limit: int = LIMIT


@dataclass(frozen=True, slots=True)
class Called:
    """The call of a tool by its name, as it would be without these two."""

    name: str
    arguments: bytes
    """An object, byte for byte."""


@dataclass(frozen=True, slots=True)
class Wrong:
    """Arguments that make no sense, told so that a model can mend them."""

    why: str

    def members(self, _: Revision) -> dict[str, bytes]:
        """Return the members of the result."""
        return {"content": _text(self.why), "isError": b"true"}


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found, best first."""

    tools: Sequence[Line]
    form: Form
    total: int
    """How many tools match."""
    revision: str
    """The catalogue's."""

    def members(self, revision: Revision) -> dict[str, bytes]:
        """Return the members of the result for an agent of `revision`, of bounded size.

        Each tool is what the list of this endpoint would show, byte for byte. The text says all.
        """
        shown = self._fitting(revision)
        told = {
            "tools": listing.joined(shown, self.form, revision),
            "total": str(self.total).encode(),
            "catalogue": rawjson.quote(self.revision),
        }
        if len(shown) < len(self.tools):
            told["truncated"] = b"true"
        if not self.total:
            told["hint"] = rawjson.quote(_TRY)
        whole = rawjson.assemble(told)
        members = {"content": _text(whole.decode()), "structuredContent": whole}
        unknown = UNKNOWN[revision].result
        return {name: value for name, value in members.items() if name not in unknown}

    def _fitting(self, revision: Revision) -> Sequence[Line]:
        """Return the first of the tools that an answer has room for."""
        left = FOUND_MAX_BYTES
        for count, line in enumerate(self.tools):
            left -= len(listing.joined([line], self.form, revision))
            if left < 0:
                return self.tools[:count]
        return self.tools


def definitions(revision: Revision) -> bytes:
    """Return the JSON array of the two tools, as an agent of `revision` may see them."""
    unknown = UNKNOWN[revision].tool
    return json.dumps(
        [
            {"name": name} | {key: value for key, value in tool.items() if key not in unknown}
            for name, tool in _TOOLS.items()
        ],
        separators=(",", ":"),
    ).encode()


def read(name: str, arguments: bytes) -> Search | Called | Wrong | None:
    """Return what a call of one of the two asks; None where `name` is another tool's.

    `arguments` are an object.
    """
    if name not in _TOOLS:
        return None
    try:
        members = rawjson.members(arguments)
    except rawjson.Malformed:
        return Wrong(f"The arguments of {name} must be an object with unique members.")
    return _search(members) if name == SEARCH else _call(members)


def _search(members: Mapping[str, bytes]) -> Search | Wrong:
    if strange := members.keys() - {"query", "limit"}:
        return Wrong(
            f"{SEARCH} takes query and limit, and knows no {printable(min(strange))}. "
            f"To call a tool that was found, use {CALL}."
        )
    query = _string(members, "query").strip()
    if not 1 <= len(query) <= QUERY_MAX_LENGTH:
        return Wrong(
            f"query must be a string of 1 to {QUERY_MAX_LENGTH} characters: a few words for what "
            "is to be done, such as 'create issue'."
        )
    limit = members.get("limit", str(LIMIT).encode())
    if not _WHOLE.fullmatch(limit) or not 1 <= int(limit) <= LIMIT_MAX:
        return Wrong(f"limit must be a whole number from 1 to {LIMIT_MAX}.")
    return Search(query, int(limit))


def _call(members: Mapping[str, bytes]) -> Called | Wrong:
    if strange := members.keys() - {"name", "arguments"}:
        return Wrong(
            f"{CALL} takes name and arguments, and knows no {printable(min(strange))}. "
            "What is meant for the tool itself belongs into arguments."
        )
    name = _string(members, "name")
    if not name:
        return Wrong(f"name must be the name of a tool, as {SEARCH} returned it.")
    arguments = members.get("arguments", b"{}")
    if rawjson.kind(arguments) != "{":
        return Wrong("arguments must be an object: the arguments of the tool that is called.")
    return Called(name, arguments)


def _string(members: Mapping[str, bytes], name: str) -> str:
    """Return a member that is a string; anything else is an empty one."""
    try:
        return rawjson.string(members.get(name, b'""'))
    except rawjson.Malformed:
        return ""


def _text(text: str) -> bytes:
    return b'[{"type":"text","text":' + rawjson.quote(text) + b"}]"
