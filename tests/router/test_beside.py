"""What a catalogue holds beside tools."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from bench.catalogues import Known, built, definition, only, server, skip, skipped
from bench.listed_beside import described
from pointsman_contract.meta import Exposed
from pointsman_contract.report import ServerReason, State
from pointsman_router import offer, resources
from pointsman_router.catalogue import Catalogue
from pointsman_router.entrycheck import Kind
from pointsman_router.listing import Form
from pointsman_router.offer import Finding, Listing
from pointsman_router.registry import Skip
from pointsman_router.resources import Route, Suspended

EVERYTHING = tuple(Exposed)


def found(
    *tools: str | bytes,
    prompts: Iterable[str] = (),
    uris: Iterable[str] = (),
    templates: Iterable[str] = (),
) -> Finding:
    listing = Listing(
        tuple(tool if isinstance(tool, bytes) else definition(tool) for tool in tools),
        "2025-11-25",
        prompts=tuple(described(Kind.PROMPT, name) for name in prompts),
        resources=tuple(described(Kind.RESOURCE, uri) for uri in uris),
        templates=tuple(described(Kind.TEMPLATE, text) for text in templates),
    )
    return Finding(offer.read(listing), None)


GITHUB = server("tools/github", expose=EVERYTHING)
OTHER = server("tools/other", expose=EVERYTHING)
WHOLE = found("add", prompts=["ask"], uris=["test://a"], templates=["row://{n}"])


def prompts_in(made: Catalogue) -> list[str]:
    return [line.names[Form.DOTTED] for line in made.beside.prompt_table.lines[Form.DOTTED]]


def uris_in(made: Catalogue) -> list[str]:
    return [line.uri for line in made.beside.resource_table.resources]


def test_what_is_exposed_is_shown_and_nothing_else() -> None:
    everything = built(Known(GITHUB, WHOLE))
    tools_alone = built(Known(server("tools/github"), WHOLE))
    prompts_alone = built(Known(server("tools/github", expose=[Exposed.PROMPTS]), WHOLE))

    assert prompts_in(everything) == ["github.ask"]
    assert uris_in(everything) == ["test://a"]
    assert [line.uri for line in everything.beside.resource_table.templates] == ["row://{n}"]
    assert (prompts_in(tools_alone), uris_in(tools_alone)) == ([], [])
    assert (prompts_in(prompts_alone), uris_in(prompts_alone)) == (["github.ask"], [])
    assert prompts_alone.routes == {}


@pytest.mark.parametrize(
    ("exposed", "listed", "expected"),
    [
        pytest.param(["Prompts"], WHOLE, (State.SERVING, None), id="prompts, and they are there"),
        pytest.param(
            ["Prompts"], found("add"), (State.SKIPPED, "NoToolsMatched"), id="prompts, without any"
        ),
        pytest.param(
            ["Tools", "Prompts"],
            found(prompts=["ask"]),
            (State.SKIPPED, "NoTools"),
            id="tools that are not there, and prompts",
        ),
    ],
)
def test_a_server_is_judged_by_what_it_exposes(
    exposed: list[str], listed: Finding, expected: tuple[State, str | None]
) -> None:
    made = built(Known(server(expose=map(Exposed, exposed)), listed))

    assert (only(made).state, only(made).reason) == expected


def test_a_server_may_expose_prompts_and_allow_no_tool() -> None:
    made = built(Known(server(expose=EVERYTHING, allowed=()), WHOLE))

    assert only(made).reason is ServerReason.NO_TOOLS_ALLOWED
    assert prompts_in(made) == ["github.ask"]


NO_PROMPTS, NO_RESOURCES = (
    Skip(ServerReason.UPSTREAM_RPC_ERROR, f"{of}/list: no") for of in ("prompts", "resources")
)
STAY = "; the prompts that it listed before stay"
REFUSING = {Kind.PROMPT: NO_PROMPTS, Kind.RESOURCE: NO_RESOURCES}


@pytest.mark.parametrize(
    ("exposed", "listed", "refused", "expected"),
    [
        pytest.param(
            ["Tools", "Prompts"],
            found("add"),
            [Kind.PROMPT],
            (State.SERVING, "UpstreamRpcError", "prompts/list: no"),
            id="nothing came before",
        ),
        pytest.param(
            ["Tools", "Prompts"],
            WHOLE,
            [Kind.PROMPT],
            (State.SERVING, "UpstreamRpcError", f"prompts/list: no{STAY}"),
            id="something came before",
        ),
        pytest.param(
            ["Tools", "Prompts", "Resources"],
            found("add"),
            [Kind.RESOURCE, Kind.PROMPT],
            (State.SERVING, "UpstreamRpcError", "prompts/list: no; resources/list: no"),
            id="two lists",
        ),
        pytest.param(
            ["Prompts", "Resources"],
            found(prompts=["ask"]),
            [Kind.RESOURCE],
            (State.SERVING, "UpstreamRpcError", "resources/list: no"),
            id="prompts alone came",
        ),
        pytest.param(
            ["Prompts"],
            found(),
            [Kind.PROMPT],
            (State.SKIPPED, "UpstreamRpcError", "prompts/list: no"),
            id="nothing to be served",
        ),
        pytest.param(
            ["Tools", "Prompts"],
            found(),
            [Kind.PROMPT],
            (State.SKIPPED, "NoTools", "the upstream lists no tools; prompts/list: no"),
            id="no tools either",
        ),
    ],
)
def test_a_list_that_was_refused_is_told_of_and_costs_nothing_else(
    exposed: list[str],
    listed: Finding,
    refused: list[Kind],
    expected: tuple[State, str, str],
) -> None:
    assert listed.offer is not None
    refusing = replace(listed.offer, refused={kind: REFUSING[kind] for kind in refused})
    made = built(Known(server(expose=map(Exposed, exposed)), Finding(refusing, None)))

    shown = only(made)
    assert (shown.state, shown.reason, shown.message) == expected
    assert [tool.name for tool in shown.tools] == [
        tool.name for tool in listed.offer.tools if "Tools" in exposed
    ]


def test_a_uri_of_two_servers_leads_nowhere_and_both_are_told() -> None:
    both = found("add", uris=["test://a"])
    made = built(Known(GITHUB, both), Known(OTHER, both))

    assert resources.find(made.beside.resource_table, "test://a") is None
    for shown in made.exposures.values():
        assert skipped(shown) == [("test://a", "NameCollision")]
        assert [tool.name for tool in shown.tools] == ["add"]
    alone = built(Known(GITHUB, both), previous=made)
    assert skipped(only(alone)) == []


def test_what_could_never_be_shown_is_told_by_its_name() -> None:
    made = built(Known(GITHUB, found("add", uris=["no uri"])))

    assert skipped(only(made)) == [("no uri", "InvalidName")]


def test_a_suspended_servers_uris_lead_to_nobody_else() -> None:
    taker = Known(OTHER, found("x", templates=["test://{any}"]))
    before = built(Known(GITHUB, WHOLE), taker)
    paused = replace(GITHUB, skip=skip(ServerReason.SUSPENDED))

    made = built(Known(paused), taker, previous=before)
    later = built(Known(paused), taker, previous=made)

    assert prompts_in(made) == []
    assert uris_in(made) == []
    for one in (made, later):
        table = one.beside.resource_table
        assert resources.find(table, "test://a") == Suspended("tools/github")
        assert resources.find(table, "test://b") == Route("tools/other", "test://b", 60.0)


@pytest.mark.parametrize("then", ["pending", "unreachable", "contested"])
def test_a_servers_uris_lead_to_nobody_else_until_it_is_listed_anew(then: str) -> None:
    taker = Known(OTHER, found("x", templates=["test://{any}"]))
    before = built(Known(GITHUB, WHOLE), taker)
    trouble = skip(ServerReason.UNREACHABLE) if then == "unreachable" else None
    known = Known(GITHUB, Finding(None, trouble))
    if then == "contested":
        known = Known(replace(GITHUB, skip=skip(ServerReason.PREFIX_CONFLICT)))

    made = built(known, taker, previous=before)
    again = built(Known(GITHUB, WHOLE), taker, previous=made)

    assert resources.find(made.beside.resource_table, "test://a") == Suspended("tools/github")
    assert resources.find(again.beside.resource_table, "test://a") == Route(
        "tools/github", "test://a", 60.0
    )


def test_a_resource_that_an_allowed_tool_names_may_be_read_though_no_list_shows_it() -> None:
    named = definition("app", _meta={"ui": {"resourceUri": "ui://app"}})

    made = built(Known(GITHUB, found(named)))
    forbidden = built(Known(server("tools/github", expose=EVERYTHING, allowed=["x"]), found(named)))

    assert resources.find(made.beside.resource_table, "ui://app") is not None
    assert resources.find(forbidden.beside.resource_table, "ui://app") is None


def test_the_revision_is_that_of_the_tools_alone_where_nothing_else_is_exposed() -> None:
    tools_alone = built(Known(server("tools/github"), WHOLE))

    assert built(Known(GITHUB, found("add"))).revision == tools_alone.revision
    assert built(Known(GITHUB, WHOLE)).revision != tools_alone.revision


def test_what_did_not_change_is_not_made_again() -> None:
    first = built(Known(GITHUB, WHOLE))
    second = built(
        Known(GITHUB, WHOLE),
        Known(server("tools/late"), found("z")),
        previous=first,
    )

    assert second.beside is first.beside
    assert second.exposures["tools/github"] is first.exposures["tools/github"]
