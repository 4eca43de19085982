"""What a server looks like as a ConfigMap."""

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from bench.admission import body
from bench.spellings import LONGEST_URL
from pointsman_contract import meta
from pointsman_operator import manifests, spec
from pointsman_operator.manifests import TooLarge
from pointsman_operator.spec import Server

ONE = f"sha256:{'1' * 64}"
# The most that the bounds of the spec let through.
WIDEST_TOOLS = ["\U0001f600" * 127 + chr(0x10000 + number) for number in range(500)]


def server(name: str = "github", **changes: object) -> Server:
    asked = body(name, **{"allowedTools": ["*"], **changes})
    asked["metadata"] |= {"namespace": "tools", "uid": "u-1", "generation": 3}
    return spec.parse(asked)


def test_a_server_is_published_as_the_contract_says() -> None:
    published = manifests.body_of(manifests.manifest_of(server(), namespace="release"))

    assert published == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "mcp-github-9c7dd6909f",
            "namespace": "release",
            "labels": {
                "app.kubernetes.io/managed-by": "pointsman",
                "pointsman.dev/meta": "v1",
                "pointsman.dev/server-name": "github",
                "pointsman.dev/server-namespace": "tools",
            },
            "annotations": {
                "pointsman.dev/server-uid": "u-1",
                "pointsman.dev/server-generation": "3",
            },
        },
        "data": {
            "meta.json": (
                "{\n"
                '  "allowedTools": [\n'
                '    "*"\n'
                "  ],\n"
                '  "generation": 3,\n'
                '  "name": "github",\n'
                '  "namespace": "tools",\n'
                '  "prefix": "github",\n'
                '  "protocol": "Auto",\n'
                '  "schemaVersion": 1,\n'
                '  "suspend": false,\n'
                '  "timeoutSeconds": 60,\n'
                '  "uid": "u-1",\n'
                '  "url": "http://good.example/mcp"\n'
                "}\n"
            )
        },
    }


@pytest.mark.parametrize(
    ("exposed", "expected"),
    [
        pytest.param(["Tools"], {}, id="tools alone, as readers assume"),
        pytest.param(
            ["Tools", "Prompts"], {"expose": ["Prompts", "Tools"]}, id="tools and prompts"
        ),
        pytest.param(
            ["Resources"],
            {"expose": ["Resources"], "requires": ["expose"]},
            id="no tools, which a reader that knows nothing of it would show",
        ),
    ],
)
def test_what_is_exposed_is_published_where_readers_must_know(
    exposed: list[str], expected: dict[str, list[str]]
) -> None:
    document = json.loads(manifests.document_of(server(expose=exposed)))

    assert {name: document[name] for name in ("expose", "requires") if name in document} == expected


def test_the_resource_owns_its_config_map_where_both_share_a_namespace() -> None:
    manifest = manifests.manifest_of(server(), namespace="tools")

    assert manifests.body_of(manifest)["metadata"]["ownerReferences"] == [  # type: ignore[index]  # a body is plain JSON
        {
            "apiVersion": "pointsman.dev/v1alpha1",
            "kind": "McpServer",
            "name": "github",
            "uid": "u-1",
        }
    ]


def test_what_is_published_is_what_readers_understand() -> None:
    one = server(
        allowedTools=["\u00fc", "\U0001f600", "a b"],
        prefix="gh",
        suspend=True,
        definitions={"policy": "Enforce", "approved": {"\u00fc": ONE, "a b": ONE}},
        tools=[{"name": "a b", "title": "\U0001f600", "hide": True}],
    )

    read = meta.load(manifests.document_of(one).encode(), folder="other")

    assert read == manifests.meta_of(one)
    assert read.id == "tools/github"
    assert read.suspend


def test_equal_wishes_are_published_byte_for_byte_alike() -> None:
    assert manifests.document_of(server(allowedTools=["b", "a"])) == manifests.document_of(
        server(allowedTools=["a", "b"])
    )


def test_nothing_of_the_resource_but_its_spec_is_published() -> None:
    asked = body(allowedTools=["*"])
    asked["metadata"] |= {
        "labels": {"pointsman.dev/meta": "canary"},
        "annotations": {"a": "canary" * 40_000},
    }

    assert "canary" not in repr(
        manifests.body_of(manifests.manifest_of(spec.parse(asked), namespace="release"))
    )


def test_a_document_that_nobody_would_read_is_refused_before_it_is_written() -> None:
    fits = server(allowedTools=WIDEST_TOOLS)
    one = server(allowedTools=WIDEST_TOOLS, url=LONGEST_URL)

    assert len(manifests.document_of(fits).encode()) <= meta.MAX_BYTES
    with pytest.raises(TooLarge) as refusal:
        manifests.document_of(one)

    assert refusal.value.field == "spec.allowedTools"
    assert "allow fewer tools" in str(refusal.value)


@pytest.mark.parametrize(
    ("changes", "field", "advice"),
    [
        pytest.param(
            {"tools": [{"name": f"t{n}", "description": "\u00fc" * 4096} for n in range(40)]},
            "spec.tools",
            "shorten the descriptions there",
            id="descriptions",
        ),
        pytest.param(
            {
                "definitions": {
                    "policy": "Enforce",
                    "approved": dict.fromkeys(WIDEST_TOOLS, f"sha256:{'0' * 64}"),
                },
                "tools": [{"name": "a", "hide": True}],
            },
            "spec.definitions.approved",
            "take out the tools that are there no more",
            id="approvals",
        ),
    ],
)
def test_a_document_that_is_too_large_names_what_to_shorten(
    changes: dict[str, Any], field: str, advice: str
) -> None:
    with pytest.raises(TooLarge) as refusal:
        manifests.document_of(server(**changes))

    assert refusal.value.field == field
    assert str(refusal.value).startswith(f"{field} makes the published document ")
    assert advice in str(refusal.value)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({}, {}, id="nothing said"),
        pytest.param(
            {"definitions": {"policy": "Off", "approved": {"a": ONE}}},
            {},
            id="approvals that mean nothing yet",
        ),
        pytest.param(
            {"definitions": {"policy": "Warn", "approved": {"a": ONE}}},
            {"definitions": {"policy": "Warn", "approved": {"a": ONE}}},
            id="a warning, which a reader without it would not give",
        ),
        pytest.param(
            {"definitions": {"policy": "Enforce"}},
            {
                "definitions": {"policy": "Enforce", "approved": {}},
                "requires": ["definitions"],
            },
            id="nothing served until it is approved",
        ),
        pytest.param(
            {"tools": [{"name": "b", "title": "B"}, {"name": "a", "description": "A"}]},
            {"tools": [{"name": "a", "description": "A"}, {"name": "b", "title": "B"}]},
            id="other words, which a reader without them would not use",
        ),
        pytest.param(
            {"tools": [{"name": "a", "hide": True}], "expose": ["Prompts"]},
            {
                "tools": [{"name": "a", "hide": True}],
                "expose": ["Prompts"],
                "requires": ["expose", "tools"],
            },
            id="a hidden tool, which a reader without it would show",
        ),
    ],
)
def test_what_an_owner_says_of_tools_is_published_where_readers_must_know(
    changes: dict[str, Any], expected: dict[str, object]
) -> None:
    document = json.loads(manifests.document_of(server(**changes)))

    told = ("definitions", "expose", "requires", "tools")
    assert {name: document[name] for name in told if name in document} == expected


def test_a_service_is_published_as_an_url() -> None:
    service = {"name": "github-mcp", "port": 8080}

    document = json.loads(manifests.document_of(server(url=None, service=service)))

    assert document["url"] == "http://github-mcp.tools.svc:8080/mcp"
    assert "service" not in document


EVERY_PLANE = [chr(plane * 0x10000 + 0x1F600 % 0x10000) for plane in range(17)]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("plain", id="plain"),
        pytest.param('"\\/\b\f\n\r\t', id="what JSON escapes"),
        pytest.param("\x00\x1f\x7f\x80\x85\x9f\xa0\xad", id="control characters"),
        pytest.param("\u2028\u2029\ufeff\ufffe\uffff", id="what YAML refuses or reads otherwise"),
        *[pytest.param(f"a{char}z", id=f"plane {n}") for n, char in enumerate(EVERY_PLANE)],
    ],
)
def test_an_apply_is_spelled_so_that_nothing_in_it_changes(text: str) -> None:
    spelled = manifests.spell({"x": text})

    assert json.loads(spelled) == {"x": text}
    assert b"\\ud8" not in spelled
    assert all(byte < 0x80 for byte in spelled) or any(char > "\uffff" for char in text)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_survives_a_reader_of_yaml(text: str) -> None:
    assert yaml.safe_load(manifests.spell({"x": text})) == {"x": text}
