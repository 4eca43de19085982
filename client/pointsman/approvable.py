"""Which definitions of a server's tools could be approved, by a report or by the resource."""

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pointsman_contract import labels, strictjson
from pointsman_contract.meta import Definitions
from pointsman_contract.report import Report, SkippedTool, ToolReason, printable
from pointsman_operator import spec, toolspec
from pointsman_operator.specerror import SpecError

# More than the API server keeps of one object.
RESOURCE_MAX_BYTES = 4 * 1024 * 1024
# A status holds no more of the tools that are left out: there may be others then.
STATUS_SKIPPED_MAX = 50
# Reasons of Ready with which a status tells of no routers that serve this generation.
_NOT_OF_NOW = frozenset(["NoRouter", "Progressing"])
# What Ready says where routers have differed for longer than a rollout.
_DIFFER = "routers differ"
# How alike two names must be for one to be taken for the other.
NEAR = 0.6
# As many names as are read before one looks elsewhere.
NAMED_MAX = 10

_PIPED = "pipe in what `kubectl get mcpserver NAME --namespace NAMESPACE --output json` prints"


class NothingTold(Exception):
    """What was asked knows nothing that could be approved; the message says why."""


@dataclass(frozen=True, slots=True)
class Approvable:
    """The definitions of one server's tools as its upstream has them now."""

    server: str
    """The identity."""
    digests: Mapping[str, str]
    """Of what is served or waits, by the tools' own names."""
    waiting: frozenset[str] = frozenset()
    """What is left out until it is approved."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """What is left out for another reason, with that; by names as they are shown (`printable`)."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """The tools' own names, by those that agents use."""
    partial: str = ""
    """What of the status leaves it open whether there are others; empty where there are none."""
    differs: bool = False
    """Whether the routers differ, so that what one of them has may be missing here."""
    is_behind: bool = False
    """Whether this is of the resource as it was before it was changed."""
    generation: int | None = None
    """Of the resource; None where that is not known."""
    before: Definitions | None = None
    """What the resource says so far; None where that is not known."""

    @property
    def is_whole(self) -> bool:
        """Whether there are no others."""
        return not self.partial

    def why_left_out(self, name: str) -> str | None:
        """Return for what reason a tool is left out, other than that it waits; None if it is not.

        Of a long name no more is known than is shown: others that begin like it are taken for it.
        """
        return self.left_out.get(name, self.left_out.get(printable(name)))


def reported(report: Report, server: str) -> Approvable:
    """Return what a router reports of `server`; raises NothingTold."""
    known = {entry.id: entry for entry in report.servers}
    if (entry := known.get(server)) is None:
        there = nearest(server, known) or "it knows none"
        raise NothingTold(f"the router knows no server {server}: {there}")
    found = Approvable(
        server,
        digests={tool.name: tool.digest for tool in entry.tools},
        aliases={
            alias: tool.name
            for tool in entry.tools
            for alias in (tool.exposed_name, tool.safe_name)
        },
        generation=entry.generation,
    )
    found = _with_skipped(found, entry.skipped_tools)
    if not found.digests:
        why = entry.message or entry.reason or entry.state
        raise NothingTold(f"no tool of {server} is served or waits for approval: {why}")
    return found


def stated(data: bytes) -> Approvable:
    """Return what a resource says, given its JSON with its status; raises NothingTold."""
    try:
        body = strictjson.loads(data, max_bytes=RESOURCE_MAX_BYTES)
    except strictjson.NotStrictJSON as exc:
        raise NothingTold(f"what was piped in {exc}: {_PIPED}") from None
    if not isinstance(body, dict) or body.get("kind") != labels.KIND:
        raise NothingTold(f"what was piped in is no {labels.KIND}: {_PIPED}")
    try:
        server = spec.identify(body).id
        before = toolspec.definitions(_members(body, "spec").get("definitions"))
    except SpecError as exc:
        raise NothingTold(f"what was piped in is no sound {labels.KIND}: {exc}") from None
    status = _members(body, "status")
    tools = tuple(_entries(status, "tools"))
    skipped = tuple(_entries(status, "skippedTools"))
    found = Approvable(
        server,
        digests={tool["name"]: tool["digest"] for tool in tools if "digest" in tool},
        aliases={
            tool[alias]: tool["name"]
            for tool in tools
            for alias in ("exposedName", "safeName")
            if alias in tool
        },
        partial=_partial(body, tools, len(skipped)),
        differs=_DIFFER in _ready(status).get("message", ""),
        generation=_generation(body),
        before=before,
    )
    found = _with_skipped(
        found,
        (
            SkippedTool(
                name=tool["name"],
                reason=tool.get("reason", ""),
                message="",
                digest=tool.get("digest"),
            )
            for tool in skipped
        ),
    )
    if found.is_whole and not found.digests:
        raise NothingTold(f"no tool of {server} is served or waits for approval: {_why(status)}")
    return found


def both(resource: Approvable, report: Report) -> Approvable:
    """Return what a router reports of the server of `resource`, beside what that says so far."""
    found = reported(report, resource.server)
    newest, served = resource.generation, found.generation
    return replace(
        found,
        before=resource.before,
        differs=resource.differs,
        is_behind=newest is not None and served is not None and served < newest,
    )


def nearest(name: str, known: Iterable[str]) -> str:
    """Say which of the `known` names was meant, or which there are; nothing where there is none."""
    there = sorted(known)
    if near := difflib.get_close_matches(name, there, n=1, cutoff=NEAR):
        return f"did you mean {near[0]}?"
    more = f" and {len(there) - NAMED_MAX} more" if len(there) > NAMED_MAX else ""
    return f"there are {', '.join(there[:NAMED_MAX])}{more}" if there else ""


def _with_skipped(found: Approvable, skipped: Iterable[SkippedTool]) -> Approvable:
    waiting: dict[str, str] = {}
    left_out: dict[str, str] = {}
    for tool in skipped:
        if tool.reason == ToolReason.DEFINITION_CHANGED and tool.digest:
            waiting[tool.name] = tool.digest
        else:
            left_out[tool.name] = tool.reason
    return replace(
        found,
        digests={**waiting, **found.digests},
        waiting=frozenset(waiting) - found.digests.keys(),
        left_out={name: why for name, why in left_out.items() if name not in found.digests},
    )


def _partial(body: Mapping[str, object], tools: Sequence[Mapping[str, str]], left_out: int) -> str:
    """Return why the status of `body` may lack tools, to be read behind its name."""
    status = _members(body, "status")
    if (
        status.get("toolsTruncated") is True
        or left_out >= STATUS_SKIPPED_MAX
        or not all("digest" in tool for tool in tools)
    ):
        return "holds only a part of what the routers see"
    generation = _members(body, "metadata").get("generation")
    if status and status.get("observedGeneration") != generation:
        return "holds what was seen before the resource was changed"
    if (reason := _ready(status).get("reason")) in _NOT_OF_NOW:
        return f"holds nothing that the routers are known to serve now ({reason})"
    return ""


def _generation(body: Mapping[str, object]) -> int | None:
    value = _members(body, "metadata").get("generation")
    return value if isinstance(value, int) else None


def _why(status: Mapping[str, object]) -> str:
    """Return what the condition Ready says."""
    return _ready(status).get("message", "the resource has no status yet")


def _ready(status: Mapping[str, object]) -> Mapping[str, str]:
    """Return the texts of the condition Ready."""
    conditions = status.get("conditions")
    for condition in conditions if isinstance(conditions, list) else ():
        if isinstance(condition, Mapping) and condition.get("type") == "Ready":
            return {key: text for key, text in condition.items() if isinstance(text, str)}
    return {}


def _members(body: Mapping[str, object], name: str) -> Mapping[str, object]:
    value = body.get(name)
    return value if isinstance(value, Mapping) else {}


def _entries(status: Mapping[str, object], name: str) -> Iterator[Mapping[str, str]]:
    """Yield the texts of each entry of a list of tools; one without a name is none."""
    value = status.get(name)
    for entry in value if isinstance(value, list) else ():
        if isinstance(entry, Mapping) and isinstance(entry.get("name"), str):
            yield {key: text for key, text in entry.items() if isinstance(text, str)}
