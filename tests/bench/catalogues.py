"""Tools, servers and catalogues, made of as little as a test wants to say."""

import json
from collections.abc import Iterable
from dataclasses import dataclass

from pointsman_contract.meta import Definitions, Exposed, Meta, Override
from pointsman_contract.report import ServerInfo, ServerReason
from pointsman_contract.view import Discovery, NameForm, ViewMeta
from pointsman_router import catalogue, offer
from pointsman_router.catalogue import Catalogue
from pointsman_router.exposure import Exposure
from pointsman_router.listing import Form
from pointsman_router.offer import Finding, Listing, Offer
from pointsman_router.registry import NamedView, Registry, Server, Skip

OBJECT = {"type": "object"}
NOW_S = 1_000.0


def definition(name: str = "add", **members: object) -> bytes:
    """What an upstream lists for one tool."""
    return json.dumps({"name": name, "inputSchema": OBJECT, **members}).encode()


def offered(*tools: str | bytes) -> Offer:
    """The offer of an upstream with these tools, by name or by definition."""
    raw = (tool if isinstance(tool, bytes) else definition(tool) for tool in tools)
    return offer.read(Listing(tuple(raw), "2025-11-25", ServerInfo(name="up", version="1")))


def found(*tools: str | bytes) -> Finding:
    """What is known of an upstream that was listed."""
    return Finding(offered(*tools), None)


def skip(reason: ServerReason) -> Skip:
    """Why a server, or its upstream, is left out."""
    return Skip(reason, f"because of {reason}")


def server(
    id_: str = "tools/github",
    *,
    prefix: str = "",
    allowed: Iterable[str] = ("*",),
    out: ServerReason | None = None,
    fault: str | None = None,
    timeout_s: int = 60,
    url: str = "http://mcp.example/mcp",
    expose: Iterable[Exposed] = (Exposed.TOOLS,),
    definitions: Definitions | None = None,
    tools: Iterable[Override] = (),
) -> Server:
    """A registered server; its prefix is its name's unless another is given."""
    namespace, _, name = id_.rpartition("/")
    meta = Meta(
        name=name,
        namespace=namespace or None,
        url=url,
        allowed_tools=tuple(allowed),
        prefix=prefix or name,
        timeout_seconds=timeout_s,
        expose=tuple(expose),
        definitions=definitions or Definitions(),
        tools=tuple(tools),
    )
    return Server(id_, meta, skip(out) if out else None, fault)


def view(
    id_: str = "tools/support",
    *,
    servers: Iterable[str] = ("github",),
    tools: Iterable[str] = ("*",),
    names: NameForm = NameForm.PREFIXED,
    discovery: Discovery = Discovery.LIST,
    out: str | None = None,
    fault: str | None = None,
) -> NamedView:
    """A registered view; of one server's tools, all of them, unless it says otherwise."""
    namespace, _, name = id_.rpartition("/")
    meta = ViewMeta(
        name=name,
        namespace=namespace or None,
        servers=tuple(servers),
        tools=tuple(tools),
        names=names,
        discovery=discovery,
    )
    return NamedView(id_, meta, out, fault)


@dataclass(frozen=True, slots=True)
class Known:
    """A registered server, and what is known of its upstream."""

    server: Server
    finding: Finding | None = None


def built(
    *known: Known,
    views: Iterable[NamedView] = (),
    max_length: int = 64,
    now_s: float = NOW_S,
    previous: Catalogue | None = None,
) -> Catalogue:
    """The catalogue of these servers and views, read in this order."""
    return catalogue.build(
        Registry(
            {one.server.id: one.server for one in known}, views={each.id: each for each in views}
        ),
        {one.server.id: one.finding for one in known if one.finding},
        max_length=max_length,
        now_s=now_s,
        previous=previous,
    )


def built_of(one: Server, finding: Finding | None = None) -> Catalogue:
    """The catalogue of one server."""
    return built(Known(one, finding))


def listed(made: Catalogue, form: Form = Form.DOTTED) -> list[str]:
    """The names that a list shows."""
    return [line.names[form] for line in made.lines[form]]


def only(made: Catalogue) -> Exposure:
    """The only server in a catalogue."""
    (exposure,) = made.exposures.values()
    return exposure


def skipped(exposure: Exposure) -> list[tuple[str, str]]:
    """What a server leaves out, and why."""
    return [(tool.name, tool.reason) for tool in exposure.skipped]


def viewed(made: Catalogue, form: Form = Form.DOTTED, view: str = "tools/support") -> list[str]:
    """The names that a view lists."""
    return [line.names[form] for line in made.views[view].lines[form]]


def reached(made: Catalogue, view: str = "tools/support") -> dict[str, tuple[str, str]]:
    """Where the names lead that can be called in a view."""
    return {name: (route.server, route.tool) for name, route in made.views[view].routes.items()}
