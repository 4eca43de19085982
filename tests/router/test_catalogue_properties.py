"""What holds of every catalogue, whatever is registered and offered."""

import random
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from bench.catalogues import (
    built,
    listed,
)
from bench.worlds import World, worlds
from pointsman_contract import names
from pointsman_contract.report import ToolReason, printable
from pointsman_router.listing import Form


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


@given(worlds(), st.sampled_from([32, 64, 128]))
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


@given(worlds())
def test_what_is_listed_is_what_can_be_called(world: World) -> None:
    made = built(*world)

    for form in (Form.DOTTED, Form.SAFE):
        assert all(len(name) <= 64 for name in listed(made, form))
        assert len(set(listed(made, form))) == len(listed(made, form))
        for line in made.lines[form]:
            route = made.routes[line.names[form]]
            assert line is made.exposures[route.server].lines[route.tool]
    for exposure in made.exposures.values():
        assert exposure.bare.keys() == exposure.lines.keys()
        assert all(route.server == exposure.server.id for route in exposure.bare.values())


@given(worlds(), st.randoms(use_true_random=False))
def test_the_order_in_which_servers_are_read_does_not_matter(
    world: World, chance: random.Random
) -> None:
    shuffled = list(world)
    chance.shuffle(shuffled)

    assert built(*shuffled) == built(*world)


@given(worlds(), st.data())
def test_names_do_not_depend_on_which_other_servers_exist(
    world: World, data: st.DataObject
) -> None:
    few = [one for one in world if data.draw(st.booleans())]
    whole, part = built(*world), built(*few)

    for id_, exposure in part.exposures.items():
        assert exposure == whole.exposures[id_]
    assert part.routes.items() <= whole.routes.items()
    assert {
        form: [line for line in lines if line.names[Form.BARE] and line in part.lines[form]]
        for form, lines in whole.lines.items()
    } == {form: list(lines) for form, lines in part.lines.items()}


@given(worlds(), worlds(), st.data())
def test_a_snapshot_made_of_an_older_one_is_the_same_as_one_made_from_nothing(
    before: World, after: World, data: st.DataObject
) -> None:
    kept = {one.server.id: one for one in before if data.draw(st.booleans())}
    mixed = [kept.get(one.server.id, one) for one in after]

    assert replace(built(*mixed, previous=built(*before)), departed={}) == built(*mixed)


@given(worlds())
def test_equal_content_has_an_equal_revision_on_every_replica(world: World) -> None:
    other = [
        replace(one, finding=replace(one.finding) if one.finding else None)
        for one in reversed(world)
    ]

    assert built(*other, previous=built(*world[:1])).revision == built(*world).revision


@given(worlds())
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
