"""The status of a view, as a value."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pointsman_operator import status
from pointsman_operator.status import Condition, Lists, Status


@dataclass(frozen=True, slots=True)
class Content:
    """What agents find in a view, and what they do not."""

    tool_count: int = 0
    schema_bytes: int = 0
    unmatched_servers: tuple[str, ...] = ()
    """Servers of it that are not there."""
    unmatched_tools: tuple[str, ...] = ()
    """Patterns that match no tool."""


@dataclass(frozen=True, slots=True)
class ViewStatus:
    """Everything that is said about one view."""

    generation: int | None = None
    conditions: tuple[Condition, ...] = ()
    config_map: str | None = None
    server_count: int = 0
    content: Content = field(default_factory=Content)


def load(value: object) -> ViewStatus:
    """Return the status that a view carries; what has another shape counts as never stated."""
    # A server's status has most of it, under the same names.
    common = status.load(value)
    members = value if isinstance(value, Mapping) else {}
    server_count = members.get("serverCount")
    return ViewStatus(
        generation=common.generation,
        conditions=common.conditions,
        config_map=common.config_map,
        server_count=server_count if isinstance(server_count, int) else 0,
        content=Content(
            tool_count=common.lists.tool_count,
            schema_bytes=common.lists.schema_bytes,
            unmatched_servers=_texts(members.get("unmatchedServers")),
            unmatched_tools=_texts(members.get("unmatchedTools")),
        ),
    )


def dump(said: ViewStatus) -> dict[str, object]:
    """Return the JSON of a view's status; what does not apply is absent."""
    content = said.content
    common = Status(
        generation=said.generation,
        conditions=said.conditions,
        config_map=said.config_map,
        lists=Lists(tool_count=content.tool_count, schema_bytes=content.schema_bytes),
    )
    members: dict[str, object] = {
        "unmatchedServers": list(content.unmatched_servers),
        "unmatchedTools": list(content.unmatched_tools),
    }
    return {
        **status.dump(common),
        "serverCount": said.server_count,
        **{key: value for key, value in members.items() if value},
    }


def _texts(value: object) -> tuple[str, ...]:
    items = value if isinstance(value, list) else []
    return tuple(item for item in items if isinstance(item, str))
