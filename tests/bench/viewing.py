"""Servers, and views of them of every kind, as one catalogue."""

from bench.catalogues import Known, built, found, server, view
from bench.listed_beside import described
from pointsman_contract.meta import Exposed
from pointsman_contract.view import Discovery, NameForm
from pointsman_router import offer
from pointsman_router.entrycheck import Kind
from pointsman_router.offer import Finding, Listing

EVERYTHING = Known(
    server("tools/all", expose=tuple(Exposed)),
    Finding(
        offer.read(
            Listing(
                (b'{"name":"find","inputSchema":{"type":"object"}}',),
                "2025-11-25",
                prompts=(described(Kind.PROMPT, "ask"),),
                resources=(described(Kind.RESOURCE, "test://a"),),
                templates=(described(Kind.TEMPLATE, "row://{n}"),),
            )
        ),
        None,
    ),
)
GITHUB = Known(server("tools/github"), found("search", "delete"))
TICKETS = Known(server("tools/tickets"), found("search", "close"))
VIEWS = (
    view(tools=["github.s*"]),
    view("tools/bare", servers=["github", "tickets"], names=NameForm.BARE),
    view("tools/all", servers=["all"]),
    view("tools/broken", out="view.json: is not JSON"),
    view("tools/found", discovery=Discovery.SEARCH),
    view("lone"),
)
CATALOGUE = built(GITHUB, TICKETS, EVERYTHING, views=VIEWS)
