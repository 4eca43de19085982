"""What one server shows of its upstream's offer, and in which state it is."""

import pytest

from bench.catalogues import (
    Known,
    built,
    built_of,
    definition,
    found,
    listed,
    offered,
    only,
    server,
    skip,
    skipped,
)
from bench.nasty import TWINS
from pointsman_contract.report import ServerReason, State
from pointsman_router.offer import Finding
from pointsman_router.registry import Server

# --- allowedTools


VARIANTS = [
    *(
        "Search",
        "SEARCH",
        "search ",
        " search",
        "search\u00a0",
        "sear\u0441h",
        "\uff53earch",
        "search.",
    ),
    *("searc", "searchx", "s earch", "*", "sea*", "search*", "^search$", "github.search"),
    *(
        "github__search",
        "s\u0065\u0301arch",
        "\u017fearch",
        "search()",
        "search?",
        "./search",
        "delete",
    ),
]


@pytest.mark.parametrize("variant", VARIANTS)
def test_t25_an_upstreams_variant_of_an_allowed_name_is_not_that_name(variant: str) -> None:
    made = built_of(server(allowed=["search"]), found("search", variant))

    assert {route.tool for route in made.routes.values()} == {"search"}
    assert only(made).bare.keys() == {"search"}
    assert only(made).skipped == ()


@pytest.mark.parametrize("variant", [name for name in VARIANTS if name != "*"])
def test_t25_a_variant_that_is_allowed_is_no_other_name(variant: str) -> None:
    made = built_of(server(allowed=[variant]), found("search"))

    assert not made.routes
    assert not only(made).bare
    assert only(made).unmatched == (variant,)
    assert (only(made).state, only(made).reason) == (State.SKIPPED, ServerReason.NO_TOOLS_MATCHED)


def test_a_star_alone_is_every_tool() -> None:
    made = built_of(server(allowed=["*"]), found("a", "b", "*"))

    assert {tool.name for tool in only(made).tools} == {"a", "b", "*"}
    assert only(made).unmatched == ()


def test_a_tool_that_appears_later_is_not_allowed_by_itself() -> None:
    one = server(allowed=["search"])
    before = built_of(one, found("search"))

    after = built(Known(one, found("search", "delete")), previous=before)

    assert after.routes == before.routes
    assert after.revision == before.revision


def test_c08_names_that_the_upstream_lacks_are_named() -> None:
    made = built_of(
        server(allowed=["b", "gone", "ADD", "bad"]), found("b", "add", definition("bad", title=5))
    )

    assert only(made).unmatched == ("ADD", "gone")
    assert skipped(only(made)) == [("bad", "InvalidSchema")]
    assert [tool.name for tool in only(made).tools] == ["b"]


def test_a_bad_tool_that_is_not_allowed_is_nobodys_business() -> None:
    made = built_of(server(allowed=["b"]), found("b", definition("bad", title=5), b"1"))

    assert only(made).skipped == ()


# --- states


@pytest.mark.parametrize(
    ("one", "finding", "state", "reason"),
    [
        pytest.param(server(), None, "Pending", "Pending", id="not asked yet"),
        pytest.param(server(), Finding(None, None), "Pending", "Pending", id="being asked"),
        pytest.param(server(), found("a"), "Serving", None, id="listed"),
        pytest.param(
            server(), Finding(None, skip(ServerReason.TIMEOUT)), "Skipped", "Timeout", id="late"
        ),
        pytest.param(
            server(),
            Finding(offered("a"), skip(ServerReason.UNREACHABLE)),
            "Stale",
            "Unreachable",
            id="gone after it was listed",
        ),
        pytest.param(server(), found(), "Skipped", "NoTools", id="R21 an empty list"),
        pytest.param(
            server(), found(definition("a", title=5)), "Skipped", "NoTools", id="only bad tools"
        ),
        pytest.param(
            server(allowed=["b"]), found("a"), "Skipped", "NoToolsMatched", id="C08 none allowed"
        ),
        pytest.param(
            server(allowed=["a"]),
            found("b", definition("a", title=5)),
            "Skipped",
            "NoTools",
            id="the only allowed tool is bad",
        ),
        pytest.param(
            server(out=ServerReason.SUSPENDED), found("a"), "Suspended", "Suspended", id="C27"
        ),
        *(
            pytest.param(server(out=reason), found("a"), "Skipped", reason, id=reason)
            for reason in (
                ServerReason.NO_TOOLS_ALLOWED,
                ServerReason.PREFIX_CONFLICT,
                ServerReason.INVALID_URL,
                ServerReason.NO_URL,
                ServerReason.NEEDS_NEWER_ROUTER,
                ServerReason.OAUTH_UNSUPPORTED,
                ServerReason.CREDENTIAL_UNSUPPORTED,
            )
        ),
        pytest.param(
            Server("x", None, skip(ServerReason.INVALID_META)),
            None,
            "Skipped",
            "InvalidMeta",
            id="a file that never was good",
        ),
        pytest.param(
            server(fault="meta.json is bad"),
            found("a"),
            "Serving",
            "InvalidMeta",
            id="a file that is bad now",
        ),
    ],
)
def test_a_server_is_in_one_state_with_its_reason(
    one: Server, finding: Finding | None, state: str, reason: str | None
) -> None:
    made = built_of(one, finding)

    assert (only(made).state, only(made).reason) == (state, reason)
    assert (only(made).message is None) == (reason is None)
    assert bool(made.routes) == bool(only(made).tools) == (state in ("Serving", "Stale"))


def test_a_server_whose_upstream_fails_keeps_what_it_last_listed() -> None:
    fresh = built_of(server(), found("a"))
    stale = built_of(server(), Finding(offered("a"), skip(ServerReason.TIMEOUT)))

    assert stale.routes == fresh.routes
    assert stale.lines == fresh.lines
    assert stale.revision == fresh.revision


def test_a_skipped_server_costs_no_other_one() -> None:
    made = built(
        Known(server("a/a", out=ServerReason.INVALID_URL), found("x")),
        Known(server("a/b"), Finding(None, skip(ServerReason.TLS_FAILED))),
        Known(server("a/c"), found("x")),
    )

    assert listed(made) == ["c.x"]


def test_definitions_are_counted_as_the_bytes_that_agents_pay_for() -> None:
    raw = [definition("a"), definition("b", description="x" * 100)]

    assert only(built_of(server(), found(*raw))).schema_bytes == sum(map(len, raw))


def test_a_definition_that_no_list_shows_costs_agents_nothing() -> None:
    shown = definition("a")
    made = only(built_of(server(prefix="p"), found(shown, *TWINS)))

    assert [tool.name for tool in made.tools] == ["a"]
    assert made.schema_bytes == len(shown)


def test_a_tool_left_out_is_not_taken_for_an_allowed_one_that_looks_alike() -> None:
    # Neither name can be shown as it is; only one of them is allowed.
    made = built_of(server(allowed=["\u0fdb"]), found(definition("\x00"), definition("seen")))

    assert only(made).skipped == ()
    assert only(made).unmatched == ("\u0fdb",)
