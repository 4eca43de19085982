"""Which changes of a report are told, and how."""

from typing import Any

import pytest

from pointsman import news
from pointsman.news import News
from pointsman_contract.report import ExposedTool, Report, ServerReport, State


def tools(*names: str, digest: str = "sha256:0") -> tuple[ExposedTool, ...]:
    return tuple(
        ExposedTool(name=name, exposed_name=f"a.{name}", safe_name=f"a__{name}", digest=digest)
        for name in names
    )


def server(called: str = "a", state: State = State.SERVING, **more: Any) -> ServerReport:
    exposed = more.pop("tools", ())
    return ServerReport(
        id=called, state=state, since="now", tools=exposed, tool_count=len(exposed), **more
    )


def report(*servers: ServerReport, fault: str | None = None) -> Report:
    return Report(instance="i", started_at="now", catalogue="c", fault=fault, servers=servers)


DOWN = server(state=State.SKIPPED, reason="Unreachable", message="nothing listens")


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        pytest.param(
            report(),
            report(server(tools=tools("x", "y"))),
            [News("a: 2 tools (new: a.x, a.y)", is_good=True)],
            id="a server that comes",
        ),
        pytest.param(
            report(server()), report(), [News("a: gone", is_good=True)], id="a server that goes"
        ),
        pytest.param(
            report(server(tools=tools("x"))),
            report(DOWN),
            [News("a: Unreachable: nothing listens (gone: a.x)", is_good=False)],
            id="a server that fails",
        ),
        pytest.param(
            report(server(tools=tools("x"))),
            report(
                server(state=State.STALE, tools=tools("x"), reason="Timeout", message="no answer")
            ),
            [News("a: 1 tool as last listed, Timeout: no answer", is_good=False)],
            id="a server that is stale",
        ),
        pytest.param(
            report(server(tools=tools("x"))),
            report(server(tools=tools("x", digest="sha256:1"))),
            [News("a: 1 tool (changed: a.x)", is_good=True)],
            id="a tool that is another",
        ),
        pytest.param(
            report(server(tools=tools(*"abcdefghij"))),
            report(server()),
            [
                News(
                    "a: 0 tools (gone: a.a, a.b, a.c, a.d, a.e, a.f, a.g, a.h and 2 more)",
                    is_good=True,
                )
            ],
            id="more tools than one can read",
        ),
        pytest.param(
            report(server()),
            report(server(), fault="the folder is empty"),
            [News("the folder is empty", is_good=False)],
            id="a directory that is held",
        ),
        pytest.param(
            report(server(generation=1)),
            report(server(generation=2)),
            [],
            id="a number that nobody reads",
        ),
    ],
)
def test_what_changed_is_told_in_a_line(old: Report, new: Report, told: list[News]) -> None:
    assert list(news.since(old, new)) == told
