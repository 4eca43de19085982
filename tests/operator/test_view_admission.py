"""Which views are taken: the CRD on the real API server and the parser decide alike."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench import admission, controlplane
from bench.admission import Verdict, view
from bench.cluster_api import MCP_VIEW, Body
from bench.controlplane import ControlPlane
from pointsman_contract.view import PATTERN_MAX_LENGTH, PATTERNS_MAX, SERVERS_MAX
from pointsman_operator import viewspec
from pointsman_operator.specerror import SpecError

# Every example is a request to the API server.
_ASKING = settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
_SCHEMA: dict[str, Any] = yaml.safe_load(controlplane.MCP_VIEW.read_text())["spec"]["versions"][0][
    "schema"
]["openAPIV3Schema"]


@pytest.fixture(scope="module")
def asked(control_plane: ControlPlane, crd: Path) -> ControlPlane:
    """An API server that knows the kinds."""
    assert crd.exists()
    return control_plane


def parsed(body: Body) -> Verdict:
    """What the parser says of a body that the API server would keep as it is."""
    if viewspec.unknown_fields(body):
        return Verdict(False, "unknown field")
    try:
        viewspec.parse(body)
    except SpecError as refusal:
        return Verdict(False, refusal.message)
    return Verdict(True)


def _named(*names: Any) -> dict[str, Any]:
    return {"servers": {"names": list(names)}}


def _labelled(**labels: Any) -> dict[str, Any]:
    return {"servers": {"selector": {"matchLabels": labels}}}


def _expressed(*expressions: Any) -> dict[str, Any]:
    return {"servers": {"selector": {"matchExpressions": list(expressions)}}}


def _expression(operator: Any, *values: Any, key: Any = "team") -> dict[str, Any]:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


LONGEST_KEY = f"{'a' * 253}/{'b' * 63}"


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param(_named(), id="no name"),
        pytest.param(_named("a", "a-b", "0"), id="names"),
        pytest.param(_named("a" * 63), id="the longest name"),
        pytest.param(_named(*(f"s{n}" for n in range(SERVERS_MAX))), id="as many as may be"),
        pytest.param({"servers": {"names": ["a"], "selector": None}}, id="selector null"),
        pytest.param({"servers": {"names": None, "selector": {}}}, id="names null"),
        pytest.param({"servers": {"selector": {}}}, id="everything"),
        pytest.param(_labelled(team="support", tier=""), id="labels"),
        pytest.param(_labelled(**{"no label": "of anything"}), id="a key that no label has"),
        pytest.param(
            _expressed(
                _expression("In", "a", ""),
                _expression("NotIn", "B.c_d-e"),
                _expression("Exists"),
                _expression("DoesNotExist", key="example.org/Name_x.y"),
            ),
            id="every operator",
        ),
        pytest.param(
            _expressed({"key": "a", "operator": "Exists", "values": []}), id="an empty list"
        ),
        pytest.param(
            _expressed({"key": "a", "operator": "Exists", "values": None}), id="values null"
        ),
        pytest.param(_expressed(_expression("Exists", key=LONGEST_KEY)), id="the longest key"),
        pytest.param({"tools": None}, id="tools null"),
        pytest.param({"tools": []}, id="no tools"),
        pytest.param({"tools": ["*"]}, id="every tool"),
        pytest.param({"tools": ["*", "github.*", "a b", "\u00fc", "\U0001f600*"]}, id="patterns"),
        pytest.param({"tools": ["x" * PATTERN_MAX_LENGTH]}, id="the longest pattern"),
        pytest.param({"tools": [f"t{n}" for n in range(PATTERNS_MAX)]}, id="as many patterns"),
        pytest.param({"names": None, "discovery": None}, id="words null"),
        pytest.param({"names": "Bare", "discovery": "Search"}, id="other words"),
    ],
)
def test_what_is_good_is_taken_by_both(asked: ControlPlane, changes: dict[str, Any]) -> None:
    body = view(**changes)

    assert parsed(body) == Verdict(True)
    assert admission.ask(asked, body) == Verdict(True)


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"servers": None}, id="servers null"),
        pytest.param({"servers": {}}, id="neither names nor selector"),
        pytest.param({"servers": {"names": [], "selector": {}}}, id="names and selector"),
        pytest.param({"servers": []}, id="servers a list"),
        pytest.param({"servers": {"names": "a"}}, id="names a text"),
        pytest.param({"servers": {"names": {}}}, id="names an object"),
        pytest.param({"servers": {"name": ["a"]}}, id="an unknown field"),
        pytest.param(_named("a", "a"), id="a name twice"),
        pytest.param(_named("a.b"), id="a dot"),
        pytest.param(_named("A"), id="a capital"),
        pytest.param(_named("a\n"), id="a line break"),
        pytest.param(_named("-a"), id="a hyphen first"),
        pytest.param(_named(""), id="an empty name"),
        pytest.param(_named("a" * 64), id="a name too long"),
        pytest.param(_named(1), id="a number"),
        pytest.param(_named(None), id="a null"),
        pytest.param(_named(*(f"s{n}" for n in range(SERVERS_MAX + 1))), id="too many"),
        pytest.param({"servers": {"selector": []}}, id="selector a list"),
        pytest.param({"servers": {"selector": None}}, id="selector null alone"),
        pytest.param({"servers": {"selector": {"matchLabels": None}}}, id="matchLabels null"),
        pytest.param({"servers": {"selector": {"matchExpressions": None}}}, id="expressions null"),
        pytest.param(
            {"servers": {"selector": {"matchLabels": {"a": "b"}, "matchExpressions": None}}},
            id="expressions null beside labels",
        ),
        pytest.param({"servers": {"selector": {"labels": {}}}}, id="an unknown field within"),
        pytest.param(_labelled(), id="no label"),
        pytest.param(_labelled(team=None), id="a label of nothing"),
        pytest.param(_labelled(team=None, tier="a"), id="a label of nothing beside another"),
        pytest.param(_labelled(team=1), id="a label of a number"),
        pytest.param(_labelled(team="x" * 64), id="a label too long"),
        pytest.param(_labelled(**{f"k{n}": "" for n in range(51)}), id="too many labels"),
        pytest.param({"servers": {"selector": {"matchLabels": []}}}, id="matchLabels a list"),
        pytest.param({"servers": {"selector": {"matchExpressions": {}}}}, id="one expression"),
        pytest.param(_expressed("team"), id="an expression of a text"),
        pytest.param(_expressed({"key": "a"}), id="no operator"),
        pytest.param(_expressed({"operator": "Exists"}), id="no key"),
        pytest.param(_expressed(_expression("Gt", "1")), id="another operator"),
        pytest.param(_expressed(_expression("In")), id="In nothing"),
        pytest.param(_expressed({"key": "a", "operator": "NotIn", "values": []}), id="NotIn []"),
        pytest.param(_expressed(_expression("Exists", "a")), id="Exists with a value"),
        pytest.param(_expressed(_expression("In", "a b")), id="no value of a label"),
        pytest.param(_expressed(_expression("In", "-a")), id="a value with a hyphen first"),
        pytest.param(_expressed(_expression("In", "x" * 64)), id="a value too long"),
        pytest.param(_expressed(_expression("In", 1)), id="a value of a number"),
        pytest.param(_expressed(_expression("In", *(f"v{n}" for n in range(51)))), id="51 values"),
        pytest.param(_expressed(*[_expression("Exists")] * 51), id="51 expressions"),
        pytest.param(_expressed(_expression("Exists", key="")), id="an empty key"),
        pytest.param(_expressed(_expression("Exists", key="a b")), id="a key with a blank"),
        pytest.param(_expressed(_expression("Exists", key="A/b")), id="a domain with a capital"),
        pytest.param(_expressed(_expression("Exists", key="a/b/c")), id="two slashes"),
        pytest.param(_expressed(_expression("Exists", key="/b")), id="an empty domain"),
        pytest.param(_expressed(_expression("Exists", key="b" * 64)), id="a key too long"),
        pytest.param(_expressed({**_expression("Exists"), "op": 1}), id="unknown in an expression"),
        pytest.param({"tools": "*"}, id="tools a text"),
        pytest.param({"tools": ["a*b"]}, id="a star within"),
        pytest.param({"tools": ["*a"]}, id="a star first"),
        pytest.param({"tools": ["**"]}, id="two stars"),
        pytest.param({"tools": [""]}, id="an empty pattern"),
        pytest.param({"tools": ["a\n"]}, id="a pattern with a line break"),
        pytest.param({"tools": ["a\x85"]}, id="a pattern with a control character"),
        pytest.param({"tools": ["x" * (PATTERN_MAX_LENGTH + 1)]}, id="a pattern too long"),
        pytest.param({"tools": [f"t{n}" for n in range(PATTERNS_MAX + 1)]}, id="too many patterns"),
        pytest.param({"tools": ["a", "a"]}, id="a pattern twice"),
        pytest.param({"tools": [None]}, id="a pattern null"),
        pytest.param({"names": "bare"}, id="names in lower case"),
        pytest.param({"names": ["Bare"]}, id="names a list"),
        pytest.param({"discovery": "search"}, id="discovery in lower case"),
        pytest.param({"url": "http://x/"}, id="a field of servers"),
    ],
)
def test_what_is_wrong_is_refused_by_both(asked: ControlPlane, changes: dict[str, Any]) -> None:
    body = view(**changes)

    assert not parsed(body).admitted
    assert not admission.ask(asked, body).admitted


@pytest.mark.parametrize("left_blank", ["matchLabels", "matchExpressions"])
def test_both_say_what_a_selector_left_blank_would_take(
    asked: ControlPlane, left_blank: str
) -> None:
    body = view(servers={"selector": {left_blank: None}})
    field, problem = f"spec.servers.selector.{left_blank}", "must not be left blank: "

    assert f"{field} {problem}" in parsed(body).message
    told = admission.ask(asked, body).message
    assert field in told
    assert problem in told


@pytest.mark.parametrize(
    ("name", "is_good"),
    [("a", True), ("a" * 63, True), ("a" * 64, False), ("a.b", False), ("0-a", True)],
)
def test_a_views_name_is_part_of_an_address(asked: ControlPlane, name: str, is_good: bool) -> None:
    body = view(name)

    assert parsed(body).admitted == is_good
    assert admission.ask(asked, body).admitted == is_good


@pytest.mark.parametrize("spec", [None, [], {}])
def test_a_view_without_a_spec_is_refused_by_both(asked: ControlPlane, spec: Any) -> None:
    body = {**view(), "spec": spec}

    assert not parsed(body).admitted
    assert not admission.ask(asked, body).admitted


_TEXTS = st.text("ab.-*/_A \n", max_size=4)
_VALUES = st.lists(_TEXTS | st.sampled_from(["ok", 1, None]), max_size=2)
_EXPRESSIONS = st.fixed_dictionaries(
    {"key": _TEXTS, "operator": st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist", "in"])},
    optional={"values": _VALUES | st.none()},
)
_SELECTORS = st.fixed_dictionaries(
    {},
    optional={
        "matchLabels": st.dictionaries(_TEXTS, st.sampled_from(["a", "", None, 1]), max_size=2)
        | st.sampled_from([None, []]),
        "matchExpressions": st.lists(_EXPRESSIONS, max_size=2) | st.sampled_from([None, {}]),
    },
)
_SERVERS = st.fixed_dictionaries(
    {},
    optional={
        "names": st.lists(st.text("a0-.B", max_size=3), max_size=3) | st.sampled_from([None, "a"]),
        "selector": _SELECTORS | st.sampled_from([None, []]),
    },
)
_SPECS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"servers": _SERVERS},
    optional={
        "tools": st.lists(_TEXTS, max_size=4) | st.sampled_from([None, {}, "*", [1]]),
        "names": st.sampled_from(["Prefixed", "Bare", "bare", None, True]),
        "discovery": st.sampled_from(["List", "Search", "", None, ["List"]]),
    },
)


@_ASKING
@given(_SPECS)
def test_no_spec_parts_the_two(asked: ControlPlane, changes: dict[str, Any]) -> None:
    body = view(**changes)

    assert admission.ask(asked, body).admitted == parsed(body).admitted


def test_what_the_api_server_fills_in_is_what_the_parser_assumes(asked: ControlPlane) -> None:
    kept = asked.request("POST", f"{MCP_VIEW.path('default')}?dryRun=All", view())

    assert kept["spec"] == {
        "servers": {"names": ["github"]},
        "tools": [],
        "names": "Prefixed",
        "discovery": "List",
    }
    filled, bare = viewspec.parse(kept), viewspec.parse(view())
    assert (filled.servers, filled.tools) == (bare.servers, bare.tools)
    assert (filled.names, filled.discovery) == (bare.names, bare.discovery)


def _fields(schema: dict[str, Any]) -> Any:
    """The names of a schema's fields, nested as they are; None where it may hold what it likes."""
    inner = schema.get("properties") or schema.get("items", {}).get("properties")
    return {name: _fields(each) for name, each in inner.items()} if inner else None


def _known(tree: Any) -> Any:
    tree = getattr(tree, "fields", tree)
    return {name: _known(each) for name, each in tree.items()} if isinstance(tree, dict) else None


def test_the_parser_knows_the_fields_of_the_schema_and_no_others() -> None:
    assert _known(viewspec.FIELDS["spec"]) == _fields(_SCHEMA["properties"]["spec"])
    assert viewspec.FIELDS.keys() == _SCHEMA["properties"].keys()


def _properties(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    for name, inner in schema.get("properties", {}).items():
        yield f"{path}.{name}", inner
        yield from _properties(inner, f"{path}.{name}")
        yield from _properties(inner.get("items", {}), f"{path}.{name}[]")


def test_every_field_says_what_it_means() -> None:
    unsaid = [
        path
        for path, schema in _properties(_SCHEMA)
        if path != ".metadata" and len(schema.get("description", "")) < len("McpView")
    ]

    assert unsaid == []


def test_every_field_of_the_spec_is_bounded() -> None:
    boundless = [
        path
        for path, schema in _properties(_SCHEMA["properties"]["spec"])
        for inner in (schema, schema.get("items", {}), schema.get("additionalProperties", {}))
        if (inner.get("type") == "string" and not {"maxLength", "enum"} & inner.keys())
        or (inner.get("type") == "array" and "maxItems" not in inner)
        or ("additionalProperties" in inner and "maxProperties" not in inner)
    ]

    assert boundless == []


def test_every_rule_says_what_to_change() -> None:
    rules = [
        rule
        for _, schema in _properties(_SCHEMA)
        for inner in (schema, schema.get("items", {}))
        for rule in inner.get("x-kubernetes-validations", [])
    ]

    assert len(rules) > 4
    assert [rule for rule in rules if not rule["message"].startswith("must ")] == []
