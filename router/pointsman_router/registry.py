"""Which servers and views are registered, and of which nothing is shown, whatever is offered."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from pointsman_contract import url, view
from pointsman_contract.meta import KNOWN_FEATURES, Exposed, Meta, Protocol
from pointsman_contract.report import ServerReason, printable
from pointsman_contract.view import ViewMeta
from pointsman_router.reading import Entry, Reading, ViewEntry

# How many rivals a message names before it only counts them.
_NAMED_MAX = 3


@dataclass(frozen=True, slots=True)
class Skip:
    """Why a server is left out."""

    reason: ServerReason
    message: str
    """One line that says what to change; it names no host and repeats no url."""


@dataclass(frozen=True, slots=True)
class Server:
    """One server as the directory registers it."""

    id: str
    meta: Meta | None
    """The meta in force; None where no usable one could ever be read."""
    skip: Skip | None = None
    """Why nothing of it is exposed, whatever its upstream says."""
    fault: str | None = None
    """Its file is invalid now, and the last good meta is in force."""


@dataclass(frozen=True, slots=True)
class NamedView:
    """One view as the directory registers it."""

    id: str
    meta: ViewMeta | None
    """The document in force; None where no usable one could ever be read."""
    skip: str | None = None
    """Why it is empty, whatever its servers show: one line that says what to change."""
    fault: str | None = None
    """Its file is invalid now, and the last good view is in force."""


@dataclass(frozen=True, slots=True)
class Target:
    """What discovery connects to; an equal target keeps its connections."""

    id: str
    url: str
    protocol: Protocol = Protocol.AUTO
    exposes: frozenset[Exposed] = frozenset([Exposed.TOOLS])
    """What of the upstream is worth asking for."""


@dataclass(frozen=True, slots=True)
class Registry:
    """The servers and views that a router holds now."""

    servers: Mapping[str, Server] = field(default_factory=dict)
    """By id, in order."""
    fault: str | None = None
    """Why the last good set is held."""
    loaded: bool = True
    """Whether there ever was a set: before, nothing is known, not even that there is no server."""
    views: Mapping[str, NamedView] = field(default_factory=dict)
    """By id, in order."""

    @property
    def targets(self) -> Mapping[str, Target]:
        """The servers to be listed; what is suspended or allows no tool is not even contacted."""
        return {
            server.id: Target(
                server.id,
                server.meta.url,
                server.meta.protocol,
                frozenset(server.meta.expose),
            )
            for server in self.servers.values()
            if server.meta and not server.skip
        }

    @property
    def echo(self) -> bool:
        """Whether no server is registered: every file is valid, and none names an url."""
        return self.loaded and all(
            server.meta and not server.meta.url and not server.fault
            for server in self.servers.values()
        )


def build(reading: Reading) -> Registry:
    """Return the servers and views that a reading of the directory registers.

    Where two claim one identity or one prefix neither is exposed: whoever came first cannot be
    told from files, and a name must not lead to whoever wrote it last.
    """
    servers = {id_: _server(id_, of) for id_, of in _claimants(reading.entries).items()}
    views = {id_: _view(id_, of) for id_, of in _claimants(reading.views).items()}
    return Registry(_demand_own_prefixes(servers), reading.fault, reading.loaded, views)


def amended(old: Registry, new: Registry) -> frozenset[str]:
    """Return the servers that are in both and whose meta says something else now."""
    return frozenset(
        id_
        for id_, server in new.servers.items()
        if id_ in old.servers and old.servers[id_].meta != server.meta
    )


def no_tools_allowed() -> Skip:
    """Return what is wrong where tools are exposed, and none is allowed."""
    return Skip(
        ServerReason.NO_TOOLS_ALLOWED,
        'allowedTools: is empty; name the tools to expose, or "*" alone for every tool',
    )


_Claiming = TypeVar("_Claiming", Entry, ViewEntry)


def _claimants(
    entries: Mapping[str, _Claiming],
) -> Mapping[str, Sequence[tuple[str, _Claiming]]]:
    """Return the folders of each identity, in order of these."""
    found: defaultdict[str, list[tuple[str, _Claiming]]] = defaultdict(list)
    for folder, entry in entries.items():
        found[entry.id].append((folder, entry))
    return {id_: found[id_] for id_ in sorted(found)}


def _view(id_: str, claimants: Sequence[tuple[str, ViewEntry]]) -> NamedView:
    stated = [(folder, entry.view) for folder, entry in claimants if entry.view]
    fault = next((entry.fault for _, entry in claimants if entry.fault), None)
    if not stated:
        return NamedView(id_, None, fault or "view.json is missing")
    if len(stated) > 1:
        return NamedView(id_, None, _same_name(stated))
    _, meta = stated[0]
    if unknown := _unknown(meta.requires, view.KNOWN_FEATURES):
        return NamedView(id_, meta, unknown)
    held = f"{fault}; the last good view stays in force" if fault else None
    return NamedView(id_, meta, fault=held)


def _server(id_: str, claimants: Sequence[tuple[str, Entry]]) -> Server:
    stated = [(folder, entry.meta) for folder, entry in claimants if entry.meta]
    faults = [entry.fault for _, entry in claimants if entry.fault]
    fault = faults[0] if faults else None
    if not stated:
        return Server(id_, None, Skip(ServerReason.INVALID_META, fault or "meta.json is missing"))
    if len(stated) > 1:
        return Server(id_, None, Skip(ServerReason.INVALID_META, _same_name(stated)))
    _, meta = stated[0]
    held = f"{fault}; the last good meta stays in force" if fault else None
    return Server(id_, meta, _invalid(meta) or _idle(meta), held)


def _same_name(stated: Sequence[tuple[str, object]]) -> str:
    folders = _list([folder for folder, _ in stated])
    return f"name: the folders {folders} claim the same one; give each its own"


def _unknown(requires: Iterable[str], known: frozenset[str]) -> str | None:
    unknown = sorted(set(requires) - known)
    if not unknown:
        return None
    return f"requires: this router does not know {_list(unknown)}; upgrade the router"


def _invalid(meta: Meta) -> Skip | None:
    if unknown := _unknown(meta.requires, KNOWN_FEATURES):
        return Skip(ServerReason.NEEDS_NEWER_ROUTER, unknown)
    if meta.issuer:
        return Skip(
            ServerReason.OAUTH_UNSUPPORTED,
            "issuer: this router cannot sign in at an upstream; remove the field",
        )
    if meta.bearer_from_env:
        return Skip(
            ServerReason.CREDENTIAL_UNSUPPORTED,
            "bearerFromEnv: this router cannot present a credential; remove the field",
        )
    if not meta.url:
        return Skip(ServerReason.NO_URL, "url: must name the upstream's MCP endpoint")
    if problem := url.problem(meta.url):
        return Skip(ServerReason.INVALID_URL, f"url: {problem}")
    return None


def _idle(meta: Meta) -> Skip | None:
    if meta.suspend:
        return Skip(ServerReason.SUSPENDED, "suspend: is true; set it to false to expose the tools")
    if not meta.allowed_tools and meta.expose == (Exposed.TOOLS,):
        return no_tools_allowed()
    return None


_VALID_THOUGH_IDLE = frozenset([ServerReason.SUSPENDED, ServerReason.NO_TOOLS_ALLOWED])


def _demand_own_prefixes(servers: Mapping[str, Server]) -> Mapping[str, Server]:
    rivals: defaultdict[str, list[str]] = defaultdict(list)
    for server in servers.values():
        if server.meta and (not server.skip or server.skip.reason in _VALID_THOUGH_IDLE):
            rivals[server.meta.prefix].append(server.id)
    conflicts = {
        id_: Skip(
            ServerReason.PREFIX_CONFLICT,
            f"prefix: {prefix} is also that of {_others(ids, id_)}; give each server its own",
        )
        for prefix, ids in rivals.items()
        if len(ids) > 1
        for id_ in ids
    }
    return {
        id_: replace(server, skip=conflicts[id_]) if id_ in conflicts else server
        for id_, server in servers.items()
    }


def _others(ids: Sequence[str], id_: str) -> str:
    return _list([other for other in ids[: _NAMED_MAX + 1] if other != id_], len(ids) - 1)


def _list(names: Sequence[str], count: int | None = None) -> str:
    shown = [printable(name) for name in names[:_NAMED_MAX]]
    more = (count or len(names)) - len(shown)
    return f"{', '.join(shown)} and {more} more" if more > 0 else " and ".join(shown)
