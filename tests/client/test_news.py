"""How a report is shown, and which of its changes are told."""

from typing import Any

import pytest

from pointsman import news
from pointsman.notices import Notice
from pointsman_contract.report import ExposedTool, Report, ServerReport, State, ViewReport


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


PENDING = server(state=State.PENDING, reason="Pending", message="not listed yet")
DOWN = server(state=State.SKIPPED, reason="Unreachable", message="nothing listens")


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        pytest.param(
            report(),
            report(server(tools=tools("x", "y"))),
            [Notice("a: 2 tools (new: a.x, a.y)", is_good=True)],
            id="a server that comes",
        ),
        pytest.param(report(), report(PENDING), [], id="a server that is not listed yet"),
        pytest.param(
            report(PENDING),
            report(server(tools=tools("x"))),
            [Notice("a: 1 tool (new: a.x)", is_good=True)],
            id="a server that has been listed",
        ),
        pytest.param(
            report(server(tools=tools("x"))),
            report(PENDING),
            [Notice("a: Pending: not listed yet (gone: a.x)", is_good=False)],
            id="a server that is listed anew",
        ),
        pytest.param(
            report(server()), report(), [Notice("a: gone", is_good=True)], id="a server that goes"
        ),
        pytest.param(
            report(server(tools=tools("x"))),
            report(DOWN),
            [Notice("a: Unreachable: nothing listens (gone: a.x)", is_good=False)],
            id="a server that fails",
        ),
        pytest.param(
            report(server(tools=tools("x"))),
            report(
                server(state=State.STALE, tools=tools("x"), reason="Timeout", message="no answer")
            ),
            [Notice("a: 1 tool as last listed, Timeout: no answer", is_good=False)],
            id="a server that is stale",
        ),
        pytest.param(
            report(server(tools=tools("x"))),
            report(server(tools=tools("x", digest="sha256:1"))),
            [Notice("a: 1 tool (changed: a.x)", is_good=True)],
            id="a tool that is another",
        ),
        pytest.param(
            report(server(tools=tools(*"abcdefghij"))),
            report(server()),
            [
                Notice(
                    "a: 0 tools (gone: a.a, a.b, a.c, a.d, a.e, a.f, a.g, a.h and 2 more)",
                    is_good=True,
                )
            ],
            id="more tools than one can read",
        ),
        pytest.param(
            report(server()),
            report(server(), fault="the folder is empty"),
            [Notice("the folder is empty", is_good=False)],
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
def test_what_changed_is_told_in_a_line(old: Report, new: Report, told: list[Notice]) -> None:
    assert list(news.since(old, new)) == told


@pytest.mark.parametrize(("names", "listed"), [(None, "a.x"), ("dotted", "a.x"), ("safe", "a__x")])
def test_a_table_shows_the_form_of_names_that_is_listed(names: str | None, listed: str) -> None:
    ((_, _, _, (shown, _), _),) = news.rows(report(server(tools=tools("x"))), names)

    assert shown == listed


def test_a_table_shows_why_a_server_is_left_out() -> None:
    ((*_, reason),) = news.rows(report(DOWN), None)

    assert reason == ("Unreachable: nothing listens", "red")


def test_a_table_counts_the_tools_that_are_too_many_to_name() -> None:
    many = tools(*(str(number) for number in range(news.TOOLS_SHOWN + 5)))
    ((_, _, _, (shown, _), _),) = news.rows(report(server(tools=many)), None)

    assert shown.splitlines()[news.TOOLS_SHOWN :] == ["and 5 more"]


URL = "http://127.0.0.1:8080/mcp"


def view(called: str = "desk", tools: int = 2, **more: Any) -> ViewReport:
    members = {"state": State.SERVING, "since": "now", "tool_count": tools, **more}
    return ViewReport(id=called, **members)


def seeing(*views: ViewReport) -> Report:
    return report().model_copy(update={"views": views})


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        pytest.param(
            None,
            seeing(view()),
            [Notice(f"view desk: 2 tools at {URL}/views/desk", is_good=True)],
            id="at first",
        ),
        pytest.param(seeing(view()), seeing(view(since="later")), [], id="nothing new"),
        pytest.param(
            seeing(view()),
            seeing(view(tools=1, unmatched_servers=("a",), unmatched_tools=("b.*", "c"))),
            [
                Notice(
                    f"view desk: 1 tool at {URL}/views/desk; not served: a; no tool matches b.*, c",
                    is_good=True,
                )
            ],
            id="it lacks something",
        ),
        pytest.param(
            seeing(view()),
            seeing(view(tools=0)),
            [Notice(f"view desk: 0 tools at {URL}/views/desk", is_good=False)],
            id="it is empty",
        ),
        pytest.param(
            seeing(),
            seeing(view(state=State.SKIPPED, tools=0, message="the file is no good")),
            [Notice("view desk: the file is no good", is_good=False)],
            id="it cannot be used",
        ),
        pytest.param(
            seeing(view()), seeing(), [Notice("view desk: gone", is_good=True)], id="it goes"
        ),
    ],
)
def test_what_becomes_of_a_view_is_told(
    old: Report | None, new: Report, told: list[Notice]
) -> None:
    assert list(news.views(old, new, URL)) == told
