"""What holds of every catalogue, whatever is registered and offered."""

import json
import random
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.agentnames import CLIENTS, Client
from bench.catalogues import Known, built, listed
from bench.nasty import LENGTHS, SAFE, THOROUGH
from bench.nastyworlds import WORLDS
from bench.worlds import World
from pointsman_contract import names
from pointsman_contract.report import ToolReason, printable
from pointsman_router import reporting
from pointsman_router.eras import Revision
from pointsman_router.listing import SERVER_KEY, TOOL_KEY, Form
from pointsman_router.offer import Finding
from pointsman_router.reporting import Self

FORMS = (Form.DOTTED, Form.SAFE)


def claims(world: World, max_length: int = 64) -> Mapping[str, set[tuple[str, str]]]:
    """Who claims which name, computed from the contract alone."""
    claimed: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
    for one in world:
        meta = one.server.meta
        if meta is None or one.server.skip or one.finding is None or one.finding.offer is None:
            continue
        for tool in one.finding.offer.tools:
            if meta.allowed_tools == ("*",) or tool.name in meta.allowed_tools:
                called = names.of(meta.prefix, tool.name, max_length=max_length)
                for name in (called.dotted, called.listed, called.safe):
                    claimed[name].add((one.server.id, tool.name))
    return claimed


@THOROUGH
@given(WORLDS, LENGTHS)
def test_a_name_leads_to_its_only_claimant_or_nowhere(world: World, max_length: int) -> None:
    made = built(*world, max_length=max_length)
    claimed = claims(world, max_length)

    assert {name: {(route.server, route.tool)} for name, route in made.routes.items()} == {
        name: who for name, who in claimed.items() if len(who) == 1
    }
    collided = {printable(tool) for who in claimed.values() if len(who) > 1 for _, tool in who}
    assert collided == {
        tool.name
        for exposure in made.exposures.values()
        for tool in exposure.skipped
        if tool.reason == ToolReason.NAME_COLLISION
    }


@THOROUGH
@given(WORLDS, LENGTHS)
def test_what_is_listed_is_what_can_be_called(world: World, max_length: int) -> None:
    made = built(*world, max_length=max_length)

    for form in FORMS:
        assert all(len(name) <= max_length for name in listed(made, form))
        assert len(set(listed(made, form))) == len(listed(made, form))
        for line in made.lines[form]:
            route = made.routes[line.names[form]]
            assert line is made.exposures[route.server].lines[route.tool]
    assert all(SAFE.fullmatch(name) for name in listed(made, Form.SAFE))
    for exposure in made.exposures.values():
        assert exposure.bare.keys() == exposure.lines.keys()
        assert all(route.server == exposure.server.id for route in exposure.bare.values())


@THOROUGH
@given(WORLDS, LENGTHS)
def test_what_is_listed_is_what_is_reported(world: World, max_length: int) -> None:
    made = built(*world, max_length=max_length)
    told = reporting.build(made, None, myself=Self("router-1", "then"), now="now")

    for form in FORMS:
        reported = {
            tool.safe_name if form is Form.SAFE else tool.exposed_name: (server, tool.name)
            for server in told.servers
            for tool in server.tools
        }
        shown = listed(made, form)
        assert reported.keys() >= set(shown)
        for name in shown:
            server, tool = reported[name]
            assert made.routes[name] == made.exposures[server.id].bare[tool]
        for server, tool in (reported[name] for name in reported.keys() - set(shown)):
            assert (printable(tool), ToolReason.NAME_COLLISION) in {
                (skipped.name, skipped.reason) for skipped in server.skipped_tools
            }


@THOROUGH
@given(WORLDS, LENGTHS)
def test_every_form_of_a_name_leads_to_the_same_tool(world: World, max_length: int) -> None:
    made = built(*world, max_length=max_length)

    for exposure in made.exposures.values():
        for candidate in exposure.candidates:
            called, route = candidate.names, exposure.bare[candidate.tool.name]
            for name in (called.dotted, called.listed, called.safe):
                assert made.routes.get(name, route) is route
            line = exposure.lines[candidate.tool.name]
            assert all(
                made.routes[line.names[form]] is route for form in FORMS if form in line.names
            )


@THOROUGH
@given(WORLDS)
def test_every_listed_tool_says_whose_it_is_and_what_it_is_called_there(world: World) -> None:
    made = built(*world)

    for line in made.lines[Form.DOTTED]:
        route = made.routes[line.names[Form.DOTTED]]
        for rest in (line.rest[Revision.MODERN], line.rest[Revision.V2025_03_26]):
            meta = json.loads(b"{" + rest[1:])["_meta"]
            assert (meta[SERVER_KEY], meta[TOOL_KEY]) == (route.server, route.tool)


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
@settings(max_examples=max(100, settings().max_examples // len(CLIENTS)))
@given(WORLDS)
def test_every_client_gets_a_list_that_it_can_use_in_the_safe_form(
    client: Client, world: World
) -> None:
    made = built(*world, max_length=client.listed_max_length)

    shown = [client.passes_on(name) for name in listed(made, Form.SAFE)]

    assert all(client.pattern.fullmatch(name) for name in shown)
    assert len(set(shown)) == len(shown)


@THOROUGH
@given(WORLDS, st.randoms(use_true_random=False))
def test_the_order_in_which_servers_are_read_does_not_matter(
    world: World, chance: random.Random
) -> None:
    shuffled = list(world)
    chance.shuffle(shuffled)

    assert built(*shuffled) == built(*world)


@THOROUGH
@given(WORLDS, st.integers(0, 15))
def test_names_do_not_depend_on_which_other_servers_exist(world: World, kept: int) -> None:
    few = [one for number, one in enumerate(world) if kept >> number & 1]
    whole, part = built(*world), built(*few)

    for id_, exposure in part.exposures.items():
        assert exposure == whole.exposures[id_]
    assert part.routes.items() <= whole.routes.items()
    for form, lines in part.lines.items():
        ids = {line.names[form] for line in lines}
        assert [line for line in whole.lines[form] if line.names[form] in ids] == list(lines)


@THOROUGH
@given(WORLDS, st.integers(0, 2**24 - 1))
def test_a_tool_that_comes_or_goes_leaves_the_names_of_all_others_as_they_are(
    world: World, kept: int
) -> None:
    few = [_with_some_tools(one, kept >> 6 * number) for number, one in enumerate(world)]
    whole, part = built(*world), built(*few)

    for id_, exposure in part.exposures.items():
        more = whole.exposures[id_]
        collided = {tool.name for tool in more.skipped if tool.reason == ToolReason.NAME_COLLISION}
        for tool, line in exposure.lines.items():
            assert line.names.items() >= more.lines[tool].names.items()
            assert line.names == more.lines[tool].names or printable(tool) in collided
    for name, route in part.routes.items():
        assert whole.routes.get(name, route) == route


def _with_some_tools(one: Known, kept: int) -> Known:
    """The same server, whose upstream lists only some of its tools."""
    if one.finding is None or (offer := one.finding.offer) is None:
        return one
    tools = tuple(tool for number, tool in enumerate(offer.tools) if kept >> number & 1)
    return replace(one, finding=Finding(replace(offer, tools=tools), one.finding.trouble))


@THOROUGH
@given(WORLDS, WORLDS, st.integers(0, 15))
def test_a_snapshot_made_of_an_older_one_is_the_same_as_one_made_from_nothing(
    before: World, after: World, keeps: int
) -> None:
    kept = {one.server.id: one for number, one in enumerate(before) if keeps >> number & 1}
    mixed = [kept.get(one.server.id, one) for one in after]

    assert replace(built(*mixed, previous=built(*before)), departed={}) == built(*mixed)


@THOROUGH
@given(WORLDS)
def test_equal_content_has_an_equal_revision_on_every_replica(world: World) -> None:
    other = [
        replace(one, finding=replace(one.finding) if one.finding else None)
        for one in reversed(world)
    ]

    assert built(*other, previous=built(*world[:1])).revision == built(*world).revision


@THOROUGH
@given(WORLDS)
def test_every_offered_tool_is_shown_left_out_with_a_reason_or_not_allowed(
    world: World,
) -> None:
    made = built(*world)

    for one in world:
        exposure = made.exposures[one.server.id]
        if one.server.skip or one.finding is None or one.finding.offer is None:
            assert exposure.reason is not None
            continue
        assert one.server.meta is not None
        allowed = set(one.server.meta.allowed_tools)
        shown = {tool.name for tool in exposure.tools}
        left_out = {tool.name for tool in exposure.skipped}
        for name in {tool.name for tool in one.finding.offer.tools}:
            told = name in shown or printable(name) in left_out
            assert told or not (name in allowed or allowed == {"*"})
        assert shown <= allowed or allowed == {"*"}
        assert [
            (tool.name, tool.reason)
            for tool in exposure.skipped
            if tool.reason != ToolReason.NAME_COLLISION
        ] == [
            (printable(tool.name), tool.reason)
            for tool in one.finding.offer.skipped
            if tool.name in allowed or allowed == {"*"}
        ]
        assert {tool.reason for tool in exposure.skipped if tool.name in shown} <= {"NameCollision"}
        assert all(tool.message for tool in exposure.skipped)
