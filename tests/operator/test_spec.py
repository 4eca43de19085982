"""What a resource asks for, as a value."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.admission import body
from pointsman_contract.meta import Exposed, Protocol
from pointsman_operator import spec
from pointsman_operator.spec import Identity, Server, SpecError, SpecReason


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
    )


def test_a_file_needs_no_more_than_a_name_and_a_url() -> None:
    server = spec.parse({"metadata": {"name": "my-server"}, "spec": {"url": "http://h/"}})

    assert server.id == "my-server"
    assert server.prefix == "my_server"
    assert server.allowed_tools == ()
    assert server.protocol is Protocol.AUTO
    assert server.expose == (Exposed.TOOLS,)
    assert server.timeout_s == 60


def test_servers_that_allow_the_same_tools_are_equal_in_any_order() -> None:
    assert spec.parse(body(allowedTools=["a", "b"])) == spec.parse(body(allowedTools=["b", "a"]))


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
                    ]
                ),
                _ANYTHING | st.just("http://h/"),
            ),
        }
    )
)
def test_no_body_is_more_than_a_server_or_a_complaint(asked: dict[str, Any]) -> None:
    with suppress(SpecError):
        assert spec.parse(asked).url == "http://h/"


@pytest.mark.parametrize(
    ("asked", "paths"),
    [
        pytest.param(body(), [], id="none"),
        pytest.param({"sepc": {}}, ["sepc"], id="at the top"),
        pytest.param({"spec": {"a": 1, "url": "", "b": 2}}, ["spec.a", "spec.b"], id="in the spec"),
        pytest.param({"metadata": {"lables": {}}}, ["metadata.lables"], id="in the metadata"),
        pytest.param({"metadata": {"labels": {"any": "x"}}}, [], id="labels are free"),
        pytest.param({"spec": 5, "status": {"x": 1}}, [], id="what is judged elsewhere"),
    ],
)
def test_unknown_fields_are_named_by_their_path(asked: dict[str, Any], paths: list[str]) -> None:
    assert [field.path for field in spec.unknown_fields(asked)] == paths
