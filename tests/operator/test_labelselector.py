"""Which labels a selector means."""

import pytest

from pointsman_operator.labelselector import LabelSelector, Operator, Requirement

LABELS = {"team": "support", "tier": "1", "empty": ""}


@pytest.mark.parametrize(
    ("requirement", "is_met"),
    [
        pytest.param(Requirement("team", Operator.IN, ("sales", "support")), True, id="one of"),
        pytest.param(Requirement("team", Operator.IN, ("sales",)), False, id="another value"),
        pytest.param(Requirement("gone", Operator.IN, ("x",)), False, id="In, and not there"),
        pytest.param(Requirement("empty", Operator.IN, ("",)), True, id="an empty value"),
        pytest.param(Requirement("gone", Operator.IN, ("",)), False, id="no value is not empty"),
        pytest.param(Requirement("team", Operator.NOT_IN, ("sales",)), True, id="none of"),
        pytest.param(Requirement("team", Operator.NOT_IN, ("support",)), False, id="NotIn, has it"),
        pytest.param(Requirement("gone", Operator.NOT_IN, ("x",)), True, id="NotIn, not there"),
        pytest.param(Requirement("tier", Operator.EXISTS), True, id="Exists"),
        pytest.param(Requirement("gone", Operator.EXISTS), False, id="Exists, not there"),
        pytest.param(Requirement("gone", Operator.DOES_NOT_EXIST), True, id="DoesNotExist"),
        pytest.param(Requirement("empty", Operator.DOES_NOT_EXIST), False, id="there, and empty"),
    ],
)
def test_a_requirement_is_read_as_kubernetes_reads_it(
    requirement: Requirement, is_met: bool
) -> None:
    assert requirement.is_met(LABELS) is is_met
    assert LabelSelector((requirement,)).matches(LABELS) is is_met


def test_requirements_have_to_be_met_together() -> None:
    team = Requirement("team", Operator.IN, ("support",))
    other = Requirement("tier", Operator.IN, ("2",))

    assert not LabelSelector((team, other)).matches(LABELS)


def test_a_selector_without_requirements_means_everything() -> None:
    assert LabelSelector().matches({})
    assert LabelSelector().matches(LABELS)
