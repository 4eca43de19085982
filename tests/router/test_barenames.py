"""A bare name in a view leads to one tool, and to no sibling's while that one is away."""

from collections.abc import Iterable

import pytest

from bench.catalogues import (
    Known,
    built,
    definition,
    found,
    offered,
    reached,
    server,
    skip,
    view,
    viewed,
)
from pointsman_contract import names
from pointsman_contract.meta import Definitions, Exposed, Policy
from pointsman_contract.report import ServerReason
from pointsman_contract.view import NameForm
from pointsman_router.catalogue import Catalogue
from pointsman_router.offer import Finding
from pointsman_router.registry import NamedView, Server, Skip

A, B = "tools/a", "tools/b"
BOTH = view(servers=("a", "b"), names=NameForm.BARE)
SEARCH = found("search")
TIMED_OUT = Finding(None, skip(ServerReason.TIMEOUT))
ASLEEP = ServerReason.SUSPENDED
WAITING = server(A, definitions=Definitions(policy=Policy.ENFORCE))

AWAY = [
    pytest.param(Known(server(A)), id="not listed yet"),
    pytest.param(Known(server(A), TIMED_OUT), id="never listed for trouble"),
    pytest.param(Known(server(A, out=ASLEEP)), id="suspended"),
    pytest.param(Known(WAITING, SEARCH), id="waiting for approval"),
    pytest.param(Known(server(A, allowed=["search"])), id="not listed yet, its tool named"),
    pytest.param(Known(server(A, allowed=["search"], out=ASLEEP)), id="suspended, its tool named"),
]
HAS_NONE = [
    pytest.param(Known(server(A), found()), id="it lists none"),
    pytest.param(Known(server(A, allowed=["search"]), found("x")), id="it lists another"),
    pytest.param(
        Known(server(A, allowed=[], out=ServerReason.NO_TOOLS_ALLOWED)), id="it allows none"
    ),
    pytest.param(Known(server(A, out=ServerReason.INVALID_URL)), id="it cannot be asked"),
    pytest.param(
        Known(Server(A, None, Skip(ServerReason.INVALID_META, "is bad"))), id="nothing is known"
    ),
    pytest.param(Known(server(A, expose=[Exposed.PROMPTS])), id="it exposes no tools"),
    pytest.param(Known(server(A, allowed=["x"])), id="not listed yet, and allows another"),
    pytest.param(Known(server(A, allowed=["x"], out=ASLEEP)), id="suspended, and allows another"),
]


def of(*known: Known, view: NamedView = BOTH, previous: Catalogue | None = None) -> Catalogue:
    return built(*known, views=[view], previous=previous)


def b(*tools: str) -> Known:
    return Known(server(B), found(*tools))


def led(made: Catalogue, called: Iterable[str]) -> set[tuple[str, str]]:
    routes = reached(made)
    return {routes[name] for name in called if name in routes}


@pytest.mark.parametrize("a", [*AWAY, *HAS_NONE[:4]])
def test_what_begins_like_a_siblings_prefixed_names_is_never_a_tools_own(a: Known) -> None:
    foreign = ["a.search", "a__search", "a.", "a__", "a.gone"]
    made = of(a, b(*foreign))

    assert led(made, foreign) == set()
    assert led(made, [f"b.{tool}" for tool in foreign]) == {(B, tool) for tool in foreign}


def test_what_begins_like_its_own_prefixed_names_may_be_a_tools_own() -> None:
    made = of(b("b.search", "b__search"))

    assert viewed(made) == ["b.search", "b__search"]


@pytest.mark.parametrize("a", AWAY)
def test_a_name_that_two_share_stays_prefixed_while_one_is_away(a: Known) -> None:
    both = of(Known(server(A), SEARCH), b("search"))

    for made in (of(a, b("search")), of(a, b("search"), previous=both)):
        assert "search" not in reached(made)
        assert "b.search" in viewed(made)


@pytest.mark.parametrize("a", AWAY)
def test_a_name_that_led_to_one_does_not_come_to_lead_to_a_sibling_meanwhile(a: Known) -> None:
    alone = of(Known(server(A), SEARCH), b("other"))
    away = of(a, b("other"), previous=alone)
    made = of(a, b("other", "search"), previous=away)

    assert reached(alone)["search"] == (A, "search")
    assert "search" not in reached(made)
    assert reached(made)["b.search"] == (B, "search")


@pytest.mark.parametrize("a", HAS_NONE)
def test_a_server_that_shows_no_such_tool_claims_no_name_of_one(a: Known) -> None:
    made = of(a, b("search"))

    assert reached(made)["search"] == (B, "search")


@pytest.mark.parametrize("a", AWAY[:3])
def test_names_that_led_somewhere_stay_while_it_is_unknown_what_a_sibling_has(a: Known) -> None:
    before = of(b("search", "other"), view=view(servers=["b"], names=NameForm.BARE))
    made = of(a, b("search", "new"), previous=before)
    later = of(a, b("search", "new"), previous=made)

    for each in (made, later):
        assert viewed(each) == ["b.new", "search"]
        assert reached(each)["search"] == (B, "search")


def test_a_name_stays_while_a_sibling_that_may_have_it_is_not_listed_yet_and_no_longer() -> None:
    a = server(A, allowed=["search", "other"])
    before = of(b("search", "other"), view=view(servers=["b"], names=NameForm.BARE))
    meanwhile = of(Known(a), b("search", "other"), previous=before)
    listed = of(Known(a, SEARCH), b("search", "other"), previous=meanwhile)

    assert viewed(meanwhile) == ["other", "search"]
    assert viewed(listed) == ["a.search", "b.search", "other"]


def test_once_every_server_had_its_chance_all_replicas_list_the_same() -> None:
    whole = [Known(server(A), SEARCH), b("search", "other")]
    first_a = of(*whole, previous=of(whole[0], Known(server(B))))
    first_b = of(*whole, previous=of(Known(server(A), TIMED_OUT), whole[1]))

    assert viewed(first_a) == viewed(first_b) == viewed(of(*whole))
    assert viewed(first_a) == ["a.search", "b.search", "other"]


def test_a_server_that_is_stale_is_known() -> None:
    stale = Known(server(A), Finding(offered("search"), skip(ServerReason.TIMEOUT)))

    assert viewed(of(stale, b("search", "other"))) == ["a.search", "b.search", "other"]


@pytest.mark.parametrize("a", [AWAY[-3], AWAY[-1]])
def test_what_a_view_does_not_ask_for_claims_nothing_in_it(a: Known) -> None:
    narrow = view(servers=("a", "b"), tools=["b.*"], names=NameForm.BARE)

    assert viewed(of(a, b("search"), view=narrow)) == ["search"]


def test_a_definition_that_changed_keeps_its_names_from_siblings() -> None:
    digest = offered("search").tools[0].digest
    approved = Definitions(policy=Policy.ENFORCE, approved={"search": digest})
    a = server(A, definitions=approved)
    before = of(Known(a, SEARCH), b("a.search"))
    changed = Known(a, found(definition("search", description="another")))
    made = of(changed, b("a.search", "search"), previous=before)

    assert reached(before)["a.search"] == reached(before)["search"] == (A, "search")
    assert not {"a.search", "a__search", "search"} & reached(made).keys()
    assert viewed(made) == ["b.a.search", "b.search"]
    assert names.of("b", "a.search").safe in reached(made)
