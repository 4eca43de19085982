"""Which name leads where, and which leads nowhere."""

import time
from dataclasses import replace

import pytest

from bench.catalogues import (
    NOW_S,
    Known,
    built,
    built_of,
    definition,
    found,
    listed,
    only,
    server,
    skipped,
)
from bench.nasty import TWINS
from pointsman_contract import names
from pointsman_contract.report import ToolReason
from pointsman_router import catalogue
from pointsman_router.exposure import Route
from pointsman_router.listing import Form
from pointsman_router.registry import Registry, Server


def test_a_tool_is_called_by_its_dotted_and_by_its_safe_name() -> None:
    made = built(Known(server(), found("search")))

    assert made.routes == {
        "github.search": Route("tools/github", "search", 60.0),
        "github__search": Route("tools/github", "search", 60.0),
    }
    assert listed(made, Form.DOTTED) == ["github.search"]
    assert listed(made, Form.SAFE) == ["github__search"]


def test_a_call_has_as_long_as_its_server_grants() -> None:
    made = built(Known(server(timeout_s=7), found("search")))

    assert {route.timeout_s for route in made.routes.values()} == {7.0}


@pytest.mark.parametrize("max_length", [32, 64, 128])
@pytest.mark.parametrize(
    "tool", ["x" * 256, "a b", "files/read.all v2", "😀" * 80, "x" * 61, "x.y"]
)
def test_r02_listed_names_are_short_and_the_whole_one_stays_callable(
    tool: str, max_length: int
) -> None:
    made = built(Known(server(), found(tool)), max_length=max_length)
    (dotted,), (safe,) = listed(made, Form.DOTTED), listed(made, Form.SAFE)

    assert len(dotted) <= max_length
    assert len(safe) <= max_length
    assert {made.routes[name].tool for name in (dotted, safe, f"github.{tool}")} == {tool}


def test_lists_are_in_order_of_the_names_they_show() -> None:
    made = built(
        Known(server("a/x", prefix="b"), found("B", "a", "é")),
        Known(server("b/x", prefix="a"), found("z", "_")),
        Known(server("c/x", prefix="ab"), found("a")),
    )

    for form in (Form.DOTTED, Form.SAFE):
        assert listed(made, form) == sorted(listed(made, form), key=str.encode)
        assert len(listed(made, form)) == 6


def test_r05_a_listed_name_that_another_tool_has_by_itself_is_nobodys() -> None:
    long = "x" * 80
    taken = names.of("p", long).listed
    made = built(Known(server(prefix="p"), found(long, taken.removeprefix("p."), "other")))

    assert taken not in made.routes
    assert listed(made) == ["p.other"]
    assert len(listed(made, Form.SAFE)) == 3
    assert skipped(only(made)) == [
        (taken.removeprefix("p."), "NameCollision"),
        (long, "NameCollision"),
    ]
    assert made.routes[f"p.{long}"].tool == long
    assert {route.tool for route in made.routes.values()} == {
        long,
        "other",
        taken.removeprefix("p."),
    }


def test_r05_a_safe_name_that_another_tool_has_by_itself_is_nobodys() -> None:
    odd = "a/b"
    taken = names.of("p", odd).safe
    made = built(Known(server(prefix="p"), found(odd, taken.removeprefix("p__"))))

    assert taken not in made.routes
    assert listed(made, Form.SAFE) == []
    assert listed(made) == ["p.a/b", f"p.{taken.removeprefix('p__')}"]
    assert {tool.name for tool in only(made).tools} == {odd, taken.removeprefix("p__")}


def test_r05_tools_whose_shortened_names_meet_are_called_by_their_whole_names_alone() -> None:
    made = built(Known(server(prefix="p"), found(*TWINS, "other")))

    assert listed(made) == ["p.other"]
    assert listed(made, Form.SAFE) == ["p__other"]
    assert made.routes.keys() == {"p.other", "p__other", *(f"p.{twin}" for twin in TWINS)}
    assert [tool.name for tool in only(made).tools] == ["other"]
    assert {reason for _, reason in skipped(only(made))} == {"NameCollision"}
    assert {name for name, _ in skipped(only(made))} == set(TWINS)


def test_a_name_is_free_again_when_its_other_claimant_goes() -> None:
    one, both = (Known(server(prefix="p"), found(*twins)) for twins in (TWINS[:1], TWINS))

    freed = built(one, previous=built(both))

    assert len(listed(freed)) == 1
    assert skipped(only(freed)) == []
    assert skipped(only(built(both, previous=freed))) == skipped(only(built(both)))


# The same between two servers, where listed names hold 32 characters.
RIVALS = (
    Known(server("a/a", prefix="shared_head_of_23_chars_a"), found("tool_60892", "other")),
    Known(server("b/b", prefix="shared_head_of_23_chars_b"), found("tool_119525")),
)


def test_r05_a_name_that_two_servers_claim_is_nobodys_and_costs_nothing_else() -> None:
    made = built(*RIVALS, max_length=32)

    assert made.lines.keys() == {Form.DOTTED, Form.SAFE}
    assert {line.names[Form.BARE] for lines in made.lines.values() for line in lines} == {"other"}
    assert {(id_, tool.name) for id_, one in made.exposures.items() for tool in one.skipped} == {
        ("a/a", "tool_60892"),
        ("b/b", "tool_119525"),
    }
    assert made.routes["shared_head_of_23_chars_b.tool_119525"].server == "b/b"


def test_a_rival_that_comes_takes_the_name_away_and_one_that_goes_gives_it_back() -> None:
    alone = built(RIVALS[0], max_length=32)
    both = built(*RIVALS, max_length=32, previous=alone)
    again = built(RIVALS[0], max_length=32, previous=both)

    assert both == replace(built(*RIVALS, max_length=32), departed=both.departed)
    assert again == replace(alone, departed=again.departed)
    assert len(listed(alone)) == 2
    assert len(listed(both)) == 1
    assert both.departed.keys() == {"shared_head_of_23_chars_d05456fc"}


def test_what_no_list_shows_and_can_be_called_all_the_same_is_part_of_the_revision() -> None:
    long = "x" * 80
    called = names.of("p", long)
    taking = [called.listed.removeprefix("p."), called.safe.removeprefix("p__")]
    first, second = (
        built(Known(server(prefix="p"), found(definition(long, description=text), *taking)))
        for text in ("good", "bad")
    )

    assert called.dotted in first.routes
    assert long not in {tool.name for tool in only(first).tools}
    assert skipped(only(first)).count((long, ToolReason.NAME_COLLISION)) == 2
    assert [first.lines[form] == second.lines[form] for form in first.lines] == [True, True]
    assert first.revision != second.revision


def test_a_tool_claimed_within_its_own_server_is_still_found_on_that_servers_endpoint() -> None:
    shown = only(built(Known(server(prefix="p"), found(*TWINS))))

    assert shown.bare.keys() == set(TWINS)
    assert shown.lines.keys() == set(TWINS)


def test_the_revision_says_what_agents_see_and_nothing_else() -> None:
    def revision(one: Server, *tools: str | bytes) -> str:
        return built_of(one, found(*tools)).revision

    base = revision(server(), "add")

    assert revision(server(timeout_s=9), "add") == base
    assert revision(server(allowed=["add"]), "add", "other") == base
    assert revision(server(), definition("add", icons=[{"src": "x"}])) == base
    assert revision(server(), definition("add", title="Add")) != base
    assert revision(server(prefix="other"), "add") != base
    assert revision(server("tools2/github"), "add") != base
    assert revision(server(), "Add") != base
    assert len(base) == 16


def test_the_catalogue_before_anything_was_read_is_empty() -> None:
    empty = catalogue.empty()

    assert not empty.routes
    assert not empty.echo
    assert empty.revision == built().revision


def test_a_fault_of_the_directory_travels_along() -> None:
    made = catalogue.build(Registry({}, "the directory is empty"), {}, max_length=64, now_s=NOW_S)

    assert made.fault == "the directory is empty"


def test_a_thousand_servers_make_a_catalogue_in_moderate_time() -> None:
    world = [
        Known(server(f"team/s{number}"), found(*(f"tool_{tool}" for tool in range(20))))
        for number in range(1000)
    ]
    begun = time.process_time()

    made = built(*world)
    built_s = time.process_time() - begun
    changed = [replace(world[0], finding=found("tool_0")), *world[1:]]
    again = built(*changed, previous=made)

    assert len(made.lines[Form.DOTTED]) == 20_000
    assert len(again.lines[Form.DOTTED]) == 19_981
    assert again.exposures["team/s1"] is made.exposures["team/s1"]
    assert built_s < 15
