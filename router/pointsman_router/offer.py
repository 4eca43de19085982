"""What one upstream advertises, and which of it could never be shown."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from pointsman_contract import digest, names, rawjson
from pointsman_contract.meta import Exposed
from pointsman_contract.report import ServerInfo, ToolReason
from pointsman_router import demands, entries, hiding, paramheaders, toolcheck
from pointsman_router.entries import Entries
from pointsman_router.entrycheck import EXPOSED_AS, Kind
from pointsman_router.hiding import Hidden
from pointsman_router.leftout import LeftOut
from pointsman_router.paramheaders import Annotation
from pointsman_router.registry import Skip

# A definition that is larger than this is no description but a burden on every model's context.
TOOL_MAX_BYTES = 64 * 1024
_NO_PROMPTS, _NO_RESOURCES, _NO_TEMPLATES = map(Entries, Kind)


@dataclass(frozen=True, slots=True)
class Listing:
    """What the wire brought: every page of every list that was asked for, unjudged."""

    tools: tuple[bytes, ...]
    protocol_version: str
    server_info: ServerInfo | None = None
    ttl_ms: int | None = None
    """How long the upstream says that it is good; None where it says nothing sensible."""
    private: bool = False
    """Whether the upstream says that it is not for everybody."""
    prompts: tuple[bytes, ...] = ()
    resources: tuple[bytes, ...] = ()
    templates: tuple[bytes, ...] = ()
    refused: Mapping[Kind, Skip] = field(default_factory=dict)
    """The lists in whose place an error came, or nothing that may be taken for one, and why."""

    @property
    def size_bytes(self) -> int:
        """How much there is to be read."""
        everything = (self.tools, self.prompts, self.resources, self.templates)
        return sum(len(raw) for raws in everything for raw in raws)


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool as its upstream described it."""

    name: str
    members: tuple[tuple[str, bytes], ...]
    """Name and JSON of each member, as received, `null` where it is not allowed left out."""
    digest: str
    size_bytes: int
    annotations: tuple[Annotation, ...] = ()
    """The arguments that headers repeat."""
    hidden: tuple[Hidden, ...] = ()
    """Where its texts hide something."""
    worded: str | None = None
    """The digest of what agents read, where its owner words it otherwise."""

    @property
    def reads(self) -> str:
        """The digest of its definition as agents read it."""
        return self.worded or self.digest


@dataclass(frozen=True, slots=True)
class Offer:
    """What one upstream lists, each of it either usable or left out with a reason."""

    tools: tuple[Tool, ...]
    skipped: tuple[LeftOut, ...]
    protocol_version: str
    server_info: ServerInfo | None = None
    ttl_ms: int | None = None
    """How long the upstream says that its list is good; None where it says nothing sensible."""
    private: bool = False
    """Whether the upstream says that its list is not for everybody."""
    prompts: Entries = _NO_PROMPTS
    resources: Entries = _NO_RESOURCES
    templates: Entries = _NO_TEMPLATES
    refused: Mapping[Kind, Skip] = field(default_factory=dict)
    """The lists that did not come, or are not believed, and why; of each there is what came
    before, or nothing."""

    def keeping(self, known: "Offer", lists: Collection[Kind | None]) -> "Offer":
        """Return this offer with some lists of `known`, and no longer or wider good.

        None stands for the list of tools.
        """
        if not lists:
            return self
        ttls_ms = (each.ttl_ms for each in (self, known) if each.ttl_ms is not None)
        return replace(
            self,
            ttl_ms=min(ttls_ms, default=None),
            private=self.private or known.private,
            tools=(known if None in lists else self).tools,
            skipped=(known if None in lists else self).skipped,
            prompts=(known if Kind.PROMPT in lists else self).prompts,
            resources=(known if Kind.RESOURCE in lists else self).resources,
            templates=(known if Kind.TEMPLATE in lists else self).templates,
        )

    def spelled_as(self, known: "Offer") -> "Offer":
        """Return this offer, and as `known` has it what is spelled otherwise and is the same.

        Some upstreams write the members of an object in another order each time. To find that may
        take as long as to read an offer.
        """
        before = {tool.name: tool for tool in known.tools}
        return replace(
            self,
            tools=tuple(_spelled_as(tool, before.get(tool.name)) for tool in self.tools),
            prompts=self.prompts.spelled_as(known.prompts),
            resources=self.resources.spelled_as(known.resources),
            templates=self.templates.spelled_as(known.templates),
        )

    def only(self, exposes: Collection[Exposed]) -> "Offer":
        """Return what of this offer is exposed, as if nothing else had ever been asked for."""
        has_tools = Exposed.TOOLS in exposes
        kinds = [kind for kind in Kind if EXPOSED_AS[kind] in exposes]
        return replace(
            self,
            tools=self.tools if has_tools else (),
            skipped=self.skipped if has_tools else (),
            prompts=self.prompts if Kind.PROMPT in kinds else _NO_PROMPTS,
            resources=self.resources if Kind.RESOURCE in kinds else _NO_RESOURCES,
            templates=self.templates if Kind.TEMPLATE in kinds else _NO_TEMPLATES,
            refused={kind: why for kind, why in self.refused.items() if kind in kinds},
        )

    def lacking(self, known: "Offer") -> tuple[Kind | None, ...]:
        """Return the lists that came empty in which `known` has something; None: the tools."""
        return tuple(
            kind
            for had, has, kind in zip(known.fills, self.fills, (None, *Kind), strict=True)
            if had and not has and kind not in self.refused
        )

    @property
    def fills(self) -> tuple[bool, ...]:
        """Which of the lists have something in them: tools, prompts, resources, templates."""
        beside = (self.prompts, self.resources, self.templates)
        return (
            bool(self.tools or self.skipped),
            *(bool(each.entries or each.skipped) for each in beside),
        )


@dataclass(frozen=True, slots=True)
class Finding:
    """What is known of one upstream now; neither part: it was not asked yet."""

    offer: Offer | None
    """The last good one."""
    trouble: Skip | None
    """Why it could not be listed the last time; beside an offer: that one is stale."""


def read(listing: Listing) -> Offer:
    """Return the offer that a listing makes: no tool costs its siblings."""
    named = [_read(raw) for raw in listing.tools]
    # An invalid one counts too: nobody can tell which of the two the upstream would run.
    count = Counter(name for name, _ in named if name is not None)
    twice = {name for name, number in count.items() if number > 1}
    once = [tool for name, tool in named if name not in twice]
    tools = [tool for tool in once if isinstance(tool, Tool)]
    skipped = [tool for tool in once if isinstance(tool, LeftOut)]
    return Offer(
        tools=tuple(sorted(tools, key=lambda tool: tool.name)),
        skipped=_in_order([*skipped, *(_duplicate(name) for name in twice)]),
        protocol_version=listing.protocol_version,
        server_info=listing.server_info,
        ttl_ms=listing.ttl_ms,
        private=listing.private,
        prompts=entries.read(Kind.PROMPT, listing.prompts),
        resources=entries.read(Kind.RESOURCE, listing.resources),
        templates=entries.read(Kind.TEMPLATE, listing.templates),
        refused=listing.refused,
    )


def _spelled_as(tool: Tool, known: Tool | None) -> Tool:
    if known is None or tool.digest != known.digest:
        return tool
    return known if digest.same(_beside_digest(tool), _beside_digest(known)) else tool


def _beside_digest(tool: Tool) -> Mapping[str, bytes]:
    return {name: raw for name, raw in tool.members if name not in digest.DEFINING}


def _read(raw: bytes) -> tuple[str | None, Tool | LeftOut]:
    """Return the name, where one can be read and could be exposed, and what becomes of the tool."""
    try:
        members = rawjson.members(raw)
    except rawjson.Malformed:
        known = _name_at_least(raw)
        complaint = "the tool is no object with unique members"
        return known, LeftOut(known or "", ToolReason.INVALID_SCHEMA, complaint)
    try:
        name = rawjson.string(members.get("name", b"null"))
    except rawjson.Malformed:
        return None, LeftOut("", ToolReason.INVALID_NAME, "the tool's name must be a string")
    if wrong := _name_problem(name):
        return None, LeftOut(name, ToolReason.INVALID_NAME, f"the tool's name must {wrong}")
    return name, _judged(name, members, raw)


def _name_at_least(raw: bytes) -> str | None:
    """Return the name of a tool of which some other member is there twice."""
    try:
        (spelled,) = [value for member, value in rawjson.pairs(raw) if member == "name"]
        name = rawjson.string(spelled)
    except ValueError:
        return None
    return None if _name_problem(name) else name


def _name_problem(name: str) -> str | None:
    if len(name) > names.OWN_MAX_LENGTH:
        return f"hold at most {names.OWN_MAX_LENGTH} characters"
    if not names.is_exposable(name):
        return "not be empty or hold control or hidden characters"
    return None


def _judged(name: str, members: Mapping[str, bytes], raw: bytes) -> Tool | LeftOut:
    if len(raw) > TOOL_MAX_BYTES:
        return LeftOut(
            name,
            ToolReason.TOO_LARGE,
            f"the tool's definition is larger than {TOOL_MAX_BYTES} bytes",
        )
    if complaint := demands.unreadable(raw):
        return LeftOut(name, ToolReason.INVALID_SCHEMA, f"the tool's definition {complaint}")
    kept = toolcheck.normalised(members)
    if complaint := toolcheck.problem(kept):
        return LeftOut(name, ToolReason.INVALID_SCHEMA, complaint)
    try:
        repeated = paramheaders.annotations(kept["inputSchema"])
    except paramheaders.InvalidAnnotation as wrong:
        return LeftOut(
            name,
            ToolReason.INVALID_HEADER_ANNOTATION,
            f"inputSchema holds an {paramheaders.KEYWORD} that {wrong}",
        )
    return Tool(
        name,
        tuple(kept.items()),
        digest.definition(raw),
        len(raw),
        annotations=repeated,
        hidden=hiding.found(kept),
    )


def _duplicate(name: str) -> LeftOut:
    return LeftOut(name, ToolReason.DUPLICATE_NAME, "the upstream lists this name more than once")


def _in_order(skipped: Iterable[LeftOut]) -> tuple[LeftOut, ...]:
    return tuple(sorted(skipped, key=lambda tool: (tool.name, tool.reason)))
