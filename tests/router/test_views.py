"""Which tools a view lists, by which names, and where these lead."""

import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.catalogues import (
    NOW_S,
    Known,
    built,
    definition,
    found,
    listed,
    offered,
    reached,
    server,
    skip,
    view,
    viewed,
)
from bench.nasty import TWINS
from bench.worlds import TOOLS, World, worlds
from pointsman_contract import names
from pointsman_contract.report import ServerReason, State
from pointsman_contract.view import PATTERN_MAX_LENGTH, Discovery, NameForm, matches
from pointsman_router import views
from pointsman_router.catalogue import Catalogue
from pointsman_router.departed import DEPARTED_S
from pointsman_router.eras import Revision
from pointsman_router.exposure import Exposure
from pointsman_router.listing import Form
from pointsman_router.offer import Finding
from pointsman_router.registry import NamedView
from pointsman_router.views import Table

GITHUB = Known(server("tools/github"), found("search", "create.issue"))
TICKETS = Known(server("tools/tickets"), found("search", "close"))
BOTH = ("github", "tickets")
PREFIXED, BARE = view(servers=BOTH), view(servers=BOTH, names=NameForm.BARE)
CREATE = names.of("github", "create.issue")


def table(made: Catalogue) -> Table:
    return made.views["tools/support"]


def of(*known: Known, view: NamedView = PREFIXED, previous: Catalogue | None = None) -> Catalogue:
    return built(*known, views=[view], previous=previous)


def test_a_view_lists_what_the_whole_lists_of_its_servers_in_either_form() -> None:
    made = of(GITHUB, TICKETS, Known(server("tools/other"), found("x")))

    assert viewed(made) == [
        *("github.create.issue", "github.search", "tickets.close", "tickets.search")
    ]
    assert viewed(made, Form.SAFE) == [
        *(CREATE.safe, "github__search", "tickets__close", "tickets__search")
    ]
    assert reached(made) == {
        name: (route.server, route.tool)
        for name, route in made.routes.items()
        if not name.startswith("other")
    }
    for form in (Form.DOTTED, Form.SAFE):
        assert all(line in made.lines[form] for line in table(made).lines[form])


@pytest.mark.parametrize(
    ("patterns", "tools"),
    [
        ([], []),
        (["*"], ["github.create.issue", "github.search", "tickets.close", "tickets.search"]),
        (["github.*"], ["github.create.issue", "github.search"]),
        (["tickets__*"], ["tickets.close", "tickets.search"]),
        (["github.search", "tickets.close"], ["github.search", "tickets.close"]),
        ([CREATE.safe], ["github.create.issue"]),
        (["search"], []),
        (["github"], []),
        (["other.*", "github.search"], ["github.search"]),
    ],
    ids=[
        *("none", "every", "dotted", "safe", "whole names", "a safe name", "a tool's own"),
        *("a prefix alone", "another server's"),
    ],
)
def test_a_view_holds_the_tools_whose_exposed_names_match(
    patterns: list[str], tools: list[str]
) -> None:
    made = of(GITHUB, TICKETS, view=view(servers=BOTH, tools=patterns))

    assert viewed(made) == tools
    routes = table(made).routes.values()
    assert {f"{route.server.removeprefix('tools/')}.{route.tool}" for route in routes} == set(tools)


def test_a_whole_name_matches_a_tool_that_lists_show_shortened() -> None:
    long = "x" * 80
    known = Known(server("tools/github"), found(long))
    for pattern in (f"github.{long}", names.of("github", long).listed):
        made = of(known, view=view(tools=[pattern]))

        assert viewed(made) == [names.of("github", long).listed]
        assert f"github.{long}" in reached(made)
        assert table(made).unmatched_tools == ()


def test_bare_names_are_the_tools_own_where_one_server_has_each_and_prefixed_ones_stay() -> None:
    made = of(GITHUB, TICKETS, view=BARE)
    create = names.bare("create.issue")

    assert viewed(made) == ["close", "create.issue", "github.search", "tickets.search"]
    assert viewed(made, Form.SAFE) == ["close", create, "github__search", "tickets__search"]
    assert reached(made) == {
        **dict.fromkeys(["close", "tickets.close", "tickets__close"], ("tools/tickets", "close")),
        **dict.fromkeys(
            [create, "create.issue", "github.create.issue", CREATE.safe],
            ("tools/github", "create.issue"),
        ),
        **dict.fromkeys(["github.search", "github__search"], ("tools/github", "search")),
        **dict.fromkeys(["tickets.search", "tickets__search"], ("tools/tickets", "search")),
    }


def test_only_tools_of_the_view_make_a_bare_name_shared() -> None:
    made = of(
        GITHUB,
        TICKETS,
        view=view(servers=BOTH, tools=["github.*", "tickets.close"], names=NameForm.BARE),
    )

    assert "search" in viewed(made)
    assert reached(made)["search"] == ("tools/github", "search")


def test_a_bare_line_says_the_same_of_the_tool_as_that_of_the_whole() -> None:
    made = of(TICKETS, view=BARE)
    (close,) = (line for line in table(made).lines[Form.SAFE] if "close" in line.names.values())

    (whole,) = (line for line in made.lines[Form.SAFE] if "tickets__close" in line.names.values())
    assert close.rest is whole.rest


def test_a_tool_called_like_anothers_prefixed_name_takes_it_from_nobody() -> None:
    evil = Known(server("tools/tickets"), found("github__search", "github.search"))
    made = of(Known(server("tools/github"), found("search")), evil, view=BARE)

    assert reached(made)["github__search"] == ("tools/github", "search")
    assert reached(made)["github.search"] == ("tools/github", "search")
    assert viewed(made) == ["search", "tickets.github.search", "tickets.github__search"]
    assert viewed(made, Form.SAFE) == sorted(
        ["search", names.of("tickets", "github.search").safe, "tickets__github__search"]
    )


def test_two_tools_of_one_server_with_one_bare_name_are_both_prefixed() -> None:
    made = of(Known(server("tools/github"), found("a b", names.bare("a b"))), view=BARE)

    assert viewed(made) == ["github.a b", f"github.{names.bare('a b')}"]
    assert names.bare("a b") not in reached(made)


def test_a_bare_name_is_no_longer_than_names_may_be() -> None:
    long = "x" * 80
    made = built(Known(server("tools/github"), found(long)), views=[BARE], max_length=32)

    assert viewed(made, Form.SAFE) == [names.bare(long, max_length=32)]
    assert len(viewed(made)[0]) == 32


def test_a_name_that_two_tools_claim_leads_nowhere_in_a_view_either() -> None:
    known = Known(server("tools/github", prefix="p"), found(*TWINS, "other"))
    made = of(known, view=view())

    assert viewed(made) == listed(made) == ["p.other"]
    assert reached(made).keys() == {"p.other", "p__other"}


def test_servers_of_another_namespace_are_never_reached() -> None:
    foreign = Known(server("dev/github"), found("search"))
    lone = Known(server("lone"), found("search"))
    asked = ["github", "dev/github", "lone", "../dev/github"]
    made = built(
        foreign, lone, views=[view(servers=asked), view("loose", servers=[*asked, "tools/github"])]
    )

    assert viewed(made) == []
    assert reached(made) == {}
    assert made.views["tools/support"].unmatched_servers == tuple(sorted(asked))
    assert viewed(made, view="loose") == ["lone.search"]
    assert made.views["loose"].unmatched_servers == tuple(
        sorted(["github", "dev/github", "../dev/github", "tools/github"])
    )


def test_what_its_server_does_not_allow_is_in_no_view() -> None:
    narrow = Known(server("tools/github", allowed=["search"]), found("search", "delete"))
    made = of(narrow, view=view(tools=["github.delete", "github.search"]))

    assert viewed(made) == ["github.search"]
    assert "github.delete" not in reached(made)
    assert table(made).unmatched_tools == ("github.delete",)


@pytest.mark.parametrize("reason", [ServerReason.SUSPENDED, ServerReason.PREFIX_CONFLICT])
def test_a_server_that_is_left_out_is_there_and_shows_nothing(reason: ServerReason) -> None:
    made = of(Known(server("tools/github", out=reason)), view=view())

    assert viewed(made) == []
    assert table(made).unmatched_servers == ()


def test_a_tool_that_could_never_be_shown_is_in_no_view() -> None:
    bad = definition("bad", title=5)
    made = of(Known(server("tools/github"), found("good", bad)), view=view())

    assert viewed(made) == ["github.good"]


def test_a_view_without_a_usable_document_is_empty() -> None:
    for named in (
        NamedView("tools/support", None, "view.json: is not JSON"),
        view(out="requires: this router does not know moods"),
    ):
        made = of(GITHUB, view=named)

        assert viewed(made) == viewed(made, Form.SAFE) == []
        assert reached(made) == {}
        assert table(made).document is None
        assert not table(made).searches


def test_what_a_view_costs_and_what_of_it_matches_nothing_is_counted() -> None:
    named = view(servers=["github", "gone", "gone"], tools=["github.s*", "github.x*", "x", "*"])
    made = of(GITHUB, view=named)
    none = of(GITHUB, view=view(servers=["github"], tools=["github.se*"]))

    assert (table(made).tool_count, table(none).tool_count) == (2, 1)
    assert table(made).schema_bytes == made.exposures["tools/github"].schema_bytes
    assert 0 < table(none).schema_bytes < table(made).schema_bytes
    assert table(made).unmatched_servers == ("gone",)
    assert table(made).unmatched_tools == ("github.x*", "x")


@pytest.mark.parametrize("discovery", Discovery)
def test_a_view_says_whether_its_tools_are_searched_for(discovery: Discovery) -> None:
    assert table(of(GITHUB, view=view(discovery=discovery))).searches is (
        discovery is Discovery.SEARCH
    )


def test_the_revision_is_that_of_the_view_alone() -> None:
    made = of(GITHUB, TICKETS, view=view())
    elsewhere = of(GITHUB, Known(server("tools/tickets"), found("x")), view=view())
    redefined = Known(GITHUB.server, found(definition("search", title="S"), "create.issue"))

    assert elsewhere.revision != made.revision
    assert table(elsewhere).revision == table(made).revision != made.revision
    assert table(of(redefined, view=view())).revision != table(made).revision
    assert table(of(GITHUB, view=view(tools=["github.s*"]))).revision != table(made).revision
    assert table(of(GITHUB, view=view(names=NameForm.BARE))).revision != table(made).revision


def test_only_views_that_a_change_concerns_are_made_anew() -> None:
    named = [
        view("tools/one", servers=["github"]),
        view("tools/other", servers=["tickets"]),
        view("tools/edited", servers=["tickets"]),
    ]
    first = built(GITHUB, TICKETS, views=named)
    changed = Known(TICKETS.server, found("close"))
    edited = [*named[:2], view("tools/edited", servers=["tickets"], tools=["tickets.c*"])]

    assert built(GITHUB, TICKETS, views=named, previous=first).views == first.views
    second = built(GITHUB, changed, views=named, previous=first)
    third = built(GITHUB, changed, views=edited, previous=second)
    assert second.views["tools/one"] is first.views["tools/one"]
    assert viewed(second, view="tools/other") == ["tickets.close"]
    assert third.views["tools/other"] is second.views["tools/other"]
    assert third.views["tools/edited"] is not second.views["tools/edited"]


@pytest.mark.parametrize("named", [PREFIXED, BARE], ids=["prefixed", "bare"])
def test_a_change_of_one_server_has_only_its_tools_looked_at_anew(named: NamedView) -> None:
    other = view("tools/other", servers=BOTH)
    first = built(GITHUB, TICKETS, views=[named, other])
    changed = Known(TICKETS.server, found("search", definition("close", title="Close")))
    second = built(GITHUB, changed, views=[named, other], previous=first)
    old, new = table(first), table(second)

    assert new.shares["tools/github"] is old.shares["tools/github"]
    assert new.shares["tools/tickets"] is not old.shares["tools/tickets"]
    both = (new.shares["tools/tickets"], second.views["tools/other"].shares["tools/tickets"])
    assert both[0].tools is both[1].tools
    kept = {line.rest[Revision.MODERN]: line for line in old.lines[Form.DOTTED]}
    same = [line for line in new.lines[Form.DOTTED] if kept.get(line.rest[Revision.MODERN]) is line]
    assert len(same) == 2
    assert new == replace(table(built(GITHUB, changed, views=[named, other])), departed={})


@pytest.mark.parametrize("named", [PREFIXED, BARE], ids=["prefixed", "bare"])
def test_lists_that_a_change_leaves_as_they_were_are_the_same_ones(named: NamedView) -> None:
    first = of(GITHUB, TICKETS, view=named)
    late = Known(TICKETS.server, Finding(offered("search", "close"), skip(ServerReason.TIMEOUT)))
    second = of(GITHUB, late, view=named, previous=first)

    assert second.exposures["tools/tickets"].state is State.STALE
    for form in (Form.DOTTED, Form.SAFE):
        assert table(second).lines[form] is table(first).lines[form]
        assert second.lines[form] is first.lines[form]


def test_a_view_that_comes_to_ask_for_less_takes_less_of_the_same_servers() -> None:
    first = of(GITHUB, TICKETS)
    second = of(GITHUB, TICKETS, view=view(servers=BOTH, tools=["no*", "github.s*"]))
    third = of(GITHUB, TICKETS, view=view(servers=BOTH, tools=["github.s*"]), previous=first)

    assert viewed(third) == viewed(second) == ["github.search"]
    assert table(third).unmatched_tools == ()


def test_names_that_left_a_view_say_what_became_of_them_in_it() -> None:
    first = of(GITHUB, TICKETS, view=BARE)
    asleep = Known(server("tools/tickets", out=ServerReason.SUSPENDED))
    suspended = of(GITHUB, asleep, view=BARE, previous=first)
    gone = of(GITHUB, view=BARE, previous=suspended)
    back = of(GITHUB, TICKETS, view=BARE, previous=gone)

    assert views.became(table(suspended), "close") == "suspended"
    assert views.became(table(suspended), "tickets__close") == "suspended"
    assert views.became(table(suspended), "search") is None
    assert views.became(table(gone), "close") == "removed"
    assert views.became(table(back), "close") is None


@pytest.mark.parametrize(
    ("named", "asleep", "unknown"),
    [
        (
            PREFIXED,
            ["tickets.close", "tickets__close", "tickets.search"],
            ["close", "search", "tickets.other"],
        ),
        (BARE, ["tickets.close", "close", "search"], ["other", "tickets.other"]),
        (
            view(servers=BOTH, tools=["tickets.c*"], names=NameForm.BARE),
            ["tickets.close", "close"],
            ["tickets.search", "search"],
        ),
        (view(servers=["github"]), [], ["tickets.close", "tickets__close"]),
    ],
    ids=["prefixed", "bare", "of which one is asked for", "of another server"],
)
def test_a_replica_that_never_listed_a_suspended_server_says_so_of_what_a_view_would_show(
    named: NamedView, asleep: list[str], unknown: list[str]
) -> None:
    suspended = server("tools/tickets", allowed=["close", "search"], out=ServerReason.SUSPENDED)
    made = of(GITHUB, Known(suspended), view=named)

    assert not {*asleep, *unknown} & reached(made).keys()
    assert all(views.became(table(made), name) == "suspended" for name in asleep)
    assert {views.became(table(made), name) for name in unknown} == {None}


def test_a_name_that_another_view_had_is_unknown_in_this_one() -> None:
    narrow, wide = view(tools=["github.s*"]), view("tools/wide")
    first = built(GITHUB, views=[narrow, wide])
    second = built(Known(GITHUB.server, found()), views=[narrow, wide], previous=first)

    assert views.became(second.views["tools/wide"], "github.create.issue") == "removed"
    assert views.became(table(second), "github.create.issue") is None
    assert views.became(table(second), "github.search") == "removed"


def test_a_tool_that_an_edit_takes_out_of_a_view_was_removed_whatever_its_server_does() -> None:
    first = of(GITHUB, TICKETS)
    without = view(servers=["github"])
    asleep = Known(server("tools/tickets", out=ServerReason.SUSPENDED))
    second = of(GITHUB, TICKETS, view=without, previous=first)
    third = of(GITHUB, asleep, view=without, previous=second)

    assert views.became(table(second), "tickets.close") == "removed"
    assert views.became(table(third), "tickets.close") == "removed"


def test_what_left_a_view_is_forgotten_after_a_day() -> None:
    first = built(GITHUB, views=[view()])
    gone = built(views=[view()], previous=first)
    late = built(views=[view()], previous=gone, now_s=NOW_S + DEPARTED_S + 1)

    assert views.became(table(gone), "github.search") == "removed"
    assert views.became(table(late), "github.search") is None
    assert table(late).departed == {}


@st.composite
def named_views(draw: st.DrawFn, world: World) -> list[NamedView]:
    """Views of a world's servers, by patterns of which some fit its tools."""
    here = [known.server.id.partition("/")[2] for known in world]
    patterns = [
        name + more
        for known in world
        if known.finding and known.finding.offer and known.server.meta
        for tool in known.finding.offer.tools
        for called in [names.of(known.server.meta.prefix, tool.name)]
        for name, more in ((called.dotted, ""), (called.safe, ""), (called.dotted[:5], "*"))
        if "*" not in name and len(name) <= PATTERN_MAX_LENGTH
    ]
    return [
        view(
            f"team/v{number}",
            servers=draw(st.lists(st.sampled_from([*here, "nobody"]), max_size=5)),
            tools=draw(st.lists(st.sampled_from(["*", "p.*", "a__*", *patterns]), max_size=5)),
            names=draw(st.sampled_from(NameForm)),
        )
        for number in range(draw(st.integers(1, 3)))
    ]


@given(st.data(), worlds(), st.sampled_from([32, 64]))
def test_whatever_is_registered_a_view_lists_what_can_be_called_in_it(
    data: st.DataObject, world: World, max_length: int
) -> None:
    named = data.draw(named_views(world))
    made = built(*world, views=named, max_length=max_length)

    for each in named:
        table = made.views[each.id]
        assert each.meta
        for form in (Form.DOTTED, Form.SAFE):
            shown = viewed(made, form, each.id)
            assert len(set(shown)) == len(shown)
            assert shown == sorted(shown, key=str.encode)
            assert all(len(name) <= max_length for name in shown)
            # A line says of which tool it is, and its name leads to that one.
            for line in table.lines[form]:
                route = table.routes[line.names[form]]
                assert line.rest is made.exposures[route.server].lines[route.tool].rest
        for route in table.routes.values():
            assert route is made.exposures[route.server].bare[route.tool]
            assert route.server in each.meta.server_ids
            exposure = made.exposures[route.server]
            (candidate,) = (one for one in exposure.candidates if one.tool.name == route.tool)
            called = candidate.names
            assert matches(each.meta.tools, called.dotted, called.listed, called.safe)
            for name in (called.dotted, called.listed, called.safe):
                assert table.routes.get(name) is made.routes.get(name)
        there = {route.server for route in table.routes.values()}
        assert there <= {known.server.id for known in world}


@given(st.data(), worlds())
def test_a_view_holds_each_tool_that_the_whole_lists_and_that_matches(
    data: st.DataObject, world: World
) -> None:
    named = data.draw(named_views(world))
    made = built(*world, views=named)

    for each in named:
        assert each.meta
        wanted = {
            (id_, candidate.tool.name)
            for id_ in set(each.meta.server_ids) & made.exposures.keys()
            for exposure in [made.exposures[id_]]
            for candidate in exposure.candidates
            for called in [candidate.names]
            if candidate.exposed in exposure.tools
            and matches(each.meta.tools, called.dotted, called.listed, called.safe)
        }
        assert {
            (route.server, route.tool) for route in made.views[each.id].routes.values()
        } == wanted
        assert made.views[each.id].tool_count == len(wanted)


def is_known(exposure: Exposure) -> bool:
    return bool(exposure.finding.offer) and exposure.state is not State.SUSPENDED


def is_bare(table: Table) -> bool:
    return table.named.meta is not None and table.named.meta.names is NameForm.BARE


@given(st.data(), st.lists(worlds(), min_size=1, max_size=4))
def test_a_table_that_was_kept_is_the_one_that_would_be_made(
    data: st.DataObject, history: list[World]
) -> None:
    previous: Catalogue | None = None
    named: list[NamedView] = []
    for world in history:
        if not named or data.draw(st.booleans()):
            named = data.draw(named_views(world))
        previous = built(*world, views=named, previous=previous)
        fresh = built(*world, views=named)

        for id_, table in previous.views.items():
            # Where it is unknown what a server has, bare names depend on what they were before.
            if all(is_known(exposure) for exposure in table.of) or not is_bare(table):
                assert replace(table, departed={}) == fresh.views[id_]
        for table in previous.views.values():
            assert not table.departed.keys() & table.routes.keys()


@given(st.lists(st.tuples(TOOLS, TOOLS), max_size=5), st.lists(TOOLS, max_size=3))
def test_a_tool_that_comes_never_changes_where_a_prefixed_name_of_a_bare_view_leads(
    others: list[tuple[str, str]], more: list[str]
) -> None:
    few = Known(server("tools/github"), found(*dict.fromkeys(tool for tool, _ in others)))
    many = Known(server("tools/tickets"), found(*dict.fromkeys([*more, *(t for _, t in others)])))
    alone, together = of(few, view=BARE), of(few, many, view=BARE)

    for name, route in alone.routes.items():
        assert reached(alone)[name] == (route.server, route.tool)
        assert reached(together).get(name) in (None, (route.server, route.tool))
        if name in together.routes:
            assert reached(together)[name] == (route.server, route.tool)


def test_a_hundred_views_of_a_thousand_servers_are_made_in_moderate_time() -> None:
    world = [
        Known(server(f"team/s{number}"), found(*(f"tool_{tool}" for tool in range(5))))
        for number in range(1000)
    ]
    named = [
        view(
            f"team/v{number}",
            servers=[f"s{number + 9 * at}" for at in range(50)],
            tools=[f"s{number}.*", "s*", *(f"none{at}*" for at in range(50))],
            names=NameForm.BARE if number % 2 else NameForm.PREFIXED,
        )
        for number in range(100)
    ]
    without = built(*world)
    begun = time.process_time()
    made = built(*world, views=named, previous=without)
    built_s = time.process_time() - begun
    changed = [replace(world[0], finding=found("tool_0")), *world[1:]]
    begun = time.process_time()
    again = built(*changed, views=named, previous=made)
    again_s = time.process_time() - begun

    kept = [id_ for id_, table in again.views.items() if table is made.views[id_]]
    assert all(table.tool_count == 250 for table in made.views.values())
    assert len(kept) == 99
    assert built_s < 15
    assert again_s < built_s
