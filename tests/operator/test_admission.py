"""Which resources are taken: the CRD on the real API server and the parser decide alike."""

import copy
from collections.abc import Callable, Iterator
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
from pointsman_operator import fields, spec
from pointsman_operator.fields import Each, FieldPath, Tree
from pointsman_operator.specerror import SpecError, SpecReason

DIGEST = f"sha256:{'0a' * 32}"
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
    if fields.unknown_fields(body):
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
        pytest.param({"service": None}, id="service null"),
        pytest.param({"definitions": None}, id="definitions null"),
        pytest.param({"definitions": {}}, id="definitions that say nothing"),
        pytest.param({"definitions": {"policy": None, "approved": None}}, id="definitions of null"),
        pytest.param({"definitions": {"policy": "Off"}}, id="no definition matters"),
        pytest.param({"definitions": {"policy": "Warn"}}, id="a warning"),
        pytest.param({"definitions": {"policy": "Enforce", "approved": {}}}, id="none approved"),
        pytest.param({"definitions": {"approved": {"a b": DIGEST}}}, id="approved, and no policy"),
        pytest.param({"definitions": {"approved": {"a": None}}}, id="an approval taken back"),
        pytest.param(
            {
                "definitions": {
                    "approved": {"\U0001f600" * 125 + f"{n:03}": DIGEST for n in range(500)}
                }
            },
            id="500 tools approved, with the longest names",
        ),
        pytest.param({"tools": None}, id="tools null"),
        pytest.param({"tools": []}, id="no overrides"),
        pytest.param({"tools": [{"name": "a", "title": "A", "hide": None}]}, id="hide null"),
        pytest.param({"tools": [{"name": "a", "hide": True, "title": None}]}, id="title null"),
        pytest.param(
            {"tools": [{"name": "a", "description": "\t\n\r\u00e9\u2028"}]}, id="a text of lines"
        ),
        pytest.param(
            {"tools": [{"name": "\U0001f600" * 128, "title": "\U0001f600" * 200}]},
            id="the longest title",
        ),
        pytest.param(
            {
                "tools": [
                    {"name": f"t{n}", "title": "T", "description": "d" * 2000} for n in range(500)
                ]
            },
            id="500 overrides",
        ),
        pytest.param(
            {"tools": [{"name": "a", "description": "\u00e9" * 4096}]}, id="the longest description"
        ),
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
        pytest.param("definitions", {"policy": "off"}, id="a policy in small letters"),
        pytest.param("definitions", {"policy": False}, id="Off without quotes"),
        pytest.param("definitions", {"policy": ""}, id="an empty policy"),
        pytest.param("definitions", {"approved": []}, id="approvals as a list"),
        pytest.param("definitions", {"approved": {"a": True}}, id="approved with a word"),
        pytest.param("definitions", {"approved": {"a": ""}}, id="approved with nothing"),
        pytest.param("definitions", {"approved": {"a": DIGEST[:-1]}}, id="a digest cut short"),
        pytest.param("definitions", {"approved": {"a": f"{DIGEST}0"}}, id="a digest too long"),
        pytest.param("definitions", {"approved": {"a": DIGEST.upper()}}, id="a digest in capitals"),
        pytest.param("definitions", {"approved": {"a": f"{DIGEST}\n"}}, id="a digest and a line"),
        pytest.param("definitions", {"approved": {"": DIGEST}}, id="a tool without a name"),
        pytest.param("definitions", {"approved": {"a" * 129: DIGEST}}, id="a tool's name of 129"),
        pytest.param("definitions", {"approved": {"a\n": DIGEST}}, id="a tool's name of two lines"),
        pytest.param("definitions", {"approved": {"\x85": DIGEST}}, id="a control character"),
        pytest.param(
            "definitions", {"approved": {f"t{n}": DIGEST for n in range(501)}}, id="501 approved"
        ),
        pytest.param("tools", [{"name": "a"}], id="an override that says nothing"),
        pytest.param("tools", [{"name": "a", "hide": False}], id="a tool that is not hidden"),
        pytest.param("tools", [{"hide": True}], id="an override of nothing"),
        pytest.param("tools", [{"name": None, "hide": True}], id="an override of null"),
        pytest.param("tools", [{"name": "", "hide": True}], id="an override of an empty name"),
        pytest.param("tools", [{"name": "a" * 129, "hide": True}], id="an override of 129"),
        pytest.param("tools", [{"name": "a\n", "hide": True}], id="an override of two lines"),
        pytest.param("tools", [{"name": "a", "title": ""}], id="an empty title"),
        pytest.param("tools", [{"name": "a", "title": "a" * 201}], id="a title of 201"),
        pytest.param("tools", [{"name": "a", "title": "a\x00"}], id="a title with NUL"),
        pytest.param("tools", [{"name": "a", "title": "a\x1b[1m"}], id="a title with ESC"),
        pytest.param("tools", [{"name": "a", "description": ""}], id="an empty description"),
        pytest.param(
            "tools", [{"name": "a", "description": "a" * 4097}], id="a description of 4097"
        ),
        pytest.param("tools", [{"name": "a", "description": "\x7f"}], id="a description with DEL"),
        pytest.param("tools", [{"name": "a", "description": "\x9b"}], id="a description with CSI"),
        pytest.param("tools", [{"name": "a", "hide": "yes"}], id="hidden by a word"),
        pytest.param("tools", ["a"], id="a tool by its name alone"),
        pytest.param(
            "tools", [{"name": "a", "hide": True}, {"name": "a", "title": "A"}], id="a tool twice"
        ),
        pytest.param(
            "tools", [{"name": f"t{n}", "hide": True} for n in range(501)], id="501 overrides"
        ),
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


_SERVICES = {
    "bare": ({"name": "github-mcp", "port": 8080}, True),
    "the longest name": ({"name": "a" * 63, "port": 1}, True),
    "a number with a point": ({"name": "a", "port": 80.0}, True),
    "the last port": ({"name": "a", "port": 65535, "path": "/"}, True),
    "path null": ({"name": "a", "port": 80, "path": None}, True),
    "a path with a query": ({"name": "a", "port": 80, "path": "/x?a=../b&c@d"}, True),
    "dots that are no segment": ({"name": "a", "port": 80, "path": "/..a/...?/../"}, True),
    "the longest path": ({"name": "a", "port": 80, "path": f"/{'x' * 1023}"}, True),
    "nothing": ({}, False),
    "no port": ({"name": "a"}, False),
    "no name": ({"port": 80}, False),
    "an empty name": ({"name": "", "port": 80}, False),
    "a name of 64": ({"name": "a" * 64, "port": 80}, False),
    "a name with a dot": ({"name": "a.b", "port": 80}, False),
    "a capital": ({"name": "A", "port": 80}, False),
    "a digit in front": ({"name": "1a", "port": 80}, False),
    "a hyphen at the end": ({"name": "a-", "port": 80}, False),
    "two lines": ({"name": "a\n", "port": 80}, False),
    "a host behind the name": ({"name": "a@evil", "port": 80}, False),
    "port 0": ({"name": "a", "port": 0}, False),
    "port 65536": ({"name": "a", "port": 65536}, False),
    "a port by its name": ({"name": "a", "port": "http"}, False),
    "a port of 1.5": ({"name": "a", "port": 1.5}, False),
    "an empty path": ({"name": "a", "port": 80, "path": ""}, False),
    "no slash": ({"name": "a", "port": 80, "path": "mcp"}, False),
    "a path of 1025": ({"name": "a", "port": 80, "path": f"/{'x' * 1024}"}, False),
    "a fragment": ({"name": "a", "port": 80, "path": "/#a"}, False),
    "a backslash": ({"name": "a", "port": 80, "path": "/\\a"}, False),
    "a dot segment": ({"name": "a", "port": 80, "path": "/a/../b"}, False),
    "a dot segment in disguise": ({"name": "a", "port": 80, "path": "/%2E"}, False),
    "a blank": ({"name": "a", "port": 80, "path": "/a b"}, False),
    "a line end": ({"name": "a", "port": 80, "path": "/a\n"}, False),
    "a letter beyond ASCII": ({"name": "a", "port": 80, "path": "/\u00fc"}, False),
}


@pytest.mark.parametrize(
    ("service", "admitted"), [pytest.param(*row, id=words) for words, row in _SERVICES.items()]
)
def test_both_take_the_same_services(
    asked: ControlPlane, service: dict[str, Any], admitted: bool
) -> None:
    body = admission.body(url=None, service=service)

    verdict, said = admission.ask(asked, body), parsed(body)

    assert verdict.admitted == said.admitted == admitted
    assert admitted or "spec.service" in verdict.message
    assert admitted or said.message.startswith("spec.service")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        pytest.param(
            {"url": None},
            ("spec.url", "must be given, or spec.service in its place"),
            id="neither",
        ),
        pytest.param(
            {"service": {"name": "a", "port": 80}},
            ("spec.service", "must not be given beside spec.url: keep one of them"),
            id="both",
        ),
    ],
)
def test_a_server_is_at_an_url_or_behind_a_service(
    asked: ControlPlane, changes: dict[str, Any], said: tuple[str, str]
) -> None:
    body = admission.body(**changes)

    verdict = admission.ask(asked, body)

    assert not verdict.admitted
    assert all(part in verdict.message for part in said)
    assert parsed(body).message == " ".join(said)


@pytest.mark.parametrize("field", ["title", "description"])
def test_a_hidden_character_is_the_parsers_to_refuse(asked: ControlPlane, field: str) -> None:
    body = admission.body(tools=[{"name": "a", field: "read\u200b this"}])

    assert admission.ask(asked, body) == Verdict(True)
    assert parsed(body) == Verdict(
        False, f"spec.tools[0].{field} must not hold a hidden character such as U+200B"
    )


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
        pytest.param(
            {"definitions": {"polcy": "Enforce"}}, "spec.definitions.polcy", id="a typo within"
        ),
        pytest.param(
            {"tools": [{"name": "a", "title": "A", "hidden": True}]},
            "spec.tools[0].hidden",
            id="a typo in an item",
        ),
    ],
)
def test_an_unknown_field_is_refused_by_name_or_has_no_effect(
    asked: ControlPlane, changes: dict[str, Any], path: str
) -> None:
    body = admission.body(**changes)

    strictly = admission.ask(asked, body)
    unknown = fields.unknown_fields(body)

    assert not strictly.admitted
    assert path in strictly.message
    assert [field.path for field in unknown] == [path]
    assert {"allowedTools", "policy", "hide"} & set(unknown[0].known)
    assert admission.ask(asked, body, strict=False) == Verdict(True)
    assert spec.parse(body) == spec.parse(_without(body, unknown[0].steps))


def _without(body: Body, steps: FieldPath) -> Body:
    cut = copy.deepcopy(body)
    place: Any = cut
    for step in steps[:-1]:
        place = place[step]
    del place[steps[-1]]
    return cut


@pytest.mark.parametrize("spelled", ["labels", "lables", "annotation", "nmae"])
def test_metadata_has_the_fields_that_every_object_has(asked: ControlPlane, spelled: str) -> None:
    body = admission.body()
    body["metadata"][spelled] = {}

    assert admission.ask(asked, body).admitted == (fields.unknown_fields(body) == ())


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
    """A good value with one of a wrong type in it, for every field of the schema of the spec."""
    whole = _schema()["properties"]["spec"]
    for words, value in _VALUES.items():
        if words not in _FITS[whole["type"]]:
            yield pytest.param("spec", value, id=f"C23 spec is {words}")
    for field, schema in whole["properties"].items():
        for where, inner, around in _places(field, schema, lambda value: value):
            for words, value in _VALUES.items():
                if words not in _FITS[inner["type"]]:
                    yield pytest.param(field, around(value), id=f"C23 {where} is {words}")


# What is needed beside the field that is wrong, so that it alone is wrong.
_BESIDE: dict[str, dict[str, object]] = {
    "service": {"name": "a", "port": 80},
    "tools[]": {"name": "a", "hide": True},
}
_Around = Callable[[object], object]


def _places(
    where: str, schema: dict[str, Any], around: _Around
) -> Iterator[tuple[str, dict[str, Any], _Around]]:
    """Every field in `schema`, and how a value of it becomes one of the field of the spec."""
    yield where, schema, around
    if "items" in schema:
        yield from _places(f"{where}[]", schema["items"], lambda value: around([value]))
    if "additionalProperties" in schema:
        inner = schema["additionalProperties"]
        yield from _places(f"{where}{{}}", inner, lambda value: around({"a": value}))
    beside = _BESIDE.get(where, {})
    for name, inner in schema.get("properties", {}).items():

        def within(value: object, name: str = name) -> object:
            return around({**beside, name: value})

        yield from _places(f"{where}.{name}", inner, within)


@pytest.mark.parametrize(("field", "value"), list(_wrong_types()))
def test_a_wrong_type_is_refused_by_both(asked: ControlPlane, field: str, value: object) -> None:
    body = _body_with(field, value)
    if field == "spec":
        body = {**admission.body(), "spec": value}
    if field == "service":
        del body["spec"]["url"]

    assert not admission.ask(asked, body).admitted
    assert not parsed(body).admitted


_NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=6) | st.sampled_from(
    ["*", "a", "a" * 128, "a" * 129, "\x7f", "\x80", "\xa0", "\n", "\U0001f600"]
)
_DIGESTS = st.sampled_from([DIGEST, DIGEST, DIGEST[1:], f"{DIGEST}\n", "", None, 1])
_TEXTS = st.sampled_from([None, 1, "", "\n", "a\tb", "\x0b", "\x1b", "\x80", "\xa0", "\u00fc", "*"])
_OVERRIDES = st.fixed_dictionaries(
    {"name": st.sampled_from(["a", "b", "c"]) | _NAMES},
    optional={
        "title": _TEXTS | st.sampled_from(["t" * 200, "\U0001f600" * 201]),
        "description": _TEXTS | st.sampled_from(["\u00fc" * 4096, "d" * 4097]),
        "hide": st.sampled_from([True, False, None, "true"]),
    },
)
_PATHS = st.text("/.%2eE?#ab\\ \u00fc\n", max_size=8).map(lambda text: f"/{text}")
_SERVICE = st.fixed_dictionaries(
    {},
    optional={
        "name": st.text("a1-.A", max_size=4) | st.sampled_from(["a", None, "a" * 63, "a" * 64]),
        "port": st.integers(-1, 65537) | st.sampled_from([80, 80.0, 0.5, None, "80"]),
        "path": _PATHS | st.sampled_from([None, "", "mcp", "/mcp", "/" + "a" * 1024, 1]),
    },
)


@_ASKING
@given(_SERVICE)
def test_no_service_parts_the_two(asked: ControlPlane, service: dict[str, Any]) -> None:
    body = admission.body(url=None, service=service)

    assert admission.ask(asked, body).admitted == parsed(body).admitted


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
        "definitions": st.fixed_dictionaries(
            {},
            optional={
                "policy": st.sampled_from(["Off", "Warn", "Enforce", "off", False, None]),
                "approved": st.dictionaries(_NAMES, _DIGESTS, max_size=3)
                | st.sampled_from([None, [], "a"]),
            },
        )
        | st.sampled_from([None, [], "Off"]),
        "tools": st.lists(_OVERRIDES, max_size=3) | st.sampled_from([None, {}, ["a"], [None]]),
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


def test_what_the_api_server_fills_in_within_is_what_the_parser_assumes(
    asked: ControlPlane,
) -> None:
    path = "/apis/pointsman.dev/v1alpha1/namespaces/default/mcpservers?dryRun=All"
    body = admission.body(
        url=None,
        service={"name": "a", "port": 80},
        definitions={"approved": {"a": DIGEST, "b": None}},
        tools=[{"name": "a", "title": "A"}],
    )

    kept = asked.request("POST", path, body)

    assert kept["spec"]["service"]["path"] == "/mcp"
    assert kept["spec"]["definitions"] == {"policy": "Off", "approved": {"a": DIGEST}}
    assert kept["spec"]["tools"] == [{"name": "a", "title": "A", "hide": False}]
    filled, bare = spec.parse(kept), spec.parse(body)
    assert (filled.url, filled.definitions, filled.overrides) == (
        bare.url,
        bare.definitions,
        bare.overrides,
    )


def test_the_parser_knows_the_fields_of_the_schema_and_no_others() -> None:
    schema = _schema()["properties"]

    assert _names(fields.FIELDS["spec"]) == _schema_names(schema["spec"])
    assert fields.FIELDS.keys() == schema.keys()


def _names(known: Tree | Each | object) -> object:
    match known:
        case Each(inner):
            return [_names(inner)]
        case dict():
            return {name: _names(inner) for name, inner in known.items()}
        case _:
            return None


def _schema_names(schema: dict[str, Any]) -> object:
    if "properties" in schema.get("items", {}):
        return [_schema_names(schema["items"])]
    if "properties" in schema:
        return {name: _schema_names(inner) for name, inner in schema["properties"].items()}
    return None


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
        for inner in (schema, schema.get("items", {}), schema.get("additionalProperties", {}))
        if (inner.get("type") == "string" and not {"maxLength", "enum"} & inner.keys())
        or (inner.get("type") == "array" and "maxItems" not in inner)
        or ("additionalProperties" in inner and "maxProperties" not in inner)
        or (inner.get("type") == "integer" and not {"minimum", "maximum"} <= inner.keys())
    ]

    assert boundless == []


def test_nothing_unknown_is_kept() -> None:
    free = [path for path, inner in _properties(_schema()) if "additionalProperties" in inner]

    assert "x-kubernetes-preserve-unknown-fields" not in _CRD.read_text()
    assert free == [".spec.definitions.approved"]


def test_every_rule_says_what_to_change() -> None:
    rules = [
        rule
        for _, schema in _properties(_schema())
        for inner in (schema, schema.get("items", {}), schema.get("additionalProperties", {}))
        for rule in inner.get("x-kubernetes-validations", [])
    ]

    assert len(rules) > 10
    assert [rule for rule in rules if not rule["message"].startswith("must ")] == []
