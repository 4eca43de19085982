"""The status of a resource, as a value."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum


class ConditionType(StrEnum):
    """What is said about every server, in the order in which it comes true."""

    ACCEPTED = "Accepted"
    PUBLISHED = "Published"
    DISCOVERED = "Discovered"
    READY = "Ready"


class Truth(StrEnum):
    """Whether a condition holds."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


_TYPES = frozenset(str(kind) for kind in ConditionType)
_TRUTHS = frozenset(str(truth) for truth in Truth)


@dataclass(frozen=True, slots=True)
class Condition:
    """One thing that does or does not hold, and since when."""

    type: ConditionType
    truth: Truth
    reason: str
    message: str
    generation: int
    """The generation of the resource that it speaks of."""
    since: str
    """When `truth` last changed (RFC 3339)."""


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool that agents see."""

    name: str
    exposed_name: str
    safe_name: str
    digest: str | None = None
    """Of its definition; None where the routers have different ones."""


@dataclass(frozen=True, slots=True)
class Remark:
    """One tool left out, or one that is served and of which somebody should know something."""

    name: str
    reason: str
    message: str
    digest: str | None = None
    """Of the definition that waits to be approved, where that is the reason."""


@dataclass(frozen=True, slots=True)
class Lists:
    """What agents see of a server, and what they do not."""

    tool_count: int = 0
    tools: tuple[Tool, ...] = ()
    truncated: bool = False
    """Whether `tools` is only the beginning."""
    skipped: tuple[Remark, ...] = ()
    skipped_truncated: bool = False
    flagged: tuple[Remark, ...] = ()
    """Tools that are served nevertheless."""
    flagged_truncated: bool = False
    unmatched: tuple[str, ...] = ()
    """Names in allowedTools and tools that the upstream does not have."""
    protocol_version: str | None = None
    server_name: str | None = None
    server_version: str | None = None
    schema_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Counts:
    """How many routers serve a generation, of how many."""

    ready: int
    total: int


@dataclass(frozen=True, slots=True)
class Status:
    """Everything that is said about one server."""

    generation: int | None = None
    conditions: tuple[Condition, ...] = ()
    prefix: str | None = None
    config_map: str | None = None
    lists: Lists = field(default_factory=Lists)
    routers: Counts | None = None

    def condition(self, kind: ConditionType) -> Condition | None:
        """Return the condition of that type, if it was ever stated."""
        return next((condition for condition in self.conditions if condition.type == kind), None)


def load(value: object) -> Status:
    """Return the status that a resource carries; what has another shape counts as never stated."""
    status = _Members(value)
    routers = status.members("routers")
    ready, total = routers.number("ready"), routers.number("total")
    return Status(
        generation=status.number("observedGeneration"),
        conditions=tuple(_conditions(status.items("conditions"))),
        prefix=status.text("prefix"),
        config_map=status.members("configMapRef").text("name"),
        lists=_lists(status),
        routers=None if ready is None or total is None else Counts(ready, total),
    )


def without_news(status: Status) -> Status:
    """Return what an older kind can hold of `status`.

    No digest, no tool that is flagged, and not whether more are flagged or left out.
    """
    lists = status.lists
    return replace(
        status,
        lists=replace(
            lists,
            tools=tuple(replace(tool, digest=None) for tool in lists.tools),
            skipped=tuple(replace(remark, digest=None) for remark in lists.skipped),
            skipped_truncated=False,
            flagged=(),
            flagged_truncated=False,
        ),
    )


def dump(status: Status) -> dict[str, object]:
    """Return the JSON of `status`; what does not apply is absent."""
    lists = status.lists
    server_info = {"name": lists.server_name, "version": lists.server_version}
    members: dict[str, object] = {
        "observedGeneration": status.generation,
        "conditions": [
            {
                "type": str(condition.type),
                "status": str(condition.truth),
                "reason": condition.reason,
                "message": condition.message,
                "observedGeneration": condition.generation,
                "lastTransitionTime": condition.since,
            }
            for condition in status.conditions
        ],
        "prefix": status.prefix,
        "toolCount": lists.tool_count,
        "tools": [_tool(tool) for tool in lists.tools],
        "toolsTruncated": lists.truncated or None,
        "skippedTools": [_remark(remark) for remark in lists.skipped],
        "skippedToolsTruncated": lists.skipped_truncated or None,
        "flaggedTools": [_remark(remark) for remark in lists.flagged],
        "flaggedToolsTruncated": lists.flagged_truncated or None,
        "unmatchedAllowedTools": list(lists.unmatched),
        "protocolVersion": lists.protocol_version,
        "serverInfo": {key: text for key, text in server_info.items() if text is not None},
        "schemaBytes": lists.schema_bytes,
        "routers": status.routers
        and {"ready": status.routers.ready, "total": status.routers.total},
        "configMapRef": status.config_map and {"name": status.config_map},
    }
    always = ("conditions", "toolCount")
    return {
        key: value for key, value in members.items() if key in always or value not in (None, [], {})
    }


def _tool(tool: Tool) -> dict[str, str]:
    members = {"name": tool.name, "exposedName": tool.exposed_name, "safeName": tool.safe_name}
    return members | ({"digest": tool.digest} if tool.digest else {})


def _remark(remark: Remark) -> dict[str, str]:
    members = {"name": remark.name, "reason": remark.reason, "message": remark.message}
    return members | ({"digest": remark.digest} if remark.digest else {})


class _Members:
    """A JSON object that anybody may have written."""

    def __init__(self, value: object) -> None:
        self._value: Mapping[str, object] = value if isinstance(value, Mapping) else {}

    def text(self, key: str) -> str | None:
        value = self._value.get(key)
        return value if isinstance(value, str) else None

    def number(self, key: str) -> int | None:
        value = self._value.get(key)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def members(self, key: str) -> "_Members":
        return _Members(self._value.get(key))

    def items(self, key: str) -> list["_Members"]:
        return [_Members(item) for item in self._list(key)]

    def texts(self, key: str) -> tuple[str, ...]:
        return tuple(item for item in self._list(key) if isinstance(item, str))

    def is_true(self, key: str) -> bool:
        return self._value.get(key) is True

    def strings(self, *keys: str) -> tuple[str, ...]:
        return tuple(self.text(key) or "" for key in keys)

    def _list(self, key: str) -> list[object]:
        value = self._value.get(key)
        return value if isinstance(value, list) else []


def _conditions(items: Iterable[_Members]) -> Iterable[Condition]:
    for item in items:
        kind, truth, reason, message, since = item.strings(
            "type", "status", "reason", "message", "lastTransitionTime"
        )
        if kind in _TYPES and truth in _TRUTHS:
            yield Condition(
                ConditionType(kind),
                Truth(truth),
                reason,
                message,
                item.number("observedGeneration") or 0,
                since,
            )


def _lists(status: _Members) -> Lists:
    server_info = status.members("serverInfo")
    return Lists(
        tool_count=status.number("toolCount") or 0,
        tools=tuple(
            Tool(name, exposed_name, safe_name, item.text("digest"))
            for item in status.items("tools")
            for name, exposed_name, safe_name in [item.strings("name", "exposedName", "safeName")]
        ),
        truncated=status.is_true("toolsTruncated"),
        skipped=_remarks(status, "skippedTools"),
        skipped_truncated=status.is_true("skippedToolsTruncated"),
        flagged=_remarks(status, "flaggedTools"),
        flagged_truncated=status.is_true("flaggedToolsTruncated"),
        unmatched=status.texts("unmatchedAllowedTools"),
        protocol_version=status.text("protocolVersion"),
        server_name=server_info.text("name"),
        server_version=server_info.text("version"),
        schema_bytes=status.number("schemaBytes") or 0,
    )


def _remarks(status: _Members, key: str) -> tuple[Remark, ...]:
    return tuple(
        Remark(name, reason, message, item.text("digest"))
        for item in status.items(key)
        for name, reason, message in [item.strings("name", "reason", "message")]
    )
