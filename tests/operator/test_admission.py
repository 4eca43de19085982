"""Which resources are taken: the CRD on the real API server and the parser decide alike."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench import admission
from bench.admission import Verdict
from bench.cluster_api import Body
from bench.controlplane import ControlPlane
from bench.spellings import REFUSED, TAKEN, URLS
from pointsman_contract.meta import Exposed, Protocol
from pointsman_operator import spec
from pointsman_operator.spec import SpecError, SpecReason

_CRD = Path(__file__).resolve().parents[2] / "crds" / "mcpserver.yaml"
# Every example is a request to the API server.
_ASKING = settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture(scope="module")
def asked(control_plane: ControlPlane, crd: Path) -> ControlPlane:
    """An API server that knows the kind."""
    assert crd == _CRD
    return control_plane


def parsed(body: Body) -> Verdict:
    """What the parser says of a body that the API server would keep as it is."""
    if spec.unknown_fields(body):
        return Verdict(False, "unknown field")
    try:
        spec.parse(body)
    except SpecError as refusal:
        return Verdict(False, refusal.message)
    return Verdict(True)


def _body_with(field: str, value: Any) -> Body:
    return admission.body(**{field: value})


@pytest.mark.parametrize("url", TAKEN)
def test_a_sound_url_is_taken_by_both(asked: ControlPlane, url: str) -> None:
    body = admission.body(url=url)

    assert admission.ask(asked, body) == Verdict(True)
    assert spec.parse(body).url == url


@pytest.mark.parametrize("url", REFUSED)
def test_any_other_url_is_refused_by_both_with_its_field(asked: ControlPlane, url: str) -> None:
    body = admission.body(url=url)

    verdict = admission.ask(asked, body)
    with pytest.raises(SpecError) as refusal:
        spec.parse(body)

    assert not verdict.admitted
    assert "spec.url: " in verdict.message
    assert refusal.value.field == "spec.url"
    assert refusal.value.reason is SpecReason.INVALID_URL


@_ASKING
@given(URLS)
def test_no_url_parts_the_two(asked: ControlPlane, url: str) -> None:
    body = admission.body(url=url)

    assert admission.ask(asked, body).admitted == parsed(body).admitted


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"allowedTools": None}, id="C01 allowedTools null"),
        pytest.param({"allowedTools": []}, id="C01 allowedTools empty"),
        pytest.param({"allowedTools": ["*"]}, id="every tool"),
        pytest.param({"allowedTools": ["a b"]}, id="C05 a blank"),
        pytest.param({"allowedTools": ["\u00fc"]}, id="C05 a letter beyond ASCII"),
        pytest.param({"allowedTools": ["\U0001f600" * 128]}, id="C05 128 emoji"),
        pytest.param({"allowedTools": ["\u2028", "\u200b", "\ufffe"]}, id="what only looks odd"),
        pytest.param({"allowedTools": ["**", "a*"]}, id="a star within a name"),
        pytest.param({"allowedTools": ["a", "A"]}, id="names that differ in case"),
        pytest.param({"allowedTools": [f"t{n}" for n in range(500)]}, id="500 tools"),
        pytest.param({"prefix": None}, id="prefix null"),
        pytest.param({"prefix": "a"}, id="a prefix of one letter"),
        pytest.param({"prefix": "a" * 32}, id="the longest prefix"),
        pytest.param({"prefix": "a1_2b_c3"}, id="a prefix of words"),
        pytest.param({"protocol": None}, id="protocol null"),
        pytest.param({"protocol": "Auto"}, id="either era"),
        pytest.param({"protocol": "Legacy"}, id="the legacy era"),
        pytest.param({"protocol": "Modern"}, id="the modern era"),
        pytest.param({"expose": None}, id="expose null"),
        pytest.param({"expose": ["Prompts"]}, id="prompts alone"),
        pytest.param({"expose": ["Tools", "Resources", "Prompts"]}, id="everything"),
        pytest.param({"timeoutSeconds": None}, id="timeoutSeconds null"),
        pytest.param({"timeoutSeconds": 1}, id="the shortest timeout"),
        pytest.param({"timeoutSeconds": 300}, id="the longest timeout"),
        pytest.param({"timeoutSeconds": 30.0}, id="a whole number with a point"),
        pytest.param({"suspend": None}, id="suspend null"),
        pytest.param({"suspend": True}, id="C27 suspended"),
    ],
)
def test_what_is_good_is_taken_by_both(asked: ControlPlane, changes: dict[str, Any]) -> None:
    body = admission.body(**changes)

    assert admission.ask(asked, body) == Verdict(True)
    assert parsed(body) == Verdict(True)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        pytest.param("url", None, id="U01 url null"),
        pytest.param("allowedTools", ["*", "x"], id="C03 the star beside another"),
        pytest.param("allowedTools", ["a", "a"], id="C04 a name twice"),
        pytest.param("allowedTools", [""], id="C05 an empty name"),
        pytest.param("allowedTools", ["a" * 129], id="C05 a name of 129"),
        pytest.param("allowedTools", ["\U0001f600" * 129], id="C05 129 emoji"),
        pytest.param("allowedTools", ["a\n"], id="C05 a newline at the end"),
        pytest.param("allowedTools", ["a\x00b"], id="C05 NUL"),
        pytest.param("allowedTools", ["\x7f"], id="C05 DEL"),
        pytest.param("allowedTools", ["\x85"], id="C05 a control character of the upper half"),
        pytest.param("allowedTools", [f"t{n}" for n in range(501)], id="501 tools"),
        pytest.param("protocol", "", id="an empty protocol"),
        pytest.param("protocol", "modern", id="an era in small letters"),
        pytest.param("protocol", "2026-07-28", id="a revision for an era"),
        pytest.param("expose", [], id="nothing to expose"),
        pytest.param("expose", ["tools"], id="expose in small letters"),
        pytest.param("expose", ["Tools", "Tools"], id="a word twice"),
        pytest.param("expose", ["Tools", "Roots"], id="what cannot be exposed"),
        pytest.param("timeoutSeconds", 0, id="C15 0"),
        pytest.param("timeoutSeconds", -1, id="C15 -1"),
        pytest.param("timeoutSeconds", 301, id="C15 301"),
        pytest.param("timeoutSeconds", 1e9, id="C15 1e9"),
        pytest.param("timeoutSeconds", "30", id="C15 a string"),
        pytest.param("timeoutSeconds", "1h", id="C15 a duration"),
        pytest.param("timeoutSeconds", 1.5, id="C15 1.5"),
        pytest.param("prefix", "", id="C18 empty"),
        pytest.param("prefix", "a" * 33, id="C18 33 characters"),
        pytest.param("prefix", "a__b", id="C18 two underscores"),
        pytest.param("prefix", "_a", id="C18 an underscore in front"),
        pytest.param("prefix", "a_", id="C18 an underscore at the end"),
        pytest.param("prefix", "1a", id="C18 a digit in front"),
        pytest.param("prefix", "A", id="C18 a capital"),
        pytest.param("prefix", "a-b", id="C18 a hyphen"),
        pytest.param("prefix", "a.b", id="C18 a dot"),
        pytest.param("prefix", "a/b", id="C18 a slash"),
        pytest.param("prefix", "a\n", id="C18 a newline at the end"),
    ],
)
def test_what_is_bad_is_refused_by_both_with_its_field(
    asked: ControlPlane, field: str, value: object
) -> None:
    body = _body_with(field, value)

    verdict = admission.ask(asked, body)
    with pytest.raises(SpecError) as refusal:
        spec.parse(body)

    assert not verdict.admitted
    assert f"spec.{field}" in verdict.message
    assert refusal.value.field.startswith(f"spec.{field}")
    assert refusal.value.message.startswith(f"{refusal.value.field} must ")


@pytest.mark.parametrize(
    ("name", "admitted"),
    [
        pytest.param("github", True, id="a plain name"),
        pytest.param("1abc", True, id="C30 a digit in front"),
        pytest.param("a" * 63, True, id="C30 63 characters"),
        pytest.param("a", True, id="one letter"),
        pytest.param("a.b", False, id="C22 a dot"),
        pytest.param("a" * 64, False, id="C22 64 characters"),
    ],
)
def test_a_resource_is_named_by_a_dns_label(asked: ControlPlane, name: str, admitted: bool) -> None:
    body = admission.body(name)

    verdict = admission.ask(asked, body)

    assert verdict.admitted == parsed(body).admitted == admitted
    assert admitted or "metadata.name must be a DNS label" in verdict.message


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        pytest.param({"secretRef": {"name": "s"}}, "spec.secretRef", id="C09 secretRef"),
        pytest.param({"bearerToken": "canary"}, "spec.bearerToken", id="C09 bearerToken"),
        pytest.param({"headers": {"Authorization": "canary"}}, "spec.headers", id="C09 headers"),
        pytest.param({"issuer": "https://idp.example"}, "spec.issuer", id="C09 issuer"),
        pytest.param({"allowedTool": ["*"]}, "spec.allowedTool", id="C20 a typo"),
        pytest.param({"AllowedTools": ["*"]}, "spec.AllowedTools", id="C20 another case"),
    ],
)
def test_an_unknown_field_is_refused_by_name_or_has_no_effect(
    asked: ControlPlane, changes: dict[str, Any], path: str
) -> None:
    body = admission.body(**changes)

    strictly = admission.ask(asked, body)
    unknown = spec.unknown_fields(body)

    assert not strictly.admitted
    assert path in strictly.message
    assert [field.path for field in unknown] == [path]
    assert "allowedTools" in unknown[0].known
    assert admission.ask(asked, body, strict=False) == Verdict(True)
    assert spec.parse(body) == spec.parse(admission.body())


@pytest.mark.parametrize("spelled", ["labels", "lables", "annotation", "nmae"])
def test_metadata_has_the_fields_that_every_object_has(asked: ControlPlane, spelled: str) -> None:
    body = admission.body()
    body["metadata"][spelled] = {}

    assert admission.ask(asked, body).admitted == (spec.unknown_fields(body) == ())


def _schema() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load(_CRD.read_text())
    schema: dict[str, Any] = document["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


_VALUES: dict[str, object] = {
    "a string": "x",
    "a number": 7,
    "a fraction": 7.5,
    "a truth value": True,
    "a list": [],
    "an object": {},
}
_FITS = {
    "string": {"a string"},
    "integer": {"a number"},
    "boolean": {"a truth value"},
    "array": {"a list"},
    "object": {"an object"},
}


def _wrong_types() -> Iterator[Any]:
    """A value of every wrong type for every field of the schema of the spec."""
    whole = _schema()["properties"]["spec"]
    for words, value in _VALUES.items():
        if words not in _FITS[whole["type"]]:
            yield pytest.param("spec", value, id=f"C23 spec is {words}")
    for field, schema in whole["properties"].items():
        for words, value in _VALUES.items():
            if words not in _FITS[schema["type"]]:
                yield pytest.param(field, value, id=f"C23 {field} is {words}")
            if "items" in schema and words not in _FITS[schema["items"]["type"]]:
                yield pytest.param(field, [value], id=f"C23 an item of {field} is {words}")


@pytest.mark.parametrize(("field", "value"), list(_wrong_types()))
def test_a_wrong_type_is_refused_by_both(asked: ControlPlane, field: str, value: object) -> None:
    body = {**admission.body(), "spec": value} if field == "spec" else _body_with(field, value)

    assert not admission.ask(asked, body).admitted
    assert not parsed(body).admitted


_NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=6) | st.sampled_from(
    ["*", "a", "a" * 128, "a" * 129, "\x7f", "\x80", "\xa0", "\n", "\U0001f600"]
)
_SPECS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "allowedTools": st.lists(_NAMES, max_size=4) | st.sampled_from([None, {}, "*", [1]]),
        "prefix": st.text("ab1_A-", max_size=6) | st.sampled_from([None, 1, "a" * 32, "a" * 33]),
        "protocol": st.sampled_from(["Auto", "Legacy", "Modern", "auto", "", None, True, ["Auto"]]),
        "expose": st.lists(
            st.sampled_from(["Tools", "Resources", "Prompts", "tools", 1]), max_size=4
        )
        | st.sampled_from([None, {}, "Tools"]),
        "timeoutSeconds": st.integers(-2, 302) | st.floats(-1, 301) | st.sampled_from([None, "1"]),
        "suspend": st.sampled_from([True, False, None, 0, "true"]),
    },
)


@_ASKING
@given(_SPECS)
def test_no_spec_parts_the_two(asked: ControlPlane, changes: dict[str, Any]) -> None:
    body = admission.body(**changes)

    assert admission.ask(asked, body).admitted == parsed(body).admitted


def test_what_the_api_server_fills_in_is_what_the_parser_assumes(asked: ControlPlane) -> None:
    path = "/apis/pointsman.dev/v1alpha1/namespaces/default/mcpservers?dryRun=All"
    kept = asked.request("POST", path, admission.body())

    filled, bare = spec.parse(kept), spec.parse(admission.body())

    assert kept["spec"].keys() == {
        *("url", "allowedTools", "expose", "protocol", "suspend", "timeoutSeconds"),
    }
    assert filled.allowed_tools == bare.allowed_tools == ()
    assert filled.protocol is bare.protocol is Protocol.AUTO
    assert filled.expose == bare.expose == (Exposed.TOOLS,)
    assert filled.timeout_s == bare.timeout_s == 60
    assert filled.suspend is bare.suspend is False
    assert filled.prefix == bare.prefix == "subject"


def test_the_parser_knows_the_fields_of_the_schema_and_no_others() -> None:
    schema = _schema()["properties"]

    known = spec.FIELDS["spec"]

    assert isinstance(known, dict)
    assert known.keys() == schema["spec"]["properties"].keys()
    assert spec.FIELDS.keys() == schema.keys()


def _properties(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    for name, inner in schema.get("properties", {}).items():
        yield f"{path}.{name}", inner
        yield from _properties(inner, f"{path}.{name}")
        yield from _properties(inner.get("items", {}), f"{path}.{name}[]")


def test_every_field_says_what_it_means() -> None:
    unsaid = [
        path
        for path, schema in _properties(_schema())
        if path != ".metadata" and len(schema.get("description", "")) < len("Its name.")
    ]

    assert unsaid == []


def test_every_field_of_the_spec_is_bounded() -> None:
    boundless = [
        path
        for path, schema in _properties(_schema()["properties"]["spec"])
        for inner in (schema, schema.get("items", {}))
        if (inner.get("type") == "string" and not {"maxLength", "enum"} & inner.keys())
        or (inner.get("type") == "array" and "maxItems" not in inner)
        or (inner.get("type") == "integer" and not {"minimum", "maximum"} <= inner.keys())
    ]

    assert boundless == []


def test_nothing_unknown_is_kept() -> None:
    assert "x-kubernetes-preserve-unknown-fields" not in _CRD.read_text()
    assert "additionalProperties" not in _CRD.read_text()


def test_every_rule_says_what_to_change() -> None:
    rules = [
        rule
        for _, schema in _properties(_schema())
        for inner in (schema, schema.get("items", {}))
        for rule in inner.get("x-kubernetes-validations", [])
    ]

    assert len(rules) > 10
    assert [rule for rule in rules if not rule["message"].startswith("must ")] == []
