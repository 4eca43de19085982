"""Whose a URI is."""

import json
import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.listed_beside import TIMEOUT_S, described, resources_of, told
from pointsman_router import resources, uritemplate
from pointsman_router.entrycheck import Kind
from pointsman_router.eras import Revision
from pointsman_router.resources import Holding, Route, Suspended, Table


def uris(table: Table) -> list[str]:
    return [line.uri for line in table.resources]


def templates(table: Table) -> list[str]:
    return [line.uri for line in table.templates]


def to(server: str, uri: str) -> Route:
    return Route(server, uri, TIMEOUT_S)


def test_a_resource_keeps_its_uri_and_says_whose_it_is() -> None:
    raw = described(Kind.RESOURCE, "test://a", mimeType="text/plain", size=5)
    table = resources.table([resources_of("tools/github", raw)])

    (line,) = table.resources

    assert json.loads(line.render(Revision.V2024_11_05)) == {
        "name": "n",
        "uri": "test://a",
        "mimeType": "text/plain",
        "size": 5,
        "_meta": {"pointsman.dev/server": "tools/github"},
    }
    assert resources.find(table, "test://a") == to("tools/github", "test://a")


def test_lists_are_in_order_of_the_uris() -> None:
    table = resources.table(
        [
            resources_of("a", "test://c", "test://A", templates=["t:{x}"]),
            resources_of("b", "test://b", templates=["s:{x}"]),
        ]
    )

    assert uris(table) == ["test://A", "test://b", "test://c"]
    assert templates(table) == ["s:{x}", "t:{x}"]


def test_a_uri_of_two_servers_leads_nowhere_and_both_are_told() -> None:
    table = resources.table(
        [resources_of("a", "test://x", "test://a"), resources_of("b", "test://x")]
    )

    assert resources.find(table, "test://x") is None
    assert uris(table) == ["test://a"]
    assert told(table.collisions) == {
        "a": [("test://x", "NameCollision")],
        "b": [("test://x", "NameCollision")],
    }


@pytest.mark.parametrize(
    "claims",
    [
        pytest.param([resources_of("a", "t:1"), resources_of("b", "t:1")], id="listed by two"),
        pytest.param([resources_of("a", described(Kind.RESOURCE, "t:1", size="x"))], id="left out"),
        pytest.param([resources_of("a", "t:1", "t:1")], id="listed twice by one"),
        pytest.param(
            [resources_of("a", "t:1"), resources_of("b", named=["t:1"])],
            id="listed by one, named by a tool of another",
        ),
    ],
)
def test_what_leads_nowhere_falls_to_nobodys_template(claims: list[Holding]) -> None:
    table = resources.table([*claims, resources_of("c", templates=["t:{x}"])])

    assert resources.find(table, "t:1") is None
    assert resources.find(table, "t:2") == to("c", "t:2")


def test_a_listed_uri_is_its_owners_whatever_templates_say() -> None:
    table = resources.table(
        [resources_of("a", "t:1"), resources_of("b", templates=["t:{x}", "t:{+x}"])]
    )

    assert resources.find(table, "t:1") == to("a", "t:1")
    assert resources.find(table, "t:2/3") == to("b", "t:2/3")
    assert resources.find(table, "u:2") is None
    assert resources.find(table, "2") is None
    assert resources.find(table, "t:" + "a" * 2048) is None


def test_a_uri_in_the_templates_of_two_servers_leads_nowhere() -> None:
    table = resources.table(
        [resources_of("a", templates=["t:{x}"]), resources_of("b", templates=["t:{x}/{y}", "t:0"])]
    )

    assert resources.find(table, "t:0") is None
    assert resources.find(table, "t:1") == to("a", "t:1")
    assert resources.find(table, "t:1/2") == to("b", "t:1/2")
    assert table.collisions == {}


def test_a_template_of_two_servers_is_listed_for_neither_and_both_are_told() -> None:
    table = resources.table(
        [
            resources_of("a", templates=["t:{x}", "a:{x}"]),
            resources_of("b", templates=["t:{x}"]),
            resources_of("c", templates=["t:{+x}"]),
        ]
    )

    assert templates(table) == ["a:{x}", "t:{+x}"]
    assert resources.find(table, "t:1") is None
    assert resources.find_template(table, "t:{x}") is None
    assert told(table.collisions) == {
        "a": [("t:{x}", "NameCollision")],
        "b": [("t:{x}", "NameCollision")],
    }


def test_what_a_template_that_is_left_out_stands_for_is_nobodys() -> None:
    broken = described(Kind.TEMPLATE, "t:{x}", title=5)
    table = resources.table(
        [resources_of("a", templates=[broken]), resources_of("b", templates=["t:1{x}"])]
    )

    assert resources.find(table, "t:1") is None
    assert resources.find(table, "t:2") is None
    assert resources.find_template(table, "t:{x}") is None


def test_completions_of_a_template_come_from_its_owner() -> None:
    table = resources.table([resources_of("a", "t:1", templates=["t:{x}"])])

    assert resources.find_template(table, "t:{x}") == to("a", "t:{x}")
    assert resources.find_template(table, "t:1") == to("a", "t:1")
    assert resources.find_template(table, "t:{y}{z}/") is None


@pytest.mark.parametrize(
    ("listed", "sent"),
    [
        pytest.param("https://EXAMPLE.com", "https://example.com/", id="a host in capitals"),
        pytest.param("file:///a b", "file:///a%20b", id="a blank"),
        pytest.param("test://A/b/../c", "test://A/c", id="dots"),
    ],
)
def test_a_client_that_respells_what_is_listed_still_reaches_it(listed: str, sent: str) -> None:
    table = resources.table([resources_of("a", listed)])

    assert resources.find(table, sent) == to("a", listed)
    assert uris(table) == [listed]


def test_what_two_servers_would_be_asked_for_in_one_spelling_is_neithers() -> None:
    table = resources.table(
        [resources_of("a", "https://EXAMPLE.com"), resources_of("b", "https://example.com/")]
    )

    assert resources.find(table, "https://example.com/") is None
    assert resources.find(table, "https://EXAMPLE.com") == to("a", "https://EXAMPLE.com")
    assert uris(table) == ["https://EXAMPLE.com"]
    assert told(table.collisions) == {
        "a": [("https://EXAMPLE.com", "NameCollision")],
        "b": [("https://example.com/", "NameCollision")],
    }


def test_two_of_one_server_that_differ_in_spelling_keep_their_own() -> None:
    table = resources.table(
        [
            resources_of("a", "https://EXAMPLE.com", "https://example.com/"),
            resources_of("b", "file:///a/./x", "file:///a/y/../x"),
        ]
    )

    assert resources.find(table, "https://example.com/") == to("a", "https://example.com/")
    assert resources.find(table, "file:///a/x") is None


def test_what_a_suspended_server_held_falls_to_nobody() -> None:
    held = replace(resources_of("a", "t:1", templates=["s:{x}"]), suspended=True)
    table = resources.table([held, resources_of("b", "t:2", templates=["t:{x}", "s:2{x}"])])

    assert resources.find(table, "t:1") == Suspended("a")
    assert resources.find(table, "s:1") == Suspended("a")
    assert resources.find(table, "s:2") is None
    assert resources.find(table, "t:2") == to("b", "t:2")
    assert uris(table) == ["t:2"]
    assert templates(table) == ["s:2{x}", "t:{x}"]


def test_what_a_tool_names_as_its_interface_is_read_where_the_tool_is() -> None:
    table = resources.table([resources_of("a", named=["ui://x"]), resources_of("b", "ui://y")])

    assert resources.find(table, "ui://x") == to("a", "ui://x")
    assert uris(table) == ["ui://y"]


@pytest.mark.parametrize(
    ("meta", "uri"),
    [
        pytest.param({"ui": {"resourceUri": "ui://x"}}, "ui://x", id="as it is"),
        pytest.param({"ui/resourceUri": "ui://x"}, "ui://x", id="as it was"),
        pytest.param({"ui": {}}, None, id="none"),
        pytest.param({"ui": 5}, None, id="a number"),
        pytest.param({"ui": {"resourceUri": 5}}, None, id="a URI that is a number"),
        pytest.param({"ui": {"resourceUri": "ui://\n"}}, None, id="a line break"),
        pytest.param({"ui": {"resourceUri": "ui://" + "x" * 2048}}, None, id="too long"),
        pytest.param({}, None, id="nothing"),
        pytest.param([], None, id="no object"),
    ],
)
def test_a_tools_meta_may_name_a_resource(meta: object, uri: str | None) -> None:
    assert resources.named_by(json.dumps(meta).encode()) == uri


_URIS = st.builds("t:{}".format, st.text("ab/.", max_size=3))
_TEMPLATES = st.builds(
    "t:{}".format,
    st.lists(st.sampled_from(["a", "b", "/", "{x}", "{+x}", "{/x}"]), max_size=3).map("".join),
)


@st.composite
def _holdings(draw: st.DrawFn) -> list[Holding]:
    return [
        replace(
            resources_of(
                f"n/{number}",
                *draw(st.lists(_URIS, max_size=4)),
                templates=draw(st.lists(_TEMPLATES, max_size=2)),
                named=draw(st.lists(_URIS, max_size=1)),
            ),
            suspended=draw(st.booleans()),
        )
        for number in range(draw(st.integers(0, 3)))
    ]


def _expected(holdings: Sequence[Holding], uri: str) -> str | None:
    """Which server the table above the room gives `uri` to, computed without any index."""
    claims = [holding for holding in holdings if uri in holding.spellings]
    if claims:
        (holding, *others) = claims
        return None if others or holding.spellings[uri] is None else holding.server
    matching = {
        (holding.server, pattern.is_shown)
        for holding in holdings
        for pattern in holding.patterns
        if uritemplate.stands_for(pattern.template, uritemplate.spelled(uri))
    }
    if len({server for server, _ in matching}) != 1:
        return None
    return next((server for server, is_shown in matching if is_shown), None)


@given(_holdings(), _URIS, st.randoms())
def test_a_uri_leads_to_its_only_owner_or_nowhere(
    holdings: list[Holding], uri: str, chance: random.Random
) -> None:
    table = resources.table(holdings)
    suspended = {holding.server for holding in holdings if holding.suspended}

    for each in (uri, *(spelling for holding in holdings for spelling in holding.spellings)):
        owner = resources.find(table, each)
        assert (owner.server if owner else None) == _expected(holdings, each)
        assert owner is None or isinstance(owner, Suspended) == (owner.server in suspended)
    shuffled = holdings[:]
    chance.shuffle(shuffled)
    again = resources.table(shuffled)
    assert again.owners == table.owners
    assert (again.resources, again.templates) == (table.resources, table.templates)


@given(_holdings())
def test_what_is_listed_can_be_read_and_what_collides_is_told_to_each(
    holdings: list[Holding],
) -> None:
    table = resources.table(holdings)
    shared: defaultdict[str, set[str]] = defaultdict(set)
    for holding in holdings:
        for spelling in holding.spellings:
            shared[spelling].add(holding.server)

    assert len(set(uris(table))) == len(uris(table))
    for uri in uris(table):
        assert isinstance(owner := resources.find(table, uri), Route)
        assert owner.uri == uri
    for spelling, servers in shared.items():
        for holding in holdings:
            if len(servers) > 1 and holding.server in servers:
                own = holding.spellings[spelling] or spelling
                assert own in {each.name for each in table.collisions[holding.server]}
