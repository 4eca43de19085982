"""How many tools clients take."""

import pytest

from pointsman_operator import budget


@pytest.mark.parametrize("count", [0, 1, 40])
def test_what_every_client_takes_is_no_matter(count: int) -> None:
    assert budget.warning(count) is None


@pytest.mark.parametrize(
    ("count", "limits"),
    [
        pytest.param(41, "40", id="one more than small clients take"),
        pytest.param(80, "40", id="as many as others take"),
        pytest.param(81, "40 or 80", id="one more"),
        pytest.param(128, "40 or 80", id="as many as an API takes"),
        pytest.param(129, "40, 80 or 128", id="more than anybody takes"),
    ],
)
def test_more_is_told_with_the_limits_that_it_passes_and_what_to_do(
    count: int, limits: str
) -> None:
    assert budget.warning(count) == (
        f"{count} tools: some clients take at most {limits} of them: allow fewer, or give agents"
        " a view"
    )
