"""What a completion is asked for."""

import json
from collections.abc import Mapping

import pytest

from pointsman_router import completion
from pointsman_router.completion import Asked
from pointsman_router.entrycheck import Kind
from pointsman_router.refusals import Refusal

ARGUMENT = b'{"name":"a","value":"\\ud800"}'


def params(ref: object, argument: bytes = ARGUMENT) -> Mapping[str, bytes]:
    return {"ref": json.dumps(ref).encode(), "argument": argument, "context": b"{ }"}


@pytest.mark.parametrize(
    ("ref", "kind", "name"),
    [
        pytest.param({"type": "ref/prompt", "name": "gh.ask"}, Kind.PROMPT, "gh.ask", id="prompt"),
        pytest.param(
            {"type": "ref/resource", "uri": "test://{a}"},
            Kind.TEMPLATE,
            "test://{a}",
            id="template",
        ),
    ],
)
def test_a_reference_names_what_it_is_about(ref: object, kind: Kind, name: str) -> None:
    asked = completion.read(params(ref))

    assert isinstance(asked, Asked)
    assert (asked.kind, asked.name) == (kind, name)
    assert completion.own_params(asked, name) == params(ref)


def test_an_upstream_is_asked_by_its_own_name_and_for_the_same_otherwise() -> None:
    asked = completion.read(params({"name": "gh.ask", "vendor": 1, "type": "ref/prompt"}))
    assert isinstance(asked, Asked)

    sent = completion.own_params(asked, "ask")

    assert sent == {
        "ref": b'{"name":"ask","vendor":1,"type":"ref/prompt"}',
        "argument": ARGUMENT,
        "context": b"{ }",
    }


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        pytest.param({}, "params.ref", id="nothing"),
        pytest.param(params("x"), "params.ref", id="a reference that is a string"),
        pytest.param(params({}), "params.ref", id="no type"),
        pytest.param(params({"type": "ref/tool", "name": "x"}), "params.ref.type", id="a tool"),
        pytest.param(params({"type": "ref/prompt", "uri": "x"}), "params.ref", id="no name"),
        pytest.param(params({"type": "ref/resource", "uri": 5}), "params.ref", id="no URI"),
        pytest.param(
            params({"type": "ref/prompt", "name": "x"}, b"[]"), "params.argument", id="no argument"
        ),
    ],
)
def test_what_refers_to_nothing_is_refused(asked: Mapping[str, bytes], words: str) -> None:
    refusal = completion.read(asked)

    assert isinstance(refusal, Refusal)
    assert refusal.code == -32602
    assert refusal.message.startswith(words)
