"""Which prompt's name leads where."""

import json
import random
from collections import defaultdict

from hypothesis import given
from hypothesis import strategies as st

from bench.listed_beside import TIMEOUT_S, described, prompts_of, told
from pointsman_contract import names
from pointsman_router import listing, prompts
from pointsman_router.entrycheck import Kind
from pointsman_router.eras import Revision
from pointsman_router.listing import Form
from pointsman_router.prompts import Holding, Route, Table


def listed(table: Table, form: Form) -> list[str]:
    return [line.names[form] for line in table.lines[form]]


def test_a_prompt_is_named_as_a_tool_would_be() -> None:
    table = prompts.table([prompts_of("tools/github", "ask", "re.view")])

    assert listed(table, Form.DOTTED) == ["github.ask", "github.re.view"]
    assert listed(table, Form.SAFE) == ["github__ask", names.of("github", "re.view").safe]
    assert table.routes["github.ask"] == Route("tools/github", "ask", TIMEOUT_S)
    assert table.routes["github__ask"] == table.routes["github.ask"]
    assert table.collisions == {}


def test_a_line_says_where_the_prompt_comes_from() -> None:
    raw = described(Kind.PROMPT, "ask", description="d", arguments=[{"name": "a"}])
    table = prompts.table([prompts_of("tools/github", raw)])

    (line,) = table.lines[Form.SAFE]

    assert json.loads(listing.joined([line], Form.SAFE, Revision.V2025_03_26)) == [
        {
            "name": "github__ask",
            "description": "d",
            "arguments": [{"name": "a"}],
            "_meta": {"pointsman.dev/server": "tools/github", "pointsman.dev/prompt": "ask"},
        }
    ]


def test_the_endpoint_of_one_server_has_its_own_names() -> None:
    holding = prompts_of("tools/github", "b", "a")

    assert [line.names[Form.BARE] for line in holding.lines] == ["a", "b"]
    assert holding.bare["a"] == Route("tools/github", "a", TIMEOUT_S)


def test_a_name_claimed_twice_leads_nowhere_and_both_are_told() -> None:
    # Long names end alike where only what is cut off differs by a dot.
    one = prompts_of("a", "x.y", prefix="p")
    other = prompts_of("b", "y", prefix="p.x")

    table = prompts.table([one, other])

    assert "p.x.y" not in table.routes
    assert table.routes[names.of("p", "x.y").safe] == Route("a", "x.y", TIMEOUT_S)
    assert listed(table, Form.DOTTED) == []
    assert told(table.collisions) == {
        "a": [("x.y", "NameCollision")],
        "b": [("y", "NameCollision")],
    }


_NAMES = st.text("ab._-ü", min_size=1, max_size=6) | st.text("ab", min_size=60, max_size=64)


@st.composite
def _holdings(draw: st.DrawFn) -> list[Holding]:
    # Prefixes that no operator would hand out make names collide.
    servers = draw(st.lists(st.sampled_from(["a", "a.b", "a_", "b"]), unique=True, max_size=3))
    return [
        prompts_of(f"n/{number}", *draw(st.lists(_NAMES, max_size=4)), prefix=prefix, max_length=32)
        for number, prefix in enumerate(servers)
    ]


@given(_holdings(), st.randoms())
def test_a_prompts_name_leads_to_its_only_claimant_or_nowhere(
    holdings: list[Holding], chance: random.Random
) -> None:
    claims: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
    for holding in holdings:
        for prompt in holding.prompts:
            for name in (prompt.names.dotted, prompt.names.listed, prompt.names.safe):
                claims[name].add((holding.server, prompt.route.prompt))
    table = prompts.table(holdings)

    assert {name: (route.server, route.prompt) for name, route in table.routes.items()} == {
        name: next(iter(who)) for name, who in claims.items() if len(who) == 1
    }
    for form in (Form.DOTTED, Form.SAFE):
        assert set(listed(table, form)) <= table.routes.keys()
        assert listed(table, form) == sorted(listed(table, form), key=str.encode)
    shuffled = holdings[:]
    chance.shuffle(shuffled)
    assert prompts.table(shuffled).routes == table.routes
    assert prompts.table(shuffled).lines == table.lines
