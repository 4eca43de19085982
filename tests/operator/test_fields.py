"""Which fields of a resource mean nothing, by where they stand."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.admission import body
from pointsman_operator import fields


@pytest.mark.parametrize(
    ("asked", "paths"),
    [
        pytest.param(body(), [], id="none"),
        pytest.param({"sepc": {}}, ["sepc"], id="at the top"),
        pytest.param({"spec": {"a": 1, "url": "", "b": 2}}, ["spec.a", "spec.b"], id="in the spec"),
        pytest.param({"metadata": {"lables": {}}}, ["metadata.lables"], id="in the metadata"),
        pytest.param({"metadata": {"labels": {"any": "x"}}}, [], id="labels are free"),
        pytest.param({"spec": 5, "status": {"x": 1}}, [], id="what is judged elsewhere"),
        pytest.param(body(service={"nmae": "a"}), ["spec.service.nmae"], id="in an object"),
        pytest.param(
            body(tools=[{"name": "a"}, {"name": "b", "descripton": "x"}]),
            ["spec.tools[1].descripton"],
            id="in an item of a list",
        ),
        pytest.param(
            body(definitions={"approved": {"any": "x"}}), [], id="the approved tools are free"
        ),
        pytest.param(
            body(service=[{"x": 1}], tools={"x": 1}, definitions=[5]), [], id="another shape"
        ),
        pytest.param(body(tools=[5, None, []]), [], id="items of another shape"),
    ],
)
def test_unknown_fields_are_named_by_their_path(asked: dict[str, Any], paths: list[str]) -> None:
    assert [field.path for field in fields.unknown_fields(asked)] == paths


def test_an_unknown_field_comes_with_those_that_may_stand_beside_it() -> None:
    (unknown,) = fields.unknown_fields(body(tools=[{"nmae": "a"}]))

    assert (unknown.parent, unknown.name) == ("spec.tools[0]", "nmae")
    assert unknown.steps == ("spec", "tools", 0, "nmae")
    assert sorted(unknown.known) == ["description", "hide", "name", "title"]


def test_a_field_keeps_its_name_whatever_that_holds() -> None:
    (unknown,) = fields.unknown_fields({"spec": {"a.b[0]": 1}})

    assert (unknown.parent, unknown.name) == ("spec", "a.b[0]")


@given(
    st.lists(st.text("abcXYZ", min_size=1) | st.integers(0, 999)).map(lambda one: ["spec", *one])
)
def test_the_path_of_a_field_leads_back_to_it(steps: list[str | int]) -> None:
    assert fields.steps_of(fields.spelled(tuple(steps))) == tuple(steps)
