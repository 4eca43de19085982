"""What a resource asks for, as a value."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.admission import body
from pointsman_contract.meta import Definitions, Exposed, Override, Policy, Protocol
from pointsman_operator import spec
from pointsman_operator.spec import Identity, Server
from pointsman_operator.specerror import SpecError, SpecReason

ONE, OTHER = f"sha256:{'1' * 64}", f"sha256:{'2' * 64}"


def test_a_resource_becomes_a_server() -> None:
    asked = body(
        "github",
        url="http://h/mcp",
        allowedTools=["b", "a"],
        prefix="gh",
        protocol="Modern",
        expose=["Tools", "Prompts"],
        timeoutSeconds=5,
        suspend=True,
        definitions={"policy": "Warn", "approved": {"b": ONE, "a": OTHER}},
        tools=[{"name": "b", "title": "B"}, {"name": "a", "description": "A\n", "hide": True}],
    )
    asked["metadata"] |= {
        "uid": "u-1",
        "generation": 3,
        "creationTimestamp": "2026-01-01T00:00:00Z",
    }

    assert spec.parse(asked) == Server(
        identity=Identity("default", "github", "u-1", 3, "2026-01-01T00:00:00Z"),
        url="http://h/mcp",
        allowed_tools=("a", "b"),
        prefix="gh",
        protocol=Protocol.MODERN,
        expose=(Exposed.PROMPTS, Exposed.TOOLS),
        timeout_s=5,
        suspend=True,
        definitions=Definitions(policy=Policy.WARN, approved={"a": OTHER, "b": ONE}),
        overrides=(
            Override(name="a", description="A\n", hide=True),
            Override(name="b", title="B"),
        ),
    )


def test_a_file_needs_no_more_than_a_name_and_a_url() -> None:
    server = spec.parse({"metadata": {"name": "my-server"}, "spec": {"url": "http://h/"}})

    assert server.id == "my-server"
    assert server.prefix == "my_server"
    assert server.allowed_tools == ()
    assert server.protocol is Protocol.AUTO
    assert server.expose == (Exposed.TOOLS,)
    assert server.timeout_s == 60
    assert server.definitions == Definitions(policy=Policy.OFF)
    assert server.overrides == ()


def test_servers_that_allow_the_same_tools_are_equal_in_any_order() -> None:
    assert spec.parse(body(allowedTools=["a", "b"])) == spec.parse(body(allowedTools=["b", "a"]))


@pytest.mark.parametrize(
    ("service", "url"),
    [
        pytest.param(
            {"name": "github-mcp", "port": 8080}, "http://github-mcp.tools.svc:8080/mcp", id="bare"
        ),
        pytest.param(
            {"name": "a", "port": 80.0, "path": "/"}, "http://a.tools.svc:80/", id="another path"
        ),
        pytest.param(
            {"name": "a", "port": 1, "path": "/x/%20?team=a@b"},
            "http://a.tools.svc:1/x/%20?team=a@b",
            id="a query",
        ),
    ],
)
def test_a_service_is_one_of_the_resources_own_namespace(
    service: dict[str, object], url: str
) -> None:
    asked = body(service=service, url=None)
    asked["metadata"]["namespace"] = "tools"

    assert spec.parse(asked).url == url


def test_the_longest_path_behind_the_longest_names_is_an_url() -> None:
    longest = {"name": "a" * 63, "port": 65535, "path": f"/{'x' * 1023}"}
    asked = body("n" * 63, service=longest, url=None)
    asked["metadata"]["namespace"] = "b" * 63

    assert spec.parse(asked).url == f"http://{'a' * 63}.{'b' * 63}.svc:65535/{'x' * 1023}"


def test_a_service_without_a_namespace_says_that_it_needs_one() -> None:
    asked = {"metadata": {"name": "a"}, "spec": {"service": {"name": "b", "port": 80}}}

    with pytest.raises(SpecError) as refusal:
        spec.parse(asked)

    assert refusal.value.field == "spec.service"
    assert "metadata.namespace" in refusal.value.message
    assert "spec.url where there is no cluster" in refusal.value.message


@pytest.mark.parametrize(
    ("changes", "field", "said"),
    [
        pytest.param(
            {"tools": [{"name": "a", "title": "x\u202ey"}]},
            "spec.tools[0].title",
            "must not hold a hidden character such as U+202E",
            id="a title that runs backwards",
        ),
        pytest.param(
            {"tools": [{"name": "b", "hide": True}, {"name": "a", "description": "x\U000e0041"}]},
            "spec.tools[1].description",
            "must not hold a hidden character such as U+E0041",
            id="a description with tags",
        ),
        pytest.param(
            {"tools": [{"name": "a"}]},
            "spec.tools[0]",
            "must give a title or a description, or hide the tool",
            id="an override that says nothing",
        ),
        pytest.param(
            {"tools": [{"name": "a", "hide": True}, {"name": "a", "title": "A"}]},
            "spec.tools[1].name",
            "must not name a tool a second time",
            id="a tool twice",
        ),
        pytest.param(
            {"definitions": {"approved": {"a.b[c]": "sha256:12"}}},
            "spec.definitions.approved[a.b[c]]",
            "must be sha256: and 64 lower-case hex digits",
            id="a digest cut short",
        ),
        pytest.param(
            {"service": {"name": "a", "port": 80}},
            "spec.service",
            "must not be given beside spec.url: keep one of them",
            id="a service beside a url",
        ),
    ],
)
def test_what_an_owner_says_wrongly_is_told_in_full(
    changes: dict[str, Any], field: str, said: str
) -> None:
    with pytest.raises(SpecError) as refusal:
        spec.parse(body(**changes))

    assert refusal.value.field == field
    assert refusal.value.message == f"{field} {said}"
    assert refusal.value.reason is SpecReason.INVALID_SPEC


def test_a_complaint_about_an_approval_leads_to_its_entry() -> None:
    with pytest.raises(SpecError) as refusal:
        spec.parse(body(definitions={"approved": {"a.b[c]": 5}}))

    assert refusal.value.steps == ("spec", "definitions", "approved", "a.b[c]")


def test_an_owner_may_write_as_people_write() -> None:
    text = "Sucht überall 👩‍👩‍👧‍👦, auch im\n\tנמל הבית 🏴󠁧󠁢󠁳󠁣󠁴󠁿"

    (override,) = spec.parse(body(tools=[{"name": "a", "description": text}])).overrides

    assert override.description == text


def test_an_approval_taken_back_by_a_null_is_none() -> None:
    server = spec.parse(body(definitions={"policy": "Enforce", "approved": {"a": None}}))

    assert server.definitions == Definitions(policy=Policy.ENFORCE)


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        pytest.param({}, "metadata", id="nothing"),
        pytest.param({"metadata": []}, "metadata", id="metadata that is a list"),
        pytest.param({"metadata": {}}, "metadata.name", id="no name"),
        pytest.param({"metadata": {"name": 5}}, "metadata.name", id="a number as name"),
        pytest.param({"metadata": {"name": "a", "namespace": "A"}}, "metadata.namespace", id="ns"),
        pytest.param({"metadata": {"name": "a"}}, "spec", id="no spec"),
        pytest.param({"metadata": {"name": "a"}, "spec": None}, "spec", id="spec null"),
        pytest.param({"metadata": {"name": "a"}, "spec": []}, "spec", id="spec a list"),
        pytest.param({"metadata": {"name": "a"}, "spec": {}}, "spec.url", id="no url"),
    ],
)
def test_a_complaint_names_the_field(asked: dict[str, Any], field: str) -> None:
    with pytest.raises(SpecError) as refusal:
        spec.parse(asked)

    assert refusal.value.field == field
    assert refusal.value.message.startswith(f"{field} must ")


def test_a_complaint_about_one_of_many_tools_names_its_place() -> None:
    with pytest.raises(SpecError) as refusal:
        spec.parse(body(allowedTools=["a", "b\n"]))

    assert refusal.value.field == "spec.allowedTools[1]"
    assert refusal.value.reason is SpecReason.INVALID_SPEC


def test_a_complaint_about_a_url_never_shows_it() -> None:
    with pytest.raises(SpecError) as refusal:
        spec.parse(body(url="http://user:canary@good.example/"))

    assert "canary" not in str(refusal.value)


def test_half_a_character_is_no_name_of_a_tool() -> None:
    with pytest.raises(SpecError) as refusal:
        spec.parse(body(allowedTools=["\ud800"]))

    assert refusal.value.field == "spec.allowedTools[0]"


_ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)


@given(
    st.dictionaries(st.sampled_from(["metadata", "spec", "status", "x"]), _ANYTHING)
    | st.fixed_dictionaries(
        {
            "metadata": st.just({"name": "a", "namespace": "b"}),
            "spec": st.dictionaries(
                st.sampled_from(
                    [
                        "url",
                        "allowedTools",
                        "prefix",
                        "protocol",
                        "expose",
                        "timeoutSeconds",
                        "suspend",
                        "service",
                        "definitions",
                        "tools",
                    ]
                ),
                _ANYTHING
                | st.just("http://h/")
                | st.dictionaries(
                    st.sampled_from(["name", "port", "path", "policy", "approved", "title"]),
                    _ANYTHING,
                )
                | st.lists(st.dictionaries(st.sampled_from(["name", "title", "hide"]), _ANYTHING)),
            ),
        }
    )
)
def test_no_body_is_more_than_a_server_or_a_complaint(asked: dict[str, Any]) -> None:
    with suppress(SpecError):
        assert spec.parse(asked).url == "http://h/"
