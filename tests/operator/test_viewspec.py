"""What a view's body asks for, and how it is told what is wrong."""

from typing import Any

import pytest

from bench.admission import view
from pointsman_contract.view import Discovery, NameForm
from pointsman_operator import viewspec
from pointsman_operator.labelselector import LabelSelector, Operator, Requirement
from pointsman_operator.specerror import SpecError

SELECTOR = {
    "matchLabels": {"team": "support", "app.kubernetes.io/part-of": "desk"},
    "matchExpressions": [
        {"key": "tier", "operator": "NotIn", "values": ["b", "a"]},
        {"key": "old", "operator": "DoesNotExist"},
    ],
}


def test_a_view_of_named_servers() -> None:
    body = view(
        servers={"names": ["notes", "github"]},
        tools=["notes.*", "github.search"],
        names="Bare",
        discovery="Search",
    )

    parsed = viewspec.parse(body)

    assert parsed.id == "default/subject"
    assert parsed.servers == ("github", "notes")
    assert parsed.tools == ("github.search", "notes.*")
    assert (parsed.names, parsed.discovery) == (NameForm.BARE, Discovery.SEARCH)


def test_a_view_of_selected_servers() -> None:
    parsed = viewspec.parse(view(servers={"selector": SELECTOR}))

    assert parsed.servers == LabelSelector(
        (
            Requirement("app.kubernetes.io/part-of", Operator.IN, ("desk",)),
            Requirement("team", Operator.IN, ("support",)),
            Requirement("tier", Operator.NOT_IN, ("a", "b")),
            Requirement("old", Operator.DOES_NOT_EXIST),
        )
    )


def test_what_is_not_said_is_the_least() -> None:
    parsed = viewspec.parse(view())

    assert parsed.tools == ()
    assert parsed.names is NameForm.PREFIXED
    assert parsed.discovery is Discovery.LIST


def test_views_that_ask_for_the_same_are_equal() -> None:
    one = view(servers={"names": ["a", "b"]}, tools=["a.x", "b.*"])
    other = view(servers={"names": ["b", "a"]}, tools=["b.*", "a.x"])

    assert viewspec.parse(one) == viewspec.parse(other)


def test_an_empty_selector_takes_every_server() -> None:
    parsed = viewspec.parse(view(servers={"selector": {}}))

    assert parsed.selects({})
    assert parsed.selects({"team": "any"})
    assert not parsed.selects(None)


def test_a_view_of_names_selects_nothing_by_labels() -> None:
    assert not viewspec.parse(view()).selects({})


EXPRESSION = "spec.servers.selector.matchExpressions[0]"


def selecting(**expression: Any) -> dict[str, Any]:
    return {"servers": {"selector": {"matchExpressions": [expression]}}}


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        pytest.param({"servers": None}, "spec.servers", id="no servers"),
        pytest.param({"servers": {}}, "spec.servers", id="neither names nor selector"),
        pytest.param({"servers": {"names": [], "selector": {}}}, "spec.servers", id="both"),
        pytest.param({"servers": ["a"]}, "spec.servers", id="a list of servers"),
        pytest.param({"servers": {"names": "a"}}, "spec.servers.names", id="one name"),
        pytest.param({"servers": {"names": ["a", "a"]}}, "spec.servers.names", id="a name twice"),
        pytest.param({"servers": {"names": ["a.b"]}}, "spec.servers.names[0]", id="a dot"),
        pytest.param({"servers": {"names": ["ok", 1]}}, "spec.servers.names[1]", id="a number"),
        pytest.param(
            {"servers": {"names": [f"s{n}" for n in range(501)]}}, "spec.servers.names", id="501"
        ),
        pytest.param({"servers": {"selector": []}}, "spec.servers.selector", id="a list"),
        pytest.param(
            {"servers": {"selector": {"matchLabels": {}}}},
            "spec.servers.selector.matchLabels",
            id="no label",
        ),
        pytest.param(
            {"servers": {"selector": {"matchLabels": {"team": None}}}},
            "spec.servers.selector.matchLabels[team]",
            id="a label of nothing",
        ),
        pytest.param(
            {"servers": {"selector": {"matchLabels": {"team": 1}}}},
            "spec.servers.selector.matchLabels[team]",
            id="a label of a number",
        ),
        pytest.param(
            selecting(key="a", operator="Gt", values=["1"]),
            f"{EXPRESSION}.operator",
            id="an operator of node selectors",
        ),
        pytest.param(selecting(key="a", operator="In"), f"{EXPRESSION}.values", id="In nothing"),
        pytest.param(
            selecting(key="a", operator="Exists", values=["1"]),
            f"{EXPRESSION}.values",
            id="Exists with a value",
        ),
        pytest.param(selecting(key="a b", operator="Exists"), f"{EXPRESSION}.key", id="a blank"),
        pytest.param(
            selecting(key="a", operator="In", values=["ok", "not ok"]),
            f"{EXPRESSION}.values[1]",
            id="a value with a blank",
        ),
        pytest.param({"tools": "*"}, "spec.tools", id="one pattern"),
        pytest.param({"tools": ["a*b"]}, "spec.tools[0]", id="a star within"),
        pytest.param({"tools": ["a", "**"]}, "spec.tools[1]", id="two stars"),
        pytest.param({"tools": [""]}, "spec.tools[0]", id="an empty pattern"),
        pytest.param({"tools": ["x" * 162]}, "spec.tools[0]", id="a pattern too long"),
        pytest.param({"tools": ["a\nb"]}, "spec.tools[0]", id="a line break"),
        pytest.param({"tools": ["\ud800"]}, "spec.tools[0]", id="half of a pair"),
        pytest.param({"tools": ["a", "a"]}, "spec.tools", id="a pattern twice"),
        pytest.param({"names": "bare"}, "spec.names", id="names in lower case"),
        pytest.param({"discovery": True}, "spec.discovery", id="discovery true"),
    ],
)
def test_a_wrong_field_is_named(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(SpecError) as refusal:
        viewspec.parse(view(**changes))

    assert refusal.value.field == field
    assert refusal.value.message.startswith(f"{field} ")


@pytest.mark.parametrize("spec", [None, [], "x"])
def test_a_view_needs_a_spec(spec: Any) -> None:
    with pytest.raises(SpecError, match=r"^spec must be"):
        viewspec.parse({**view(), "spec": spec})


def test_what_means_nothing_is_named_wherever_it_stands() -> None:
    body = view(
        server=["a"],
        servers={"selector": {"matchExpressions": [{"key": "a", "op": "In"}], "labels": {}}},
    )

    assert {unknown.path for unknown in viewspec.unknown_fields(body)} == {
        "spec.server",
        "spec.servers.selector.labels",
        "spec.servers.selector.matchExpressions[0].op",
    }
    assert viewspec.unknown_fields(view(servers={"selector": SELECTOR}, tools=["*"])) == ()
