"""How one router's tools differ from the others'."""

import itertools

import pytest

from pointsman_contract.report import ExposedTool, ServerReport, State
from pointsman_operator import differences

LONG = "x" * 300


def tool(name: str, digest: str = "d", exposed: str = "") -> ExposedTool:
    exposed = exposed or f"gh.{name}"
    return ExposedTool(name=name, exposed_name=exposed, safe_name=f"s-{exposed}", digest=digest)


def says(router: str, *tools: ExposedTool) -> tuple[str, ServerReport]:
    entry = ServerReport(
        id="tools/github",
        state=State.SERVING,
        tool_count=len(tools),
        tools=tools,
        since="2026-01-01T00:00:00Z",
    )
    return router, entry


A, B = tool("a"), tool("b")


@pytest.mark.parametrize(
    ("said", "difference"),
    [
        pytest.param([says("r1", A, B)], None, id="one router alone"),
        pytest.param([says("r1", A, B), says("r2", A, B)], None, id="the same"),
        pytest.param([says("r1", A, B), says("r2", B, A)], None, id="in another order"),
        pytest.param(
            [says("r1", A, B), says("r2", A)], "r2 does not offer b", id="one tool is missing"
        ),
        pytest.param(
            [says("r1", A), says("r2", A, B), says("r3", A)],
            "r1 does not offer b",
            id="only one router has it",
        ),
        pytest.param(
            [says("r1", A), says("r2", tool("a", "e")), says("r3", A)],
            "r2 has another definition of a",
            id="another definition",
        ),
        pytest.param(
            [says("r1", tool("a", "e")), says("r2", A)],
            "r1 has another definition of a",
            id="two definitions, neither of them the usual one",
        ),
        pytest.param(
            [says("r1", A), says("r2", tool("a", exposed="gh.a_1")), says("r3", A)],
            "r2 offers a as gh.a_1",
            id="another name",
        ),
        pytest.param(
            [says("r1", A, B, tool("c")), says("r2", tool("a", "e"))],
            "r1 has another definition of a, and 2 more",
            id="several",
        ),
        pytest.param(
            [says("r\x1b1", tool(LONG)), says("r2")],
            f"r2 does not offer {'x' * 119}…",
            id="a name that is too long to read",
        ),
        pytest.param(
            [says("r\x1b1"), says("r2", A)], "r·1 does not offer a", id="a router's name is a text"
        ),
    ],
)
def test_the_first_difference_names_its_router_and_its_tool(
    said: list[tuple[str, ServerReport]], difference: str | None
) -> None:
    assert {differences.between(order) for order in itertools.permutations(said)} == {difference}
